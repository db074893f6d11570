import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.nets.linear import Linear

side = st.integers(1, 20)


def test_parameters(sizes):
    assert sizes(Linear(latents=3), (2, 4, 5)) == (40 * 6 + 6, 3 * 40 + 40)


@given(image=st.tuples(st.integers(1, 3), side, side), latents=st.integers(1, 20))
def test_images_of_any_size_come_back(image, latents):
    with torch.device("meta"):
        net = Linear(latents=latents)
        assert net.encoder(image)(torch.empty(2, *image)).shape == (2, 2 * latents)
        assert net.decoder(image)(torch.empty(2, latents)).shape == (2, *image)


def test_both_ways_are_affine():
    """f(a) + f(b) = f(a + b) + f(0), which one activation would break."""
    generator = torch.Generator().manual_seed(0)
    image = (1, 4, 4)
    for part, shape in (("encoder", image), ("decoder", (3,))):
        with torch.random.fork_rng():
            f = getattr(Linear(latents=3), part)(image).double()
        a, b = torch.randn(2, 6, *shape, generator=generator, dtype=torch.float64)
        torch.testing.assert_close(f(a) + f(b), f(a + b) + f(torch.zeros_like(a)))
