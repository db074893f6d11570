"""Posterior: the diagonal Gaussian an encoder returns."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ShapeError


@dataclass(frozen=True, slots=True)
class Posterior:
    """Mean and log-variance of ``q(z | x)`` for a batch, under any leading member axes.

    Example: `Posterior(mean, logvar).sample(torch.randn_like(mean))`
    """

    mean: Float[Tensor, "*p b z"]
    logvar: Float[Tensor, "*p b z"]

    def sample(self, eps: Float[Tensor, "*p b z"]) -> Float[Tensor, "*p b z"]:
        """The reparametrised sample ``mean + exp(logvar / 2) * eps``."""
        return self.mean + (0.5 * self.logvar).exp() * eps

    def kl(self) -> Float[Tensor, "*p b z"]:
        r"""Divergence from the prior, $\frac12 (\mu^2 + \sigma^2 - 1 - \ln \sigma^2)$, in nats.

        Example:
            >>> Posterior(torch.ones(1, 2), torch.zeros(1, 2)).kl().tolist()
            [[0.5, 0.5]]
        """
        return 0.5 * (self.mean.square() + self.logvar.exp() - 1 - self.logvar)

    def kl_to(self, other: "Posterior") -> Float[Tensor, "*p b z"]:
        r"""Divergence from another posterior, latent by latent, in nats.

        $$\frac12 \Big( e^r - 1 - r + \frac{\Delta^2}{\sigma'^2} \Big),
        \quad \Delta = \mu - \mu', \; r = \ln \sigma^2 - \ln \sigma'^2$$
        This form does not cancel where the posteriors are nearly equal.

        Example:
            >>> q = Posterior(torch.tensor([[3.0, 1.0]]), torch.zeros(1, 2))
            >>> q.kl_to(Posterior(torch.zeros(1, 2), torch.zeros(1, 2))).tolist()
            [[4.5, 0.5]]
        """
        ratio = self.logvar - other.logvar
        apart = (self.mean - other.mean).square() * (-other.logvar).exp()
        return 0.5 * (ratio.expm1() - ratio + apart)

    def symmetric_kl(self, other: "Posterior") -> Float[Tensor, "*p b z"]:
        r"""Mean of both divergences between two posteriors, latent by latent, in nats.

        $$\sinh^2 \frac r2 + \frac{\Delta^2}4 \Big( \frac1{\sigma^2} + \frac1{\sigma'^2} \Big),
        \quad \Delta = \mu - \mu', \; r = \ln \sigma^2 - \ln \sigma'^2$$
        This form does not cancel where the posteriors are nearly equal.

        Example:
            >>> q = Posterior(torch.tensor([[3.0, 1.0]]), torch.zeros(1, 2))
            >>> q.symmetric_kl(Posterior(torch.zeros(1, 2), torch.zeros(1, 2))).tolist()
            [[4.5, 0.5]]
        """
        width = ((self.logvar - other.logvar) / 2).sinh().square()
        precision = (-self.logvar).exp() + (-other.logvar).exp()
        return width + (self.mean - other.mean).square() / 4 * precision

    def point(self) -> "Posterior":
        """The mean alone, for encoders whose variances are not trained.

        The standard deviation is 4.5e-5: of no effect, and still fit for logarithms.
        """
        return Posterior(self.mean, torch.full_like(self.logvar, -20.0))

    def views(self, n: int) -> tuple["Posterior", ...]:
        """Split a batch of ``n`` views laid one after the other into one posterior each.

        Raises:
            ShapeError: The batch is not a multiple of ``n``.
        """
        if self.mean.shape[-2] % n:
            raise ShapeError(f"A batch of {self.mean.shape[-2]} is not {n} views of one size.")
        means, logvars = self.mean.chunk(n, dim=-2), self.logvar.chunk(n, dim=-2)
        return tuple(Posterior(m, v) for m, v in zip(means, logvars, strict=True))
