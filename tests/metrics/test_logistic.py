import warnings

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import KFold

from unknot.metrics.efficiency import PENALTIES
from unknot.metrics.parts import logistic
from unknot.metrics.parts.logistic import CLOSE, fit_logistic


def noisy(classes: int, n: int, noise: float):
    """Four codes, one nearly dead and one large, and classes that they predict through noise."""
    rng = np.random.default_rng([classes, n])
    codes = rng.normal(size=(n + 200, 4))
    scores = codes @ rng.normal(size=(4, classes)) + noise * rng.gumbel(size=(n + 200, classes))
    codes *= [1, 1, 0.01, 30]
    return codes[:n], scores.argmax(1)[:n], codes[n:]


def fitted(codes, level, cs):
    return fit_logistic(torch.from_numpy(codes), torch.from_numpy(level), cs=cs)


def converged(kind, codes, level, **options):
    """A model of scikit-learn, run to the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(solver="newton-cg", tol=1e-10, max_iter=10_000, **options).fit(codes, level)


@pytest.mark.parametrize("c", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize(("classes", "n", "noise"), [(2, 203, 1.0), (3, 151, 0.3), (7, 402, 1.0)])
def test_coefficients_and_probabilities_are_those_of_scikit_learn(
    monkeypatch, classes, n, noise, c
):
    """Another penalty, one on the bias too, or one not shared by two classes would differ."""
    codes, level, held = noisy(classes, n, noise)
    theirs = converged(LogisticRegression, codes, level, C=c)
    ours = fitted(codes, level, [c])
    probabilities = ours.logits(torch.from_numpy(held)).softmax(1).numpy()
    np.testing.assert_allclose(probabilities, theirs.predict_proba(held), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(torch.from_numpy(held)), theirs.predict(held))
    monkeypatch.setattr(logistic, "CLOSE", CLOSE / 1000)
    weight = fitted(codes, level, [c]).weight.numpy()
    weight = weight[1:] - weight[:1] if classes == 2 else weight
    scale = np.abs(theirs.coef_).max(0)
    np.testing.assert_allclose(weight / scale, theirs.coef_ / scale, atol=1e-5)


@pytest.mark.parametrize("c", [0.01, 100.0])
def test_slopes_at_the_minimum_are_zero(c):
    """What the formula says, independent of any solver."""
    codes, level, _ = noisy(5, 300, 1.0)
    x = torch.from_numpy(codes)
    ours = fitted(codes, level, [c])
    residuals = ours.logits(x).softmax(1) - torch.eye(5)[level]
    slopes = residuals.T @ x + ours.weight / c
    # 25 directions of at most CLOSE; a second derivative is at most a quarter of the squares.
    assert (slopes.abs() < 5 * CLOSE * (x.square().sum(0) / 4 + 1 / c).sqrt()).all()
    assert (residuals.sum(0).abs() < 5 * CLOSE * (len(x) / 4) ** 0.5).all()


@pytest.mark.parametrize(
    ("classes", "n", "noise"),
    [(2, 203, 1.0), (2, 60, 0.05), (3, 151, 0.3), (7, 402, 1.0), (6, 31, 0.5)],
)
def test_the_penalty_is_the_one_that_scikit_learn_chooses(classes, n, noise):
    """Other folds, another order among equals or another sum would choose another one."""
    codes, level, held = noisy(classes, n, noise)
    theirs = converged(LogisticRegressionCV, codes, level, Cs=10, cv=KFold(5))
    ours = fitted(codes, level, PENALTIES)
    np.testing.assert_array_equal(ours.accuracy, next(iter(theirs.scores_.values())))
    assert ours.c == theirs.C_[0]
    np.testing.assert_array_equal(ours.predict(torch.from_numpy(held)), theirs.predict(held))


def test_classes_that_a_fold_lacks_are_not_predicted_there():
    """The first fifth has the only rows of two classes; each of the others is then left alone."""
    level = np.array([1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    codes = np.random.default_rng(0).normal(size=(12, 2)) + 3 * level[:, None]
    theirs = converged(LogisticRegressionCV, codes, level, Cs=10, cv=KFold(5))
    ours = fitted(codes, level, PENALTIES)
    np.testing.assert_allclose(ours.accuracy[0], 1 / 3)
    np.testing.assert_array_equal(ours.accuracy, next(iter(theirs.scores_.values())))
    assert ours.c == theirs.C_[0]


def test_separable_classes_end_at_the_penalty(monkeypatch):
    """Without one there is no minimum; second derivatives at every step change nothing."""
    codes, level, _ = noisy(4, 80, 0.0)
    ours = fitted(codes, level, PENALTIES)
    theirs = converged(LogisticRegressionCV, codes, level, Cs=10, cv=KFold(5))
    assert ours.c == theirs.C_[0] > 100
    monkeypatch.setattr(logistic, "PATIENCE", 1)
    again = fitted(codes, level, PENALTIES)
    assert again.c == ours.c
    np.testing.assert_allclose(again.weight, ours.weight, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("size", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize(("classes", "n"), [(3, 151), (7, 402), (20, 60)])
def test_nearly_constant_codes_change_nothing(classes, n, size):
    """As of collapsed latents: their penalty in their own unit must not hide all else."""
    codes, level, held = noisy(classes, n, 0.5)
    dead = size * np.random.default_rng(0).normal(size=(len(codes) + len(held), 3))
    more = np.hstack([codes, dead[: len(codes)]])
    ours = fitted(more, level, PENALTIES)
    theirs = converged(LogisticRegression, more, level, C=ours.c)
    scores = more @ theirs.coef_.T + theirs.intercept_
    scale = np.abs(scores).max()
    np.testing.assert_allclose(
        ours.logits(torch.from_numpy(more)) / scale, scores / scale, atol=1e-3
    )
    if size < 1e-6:
        plain = fitted(codes, level, PENALTIES)
        assert ours.c == plain.c
        np.testing.assert_array_equal(ours.accuracy, plain.accuracy)


def test_codes_of_any_size_and_constant_ones():
    codes, level, held = noisy(3, 151, 0.3)
    plain = fitted(codes, level, [1.0])
    more = np.hstack([codes, np.full((len(codes), 1), 7.0)])
    constant = fitted(more, level, [1.0])
    np.testing.assert_allclose(constant.weight[:, :4], plain.weight, atol=1e-3)
    np.testing.assert_allclose(constant.weight[:, 4], 0, atol=1e-6)
    # Where penalties do not matter, neither does the unit.
    large = fitted(1e150 * codes, level, [1e4])
    weak = fitted(codes, level, [1e12])
    held = torch.from_numpy(held)
    np.testing.assert_allclose(
        large.logits(1e150 * held).softmax(1), weak.logits(held).softmax(1), atol=1e-3
    )
