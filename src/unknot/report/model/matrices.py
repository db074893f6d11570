"""Matrices of latents by factors: what metrics compute before they make one number of it."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from unknot import metrics
from unknot.core.errors import ConfigError, DataError, UnknotError
from unknot.core.registry import nearest
from unknot.core.text import compact, number, shorten
from unknot.metrics.parts.columns import correlation
from unknot.metrics.parts.score import Score
from unknot.report.model.heat_map import LONGEST, are_slanted, name_sides
from unknot.report.model.latents import (
    LatentKl,
    check_member,
    few_values,
    latent_label,
    sample_rows,
)
from unknot.report.model.traversals import title
from unknot.report.style import (
    INK,
    LETTERS,
    MUTED,
    PAPER,
    SHARES,
    SIGNS,
    footnote,
    new_figure,
    set_title,
    styled,
)
from unknot.runs.run import Run

SAMPLE = 2_048
"""Rows that a matrix is measured on."""
MOST = 40
"""Latents, or factors, of a figure."""


@dataclass(frozen=True, eq=False)
class Matrix(LatentKl):
    """A number for each latent and factor, and what to know of each latent."""

    kind: str
    table: Float[np.ndarray, "z f"]
    sigma: Float[np.ndarray, " z"]
    """Mean standard deviation of the posterior."""
    factors: Sequence[str]
    summary: str
    """The score that is made of it, in words."""


@dataclass(frozen=True)
class _Kind:
    heading: str
    note: str
    part: str = "table"
    protocol: str = "unknot"
    signed: bool = False
    gaps: tuple[int, ...] = ()
    """Axes along which the largest and the second are marked: 0 in columns, 1 in rows."""
    metric: str = ""
    unit: str = ""


KINDS: Mapping[str, _Kind] = {
    "dci": _Kind(
        "Importance of each latent for each factor",
        "Share of a factor's prediction that a latent carries; the columns sum to 1.",
        part="importance", metric="dci",
    ),
    "sap": _Kind(
        "How well each latent alone predicts each factor",
        "Framed: the largest of a column; dashed: the second. SAP is the mean difference.",
        gaps=(0,), metric="sap",
    ),
    "cbd": _Kind(
        "Size of the correlation of latents and factors",
        "Outer frame: the largest of a column, inner: of a row; dashed: the second. CbD is made of "
        "the gaps.",
        protocol="paper", gaps=(0, 1), metric="cbd",
    ),
    "information": _Kind(
        "Mutual information of each latent and factor, in nats",
        "Framed: the largest of a column; dashed: the second. MIG is the mean gap over entropy.",
        part="information", gaps=(0,), metric="mig", unit="nats",
    ),
    "pearson": _Kind(
        "Pearson correlation of latents and factors",
        "Of nominal factors the numbers of the values count as they stand.",
        signed=True,
    ),
}  # fmt: skip
"""What can be drawn."""


@dataclass(frozen=True)
class Matrices:
    """All matrices of one model; of those that its data does not allow, the reason."""

    member: int
    of_kind: Mapping[str, Matrix]
    reasons: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class _Sample:
    """Codes of one model and the factors of the same rows."""

    codes: Float[Tensor, "n z"]
    values: Int[Tensor, "n f"]
    names: Sequence[str]
    """Of the factors that vary, which are the columns of all matrices."""
    kinds: Sequence[str]
    usage: Score


def measure_matrix(run: Run, kind: str, member: int = 0) -> Matrix:
    """One matrix of latents by factors of a model, over a fixed sample of rows.

    Args:
        run: The trained models.
        kind: ``dci``, ``sap``, ``cbd``, ``information`` or ``pearson``.
        member: Which model.

    Raises:
        ConfigError: There is no such matrix.
        DataError: The data has no factors, or is not here; or the model diverged.
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigError(f"There is no matrix '{kind}'{nearest(str(kind), [*KINDS])}")
    return _matrix(_encode(run, member), kind)


def measure_matrices(run: Run, member: int = 0) -> Matrices:
    """All matrices of a model, from one pass over a sample of rows; none without factors."""
    matrices: dict[str, Matrix] = {}
    reasons: dict[str, str] = {}
    if run.has_data and not run.dataset.space.stands_in:
        try:
            sample = _encode(run, member)
        except DataError as error:
            return Matrices(member, {}, dict.fromkeys(KINDS, str(error)))
        for kind in KINDS:
            try:
                matrices[kind] = _matrix(sample, kind)
            except UnknotError as error:
                reasons[kind] = str(error)
    return Matrices(member, matrices, reasons)


def _encode(run: Run, member: int) -> _Sample:
    check_member(run, member)
    if not run.has_data or run.dataset.space.stands_in:
        raise DataError("A matrix of latents by factors needs data with factors; this has none.")
    rows = sample_rows(run, SAMPLE)
    q = run.posteriors(rows)
    mean, logvar = (
        part.reshape(len(run.spec.seed_list), len(rows), -1)[member].double().cpu()
        for part in (q.mean, q.logvar)
    )
    if not bool(mean.isfinite().all() and logvar.isfinite().all()):
        raise DataError("Codes of this model are not finite; it diverged.")
    space = run.dataset.space
    levels = few_values(space, space.factors(rows)).cpu()
    labelled = (levels >= 0).all(1)
    if int(labelled.sum()) < 2:
        raise DataError("No two rows have a value of every factor.")
    levels = levels[labelled]
    varied = [k for k in range(levels.shape[1]) if len(levels[:, k].unique()) > 1]
    if not varied:
        raise DataError("No factor of this data has two values.")
    names, kinds = ([of[k] for k in varied] for of in (space.names, space.kinds))
    usage = metrics.kl_per_dimension(mean, logvar=logvar)
    return _Sample(mean[labelled], levels[:, varied], names, kinds, usage)


def _matrix(sample: _Sample, name: str) -> Matrix:
    kind, table, summary = KINDS[name], correlation(sample.codes, sample.values.double()), ""
    if kind.metric:
        score = _score(kind, sample)
        table = torch.as_tensor(score.parts[kind.part])
        told = f"{kind.metric} {number(float(score))} on {len(sample.codes):,} rows"
        summary = ". ".join((told, *score.remarks))
    kl, sigma = (sample.usage.parts[part] for part in ("per_code", "sigma"))
    return Matrix(kl, name, table.double().numpy(), sigma, tuple(sample.names), summary)


def _score(kind: _Kind, sample: _Sample) -> Score:
    metric: Callable[..., Score] = getattr(metrics, kind.metric)
    kinds = ["ordered" if k == "continuous" else k for k in sample.kinds]
    options = {"kinds": kinds} if kind.metric == "sap" else {}
    return metric(sample.codes, sample.values, protocol=kind.protocol, **options)


@styled
def matrix_figure(matrix: Matrix, *, heading: str) -> Figure:
    """A matrix as a heat map, a row per latent with its σ and KL, the most informative first.

    Args:
        matrix: From `measure_matrix`.
        heading: Whose it is.

    Paper: Hartmann 2021, figure 4 (importances); Özcan 2024, figures 5.2, 5.3 and 7.2 to 7.7.
    """
    kind, order = KINDS[matrix.kind], matrix.order[:MOST]
    table = matrix.table[order, :MOST]
    rows, columns = table.shape
    names = [shorten(name, LONGEST) for name in matrix.factors[:MOST]]
    letters = max(len(name) for name in names)
    slanted = are_slanted(names)
    width = max(5.6, 2.6 + columns * (0.62 if slanted else max(0.62, 0.1 * letters)))
    head = textwrap.wrap(f"{kind.heading}: {shorten(heading, 60)}", int(LETTERS * width))
    figure = new_figure((width, 1.35 + 0.2 * len(head) + 0.34 * rows + 0.55 * slanted))
    axes = figure.add_subplot()
    reach = max(1.0 if not kind.unit else 0.0, float(np.nanmax(np.abs(table), initial=0)), 1e-12)
    axes.imshow(
        np.nan_to_num(table), cmap=_shades(kind), vmin=-reach if kind.signed else 0, vmax=reach,
        aspect="auto",
    )  # fmt: skip
    for (i, j), value in np.ndenumerate(table):
        dark = abs(value) > 0.7 * reach and (not kind.signed or value > 0)
        ink = PAPER if dark else INK if matrix.used[order[i]] else MUTED
        text = _cell(value)
        axes.text(j, i, text, ha="center", va="center", color=ink)
    for axis in kind.gaps:
        _mark(axes, table, axis)
    latents = [latent_label(z, matrix.kl[z], matrix.sigma[z]) for z in order]
    name_sides(axes, names, latents, [bool(matrix.used[z]) for z in order])
    set_title(figure, "\n".join(head))
    some = "" if matrix.table.shape == table.shape else f"The first {rows} × {columns}."
    footnote(figure, (kind.note, ". ".join(filter(None, (matrix.summary, some)))))
    return figure


def _shades(kind: _Kind) -> Colormap:
    return SIGNS if kind.signed else SHARES


def _cell(value: float) -> str:
    if np.isnan(value):
        return "–"
    return compact(value) if abs(value) < 1000 else f"{value:.0e}"


def _mark(axes: Axes, table: Float[np.ndarray, "z f"], axis: int) -> None:
    """Frame the largest number of each column (axis 0) or row (1), and dash the second.

    Zeros have no frame: none of them is the largest.
    """
    lines = np.moveaxis(np.nan_to_num(table), axis, 0)
    gap = 0.05 + 0.08 * axis
    for rank, style in enumerate(("-", "--")):
        if len(lines) <= rank:
            return
        places = np.argsort(-lines, axis=0, kind="stable")[rank]
        for other, place in enumerate(places):
            i, j = (place, other) if axis == 0 else (other, place)
            if not lines[place, other]:
                continue
            axes.add_patch(
                Rectangle(
                    (j - 0.5 + gap, i - 0.5 + gap), 1 - 2 * gap, 1 - 2 * gap, fill=False,
                    edgecolor=INK, linestyle=style, linewidth=1.2 if rank == 0 else 0.9,
                )
            )  # fmt: skip


def matrix_view(run: Run, kind: str, member: int = 0) -> Figure:
    """The figure of one matrix of a model."""
    return matrix_figure(measure_matrix(run, kind, member), heading=title(run, member))


def matrix_views(run: Run, matrices: Matrices) -> dict[str, Figure]:
    """The figures of all matrices of a model."""
    heading = title(run, matrices.member)
    return {
        kind: matrix_figure(matrix, heading=heading) for kind, matrix in matrices.of_kind.items()
    }
