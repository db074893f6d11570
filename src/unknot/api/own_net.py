"""An encoder and a decoder as modules, in place of the name of a net."""

import inspect
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.objective import Objective
from unknot.losses.likelihood import Likelihood, likelihood_of, pixel_likelihood
from unknot.nets.modules import Modules
from unknot.nets.parts import given_modules
from unknot.nets.parts.given_modules import (
    Pair,
    as_modules,
    copy_pair,
    find_modules,
    make_pair,
    seeded,
    split_encoding,
)
from unknot.runs.spec import settings_table


def holds_modules(net: Any) -> bool:
    """Whether a net is given as modules: a pair, an object that has them, or a function."""
    return _makes_modules(net) or find_modules(net) is not None


def try_modules(net: Any, dataset: FactorDataset) -> tuple[dict[str, Any], Tensor]:
    """Try modules on two images, and make them known in this process.

    Args:
        net: A pair ``(encoder, decoder)``, an object with both, or a function that makes a pair.
        dataset: What they are for.

    Returns:
        What a run writes down of them, and what the decoder gives.
    """
    pair = _copy(net)
    images = dataset.batch(torch.arange(min(2, len(dataset)))).cpu()
    encoded = call_module("encoder", pair.encoder, images)
    pair = pair if isinstance(encoded, Tensor) else pair.side_by_side()
    mean, _ = split_encoding(encoded)
    decoded = call_module("decoder", pair.decoder, mean)
    if not isinstance(decoded, Tensor) or decoded.shape != images.shape:
        got = tuple(decoded.shape) if isinstance(decoded, Tensor) else type(decoded).__name__
        raise ShapeError(f"The decoder must give {tuple(images.shape)} for two images; got {got}.")
    given_modules.give(pair)
    settings = Modules(mean.shape[-1], pair.structure, pair.weights_hash)
    return {"name": "modules", **settings_table(settings)}, decoded


def question_start(net: Any, *, several: bool) -> None:
    """Modules as they are make several models alike, which not everybody expects.

    Args:
        net: Modules, a function that makes them, or anything else.
        several: Whether several models are trained.
    """
    if several and find_modules(net) is not None:
        warnings.warn(
            "All models begin with the weights of these modules, and differ in noise and batches "
            "alone. For weights of their own give a function that makes the modules: "
            "net=lambda: (Encoder(), Decoder()).",
            stacklevel=3,
        )


def is_bounded(likelihood: Likelihood) -> bool:
    """Whether a decoder's outputs go through a sigmoid, and images must lie in [0, 1].

    Example:
        >>> is_bounded("bernoulli"), is_bounded("gaussian")
        (True, False)
    """
    return pixel_likelihood(likelihood) in ("bernoulli", "sigmoid_gaussian")


def question_logits(decoded: Tensor, objective: Objective) -> None:
    """Decoders that end in a sigmoid are a common slip, and nothing else would tell."""
    if (
        is_bounded(likelihood_of(objective))
        and decoded.numel() > 30
        and bool(((decoded > 0) & (decoded < 1)).all())
    ):
        warnings.warn(
            "All outputs of the decoder lie between 0 and 1. It should give logits: leave out "
            "a sigmoid at its end.",
            stacklevel=3,
        )


def give_modules(net: Any, structures: Collection[Any], owner: str) -> None:
    """Let a run or a study find the modules that it was trained with.

    Args:
        net: As in `unknot.train`.
        structures: Of the modules that it has.
        owner: ``run`` or ``study``, for the message.

    Raises:
        ConfigError: They are others.
    """
    pair = _copy(net)
    matches = [p for p in (pair, pair.side_by_side()) if p.structure in structures]
    if not matches:
        raise ConfigError(
            f"The modules are not those of the {owner}: their layers, settings or source differ. "
            "Put them back as they were, or train again."
        )
    given_modules.give(matches[0])


def _makes_modules(net: Any) -> bool:
    return inspect.isroutine(net) or isinstance(net, partial)


def _copy(net: Any) -> Pair:
    return make_pair(net, 0) if _makes_modules(net) else copy_pair(*as_modules(net))


@torch.no_grad()
def call_module(word: str, module: nn.Module, x: Tensor) -> Any:
    """What a module gives, as it will be used; PyTorch's generator stays as it was.

    Args:
        word: ``encoder`` or ``decoder``, for the message.
        module: To call in evaluation mode.
        x: Images or codes.

    Raises:
        ShapeError: It does not take them.
    """
    mode = module.training
    try:
        with taking(word, x), seeded(0, "modules", 0):
            return module.eval()(x)
    finally:
        module.train(mode)


@contextmanager
def taking(word: str, x: Tensor) -> Iterator[None]:
    """Say in a line that a module does not take what it is given.

    Args:
        word: ``encoder`` or ``decoder``, for the message.
        x: Images or codes.

    Raises:
        ShapeError: It does not take them.
    """
    try:
        yield
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ShapeError(f"The {word} does not take {tuple(x.shape)}: {reason}.") from error
