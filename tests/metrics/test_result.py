import copy
import json
import pickle

import numpy as np
import pytest

import unknot
from metrics.representations import get
from unknot import metrics
from unknot.core.errors import ConfigError, DataError
from unknot.metrics import Score
from unknot.metrics.parts.drawing import take
from unknot.metrics.parts.facts import Protocol
from unknot.metrics.parts.scoring import Measured, build


def test_a_score_is_a_number_with_parts():
    score = metrics.mig(*get("rotated"), protocol="study2019", seed=3)
    assert float(score) == score["mig"] == score.values["mig"]
    assert score.parts["information"].shape == (4, 4)
    assert isinstance(score.parts["per_factor"], np.ndarray)
    assert (
        repr(score) == "mig 0.5000 (protocol study2019 v1, 2,160 rows, 50 % of the ceiling 1.000)"
    )


def test_a_score_behaves_like_its_number():
    score = metrics.dci(*get("rotated"))
    value = score.values["dci"]
    assert score == value
    assert f"{score:.3f}" == f"{value:.3f}"
    assert round(score, 2) == round(value, 2)
    assert score < value + 0.1
    assert max(score, value - 1) is score
    assert 1 - score == 1 - value
    assert np.mean([score, 0.0]) == value / 2
    assert np.asarray(score).dtype == np.float64
    assert json.loads(json.dumps({"dci": score})) == {"dci": value}
    assert score["completeness"] == score["dci.completeness"] == score.values["dci.completeness"]


def test_a_score_survives_pickle_and_copy():
    score = metrics.mig(*get("rotated"), interval=0.9)
    for again in (pickle.loads(pickle.dumps(score)), copy.deepcopy(score)):
        assert again == score
        assert again.protocol == score.protocol
        assert again.interval == score.interval
        assert repr(again) == repr(score)


def test_a_line_to_cite_has_all_that_repeats_the_number():
    score = metrics.mig(*get("rotated"), protocol="study2019", interval=0.95)
    low, high = score.interval
    expected = f"mig 0.50 [{low:.2f}, {high:.2f}], unknot {unknot.__version__}, "
    assert score.cite() == expected + "protocol study2019 v1, 2,160 rows"


def test_remarks_are_in_sight():
    codes, values = get("perfect")
    constant = np.concatenate([values, np.zeros((len(values), 1), dtype=values.dtype)], axis=1)
    score = metrics.mig(codes, constant)
    assert "left out for having one value" in repr(score).splitlines()[1]
    assert "left out for having one value" in score._repr_html_()


def test_the_record_repeats_the_score():
    score = metrics.dci(*get("perfect"), seed=3)
    record = json.loads(json.dumps(score.protocol))
    assert record["name"] == "unknot"
    assert record["version"] == 2
    assert record["estimator"] == "forest"
    assert record["seed"] == 3
    assert record["rows"] + record["test_rows"] == 2160
    assert record["factors"] == [f"factor {k}" for k in range(4)]
    assert "scikit_learn" in record


def test_an_unknown_value_gets_the_nearest_name():
    with pytest.raises(ConfigError, match=r"did you mean 'dci.completeness'"):
        metrics.dci(*get("perfect"))["dci.completenes"]


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_between_zero_and_one(level):
    with pytest.raises(ConfigError, match="between 0 and 1"):
        metrics.mig(*get("noise"), interval=level)


def test_no_number_that_is_not_finite_leaves():
    rows = take(*get("noise"), samples=None, seed=0)
    chosen = Protocol("mig", "unknot", None)
    with pytest.raises(DataError, match=r"mig.part is not a finite number"):
        build(chosen, Measured({"": 1.0, "part": float("nan")}, {}), rows, {})


def test_relative_without_a_ceiling_is_nothing():
    score = Score("x", {"x": 0.5, "x.part": 0.25}, {}, {"name": "paper"}, interval=(0.4, 0.6))
    assert score.relative is None
    assert repr(score) == "x 0.5000 .part 0.2500 (protocol paper, interval 0.4000 to 0.6000)"
