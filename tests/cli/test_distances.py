"""``unknot distances`` and ``unknot data distances``: what they print, write and refuse."""

import json

import numpy as np
import pytest

from unknot.core.csv_files import read_csv


@pytest.mark.parametrize("verb", [("distances",), ("data", "distances")])
def test_help_has_an_example(unknot, verb):
    code, out, _ = unknot(*verb, "--help")
    assert code == 0
    assert "Example" in out


def test_data_distances_are_printed_and_drawn(unknot, tiny, tmp_path):
    words = ("data", "distances", "arrays", "--set", f"path={tiny}")
    code, out, _ = unknot(*words, "--out", tmp_path / "seen")
    assert code == 0
    assert all(word in out for word in ("factor_0", "random", "deviation", "rank"))
    assert {path.name for path in (tmp_path / "seen").iterdir()} == {
        "matrices.png",
        "importance.png",
        "distances.npz",
    }
    with np.load(tmp_path / "seen" / "distances.npz") as saved:
        assert (
            saved["factor_2/factors"].tolist()
            == np.abs(np.subtract.outer(range(4), range(4))).tolist()
        )
        # Blocks of 4 in 64 pixels whose shades are 65 / 255 apart.
        step = 4 / 64 * (65 / 255) ** 2
        assert saved["factor_2/images"][0] == pytest.approx([0, step, 4 * step, 9 * step])


def test_data_distances_as_json(unknot, tmp_path, monkeypatch):
    """XYSquares at spacing 8 in closed form: 128 / 12288 along every factor, and table 4.2."""
    monkeypatch.chdir(tmp_path)
    words = ("data", "distances", "xysquares", "--traversals", 3, "--pairs", 500, "--json")
    code, out, _ = unknot(*words)
    assert code == 0
    rows = {row["factor"]: row for row in json.loads(out)}
    assert list(rows)[-1] == "random"
    for name in ("x_r", "y_b"):
        assert rows[name]["mean"] == pytest.approx(128 / 12288)
        assert (rows[name]["linear"], rows[name]["rank"]) == pytest.approx((0.522, 0.580), abs=1e-3)
        assert rows[name]["quantiles"]["0.5"] == pytest.approx(128 / 12288)
    assert len(rows["x_r"]["quantiles"]) == 21
    assert not list(tmp_path.iterdir()), "JSON draws nothing"


def test_published_pairs_raise_the_correlation_of_random_ones(unknot):
    """Table 6.1: 0.55 and 0.36 where honest pairs have 0.25 and 0.23."""
    words = ("data", "distances", "xysquares", "--traversals", 1, "--pairs", 2000, "--json")
    honest, published = (
        {row["factor"]: row for row in json.loads(unknot(*words, *more)[1])}["random"]
        for more in ((), ("--published-pairs",))
    )
    assert (honest["linear"], honest["rank"]) == pytest.approx((0.25, 0.23), abs=0.05)
    assert (published["linear"], published["rank"]) == pytest.approx((0.55, 0.36), abs=0.05)
    assert honest["mean"] == published["mean"]


def test_a_run_is_compared_with_its_data(unknot, train, tmp_path):
    train("--seeds", "0,1")
    run = tmp_path / "run"
    words = ("distances", run, "--member", 1, "--device", "cpu")
    code, out, _ = unknot(*words, "--traversals", 4)
    assert code == 0
    assert "factor_1" in out
    assert {path.name for path in (run / "distances").iterdir()} == {
        "matrices.png",
        "clouds.png",
        "thresholds.png",
        "distances.npz",
    }
    with np.load(run / "distances" / "distances.npz") as saved:
        sources = {name.partition("/")[2] for name in saved.files}
        assert sources == {"factors", "images", "codes", "posteriors", "reconstructions"}
        assert all(saved[name].shape == (4, 4) for name in saved.files)
    code, out, _ = unknot(*words, "--json", "--loss", "bernoulli")
    assert code == 0
    rows = json.loads(out)
    assert [row["factor"] for row in rows] == ["factor_0", "factor_1", "factor_2"]
    for row in rows:
        assert row["ratios"]["axis"] <= row["ratios"]["linearity"] + 1e-9
        assert list(row["with images"]) == ["codes", "posteriors", "reconstructions"]
        assert all(abs(value) < 1 + 1e-9 for value in row["with factors"].values())


def test_bad_input_is_one_line(unknot, train, tiny, tmp_path):
    train()
    run, file = tmp_path / "run", tmp_path / "file"
    file.write_text("in the way")
    data = ("data", "distances", "arrays", "--set", f"path={tiny}")
    plain = tmp_path / "plain.npz"
    np.savez(plain, images=np.zeros((5, 8, 8), np.uint8))
    for words, message in [
        ((*data, "--out", file), "is a file, not a folder"),
        (("distances", run, "--out", file), "is a file, not a folder"),
        ((*data, "--loss", "gaussiam"), "There is no loss 'gaussiam'; did you mean 'gaussian'?"),
        (("distances", run, "--loss", "nonsense"), "There is no loss 'nonsense'"),
        ((*data, "--loss", "box"), "blur of radius 31 reaches further than images of 8 x 8"),
        (("data", "distances", "arrays", "--set", f"path={plain}"), "arrays has none"),
        (
            ("distances", run, "--member", 1),
            "The number of a model must be a whole number from 0 to 0; got 1.",
        ),
        (("distances", tmp_path / "nowhere"), "nowhere"),
    ]:
        code, _, err = unknot(*words)
        assert code == 2, words
        assert message in err
        assert len(err.strip().splitlines()) == 1, err


def test_single_pairs_are_compared_under_a_loss(unknot, train, tmp_path):
    """Shades of gray: images are further apart the further their shades are, blurred or not."""
    train()
    words = ("distances", tmp_path / "run", "--device", "cpu", "--json")
    names = ["codes and factors", "codes and images", "images and factors"]
    rows = {row["factor"]: row["pairs"] for row in json.loads(unknot(*words)[1])}
    assert all(list(pairs) == names for pairs in rows.values())
    assert rows["factor_2"]["images and factors"] == pytest.approx(1)
    assert all(abs(value) < 1 + 1e-9 for pairs in rows.values() for value in pairs.values())
    of_logits = json.loads(unknot(*words, "--loss", "bernoulli")[1])
    assert all(list(row["pairs"]) == names[:1] for row in of_logits), "no squared error"


def test_a_run_without_factors_is_refused(unknot, tmp_path):
    plain = tmp_path / "plain.npz"
    np.savez(plain, images=np.random.default_rng(0).integers(0, 255, (32, 8, 8), np.uint8))
    unknot(
        *("train", "--data", "arrays", "--set", f"data.path={plain}", "--net", "linear"),
        *("--steps", 2, "--batch", 4, "--device", "cpu", "--out", tmp_path / "run"),
    )
    code, _, err = unknot("distances", tmp_path / "run", "--device", "cpu")
    assert code == 2
    assert "arrays has none; give labels, or add 'factors' to its file" in err
    assert len(err.strip().splitlines()) == 1


def test_the_list_says_which_pictures_there_are(unknot):
    rows = {row["name"]: row for row in json.loads(unknot("data", "list", "--json")[1])}
    assert "textures, Tiny ImageNet or your own" in rows["dsprites_imagenet"]["what"]
    assert rows["dsprites_imagenet"]["images"] == 737_280


def test_blurs_are_compared_in_a_table_and_a_figure(unknot, tiny, tmp_path):
    words = ("data", "blurs", "arrays", "--set", f"path={tiny}", "--radius", "1,3")
    words = (*words, "--weight", "0.1,1", "--pairs", 100)
    code, out, err = unknot(*words, "--out", tmp_path / "blurs")
    assert code == 0, err
    assert "factor_rank" in out
    rows = read_csv(tmp_path / "blurs" / "blurs.csv")
    assert [(row["kernel"], row["radius"], row["weight"]) for row in rows] == [
        ("none", "", ""),
        *((k, r, w) for k in ("box", "gaussian") for r in "13" for w in ("0.1", "1")),
    ]
    assert (tmp_path / "blurs" / "blurs.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = unknot(*words, "--json")
    same = [row["factor_rank"] for row in json.loads(out)]
    assert same == [float(row["factor_rank"]) for row in rows]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--radius", "1,x"),
            "--radius takes whole numbers from 1 to 1,000,000 with commas between",
        ),
        (("--radius", "0"), "--radius takes whole numbers from 1 to 1,000,000 with commas between"),
        (("--radius", "99"), "radius 99 reaches further than images of"),
        (
            ("--weight=-1",),
            "--weight takes numbers from 0 to 1,000,000 with commas between; got '-1'.",
        ),
        (("--weight", "nan"), "--weight takes numbers from 0"),
        (("--kernel", "bux"), "There is no kernel 'bux'; did you mean 'box'?"),
    ],
)
def test_blurs_of_nonsense_get_one_line(unknot, tiny, tmp_path, words, said):
    data = ("data", "blurs", "arrays", "--set", f"path={tiny}", "--out", tmp_path / "blurs")
    code, _, err = unknot(*data, *words)
    assert (code, said in err) == (2, True), err
    assert err.strip().count("\n") == 0
    assert not (tmp_path / "blurs").exists()
