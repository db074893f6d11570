"""Learning a loss: distances against plain formulas, and kernels that do what they were asked."""

import json
import tomllib
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from safetensors import safe_open
from scipy.stats import spearmanr

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, ShapeError, WriteError
from unknot.core.factors import FactorSpace
from unknot.core.toml import to_toml
from unknot.data.arrays import Arrays
from unknot.data.parts.images import Bytes
from unknot.data.xysquares import XYSquares
from unknot.learnt_loss.learn import (
    LossSettings,
    agreement,
    asymmetry,
    factor_distances,
    first_kernel,
    learn_loss,
    pair_distances,
)
from unknot.learnt_loss.resave import resave
from unknot.losses.blur import convolve
from unknot.losses.overlap import Overlap
from unknot.metrics.parts.distances import correlations
from unknot.runs import config
from unknot.runs.fields import build

QUICK = LossSettings(radius=9, steps=150, batch=24, pairs=200, lr=3e-3)


@dataclass(frozen=True)
class Dots:
    """XYSquares in small: a square of 2 on a grid of 5 x 5 places that do not touch."""

    def load(self):
        space = FactorSpace(("x", "y"), (5, 5), ("ordered",) * 2)
        images = torch.zeros(25, 1, 10, 10, dtype=torch.uint8)
        for row, (x, y) in enumerate(space.factors(torch.arange(25)).tolist()):
            images[row, 0, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2] = 255
        return FactorDataset("dots", space, Bytes(images))


@dataclass(frozen=True)
class Alike:
    """Four times the same image: all distances are equal."""

    def load(self):
        images = torch.full((4, 1, 2, 2), 255, dtype=torch.uint8)
        return FactorDataset("alike", FactorSpace(("x",), (4,), ("ordered",)), Bytes(images))


@pytest.fixture(scope="module")
def learnt():
    return learn_loss(Dots(), QUICK, device="cpu")


def test_distances_of_factors_are_those_of_fractions():
    space = FactorSpace(("a", "one", "b", "c"), (8, 1, 4, 11), ("ordered",) * 4)
    first, second = noise.integers(0, "rows", 0, 2, 300, high=space.size)
    exact = [
        sum(Fraction(abs(p - q), size - 1) for p, q, size in zip(*row, strict=True) if size > 1)
        for row in zip(
            space.factors(first).tolist(),
            space.factors(second).tolist(),
            [space.sizes] * 300,
            strict=True,
        )
    ]
    assert factor_distances(space, first, second).tolist() == [210 * e for e in exact]


def test_distances_of_images_are_sums_of_squares():
    x = noise.normal(0, "x", 0, 9, 3, 4, 4, dtype=torch.float64) + 100
    first, second = noise.integers(0, "rows", 0, 2, 50, high=9)
    expected = (x[first] - x[second]).square().flatten(1).sum(1)
    torch.testing.assert_close(pair_distances(x, first, second), expected, rtol=1e-9, atol=1e-9)


def test_asymmetry_counts_each_mirror():
    lone = torch.zeros(3, 3)
    lone[0, 1] = 1.0  # another place in each of the three mirror images but one
    assert asymmetry(lone).item() == pytest.approx((2 + 0 + 2) / 9)
    ring = torch.tensor([[1.0, 2, 1], [2, 5, 2], [1, 2, 1]])
    assert asymmetry(ring).item() == 0


def test_the_first_kernel_is_nearly_a_box():
    kernel = first_kernel(LossSettings(radius=31))
    assert kernel.sum().item() == pytest.approx(1, abs=1e-5)
    assert (kernel * 3969 - 1).std().item() == pytest.approx(1e-3, rel=0.05)


def test_pixels_alone_do_not_see_the_order():
    """Of 25 pairs along a factor 5 are of equal images and all others equally far apart."""
    found = agreement(Dots().load(), lambda x: x)
    steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5))).ravel()
    assert found.factor_rank == pytest.approx(spearmanr(steps, steps > 0).statistic)
    assert found.factor_linear == pytest.approx(np.corrcoef(steps, steps > 0)[0, 1])


def test_a_learnt_kernel_brings_the_order(learnt):
    """As in table 6.1 of Michlo 2022: pixels, then the best of the boxes, then a learnt kernel."""
    box = Overlap.create(radius=5)
    hand = agreement(Dots().load(), lambda x: torch.cat([x, 11 * box.blur(x)], dim=1))
    for rank in ("factor_rank", "random_rank"):
        before, made, after = (getattr(each, rank) for each in (learnt.before, hand, learnt.after))
        assert before + 0.2 < made < after - 0.004
    assert learnt.kernel.min() >= 0
    # Symmetric but for what the few last steps of Adam leave.
    assert asymmetry(learnt.kernel) < 0.1 * learnt.kernel.mean()


def test_equal_distances_move_only_what_regularisers_move():
    """As small squares do at first, under a kernel wider than the images."""
    settings = LossSettings(radius=1, steps=2, batch=4, pairs=20, symmetry=0.0, l2=0.0)
    kernel = learn_loss(Alike(), settings, device="cpu").kernel
    assert torch.equal(kernel, first_kernel(settings))


def test_it_is_a_function_of_its_settings(learnt):
    torch.manual_seed(1)
    state = torch.get_rng_state()
    again = learn_loss(Dots(), QUICK, device="cpu")
    assert torch.equal(again.kernel, learnt.kernel)
    assert torch.equal(torch.get_rng_state(), state)
    short = replace(QUICK, steps=2)
    other = [learn_loss(Dots(), replace(short, seed=s), device="cpu").kernel for s in (0, 1)]
    assert not torch.equal(*other)


def test_adversarial_goes_below_pixels_and_below_where_it_began():
    found = learn_loss(Dots(), replace(QUICK, mode="adversarial"), device="cpu")
    begun = learn_loss(Dots(), replace(QUICK, mode="none", steps=1, lr=1e-12), device="cpu")
    assert found.after.random_rank < min(found.before.random_rank, begun.after.random_rank) - 0.05


def test_none_leaves_the_kernel_to_its_regularisers():
    free = replace(QUICK, mode="none", steps=20, symmetry=0.0, l2=0.0)
    kept = learn_loss(Dots(), free, device="cpu").kernel
    torch.testing.assert_close(kept, first_kernel(free), rtol=0, atol=0)
    small = learn_loss(Dots(), replace(free, l2=1.0, lr=1e-4), device="cpu").kernel
    assert small.square().sum() < 0.9 * kept.square().sum()


def test_blurred_images_alone_can_be_ranked():
    found = learn_loss(Dots(), replace(QUICK, pixels=False), device="cpu")
    data, kernel = Dots().load(), found.kernel
    assert found.after == agreement(data, lambda x: convolve(x, kernel), seed=0)
    assert found.after.factor_rank > 0.94, "0.71 before"


def test_its_file_makes_the_loss_that_was_learnt(learnt, tmp_path):
    """What a VAE pays under the saved loss has the correlations that learning ended with."""
    loss = learnt.save(tmp_path / "kernel.safetensors")
    data = Dots().load()

    def pays(first, second):
        pixels = (first - second).square().flatten(1)
        return pixels.mean(1) + loss.mapped_error(first, second) / pixels.shape[1]

    found = correlations(data.batch, data.space, traversals=32, pairs=4096, loss=pays, seed=0)
    mean = np.mean([found[name].rank for name in data.space.names])
    assert mean == pytest.approx(learnt.after.factor_rank, abs=1e-3)
    assert found["random"].rank == pytest.approx(learnt.after.random_rank, abs=1e-3)


def test_its_file_says_how_it_was_learnt(learnt, tmp_path):
    path = tmp_path / "deep" / "kernel.safetensors"
    loss = learnt.save(path)
    with safe_open(path, "pt") as file:
        assert torch.equal(file.get_tensor("kernel"), learnt.kernel)
        facts = {name: json.loads(v) for name, v in file.metadata().items() if name != "format"}
    assert LossSettings(**facts["settings"]) == learnt.settings
    assert facts["data"] == {"name": "dots"}
    assert facts["after"]["factor_rank"] == learnt.after.factor_rank
    table = {"kind": "overlap", "kernel": "learnt", "path": str(path)}
    spec = config.spec({"objective": {"likelihood": table}})
    assert spec.objective.settings.likelihood == loss
    assert config.spec(tomllib.loads(to_toml(spec.table()))) == spec


def test_progress_is_told():
    told = []
    learn_loss(Dots(), replace(QUICK, steps=25), device="cpu", watch=lambda *now: told.append(now))
    assert [step for step, _ in told] == [10, 20, 25]
    assert all(-1 <= rank <= 1 for _, rank in told)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"radius": 0}, "LossSettings.radius must be 1 or more"),
        ({"batch": 1}, "LossSettings.batch must be 2 or more"),
        ({"lr": 0.0}, "LossSettings.lr must be above 0"),
        ({"l2": -1.0}, "LossSettings.l2 must be 0 or more"),
    ],
)
def test_settings_that_make_no_sense(settings, said):
    with pytest.raises(ConfigError, match=said):
        LossSettings(**settings)
    with pytest.raises(ConfigError, match=r"loss\.mode should be 'improve', "):
        build(LossSettings, {"mode": "worsen"}, "loss")


def test_a_kernel_larger_than_the_images_is_refused_before_it_is_learnt():
    with pytest.raises(ShapeError, match="radius 10 reaches further than images of 10 x 10"):
        learn_loss(Dots(), replace(QUICK, radius=10), device="cpu")


@pytest.mark.slow
def test_xysquares_at_radius_31():
    """Table 6.1 of Michlo 2022: 0.98 along factors where a box has 0.97, for 28,800 steps."""
    found = learn_loss(XYSquares(), LossSettings(steps=60), device="cpu")
    assert (found.before.factor_linear, found.before.factor_rank) == pytest.approx(
        (0.5222, 0.5804), abs=1e-4
    )
    assert found.after.factor_rank >= 0.975
    assert found.after.random_rank > 0.945, "a box of radius 31 has 0.929"


def test_a_resaved_dataset_shows_the_blurred_images(learnt, tmp_path):
    data = Dots().load()
    told = []
    highest = resave(data, learnt.kernel, tmp_path / "dots.npz", on_images=told.append)
    back = Arrays(str(tmp_path / "dots.npz")).load()
    assert (back.space.names, back.space.sizes) == (data.space.names, data.space.sizes)
    rows = torch.arange(25)
    blurred = Overlap.create("learnt", path=learnt.save(tmp_path / "k").path).blur(data.batch(rows))
    assert highest == pytest.approx(blurred.max().item())
    torch.testing.assert_close(back.batch(rows), blurred / highest, rtol=0, atol=0.51 / 255)
    assert told[-1] == 50
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_resaved_dataset_has_the_order_in_its_pixels(tmp_path):
    found = learn_loss(Dots(), replace(QUICK, pixels=False), device="cpu")
    resave(Dots().load(), found.kernel, tmp_path / "dots.npz")
    after = agreement(Arrays(str(tmp_path / "dots.npz")).load(), lambda x: x)
    assert after.factor_rank == pytest.approx(found.after.factor_rank, abs=0.01)


def test_a_grid_that_no_disk_holds_is_refused(learnt, tmp_path):
    data = XYSquares(spacing=1, square=1).load()
    with pytest.raises(ConfigError, match="The grid has 68,719,476,736 points"):
        resave(data, learnt.kernel, tmp_path / "huge.npz")


def test_parts_make_no_difference(learnt, tmp_path, monkeypatch):
    resave(Dots().load(), learnt.kernel, tmp_path / "a.npz")
    monkeypatch.setattr("unknot.learnt_loss.resave.AT_ONCE", 7)
    resave(Dots().load(), learnt.kernel, tmp_path / "b.npz")
    first, second = (np.load(tmp_path / f"{name}.npz")["images"] for name in "ab")
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_nothing_half_written_is_left(error, learnt, tmp_path):
    def stop(done):
        if done > 25:
            raise error

    with pytest.raises((KeyboardInterrupt, WriteError)):
        resave(Dots().load(), learnt.kernel, tmp_path / "dots.npz", on_images=stop)
    assert list(tmp_path.iterdir()) == []
