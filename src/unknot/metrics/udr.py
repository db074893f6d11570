"""UDR, unsupervised disentanglement ranking of several models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unknot.core.errors import ConfigError, ShapeError
from unknot.metrics.parts.array_rows import Array
from unknot.metrics.parts.columns import correlation, midranks, to_unit_range
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.learners import versions
from unknot.metrics.parts.scoring import Measured, Models, metric
from unknot.metrics.parts.tables import ratio


@dataclass(frozen=True)
class Settings(RowSettings):
    """How the codes of two models are compared, and which of them count."""

    samples: int | None = 1_000
    similarity: Literal["lasso", "spearman"] = "lasso"
    alpha: float = 0.1
    """Of the lasso, on codes with variance 1."""
    kl: float = 0.01
    """A code counts with a mean divergence from the prior above this."""
    deviation: float = 0.05
    """Where divergences are not given, a code counts with at least this standard deviation."""
    version: int = 1


PROTOCOLS = {"paper": Settings(), "unknot": Settings(None, similarity="spearman")}


@metric(
    PROTOCOLS,
    range=(0, 1),
    measures=("agreement",),
    depends_on=("correlation", "threshold"),
    needs=("models",),
    reads="1: models with other seeds found the same latents, up to order and sign.",
)
def udr(models: Models, settings: Settings) -> Measured:
    r"""Unsupervised disentanglement ranking: agreement of models that differ in the seed.

    For models $a$ and $b$, with $R_{ij}$ how strongly code $i$ of $a$ goes with code $j$ of $b$,
    $$\mathrm{UDR}_{ab} = \frac12 \Big(\mathrm{mean}_j \frac{(\max_i R_{ij})^2}{\sum_i R_{ij}}
      + \mathrm{mean}_i \frac{(\max_j R_{ij})^2}{\sum_j R_{ij}}\Big)$$
    over codes that count. $R$ holds the absolute weights of a lasso from all codes of $a$ to each
    of $b$, or Spearman's absolute correlations. A model's score, in the part ``per_model``, is
    the median over the others, of ``pairs`` down its column; ``udr`` is the mean over models.

    Paper: Duan et al. 2020, "Unsupervised model selection for variational disentangled
    representation learning", which ranks models that differ in the seed alone. It has both
    variants and prefers the lasso (``paper``).
    Differs: both directions weigh alike, as in the authors' code, also where the models have
    different numbers of codes that count. Without ``kl`` a code counts by its standard deviation.
    A lasso shrinks every weight by ``alpha``, so that equal models get 0.9; ``unknot`` correlates
    ranks of all rows, and equal models with independent codes get 1.
    Note: models that find the same wrong latents agree too.

    Args:
        models: Codes ``[n, z]`` of each model for the same rows, or representations of one grid.
        kl: Mean divergence from the prior of each code, ``[z]`` for each model.
        protocol: A name, or settings.
        seed: Of drawn rows.

    Raises:
        ConfigError: There are fewer than two models, or not one ``kl`` for each.
        ShapeError: The models have different numbers of rows, or ``kl`` does not fit the codes.

    Example:
        >>> import numpy as np
        >>> codes = np.indices((5, 6)).reshape(2, -1).T.astype(float)
        >>> udr([codes, -codes, codes[:, ::-1]])
        udr 1.0000 (protocol unknot v1, 30 rows)
    """
    codes = [rows.codes for rows in models.rows]
    if models.kl is None:
        active = [c.std(0, correction=0) >= settings.deviation for c in codes]
    else:
        active = _divergent(models.kl, codes, settings.kl)
    live = [c[:, a] for c, a in zip(codes, active, strict=True)]
    pairs = torch.zeros(len(live), len(live), dtype=torch.float64)
    for a in range(len(live)):
        for b in range(len(live)):
            if a != b:
                pairs[a, b] = agreement(_similarity(live[a], live[b], settings))
    others = pairs.T[~torch.eye(len(live), dtype=torch.bool)].reshape(len(live), -1)
    per_model = others.quantile(0.5, dim=1)
    counted = torch.stack([a.sum() for a in active])
    parts = {"per_model": per_model, "pairs": pairs, "active": counted}
    few = int((counted == 0).sum())
    remarks = (f"no code of {few} models counts, so that they agree with none",) if few else ()
    record = versions() if settings.similarity == "lasso" else {}
    return Measured({"": per_model.mean()}, parts, remarks, record)


def _divergent(
    kl: Sequence[Array], codes: Sequence[Float[Tensor, "n _"]], threshold: float
) -> list[Bool[Tensor, " _"]]:
    if len(kl) != len(codes):
        raise ConfigError(
            f"udr takes one kl for each model; got {len(kl)} for {len(codes)} models."
        )
    active = []
    for divergence, code in zip(kl, codes, strict=True):
        if tuple(divergence.shape) != (code.shape[1],):
            raise ShapeError(
                f"Expected kl [{code.shape[1]}], one number for each code; got shape "
                f"{tuple(divergence.shape)}."
            )
        active.append(torch.as_tensor(divergence, device=code.device) > threshold)
    return active


def agreement(table: Float[Tensor, "a b"]) -> Float[Tensor, ""]:
    """How close a table of non-negative entries is to one entry of 1 in each row and column.

    Example:
        >>> round(agreement(torch.tensor([[0.0, 1.0], [0.5, 0.5]])).item(), 4)
        0.6042
    """
    if table.numel() == 0:
        return table.new_zeros(())
    ways = (ratio(table.amax(dim).square(), table.sum(dim)).mean() for dim in (0, 1))
    return torch.stack(list(ways)).mean()


def _similarity(
    a: Float[Tensor, "n a"], b: Float[Tensor, "n b"], settings: Settings
) -> Float[Tensor, "a b"]:
    if 0 in (a.shape[1], b.shape[1]):
        return a.new_zeros(a.shape[1], b.shape[1])
    if settings.similarity == "spearman":
        return correlation(midranks(a), midranks(b)).abs()
    from sklearn.linear_model import Lasso

    x, y = (_standardize(c).cpu().numpy() for c in (a, b))
    weights = Lasso(alpha=settings.alpha).fit(x, y).coef_.reshape(y.shape[1], x.shape[1])
    return torch.from_numpy(weights.T).abs()


def _standardize(codes: Float[Tensor, "n z"]) -> Float[Tensor, "n z"]:
    x = to_unit_range(codes)
    return ratio(x - x.mean(0), x.std(0, correction=0).expand_as(x))
