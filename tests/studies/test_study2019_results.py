"""The page beside the study of 2019: its tables are those of its files, and so is its claim."""

from collections import Counter
from statistics import mean

import numpy as np
import pytest
from analysis.published_tables import table
from metrics import study2019
from scripts import script

from unknot.analysis import Results, published

FILE = study2019.FOLDER / "dsprites_full.csv"
MODELS = {"beta_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "beta_tcvae", "annealed_vae"}


@pytest.fixture(scope="module")
def page():
    return script("docs/study2019.py")


@pytest.fixture(scope="module")
def found(page):
    table("dsprites")  # or the test is skipped
    return page.beside(FILE)


@pytest.fixture(scope="module")
def words(page):
    return " ".join(page.PAGE.read_text(encoding="utf-8").split())


def cell(found, label, score):
    (one,) = (d for d in found.differences if (d.ours.label, d.ours.score) == (label, score))
    return one


def test_all_settings_are_there_with_their_seeds(page):
    runs = page.runs()
    assert {(run["status"], run["steps"], run["precision"]) for run in runs} == {
        ("done", 300_000, "bf16")
    }
    seeds = [sorted(c.runs["seed"]) for c in Results(runs).configurations]
    assert Counter(map(len, seeds)) == {5: 13, 3: 23}
    assert all(own == list(range(len(own))) for own in seeds)
    assert {run["objective"] for run in runs} == MODELS


def test_tables_are_those_of_the_files(page, found):
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.made(text, found) == text, "run: python docs/study2019.py"
    assert "does not hold" not in text
    assert "not trained yet" not in text


def test_losses_are_the_published_ones(found):
    """Reconstruction within a tenth, divergence within a twentieth."""
    for beta in (1, 16):
        for score, within in (("recon", 0.1), ("kl", 0.05)):
            one = cell(found, f"beta_vae beta {beta}", score)
            assert one.ours.mean == pytest.approx(one.published.mean, rel=within)


def test_nine_of_ten_values_lie_within_three_errors_of_both(page, found):
    """By each side's own spread too, which three seeds hardly have."""
    assert len(found.differences) == 36 * len(page.SCORES)
    drawn = page.draw_variance()
    far = [abs(page.z(d, drawn)) for d in found.differences]
    own = [abs(d.difference) <= 3 * (d.ours.se**2 + d.published.se**2) ** 0.5
           for d in found.differences]  # fmt: skip
    assert max(far) < 3.1
    assert mean(own) >= 0.9


def test_objectives_come_in_the_published_order(found):
    means = {
        name: mean(
            d.ours.mean
            for d in found.differences
            if d.ours.objective == name and d.ours.score in published.SEVEN
        )
        for name in MODELS
    }
    explicit, beta = ("beta_tcvae", "factor_vae"), means["beta_vae"]
    assert min(means[name] for name in explicit) > beta
    assert beta > max(means[name] for name in ("dip_vae_i", "dip_vae_ii", "annealed_vae"))


def test_a_total_correlation_of_weight_one_is_the_vae(page, found, words):
    far = []
    for score in page.SCORES:
        vae, tc = (cell(found, f"{name} beta 1", score) for name in ("beta_vae", "beta_tcvae"))
        error = vae.published.sd * (1 / vae.ours.n + 1 / tc.ours.n) ** 0.5
        far.append(abs(vae.ours.mean - tc.ours.mean) / error)
    assert max(far) < 1.1
    assert f"with beta 1 by more than {max(far):.1f} standard errors" in words


@pytest.mark.parametrize(
    ("score", "claim"),
    [
        ("beta_vae", "is below the published mean in {} of 36 cells, by {:.3f} on average"),
        ("sap", "SAP is below in {} of 36 cells, by {:.3f}"),
        ("explicitness", "Explicitness ({} of 36 cells below, {:.3f} on average)"),
    ],
)
def test_the_page_says_how_many_cells_are_low(found, words, score, claim):
    off = [d.difference for d in found.differences if d.ours.score == score]
    assert claim.format(sum(o < 0 for o in off), -mean(off)) in words


def test_the_page_says_what_dip_vae_i_lacks(found, words):
    one = (d for d in found.differences if d.ours.score == "beta_vae")
    lacks = -mean(d.difference for d in one if d.ours.objective == "dip_vae_i")
    assert f"of the {lacks:.3f} that the six cells of DIP-VAE-I lack" in words


def test_the_page_says_what_is_beyond_three_errors(page, found, words):
    drawn = page.draw_variance()
    (far,) = (d for d in found.differences if abs(page.z(d, drawn)) > 3)
    assert (far.ours.label, far.ours.score) == ("beta_tcvae beta 4", "beta_vae")
    means = f"{far.ours.mean:.3f} where {far.published.mean:.3f} was published"
    assert f"{means} ({-page.z(far, drawn):.2f})" in words


def test_the_page_says_how_unlikely_so_low_a_beta_vae_score_is(page, found, words):
    """Published seeds drawn with replacement stand in for ours, as many in each cell."""
    theirs = {c.label: c.runs for c in Results(published.read(FILE)).configurations}
    by_seed = {
        label: np.array([v for _, v in sorted(zip(r["seed"], r["beta_vae"], strict=True))])
        for label, r in theirs.items()
    }
    cells = [d for d in found.differences if d.ours.score == "beta_vae"]
    off = np.stack([by_seed[d.ours.label] - d.published.mean for d in cells])
    ratio = len(off) ** 2 * off.mean(0).var(ddof=1) / off.var(1, ddof=1).sum()
    assert f"{ratio:.1f} times the variance that those of unrelated runs" in words
    draw, runs = np.random.default_rng(0), np.array([d.ours.n for d in cells])
    chosen = draw.integers(0, off.shape[1], (20_000, 5))
    some = off[:, chosen] * (np.arange(5) < runs[:, None])[:, None]
    means = (some.sum(2) / runs[:, None]).mean(0)
    ours = mean(d.difference for d in cells)
    assert means.min() > ours
    assert f"a standard deviation of {means.std():.4f}; none of 20,000 such" in words
    drawn = (2 * page.draw_variance()["beta_vae"]) ** 0.5
    assert f"an error of {drawn:.4f}" in words
    assert f"low by {-ours / np.hypot(means.std(), drawn):.1f} standard errors" in words
