"""Traversals around chosen images and over chosen ranges: codes are those that were asked for."""

import numpy as np
import pytest
import torch
from report.model.test_traversals import one_pixel_each

from unknot.core.errors import ConfigError
from unknot.report.model.chosen_traversals import (
    decode_line,
    factor_order,
    places,
    traverse_images,
    traverse_latents,
)
from unknot.report.model.latents import Latents, measure_latents


def test_one_latent_of_each_code_takes_the_values_and_the_others_stay(make_run):
    run = make_run(seeds=(1, 2), decoder=one_pixel_each)
    codes = torch.tensor([[0.1, 0.2, 0.3], [-0.4, -0.5, -0.6]])
    found = decode_line(run, codes, 1, torch.tensor([-1.0, 0.5]), 1).flatten(2)[..., :3]
    expected = [[[0.1, -1.0, 0.3], [0.1, 0.5, 0.3]], [[-0.4, -1.0, -0.6], [-0.4, 0.5, -0.6]]]
    np.testing.assert_allclose(found.numpy(), 0.5 + np.array(expected) / 4, atol=1e-6)


def test_without_a_span_a_latent_goes_two_deviations_both_ways(make_run):
    (latents,) = measure_latents(make_run())
    low, middle, high = places(latents, 0, None, 3).tolist()
    assert middle == pytest.approx(latents.mean[0])
    assert (high - low) / 4 == pytest.approx(latents.sd[0])
    assert places(latents, 0, (-3, 1), 5).tolist() == [-3, -2, -1, 0, 1]


def test_latents_stand_by_the_factor_that_they_follow():
    explained = np.array([[0.1, 0.1], [0.0, 0.9], [0.5, 0.0], [0.8, 0.1], [0.9, 0.9]])
    kl = np.array([3.0, 2.0, 1.0, 0.5, 0.0])
    assert factor_order(Latents(kl, kl, kl, explained)) == [3, 2, 1, 0, 4]


def test_a_row_and_its_image_are_the_same_base_and_other_rows_another(make_run):
    run = make_run(decoder=one_pixel_each)
    of_row = traverse_latents(run, base=7, span=(-1, 1), steps=3)
    assert (of_row == traverse_latents(run, base=run.dataset[7], span=(-1, 1), steps=3)).all()
    assert (of_row != traverse_latents(run, base=23, span=(-1, 1), steps=3)).any()


def test_a_factor_names_the_latent_that_follows_it_most(make_run):
    run = make_run()
    (latents,) = measure_latents(run)
    best = int(np.nan_to_num(latents.explained[:, 1]).argmax())
    assert (traverse_images(run, "corner") == traverse_images(run, best)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"span": (1, -1)}, "the smaller first"),
        ({"span": {9: (0, 1)}}, "number of a latent"),
        ({"span": {}}, "names no latent"),
        ({"base": 24}, "number of a row"),
        ({"order": "factors"}, "did you mean 'factor'"),
        ({"steps": 1}, "steps"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make_run, options, words):
    with pytest.raises(ConfigError, match=words):
        traverse_latents(make_run(), **options)
