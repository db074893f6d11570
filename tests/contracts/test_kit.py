"""The checks find what they look for: each mistake here fails, and with the line that helps."""

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import nn

from unknot import testing
from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.core.hyper import Hyper
from unknot.core.objective import MultiView, Net, Step, Term
from unknot.data.parts.images import Bytes
from unknot.nets.linear import Linear


def error(net, step, z):
    return (net.decode(z) - step.x).square().sum((-3, -2, -1)).mean(-1)


@dataclass(frozen=True)
class Good:
    """Squared error and a weighted size of the posterior; nothing is wrong with it."""

    weight: Hyper = 0.3

    def terms(self, net: Net, step: Step):
        q = net.encode(step.x)
        size = (q.mean.square() + q.logvar.square()).sum(-1).mean(-1)
        return {"error": Term(error(net, step, q.mean)), "size": Term(size, self.weight)}


@dataclass(frozen=True)
class TwoViews(MultiView):
    """Two views whose means are drawn together."""

    weight: Hyper = 0.3
    views: ClassVar[int] = 2

    def terms(self, net: Net, step: Step):
        q = net.encode(step.x)
        a, b = q.views(2)
        apart = (a.mean - b.mean).square().sum(-1).mean(-1)
        kept = q.logvar.square().sum(-1).mean(-1)
        return {"error": Term(error(net, step, q.mean)), "apart": Term(apart + kept, self.weight)}


def wrong(loss, alone=False):
    """An objective with a mistake in it, beside the good terms or alone."""

    def terms(self, net, step):
        good = {} if alone else Good.terms(Good(self.weight), net, step)
        return {**good, "more": Term(loss(net.encode(step.x), step))}

    annotations = {"weight": Hyper}
    body = {"weight": 0.3, "terms": terms, "__annotations__": annotations}
    return dataclass(frozen=True)(type("Wrong", (), body))()


CALLS = []


def counted(q, _):
    CALLS.append(1)
    return q.mean.sum((-2, -1)) * len(CALLS)


def in_place(q, step):
    step.x.mul_(0.5)
    return q.mean.sum((-2, -1))


def branching(q, _):
    size = q.mean.square().sum((-2, -1))
    return size if size.sum() > 3 else 2 * size


WAITS = "Wrong reads a tensor's value on the host"
WRONG = {
    "sums members": (
        "one_value",
        lambda q, _: q.mean.sum(),
        "Wrong term 'more' should be (3,) and is ()",
    ),
    "keeps rows": (
        "one_value",
        lambda q, _: q.mean.sum(-1),
        "Wrong term 'more' should be (3,) and is (3, 6)",
    ),
    "mixes members": (
        "together",
        lambda q, _: (q.mean - q.mean.mean(0)).square().sum((-2, -1)),
        "Wrong term 'more' is off by",
    ),
    "draws globally": (
        "pure",
        lambda q, _: (q.mean * torch.randn_like(q.mean)).sum((-2, -1)),
        "Wrong draws from a global generator",
    ),
    "remembers": ("pure", counted, "Wrong term 'more' differs between two calls"),
    "overwrites": ("pure", in_place, "Wrong changes its inputs in place"),
    "branches": ("never_waits", branching, WAITS),
    "reads": ("never_waits", lambda q, _: q.mean.sum((-2, -1)) * q.mean.max().item(), WAITS),
    "masks": ("never_waits", lambda q, _: q.mean[q.mean > 0].sum() + q.mean.sum((-2, -1)), WAITS),
    "has no slope": (
        "gradients_reach",
        lambda q, _: (0 * q.mean).norm(dim=-1).sqrt().sum(-1),
        "is not finite",
    ),
}


def check(name):
    (found,) = [c for c in testing.OBJECTIVE_CHECKS if c.__name__.startswith(name)]
    return found


def test_a_good_objective_passes():
    testing.check_objective(Good())


@pytest.mark.parametrize("check", testing.OBJECTIVE_CHECKS[:-1], ids=lambda check: check.__name__)
def test_an_objective_of_two_views_passes(check):
    check(TwoViews())


@pytest.mark.parametrize(("name", "loss", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_objective_fails(name, loss, message):
    with pytest.raises(AssertionError) as caught:
        check(name)(wrong(loss))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_objective_that_forgets_the_decoder_fails():
    forgetful = wrong(lambda q, _: (q.mean + q.logvar).square().sum((-2, -1)), alone=True)
    with pytest.raises(AssertionError, match=r"^Wrong does not depend on decoder\.0\.weight\.$"):
        check("gradients_reach")(forgetful)


def test_settings_that_can_change_or_do_not_survive_a_file_fail():
    @dataclass
    class Loose:
        weight: float = 1.0

    @dataclass(frozen=True)
    class Nothing:
        weight: float | None = None

    with pytest.raises(AssertionError, match=r"^Loose must be a frozen dataclass\.$"):
        testing.same_after_a_file(Loose())
    with pytest.raises(AssertionError, match=r"^object must be a frozen dataclass\.$"):
        testing.same_after_a_file(object())
    testing.same_after_a_file(Nothing())


@dataclass(frozen=True)
class Chosen:
    """The linear net with another encoder."""

    which: str = "plain"
    latents: int = 2
    init: str = "torch"

    def encoder(self, image):
        first = nn.Linear(math.prod(image), 4)
        return nn.Sequential(nn.Flatten(), first, *MORE[self.which]())

    def decoder(self, image):
        return Linear(self.latents).decoder(image)


class Centered(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Logged(nn.Module):
    def forward(self, x):
        return x.log()


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


MORE = {
    "plain": list,
    "random": lambda: [Noisy()],
    "rows": lambda: [Centered()],
    "size": lambda: [nn.Linear(4, 5)],
    "finite": lambda: [Logged()],
}


def test_a_good_net_passes():
    testing.check_net(Chosen(), (1, 4, 4))


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("random", "Chosen.encoder draws random numbers."),
        ("rows", "Chosen.encoder of one row by itself is off by"),
        ("size", "Chosen.encoder should give (4,); got (5,)."),
        ("finite", "Chosen.encoder gives values that are not finite."),
    ],
)
def test_a_wrong_net_fails(which, message):
    with pytest.raises(AssertionError) as caught:
        testing.check_net(Chosen(which), (1, 4, 4))
    assert message in str(caught.value)


@dataclass(frozen=True)
class Formula:
    """Twelve images, one of several ways wrong."""

    way: str = "good"

    def load(self):
        space = FactorSpace(("a", "b"), (3, 4), ("ordered", "ordered"))
        images = torch.arange(12 * 16).reshape(12, 1, 4, 4).to(torch.uint8)
        if self.way == "blind":
            images = images[space.index(space.factors(torch.arange(12)) * torch.tensor([1, 0]))]
        if self.way == "random":
            images = torch.rand(12, 1, 4, 4).mul(255).to(torch.uint8)
        return FactorDataset(
            "formula", space, Loud(images) if self.way == "loud" else Bytes(images)
        )


@dataclass(frozen=True)
class Loud:
    stored: torch.Tensor
    shape: ClassVar = (1, 4, 4)

    def pixels(self, index):
        return self.stored[index].float()

    def to(self, device):
        return Loud(self.stored.to(device))


def test_a_good_dataset_passes():
    testing.check_dataset(Formula())


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("blind", "formula: changing 'b' leaves an image the same."),
        ("random", "formula must not be random."),
        ("loud", "formula has pixels outside [0, 1]."),
    ],
)
def test_a_wrong_dataset_fails(way, message):
    with pytest.raises(AssertionError) as caught:
        testing.check_dataset(Formula(way))
    assert str(caught.value) == message


def test_a_factor_may_be_declared_still():
    testing.check_dataset(Formula("blind"), still={"b"})
