"""The page of results on XYSquares: its tables are those of its files, and so is what it claims."""

from collections import defaultdict
from statistics import mean

import pytest
from scripts import script


@pytest.fixture(scope="module")
def page():
    return script("docs/xysquares.py")


def scores(page, file, score, *settings):
    found = defaultdict(list)
    for run in page.runs(file):
        found[tuple(run[key] for key in settings)].append(float(run[score]))
    return found


def test_tables_are_those_of_the_files(page):
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.made(text) == text, "run: python docs/xysquares.py"


def test_every_setting_has_five_seeds(page):
    for file, settings in (("overlap", 8), ("triplets", 2)):
        found = scores(page, file, "seed", "objective", "beta", "spacing")
        assert [sorted(seeds) for seeds in found.values()] == [[0, 1, 2, 3, 4]] * settings


@pytest.mark.parametrize("objective", ["beta_vae", "ada_gvae"])
def test_overlap_makes_the_difference(page, objective):
    """Spec rows a and b: no seed without overlap comes near one with it."""
    found = scores(page, "overlap", "dci", "objective", "spacing", "loss", "latents")
    near, far = (found[objective, spacing, "mse", "9"] for spacing in ("1", "8"))
    assert min(near) > 5 * max(far)
    mig = scores(page, "overlap", "mig", "objective", "spacing", "latents")
    assert min(mig[objective, "1", "9"]) > max(mig[objective, "8", "9"])
    plain, blurred = (found[objective, "8", loss, "25"] for loss in ("mse", "mse + box 31"))
    assert mean(blurred) > 3 * mean(plain)
    assert min(blurred) > max(plain)


def test_only_adaptive_triplets_align_axes(page):
    axis, linear = (
        scores(page, "triplets", score, "objective") for score in ("axis_alignment", "linearity")
    )
    assert min(axis["ada_tvae",]) > 0.9
    assert min(linear["ada_tvae",]) > 0.9
    assert max(axis["tvae",]) < 0.5


@pytest.mark.parametrize("score", ["distance_correlation", "linearity"])
@pytest.mark.parametrize("objective", ["tvae", "ada_tvae"])
def test_triplets_learn_the_distances_of_factors_where_pixels_do_not(page, objective, score):
    """Spec rows 19 and 20: no seed of `beta_vae` or `ada_gvae` comes near, blurred loss or not."""
    triplets = scores(page, "triplets", score, "objective")[objective,]
    others = scores(page, "overlap", score, "spacing")["8",]
    assert len(others) == 30
    assert min(triplets) > max(others) + 0.05


def test_adaptive_triplets_are_aligned_with_axes_as_nothing_else_is(page):
    """Spec row 20: above `beta_vae` and `ada_gvae`, at any spacing."""
    aligned = scores(page, "triplets", "axis_alignment", "objective")["ada_tvae",]
    others = [float(run["axis_alignment"]) for run in page.runs("overlap")]
    assert min(aligned) > max(others) + 0.2


def test_both_files_have_one_budget(page):
    for file in ("overlap", "triplets"):
        assert {(run["steps"], run["precision"]) for run in page.runs(file)} == {("57600", "bf16")}
