"""The commands that hand a model over."""

import json

import pytest

from unknot.sharing import folder


@pytest.fixture(autouse=True)
def without_onnx(monkeypatch):
    monkeypatch.setattr(folder, "is_available", lambda: False)


def test_export_writes_a_folder_and_replaces_only_its_own(unknot, train, tmp_path):
    train("--seeds", "3,4")
    model = tmp_path / "model"
    words = ("export", tmp_path / "run", "--out", model, "--member", 1)
    code, out, _ = unknot(*words)
    assert code == 0
    assert f"{model}: " in out
    assert "Largest difference from the run: PyTorch " in out
    assert "pip install 'unknot[onnx]'" in out
    assert json.loads((model / "config.json").read_text())["seed"] == 4
    code, _, err = unknot(*words)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "--force" in err
    assert unknot(*words, "--force", "--license", "mit")[0] == 0
    assert "license: mit" in (model / "README.md").read_text()
    code, out, _ = unknot("show", model / "run", "--out", tmp_path / "page")
    assert code == 0


def test_scores_of_a_run_are_in_its_card(unknot, train, tmp_path):
    train()
    words = ("--metrics", "mig", "--protocol", "study2019")
    assert unknot("evaluate", tmp_path / "run", *words)[0] == 0
    unknot("export", tmp_path / "run", "--out", tmp_path / "model")
    assert "| mig | " in (card := (tmp_path / "model" / "README.md").read_text())
    assert "study2019 v" in card
