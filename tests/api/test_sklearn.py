"""The estimator behaves as scikit-learn's do, and gives the codes of the run that it trains."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import unknot
from unknot.core.errors import UnknotError

RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(300, 2))
TABLE = HIDDEN @ RNG.normal(size=(2, 6)) * 5 + 20 + 0.1 * RNG.normal(size=(300, 6))
QUICK = {"steps": 400, "settings": {"beta": 0.01}, "device": "cpu"}

UNLIKE = {
    "check_fit2d_1sample": "one row has no deviation to standardise by",
}
"""Checks that do not apply, and why."""


@pytest.fixture(scope="module")
def fitted():
    return unknot.sklearn.VAE(latents=2, **QUICK).fit(TABLE)


def test_codes_are_those_of_the_run(fitted):
    assert np.array_equal(fitted.transform(TABLE), np.asarray(fitted.run_.codes()))
    assert [*fitted.get_feature_names_out()] == ["z0", "z1"]


def test_rows_come_back_in_their_units(fitted):
    """Two factors explain six columns; a linear model of as many does as well."""
    back = fitted.inverse_transform(fitted.transform(TABLE))
    assert back.shape == TABLE.shape
    assert abs(back.mean() - TABLE.mean()) < 1
    pca = PCA(2).fit(TABLE)
    error = np.square(TABLE - pca.inverse_transform(pca.transform(TABLE))).mean()
    assert np.square(TABLE - back).mean() < 0.2 * TABLE.var(0).mean() + error
    assert fitted.score(TABLE) > fitted.score(TABLE[:, ::-1])


def test_in_a_pipeline():
    """What a class depends on is in the codes."""
    labels = (HIDDEN[:, 0] > 0).astype(int)
    vae = unknot.sklearn.VAE(latents=2, **QUICK)
    scores = cross_val_score(make_pipeline(vae, LogisticRegression()), TABLE, labels, cv=2)
    assert scores.mean() > 0.8


def test_objects_in_place_of_names():
    vae = unknot.sklearn.VAE(unknot.objectives.BetaTCVAE(likelihood="gaussian"), 3, steps=5)
    assert vae.fit(TABLE).transform(TABLE[:7]).shape == (7, 3)
    with pytest.raises(UnknotError, match="beta_va"):
        unknot.sklearn.VAE("beta_va").fit(TABLE)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(*pair, id=getattr(pair[1], "func", pair[1]).__name__)
        for pair in estimator_checks_generator(
            unknot.sklearn.VAE(latents=2, steps=3, batch=8, device="cpu"),
            legacy=True,
            expected_failed_checks=UNLIKE,
            mark="skip",
        )
    ],
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
