"""``unknot gallery``: objectives side by side, none trained or scored twice."""

import json

import numpy as np

from unknot.core import registry
from unknot.runs import evaluate
from unknot.studies.gallery import specs

WORDS = (
    *("--data", "xysquares", "--net", "linear"),
    *("--steps", 5, "--batch", 4, "--device", "cpu"),
)


def test_a_gallery_goes_on_where_it_was(unknot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, _ = unknot("gallery", "vae", *WORDS)
    assert code == 0
    weights = tmp_path / "gallery" / "vae" / "weights.safetensors"
    written = weights.stat().st_mtime_ns
    code, said, _ = unknot("gallery", "vae", "annealed_vae", "factor_vae", *WORDS)
    assert code == 0
    assert weights.stat().st_mtime_ns == written
    page = (tmp_path / "gallery" / "index.html").read_text()
    assert "3 objectives on xysquares" in page
    assert all(f'id="{name}"' in page for name in ("vae", "annealed_vae", "factor_vae"))
    assert said.splitlines()[-2:] == ["gallery/gallery.png", "gallery/index.html"]


def test_what_is_scored_is_not_scored_again(unknot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    encoded = []
    true = evaluate.encode
    monkeypatch.setattr(evaluate, "encode", lambda *a, **k: encoded.append(a) or true(*a, **k))
    assert unknot("gallery", "vae", *WORDS)[0] == 0
    assert encoded, "scores look at codes"
    file = tmp_path / "gallery" / "vae" / "scores.jsonl"
    kept = file.read_bytes()
    assert {json.loads(line)["metric"] for line in kept.splitlines()} == {"mig", "cbd"}
    first = (tmp_path / "gallery" / "index.html").read_text()

    encoded.clear()
    assert unknot("gallery", "vae", *WORDS)[0] == 0
    assert encoded == []
    assert file.read_bytes() == kept
    assert (tmp_path / "gallery" / "index.html").read_text() == first


def test_settings_of_a_finished_run_are_not_passed_over(unknot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert unknot("gallery", "vae", *WORDS)[0] == 0
    code, _, said = unknot("gallery", "vae", *WORDS, "--seed", 5)
    assert code == 2
    assert "gallery/vae was trained with other settings" in said
    code, _, said = unknot("gallery", "vae", *WORDS, "--out", "gallery/vae")
    assert code == 2
    assert said.strip() == (
        "unknot: gallery/vae holds a run or a study; choose another folder with --out."
    )


def test_a_run_that_diverged_is_shown_as_one(unknot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, said = unknot("gallery", "vae", "beta_vae", *WORDS, "--lr", 1e25)
    assert code == 0, said
    assert "diverged" in (tmp_path / "gallery" / "index.html").read_text()


def test_images_without_labels_have_a_page_without_scores(unknot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("faces.npz", images=np.arange(30 * 64, dtype=np.uint8).reshape(30, 8, 8))
    words = ("--data", "faces.npz", *WORDS[2:])
    code, _, err = unknot("gallery", "vae", *words)
    assert code == 0, err
    assert 'id="vae"' in (tmp_path / "gallery" / "index.html").read_text()


def test_every_objective_has_settings_for_so_few_steps():
    """Also those whose schedules end after the gallery does, which would be refused."""
    trained = specs(None, data="dsprites", net="conv64", steps=50, batch=4, lr=1e-3, seed=0)
    assert [*trained] == registry.names("objectives")
