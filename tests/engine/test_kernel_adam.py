"""Weights of all members in one buffer: Adam by one kernel, or by the formulas for each weight."""

from dataclasses import replace

import pytest
import torch
from engine.triton_device import (  # the last one is for all tests
    DEVICE,
    INTERPRETED,
    on_device,
    on_gpu,
    operators,  # noqa: F401
)

from unknot.core.hyper import LinearSchedule, at, stack
from unknot.core.optim import Adam, AdamW
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.flat import BLOCK, Flat
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.engine.updates import update
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.factor_vae import FactorVAE
from unknot.objectives.l_vae import LVAE
from unknot.testing import NET, images

SHAPES = {"encoder.a.weight": (3, 40, 30), "encoder.a.bias": (3, 7), "encoder.b.weight": (3, 5, 9)}
DECAYED = {"encoder.a.weight": True, "encoder.a.bias": False, "encoder.b.weight": True}
RATES = (1e-3, 1e-1, 3e-2)
CASES = [
    Adam(),
    Adam(beta1=0.0, beta2=0.9, eps=1e-6),
    Adam(beta1=0.4, beta2=0.9, eps=1e-6),
    Adam(clip_norm=0.5, clip_value=0.9),
    AdamW(weight_decay=0.3),
]


def draw(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def trained(optim, used_as, way, steps=6, *, scheduled=False):
    """Weights, copies and moments after some steps: ``each`` weight by itself, ``flat``, kernel."""
    rates = [LinearSchedule(lr, lr / 3, 4.0) if scheduled else lr for lr in RATES]
    device = torch.device(DEVICE if way == "kernel" or torch.cuda.is_available() else "cpu")
    each = [type(optim)(**{**vars(optim), "lr": lr}) for lr in rates]
    if isinstance(optim, AdamW):  # a decay for each member, too
        each = [replace(o, weight_decay=o.weight_decay * k) for k, o in enumerate(each)]
    settings = stack(each, device, torch.float32)
    weights = {n: draw(s, i).to(device) for i, (n, s) in enumerate(SHAPES.items())}
    used = {n: w.to(used_as) for n, w in weights.items()}
    moments = {m + n: torch.zeros_like(w) for n, w in weights.items() for m in ("m", "v")}
    flat = None
    if way != "each":
        flat = Flat.from_weights(weights, used, DECAYED, kernel=way == "kernel")
        weights, used, moments = flat.views()
        moments = {k.replace("adam.", "").replace(".enc", "enc"): v for k, v in moments.items()}
    for step in range(steps):
        t = torch.tensor(step, device=device)
        gradients = {n: draw(s, 99 * step + i).to(device, used_as)
                     for i, (n, s) in enumerate(SHAPES.items())}  # fmt: skip
        now = at(settings, t, torch.float64)
        if flat:
            flat.update(gradients, now, t, update)
        else:
            both = [[moments["m" + n], moments["v" + n]] for n in SHAPES]
            columns = [[state[n] for n in SHAPES] for state in (weights, gradients, DECAYED, used)]
            update(columns[0], both, columns[1], now, t, *columns[2:])
    return {n: (weights[n], used[n], moments["m" + n], moments["v" + n]) for n in SHAPES}, flat


@pytest.mark.parametrize("used_as", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("optim", CASES, ids=str)
def test_a_flat_buffer_moves_as_each_weight_does_bit_for_bit(optim, used_as, scheduled):
    expected, _ = trained(optim, used_as, "each", scheduled=scheduled)
    found, _ = trained(optim, used_as, "flat", scheduled=scheduled)
    for name, tensors in expected.items():
        for a, b in zip(found[name], tensors, strict=True):
            assert torch.equal(a, b), name


@on_device
@pytest.mark.parametrize("used_as", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("optim", CASES, ids=str)
def test_the_kernel_computes_the_same(optim, used_as, scheduled):
    """To the last bits: where a product and a sum are one operation, one rounding is left out."""
    expected, _ = trained(optim, used_as, "each", scheduled=scheduled)
    found, flat = trained(optim, used_as, "kernel", scheduled=scheduled)
    for name, (weight, copy, *moments) in expected.items():
        ours, ours_copy, *ours_moments = found[name]
        for a, b in zip((ours, *ours_moments), (weight, *moments), strict=True):
            torch.testing.assert_close(a, b, rtol=2e-6, atol=2e-7)
        # The interpreter cuts numbers off where a GPU rounds them.
        torch.testing.assert_close(
            ours_copy, ours.to(copy.dtype), rtol=2**-7 if INTERPRETED else 0, atol=0
        )
    for buffer in flat.buffers:
        lanes = torch.ones_like(buffer.weights, dtype=torch.bool)
        for view in buffer.views(lanes).values():
            view.fill_(False)
        for padded in (buffer.weights, buffer.used, *buffer.moments):
            assert not padded[lanes].any()
        assert lanes.sum() > BLOCK


@on_device
def test_the_kernel_is_started_again_for_what_one_start_has_no_room_for(monkeypatch):
    expected, _ = trained(AdamW(), torch.bfloat16, "kernel")
    monkeypatch.setattr("unknot.engine.kernels.adam_step.MOST", 2)
    assert len(SHAPES) > 2
    found, _ = trained(AdamW(), torch.bfloat16, "kernel")
    for name, tensors in expected.items():
        assert all(torch.equal(a, b) for a, b in zip(tensors, found[name], strict=True))


@on_gpu
def test_the_kernel_repeats_bit_for_bit_and_in_a_graph():
    first, flat = trained(AdamW(), torch.bfloat16, "kernel")
    second, _ = trained(AdamW(), torch.bfloat16, "kernel")
    for name, tensors in first.items():
        assert all(torch.equal(a, b) for a, b in zip(tensors, second[name], strict=True))
    assert flat.kernel


@pytest.mark.parametrize("objective", [BetaVAE(), LVAE(), FactorVAE()], ids=lambda o: str(o)[:9])
@pytest.mark.parametrize("ema", [None, 0.9])
@pytest.mark.skipif(INTERPRETED, reason="no kernel in it")
def test_checkpoints_go_from_a_flat_population_to_modules_and_back(objective, ema):
    context = Context(images(), NET, 6, runtime("cpu", "float64"), ema=ema)
    each = [Member(s, objective, Adam(lr=lr)) for s, lr in ((1, 1e-3), (2, 1e-2))]
    flat, looped = Stacked.fresh(context, each), Looped.fresh(context, each)
    assert {*flat.flats} == {*flat.optim}
    for t in range(3):
        flat.advance(t, 1)
        looped.load(flat.state())
        flat.load(looped.state())
    looped.advance(3, 1)
    flat.advance(3, 1)
    ours, theirs = flat.state(), looped.state()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], rtol=1e-6, atol=1e-9)


@on_gpu
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_losses_of_fifty_steps_are_those_of_the_formulas(precision, monkeypatch):
    context = Context(images().to(torch.device("cuda")), NET, 6, runtime("cuda", precision))
    each = [Member(s, BetaVAE(), Adam(lr=1e-3)) for s in (1, 2)]
    losses = [Stacked.fresh(context, each).advance(0, 50)["loss"]]
    flat = Flat.from_weights
    monkeypatch.setattr(Flat, "from_weights", lambda *a, kernel: flat(*a, kernel=not kernel))
    losses.append(Stacked.fresh(context, each).advance(0, 50)["loss"])
    torch.testing.assert_close(*losses, rtol=1e-2 if precision == "bf16" else 1e-4, atol=0)
