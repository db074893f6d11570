"""Faster ways of a step on a GPU that no GPU has measured yet: off until one has.

Each gives what the way beside it gives, to rounding (`tests/engine`), and `bench/switches.py`
measures both in turn.
"""

from dataclasses import dataclass


@dataclass
class Switches:
    """What a population on a GPU uses; read when it is made and when its step is compiled."""

    flat_adam: bool = False
    """Adam as one kernel over all weights, rather than compiled for each of them."""
    joint_backward: bool = False
    """A layer's gradients of input and weight in one kernel, which reads both images once."""


switches = Switches()
