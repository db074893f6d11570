r"""Maximum mean discrepancy: how far two samples are apart, by a kernel of their distances.

$$\mathrm{MMD}^2(P, Q) = \mathbb E\, k(X, X') + \mathbb E\, k(Y, Y') - 2\, \mathbb E\, k(X, Y)$$

Both kernels are a function of the squared distance in units of $C = 2 z s$: $2z$ is what two
draws from the prior are apart on average, $s$ a scale, and several scales are summed.

| kernel | $k$ |
|---|---|
| rbf | $\exp(-\lVert x - y\rVert^2 / C)$, a Gaussian of variance $z s$ |
| imq | $C / (C + \lVert x - y\rVert^2)$, the inverse multiquadric, with heavier tails |
"""

from typing import Any, Literal, TypeAlias

from jaxtyping import Float
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError
from unknot.core.objective import Step

Kernel: TypeAlias = Literal["rbf", "imq"]
Scales: TypeAlias = tuple[float, ...]


def squared_mmd(
    x: Float[Tensor, "*p n z"],
    y: Float[Tensor, "*p m z"],
    *,
    kernel: Kernel = "rbf",
    scales: Scales = (1.0,),
) -> Float[Tensor, "*p"]:
    """The unbiased estimate from two samples, of two rows or more each.

    Its mean is 0 where both come from one distribution, so about half of its values are negative.

    Paper: Gretton et al. 2012, "A kernel two-sample test", equation 3.

    Example:
        >>> import torch
        >>> x = torch.tensor([[0.0], [2.0]])
        >>> round(float(squared_mmd(x, x)), 4)  # exp(-2) twice, less twice its mean with exp(0)
        -0.8647
    """
    between = _kernel(x, y, kernel, scales).mean((-2, -1))
    return _within(x, kernel, scales) + _within(y, kernel, scales) - 2 * between


def squared_mmd_normal(
    x: Float[Tensor, "*p n z"], *, scales: Scales = (1.0,)
) -> Float[Tensor, "*p"]:
    r"""The same from one sample to the standard normal itself, under the kernel rbf.

    With $C = 2 z s$, over $y, y' \sim N(0, I)$, $\mathbb E\, k(x, y) = (C / (C + 2))^{z/2}
    \exp(-\lVert x\rVert^2 / (C + 2))$ and $\mathbb E\, k(y, y') = (C / (C + 4))^{z/2}$.
    """
    z = x.shape[-1]
    norms = x.square().sum(-1)
    value = _within(x, "rbf", scales)
    for c in (2 * z * scale for scale in scales):
        between = (c / (c + 2)) ** (z / 2) * (-norms / (c + 2)).exp().mean(-1)
        value = value + (c / (c + 4)) ** (z / 2) - 2 * between
    return value


def prior_mmd(
    objective: Any,
    z: Float[Tensor, "*p b z"],
    step: Step,
) -> Float[Tensor, "*p"]:
    """Between codes and the standard normal prior, or as many draws from it."""
    if objective.exact_prior:
        return squared_mmd_normal(z, scales=objective.scales)
    prior = step.normal("prior", *z.shape[-2:])
    return squared_mmd(z, prior, kernel=objective.kernel, scales=objective.scales)


def check_kernel(thing: Any) -> None:
    """Check the fields that choose a kernel; for ``__post_init__``."""
    check_choices(thing, "kernel")
    kind = type(thing).__name__
    if not thing.scales or not all(scale > 0 for scale in thing.scales):
        raise ConfigError(f"{kind}.scales must be numbers above 0; got {thing.scales}.")
    if thing.exact_prior and thing.kernel != "rbf":
        raise ConfigError(
            f"{kind}.exact_prior is known for the kernel rbf only; got {thing.kernel}: "
            "choose that kernel or draw from the prior."
        )


def _kernel(x: Tensor, y: Tensor, kernel: Kernel, scales: Scales) -> Tensor:
    """Between all pairs, ``[*p, n, m]``."""
    # The difference itself: norms less products would lose the digits of near pairs.
    squares = (x.unsqueeze(-2) - y.unsqueeze(-3)).square().sum(-1) / (2 * x.shape[-1])
    if kernel == "rbf":
        values = [(-squares / scale).exp() for scale in scales]
    else:
        values = [scale / (scale + squares) for scale in scales]
    return sum(values[1:], values[0])


def _within(x: Tensor, kernel: Kernel, scales: Scales) -> Tensor:
    """Mean over pairs of different rows; each row with itself is 1 a scale."""
    n = x.shape[-2]
    total = _kernel(x, x, kernel, scales).sum((-2, -1))
    return (total - n * len(scales)) / (n * (n - 1))
