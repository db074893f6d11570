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


def test_they_show_themselves_as_a_table():
    curves = logged(5)
    assert repr(curves) == repr(curves.frame())
    assert "<table" in curves._repr_html_()
