"""Settings as words of `unknot study plan` and `unknot study run`."""

import json


def plan(unknot, *words):
    code, out, err = unknot("study", "plan", *words, "--json", "--no-estimate")
    assert code == 0, err
    return json.loads(out)


def test_words_flags_and_a_file_give_the_same_runs(unknot, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'seeds = [0, 1]\nmetrics = ["mig", "dci@study2019"]\nscore_every = 3\n'
        '[train]\ndata = "xysquares"\nobjective = {name = "beta_vae", beta = 2}\n'
        'net = {name = "linear", latents = 4}\nsteps = 6\n'
    )
    axis = ("--grid", "batch=4,8")
    expected = plan(unknot, str(file), *axis)
    words = ("data=xysquares", "beta=2", "latents=4", "net=linear", "steps=6", "seeds=0..1")
    metrics = ("metrics=mig,dci@study2019", "score_every=3")
    by_words = plan(unknot, *words, *metrics, *axis)
    flags = ("--data", "xysquares", "--objective", "beta_vae", "--seeds", "0,1")
    flags += ("--metrics", "mig,dci@study2019", "--score-every", "3")
    by_flags = plan(unknot, *flags, "train.net=linear", "beta=2", "latents=4", "steps=6", *axis)
    assert len(expected["ids"]) == 4
    assert by_words["ids"] == by_flags["ids"] == expected["ids"]
    assert by_words["metrics"] == expected["metrics"] == ["mig", "dci@study2019"]
    assert plan(unknot, str(file), "steps=9")["steps"] != expected["steps"]


def test_a_slip_in_a_word_has_the_nearest_name(unknot):
    code, _, err = unknot("study", "plan", "data=xysquares", "bta=2")
    assert (code, "beta" in err) == (2, True)
    code, _, err = unknot("study", "plan", "metrics=mgi", "data=xysquares")
    assert (code, "mig" in err) == (2, True)
