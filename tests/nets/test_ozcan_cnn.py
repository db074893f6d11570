from itertools import pairwise

import pytest
import torch
from torch import nn

from unknot.nets.ozcan_cnn import OzcanCNN


def _chain(*channels):
    """Parameters of a chain of 4 x 4 convolutions, transposed or not."""
    return sum(16 * a * b + b for a, b in pairwise(channels))


@pytest.mark.parametrize(("side", "features", "first"), [(64, 32, 256), (128, 800, 64)])
@pytest.mark.parametrize("channels", [1, 3])
def test_parameters(sizes, side, features, first, channels):
    """Ozcan 2024, Table 3.1: the last Conv leaves 1 x 1 or 5 x 5 pixels of 32 channels."""
    latents = 7
    encoder = _chain(channels, 32, 32, 64, 64, 32) + (features + 1) * 2 * latents
    decoder = (latents + 1) * 256 + _chain(first, 64, 64, 32, 32, 3, channels)
    assert sizes(OzcanCNN(latents=latents), (channels, side, side)) == (encoder, decoder)


@pytest.mark.parametrize("side", [64, 128])
def test_strides_and_hidden_channels(side):
    with torch.device("meta"):
        encoder = OzcanCNN().encoder((3, side, side))
        decoder = OzcanCNN().decoder((3, side, side))
    convolutions = [layer for layer in encoder if isinstance(layer, nn.Conv2d)]
    assert [layer.stride[0] for layer in convolutions] == [2, 2, 2, 2, 1]
    transposed = [layer for layer in decoder if isinstance(layer, nn.ConvTranspose2d)]
    assert [layer.out_channels for layer in transposed] == [64, 64, 32, 32, 3, 3]


def test_images_of_128_pixels_come_back():
    with torch.device("meta"):
        net, image = OzcanCNN(latents=9), (3, 128, 128)
        assert net.encoder(image)(torch.empty(2, *image)).shape == (2, 18)
        assert net.decoder(image)(torch.empty(2, 9)).shape == (2, *image)
