"""The catalogue of a study's figures: which of them a study has, and what is said below them."""

import importlib
import itertools
import sys

import pytest
from report.study_pages import study

from unknot.analysis import Results
from unknot.report.study import blocks as study_blocks
from unknot.report.study import figures
from unknot.report.study.baselines import baselines
from unknot.report.study.blocks import FigureFolder, FigureKeeper, Part
from unknot.report.study.sections import DATASETS, SECTIONS, sections


def given(results, **options):
    """All figures of some results, by name."""
    part = Part(results, **options)
    every = [file.applies(part) for file in figures.FILES if hasattr(file, "applies")]
    return {figure.name: figure for figure in itertools.chain(*every)}


def over(results):
    every = [f.over_datasets(Part(results)) for f in figures.FILES if hasattr(f, "over_datasets")]
    return {figure.name: figure for figure in itertools.chain(*every)}


@pytest.fixture(scope="module")
def found():
    results = Results(study(5), ["mig", "dci.disentanglement"])
    return given(results, baselines=baselines(results, ["beta_vae"]))


def test_which_figures_a_study_has(found):
    assert set(found) == {
        "spread", "split-objective", "cumulative", "swept-value", "trade-off-mig",
        "trade-off-dci-disentanglement", "rate-distortion", "correlations",
        "correlations-pearson", "shares", "score-losses", "trade-off-runs",
    }  # fmt: skip
    assert {figure.section for figure in found.values()} <= {kind.id for kind in SECTIONS}


def test_one_run_has_one_figure():
    assert set(given(Results([{"objective": "vae", "mig": 0.1}]))) == {"spread"}


def caption(figure):
    """What stands below the panels of a figure, in its legend or its footnote."""
    legends = [legend.get_title().get_text() for legend in figure.legends]
    return "\n".join(text for text in (*legends, figure.get_supxlabel()) if text)


def test_figures_have_numbers_titles_and_captions(found):
    drawn = {name: figure.draw() for name, figure in found.items()}
    assert all(one.rows and one.figure.get_suptitle() for one in drawn.values())
    captions = {name: caption(one.figure).replace("\n", " ") for name, one in drawn.items()}
    assert captions["spread"] == (
        "Dots: runs; cross: mean. Not shown, counted at the right of their rows: 1 diverged. "
        "Baselines, dashed: beta_vae."
    )
    assert captions["cumulative"].startswith("Counted as below all others: 1 diverged.")
    assert captions["trade-off-mig"] == "Bars: range of the seeds. Baselines, dashed: beta_vae."
    assert captions["rate-distortion"].startswith("1 runs that diverged or lack one of the two")
    assert captions["correlations"].startswith("Over 29 runs.")
    assert captions["shares"] == "1 runs that diverged were left out"


def test_figures_over_datasets():
    table = [*study(2), *study(2, data="cars3d", shift=0.1)]
    found = over(Results(table, ["mig"]))
    names = ["datasets-split", "datasets-beta_vae", "datasets-dip_vae_i", "datasets-transfer-mig",
             "datasets-pooled"]  # fmt: skip
    assert set(found) == set(names)
    assert {figure.section for figure in found.values()} == {DATASETS.id}
    drawn = {name: figure.draw().figure for name, figure in found.items()}
    assert all(figure.get_suptitle() for figure in drawn.values())
    assert "Each point is a configuration" in caption(drawn["datasets-transfer-mig"])


def test_without_a_swept_value_there_is_nothing_to_go_over():
    rows = [
        {"objective": "vae", "data": data, "seed": seed, "mig": 0.1 * seed}
        for data in ("dsprites", "cars3d") for seed in (1, 2, 3)
    ]  # fmt: skip
    assert "datasets-vae" not in over(Results(rows, ["mig"]))


def test_a_new_file_is_all_it_takes(tmp_path, monkeypatch):
    """A module that nothing else names has its figure in the section that it asks for."""
    (tmp_path / "extra_figure.py").write_text(
        "from unknot.report.study.blocks import Figure\n"
        "from unknot.report.study.figures import spread\n\n\n"
        "def applies(part):\n"
        "    draw = lambda: spread.draw(part.results, ['mig'])\n"
        "    yield Figure('shares', 'extra', draw)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    file = importlib.import_module("extra_figure")
    monkeypatch.setattr(figures, "FILES", [file])
    keep = FigureKeeper(FigureFolder(tmp_path))
    part = Part(Results([{"objective": "vae", "mig": 0.1}], ["mig"]))
    made = {section.id: section for section in sections(part, keep)}
    assert [figure.name for figure in made["shares"].figures] == ["extra"]
    assert keep.left_out == []
    del sys.modules["extra_figure"]


@pytest.mark.parametrize("lenient", [True, False])
def test_a_mistake_is_listed_for_people_and_fails_here(tmp_path, monkeypatch, lenient):
    def broken():
        raise ValueError("alpha is outside 0-1 range")

    keep = FigureKeeper(FigureFolder(tmp_path))
    if not lenient:
        with pytest.raises(ValueError, match="alpha"):
            keep("broken", broken)
        return
    monkeypatch.setattr(study_blocks, "TOLERATED", (Exception,))
    assert keep("broken", broken) == []
    assert keep.left_out == ["broken: ValueError: alpha is outside 0-1 range"]
