"""The net that adapts to the size."""

import pytest
import torch
from torch import nn

from unknot.core.errors import ConfigError, ShapeError
from unknot.nets.conv import Conv
from unknot.nets.conv64 import Conv64
from unknot.nets.mlp import MLP
from unknot.nets.ozcan_mlp import OzcanMLP
from unknot.nets.parts.weights import initial_weights


def test_at_64_pixels_it_is_conv64_to_the_bit():
    seeds = torch.tensor([3, 4])
    ours, theirs = (initial_weights(net, (3, 64, 64), seeds) for net in (Conv(), Conv64()))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("h", [8, 9, 11, 15, 31, 65, 112, 200, 256])
@pytest.mark.parametrize("w", [8, 13, 92, 256])
def test_every_size_comes_back_and_few_pixels_are_left_in_between(h, w):
    net = Conv(latents=3)
    x = torch.zeros(2, 2, h, w, device="meta")
    with torch.device("meta"):
        encoder, decoder = net.encoder((2, h, w)), net.decoder((2, h, w))
        assert encoder(x).shape == (2, 6)
        assert decoder(torch.zeros(2, 3)).shape == x.shape
    inner = next(layer.unflattened_size for layer in decoder if isinstance(layer, nn.Unflatten))
    assert 3 <= min(inner[1:]) <= 6


@pytest.mark.parametrize("image", [(1, 7, 64), (1, 64, 257)])
def test_other_sizes_are_refused(image):
    with pytest.raises(ShapeError, match=r"conv takes .* 8 to 256 by 8 to 256 pixels.*linear, mlp"):
        Conv().encoder(image)


def test_widths_of_hidden_layers_are_settings():
    same = MLP(hidden=(1200, 1200)), OzcanMLP()
    first, second = ([p.shape for p in n.encoder((1, 8, 9)).parameters()] for n in same)
    assert first == second
    first, second = ([p.shape for p in n.decoder((1, 8, 9)).parameters()] for n in same)
    assert first == second
    assert len(MLP(hidden=()).encoder((1, 8, 9))) == 2
    for net in (MLP, Conv):
        with pytest.raises(ConfigError, match=r"net\.hidden must be widths"):
            net(hidden=(5, 0))
