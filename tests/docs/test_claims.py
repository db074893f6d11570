"""Claims are tested by rules that can fail, and the page shows what they say."""

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

RANDOM = np.random.default_rng(0)
TABLE = {
    "objective": ["vae"] * 10 + ["ae"] * 10,
    "seed": [*range(10)] * 2,
    "mig": [*(0.3 + 0.05 * RANDOM.standard_normal(10)), *(0.1 + 0.05 * RANDOM.standard_normal(10))],
}
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
    known = {"document", "where", "data", "says", "words", "verdict", "reason", *claims.TESTS}
    for claim in file["claim"]:
        assert claim["document"] in file["documents"]
        assert known >= {*claim}
        assert {"words", *claims.TESTS} & {*claim}
        assert ("verdict" in claim) == ("reason" in claim)


def test_claims_name_settings_and_scores_that_runs_have():
    file = tomllib.loads((ROOT / "docs" / "results" / "claims.toml").read_text())
    tests = [
        test for claim in file["claim"] for kind in claims.TESTS for test in claim.get(kind, ())
    ]
    assert len(tests) > 30
    for test in tests:
        for settings in (test[side] for side in ("more", "less", "runs_with") if side in test):
            has = registry.settings("objectives", settings["objective"])
            names = {name for name in settings if name.startswith("objective.")}
            assert {name.split(".")[1] for name in names} <= {*has}
        metric = test["score"].split(".")[0]
        assert metric in {*registry.names("metrics"), "recon", "kl", "beta_hat"}
