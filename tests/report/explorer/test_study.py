"""Explorers of a study: the right models, and a link from its report."""

import re

import pytest
from report import small_study

from unknot.report.explorer.study import write_explorers
from unknot.report.study import page as study_page
from unknot.report.study.source import read


@pytest.fixture
def study(tiny, tmp_path):
    small_study.train(tmp_path / "study", tiny, steps=10, grids=small_study.TWO_STRENGTHS)
    return tmp_path / "study"


def test_best_and_median_of_each_objective_linked_from_the_report(study):
    report = study / "report"
    files = write_explorers(study, report)
    assert [file.name for file in files] == ["model-beta_vae.html"]
    results = read(study).results
    runs = zip(
        *(results.table[name] for name in ("objective.beta", "seed", "mig")),
        strict=True,
    )
    by_beta = {}
    for beta, seed, mig in runs:
        by_beta.setdefault(beta, []).append((mig, seed))
    best = sorted(max(by_beta.values(), key=lambda pairs: sum(mig for mig, _ in pairs)))
    heading = re.search(r"<h1.*?</h1>", (report / "model-beta_vae.html").read_text(), re.DOTALL)[0]
    assert re.findall(r"seed (\d), (best|median)", heading) == [
        (str(best[-1][1]), "best"),
        (str(best[1][1]), "median"),
    ]
    study_page.report(study, report)
    links = re.findall(r'href="(model-\w+\.html)"', (report / "index.html").read_text())
    assert links == ["model-beta_vae.html"]
