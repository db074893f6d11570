"""IMA: its contrast by determinants, and 0 for orthogonal columns and for no others."""

import numpy as np
import pytest
import torch

from unknot import testing
from unknot.core.errors import ConfigError
from unknot.losses.geometry import column_contrast, gram
from unknot.objectives.ima import IMA

COLUMNS = torch.randn(2, 5, 4, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def test_the_contrast_is_that_of_determinants():
    products = gram(COLUMNS)
    ours = column_contrast(products, 1e-9)
    assert ours.shape == (2, 5)
    for ij in np.ndindex(2, 5):
        g = products[ij].numpy()
        expected = 0.5 * np.log(np.diag(g)).sum() - 0.5 * np.linalg.slogdet(g)[1]
        assert ours[ij].item() == pytest.approx(expected, rel=1e-6)
    assert (ours > 0).all()


def test_two_columns_at_an_angle_have_minus_the_logarithm_of_its_sine():
    for angle in (0.1, 0.7, np.pi / 2):
        columns = torch.tensor([[[2.0, 0.0], [3 * np.cos(angle), 3 * np.sin(angle)]]]).double()
        ours = column_contrast(gram(columns), 1e-9).item()
        assert ours == pytest.approx(-np.log(np.sin(angle)), abs=1e-6)


def test_scale_of_latents_and_turns_of_the_image_change_nothing():
    scale = torch.tensor([0.1, 1.0, 5.0, 100.0]).double().unsqueeze(-1)
    turn = torch.linalg.qr(torch.randn(9, 9, dtype=torch.float64))[0]
    plain = column_contrast(gram(COLUMNS), 1e-12)
    torch.testing.assert_close(column_contrast(gram(scale * COLUMNS @ turn), 1e-12), plain)


def test_turning_orthogonal_columns_raises_it_unless_they_are_equally_long():
    """Why it identifies more than a divergence: only turns among equal lengths keep it at 0."""
    lengths = torch.diag(torch.tensor([1.0, 2.0], dtype=torch.float64))
    turn = torch.tensor([[0.6, 0.8], [-0.8, 0.6]], dtype=torch.float64)
    assert column_contrast(gram((turn @ lengths).unsqueeze(0)), 1e-9).item() > 0.1
    assert column_contrast(gram(turn.unsqueeze(0)), 1e-9).item() == pytest.approx(0, abs=1e-8)


def test_latents_that_change_nothing_and_equal_columns_stay_finite():
    columns = COLUMNS[0, :1].clone()
    columns[0, 1] = 0.0
    rest = columns[:, [0, 2, 3]]
    torch.testing.assert_close(
        column_contrast(gram(columns), 1e-6), column_contrast(gram(rest), 1e-6)
    )
    columns[0, 1] = columns[0, 0]
    columns.requires_grad_()
    value = column_contrast(gram(columns), 1e-6)
    assert 5 < value.item() < 10  # about -ln sqrt(2 ridge / length^2)
    assert torch.autograd.grad(value.sum(), columns)[0].isfinite().all()


def test_the_term_is_the_contrast_of_the_decoders_weights():
    """A linear decoder has its weights for a Jacobian, whatever the code."""
    ours = testing.cases(IMA(gamma=2.0))[1][0]
    term = ours.terms()["ima"]
    weight = ours.weights["decoder.0.weight"].detach()
    sign, log_det = torch.linalg.slogdet(weight.T @ weight + 1e-6 * torch.eye(3))
    expected = 0.5 * ((weight.square().sum(0) + 1e-6).log().sum() - log_det)
    assert sign == 1
    assert term.value.item() == pytest.approx(expected.item(), rel=1e-6)
    slopes = torch.autograd.grad(term.value, [*ours.weights.values()], materialize_grads=True)
    moved = {n for n, s in zip(ours.weights, slopes, strict=True) if s.abs().max() > 1e-6}
    assert moved == {"decoder.0.weight"}


def test_no_ridge_is_refused():
    with pytest.raises(ConfigError, match=r"^IMA\.ridge must be 1e-12 or more; got 0"):
        IMA(ridge=0.0)
