"""The decomposition against Gaussian posteriors, whose mixture is Gaussian too, and estimators."""

import math

import numpy as np
import pytest
import torch

import unknot
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.posterior import Posterior
from unknot.core.representation import Representation
from unknot.engine.encode import encode
from unknot.metrics import evaluate, kl_decomposition, kl_per_dimension
from unknot.metrics.kl_decomposition import Settings
from unknot.objectives.beta_tcvae import log_weights, split_kl

SIGMA = 0.4


def gaussian(n, covariance, seed=0):
    """Posteriors whose mixture is normal with that covariance, but for the noise of n draws."""
    z = len(covariance)
    spread = covariance - SIGMA**2 * np.eye(z)
    means = np.random.default_rng(seed).multivariate_normal(np.zeros(z), spread, size=n)
    return means, np.full((n, z), 2 * math.log(SIGMA))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("variance", [1.0, 2.0])
def test_closed_forms_of_a_gaussian_mixture(rho, variance):
    covariance = variance * np.array([[1, rho], [rho, 1]])
    means, logvar = gaussian(20_000, covariance)
    score = kl_decomposition(means, logvar=logvar, protocol=Settings(points=6_000))
    part = {k.partition(".")[2]: v for k, v in score.values.items()}
    assert float(score) == part["total_correlation"]
    assert part["total_correlation"] == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.04)
    information = 0.5 * math.log(np.linalg.det(covariance)) - 2 * math.log(SIGMA)
    assert part["information"] == pytest.approx(information, abs=0.05)
    each = 0.5 * (variance - 1 - math.log(variance))
    assert part["dimension_wise"] == pytest.approx(2 * each, abs=0.03)
    assert score.parts["per_code"] == pytest.approx(each, abs=0.02)
    whole = float(kl_per_dimension(means, logvar=logvar))
    assert part["kl"] == pytest.approx(whole, abs=0.06)


def test_parts_add_up_exactly():
    means, logvar = gaussian(300, np.array([[1.0, 0.6], [0.6, 1.5]]))
    v = kl_decomposition(means, logvar=logvar).values
    name = "kl_decomposition."
    parts = [v[name + p] for p in ("information", "total_correlation", "dimension_wise")]
    assert sum(parts) == pytest.approx(v[name + "kl"])
    assert sum(parts[1:]) == pytest.approx(v[name + "prior"])


def test_posteriors_far_apart_tell_the_image():
    """Of N images, ln N nats; two latents that move together share all of it."""
    means = np.tile(100.0 * np.arange(50)[:, None], (1, 2))
    score = kl_decomposition(means, logvar=np.zeros((50, 2)))
    assert score["kl_decomposition.information"] == pytest.approx(math.log(50))
    assert float(score) == pytest.approx(math.log(50))


def test_some_posteriors_stand_for_all():
    """A thousand of a grid of 8,000 give what all of them do, and say so."""
    space = FactorSpace(("x", "y", "w"), (20, 20, 20), ("ordered",) * 3)
    means, logvar = gaussian(space.size, np.array([[1.0, 0.7], [0.7, 1.0]]))
    grid, spread = (Representation.whole(space, torch.from_numpy(t)) for t in (means, logvar))
    every = kl_decomposition(grid, logvar=spread, protocol="paper")
    assert every.protocol["posteriors"] == space.size
    assert not every.remarks
    some = kl_decomposition(grid, logvar=spread, protocol=Settings(1_000))
    assert "1,000 of 8,000 posteriors" in some.remarks[0]
    for key, value in every.values.items():
        assert some[key] == pytest.approx(value, abs=0.15), key


def test_beside_the_estimators_of_a_batch():
    """A small trained model: the mixture over all images, and what batches of 64 make of it."""
    run = unknot.train(
        "xysquares", "beta_vae", "linear", steps=150, batch=32, lr=1e-3, device="cpu",
        data_settings={"spacing": 4}, net_settings={"latents": 4}, progress=False,
    )  # fmt: skip
    rows = torch.arange(0, 262_144, 64)
    training = run.training
    q = encode(training.population, training.context.dataset, rows)
    q = Posterior(q.mean[0].double(), q.logvar[0].double())
    score = kl_decomposition(q.mean, logvar=q.logvar)
    estimates = {"mws": [], "mss": []}
    for step in range(40):
        draw = torch.Generator().manual_seed(step)
        some = torch.randperm(len(rows), generator=draw)[:64]
        batch = Posterior(q.mean[some], q.logvar[some])
        z = batch.mean + (0.5 * batch.logvar).exp() * torch.randn(
            batch.mean.shape, dtype=torch.float64, generator=draw
        )
        for name, values in estimates.items():
            values.append(split_kl(z, batch, log_weights(name, z, len(rows)))[1].item())
    weighted, stratified = (np.mean(values) for values in estimates.values())
    assert abs(stratified - float(score)) < 1.5
    assert weighted - float(score) > 20  # (z - 1) ln N and more


def test_it_needs_posteriors_and_is_left_out_without():
    codes = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ConfigError, match="as `logvar`"):
        kl_decomposition(codes)
    assert "kl_decomposition" in evaluate(codes).skipped
