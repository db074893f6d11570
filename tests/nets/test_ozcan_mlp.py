import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.nets.ozcan_mlp import OzcanMLP

side = st.integers(1, 20)


def test_parameters(sizes):
    """Layers of 4096, 1200, 1200, 2L and L, 1200, 1200, 4096 units; dSprites has L = 5."""
    hidden = 1200 * 1200 + 1200
    encoder = (4096 * 1200 + 1200) + hidden + (1200 * 10 + 10)
    decoder = (5 * 1200 + 1200) + hidden + (1200 * 4096 + 4096)
    assert sizes(OzcanMLP(latents=5), (1, 64, 64)) == (encoder, decoder)


@given(image=st.tuples(st.integers(1, 3), side, side))
def test_images_of_any_size_come_back(image):
    with torch.device("meta"):
        net = OzcanMLP(latents=4)
        assert net.encoder(image)(torch.empty(2, *image)).shape == (2, 8)
        assert net.decoder(image)(torch.empty(2, 4)).shape == (2, *image)
