"""Traversals, reconstructions and samples of a model, whatever its data is."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import UInt8
from matplotlib.figure import Figure

from unknot.report.model import column_figures, pictures, signal_figures, traversals
from unknot.report.model.latents import Latents
from unknot.runs.run import Run

View: TypeAlias = "Figure | UInt8[np.ndarray, 'h w 3']"
SIGNALS = 5
"""Whose reconstructions are shown."""


def traversal_view(run: Run, latents: Sequence[Latents], member: int = 0) -> View:
    """What moves with each latent: images and signals in rows, or columns as a heat map."""
    if run.dataset.noun == "rows":
        return column_figures.changes_figure(run, latents, member)
    return traversals.traversal_picture(run, latents, member)


def reconstruction_view(run: Run, member: int = 0) -> View:
    """Images above their reconstructions, signals with theirs, or R² of the columns of a table."""
    if run.dataset.noun == "rows":
        return column_figures.reconstruction_figure(run, member)
    if run.dataset.noun == "signals":
        pair = pictures.reconstruct(run, member, n=SIGNALS)
        return signal_figures.reconstruction_figure(run.dataset, *pair)
    return pictures.reconstructions(run, member)


def sample_view(run: Run, member: int = 0) -> View:
    """What codes from the prior decode to: images, signals, or ranges of columns."""
    if run.dataset.noun == "rows":
        return column_figures.samples_figure(run, member)
    return pictures.samples(run, member)
