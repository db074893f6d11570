"""What lies apart from what: factors, images, codes, posteriors and reconstructions by row number.

Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires overlapping
data" (dissertation), sections 3.2 and 3.4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy

from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.posterior import Posterior
from unknot.core.registry import nearest
from unknot.losses.mapped import MappedLoss
from unknot.losses.overlap import Overlap

Images: TypeAlias = Callable[[Tensor], Tensor]
Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""From images ``[n, ...]`` and reconstructions to one number for each."""
LEARNT = ".safetensors"


def mse(first: Float[Tensor, "n ..."], second: Float[Tensor, "n ..."]) -> Float[Tensor, " n"]:
    """Mean over elements of the squared difference.

    Example:
        >>> mse(torch.zeros(2, 1, 4), torch.tensor([[[0.0, 0, 0, 2]], [[1, 1, 1, 1]]])).tolist()
        [1.0, 1.0]
    """
    return (first - second).square().flatten(1).mean(1)


def cross_entropy(
    first: Float[Tensor, "n ..."], second: Float[Tensor, "n ..."]
) -> Float[Tensor, " n"]:
    """Mean over elements of the cross-entropy of the first with the second as probabilities.

    Means of a decoder that leave [0, 1] are clamped to it.
    """
    first, second = first.clamp(0, 1), second.clamp(0, 1)
    return binary_cross_entropy(second, first, reduction="none").flatten(1).mean(1)


@dataclass(frozen=True)
class Source:
    """Something by row number of a grid, and how far apart two of it are."""

    rows: Images
    distance: Loss

    @classmethod
    def from_factors(cls, space: FactorSpace) -> "Source":
        r"""Ground truth: $\lVert y - y' \rVert_1$, eq. 3.1 of the paper."""
        return cls(
            lambda index: space.factors(index).double(),
            lambda x, y: (x - y).abs().flatten(1).sum(1),
        )

    @classmethod
    def from_images(cls, images: Images, loss: str | MappedLoss | Loss = "gaussian") -> "Source":
        """Images, or reconstructions of them, under a reconstruction loss.

        A loss by name is one of these, as means over channels and pixels; or it is the file of a
        learnt kernel, ``*.safetensors``:

        - ``gaussian``: the squared error;
        - ``bernoulli``: the cross-entropy, its logarithms never below -100;
        - ``box``, ``gaussian_blur``: the squared error and that of images blurred with radius 31.

        Args:
            images: Images in [0, 1] by row number.
            loss: A name, settings, or a function of images and reconstructions.
        """
        if loss in ("gaussian", "bernoulli"):
            return cls(images, mse if loss == "gaussian" else cross_entropy)
        mapped = overlap_by_name(loss) if isinstance(loss, str) else loss
        if not isinstance(mapped, MappedLoss):
            return cls(images, mapped)

        def both(index: Tensor) -> Tensor:
            """Images and what they are mapped to: squared distances of these are the loss."""
            x = images(index)
            mapped.check((x.shape[-3], x.shape[-2], x.shape[-1]))
            numbers = torch.cat([mapped.pixel_weight**0.5 * x.flatten(1), mapped.embed(x)], dim=1)
            # A mean over more numbers than there are pixels.
            more: float = (numbers.shape[1] / x[0].numel()) ** 0.5
            return more * numbers

        return cls(both, mse)

    @classmethod
    def from_means(cls, posteriors: Callable[[Tensor], Posterior]) -> "Source":
        r"""Codes: $\lVert \mu - \mu' \rVert_2$."""
        return cls(
            lambda index: posteriors(index).mean,
            lambda x, y: (x - y).square().flatten(1).sum(1).sqrt(),
        )

    @classmethod
    def from_posteriors(cls, posteriors: Callable[[Tensor], Posterior]) -> "Source":
        """Posteriors: the mean of both divergences; see `Posterior.symmetric_kl`."""

        def both(index: Tensor) -> Tensor:
            q = posteriors(index)
            return torch.stack([q.mean, q.logvar], dim=1)

        def distance(first: Tensor, second: Tensor) -> Tensor:
            q, other = (Posterior(*x.double().unbind(1)) for x in (first, second))
            return q.symmetric_kl(other).sum(1)

        return cls(both, distance)


def overlap_by_name(name: str) -> Overlap:
    """The loss of a name, or that of the file of a learnt kernel."""
    if name == "box":
        return Overlap.create("box")
    if name == "gaussian_blur":
        return Overlap.create("gaussian")
    if name.endswith(LEARNT):
        return Overlap.create("learnt", path=name)
    names = ["gaussian", "bernoulli", "box", "gaussian_blur"]
    raise ConfigError(f"There is no loss '{name}'{nearest(name, names)}")
