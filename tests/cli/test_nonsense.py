"""What the command answers to nonsense."""

import pytest

NONSENSE = {
    "unknown verb": (["trian"], "train"),
    "unknown flag": (["train", "--stpes", "3"], "--steps"),
    "unknown objective": (["train", "--objective", "beta_vea"], "did you mean 'beta_vae'?"),
    "unknown dataset": (["train", "--data", "dsprits"], "did you mean 'dsprites'?"),
    "negative weight": (["train", "--set", "objective.beta=-1"], "beta must be 0 or more"),
    "too short for its schedule": (
        ["train", "--objective", "annealed_vae", "--steps", "9"],
        "objective.c changes until step 100,000, but the run ends at 9",
    ),
    "covariance of one image": (
        [
            *("train", "--objective", "dip_vae_i", "--data", "xysquares", "--batch", "1"),
            *("--set", "data.spacing=8", "--device", "cpu"),
        ],
        "DIPVAEI compares the images of a batch and needs 2 or more; got a batch of 1",
    ),
    "estimator that is none": (
        ["train", "--objective", "beta_tcvae", "--set", "objective.estimator=mvs"],
        "objective.estimator should be",
    ),
    "target below zero": (
        ["train", "--objective", "control_vae", "--set", "objective.target=-1"],
        "target must be 0 or more",
    ),
    "unknown preset": (
        ["train", "--objective", "factor_vae", "--preset", "study2091"],
        "did you mean 'study2019'?",
    ),
    "unknown objective of a gallery": (["gallery", "vea"], "did you mean 'vae'?"),
    "unknown setting": (["train", "--set", "objective.bta=4"], "did you mean 'beta'?"),
    "wrong type": (["train", "--set", "objective.beta=four"], "should be a number; got 'four'"),
    "word for a number": (["train", "--steps", "many"], "Invalid value for '--steps'"),
    "no steps": (["train", "--steps", "0"], "steps must be 1 or more"),
    "negative batch": (["train", "--batch", "-1"], "batch must be 1 or more"),
    "no latents": (["train", "--set", "net.latents=0"], "latents must be"),
    "doubled seeds": (["train", "--seeds", "0..3,2"], "twice: [2]"),
    "nonsense seeds": (["train", "--seeds", "few"], "got 'few'"),
    "no such device": (["train", "--device", "abacus"], "Devices are auto, cpu"),
    "no such precision": (["train", "--precision", "fp8"], "precision should be"),
    "missing file": (["train", "none.toml"], "none.toml"),
    "missing run": (["resume", "nowhere"], "nowhere holds no run"),
    "nothing to show": (["show", "nowhere"], "nowhere holds no run"),
    "nothing to encode": (["encode", "nowhere"], "nowhere holds no run"),
    "missing codes": (["score", "none.npz"], "none.npz"),
    "unknown room": (["list", "things"], "things"),
    "unknown data to show": (["data", "show", "dsprits"], "did you mean 'dsprites'?"),
    "unknown data setting": (["data", "show", "xysquares", "--set", "gap=1"], "spacing"),
    "bad data setting": (["data", "show", "xysquares", "--set", "spacing=9"], "spacing"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_gets_a_clear_line_and_exit_code_2(unknot, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    words, expected = NONSENSE[case]
    code, _, err = unknot(*words)
    assert code == 2
    assert expected in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
    if err.startswith("unknot:"):  # the parser of words draws a box around its own messages
        assert err.count("\n") == 1
