import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_information, metrics_rest
from scipy import stats

from unknot.metrics.parts import columns, information
from unknot.metrics.parts.drawing import take
from unknot.metrics.sap import threshold_accuracy

RNG = np.random.default_rng(0)


def tensor(array) -> torch.Tensor:
    return torch.from_numpy(np.asarray(array))


@given(st.integers(0, 1000), st.integers(2, 25))
@settings(max_examples=30)
def test_equal_widths_are_those_of_a_histogram(seed, bins):
    values = np.random.default_rng(seed).normal(size=(50, 3)).round(1)
    ours = information.discretize(tensor(values), bins, "width")
    np.testing.assert_array_equal(ours, metrics_information.bins(values, bins))


def test_a_constant_column_has_one_bin():
    for edges in ("width", "quantile"):
        binned = information.discretize(torch.full((20, 1), 0.1, dtype=torch.float64), 5, edges)
        assert len(binned.unique()) == 1


def test_quantile_bins_hold_equal_shares_and_keep_equal_values_together():
    values = tensor(RNG.normal(size=(1000, 1)))
    assert (
        torch.bincount(information.discretize(values, 20, "quantile")[:, 0]).tolist() == [50] * 20
    )
    tied = tensor(RNG.integers(0, 30, size=(1000, 1)).astype(float))
    binned = information.discretize(tied, 20, "quantile")
    for value in tied.unique():
        assert len(binned[tied == value].unique()) == 1


def test_few_values_keep_a_bin_each_however_rare():
    values = torch.cat([torch.zeros(997), torch.tensor([1.0, 2.0, 3.0])]).double()[:, None]
    assert len(information.discretize(values, 20, "quantile").unique()) == 4


def test_quantile_bins_do_not_see_outliers_or_monotone_maps():
    values = tensor(RNG.normal(size=(1000, 1)))
    plain = information.discretize(values, 20, "quantile")
    far = values.clone()
    far[values.argmax()] = 1e9
    assert torch.equal(information.discretize(far, 20, "quantile"), plain)
    assert torch.equal(information.discretize(values.exp(), 20, "quantile"), plain)


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_information_equals_the_reference(seed):
    rng = np.random.default_rng(seed)
    codes, factors = rng.integers(0, 5, (40, 3)), rng.integers(0, 4, (40, 2))
    joint = information.counts(tensor(codes), tensor(factors))
    mutual, entropies = metrics_information.tables(codes, factors)
    np.testing.assert_allclose(information.mutual_information(joint), mutual, atol=1e-12)
    np.testing.assert_allclose(information.entropy(joint.flatten(-2)), entropies, atol=1e-12)


def test_information_of_a_constant_is_exactly_zero():
    joint = information.counts(
        torch.zeros(7, 1, dtype=torch.int64), tensor(np.arange(7)[:, None] % 3)
    )
    assert information.mutual_information(joint).item() == 0.0


def test_plug_in_bias_is_corrected():
    """Counted information of independent variables is (b - 1)(v - 1) / 2n too high."""
    n, b, v = 2_000, 20, 10
    plain, corrected = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = take(rng.normal(size=(n, 4)), rng.integers(0, v, (n, 1)), samples=None, seed=0)
        settings_ = information.Counting(bins=b, edges="quantile")
        plain.append(rows.information(settings_).mutual.mean().item())
        joint = information.counts(information.discretize(rows.codes, b, "quantile"), rows.levels)
        h = [information.entropy(t, corrected=True) for t in (joint.sum(-1), joint.sum(-2))]
        whole = information.entropy(joint.flatten(-2), corrected=True)
        corrected.append((h[0] + h[1] - whole).mean().item())
    bias = (b - 1) * (v - 1) / (2 * n)
    assert np.mean(plain) == pytest.approx(bias, rel=0.1)
    assert abs(np.mean(corrected)) < 0.05 * bias


def test_few_rows_are_remarked():
    rows = take(RNG.normal(size=(50, 2)), RNG.integers(0, 10, (50, 1)), samples=None, seed=0)
    assert "overestimated" in rows.information(information.STUDY).remarks[0]


def test_noise_is_dead_at_any_scale_and_a_faint_signal_is_not():
    rng = np.random.default_rng(1)
    factors = rng.integers(0, 10, (5_000, 2))
    noise = rng.normal(size=(5_000, 6)) * [1e-6, 1e-3, 1.0, 1e3, 1e6, 1.0]
    signal = 1e-6 * (factors[:, :1] + 10 * rng.normal(size=(5_000, 1)))
    codes = np.hstack([noise, signal, np.full((5_000, 1), 0.3)])
    rows = take(codes, factors, samples=None, seed=0)
    alive = rows.information(information.UNKNOT).alive.tolist()
    assert alive == [False] * 6 + [True] + [False]


def test_too_few_rows_to_tell_leave_codes_alive():
    rows = take(RNG.normal(size=(12, 2)), np.arange(12)[:, None] % 6, samples=None, seed=0)
    assert rows.information(information.UNKNOT).alive.all()


def test_correlations_equal_those_of_scipy():
    a, b = RNG.normal(size=(60, 3)), RNG.integers(0, 5, (60, 2)).astype(float)
    a[:, 2] = 0.1
    pearson = columns.correlation(tensor(a), tensor(b))
    spearman = columns.correlation(columns.midranks(tensor(a)), columns.midranks(tensor(b)))
    for j in range(2):
        for k in range(2):
            assert pearson[j, k].item() == pytest.approx(stats.pearsonr(a[:, j], b[:, k])[0])
            assert spearman[j, k].item() == pytest.approx(stats.spearmanr(a[:, j], b[:, k])[0])
    assert pearson[2].tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(columns.midranks(tensor(b))[:, 0] + 1, stats.rankdata(b[:, 0]))


@given(st.integers(0, 10_000), st.integers(2, 3))
@settings(max_examples=25)
def test_thresholds_are_the_best_there_are(seed, classes):
    rng = np.random.default_rng(seed)
    level = np.concatenate([np.arange(classes), rng.integers(0, classes, 9)])
    code = (level + rng.normal(size=len(level))).round(int(seed % 2))
    ours = threshold_accuracy(tensor(code)[:, None], tensor(level)).item()
    assert ours == pytest.approx(metrics_rest.threshold_accuracy(code, level))


def test_outliers_do_not_move_thresholds():
    """Five rows in a thousand far away would turn the order of the classes' means around."""
    level = np.repeat([0, 1], 2_000)
    code = level + 0.1 * RNG.normal(size=4_000)
    code[:20] = 500.0
    ours = threshold_accuracy(tensor(code)[:, None], tensor(level)).item()
    assert ours == pytest.approx(1 - 0.01 / 2, abs=1e-3)


def test_of_many_classes_the_order_of_mean_ranks_is_taken():
    level = np.repeat(np.arange(6), 50)
    code = np.array([3.0, 0.0, 5.0, 1.0, 4.0, 2.0])[level]
    code[100] = 1e6
    ours = threshold_accuracy(tensor(code)[:, None], tensor(level)).item()
    assert ours == pytest.approx(1)


def test_thresholds_separate_what_can_be_separated():
    level = np.repeat([0, 1, 2], 5)
    order = np.array([5.0, -1.0, 2.0])[level]
    assert threshold_accuracy(tensor(order)[:, None], tensor(level)).item() == 1
    same = torch.zeros(15, 1, dtype=torch.float64)
    assert threshold_accuracy(same, tensor(level)).item() == pytest.approx(1 / 3)
