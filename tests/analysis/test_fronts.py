"""Fronts of a score and its cost: what is on them, and how sure that is."""

import math

import numpy as np
import pytest
from analysis.tables import front, run, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from unknot.analysis.fronts import undominated
from unknot.core.errors import DataError


@given(st.integers(0, 10_000), st.integers(1, 12))
@settings(max_examples=60)
def test_undominated_by_comparing_all_pairs(seed, n):
    rng = np.random.default_rng(seed)
    gain, cost = rng.integers(0, 5, n).astype(float), rng.integers(0, 5, n).astype(float)
    beaten = [
        any(
            gain[j] >= gain[i] and cost[j] <= cost[i] and (gain[j] > gain[i] or cost[j] < cost[i])
            for j in range(n)
        )
        for i in range(n)
    ]
    assert undominated(gain, cost).tolist() == [not b for b in beaten]


def test_a_front_and_how_sure_it_is():
    rows = [
        *seeds([0.1] * 10, objective__beta=1),
        *seeds([0.5] * 10, objective__beta=2),
        *seeds([0.2] * 10, objective__beta=3),
    ]
    rows = [{**r, "recon": float(r["objective.beta"])} for r in rows]
    for row in rows[20:26]:
        row["recon"] = 0.5  # six seeds of beta 3, mean 1.5: below 2 but above 1
    found = front(rows, "mig", draws=4000)
    assert found.on.tolist() == [True, True, True]
    # With k of ten draws its mean is 3 - k / 4: below 2 for k > 4, and it beats beta 1 for k > 7.
    below, beats = (sum(math.comb(10, k) * 0.6**k * 0.4 ** (10 - k) for k in range(least, 11))
                    for least in (5, 8))  # fmt: skip
    assert found.share == pytest.approx([1 - beats, 1, below], abs=0.03)
    assert [r["on_front"] for r in found.rows()] == [True] * 3
    assert found.rows()[2]["recon"] == 1.5
    assert np.isnan(front([r for r in rows if r["seed"] < 9], "mig").share).all()


def test_fronts_of_scores_of_which_less_is_better_and_of_nothing():
    rows = [run(o, recon=r, loss=q) for o, r, q in (("a", 1.0, 3.0), ("b", 2.0, 1.0))]
    assert front(rows, "loss", lower=["loss"]).on.tolist() == [True, True]
    more = [*rows, run("c", recon=3.0, loss=2.0)]
    assert front(more, "loss", lower=["loss"]).on.tolist() == [True, True, False]
    found = front([*rows, run("c", recon=3.0)], "loss", lower=["loss"])
    assert (len(found.configurations), found.remarks) == (
        2,
        ("1 configurations without both were left out",),
    )
    with pytest.raises(DataError, match="No configuration has both 'mig' and 'recon'"):
        front([run(mig=0.1, recon=None), run("b", mig=None, recon=1.0)], "mig")
