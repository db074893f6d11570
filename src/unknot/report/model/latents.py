"""What the latents of a run do over the data: how much they say, and about what."""

from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.analysis.health import LEAST_CONTRAST
from unknot.core import noise
from unknot.core.border import check_whole
from unknot.core.factor_table import Space
from unknot.core.posterior import Posterior
from unknot.core.text import number
from unknot.engine.encode import encode
from unknot.runs.decoding import reconstruction_contrasts
from unknot.runs.run import Run

SAMPLE = 2048
BINS = 20
"""Values of a continuous factor that are told apart."""
UNUSED = 0.05
"""Nats below which a latent counts as unused: moving it changes next to nothing in an image."""


@dataclass(frozen=True)
class LatentKl:
    """How much each latent of a model says.

    Args:
        kl: Mean divergence of the posterior from the standard normal prior, in nats.
    """

    kl: Float[np.ndarray, " z"]

    @property
    def order(self) -> list[int]:
        """Latents from the one that says most to the one that says least."""
        return [int(z) for z in np.argsort(-self.kl, kind="stable")]

    @property
    def used(self) -> Bool[np.ndarray, " z"]:
        """Which latents say something about an image."""
        return self.kl >= UNUSED


@dataclass(frozen=True)
class Latents(LatentKl):
    """The latents of one model over a sample of images.

    Args:
        kl: Mean divergence of the posterior from the standard normal prior, in nats.
        mean: Mean of the aggregate posterior, the codes of all images taken together.
        sd: Standard deviation of the aggregate posterior.
        explained: Share of the variance of each latent's codes that each factor explains alone.
        contrast: How much reconstructions vary, as a share of how much the data does; NaN if it was
            not measured.
    """

    mean: Float[np.ndarray, " z"]
    sd: Float[np.ndarray, " z"]
    explained: Float[np.ndarray, "z f"]
    contrast: float = np.nan

    @property
    def draws_nothing(self) -> bool:
        """Whether all reconstructions are the same, so that no latent means anything in them.

        Codes of an encoder that nobody trained vary with what the data varies in, too.
        """
        return self.contrast < LEAST_CONTRAST


def latent_label(
    z: int,
    kl: SupportsFloat,
    sigma: SupportsFloat | None = None,
    *,
    apart: str = "  ",
) -> str:
    """A latent with the σ and the divergence of its posterior, as all figures write it.

    Example:
        >>> latent_label(3, 1.3456, 0.2)
        'z3  σ 0.20  1.35 nats'
    """
    spread = "" if sigma is None else f"σ {_two_decimals(float(sigma), fine=True)}"
    return apart.join(filter(None, (f"z{z}", spread, f"{_two_decimals(float(kl))} nats")))


def _two_decimals(value: float, *, fine: bool = False) -> str:
    """As figures have them, but for huge values, and for small ones where they matter."""
    if abs(value) >= 1e4 or (fine and abs(value) < 0.1):
        return number(value, 2)
    return f"{value:.2f}"


def sample_rows(run: Run, n: int) -> Int[Tensor, " n"]:
    """Rows of the dataset to look at, the same for every run on it; all of them if it is small."""
    size = len(run.dataset)
    return torch.arange(size) if size <= n else noise.integers(0, "report", 0, n, high=size)


def measure_latents(run: Run, *, sample: int = SAMPLE) -> list[Latents]:
    """What each member's latents do, from one pass over a fixed sample of images.

    Args:
        run: The trained models.
        sample: Number of images.
    """
    if not run.has_data:
        return [_prior_latents(run)] * len(run.spec.seed_list)
    rows = sample_rows(run, sample)
    q = encode(run.training.population, run.dataset, rows)
    exact = Posterior(q.mean.double(), q.logvar.double())
    mean, variance, kl = exact.mean, exact.logvar.exp(), exact.kl().mean(1)
    sd = (mean.var(1, correction=0) + variance.mean(1)).sqrt()
    factors = few_values(run.dataset.space, run.dataset.space.factors(rows)).numpy()
    return [
        Latents(
            kl[p].numpy(),
            mean[p].mean(0).numpy(),
            sd[p].numpy(),
            explained_variance(mean[p].numpy(), factors),
            contrast,
        )
        for p, contrast in enumerate(reconstruction_contrasts(run.training))
    ]


def _prior_latents(run: Run) -> Latents:
    """Latents as the prior has them, where there are no images to measure."""
    z = run.spec.net.settings.latents
    unknown = np.full((z, len(run.dataset.space)), np.nan)
    return Latents(np.ones(z), np.zeros(z), np.ones(z), unknown)


def few_values(space: Space, factors: Int[Tensor, "n f"]) -> Int[Tensor, "n f"]:
    """Factor values of rows, those of continuous factors in bins of equally many values.

    Example:
        >>> from unknot.core.labels import tabulate
        >>> space = tabulate({"x": [i / 7 for i in range(40)], "y": [i % 4 for i in range(40)]})
        >>> few_values(space, torch.tensor([[39, 3], [1, 0], [-1, 2]])).tolist()
        [[19, 3], [0, 0], [-1, 2]]
    """
    factors = factors.clone()
    for k, (kind, size) in enumerate(zip(space.kinds, space.sizes, strict=True)):
        if kind == "continuous":
            labelled = factors[:, k] >= 0
            factors[:, k] = torch.where(labelled, factors[:, k] * BINS // size, -1)
    return factors


def explained_variance(
    codes: Float[np.ndarray, "n z"], factors: Int[np.ndarray, "n f"]
) -> Float[np.ndarray, "z f"]:
    r"""Share of each latent's variance that each factor explains alone, from 0 to 1.

    $$1 - \frac{\sum_v \sum_{i: f_i = v} (z_i - \bar z_v)^2 / (n - k)}
    {\sum_i (z_i - \bar z)^2 / (n - 1)}$$

    for a factor with $k$ values, held to 0 from below: the correlation ratio, corrected for the
    $k$ means it fits (Kelley 1935). It asks for no order among the values, so that shapes, angles
    and positions are treated alike. With independent factors the shares of a latent sum to 1 at
    most; what is missing is joint effects. NaN where a latent is constant or not finite, or a
    factor has nearly as many values as there are rows.

    Example:
        >>> x, y = np.meshgrid(np.arange(4), np.arange(5))
        >>> factors = np.stack([x.ravel(), y.ravel()], axis=1)
        >>> codes = np.stack([2.0 * x.ravel(), (y.ravel() - 2.0) ** 2], axis=1)
        >>> explained_variance(codes, factors).round(3).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    n = len(codes)
    with np.errstate(all="ignore"):  # codes of a diverged model give NaN, and that is the answer
        total = np.square(codes - codes.mean(0)).sum(0)
    ok = np.isfinite(total) & (total > 0)
    shares = np.full((codes.shape[1], factors.shape[1]), np.nan)
    for f, values in enumerate(factors.T):
        if (values < 0).any():  # rows without this label
            labelled = values >= 0
            if labelled.sum() > 1:
                shares[:, [f]] = explained_variance(codes[labelled], values[labelled, None])
            continue
        _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
        k = len(counts)
        if 2 * k > n:
            continue
        sums = np.zeros((k, ok.sum()))
        np.add.at(sums, group, codes[:, ok])
        within = np.square(codes[:, ok] - (sums / counts[:, None])[group]).sum(0)
        shares[ok, f] = 1 - (within / (n - k)) / (total[ok] / (n - 1))
    return shares.clip(min=0)


def check_member(run: Run, member: int) -> int:
    """The member, if the run has it."""
    return check_whole("The number of a model", member, 0, len(run.spec.seed_list) - 1)
