"""The feature loss: its value, and that objectives take it."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from objectives.test_overlap_loss import CHECKS, TAKING, images, narrow
from torch import nn

import unknot
from unknot import testing
from unknot.core import registry
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.optim import Adam
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.losses import gaussian, reconstruction
from unknot.losses.features import Features
from unknot.objectives.ada_tvae_unsupervised import features as compared_by
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.iwae import log_loss

SIDE = testing.images().shape
"""Of the small images that contracts are checked on."""


class Two(nn.Module):
    """A module with two layers."""

    def __init__(self, channels: int = 1) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(channels, 2, 3), nn.Conv2d(2, 3, 1)

    def forward(self, x):
        y = self.first(x).relu()
        return y, self.second(y).tanh()


def two(channels=1):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Two(channels)


@pytest.fixture
def loss():
    return unknot.features(two(SIDE[0]))


def test_the_loss_is_the_squared_distance_of_the_layers():
    module = two().double()
    loss = unknot.features(module, layers=[2, 1], weights=[4.0, 0.5], pixel_weight=0.25)
    x, y = images(2, 5, 1, 6, 6), images(2, 5, 1, 6, 6, seed=1)
    expected = []
    for member in range(2):
        (x1, x2), (y1, y2) = module(x[member]), module(y[member])
        each = 4 * (x2 - y2).square().sum((1, 2, 3)) + 0.5 * (x1 - y1).square().sum((1, 2, 3))
        expected.append(each.mean() + 0.25 * gaussian(y[member], x[member]))
    torch.testing.assert_close(reconstruction(loss, y, x), torch.stack(expected), rtol=1e-6, atol=0)


def test_all_layers_count_alike_unless_some_are_named():
    x, y = images(3, 1, 6, 6), images(3, 1, 6, 6, seed=1)
    whole = reconstruction(unknot.features(two()), y, x)
    parts = [reconstruction(unknot.features(two(), layers=[n]), y, x) for n in (1, 2)]
    torch.testing.assert_close(whole, parts[0] + parts[1])


def test_several_modules_are_compared_side_by_side():
    x, y = images(3, 1, 6, 6), images(3, 1, 6, 6, seed=1)
    flat = nn.Flatten()
    both = reconstruction(unknot.features([flat, two()]), y, x)
    torch.testing.assert_close(both, gaussian(y, x) + reconstruction(unknot.features(two()), y, x))


def test_the_module_is_a_copy_in_evaluation_mode_that_nothing_changes():
    module = nn.Sequential(nn.Flatten(), nn.Linear(36, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    loss = unknot.features(module)
    x, y = images(3, 1, 6, 6), images(3, 1, 6, 6, seed=1).requires_grad_()
    before = reconstruction(loss, y, x)
    before.backward()
    assert module.training
    assert y.grad.abs().sum() > 0, "reconstructions get gradients"
    assert all(weight.grad is None for weight in module.parameters()), "and the module none"
    with torch.no_grad():
        module[1].weight.mul_(2)
    assert torch.equal(reconstruction(loss, y, x), before)
    assert unknot.features(module).sha256 != loss.sha256


def test_importance_weights_and_triplets_feel_it(loss):
    x, decoded = images(2, *SIDE), images(3, 2, *SIDE, seed=1)
    expected = loss.mapped_error(x.expand_as(decoded), decoded)
    torch.testing.assert_close(log_loss(loss, decoded, x), expected)
    numbers = compared_by(x, loss)
    apart = (numbers[0] - numbers[1]).square().sum()
    torch.testing.assert_close(apart, loss.mapped_error(x[:1], x[1:])[0])


@pytest.mark.parametrize("name", TAKING)
def test_together_as_alone(name, loss):
    testing.together_as_alone(narrow(replace(registry.get("objectives", name)(), likelihood=loss)))


@pytest.mark.parametrize("check", CHECKS[1:], ids=lambda check: check.__name__)
def test_contract(check, loss):
    loss.prepare(torch.device("cpu"), torch.float64)  # as before training
    check(BetaVAE(likelihood=loss))


def test_backends_agree(loss):
    testing.backends_agree(BetaVAE(likelihood=replace(loss, pixels="sigmoid_gaussian")), steps=5)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"layers": [0]}, "A layer must be .* got 0"),
        ({"layers": [1, 1]}, r"must be different numbers from 1 on; got \[1, 1\]"),
        ({"layers": []}, r"must be different numbers from 1 on; got \[\]"),
        ({"layers": [1], "weights": [1.0, 2.0]}, "must be one for each of 1 layers; got 2"),
        ({"weights": [1.0, -2.0]}, "must be numbers of 0 or more"),
        ({"pixel_weight": float("inf")}, "must be numbers of 0 or more"),
        ({"member": 0}, "member is for a run"),
    ],
)
def test_settings_that_cannot_be(settings, said):
    with pytest.raises(ConfigError, match=said):
        unknot.features(two(), **settings)


@pytest.mark.parametrize("source", [3, [], [two(), "vgg"], lambda x: x])
def test_what_is_no_module(source):
    with pytest.raises(ConfigError, match=r"Features are those of an nn\.Module"):
        unknot.features(source)


@pytest.mark.parametrize(
    ("module", "settings", "said"),
    [
        (two(), {}, r"does not take images \(3, 64, 64\) .*channels"),
        (two(3), {"layers": [3]}, r"has 2 layers to compare; got layers \[3\]"),
        (two(3), {"weights": [1.0]}, "must be one for each of 2 layers; got 1"),
        (nn.Flatten(0), {}, r"must give a tensor \[n, ...\] of n images"),
    ],
)
def test_images_that_the_module_does_not_take(module, settings, said):
    with pytest.raises(ShapeError, match=said):
        unknot.features(module, **settings).check((3, 64, 64))


def test_a_module_that_is_not_known_here():
    with pytest.raises(ConfigError, match=r"give it again: unknot\.features\(module\)"):
        reconstruction(Features.create(sha256="0" * 64), images(2, 1, 4, 4), images(2, 1, 4, 4))
    with pytest.raises(ConfigError, match=r"make them with unknot\.features"):
        Features.create()


COMPILED = """
import sys, torch
from torch import nn
import unknot
from unknot.losses import reconstruction
loss = unknot.features(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU()))
loss.prepare(torch.device("cpu"), torch.float32)
x, y = torch.rand(2, 2, 4, 1, 8, 8)
own = lambda y, x: reconstruction(loss, y, x)
whole = torch.compile(own, backend="aot_eager", fullgraph=True)
torch.testing.assert_close(whole(y, x), own(y, x))
"""


@pytest.mark.slow
def test_the_compiler_can_follow():
    """In one graph; in a process of its own, as the tests' check of types is in a tracer's way."""
    subprocess.run([sys.executable, "-c", COMPILED], check=True, timeout=120)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_what_the_cpu_gives(loss):
    objective = BetaVAE(likelihood=loss)
    members = [Member(seed, objective, Adam(lr=1e-3)) for seed in range(3)]
    results = []
    for backend, device in ((Looped, "cpu"), (Stacked, "cuda")):
        chosen = runtime(device, "float64")
        context = Context(testing.images().to(chosen.device), testing.NET, 6, chosen)
        population = backend.fresh(context, members)
        logs = [population.advance(start, 3) for start in (0, 3)]
        results.append({**logs[-1], **population.state()})
    for key, value in results[0].items():
        torch.testing.assert_close(results[1][key].cpu(), value, rtol=1e-8, atol=1e-10, msg=key)
