"""Scores of a run at the steps that it kept: the numbers of its curves, and where they are best."""

import math

import pytest
from report.text_boxes import text_faults

from unknot.report.run.page import page, stored_scores, write_pictures
from unknot.report.run.step_scores import MOST, step_scores, step_scores_figure
from unknot.runs import records
from unknot.runs.records import Record


def record(run, seed, values, step=None, *, metric="mig", protocol="unknot", part=None):
    place = run.spec.seed_list.index(seed)
    facts = {"name": protocol, "seed": 0}
    return Record(run.spec.ids()[place], seed, metric, facts, values, None, [], "0", {}, part, step)


@pytest.fixture
def scored(make_run, tmp_path):
    """Two seeds with scores at two steps and at the end; CbD at the end alone."""
    run = make_run(seeds=(0, 1), alive=(True, True), path=tmp_path)
    usage = "kl_per_dimension"
    kept = [
        record(run, seed, {"mig": value + 0.1 * seed}, step)
        for seed in (0, 1)
        for step, value in ((100, 0.2), (200, 0.6), (None, 0.4))
    ]
    kept += [
        record(run, 0, {usage: 2.0, f"{usage}.active": active}, step, metric=usage)
        for step, active in ((100, 1.0), (200, 3.0))
    ]
    kept += [record(run, 0, {"cbd": 0.5}, metric="cbd", protocol="paper")]
    records.append(tmp_path, kept)
    return run


def test_curves_have_the_scores_of_each_step_and_of_the_end(scored):
    curves = step_scores(scored)
    assert list(curves) == ["mig", "kl_per_dimension", "kl_per_dimension.active"], "no cbd"
    assert curves["mig"].steps == [100, 200, 300]
    assert curves["mig"]["mig"].tolist() == [
        pytest.approx([0.2, 0.3]), pytest.approx([0.6, 0.7]), pytest.approx([0.4, 0.5])
    ]  # fmt: skip
    active = curves["kl_per_dimension.active"]["kl_per_dimension.active"]
    assert active[:, 0].tolist() == [1, 3]
    assert all(map(math.isnan, active[:, 1])), "the second seed has none"


def test_the_error_of_reconstructions_is_a_score_as_well(scored):
    last = [
        record(scored, 0, {"recon": x}, step, metric="recon")
        for step, x in ((100, 9.0), (200, 7.0))
    ]
    records.append(scored.path, last)
    rings = step_scores_figure({"recon": step_scores(scored)["recon"]}).axes[0].lines[-1]
    assert list(rings.get_xdata()) == [200], "lower is better"


def test_the_page_reads_scores_of_other_protocols_and_their_parts_to_people(make_run, tmp_path):
    run = make_run(path=tmp_path)
    values = {"cbd": 0.5, "cbd.row": 0.25, "cbd.unheard": 0.1}
    records.append(tmp_path, [record(run, 0, values, metric="cbd", protocol="paper")])
    html = page(run, scores=stored_scores(run))
    assert "1: one latent per factor, proportional to it." in html
    assert "<summary>row 0.25 · unheard 0.1</summary>" in html
    assert "<dl><dt>row</dt><dd>1: each latent is proportional to one factor only." in html


def test_a_ring_marks_the_best_step_of_scores_with_a_direction(scored):
    figure = step_scores_figure(step_scores(scored))
    rings = [
        [(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_marker() == "o"]
        for axes in figure.axes
    ]
    assert rings == [[(200, pytest.approx(0.65))], [], []], "KL is neither better high nor low"
    assert [axes.get_title("left") for axes in figure.axes] == [*step_scores(scored)]
    assert not text_faults(figure)


def test_protocols_and_parts_are_curves_of_their_own(make_run, tmp_path):
    run = make_run(path=tmp_path)
    run_records = [
        record(run, 0, {"mig": 0.1}, step, protocol=protocol, part=part)
        for protocol, part in (("unknot", None), ("study2019", None), ("study2019", "test"))
        for step in (100, 200)
    ]
    records.append(tmp_path, run_records)
    assert list(step_scores(run)) == ["mig", "mig (study2019)", "mig (study2019, test)"]


def test_the_page_and_the_pictures_have_them(scored, tmp_path):
    text = page(scored)
    assert "Scores during training" in text
    assert "more are in scores.jsonl" not in text
    assert (tmp_path / "pictures" / "scores.png") in write_pictures(scored, tmp_path / "pictures")


def test_many_scores_are_counted_and_few_drawn(make_run, tmp_path):
    run = make_run(path=tmp_path)
    values = {f"dci.part{i}": 0.1 * i for i in range(MOST + 3)}
    records.append(tmp_path, [record(run, 0, values, step, metric="dci") for step in (100, 200)])
    assert len(step_scores_figure(step_scores(run)).axes) == MOST
    assert "3 more are in scores.jsonl" in page(run)


def test_nothing_is_drawn_without_scores_before_the_end(make_run, tmp_path):
    run = make_run(path=tmp_path)
    records.append(tmp_path, [record(run, 0, {"mig": 0.1})])
    assert not step_scores(run)
    assert "Scores during training" not in page(run)
