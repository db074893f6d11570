"""The net for signals."""

import pytest
import torch
from torch import nn

from unknot.core.errors import ShapeError
from unknot.nets.conv import Conv
from unknot.nets.conv1d import Conv1d


@pytest.mark.parametrize("length", [8, 9, 50, 100, 187, 1000, 4096])
@pytest.mark.parametrize("channels", [1, 12])
def test_every_length_comes_back_and_few_points_are_left_in_between(length, channels):
    net, shape = Conv1d(latents=3), (channels, 1, length)
    with torch.device("meta"):
        encoder, decoder = net.encoder(shape), net.decoder(shape)
        assert encoder(torch.zeros(2, *shape)).shape == (2, 6)
        assert decoder(torch.zeros(2, 3)).shape == (2, *shape)
    inner = next(layer.unflattened_size for layer in decoder if isinstance(layer, nn.Unflatten))
    assert inner[1] == 1
    assert 3 <= inner[2] <= 6


def test_a_shift_in_time_moves_what_the_first_layer_sees():
    first = Conv1d().encoder((2, 1, 64))[0]
    x = torch.randn(3, 2, 1, 64)
    assert torch.allclose(
        first(x.roll(2, -1))[..., 2:-1], first(x).roll(1, -1)[..., 2:-1], atol=1e-5
    )


def test_what_does_not_fit_is_told_which_nets_do():
    with pytest.raises(ShapeError, match=r"conv1d takes .* 1 by 8 to 4096 pixels.*linear, mlp"):
        Conv1d().encoder((3, 1, 7))
    with pytest.raises(ShapeError, match=r"that takes them: conv, conv64"):
        Conv1d().encoder((3, 64, 64))
    with pytest.raises(ShapeError, match=r"that takes them: conv1d, linear, mlp"):
        Conv().encoder((3, 1, 100))
