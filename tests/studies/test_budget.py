"""What a study takes on GPUs: by rates that were measured, by hand for small ones."""

import importlib
import json
import re
from pathlib import Path

import pytest

from unknot.metrics import facts
from unknot.runs.metric_names import model_metrics
from unknot.runs.spec import TrainSpec
from unknot.studies import budget as budgets
from unknot.studies.budget import COMPILE, SCORERS, WORKER, Budget, Parts, budget, scoring_seconds
from unknot.studies.file.study_file import StudyFile, read_study
from unknot.studies.gpu_rates import measured_rates, pace, speed
from unknot.studies.plan import plan
from unknot.studies.score_costs import STUDY2019, score_cost

ROOT = Path(__file__).parents[2]
RATES = {
    (r.precision, r.members): r.steps
    for r in measured_rates()
    if (r.net, r.objective, r.colour) == ("conv64", "beta_vae", False)
}


def planned(**table):
    return plan(StudyFile(table))


def dsprites(objective, **train):
    table = {"seeds": "0..63", "metrics": [], "train": {"steps": 20_000, "batch": 64, **train}}
    return planned(**table, grid=[{"objective": {"name": objective}}])


def test_a_population_takes_images_by_speed_and_compilation():
    doubled = budget(dsprites("beta_vae", batch=128))
    assert doubled.populations == 1
    seconds = 2 * 64 * 20_000 / RATES["bf16", 64]
    assert doubled.seconds["bf16"] == pytest.approx(WORKER + COMPILE + seconds)
    assert doubled.parts["bf16"].training == pytest.approx(seconds)
    assert not doubled.assumptions


def test_pairs_take_twice_as_long_unless_they_were_measured():
    single, pairs = (budget(dsprites(o)).parts["bf16"].training for o in ("beta_vae", "ada_gvae"))
    found = [r.steps for r in measured_rates() if (r.objective, r.members) == ("ada_gvae", 64)]
    wanted = RATES["bf16", 64] / found[0] if found else 2
    assert pairs / single == pytest.approx(wanted)


def test_critics_are_counted_by_the_update(monkeypatch):
    """FactorVAE at its own rate; `aae`, which was not measured, as FactorVAE by its images."""
    (rate,) = [r.steps for r in measured_rates() if r.objective == "factor_vae"]
    half, other = budget(dsprites("factor_vae")), budget(dsprites("aae"))
    assert half.parts["bf16"].training == pytest.approx(64 * 20_000 / rate)
    assert other.parts["bf16"].training == pytest.approx(64 * 20_000 / rate / 2)
    assert other.assumptions == (("aae", "factor_vae"),)


def test_sides_count_by_their_pixels_and_what_was_not_measured_is_said():
    spec = dsprites("beta_vae").configurations[0]
    plain = pace(spec, 64, "bf16", None)
    assert pace(spec, 64, "bf16", (1, 128, 128)).step == pytest.approx(4 * plain.step)
    assert pace(spec, 64, "bf16", (500, 1, 1)).step == plain.step
    colour = pace(spec, 64, "bf16", (3, 64, 64))
    assert colour.assumptions or colour.step > plain.step
    (mlp,) = dsprites("beta_vae", net={"name": "mlp"}).configurations
    assert isinstance(mlp, TrainSpec)
    assert pace(mlp, 64, "bf16", None).assumptions == (("mlp", "conv64"),)


def test_gpus_share_populations_and_each_compiles():
    """128 runs on one GPU and on two: one after the other, and side by side."""
    two = planned(seeds="0..127", metrics=[], train={"steps": 20_000})
    once = 64 * 20_000 / RATES["bf16", 64]
    one, both = budget(two), budget(two, 2)
    assert one.seconds["bf16"] == pytest.approx(WORKER + COMPILE + budgets.AGAIN + 2 * once)
    assert both.seconds["bf16"] == pytest.approx(WORKER + COMPILE + once)
    # With more GPUs than 64s of runs there are more and smaller populations.
    four = budget(two, 4)
    assert (four.populations, four.members) == (4, 32)
    assert four.seconds["bf16"] == pytest.approx(WORKER + COMPILE + 32 * 20_000 / speed(32, "bf16"))


def test_scores_by_hand():
    """Four models of 5,000 images and 20 latents with MIG alone: half the rows, twice the codes."""
    each = score_cost(["mig"], "unknot", latents=20, images=5_000)
    assert (each.cpu, each.rows) == (pytest.approx(facts("mig").cost), 5_000)
    small = planned(metrics=["mig"], train={"net": {"name": "conv64", "latents": 20}})
    spec = small.configurations[0]
    busy = 1 + (budgets.BUSY - 1) * 4 / 16
    once = SCORERS + 4 * (5_000 / budgets.ENCODE + busy * each.cpu / 4)
    assert scoring_seconds(small, spec, 4, 5_000) == pytest.approx(once)
    twice = planned(metrics=["mig"], train={"steps": 100, "score_every": 50})
    assert scoring_seconds(twice, twice.configurations[0], 4, 5_000) > 1.9 * once
    assert scoring_seconds(planned(metrics=[]), spec, 4, 5_000) == 0


def test_scores_follow_protocols_and_what_data_have():
    def cost(*metrics, protocol="unknot", **more):
        return score_cost(metrics, protocol, latents=10, images=737_280, **more)

    for dci in (cost("dci@study2019"), cost("dci", protocol="study2019")):
        assert dci.cpu == pytest.approx(STUDY2019["dci"])
    assert cost("dci").cpu == pytest.approx(facts("dci").cost)
    assert cost("infomec", protocol="study2019").cpu == 0, "no such protocol"
    together = cost("dci", "efficiency", protocol="study2019")
    assert together.cpu == pytest.approx(STUDY2019["efficiency"]), "which learns what dci does"
    assert cost("dci", "efficiency").cpu > cost("efficiency").cpu, "a forest"
    assert cost("mig", "active_units", factors=False).cpu == cost("active_units").cpu
    assert cost("factor_vae").rows == 737_280 > cost("mig").rows


LATER = {"fos", "ima_contrast", "readout", "tad", "unfairness"}
"""Metrics of `unknot` that came after the measurement."""


@pytest.mark.parametrize(
    ("protocol", "left_out", "seconds"),
    [("unknot", LATER, 126), ("study2019", {"dci", "efficiency"}, 76)],
)
def test_scores_of_64_models_take_what_was_measured(protocol, left_out, seconds):
    """The whole command, docs/benchmarks.md, without what came later; within a tenth."""
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert re.search(rf"\| `{protocol}`, all .*\| \*\*{seconds}\*\* \|", text)
    everything = planned(metrics="all", protocol=protocol)
    names = [name for name in model_metrics() if name not in left_out]
    asked = planned(metrics=names, protocol=protocol)
    spec = everything.configurations[0]
    assert WORKER + scoring_seconds(asked, spec, 64, 737_280) == pytest.approx(seconds, rel=0.1)


def test_costs_under_study2019_are_those_of_the_page():
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name, seconds in STUDY2019.items():
        assert re.search(rf"^\| {name} \| {seconds:.2f} \|", text, re.MULTILINE), name


def test_rates_are_those_that_are_stored_and_lie_between_them_elsewhere(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    script = importlib.import_module("benchmarks")
    stored = script.RATES.read_text(encoding="utf-8")
    assert stored == script.rates_text(script.facts()), "run `python docs/benchmarks.py`"
    assert len(json.loads(stored)["rows"]) == len(measured_rates())
    for (precision, members), steps in RATES.items():
        assert speed(members, precision) == pytest.approx(steps)
    assert RATES["bf16", 8] < speed(20, "bf16") < RATES["bf16", 64]
    largest = max(members for precision, members in RATES if precision == "float32")
    assert speed(1_000, "float32") == RATES["float32", largest]


def test_a_budget_says_what_it_rests_on():
    parts = {"float32": Parts(training=5_400.0, starts=360.0, scores=1_080.0)}
    assumed = (("mlp", "conv64"), ("colour", "one channel"), ("linear", "conv64"))
    words = Budget({"float32": 3_600.0}, parts, 3, 64, ("float32",), 2, assumed).text
    assert words.startswith("1.0 h in float32 on 2 H200 (estimated; the study uses float32")
    for said in ("training 75 %, starts and compilation 5 %, scores 15 %, waiting 5 %",
                 f"{RATES['float32', 64]:,.0f} model-steps per second", "64 models and batch 64",
                 "3 populations", "counts critics, compilation and scores",
                 "counted otherwise: mlp, linear as conv64; colour as one channel"):  # fmt: skip
        assert said in words


def test_the_large_study_scales_to_eight_gpus():
    study = plan(read_study(Path("hartmann2021")))
    one, eight = budget(study), budget(study, 8)
    assert one.populations == eight.populations == 180
    assert 0.9 * one.seconds["bf16"] < 8 * eight.seconds["bf16"] < 1.1 * one.seconds["bf16"]
    assert all(len({*b.seconds.values()}) == 3 for b in (one, eight))
