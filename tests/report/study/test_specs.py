"""The full settings of a study's runs: they are those of the plan, and links lead to them."""

import html
import re
import tomllib

import pytest
from report import small_study
from report.study_pages import Page, write
from report.study_pages import study as table_of_runs

from unknot.core.errors import ConfigError
from unknot.report.study import page as study_page
from unknot.report.study import specs as specs_page
from unknot.runs import config
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import plan as plan_study


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "small"
    return small_study.train(folder, tiny, seeds="[0, 3]", steps=10)


@pytest.fixture(scope="module")
def plan(tiny):
    return plan_study(StudyFile.parse(small_study.text(tiny, seeds="[0, 3]", steps=10)))


def blocks(page):
    found = re.findall(r"<pre>(.*?)</pre>", page, re.S)
    return [html.unescape(text) for text in found]


def test_each_setting_of_the_plan_is_a_file_that_trains_it(
    trained, plan, tiny, tmp_path, monkeypatch
):
    """Pages are for sharing: they name the file of the data, not the folder that it is in."""
    monkeypatch.chdir(tiny.parent)
    page_file, copy = specs_page.write_specs(trained, tmp_path)
    text = page_file.read_text()
    specs = [config.spec(tomllib.loads(block)) for block in blocks(text)]
    assert specs == list(plan.configurations)
    page = Page(text)
    assert page.ids == [run.id for run in plan.runs], "an anchor for each run, in order"
    assert [i for spec in specs for i in spec.ids()] == page.ids
    whole = (trained.path / "study.toml").read_text()
    assert copy.read_text() == whole.replace(f"{tiny.parent}/", "")
    assert "Settings of small <study>" in page.text
    for link in page.links:
        assert link.startswith("data:") or link == "index.html" or (tmp_path / link).exists()


def test_a_run_stands_with_its_own_setting(trained, plan):
    for found, spec in zip(specs_page.settings_blocks(trained), plan.configurations, strict=True):
        assert found.runs == list(zip(spec.ids(), (0, 3), strict=True))
        assert f"objective {spec.objective.name}" in found.title
        assert "net" not in found.title, "what all share sets nothing apart"


@pytest.mark.slow
def test_links_of_the_page_lead_to_settings(trained, tmp_path):
    files = study_page.report(trained.path, tmp_path)
    assert {tmp_path / "specs.html", tmp_path / "study.toml"} <= set(files)
    page = Page((tmp_path / "index.html").read_text())
    anchors = Page((tmp_path / "specs.html").read_text()).ids
    leading = [link.partition("#")[2] for link in page.links if link.startswith("specs.html#")]
    ids = [row["id"] for row in trained.table()]
    assert set(leading) == set(ids) == set(anchors)
    assert len(leading) == len(ids) + 2, "each in the list, and one model of two objectives"
    assert {"specs.html", "study.toml"} <= set(page.links)
    for link in page.links:
        file = link.partition("#")[0]
        assert link.startswith(("#", "data:")) or (tmp_path / file).exists(), link


def test_a_table_has_no_settings_to_lead_to(tmp_path):
    page, out = write(table_of_runs(1)[:3], tmp_path)
    assert not any("specs.html" in link or "study.toml" in link for link in page.links)
    assert not (out / "specs.html").exists()


def test_a_study_file_that_is_gone_is_said(trained, tmp_path):
    file = trained.path / "study.toml"
    held = file.read_text()
    file.unlink()
    try:
        with pytest.raises(ConfigError, match=r"Could not read .*study\.toml"):
            specs_page.write_specs(trained, tmp_path)
    finally:
        file.write_text(held)
