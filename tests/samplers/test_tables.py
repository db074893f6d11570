"""Pairs and triplets from labels that fill no grid."""

import pytest
import torch
from scipy.stats import chisquare
from torch._subclasses.fake_tensor import FakeTensorMode

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factor_table import FactorTable, as_table
from unknot.core.factors import FactorSpace
from unknot.core.labels import tabulate
from unknot.data.parts.images import Bytes
from unknot.samplers.pairs import Pairs
from unknot.samplers.parts.split import CombinationSplit, RangeSplit, RowSplit, rows_in_part
from unknot.samplers.parts.weights import Correlated, Within, Without, table
from unknot.samplers.singles import Singles
from unknot.samplers.triplets import Triplets

CPU = torch.device("cpu")
SPACE = FactorSpace(("shape", "x", "y"), (3, 5, 4), ("nominal", "ordered", "ordered"))
WEIGHTS = (Correlated("x", "y", 0.4), Within(("x",), (0,), (3,)), Without(("y",), (2,), (2,)))


def dataset(space):
    return FactorDataset("table", space, Bytes(torch.zeros(space.size, 1, 2, 2, dtype=torch.uint8)))


def most_of_a_grid():
    """Nine tenths of a grid, a tenth of it twice, and some labels missing."""
    rows = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    labels = as_table(SPACE, torch.cat([rows[:54], rows[:6]]))
    values = labels.values.clone()
    values[50, 0] = values[20, 1] = values[20, 2] = -1
    return FactorTable(labels.names, labels.kinds, labels.levels, values)


TABLE = most_of_a_grid()
FULL = as_table(SPACE, torch.arange(60))
EACH = [
    Singles(),
    Singles(WEIGHTS),
    Pairs(),
    Pairs(changed=2),
    Pairs(rule="reference"),
    Pairs(weights=WEIGHTS),
    *(Triplets(order=order) for order in ("factors", "distance", "scaled")),
    Triplets(order="category", factor="shape"),
    Triplets(order="category", factor="x", weights=WEIGHTS),
    Triplets(ties="redrawn", weights=WEIGHTS),
]
each_sampler = pytest.mark.parametrize("sampler", EACH, ids=repr)


@each_sampler
def test_rows_are_of_the_table_and_do_not_depend_on_their_neighbours(sampler):
    rows = sampler.bind(dataset(TABLE), CPU)
    seeds, steps = torch.tensor([3, 2**40 + 7, 0]), torch.arange(20, 25)
    together, ahead = rows(seeds, torch.tensor(21), 16), rows(torch.tensor(3), steps, 16)
    assert together.shape == (3, 16 * sampler.views)
    assert together.dtype == torch.int64
    assert 0 <= together.min() <= together.max() < TABLE.size
    for member, seed in enumerate(seeds.tolist()):
        assert torch.equal(together[member], rows(seed, 21, 16))
    for i, step in enumerate(steps.tolist()):
        assert torch.equal(ahead[i], rows(3, step, 16))


@each_sampler
def test_a_sampler_never_waits_for_the_host(sampler):
    rows = sampler.bind(dataset(TABLE), CPU)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    seeds, t = mode.from_tensor(torch.tensor([1, 2])), mode.from_tensor(torch.tensor(5))
    with mode:
        assert rows(seeds, t, 8).shape == (2, 8 * sampler.views)


def test_a_whole_grid_as_a_table_has_the_weights_and_splits_of_the_grid():
    for weights in ((), WEIGHTS[:1], WEIGHTS):
        assert torch.allclose(table(FULL, weights), table(SPACE, weights))
    for split in (
        RowSplit(),
        CombinationSplit(("shape", "x"), test=0.3),
        CombinationSplit(("x", "y"), (1, 1), (2, 3)),
        RangeSplit(("x",), test=0.2),
    ):
        for part in ("train", "test"):
            assert torch.equal(rows_in_part(split, FULL, part), rows_in_part(split, SPACE, part))


def test_rows_without_a_label_have_no_weight_where_it_is_asked_for():
    weight = table(TABLE, (Within(("x",), (0,), (4,)),))
    assert (weight == 0).tolist() == (TABLE.values[:, 1] < 0).tolist()


@pytest.mark.parametrize("changed", [1, 2, 3])
def test_pairs_of_a_whole_grid_differ_in_as_many_labels(changed):
    first, second = Pairs(changed=changed).bind(dataset(FULL), CPU)(0, 0, 3000).chunk(2)
    differ = (FULL.values[first] != FULL.values[second]).sum(1)
    assert (differ == changed).all()
    # Every other value is as likely.
    where = FULL.values[first, 1] != FULL.values[second, 1]
    step = (FULL.values[second, 1] - FULL.values[first, 1])[where] % 5
    assert chisquare(torch.bincount(step, minlength=5)[1:]).pvalue > 1e-3


def test_pairs_of_a_table_differ_in_no_more_labels_than_asked_for():
    first, second = Pairs(changed=1).bind(dataset(TABLE), CPU)(0, 0, 5000).chunk(2)
    differ = (TABLE.values[first] != TABLE.values[second]).sum(1)
    assert differ.max() == 1
    assert differ.double().mean() > 0.9  # few rows have no neighbour along some label
    gaps = TABLE.has_gaps[first]
    assert torch.equal(first[gaps], second[gaps])


def test_pairs_by_weight_stay_where_there_is_weight():
    weight = table(TABLE, WEIGHTS)
    rows = Pairs(weights=WEIGHTS).bind(dataset(TABLE), CPU)(0, 0, 5000)
    assert (weight[rows] > 0).all()


def test_photos_of_people():
    """Ten of each: a pair shows two people, a triplet two photos of one and one of another."""
    people = tabulate({"person": [f"p{i // 10}" for i in range(40)]})
    person = people.values[:, 0]
    first, second = Pairs().bind(dataset(people), CPU)(0, 0, 1000).chunk(2)
    assert (person[first] != person[second]).all()
    triplets = Triplets(order="category", factor="person").bind(dataset(people), CPU)
    a, p, n = triplets(0, 0, 20_000).chunk(3)
    assert (person[a] == person[p]).all()
    assert (a != p).all()
    assert (person[a] != person[n]).all()
    for rows in (a, p, n):
        assert chisquare(torch.bincount(rows, minlength=40)).pvalue > 1e-3


@pytest.mark.parametrize(
    "weights", [(), (Within(("x",), (0,), (4,)),)], ids=["uniform", "weighted"]
)
def test_classes_of_a_grid_are_drawn_too(weights):
    triplets = Triplets(order="category", factor="x", weights=weights)
    a, p, n = triplets.bind(dataset(SPACE), CPU)(0, 0, 20_000).chunk(3)
    x = SPACE.factors(torch.arange(60))[:, 1]
    assert (x[a] == x[p]).all()
    assert (x[a] != x[n]).all()
    for rows in (a, p, n):
        assert chisquare(torch.bincount(rows, minlength=60)).pvalue > 1e-3
    assert chisquare(torch.bincount((x[n] - x[a]) % 5, minlength=5)[1:]).pvalue > 1e-3


def test_what_cannot_be_paired_is_refused():
    lonely = tabulate({"a": [0, 1, 2], "b": [0, 1, 2]})
    with pytest.raises(ConfigError, match="there are no pairs; give fewer labels"):
        Pairs().bind(dataset(lonely), CPU)
    with pytest.raises(ConfigError, match="have all labels"):
        Pairs().bind(dataset(tabulate({"a": [0, None, 2, None], "b": [None, 1, None, 2]})), CPU)
    one = Triplets(order="category", factor="x", weights=(Within(("x",), (1,), (1,)),))
    with pytest.raises(ConfigError, match="two classes of 'x'"):
        one.bind(dataset(TABLE), CPU)
