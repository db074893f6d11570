"""Matrices of latents by factors: known codes give known numbers, and figures can be read."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from report.text_boxes import text_faults

from unknot.core.errors import ConfigError, DataError
from unknot.core.factors import FactorSpace
from unknot.core.posterior import Posterior
from unknot.report.model.matrices import (
    Matrix,
    matrix_figure,
    matrix_view,
    measure_matrices,
    measure_matrix,
)
from unknot.report.run import page as page_module


def shade_codes(x):
    """The first latent is the shade of the block, falling; the second is constant."""
    shade = x.flatten(1).amax(1)
    mean = torch.stack([-shade, torch.zeros_like(shade)], dim=1)
    return Posterior(mean, torch.tensor([0.25, 1.0]).log().expand_as(mean))


def test_pearson_has_sign_and_latents_have_sigma_and_kl(make_run):
    found = measure_matrix(make_run(latents=2, encoder=shade_codes), "pearson")
    np.testing.assert_allclose(found.table, [[-1, 0, 0], [0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(found.sigma, [0.5, 1.0], atol=1e-6)
    shades = (60 + 60 * np.arange(4)) / 255
    kl = 0.5 * (np.mean(shades**2) + 0.25 - 1 - np.log(0.25))
    np.testing.assert_allclose(found.kl, [kl, 0], atol=1e-6)


def test_information_of_a_code_that_is_a_factor_is_the_entropy(make_run):
    """With Miller's correction of an entropy of 4 values over 24 rows, 3 / (2 * 24)."""
    found = measure_matrix(make_run(latents=2, encoder=shade_codes), "information")
    assert found.table[0, 0] == pytest.approx(np.log(4) + 3 / 48, abs=1e-6)
    assert found.table[1].max() == pytest.approx(0, abs=1e-9)


def test_correlations_mark_the_largest_and_the_second_of_each_row_and_column():
    table = np.array([[0.9, 0.2, 0.1], [0.3, 0.8, 0.4]])
    found = Matrix(np.array([2.0, 1.0]), "cbd", table, np.ones(2), ("a", "b", "c"), "cbd 0.4")
    (axes,) = matrix_figure(found, heading="").axes
    places = {"-": [], "--": []}
    for patch in axes.patches:
        x, y = patch.get_xy()
        places[patch.get_linestyle()].append((round(y), round(x)))
    of_columns, of_rows = [(0, 0), (1, 1), (1, 2)], [(0, 0), (1, 1)]
    assert sorted(places["-"]) == sorted(of_columns + of_rows)
    assert sorted(places["--"]) == sorted([(1, 0), (0, 1), (0, 2), (0, 1), (1, 2)])


def test_of_zeros_none_is_the_largest():
    table = np.array([[0.0, 0.7], [0.0, 0.0]])
    found = Matrix(np.array([2.0, 1.0]), "sap", table, np.ones(2), ("a", "b"), "")
    (axes,) = matrix_figure(found, heading="").axes
    assert [(round(p.get_y()), round(p.get_x())) for p in axes.patches] == [(0, 1)]


@pytest.mark.parametrize(
    ("kind", "latents", "names", "scale"),
    [
        ("dci", 1, ("x",), 1.0),
        ("sap", 10, tuple("abcde"), 1e-12),
        ("cbd", 12, ("n" * 80, "m" * 80) * 4, 1.0),
        ("information", 10, tuple("abcde"), 1e12),
        ("pearson", 12, ("position", "size") * 4, -1.0),
    ],
)
def test_texts_stand_apart_whatever_the_names_and_sizes(kind, latents, names, scale):
    table = scale * np.random.default_rng(0).random((latents, len(names)))
    kl = abs(scale) * np.ones(latents)
    found = Matrix(kl, kind, table, np.ones(latents), names, "score 1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert text_faults(matrix_figure(found, heading="a name " * 12)) == []


def test_pictures_and_page_measure_once(make_run, tmp_path, monkeypatch):
    run, counts = make_run(latents=2, encoder=shade_codes), []
    found = measure_matrices(run)
    monkeypatch.setattr(page_module, "measure_matrices", lambda *_: counts.append(1) or found)
    files = page_module.write_pictures(run, tmp_path, matrices=found)
    html = page_module.page(run, matrices=found)
    assert counts == []
    assert {f"matrix-{kind}.png" for kind in found.of_kind} <= {path.name for path in files}
    assert all(f"{kind}: latents by factors" in html for kind in found.of_kind)
    assert all(reason in html for reason in found.reasons.values())


def test_what_does_not_apply_says_so(make_run):
    with pytest.raises(ConfigError, match="There is no matrix 'dcl'"):
        measure_matrix(make_run(), "dcl")
    with pytest.raises(DataError, match="not finite"):
        matrix_view(make_run(seeds=(0, 1), alive=(False, True)), "cbd", 0)


def test_a_factor_with_one_value_is_no_column(make_run):
    """Metrics leave such a factor out, so that the columns of all matrices stand for the same."""
    run = make_run(latents=2, encoder=shade_codes)
    shades = FactorSpace(("shade", "place", "corner"), (4, 1, 6), ("ordered",) * 3)
    varied = replace(run.training.context, dataset=replace(run.dataset, space=shades))
    run = replace(run, training=replace(run.training, context=varied))
    found = measure_matrices(run)
    assert not found.reasons
    assert {matrix.factors for matrix in found.of_kind.values()} == {("shade", "corner")}
    for matrix in found.of_kind.values():
        assert matrix.table.shape == (2, 2)
        assert not text_faults(matrix_figure(matrix, heading="two factors"))
