"""The command line: what it writes, prints and answers to nonsense."""

import json
import resource
import subprocess
import sys

import numpy as np
import pytest

VERBS = [
    "demo",
    "train",
    "resume",
    "encode",
    "evaluate",
    "score",
    "show",
    "gallery",
    "learn-loss",
    "distances",
    "list",
    "report",
    "study",
    "data",
]


def test_help_names_every_verb_and_each_has_an_example(unknot):
    code, out, _ = unknot("--help")
    assert code == 0
    assert all(verb in out for verb in VERBS)
    for verb in [
        *VERBS[:-2],
        *(("study", verb) for verb in ("plan", "run", "status", "table", "take")),
        ("data", "list"),
        ("data", "show"),
        ("data", "distances"),
    ]:
        code, out, _ = unknot(*([verb] if isinstance(verb, str) else verb), "--help")
        assert code == 0
        assert "Example" in out


def test_train_writes_a_run_that_the_other_verbs_use(unknot, train, tmp_path):
    run = tmp_path / "run"
    code, out, _ = train("--seeds", "0..2", "--lr", "0.01", "--set", "objective.beta=2")
    assert code == 0
    assert f"unknot show {run}" in out
    code, _, _ = unknot("encode", run, "--out", tmp_path / "codes.npz", "--device", "cpu")
    assert code == 0
    with np.load(tmp_path / "codes.npz") as codes:
        assert codes["codes"].shape == codes["logvars"].shape == (3, 64, 3)
        assert codes["factors"].shape == (64, 3)
        np.testing.assert_array_equal(codes["index"], np.arange(64))
    code, _, _ = unknot("show", run, "--device", "cpu")
    assert code == 0
    for name in ("traversals.png", "traversals.gif", "curves.png", "index.html"):
        assert (run / name).stat().st_size > 0
    code, out, _ = unknot("resume", run, "--device", "cpu")
    assert (code, "Nothing left to do" in out) == (0, True)


def test_a_file_gives_the_settings_and_flags_win_over_it(unknot, tiny, tmp_path):
    file = tmp_path / "spec.toml"
    file.write_text(
        f'steps = 50\nbatch = 4\nseeds = [3, 1]\n[data]\nname = "arrays"\npath = "{tiny}"\n'
        '[net]\nname = "linear"\nlatents = 2\n[objective]\nname = "beta_vae"\nbeta = 7\n'
    )
    out = tmp_path / "run"
    words = ("--steps", 12, "--set", "objective.beta=3", "--set", "net.latents=4")
    code, said, _ = unknot("train", file, *words, "--out", out, "--device", "cpu", "--json")
    assert code == 0
    facts = json.loads(said)
    assert (facts["status"], facts["run"], len(facts["ids"])) == ("done", str(out), 2)
    import tomllib

    spec = tomllib.loads((out / "run.toml").read_text())
    assert (spec["steps"], spec["batch"], spec["seeds"]) == (12, 4, [3, 1])
    assert (spec["objective"]["beta"], spec["net"]["latents"]) == (3.0, 4)


def test_encode_some_rows(unknot, train, tmp_path):
    train()
    file = tmp_path / "some.npz"
    words = ("--rows", 500, "--out", file, "--device", "cpu")
    assert unknot("encode", tmp_path / "run", *words)[0] == 0
    with np.load(file) as some:
        assert some["codes"].shape == (500, 3)
        assert len(np.unique(some["index"])) == 64
    code, _, err = unknot("encode", tmp_path / "run", *words)
    assert code == 2
    assert "exists already" in err
    assert unknot("encode", tmp_path / "run", *words, "--force")[0] == 0


def test_evaluate_adds_nothing_twice(unknot, train, tmp_path):
    train("--seeds", "0,1")
    words = ("evaluate", tmp_path / "run", "--metrics", "mig,modularity", "--device", "cpu")
    code, out, _ = unknot(*words)
    assert code == 0
    assert "4 new of 4 records" in out
    before = (tmp_path / "run" / "scores.jsonl").read_bytes()
    assert "0 new of 4 records" in unknot(*words)[1]
    assert (tmp_path / "run" / "scores.jsonl").read_bytes() == before
    assert "4 new of 4 records" in unknot(*words, "--protocol", "study2019")[1]
    records = json.loads(unknot(*words, "--json")[1])
    assert {(r["seed"], r["metric"]) for r in records} == {
        (s, m) for s in (0, 1) for m in ("mig", "modularity")
    }


def test_evaluate_tells_what_it_skipped_and_remarks(unknot, train, tmp_path):
    train()
    words = ("evaluate", tmp_path / "run", "--device", "cpu")
    code, out, _ = unknot(*words, "--protocol", "carbonneau")
    assert code == 0
    assert "elbo skipped: elbo has no protocol 'carbonneau'; known: paper, unknot." in out
    assert "mig " in out
    code, out, _ = unknot(*words, "--metrics", "elbo,kl_per_dimension")
    assert code == 0
    assert "elbo: pixels between 0 and 1 have a cross-entropy" in out
    assert "kl_per_dimension.active" in out
    assert "skipped" not in out


def test_score_reads_plain_arrays(unknot, tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, (2000, 2))
    np.savez(
        tmp_path / "codes.npz", codes=factors + 0.01 * rng.normal(size=(2000, 2)), factors=factors
    )
    code, out, _ = unknot("score", tmp_path / "codes.npz", "--metrics", "mig", "--json")
    assert code == 0
    assert json.loads(out)["scores"]["mig"]["values"]["mig"] > 0.9
    assert "mig" in unknot("score", tmp_path / "codes.npz", "--metrics", "mig")[1]


def test_score_takes_log_variances_where_the_file_has_them(unknot, train, tmp_path):
    train("--seeds", "0,1")
    file = tmp_path / "codes.npz"
    unknot("encode", tmp_path / "run", "--out", file, "--device", "cpu")
    words = ("--metrics", "mig,kl_per_dimension", "--protocol", "paper", "--member", 1)
    code, out, _ = unknot("score", file, *words, "--json")
    assert code == 0
    scores = json.loads(out)["scores"]
    with np.load(file) as saved:
        mean, logvar = saved["codes"][1], saved["logvars"][1]
    kl = 0.5 * (mean**2 + np.exp(logvar) - 1 - logvar).mean(0).sum()
    assert scores["kl_per_dimension"]["values"]["kl_per_dimension"] == pytest.approx(kl, rel=1e-5)
    np.savez(file, codes=mean, factors=np.indices((4, 4, 4)).reshape(3, -1).T)
    code, _, err = unknot("score", file, *words)
    assert (code, "`logvar`" in err) == (2, True)


def test_score_takes_a_test_set_from_the_file(unknot, tmp_path):
    """Codes that predict the training factors and not those of the test set."""
    draw = np.random.default_rng(0)
    factors = np.stack([draw.integers(0, 3, 300), draw.integers(0, 4, 300)], axis=1)
    arrays = {"codes": factors + 0.01 * draw.normal(size=(300, 2)), "factors": factors}
    np.savez(tmp_path / "half.npz", **arrays, codes_test=arrays["codes"])
    code, _, said = unknot("score", tmp_path / "half.npz", "--metrics", "dci")
    assert code == 2
    assert "has codes_test but no other half of a test set" in said
    shuffled = {"codes_test": arrays["codes"], "factors_test": draw.permutation(factors)}
    np.savez(tmp_path / "both.npz", **arrays, **shuffled)
    code, out, _ = unknot("score", tmp_path / "both.npz", "--metrics", "dci", "--json")
    assert code == 0
    values = json.loads(out)["scores"]["dci"]["values"]
    assert values["dci.train_informativeness"] == 1
    assert values["dci.informativeness"] < 0.5


def test_lists_as_tables_and_as_json(unknot):
    for room, name in [("objectives", "beta_vae"), ("datasets", "dsprites"), ("nets", "conv64")]:
        assert name in unknot("list", room)[1]
        names = [row["name"] for row in json.loads(unknot("list", room, "--json")[1])]
        assert name in names
        assert names == sorted(names)
    (beta,) = [
        r for r in json.loads(unknot("list", "objectives", "--json")[1]) if r["name"] == "beta_vae"
    ]
    assert beta["settings"] == {"beta": "4.0", "likelihood": "'bernoulli'"}
    assert "path standardise=False" in unknot("list", "datasets")[1].replace("\n", " ")
    said = unknot("list", "objectives")[1]
    assert "  Kim and Mnih 2018\n" in said
    assert "presets: study2019, mushom" in said
    rows = {row["name"]: row for row in json.loads(unknot("data", "list", "--json")[1])}
    assert (rows["dsprites"]["images"], rows["dsprites"]["shape"]) == (737_280, "1 x 64 x 64")
    assert rows["dsprites"]["factors"] == "shape 3, scale 6, orientation 40, pos_x 32, pos_y 32"
    assert rows["arrays"]["images"] == ""


def test_draws_are_listed_with_those_of_other_packages(unknot, monkeypatch):
    from importlib import metadata

    from unknot.data import draw

    rows = {row["name"]: row for row in json.loads(unknot("list", "draws", "--json")[1])}
    assert list(rows) == ["pairs", "singles", "triplets"]
    assert rows["pairs"]["settings"] == {"changed": "None", "sampler": "'exact'"}
    assert [rows[name]["views"] for name in rows] == [2, 1, 3]
    assert rows["triplets"]["paper"] == "Michlo 2022"
    said = unknot("list", "draws")[1]
    assert "singles  Rows one by one" in said
    assert "changed=None sampler='exact'" in said

    def entries(group):
        own = [("walks", "unknot.data.draw:Pairs"), ("broken", "no_such_module:Draw")]
        return [metadata.EntryPoint(n, at, group) for n, at in own if group == "unknot.draws"]

    monkeypatch.setattr(metadata, "entry_points", entries)
    monkeypatch.setattr(draw, "entry_points", entries)
    rows = {row["name"]: row for row in json.loads(unknot("list", "draws", "--json")[1])}
    assert list(rows) == ["broken", "pairs", "singles", "triplets", "walks"]
    assert rows["walks"]["settings"] == rows["pairs"]["settings"]
    assert "cannot be imported" in rows["broken"]["what it is"]
    assert unknot("list", "draws")[0] == 0


def test_a_gallery_goes_on_where_it_was(unknot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = (
        "--data",
        "xysquares",
        "--net",
        "linear",
        "--steps",
        5,
        "--batch",
        4,
        "--device",
        "cpu",
    )
    code, _, _ = unknot("gallery", "vae", *words)
    assert code == 0
    weights = tmp_path / "gallery" / "vae" / "weights.safetensors"
    written = weights.stat().st_mtime_ns
    code, said, _ = unknot("gallery", "vae", "annealed_vae", "factor_vae", *words)
    assert code == 0
    assert weights.stat().st_mtime_ns == written
    page = (tmp_path / "gallery" / "index.html").read_text()
    assert "3 objectives on xysquares" in page
    assert all(f'id="{name}"' in page for name in ("vae", "annealed_vae", "factor_vae"))
    assert said.splitlines()[-2:] == ["gallery/gallery.png", "gallery/index.html"]


def test_data_show(unknot, tmp_path):
    picture = tmp_path / "squares.png"
    code, out, _ = unknot("data", "show", "xysquares", "--set", "spacing=4", "--out", picture)
    assert code == 0
    assert "262,144 images" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    (facts,) = json.loads(unknot("data", "show", "dsprites", "--json")[1])
    assert facts["size"] == 737_280
    assert [f["values"] for f in facts["factors"]] == [3, 6, 40, 32, 32]


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
    "wrong type": (["train", "--set", "objective.beta=four"], "valid number; got 'four'"),
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


def test_foreign_and_truncated_files(unknot, train, tmp_path):
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, codes=np.array([{"a": 1}], dtype=object), factors=np.zeros((1, 1)))
    assert unknot("score", pickled)[0] == 2
    (tmp_path / "text.npz").write_text("not an archive")
    assert unknot("score", tmp_path / "text.npz")[0] == 2
    np.savez(tmp_path / "named.npz", code=np.zeros((4, 1)), factors=np.zeros((4, 1), int))
    code, _, err = unknot("score", tmp_path / "named.npz")
    assert (code, "did you mean 'code'?" in err) == (2, True)
    train()
    weights = tmp_path / "run" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7])
    code, _, err = unknot("show", tmp_path / "run", "--device", "cpu")
    assert (code, "not a safetensors file" in err) == (2, True)


def test_a_file_where_a_folder_should_be(unknot, train, tmp_path):
    (tmp_path / "plain").write_text("")
    code, _, err = train(out=tmp_path / "plain" / "run")
    assert (code, "Could not write" in err) == (1, True)
    code, _, err = unknot("data", "show", "xysquares", "--out", tmp_path / "plain" / "x.png")
    assert (code, "Could not write" in err) == (1, True)


def test_codes_of_several_models_need_a_choice(unknot, train, tmp_path):
    train("--seeds", "0,1")
    unknot("encode", tmp_path / "run", "--out", tmp_path / "codes.npz", "--device", "cpu")
    code, _, err = unknot("score", tmp_path / "codes.npz", "--metrics", "mig")
    assert (code, "choose one with --member" in err) == (2, True)
    assert unknot("score", tmp_path / "codes.npz", "--metrics", "mig", "--member", 1)[0] == 0


def test_too_little_memory_is_said(unknot, monkeypatch):
    from unknot.study import run

    def greedy(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 TB")

    monkeypatch.setattr(run, "train", greedy)
    code, _, err = unknot("train", "--data", "xysquares", "--net", "linear")
    assert (code, err) == (
        1,
        "unknot: not enough memory; try a smaller --batch or fewer --seeds.\n",
    )


def test_an_occupied_folder_is_refused(train, tmp_path):
    assert train()[0] == 0
    code, _, err = train()
    assert code == 2
    assert f"unknot resume {tmp_path / 'run'}" in err


def test_all_diverged_is_a_failure(train):
    code, out, _ = train("--lr", "1e25", "--set", "objective.likelihood=gaussian", "--steps", 300)
    assert code == 1
    assert "diverged" in out


def test_debug_shows_the_traceback(monkeypatch):
    from unknot.cli.main import main
    from unknot.core.errors import StoreError

    monkeypatch.setattr(sys, "argv", ["unknot", "--debug", "resume", "nowhere"])
    with pytest.raises(StoreError):
        main()


def test_a_full_disk_is_said_and_loses_nothing(tiny, tmp_path):
    """The system refuses to let a file grow, as a full disk would: in a process of its own."""
    out = tmp_path / "run"
    words = [
        *(sys.executable, "-m", "unknot", "train", "--data", "arrays", "--net", "linear"),
        *("--set", f"data.path={tiny}", "--steps", "40", "--batch", "8", "--device", "cpu"),
        *("--checkpoint-every", "10", "--out", str(out)),
    ]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))  # noqa: E731
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert done.returncode == 1
    assert "Could not write the checkpoint" in done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((out / "checkpoints").iterdir()) == []
    resume = [sys.executable, "-m", "unknot", "resume", str(out), "--device", "cpu"]
    assert subprocess.run(resume, capture_output=True, check=False).returncode == 0


def test_import_and_help_leave_torch_alone():
    heavy = "('torch', 'numpy', 'pydantic', 'matplotlib', 'scipy', 'sklearn')"
    for code in (
        "import sys, unknot; print([m for m in sys.modules if m in %s])",
        "import sys; sys.argv = ['unknot', '--help']\n"
        "from unknot.cli.main import main\n"
        "try: main()\nexcept SystemExit: print([m for m in sys.modules if m in %s])",
    ):
        said = subprocess.run(
            [sys.executable, "-c", code % heavy], capture_output=True, text=True, check=True
        )
        assert said.stdout.splitlines()[-1] == "[]"


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "unknot", "--version"], capture_output=True, text=True, check=True
    )
    import unknot

    assert done.stdout == f"unknot {unknot.__version__}\n"
