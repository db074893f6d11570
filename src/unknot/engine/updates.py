"""What an optimiser does with a gradient: PyTorch's own, or the same formulas for many members."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor, nn
from torch.optim.adam import adam as move_by_adam

from unknot.core.hyper import at, lift
from unknot.core.optim import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop

Move: TypeAlias = Callable[[Tensor, Sequence[Tensor], Tensor, Tensor, bool], None]
"""Moves a weight in place: its moments, gradient, learning rate, and whether it decays."""


def moments_of(optim: Optimizer) -> dict[str, str]:
    """What an optimiser keeps of each weight: the prefix in states, and PyTorch's name."""
    if isinstance(optim, Adam | AdamW):
        return {"adam.m.": "exp_avg", "adam.v.": "exp_avg_sq"}
    if isinstance(optim, Adagrad):
        return {"optim.sum.": "sum"}
    momentum = {"optim.momentum.": "momentum_buffer"} if optim.momentum else {}
    if isinstance(optim, SGD):
        return momentum
    mean = {"optim.mean.": "grad_avg"} if optim.centered else {}
    return {"optim.square.": "square_avg", **mean, **momentum}


def is_moment(name: str) -> bool:
    """Whether a tensor of a state is the optimiser's."""
    return name.startswith(("adam.", "optim."))


def decays(name: str, dimensions: int) -> bool:
    """Whether weight decay is for a weight: matrices and kernels of networks, no biases."""
    return dimensions > 1 and not name.startswith("extra.")


def clips(optim: Optimizer) -> bool:
    """Whether an optimiser limits gradients."""
    return optim.clip_value is not None or optim.clip_norm is not None


def clip_gradients(gradients: Sequence[Tensor], optim: Optimizer) -> Sequence[Tensor]:
    """Gradients ``[p, ...]`` held within an optimiser's limits, each member's by itself."""
    if (limit := optim.clip_value) is not None:
        gradients = [g.clamp(-limit, limit) for g in gradients]
    if optim.clip_norm is not None:
        norms = torch.stack([torch.linalg.vector_norm(g.flatten(1), dim=1) for g in gradients])
        shares = (optim.clip_norm / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp(max=1.0)
        gradients = [g * lift(shares, g.ndim - 1) for g in gradients]
    return gradients


@torch.no_grad()
def update(
    weights: Sequence[Tensor],
    moments: Sequence[Sequence[Tensor]],
    gradients: Sequence[Tensor],
    settings: Optimizer,
    t: Tensor,
    decayed: Sequence[bool],
    used: Sequence[Tensor] | None = None,
) -> None:
    """One step of an optimiser in place; members on the first axis.

    Args:
        weights: Each ``[p, ...]``.
        moments: Of each weight, in the order of `moments_of`.
        gradients: Gradients of the loss, in any precision.
        settings: With ``lr`` a number or ``[p]``.
        t: Steps done before this one.
        decayed: Whether weight decay is for a weight.
        used: Copies of the weights in another precision, to be renewed; or the weights themselves.
    """
    pairs = zip(gradients, weights, strict=True)
    clipped = clip_gradients([g.to(w.dtype) for g, w in pairs], settings)
    move = _move(settings, t)
    columns = weights, moments, clipped, decayed, used or weights
    for w, mine, g, decay, copy in zip(*columns, strict=True):
        lr = torch.as_tensor(settings.lr, device=w.device)
        move(w, mine, g, lr.reshape(*lr.shape, *(1,) * (w.ndim - 1)), decay)
        if copy is not w:
            copy.copy_(w)


def _move(settings: Optimizer, t: Tensor) -> Move:
    if isinstance(settings, Adam | AdamW):
        return _adam(settings, t)
    if isinstance(settings, RMSprop):
        return _rmsprop(settings)
    return _adagrad(settings) if isinstance(settings, Adagrad) else _sgd(settings)


def _adam(settings: Adam | AdamW, t: Tensor) -> Move:
    """Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2."""
    steps = t.double() + 1
    first, second = 1 - settings.beta1**steps, 1 - settings.beta2**steps

    def move(w: Tensor, moments: Sequence[Tensor], g: Tensor, lr: Tensor, decay: bool) -> None:
        mean, square = moments
        if decay and isinstance(settings, AdamW):
            w.mul_(1 - lr.double() * lift(settings.weight_decay, w.ndim - 1))
        mean.lerp_(g, 1 - settings.beta1)
        square.mul_(settings.beta2).addcmul_(g, g, value=1 - settings.beta2)
        w.addcdiv_(mean * (lr / first), (square / second).sqrt_().add_(settings.eps), value=-1)

    return move


def _rmsprop(settings: RMSprop) -> Move:
    def move(w: Tensor, moments: Sequence[Tensor], g: Tensor, lr: Tensor, _: bool) -> None:
        # By number: PyTorch's compiler takes `square, *others` for a tuple.
        square = moments[0]
        square.mul_(settings.alpha).addcmul_(g, g, value=1 - settings.alpha)
        spread = square
        if settings.centered:
            spread = square - moments[1].lerp_(g, 1 - settings.alpha) ** 2
        change = g / (spread.sqrt() + settings.eps)
        if settings.momentum:
            change = moments[-1].mul_(settings.momentum).add_(change)
        w.sub_(change * lr)

    return move


def _adagrad(settings: Adagrad) -> Move:
    def move(w: Tensor, moments: Sequence[Tensor], g: Tensor, lr: Tensor, _: bool) -> None:
        total = moments[0].addcmul_(g, g)
        w.sub_(g / (total.sqrt() + settings.eps) * lr)

    return move


def _sgd(settings: SGD) -> Move:
    def move(w: Tensor, moments: Sequence[Tensor], g: Tensor, lr: Tensor, _: bool) -> None:
        if settings.momentum:
            speed = moments[0].mul_(settings.momentum).add_(g)
            g = g + settings.momentum * speed if settings.nesterov else speed
        w.sub_(g * lr)

    return move


@runtime_checkable
class Mover(Protocol):
    """What moves the weights of a module: one of PyTorch's optimisers, or `FusedAdam`."""

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Weights with their settings."""
        ...

    @property
    def state(self) -> MutableMapping[Any, Any]:
        """Moments and the number of steps of each weight."""
        ...

    def step(self) -> object:
        """Move all weights by their gradients."""
        ...


class FusedAdam:
    """PyTorch's fused Adam and AdamW by their functions, for weights that have gradients.

    The classes of `torch.optim` import PyTorch's compiler at their first step, a second of CPU time
    in each process that trains and compiles nothing.
    """

    def __init__(self, groups: list[dict[str, Any]], *, decoupled: bool) -> None:
        """Take groups of parameters with their settings; those of AdamW are ``decoupled``."""
        self.param_groups = groups
        self.state: dict[Any, dict[str, Tensor]] = {}
        self.decoupled = decoupled

    def step(self) -> None:
        """Move all weights by their gradients."""
        for group in self.param_groups:
            weights = [w for w in group["params"] if w.grad is not None]
            if not weights:
                continue
            moments = [self.state[w] for w in weights]
            move_by_adam(
                weights,
                [w.grad for w in weights],
                [each["exp_avg"] for each in moments],
                [each["exp_avg_sq"] for each in moments],
                [],
                [each["step"] for each in moments],
                fused=True,
                amsgrad=False,
                maximize=False,
                decoupled_weight_decay=self.decoupled,
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
            )


def light_optimizer(weights: dict[str, nn.Parameter], settings: Optimizer) -> Mover:
    """As `torch_optimizer`, without PyTorch's compiler where that can be."""
    if not isinstance(settings, Adam | AdamW):
        return torch_optimizer(weights, settings)
    decoupled = isinstance(settings, AdamW)
    optimizer = FusedAdam(_adam_groups(weights, settings), decoupled=decoupled)
    _fill_state(optimizer, weights, settings)
    return optimizer


def _adam_groups(weights: dict[str, nn.Parameter], settings: Adam | AdamW) -> list[dict[str, Any]]:
    """Weights that decay, and those that do not; all are of one group where none does."""
    shrinks = {n: isinstance(settings, AdamW) and decays(n, w.ndim) for n, w in weights.items()}
    return [
        {
            "params": [w for name, w in weights.items() if shrinks[name] == decay],
            "lr": 1.0,
            "betas": (settings.beta1, settings.beta2),
            "eps": settings.eps,
            "weight_decay": 0.0,
            "decays": decay,
        }
        for decay in ((True, False) if isinstance(settings, AdamW) else (False,))
    ]


def _fill_state(optimizer: Mover, weights: Mapping[str, Tensor], settings: Optimizer) -> None:
    """Moments in place from the start, so that a state is whole."""
    for weight in weights.values():
        optimizer.state[weight] = {
            "step": torch.zeros((), device=weight.device),
            **{key: torch.zeros_like(weight) for key in moments_of(settings).values()},
        }


def torch_optimizer(weights: dict[str, nn.Parameter], settings: Optimizer) -> torch.optim.Optimizer:
    """PyTorch's optimiser with its moments in place from the start, so that a state is whole.

    Its learning rate, and its weight decay, are set at each step.
    """
    parameters = [*weights.values()]
    optimizer: torch.optim.Optimizer
    if isinstance(settings, Adam | AdamW):
        kind = torch.optim.AdamW if isinstance(settings, AdamW) else torch.optim.Adam
        optimizer = kind(_adam_groups(weights, settings), fused=True)
    elif isinstance(settings, RMSprop):
        optimizer = torch.optim.RMSprop(
            parameters,
            lr=1.0,
            alpha=settings.alpha,
            eps=settings.eps,
            momentum=settings.momentum,
            centered=settings.centered,
        )
    elif isinstance(settings, Adagrad):
        optimizer = torch.optim.Adagrad(parameters, lr=1.0, eps=settings.eps)
    else:
        optimizer = torch.optim.SGD(
            parameters, lr=1.0, momentum=settings.momentum, nesterov=settings.nesterov
        )
    _fill_state(optimizer, weights, settings)
    return optimizer


def weights_of(optimizer: Mover) -> list[nn.Parameter]:
    """All weights that an optimiser of modules moves."""
    return [weight for group in optimizer.param_groups for weight in group["params"]]


def move_weights(optimizer: Mover, settings: Optimizer, t: Tensor) -> None:
    """One step of an optimiser of modules, with clipping and the learning rate of step ``t``."""
    weights = weights_of(optimizer)
    if settings.clip_value is not None:
        nn.utils.clip_grad_value_(weights, settings.clip_value)
    if settings.clip_norm is not None:
        nn.utils.clip_grad_norm_(weights, settings.clip_norm)
    now = at(settings, t, torch.float64)
    for group in optimizer.param_groups:
        group["lr"] = float(now.lr)
        if isinstance(now, AdamW) and group["decays"]:
            group["weight_decay"] = float(now.weight_decay)
    optimizer.step()
