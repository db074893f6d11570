"""Ramp and controllers against series simulated by hand, one float at a time."""

import math

import numpy as np
import pytest
import torch

from unknot.objectives.parts.control import incremental, position, ramp_target

GAINS = {"kp": 0.01, "ki": 0.001, "low": 1.0, "high": 3.0}


def tensor(value):
    return torch.tensor(value, dtype=torch.float64)


def logistic(a):
    return 1 / (1 + math.exp(-a))


def waves(n, target, size, seed):
    """Divergences around a target: slow waves and noise, so that both bounds are reached."""
    noise = np.random.default_rng(seed).normal(size=n)
    return np.maximum(target + size * (np.sin(np.arange(n) / 60) + 0.3 * noise), 0)


def by_hand(errors, *, kp, ki, low, high):
    """ControlVAE's weights with plain floats; the integral waits as our docstring says."""
    integral, output, betas = 0.0, low, []
    for e in errors:
        outwards = (output < low and e > 0) or (output > high and e < 0)
        if not outwards:
            integral -= ki * e
        output = low + kp / (1 + math.exp(e)) + integral
        betas.append(min(max(output, low), high))
    return betas


def by_hand_incremental(errors, start, *, kp, ki, low, high):
    output, before, betas = start, 0.0, []
    for e in errors:
        outwards = (output < low and e > 0) or (output > high and e < 0)
        output += kp * (logistic(-e) - logistic(-before)) - (0 if outwards else ki * e)
        before = e
        betas.append(min(max(output, low), high))
    return betas


def run(errors, **gains):
    integral, output, betas = tensor(0.0), tensor(gains["low"]), []
    for e in errors:
        beta, integral, output = position(integral, output, tensor(e), **gains)
        betas.append(beta.item())
    return betas


def run_incremental(errors, start, **gains):
    output, before, betas = tensor(start), tensor(0.0), []
    for e in errors:
        beta, output = incremental(output, before, tensor(e), **gains)
        before = tensor(e)
        betas.append(beta.item())
    return betas


@pytest.mark.parametrize(("size", "bounds"), [(2.0, {1.0}), (40.0, {1.0, 3.0})])
def test_the_position_controller_follows_a_hand_simulated_series(size, bounds):
    errors = list(18 - waves(900, 18, size, seed=1))
    expected = by_hand(errors, **GAINS)
    np.testing.assert_allclose(run(errors, **GAINS), expected, rtol=1e-12)
    assert bounds <= set(expected)
    assert len(set(expected)) > 300


@pytest.mark.parametrize(("start", "size"), [(0.5, 5.0), (150.0, 5.0), (2.9, 40.0)])
def test_the_incremental_controller_follows_a_hand_simulated_series(start, size):
    gains = {"kp": 0.01, "ki": 0.005, "low": 0.1, "high": 200.0}
    errors = list(18 - waves(900, 18, size, seed=2))
    expected = by_hand_incremental(errors, start, **gains)
    np.testing.assert_allclose(run_incremental(errors, start, **gains), expected, rtol=1e-12)


def test_the_weight_falls_below_the_target_and_rises_above_it():
    """Moğultay Özcan 2024, by the sign of the integral gain, which is applied once."""
    integral, output = tensor(0.7), tensor(1.7)
    below, after, _ = position(integral, output, tensor(5.0), **GAINS)
    assert below < output
    assert after.item() == pytest.approx(0.7 - 0.005)
    above, after, _ = position(integral, output, tensor(-5.0), **GAINS)
    assert above > output
    assert after.item() == pytest.approx(0.7 + 0.005)
    for error, falls in ((5.0, True), (-5.0, False)):
        beta, _ = incremental(tensor(150.0), tensor(error), tensor(error), **GAINS | {"high": 1e3})
        assert (beta < 150).item() == falls
        assert beta.item() == pytest.approx(150 - 0.001 * error, rel=1e-12)


def test_weights_stay_within_their_bounds():
    for betas in (
        run(18 - waves(600, 18, 60, seed=3), **GAINS),
        run_incremental(18 - waves(600, 18, 60, seed=3), 2.0, **GAINS),
    ):
        assert min(betas) == 1.0
        assert max(betas) == 3.0


def test_no_step_of_the_incremental_controller_is_larger_than_both_parts():
    errors = 18 - waves(500, 12, 30, seed=4)
    gains = {"kp": 0.01, "ki": 0.005, "low": 0.1, "high": 1e3}
    betas = np.array([150.0, *run_incremental(errors, 150.0, **gains)])
    assert (abs(np.diff(betas)) <= 0.005 * abs(errors) + 0.01).all()


def published(errors, *, kp, ki, low, high):
    """The rule of the authors' code: below the bound the integral waits whatever the error."""
    integral, output, betas = 0.0, low, []
    for e in errors:
        if not output < low:
            integral -= ki * e
        output = low + kp / (1 + math.exp(e)) + integral
        betas.append(max(output, low))
    return betas


def test_the_weight_comes_back_from_its_bound_where_the_published_rule_never_does():
    """A first error of 18 takes the integral further down than the proportional gain can lift."""
    errors = [18.0] + [-30.0] * 500
    assert set(published(errors, **GAINS)) == {1.0}
    ours = run(errors, **GAINS | {"high": 100.0})
    assert ours[0] == 1.0
    assert ours[-1] == pytest.approx(1.01 - 0.018 + 500 * 0.03)


def test_the_published_rule_agrees_where_it_lets_go():
    """While nothing is held, as on a ramp whose errors are small, both rules are the same."""
    errors = 0.5 * np.sin(np.arange(600) / 40) - 0.5
    assert np.allclose(run(errors, **GAINS), published(errors, **GAINS), rtol=1e-12)


def test_the_incremental_weight_comes_back_from_its_bound_too():
    gains = {"kp": 0.01, "ki": 0.005, "low": 0.1, "high": 1e3}
    betas = run_incremental([10.0] * 20 + [-10.0] * 20, 0.11, **gains)
    assert betas[19] == 0.1
    assert betas[-1] > 0.9
    # The published rule: below the bound only the proportional part moves, by 0.01 at most.
    output, before = 0.11, 0.0
    for e in [10.0] * 20 + [-10.0] * 20:
        moved = 0.01 * (logistic(-e) - logistic(-before)) - (0 if output < 0.1 else 0.005 * e)
        output, before = output + moved, e
    assert output < 0.1


@pytest.mark.parametrize("error", [1e4, -1e4])
def test_errors_of_any_size_are_finite(error):
    """exp(e) of the printed formula overflows beyond 709."""
    for dtype in (torch.float32, torch.float64):
        zero = torch.zeros((), dtype=dtype)
        results = position(zero, zero + 2, zero + error, **GAINS)
        results += incremental(zero + 2, zero - error, zero + error, **GAINS)
        assert all(value.isfinite() for value in results)


def test_members_are_controlled_apart():
    integral, output = tensor([0.0, 0.5, -2.0]), tensor([1.0, 1.5, 0.2])
    error, ki = tensor([4.0, -3.0, 2.0]), tensor([0.001, 0.01, 0.1])
    together = position(integral, output, error, **GAINS | {"ki": ki})
    for i in range(3):
        alone = position(integral[i], output[i], error[i], **GAINS | {"ki": ki[i].item()})
        for a, b in zip(together, alone, strict=True):
            torch.testing.assert_close(a[i], b, rtol=1e-15, atol=0)


@pytest.mark.parametrize(("every", "over"), [(7, 1), (7, 3), (7, 7), (1, 1)])
def test_the_ramp_is_that_of_the_authors_loop(every, over):
    """Count from 1; within the first steps of each window but the first, a share of the rise."""
    c = 0.5
    for t in range(200):
        count = t + 1
        if count % every < over and count >= every:
            c += 0.15 / over
        now = ramp_target(torch.tensor(t), 3.0, start=0.5, step=0.15, interval=every, over=over)
        assert now.item() == pytest.approx(min(c, 3.0), rel=1e-12)
    assert c > 3


def test_the_ramps_at_300_000_steps():
    """Moğultay Özcan 2024: targets of 18 are far from reached, 9.5 and 7.9."""
    last = torch.tensor(299_999)
    assert ramp_target(last, 18.0, start=0.5, step=0.15, interval=5_000).item() == pytest.approx(
        9.5
    )
    slow = ramp_target(last, 18.0, start=0.5, step=0.15, interval=6_000, over=1_000)
    assert slow.item() == pytest.approx(7.85, abs=1e-3)


def test_a_ramp_that_starts_above_its_target_is_at_the_target():
    assert ramp_target(torch.tensor(3), 0.2, start=0.5, step=0.15, interval=10).item() == 0.2


def plant(kl, beta):
    """A divergence that follows its weight with a delay, as in training."""
    return kl + 0.02 * (40 / (1 + beta) - kl)


@pytest.mark.parametrize("target", [8.0, 15.0])
def test_a_divergence_that_answers_to_its_weight_settles_at_the_target(target):
    gains = {"kp": 0.01, "ki": 0.005, "low": 0.0, "high": 100.0}
    kl = other = tensor(20.0)
    integral, output, last, before = tensor(0.0), tensor(0.0), tensor(20.0), tensor(0.0)
    for _ in range(3000):
        beta, integral, output = position(integral, output, target - kl, **gains)
        kl = plant(kl, beta)
        weight, last = incremental(last, before, target - other, **gains)
        before, other = target - other, plant(other, weight)
    assert kl.item() == pytest.approx(target, rel=0.01)
    assert other.item() == pytest.approx(target, rel=0.01)
    assert beta.item() == pytest.approx(40 / target - 1, rel=0.02)
