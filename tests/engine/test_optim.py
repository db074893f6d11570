"""Optimisers with one learning rate per member: each is PyTorch's, looped and stacked."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from unknot.core.errors import ConfigError
from unknot.core.hyper import LinearSchedule
from unknot.core.optim import SGD, Adagrad, Adam, AdamW, RMSprop
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.engine.updates import (
    clip_gradients,
    light_optimizer,
    moments_of,
    move_weights,
    torch_optimizer,
    update,
)
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.l_vae import LVAE
from unknot.testing import NET, images

RATES = [1e-3, 1e-1, 3e-2]
CASES = [
    (Adam(beta1=0.5, beta2=0.9, eps=1e-6), torch.optim.Adam, {"betas": (0.5, 0.9), "eps": 1e-6}),
    (AdamW(weight_decay=0.3), torch.optim.AdamW, {"weight_decay": 0.3}),
    (RMSprop(alpha=0.9), torch.optim.RMSprop, {"alpha": 0.9}),
    (RMSprop(momentum=0.8), torch.optim.RMSprop, {"momentum": 0.8}),
    (RMSprop(centered=True), torch.optim.RMSprop, {"centered": True}),
    (
        RMSprop(centered=True, momentum=0.7),
        torch.optim.RMSprop,
        {"centered": True, "momentum": 0.7},
    ),
    (Adagrad(), torch.optim.Adagrad, {}),
    (SGD(), torch.optim.SGD, {}),
    (SGD(momentum=0.9), torch.optim.SGD, {"momentum": 0.9}),
    (SGD(momentum=0.9, nesterov=True), torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
]
LIMITS = [{}, {"clip_value": 1.0, "clip_norm": 3.0}]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize(("ours", "theirs", "options"), CASES, ids=lambda case: str(case)[:60])
def test_each_member_is_pytorchs(ours, theirs, options, limits):
    """Two weights, so that the norm is that of the whole gradient; 50 steps in float64."""
    generator = torch.Generator().manual_seed(1)
    shapes = [(4, 5), (3,)]
    starts = [torch.randn(3, *s, dtype=torch.float64, generator=generator) for s in shapes]
    settings = type(ours)(
        **{**vars(ours), **limits, "lr": torch.tensor(RATES, dtype=torch.float64)}
    )
    weights = [start.clone() for start in starts]
    moments = [[torch.zeros_like(w) for _ in moments_of(ours)] for w in weights]
    models = [[start[i].clone().requires_grad_() for start in starts] for i in range(3)]
    optimizers = [theirs(m, lr=lr, **options) for m, lr in zip(models, RATES, strict=True)]
    for t in range(50):
        gradients = [torch.randn(3, *s, dtype=torch.float64, generator=generator) for s in shapes]
        update(weights, moments, gradients, settings, torch.tensor(t), [True, True])
        for i, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
            for p, g in zip(model, gradients, strict=True):
                p.grad = g[i].clone()
            if "clip_value" in limits:
                torch.nn.utils.clip_grad_value_(model, limits["clip_value"])
            if "clip_norm" in limits:
                torch.nn.utils.clip_grad_norm_(model, limits["clip_norm"])
            optimizer.step()
    for k, weight in enumerate(weights):
        expected = torch.stack([model[k] for model in models]).detach()
        torch.testing.assert_close(weight, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("backend", [Looped, Stacked])
@pytest.mark.parametrize(("ours", "theirs", "options"), CASES, ids=lambda case: str(case)[:60])
def test_a_population_moves_as_pytorchs_optimizer_moves_its_weights(backend, ours, theirs, options):
    """The gradient of one step from the same start, given to PyTorch for 5 steps."""
    context = Context(images(), NET, 6, runtime("cpu", "float64"))
    plain = type(ours)(**{**vars(ours), "lr": 1e-3})
    slow = SGD(lr=1.0)
    members = [Member(seed, BetaVAE(), plain) for seed in (3, 4)]
    population = backend.fresh(context, members)
    names = [n for n in population.state() if n.startswith(("encoder.", "decoder."))]
    decayed = [n for n in names if n.endswith("weight")]
    expected = {
        n: v[1].clone().requires_grad_() for n, v in population.state().items() if n in names
    }
    groups = [
        {"params": [expected[n] for n in names if (n in decayed) == decay]}
        | ({} if decay or "weight_decay" not in options else {"weight_decay": 0.0})
        for decay in (True, False)
    ]
    optimizer = theirs(groups, lr=1e-3, **options)
    probe = backend.fresh(context, [Member(m.seed, m.objective, slow) for m in members])
    for t in range(5):
        state = {n: v for n, v in population.state().items() if n in names}
        probe.load({**probe.state(), **state})
        probe.advance(t, 1)
        for n in names:
            expected[n].grad = state[n][1] - probe.state()[n][1]
        optimizer.step()
        population.advance(t, 1)
        for n in names:
            torch.testing.assert_close(
                population.state()[n][1], expected[n].detach(), rtol=1e-6, atol=1e-9
            )


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("settings", [Adam(), Adam(beta1=0.3, eps=1e-4), AdamW(weight_decay=0.3)])
def test_the_light_adam_is_pytorchs_fused_one_bit_for_bit(settings, limits):
    """Matrices, vectors and an image's layout; a weight without a gradient stays."""
    settings = replace(settings, lr=LinearSchedule(1e-2, 1e-3, 5.0), **limits)
    generator, both = torch.Generator().manual_seed(2), []
    shapes = {"a": (7, 5), "b": (5,), "c": (3, 2, 4, 4), "still": (2, 2)}
    starts = {n: torch.randn(shape, generator=generator) for n, shape in shapes.items()}
    gradients = [[torch.randn(s, generator=generator) for s in shapes.values()] for _ in range(6)]
    for make in (light_optimizer, torch_optimizer):
        weights = {n: torch.nn.Parameter(w.clone()) for n, w in starts.items()}
        weights["c"].data = weights["c"].data.contiguous(memory_format=torch.channels_last)
        optimizer = make(weights, settings)
        for t, mine in enumerate(gradients):
            for (name, weight), g in zip(weights.items(), mine, strict=True):
                weight.grad = None if name == "still" else g.clone()
            move_weights(optimizer, settings, torch.tensor(t))
        moments = [m for w in weights.values() for m in optimizer.state[w].values()]
        both.append([*weights.values(), *moments])
    assert all(torch.equal(a, b) for a, b in zip(*both, strict=True))
    assert not torch.equal(both[0][0], starts["a"])
    assert torch.equal(both[0][3], starts["still"])


def test_training_on_a_cpu_imports_neither_a_compiler_nor_an_algebra_system():
    """A second of CPU time in each process; the classes of `torch.optim` do at their first step."""
    script = """
import sys
from unknot.core.optim import Adam
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.population import Member, populate
from unknot.objectives.beta_vae import BetaVAE
from unknot.testing import NET, images
population = populate(Context(images(), NET, 6, runtime("cpu")), [Member(1, BetaVAE(), Adam())])
population.advance(0, 1)
print(sorted({"torch._dynamo", "sympy"} & {*sys.modules}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_weight_decay_spares_biases_and_tensors_of_the_objective(backend):
    """With a gradient that is clipped to nothing, what moves is what decays."""
    context = Context(images(), NET, 6, runtime("cpu", "float64"))
    optim = AdamW(lr=0.1, weight_decay=0.5, clip_value=1e-300)
    population = backend.fresh(context, [Member(1, LVAE(), optim)])
    before = population.state()
    population.advance(0, 1)
    for name, after in population.state().items():
        if name.startswith(("encoder.", "decoder.")) and name.endswith("weight"):
            torch.testing.assert_close(after, before[name] * (1 - 0.1 * 0.5))
        elif name.startswith("extra.") or name.endswith("bias"):
            torch.testing.assert_close(after, before[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_weight_decay_may_differ_between_members_and_follow_a_schedule(backend):
    """With a gradient that is clipped to nothing a weight is multiplied by 1 - lr * decay."""
    context = Context(images(), NET, 6, runtime("cpu", "float64"))
    for decays, expected in (
        ((0.5, 0.0), (0.95**3, 1.0)),
        ([LinearSchedule(0.0, end, 2.0) for end in (1.0, 0.4)], (0.95 * 0.9, 0.98 * 0.96)),
    ):
        optims = [AdamW(lr=0.1, weight_decay=decay, clip_value=1e-300) for decay in decays]
        population = backend.fresh(context, [Member(1, BetaVAE(), optim) for optim in optims])
        before = population.state()["encoder.1.weight"]
        population.advance(0, 3)
        share = torch.tensor(expected, dtype=torch.float64).reshape(2, 1, 1)
        torch.testing.assert_close(population.state()["encoder.1.weight"], before * share)


def test_a_norm_is_each_members_own_and_a_short_gradient_stays():
    long, short = torch.full((4,), 3.0), torch.full((4,), 0.1)
    (clipped,) = clip_gradients([torch.stack([long, short])], Adam(clip_norm=1.0))
    assert clipped[0].norm().item() == pytest.approx(1.0, abs=1e-5)
    assert torch.equal(clipped[1], short)


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_the_average_is_pytorchs(backend):
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    context = Context(images(), NET, 6, runtime("cpu", "float64"), ema=0.8)
    population = backend.fresh(context, [Member(s, BetaVAE(), Adam(lr=1e-2)) for s in (1, 2)])
    encoder = NET.encoder(context.dataset.shape).double()
    theirs = AveragedModel(encoder, multi_avg_fn=get_ema_multi_avg_fn(0.8))
    for t in range(6):
        population.advance(t, 1)
        state = population.state()
        weights = {k: state[f"encoder.{k}"][1] for k in encoder.state_dict()}
        encoder.load_state_dict(weights)
        theirs.update_parameters(encoder)
    for name, average in theirs.module.state_dict().items():
        torch.testing.assert_close(state[f"ema.encoder.{name}"][1], average)
        assert not torch.equal(average, encoder.state_dict()[name])
    x = context.dataset.batch(torch.arange(4)).double()
    mean = theirs.module(x).chunk(2, dim=1)[0]
    torch.testing.assert_close(population.encode(x).mean[1], mean)


def test_the_first_step_of_adam_has_the_length_of_the_learning_rate():
    """Kingma and Ba 2015, section 2.1: the bias-corrected first step is lr times the sign."""
    w = torch.zeros(2, 3, dtype=torch.float64)
    g = torch.tensor([[1e-3, -5.0, 2.0], [7.0, -1e-2, 1.0]], dtype=torch.float64)
    settings = Adam(lr=torch.tensor([0.1, 0.01], dtype=torch.float64), eps=1e-30)
    update([w], [[torch.zeros_like(w) for _ in "mv"]], [g], settings, torch.tensor(0), [True])
    expected = -torch.tensor([[0.1], [0.01]], dtype=torch.float64) * g.sign()
    torch.testing.assert_close(w, expected)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        *((Adam, {"lr": value}) for value in (0.0, -1.0)),
        (Adam, {"beta1": 1.0}),
        (Adam, {"beta2": -0.1}),
        (Adam, {"eps": 0.0}),
        (SGD, {"momentum": 1.0}),
        (SGD, {"nesterov": True}),
        (RMSprop, {"alpha": 1.5}),
        (Adagrad, {"clip_norm": 0.0}),
        (Adam, {"clip_value": -1.0}),
    ],
)
def test_settings_out_of_range_are_refused(kind, settings):
    with pytest.raises(ConfigError, match=f"optim.{next(iter(settings))}"):
        kind(**settings)


def test_weight_decay_is_0_or_more():
    with pytest.raises(ConfigError, match=r"AdamW.weight_decay must be 0 or more"):
        AdamW(weight_decay=-0.1)
