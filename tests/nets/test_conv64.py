import pytest

from unknot.nets.conv64 import Conv64


@pytest.mark.parametrize(
    ("channels", "latents", "counts"),
    [
        (1, 9, (382_418, 381_057)),
        (1, 25, (390_642, 385_153)),
        (3, 9, (383_442, 382_083)),
        (3, 25, (391_666, 386_179)),
    ],
)
def test_parameters_of_table_a1(sizes, channels, latents, counts):
    """Michlo 2022, Table A.1, with padding 1; one and three channels, 9 and 25 latents."""
    assert sizes(Conv64(latents=latents), (channels, 64, 64)) == counts
