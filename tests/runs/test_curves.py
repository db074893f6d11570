"""Curves: what is kept of them at the end, and that files give them back."""

import pytest
import torch

from unknot.runs.curves import Curves


def logged(steps):
    """A curve that is the number of its log step, times the member's place, counted from 1."""
    curves = Curves()
    for step in range(steps):
        both = torch.tensor([step, 2.0 * step])
        curves.append(100 * step, {"loss": both, "kl": -both})
    return curves


@pytest.mark.parametrize(("steps", "mean"), [(1, 0.0), (199, 198.0), (200, 198.5), (3000, 2984.5)])
def test_the_end_is_the_last_hundredth(steps, mean):
    ends = logged(steps).ends()
    assert ends["loss"].tolist() == [mean, 2 * mean]
    assert ends["kl"].tolist() == [-mean, -2 * mean]


def test_a_member_that_was_lost_has_no_end():
    curves = logged(300)
    curves.values["loss"][-2][1] = float("nan")
    ends = curves.ends()["loss"]
    assert ends[0] == 298.0
    assert ends[1].isnan()


def test_nothing_logged_has_no_ends():
    assert Curves().ends() == {}


def test_back_from_tensors():
    curves = logged(5)
    again = Curves.from_tensors(curves.tensors(), ["loss", "kl"])
    assert again.steps == curves.steps
    assert list(again.values) == ["loss", "kl"]
    assert torch.equal(again["kl"], curves["kl"])


def test_as_a_data_frame():
    curves = logged(3)
    both = curves.frame()
    assert both.index.tolist() == [0, 100, 200]
    assert both.index.name == "step"
    assert both["loss"][1].tolist() == [0.0, 2.0, 4.0]
    lone = curves.member(1).frame(lone=True)
    assert lone.columns.tolist() == ["loss", "kl"]
    assert lone["kl"].tolist() == [0.0, -2.0, -4.0]


@pytest.mark.parametrize("lone", [True, False])
def test_of_nothing_there_is_an_empty_data_frame(lone):
    frame = Curves().frame(lone=lone)
    assert frame.shape == (0, 0)
    assert frame.index.name == "step"
