import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics import peers
from metrics.representations import ALL, expected, get
from unknot.metrics import active_units
from unknot.metrics.active_units import Settings

FOUR = dict.fromkeys(ALL, 4.0)


@expected(FOUR | {"duplicated": 8.0, "missing": 3.0})
def test_reference_representation(name, value):
    """Codes that vary, whatever they tell: noise is active, a standard deviation of 0.01 is not."""
    assert float(active_units(*get(name))) == value


@given(st.lists(st.floats(0, 5), min_size=1, max_size=6))
def test_counts_variances_above_the_threshold(deviations):
    ends = np.array([-1.0, 1.0] * 50)[:, None] * np.sqrt(99 / 100)
    score = active_units(ends * deviations, protocol=Settings(threshold=0.3))
    above = [d * d > 0.3 for d in deviations]
    assert float(score) == sum(above)
    assert score["active_units.share"] == pytest.approx(np.mean(above))
    np.testing.assert_array_equal(score.parts["active"], above)
    np.testing.assert_allclose(score.parts["variances"], np.square(deviations), atol=1e-9)


def test_the_threshold_of_the_paper():
    ends = np.array([-1.0, 1.0] * 500)[:, None]
    assert float(active_units(ends * [0.0995, 0.1005], protocol="paper")) == 1


@pytest.mark.parametrize(("case", "value"), [("A", 5), ("B", 5), ("C", 10)])
def test_reference_arrays(case, value):
    assert float(active_units(peers.train(case)[0])) == value
