"""Schedules against their closed forms; stacking, grouping and what is refused."""

import itertools
import math
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.core import hyper
from unknot.core.errors import ConfigError
from unknot.core.hyper import (
    WHOLE_RUN,
    Constant,
    Cosine,
    Cyclic,
    Hyper,
    LinearSchedule,
    Schedule,
    Warmup,
)

CPU, DOUBLE = torch.device("cpu"), torch.float64


@dataclass(frozen=True)
class Toy:
    beta: Hyper = 1.0
    width: int = 3
    gamma: "Hyper" = 2.0
    plain: float = 0.5


@dataclass(frozen=True)
class Other:
    beta: Hyper = 1.0
    width: int = 3
    gamma: "Hyper" = 2.0
    plain: float = 0.5


def value(schedule, t):
    found = schedule.at(torch.tensor(t))
    assert found.dtype == DOUBLE
    assert found.shape == ()
    return found.item()


@pytest.mark.parametrize(
    ("t", "expected"), [(0, 0.5), (9, 0.5), (10, 0.5), (15, 1.5), (20, 2.5), (30, 4.5), (99, 4.5)]
)
def test_linear_before_between_and_after(t, expected):
    assert value(LinearSchedule(0.5, 4.5, 20.0, begin=10.0), t) == expected


@pytest.mark.parametrize(
    ("t", "share"),
    [
        (0, 0),
        (10, 0),
        (15, 0.5 - math.sqrt(0.125)),
        (20, 0.5),
        (25, 0.5 + math.sqrt(0.125)),
        (30, 1),
    ],
)
def test_cosine_before_between_and_after(t, share):
    """Half a cosine: a quarter of the way is (1 - cos 45 deg) / 2."""
    assert value(Cosine(8.0, 2.0, 20.0, begin=10.0), t) == pytest.approx(8 - 6 * share, abs=1e-14)
    assert value(Cosine(8.0, 2.0, 20.0, begin=10.0), 1000) == pytest.approx(2, abs=1e-14)


@pytest.mark.parametrize(
    ("t", "expected"),
    [(0, 0), (5, 1), (10, 2), (20, 4), (21, 4), (39, 4), (40, 0), (45, 1), (79, 4), (80, 0)],
)
def test_cyclic_starts_again_each_period(t, expected):
    assert value(Cyclic(0.0, 4.0, 40.0), t) == expected


def test_cyclic_takes_the_share_of_a_period_it_is_told():
    assert value(Cyclic(0.0, 4.0, 40.0, ramp=0.25), 5) == 2
    assert value(Cyclic(0.0, 4.0, 40.0, ramp=1.0), 30) == 3


@pytest.mark.parametrize("t", [0, 7, 2**40])
def test_constant_is_constant(t):
    assert value(Constant(3.25), t) == 3.25


@given(
    st.floats(-100, 100),
    st.floats(-100, 100),
    st.integers(1, 10**7),
    st.integers(0, 10**7),
    st.integers(0, 3 * 10**7),
)
def test_linear_and_cosine_follow_their_formulas_at_every_step(start, end, steps, begin, t):
    share = min(max((t - begin) / steps, 0), 1)
    straight = start + (end - start) * share
    half = start + (end - start) * (1 - math.cos(math.pi * share)) / 2
    for kind, expected in ((LinearSchedule, straight), (Cosine, half)):
        schedule = kind(start, end, float(steps), begin=float(begin))
        assert value(schedule, t) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_steps_are_counted_past_what_float32_can_count():
    """2**24 + 1 is the first whole number that float32 does not have."""
    n = 2**24 + 1
    assert value(LinearSchedule(0.0, 1.0, float(2 * n)), n) == 0.5
    assert value(LinearSchedule(0.0, 1.0, 1.0, begin=float(n - 1)), n) == 1
    assert value(LinearSchedule(0.0, 1.0, 1.0, begin=float(n)), n) == 0
    assert value(Cyclic(0.0, 1.0, 2.0, ramp=1.0), n) == 0.5
    assert value(Cosine(0.0, 1.0, 1.0, begin=float(n - 1)), n) == 1
    assert value(Cyclic(0.0, 1.0, 1000.0, ramp=1.0), 2**40 + 1) == (2**40 + 1) % 1000 / 1000


@pytest.mark.parametrize(
    ("kind", "settings", "name"),
    [
        (LinearSchedule, (0.0, 1.0, 0.0), "steps"),
        (Cosine, (0.0, 1.0, -5.0), "steps"),
        (LinearSchedule, (0.0, 1.0, math.nan), "steps"),
        (Cyclic, (0.0, 1.0, 0.0), "period"),
        (Cyclic, (0.0, 1.0, 10.0, 0.0), "ramp"),
    ],
)
def test_schedules_over_no_steps_are_refused(kind, settings, name):
    with pytest.raises(ConfigError, match=rf"^A schedule's {name} must be above 0; got "):
        kind(*settings)


@pytest.mark.parametrize("kind", [LinearSchedule, Cosine])
@pytest.mark.parametrize("begin", [0.0, 40.0])
def test_a_schedule_without_steps_ends_with_the_run(kind, begin):
    """Start, middle and end of its part of the run are exact, whatever the run's length."""
    toy = Toy(beta=kind(1.0, 0.5, begin=begin), gamma=kind(0.0, 8.0, 4.0))
    for updates in (100, 340):
        over = hyper.over_run(toy, updates, "objective")
        assert over.beta == kind(1.0, 0.5, updates - begin, begin)
        assert (over.gamma, over.width) == (toy.gamma, toy.width)
        half = int(begin + (updates - begin) / 2)
        for t, expected in ((0, 1), (int(begin), 1), (half, 0.75), (updates, 0.5)):
            assert value(over.beta, t) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("kind", [LinearSchedule, Cosine])
def test_a_schedule_that_was_not_told_how_long_a_run_is_stays_at_its_start(kind):
    assert kind(3.0, 9.0).steps == WHOLE_RUN
    assert {value(kind(3.0, 9.0), t) for t in (0, 1, 2**40)} == {3.0}


def test_a_schedule_that_begins_when_the_run_is_over_is_refused():
    for begin in (100.0, 250.0):
        with pytest.raises(
            ConfigError, match=rf"^objective\.beta begins .* {begin:.0f}, but .* 100;"
        ):
            hyper.over_run(Toy(beta=LinearSchedule(0.0, 1.0, begin=begin)), 100, "objective")


@pytest.mark.parametrize(("then", "at_9"), [("constant", 2.0), ("linear", 1.25), ("cosine", 1.25)])
def test_a_warm_up_rises_in_equal_steps_and_then_does_as_told(then, at_9):
    schedule = Warmup(2.0, 4.0, then, 0.5, 10.0)
    assert [value(schedule, t) for t in range(5)] == [0.5, 1.0, 1.5, 2.0, 2.0]
    assert value(schedule, 9) == pytest.approx(at_9)
    assert value(schedule, 400) == pytest.approx(2.0 if then == "constant" else 0.5)


def test_a_warm_up_that_falls_ends_with_the_run_and_a_constant_one_does_not_know_of_it():
    falls, stays = (Toy(beta=Warmup(1.0, 30.0, then)) for then in ("cosine", "constant"))
    assert hyper.over_run(falls, 100, "toy").beta.steps == 70
    assert hyper.over_run(stays, 100, "toy") == stays
    assert hyper.last_step(stays.beta) == 30
    assert hyper.shape_key(falls) != hyper.shape_key(stays)


SCHEDULES_OF_MEMBERS = {
    "constant": [Constant(1.0), Constant(0.1), Constant(7.5)],
    "linear": [
        LinearSchedule(0.0, 4.0, 10.0),
        LinearSchedule(3.0, 1.0, 7.0, 2.0),
        LinearSchedule(1.0, 1.5, 3.0, 5.0),
    ],
    "cosine": [Cosine(0.0, 4.0, 10.0), Cosine(3.0, 1.0, 7.0, 2.0), Cosine(1.0, 1.5, 3.0, 5.0)],
    "cyclic": [Cyclic(0.0, 4.0, 10.0), Cyclic(3.0, 1.0, 7.0, 0.3), Cyclic(1.0, 1.5, 3.0, 1.0)],
    "warmup": [
        Warmup(4.0, 3.0, "cosine", 1.0, 7.0),
        Warmup(1.0, 1.0, "cosine", 0.0, 2.0),
        Warmup(0.5, 10.0, "cosine", 0.1, 3.0),
    ],
}


@pytest.mark.parametrize("kind", [schedule.kind for schedule in get_args(Schedule)])
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_stacked_schedules_are_each_what_they_are_alone(kind, dtype):
    members = [Toy(beta=schedule) for schedule in SCHEDULES_OF_MEMBERS[kind]]
    together = hyper.stack(members, CPU, dtype)
    for t in map(torch.tensor, [0, 1, 2, 3, 5, 9, 10, 11, 2**24 + 1]):
        beta = hyper.at(together, t, dtype).beta
        assert beta.shape == (3,)
        assert beta.dtype == dtype
        for i, member in enumerate(members):
            assert torch.equal(beta[i], hyper.at(member, t, dtype).beta)


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(0, 1)), min_size=1, max_size=5))
def test_stacked_numbers_are_one_row_per_member(pairs):
    members = [Toy(beta=b, gamma=g) for b, g in pairs]
    together = hyper.stack(members, CPU, DOUBLE)
    assert together.beta.tolist() == [b for b, _ in pairs]
    assert together.gamma.tolist() == [g for _, g in pairs]
    assert together.gamma.dtype == DOUBLE
    assert (together.width, together.plain) == (3, 0.5)
    assert isinstance(together, Toy)
    same = hyper.at(together, torch.tensor(4), DOUBLE)
    assert torch.equal(same.beta, together.beta)


def test_at_leaves_numbers_and_the_original_alone():
    toy = Toy(beta=LinearSchedule(0.0, 1.0, 10.0), gamma=3.0)
    now = hyper.at(toy, torch.tensor(5), torch.float32)
    assert (now.beta.item(), now.gamma, now.width) == (0.5, 3, 3)
    assert now.beta.dtype == torch.float32
    assert toy.beta == LinearSchedule(0.0, 1.0, 10.0)


def test_the_annotation_says_what_may_differ():
    assert hyper.hyper_fields(Toy) == hyper.hyper_fields(Toy()) == ("beta", "gamma")


def test_a_field_that_is_no_hyper_must_agree():
    with pytest.raises(ConfigError) as caught:
        hyper.stack([Toy(width=64), Toy(width=128), Toy(width=64)], CPU, DOUBLE)
    assert str(caught.value) == (
        "Toy.width is not a Hyper, so it cannot differ inside a population: ['128', '64']. "
        "Put these runs in separate groups or make them equal."
    )
    with pytest.raises(ConfigError, match=r"^Toy\.plain is not a Hyper"):
        hyper.stack([Toy(), Toy(plain=0.6)], CPU, DOUBLE)


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ([1.0, LinearSchedule(0.0, 1.0, 5.0)], "linear and number"),
        ([LinearSchedule(0.0, 1.0, 5.0), Cosine(0.0, 1.0, 5.0)], "cosine and linear"),
        ([1.0, 2.0, Constant(3.0)], "constant and number"),
    ],
)
def test_kinds_of_hypers_do_not_mix(values, kinds):
    with pytest.raises(ConfigError) as caught:
        hyper.stack([Toy(beta=v) for v in values], CPU, DOUBLE)
    assert str(caught.value) == (
        f"beta is {kinds} inside one population. "
        "Use one kind for all, for instance constant schedules, or separate groups."
    )


def test_a_population_holds_one_kind_of_objective():
    with pytest.raises(ConfigError, match=r"one kind of objective; got \['Other', 'Toy'\]\.$"):
        hyper.stack([Toy(), Other()], CPU, DOUBLE)


GROUPS = [
    [Toy(), Toy(beta=4.0), Toy(beta=4.5, gamma=0.0)],
    [Toy(width=4), Toy(5.0, width=4)],
    [Toy(plain=0.6)],
    [Toy(beta=LinearSchedule(0.0, 1.0, 5.0)), Toy(beta=LinearSchedule(1.0, 2.0, 9.0))],
    [Toy(beta=Cosine(0.0, 1.0, 5.0))],
    [Other(), Other(beta=2.0)],
]


def test_equal_keys_are_those_that_can_be_stacked():
    keys = [{hyper.shape_key(member) for member in group} for group in GROUPS]
    assert all(len(key) == 1 for key in keys)
    assert len(set.union(*keys)) == len(GROUPS)
    for group in GROUPS:
        hyper.stack(group, CPU, DOUBLE)
    for first, second in itertools.pairwise(GROUPS):
        with pytest.raises(ConfigError):
            hyper.stack([first[0], second[0]], CPU, DOUBLE)


def test_lift_adds_axes_on_the_right():
    assert hyper.lift(3.0, 2) == 3.0
    assert hyper.lift(torch.tensor(3.0), 2).shape == (1, 1)
    assert hyper.lift(torch.arange(3.0), 0).shape == (3,)
    lifted = hyper.lift(torch.arange(3.0), 2)
    assert torch.equal(
        lifted * torch.ones(3, 4, 5), torch.arange(3.0)[:, None, None].expand(3, 4, 5)
    )


def test_schedules_are_frozen_and_named():
    names = {"constant", "linear", "cosine", "cyclic", "warmup"}
    assert {kind.kind for kind in get_args(Schedule)} == names
    with pytest.raises(FrozenInstanceError):
        replace(Constant(1.0), value=2.0).value = 3.0
