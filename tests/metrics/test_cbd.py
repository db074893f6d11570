import math

import numpy as np
import pytest

from metrics.representations import ALIGNED, expected, get
from unknot.metrics import cbd
from unknot.metrics.cbd import Settings


@expected(
    ALIGNED | {"duplicated": 0.5, "rotated": 0.5, "missing": 0.875, "noise": 0.0, "outlier": 0.996}
)
def test_reference_representation(name, value):
    assert float(cbd(*get(name))) == pytest.approx(value, abs=0.005)


def test_a_permutation_of_the_factors_scores_one():
    for protocol in ("paper", "unknot"):
        score = cbd(*get("permuted"), protocol=protocol)
        assert list(score.values.values()) == pytest.approx([1, 1, 1])
        assert score.parts["best_factor"].tolist() == [2, 0, 3, 1]
        assert score.parts["best_code"].tolist() == [1, 3, 0, 2]


def test_dead_codes_hold_the_row_part_at_their_share():
    """With more codes than factors, at most K / L."""
    score = cbd(*get("constant"), protocol="paper")
    assert score["cbd.row"] == pytest.approx(4 / 5)
    assert score["cbd.column"] == pytest.approx(1)
    assert score.ceiling == pytest.approx((4 / 5 + 1) / 2)


def test_alpha_weighs_the_two_parts():
    codes, values = get("missing")
    for alpha in (0.0, 0.25, 1.0):
        score = cbd(codes, values, protocol=Settings(alpha=alpha))
        expected_ = alpha * score["cbd.row"] + (1 - alpha) * score["cbd.column"]
        assert float(score) == pytest.approx(expected_)
    assert score["cbd.row"] == pytest.approx(1)
    assert score["cbd.column"] == pytest.approx(3 / 4)


def test_a_code_that_mixes_two_factors_names_both():
    score = cbd(*get("rotated"), protocol="paper")
    parts = score.parts
    assert {parts["best_factor"][2], parts["second_factor"][2]} == {2, 3}
    assert parts["table"][2, 2:] == pytest.approx(1 / math.sqrt(2))


def test_one_code_or_one_factor_has_no_runner_up():
    codes, values = get("perfect")
    score = cbd(codes[:, :1], values[:, :1], protocol="paper")
    assert list(score.values.values()) == pytest.approx([1, 1, 1])
    assert cbd(codes[:, :1], values, protocol="paper")["cbd.column"] == pytest.approx(1 / 4)


def test_it_is_blind_to_relations_that_neither_rise_nor_fall():
    values = np.arange(1000)[:, None] % 11
    codes = (values - 5.0) ** 2
    assert float(cbd(codes, values, protocol="paper")) == pytest.approx(0, abs=0.01)


def test_the_largest_and_the_second_of_rows_and_columns():
    parts = cbd(*get("missing"), protocol="paper").parts
    for of, dim in (("code", 1), ("factor", 0)):
        two = np.sort(parts["table"], axis=dim)
        two = two if dim else two.T
        np.testing.assert_allclose(parts[f"largest_of_{of}"], two[:, -1])
        np.testing.assert_allclose(parts[f"second_of_{of}"], two[:, -2], atol=1e-15)
    codes, values = get("perfect")
    alone = cbd(codes[:, :1], values[:, :1], protocol="paper").parts
    assert (alone["largest_of_code"], alone["second_of_code"]) == ([1.0], [0.0])


def test_the_protocol_of_its_neighbours_is_that_of_the_paper():
    ours = (dict(cbd(*get("rotated"), protocol=p).values) for p in ("paper", "carbonneau"))
    assert next(ours) == next(ours)
