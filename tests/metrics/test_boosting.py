import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier

from unknot.metrics import dci
from unknot.metrics.dci import Settings
from unknot.metrics.parts import boosting
from unknot.metrics.parts.boosting import boost


def noisy(classes: int, n: int = 1500):
    """Classes that four codes, one of few values, predict badly: no two splits are as good."""
    rng = np.random.default_rng([3, classes])
    codes = rng.normal(size=(n + 300, 4))
    codes[:, 3] = np.round(2 * codes[:, 3])
    scores = codes @ rng.normal(size=(4, classes)) + 1.5 * rng.gumbel(size=(n + 300, classes))
    return codes[:n], scores.argmax(1)[:n], codes[n:]


def boosted(codes, level, held, **options):
    found = boost(*(torch.from_numpy(a) for a in (codes, level, held)), **options)
    return found.importance.numpy(), found.train.numpy(), found.test.numpy()


@pytest.mark.parametrize(
    ("classes", "rounds", "single"),
    [(2, 20, False), (3, 5, False), (7, 1, False), (2, 20, True), (3, 5, True), (7, 1, True)],
)
def test_the_trees_are_those_of_scikit_learn(classes, rounds, single):
    codes, level, held = noisy(classes)
    theirs = GradientBoostingClassifier(n_estimators=rounds, random_state=0).fit(codes, level)
    importance, train, test = boosted(codes, level, held, rounds=rounds, single=single)
    tolerance = 1e-5 if single else 1e-11
    np.testing.assert_allclose(importance, theirs.feature_importances_, atol=tolerance)
    np.testing.assert_array_equal(train, theirs.predict(codes))
    np.testing.assert_array_equal(test, theirs.predict(held))


@pytest.mark.parametrize("name", ["BINS", "AT_ONCE"])
@pytest.mark.parametrize("value", [1, 7, 10_000])
def test_bins_and_batches_are_a_matter_of_speed(monkeypatch, name, value):
    """Bounds that were too low would lose the best split, and with it the equality."""
    codes, level, held = noisy(3)
    expected = boosted(codes, level, held, rounds=4)
    monkeypatch.setattr(boosting, name, value)
    for ours, theirs in zip(boosted(codes, level, held, rounds=4), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_equal_codes_share_the_importance():
    """Always taking the first of equal splits would leave nothing to the copy."""
    codes, level, held = noisy(3)
    importance, *_ = boosted(codes[:, [0, 1, 0]], level, held[:, [0, 1, 0]], rounds=30)
    assert importance[0] == pytest.approx(importance[2], rel=0.3)
    assert importance.sum() == pytest.approx(1)


def test_one_threshold_is_found_halfway():
    codes = np.array([[0.0], [1.0], [2.0], [6.0], [7.0], [8.0]])
    importance, train, held = boosted(
        codes, np.array([4, 4, 4, 9, 9, 9]), np.array([[3.9], [4.1]]), rounds=1
    )
    assert importance.tolist() == [1]
    assert train.tolist() == [4, 4, 4, 9, 9, 9]
    assert held.tolist() == [4, 9]


def test_constant_codes_predict_the_commonest_class():
    level = np.array([0, 1, 1, 2, 1, 0, 2, 1])
    importance, train, held = boosted(np.full((8, 2), 0.3), level, np.ones((3, 2)), rounds=3)
    assert importance.tolist() == [0, 0]
    assert set(train) | set(held) == {1}


def test_values_closer_than_single_precision_tells_are_one():
    """scikit-learn, too, calls a code with a range below 1e-7 constant."""
    codes, level, held = noisy(3)
    codes[:, 0] *= 1e-9
    importance, *_ = boosted(codes, level, held, rounds=2)
    theirs = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(codes, level)
    assert importance[0] == theirs.feature_importances_[0] == 0
    np.testing.assert_allclose(importance, theirs.feature_importances_, atol=1e-11)


SIZES = (2, 3, 6)
KINDS = ("aligned", "rotated", "mixed", "curved", "folded", "coarse", "heavy tails", "noise")


def codes_of(kind: str, seed: int, n: int, sizes=SIZES):
    """Six codes of factors drawn at random, half of them left over."""
    rng = np.random.default_rng([7, seed, KINDS.index(kind)])
    values = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    s = (values - values.mean(0)) / values.std(0)
    f = len(sizes)
    noise = (0.05, 0.2, 0.4, 0.8)[seed % 4] * rng.normal(size=(n, 2 * f))
    dead = 0.01 * rng.normal(size=(n, f))
    plain = np.hstack([s, dead])
    made = {
        "aligned": lambda: plain,
        "rotated": lambda: plain @ np.linalg.qr(rng.normal(size=(2 * f, 2 * f)))[0],
        "mixed": lambda: np.hstack([s @ (np.eye(f) + 0.4 * rng.normal(size=(f, f))), dead]),
        "curved": lambda: np.hstack([np.tanh(2 * s), s**3]),
        "folded": lambda: np.hstack([np.sin(2 * s), np.cos(2 * s)]),
        "coarse": lambda: np.round(np.hstack([s, s]) + noise, 1),
        "heavy tails": lambda: plain * np.exp(rng.normal(size=(n, 1))),
        "noise": lambda: rng.normal(size=(n, 2 * f)),
    }[kind]()
    return made if kind in ("coarse", "noise") else made + noise, values


def deviations(kind: str, seed: int, n: int, trees: int, sizes=SIZES, draws=1):
    """How far D, C and both accuracies are from scikit-learn's, single precision and double.

    Where splits are equally good a tree takes one by chance, there and here; ``draws`` averages.
    """
    codes, values = codes_of(kind, seed, n + n // 2, sizes)
    test = (codes[n:], values[n:])

    def mean(**options):
        protocol = Settings(**({"estimator": "boosting", "trees": trees} | options))
        found = [
            dci(codes[:n], values[:n], protocol=protocol, test=test, seed=draw).values
            for draw in range(draws)
        ]
        return {key: np.mean([values[key] for values in found]) for key in found[0]}

    theirs = mean(estimator="sklearn_boosting")
    both = (mean(single=True), mean())
    return [{key: abs(ours[key] - theirs[key]) for key in theirs} for ours in both]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_scikit_learn(kind):
    """Few rows and few trees, which make equal splits frequent and leave little to average."""
    for away in deviations(kind, 0, n=500, trees=20, draws=3):
        assert max(away.values()) < 0.02, away


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "kind"), [(i % 4, kind) for i, kind in enumerate(KINDS)])
def test_scores_are_those_of_scikit_learn_on_many_codes(seed, kind):
    for away in deviations(kind, seed, n=2000, trees=40, sizes=(3, 6, 10)):
        assert max(away.values()) < 0.01, away
