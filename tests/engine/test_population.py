"""A run does not depend on who else trains beside it."""

from dataclasses import replace

import pytest
import torch

from unknot.core.errors import ConfigError
from unknot.core.hyper import Cosine, LinearSchedule
from unknot.core.optim import Adam
from unknot.data.arrays import Arrays
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.loop import fit
from unknot.engine.looped import Looped
from unknot.engine.population import Member, groups, populate
from unknot.engine.stacked import Stacked
from unknot.nets.conv64 import Conv64
from unknot.nets.ozcan_mlp import OzcanMLP
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.vae import VAE

MEMBERS = [
    Member(0, BetaVAE(beta=1.0), Adam(lr=1e-3)),
    Member(7, BetaVAE(beta=4.0), Adam(lr=1e-4)),
    Member(2**40, BetaVAE(beta=0.5), Adam(lr=3e-3), order_seed=5),
]


@pytest.fixture
def context(tiny):
    net = OzcanMLP(latents=3)
    return Context(Arrays(str(tiny)).load(), net, 8, runtime("cpu", "float64"))


def trained(backend, context, members, steps=50):
    population = backend.fresh(context, members)
    for _ in fit(population, start=0, steps=steps, log_every=10, pause_every=1000):
        pass
    return population.state()


def test_a_looped_member_is_bit_identical_to_the_same_run_alone(context):
    together = trained(Looped, context, MEMBERS)
    for i, member in enumerate(MEMBERS):
        for name, alone in trained(Looped, context, [member]).items():
            assert torch.equal(together[name][i], alone[0]), name


def test_a_stacked_member_equals_the_same_run_alone(context):
    together = trained(Stacked, context, MEMBERS)
    for i, member in enumerate(MEMBERS):
        for name, alone in trained(Looped, context, [member]).items():
            torch.testing.assert_close(together[name][i], alone[0], rtol=1e-10, atol=1e-10)


def test_a_schedule_over_the_whole_run_has_to_know_how_long_that_is(context):
    """Left as it is, it would stay at its start without a word."""
    with pytest.raises(ConfigError, match=r"BetaVAE.beta lasts the whole run"):
        populate(context, [Member(0, BetaVAE(beta=LinearSchedule(0.0, 4.0)), Adam())])


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_codes_of_another_precision_are_decoded(context, backend):
    population = backend.fresh(context, MEMBERS)
    codes = torch.ones(3, 2, 3)
    assert torch.equal(population.decode(codes), population.decode(codes.double()))


def test_training_moves_every_weight(context):
    before = Looped.fresh(context, MEMBERS).state()
    for name, after in trained(Looped, context, MEMBERS, steps=3).items():
        assert not torch.equal(before[name], after), name


def test_schedules_reach_each_member(context):
    members = [
        Member(1, BetaVAE(beta=LinearSchedule(0.0, 4.0, 20.0)), Adam(lr=Cosine(1e-3, 1e-5, 20.0))),
        Member(2, BetaVAE(beta=LinearSchedule(2.0, 0.0, 10.0)), Adam(lr=Cosine(1e-2, 0.0, 15.0))),
    ]
    looped, stacked = (trained(b, context, members, 25) for b in (Looped, Stacked))
    for name in looped:
        torch.testing.assert_close(looped[name], stacked[name], rtol=1e-10, atol=1e-10)


def test_members_that_differ_in_structure_are_other_groups():
    same = [MEMBERS[0], MEMBERS[1]]
    assert same[0].group == same[1].group
    other = replace(MEMBERS[0], objective=BetaVAE(beta=1.0, likelihood="gaussian"))
    assert other.group != MEMBERS[0].group
    assert replace(MEMBERS[0], objective=VAE()).group != MEMBERS[0].group
    scheduled = replace(MEMBERS[0], objective=BetaVAE(beta=LinearSchedule(0.0, 1.0, 5.0)))
    assert scheduled.group != MEMBERS[0].group


def test_a_mixed_list_is_split_into_populations(context):
    """What differs beyond seed, rate and Hyper fields goes to another group, and each trains."""
    gaussian = [replace(m, objective=BetaVAE(beta=2.0, likelihood="gaussian")) for m in MEMBERS[:2]]
    mixed = [MEMBERS[0], gaussian[0], MEMBERS[1], gaussian[1], replace(MEMBERS[0], objective=VAE())]
    split = groups(mixed)
    assert split == [[MEMBERS[0], MEMBERS[1]], gaussian, [mixed[4]]]
    for members in split:
        assert populate(context, members).advance(0, 1)["loss"].shape == (len(members),)


def test_a_bad_mixture_is_refused(context):
    mixed = [MEMBERS[0], replace(MEMBERS[1], objective=BetaVAE(likelihood="gaussian"))]
    with pytest.raises(ConfigError, match="likelihood is not a Hyper"):
        Stacked.fresh(context, mixed)
    with pytest.raises(ConfigError, match="population of their own"):
        populate(context, mixed)


def test_shared_batches_are_an_explicit_choice(context):
    """With one order seed two members see the same images; without, they do not."""
    first = {}
    for order_seed in (None, 3):
        members = [Member(s, VAE(), Adam(), order_seed) for s in (0, 1)]
        models = Looped.fresh(context, members).models
        first[order_seed] = models[0].order.item() == models[1].order.item()
    assert first == {None: False, 3: True}


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_a_state_continues_where_it_left(context, backend):
    straight = trained(backend, context, MEMBERS, 20)
    half = backend.fresh(context, MEMBERS)
    half.advance(0, 10)
    rest = backend.fresh(context, MEMBERS)
    rest.load(half.state())
    rest.advance(10, 10)
    for name, value in rest.state().items():
        assert torch.equal(value, straight[name]), name


def test_a_state_crosses_between_backends(context):
    looped = Looped.fresh(context, MEMBERS)
    looped.advance(0, 5)
    stacked = Stacked.fresh(context, MEMBERS)
    stacked.load(looped.state())
    assert stacked.state().keys() == looped.state().keys()
    for name, value in stacked.state().items():
        assert torch.equal(value, looped.state()[name]), name
    x = context.dataset.batch(torch.arange(10))
    torch.testing.assert_close(stacked.encode(x).mean, looped.encode(x).mean)
    z = torch.randn(3, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(stacked.decode(z), looped.decode(z))


def test_the_weights_of_a_state_are_those_of_the_plain_modules(context):
    """A state's tensors load into the architecture's own modules, without us."""
    population = Stacked.fresh(context, MEMBERS)
    population.advance(0, 3)
    state, x = population.state(), context.dataset.batch(torch.arange(6)).double()
    encoder = context.net.encoder(context.dataset.shape).double()
    weights = {
        n.removeprefix("encoder."): v[1] for n, v in state.items() if n.startswith("encoder")
    }
    encoder.load_state_dict(weights)
    mean, logvar = encoder(x).chunk(2, dim=1)
    torch.testing.assert_close(population.encode(x).mean[1], mean, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(population.encode(x).logvar[1], logvar, rtol=1e-12, atol=1e-12)


def test_bf16_runs_the_networks_coarsely_and_the_losses_finely(tiny):
    coarse = Context(Arrays(str(tiny)).load(), OzcanMLP(latents=3), 8, runtime("cpu", "bf16"))
    fine = replace(coarse, runtime=runtime("cpu", "float32"))
    for backend in (Looped, Stacked):
        a, b = backend.fresh(coarse, MEMBERS), backend.fresh(fine, MEMBERS)
        losses = a.advance(0, 1)["loss"], b.advance(0, 1)["loss"]
        assert losses[0].dtype == torch.float32
        assert not torch.equal(*losses)
        torch.testing.assert_close(*losses, rtol=2e-2, atol=0)
        assert all(t.dtype == torch.float32 for t in a.state().values())


def test_codes_and_images_are_computed_in_full_however_models_are_trained(tiny):
    """Codes of bfloat16 have many ties, at which trees cannot split."""
    coarse = Context(Arrays(str(tiny)).load(), OzcanMLP(latents=3), 8, runtime("cpu", "bf16"))
    fine = replace(coarse, runtime=runtime("cpu", "float32"))
    x = coarse.dataset.batch(torch.arange(64))
    for backend in (Looped, Stacked):
        a, b = backend.fresh(coarse, MEMBERS), backend.fresh(fine, MEMBERS)
        a.advance(0, 3)
        b.load(a.state())
        q, p = a.encode(x), b.encode(x)
        assert torch.equal(q.mean, p.mean)
        assert torch.equal(q.logvar, p.logvar)
        assert not torch.equal(q.mean, q.mean.bfloat16().float())
        assert torch.equal(a.decode(q.mean), b.decode(q.mean))


def test_the_cpu_loops(context):
    assert isinstance(populate(context, MEMBERS), Looped)


def test_conv_nets_train_the_same_stacked_as_looped():
    from unknot.data.xysquares import XYSquares

    context = Context(XYSquares().load(), Conv64(latents=4), 2, runtime("cpu", "float64"))
    looped, stacked = (trained(b, context, MEMBERS[:2], 4) for b in (Looped, Stacked))
    for name in looped:
        torch.testing.assert_close(looped[name], stacked[name], rtol=1e-10, atol=1e-10)
