"""Factorisation of support: whether latents take all combinations of their values."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import DataError
from unknot.losses.support import pairs_of, support_gaps
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric

AT_ONCE = 16
"""Batches whose distances are held at a time."""


@dataclass(frozen=True)
class Settings(RowSettings):
    """Batches of codes, their scale, and how pairs of latents are put together."""

    batch: int = 64
    batches: int = 40
    """At most so many."""
    scaling: Literal["none", "standard"] = "none"
    pairs: Literal["sum", "mean"] = "sum"
    version: int = 1


PROTOCOLS = {
    "paper": Settings(),
    "unknot": Settings(scaling="standard", pairs="mean"),
}


@metric(
    PROTOCOLS,
    better="lower",
    range=(0, None),
    measures=("independence",),
    depends_on=("distances", "rows"),
    needs=("codes",),
    cost=3.3,
    reads=(
        "0: any value of a latent occurs with any value of another, however often. Compare it with "
        "`.shuffled`, the same for latents made independent; a batch never fills the plane."
    ),
)
def fos(rows: Rows, settings: Settings) -> Measured:
    r"""Factorisation of support: distance of codes from filling the grid of their latents' values.

    $$\sum_{j < k}\, \max_{a, b}\, \min_i\; (z_{aj} - z_{ij})^2 + (z_{bk} - z_{ik})^2$$
    in batches of `batch` codes, mean over batches: the squared Hausdorff distance between the codes
    and all combinations of their values, for each pair of latents. Latents may be correlated: what
    counts is whether a combination occurs, not how often. ``fos.shuffled`` is the same with each
    latent shuffled by itself. Factors are not used.

    Paper: Roth et al. 2023, "Disentanglement of correlated factors via Hausdorff factorized
    support"; the objective `hfs` makes it small.
    Differs: ``paper`` is the authors' sum over all pairs of latents, of at most 40 batches of 64
    codes; they take batches of all codes, of a size that could not be checked. ``unknot`` divides
    each latent by its deviation, leaves out constant ones and takes the mean over pairs, so that
    neither scale nor the number of latents matters.
    Note: it grows as a batch gets smaller. Codes that are collapsed, or noise, factorise; so does
    one latent with the rest dead.

    Raises:
        DataError: There are fewer rows than a batch.

    Example:
        >>> import numpy as np
        >>> line = np.linspace(-1, 1, 64).repeat(2).reshape(-1, 2)  # two latents that are equal
        >>> fos(line, protocol="paper")  # (-1, 1) is nearest to (0, 0), or almost
        fos 2.0005 .shuffled ...
    """
    if len(rows) < settings.batch:
        raise DataError(f"fos needs {settings.batch} rows or more; got {len(rows)}.")
    codes = rows.codes
    active = codes[:, codes.amax(0) > codes.amin(0)].double()
    apart = active - active.mean(0)
    apart /= apart.abs().amax(0)  # squares of tiny or huge codes have no room
    standard = apart / apart.square().mean(0).sqrt()
    # Batches are of the same codes in whatever order rows and latents are given. Many codes of a
    # grid lie equally far out: rounding must not decide which of them comes first.
    place = standard.square().sum(1).mul(1e6).round().argsort(stable=True)
    codes = (standard if settings.scaling == "standard" else codes)[place]
    n, z = codes.shape
    order = noise.permutation(rows.seed, "metric/fos", 0, n, 1 + z).to(codes.device)
    batches = min(n // settings.batch, settings.batches)
    pairs = pairs_of(z, codes.device)

    def gaps(mixed: Float[Tensor, "n z"]) -> Float[Tensor, " pairs"]:
        split = mixed[: batches * settings.batch].unflatten(0, (batches, -1))
        return torch.cat([support_gaps(some, pairs) for some in split.split(AT_ONCE)]).mean(0)

    values = []
    each = gaps(codes[order[:, 0]])
    for one in (each, gaps(codes.gather(0, order[:, 1:]))):
        total = one.sum()
        values.append(total / max(len(pairs), 1) if settings.pairs == "mean" else total)
    return Measured({"": values[0], "shuffled": values[1]}, {"per_pair": each})
