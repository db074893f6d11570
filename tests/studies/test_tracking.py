"""What leaves a study: tables, and runs in trackers, read back with each one's own reader."""

import csv
import json
import sys

import pytest

from unknot.core.csv_files import csv_text
from unknot.core.errors import ConfigError, UnknotError
from unknot.studies import export, tracking
from unknot.studies.execute import driver
from unknot.studies.execute.events import Done, Failed
from unknot.studies.execute.run_task import run_population_task
from unknot.studies.file.study_file import StudyFile


@pytest.fixture(scope="module")
def study(tiny, tmp_path_factory):
    """Four runs that end, two of them with a schedule for beta, and two that fail."""
    folder = tmp_path_factory.mktemp("tracked") / "study"
    text = f"""
        name = "two betas"
        seeds = [0, 1]
        metrics = ["mig", "sap"]
        [train]
        data = {{name = "arrays", path = "{tiny}"}}
        net = {{name = "linear", latents = 3}}
        steps = 20
        batch = 8
        log_every = 5
        [[grid]]
        objective = {{name = "beta_vae", beta = [1, {{kind = "linear", start = 0, end = 4}}]}}
        [[grid]]
        data.path = "{tiny.with_name("missing.npz")}"
    """

    def inline(tasks):
        for task in tasks:
            try:
                yield Done(task.key, run_population_task(task))
            except UnknotError as error:
                yield Failed(task.key, str(error))

    return driver.run(folder, StudyFile.parse(text), device="cpu", pool=inline)


@pytest.fixture(scope="module")
def ended(study):
    rows = [row for row in study.table() if row["status"] == "done"]
    assert len(rows) == 4
    assert len(study.table()) == 6
    return {row["id"]: row for row in rows}


def test_parquet_and_csv_hold_the_same_values(study, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    rows = study.table()
    (tmp_path / "t.csv").write_text(csv_text(rows))
    export.write_parquet(rows, tmp_path / "t.parquet")
    with (tmp_path / "t.csv").open(newline="") as file:
        plain = [*csv.DictReader(file)]
    typed = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [[*row] for row in typed] == [[*row] for row in plain]
    for one, other, row in zip(plain, typed, rows, strict=True):
        for name, text in one.items():
            value = other[name]
            assert text == ("" if value is None else str(value)), name
            if isinstance(row.get(name), float):
                assert value == row[name]
    numbers = {type(row["mig"]) for row in typed} - {type(None)}
    assert numbers == {float}


def test_parquet_keeps_numbers_words_and_lists_apart(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    rows = [{"a": 1, "b": 1, "c": [1, 2]}, {"a": 2.5, "b": "linear"}, {"a": None, "d": True}]
    export.write_parquet(rows, tmp_path / "t.parquet")
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == [
        {"a": 1.0, "b": "1", "c": "[1, 2]", "d": None},
        {"a": 2.5, "b": "linear", "c": None, "d": None},
        {"a": None, "b": None, "c": None, "d": True},
    ]
    assert csv_text(rows) == 'a,b,c,d\n1,1,"[1, 2]",\n2.5,linear,,\n,,,True\n'


def curve(study, name, key):
    curves = study.curves(name)
    return dict(zip(curves.steps, curves[key][:, 0].tolist(), strict=True))


@pytest.mark.filterwarnings("default")
def test_tensorboard_shows_curves_settings_and_scores(study, ended, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import plugin_data_pb2

    out = tmp_path / "board"
    assert str(out) in tracking.to_tensorboard(study, str(out))
    assert {path.name for path in out.iterdir()} == {*ended}
    for name, row in ended.items():
        events = EventAccumulator(str(out / name))
        events.Reload()
        scalars = {event.step: event.value for event in events.Scalars("loss")}
        expected = curve(study, name, "loss")
        assert [*scalars] == [1, 5, 10, 15, 20]
        assert scalars == pytest.approx(expected, rel=1e-6)  # it stores single precision
        (score,) = events.Scalars("score/mig")
        assert score.value == pytest.approx(row["mig"], rel=1e-6)
        start = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
        told = plugin_data_pb2.HParamsPluginData.FromString(start).session_start_info.hparams
        assert told["objective"].string_value == "beta_vae"
        assert told["seed"].number_value == row["seed"]
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/*")}
    tracking.to_tensorboard(study, str(out))
    assert {path: path.stat().st_mtime_ns for path in out.glob("*/*")} == before


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_mlflow_shows_curves_settings_and_scores(study, ended, tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    uri = f"sqlite:///{tmp_path / 'runs.db'}"
    for _ in range(2):  # the second finds all there
        assert "two betas" in tracking.to_mlflow(study, uri)
    client = mlflow.MlflowClient(uri)
    number = client.get_experiment_by_name("two betas").experiment_id
    runs = {run.info.run_name: run for run in client.search_runs([number])}
    assert {*runs} == {*ended}
    assert len(client.search_runs([number])) == 4
    for name, run in runs.items():
        row = ended[name]
        assert run.info.status == "FINISHED"
        assert run.data.metrics["score/mig"] == row["mig"]
        assert run.data.params["seed"] == str(row["seed"])
        assert run.data.params["objective"] == "beta_vae"
        told = client.get_metric_history(run.info.run_id, "loss")
        assert {metric.step: metric.value for metric in told} == curve(study, name, "loss")


def chunks(data):
    """Records of a W&B file: a LevelDB log, blocks of 32 KiB after a header of 7 bytes."""
    at, parts = 7, []
    while at + 7 <= len(data):
        if 32_768 - at % 32_768 < 7:  # no room for a header: the rest of the block is empty
            at += 32_768 - at % 32_768
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        parts.append(data[at + 7 : at + 7 + length])
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield b"".join(parts)
            parts = []


@pytest.mark.filterwarnings("default")
def test_wandb_gets_curves_settings_and_scores(study, ended, tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="wandb is not installed")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    assert "'bars'" in tracking.to_wandb(study, "bars")
    files = [*study.path.glob("wandb/offline-run-*/run-*.wandb")]
    assert {path.stem.removeprefix("run-") for path in files} == {*ended}
    for path in files:
        name, logged, summary, config = path.stem.removeprefix("run-"), {}, {}, {}
        for record in map(wandb_internal_pb2.Record.FromString, chunks(path.read_bytes())):
            if record.HasField("history"):
                told = {"/".join(i.nested_key) or i.key: i.value_json for i in record.history.item}
                logged[int(told["_step"])] = json.loads(told["loss"])
            for item in record.summary.update:
                summary["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
            for item in record.run.config.update:
                config["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
        assert logged == curve(study, name, "loss")
        assert summary["score/mig"] == ended[name]["mig"]
        assert (config["objective"], config["seed"]) == ("beta_vae", ended[name]["seed"])


@pytest.mark.parametrize("name", [*tracking.TRACKERS])
def test_a_tracker_that_is_not_installed_says_what_to_install(study, name, monkeypatch):
    for module in (name, "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=rf"pip install 'unknot\[{name}\]'"):
        tracking.TRACKERS[name](study, None)
