"""Vector tokens: principal components by scikit-learn."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from unknot import metrics
from unknot.core.errors import ConfigError, DataError, ShapeError

RNG = np.random.default_rng(0)
FACTORS = np.indices((4, 5)).reshape(2, -1).T.repeat(20, axis=0)
# A token for each factor, in a direction of its own, with noise across it.
DIRECTIONS = RNG.normal(size=(2, 6))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
Z = FACTORS[:, :, None] * DIRECTIONS + 0.05 * RNG.normal(size=(400, 2, 6))


@pytest.mark.parametrize(("name", "components"), [("vct2022", 1), ("fdae2024", 3)])
def test_components_are_those_of_scikit_learn(name, components):
    ours = metrics.tokens(Z[:300], Z[300:], components=name)
    for t in range(2):
        pca = PCA(components).fit(Z[:300, t])
        for codes, part in zip(ours, (Z[:300], Z[300:]), strict=True):
            mine = codes[:, t * components : (t + 1) * components]
            np.testing.assert_allclose(np.abs(mine), np.abs(pca.transform(part[:, t])), atol=1e-9)


def test_a_token_for_each_factor_is_disentangled():
    codes = metrics.tokens(Z)
    assert codes.shape == (400, 2)
    assert float(metrics.mig(codes, FACTORS)) > 0.9
    assert float(metrics.mcc(codes, FACTORS)) > 0.95


def test_a_turned_token_has_the_same_codes():
    turn = np.linalg.qr(RNG.normal(size=(6, 6)))[0]
    np.testing.assert_allclose(np.abs(metrics.tokens(Z @ turn)), np.abs(metrics.tokens(Z)))


def test_refusals():
    with pytest.raises(ShapeError, match=r"\[rows, tokens, dimensions\]; got shape \(400, 2\)"):
        metrics.tokens(FACTORS)
    with pytest.raises(ConfigError, match="did you mean 'vct2022'"):
        metrics.tokens(Z, components="vct2020")
    with pytest.raises(ShapeError, match="7 components cannot"):
        metrics.tokens(Z, components=7)
    with pytest.raises(ShapeError, match="test tokens"):
        metrics.tokens(Z, Z[:, :1])
    with pytest.raises(DataError, match="NaN"):
        metrics.tokens(np.where(Z.max() == Z, np.nan, Z))
    with pytest.raises(DataError, match="two rows"):
        metrics.tokens(Z[:1])
