"""Factorisation of support: brute force, full grids whatever their weights, and turned squares."""

import numpy as np
import pytest

from unknot.core import noise
from unknot.core.errors import DataError
from unknot.metrics import fos
from unknot.metrics.fos import Settings


def brute_force(codes):
    """The largest distance of a combination from the codes, for each pair of latents."""
    total = 0.0
    for j in range(codes.shape[1]):
        for k in range(j + 1, codes.shape[1]):
            grid = np.stack(np.meshgrid(codes[:, j], codes[:, k]), -1).reshape(-1, 1, 2)
            total += ((grid - codes[None, :, [j, k]]) ** 2).sum(-1).min(1).max()
    return total


def test_one_batch_is_the_sum_over_pairs_of_latents():
    codes = np.random.default_rng(0).normal(size=(64, 4)) * [1, 2, 3, 0]
    ours = fos(codes, protocol="paper")
    assert float(ours) == pytest.approx(brute_force(codes))
    assert ours.parts["per_pair"].shape == (6,)
    assert ours.parts["per_pair"].sum() == pytest.approx(float(ours))


def test_several_batches_are_averaged_and_the_rest_is_left_out():
    codes = np.random.default_rng(0).normal(size=(70, 3))
    ours = fos(codes, protocol=Settings(batch=32))
    assert float(fos(codes[::-1], protocol=Settings(batch=32))) == pytest.approx(float(ours))
    size = (((codes - codes.mean(0)) / codes.std(0)) ** 2).sum(
        1
    )  # so that their order is no matter
    order = noise.permutation(0, "metric/fos", 0, 70, 4)[:64, 0].numpy()
    batches = codes[size.argsort()][order].reshape(2, 32, 3)
    assert float(ours) == pytest.approx(np.mean([brute_force(batch) for batch in batches]))


def test_the_default_takes_neither_scale_nor_dead_latents_nor_their_number():
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(128, 2))
    usual = fos(codes)
    scaled = np.column_stack([codes * [100, 0.01] + 5, np.zeros(128)])
    assert float(fos(np.column_stack([codes, np.full(128, 0.1)]))) == pytest.approx(float(usual))
    assert float(fos(scaled)) == pytest.approx(float(usual))
    standard = codes / codes.std(0)
    assert float(usual) == pytest.approx(float(fos(standard, protocol="paper")))
    assert float(fos(np.zeros((64, 3)))) == 0
    assert float(fos(codes[:, :1])) == 0


def test_rounding_does_not_decide_which_codes_of_a_grid_form_a_batch():
    codes = np.stack(np.meshgrid(np.arange(6), np.arange(5), np.arange(7)), -1).reshape(-1, 3) / 3
    usual = fos(codes)
    for other in (codes.astype("float32"), codes * 3, codes * 1.1):
        assert float(fos(other)) == pytest.approx(float(usual), abs=1e-6)


def test_a_grid_with_all_combinations_is_factorised_however_correlated_it_is():
    values = np.stack(np.meshgrid(np.arange(4), np.arange(4)), -1).reshape(-1, 2)
    codes = np.concatenate([values, np.repeat(np.arange(4), 28)[:, None].repeat(2, 1)])
    assert np.corrcoef(codes.T)[0, 1] > 0.8
    assert float(fos(codes.astype(float), protocol=Settings(batch=128))) == 0
    without = codes[~((codes[:, 0] == 0) & (codes[:, 1] == 3))].astype(float)
    assert float(fos(without, protocol=Settings(batch=len(without)))) == 1


def test_a_turned_square_leaves_its_corners_empty():
    square = np.random.default_rng(0).uniform(-1, 1, (2_560, 2))
    turned = square @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    straight, slanted = fos(square), fos(turned)
    assert float(slanted) > 3 * float(straight)
    assert float(straight) == pytest.approx(straight["shuffled"], rel=0.15)
    assert float(slanted) > 1.2 * slanted["shuffled"]


def test_few_rows_are_refused():
    with pytest.raises(DataError, match=r"^fos needs 64 rows or more; got 50"):
        fos(np.random.default_rng(0).normal(size=(50, 2)))
