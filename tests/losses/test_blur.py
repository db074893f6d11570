"""Blurs against SciPy's convolution and closed forms."""

import numpy as np
import pytest
import torch
from scipy.signal import convolve2d

from unknot.core import noise
from unknot.core.errors import ShapeError
from unknot.losses.blur import blur_by_rows, box_row, convolve, gaussian_row

SIDES = [(64, 64), (9, 17)]


def images(*shape, dtype=torch.float64):
    return noise.uniform(3, "images", 0, *shape, dtype=dtype)


def reference(x, kernel):
    flat = x.reshape(-1, *x.shape[-2:]).double().numpy()
    blurred = [convolve2d(one, kernel.double().numpy(), mode="same") for one in flat]
    return torch.from_numpy(np.stack(blurred)).reshape(x.shape)


@pytest.mark.parametrize("radius", [1, 3, 8])
@pytest.mark.parametrize("sides", SIDES)
def test_a_lopsided_kernel_convolves_as_scipy_does(radius, sides):
    x = images(2, 3, *sides)
    kernel = noise.normal(1, "kernel", 0, 2 * radius + 1, 2 * radius + 1, dtype=torch.float64)
    torch.testing.assert_close(convolve(x, kernel), reference(x, kernel), rtol=0, atol=1e-12)


@pytest.mark.parametrize("radius", [1, 2, 8, 31, 63])
def test_rows_transforms_and_direct_sums_agree_in_float32(radius):
    x = images(2, 1, 64, 64, dtype=torch.float32)
    for row in (box_row(radius, x), gaussian_row(radius, radius / 4, x)):
        kernel = row.unsqueeze(-1) * row
        by_rows, transformed = blur_by_rows(x, row), convolve(x, kernel)
        torch.testing.assert_close(by_rows, transformed, rtol=0, atol=1e-5)
        direct = torch.nn.functional.conv2d(
            x.flatten(0, 1).unsqueeze(1), kernel[None, None], padding=radius
        ).reshape(x.shape)
        torch.testing.assert_close(by_rows, direct, rtol=0, atol=1e-5)


@pytest.mark.parametrize("radius", [1, 31])
def test_rows_sum_to_1_and_keep_a_flat_image_away_from_its_edge(radius):
    like = torch.zeros((), dtype=torch.float64)
    for row in (box_row(radius, like), gaussian_row(radius, radius / 4, like)):
        assert row.sum().item() == pytest.approx(1, abs=1e-14)
        assert torch.equal(row, row.flip(0))
        side = 2 * radius + 3
        inside = blur_by_rows(torch.ones(1, side, side).double(), row)[0, radius + 1, radius + 1]
        assert inside.item() == pytest.approx(1, abs=1e-12)


def test_zeros_lie_around_the_image():
    """A box of radius 1 in a corner covers 4 of its 9 places."""
    x = torch.ones(1, 5, 7).double()
    blurred = blur_by_rows(x, box_row(1, x))[0]
    assert blurred[0, 0].item() == pytest.approx(4 / 9)
    assert blurred[0, 3].item() == blurred[4, 3].item() == pytest.approx(6 / 9)
    assert blurred[2, 3].item() == pytest.approx(1)


def test_one_gaussian_after_another_is_a_wider_one():
    x = torch.zeros(1, 63, 63).double()
    x[0, 31, 31] = 1
    twice = blur_by_rows(blur_by_rows(x, gaussian_row(15, 2.0, x)), gaussian_row(15, 1.5, x))
    once = blur_by_rows(x, gaussian_row(30, 2.5, x))
    torch.testing.assert_close(twice, once, rtol=0, atol=1e-8)


def test_gradients_are_exact():
    x, kernel = images(1, 6, 5).requires_grad_(), images(3, 3).requires_grad_()
    assert torch.autograd.gradcheck(convolve, (x, kernel))
    row = images(5).requires_grad_()
    assert torch.autograd.gradcheck(blur_by_rows, (x, row))


def test_members_are_only_more_images():
    x = images(4, 2, 3, 12, 12)
    row, kernel = gaussian_row(3, 1.0, x), images(7, 7)
    for blur, how in ((blur_by_rows, row), (convolve, kernel)):
        alone = torch.stack([blur(member, how) for member in x])
        torch.testing.assert_close(blur(x, how), alone, rtol=0, atol=1e-14)


def test_a_kernel_that_no_image_can_use_is_refused():
    x = images(1, 64, 48)
    for blur, how in ((blur_by_rows, box_row(48, x)), (convolve, images(97, 97))):
        with pytest.raises(ShapeError, match="radius 48 reaches further than images of 64 x 48"):
            blur(x, how)
