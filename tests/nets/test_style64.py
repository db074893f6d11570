"""Counts by hand, and what instance normalisation and a style make of features."""

import pytest
import torch

from unknot.nets.style64 import Style64, StyledUp

UP = ((256, 256), (256, 128), (128, 64), (64, 32))
"""Channels before and in a group of three transposed convolutions."""


def test_parameters(sizes):
    """Of a group: kernels of 3, 3 and 4; two of a normalisation; styles of 256 for each layer."""
    groups = [(before, c) for c, before in zip((32, 64, 128, 256), (1, 32, 64, 128), strict=True)]
    down = sum(9 * i * c + 9 * c * c + 16 * c * c + 3 * 2 * c for i, c in groups)
    encoder = down + 4_096 * 256 + 256 + 256 * 256 + 256 + 256 * 20 + 20
    up = sum(9 * i * c + 9 * c * c + 16 * c * c + 3 * (256 + 1) * 2 * c for i, c in UP)
    decoder = 10 * 256 + 256 + 256 * 256 + 256 + 256 * 16 + up + 9 * 32
    assert sizes(Style64(), (1, 64, 64)) == (encoder, decoder) == (3_686_004, 3_966_048)
    assert "3,686,004" in Style64.__doc__
    assert "3,966,048" in Style64.__doc__


def test_a_style_sets_mean_and_spread_of_each_channel():
    generator = torch.Generator().manual_seed(0)
    up = StyledUp(4, 6, 4, 2)
    x = torch.randn(3, 4, 8, 8, generator=generator)
    w = torch.randn(3, 256, generator=generator)
    with torch.no_grad():
        scale, shift = up.style(w).relu().chunk(2, 1)
        y = up(x, w)
    assert y.shape == (3, 6, 16, 16)
    assert torch.allclose(y.mean((2, 3)), shift, atol=1e-5)
    assert torch.allclose(y.std((2, 3), correction=0), scale, atol=1e-3)


def test_codes_meet_the_same_image_first():
    decoder = Style64().decoder((3, 64, 64))
    first = decoder.first(5)
    assert first.shape == (5, 256, 4, 4)
    assert torch.equal(first, torch.full_like(first, 0.1))


def test_features_are_the_style_and_twelve_layers_and_the_last_makes_the_image():
    decoder = Style64().decoder((1, 64, 64))
    z = torch.randn(2, 10, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        style, *layers = decoder.features(z)
        assert style.shape == (2, 256)
        sides = [4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64]
        assert [layer.shape[-1] for layer in layers] == sides
        assert torch.equal(decoder.last(layers[-1]), decoder(z))


def test_an_image_does_not_depend_on_those_beside_it():
    net = Style64()
    x = torch.rand(3, 1, 64, 64, generator=torch.Generator().manual_seed(0))
    encoder = net.encoder((1, 64, 64))
    with torch.no_grad():
        assert encoder(x)[1:] == pytest.approx(encoder(x[1:]), abs=1e-5)
