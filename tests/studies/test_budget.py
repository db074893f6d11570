"""What a study costs on one GPU: images by measured speeds."""

import re
from pathlib import Path

import pytest

from unknot.studies import estimate as budgets
from unknot.studies.estimate import Budget, budget, speed
from unknot.studies.file.study_file import StudyFile, read_study
from unknot.studies.plan import plan

ROOT = Path(__file__).parents[2]


def test_a_budget_is_images_by_speed_and_compilation():
    table = {"seeds": "0..63", "train": {"steps": 19_774, "batch": 128}}
    single = budget(plan(StudyFile(table)))
    assert single.populations == 1
    wanted = budgets.COMPILE + 64 * 19_774 * 2 / 19_774
    assert single.seconds["bf16"] == pytest.approx(wanted)
    pairs = {**table, "grid": [{"objective": {"name": "ada_gvae"}}]}
    assert budget(plan(StudyFile(pairs))).seconds["bf16"] == pytest.approx(
        2 * wanted - budgets.COMPILE
    )
    assert 1.1 < budget(plan(read_study(Path("mushom2020")))).seconds["bf16"] / 3_600 < 1.3


def test_speeds_are_those_measured_and_lie_between_them_elsewhere():
    """docs/benchmarks.md, one H200."""
    for precision, known in budgets.SPEEDS.items():
        assert {size: speed(size, precision) for size in known} == known
    assert 10_931 < speed(20, "bf16") < 19_774
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").replace("*", "")
    for precision, known in budgets.SPEEDS.items():
        for size, value in known.items():
            row = rf"\| stacked conv64, {precision} \| {size} \| {value:,} \|"
            assert re.search(row, text), (precision, size)


def test_a_budget_says_what_it_rests_on():
    words = Budget({"float32": 7_200.0}, 3, ("float32",)).text
    assert words.startswith("2.0 h in float32 of training on one H200")
    for said in ("uses 3,183 model-steps per second", "3 populations of up to 64 runs",
                 "on a CPU, up to 16", "Metrics and critics are not included"):  # fmt: skip
        assert said in words
