"""What holds for every pair of options of a training.

Each case sets one value of every axis of `AXES`, and together the cases have every pair of values.
In each, a member of a population is what it is alone, looped bit for bit and stacked up to
rounding, and a training that was interrupted ends as one that was not.
"""

import itertools
from dataclasses import replace

import pytest
import torch
from runs.options import AXES, assert_same, spec_of, start, state, train

from unknot.engine.looped import Looped
from unknot.engine.stacked import Stacked
from unknot.runs import checkpoints, looks
from unknot.runs.training import Training

SKIPS = {
    frozenset(("split=none", f"looks={look}")): "Without a split there is nothing to validate on."
    for look in ("validation", "keep best", "stop at validation")
}
"""Pairs of values ``axis=value`` that cannot go together, and why."""


def words(case):
    return [f"{axis}={value}" for axis, value in case.items()]


def allowed(case):
    return not any(skip <= {*words(case)} for skip in SKIPS)


def pairs(case):
    return {frozenset(pair) for pair in itertools.combinations(words(case), 2)}


def every_pair():
    """All pairs of values of two axes but those that cannot go together."""
    axes = itertools.combinations(AXES.items(), 2)
    every = {
        frozenset((f"{a}={x}", f"{b}={y}")) for (a, xs), (b, ys) in axes for x in xs for y in ys
    }
    return every - {*SKIPS}


def cover():
    """Few cases that have every pair: the next is, value by value, what has most pairs left."""
    left, cases = every_pair(), []
    while left:
        # Begin with a pair that is left, so that each case has something new.
        case = dict(word.split("=") for word in sorted(min(left, key=sorted)))
        for axis, values in AXES.items():
            if axis not in case:
                options = [{**case, axis: value} for value in values]
                case = max(filter(allowed, options), key=lambda one: len(pairs(one) & left))
        left -= pairs(case)
        cases.append(case)
    return cases


CASES = cover()
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: ", ".join(case.values()))


@pytest.fixture(autouse=True)
def few_validated(monkeypatch):
    """Four batches of pairs, and not 256."""
    monkeypatch.setattr(looks, "MOST_VALIDATED", 32)


@pytest.fixture
def spec(case, tiny):
    return spec_of(case, tiny)


@each_case
def test_a_member_is_what_it_is_alone_and_goes_on_where_it_was(spec, tmp_path):
    (together, saved), (stacked, others_saved) = train(spec), train(spec, Stacked)
    x = together.context.dataset.batch(torch.arange(9))
    codes, others = (each.population.encode(x).mean for each in (together, stacked))
    torch.testing.assert_close(others, codes, rtol=1e-8, atol=1e-9)
    assert stacked.stopped_early == together.stopped_early
    for ours, theirs in (
        (stacked.curves, together.curves),
        (stacked.validation, together.validation),
    ):
        assert ours.steps == theirs.steps
        for name in theirs.values:
            torch.testing.assert_close(
                ours[name], theirs[name], rtol=1e-8, atol=1e-10, equal_nan=True
            )

    for i, seed in enumerate(spec.seed_list):
        alone, _ = train(replace(spec, seeds=(seed,)))
        assert_same(together.population.state(), alone.population.state(), slice(i, i + 1))
        assert_same(together.curves.member(i).tensors(), alone.curves.tensors())
        assert_same(together.validation.member(i).tensors(), alone.validation.tensors())
        assert together.stopped_early.get(i) == alone.stopped_early.get(0)
        for name, value in alone.best_weights.items():
            assert torch.equal(together.best_weights[name][i], value[0])
        for step, weights in alone.step_weights.items():
            assert_same(together.step_weights[step], weights, slice(i, i + 1))
        assert torch.equal(codes[i], alone.population.encode(x).mean[0])

    for whole, checkpoint, backend in (
        (together, saved[0], Looped),
        (stacked, others_saved[0], Stacked),
    ):
        rest = start(spec, backend)
        checkpoints.restore(rest, checkpoint, tmp_path)
        assert rest.step <= 4
        rest.run()
        assert_same(state(rest), state(whole))

    loaded = Training.from_weights([spec], together.context, together.weights(), "memory")
    assert torch.equal(loaded.population.encode(x).mean, codes)


def test_every_pair_is_there_and_skips_have_reasons():
    assert set().union(*map(pairs, CASES)) == every_pair()
    assert all(reason.endswith(".") for reason in SKIPS.values())
    assert len(SKIPS) == 3
