"""States of populations: what a finished training leaves of one, and whether tensors fit a net."""

from pathlib import Path

import torch

from unknot.core.errors import StoreError
from unknot.engine.context import State
from unknot.engine.updates import is_moment

REALS = {torch.float32, torch.float64}


def finished_state(state: State) -> State:
    """A state without the optimiser's moments, with averages of weights in their place."""
    weights = {name: tensor for name, tensor in state.items() if not is_moment(name)}
    averages = {name: weights.pop(name) for name in [*weights] if name.startswith("ema.")}
    return {**weights, **{name.removeprefix("ema."): tensor for name, tensor in averages.items()}}


def check_tensors(expected: State, state: State, source: str | Path) -> None:
    """Refuse tensors of another net; the message names the first that differs."""
    for name in sorted({*expected, *state}):
        want, have = expected.get(name), state.get(name)
        if want is None or have is None or want.shape != have.shape:
            shapes = [None if t is None else tuple(t.shape) for t in (want, have)]
            raise StoreError(
                f"{source} is of another net: {name} should be {shapes[0]} and is {shapes[1]}."
            )
        # Trained in double precision, read in single: no other kind of number is meant so.
        if have.dtype != want.dtype and not {have.dtype, want.dtype} <= REALS:
            raise StoreError(
                f"{source} holds no weights of ours: {name} should be {want.dtype} and is "
                f"{have.dtype}."
            )
