"""Splits: exact shares, the same for every run, and no view outside its part."""

import pytest
import torch

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.data.arrays import Arrays
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.nets.linear import Linear
from unknot.objectives.ada_gvae import AdaGVAE
from unknot.objectives.tvae import TVAE
from unknot.objectives.vae import VAE
from unknot.runs import config
from unknot.samplers.parts.split import (
    PARTS,
    CombinationSplit,
    RangeSplit,
    RowSplit,
    rows_in_part,
)

SPACE = FactorSpace(("shape", "x", "y"), (3, 10, 8), ("nominal", "ordered", "cyclic"))
SPLITS = [
    RowSplit(),
    RowSplit(0.0, 0.25, seed=3),
    CombinationSplit(("shape", "x")),
    CombinationSplit(("shape", "x"), (1, 5), (1, 9)),
    RangeSplit(("x",)),
    RangeSplit(("x", "y"), "interpolation", test=0.25),
]


def values(rows, name):
    return SPACE.factors(rows)[:, SPACE.names.index(name)]


def parts(split):
    found = {}
    for part in PARTS:
        if part != "validation" or split.validation:
            found[part] = rows_in_part(split, SPACE, part)
    return found


@pytest.mark.parametrize("split", SPLITS, ids=repr)
def test_each_row_is_in_one_part(split):
    rows = torch.cat([*parts(split).values()])
    assert rows.sort().values.tolist() == [*range(SPACE.size)]


def test_shares_of_rows_are_exact_and_seeds_differ():
    sizes = {part: len(rows) for part, rows in parts(RowSplit(0.1, 0.2)).items()}
    assert sizes == {"train": 168, "validation": 24, "test": 48}
    other = rows_in_part(RowSplit(0.1, 0.2, seed=1), SPACE, "test")
    assert not torch.equal(rows_in_part(RowSplit(0.1, 0.2), SPACE, "test"), other)
    torch.testing.assert_close(
        rows_in_part(RowSplit(0.1, 0.2), SPACE, "test").double().mean(),
        torch.tensor(119.5, dtype=torch.float64),
        rtol=0.15,
        atol=0,
    )


def test_a_combination_is_never_divided_and_its_values_are_all_seen():
    found = parts(CombinationSplit(("shape", "x"), validation=0.1, test=0.2))
    keys = {
        part: {*map(tuple, SPACE.factors(rows)[:, :2].tolist())} for part, rows in found.items()
    }
    assert not keys["train"] & keys["test"]
    assert not keys["train"] & keys["validation"]
    assert (len(keys["validation"]), len(keys["test"])) == (3, 6)
    assert len(found["test"]) == 6 * 8


def test_a_box_of_combinations_is_the_test_part():
    """Montero et al. 2021: one shape is never seen on the right."""
    found = parts(CombinationSplit(("shape", "x"), (1, 5), (1, 9)))
    test = found["test"]
    assert (values(test, "shape") == 1).all()
    assert (values(test, "x") >= 5).all()
    assert len(test) == 5 * 8
    rest = torch.cat([found["train"], found["validation"]])
    assert not ((values(rest, "shape") == 1) & (values(rest, "x") >= 5)).any()


def test_extrapolation_holds_out_the_largest_values_and_interpolation_inner_ones():
    out = parts(RangeSplit(("x",), test=0.3))
    assert {*values(out["test"], "x").tolist()} == {7, 8, 9}
    assert {*values(out["train"], "x").tolist()} == {*range(7)}
    between = parts(RangeSplit(("x",), "interpolation", test=0.3))
    assert {*values(between["test"], "x").tolist()} == {2, 5, 7}
    seen = {*values(between["train"], "x").tolist()}
    assert seen == {0, 1, 3, 4, 6, 8, 9}


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (lambda: RowSplit(0.5, 0.5), "leave rows to train on"),
        (lambda: RowSplit(-0.1), "shares from 0 on"),
        (lambda: CombinationSplit(("x",)), "two or more factors"),
        (lambda: CombinationSplit(("x", "x")), "two or more factors"),
        (lambda: CombinationSplit(("x", "y"), (1,), (2, 3)), "one first and one last"),
        (lambda: RangeSplit(()), "names a factor"),
        (
            lambda: config.spec({"split": {"kind": "range", "factors": ["x"], "mode": "inside"}}),
            "mode",
        ),
        (lambda: rows_in_part(RangeSplit(("shape",)), SPACE, "test"), "have an order"),
        (lambda: rows_in_part(RangeSplit(("z",)), SPACE, "test"), "'z', which is no factor"),
        (lambda: rows_in_part(RowSplit(0.0), SPACE, "validation"), "leaves no row"),
        (
            lambda: rows_in_part(
                RangeSplit(("index",)), FactorSpace(("index",), (9,), ("nominal",)), "test"
            ),
            "needs factors",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(split, message):
    with pytest.raises(ConfigError, match=message) as caught:
        split()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("objective", [VAE(), AdaGVAE(), TVAE()], ids=lambda o: type(o).__name__)
@pytest.mark.parametrize(
    "split",
    [
        RowSplit(0.2, 0.2),
        CombinationSplit(("factor_0", "factor_1"), test=0.2),
        RangeSplit(("factor_2",), test=0.25),
    ],
    ids=repr,
)
def test_no_view_of_a_batch_lies_outside_the_part(tiny, objective, split):
    dataset: FactorDataset = Arrays(str(tiny)).load()
    context = Context(dataset, Linear(latents=2), 32, runtime("cpu"), split=split)
    for part in PARTS:
        inside = {*rows_in_part(split, dataset.space, part).tolist()}
        rows = context.rows(objective, part)(torch.tensor([1, 2]), torch.tensor(0))
        assert {*rows.flatten().tolist()} <= inside
    assert context.n_data == len(rows_in_part(split, dataset.space, "train"))
    seen = context.rows(objective)(torch.arange(60), torch.tensor(0))
    assert len(seen.unique()) == context.n_data
