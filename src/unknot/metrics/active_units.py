"""Active units, the codes that the input moves."""

from dataclasses import dataclass

from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric


@dataclass(frozen=True)
class Settings(RowSettings):
    """Rows, and the variance above which a code is active."""

    samples: int | None = None
    threshold: float = 0.01
    version: int = 1


PROTOCOLS = {"paper": Settings(), "unknot": Settings()}


@metric(
    PROTOCOLS,
    better="neither",
    range=(0, None),
    part_ranges={"share": (0, 1)},
    measures=("usage",),
    depends_on=("threshold",),
    needs=("codes",),
    cost=0.1,
    reads=(
        "Number of latents that vary with the image. More is not better: a latent that "
        "encodes noise is active too."
    ),
    parts={
        "share": "Active latents as a share of all.",
    },
)
def active_units(rows: Rows, settings: Settings) -> Measured:
    r"""Active units: number of latents whose posterior mean varies with the image.

    $$\#\{j : \mathrm{Var}_x(\mathrm{E}_{q(z_j | x)}[z_j]) > 0.01\}$$
    ``active_units.share`` is their share of all codes. Give posterior means as codes. Factors are
    not used.

    Paper: Burda et al. 2016, "Importance weighted autoencoders", section 5.2.
    Differs: none; the threshold is in units of a prior with variance 1, so that it means nothing
    for codes of another scale.

    Example:
        >>> import numpy as np
        >>> codes = np.random.default_rng(0).normal(size=(100, 3)) * [1.0, 0.05, 0.3]
        >>> active_units(codes)
        active_units 2.0000 .share 0.6667 (protocol unknot v1, 100 rows)
    """
    variances = rows.codes.var(0)
    active = variances > settings.threshold
    values = {"": active.double().sum(), "share": active.double().mean()}
    return Measured(values, {"active": active, "variances": variances})
