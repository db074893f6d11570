"""InfoMEC, modularity, explicitness and compactness from information."""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import (
    UNKNOT,
    counts,
    level_entropies,
    mutual_information,
)
from unknot.metrics.parts.learners import check_classes, columns, standardize, versions
from unknot.metrics.parts.neighbors import neighbor_information
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import ratio

NOTHING = 0.02
"""Below this share of a factor's entropy the codes tell nothing that is worth sorting."""


FEW = 100
"""Values of a latent; more of them are no levels."""


@dataclass(frozen=True)
class Settings(RowSettings):
    """The estimator, and which codes count."""

    samples: int | None = None
    neighbors: int = 10
    active: Literal["range", "eighth", "quartiles", "informative"] = "range"
    """Codes with more than a twentieth, or an eighth, of the largest range; with more than a tenth
    of the largest distance between quartiles; or that tell more than chance."""
    discrete: bool = False
    """Codes of at most a hundred values a latent count as discrete: information is counted, the
    linear reader sees one input for each value, and no latent is too narrow (``range``), or one is
    if its quartiles are 0.1 apart or less (``quartiles``)."""
    version: int = 1

    @property
    def gaps(self) -> bool:
        """Each factor is looked at by itself."""
        return True


PROTOCOLS = {
    "paper": Settings(),
    "hsu2023": Settings(10_000, neighbors=3, active="eighth", discrete=True),
    "hsu2023_file": Settings(discrete=True),
    "hsu2024": Settings(10_000, active="quartiles", discrete=True),
    "unknot": Settings(10_000, active="informative"),
}


@metric(
    PROTOCOLS,
    options=("interval",),
    range=(0, 1),
    part_ranges={"infom": (0, 1), "infoe": (None, 1), "infoc": (0, 1)},
    measures=("modularity", "compactness", "explicitness"),
    depends_on=("classifier", "estimator"),
    cost=1.55,
    reads=("1: each latent has information about one factor only. Meaningless if infoe is near 0."),
    parts={
        "infom": "Modularity. 1: each latent has information about one factor only.",
        "infoe": "Explicitness. How much of the factors a linear classifier finds in all latents.",
        "infoc": "Compactness. 1: the information about each factor is in one latent only.",
    },
)
def infomec(rows: Rows, settings: Settings) -> Measured:
    r"""InfoM, InfoE and InfoC: modularity, explicitness and compactness from information.

    With $N_{jk} = I(z_j; v_k) / H(v_k)$ over active latents $j$ and $s(x) = (x - 1/n) / (1 - 1/n)$
    for a share among $n$,
    $$M = s\Big(\mathrm{mean}_j \frac{\max_k N_{jk}}{\sum_k N_{jk}}\Big), \quad
      C = s\Big(\mathrm{mean}_k \frac{\max_j N_{jk}}{\sum_j N_{jk}}\Big), \quad
      E = \mathrm{mean}_k \Big(1 - \frac{H(v_k | z)}{\ln K_k}\Big)$$
    where $H(v_k | z)$ is the loss of logistic regression from all codes to the $K_k$ values, on
    the rows it is fitted to. ``infomec`` is ``infomec.infom``; the others are ``infomec.infoe`` and
    ``infomec.infoc``.

    Latents that take few values, as those of `qlae` and `tripod`, are discrete under the protocols
    of the authors' programs, which differ in what counts as active: ``hsu2023`` is the training
    script, so the table of the paper, ``hsu2023_file`` the file that others copy, and ``hsu2024``
    that of Tripod. ``paper`` takes all codes for continuous.

    Paper: Hsu et al. 2023, "Disentanglement via latent quantization", section 4.
    Differs: information is estimated from 10 nearest neighbours as in the authors' file, counting
    repeated values instead of adding noise to them. ``paper`` sorts noise too and gives it an InfoM
    of 0.7; ``unknot`` leaves codes without information out, whatever their range.
    The loss of a row counts as it is; the authors' file takes scikit-learn's ``log_loss``, which
    holds it at 36 nats (16 in float32). Where no row costs more, both agree. Rare codes far off
    cost hundreds of nats, and InfoE is lower here: 0.74 and not 0.88 for one row in a thousand 20
    standard deviations off. More than the 100 iterations of the paper change neither.
    Note: E is how much of the factors a linear classifier finds; where it is near 0, M and C mean
    nothing.
    """
    groups = rows.by_factor()
    discrete = settings.discrete and all(len(code.unique()) <= FEW for code in rows.codes.T)
    table = torch.cat([_shares(some, settings.neighbors, discrete) for some in groups], dim=1)
    active = _active(rows, settings, discrete)
    per_code = torch.where(active, best_share(table, dim=1), 0.0)
    per_factor = best_share(table[active], dim=0)
    explicit = torch.cat([_explicit(some, discrete) for some in groups])
    infom = ratio(per_code.sum(), active.double().sum())
    values = {
        "": infom,
        "infom": infom,
        "infoe": explicit.mean(),
        "infoc": per_factor.mean(),
        "active": active.double().sum(),
    }
    parts = {
        "table": table,
        "active": active,
        "per_code": per_code,
        "per_factor": per_factor,
        "explicitness_per_factor": explicit,
    }
    remarks = []
    if not bool(active.all()):
        remarks.append(f"{int((~active).sum())} of {len(active)} latents were left out")
    if float(explicit.mean()) < NOTHING:
        remarks.append("a linear reader finds nothing, so InfoM and InfoC may describe noise")
    record = {"codes": "discrete" if discrete else "continuous"} if settings.discrete else {}
    return Measured(values, parts, tuple(remarks), {**versions(), **record})


def _shares(rows: Rows, neighbors: int, discrete: bool) -> Float[Tensor, "z f"]:
    """What each code tells of each factor, as a share of its entropy."""
    check_classes(rows)
    if discrete:
        mutual = mutual_information(counts(_numbered(rows.codes), rows.levels))
    else:
        mutual = neighbor_information(rows.codes, rows.levels, neighbors)
    return ratio(mutual, level_entropies(rows.levels).expand_as(mutual))


def _numbered(codes: Float[Tensor, "n z"]) -> Int[Tensor, "n z"]:
    """The values of each latent by their numbers."""
    return torch.stack([code.unique(return_inverse=True)[1] for code in codes.T], dim=1)


def _active(rows: Rows, settings: Settings, discrete: bool) -> Bool[Tensor, " z"]:
    if settings.active == "informative":
        return rows.information(UNKNOT).alive
    if settings.active == "quartiles":
        low, high = (rows.codes.quantile(q, dim=0) for q in (0.25, 0.75))
        return high - low > (0.1 if discrete else (high - low).max() / 10)
    spread = rows.codes.amax(0) - rows.codes.amin(0)
    if settings.active == "eighth":
        return spread > spread.max() / 8
    return spread > (0.0 if discrete else spread.max() / 20)


def best_share(table: Float[Tensor, "z f"], dim: int) -> Float[Tensor, " k"]:
    """The largest entry's share of the sum along ``dim``, rescaled so that equal shares are 0.

    Example:
        >>> best_share(torch.tensor([[0.5, 0.0], [0.3, 0.1], [0.0, 0.0]]), dim=1).tolist()
        [1.0, 0.5, 0.0]
    """
    size = table.shape[dim]
    if size <= 1:
        return (table.sum(dim) > 0).to(table.dtype)
    shares = ratio(table.amax(dim), table.sum(dim))
    return ((shares - 1 / size) / (1 - 1 / size)).clamp_min(0)


def _explicit(rows: Rows, discrete: bool) -> Float[Tensor, " f"]:
    """One minus the loss of unpenalised logistic regression in units of that of guessing."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    # On the CPU before any rounding: a solver that stops early would carry it on.
    on_cpu = replace(rows, codes=rows.codes.cpu())
    if discrete:
        x = torch.cat([one_hot(code) for code in _numbered(on_cpu.codes).T], dim=1).double().numpy()
    else:
        x = standardize(on_cpu, on_cpu)[0].numpy()
    shares = []
    for level in columns(rows)[1]:
        model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(x, level)
        believed = model.predict_proba(x)[np.arange(len(x)), np.searchsorted(model.classes_, level)]
        loss = -np.log(believed.clip(np.finfo(float).tiny)).mean()
        shares.append(max(1 - loss / math.log(len(model.classes_)), 0.0))
    return torch.tensor(shares, dtype=torch.float64)
