"""The gallery: one run of each of several objectives, side by side."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from unknot.core import registry
from unknot.core.files import write_files
from unknot.core.text import setting_text
from unknot.report.html import data_uri, render
from unknot.report.model import figures, traversals
from unknot.report.model.latents import UNUSED, Latents, measure_latents, sample_rows
from unknot.report.run import describe
from unknot.report.sheet import MARGIN, tiles
from unknot.report.style import INK, MUTED, PAPER, RULE, font, png
from unknot.runs.run import Run
from unknot.runs.spec import settings_table

LATENTS = 5
"""Latents shown of each model, the most informative ones."""
SAMPLE = 512
ACROSS = 5
APART = 22
HEAD = 58


def write_gallery(
    runs: Mapping[str, Run], folder: Path, *, scores: Mapping[str, Mapping[str, float]]
) -> list[Path]:
    """Write ``index.html`` with all that there is to compare, and ``gallery.png``.

    Args:
        runs: Finished runs of one seed each, by the name to show.
        folder: Where to write.
        scores: Numbers by name, for each run.
    """
    latents = {name: measure_latents(run)[0] for name, run in runs.items()}
    strips = {name: _strips(run, latents[name]) for name, run in runs.items()}
    first = next(iter(runs.values()))
    text = render(
        "gallery.html",
        spec=first.spec,
        dataset=first.dataset,
        cards=[_card(run, name, latents[name], scores[name]) for name, run in runs.items()],
        images={name: data_uri(png(tiles(images, gap=1))) for name, images in strips.items()},
        score_names=list(dict.fromkeys(key for values in scores.values() for key in values)),
        unused=UNUSED,
        facts=describe.facts(first),
    )
    files = {"gallery.png": png(contact_sheet(strips, latents)), "index.html": text.encode()}
    return write_files(folder, files)


def _card(run: Run, name: str, latents: Latents, scores: Mapping[str, float]) -> dict[str, Any]:
    """What the page says of one run."""
    objective = run.spec.objective
    names = run.dataset.space.names
    curves = figures.curves_figure(run.training.curves, run.training.validation, across=4)
    return {
        "name": name,
        "summary": registry.summary("objectives", objective.name),
        "paper": registry.paper("objectives", objective.name),
        "settings": {
            key: setting_text(value) for key, value in settings_table(objective.settings).items()
        },
        "formula": describe.formula(run),
        "diverged": run.diverged.get(0),
        "error": squared_error(run),
        "kl": float(latents.kl.sum()),
        "used": int(latents.used.sum()),
        "latents": [
            {"name": f"z{z}", "factor": traversals.main_factor(latents, z, names)}
            for z in latents.order[:LATENTS]
        ],
        "scores": scores,
        "curves": data_uri(png(curves)),
    }


def squared_error(run: Run) -> float:
    """Mean over images of the squared error of a reconstruction from its code, summed over pixels.

    The loss that a model was trained on depends on its likelihood; this compares all of them.
    """
    x = run.dataset.batch(sample_rows(run, SAMPLE))
    y = run.decode(run.encode(x)[None])  # by member: those of a diverged one may be no numbers
    return float((y.cpu() - x.cpu()).double().square().sum((-3, -2, -1)).mean())


def _strips(run: Run, latents: Latents) -> UInt8[np.ndarray, "z t h w 3"]:
    images: UInt8[np.ndarray, "m z t h w 3"]
    images = traversals.sweep(run, [latents], traversals.STILL)
    return images[0, :LATENTS]


def contact_sheet(
    strips: Mapping[str, UInt8[np.ndarray, "z t h w 3"]], latents: Mapping[str, Latents]
) -> UInt8[np.ndarray, "height width 3"]:
    """All traversals on one picture, a card for each objective."""
    cards = {name: tiles(images, gap=1) for name, images in strips.items()}
    height, width = (max(card.shape[axis] for card in cards.values()) for axis in (0, 1))
    down = -(-len(cards) // ACROSS)
    across = min(ACROSS, len(cards))
    size = (
        2 * MARGIN + across * width + (across - 1) * APART,
        2 * MARGIN + down * (height + HEAD) + (down - 1) * APART,
    )
    page = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(page)
    for i, (name, card) in enumerate(cards.items()):
        left = MARGIN + (i % ACROSS) * (width + APART)
        top = MARGIN + (i // ACROSS) * (height + HEAD + APART)
        used, total = int(latents[name].used.sum()), len(latents[name].used)
        pen.text((left, top), name, INK, font(22, bold=True))
        pen.text((left, top + 30), f"{used} of {total} latents active", MUTED, font(16))
        place = (left, top + HEAD)
        bottom = (left + card.shape[1] - 1, top + HEAD + card.shape[0] - 1)
        pen.rectangle((place, bottom), RULE)
        page.paste(Image.fromarray(card[..., :3]), place, Image.fromarray(card[..., 3]))
    return np.array(page)
