"""DIP-VAE-I and -II: which covariance, which weights, and what training does with them."""

import math

import numpy as np
import pytest
import torch

import unknot
from unknot import testing
from unknot.core import noise
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.population import Member, populate
from unknot.objectives import dip_vae_i, dip_vae_ii
from unknot.objectives.dip_vae_i import DIPVAEI
from unknot.objectives.dip_vae_ii import DIPVAEII
from unknot.objectives.vae import VAE

both = pytest.mark.parametrize("kind", [DIPVAEI, DIPVAEII])


@pytest.fixture
def q():
    draw = torch.Generator().manual_seed(2)
    mean = torch.randn(50, 3, dtype=torch.float64, generator=draw)
    mean = mean @ torch.randn(3, 3, dtype=torch.float64, generator=draw)
    return Posterior(mean, torch.randn(50, 3, dtype=torch.float64, generator=draw) - 1)


def terms(objective, q):
    x = torch.zeros(len(q.mean), 1, 1, 1, dtype=torch.float64)
    net = Net(lambda x: q, lambda z: z.sum(-1)[..., None, None, None])
    return objective.terms(net, Step(x, torch.tensor(0), torch.tensor(0), 100))


def penalties(cov):
    off = cov[~np.eye(len(cov), dtype=bool)]
    return (off**2).sum(), ((np.diag(cov) - 1) ** 2).sum()


def test_the_first_takes_the_covariance_of_the_means(q):
    off, on = penalties(np.cov(q.mean.numpy(), rowvar=False, ddof=0))
    ours = terms(DIPVAEI(lambda_od=2.0, lambda_d=7.0), q)
    assert ours["off_diagonal"].value.item() == pytest.approx(off)
    assert ours["diagonal"].value.item() == pytest.approx(on)
    plain = ours["recon"].value + ours["kl"].value
    assert total(ours).item() == pytest.approx(plain.item() + 2 * off + 7 * on)


@both
def test_both_log_the_mean_variance_of_the_means_and_of_the_noise(q, kind):
    ours = terms(kind(), q)
    assert ours["variance.means"].value.item() == pytest.approx(q.mean.var(0, correction=0).mean())
    assert ours["variance.noise"].value.item() == pytest.approx(q.logvar.exp().mean())


def test_the_second_takes_the_covariance_of_the_codes(q):
    many = noise.normal(0, "codes", 0, 20_000, 50, 3, dtype=torch.float64)
    codes = q.sample(many).reshape(-1, 3).numpy()
    sampled = penalties(np.cov(codes, rowvar=False, ddof=0))
    ours = terms(DIPVAEII(), q)
    for name, value in zip(("off_diagonal", "diagonal"), sampled, strict=True):
        assert ours[name].value.item() == pytest.approx(value, rel=0.02)


def test_noise_enters_the_second_on_the_diagonal_only(q):
    """Where disent takes a diagonal instead of making one, and adds a number to every entry."""
    first, second = terms(DIPVAEI(), q), terms(DIPVAEII(), q)
    torch.testing.assert_close(first["off_diagonal"].value, second["off_diagonal"].value)
    assert first["diagonal"].value != second["diagonal"].value
    cov = np.cov(q.mean.numpy(), rowvar=False, ddof=0)
    _, on = penalties(cov + np.diag(q.logvar.exp().mean(0).numpy()))
    assert second["diagonal"].value.item() == pytest.approx(on)


def test_white_means_cost_nothing_in_the_first_and_white_codes_nothing_in_the_second(q):
    centered = q.mean - q.mean.mean(0)
    root = torch.linalg.cholesky(centered.mT @ centered / len(centered))
    white = centered @ torch.linalg.inv(root).mT
    first = terms(DIPVAEI(), Posterior(white, q.logvar))
    spread = torch.full_like(white, math.log(0.36))
    second = terms(DIPVAEII(), Posterior(0.8 * white, spread))
    for ours in (first, second):
        for name in ("off_diagonal", "diagonal"):
            assert ours[name].value.item() == pytest.approx(0, abs=1e-24)
    assert second["variance.means"].value.item() == pytest.approx(0.64)
    assert second["variance.noise"].value.item() == pytest.approx(0.36)
    assert terms(DIPVAEII(), Posterior(white, spread))["diagonal"].value > 0.3


@both
def test_without_weights_it_is_the_vae_bit_for_bit(kind):
    ours = testing.cases(kind(lambda_od=0.0, lambda_d=0.0))[1][0]
    vae = testing.cases(VAE())[1][0]
    assert torch.equal(total(ours.terms()), total(vae.terms()))
    gradients = vae.gradients()
    for name, gradient in ours.gradients().items():
        assert torch.equal(gradient, gradients[name])


@both
def test_the_divergence_is_not_weighted(kind):
    """Only the penalties are, each by its own number; in disent a beta weighs the divergence."""
    ours = testing.cases(kind(lambda_od=3.0, lambda_d=5.0))[1][0].terms()
    weights = {name: term.weight for name, term in ours.items() if hasattr(term, "weight")}
    third = {"third": 0.0} if kind is DIPVAEII else {}
    assert weights == {"recon": 1.0, "kl": 1.0, "off_diagonal": 3.0, "diagonal": 5.0, **third}


def test_third_moments_weigh_their_squares(q):
    without, with_third = terms(DIPVAEII(), q), terms(DIPVAEII(lambda_3=4.0), q)
    torch.testing.assert_close(
        total(with_third), total(without) + 4 * without["third"].value, rtol=1e-12, atol=0
    )
    sampled = terms(DIPVAEII(third="sampled"), q)
    assert sampled["third"].value != without["third"].value
    bent = Posterior(q.mean.exp(), q.logvar)
    assert terms(DIPVAEII(), bent)["third"].value > 10 * without["third"].value
    symmetric = Posterior(torch.cat([q.mean, -q.mean]), torch.cat([q.logvar] * 2))
    assert terms(DIPVAEII(), symmetric)["third"].value.item() == pytest.approx(0, abs=1e-24)


def test_weights_of_the_documents():
    first, second = dip_vae_i.PRESETS, dip_vae_ii.PRESETS
    ratios = {name: p.lambda_d / p.lambda_od for name, p in first.items()}
    assert ratios == {"kumar_celeba": 50, "kumar_shapes": 10, "study2019": 10}
    ratios = {name: p.lambda_d / p.lambda_od for name, p in second.items()}
    shapes = {"kumar_shapes": 1, "kumar_shapes_norm": 1}
    assert ratios == {"kumar_celeba": 0.5, **shapes, "mushom": 1, "study2019": 1}
    assert {name for name, p in second.items() if p.lambda_3} == set(shapes)


@pytest.mark.parametrize(
    "objective",
    [
        DIPVAEI(decay=0.9),
        DIPVAEII(decay=0.5, lambda_3=2.0),
        DIPVAEII(third="sampled", lambda_3=2.0),
        DIPVAEII(third="norm", lambda_3=2.0),
    ],
    ids=repr,
)
def test_contract(objective):
    for check in testing.OBJECTIVE_CHECKS[:-1]:
        check(objective)
    testing.backends_agree(objective, steps=5)


@both
def test_bad_settings_are_refused(kind):
    name = kind.__name__
    for field in ("lambda_od", "lambda_d"):
        with pytest.raises(ConfigError, match=rf"^{name}.{field} must be 0 or more; got -1.0.$"):
            kind(**{field: -1.0})
    for decay in (-0.1, 1.0):
        with pytest.raises(
            ConfigError, match=rf"^{name}.decay must lie in \[0, 1\); got {decay}.$"
        ):
            kind(decay=decay)
    context = Context(testing.images(), testing.NET, 1, Runtime(testing.CPU, "float64"))
    with pytest.raises(ConfigError, match=f"^{name} compares the images of a batch and needs 2 or"):
        populate(context, [Member(0, kind(), Adam())])


def test_the_paper_penalises_the_norm_of_third_moments(q):
    """A norm of 0.1 costs 20 under its weight of 200, the square 2."""
    means = Posterior(q.mean, q.logvar - math.inf)
    size = terms(DIPVAEII(), means)["third"].value.sqrt()
    scaled = Posterior(q.mean * (0.1 / size) ** (1 / 3), q.logvar - math.inf)
    costs = [
        terms(DIPVAEII(lambda_3=200.0, third=t), scaled)["third"] for t in ("norm", "analytic")
    ]
    assert [200 * c.value.item() for c in costs] == pytest.approx([20.0, 2.0])


def test_the_norm_has_a_slope_where_there_are_no_third_moments():
    mean = torch.tensor([[-1.0], [1.0]], dtype=torch.float64, requires_grad=True)
    q = Posterior(mean, torch.zeros_like(mean))
    total(terms(DIPVAEII(lambda_3=200.0, third="norm"), q)).backward()
    assert bool(mean.grad.isfinite().all())


def test_bad_third_moments_are_refused():
    objective = DIPVAEII()
    object.__setattr__(objective, "third", "sample")  # past the tests' check of annotations
    with pytest.raises(ConfigError, match=r"^DIPVAEII.third has no choice 'sample'; did you mean"):
        objective.__post_init__()
    with pytest.raises(ConfigError, match=r"^DIPVAEII.lambda_3 must be 0 or more; got -200.0.$"):
        DIPVAEII(lambda_3=-200.0)


def trained(objective, path, **settings):
    return unknot.train(
        "arrays",
        objective,
        "linear",
        steps=150,
        batch=64,
        lr=2e-2,
        device="cpu",
        log_every=5,
        data_settings={"path": str(path)},
        net_settings={"latents": 6},
        **settings,
    ).training.curves


@pytest.mark.parametrize("decay", [0.0, 0.8])
def test_the_first_keeps_all_latents_and_the_second_leaves_some_to_noise(decay, tiny):
    """Kumar et al., section 2.2: three factors, six latents."""
    late = {}
    for name in ("dip_vae_i", "dip_vae_ii"):
        curves = trained(name, tiny, decay=decay)
        assert curves["loss"][-5:].mean() < 0.5 * curves["loss"][:2].mean()
        late[name] = [curves[f"variance.{of}"][-10:].mean().item() for of in ("means", "noise")]
    assert late["dip_vae_i"][0] > 0.85
    assert late["dip_vae_ii"][0] < 0.4
    assert sum(late["dip_vae_ii"]) == pytest.approx(1, abs=0.15)
