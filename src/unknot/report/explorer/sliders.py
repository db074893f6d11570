"""Sliders: which latents move together, in which order, and what they are called."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from unknot.report.model.latents import Latents, sample_rows
from unknot.runs.run import Run

SAMPLE = 2048


@dataclass(frozen=True)
class Slider:
    """A latent of each model that one slider moves; None where a model has none for it."""

    latents: tuple[int | None, ...]
    signs: tuple[int, ...]
    """-1 where a model's latent goes the other way."""


def slider_list(runs: Sequence[Run], latents: Sequence[Latents]) -> list[Slider]:
    """A slider for each latent, the most informative first; two models share theirs.

    Latents of two models are matched by the correlation of their codes over the same images, each
    with one at most, so that the sum of the correlations is largest. Without images they are
    matched by rank.

    Args:
        runs: One model each, at most two, on the same data.
        latents: From `measure_latents`, of each.
    """
    if len(runs) == 1:
        sliders = [Slider((z,), (1,)) for z in latents[0].order]
    else:
        sliders = _pairs(runs, latents)

    def information(slider: Slider) -> float:
        pairs = zip(slider.latents, latents, strict=True)
        return max(float(measured.kl[z]) for z, measured in pairs if z is not None)

    return sorted(sliders, key=information, reverse=True)


def _pairs(runs: Sequence[Run], latents: Sequence[Latents]) -> list[Slider]:
    first, second = (len(measured.kl) for measured in latents)
    if all(run.has_data for run in runs):
        rows = sample_rows(runs[0], SAMPLE)
        matches = match_latents(*(run.codes(rows).double().cpu().numpy() for run in runs))
    else:
        matches = [(a, b, 1) for a, b in zip(latents[0].order, latents[1].order, strict=False)]
    alone = [Slider((a, None), (1, 1)) for a in range(first) if a not in {m[0] for m in matches}]
    alone += [Slider((None, b), (1, 1)) for b in range(second) if b not in {m[1] for m in matches}]
    return [Slider((a, b), (1, sign)) for a, b, sign in matches] + alone


def match_latents(
    first: Float[np.ndarray, "n a"], second: Float[np.ndarray, "n b"]
) -> list[tuple[int, int, int]]:
    """Latents of two models by the correlation of their codes: first, second and its sign.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(50, 3))
        >>> match_latents(x, x[:, [2, 0, 1]] * [1, -1, 1])
        [(0, 1, -1), (1, 2, 1), (2, 0, 1)]
    """
    a, b = (_standardized(codes) for codes in (first, second))
    correlation = a.T @ b / len(first)
    rows, columns = linear_sum_assignment(-np.abs(correlation))
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return [(i, j, -1 if correlation[i, j] < 0 else 1) for i, j in pairs]


def _standardized(codes: Float[np.ndarray, "n z"]) -> Float[np.ndarray, "n z"]:
    centred = codes - codes.mean(0)
    deviation = centred.std(0)
    scaled: np.ndarray = centred / np.where(deviation > 0, deviation, 1.0)
    return scaled
