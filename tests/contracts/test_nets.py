"""What holds for every registered net."""

import pytest

from unknot import testing
from unknot.core import registry

ANY_SIZE = {"linear", "ozcan_mlp"}


@pytest.mark.parametrize("name", registry.names("nets"))
def test_contract(name):
    kind = registry.get("nets", name)
    if name in ANY_SIZE:
        testing.check_net(kind(latents=4), (1, 5, 6))
        testing.check_net(kind(latents=1), (3, 4, 4))
    else:
        testing.check_net(kind())
        testing.check_net(kind(latents=1, init="glorot"), (3, 64, 64))


@pytest.mark.parametrize("name", registry.names("nets"))
def test_a_net_names_its_paper(name):
    assert "\n    Paper: " in registry.get("nets", name).__doc__
