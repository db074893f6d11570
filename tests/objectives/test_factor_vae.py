"""FactorVAE: its critic, what each loss may see, and the total correlation it finds."""

import math
from dataclasses import replace

import pytest
import torch

import unknot
from unknot import testing
from unknot.core import noise, registry
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member, populate
from unknot.engine.stacked import Stacked
from unknot.objectives.factor_vae import PRESETS, FactorVAE
from unknot.objectives.vae import VAE
from unknot.runs.spec import Choice, TrainSpec
from unknot.schedules import linear

SMALL = FactorVAE(critic_layers=2, critic_width=32, critic_lr=3e-3)
either_batch = pytest.mark.parametrize("second", [True, False], ids=["second", "same"])
both_backends = pytest.mark.parametrize("backend", [Looped, Stacked])


def parameters(objective, z=10):
    with torch.device("meta"):
        critic = objective.critic((1, 64, 64), z)
    return sum(p.numel() for p in critic.parameters())


def test_the_critic_has_as_many_weights_as_published():
    assert parameters(FactorVAE()) == parameters(PRESETS["study2019"]) == 5_018_002
    assert parameters(PRESETS["mushom"]) == 4_017_002


def test_the_settings_of_the_paper_and_of_the_study():
    assert FactorVAE().critic_optim == Adam(lr=1e-4, beta1=0.5, beta2=0.9, eps=1e-8)
    assert FactorVAE().views == PRESETS["mushom"].views == 2
    assert PRESETS["study2019"].views == 1


def codes_as_images(critic=lambda z: z):
    """The code of an image is its row of pixels; a logvar this low leaves no noise."""

    def encode(x):
        mean = x.flatten(-3)
        return Posterior(mean, torch.full_like(mean, -80.0))

    return Net(encode, lambda z: z[..., None, None, :], critic)


def step_of(codes, t=0):
    seed = 3 + torch.arange(math.prod(codes.shape[:-2])).reshape(codes.shape[:-2])
    return Step(codes[..., None, None, :], seed, torch.tensor(t), n_data=100)


def seen(objective, codes):
    """What the critic is shown: by the loss of the net, then whole and shuffled by its own."""
    shown = []

    def critic(z):
        shown.append(z)
        return z[..., :2]

    step = step_of(codes)
    objective.terms(codes_as_images(critic), step)
    objective.critic_terms(codes_as_images(critic), step)
    return shown


@either_batch
def test_each_latent_is_shuffled_by_itself(second):
    codes = noise.normal(0, "codes", 0, 3, 16, 5, dtype=torch.float64)
    net_sees, whole, shuffled = seen(replace(FactorVAE(), second_batch=second), codes)
    first, other = codes.chunk(2, dim=-2) if second else (codes, codes)
    torch.testing.assert_close(net_sees, first)
    assert torch.equal(whole, net_sees)
    torch.testing.assert_close(shuffled.sort(-2).values, other.sort(-2).values)
    moved = shuffled != other
    assert moved.any(-2).all()
    assert len({tuple(column.tolist()) for column in moved[0].T}) > 1


@either_batch
def test_correlations_vanish_by_shuffling(second):
    x = noise.normal(0, "codes", 0, 8000, 1, dtype=torch.float64)
    codes = torch.cat([x, x, -x], dim=1)
    _, whole, shuffled = seen(replace(FactorVAE(), second_batch=second), codes)
    assert torch.corrcoef(whole.T).abs().min() > 0.999
    off = torch.corrcoef(shuffled.T) - torch.eye(3)
    assert off.abs().max() < 4 / math.sqrt(len(shuffled))


def test_codes_reach_the_critics_loss_without_a_gradient():
    """Kept graphs there are how discriminator gradients leaked into a popular encoder."""
    codes = torch.ones(4, 2, requires_grad=True)
    net_sees, whole, shuffled = seen(SMALL, codes)
    assert net_sees.requires_grad
    assert not whole.requires_grad
    assert not shuffled.requires_grad


def test_the_net_learns_from_the_first_batch_alone():
    codes = noise.normal(0, "codes", 0, 8, 3, dtype=torch.float64)
    other = codes.clone()
    other[4:] += 1
    net = codes_as_images(lambda z: torch.stack([z.sum(-1), z.prod(-1)], -1))
    objective = FactorVAE(likelihood="gaussian")
    terms, changed = (objective.terms(net, step_of(c)) for c in (codes, other))
    assert all(torch.equal(terms[name].value, changed[name].value) for name in terms)
    tell, moved = (objective.critic_terms(net, step_of(c))["tell"].value for c in (codes, other))
    assert tell != moved


def test_the_total_correlation_is_the_first_logit_less_the_second():
    codes = noise.normal(0, "codes", 0, 6, 2, dtype=torch.float64)
    net = codes_as_images(lambda z: torch.stack([3 * z[..., 0], z[..., 1] - 1], -1))
    terms = FactorVAE(second_batch=False).terms(net, step_of(codes))
    expected = (3 * codes[:, 0] - codes[:, 1] + 1).mean()
    torch.testing.assert_close(terms["tc"].value, expected)
    assert terms["tc"].weight == 35


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_without_its_penalty_it_is_the_vae_bit_for_bit(likelihood):
    case = testing.cases(replace(SMALL, gamma=0.0, second_batch=False, likelihood=likelihood))[0]
    vae = testing.cases(VAE(likelihood=likelihood))[0]
    ours, theirs = case.gradients(), vae.gradients()
    terms = {n: t for n, t in case.terms().items() if not n.startswith("critic.")}
    assert torch.equal(total(terms), total(vae.terms()))
    assert all(torch.equal(ours[name], gradient) for name, gradient in theirs.items())


def test_the_critics_loss_is_that_of_the_study_but_for_its_clipping():
    """disentanglement_lib: half the mean log-probabilities, clipped to [1e-6, 1 - 1e-6]."""
    codes = noise.normal(0, "codes", 0, 50, 2, dtype=torch.float64)
    objective = PRESETS["study2019"]
    _, whole, shuffled = seen(objective, codes)
    p0, p1 = (z.softmax(-1).clamp(1e-6, 1 - 1e-6) for z in (whole, shuffled))
    expected = -0.5 * p0[:, 0].log().mean() - 0.5 * p1[:, 1].log().mean()
    found = objective.critic_terms(codes_as_images(), step_of(codes))
    torch.testing.assert_close(found["tell"].value, expected)


def trained_tc(sample, *, second, steps=200):
    """The total correlation and accuracy that a small critic arrives at."""
    objective = replace(SMALL, second_batch=second)
    critic = objective.critic((1, 1, 1), sample(2, 0).shape[-1])
    start = noise.normal(0, "start", 0, sum(p.numel() for p in critic.parameters()))
    torch.nn.utils.vector_to_parameters(0.2 * start, critic.parameters())
    optim = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.9))
    schedule = torch.optim.lr_scheduler.LinearLR(optim, 1, 0.05, steps)
    for t in range(steps):
        step = step_of(sample(512 * objective.views, t), t)
        optim.zero_grad()
        total(objective.critic_terms(codes_as_images(critic), step)).backward()
        optim.step()
        schedule.step()
    step = step_of(sample(40_000, steps), steps)
    with torch.no_grad():
        tc = objective.terms(codes_as_images(critic), step)["tc"].value
        accuracy = objective.critic_terms(codes_as_images(critic), step)["accuracy"].value
    return tc.item(), accuracy.item()


def gaussian(rho):
    def sample(n, t):
        a, b = noise.normal(0, "pairs", t, 2, n)
        return torch.stack([a, rho * a + math.sqrt(1 - rho**2) * b], dim=1)

    return sample


@either_batch
def test_a_trained_critic_finds_the_total_correlation_of_a_gaussian(second):
    """-ln(1 - rho^2) / 2 = 0.83 nats at rho 0.9, within 15 %; Hartmann 2020's study, section 8."""
    tc, accuracy = trained_tc(gaussian(0.9), second=second)
    assert tc == pytest.approx(-0.5 * math.log(1 - 0.9**2), rel=0.15)
    assert accuracy > 0.7


@either_batch
def test_a_trained_critic_finds_none_in_independent_codes(second):
    tc, accuracy = trained_tc(gaussian(0.0), second=second)
    assert abs(tc) < 0.05
    assert accuracy == pytest.approx(0.5, abs=0.02)


def test_a_copied_latent_has_much_of_it():
    tc, accuracy = trained_tc(gaussian(1.0), second=True, steps=100)
    assert tc > 1.5
    assert accuracy > 0.8


@pytest.fixture(scope="module")
def context():
    return Context(testing.images(), testing.NET, 8, Runtime(torch.device("cpu"), "float64"))


def differ(first, second):
    """Which weights are not the same bit for bit: of the net, of the critic."""
    names = {n for n in first if not n.startswith("adam.")}
    changed = {n for n in names if not torch.equal(first[n], second[n])}
    return {"critic" if n.startswith("critic.") else "net" for n in changed}


@both_backends
@either_batch
def test_neither_update_reaches_the_others_weights(context, backend, second):
    """Nor does the first step in any way: the in-place error of many a FactorVAE."""

    def trained(steps, gammas=(1.0, 40.0), lr=3e-3):
        objectives = [replace(SMALL, gamma=g, critic_lr=lr, second_batch=second) for g in gammas]
        members = [Member(i, o, Adam(lr=1e-3)) for i, o in enumerate(objectives)]
        population = backend.fresh(context, members)
        population.advance(0, steps)
        return population.state()

    usual = trained(1)
    assert differ(usual, trained(1, lr=0.1)) == {"critic"}
    assert differ(usual, trained(1, gammas=(7.0, 9.0))) == {"net"}
    later = trained(2)
    assert differ(later, trained(2, lr=0.1)) == {"net", "critic"}
    assert differ(later, trained(2, gammas=(7.0, 9.0))) == {"net", "critic"}


@pytest.mark.parametrize(
    ("size", "flag"), [(0.0, 0.0), (10.0, 0.0), (99.0, 0.0), (200.0, 1.0), (math.nan, 1.0)]
)
def test_a_runaway_divergence_is_flagged(size, flag):
    """Codes of size s in two latents have about s^2 nats; published runaways had 1e5 and more."""
    net = codes_as_images()
    net = Net(lambda x: Posterior(x.flatten(-3), torch.zeros(4, 2)), net.decode, net.critic)
    terms = PRESETS["study2019"].terms(net, step_of(torch.full((4, 2), size)))
    assert terms["diverged"].value == flag


def spec(objective, **changes):
    dataset = Choice("xysquares", registry.get("datasets", "xysquares")())
    return TrainSpec.create(
        dataset, Choice("linear", testing.NET), Choice("factor_vae", objective), **changes
    )


def test_the_study_counts_an_update_as_two_steps():
    assert spec(PRESETS["study2019"], steps=300_000).updates == 150_000
    assert spec(FactorVAE(), steps=300_000).updates == 300_000
    assert spec(PRESETS["study2019"], steps=7).updates == 4
    slow = replace(PRESETS["study2019"], gamma=linear(0.0, 5.0, 200.0))
    with pytest.raises(ConfigError, match="changes until step 200, but the run ends at 150"):
        spec(slow, steps=300)


def test_half_the_updates_give_the_run_of_half_the_steps(tiny):
    def trained(steps, **settings):
        return unknot.train(
            "arrays",
            "factor_vae",
            "linear",
            steps=steps,
            batch=8,
            device="cpu",
            data_settings={"path": str(tiny)},
            critic_width=8,
            **settings,
        )

    half, whole = trained(20, count_both_optimizers=True), trained(10)
    assert torch.equal(half.codes(), whole.codes())


@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_training_lowers_the_loss(tiny, preset):
    curves = unknot.train(
        "arrays",
        "factor_vae",
        "linear",
        steps=150,
        batch=16,
        lr=1e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 3},
        critic_width=16,
        **({"preset": preset} if preset else {}),
    ).training.curves
    assert curves["loss"][-5:].mean() < 0.8 * curves["loss"][0].mean()
    assert curves["diverged"].max() == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": -1.0}, "FactorVAE.gamma must be 0 or more; got -1.0."),
        ({"gamma": linear(0.0, -1.0, 9.0)}, "FactorVAE.gamma must be 0 or more; got -1.0."),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(ConfigError, match=f"^{message}$"):
        FactorVAE(**settings)


def test_one_image_cannot_be_shuffled(context):
    lone = replace(context, batch=1)
    with pytest.raises(ConfigError, match=r"FactorVAE compares .* 2 or more; got a batch of 1"):
        populate(lone, [Member(0, SMALL, Adam())])
