import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import metrics_rest as reference

from unknot.metrics.parts import tables


def test_gap_of_a_single_entry_is_that_entry():
    assert tables.gap(torch.tensor([[0.3, 0.7]]), dim=0).tolist() == pytest.approx([0.3, 0.7])


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8).filter(lambda row: sum(row) > 1e-3))
def test_concentration_equals_the_reference(row):
    ours = tables.concentration(torch.tensor([row], dtype=torch.float64), dim=1)
    assert ours.item() == pytest.approx(reference.concentration(row), abs=1e-9)


def test_concentration_closed_forms():
    table = torch.tensor([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    expected = [1.0, 1 - math.log(2) / math.log(4), 0.0]
    np.testing.assert_allclose(tables.concentration(table.double(), dim=1), expected)
    np.testing.assert_allclose(tables.concentration(table.double().T, dim=0), expected)


def test_concentration_of_one_entry_is_whether_anything_is_there():
    assert tables.concentration(torch.tensor([[0.0], [0.2]]), dim=1).tolist() == [0.0, 1.0]


def test_mean_without_weight_is_zero():
    assert tables.mean(torch.tensor([0.5, 1.0]), torch.zeros(2)).item() == 0
