"""Baselines: where their values come from, and that figures have lines at them."""

import pytest
from report.study_pages import rows, study, write

from unknot.analysis import Results
from unknot.core.csv_files import csv_text
from unknot.core.errors import ConfigError
from unknot.report.study import figures
from unknot.report.study import source as study_source
from unknot.report.study.baselines import DASHES, baselines
from unknot.report.style import INK
from unknot.studies.file.sweep import expand

TABLE = Results(
    [
        {"objective": "vae", "seed": 0, "mig": 0.1, "recon": 10.0},
        {"objective": "vae", "seed": 1, "mig": 0.3, "recon": 14.0},
        {"objective": "vae", "seed": 2, "mig": 9.9, "recon": 99.0, "status": "diverged"},
        *(
            {"objective": "beta_vae", "objective.beta": beta, "seed": seed, "mig": 0.1 * beta,
             "recon": 20.0 + seed}
            for beta in (2, 4) for seed in (0, 1)
        ),
    ]
)  # fmt: skip


def test_means_of_an_objective_of_a_setting_and_numbers():
    found = {b.name: dict(b.values) for b in baselines(TABLE, ["vae", "beta_vae", "mig=0.5"])}
    assert found["vae"] == pytest.approx({"mig": 0.2, "recon": 12.0}), "what diverged is no value"
    assert found["beta_vae"] == pytest.approx({"mig": 0.3, "recon": 20.5})
    assert found["given"] == {"mig": 0.5}
    (one,) = baselines(TABLE, ["beta_vae beta 4"])
    assert dict(one.values) == pytest.approx({"mig": 0.4, "recon": 20.5})
    (both,) = baselines(TABLE, ["mig=0.5", "recon=3"])
    assert dict(both.values) == {"mig": 0.5, "recon": 3.0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["vea"], "did you mean 'vae'"),
        (["mgi=1"], "did you mean 'mig'"),
        (["mig=much"], "looks like vae or mig=0.1; got 'mig=much'"),
        (["mig=nan"], "looks like"),
        (["vae", "beta_vae", "beta_vae beta 2", "beta_vae beta 4"], "At most 3"),
    ],
)
def test_words_that_name_nothing(words, said):
    with pytest.raises(ConfigError, match=said):
        baselines(TABLE, words)


def lines(axes, along):
    """Where lines across the whole panel stand, and how they are dashed."""
    found = []
    for line in axes.lines:
        at = line.get_xdata() if along == "x" else line.get_ydata()
        across = line.get_ydata() if along == "x" else line.get_xdata()
        if list(across) == [0, 1] and at[0] == at[1] and line.get_color() == INK:
            found.append(float(at[0]))
    return found


def test_figures_have_lines_at_the_values():
    held = baselines(TABLE, ["vae", "mig=0.5"])
    for draw in (figures.spread.draw, figures.cumulative.draw):
        drawn = draw(TABLE, ["mig", "recon"], baselines=held)
        assert lines(drawn.figure.axes[0], "x") == pytest.approx([0.2, 0.5])
        assert lines(drawn.figure.axes[1], "x") == pytest.approx([12.0])
    own = TABLE.only("objective", ["beta_vae"])
    drawn = figures.swept_value.draw(own, ["mig"], baselines=held)
    assert lines(drawn.figure.axes[0], "y") == pytest.approx([0.2, 0.5])
    plain = figures.swept_value.draw(own, ["mig"])
    assert lines(plain.figure.axes[0], "y") == []
    drawn = figures.trade_off.draw(own, "mig", baselines=held)
    assert lines(drawn.figure.axes[0], "y") == pytest.approx([0.2, 0.5])
    assert lines(drawn.figure.axes[0], "x") == pytest.approx([12.0])
    assert len(DASHES) == 3


@pytest.mark.slow
def test_a_page_has_them_for_each_dataset(tmp_path):
    table = [*study(2)[:-1], *study(2, data="cars3d", shift=0.1)[:-1]]
    page, out = write(table, tmp_path, ["mig"], baselines=["beta_vae", "mig=0.05"])
    assert "Baselines" not in page.text, "words inside of pictures are not on the page"
    for data in ("dsprites", "cars3d"):
        own = [r["mig"] for r in table if (r["data"], r["objective"]) == (data, "beta_vae")]
        held = {
            (r["baseline"], r["score"]): float(r["value"]) for r in rows(out, f"{data}-baselines")
        }
        assert held["beta_vae", "mig"] == pytest.approx(sum(own) / len(own))
        assert held["given", "mig"] == 0.05


def test_the_study_file_names_them(tmp_path):
    assert expand({"baseline": "vae"}).baselines == ("vae",)
    assert expand({"baseline": ["vae", "mig=0.1"]}).baselines == ("vae", "mig=0.1")
    assert expand({}).baselines == ()
    with pytest.raises(ConfigError, match='baseline looks like "vae"'):
        expand({"baseline": 3})
    (tmp_path / "table.csv").write_text(csv_text(study(2)))
    with pytest.raises(ConfigError, match="did you mean 'beta_vae'"):
        study_source.read(tmp_path / "table.csv", baselines=["beta_vea"])


def test_baselines_that_one_would_take_the_place_of_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="The baseline of mig is given twice"):
        baselines(TABLE, ["mig=0.1", "mig=0.2"])
    for folder, mig in (("a", 0.5), ("b", 0.7)):
        (tmp_path / folder).mkdir()
        line = {"objective": "other", "seed": 0, "mig": mig}
        (tmp_path / folder / "runs.csv").write_text(csv_text([line, {**line, "seed": 1}]))
    ours = [{"objective": "vae", "seed": seed, "mig": 0.1} for seed in range(2)]
    (tmp_path / "runs.csv").write_text(csv_text(ours))
    both = [f"{tmp_path}/{folder}/runs.csv:other" for folder in "ab"]
    with pytest.raises(ConfigError, match="Two baselines are called 'other of runs'"):
        study_source.read(tmp_path / "runs.csv", baselines=both)
