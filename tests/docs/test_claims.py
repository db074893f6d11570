"""Claims are tested by rules that can fail, and the page shows what they say."""

import importlib
import importlib.util
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from unknot.core import registry

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))  # not first: its names are those of folders of tests
SPEC = importlib.util.spec_from_file_location("claims", ROOT / "docs" / "claims.py")
claims = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(claims)
claim_tests = importlib.import_module("claim_tests")

RANDOM = np.random.default_rng(0)
TABLE = {
    "objective": ["vae"] * 10 + ["ae"] * 10,
    "seed": [*range(10)] * 2,
    "mig": [*(0.3 + 0.05 * RANDOM.standard_normal(10)), *(0.1 + 0.05 * RANDOM.standard_normal(10))],
}
LOGGED = {"recon", "kl", "beta_hat", "sigma", "data"}
"""What training logs, and what a setting of the data is."""
DERIVED = {"elbo", "total_variance", "mig_and_mig_sup", "sigmas_in_use"}
"""What docs/evidence.py adds to a table of runs."""
VAE, AE = {"objective": "vae"}, {"objective": "ae"}


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"higher": [{"score": "mig", "more": VAE, "less": AE}]}, "holds"),
        ({"higher": [{"score": "mig", "more": AE, "less": VAE}]}, "fails"),
        ({"higher": [{"score": "mig", "more": VAE, "less": VAE}]}, "undecided"),
        ({"higher": [{"score": "sap", "more": VAE, "less": AE}]}, "not run"),
        ({"higher": [{"score": "mig", "more": VAE, "less": {"objective": "x"}}]}, "not run"),
        ({"alike": [{"score": "mig", "more": VAE, "less": AE}]}, "fails"),
        ({"above": [{"score": "mig", "runs_with": VAE, "number": 0.2}]}, "holds"),
        ({"below": [{"score": "mig", "runs_with": VAE, "number": 0.2}]}, "fails"),
        ({"below": [{"score": "mig", "runs_with": AE, "number": 0.2}]}, "holds"),
        ({"words": "by hand"}, "not run"),
        ({"words": "by hand", "verdict": "fails", "reason": "seen"}, "fails"),
    ],
)
def test_verdicts(claim, verdict):
    assert claims.judge(claim, TABLE)[0] == verdict


SEEDS = np.arange(10)
WIDE = {
    "objective": ["vae"] * 30 + ["ae"] * 10,
    "seed": [*SEEDS.tolist()] * 4,
    "objective.beta": [0.5] * 10 + [1.0] * 10 + [4.0] * 10 + [None] * 10,
    "recon": [*(20 + RANDOM.standard_normal(30)), *(60 + 5 * RANDOM.standard_normal(10))],
    "mig": [*np.repeat([0.1, 0.4, 0.2], 10), *(0.1 + 0.001 * RANDOM.standard_normal(10))],
    "up": np.arange(40.0).tolist(),
    "down": (-np.arange(40.0)).tolist(),
    "luck": RANDOM.standard_normal(40).tolist(),
    "hat": [1.1] * 40,
}
LOW, HIGH = {"objective": "vae"}, {"objective": "ae"}


def both(first, second, **limits):
    return {"correlation": [{"first": first, "second": second, "runs_with": {}, **limits}]}


def tuned(near):
    test = {"score": "mig", "setting": "objective.beta", "runs_with": LOW, "number": "hat"}
    return {"chosen": [{**test, "near": near, "share": 0.8}]}


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"not_higher": [{"score": "recon", "more": LOW, "less": HIGH}]}, "holds"),
        ({"not_higher": [{"score": "recon", "more": HIGH, "less": LOW}]}, "fails"),
        ({"not_higher": [{"score": "luck", "more": HIGH, "less": HIGH}]}, "undecided"),
        ({"ratio": [{"score": "recon", "more": LOW, "less": HIGH, "number": 0.5}]}, "holds"),
        ({"ratio": [{"score": "recon", "more": HIGH, "less": LOW, "number": 2}]}, "fails"),
        ({"wider": [{"score": "recon", "more": HIGH, "less": LOW}]}, "holds"),
        ({"wider": [{"score": "recon", "more": LOW, "less": HIGH}]}, "fails"),
        ({"wider": [{"score": "recon", "more": LOW, "less": LOW}]}, "undecided"),
        (both("up", "down", below=-0.5), "holds"),
        (both("up", "down", above=0.5), "fails"),
        (both("up", "luck", above=-0.6, below=0.6), "holds"),
        (both("up", "down", given="up", above=0.5), "fails"),
        (both("up", "nothing", above=0.5), "not run"),
        ({"best": [{"score": "mig", "more": LOW, "less": HIGH}]}, "holds"),
        ({"best": [{"score": "mig", "more": HIGH, "less": LOW}]}, "fails"),
        (tuned({"objective": "ae"}), "holds"),
        (tuned({"objective": "nothing"}), "not run"),
        ({"higher": [{"score": "mig", "more": {"objective.beta": [1, 4]}, "less": HIGH}]}, "holds"),
    ],
)
def test_verdicts_on_more_than_two_means(claim, verdict):
    assert claims.judge(claim, WIDE)[0] == verdict


def test_pooled_effects_are_of_pairs():
    settings = {"net": ["a", "b"] * 20, "batch": [*np.repeat([1, 2, 3, 4], 10).tolist()]}
    seeds = np.tile(np.repeat(np.arange(5), 2), 4)
    luck = 0.1 * RANDOM.standard_normal(5)[seeds]
    mig = luck + 0.05 * (np.arange(40) % 2) + 0.01 * RANDOM.standard_normal(40)
    table = {"objective": ["vae"] * 40, **settings, "seed": seeds.tolist(), "mig": mig.tolist()}
    test = {"score": "mig", "setting": "net", "more": "b", "less": "a"}
    assert claims.judge({"pooled": [test]}, table)[0] == "holds"
    assert claims.judge({"pooled": [{**test, "more": "a", "less": "b"}]}, table)[0] == "fails"
    few = {name: values[:4] for name, values in table.items()}
    assert claims.judge({"pooled": [test]}, few)[0] == "undecided"


def test_a_choice_is_steady_if_most_seeds_say_so():
    table = {"objective": ["x"] * 6, "seed": [0, 0, 1, 1, 2, 2], "net.latents": [5, 10] * 3}
    test = {"score": "used", "setting": "net.latents", "runs_with": {}, "within": 1}
    table["used"] = [5.0, 4.0, 5.0, 5.0, 5.0, 9.0]
    for share, verdict in ((0.6, "holds"), (0.8, "fails")):
        assert claims.judge({"steady": [{**test, "share": share}]}, table)[0] == verdict


def test_the_interval_of_a_difference_is_welch_s():
    from scipy import stats

    more, less = RANDOM.standard_normal(5), 3 * RANDOM.standard_normal(9)
    expected = stats.ttest_ind(more, less, equal_var=False).confidence_interval(0.9)
    assert claim_tests.welch(more, less) == pytest.approx(tuple(expected))
    assert claim_tests.welch(np.full(3, 0.4), np.full(4, 0.1)) == pytest.approx((0.3, 0.3))


def test_a_claim_that_needs_files_says_which():
    assert claims.judge({"needs": "CelebA"}, TABLE) == ("needs files", "Those of CelebA.")


def test_tests_take_the_main_pieces_unless_one_is_named():
    table = {**TABLE, "piece": ["a"] * 10 + ["b"] * 10, "main": [True] * 10 + [False] * 10}
    test = {"higher": [{"score": "mig", "more": VAE, "less": AE}]}
    assert claims.judge(test, table)[0] == "not run"
    test["higher"][0]["less"] = {**AE, "piece": "b"}
    assert claims.judge(test, table)[0] == "holds"


def test_a_claim_with_several_tests_is_as_good_as_its_worst():
    good, bad = ({"score": "mig", "more": a, "less": b} for a, b in ((VAE, AE), (AE, VAE)))
    assert claims.judge({"higher": [good, bad]}, TABLE)[0] == "fails"
    assert claims.judge({"higher": [good], "words": "more"}, TABLE)[0] == "not run"
    assert claims.judge({"higher": [good]}, None)[0] == "not run"


@pytest.mark.parametrize(
    ("mean", "n", "verdict"), [(0.3, 500, "holds"), (0.5, 500, "fails"), (0.3, 2, "undecided")]
)
def test_published_means(mean, n, verdict):
    many = {name: values[:10] * 30 for name, values in TABLE.items()}
    test = {"score": "mig", "runs_with": VAE, "mean": mean, "sd": 0.05, "n": n}
    assert claims.judge({"published": [test]}, many)[0] == verdict


def test_few_printed_runs_show_no_equality_and_the_page_says_so():
    ours = {name: values[:10] * 1_000 for name, values in TABLE.items()}
    test = {"score": "mig", "runs_with": VAE, "mean": float(np.mean(TABLE["mig"][:10])), "sd": 0.05}
    for n, verdict in ((10, "undecided"), (12, "holds")):
        claim = {"published": [{**test, "n": n}]}
        assert claims.judge(claim, ours)[0] == verdict
        assert bool(claims.limits(claim)) == (verdict == "undecided")
    _, reason = claims.judge({"published": [{**test, "n": 10}]}, TABLE)
    assert reason.endswith("sd, 1.3 sd would show"), "(1.96 + 0.84) √(1/10 + 1/10)"


def test_the_pages_say_what_the_tests_say():
    pages = claims.pages()
    assert len(pages) > 1
    for path, text in pages.items():
        assert path.read_text() == text, path.name


def test_every_claim_can_be_decided():
    file = tomllib.loads((ROOT / "docs" / "results" / "claims.toml").read_text())
    known = {
        "document",
        "where",
        "data",
        "says",
        "words",
        "rule",
        "needs",
        "verdict",
        "reason",
        *claims.TESTS,
    }
    for claim in file["claim"]:
        assert claim["document"] in file["documents"]
        assert known >= {*claim}
        assert {"words", "needs", *claims.TESTS} & {*claim}
        assert ("verdict" in claim) == ("reason" in claim)


def test_claims_name_settings_and_scores_that_runs_have():
    file = tomllib.loads((ROOT / "docs" / "results" / "claims.toml").read_text())
    tests = [
        test for claim in file["claim"] for kind in claims.TESTS for test in claim.get(kind, ())
    ]
    assert len(tests) > 30
    for test in tests:
        sides = [test[side] for side in ("more", "less", "runs_with", "near") if side in test]
        for settings in (side for side in sides if isinstance(side, dict)):
            if isinstance(name := settings.get("objective"), str):
                has = registry.settings("objectives", name)
                own = {n.split(".")[1] for n in settings if n.startswith("objective.")}
                assert own <= {*has}
        for score in (
            test[n] for n in ("score", "first", "second", "given", "number") if n in test
        ):
            if isinstance(score, str):
                metric = score.split(".")[0].split("@")[0]
                assert metric in {*registry.names("metrics"), *LOGGED, *DERIVED}, score
