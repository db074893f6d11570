import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from unknot.core.posterior import Posterior
from unknot.report.model import traversals
from unknot.report.model.latents import measure_latents
from unknot.report.model.traversals import (
    CLEAR,
    COLUMNS,
    FRAMES,
    GIF_LIMIT,
    LOOP,
    STILL,
    gif,
    loop_frames,
    main_factor,
    middle_row,
    sweep,
    traversal_gif,
    traversal_picture,
)
from unknot.report.sheet import GAP, MARGIN


def one_pixel_each(z):
    """Latent i is the brightness of pixel i, a quarter of it."""
    shown = torch.zeros(len(z), 1, 4, 6)
    shown.flatten(1)[:, : z.shape[1]] = 0.5 + z / 4
    return shown


def test_a_decoder_that_ignores_the_code_gives_identical_columns(make_run):
    run = make_run(decoder=lambda z: torch.full((len(z), 1, 4, 6), 0.3))
    images = sweep(run, measure_latents(run), STILL)
    assert images.shape == (1, 3, COLUMNS, 4, 6, 3)
    assert (images == images[:, :, :1]).all()


def test_each_row_moves_its_own_latent_by_two_standard_deviations_and_no_other(make_run):
    def encode(x):  # the second latent says most, the third nothing
        a = x.mean((1, 2, 3))
        mean = torch.stack([a, 3 * a - 0.5, 0 * a], 1)
        return Posterior(mean, torch.tensor([-1.0, -3.0, 0.0]).expand_as(mean))

    run = make_run(encoder=encode, decoder=one_pixel_each)
    (found,) = measure_latents(run)
    assert found.order == [1, 0, 2]
    images = sweep(run, [found], STILL)[0, ..., 0].reshape(3, COLUMNS, 24)
    code = run.encode(run.dataset.batch(torch.tensor([middle_row(run.dataset.space)])))[0].numpy()
    for rank, z in enumerate(found.order):
        expected = np.tile(0.5 + code / 4, (COLUMNS, 1))
        expected[:, z] = 0.5 + (found.mean[z] + np.linspace(-2, 2, COLUMNS) * found.sd[z]) / 4
        shown = np.rint(255 * expected.clip(0, 1))
        assert np.abs(images[rank, :, :3] - shown).max() <= 1
    assert (images[:, :, 3:] == 0).all()


def test_members_of_a_population_move_around_their_own_codes(make_run):
    alone = make_run(decoder=one_pixel_each)
    both = make_run(decoder=one_pixel_each, seeds=(4, 5), alive=(False, True))
    expected = sweep(alone, measure_latents(alone), STILL)
    shown = sweep(both, measure_latents(both), STILL, members=(1,))
    assert (shown == expected).all()


def test_the_middle_of_the_grid(make_run):
    space = make_run().dataset.space
    assert space.factors(torch.tensor(middle_row(space))).tolist() == [2, 1, 1]


def test_the_picture_holds_the_swept_images_most_informative_first(make_run):
    run = make_run(decoder=one_pixel_each)
    images = sweep(run, measure_latents(run), STILL)[0]
    page = traversal_picture(run, measure_latents(run))
    height, width = 32 * 4 + GAP, 32 * 6 + GAP
    left = page.shape[1] - MARGIN - COLUMNS * width - GAP
    corner = np.repeat(np.repeat(images[0, 0], 32, 0), 32, 1)
    (top,) = [
        y
        for y in range(page.shape[0] - 3 * height)
        if (page[y : y + 128, left + GAP : left + GAP + 192] == corner).all()
    ][:1]
    for rank in range(3):
        for column in range(COLUMNS):
            y, x = top + rank * height, left + GAP + column * width
            assert (page[y : y + 128 : 32, x : x + 192 : 32] == images[rank, column]).all()


def test_the_label_names_the_factor_that_explains_most(make_run):
    def encode(x):
        block = (x > 0).float()
        shade = x.amax((1, 2, 3))
        first_row = block[:, 0, 0].amax(1)
        mean = torch.stack([2 * shade, 3 * first_row, 0 * shade], 1)
        return Posterior(mean, torch.tensor([-4.0, -4.0, 0.0]).expand_as(mean))

    run = make_run(encoder=encode)
    (found,) = measure_latents(run)
    names = run.dataset.space.names
    assert [main_factor(found, z, names) for z in range(3)] == [
        "shade 100%",
        "corner 100%",
        "inactive",
    ]


def test_a_decoder_that_draws_nothing_leaves_latents_without_a_factor(make_run):
    run = make_run(decoder=lambda z: torch.full((len(z), 1, 4, 6), 0.3))
    found = replace(measure_latents(run)[0], kl=np.ones(3))
    assert found.contrast == 0
    assert np.nanmax(found.explained) > CLEAR
    assert {main_factor(found, z, run.dataset.space.names) for z in range(3)} == {""}


def test_the_gif_loops_without_an_end_and_comes_back_the_way_it_went(make_run):
    run = make_run(decoder=one_pixel_each)
    data = traversal_gif(run, measure_latents(run))
    with Image.open(io.BytesIO(data)) as image:
        assert image.n_frames == FRAMES
        assert image.info["loop"] == 0
        assert image.info["duration"] == traversals.FRAME_MS
        frames = []
        for k in range(FRAMES):
            image.seek(k)
            frames.append(np.array(image.convert("RGB")))
    assert all((frames[k] == frames[FRAMES - k]).all() for k in range(1, FRAMES))
    assert (frames[0] != frames[FRAMES // 2]).any()
    assert (frames[0][0] == 255).all(), "paper is white"


def test_the_loop_moves_evenly_to_both_ends():
    positions = loop_frames(LOOP)
    assert len(positions) == FRAMES
    assert positions.min() == pytest.approx(-2)
    assert positions.max() == pytest.approx(2)
    steps = np.abs(np.diff(np.append(positions, positions[0])))
    assert steps.min() > 0
    assert steps.max() < 0.4


def test_a_gif_of_few_colours_is_lossless():
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (200, 3), dtype=np.uint8)
    frames = colors[rng.integers(0, 200, (3, 20, 30))]
    with Image.open(io.BytesIO(gif(frames, ms=50))) as image:
        for k in range(3):
            image.seek(k)
            assert (np.array(image.convert("RGB")) == frames[k]).all()


def test_a_gif_of_many_colours_keeps_paper_white_and_the_rest_close():
    rng = np.random.default_rng(0)
    frames = np.full((4, 60, 60, 3), 255, np.uint8)
    ramp = np.linspace(0, 250, 40).astype(np.uint8)
    frames[:, 10:50, 10:50, 0] = ramp[:, None]
    frames[:, 10:50, 10:50, 1] = ramp
    frames[:, 10:50, 10:50, 2] = rng.integers(0, 60, (4, 1, 1), dtype=np.uint8)
    with Image.open(io.BytesIO(gif(frames, ms=50))) as image:
        shown = np.array(image.convert("RGB")).astype(int)
    assert (shown[:10] == 255).all()
    assert np.abs(shown - frames[0]).mean() < 8


def test_a_gif_that_does_not_compress_is_made_smaller_until_it_fits(make_run, monkeypatch):
    noise = np.random.default_rng(0).integers(0, 256, (1, 6, 17, 64, 64, 3), dtype=np.uint8)
    monkeypatch.setattr(traversals, "sweep", lambda *_, **__: noise)
    run = make_run(latents=6)
    data = traversal_gif(run, measure_latents(run))
    assert GIF_LIMIT / 10 < len(data) < GIF_LIMIT
    with Image.open(io.BytesIO(data)) as image:
        assert image.n_frames * image.info["duration"] == FRAMES * traversals.FRAME_MS
