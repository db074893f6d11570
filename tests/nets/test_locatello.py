from inspect import unwrap

import pytest
import torch
from torch import nn

from unknot.core.errors import ConfigError
from unknot.nets.locatello import Locatello
from unknot.nets.parts.weights import initial_weights


def test_parameters_of_the_published_models(sizes):
    """Counted in the study's published models: 690,517 at one channel, 692,567 at three."""
    assert sizes(Locatello(), (1, 64, 64)) == (309_204, 381_313)
    assert sizes(Locatello(), (3, 64, 64)) == (310_228, 382_339)


def test_parameters_of_the_printed_table(sizes):
    assert sizes(Locatello(conv3_kernel=4), (1, 64, 64)) == (382_932, 381_313)


def test_kernels_of_convolutions_three_and_four():
    with torch.device("meta"):
        encoder = Locatello().encoder((1, 64, 64))
    convolutions = [layer for layer in encoder if isinstance(layer, nn.Conv2d)]
    assert [layer.kernel_size for layer in convolutions] == [(4, 4), (4, 4), (2, 2), (2, 2)]


def test_another_kernel_is_refused():
    bare = unwrap(Locatello.__init__)  # without the type check that tests switch on
    with pytest.raises(ConfigError, match=r"^net\.conv3_kernel must be 2 or 4; got 3\.$"):
        bare(object.__new__(Locatello), conv3_kernel=3)


def test_biases_start_at_zero():
    weights = initial_weights(Locatello(), (1, 64, 64), torch.tensor([0]))
    assert {name.endswith("bias") for name, value in weights.items() if value.any()} == {False}
    assert sum(name.endswith("bias") for name in weights) == len(weights) / 2
