import torch

from unknot.nets.mushom import Mushom
from unknot.nets.parts.weights import initial_weights


def test_the_published_number_of_parameters(sizes):
    """Mushom 2020, section 5.1: 502,005 in all."""
    assert sizes(Mushom(), (1, 64, 64)) == (252_052, 249_953)
    assert sum(sizes(Mushom(), (1, 64, 64))) == 502_005


def test_biases_start_at_zero():
    weights = initial_weights(Mushom(), (1, 64, 64), torch.tensor([0]))
    assert {name.endswith("bias") for name, value in weights.items() if value.any()} == {False}
    assert sum(name.endswith("bias") for name in weights) == len(weights) / 2
