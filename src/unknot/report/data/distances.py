"""Distances along factors: matrices of them, and their distributions."""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.files import write_files
from unknot.core.posterior import Posterior
from unknot.core.representation import CodeCache
from unknot.core.text import compact
from unknot.losses.likelihood import likelihood_of
from unknot.losses.mapped import MappedLoss
from unknot.metrics.distance_correlation import PROTOCOLS, distance_correlation
from unknot.metrics.parts.distance_sources import Source, mse
from unknot.metrics.parts.distances import RANDOM, Matrices, Spread
from unknot.metrics.parts.score import Score
from unknot.report.model.latents import check_member
from unknot.report.model.traversals import decode
from unknot.report.style import (
    CYCLE,
    DEPTHS,
    INK,
    MUTED,
    PAPER,
    SMALL,
    nested_width,
    new_figure,
    number_ticks,
    png,
    set_panel,
    show_frame,
    styled,
)
from unknot.runs.run import Run

TRUTH = "factors"
PAIRS = 2_048
"""Pairs of images of each factor that are compared one by one."""
LOSSES = {
    "gaussian": "squared error",
    "bernoulli": "cross-entropy",
    "box": "box blur",
    "gaussian_blur": "Gaussian blur",
}
SIDE = 1.75
"""Inches of a matrix."""
READABLE = 8
"""Matrices up to this size have their numbers in them."""
ALONG = "Distances along factors"
POINTS = 400
"""Of a line that shows a distribution."""


def data_sources(dataset: FactorDataset, loss: str | MappedLoss = "gaussian") -> dict[str, Source]:
    """What a dataset alone has distances of: factors, and images in [0, 1]."""
    seen = _seen(dataset, loss)
    return {
        "factors": Source.from_factors(dataset.space.require_grid(ALONG)),
        "images": Source.from_images(lambda index: seen(dataset.batch(index)), loss),
    }


def _seen(dataset: FactorDataset, loss: str | MappedLoss) -> Callable[[Tensor], Tensor]:
    """Images as a loss takes them: within [0, 1], or as the dataset gives them."""
    as_given = isinstance(loss, MappedLoss) and not loss.takes_unit
    return (lambda x: x) if as_given else dataset.unit


def own_loss(run: Run) -> str | MappedLoss:
    """The loss under which a run's images are compared: its own map of them, or squared errors."""
    likelihood = likelihood_of(run.spec.objective.settings)
    return likelihood if isinstance(likelihood, MappedLoss) else "gaussian"


def run_sources(
    run: Run, member: int = 0, *, loss: str | MappedLoss | None = None
) -> dict[str, Source]:
    """The dataset's sources and the model's: codes, posteriors, reconstructions from codes.

    Args:
        run: The trained models.
        member: Which of them.
        loss: Of images and reconstructions; `own_loss` by default.
    """
    check_member(run, member)
    loss = loss or own_loss(run)
    seen = _seen(run.dataset, loss)

    def encode(index: Tensor) -> Tensor:
        q = run.posteriors(index)
        both = torch.cat([q.mean, q.logvar], dim=-1)
        return both if run.spec.lone else both[member]

    cache = CodeCache(encode, run.dataset.space.size)

    def posteriors(index: Tensor) -> Posterior:
        return Posterior(*cache(index).chunk(2, dim=-1))

    def reconstructions(index: Tensor) -> Tensor:
        z = posteriors(index).mean
        y = decode(run, z.expand(len(run.spec.seed_list), *z.shape))[member]
        return seen(y).float().cpu()

    return {
        **data_sources(run.dataset, loss),
        "codes": Source.from_means(posteriors),
        "posteriors": Source.from_posteriors(posteriors),
        "reconstructions": Source.from_images(reconstructions, loss),
    }


def pair_correlations(
    run: Run,
    member: int = 0,
    *,
    loss: str | MappedLoss | None = None,
    traversals: int = 512,
    seed: int = 0,
) -> Score:
    """Distance correlation of a model's codes, pair by pair, with factors and with images.

    Images are compared under the loss, as far as it is a squared error, of blurred images too.

    Args:
        run: The trained models.
        member: Which of them.
        loss: Of images; `own_loss` by default.
        traversals: Of each factor, at most.
        seed: Of traversals and pairs.
    """
    check_member(run, member)
    images = data_sources(run.dataset, loss or own_loss(run))["images"]
    return distance_correlation(
        run.representations()[member],
        images=images.rows if images.distance is mse else None,
        protocol=replace(PROTOCOLS["paper"], traversals=traversals, pairs=PAIRS),
        seed=seed,
    )


def captions(loss: str | MappedLoss) -> dict[str, str]:
    """A line for each source that says what its distances are."""
    text = loss.caption if isinstance(loss, MappedLoss) else LOSSES.get(loss, "learnt kernel")
    return {
        "factors": "ground truth",
        "images": text,
        "codes": "distance of means",
        "posteriors": "symmetric KL",
        "reconstructions": text,
    }


@styled
def matrices_figure(
    matrices: Matrices,
    *,
    title: str,
    lines: Mapping[str, str] | None = None,
) -> Figure:
    """A row of matrices for each factor and a column for each source, of one colour scale.

    Ground truth is known beforehand, and factors of few values would vanish next to those of many:
    there, each matrix goes to its own maximum.

    Args:
        matrices: Mean distances by factor and source.
        title: What they are of.
        lines: A line below the name of a source, such as `captions`.
    """
    names, sources = list(matrices), list(next(iter(matrices.values())))
    size = (0.6 + (SIDE + 0.3) * len(sources), 1.5 + (SIDE + 0.24) * len(names))
    figure = new_figure(size, title)
    cells = figure.subplots(len(names), len(sources), squeeze=False)
    for j, source in enumerate(sources):
        column = [matrices[name][source].numpy() for name in names]
        tops = [float(matrix.max()) for matrix in column]
        unit = 10.0 ** thousands(max(tops))
        for axes, matrix, largest in zip(cells[:, j], column, tops, strict=True):
            top = (largest if source == TRUTH else max(tops)) / unit or 1.0
            image = axes.imshow(matrix / unit, cmap=DEPTHS, vmin=0, vmax=top)
            _label_matrix(axes, matrix / unit, top)
        power = thousands(max(tops))
        below = [(lines or {}).get(source, ""), f"× 10{_raised(power)}" if power else ""]
        heading(cells[0, j], source, sorted(below, key=lambda line: not line))
        bar = figure.colorbar(
            image, ax=cells[:, j], orientation="horizontal", fraction=0.04, pad=0.01, aspect=16
        )
        number_ticks(bar.ax.xaxis, 3)
        if source == TRUTH:
            bar.set_ticks([0, top], labels=["0", "largest"])
    for axes, name in zip(cells[:, 0], names, strict=True):
        axes.set_ylabel(name, fontweight="bold", color=INK, labelpad=4)
    return figure


def heading(axes: Axes, name: str, lines: Sequence[str]) -> None:
    """A name above a panel in bold, and lines below it; empty ones keep their room."""
    axes.set_title(name, loc="center", pad=5 + 11 * len(lines))
    for i, line in enumerate(reversed(lines)):
        axes.annotate(
            line,
            (0.5, 1),
            xytext=(0, 5 + 11 * i),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
        )


def _label_matrix(axes: Axes, matrix: Float[np.ndarray, "v v"], most: float) -> None:
    values = len(matrix)
    if values <= READABLE:
        for (u, v), distance in np.ndenumerate(matrix):
            ink = PAPER if distance > 0.45 * most else INK
            text = compact(float(distance))
            axes.text(v, u, text, ha="center", va="center", fontsize=6, color=ink)
    ticks = sorted({0, values - 1})
    axes.set_xticks(ticks, [str(t + 1) for t in ticks])
    axes.set_yticks(ticks, [str(t + 1) for t in ticks])
    axes.tick_params(labelsize=SMALL, length=0, pad=2)
    show_frame(axes, "frame")


def thousands(most: float) -> int:
    """The power of 10, a multiple of 3, in whose unit a number lies between 1 and 1000.

    Example:
        >>> [thousands(x) for x in (0.0104, 7.0, 999.0, 12_288.0, 0.0)]
        [-3, 0, 0, 3, 0]
    """
    return 3 * math.floor(math.log10(most) / 3) if most > 0 else 0


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


@styled
def importance_figure(spreads: Mapping[str, Spread], *, title: str) -> Figure:
    """Share of pairs along each factor up to a distance, and of random pairs.

    Args:
        spreads: Distances by factor, the most important first; ``random`` is drawn dashed.
        title: What they are of.
    """
    figure = new_figure((6.6, 3.6))
    axes = figure.add_subplot()
    far = max(float(spread.distances[-1]) for spread in spreads.values())
    for i, (name, spread) in enumerate(spreads.items()):
        x, share = distribution(spread)
        x, share = np.concatenate([[0.0], x, [far * 1.03]]), np.concatenate([[0.0], share, [1.0]])
        alone = name == RANDOM
        axes.step(
            x,
            share,
            where="post",
            color=INK if alone else CYCLE[i % len(CYCLE)],
            linestyle="--" if alone else "-" if i < len(CYCLE) else ":",
            # Thinner and thinner, so that lines which coincide are all seen.
            linewidth=nested_width(i, len(spreads)),
            label=f"{name}  {spread.mean:.3g} ± {spread.deviation:.3g}",
        )
    axes.set_xlim(0, far * 1.03)
    axes.set_ylim(0, 1.02)
    set_panel(axes, title, grid="both", ticks=5)
    axes.set_xlabel("distance")
    axes.set_ylabel("share of pairs up to this distance")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    legend = axes.legend(
        title="mean ± standard deviation, largest first",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        alignment="left",
    )
    legend.get_title().set_color(MUTED)
    return figure


def distribution(
    spread: Spread, points: int = POINTS
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Distances, and the share of pairs up to each: all of them, or some evenly chosen."""
    distances = spread.distances.double().cpu()
    places = torch.linspace(0, len(distances) - 1, min(points, len(distances))).round().long()
    some = distances[places].unique()
    return some.numpy(), spread.cdf(some).double().cpu().numpy()


def write(folder: Path, figures: Mapping[str, Figure], matrices: Matrices) -> list[Path]:
    """Write figures as PNG files, and ``distances.npz`` with the matrices ``factor/source``."""
    arrays = {
        f"{factor}/{source}": matrix.numpy()
        for factor, by_source in matrices.items()
        for source, matrix in by_source.items()
    }
    data = io.BytesIO()
    np.savez(data, **arrays)  # type: ignore[arg-type]
    files = {f"{name}.png": png(figure) for name, figure in figures.items()}
    files["distances.npz"] = data.getvalue()
    return write_files(folder, files)
