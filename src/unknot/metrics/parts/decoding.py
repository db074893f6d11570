"""Samples of a model's posteriors and what they weigh, for the metrics that decode."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from unknot.core import noise
from unknot.core.border import check_type
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.objective import Net
from unknot.core.posterior import Posterior
from unknot.losses.counts import count_loss
from unknot.losses.likelihood import Density, activate, is_of_counts, pixel_likelihood
from unknot.metrics.parts.rows import FEWEST, Rows

Likelihood: TypeAlias = Density
Variance: TypeAlias = Callable[[Float[Tensor, "*p"]], Float[Tensor, "*p"]]
"""Of a Gaussian likelihood, from the mean squared error of an image, summed over its pixels."""

AT_ONCE = 256
"""Images that pass through a net at a time, which bounds the memory."""


class Decoded(ABC):
    """What a metric that decodes measures, of one model or of all members of a population."""

    @abstractmethod
    def member(self, i: int) -> "Decoded":
        """That of one member of a population."""

    @abstractmethod
    def check(self) -> None:
        """Check that one model can be scored by it."""

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """The images as rows of a metric."""


class DecoderSettings(ABC):
    """What is decoded for a metric: what the dataclasses of its settings derive from."""

    density: ClassVar[bool] = False
    """Whether the likelihood of images counts, and posteriors as the decoder was trained with."""

    @abstractmethod
    def sample(
        self,
        net: Net,
        x: Float[Tensor, "..."],
        *,
        likelihood: Likelihood,
        seed: int,
        variance: "Variance | None" = None,
    ) -> Decoded:
        """What a metric under these settings measures, of a model or of a population."""


@dataclass(frozen=True)
class DecodingSettings(DecoderSettings):
    """How many points of each posterior are decoded."""

    posterior_samples: int
    version: int = 1
    density: ClassVar[bool] = True

    def sample(
        self,
        net: Net,
        x: Float[Tensor, "..."],
        *,
        likelihood: Likelihood,
        seed: int,
        variance: "Variance | None" = None,
    ) -> "PosteriorSamples":
        """What a metric under these settings measures; see `sample_posteriors`."""
        return sample_posteriors(
            net,
            x,
            likelihood=likelihood,
            samples=self.posterior_samples,
            seed=seed,
            variance=variance,
        )


@dataclass(frozen=True)
class PosteriorSamples(Decoded):
    """Points of the posterior of each image; logarithms in float64, under any member axes."""

    q: Posterior
    likelihoods: Float[Tensor, "*p k n"]
    """$\\ln p(x | z)$ of each point."""
    ratios: Float[Tensor, "*p k n"]
    """$\\ln p(z) - \\ln q(z | x)$ of each point."""
    likelihood: Likelihood
    binary: bool
    """Whether all pixels are 0 or 1."""
    variance: Float[Tensor, "*p"] | None = None
    """Of a Gaussian likelihood that has one of its own; else it is 1/2."""

    @property
    def kl(self) -> Float[Tensor, "*p n"]:
        """Divergence of each posterior from the prior, in closed form."""
        return self.q.kl().sum(-1)

    def member(self, i: int) -> "PosteriorSamples":
        """The samples of one member of a population."""
        q = Posterior(self.q.mean[i], self.q.logvar[i])
        variance = None if self.variance is None else self.variance[i]
        return replace(
            self, q=q, likelihoods=self.likelihoods[i], ratios=self.ratios[i], variance=variance
        )

    def check(self) -> None:
        """Check that one model can be scored by these samples."""
        if self.likelihoods.ndim != 2:
            raise ShapeError(
                f"A score is of one model; got a net of {len(self.likelihoods)}. Bind the weights "
                "of one of them, or sample for all and take each `member`."
            )
        if not bool((self.q.mean.isfinite() & self.q.logvar.isfinite()).all()):
            raise DataError("Some codes are NaN or infinite; a diverged model cannot be scored.")

    @property
    def rows(self) -> Rows:
        """The images as rows of a metric."""
        nothing = torch.zeros(len(self.q.mean), 0, dtype=torch.int64)
        return Rows(self.q.mean, nothing, nothing, (), ())

    @property
    def remarks(self) -> tuple[str, ...]:
        """What one must know to read a likelihood of these images."""
        if self.likelihood == "bernoulli" and not self.binary:
            return ("not a likelihood: pixels between black and white have a cross-entropy alone",)
        if self.variance is not None:
            return (f"the model's own variance of pixels, {float(self.variance):.4g}",)
        return ()


@torch.no_grad()
def sample_posteriors(
    net: Net,
    x: Float[Tensor, "..."],
    *,
    likelihood: Likelihood,
    samples: int,
    seed: int,
    variance: Variance | None = None,
) -> PosteriorSamples:
    """Points of each image's posterior, decoded.

    The noise is a function of the seed and of the place of an image, so that neither the number of
    samples nor who is in the population changes a point.

    Args:
        net: One model, or a population of them: ``encode`` gives posteriors ``[*p, n, z]``.
        x: Images ``[n, c, h, w]``, in [0, 1] for a Bernoulli likelihood.
        likelihood: ``bernoulli`` with logits, or ``gaussian`` with means, or ``sigmoid_gaussian``
            with logits of means, and variance 1/2, whose negative logarithm is the squared error
            and a constant; ``poisson`` or ``negative_binomial`` of images that are log1p of counts.
        samples: Points for each image.
        seed: Of the noise.
        variance: Of a Gaussian likelihood that has another one than 1/2.
    """
    if variance is not None and not _is_gaussian(likelihood):
        raise ConfigError(f"The likelihood {likelihood} has no variance to choose.")
    if samples < 1:
        raise ConfigError(f"Expected 1 or more posterior samples for each image; got {samples}.")
    check_type("x", x, Tensor)
    if x.ndim != 4:
        raise ShapeError(f"Expected images [n, c, h, w]; got shape {tuple(x.shape)}.")
    if len(x) < FEWEST:
        raise DataError(f"A metric needs at least {FEWEST} images; got {len(x)}.")
    if likelihood == "bernoulli" and not bool(((x >= 0) & (x <= 1)).all()):
        raise DataError("A Bernoulli likelihood needs images in [0, 1]; these are not.")
    encoded = [net.encode(part) for part in x.split(AT_ONCE)]
    if not isinstance(getattr(encoded[0], "mean", None), Tensor):  # of a tensor it is a method
        raise ConfigError(
            f"encode of the net should give posteriors; it gives {type(encoded[0]).__name__}. "
            'A run is scored by run.score("elbo").'
        )
    dtype, n = encoded[0].mean.dtype, len(x)
    q = Posterior(
        torch.cat([e.mean for e in encoded], dim=-2).double(),
        torch.cat([e.logvar for e in encoded], dim=-2).double(),
    )
    losses, ratios = [], []
    for steps in torch.arange(samples).split(max(1, AT_ONCE // n)):
        eps = noise.normal(seed, "metric/draws", steps, n, q.mean.shape[-1], dtype=torch.float64)
        eps = eps.to(q.mean.device)
        logvar = q.logvar.unsqueeze(-3)
        z = q.mean.unsqueeze(-3) + (0.5 * logvar).exp() * eps
        ratios.append(0.5 * (eps.square() + logvar - z.square()).sum(-1))
        points = z.to(dtype).flatten(-3, -2).split(AT_ONCE, dim=-2)
        images = torch.arange(n).repeat(len(steps)).split(AT_ONCE)
        parts = [
            _loss(likelihood, net.decode(code), x[rows.to(x.device)])
            for code, rows in zip(points, images, strict=True)
        ]
        losses.append(torch.cat(parts, dim=-1).unflatten(-1, (len(steps), n)))
    binary = bool(((x == 0) | (x == 1)).all())
    loss = torch.cat(losses, dim=-2).cpu()
    pixel_variance = variance(loss.mean((-2, -1))).double() if variance else None
    return PosteriorSamples(
        Posterior(q.mean.cpu(), q.logvar.cpu()),
        _normal(loss, pixel_variance, x.shape[-3:].numel()) if _is_gaussian(likelihood) else -loss,
        torch.cat(ratios, dim=-2).cpu(),
        likelihood,
        binary,
        pixel_variance,
    )


def _is_gaussian(likelihood: Likelihood) -> bool:
    """Whether its loss is the squared error.

    Raises:
        ConfigError: There is no such likelihood.
    """
    return pixel_likelihood(likelihood) in ("gaussian", "sigmoid_gaussian")


def _loss(
    likelihood: Likelihood, decoded: Float[Tensor, "*p n k h w"], x: Float[Tensor, "n c h w"]
) -> Float[Tensor, "*p n"]:
    """Cross-entropy, squared error, or what counts lack in probability."""
    decoded, x = decoded.double(), x.to(decoded.device).double()
    x = x.expand(*decoded.shape[:-3], *x.shape[-3:])
    if is_of_counts(likelihood):
        return count_loss(likelihood, decoded, x)
    if likelihood == "bernoulli":
        losses = F.binary_cross_entropy_with_logits(decoded, x, reduction="none")
    else:
        losses = (x - activate(likelihood, decoded)).square()
    return losses.sum((-3, -2, -1))


def _normal(
    error: Float[Tensor, "*p k n"], variance: Float[Tensor, "*p"] | None, pixels: int
) -> Float[Tensor, "*p k n"]:
    """Log-density of so many pixels with a squared error, under one variance for all of them."""
    half = torch.tensor(0.5, dtype=error.dtype)
    pixel_variance = (half if variance is None else variance)[..., None, None]
    return -0.5 * (error / pixel_variance + pixels * (2 * math.pi * pixel_variance).log())


def standard_error(values: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    """Standard error of a mean over images."""
    return values.std() / math.sqrt(len(values))
