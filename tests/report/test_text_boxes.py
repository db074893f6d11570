"""No text of a figure covers another or is cut off; and the check would notice."""

import pytest
from matplotlib.figure import Figure
from report.test_style import FIGURES
from report.text_boxes import text_faults

from unknot.report.style import new_figure

DRAWN = {name: draw for name, draw in FIGURES.items() if name != "images"}


@pytest.mark.parametrize("name", DRAWN)
def test_texts_stand_apart(name):
    assert text_faults(DRAWN[name]()) == []


def test_overlap_is_noticed():
    figure = Figure(figsize=(4, 2))
    figure.text(0.1, 0.5, "first words")
    figure.text(0.2, 0.5, "second words")
    assert text_faults(figure) == ["'first words' overlaps 'second words'"]


def test_cut_text_is_noticed():
    figure = Figure(figsize=(2, 1))
    figure.text(0.5, 0.5, "words that are much longer than the figure is wide")
    (fault,) = text_faults(figure)
    assert fault.endswith("leaves the figure")


def test_crowded_ticks_are_noticed_and_hidden_ones_are_not():
    figure = new_figure((2.0, 1.5))
    axes = figure.add_subplot()
    axes.set_xticks(range(4), [f"a long label {i}" for i in range(4)])
    axes.set_yticks([])
    assert len(text_faults(figure)) >= 3
    axes.tick_params(labelbottom=False)
    assert text_faults(figure) == []
