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


@pytest.mark.parametrize(
    "change",
    [
        {"curves.loss": torch.zeros(2, 3, dtype=torch.int64)},
        {"curves.loss": torch.zeros(2, 3, dtype=torch.bfloat16)},
        {"curves.loss": torch.zeros(1, 3)},
        {"curves.kl": torch.zeros(2, 2)},
        {"curves.loss": torch.zeros(2)},
        {"curves": torch.tensor([1.0, 2.0])},
        {"curves": torch.tensor([[1, 2]])},
        {"curves": torch.zeros(0, dtype=torch.int64)},
    ],
    ids=str,
)
def test_tensors_that_are_no_table_are_refused(change):
    values = {f"curves.{name}": torch.zeros(2, 3) for name in ("loss", "kl")}
    sound = {"curves": torch.tensor([1, 2]), **values}
    assert Curves.from_tensors(sound, ["loss", "kl"]).steps == [1, 2]
    with pytest.raises(ValueError, match=r"no whole numbers|no numbers of 2 steps"):
        Curves.from_tensors({**sound, **change}, ["loss", "kl"])
