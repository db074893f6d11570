"""Options of a training on a GPU, where a step is compiled and captured as one graph.

Few cases, since each is compiled: every optimiser, kind of objective, rate, clipping, average and
split is in one of them, and every look but the one that only logs. `test_options` has all pairs, on
a CPU.
"""

from dataclasses import replace

import pytest
import torch
from runs.options import AXES, assert_same, spec_of, start, state, train

from unknot.engine import capture
from unknot.engine.stacked import Stacked
from unknot.runs import checkpoints, looks

DEVICE = "cuda"
SEEDS = [0, 1, 2, 3]
CASES = [
    dict(zip(AXES, values, strict=True))
    for values in (
        ("adamw", "plain", "schedule", "norm", "ema", "rows", "stop at validation"),
        ("rmsprop", "critic", "constant", "value", "none", "none", "stop"),
        ("adagrad", "carried state", "schedule", "none", "ema", "range", "stop by a score"),
        ("sgd", "extra state", "constant", "norm", "none", "combinations", "keep best"),
        ("adam", "pairs", "schedule", "value", "ema", "rows", "scores"),
    )
]
STOPS = CASES[0]
"""Two of the four members stop at step 4, which is also that of the first checkpoint."""


def on_gpu(test):
    reason = "needs a CUDA device"
    return pytest.mark.gpu(pytest.mark.skipif(not torch.cuda.is_available(), reason=reason)(test))


@pytest.fixture(autouse=True)
def few_validated(monkeypatch):
    """Four batches of pairs, and not 256."""
    monkeypatch.setattr(looks, "MOST_VALIDATED", 32)


@pytest.fixture
def graphs(monkeypatch):
    """Those that trainings captured."""
    made, make = [], capture.capture_graph

    def remember(step):
        made.append(make(step))
        return made[-1]

    monkeypatch.setattr(capture, "capture_graph", remember)
    return made


def assert_resumes(spec, whole, saved, source):
    """From its first checkpoint it ends as the whole training did, to the bit."""
    rest = start(spec, Stacked, DEVICE)
    checkpoints.restore(rest, saved[0], source)
    rest.run()
    assert rest.stopped_early == whole.stopped_early
    assert_same(state(rest), state(whole))


def assert_close(ours, theirs, **tolerance):
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, equal_nan=True, **tolerance)


@on_gpu
@pytest.mark.parametrize("case", CASES, ids=lambda case: ", ".join(case.values()))
def test_a_gpu_gives_what_a_cpu_gives_and_goes_on_where_it_was(case, tiny, graphs, tmp_path):
    """On a CPU a member is to the bit what it is alone."""
    spec = spec_of(case, tiny, seeds=SEEDS)
    (gpu, saved), (cpu, _) = train(spec, Stacked, DEVICE), train(spec)
    assert len(graphs) == 1
    assert gpu.stopped_early == cpu.stopped_early
    assert_close(state(gpu), state(cpu), rtol=1e-8, atol=1e-9)
    for step, weights in cpu.step_weights.items():
        assert_close(gpu.step_weights[step], weights, rtol=1e-8, atol=1e-9)
    assert_resumes(spec, gpu, saved, tmp_path)
    assert len(graphs) == 2


@on_gpu
def test_alone_a_member_is_what_it_is_beside_others_that_stop_sooner_or_later(tiny):
    spec = spec_of(STOPS, tiny, seeds=SEEDS)
    together, _ = train(spec)
    stops = together.stopped_early
    first, last = min(stops, key=stops.get), max(stops, key=stops.get)
    assert stops[first] < stops[last]
    for i in (first, last):
        alone, _ = train(replace(spec, seeds=(SEEDS[i],)), Stacked, DEVICE)
        ours = {name: value[i : i + 1] for name, value in together.population.state().items()}
        assert_close(alone.population.state(), ours, rtol=1e-8, atol=1e-9)
        curves = together.validation.member(i).tensors()
        assert_close(alone.validation.tensors(), curves, rtol=1e-8, atol=1e-10)
        assert alone.stopped_early == {0: stops[i]}


@on_gpu
def test_in_bf16_a_member_stays_as_it_was_when_it_stopped(tiny, tmp_path):
    """Its weights, and what the networks multiply with."""
    spec = spec_of(STOPS, tiny, seeds=SEEDS, precision="bf16")
    whole, saved = train(spec, Stacked, DEVICE)
    first = min(whole.stopped_early.values())
    ended = [i for i, step in whole.stopped_early.items() if step == first]
    before = next(one for one in saved if one.step >= first).tensors
    after = whole.population.state()
    assert 0 < len(ended) < len(SEEDS)
    assert all(torch.equal(after[name][ended], before[name][ended]) for name in after)
    assert_resumes(spec, whole, saved, tmp_path)


def test_cases_have_all_values_but_those_that_are_elsewhere():
    missing = {
        (axis, value)
        for axis, values in AXES.items()
        for value in values
        if all(case[axis] != value for case in CASES)
    }
    assert missing == {("looks", "none"), ("looks", "validation")}
