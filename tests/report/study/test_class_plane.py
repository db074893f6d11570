"""Codes in two latents in the colours of classes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from report.text_boxes import text_faults

from unknot.core.factor_table import FactorTable
from unknot.core.factors import FactorSpace
from unknot.report.study.class_plane import Classes, class_plane, classes_of
from unknot.report.study.latents import Posteriors, measure_posteriors


@pytest.fixture
def posteriors():
    mean = np.random.default_rng(0).normal(size=(60, 3))
    kl = np.array([1.0, 0.01, 3.0])
    return Posteriors(mean, np.ones((60, 3)), [2, 0, 1], kl >= 0.05, kl)


def test_each_class_has_a_colour_and_a_ring_at_its_median(posteriors):
    values = np.repeat([0, 1, -1], 20)
    drawn = class_plane(posteriors, Classes("shape", ("heart", "square"), values), title="A model")
    (axes,) = drawn.figure.axes
    for k in range(2):
        dots, ring, _ = axes.lines[3 * k : 3 * k + 3]
        mine = posteriors.mean[values == k][:, [2, 0]]
        assert np.stack(dots.get_data(), 1) == pytest.approx(mine)
        assert np.array(ring.get_data())[:, 0] == pytest.approx(np.median(mine, axis=0))
    assert axes.lines[0].get_color() != axes.lines[3].get_color()
    assert len(axes.lines) == 6, "images without a class are no dots"
    (legend,) = drawn.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["heart", "square"]
    note = legend.get_title().get_text().replace("\n", " ")
    assert "Colour: shape. Dots: posterior means of 40 images." in note
    assert "20 images without the label" in note
    assert [row["shape"] for row in drawn.rows[::20]] == ["heart", "square", ""]
    assert drawn.rows[0]["x"] == posteriors.mean[0, 2]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("z2, 3.00 nats", "z0, 1.00 nats")
    assert not text_faults(drawn.figure)


def test_many_classes_with_long_names_do_not_overlap(posteriors):
    names = tuple(f"class of things {k}" for k in range(20))
    drawn = class_plane(posteriors, Classes("thing", names, np.arange(60) % 20), title="A model")
    colors = {line.get_color() for line in drawn.figure.axes[0].lines[::3]}
    assert len(colors) == 20
    assert not text_faults(drawn.figure)


def with_space(run, space):
    run.training.context = replace(run.training.context, dataset=replace(run.dataset, space=space))
    return run


def test_classes_are_the_first_label_without_order(make_run):
    run = make_run()
    classes = classes_of(run)
    assert (classes.label, classes.names) == ("corner", ("0", "1", "2"))
    n = len(measure_posteriors(run).mean)
    assert classes.values.tolist() == run.dataset.space.factors(torch.arange(n))[:, 1].tolist()


@pytest.mark.parametrize(
    ("space", "label"),
    [
        (FactorSpace(("index",), (24,), ("nominal",)), None),
        (FactorSpace(("x", "y"), (4, 6), ("ordered", "ordered")), None),
        (FactorSpace(("person", "x"), (24, 1), ("nominal", "ordered")), None),
        (
            FactorTable(
                ("age", "digit"), ("ordered", "nominal"), ((20, 30), ("zero", "one")),
                torch.tensor([[0, 0], [1, 1], [0, -1]]).repeat(8, 1),
            ),
            "digit",
        ),
    ],
)  # fmt: skip
def test_where_there_are_no_classes(make_run, space, label):
    classes = classes_of(with_space(make_run(), space))
    if label is None:
        assert classes is None
    else:
        assert (classes.label, classes.names) == (label, ("zero", "one"))
        assert classes.values[:3].tolist() == [0, 1, -1]
