"""Mean distance matrices against closed forms and other libraries, and tables of Michlo 2022."""

from functools import cache

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy import stats

from unknot.core import noise
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.posterior import Posterior
from unknot.core.registry import names
from unknot.data.xysquares import XYSquares
from unknot.losses.overlap import Overlap
from unknot.metrics.parts.distance_sources import Source, cross_entropy, mse
from unknot.metrics.parts.distances import correlations, mean_matrices, rank_agreement

SPACE = FactorSpace(("a", "one", "b"), (4, 1, 5), ("ordered",) * 3)


@cache
def squares(spacing):
    return XYSquares(spacing).load()


def apart(size):
    steps = torch.arange(float(size), dtype=torch.float64)
    return (steps[:, None] - steps).abs()


def weighted_codes(weights, logvar=0.0):
    """Means are the factors times weights, a row of them for each latent."""
    weights = torch.tensor(weights, dtype=torch.float64)

    def posteriors(index):
        mean = SPACE.factors(index).double() @ weights.T
        return Posterior(mean, torch.full_like(mean, logvar))

    return posteriors


def box_reference(a, b):
    """The loss with a box blur of radius 31, by cumulative sums in NumPy."""

    def blurred(x):
        padded = np.pad(x, [(0, 0), (0, 0), (32, 31), (32, 31)]).cumsum(2).cumsum(3)
        lower, upper = padded[:, :, 63:], padded[:, :, :-63]
        return (lower[..., 63:] - lower[..., :-63] - upper[..., 63:] + upper[..., :-63]) / 63**2

    a, b = a.double().numpy(), b.double().numpy()
    plain, smooth = ((f(a) - f(b)) ** 2 for f in (lambda x: x, blurred))
    return plain.mean((1, 2, 3)) + 63**2 * smooth.mean((1, 2, 3))


@pytest.mark.parametrize("spacing", [1, 3, 8])
def test_xysquares(spacing):
    """Squared errors 16 min(8, s k) / 12288: constant at spacing 8, and as |i - j| at 1."""
    data = squares(spacing)
    sources = {"factors": Source.from_factors(data.space), "images": Source.from_images(data.batch)}
    found = mean_matrices(sources, data.space, traversals=5)
    assert list(found) == list(data.space.names)
    for own in found.values():
        assert torch.equal(own["factors"], apart(8))
        expected = 16 * (spacing * apart(8)).clamp(max=8) / 12288
        assert torch.allclose(own["images"], expected, rtol=1e-12, atol=1e-15)
        if spacing == 1:
            assert torch.allclose(own["images"], own["factors"] * 16 / 12288)


def test_codes_and_posteriors_in_closed_form():
    """Moving factor a moves codes by (3, 4), of length 5; at variance v the divergence is 25/2v."""
    posteriors = weighted_codes([[3, 0, 0], [4, 0, 2]], logvar=np.log(0.5))
    sources = {
        "codes": Source.from_means(posteriors),
        "posteriors": Source.from_posteriors(posteriors),
    }
    found = mean_matrices(sources, SPACE)
    assert list(found) == ["a", "b"], "the factor with one value has no distances"
    assert torch.allclose(found["a"]["codes"], 5 * apart(4))
    assert torch.allclose(found["b"]["codes"], 2 * apart(5))
    assert torch.allclose(found["a"]["posteriors"], 25 * apart(4) ** 2 / (2 * 0.5))
    assert torch.allclose(found["b"]["posteriors"], 4 * apart(5) ** 2 / (2 * 0.5))


def test_the_mean_is_over_traversals():
    """Images are products of factors: the traversal of b at a has distances (a (i - j))^2."""

    def images(index):
        return SPACE.factors(index).double()[:, [0]] * SPACE.factors(index)[:, [2]]

    found = mean_matrices({"images": Source.from_images(images)}, SPACE)["b"]["images"]
    assert torch.allclose(found, apart(5) ** 2 * (0 + 1 + 4 + 9) / 4)


def test_all_sources_see_the_same_traversals():
    seen = {"first": [], "second": []}

    def remember(name):
        def rows(index):
            seen[name].append(index)
            return index.double()[:, None]

        return Source(rows, mse)

    data = squares(8)
    mean_matrices({name: remember(name) for name in seen}, data.space, traversals=7, seed=3)
    assert torch.equal(torch.cat(seen["first"]), torch.cat(seen["second"]))


def test_box_loss_against_cumulative_sums():
    data = squares(5)
    source = Source.from_images(data.batch, "box")
    first, second = torch.arange(0, 40_000, 1999), torch.arange(7, 260_000, 12_999)[:21]
    found = source.distance(source.rows(first), source.rows(second))
    expected = box_reference(data.batch(first), data.batch(second))
    assert found.numpy() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("spacing", "loss", "row"),
    [
        (8, "gaussian", (0.52, 0.58)),
        (8, "gaussian_blur", (0.84, 0.88)),
        (8, "box", (0.96, 0.97)),
        (1, "box", (0.98, 0.99)),
        (4, "box", (0.99, 0.99)),
    ],
)
def test_tables_4_2_and_6_1_by_name(spacing, loss, row):
    data = squares(spacing)
    source = Source.from_images(data.batch, loss)
    found = correlations(source.rows, data.space, traversals=24, pairs=4, loss=source.distance)
    rows = [(found[name].linear, found[name].rank) for name in data.space.names]
    assert np.mean(rows, axis=0) == pytest.approx(row, abs=0.008)


def test_a_learnt_kernel_from_its_file(tmp_path):
    """A box of ones over 63 with weight 1 is the box blur with weight 63 squared."""
    path = tmp_path / "kernel.safetensors"
    save_file({"kernel": torch.full((63, 63), 1 / 63)}, path)
    data, index = squares(8), torch.arange(0, 200_000, 9973)
    box, learnt, settings = (
        Source.from_images(data.batch, loss) for loss in ("box", str(path), Overlap.create("box"))
    )
    expected = box.distance(box.rows(index), box.rows(index.flip(0)))
    for source in (learnt, settings):
        found = source.distance(source.rows(index), source.rows(index.flip(0)))
        assert torch.allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_cross_entropy():
    x, y = noise.uniform(0, "images", 0, 2, 5, 1, 4, 4, dtype=torch.float64)
    expected = -(x * y.log() + (1 - x) * (1 - y).log()).mean((1, 2, 3))
    assert torch.allclose(cross_entropy(x, y), expected)
    a, b = torch.tensor([[[0.0, 1, 1, 0]]]), torch.tensor([[[1.0, 1, 0, 0]]])
    assert cross_entropy(a, b).item() == pytest.approx(50), "two of four pixels, at 100 each"
    assert cross_entropy(a, 3 * b - 1).item() == pytest.approx(50), "held to [0, 1]"
    assert cross_entropy(3 * a - 1, b).item() == pytest.approx(50), "the first as well"
    source = Source.from_images(lambda index: index, "bernoulli")
    assert source.distance is cross_entropy


def test_a_loss_of_ones_own():
    source = Source.from_images(
        lambda index: index.double()[:, None], lambda x, y: (x - y).abs()[:, 0].sqrt()
    )
    found = mean_matrices({"images": source}, SPACE)["b"]["images"]
    assert torch.allclose(found, apart(5).sqrt())


def test_rank_agreement_is_spearmans():
    """Ties and the zeros of the diagonal included, and no order in a constant matrix."""
    one, other = noise.integers(0, "matrices", 0, 2, 6, 6, high=9).double()
    found = rank_agreement({"x": one, "y": other}, "x", "y")
    assert found == pytest.approx(stats.spearmanr(one.flatten(), other.flatten()).statistic)
    constant = {"x": one, "y": torch.ones(6, 6).double()}
    assert rank_agreement(constant, "x", "y") == 0


def test_bad_losses_and_models():
    with pytest.raises(ConfigError, match="no loss 'boxx'; did you mean 'box'"):
        Source.from_images(squares(8).batch, "boxx")
    with pytest.raises(DataError, match=r"Cannot read the kernel '.*no_kernel"):
        Source.from_images(squares(8).batch, "no_kernel.safetensors")
    small = Source.from_images(lambda index: torch.zeros(len(index), 1, 8, 8), "box")
    with pytest.raises(ShapeError, match="radius 31"):
        mean_matrices({"images": small}, SPACE)
    lost = Source.from_means(weighted_codes([[np.nan, 0, 0]]))
    with pytest.raises(DataError, match="Distances of codes along 'a' are not finite"):
        mean_matrices({"codes": lost}, SPACE)


def test_an_analysis_is_no_score():
    assert "traversal_distances" not in names("metrics")
