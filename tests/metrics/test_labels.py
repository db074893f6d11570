"""Metrics of codes with labels: kinds and names are known, gaps are left out, bins are said."""

import numpy as np
import pytest
import torch

from unknot import metrics
from unknot.core.errors import DataError
from unknot.core.factor_table import FactorTable, as_table
from unknot.core.factors import FactorSpace
from unknot.core.labels import tabulate
from unknot.core.representation import Representation

SPACE = FactorSpace(("shape", "x", "y"), (3, 6, 5), ("nominal", "ordered", "ordered"))
ROWS = torch.arange(90).repeat(5)
VALUES = SPACE.factors(ROWS).numpy()
RNG = np.random.default_rng(0)
CODES = VALUES @ RNG.normal(size=(3, 4)) + 0.3 * RNG.normal(size=(450, 4))


def holes(columns, share=0.2):
    """The table with some labels of some factors gone."""
    table = as_table(SPACE, ROWS)
    values = table.values.clone()
    for k in columns:
        values[torch.from_numpy(RNG.random(450) < share), k] = -1
    return FactorTable(table.names, table.kinds, table.levels, values)


def test_a_table_scores_as_arrays_of_the_same_kinds_do():
    table = as_table(SPACE, ROWS)
    assert float(metrics.sap(CODES, table)) == float(metrics.sap(CODES, VALUES, kinds=SPACE.kinds))
    for name in (
        "mig",
        "dci",
        "modularity",
        "mcc",
        "explicitness",
        "irs",
        "beta_vae",
        "factor_vae",
    ):
        metric = getattr(metrics, name)
        score = metric(CODES, table)
        assert score.values == metric(CODES, VALUES).values
        assert score.protocol["factors"] == SPACE.names


def test_a_representation_of_a_table_is_its_rows():
    table = as_table(SPACE, ROWS)
    lazy = Representation.lazy(table, 4, lambda index: torch.from_numpy(CODES)[index])
    for name in ("mig", "sap", "dci", "irs"):
        metric = getattr(metrics, name)
        assert metric(lazy).values == metric(CODES, table).values


@pytest.mark.parametrize("name", ["mig", "sap", "mcc", "jemmig", "dcimig"])
def test_a_missing_label_is_left_out_for_its_factor_alone(name):
    table, metric = holes([1]), getattr(metrics, name)
    score, whole = metric(CODES, table), metric(CODES, as_table(SPACE, ROWS))
    gone = int((table.values[:, 1] < 0).sum())
    assert f"{gone} of 450 rows lack x" in score.remarks
    if name in ("mig", "sap", "jemmig"):  # the others put factors beside each other
        same = [0, 2]
        assert np.allclose(score.parts["per_factor"][same], whole.parts["per_factor"][same])
        assert score.parts["per_factor"][1] != whole.parts["per_factor"][1]


@pytest.mark.parametrize("name", ["mig", "sap", "mcc"])
def test_a_factor_with_gaps_scores_as_its_known_rows_alone_do(name):
    table, metric = holes([1]), getattr(metrics, name)
    known = (table.values[:, 1] >= 0).nonzero()[:, 0]
    column = FactorTable(("x",), ("ordered",), table.levels[1:2], table.values[:, 1:2])
    score = float(metric(CODES, column))
    alone = float(metric(CODES[known], column.take(known)))
    # Bins of codes come from all rows where there are bins.
    assert score == pytest.approx(alone, abs=0.05 if name == "mig" else 1e-12)


LEARNERS = [
    (name, protocol)
    for name in ("dci", "sap", "explicitness", "efficiency", "infomec", "cbd")
    for protocol in getattr(metrics, name).protocols
    if protocol != "study2019_fast"
]


@pytest.mark.parametrize(("name", "protocol"), LEARNERS)
def test_what_learns_a_factor_leaves_out_rows_for_that_factor_alone(name, protocol):
    """Each factor gets what it gets as the only one, on rows that have its label."""
    table, metric = holes([0, 2]), getattr(metrics, name)
    test = holes([1]).take(torch.arange(200)), CODES[:200]
    if name in ("infomec", "cbd"):
        both = metric(CODES, table, protocol=protocol)
        gone = [int((table.values[:, k] < 0).sum()) for k in (0, 2)]
        remarks = [f"{g} of 450 rows lack {n}" for g, n in zip(gone, ("shape", "y"), strict=True)]
    else:
        both = metric(CODES, table, protocol=protocol, test=test[::-1])
        used = 450 if metric.pick(protocol).settings.test_samples == 0 else 650
        gone = int((table.values[:, 2] < 0).sum())
        remarks = [f"{gone} of {used} rows lack y"]
    assert {*remarks} <= {*both.remarks}
    per_factor = {
        "dci": "informativeness_per_factor",
        "infomec": "explicitness_per_factor",
        "efficiency": "boosting",
    }.get(name, "per_factor")
    column = [0, 1, 2] if name != "cbd" else []  # whose codes that tell nothing depend on all
    for k in column:
        known, other = (t.values[:, k] >= 0 for t in (table, test[0]))
        alone, others = (
            FactorTable(SPACE.names[k : k + 1], SPACE.kinds[k : k + 1], t.levels[k : k + 1], v)
            for t, v in (
                (table, table.values[known, k : k + 1]),
                (test[0], test[0].values[other, k : k + 1]),
            )
        )
        options = {} if name == "infomec" else {"test": (CODES[:200][other.numpy()], others)}
        lone = metric(CODES[known.numpy()], alone, protocol=protocol, **options)
        mine, theirs = both.parts[per_factor], lone.parts[per_factor]
        if name == "efficiency":  # whose largest number of labels is what all factors have
            mine, theirs = mine[:2], theirs[:2]
        np.testing.assert_allclose(mine[..., k], theirs[..., 0], rtol=1e-12)


def test_a_label_that_hardly_any_row_has_is_refused():
    with pytest.raises(DataError, match="rows have the label shape; fill the gaps or leave"):
        metrics.dci(CODES, holes([0], share=0.99))


@pytest.mark.parametrize("name", ["beta_vae", "irs", "axis_alignment"])
def test_metrics_that_hold_factors_fixed_take_rows_that_have_all_labels(name):
    table, metric = holes([0, 2]), getattr(metrics, name)
    score = metric(CODES, table)
    assert any("that lack a label were left out" in remark for remark in score.remarks)
    known = (~table.has_gaps).nonzero()[:, 0]
    assert score.values == metric(CODES[known], table.take(known)).values


def test_too_many_gaps_are_refused():
    with pytest.raises(DataError, match="rows have all labels"):
        metrics.irs(CODES, holes([0, 1, 2], share=0.9))


def test_continuous_labels_count_in_bins_and_correlate_as_numbers():
    angle = RNG.random(450)
    table = tabulate({"angle": angle})
    code = np.exp(angle)[:, None]
    score = metrics.mig(np.concatenate([code, RNG.normal(size=(450, 1))], axis=1), table)
    assert "angle in 20 quantile bins" in score.remarks
    assert score.protocol["continuous"] == "20 quantile bins"
    assert float(score) > 0.8
    pearson = metrics.mcc(code, table, protocol="paper")
    assert float(pearson) == pytest.approx(np.corrcoef(code[:, 0], angle)[0, 1])
    assert pearson.protocol["continuous"] == "numbers"
    assert not any("bins" in remark for remark in pearson.remarks)
    assert float(metrics.sap(code, table)) == pytest.approx(1.0)
    lasso = metrics.dci(code, table, protocol="paper")
    assert lasso.protocol["continuous"] == "numbers"
    assert lasso["dci.informativeness"] > 0.95


def test_scores_that_say_nothing_say_so():
    person = np.arange(60) // 2
    codes = RNG.normal(size=(60, 4))
    score = metrics.mig(codes, tabulate({"person": person}))
    assert "one factor: there is nothing to separate it from" in score.remarks
    assert "person has 30 values in 60 rows" in score.remarks
    two = tabulate({"a": np.arange(60) % 4, "b": np.arange(60) // 30})
    assert not any("one factor" in remark for remark in metrics.mig(codes, two).remarks)


def test_votes_say_how_many_groups_they_had():
    labels = tabulate(
        {"a": np.arange(450) % 3, "b": [min(i // 50, 5) for i in range(447)] + [6, 7, 8]}
    )
    score = metrics.factor_vae(CODES, labels)
    assert score.protocol["groups"] == [3, 6]
    assert "b held at 6 of 9 values, which have 10 rows" in score.remarks
