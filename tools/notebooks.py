"""Run the lessons and examples as notebooks: ``make notebooks``; ``make docs`` shows what is there.

Each script of ``examples`` and ``examples/lessons`` becomes ``build/notebooks/NAME.ipynb`` with its
outputs. Nothing of that is in the repository. `tools/website.py` stages a page and the notebook for
each script; of one that was not run since it changed, the page says so and has no outputs.
"""

import argparse
import base64
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LESSONS = tuple(sorted((ROOT / "examples" / "lessons").glob("*.py")))
SCRIPTS = (*LESSONS, *sorted((ROOT / "examples").glob("*.py")))
RUN = ROOT / "build" / "notebooks"
"""Where executed notebooks are, with the files that they wrote."""
FOLDER = "notebooks"
"""Of the pages in the site."""
LONGEST = 3600
"""Seconds for one cell."""


def read(file: Path) -> Any:
    """A script as a notebook without outputs; of a lesson, with empty cells for the answers."""
    import jupytext
    import nbformat

    text = file.read_text(encoding="utf-8")
    if file in LESSONS:
        notebook = jupytext.reads(text, fmt="py:percent")
    else:  # whose first lines are a docstring
        head, code = re.fullmatch(r'"""(.*?)"""\n+(.*)', text, re.DOTALL).groups()
        notebook = jupytext.reads(code, fmt="py:light")
        title = file.stem.replace("_", " ").capitalize()
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(f"# {title}\n\n{head}"))
    cells = []
    for cell in notebook.cells:
        if is_solution(cell):
            cell.metadata["jupyter"] = {"source_hidden": True, "outputs_hidden": True}
            if cells and not is_solution(cells[-1]):
                cells.append(nbformat.v4.new_code_cell("# your answer"))
        cells.append(cell)
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # so that the same script gives the same file
    notebook.cells = cells
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
        "unknot": {"source": text},
    }
    return notebook


def is_solution(cell: Any) -> bool:
    """Whether it answers an exercise."""
    return "solution" in cell.metadata.get("tags", ())


def execute(file: Path) -> None:
    """Run a script as a notebook and keep what came out."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    import unknot

    notebook = read(file)
    notebook.metadata["unknot"]["version"] = unknot.__version__
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        sockets = {"transport": "ipc", "ip": str(folder / "kernel")}  # files in place of ports
        client = NotebookClient(
            notebook,
            timeout=LONGEST,
            startup_timeout=300,
            resources={"metadata": {"path": str(folder)}},
            config=Config({"KernelManager": sockets}),
        )
        with client.setup_kernel():
            for number, cell in enumerate(notebook.cells):
                there = {*folder.glob("*"), *folder.glob("runs/*.png")}
                client.execute_cell(cell, number)
                if cell.cell_type == "code":
                    new = sorted({*folder.glob("*"), *folder.glob("runs/*.png")} - there)
                    cell.outputs = [*kept(cell.outputs, folder), *pictures(new)]
                    keep_pages(new, RUN / file.stem)
                cell.metadata.pop("execution", None)  # when it ran
    RUN.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, RUN / f"{file.stem}.ipynb")


def kept(outputs: list[Any], folder: Path) -> Iterator[Any]:
    """What a cell printed and showed, without bars, remarks and the folder it ran in."""
    printed = None
    for output in outputs:
        if output.output_type == "stream":
            if output.name == "stdout":
                text = output.text.replace(f"{folder}/", "")
                if printed is None:  # a bar between two lines has split them
                    printed, output.text = output, text
                    yield output
                else:
                    printed.text += text
        elif "<progress" not in (html := output.data.get("text/html", "x")) and html:
            for kind in ("text/plain", "text/html"):
                if kind in output.data:
                    output.data[kind] = output.data[kind].replace(f"{folder}/", "")
            yield output


def pictures(files: list[Path]) -> Iterator[Any]:
    """Pictures that a cell wrote, as if it had shown them."""
    import nbformat

    for file in files:
        if file.suffix == ".png":
            data = {"image/png": base64.b64encode(file.read_bytes()).decode()}
            yield nbformat.v4.new_output("display_data", data, metadata={"unknot": file.name})


def keep_pages(files: list[Path], folder: Path) -> None:
    """Pages that a cell wrote, such as an explorer."""
    for file in files:
        if file.suffix == ".html":
            folder.mkdir(parents=True, exist_ok=True)
            (folder / file.name).write_bytes(file.read_bytes())


def executed(file: Path) -> Any | None:
    """The notebook with outputs, if it was run since the script changed."""
    import nbformat

    path = RUN / f"{file.stem}.ipynb"
    if not path.exists():
        return None
    notebook = nbformat.read(path, as_version=4)
    text = notebook.metadata.get("unknot", {}).get("source")
    return notebook if text == file.read_text(encoding="utf-8") else None


def stage(pages: Path) -> list[str]:
    """Write a page and a notebook for each script; returns the names of those without outputs."""
    import nbformat

    folder, missing = pages / FOLDER, []
    folder.mkdir(parents=True, exist_ok=True)
    for file in SCRIPTS:
        notebook = executed(file)
        if notebook is None:
            missing.append(file.stem)
        shown = read(file) if notebook is None else notebook
        (folder / f"{file.stem}.md").write_text(
            page(shown, file, folder, has_outputs=notebook is not None), encoding="utf-8"
        )
        shown.metadata.pop("unknot", None)
        nbformat.write(shown, folder / f"{file.stem}.ipynb")
        for written in sorted((RUN / file.stem).glob("*.html")) if notebook else ():
            (folder / written.name).write_bytes(written.read_bytes())
    return missing


def page(notebook: Any, file: Path, folder: Path, *, has_outputs: bool) -> str:
    """A notebook as Markdown; its pictures are written into the folder."""
    parts: list[str] = []
    count, folded = 0, False
    for cell in notebook.cells:
        if cell.source == "# your answer" or not cell.source.strip():
            continue
        if cell.cell_type == "markdown":
            text = re.sub(r"(\]\(\w+)\.ipynb\)", r"\1.md)", cell.source)
        else:
            blocks = [f"```python\n{cell.source}\n```"]
            for output in cell.outputs:
                name = f"{file.stem}_{count}.png"
                count += 1
                blocks.append(block(output, cell, folder / name))
            text = "\n\n".join(filter(None, blocks))
        if is_solution(cell):
            text = re.sub(r"(?m)^(?=.)", "    ", text)
            text = text if folded else f'??? success "Solution"\n\n{text}'
        folded = is_solution(cell)
        parts.append(text)
    parts.insert(1, note(notebook, file, has_outputs))
    return "\n\n".join(parts) + "\n"


def note(notebook: Any, file: Path, has_outputs: bool) -> str:
    """Where to get it, and where the outputs come from."""
    download = f"[{file.stem}.ipynb]({file.stem}.ipynb)"
    if has_outputs:
        version = notebook.metadata["unknot"]["version"]
        origin = f"Outputs are those of unknot {version} on CPU cores."
    else:
        origin = (
            "Outputs are missing: this copy of the site was built without running the notebook "
            "(`make notebooks docs`)."
        )
    source = file.relative_to(ROOT).as_posix()
    return f"*Download: {download}. The same as a script: `{source}`. {origin}*"


def block(output: Any, cell: Any, picture: Path) -> str:
    """An output as Markdown: a picture, a table, a link to a page, or text."""
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    data = output.data
    if "image/png" in data:
        picture.write_bytes(base64.b64decode(data["image/png"]))
        alt = cell.metadata.get("alt") or f"The picture {output.metadata.get('unknot', '')}"
        return f"![{alt}]({picture.name})"
    if 'class="dataframe"' in (html := data.get("text/html", "")):
        table = html[html.index("<table") : html.index("</table>") + 8]
        return re.sub(r"\n\s*", "", table.replace('border="1" class="dataframe"', ""))
    text = data.get("text/plain", "")
    if written := re.search(r"Path\('([\w.-]+\.html)'\)", text):
        return f"[Open {written[1]}]({written[1]})"
    if uri := re.search(r'<img src="data:image/png;base64,([^"]+)" alt="([^"]*)"', html):
        picture.write_bytes(base64.b64decode(uri[1]))
        return f"![{cell.metadata.get('alt') or uri[2]}]({picture.name})"
    return f"```text\n{text}\n```" if text else ""


def main() -> None:
    """Run the notebooks named, or those that changed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="scripts to run again, without .py")
    names = parser.parse_args().names
    files = {file.stem: file for file in SCRIPTS}
    if unknown := set(names) - set(files):
        raise SystemExit(f"No notebook {', '.join(sorted(unknown))}; there are {', '.join(files)}.")
    os.environ.setdefault("PYTHONHASHSEED", "0")
    for name in names or [name for name, file in files.items() if executed(file) is None]:
        begin = time.monotonic()
        print(f"{name} ...", end=" ", flush=True)
        execute(files[name])
        print(f"{time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
