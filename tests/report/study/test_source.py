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
        ("objective,mig,status\nvae,0.1,diverged\n", ConfigError, "no scores"),
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
