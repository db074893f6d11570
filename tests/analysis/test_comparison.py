"""Values of a study beside published ones: differences in standard errors, and what is flagged."""

import math
from dataclasses import replace

import numpy as np
import pytest
from analysis.tables import seeds, summaries
from scipy import stats

from unknot.analysis.comparison import compare


def published_and_ours(theirs, ours, **setting):
    known = [
        *seeds(theirs, objective__beta=1.0, steps=300_000),
        *seeds([9.0, 9.5], objective__beta=2.0, steps=300_000),
    ]
    own = seeds(ours, objective__beta=1, **setting)
    return summaries(known, draws=2), summaries(own, draws=2)


def test_differences_in_standard_errors_of_both():
    known, own = published_and_ours([1.0, 2.0, 3.0, 4.0], [6.0, 8.0, 10.0])
    found = compare(own, known)
    (one,) = found.differences
    error = math.sqrt((3 * 5 / 3 + 2 * 4) / 5 * (1 / 4 + 1 / 3))
    assert one.difference == 5.5
    assert one.z == pytest.approx(5.5 / error)
    assert one.flagged
    assert found.within == 0
    assert found.only_published == ("beta_vae beta 2, mig",)
    row = found.rows()[0]
    assert (row["ours_n"], row["published_n"], row["flagged"]) == (3, 4, True)
    t = stats.ttest_ind([6, 8, 10], [1, 2, 3, 4]).statistic
    assert one.z == pytest.approx(t)


def test_settings_that_differ_are_said_and_others_do_not_match():
    known, own = published_and_ours([1.0, 2.0], [1.0, 2.0], steps=20_000, net="conv64")
    (one,) = compare(own, known).differences
    assert one.differs == ("steps 20000, not 300000",)
    assert (one.z, one.flagged) == (0, False)
    elsewhere = [replace(s, data="cars3d") for s in own]
    found = compare(elsewhere, known)
    assert found.differences == ()
    assert found.only_ours == ("beta_vae, mig",)
    assert math.isnan(found.within)


def test_values_without_spread():
    known, own = published_and_ours([1.0], [2.0])
    (one,) = compare(own, known).differences
    assert math.isnan(one.z)
    assert not one.flagged
    (one,) = compare(own, [replace(known[0], n=50, sd=math.nan)]).differences
    assert math.isnan(one.z)
    known, own = published_and_ours([1.0, 1.0], [1.0])
    (one,) = compare(own, known).differences
    assert one.z == 0
    known, own = published_and_ours([1.0, 1.0], [2.0, 2.0])
    (one,) = compare(own, known).differences
    assert one.z == math.inf
    assert one.flagged


def test_one_run_goes_by_the_published_spread():
    known, own = published_and_ours([1.0, 2.0, 3.0, 4.0], [6.0])
    (one,) = compare(own, known).differences
    assert one.z == pytest.approx(3.5 / math.sqrt(5 / 3 * (1 + 1 / 4)))


def test_chance_flags_as_often_as_the_documentation_says():
    """Three seeds against fifty of one normal distribution: 4 of 1,000, that of Student's t."""
    rng = np.random.default_rng(0)
    flagged = []
    known, own = published_and_ours([0.0, 1.0], [0.0, 1.0])
    for _ in range(20_000):
        a, b = rng.normal(size=3), rng.normal(size=50)
        one = replace(own[0], mean=float(a.mean()), sd=float(a.std(ddof=1)), n=3)
        other = replace(known[0], mean=float(b.mean()), sd=float(b.std(ddof=1)), n=50)
        flagged.append(compare([one], [other]).differences[0].flagged)
    assert 2 * stats.t.sf(3, 51) == pytest.approx(0.004, abs=5e-4)
    assert np.mean(flagged) == pytest.approx(2 * stats.t.sf(3, 51), abs=0.0015)
