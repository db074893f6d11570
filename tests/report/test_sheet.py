import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.report.sheet import GAP, MARGIN, Row, enlargement, pixels, sheet, tiles, wrap
from unknot.report.style import MISSING, font


def test_pixels_are_clipped_and_grey_is_repeated(make_run):
    dataset = make_run().dataset
    x = torch.tensor([-1.0, 0.0, 0.5, 1.0, 7.0]).reshape(1, 1, 1, 5)
    shown = pixels(dataset, x)
    assert shown.shape == (1, 1, 5, 3)
    assert shown[0, 0].tolist() == [[v] * 3 for v in (0, 0, 128, 255, 255)]


def test_standardised_images_look_like_the_images(make_run):
    plain = make_run(channels=3).dataset
    standard = make_run(channels=3, mean=(0.1, 0.2, 0.3), std=(0.5, 2.0, 0.25)).dataset
    index = torch.arange(len(plain))
    expected = plain.images.stored.permute(0, 2, 3, 1).numpy()
    assert (pixels(standard, standard.batch(index)) == expected).all()
    assert (pixels(plain, plain.batch(index)) == expected).all()


def test_pixels_that_are_not_numbers_stand_out(make_run):
    x = torch.zeros(2, 1, 1, 2)
    x[1, 0, 0, 0] = torch.nan
    shown = pixels(make_run().dataset, x)
    assert shown[1, 0, 0].tolist() == list(MISSING)
    assert (shown[[0, 0, 1], 0, [0, 1, 1]] == 0).all()


def test_other_numbers_of_channels_are_shown_one_above_the_other(make_run):
    """Side by side, a row of images of five channels would be too wide for a page."""
    x = torch.tensor([0.0, 1.0]).reshape(1, 2, 1, 1).expand(1, 2, 4, 5)
    image = pixels(make_run().dataset, x)
    assert image.shape == (1, 8, 5, 3)
    assert (image[0, :4] == 0).all()
    assert (image[0, 4:] == 255).all()


@pytest.mark.parametrize(("side", "factor"), [(28, 5), (32, 4), (64, 2), (128, 1), (500, 1)])
def test_images_are_enlarged_by_whole_factors(side, factor):
    for shape in ((side, side), (side, 2 * side), (5 * side, side)):
        assert enlargement(np.zeros((3, *shape, 3), np.uint8)) == factor


def test_tiles_hold_every_image_unblurred_with_transparent_lines_between():
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 5, 3), dtype=np.uint8)
    table = tiles(images, scale=2, gap=1)
    assert table.shape == (2 * 9 + 1, 3 * 11 + 1, 4)
    for i in range(2):
        for j in range(3):
            cell = table[1 + 9 * i : 9 + 9 * i, 1 + 11 * j : 11 + 11 * j]
            assert (cell[::2, ::2, :3] == images[i, j]).all()
            assert (cell[1::2, 1::2, :3] == images[i, j]).all()
    assert (table[..., 3] == 255).sum() == 6 * 8 * 10
    assert (table[::9, :, 3] == 0).all()
    assert (table[:, ::11, 3] == 0).all()


def test_a_sheet_shows_rows_of_different_length_in_their_order():
    rng = np.random.default_rng(0)
    rows = [
        Row(("first", "of two"), rng.integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)),
        Row(("second",), rng.integers(0, 256, (4, 64, 64, 3), dtype=np.uint8), apart=True),
    ]
    page = sheet(rows, title="A title", note="A note that explains.")
    width = 4 * (128 + GAP) + GAP
    left = page.shape[1] - MARGIN - width
    assert left > MARGIN, "there is room for the words"
    large = [row.images[0].repeat(2, 0).repeat(2, 1) for row in rows]
    shown = page[:, left + GAP : left + GAP + 128]
    found = [
        [y for y in range(len(page) - 127) if (shown[y : y + 128] == image).all()]
        for image in large
    ]
    ((first,), (second,)) = found
    assert second - first > 128 + GAP, "the second row stands apart"


@given(st.lists(st.text("abcde", min_size=1, max_size=12), max_size=30), st.integers(30, 400))
def test_wrapping_keeps_every_word_and_the_width(words, width):
    letters = font(14)
    lines = wrap(" ".join(words), letters, width)
    assert " ".join(lines).split() == words
    assert all(letters.getlength(line) <= width or " " not in line for line in lines)
