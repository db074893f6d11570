"""What holds for every registered dataset."""

import pytest
import torch
from PIL import Image

from unknot import testing
from unknot.core import registry

OTHERS = [
    ("dsprites", {"standardize": True}),
    ("xyobject", {"standardize": True}),
    ("xysquares", {"spacing": 1}),
    ("xysquares", {"spacing": 5, "standardize": True}),
    ("xysquares", {"square": 1, "spacing": 1}),
]
# A small sprite looks the same after a small turn, and all do after a full one; see below.
STILL = {"dsprites": {"orientation"}}
NEED_A_FILE = {"arrays", "images", "memory", "scream_dsprites", "signals", "vectors"}
GENERATED = [
    (n, {})
    for n in registry.names("datasets")
    if n not in NEED_A_FILE and not hasattr(registry.get("datasets", n), "published")
]


@pytest.mark.parametrize(("name", "settings"), [*GENERATED, *OTHERS])
def test_contract(name, settings):
    dataset = registry.get("datasets", name)(**settings)
    testing.check_dataset(dataset, still=STILL.get(name, ()))
    assert dataset.load().name == name


def test_contract_of_a_users_own_file(tiny):
    testing.check_dataset(registry.get("datasets", "arrays")(path=str(tiny)))


def test_contract_of_a_users_own_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "own").mkdir()
    for i in range(12):
        Image.linear_gradient("L").rotate(10 * i).save(tmp_path / "own" / f"{i}.png")
    images = registry.get("datasets", "images")
    testing.check_dataset(images(path=str(tmp_path / "own")).pin())
    testing.check_dataset(images(path=str(tmp_path / "own"), standardize=True))


def test_contract_of_a_users_own_painting(tmp_path):
    Image.linear_gradient("L").save(tmp_path / "painting.png")
    dataset = registry.get("datasets", "scream_dsprites")(path=str(tmp_path / "painting.png"))
    testing.check_dataset(dataset)
    assert dataset.load().name == "scream_dsprites"


def test_a_large_heart_looks_different_at_all_orientations_but_the_last():
    data = registry.get("datasets", "dsprites")().load()
    first = data.space.index(torch.tensor([2, 5, 0, 16, 16]))
    images = data.batch(data.space.traversal(first, 2)).flatten(1)
    assert torch.equal(images[0], images[39])
    assert len(images.unique(dim=0)) == 39


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in registry.names("datasets")
        if n not in {"arrays", "images", "memory", "signals", "vectors"}
    ],
)
def test_a_dataset_names_its_paper(name):
    assert "\n    Paper: " in registry.get("datasets", name).__doc__
