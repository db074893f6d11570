"""Mean distance matrices along factors: of factors, images, codes, posteriors, reconstructions.

Side by side they show whether a model took over the distances of its data.

Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires overlapping
data" (dissertation), sections 3.2 and 3.4, figures 3.4, 3.5, 3.9 and 3.11.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy

from unknot.core.errors import ConfigError, DataError
from unknot.core.factors import FactorSpace
from unknot.core.posterior import Posterior
from unknot.core.registry import nearest
from unknot.losses.overlap import Overlap
from unknot.metrics.parts.distances import Images, Loss, agreement, mse, traversal_distances

Matrices: TypeAlias = dict[str, dict[str, Float[Tensor, "v v"]]]
"""By factor and source."""
LEARNT = ".safetensors"


@dataclass(frozen=True)
class Source:
    """Something by row number of a grid, and how far apart two of it are."""

    rows: Images
    distance: Loss


def mean_matrices(
    sources: Mapping[str, Source], space: FactorSpace, *, traversals: int = 64, seed: int = 0
) -> Matrices:
    r"""Mean over traversals of the distances between their points, for every factor that varies.

    $$D_{uv} = \mathrm{E}_a\, d(x^{(u)}, x^{(v)}), \quad x^{(1)}, x^{(2)}, \dots
    \text{ the traversal of the factor through } a$$

    All sources see the same traversals.

    Equation: 3.7.

    Args:
        sources: By name.
        space: The grid.
        traversals: At most so many of each factor, from starts drawn with replacement.
        seed: Of the starts.

    Example:
        >>> space = FactorSpace(("a", "b"), (2, 3), ("ordered", "ordered"))
        >>> found = mean_matrices({"factors": of_factors(space)}, space)
        >>> found["b"]["factors"].tolist()
        [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    found: Matrices = {}
    for factor in (n for n, size in zip(space.names, space.sizes, strict=True) if size > 1):
        found[factor] = {}
        for name, source in sources.items():
            each = traversal_distances(
                source.rows,
                space,
                factor,
                traversals=traversals,
                loss=source.distance,
                seed=seed,
            )
            mean = each.double().mean(0).cpu()
            if not bool(mean.isfinite().all()):
                raise DataError(
                    f"Distances of {name} along '{factor}' are not finite numbers; a diverged "
                    "model has none."
                )
            found[factor][name] = mean
    return found


def rank_agreement(matrices: Mapping[str, Float[Tensor, "v v"]], first: str, second: str) -> float:
    """Spearman's correlation of the matrices of two sources; 0 for a constant one.

    Example:
        >>> one, other = torch.tensor([[0.0, 1], [1, 0]]), torch.tensor([[0.0, 3], [5, 0]])
        >>> round(rank_agreement({"x": one, "y": other}, "x", "y"), 4)
        0.9428
    """
    both = torch.stack([matrices[first].flatten(), matrices[second].flatten()])
    return agreement(both)[1][0, 1].item()


def of_factors(space: FactorSpace) -> Source:
    r"""Ground truth: $\lVert y - y' \rVert_1$, eq. 3.1 of the paper."""
    return Source(lambda index: space.factors(index).double(), l1)


def of_images(images: Images, loss: str | Overlap | Loss = "gaussian") -> Source:
    """Images, or reconstructions of them, under a reconstruction loss.

    A loss by name is one of these, as means over channels and pixels; or it is the file of a learnt
    kernel, ``*.safetensors``:

    - ``gaussian``: the squared error;
    - ``bernoulli``: the cross-entropy, its logarithms held above -100;
    - ``box``, ``gaussian_blur``: the squared error and that of images blurred with radius 31.

    Args:
        images: Images in [0, 1] by row number.
        loss: A name, settings, or a function of images and reconstructions.
    """
    if not isinstance(loss, str | Overlap):
        return Source(images, loss)
    if loss == "gaussian":
        return Source(images, mse)
    if loss == "bernoulli":
        return Source(images, cross_entropy)
    overlap = loss if isinstance(loss, Overlap) else _overlap(loss)
    # Blurs are linear: a squared distance of images and their blurs side by side, whose mean is
    # over twice as many numbers.
    alpha = overlap.alpha or 0.0

    def both(index: Tensor) -> Tensor:
        x = images(index)
        overlap.check((x.shape[-3], x.shape[-2], x.shape[-1]))
        return 2**0.5 * torch.cat([x, alpha**0.5 * overlap.blur(x)], dim=-3)

    return Source(both, mse)


def _overlap(name: str) -> Overlap:
    if name == "box":
        return Overlap("box")
    if name == "gaussian_blur":
        return Overlap("gaussian")
    if name.endswith(LEARNT):
        return Overlap("learnt", path=name)
    known = ["gaussian", "bernoulli", "box", "gaussian_blur"]
    raise ConfigError(f"There is no loss '{name}'{nearest(name, known)}")


def of_means(posteriors: Callable[[Tensor], Posterior]) -> Source:
    r"""Codes: $\lVert \mu - \mu' \rVert_2$."""
    return Source(lambda index: posteriors(index).mean, l2)


def of_posteriors(posteriors: Callable[[Tensor], Posterior]) -> Source:
    """Posteriors by `symmetric_kl`."""

    def both(index: Tensor) -> Tensor:
        q = posteriors(index)
        return torch.stack([q.mean, q.logvar], dim=1)

    return Source(both, symmetric_kl)


def l1(first: Float[Tensor, "n ..."], second: Float[Tensor, "n ..."]) -> Float[Tensor, " n"]:
    """Sum of absolute differences."""
    return (first - second).abs().flatten(1).sum(1)


def l2(first: Float[Tensor, "n ..."], second: Float[Tensor, "n ..."]) -> Float[Tensor, " n"]:
    """Euclidean distance."""
    return (first - second).square().flatten(1).sum(1).sqrt()


def cross_entropy(
    first: Float[Tensor, "n ..."], second: Float[Tensor, "n ..."]
) -> Float[Tensor, " n"]:
    """Mean over elements of the cross-entropy of the first with the second as probabilities.

    Means of a decoder that leave [0, 1] are held to it.
    """
    first, second = first.clamp(0, 1), second.clamp(0, 1)
    return binary_cross_entropy(second, first, reduction="none").flatten(1).mean(1)


def symmetric_kl(
    first: Float[Tensor, "n 2 z"], second: Float[Tensor, "n 2 z"]
) -> Float[Tensor, " n"]:
    r"""Mean of both divergences of posteriors, given as means and log-variances.

    $$\sum_j \sinh^2 \frac{r_j}2 + \frac{\Delta_j^2}4
    \Big( \frac1{\sigma_j^2} + \frac1{\sigma_j'^2} \Big), \quad
    \Delta = \mu - \mu', \; r = \ln \sigma^2 - \ln \sigma'^2$$

    Example:
        >>> one, other = torch.zeros(1, 2, 1), torch.tensor([[[3.0], [0.0]]])
        >>> symmetric_kl(one, other).tolist()
        [4.5]
    """
    (mean, logvar), (other, other_logvar) = (x.double().unbind(1) for x in (first, second))
    width = ((logvar - other_logvar) / 2).sinh().square()
    precision = (-logvar).exp() + (-other_logvar).exp()
    return (width + (mean - other).square() / 4 * precision).sum(1)
