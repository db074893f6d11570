"""Counts by hand, blocks that begin as they should, and the layers that Tripod reads."""

import torch
import torch.nn.functional as F

from unknot.nets.residual64 import Residual, Residual64, Styled


def test_parameters(sizes):
    """A residual block has two convolutions of 3 x 3 without biases, and their normalisations."""
    blocks = [(1, 32), (32, 32), *((c, c) for c in (64, 128, 256) for _ in range(2))]
    encoder = sum(9 * i * c + 9 * c * c + 2 * 2 * c for i, c in blocks) + 1 * 32 + 32
    encoder += sum(4 * c * 2 * c + 2 * c for c in (32, 64, 128, 256))
    encoder += 512 * 512 + 3 * 512 + 512 * 20 + 20
    decoder = 10 * 256 + 3 * 256 + 256 * 256 + 3 * 256 + 512 * 16
    for c, after in ((512, 256), (256, 128), (128, 64), (64, 1)):
        decoder += 4 * (9 * c * c + (256 + 1) * 2 * c) + 9 * c * after + after
    assert sizes(Residual64(), (1, 64, 64)) == (encoder, decoder) == (4_099_636, 16_134_657)
    assert "4,099,636" in Residual64.__doc__
    assert "16,134,657" in Residual64.__doc__


def test_a_block_adds_to_what_comes_in():
    x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    same, wider = Residual(3, 3), Residual(3, 5)
    with torch.no_grad():
        assert torch.equal(same(x), x + same.layers(x))
        assert torch.equal(wider(x), wider.past(x) + wider.layers(x))


def test_a_style_of_zero_leaves_normalised_features():
    block = Styled(4)
    x = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        block.style.weight.zero_()
        block.style.bias.zero_()
        y = block.convolution(x)
        y = (y - y.mean((2, 3), keepdim=True)) / (
            y.var((2, 3), keepdim=True, correction=0) + 1e-5
        ).sqrt()
        assert torch.allclose(
            block(x, torch.randn(2, 256)), F.gelu(y, approximate="tanh"), atol=1e-5
        )


def test_features_are_the_style_and_three_blocks():
    decoder = Residual64().decoder((1, 64, 64))
    z = torch.randn(2, 10, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        shapes = [tuple(feature.shape) for feature in decoder.features(z)]
    assert shapes == [(2, 256), (2, 256, 8, 8), (2, 128, 16, 16), (2, 64, 32, 32)]


def test_the_learnt_image_begins_at_one():
    first = Residual64().decoder((1, 64, 64)).first(2)
    assert torch.equal(first, torch.ones(2, 512, 4, 4))
