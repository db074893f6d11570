"""Codes under several protocols, intervals by half-samples, and codes without factors."""

import numpy as np
import pytest

from metrics.representations import get
from unknot import metrics
from unknot.core.errors import ConfigError
from unknot.metrics.parts.intervals import half_sample_interval, resamples


def test_scores_are_those_of_each_protocol():
    codes, values = get("rotated")
    both = metrics.compare(codes, values, protocols=["unknot", "study2019"], metrics=["mig", "sap"])
    for protocol in ("unknot", "study2019"):
        for name in ("mig", "sap"):
            alone = getattr(metrics, name)(codes, values, protocol=protocol)
            assert both[protocol][name] == both.score(name, protocol) == alone


def test_settings_that_differ_and_no_others():
    codes, values = get("rotated")
    both = metrics.compare(codes, values, protocols=["unknot", "study2019"], metrics=["mig"])
    different = both.differences("mig")
    ours, theirs = (both[name]["mig"].protocol for name in ("unknot", "study2019"))
    assert different["edges"] == [ours["edges"], theirs["edges"]]
    assert "bins" not in different, "both have 20"
    assert "seed" not in different
    assert "mig differs in " in repr(both)


def test_a_metric_without_the_protocol_is_a_dash():
    codes, values = get("rotated")
    both = metrics.compare(codes, values, protocols=["unknot", "carbonneau"], metrics=["med"])
    assert both.score("med", "carbonneau") is None
    assert repr(both).splitlines()[1].endswith("–")
    assert both.differences("med") == {}, "nothing to compare with"


def test_a_half_sample_spreads_as_the_mean_of_all_rows_does():
    """For a mean the interval is that of the normal distribution, with the plain standard error."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=4_000)

    def again(step: int) -> float:
        return values[np.random.default_rng(step).permutation(4_000)[:2_000]].mean()

    low, high = half_sample_interval(again, values.mean(), 0.95, 2_000)
    stderr = values.std(ddof=1) / 4_000**0.5
    assert (high - low) / (2 * 1.96 * stderr) == pytest.approx(1, abs=0.06)
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=0.1 * stderr)


@pytest.mark.parametrize("name", ["mig", "sap", "modularity", "explicitness", "irs"])
def test_intervals_hold_the_score_and_shrink_with_rows(name):
    codes, values = get("rotated")
    rng = np.random.default_rng(0)
    codes = np.asarray(codes) + 0.3 * rng.normal(size=codes.shape)
    few = rng.permutation(len(codes))[: len(codes) // 6]
    metric = getattr(metrics, name)
    all_rows = metric(codes, values, interval=0.9)
    fewer = metric(codes[few], values[few], interval=0.9)
    for score in (all_rows, fewer):
        assert score.interval[0] <= score <= score.interval[1]
        assert "half-samples" in score.protocol["interval"]
    width, wider = (score.interval[1] - score.interval[0] for score in (all_rows, fewer))
    assert wider > 1.4 * width


def test_an_interval_ends_at_the_bounds_of_the_metric_and_holds_the_score():
    halves = [0.90, 0.95, 1.0, 0.97, 1.0, 0.93] * 10
    free = half_sample_interval(halves.__getitem__, 0.99, 0.9, 60)
    assert free[1] > 1
    assert half_sample_interval(halves.__getitem__, 0.99, 0.9, 60, (0, 1)) == (free[0], 1.0)
    beyond = half_sample_interval(halves.__getitem__, 1.01, 0.9, 60, (0, 1))
    assert beyond[1] == 1.01, "it holds a score that lies beyond by chance"


def test_metrics_that_draw_their_own_points_have_no_interval():
    with pytest.raises(ConfigError, match="takes no `interval`"):
        metrics.factor_vae(*get("perfect"), interval=0.9)
    table = metrics.evaluate(*get("perfect"), metrics=["factor_vae", "mig"], interval=0.9)
    assert table["factor_vae"].interval is None
    assert table["mig"].interval is not None
    assert " to " in repr(table)
    assert "factor_vae: no interval." in repr(table)
    both = metrics.compare(
        *get("perfect"), metrics=["factor_vae", metrics.mig], protocols=["unknot"], interval=0.9
    )
    assert "factor_vae: no interval." in repr(both)
    assert "<small>factor_vae: no interval." in both._repr_html_()


def test_an_interval_holds_the_value_also_where_few_halves_differ():
    low, high = half_sample_interval(lambda step: float(step == 0), 0.0, 0.5, 50)
    assert low == pytest.approx(-1 / 50)
    assert high == 0.0


def test_a_comparison_computes_no_other_metrics(monkeypatch):
    from unknot.metrics.parts import evaluation

    seen, score_codes = [], evaluation.score_codes
    monkeypatch.setattr(
        evaluation, "score_codes", lambda name, *rest: seen.append(name) or score_codes(name, *rest)
    )
    metrics.compare(*get("perfect"), protocols=["unknot", "study2019"], metrics=["mig"])
    assert seen == ["mig", "mig"]


def test_slow_metrics_get_fewer_half_samples():
    assert resamples(0.01) == resamples(None) == 200
    assert resamples(1000.0) == 50


def test_codes_without_factors():
    codes, values = get("rotated")
    table = metrics.evaluate(codes)
    assert {"active_units", "gaussian_tc"} <= {*table}
    assert "mig" in table.skipped
    assert float(table["gaussian_tc"]) == float(metrics.evaluate(codes, values)["gaussian_tc"])
    with pytest.raises(ConfigError, match="pass `factors`"):
        metrics.evaluate(codes, metrics=["mig"])
