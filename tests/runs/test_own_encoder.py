"""Encoders from elsewhere get the scores that our own runs get."""

import numpy as np
import pytest
import torch
from torch import nn

import unknot
from unknot import metrics
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.data.parts.images import Bytes

SPACE = FactorSpace(("x", "y"), (8, 8), ("ordered", "ordered"))


def squares():
    """A square at each of 8 x 8 places."""
    images = torch.zeros(64, 1, 16, 16, dtype=torch.uint8)
    for row, (x, y) in enumerate(SPACE.factors(torch.arange(64)).tolist()):
        images[row, 0, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2] = 255
    return FactorDataset("squares", SPACE, Bytes(images))


DATA = {"data": squares()}
NAMES = ["mig", "beta_vae", "factor_vae", "irs", "modularity"]


@pytest.fixture(scope="module")
def run():
    return unknot.train(
        squares(),
        "vae",
        "linear",
        steps=400,
        batch=16,
        lr=1e-3,
        net_settings={"latents": 3},
        device="cpu",
    )


class Means(nn.Module):
    """The means of an encoder that gives means and log-variances side by side."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x):
        return self.encoder(x).chunk(2, dim=1)[0]


def test_a_module_gets_the_scores_of_its_run(run):
    ours = metrics.evaluate(run.representations()[0], metrics=NAMES, protocol="study2019")
    theirs = unknot.evaluate(Means(run.encoder), **DATA, metrics=NAMES, protocol="study2019")
    assert min(ours["modularity"], ours["irs"], ours["mig"]) > 0.01, "something to compare"
    for name in NAMES:
        assert theirs[name] == pytest.approx(ours[name], abs=1e-6), name


def test_functions_pairs_and_posteriors(run):
    encoder = run.encoder

    def means(x):
        return np.asarray(encoder(x).chunk(2, dim=1)[0].detach())

    pair = unknot.evaluate(
        lambda x: encoder(x).chunk(2, dim=1), **DATA, metrics=["kl_per_dimension", "mig"]
    )
    alone = unknot.evaluate(means, **DATA)
    assert alone["mig"] == pytest.approx(pair["mig"], abs=1e-6)
    assert "kl_per_dimension" in alone.skipped
    assert pair["kl_per_dimension"] > 0


def test_only_rows_that_metrics_ask_for_are_encoded_each_once():
    seen = []

    def count(x):
        seen.append(len(x))
        return x.flatten(1)[:, ::37]

    unknot.evaluate(count, **DATA, metrics=["mig", "sap"], batch=7)
    assert sum(seen) - 2 * 2 <= 64, "two images are looked at twice before"
    assert max(seen) <= 7


def test_a_module_is_left_as_it_was():
    net = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.LazyLinear(4))
    net(torch.zeros(1, 1, 16, 16))
    net.train()
    net[2].eval()
    table = unknot.evaluate(net, **DATA, metrics=["active_units"])  # dropout is off
    assert len(table) == 1
    assert net.training
    assert net[1].training
    assert not net[2].training


@pytest.mark.parametrize(
    ("encoder", "error", "words"),
    [
        (lambda x: torch.randn(len(x), 3), ConfigError, "it samples them. Return the mean"),
        (lambda x: x, ShapeError, r"codes \[2, z\] for 2 images"),
        (lambda x: (x[:, 0, 0, :2], x[:, 0, 0, :3]), ShapeError, "of that shape"),
        (lambda x: x.flatten(1)[:1, :5], ShapeError, "for 2 images"),
    ],
)
def test_encoders_that_cannot_be_scored(encoder, error, words):
    with pytest.raises(error, match=words):
        unknot.evaluate(encoder, **DATA)


def test_a_metric_of_ones_own():
    def largest(codes, factors):
        assert len(codes) == len(factors)
        return codes.max()

    codes = np.arange(40.0).reshape(20, 2)
    table = metrics.evaluate(codes, np.arange(20)[:, None], metrics=[largest, "mig"])
    assert table["largest"] == 39
    assert "largest" in repr(table)
    assert metrics.evaluate(codes, metrics=[lambda c: c.min()])["<lambda>"] == 0
    with pytest.raises(ConfigError, match="largest_list must return a number; got list"):
        metrics.evaluate(codes, metrics=[largest_list])


def largest_list(codes):
    return [codes.max()]
