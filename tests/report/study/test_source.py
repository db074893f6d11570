"""Where the runs of a page come from."""

import subprocess
import sys

import pytest
from report import small_study, study_pages

from unknot.core.csv_files import csv_text, read_table
from unknot.core.errors import ConfigError, DataError, StoreError
from unknot.report.study import source as study_source
from unknot.studies.execute.events import Failed


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("objective,seed\nvae,0\n", ConfigError, "no scores"),
        ("mig,seed\n0.1,0\n", ConfigError, "'objective'"),
        ("objective,mig\n", DataError, "no rows"),
        ("objective,mig\nvae,0.1,7\n", DataError, "longer"),
        ("objective,mig,status\nvae,0.1,diverged\n", DataError, "The only run diverged"),
        ("objective,mig,status\nvae,,failed\n", DataError, "No run .* has finished \\(1 failed"),
    ],
)
def test_tables_that_make_no_page(tmp_path, text, error, said):
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(error, match=said) as raised:
        study_source.read(file)
    assert "\n" not in str(raised.value)


def test_folders_without_runs(tmp_path):
    with pytest.raises(StoreError, match="neither a study"):
        study_source.read(tmp_path)
    with pytest.raises(StoreError, match="There is no study"):
        study_source.read(tmp_path / "nowhere")


def test_scores_are_told_from_what_training_logs(tmp_path):
    file = tmp_path / "table.csv"
    table = [
        {"objective": "vae", "seed": i, "recon": 3.0, "tc": 1.0, "mig": 0.1 + i, "mig.train": 0.2,
         "dci": 0.3, "dci.disentanglement": 0.3, "dci.completeness": 0.4}
        for i in range(3)
    ]  # fmt: skip
    file.write_text(csv_text(table))
    source = study_source.read(file)
    assert source.results.scores == ["mig", "dci", "dci.completeness"], "no part twice, no term"
    assert set(source.results.others) == {"recon", "tc", "mig.train", "dci.disentanglement"}
    with pytest.raises(ConfigError, match="mig"):
        study_source.read(file, ["mgi"])


def test_a_table_is_read_as_it_was_written(tmp_path):
    """Names of runs may look like numbers, and a setting may be called none."""
    table = [
        {"id": name, "population": "00", "seed": i, "objective": "beta_tcvae",
         "objective.estimator": estimator, "objective.beta": 4.0, "diverged": False, "mig": 0.1 * i}
        for i, (name, estimator) in enumerate(
            [("123456789012", "none"), ("12e456789012", "mws"), ("0db8c048765b", None)])
    ]  # fmt: skip
    file = tmp_path / "table.csv"
    file.write_text(csv_text(table))
    read = read_table(file)
    assert [dict(zip(read, row, strict=True)) for row in zip(*read.values(), strict=True)] == table


def foreign(file, values, seeds, column="beta", **more):
    """A table as another program writes it: the swept value has no prefix."""
    table = [
        {"objective": "beta_vae", column: value, "seed": seed, "mig": 0.1 * value + 0.01 * seed,
         "recon": 3.0 + seed + value, **more}
        for value in values for seed in seeds
    ]  # fmt: skip
    file.write_text(csv_text(table))
    return study_source.read(file)


def test_a_field_of_the_objective_is_a_setting_in_a_table_from_elsewhere(tmp_path):
    source = foreign(tmp_path / "table.csv", (1, 4, 16), range(4))
    results = source.results
    assert [c.label for c in results.configurations] == [f"beta_vae beta {b}" for b in (1, 4, 16)]
    assert [c.size for c in results.configurations] == [4, 4, 4]
    assert (results.scores, results.others) == (["mig"], ["recon"])
    assert source.notes == ("The column 'beta' was read as the setting objective.beta.",)


@pytest.mark.parametrize("seeds", [range(4), range(1)])
def test_one_seed_each_is_told_by_the_objectives_fields(tmp_path, seeds):
    assert len(foreign(tmp_path / "t.csv", (1, 4, 16), seeds).results.configurations) == 3


def test_a_column_that_recurs_over_seeds_is_a_setting_and_a_score_is_not(tmp_path):
    """`temperature` is no field of the objective; `purity` and `ours` are nobody's metrics."""
    source = foreign(tmp_path / "table.csv", (1, 4, 16), range(4), "temperature", purity=0.5)
    assert [c.axis for c in source.results.configurations] == ["objective.temperature"] * 3
    assert "purity" in source.results.others
    two = [
        {"objective": "mine", "a": a, "b": b, "seed": s, "mig": a + b + s / 9, "ours": a + b + s}
        for a in (1, 2) for b in (3, 5) for s in range(3)
    ]  # fmt: skip
    (tmp_path / "two.csv").write_text(csv_text(two))
    results = study_source.read(tmp_path / "two.csv").results
    assert [c.size for c in results.configurations] == [3] * 4
    assert results.settings == ["objective", "objective.a", "objective.b"]


def test_seeds_that_repeat_for_no_reason_are_told(tmp_path):
    (tmp_path / "table.csv").write_text("objective,seed,mig\nvae,0,0.1\nvae,0,0.3\nvae,1,0.2\n")
    (note,) = study_source.read(tmp_path / "table.csv").notes
    assert note.startswith("Seed 0 of vae occurs 2 times in one configuration.")
    assert "objective.beta" in note


def test_seeds_that_do_not_repeat_leave_columns_as_they_are(tmp_path):
    """Training may log something that has the name of a field."""
    table = [{"objective": "beta_vae", "seed": s, "beta": 4.0 + s, "mig": 0.1 * s} for s in (0, 1)]
    (tmp_path / "table.csv").write_text(csv_text(table))
    source = study_source.read(tmp_path / "table.csv")
    assert (source.notes, source.results.settings) == ((), ["objective"])


def test_a_cell_without_a_number_is_missing_and_the_others_count(tmp_path):
    """Excel's mark at the beginning is no part of the first name."""
    file = tmp_path / "table.csv"
    cells = ("0.1", "n/a", "inf", "0.3")
    lines = ["objective,seed,mig", *(f"vae,{i},{cell}" for i, cell in enumerate(cells))]
    file.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    source = study_source.read(file)
    assert source.results.scores == ["mig"]
    assert source.results.table["mig"] == [0.1, None, None, 0.3]


def test_the_page_of_a_table_needs_no_torch(tmp_path):
    """Reading, analysis and all figures of a table, as the command does it."""
    file = tmp_path / "table.csv"
    file.write_text(csv_text(study_pages.study(2)))
    code = (
        "import sys\nfrom unknot.cli.main import main\n"
        "try: main()\nfinally: print('torch' in sys.modules)"
    )
    words = [sys.executable, "-c", code, "report", str(file), "--out", str(tmp_path / "page")]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "False"
    assert (tmp_path / "page" / "figures" / "spread.svg").exists()


def test_a_study_of_which_no_run_has_ended(tiny, tmp_path):
    def nobody(tasks):
        yield from (Failed(task.key, "no room on the disk") for task in tasks)

    small_study.train(tmp_path / "study", tiny, pool=nobody)
    with pytest.raises(StoreError, match=r"No run of the study .* is finished"):
        study_source.read(tmp_path / "study")
