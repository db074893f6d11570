"""The gallery of the site: a picture of each generated dataset and of each objective.

Pictures of datasets are drawn when the site is built. Those of objectives are cut from
``docs/pictures/gallery.png``, the sheet that ``make gallery`` writes, at half its size.
"""

from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
SHEET = ROOT / "docs" / "pictures" / "gallery.png"
ON_SHEET = (
    *("aae", "ada_ae", "ada_gvae", "ada_mlvae", "ada_tae", "ada_tvae", "ada_tvae_unsupervised"),
    *("ae", "annealed_vae", "avb", "beta_tcvae", "beta_vae", "control_vae", "dip_vae_i"),
    *("dip_vae_ii", "dynamic_vae", "factor_vae", "flow_vae", "info_vae", "iwae", "l_vae"),
    *("mdl_vae", "sigma_vae", "tae", "tvae", "vae", "wae_mmd"),
)
"""Objectives on the sheet, in its order. Others are named on the page until the sheet is new."""
SHRUNK = 2
"""How much smaller the sheet of the repository is than the one that was written."""
WIDTH = 1_100
"""Pixels across of a picture of a dataset."""
HEAD = """\
# Gallery

All datasets and objectives that come with unknot. Pictures of datasets are drawn from the code as
this site is built; `unknot data show NAME` draws one.

## Datasets that need no file

Each row of a picture moves one factor and leaves the others.

"""
FILES = """
## Datasets that need files

Their pictures belong to their authors and are not shown here. `unknot data get NAME` downloads the
files after showing their licence; then `unknot data show NAME` draws them.

| name | what it is |
|---|---|
"""
OWN = """
Your own images, tables and signals: [your images](overview.md#your-own-images), \
[tables and signals](tables.md).

## Objectives

Each picture: rows are the five latents with the highest KL divergence, columns move the latent.
Made by `unknot gallery`: dSprites, the net `conv64`, 2,000 steps of 32 images, one seed. This is
early in training and no ranking; settings are those of the papers, shortened where needed.

"""


def stage(pages: Path) -> None:
    """Write the page and its pictures, and put those of objectives on their page."""
    from unknot.core import registry

    folder = pages / "pictures" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    drawn, files = draw_datasets(folder)
    pictures = cut(folder)
    names = registry.names("objectives")
    later = {name: registry.summary("objectives", name) for name in names if name not in pictures}
    (pages / "gallery.md").write_text(
        HEAD
        + cards({name: ("", alt, text) for name, (alt, text) in drawn.items()}, "wide")
        + FILES
        + "".join(f"| [`{name}`](data.md#{name}) | {text} |\n" for name, text in files.items())
        + OWN
        + cards(pictures)
        + "".join(f"\n- [{name}](objectives.md#{name}): {text}" for name, text in later.items())
        + (
            "\n\nThe last ones have no picture yet; `unknot gallery NAME` makes one.\n"
            if later
            else ""
        ),
        encoding="utf-8",
    )
    page = pages / "objectives.md"
    text = page.read_text(encoding="utf-8")
    for name, (_, alt, _) in pictures.items():
        place = f"\n## {name}\n\n"
        head, _, rest = text.partition(place)
        summary, _, rest = rest.partition("\n\n")
        picture = f"![{alt}](pictures/gallery/{name}.png){{ width=293 }}"
        text = f"{head}{place}{summary}\n\n{picture}\n\n{rest}"
    page.write_text(text, encoding="utf-8")


def draw_datasets(folder: Path) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Draw the generated ones; returns their texts, and what the others are."""
    from unknot.core import registry
    from unknot.data.parts.published import PublishedDataset
    from unknot.report.model.pictures import dataset_picture

    drawn, files = {}, {}
    for name in registry.names("datasets"):
        kind, summary = registry.get("datasets", name), registry.summary("datasets", name)
        if "" in registry.settings("datasets", name).values():
            continue  # of your own
        if isinstance(kind, PublishedDataset):
            files[name] = summary
            continue
        dataset = kind().load()
        picture = Image.fromarray(dataset_picture(dataset))
        size = (WIDTH, round(WIDTH * picture.height / picture.width))
        picture.resize(size, Image.Resampling.LANCZOS).quantize(128).save(folder / f"{name}.png")
        factors = ", ".join(dataset.space.names)
        drawn[name] = (f"Traversals of the factors of {name}: {factors}", summary)
    return drawn, files


def cut(folder: Path) -> dict[str, tuple[str, str, str]]:
    """Cut the sheet into a picture for each objective; returns page, alternative text and text."""
    from unknot.core import registry
    from unknot.report.gallery import ACROSS, APART
    from unknot.report.gallery import HEAD as TOP
    from unknot.report.sheet import MARGIN

    margin, apart, top = (size // SHRUNK for size in (MARGIN, APART, TOP))
    with Image.open(SHEET) as picture:
        sheet = picture.convert("RGB")
    down = -(-len(ON_SHEET) // ACROSS)
    width = (sheet.width - 2 * margin - (ACROSS - 1) * apart) // ACROSS
    height = (sheet.height - 2 * margin - (down - 1) * apart) // down - top
    for number, name in enumerate(ON_SHEET):
        left = margin + number % ACROSS * (width + apart)
        upper = margin + number // ACROSS * (height + top + apart) + top
        card = sheet.crop((left, upper, left + width, upper + height))
        card.quantize(64).save(folder / f"{name}.png")
    return {
        name: (
            f"objectives.md#{name}",
            f"Traversals of the first five latents of {name} on dSprites",
            registry.summary("objectives", name),
        )
        for name in ON_SHEET
    }


def cards(entries: dict[str, tuple[str, str, str]], kind: str = "") -> str:
    """Pictures side by side, or one below the other if wide, each below its name."""
    parts = [f'<div class="{f"gallery {kind}".strip()}" markdown>\n']
    for name, (page, alt, text) in entries.items():
        picture = f"![{alt}](pictures/gallery/{name}.png){{ loading=lazy }}"
        title = f"[{name}]({page})" if page else name
        parts.append(f"<div markdown>\n\n**{title}**: {text}\n\n{picture}\n\n</div>\n")
    return "\n".join([*parts, "</div>\n"])
