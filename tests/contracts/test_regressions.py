"""Mistakes that were made once and found by looking for them; one test each."""

import tomllib
from dataclasses import dataclass, field
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch.func import functional_call

from unknot import testing
from unknot.core import noise, registry
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, UnknotError
from unknot.core.factors import FactorSpace
from unknot.core.objective import MultiView, Term
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.core.representation import Representation
from unknot.core.toml import to_toml
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.modules import stack_module
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.runs.fields import build
from unknot.runs.spec import settings_table

CPU = torch.device("cpu")


class Doubled(nn.Sequential):
    def forward(self, x):
        return 2 * super().forward(x)


class DoubledLinear(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


@pytest.mark.parametrize(
    "build",
    [
        lambda: nn.Sequential(nn.Conv2d(2, 4, 4, 2, 1), nn.Flatten()),
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 4, 2, 1), nn.Flatten(), nn.Unflatten(1, (4, 4, 4)), nn.Conv2d(4, 4, 3)
        ),
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 4, 2, 1), nn.Flatten(), nn.Flatten(), nn.Linear(64, 3)
        ),
        lambda: Doubled(nn.Flatten(), nn.Linear(128, 3)),
        lambda: nn.Sequential(nn.Flatten(), DoubledLinear(128, 3)),
        lambda: nn.Sequential(nn.Linear(8, 5)),
        lambda: nn.Sequential(
            nn.Flatten(), nn.Linear(128, 12), nn.Unflatten(1, (3, -1, 2)), nn.Conv2d(3, 2, 1)
        ),
    ],
    ids=[
        "ends in flatten",
        "flatten unflatten",
        "flatten twice",
        "own sequential",
        "own linear",
        "linear on images",
        "unflatten -1",
    ],
)
def test_a_stacked_module_is_the_module(build):
    module = build().double()
    weights = {n: torch.stack([p.detach(), 2 * p.detach()]) for n, p in module.named_parameters()}
    x = noise.normal(0, "x", 0, 2, 3, 2, 8, 8, dtype=torch.float64)
    ours = stack_module(module)
    y = ours.run({n: ours.pack(n, w) for n, w in weights.items()}, x)
    for i in range(2):
        alone = functional_call(module, {n: w[i] for n, w in weights.items()}, (x[i],))
        torch.testing.assert_close(y[i], alone)


@dataclass(frozen=True)
class Spatial:
    latents: int = 2
    init: str = "torch"

    def encoder(self, image):
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 4))

    def decoder(self, image):
        return Grid()


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 64)
        self.register_buffer("grid", torch.linspace(-1, 1, 64))

    def forward(self, z):
        return (self.linear(z) + self.grid).unflatten(-1, (1, 8, 8))


@dataclass(frozen=True)
class Squares:
    def terms(self, net, step):
        q = net.encode(step.x)
        return {"e": Term((net.decode(q.mean) - step.x).square().sum((-3, -2, -1)).mean(-1))}


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_a_net_with_buffers_is_refused(backend):
    context = Context(testing.images(), Spatial(), 4, Runtime(CPU))
    with pytest.raises(ConfigError, match=r"^The decoder has buffers \(grid\); only parameters"):
        backend.fresh(context, [Member(0, Squares(), Adam())])


def test_an_objectives_own_optimiser_survives_a_file():
    @dataclass(frozen=True)
    class Adversary:
        critic_optim: Adam = field(default_factory=lambda: Adam(lr=1e-3))

    testing.same_after_a_file(Adversary())


@pytest.mark.parametrize("path", ["/data/Infinity War.npz", "/data/\U0001f600.npz"])
def test_any_path_survives_a_file(path):
    dataset = registry.get("datasets", "arrays")(path=path)
    read = tomllib.loads(to_toml({"data": settings_table(dataset)}))["data"]
    assert build(type(dataset), read) == dataset


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32])
def test_the_type_of_a_seed_is_no_part_of_it(dtype):
    assert torch.equal(
        noise.words(torch.tensor(7, dtype=dtype), "z", 3, 5), noise.words(7, "z", 3, 5)
    )
    assert torch.equal(
        noise.words(7, "z", torch.tensor(3, dtype=dtype), 5), noise.words(7, "z", 3, 5)
    )


@pytest.mark.parametrize("draw", [noise.normal, noise.uniform])
def test_one_number_per_member_can_be_drawn_alone_too(draw):
    together = draw(torch.tensor([7, 8]), "u", 0)
    assert together.shape == (2,)
    assert torch.equal(draw(8, "u", 0), together[1])


@dataclass(frozen=True)
class EncoderOnly:
    def terms(self, net, step):
        return {"size": Term(net.encode(step.x).mean.square().sum((-2, -1)))}


def test_both_backends_treat_unused_weights_alike():
    context = Context(testing.images(), testing.NET, 4, Runtime(CPU))
    logs = [
        b.fresh(context, [Member(0, EncoderOnly(), Adam())]).advance(0, 2)
        for b in (Looped, Stacked)
    ]
    torch.testing.assert_close(logs[0]["loss"], logs[1]["loss"])


@dataclass(frozen=True)
class Seen(MultiView):
    views: ClassVar[int] = 2

    def terms(self, net, step):
        q = net.encode(step.x)
        n = q.mean.new_full(q.mean.shape[:-2], float(step.x.shape[-4]))
        return {
            "n": Term(n + 0 * q.mean.sum((-2, -1)) + 0 * net.decode(q.mean).sum((-4, -3, -2, -1)))
        }


def test_an_objective_of_two_views_gets_two_views():
    context = Context(testing.images(), testing.NET, 4, Runtime(CPU))
    population = Looped.fresh(context, [Member(0, Seen(), Adam())])
    assert population.advance(0, 1)["n"].item() == 8


def test_views_that_do_not_divide_the_batch_are_refused():
    with pytest.raises(UnknotError):
        Posterior(torch.zeros(4, 2), torch.zeros(4, 2)).views(3)


def test_a_broken_outsider_does_not_break_the_list(tmp_path, monkeypatch):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[unknot.nets]\nbroken = not_there.net:Net\n")
    monkeypatch.syspath_prepend(tmp_path)
    summaries = {name: registry.summary("nets", name) for name in registry.names("nets")}
    assert "cannot be imported" in summaries.pop("broken")
    assert all(text and "cannot be imported" not in text for text in summaries.values())


def test_getting_a_broken_outsider_is_an_error_of_ours(tmp_path, monkeypatch):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[unknot.nets]\nbroken = not_there.net:Net\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError):
        registry.get("nets", "broken")


def test_a_dataset_whose_images_do_not_fill_the_grid_is_refused():
    with pytest.raises(UnknotError):
        FactorDataset(
            "d",
            FactorSpace(("i",), (10,), ("nominal",)),
            Bytes(torch.zeros(8, 1, 4, 4, dtype=torch.uint8)),
        )


@pytest.mark.parametrize("row", [-1, -20])
def test_rows_outside_the_grid_have_no_code(row):
    space = FactorSpace(("i",), (20,), ("nominal",))
    with pytest.raises((UnknotError, IndexError)):
        Representation.whole(space, torch.zeros(20, 3)).codes(torch.tensor([row]))


def test_a_lazy_code_that_is_not_finite_is_refused():
    space = FactorSpace(("i",), (20,), ("nominal",))
    lazy = Representation.lazy(space, 3, lambda index: torch.full((len(index), 3), float("nan")))
    with pytest.raises(UnknotError):
        lazy.codes(torch.tensor([0]))


@pytest.mark.parametrize("row", [-5, 12])
def test_a_traversal_outside_the_grid_is_refused(row):
    with pytest.raises(UnknotError):
        FactorSpace(("a", "b"), (3, 4), ("ordered",) * 2).traversal(torch.tensor(row), 1)


def test_a_setting_of_several_numbers_survives_a_file():
    @dataclass(frozen=True)
    class Widths:
        widths: tuple[int, ...] = (32, 64)

    testing.same_after_a_file(Widths())
