"""Every bad input that was ever tried: one line, the right exit code, nothing written."""

import random

import numpy as np
import pytest
import torch
from bad_inputs import CALLS, COMMANDS, write_files
from bad_inputs.arguments import VALUES, arguments
from bad_inputs.checks import check_argument, check_call, check_command, check_generated
from bad_inputs.generated import SETTINGS

import unknot as library
from unknot.core.errors import UnknotError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    write_files(folder)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny):
    path = tmp_path_factory.mktemp("runs") / "run"
    settings = {"data": "arrays", "data_settings": {"path": str(tiny)}, "net": "linear"}
    library.train(**settings, steps=2, batch=4, device="cpu", out=path)
    return path


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: ascii(" ".join(row.words))[1:60])
def test_a_bad_command_gets_one_line(folder, run, row):
    check_command(row, folder, run)


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row.code)
def test_a_bad_call_raises_one_line(run, row):
    check_call(row, run)


def test_settings_with_values_of_another_kind_get_one_line(tiny):
    for text in random.Random(5).sample(SETTINGS, 40):
        check_generated(text, tiny)


def test_arguments_of_another_type_get_one_line(run):
    for case in arguments(run):
        for value in VALUES:
            check_argument(*case, value)


@pytest.mark.parametrize("seeds", [np.int64(3), np.array([3, 4]), (np.int32(1),), range(2)])
def test_seeds_may_be_numbers_of_numpy(tiny, seeds):
    settings = {"data": "arrays", "data_settings": {"path": str(tiny)}, "net": "linear"}
    run = library.train(**settings, steps=1, batch=4, device="cpu", seeds=seeds)
    assert [*run.spec.seed_list] == [*np.atleast_1d(seeds)]


def test_settings_may_be_numbers_and_devices_of_other_libraries(tiny):
    settings = {"data": "arrays", "data_settings": {"path": str(tiny)}, "net": "linear"}
    numbers = {"steps": np.int64(1), "batch": torch.tensor(4), "beta": np.float32(2)}
    run = library.train(**settings, **numbers, device=torch.device("cpu"))
    assert run.spec.ids() == library.train(**settings, steps=1, batch=4, beta=2).spec.ids()


def test_an_array_may_run_backwards():
    images = np.arange(8 * 16 * 16, dtype="uint8").reshape(8, 16, 16)
    backwards = library.train(images[::-1], net="linear", steps=1, batch=4)
    straight = library.train(images[::-1].copy(), net="linear", steps=1, batch=4)
    assert backwards.spec.ids() == straight.spec.ids()


def test_a_number_of_steps_that_is_none_leaves_the_run_as_it_is(run):
    before = {path.name: path.read_bytes() for path in run.glob("*.*")}
    with pytest.raises(UnknotError):
        library.load(run).train_more(1.5)
    assert {path.name: path.read_bytes() for path in run.glob("*.*")} == before


def test_a_run_may_be_written_into_an_empty_folder_that_one_is_in(train, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = train(out=".")
    assert code == 0, err
    assert (tmp_path / "weights.safetensors").exists()


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300])
@pytest.mark.parametrize("metric", ["mig", "sap", "modularity", "jemmig"])
def test_tiny_and_huge_codes_have_a_score(metric, scale):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (200, 2))
    score = getattr(library.metrics, metric)(factors * scale, factors)
    assert np.isfinite(float(score))


@pytest.mark.parametrize("seed", ["", "1e999", "3", "3.0"])
def test_a_table_may_lack_seeds(tmp_path, seed):
    from unknot.report.study import source

    file = tmp_path / "runs.csv"
    file.write_text(f"id,objective,seed,mig\na,vae,{seed},0.5\nb,vae,7,0.25\n")
    results = source.read(file).results
    assert results.table["seed"][0] in (None, 3)
    assert results.scores == ["mig"]


def test_a_page_of_a_table_without_seeds_and_with_long_names_is_written(unknot, tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text(
        "id,objective,seed,mig\na,vae,,0.5\nb,[/],,0.25\n"
        f"c,{'long ' * 20}name,,0.3\nd,{'long ' * 20}other,,0.4\ne,\x1b[31mred,,0.1\n"
    )
    code, _, err = unknot("report", file, "--out", tmp_path / "page")
    assert code == 0, err
    page = (tmp_path / "page" / "index.html").read_text()
    assert "[/]" in page
    assert "\\x1b[31mred" in page
    assert "Glyph" not in err
