"""Write ``docs/data.md`` from the facts of the datasets: ``python docs/data.py``."""

from pathlib import Path

from unknot.cli.data.files import size_text
from unknot.core import registry
from unknot.data.parts.published import Published
from unknot.data.parts.sources import Source

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Data

<!-- Made by docs/data.py from src/unknot/data; do not edit. -->

`unknot list datasets` lists all datasets with their settings. Some are generated and need no file,
among them [`scene3d`](scene3d.md), a look-alike of 3D Shapes; `images` reads your own
images ([your data](your_data.md)), `vectors` and `signals` your
[tables and signals](tables.md), and the published ones below read the files of their authors.

```sh
unknot data list
unknot data get shapes3d
unknot train --data shapes3d
unknot data remove shapes3d --yes
```

- **Nothing is downloaded by surprise.** Only `unknot data get NAME` downloads. It shows licence,
  sizes and addresses first, and asks if there is more than 1 GB or if the licence does not allow
  passing files on (`--yes` answers).
- **Where files lie.** In the folder `UNKNOT_DATA`, one folder for each dataset; unless that is set,
  in the user's folder for data. `--set data.path=PATH` names a file or folder elsewhere. The ids of
  runs depend on neither.
- **Checksums.** A download gets its name when its checksum is the published one. Where none is
  published, the checksum of the first download is kept beside the file and holds from then on. A
  file that you put into the folder yourself is checked the same way when it is first used; one that
  `data.path` names is checked by the shape, type and order of what is in it.
- **Cut downloads** resume, also in a later call and from another address. Proxies of the
  environment are used.
- **Decoded once.** Images are written to a memory map in the cache folder (`UNKNOT_CACHE`), which
  all processes share. A progress bar shows how far it is; if it is interrupted, nothing is left,
  and the next command starts again.
- **Labels without a grid.** `celeba` has a table of 40 attributes, `mnist` and `fashion_mnist` one
  of classes. Metrics and samplers read them as they read labels of your own images, and
  `split = {kind = "published"}` holds out the parts of the authors
  ([training](training.md#rows-held-out)).

## Labels

Your own images may have labels (`--labels`, in Python `unknot.dataset(..., labels=...)`): a CSV
file, names of arrays in the npz or HDF5 file or of columns in the Parquet file, a DataFrame, a
dict of columns, or names of columns of a Hugging Face dataset. Classes of the Hugging Face hub have
their names, in its Parquet files too, and -1 is a missing label.

- **Matched** by a column with the names of the pictures: their path in the folder, their file name,
  or that without its ending. Without such a column there is one row for each image, in order.
  Unknown and duplicate names are refused. A picture without a row has no labels.
- **Kinds** are inferred and printed. Text and truth values are nominal. Whole numbers are ordered,
  or nominal if the name of the label ends in id, class or label. Fractions are ordered, and
  continuous if they have more than 20 values. Cyclic labels, such as angles, have to be named:
  `--kind angle=cyclic`, in Python `kinds={"angle": "cyclic"}`.
- **Missing labels** are empty cells, NaN, None and NA. Metrics that count, correlate or learn one
  factor at a time leave the row out for that factor; those that hold factors fixed take rows that
  have all labels. A remark with the score says how many rows were left out.
- **No grid needed.** If there is one image for each combination of labels, the dataset is a grid in
  their order. Else it is a table: metrics look at all rows, or at 20,000 of them, and those that
  hold a factor fixed compare rows that share its value. What needs a full grid says so.
- **Continuous labels** count in 20 bins of equal mass where a metric counts or classifies, and as
  numbers where it correlates; a remark says so.

"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page as it should be."""
    entries = {
        name: kind.published
        for name in registry.names("datasets")
        if hasattr(kind := registry.get("datasets", name), "published")
    }
    sections = "".join(section(n, facts) for n, facts in entries.items())
    return HEAD + matrix(entries) + loaders(entries) + sections


def matrix(entries: dict[str, Published]) -> str:
    """One row for each dataset."""
    lines = [
        "## Published datasets\n",
        "| dataset | images | factors | licence |",
        "|---|---|---|---|",
    ]
    for name, facts in entries.items():
        channels, height, width = facts.shape
        space = facts.space
        factors = f"no grid; {facts.labels}" if facts.labels else "none"
        if space and not space.stands_in:
            factors = ", ".join(f"{n} {s}" for n, s in zip(space.names, space.sizes, strict=True))
        images = f"{facts.images:,} of {height} × {width} × {channels}"
        lines.append(f"| [`{name}`](#{name}) | {images} | {factors} | {facts.licence} |")
    return "\n".join(lines) + "\n"


def loaders(entries: dict[str, Published]) -> str:
    """How the loader of each dataset and each form of its files was tested."""
    lines = [
        "\n## How loaders are tested\n",
        "*Small files*: the tests write files of a few images in the published layout, made from",
        "descriptions of it alone and not from the loader. They damage, cut and exchange them,",
        "too. *Download*: what a download is compared with. *Real file*: whether the loader was",
        "tried on the files themselves.\n",
        "| dataset | files as | small files | download | real file |",
        "|---|---|---|---|---|",
    ]
    for name, facts in entries.items():
        checks = (
            "sha256" if s.sha256 else "md5" if s.md5 else "first download" for s in facts.files
        )
        download = ", ".join(dict.fromkeys(checks))
        for form in facts.forms:
            real = "yes" if form in facts.verified else "no"
            lines.append(f"| `{name}` | {form} | yes | {download} | {real} |")
            download = ""
    return "\n".join(lines) + "\n"


def section(name: str, facts: Published) -> str:
    """Settings and files of one dataset."""
    told, _, example = registry.doc("datasets", name).partition("\nExample: ")
    text, _, settings = told.partition("\nArgs:\n")
    lines = [f"\n## {name}\n", text.strip(), ""]
    if settings:
        lines += ["Settings:", *_settings(settings), ""]
    if facts.resize:
        lines += [f"Resized: {facts.resize}", ""]
    lines += [f"In Python: {example.strip()}", ""]
    lines += ["| file | size | checksum | addresses |", "|---|---|---|---|"]
    lines += [_file_row(source) for source in facts.files]
    return "\n".join(lines) + "\n"


def _file_row(source: Source) -> str:
    size = source.size or source.about
    amount = f"{'' if source.size else 'about '}{size_text(size)}" if size else "not published"
    kind = "sha256" if source.sha256 else "md5" if source.md5 else ""
    digest = f"{kind} `{(source.sha256 or source.md5)[:12]}…`"
    places = [f"<{address}>" for address in source.addresses]
    places += [f"by hand: <{source.page}>"] * bool(source.page)
    places += [source.note] * bool(source.note)
    cells = (f"`{source.file}`", amount, digest if kind else "of the first download")
    return f"| {' | '.join(cells)} | {'<br>'.join(places)} |"


def _settings(text: str) -> list[str]:
    """The lines of ``Args:`` as a list."""
    items: list[str] = []
    for line in text.splitlines():
        inner = line.strip()
        if line.startswith("    ") and not line.startswith("        "):
            name, _, rest = inner.partition(": ")
            items.append(f"- `{name}`: {rest}")
        elif inner:
            items[-1] += f" {inner}"
    return items


if __name__ == "__main__":
    main()
