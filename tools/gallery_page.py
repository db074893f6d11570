"""The gallery of the site: a picture of each generated dataset and of each objective.

Pictures of datasets are drawn when the site is built. Those of objectives are cut from
``docs/pictures/gallery.png``; ``gallery.json`` beside it says which they are and how they were
trained (`tools/gallery_sheet.py`).
"""

import json
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
SHRUNK = 1
"""How much smaller the sheet of the repository is than the one that was drawn."""
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
Your own images, tables and signals: [your data](your_data.md).

## Objectives

Each picture: rows are the five latents with the highest KL divergence, columns move the latent.
Training: {data}, the net `{net}`, {steps:,} steps of {batch} images, Adam at a rate of {lr:g},
seed {seed}, {precision}, on {machine} ({date}). This is early in training and no ranking: some have
not begun to draw squares. Settings are those of the papers, shortened where needed.
`unknot gallery` trains and draws them with their curves and scores.

"""


def stage(pages: Path) -> None:
    """Write the page and its pictures, and put those of objectives on their page."""
    from unknot.core import registry

    folder = pages / "pictures" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    drawn, files = draw_datasets(folder)
    facts = conditions()
    pictures = cut(folder, facts["names"])
    names = registry.names("objectives")
    later = {name: registry.summary("objectives", name) for name in names if name not in pictures}
    (pages / "gallery.md").write_text(
        HEAD
        + cards({name: ("", alt, text) for name, (alt, text) in drawn.items()}, "wide")
        + FILES
        + "".join(f"| [`{name}`](data.md#{name}) | {text} |\n" for name, text in files.items())
        + OWN.format(**facts)
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


def conditions() -> dict[str, Any]:
    """Which objectives are on the sheet, in its order, and how they were trained."""
    facts: dict[str, Any] = json.loads((PICTURES / "gallery.json").read_text(encoding="utf-8"))
    return facts


def cut(folder: Path, names: list[str]) -> dict[str, tuple[str, str, str]]:
    """Cut the sheet into a picture for each objective; returns page, alternative text and text."""
    from unknot.core import registry
    from unknot.report.gallery import ACROSS, APART
    from unknot.report.gallery import HEAD as TOP
    from unknot.report.sheet import MARGIN

    margin, apart, top = (size // SHRUNK for size in (MARGIN, APART, TOP))
    with Image.open(PICTURES / "gallery.png") as picture:
        sheet = picture.convert("RGB")
    down = -(-len(names) // ACROSS)
    width = (sheet.width - 2 * margin - (ACROSS - 1) * apart) // ACROSS
    height = (sheet.height - 2 * margin - (down - 1) * apart) // down - top
    for number, name in enumerate(names):
        left = margin + number % ACROSS * (width + apart)
        upper = margin + number // ACROSS * (height + top + apart) + top
        card = sheet.crop((left, upper, left + width, upper + height))
        card.quantize(256, Image.Quantize.MAXCOVERAGE).save(folder / f"{name}.png")
    return {
        name: (
            f"objectives.md#{name}",
            f"Traversals of the first five latents of {name}",
            registry.summary("objectives", name),
        )
        for name in names
    }


def cards(entries: dict[str, tuple[str, str, str]], kind: str = "") -> str:
    """Pictures side by side, or one below the other if wide, each below its name."""
    parts = [f'<div class="{f"gallery {kind}".strip()}" markdown>\n']
    for name, (page, alt, text) in entries.items():
        picture = f"![{alt}](pictures/gallery/{name}.png){{ loading=lazy }}"
        title = f"[{name}]({page})" if page else name
        parts.append(f"<div markdown>\n\n**{title}**: {text}\n\n{picture}\n\n</div>\n")
    return "\n".join([*parts, "</div>\n"])
