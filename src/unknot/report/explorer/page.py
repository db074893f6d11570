"""The page of the explorer: one file, of one model or of two under the same sliders."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

import unknot
from unknot.core.errors import ConfigError, StoreError
from unknot.core.files import write_whole
from unknot.core.text import shown
from unknot.report.explorer import starts
from unknot.report.explorer.forms import Decoders, Form, choose_form
from unknot.report.explorer.frames import REACH, STOPS, frame_rows, frame_sheets
from unknot.report.explorer.model import ExplorerModel
from unknot.report.explorer.sliders import Slider, slider_list
from unknot.report.html import render
from unknot.report.model.latents import UNUSED
from unknot.report.model.traversals import main_factor
from unknot.report.run.describe import settings
from unknot.report.run.notebook import title
from unknot.report.run.page import grouped_scores

SCRIPTS = ("decoder", "state", "frames", "painting", "stage", "views", "main")
STEP = 0.01
"""Of a slider, in standard deviations, where the decoder is in the file."""


@dataclass(frozen=True)
class Explorer:
    """The text of the page, and what is inside it, as sentences for people."""

    html: str
    contents: str
    form: Form
    reason: str
    """Why it has frames, where nobody asked for them."""

    def write(self, path: Path, *, new: bool = False) -> Path:
        """Write the page as one file; if new, not over what another command wrote meanwhile."""
        write_whole(path, self.html, new=new)
        return path


def check_path(path: Path) -> None:
    """Refuse to write a page under another name than that of one, or where there is a folder."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file, such as {path / 'explorer.html'}.")
    if path.suffix != ".html":
        raise ConfigError(f"The name of an explorer ends in .html; got {shown(str(path))}.")


def explorer(
    models: Sequence[ExplorerModel], *, images: bool = True, form: Form | None = None
) -> Explorer:
    """A page in which people move the latents of a model, or of two side by side.

    Args:
        models: One or two, of the same data.
        images: Put some images of the data into it, to start from.
        form: How pictures get into it; the weights of the decoder if they fit, when None.

    Raises:
        ConfigError: Two models are of different data.
    """
    check_same_data(models)
    decoders = choose_form(models, form)
    sliders = slider_list([m.run for m in models], [m.latents for m in models])
    images = images and all(model.run.has_data for model in models)
    if images:
        rows = starts.start_rows(models[0].run)
        codes = [starts.image_codes(model.run, rows) for model in models]
        pictures = starts.pictures(models[0].run, rows)
    else:
        codes = starts.random_codes(sliders, [model.latents for model in models])
        pictures = []
    views = [slider_view(slider, models) for slider in sliders]
    frames = decoders.form == "frames"
    contents = describe_contents(decoders, len(pictures))
    channels, height, width = models[0].run.dataset.shape
    html = render(
        "explorer/page.html",
        models=[model_view(model) for model in models],
        sliders=views,
        active_count=sum(view["active"] for view in views),
        images=images,
        frames=frames,
        stops=STOPS,
        step=2 * REACH / (STOPS - 1) if frames else STEP,
        threshold=UNUSED,
        has_shares=any(not np.isnan(model.latents.explained).all() for model in models),
        contents=contents,
        version=unknot.__version__,
        aspect=min(8.0, width / (height if channels in (1, 3) else channels * height)),
        data={
            "models": model_data(models, sliders, codes, decoders),
            "sliders": views,
            "images": pictures,
            "frames": frames,
        },
        scripts="\n".join(_script(name) for name in SCRIPTS),
    )
    return Explorer(html, contents, decoders.form, decoders.reason)


def check_same_data(models: Sequence[ExplorerModel]) -> None:
    """Refuse two models that cannot start from the same images."""
    first, *others = (model.run.dataset for model in models)
    for other in others:
        if (first.name, len(first), first.shape) != (other.name, len(other), other.shape):
            raise ConfigError(
                f"Two models are compared on the same data; these are of {first.name} "
                f"({first.summary}) and {other.name} ({other.summary})."
            )


def slider_view(slider: Slider, models: Sequence[ExplorerModel]) -> dict[str, Any]:
    """A slider as the page shows it and as the browser moves it."""
    sides: list[dict[str, Any]] = [
        {
            "model": m,
            "label": main_factor(model.latents, z, model.run.dataset.space.names),
            "kl": float(model.latents.kl[z]) if model.run.has_data else None,
            "used": bool(model.latents.used[z]),
        }
        for m, (z, model) in enumerate(zip(slider.latents, models, strict=True))
        if z is not None
    ]
    numbers = [f"z{z}" for z in slider.latents if z is not None]
    name = " / ".join(dict.fromkeys(numbers))
    follows = " / ".join(dict.fromkeys(side["label"] for side in sides if side["label"]))
    return {
        "name": name,
        "key": "-".join(dict.fromkeys(numbers)),
        "title": f"{name} {follows}".strip(),
        "latents": slider.latents,
        "signs": slider.signs,
        "sides": sides,
        "active": any(side["used"] for side in sides),
    }


def model_view(model: ExplorerModel) -> dict[str, Any]:
    """A model as the page describes it."""
    seed = ", ".join(filter(None, (f"seed {model.run.spec.seed_list[0]}", model.role)))
    return {
        "name": f"{model.run.spec.objective.name} on {model.run.dataset.name}",
        "title": f"{title(model.run)}, {seed}",
        "short": f"{model.run.spec.objective.name}, {seed}",
        "scores": grouped_scores({name: [value] for name, value in model.scores.items()}),
        "settings": settings(model.run),
    }


def model_data(
    models: Sequence[ExplorerModel],
    sliders: Sequence[Slider],
    codes: Sequence[Float[np.ndarray, "n z"]],
    decoders: Decoders,
) -> list[dict[str, Any]]:
    """What the browser computes with, of each model."""
    data = []
    for m, model in enumerate(models):
        numbers = {"mean": model.latents.mean, "sd": model.latents.sd, "codes": codes[m]}
        source = (
            {"decoder": decoders.packed[m]}
            if decoders.packed
            else {"frames": frame_sheets(model, frame_rows(models, sliders, codes, m), codes[m])}
        )
        data.append({**{name: array.tolist() for name, array in numbers.items()}, **source})
    return data


def describe_contents(decoders: Decoders, images: int) -> str:
    """What is in the file and what is not."""
    start = f"{images} images of the data with their codes" if images else "codes drawn at random"
    size = f"{decoders.size / 1e6:.1f} MB"
    decoded = {
        "frames": "pictures decoded beforehand",
        "float16": f"the weights of the decoder (16 bits, {size})",
        "int8": f"the weights of the decoder (8 and 16 bits, {size})",
    }[decoders.form]
    absent = ["the encoder", "paths on disk"]
    absent[:0] = ["weights"] if decoders.form == "frames" else []
    absent[:0] = [] if images else ["images of the data"]
    return (
        f"Inside this file: {start}, {decoded}, and the settings and scores above. "
        f"Not inside: {', '.join(absent)}. The page fetches and sends nothing."
    )


def _script(name: str) -> str:
    return (resources.files("unknot.report.explorer") / f"{name}.js").read_text(encoding="utf-8")
