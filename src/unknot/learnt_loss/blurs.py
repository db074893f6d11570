"""Blurs that are not learnt: how distances agree with factors over sizes and weights of kernels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.learnt_loss.learn import Correlations, agreement
from unknot.losses.overlap import Kernel, Overlap


@dataclass(frozen=True)
class BlurScore:
    """A blur, and the correlations of its distances."""

    kernel: Kernel
    radius: int
    weight: float
    loss: Overlap
    correlations: Correlations


def plan_blurs(
    dataset: FactorDataset,
    kernels: Sequence[Kernel],
    radii: Sequence[int],
    weights: Sequence[float],
) -> list[tuple[Kernel, int, float, Overlap]]:
    """The losses of every combination, checked against the images.

    Args:
        dataset: With a grid of factors.
        kernels: ``box``, ``gaussian``.
        radii: In pixels; sigma of a Gaussian kernel is a quarter of it.
        weights: Of the blurred part; 1 stands for the number of the kernel's elements.
    """
    dataset.require_factors("Distances along factors")
    dataset.space.require_grid("Distances along factors")
    plan = []
    for kernel in kernels:
        for radius in radii:
            for weight in weights:
                alpha = weight * (2 * radius + 1) ** 2
                loss = Overlap.create(kernel=kernel, radius=radius, alpha=alpha)
                loss.check(dataset.shape)
                plan.append((kernel, radius, weight, loss))
    return plan


def score_blurs(
    dataset: FactorDataset,
    plan: Sequence[tuple[Kernel, int, float, Overlap]],
    *,
    traversals: int = 32,
    pairs: int = 4096,
    seed: int = 0,
) -> Iterator[BlurScore]:
    """Correlations of the distances of images and of factors, loss by loss.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), section 6.1.3 and table 6.1.

    Args:
        dataset: With a grid of factors.
        plan: By `plan_blurs`.
        traversals: Of each factor.
        pairs: Random ones.
        seed: Of both.
    """
    for kernel, radius, weight, loss in plan:
        correlations = agreement(
            dataset, overlap_features(loss), traversals=traversals, pairs=pairs, seed=seed
        )
        yield BlurScore(kernel, radius, weight, loss, correlations)


def overlap_features(loss: Overlap) -> Callable[[Tensor], Tensor]:
    r"""The map $x \mapsto (x, \sqrt\alpha\, h(x))$, squared distances after which are the loss.

    Example:
        >>> loss = Overlap.create(radius=1, alpha=4.0)
        >>> x, y = torch.zeros(1, 1, 3, 3), torch.ones(1, 1, 3, 3)
        >>> apart = overlap_features(loss)(x) - overlap_features(loss)(y)
        >>> whole = (x - y).square().sum() + loss.mapped_error(x, y)[0]
        >>> bool(torch.isclose(apart.square().sum(), whole))
        True
    """
    return lambda x: torch.cat([x.flatten(1), loss.embed(x)], dim=1)
