"""Codes and labels in every form that people hold them give the scores of plain arrays."""

import numpy as np
import pandas as pd
import pytest
import torch

from unknot import metrics
from unknot.core.errors import DataError, ShapeError

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, 4, (400, 2))
CODES = FACTORS + 0.3 * RNG.normal(size=FACTORS.shape)
ANIMALS = np.array(["ant", "bee", "cat", "dog"])[FACTORS[:, 0]]
FRAME = pd.DataFrame({"animal": ANIMALS, "size": FACTORS[:, 1] * 0.5})
PLAIN = metrics.mig(CODES, FACTORS)


@pytest.mark.parametrize(
    ("codes", "factors"),
    [
        (CODES.tolist(), FACTORS.tolist()),
        (pd.DataFrame(CODES), FRAME),
        (torch.tensor(CODES, requires_grad=True), torch.tensor(FACTORS)),
        (CODES, torch.tensor(FACTORS * 0.5)),
        (CODES, {"animal": ANIMALS, "size": FACTORS[:, 1]}),
        (CODES, np.array([ANIMALS, FACTORS[:, 1]], dtype=object).T),
        (np.ma.masked_array(CODES), np.ma.masked_array(FACTORS)),
        (CODES.astype(object), FACTORS.astype(np.float32)),
    ],
    ids=["lists", "frames", "grad", "fractions", "dict", "objects", "masks", "floats"],
)
def test_any_form_of_the_same_labels(codes, factors):
    assert metrics.mig(codes, factors) == pytest.approx(PLAIN, abs=1e-12)


def test_names_come_from_columns():
    assert metrics.mig(CODES, FRAME).protocol["factors"] == ("animal", "size")
    assert metrics.sap(CODES, FRAME["animal"]).protocol["factors"] == ("animal",)


def test_one_column():
    column = metrics.mig(CODES, FACTORS[:, :1])
    for factors in (FACTORS[:, 0], FACTORS[:, 0].tolist(), FRAME["animal"], [*ANIMALS]):
        assert metrics.mig(CODES, factors) == column


@pytest.mark.parametrize("gap", [None, np.nan, "", pd.NA])
def test_a_missing_label_leaves_out_its_row_for_that_factor(gap):
    frame = FRAME.astype(object)
    frame.iloc[:50, 0] = gap
    score = metrics.mig(CODES, frame)
    first, second = (metrics.mig(CODES[rows], FACTORS[rows][:, [k]]) for rows, k in
                     ((slice(50, None), 0), (slice(None), 1)))  # fmt: skip
    assert score.parts["per_factor"] == pytest.approx([float(first), float(second)], abs=0.02)
    assert "50 of 400 rows lack animal" in score.remarks


def test_masked_factors_are_missing_labels():
    masked = np.ma.masked_array(FACTORS, mask=np.zeros(FACTORS.shape, dtype=bool))
    masked.mask[:50, 0] = True
    assert "50 of 400 rows lack factor 0" in metrics.mig(CODES, masked).remarks


def test_test_rows_share_levels():
    """A class that only the test rows have keeps its number."""
    rare = FRAME[:300].copy()
    rare.loc[rare["animal"] == "bee", "animal"] = "cat"
    test = (CODES[300:], FRAME[300:])
    score = metrics.dci(CODES[:300], rare, test=test)
    relabelled = FACTORS[:300].copy()
    relabelled[relabelled[:, 0] == 1, 0] = 2
    plain = metrics.dci(CODES[:300], relabelled, test=(CODES[300:], FACTORS[300:]))
    assert score.values == pytest.approx(plain.values, abs=1e-9)


@pytest.mark.parametrize(
    ("codes", "factors", "error", "words"),
    [
        (CODES * 1j, FACTORS, DataError, "complex|real numbers"),
        (CODES, FACTORS * 1j, DataError, "complex"),
        (np.ma.masked_array(CODES, mask=CODES > 2), FACTORS, DataError, "mask hides"),
        ([["a", "b"]] * 400, FACTORS, DataError, "numbers"),
        (CODES, FRAME[:100], ShapeError, "one row per point"),
        (CODES, {}, DataError, "no columns"),
    ],
)
def test_what_cannot_be_scored(codes, factors, error, words):
    with pytest.raises(error, match=words):
        metrics.mig(codes, factors)
