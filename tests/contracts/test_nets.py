"""What holds for every registered net."""

import pytest

from unknot import testing
from unknot.core import registry

ANY_SIZE = {"linear", "mlp", "ozcan_mlp"}
LARGE = {"style64", "residual64"}
"""Nets that take long: one check instead of two."""


NETS = [name for name in registry.names("nets") if name != "modules"]  # which come from a user


@pytest.mark.parametrize("name", NETS)
def test_contract(name):
    kind = registry.get("nets", name)
    if name in ANY_SIZE:
        testing.check_net(kind(latents=4), (1, 5, 6))
        testing.check_net(kind(latents=1), (3, 4, 4))
    elif name == "conv1d":
        testing.check_net(kind(latents=4), (2, 1, 32))
        testing.check_net(kind(latents=1, hidden=(16,), init="glorot"), (1, 1, 45))
    else:
        if name not in LARGE:
            testing.check_net(kind())
        testing.check_net(kind(latents=1, init="glorot"), (3, 64, 64))


@pytest.mark.parametrize("image", [(1, 8, 8), (2, 9, 21), (3, 28, 28), (1, 33, 17), (3, 48, 40)])
def test_contract_of_conv_at_other_sizes(image):
    testing.check_net(registry.get("nets", "conv")(latents=3, hidden=(16,)), image)


@pytest.mark.parametrize("name", [n for n in NETS if n != "mlp"])
def test_a_net_names_its_paper(name):
    assert "\n    Paper: " in registry.get("nets", name).__doc__
