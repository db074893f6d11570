"""IMA contrast: closed forms of linear decoders, and what must not change it."""

import math

import pytest
import torch
from torch import Tensor

import unknot
from unknot.core.errors import DataError, ShapeError
from unknot.core.objective import Net
from unknot.core.posterior import Posterior
from unknot.metrics import ima_contrast
from unknot.metrics.ima_contrast import Settings

GEN = torch.Generator().manual_seed(3)
PIXELS = (1, 4, 5)
D = math.prod(PIXELS)
W = torch.randn(D, 3, generator=GEN).double()
X = torch.randn(20, *PIXELS, generator=GEN).double()


def linear(weight: Tensor) -> Net:
    def encode(x: Tensor) -> Posterior:
        mean = x.flatten(-3) @ weight
        return Posterior(mean, torch.zeros_like(mean))

    return Net(encode, lambda z: (z @ weight.mT).unflatten(-1, PIXELS))


def closed_form(weight: Tensor) -> float:
    return float(weight.norm(dim=0).log().sum() - 0.5 * torch.logdet(weight.T @ weight))


def score(weight: Tensor):
    return ima_contrast(linear(weight), X, likelihood="gaussian")


def test_a_linear_decoder_has_the_contrast_of_its_weights():
    ours = score(W)
    assert float(ours) == pytest.approx(closed_form(W), rel=1e-4)
    assert ours.parts["per_image"] == pytest.approx([closed_form(W)] * 20, rel=1e-4)
    unit = W / W.norm(dim=0)
    pairs = (unit.T @ unit).abs()[[0, 0, 1], [1, 2, 2]]
    assert ours["ima_contrast.cosine"] == pytest.approx(float(pairs.mean()), rel=1e-6)


def test_two_columns_at_an_angle():
    """The area of a parallelogram is that of the rectangle times the sine."""
    for angle in (0.2, 1.0, math.pi / 2):
        weight = torch.zeros(D, 2).double()
        weight[0, 0], weight[0, 1], weight[1, 1] = 3, math.cos(angle), math.sin(angle)
        ours = score(weight)
        assert float(ours) == pytest.approx(-math.log(math.sin(angle)), abs=3e-4)
        assert ours["ima_contrast.cosine"] == pytest.approx(math.cos(angle), abs=1e-6)


def test_orthogonal_columns_of_any_length_have_none():
    columns = torch.linalg.qr(W)[0]
    assert float(score(columns * torch.tensor([5.0, 1.0, 0.1]))) == pytest.approx(0, abs=1e-6)


def test_neither_the_scale_of_latents_nor_that_of_images_matters():
    scaled = W * torch.tensor([4.0, -1.0, 0.5])
    assert float(score(scaled)) == pytest.approx(float(score(W)), rel=1e-3)
    assert float(score(1e-3 * W)) == pytest.approx(float(score(W)), rel=1e-9)


def test_latents_that_change_nothing_count_as_orthogonal():
    dead = torch.cat([W, torch.zeros(D, 2).double()], dim=1)
    ours = score(dead)
    assert float(ours) == pytest.approx(closed_form(W), rel=1e-4)
    assert ours["ima_contrast.cosine"] == pytest.approx(score(W)["ima_contrast.cosine"])
    assert ours["ima_contrast.used"] == 3
    assert ours.remarks == ("2 of 5 latents change no image",)
    assert float(score(torch.zeros(D, 2).double())) == 0


def test_logits_are_images_unless_outputs_are_asked_for():
    """A sigmoid bends the directions of two latents apart or together."""
    net, x = linear(W), X.sigmoid()
    outputs = ima_contrast(net, x, protocol=Settings(activated=False))
    assert float(outputs) == pytest.approx(closed_form(W), rel=1e-4)
    images = ima_contrast(net, x)
    z = net.encode(x).mean.requires_grad_()
    contrasts = []
    for code in z:
        j = torch.autograd.functional.jacobian(lambda c: (c @ W.T).sigmoid(), code)
        contrasts.append(closed_form(j))
    assert float(images) == pytest.approx(sum(contrasts) / 20, rel=0.02)


def test_refusals():
    with pytest.raises(ShapeError, match="images"):
        ima_contrast(linear(W), X[0], likelihood="gaussian")
    with pytest.raises(ShapeError, match="one model"):
        ima_contrast(linear(W.expand(2, D, 3)), X, likelihood="gaussian")
    with pytest.raises(DataError, match="diverged"):
        ima_contrast(linear(W * torch.nan), X, likelihood="gaussian")


def test_of_runs_whether_or_not_they_have_posteriors():
    """Autoencoders decode too; members of a population are as if alone."""
    for objective in ("beta_vae", "qlae"):
        run = unknot.train(
            "soft_squares", objective, net="linear", seeds=range(2), steps=3, progress=False
        )
        both = run.score("ima_contrast")
        alone = unknot.train(
            "soft_squares", objective, net="linear", seeds=1, steps=3, progress=False
        )
        (record,) = alone.score("ima_contrast")
        assert record.values["ima_contrast"] > 0
        assert record.values == pytest.approx(both[1].values, rel=1e-5)  # sums of other sizes
