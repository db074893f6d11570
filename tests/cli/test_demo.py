"""``unknot demo``: a study from plan to page that resumes where it was stopped."""

import tomllib
from pathlib import Path

import pytest
from report import small_study

from unknot.studies.file import presets, study_file
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import plan


@pytest.fixture
def small(monkeypatch, tiny, tmp_path):
    """The demo with a study of three tiny runs in place of the preset, in a folder of its own."""
    text = small_study.text(tiny, seeds="[0]", steps=20)
    asked = []

    def given(file, *, quick):
        asked.append((file, quick))
        return StudyFile.parse(text)

    monkeypatch.setattr(study_file, "read_study", given)
    monkeypatch.chdir(tmp_path)
    return asked


@pytest.mark.slow
def test_from_plan_to_page_and_on_after_a_stop(unknot, small, monkeypatch):
    from unknot.cli import report

    written = report.write
    monkeypatch.setattr(report, "write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    code, _, err = unknot("demo", "--device", "cpu")
    folder = Path("studies/small-study")
    assert code == 130
    assert f"Run the same command again to resume {folder}." in err
    assert "beta_vae and beta_tcvae, 3 models on arrays, 20 steps each" in err
    weights = sorted(folder.glob("populations/*/weights.safetensors"))
    before = [file.stat().st_mtime_ns for file in weights]

    monkeypatch.setattr(report, "write", written)
    code, out, err = unknot("demo", "--device", "cpu")
    assert code == 0, err
    assert [file.stat().st_mtime_ns for file in weights] == before, "nothing is trained again"
    assert len(list(folder.glob("populations/*/curves.safetensors"))) == len(weights) > 0
    figures = folder / "report" / "figures"
    for name in ("beta_vae", "beta_tcvae"):
        assert (figures / f"model-{name}-traversals.png").read_bytes().startswith(b"\x89PNG")
        assert (figures / f"model-{name}-traversals.gif").read_bytes().startswith(b"GIF89a")
        assert (figures / f"training-{name}.csv").exists()
    *_, last = out.splitlines()
    page = folder / "report" / "index.html"
    sliders = folder / "report" / "explorer.html"
    assert last.startswith(f"Open {page}, or move the sliders in {sliders}. Next, add")
    assert page.exists()
    assert "explorer-data" in sliders.read_text()
    assert 'href="model-beta_vae.html"' in page.read_text()
    assert small == [(Path("quickstart"), False)] * 2
    head = out.splitlines()[0].split()
    assert head == ["seed", "status", "objective", "objective.beta", "mig", "recon", "kl"]


def test_the_folder_of_another_study_is_not_taken_for_the_demo(unknot, small, tiny, tmp_path):
    text = small_study.text(tiny, seeds="[0]", steps=20)
    other = tmp_path / "study.toml"
    other.write_text(text.replace("small <study>", "mine"))
    assert "mine" in other.read_text()
    code, _, err = unknot("demo", "--out", tmp_path)
    said = f"unknot: {tmp_path} holds another study, mine; choose another folder with --out.\n"
    assert (code, err) == (2, said)
    assert [*tmp_path.iterdir()] == [other]


def test_the_preset_is_a_small_real_study_and_what_to_try_next_adds_to_it():
    small = plan(study_file.read_study(Path("quickstart")))
    assert len({spec.objective.name for spec in small.configurations}) >= 2
    assert len(small.sweep.seeds) >= 2
    assert small.sweep.metrics
    more = plan(study_file.read_study(Path("quickstart"), seeds="0..4"))
    assert {run.id for run in small.runs} < {run.id for run in more.runs}
    assert tomllib.loads(presets.file("quickstart").read_text())["name"] == "quickstart"
