"""Inputs unlike the data: what they are, and what the picture shows of them."""

import numpy as np
import pytest
import torch

from unknot.core.posterior import Posterior
from unknot.report.model import out_of_distribution as pictures
from unknot.report.model.out_of_distribution import (
    out_of_distribution_inputs,
    out_of_distribution_outcomes,
    out_of_distribution_picture,
    out_of_distribution_traversals,
)


def test_noise_inverts_a_share_of_the_pixels_and_less_noise_fewer_of_the_same():
    image = (torch.arange(64 * 64) % 3 == 0).float().reshape(1, 64, 64)
    found = out_of_distribution_inputs(image)
    flipped = [found[f"{share} flipped"] != image for share in ("0.1%", "1%", "5%")]
    assert [int(f.sum()) for f in flipped] == pytest.approx([4, 41, 205], rel=0.5)
    assert not (flipped[0] & ~flipped[1]).any()
    assert not (flipped[1] & ~flipped[2]).any()
    assert torch.equal(found["inverted"], 1 - image)
    assert torch.equal(found["image"], image)


def test_a_triangle_of_any_channels_stands_in_the_middle():
    triangle = out_of_distribution_inputs(torch.zeros(3, 48, 64))["triangle"]
    assert torch.equal(triangle[0], triangle[2])
    assert set(triangle.unique().tolist()) == {0.0, 1.0}
    rows, columns = triangle[0].nonzero(as_tuple=True)
    assert (columns.min() + columns.max()) / 2 == pytest.approx(32, abs=1)
    widths = triangle[0].sum(1)[rows.min() : rows.max() + 1]
    assert widths[0] <= 2 < widths[-1], "its tip is above"
    assert (widths.diff() >= 0).all()


def test_the_picture_has_each_input_what_becomes_of_it_and_one_latent_moved(make_run, monkeypatch):
    """The decoder paints the first two codes, which are the mean of the input and of a latent."""
    sheets = []
    drawn = np.zeros((1, 1, 3), np.uint8)
    monkeypatch.setattr(
        pictures, "sheet", lambda rows, **words: sheets.append((rows, words)) or drawn
    )

    def encode(x):
        mean = torch.stack([x.flatten(1).mean(1), x.flatten(1)[:, 0]], 1)
        return Posterior(mean, torch.tensor([-8.0, 0.0]).expand_as(mean))

    def decode(z):
        return z[:, :1, None, None].expand(-1, 1, 4, 6)

    run = make_run(latents=2, encoder=encode, decoder=decode)
    out_of_distribution_picture(run, row=7)
    ((rows, words),) = sheets
    assert [row.lines[0] for row in rows][::5] == ["image", "inverted"]
    assert words["columns"][:2] == ["input", "reconstruction"]
    own = run.dataset.unit(run.dataset.batch(torch.tensor([7])))[0]
    for row, shown in ((rows[0], own), (rows[-1], 1 - own)):
        levels = row.images[:, 0, 0, 0].astype(float)
        assert levels[1] == pytest.approx(255 * shown.mean().item(), abs=1)
        assert (row.images[0, ..., 0] == (255 * shown[0]).round().byte().numpy()).all()
    moved = [row.images[2:, 0, 0, 0] for row in rows]
    assert all((m == moved[0]).all() for m in moved), "the moved latent is all that is painted"
    assert (moved[0][1:].astype(int) - moved[0][:-1] >= 0).all()
    assert moved[0][0] < moved[0][-1]


@pytest.fixture
def copies(make_run):
    """A model whose code is the image itself, pixel by pixel, and that decodes it as it is."""

    def encode(x):
        mean = x.flatten(1)
        return Posterior(mean, torch.full_like(mean, -4.0))

    return make_run(latents=24, encoder=encode, decoder=lambda z: z.reshape(-1, 1, 4, 6))


def test_overlap_is_with_the_image_without_noise(copies):
    found = {outcome.name: outcome for outcome in out_of_distribution_outcomes(copies)}
    x = copies.dataset.unit(copies.dataset.batch(torch.arange(24)))
    lit = (x > 0.5).flatten(1).any(1)
    assert found["image"].iou == found["triangle"].iou == found["inverted"].iou == 1
    assert (found["image"].distance, found["image"].iou_sd) == (0, 0)
    noisy = torch.stack([out_of_distribution_inputs(image)["5% flipped"] for image in x])
    one, two = (noisy > 0.5).flatten(1), (x > 0.5).flatten(1)
    expected = (one & two).sum(1) / (one | two).sum(1)
    assert found["5% flipped"].iou == pytest.approx(float(expected.nanmean()))
    assert found["5% flipped"].iou < 1
    assert lit.any()
    apart = torch.pdist(x.flatten(1).double()).mean()
    moved = (1 - 2 * x).flatten(1).double().norm(dim=1).mean()
    assert found["inverted"].distance == pytest.approx(float(moved / apart), rel=1e-5)


def test_a_model_that_ignores_its_input_overlaps_with_none(make_run):
    run = make_run(latents=2, decoder=lambda z: torch.zeros(len(z), 1, 4, 6))
    found = {outcome.name: outcome.iou for outcome in out_of_distribution_outcomes(run)}
    assert found["inverted"] == found["triangle"] == 0


def test_full_traversals_have_a_row_for_each_active_latent_of_each_input(make_run, monkeypatch):
    sheets = []
    drawn = np.zeros((1, 1, 3), np.uint8)
    monkeypatch.setattr(
        pictures, "sheet", lambda rows, **words: sheets.append((rows, words)) or drawn
    )

    def encode(x):
        mean = torch.stack([x.flatten(1).mean(1), x.flatten(1)[:, 0], 0 * x.flatten(1)[:, 0]], 1)
        return Posterior(mean, torch.tensor([-8.0, -2.0, 0.0]).expand_as(mean))

    run = make_run(
        latents=3, encoder=encode, decoder=lambda z: z[:, :1, None, None].expand(-1, 1, 4, 6)
    )
    out_of_distribution_traversals(run, row=7)
    ((rows, words),) = sheets
    assert [row.lines for row in rows[:3]] == [
        ("image", "z0"), ("image", "z1"), ("0.1% flipped", "z0"),
    ]  # fmt: skip
    assert len(rows) == 6 * 2, "the third latent is passive"
    assert words["columns"][0] == "input"
    assert all(len(row.images) == 6 for row in rows)
    still = rows[1].images[1:, 0, 0, 0]
    assert len(set(still.tolist())) == 1, "moving z1 changes nothing that is painted"
    moved = rows[0].images[1:, 0, 0, 0].astype(int)
    assert moved[0] < moved[-1]
