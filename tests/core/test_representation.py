"""Representation: codes by row number, there already or made on request."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.core.errors import DataError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.representation import CodeCache, Representation

SPACE = FactorSpace(("a", "b"), (4, 5), ("ordered", "nominal"))
CODES = torch.arange(60.0).reshape(20, 3).sin()


class Encoder:
    """Counts how often each row is encoded."""

    def __init__(self):
        self.seen = Counter()

    def __call__(self, index):
        assert len(index) > 0
        self.seen.update(index.tolist())
        return CODES[index]


@pytest.fixture(params=["whole", "lazy"])
def representation(request):
    if request.param == "whole":
        return Representation.whole(SPACE, CODES)
    return Representation.lazy(SPACE, 3, Encoder())


@pytest.mark.parametrize("shape", [(7,), (2, 3), (1, 2, 2), ()])
def test_codes_and_factors_of_rows_in_any_shape(representation, shape):
    index = (torch.arange(torch.Size(shape).numel()) * 7 % 20).reshape(shape)
    assert representation.latents == 3
    assert torch.equal(representation.codes(index), CODES[index])
    assert torch.equal(representation.factors(index), SPACE.factors(index))


def test_no_rows_are_no_codes(representation):
    nothing = torch.zeros(0, dtype=torch.int64)
    assert representation.codes(nothing).shape == (0, 3)
    assert representation.codes(torch.tensor([3])).shape == (1, 3)
    assert representation.codes(nothing.reshape(2, 0)).shape == (2, 0, 3)


@pytest.mark.parametrize("largest", [20, 19], ids=["by a table", "by search"])
@given(requests=st.lists(st.lists(st.integers(0, 19), max_size=12), max_size=8))
def test_each_row_is_encoded_once_and_only_when_asked(largest, requests):
    encoder = Encoder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unknot.core.representation.LARGEST", largest)
        lazy = Representation.lazy(SPACE, 3, encoder)
    for rows in requests:
        index = torch.tensor(rows, dtype=torch.int64)
        assert torch.equal(lazy.codes(index), CODES[index])
    assert encoder.seen == Counter({row for rows in requests for row in rows})


@pytest.mark.parametrize("rows", [0, 19, 21])
def test_one_code_per_grid_point(rows):
    said = rf"^Expected 20 rows of codes, one per grid point; got shape \({rows}, 3\)\.$"
    with pytest.raises(ShapeError, match=said):
        Representation.whole(SPACE, torch.zeros(rows, 3))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_codes_of_a_diverged_model_are_refused(bad):
    codes = CODES.clone()
    codes[13, 2] = bad
    with pytest.raises(DataError, match=r"^Some codes are NaN or infinite; a diverged model"):
        Representation.whole(SPACE, codes)


def test_rows_come_in_the_same_portions_however_they_are_found(monkeypatch):
    asked = [torch.randint(0, 1200, (n,), generator=torch.manual_seed(n)) for n in (7, 300, 900)]
    portions = {}
    for largest in (1199, 1200):
        monkeypatch.setattr("unknot.core.representation.LARGEST", largest)
        mine = portions.setdefault(largest, [])

        def encode(index, mine=mine):
            mine.append(index.tolist())
            return torch.stack([index, 2 * index], 1).double()

        rows = CodeCache(encode, 1200)
        for index in [*asked, asked[0]]:
            assert torch.equal(rows(index), torch.stack([index, 2 * index], 1).double())
    assert portions[1199] == portions[1200]
    assert all(portion == sorted({*portion}) for portion in portions[1200])


def test_models_that_encode_together_have_their_own_codes():
    """Whoever asks first, rows are encoded once for all."""
    asked = []

    def encode(index):
        asked.append(index.tolist())
        return torch.stack([index, 10 * index, 100 * index]).unsqueeze(-1).double()

    rows = CodeCache(encode, 1200)
    for model, index in ((1, [5, 3, 5]), (0, [3, 7]), (2, [7, 3, 5, 5]), (1, [7])):
        found = rows(torch.tensor(index), model)
        assert torch.equal(found[:, 0], 10.0**model * torch.tensor(index).double())
    assert asked == [[3, 5], [7]]


@pytest.mark.parametrize(("room", "copies"), [(9600, 1), (9599, 12)])
def test_remembered_codes_are_seldom_copied(room, copies, monkeypatch):
    monkeypatch.setattr("unknot.core.representation.ROOM", room)
    rows, places = CodeCache(lambda index: index[None, :, None].double(), 1200), []
    for row in range(1200):
        assert rows(torch.tensor([row]), 0).item() == row
        places.append(rows.codes.shape[-2])
    assert rows(torch.arange(1200), 0)[:, 0].tolist() == list(range(1200))
    assert len({*places}) <= copies, "never, or for every doubling"
    assert places[-1] == 1200, "no more room than the grid has rows"
