import numpy as np
import pytest
import torch
from PIL import ImageColor

from unknot.core.errors import ShapeError
from unknot.core.posterior import Posterior
from unknot.losses.overlap import Overlap
from unknot.report.model.pictures import (
    dataset_picture,
    pairs,
    prior_samples,
    reconstructions,
    samples,
)
from unknot.report.sheet import GAP, MARGIN
from unknot.report.style import RULE


def perfect(x):
    mean = x.flatten(1)
    return Posterior(mean, torch.full_like(mean, -8))


def back(z):
    return z.reshape(-1, 1, 4, 6)


def cells(page, rows, columns):
    """The images of a sheet of 4 x 6 images, row by row, taken from its right end."""
    height, width = 4 * 32 + GAP, 6 * 32 + GAP
    left = page.shape[1] - MARGIN - max(columns) * width
    frame = (page[:, left - 1] == ImageColor.getrgb(RULE)).all(-1)
    top = int(np.flatnonzero(frame)[0]) + GAP
    return [
        [page[y : y + 128 : 32, left + j * width : left + j * width + 192 : 32] for j in range(k)]
        for y, k in zip(range(top, top + rows * height, height), columns, strict=True)
    ]


def test_each_row_of_the_dataset_picture_is_the_datasets_own_images(make_run):
    dataset = make_run(channels=3, mean=(0.1,) * 3, std=(0.3,) * 3).dataset
    stored = dataset.images.stored.permute(0, 2, 3, 1).numpy()
    shown = cells(dataset_picture(dataset, row=7), 3, (4, 3, 2))
    # Row 7 is shade 1, corner 0, size 1 of a 4 x 3 x 2 grid.
    for images, rows in zip(shown, ([1, 7, 13, 19], [7, 9, 11], [6, 7]), strict=True):
        assert (np.stack(images) == stored[rows]).all()


def test_the_dataset_picture_chooses_evenly_among_many_values(make_run):
    dataset = make_run().dataset
    stored = dataset.images.stored.permute(0, 2, 3, 1).numpy()
    shown = cells(dataset_picture(dataset, row=0, columns=2), 3, (2, 2, 2))
    for images, rows in zip(shown, ([0, 18], [0, 4], [0, 1]), strict=True):
        assert (np.stack(images) == stored[rows]).all()


def test_a_kernel_draws_each_row_blurred_below_it(make_run):
    dataset = make_run(channels=3, mean=(0.1,) * 3, std=(0.3,) * 3).dataset
    kernel = Overlap.create(radius=1)
    plain, below = cells(dataset_picture(dataset, row=7, kernel=kernel), 2, (4, 4))
    x = dataset.unit(dataset.batch(torch.tensor([1, 7, 13, 19])))
    for shown, images in ((plain, x), (below, kernel.blur(x) / kernel.blur(x).max())):
        expected = (255 * images.clamp(0, 1).double()).round().byte().movedim(1, -1).numpy()
        assert (np.stack(shown) == expected).all()


@pytest.mark.parametrize(("change", "said"), [({"radius": 9}, "reaches further than images")])
def test_kernels_that_do_not_fit(make_run, change, said):
    with pytest.raises(ShapeError, match=said):
        dataset_picture(make_run().dataset, kernel=Overlap.create(**change))


def test_a_perfect_model_reconstructs_every_image(make_run):
    run = make_run(latents=24, encoder=perfect, decoder=back)
    shown = pairs(run, n=10)
    assert shown.shape == (2, 10, 4, 6, 3)
    assert (shown[0] == shown[1]).all()
    stored = run.dataset.images.stored.permute(0, 2, 3, 1).expand(-1, -1, -1, 3).numpy()
    assert all((stored == image).all((1, 2, 3)).any() for image in shown[0])


def test_images_stand_above_their_reconstructions(make_run):
    run = make_run(latents=24, encoder=perfect, decoder=lambda z: 1 - back(z))
    first, second = cells(reconstructions(run), 2, (9, 9))
    assert all((a == 255 - b).all() for a, b in zip(first, second, strict=True))


def test_samples_are_decoded_draws_from_the_standard_normal(make_run):
    run = make_run(latents=24, encoder=perfect, decoder=lambda z: back(z / 8 + 0.5))
    z = (prior_samples(run, n=400).astype(float)[..., 0] / 255 - 0.5) * 8
    assert abs(z.mean()) < 0.05
    assert abs(z.std() - 1) < 0.05
    population = make_run(latents=24, decoder=lambda z: back(z / 8 + 0.5), seeds=(7, 8))
    assert (prior_samples(population, 1, n=400) == prior_samples(run, n=400)).all()
    assert (samples(run) == samples(run)).all()
