"""A model on a page: its traversals, what its latents follow, reconstructions and samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import UInt8
from matplotlib.figure import Figure

from unknot.report.html import data_uri
from unknot.report.model import pictures, traversals, views
from unknot.report.model.latents import UNUSED, Latents
from unknot.report.model.strips import strips
from unknot.report.sheet import enlargement, tiles
from unknot.report.style import png
from unknot.runs.run import Run

SAMPLE_ROWS = 3
Shown: TypeAlias = "Figure | UInt8[np.ndarray, 'height width c']"


@dataclass(frozen=True)
class LatentRow:
    """A latent of a model card, with addresses of its images."""

    name: str
    kl: float
    used: bool
    factor: str
    """The factor that explains most of its variance."""
    explained: list[float | None]
    """Share of its variance that each factor explains alone."""
    strip: str
    loop: str | None
    """A GIF, if the latent is used; columns of a table have none."""


@dataclass(frozen=True, eq=False)
class ModelCard:
    """One model as the page of a run and the page of a study show it."""

    seed: int
    noun: str
    """What the data has: images, rows of a table, or signals."""
    factors: Sequence[str]
    latents: list[LatentRow]
    images: Mapping[str, Shown]
    """Pictures by name: reconstructions and samples; of images means, of rows changes too."""
    brightness: int = 1
    """Factor by which mean images are brightened."""
    threshold: float = UNUSED
    """Nats from which on a latent counts as active."""
    columns: Sequence[str] = tuple(traversals.column_names())

    @property
    def active(self) -> int:
        """Number of latents that say something about an image."""
        return sum(latent.used for latent in self.latents)

    @property
    def has_shares(self) -> bool:
        """Whether factors explain anything: images may come without factors."""
        return any(share is not None for latent in self.latents for share in latent.explained)

    def uri(self, name: str) -> str:
        """The address of a picture."""
        return data_uri(png(self.images[name]))


def model_card(
    run: Run, latents: Sequence[Latents], member: int = 0, *, rows: int = 1
) -> ModelCard:
    """What to show of one model.

    Args:
        run: The trained models.
        latents: From `measure_latents`, one for each model.
        member: Which model.
        rows: Rows of reconstructions.
    """
    noun = run.dataset.noun
    brightness = 1
    if noun == "rows":
        images = _table_pictures(run, latents, member)
    elif noun == "signals":
        images = _signal_pictures(run, member)
    else:
        images, brightness = _image_pictures(run, member, rows)
    return ModelCard(
        seed=run.spec.seed_list[member],
        noun=noun,
        factors=run.dataset.space.names,
        latents=latent_rows(run, latents, member, loops=noun != "rows"),
        images=images,
        brightness=brightness,
    )


def latent_rows(
    run: Run, latents: Sequence[Latents], member: int = 0, *, loops: bool = False
) -> list[LatentRow]:
    """The latents of a model, the most informative first.

    Args:
        run: The trained models.
        latents: From `measure_latents`, one for each model.
        member: Which model.
        loops: Draw a GIF of each used latent, too.
    """
    latent, names = latents[member], run.dataset.space.names
    moving: list[str | None] = [None] * len(latent.order)
    if loops:
        sweep = traversals.sweep(run, latents, traversals.LOOP, members=(member,))[0]
        pairs = zip(latent.order, sweep, strict=True)
        moving = [_loop(frames) if latent.used[z] else None for z, frames in pairs]
    return [
        LatentRow(
            name=f"z{z}",
            kl=float(latent.kl[z]),
            used=bool(latent.used[z]),
            factor=traversals.main_factor(latent, z, names),
            explained=[None if np.isnan(s) else float(s) for s in latent.explained[z]],
            strip=data_uri(png(strip)),
            loop=loop,
        )
        for z, strip, loop in zip(latent.order, strips(run, latents, member), moving, strict=True)
    ]


def reconstruction_strip(run: Run, member: int = 0) -> Shown:
    """Images above their reconstructions above the differences; signals or columns with theirs."""
    if run.dataset.noun != "images":
        return views.reconstruction_view(run, member)
    return _table(pictures.with_differences(run, member, n=pictures.ACROSS))


def _table_pictures(run: Run, latents: Sequence[Latents], member: int) -> dict[str, Shown]:
    return {
        "changes": views.traversal_view(run, latents, member),
        "reconstructions": views.reconstruction_view(run, member),
        "samples": views.sample_view(run, member),
    }


def _signal_pictures(run: Run, member: int) -> dict[str, Shown]:
    return {
        "reconstructions": views.reconstruction_view(run, member),
        "samples": _samples(run, member),
    }


def _image_pictures(run: Run, member: int, rows: int) -> tuple[dict[str, Shown], int]:
    """Pictures, and how much brighter those of means are."""
    means = pictures.mean_images(run, member)[None]
    brightness = pictures.brightness(means)
    pairs = pictures.with_differences(run, member, n=rows * pictures.ACROSS)
    # Small data may not fill the rows.
    complete = pairs.shape[1] == rows * pictures.ACROSS
    blocks = np.split(pairs, rows, axis=1) if complete else [pairs[:, : pictures.ACROSS]]
    shown: dict[str, Shown] = {
        "reconstructions": _table(np.concatenate(blocks)),
        "samples": _samples(run, member),
        "means": _table(means * np.uint8(brightness)),
    }
    return shown, brightness


def _samples(run: Run, member: int) -> UInt8[np.ndarray, "height width 4"]:
    samples = pictures.prior_samples(run, member, n=SAMPLE_ROWS * pictures.ACROSS)
    return _table(samples.reshape(SAMPLE_ROWS, -1, *samples.shape[1:]))


def _table(images: UInt8[np.ndarray, "r k h w 3"]) -> UInt8[np.ndarray, "height width 4"]:
    return tiles(images, scale=enlargement(images))


def _loop(images: UInt8[np.ndarray, "t h w 3"]) -> str:
    scale = enlargement(images)
    large = images.repeat(scale, axis=1).repeat(scale, axis=2)
    return data_uri(traversals.gif(traversals.loop_frames(large), ms=traversals.FRAME_MS), "gif")
