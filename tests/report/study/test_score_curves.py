"""Scores over training: curves, and the step at which a score was best."""

import numpy as np
import pytest
from report import small_study
from report.study_pages import Page, rows

from unknot.analysis import Results
from unknot.report.study import page as study_page
from unknot.report.study.figures import score_curves
from unknot.report.study.score_histories import ScoreHistory, score_histories
from unknot.report.study.source import read


def history(label, values, steps=(10, 20, 30), score="mig"):
    (one,) = Results([{"objective": label, "mig": 0.1}]).configurations
    return ScoreHistory(one, score, steps, tuple(np.array(v) for v in values))


def test_the_best_step_is_that_of_the_best_mean():
    grown = history("vae", [[0.1, 0.2], [0.5, 0.3], [0.4, 0.4]])
    assert grown.means == pytest.approx([0.15, 0.4, 0.4])
    assert grown.best(1) == 1, "of equals the first"
    assert grown.best(-1) == 0


def test_of_many_configurations_the_best_at_the_end_are_shown():
    many = [history(f"o{i}", [[0.5], [i / 20]], (10, 20)) for i in range(12)]
    drawn = score_curves.draw(Results([{"objective": "o0", "mig": 0.1}]), many)
    names = [text.get_text() for text in drawn.figure.legends[0].get_texts()]
    assert names == [f"o{i}" for i in range(4, 12)]
    assert len(drawn.rows) == 24, "the file has all"


def test_a_study_with_scores_along_the_way(tiny, tmp_path):
    grid = small_study.TWO_STRENGTHS
    made = small_study.train(
        tmp_path / "study", tiny, seeds="[0, 1]", steps=30,
        metrics='["mig"]\n        score_every = 10', grids=grid,
    )  # fmt: skip
    results = read(made.path).results
    first, *others = score_histories(made, results)
    assert len(others) == 1
    assert first.steps == (10, 20, 30)
    assert first.values[-1].tolist() == first.configuration.sample("mig").values.tolist()
    before = made.store.scores(10)
    assert first.values[0].tolist() == [before[i]["mig"] for i in first.configuration.runs["id"]]
    study_page.report(made.path, tmp_path / "page")
    page = Page((tmp_path / "page" / "index.html").read_text())
    assert "Scores during training" in page.text
    assert len(rows(tmp_path / "page", "score-curves")) == 2 * 3


def test_without_scores_along_the_way_there_is_no_such_section(tiny, tmp_path):
    small = {"seeds": "[0]", "steps": 10, "grids": small_study.TWO_STRENGTHS}
    made = small_study.train(tmp_path / "study", tiny, **small)
    assert score_histories(made, read(made.path).results) == []
