import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metrics import study2019

from unknot.analysis import agreement, split_table
from unknot.core.errors import ConfigError

# Spearman's correlation times 100 over 1,800 published models: dSprites, smallNORB, Cars3D.
PUBLISHED = {
    ("beta_vae", "factor_vae"): (82, 63, 37),
    ("beta_vae", "mig"): (81, 56, 22),
    ("beta_vae", "sap"): (81, 39, 13),
    ("beta_vae", "dci.d"): (84, 45, 38),
    ("factor_vae", "mig"): (72, 34, 66),
    ("factor_vae", "sap"): (67, 2, 40),
    ("factor_vae", "dci.d"): (77, 39, 60),
    ("mig", "sap"): (83, 76, 43),
    ("mig", "dci.d"): (93, 79, 67),
    ("sap", "dci.d"): (84, 58, 27),
    ("dci.d", "dci.c"): (98, 90, 85),
    ("dci.d", "dci.i"): (94, 82, -38),
    ("mig", "modularity"): (-5, -50, 52),
}


@pytest.mark.parametrize(("place", "dataset"), list(enumerate(study2019.DATASETS)))
def test_the_published_models(dataset, place):
    found = agreement(study2019.table(dataset), list(study2019.SCORES))
    for pair, row in PUBLISHED.items():
        assert round(100 * found.between(*pair)[0]) == row[place], pair
    assert found.n.min() == found.n.max() == 1800


@given(st.integers(0, 10_000), st.integers(3, 30))
@settings(max_examples=20)
def test_ranks_lines_and_p_values_from_their_formulas(seed, n):
    """Pearson's of the ranks, and the tail of Student's distribution by its integral."""
    from scipy import integrate

    rng = np.random.default_rng(seed)
    table = {"a": rng.normal(size=n), "b": rng.integers(0, 4, n) + np.arange(n) % 2 * 0.5}
    table["b"][0] = 9
    ranks = {
        name: (v[:, None] > v).sum(1) + (v[:, None] == v).sum(1) / 2 for name, v in table.items()
    }
    found = agreement(table)
    for matrix, p, values in (
        (found.pearson, found.pearson_p, table),
        (found.spearman, found.spearman_p, ranks),
    ):
        a, b = (v - v.mean() for v in values.values())
        r = a @ b / np.sqrt((a @ a) * (b @ b))
        assert matrix[0, 1] == matrix[1, 0] == pytest.approx(r, abs=1e-12)

        def density(t, df=n - 2):
            return (1 + t**2 / df) ** (-(df + 1) / 2)

        t = abs(r) * np.sqrt((n - 2) / (1 - r**2)) if abs(r) < 1 - 1e-12 else np.inf
        beyond, everywhere = (integrate.quad(density, low, np.inf)[0] for low in (t, 0))
        assert p[0, 1] == pytest.approx(beyond / everywhere, abs=1e-6)


def test_missing_scores_are_left_out_pair_by_pair():
    table = {"a": [1, 2, 3, 4, None], "b": [2.0, 4, 6, 8, 0], "c": [np.nan, 1, 0, 1, 5]}
    found = agreement(table)
    assert found.n.tolist() == [[4, 4, 3], [4, 5, 4], [3, 4, 4]]
    assert found.between("a", "b") == pytest.approx((1, 0))


def test_what_has_no_correlation_is_zero_and_said():
    found = agreement({"a": [1.0, 2, 3], "same": [5.0, 5, 5], "few": [1.0, 2, None]})
    assert found.between("a", "same") == (0, 1)
    assert found.between("a", "few") == (0, 1)
    assert found.remarks == (
        "no correlation, shown as 0, for want of 3 models or of differences: "
        "a and few, a and same, few, same, same and few",
    )
    assert np.isfinite([found.spearman, found.spearman_p, found.pearson, found.pearson_p]).all()


def test_pooled_datasets_agree_where_each_alone_does_not():
    """Two datasets of different levels; within each the scores disagree completely."""
    table = {"data": list("aaabbb"), "x": [1, 2, 3, 11, 12, 13], "y": [3, 2, 1, 13, 12, 11]}
    assert agreement(table).between("x", "y")[0] > 0.5
    for part in split_table(table, "data").values():
        assert agreement(part).between("x", "y")[0] == -1


def test_all_numbers_unless_named():
    table = {"objective": ["a", "b", "c"], "x": [1, 2, 3], "y": [1, 3, 2]}
    assert agreement(table).names == ("x", "y")
    assert agreement(table, ["y"]).names == ("y",)
    with pytest.raises(ConfigError, match="did you mean 'x'"):
        agreement(table, ["xx"])
    with pytest.raises(ConfigError, match="No column of the table holds numbers"):
        agreement({"objective": ["a", "b"]})
