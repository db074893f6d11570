"""Tables of codes by factors: information, correlation, and what sums up such a table.

Information is counted in bins, estimated from neighbours, or integrated over posteriors. Below are
divergences between distributions over finitely many outcomes.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.metrics.parts.facts import RowSettings

Edges: TypeAlias = Literal["width", "quantile"]
SIGMAS = 5.0
"""How far above chance information must lie before a code counts as telling something."""
ROUNDING = 1e-10
"""Distances closer than this, in units of a code's range, are taken to be equal."""
AT_ONCE = 2**17
"""Densities of points under components that are held at a time."""


@dataclass(frozen=True)
class Counting(RowSettings):
    """How codes and factors are counted; the settings of the metrics made of information alone."""

    samples: int | None = 10_000
    bins: int = 20
    edges: Edges = "width"
    """Bins of equal width between the extremes, or of equal mass, which outliers cannot move."""
    factor_bins: int | None = None
    """Bins of equal width for factor values; ``None`` counts each value."""
    corrected: bool = False
    """Miller and Madow's correction of the bias of counted entropies."""
    dead: Literal["counted", "left out"] = "counted"
    """Codes that tell nothing about any factor."""
    version: int = 1

    @property
    def gaps(self) -> bool:
        """Each factor is counted by itself."""
        return True


STUDY = Counting()
CARBONNEAU = Counting(samples=None, bins=10, factor_bins=10)
UNKNOT = Counting(samples=None, edges="quantile", corrected=True, dead="left out")


@dataclass(frozen=True)
class Information:
    """Entropies and mutual information in nats."""

    mutual: Float[Tensor, "z f"]
    joint: Float[Tensor, "z f"]
    codes: Float[Tensor, " z"]
    factors: Float[Tensor, " f"]
    alive: Bool[Tensor, " z"]
    """Codes that count; all of them unless dead ones are left out."""
    remarks: tuple[str, ...]


def information(
    codes: Float[Tensor, "n z"],
    values: Int[Tensor, "n f"] | Float[Tensor, "n f"],
    levels: Int[Tensor, "n f"],
    counting: Counting,
) -> Information:
    r"""Mutual information of each code and factor from counts; levels number the values.

    Rows that lack a factor, of level -1, are left out for that factor alone.

    Corrected entropies are $H + (K - 1) / 2n$ with $K$ occupied cells (Miller 1955), and mutual
    information is $H(z) + H(v) - H(z, v)$ of these, at least 0.
    """
    if counting.factor_bins is not None:
        levels = bin_factors(values.double(), counting.factor_bins)
    joint = counts(discretize(codes, counting.bins, counting.edges), levels)
    n, by_code, by_factor = len(codes), joint.sum(-1), joint.sum(-2)
    gaps = bool((levels < 0).any())
    mutual = mutual_information(joint)
    alive = informative(mutual, by_code, by_factor)
    if counting.dead == "counted":
        alive = torch.ones_like(alive)
    h_joint, h_codes, h_factors = (
        entropy(c, corrected=counting.corrected)
        for c in (joint.flatten(-2), by_code[:, 0], by_factor[0])
    )
    if counting.corrected:
        each = entropy(by_code, corrected=True) if gaps else h_codes[:, None]
        mutual = (each + h_factors - h_joint).clamp_min(0)
    mutual = torch.where(alive[:, None], mutual, 0.0)
    remarks = []
    entries = counting.bins * int(by_factor.shape[-1])
    if n < 2 * entries:
        remarks.append(f"{n} rows for up to {entries} cells: information is overestimated")
    if not bool(alive.all()):
        remarks.append(
            f"{int((~alive).sum())} of {len(alive)} codes tell nothing and were left out"
        )
    return Information(mutual, h_joint, h_codes, h_factors, alive, tuple(remarks))


def discretize(values: Float[Tensor, "n c"], bins: int, edges: Edges) -> Int[Tensor, "n c"]:
    """Bin numbers from 0, column by column.

    Example:
        >>> discretize(torch.tensor([[0.0], [1.0], [2.0], [90.0]]), 3, "width")[:, 0].tolist()
        [0, 0, 0, 2]
        >>> discretize(torch.tensor([[0.0], [1.0], [2.0], [90.0]]), 2, "quantile")[:, 0].tolist()
        [0, 0, 1, 1]
    """
    if edges == "width":
        low, high = values.amin(0), values.amax(0)
        steps = torch.arange(bins, device=values.device) * ((high - low) / bins)[:, None]
        lower = (steps + low[:, None]).contiguous()
        return (torch.searchsorted(lower, values.T.contiguous(), right=True) - 1).T
    columns = []
    for column in values.T:
        _, inverse, sizes = torch.unique(column, return_inverse=True, return_counts=True)
        if len(sizes) > bins:
            middle = sizes.cumsum(0) - 0.5 * sizes
            inverse = (middle * bins / len(column)).long().clamp(max=bins - 1)[inverse]
        columns.append(inverse)
    return torch.stack(columns, dim=1)


def bin_factors(values: Float[Tensor, "n f"], bins: int) -> Int[Tensor, "n f"]:
    """Bins of equal width for each factor; -1 where a value is NaN."""
    known = ~values.isnan()
    if bool(known.all()):
        return discretize(values, bins, "width")
    levels = torch.full(values.shape, -1, device=values.device)
    for k, (column, there) in enumerate(zip(values.T, known.T, strict=True)):
        levels[there, k] = discretize(column[there, None], bins, "width")[:, 0]
    return levels


def counts(codes: Int[Tensor, "n z"], levels: Int[Tensor, "n f"]) -> Float[Tensor, "z f b v"]:
    """How many rows have bin ``b`` of code ``z`` and value ``v`` of factor ``f``."""
    z, b, v = codes.shape[1], int(codes.max()) + 1, int(levels.max()) + 1
    first = codes * v + torch.arange(z, device=codes.device) * (b * v)
    tables = [
        torch.bincount(
            (first[level >= 0] + level[level >= 0, None]).flatten(), minlength=z * b * v
        ).reshape(z, b, v)
        for level in levels.T
    ]
    return torch.stack(tables, dim=1).double()


def mutual_information(joint: Float[Tensor, "*t b v"]) -> Float[Tensor, "*t"]:
    r"""$\sum p(z, v) \ln \frac{p(z, v)}{p(z) p(v)}$ in nats; exactly 0 for a constant.

    Example:
        >>> round(mutual_information(torch.tensor([[4.0, 0.0], [0.0, 4.0]])).exp().item(), 6)
        2.0
    """
    n = joint.sum((-2, -1), keepdim=True)
    apart = joint.sum(-1, keepdim=True) * joint.sum(-2, keepdim=True)
    lift = torch.where(joint > 0, joint * n / torch.where(apart > 0, apart, 1.0), 1.0)
    return ((joint * lift.log()).sum((-2, -1)) / n[..., 0, 0]).clamp_min(0)


def entropy(table: Float[Tensor, "*t k"], *, corrected: bool = False) -> Float[Tensor, "*t"]:
    """Entropy of counts in nats, with Miller and Madow's correction where asked."""
    n = table.sum(-1, keepdim=True)
    plain = -torch.xlogy(table / n, table / n).sum(-1)
    return plain + ((table > 0).sum(-1) - 1) / (2 * n[..., 0]) if corrected else plain


def informative(
    mutual: Float[Tensor, "z f"],
    by_code: Float[Tensor, "z f b"],
    by_factor: Float[Tensor, "z f v"],
) -> Bool[Tensor, " z"]:
    r"""Codes whose information about some factor is more than chance.

    Of independent variables $2 n I$ is about $\chi^2$ with $d = (K_z - 1)(K_v - 1)$ degrees of
    freedom (Wilks 1938); a code must exceed $d + 5 \sqrt{2 d}$ for one factor. Where so few rows
    could not show even a perfect code, a code that varies has the benefit of the doubt. The rule
    knows no units, so it does not depend on the scale of a code.
    """
    n = by_code.sum(-1)
    d = ((by_code > 0).sum(-1) - 1) * ((by_factor > 0).sum(-1) - 1)
    threshold = d + SIGMAS * (2.0 * d).sqrt()
    best = 2 * n * torch.minimum(entropy(by_code), entropy(by_factor))
    return ((d > 0) & ((2 * n * mutual > threshold) | (best <= threshold))).any(1)


def level_entropies(levels: Int[Tensor, "n f"]) -> Float[Tensor, " f"]:
    """Entropy of each factor in nats, from counts of its levels."""
    return torch.stack([entropy(torch.bincount(level).double()) for level in levels.T])


def neighbor_information(
    codes: Float[Tensor, "n z"], levels: Int[Tensor, "n f"], neighbors: int
) -> Float[Tensor, "z f"]:
    r"""Mutual information in nats of each continuous code and each factor with levels.

    $$I = \psi(N) - \langle\psi(N_i)\rangle + \langle\psi(k_i)\rangle - \langle\psi(m_i)\rangle$$
    For row $i$, with $N_i$ rows of its level and a radius just short of its k-th neighbour among
    them, $k_i$ rows of its level and $m_i$ rows of any level lie inside, itself included. At least
    0. A row whose level is its own alone has no neighbours and is left out.

    Paper: Ross 2014, "Mutual information between discrete and continuous data sets".
    Differs: $k_i$ is counted, not taken to be $k$: with repeated values it is larger, and a code
    that repeats its factor gets the factor's entropy (Gao et al. 2017). scikit-learn adds noise
    instead; without repeated values the two agree.

    Example:
        >>> levels = torch.arange(400)[:, None] % 4
        >>> round(neighbor_information(levels.double(), levels, 3).exp().item(), 2)
        4.02
    """
    if neighbors < 1:
        raise ConfigError(f"Expected 1 or more nearest neighbours, such as 10; got {neighbors}.")
    x = to_unit_range(codes).T.contiguous()
    return torch.stack([_with_factor(x, level, neighbors) for level in levels.T], dim=1)


def _with_factor(
    x: Float[Tensor, "z n"], level: Int[Tensor, " n"], neighbors: int
) -> Float[Tensor, " z"]:
    sizes = torch.bincount(level)
    shared = sizes[level] > 1
    x, level = x[:, shared], level[shared]
    if x.shape[1] == 0:
        return x.new_zeros(len(x))
    # By level and then by value, so that the neighbours of a level stand beside each other.
    order = x.argsort(dim=1)
    order = order.gather(1, level[order].argsort(dim=1, stable=True))
    x = x.gather(1, order)
    level = level.sort().values
    sizes = torch.bincount(level)
    size, last = sizes[level], (sizes.cumsum(0) - 1)[level]
    first, k = last - size + 1, (size - 1).clamp(max=neighbors)
    place = torch.arange(len(level), device=x.device)
    radius = torch.full_like(x, torch.inf)
    for before in range(int(k.max()) + 1):
        low, high = place - before, place - before + k
        inside = (before <= k) & (low >= first) & (high <= last)
        low, high = low.clamp_min(0), high.clamp(max=len(level) - 1)
        reach = torch.maximum(x - x[:, low], x[:, high] - x)
        radius = torch.where(inside, torch.minimum(radius, reach), radius)
    radius = (radius - ROUNDING).clamp_min(ROUNDING)
    same = _within(x + 2 * level, radius)
    total = _within(x, radius)
    n = torch.tensor(float(len(level)), dtype=x.dtype, device=x.device)
    within = torch.digamma(size.to(x.dtype)).mean()
    inner = torch.digamma(same) - torch.digamma(total)
    return (torch.digamma(n) - within + inner.mean(1)).clamp_min(0)


def _within(x: Float[Tensor, "z n"], radius: Float[Tensor, "z n"]) -> Float[Tensor, "z n"]:
    """How many values of the same row of the table lie within a radius of each."""
    ordered = x.sort(dim=1).values
    above = torch.searchsorted(ordered, x + radius, right=True)
    return (above - torch.searchsorted(ordered, x - radius)).to(x.dtype)


def log_density(
    points: Float[Tensor, "s z"], mean: Float[Tensor, "n z"], logvar: Float[Tensor, "n z"]
) -> Float[Tensor, "s z"]:
    r"""Of each coordinate under the even mixture of all posteriors, $\ln \frac1n \sum_i q_i(z_j)$.

    Example:
        >>> one = torch.zeros(1, 1).double()
        >>> round(log_density(one, one, one).exp().item(), 4)
        0.3989
    """
    mean, logvar = mean.T[:, None].contiguous(), logvar.T[:, None].contiguous()
    scale = (-0.5 * logvar).exp() * math.sqrt(0.5)
    height = -0.5 * (logvar + math.log(2 * math.pi)) - math.log(mean.shape[-1])
    chunks = []
    for chunk in points.split(max(1, AT_ONCE // mean.numel())):
        # In place: this is the whole cost of an entropy, and memory is most of it.
        density = (chunk.T[:, :, None] - mean).mul_(scale).square_().neg_().add_(height)
        top = density.amax(-1)
        chunks.append((density.sub_(top[..., None]).exp_().sum(-1).log() + top).T)
    return torch.cat(chunks)


def mixture_information(
    points: Float[Tensor, "n z"],
    mean: Float[Tensor, "n z"],
    logvar: Float[Tensor, "n z"],
    levels: Int[Tensor, "n f"],
    most: int,
) -> Float[Tensor, "z f"]:
    r"""Mutual information in nats of each latent and each factor, from one point per posterior.

    $$I(z_j; v) = H(z_j) - \sum_v p(v) H(z_j | v)$$
    with the entropies of $q(z_j) = \frac1n \sum_i q(z_j | x_i)$ and of the same mixture over the
    rows of one value, each the mean of $-\ln q$ over the first ``most`` points. At least 0; with
    all points in both it is never more than the entropy of the factor.
    """
    entropy = -log_density(points[:most], mean, logvar).mean(0)
    table = []
    for level in levels.T:
        conditional = torch.zeros_like(entropy)
        for value in level.unique():
            rows = level == value
            inside = log_density(points[rows][:most], mean[rows], logvar[rows])
            conditional += rows.double().mean() * inside.mean(0)
        table.append(entropy + conditional)
    return torch.stack(table, dim=1).clamp_min(0)


def gap(table: Float[Tensor, "z f"], dim: int) -> Float[Tensor, " k"]:
    """Largest minus second largest entry along ``dim``; with a single entry, that entry.

    Example:
        >>> gap(torch.tensor([[0.75, 0.25], [0.25, 1.0]]), dim=0).tolist()
        [0.5, 0.75]
    """
    if table.shape[dim] == 1:
        return table.squeeze(dim)
    best = table.topk(2, dim=dim).values
    return best.select(dim, 0) - best.select(dim, 1)


def concentration(table: Float[Tensor, "z f"], dim: int) -> Float[Tensor, " k"]:
    r"""One minus the entropy along ``dim`` of the normalised table, in units of its maximum.

    1 where a single entry holds everything, 0 where all are equal or nothing is there.
    """
    size = table.shape[dim]
    if size == 1:
        return (table.squeeze(dim) > 0).to(table.dtype)
    shares = ratio(table, table.sum(dim, keepdim=True))
    entropy = -torch.xlogy(shares, shares).sum(dim) / math.log(size)
    return torch.where(table.sum(dim) > 0, 1 - entropy, 0.0)


def mean(values: Float[Tensor, " k"], weights: Float[Tensor, " k"]) -> Float[Tensor, ""]:
    """Weighted mean; 0 where no weight is left."""
    return ratio((values * weights).sum(), weights.sum())


def ratio(a: Float[Tensor, "*s"], b: Float[Tensor, "*t"]) -> Float[Tensor, "..."]:
    """``a / b``, and 0 where ``b`` is 0."""
    return torch.where(b == 0, 0.0, a / torch.where(b == 0, 1.0, b))


def midranks(values: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    """Ranks from 0, column by column; equal values share the middle of their ranks."""
    columns = []
    for column in values.T:
        _, inverse, sizes = torch.unique(column, return_inverse=True, return_counts=True)
        columns.append((sizes.cumsum(0) - 0.5 * (sizes + 1)).to(values)[inverse])
    return torch.stack(columns, dim=1)


def correlation(a: Float[Tensor, "n z"], b: Float[Tensor, "n f"]) -> Float[Tensor, "z f"]:
    """Pearson's correlation of all columns; 0 where a column is constant."""
    a, b = to_unit_range(a), to_unit_range(b)
    a, b = a - a.mean(0), b - b.mean(0)
    return ratio(a.T @ b, a.norm(dim=0)[:, None] * b.norm(dim=0))


def to_unit_range(
    values: Float[Tensor, "m c"], like: Float[Tensor, "n c"] | None = None
) -> Float[Tensor, "m c"]:
    """Columns scaled to lie between 0 and 1, those of ``like`` if given; constant ones are 0."""
    like = values if like is None else like
    low, high = like.amin(0), like.amax(0)
    return (values - low) / torch.where(high > low, high - low, torch.inf)


def normal_scores(codes: Float[Tensor, "n z"]) -> Float[Tensor, "n z"]:
    """Each code replaced by the normal quantiles of its ranks; a constant code becomes 0.

    Example:
        >>> normal_scores(torch.tensor([[5.0], [70.0], [6.0]]).double()).round(decimals=2).tolist()
        [[-0.97], [0.97], [0.0]]
    """
    quantiles: Tensor = torch.special.ndtri((midranks(codes) + 0.5) / len(codes))
    return quantiles


def kl(p: Float[Tensor, " n"], q: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    r"""Kullback-Leibler divergence, $\sum_i p_i \ln (p_i / q_i)$, in nats.

    Infinite where p has mass and q has none.

    Example:
        >>> p, q = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.25, 0.75]).double()
        >>> round(kl(p, q).item(), 4), round(kl(q, p).item(), 4)
        (0.1438, 0.1308)
    """
    _check_distributions(p, q)
    terms: Tensor = torch.special.xlogy(p, p) - torch.special.xlogy(p, q)
    return terms.sum()


def jensen_shannon(p: Float[Tensor, " n"], q: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    r"""Mean divergence of both from their mixture, in nats: at most $\ln 2$.

    Paper: Mushom 2020, section 2.2, which prints the f of twice this.

    Example:
        >>> p, q = torch.tensor([1.0, 0.0]).double(), torch.tensor([0.0, 1.0]).double()
        >>> round(jensen_shannon(p, q).item(), 4)
        0.6931
    """
    mixture = (p + q) / 2
    return (kl(p, mixture) + kl(q, mixture)) / 2


def wasserstein(
    p: Float[Tensor, " n"], q: Float[Tensor, " n"], cost: Float[Tensor, "_ _"]
) -> Float[Tensor, ""]:
    """The least cost of moving p to q, where mass going from i to j costs ``cost[i, j]``.

    A linear program over couplings of the two. With a cost of 1 wherever anything moves it is the
    total variation, half the sum of absolute differences.

    Example:
        >>> p, q = torch.tensor([1.0, 0.0, 0.0]).double(), torch.tensor([0.0, 0.5, 0.5]).double()
        >>> place = torch.arange(3.0)
        >>> round(wasserstein(p, q, (place[:, None] - place).abs()).item(), 6)
        1.5
    """
    from scipy.optimize import linprog

    _check_distributions(p, q)
    n = len(p)
    if cost.shape != (n, n):
        raise ShapeError(f"Expected a cost of {n} x {n}; got {tuple(cost.shape)}.")
    eye, ones = torch.eye(n), torch.ones(1, n)
    marginals = torch.cat([torch.kron(eye, ones), torch.kron(ones, eye)])
    solution = linprog(
        cost.flatten().numpy(), A_eq=marginals.numpy(), b_eq=torch.cat([p, q]).numpy()
    )
    if not solution.success:
        raise DataError(f"No coupling of the two was found: {solution.message}")
    return torch.tensor(solution.fun, dtype=p.dtype)


def _check_distributions(p: Tensor, q: Tensor) -> None:
    if p.shape != q.shape:
        raise ShapeError(
            f"Expected two distributions over the same outcomes; got {len(p)} and {len(q)}."
        )
    for distribution in (p, q):
        if bool((distribution < 0).any()) or abs(distribution.sum().item() - 1) > 1e-6:
            raise DataError(
                f"Expected probabilities that add up to 1; got {distribution.sum().item():.6g} "
                f"with a least of {distribution.min().item():.3g}."
            )
