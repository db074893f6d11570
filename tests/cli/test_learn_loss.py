"""``unknot learn-loss``: files that appear whole, or not at all."""

import json

import numpy as np
import pytest
import torch
from cli.usual import without

from unknot.core.csv_files import read_csv
from unknot.learnt_loss.learn import LearntLoss, agreement
from unknot.losses.overlap import read_kernel


@pytest.fixture
def learn(unknot, tiny, tmp_path):
    def call(*words, path=tiny):
        return unknot(
            *("learn-loss", "--set", f"data.path={path}", *words),
            *without(words, data="arrays", device="cpu", radius=2, steps=20, batch=16, pairs=64),
            *without(words, out=tmp_path / "kernel.safetensors"),
        )

    return call


def test_a_kernel_is_learnt_saved_and_trained_with(learn, unknot, tiny, tmp_path):
    code, out, err = learn("--set", "loss.l2=0", "--seed", 3)
    path = tmp_path / "kernel.safetensors"
    assert code == 0, err
    assert "factor_rank" in out
    picture = tmp_path / "kernel.png"
    assert out.splitlines()[-1] == f"Kernel: {path}; its picture: {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "rank correlation" in err
    kernel, sha256 = read_kernel(str(path))
    assert kernel.shape == (5, 5)
    likelihood = f'objective.likelihood={{kind="overlap", kernel="learnt", path="{path}"}}'
    code, _, err = unknot(
        *("train", "--data", "arrays", "--set", f"data.path={tiny}", "--net", "linear"),
        *("--set", likelihood, "--steps", 5, "--batch", 8, "--device", "cpu"),
        *("--out", tmp_path / "run"),
    )
    assert code == 0, err
    assert f'sha256 = "{sha256}"' in (tmp_path / "run" / "run.toml").read_text()


def test_help_has_an_example(unknot):
    code, out, _ = unknot("learn-loss", "--help")
    assert (code, "Example" in out) == (0, True)


def test_results_for_programs_and_a_dataset_resaved(learn, tiny, tmp_path):
    code, out, _ = learn("--json", "--resave", tmp_path / "blurred.npz")
    assert code == 0
    before, after = json.loads(out)
    assert (before["distances"], after["distances"]) == ("of pixels", "learnt")
    with np.load(tmp_path / "blurred.npz") as blurred, np.load(tiny) as given:
        assert len(blurred["images"]) == len(given["images"])
        assert blurred["images"].max() == 255


@pytest.mark.parametrize("name", ["kernel.safetensors", "kernel.png"])
def test_a_file_that_is_there_is_kept(learn, tmp_path, name):
    (tmp_path / name).write_text("mine")
    code, _, err = learn()
    assert (code, "already exists" in err) == (2, True)
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith("kernel")] == [name]
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--radius", 99), "radius 99 reaches further than images of"),
        (("--mode", "worsen"), "loss.mode should be 'improve', 'adversarial' or 'none'"),
        (("--set", "loss.radios=3"), "Unknown key 'loss.radios'; did you mean 'radius'?"),
        (("--set", "foo=1"), "Unknown key 'foo'; known: data, loss."),
        (("--set", "lass.l2=0"), "Unknown key 'lass'; did you mean 'loss'?"),
        (("--set", "loss=3"), "loss must be a table, such as loss.l2=0; got 3."),
        (("--set", "loss=bce"), "loss must be a table, such as loss.l2=0; got 'bce'."),
        (("--set", "data.name=5"), "data.name must be the name of one of the datasets; got 5."),
        (("--set", "data=5"), "data must be a table or a name; got 5."),
        (("--set", "data=xysquare"), "There is no dataset 'xysquare'"),
        (("--data", "xysquare"), "There is no dataset 'xysquare'; did you mean 'xysquares'?"),
    ],
)
def test_nonsense_gets_one_line(learn, words, said, tmp_path):
    code, _, err = learn(*words)
    assert code == 2
    assert said in err
    assert err.strip().count("\n") == 0
    assert not (tmp_path / "kernel.safetensors").exists()


def test_images_without_factors_have_no_order_to_learn(learn, tmp_path):
    np.savez(tmp_path / "bare.npz", images=np.zeros((6, 16, 16, 1), np.uint8))
    code, _, err = learn(path=tmp_path / "bare.npz")
    assert code == 2
    assert err.strip() == (
        "unknot: Learnt losses compare factors and arrays has none; "
        "give labels, or add 'factors' to its file."
    )
    assert not (tmp_path / "kernel.safetensors").exists()


def test_data_may_be_a_name_or_a_table_of_its_own(learn, tiny, tmp_path):
    code, _, err = learn("--data", "xysquares", "--set", f'data={{name="arrays", path="{tiny}"}}')
    assert code == 0, err
    assert (tmp_path / "kernel.safetensors").exists()


def test_a_dataset_named_twice_is_refused(learn):
    code, _, err = learn("--set", "data=dsprites", "--set", "data=arrays")
    assert (code, err.strip()) == (2, "unknot: data is given twice; leave one of them out.")


def test_ctrl_c_leaves_nothing(learn, tmp_path, monkeypatch):
    def interrupted(*_, watch, **__):
        watch(10, 0.5)
        raise KeyboardInterrupt

    before = {*tmp_path.iterdir()}
    monkeypatch.setattr("unknot.learnt_loss.learn.learn_loss", interrupted)
    code, _, _ = learn()
    assert code == 130
    assert {*tmp_path.iterdir()} == before


def test_the_same_command_resumes_and_another_is_refused(learn, tmp_path, monkeypatch):
    assert learn()[0] == 0
    path = tmp_path / "kernel.safetensors"
    whole, _ = read_kernel(str(path))
    path.unlink()
    (tmp_path / "kernel.png").unlink()
    assert not (tmp_path / "kernel.checkpoints").exists()
    monkeypatch.setattr("unknot.learnt_loss.learn.SAVE_EVERY", 15)
    with monkeypatch.context() as patch:

        def interrupt(*_, **__):
            raise KeyboardInterrupt

        patch.setattr("unknot.learnt_loss.learn.agreement", interrupt)
        assert learn()[0] == 130
    assert not path.exists()
    code, _, err = learn("--lr", 0.5)
    assert (code, "are of other settings or data" in err) == (2, True)
    code, _, err = learn()
    assert code == 0, err
    assert torch.equal(read_kernel(str(path))[0], whole)
    assert not (tmp_path / "kernel.checkpoints").exists()


@pytest.fixture
def learn_grid(unknot, tiny, tmp_path):
    def call(*words):
        return unknot(
            *("learn-loss", "--data", "arrays", "--set", f"data.path={tiny}", "--device", "cpu"),
            *("--steps", 12, "--batch", 16, "--pairs", 64, "--out", tmp_path / "kernels", *words),
        )

    return call


AXES = ("--grid", "radius=1,3", "--grid", "lr=0.001,0.1")


def test_a_grid_is_planned_learnt_and_resumed(learn_grid, learn, tmp_path, monkeypatch):
    folder = tmp_path / "kernels"
    code, out, err = learn_grid(*AXES, "--plan", "--json")
    assert code == 0, err
    plan = json.loads(out)
    assert [(row["radius"], row["lr"], row["state"]) for row in plan] == [
        (r, lr, "to do") for r in "13" for lr in ("0.001", "0.1")
    ]
    assert not folder.exists()

    monkeypatch.setattr("unknot.learnt_loss.learn.SAVE_EVERY", 5)
    with monkeypatch.context() as patch:
        calls = []

        def interrupt(*_, **__):
            calls.append(0)
            if len(calls) == 3:  # two for each kernel: the second one is never finished
                raise KeyboardInterrupt
            return agreement(*_, **__)

        patch.setattr("unknot.learnt_loss.learn.agreement", interrupt)
        assert learn_grid(*AXES)[0] == 130
    assert len(read_csv(folder / "kernels.csv")) == 1
    code, out, _ = learn_grid(*AXES, "--plan", "--json")
    assert [row["state"] for row in json.loads(out)] == ["done", "at step 10", "to do", "to do"]
    first = (folder / f"{plan[0]['id']}.safetensors").stat().st_mtime_ns

    code, out, err = learn_grid(*AXES)
    assert code == 0, err
    assert "4 kernels, 3 of them to learn: 36 steps." in out
    assert (folder / f"{plan[0]['id']}.safetensors").stat().st_mtime_ns == first
    rows = read_csv(folder / "kernels.csv")
    assert [row["id"] for row in rows] == [row["id"] for row in plan]
    assert (folder / "kernels.png").read_bytes().startswith(b"\x89PNG")
    assert not [*folder.glob("*.checkpoints")]

    # The same kernel as by a command of its own.
    assert learn("--radius", 1, "--steps", 12, "--lr", 0.1)[0] == 0
    alone = LearntLoss.load(tmp_path / "kernel.safetensors")
    among = LearntLoss.load(folder / f"{plan[1]['id']}.safetensors")
    assert torch.equal(alone.kernel, among.kernel)
    assert float(rows[1]["factor_rank"]) == alone.after.factor_rank
    assert float(rows[1]["pixels.factor_rank"]) == alone.before.factor_rank


def test_the_published_grid(unknot, tmp_path):
    code, out, err = unknot("learn-loss", "--preset", "michlo2022_e8", "--plan", "--json")
    assert code == 0, err
    assert len({row["id"] for row in json.loads(out)}) == 32
    fewer = ("--lr", 0.001, "--grid", "radius=15")
    code, out, _ = unknot("learn-loss", "--preset", "michlo2022_e8", *fewer, "--plan", "--json")
    assert [row["data.square"] for row in json.loads(out)] == ["8", "4", "2", "1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--grid", "radius=1,99"), "radius 99 reaches further than images of"),
        (("--grid", "radius=1,1"), "The grid has a kernel twice: radius=1."),
        (("--grid", "radius=[]"), "The axis radius has no values."),
        (("--grid", "radius"), "Expected an axis such as"),
        (("--grid", "radius=1", "--grid", "loss.radius=2"), "The axis loss.radius comes twice."),
        (("--grid", "radius=1", "--radius", 2), "radius is set, and an axis of the grid too"),
        (("--grid", "radios=1"), "Unknown key 'radios'"),
        (("--grid", "seed=0,x"), "loss.seed should be a whole number"),
        (("--grid", "radius=1", "--resave", "x.npz"), "--resave is for one kernel"),
        (("--preset", "michlo"), "There is no preset 'michlo'"),
    ],
)
def test_a_grid_of_nonsense_gets_one_line(learn_grid, words, said, tmp_path):
    code, _, err = learn_grid(*words, "--json")
    assert code == 2
    assert said in err
    assert err.strip().count("\n") == 0
    assert not (tmp_path / "kernels").exists()


def test_another_kernel_under_a_name_of_the_grid_is_refused(learn_grid, learn, tmp_path):
    _, out, _ = learn_grid("--grid", "radius=1", "--plan", "--json")
    assert learn()[0] == 0
    taken = tmp_path / "kernels" / f"{json.loads(out)[0]['id']}.safetensors"
    taken.parent.mkdir()
    (tmp_path / "kernel.safetensors").rename(taken)
    code, _, err = learn_grid("--grid", "radius=1")
    assert (code, "was learnt with other settings" in err) == (2, True)
