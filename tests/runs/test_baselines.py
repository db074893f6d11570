"""Baselines: what they score is known beforehand, or computed here by another route."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

import unknot
from unknot import metrics
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.data.parts.images import Bytes
from unknot.nets.linear import Linear

SPACE = FactorSpace(("x", "y"), (8, 8), ("ordered", "ordered"))


def squares():
    """A square at each of 8 x 8 places."""
    images = torch.zeros(64, 1, 16, 16, dtype=torch.uint8)
    for row, (x, y) in enumerate(SPACE.factors(torch.arange(64)).tolist()):
        images[row, 0, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2] = 255
    return FactorDataset("squares", SPACE, Bytes(images))


def test_the_factors_are_the_ceiling_and_components_are_those_of_pca():
    data = squares()
    table = unknot.baselines(data, latents=2, net="linear", metrics=["mig", "mcc"])
    assert list(table.tables) == ["factors", "pca", "ica", "pixels", "untrained"]
    assert float(table["factors"]["mcc"]) == pytest.approx(1)
    assert float(table["factors"]["mig"]) == pytest.approx(table["factors"]["mig"].ceiling)
    x = data.batch(torch.arange(64)).flatten(1).numpy()
    codes = PCA(2, svd_solver="randomized", random_state=0).fit_transform(x)
    theirs = metrics.mig(codes, SPACE.factors(torch.arange(64)).numpy())
    assert float(table["pca"]["mig"]) == pytest.approx(float(theirs), abs=1e-6)
    pixels = metrics.mig(x, SPACE.factors(torch.arange(64)).numpy())
    assert float(table["pixels"]["mig"]) == pytest.approx(float(pixels))


def test_independent_components_find_what_principal_ones_rotate():
    """Two independent uniform sources, mixed by a rotation into four numbers."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 20, (4_000, 2))
    mixed = values @ rng.normal(size=(2, 4)) / 20 / 10 + 0.5
    data = unknot.dataset(mixed, labels={"a": values[:, 0], "b": values[:, 1]})
    table = unknot.baselines(data, latents=2, names=["pca", "ica"], metrics=["mcc"])
    assert float(table["ica"]["mcc"]) > 0.98 > float(table["pca"]["mcc"])


def test_the_untrained_network_is_that_of_the_seed():
    """Its first weights are those that a run of the seed starts from."""
    data = squares()
    run = unknot.train(
        data, "vae", "linear", steps=1, batch=8, lr=1e-12, seeds=3, device="cpu",
        net_settings={"latents": 2},
    )  # fmt: skip
    table = unknot.baselines(
        data, net=Linear(latents=2), names=["untrained"], metrics="sap", seed=3
    )
    codes = run.codes(torch.arange(64))
    theirs = metrics.sap(codes, SPACE.factors(torch.arange(64)).numpy(), seed=3)
    assert float(table["untrained"]["sap"]) == pytest.approx(float(theirs), abs=1e-4)


def test_large_images_are_averaged():
    images = torch.rand(30, 3, 64, 32)
    data = unknot.dataset(images.numpy())
    table = unknot.baselines(data, names=["pixels", "factors"], metrics=["active_units"])
    assert len(table["pixels"]["active_units"].parts["active"]) == 3 * 8 * 8
    assert list(table.tables) == ["pixels"], "without factors there is no ceiling"


def test_what_does_not_apply_is_left_out_and_bad_names_are_one_line():
    table = unknot.baselines(squares(), names=["factors"], metrics=["mig", "sap"], protocol="kumar")
    assert list(table["factors"]) == ["sap"]
    assert "no protocol 'kumar'" in table["factors"].skipped["mig"]
    with pytest.raises(ConfigError, match=r"^There is no baseline 'pcaa'; did you mean 'pca'\?$"):
        unknot.baselines(squares(), names=["pcaa"])
    with pytest.raises(ConfigError, match=r"^There is no metric 'elbo' of codes alone"):
        unknot.baselines(squares(), metrics=["elbo"])
    with pytest.raises(ConfigError, match=r"at most 64 components of 64 images of 256 numbers"):
        unknot.baselines(squares(), names=["pca"], latents=100, net="linear")
