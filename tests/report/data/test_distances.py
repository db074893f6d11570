"""Figures of distances: what is drawn is what was measured."""

import numpy as np
import pytest
import torch

from unknot.core.errors import ConfigError, DataError
from unknot.core.factors import FactorSpace
from unknot.core.posterior import Posterior
from unknot.core.representation import Representation
from unknot.metrics.parts.distances import Spread, mean_matrices
from unknot.report.data.clouds import RATIOS, Cloud, cloud_figure, factor_clouds
from unknot.report.data.distances import (
    captions,
    data_sources,
    distribution,
    importance_figure,
    matrices_figure,
    run_sources,
)
from unknot.report.data.kernels import kernel_figure, kernels_figure
from unknot.report.data.thresholds import pair_deltas, threshold_figure
from unknot.report.style import arrange, png

SOURCES = ["factors", "images", "codes", "posteriors", "reconstructions"]


def texts(axes):
    return [text.get_text() for text in axes.texts]


@pytest.fixture
def matrices():
    """Two factors of 2 and 9 values from two sources."""
    steps = torch.arange(9.0).double()
    many = (steps[:, None] - steps).abs()
    few = torch.tensor([[0.0, 1], [1, 0]]).double()
    return {
        "shape": {"factors": few, "images": 0.004 * few},
        "x": {"factors": many, "images": 0.0015 * many},
    }


def test_a_row_for_each_factor_and_a_column_for_each_source(matrices):
    figure = matrices_figure(matrices, title="all", lines={"images": "squared error"})
    cells, bars = figure.axes[:4], figure.axes[4:]
    assert len(bars) == 2
    assert [axes.get_ylabel() for axes in cells] == ["shape", "", "x", ""]
    assert [axes.get_title() for axes in cells] == ["factors", "images", "", ""]
    assert {"squared error", "× 10⁻³"} <= set(texts(cells[1]))
    order = [(factor, source) for factor in matrices for source in ("factors", "images")]
    for axes, (factor, source) in zip(cells, order, strict=True):
        shown = np.array(axes.images[0].get_array())
        unit = 1 if source == "factors" else 1e-3
        assert shown == pytest.approx(matrices[factor][source].numpy() / unit)


def test_one_colour_scale_for_a_source_but_each_its_own_for_the_truth(matrices):
    cells = matrices_figure(matrices, title="all").axes[:4]
    tops = [axes.images[0].get_clim() for axes in cells]
    assert tops == [(0, 1), (0, pytest.approx(12)), (0, 8), (0, pytest.approx(12))]


def test_numbers_stand_in_small_matrices_only(matrices):
    cells = matrices_figure(matrices, title="all").axes[:4]
    assert [t for t in texts(cells[1]) if t and "×" not in t] == ["0", "4", "4", "0"]
    assert texts(cells[3]) == []


def test_a_matrix_of_zeros_can_be_drawn():
    nothing = {"x": {"images": torch.zeros(3, 3).double()}}
    assert png(matrices_figure(nothing, title="still"))


def test_files_are_the_same_at_every_call(matrices):
    first, second = (png(matrices_figure(matrices, title="all")) for _ in range(2))
    assert first == second


def test_captions_say_which_loss():
    assert captions("gaussian")["images"] == "squared error"
    assert captions("box")["reconstructions"] == "box blur"
    assert captions("mine.safetensors")["images"] == "learnt kernel"


def test_five_sources_of_a_run(make_run):
    """Codes are pixels, shrunk; the decoder gives their sum everywhere."""
    run = make_run(latents=3)
    space = run.dataset.space
    found = mean_matrices(run_sources(run), space)
    assert list(found) == list(space.names)
    index = torch.stack([space.traversal(torch.tensor(row), 0) for row in range(6)])
    x = run.dataset.batch(index)
    z = x.flatten(2)[..., :3].double() * torch.tensor([2.0, 1.0, 2 / 3])
    apart = z[:, :, None] - z[:, None]
    made = z.sum(-1)
    expected = {
        "factors": (torch.arange(4.0)[:, None] - torch.arange(4.0)).abs().expand(6, 4, 4),
        "images": (x[:, :, None] - x[:, None]).double().square().mean((-3, -2, -1)),
        "codes": apart.square().sum(-1).sqrt(),
        "posteriors": apart.square().sum(-1) / (2 * 0.04),
        "reconstructions": (made[:, :, None] - made[:, None]).square(),
    }
    assert list(found["shade"]) == SOURCES
    for source, each in expected.items():
        assert found["shade"][source].shape == (4, 4)
        assert torch.allclose(found["shade"][source], each.mean(0).double(), atol=1e-5), source


def test_distances_are_of_images_in_the_unit_interval(make_run):
    """Standardised images are compared as they look, and so are reconstructions."""
    plain, shifted = make_run(), make_run(mean=(0.25,), std=(0.5,))
    first, second = (
        mean_matrices(data_sources(run.dataset), run.dataset.space)["shade"]["images"]
        for run in (plain, shifted)
    )
    assert torch.allclose(first, second, atol=1e-6)
    index = torch.arange(6)
    made = run_sources(shifted)["reconstructions"].rows(index)
    decoded = shifted.decode(shifted.codes(index))
    assert torch.allclose(made, decoded * 0.5 + 0.25)


def test_the_member_that_was_asked_for(make_run):
    run = make_run(seeds=(3, 5), alive=(False, True))
    assert mean_matrices(run_sources(run, 1), run.dataset.space)
    with pytest.raises(DataError, match="not finite numbers; a diverged model has none"):
        mean_matrices(run_sources(run, 0), run.dataset.space)
    with pytest.raises(ConfigError, match="from 0 to 1; got 2"):
        run_sources(run, 2)


def test_importance_is_drawn_as_distributions():
    found = {
        "x": Spread(torch.tensor([1.0, 2.0, 2.0, 4.0])),
        "y": Spread(torch.tensor([0.5, 0.5])),
        "random": Spread(torch.tensor([3.0, 5.0])),
    }
    (axes,) = importance_figure(found, title="distances").axes
    x, share = axes.lines[0].get_data()
    assert list(zip(x, share, strict=True))[:4] == [(0, 0), (1, 0.25), (2, 0.75), (4, 1)]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["x  2.25 ± 1.09", "y  0.5 ± 0", "random  4 ± 1"]
    assert [line.get_linestyle() for line in axes.lines] == ["-", "-", "--"]


def test_a_distribution_of_many_is_thinned_and_ends_at_one():
    spread = Spread(torch.linspace(0, 1, 10_001).double() ** 2)
    x, share = distribution(spread, 50)
    assert len(x) == 50
    assert (x[0], x[-1], share[-1]) == (0, 1, 1)
    assert share == pytest.approx(np.sqrt(x), abs=1e-3)


def test_places_of_a_kernel_are_told_on_both_sides():
    """Also upwards, where the axis is upside down."""
    figure = kernel_figure(torch.rand(63, 63), title="learnt")
    arrange(figure)
    image = figure.axes[0]
    for axis, ends in ((image.xaxis, image.get_xlim()), (image.yaxis, image.get_ylim())):
        low, high = sorted(ends)
        assert len([t for t in axis.get_majorticklocs() if low < t < high]) >= 3


def test_a_kernel_is_drawn_as_it_is():
    kernel = torch.arange(25.0).reshape(5, 5)
    figure = kernel_figure(kernel, title="learnt")
    image, lines = figure.axes[:2]
    assert np.array(image.images[0].get_array()).tolist() == kernel.tolist()
    assert lines.lines[0].get_ydata().tolist() == kernel[2].tolist()
    assert lines.lines[1].get_ydata().tolist() == kernel[:, 2].tolist()
    assert lines.lines[0].get_xdata().tolist() == [-2, -1, 0, 1, 2]


def test_kernels_of_a_grid_stand_in_their_order():
    kernels = [torch.full((side, side), float(side)) for side in (3, 5, 7)]
    labels = [[f"radius {len(k) // 2}"] for k in kernels]
    figure = kernels_figure(kernels, labels, [0.1, 0.2, 0.3], title="three", columns=2)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.images[0].get_array().shape for axes in shown] == [(3, 3), (5, 5), (7, 7)]
    assert [axes.get_title("left") for axes in shown] == ["radius 1", "radius 2", "radius 3"]
    assert [axes.get_xlabel() for axes in shown] == ["0.100", "0.200", "0.300"]
    assert len(figure.axes) == 4, "two rows of two"


def turned_codes(turn, width, points=400):
    """A cloud of deviations exactly 1 and a width, turned by degrees."""
    drawn = np.random.default_rng(0).standard_normal((points, 2))
    drawn -= drawn.mean(0)
    drawn = drawn @ np.linalg.inv(np.linalg.cholesky(drawn.T @ drawn / points)).T
    cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    return drawn * [1, width] @ [[cos, sin], [-sin, cos]]


@pytest.mark.parametrize("turn", [0.0, 20.0, 45.0, 70.0])
@pytest.mark.parametrize("width", [0.1, 0.5, 0.9])
def test_ratios_of_turned_clouds_in_closed_form(turn, width):
    """Linearity (1 - w^2) / (1 + w^2), orientation |cos 2 turn|, and alignment their product."""
    codes = turned_codes(turn, width)
    factor = codes[:, 0].argsort().argsort()[:, None]
    linear = (1 - width**2) / (1 + width**2)
    across = abs(np.cos(2 * np.radians(turn)))
    ratios = {name: float(score(codes, factor, protocol="paper")) for name, score in RATIOS.items()}
    assert ratios == pytest.approx(
        {"linearity": linear, "axis_alignment": linear * across, "orientation": across}, abs=1e-9
    )


def test_clouds_of_codes_that_are_turned_factors():
    space = FactorSpace(("a", "one", "b"), (4, 1, 5), ("ordered",) * 3)
    values = space.factors(torch.arange(20)).double()
    cos, sin = np.cos(np.pi / 6), np.sin(np.pi / 6)
    codes = torch.stack(
        [cos * values[:, 0] - sin * values[:, 2], sin * values[:, 0] + cos * values[:, 2]], dim=1
    )
    first, second = factor_clouds(Representation.whole(space, codes))
    assert (first.name, second.name) == ("a", "b")
    assert first.axes == ("z0", "z1")
    assert second.axes == ("z1", "z0"), "the one that moves most is first"
    for cloud in (first, second):
        ratios = (cloud.linearity, cloud.axis_alignment, cloud.orientation)
        assert ratios == pytest.approx((1, 0.5, 0.5))
    steps = np.arange(4) - 1.5
    assert first.points[:4] == pytest.approx(np.stack([cos * steps, sin * steps], axis=1))
    assert first.value[:4] == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_a_lone_code_has_a_cloud_too():
    space = FactorSpace(("a",), (4,), ("ordered",))
    (cloud,) = factor_clouds(Representation.whole(space, torch.arange(4.0)[:, None]))
    assert cloud.points[:, 1].tolist() == [0, 0, 0, 0]
    assert png(cloud_figure([[cloud]], title="one"))


def test_ratios_stand_above_clouds_and_round_ones_have_no_direction():
    points, value = turned_codes(15.0, 0.5), np.linspace(0, 1, 400)
    rows = [
        [Cloud("long", points, value, ("z0", "z1"), 0.6, 0.52, 0.87)],
        [Cloud("wide", points, value, ("z0", "z1"), 0.0, 0.0, 0.5)],
    ]
    figure = cloud_figure(rows, title="two")
    long, wide = figure.axes
    assert texts(long) == ["orientation 0.87", "linear 0.60, axis 0.52"]
    assert texts(wide) == ["orientation –", "linear 0.00, axis 0.00"]


def test_thresholds_as_eta_grows():
    """Of distances 0, 1, 2, 4 those below 4 eta are shared, and never the largest."""
    found = {"x": torch.tensor([0.0, 1.0, 2.0, 4.0])}
    etas = (0.0, 0.25, 0.5, 0.75, 1.0)
    panels = threshold_figure(found, title="shared", etas=etas).axes
    for axes, eta, shared in zip(panels, etas, (0, 1, 2, 3, 3), strict=True):
        dotted = [bar.get_linestyle() == ":" for bar in axes.patches]
        assert dotted == [True] * shared + [False] * (4 - shared)
        assert axes.lines[0].get_ydata()[0] == 4 * eta
        assert axes.get_title().endswith(f"{shared} of 4 shared")


def test_pairs_differ_in_one_factor(make_run):
    """A latent for each factor: only that of the factor that moves is apart."""

    def encoder(x):
        lit = x.flatten(1)
        mean = torch.stack([lit.amax(1), (lit > 0).double().sum(1)], dim=1).float()
        return Posterior(mean, torch.zeros_like(mean))

    run = make_run(latents=2, encoder=encoder)
    found = pair_deltas(run)
    assert list(found) == list(run.dataset.space.names)
    assert found["shade"][0] > 0
    assert found["shade"][1] == 0
    assert found["size"][0] == 0
    assert found["size"][1] == pytest.approx((4 - 1) ** 2 / 2)
    assert pair_deltas(run, delta="absolute")["size"][1] == 3
    with pytest.raises(ConfigError, match="number of a model"):
        pair_deltas(run, 1)
