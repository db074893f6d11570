"""The overlap loss: its settings, its files, its values."""

import hashlib
import os

import pytest
import torch
from safetensors.torch import save_file
from scipy.signal import convolve2d

from unknot.core import noise
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.losses.likelihood import activate, likelihood_of, pixel_likelihood
from unknot.losses.overlap import Overlap, read_kernel

CPU = torch.device("cpu")


def images(*shape, seed=0):
    return noise.uniform(seed, "images", 0, *shape, dtype=torch.float64)


@pytest.fixture
def kernel_file(tmp_path):
    """A lopsided kernel of radius 2, and its file."""
    kernel = noise.uniform(5, "kernel", 0, 5, 5)
    path = tmp_path / "kernel.safetensors"
    save_file({"kernel": kernel}, path)
    return kernel, path


def test_what_is_left_out_is_settled():
    """Radius 31 and alpha 63 squared are the paper's; a sigma of a quarter fits its table 6.1."""
    assert Overlap.create() == Overlap.create(kernel="box", radius=31, alpha=3969.0)
    assert Overlap.create(kernel="gaussian") == Overlap.create("gaussian", 31, 3969.0, 7.75)
    assert Overlap.create(radius=15).alpha == 961.0


def test_a_learnt_kernel_brings_its_radius_and_its_scale(kernel_file):
    _, path = kernel_file
    loss = Overlap.create(kernel="learnt", path=str(path))
    assert (loss.radius, loss.alpha) == (2, 1.0)
    assert loss.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_learnt_kernel_is_found_from_anywhere(kernel_file, monkeypatch):
    _, path = kernel_file
    monkeypatch.chdir(path.parent)
    assert Overlap.create(kernel="learnt", path=path.name) == Overlap.create(
        kernel="learnt", path=str(path)
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"radius": 0}, "Overlap.radius must be 1 or more; got 0."),
        ({"alpha": -1.0}, "Overlap.alpha must be 0 or more; got -1.0."),
        ({"alpha": float("nan")}, "Overlap.alpha must be 0 or more; got nan."),
        ({"kernel": "gaussian", "sigma": 0.0}, "Overlap.sigma must be above 0; got 0.0."),
        ({"sigma": 3.0}, "Overlap.sigma belongs to the kernel 'gaussian'; leave it out"),
        ({"path": "k"}, "Overlap.path belongs to the kernel 'learnt'; leave it out"),
        ({"kernel": "learnt"}, "A learnt kernel needs its file; set path"),
    ],
)
def test_settings_that_make_no_sense(settings, said):
    with pytest.raises(ConfigError) as caught:
        Overlap.create(**settings)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("kernel", "bax", "Overlap.kernel has no choice 'bax'; did you mean 'box'?"),
        ("pixels", "gauss", "Overlap.pixels has no choice 'gauss'; did you mean 'gaussian'?"),
    ],
)
def test_unknown_choices_are_refused_by_name(field, value, message):
    wrong = Overlap.create()
    object.__setattr__(wrong, field, value)  # past the tests' own check of types
    with pytest.raises(ConfigError) as refused:
        wrong.__post_init__()
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "settings",
    [{}, {"radius": 3}, {"alpha": 9.0}, {"kernel": "gaussian", "radius": 3, "alpha": 9.0}],
)
def test_a_loss_is_never_half_settled(settings):
    with pytest.raises(ConfigError, match=r"make it with Overlap\.create"):
        Overlap(**settings)


def test_a_radius_that_is_not_the_files_is_refused(kernel_file):
    with pytest.raises(ConfigError, match="has radius 2, not 3"):
        Overlap.create(kernel="learnt", path=str(kernel_file[1]), radius=3)


@pytest.mark.parametrize(
    "tensors",
    [
        {"weights": torch.ones(3, 3)},
        {"kernel": torch.ones(4, 4)},
        {"kernel": torch.ones(3, 5)},
        {"kernel": torch.ones(3, 3, 1)},
        {"kernel": torch.ones(3, 3, dtype=torch.int64)},
        {"kernel": torch.full((3, 3), float("nan"))},
    ],
    ids=str,
)
def test_files_that_hold_no_kernel(tensors, tmp_path):
    path = tmp_path / "bad.safetensors"
    save_file(tensors, path)
    with pytest.raises(DataError, match=r"bad\.safetensors"):
        read_kernel(str(path))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        Overlap.create(kernel="learnt", path=str(tmp_path / "none.safetensors"))
    (tmp_path / "text").write_text("kernel")
    with pytest.raises(DataError, match="not a safetensors file"):
        read_kernel(str(tmp_path / "text"))


def test_a_pipe_is_no_kernel(tmp_path):
    os.mkfifo(tmp_path / "kernel.safetensors")
    with pytest.raises(DataError, match="a pipe or a device, not a file"):
        read_kernel(str(tmp_path / "kernel.safetensors"))


def test_a_changed_file_is_noticed(kernel_file):
    kernel, path = kernel_file
    loss = Overlap.create(kernel="learnt", path=str(path))
    loss.prepare(CPU, torch.float32)
    save_file({"kernel": kernel + 1e-6}, path)
    with pytest.raises(ConfigError, match="is not the kernel that these settings name"):
        loss.prepare(CPU, torch.float32)
    path.unlink()
    with pytest.raises(ConfigError, match="no such file"):
        loss.prepare(CPU, torch.float32)
    # A finished model is looked at without it.
    again = Overlap.create("learnt", loss.radius, loss.alpha, None, loss.path, loss.sha256)
    assert again == loss


def test_a_kernel_larger_than_the_image_allows_gets_one_line():
    Overlap.create(radius=63).check((3, 64, 64))
    with pytest.raises(ShapeError, match="A blur of radius 64 reaches further than images of 64"):
        Overlap.create(radius=64).check((3, 64, 64))


def kernels(path):
    """Losses and their kernels in full, by independent formulas."""
    reach = torch.arange(-3, 4).double()
    square = reach[:, None] ** 2 + reach**2
    bell = (-square / (2 * 1.3**2)).exp()
    yield Overlap.create(radius=3, alpha=2.0), torch.full((7, 7), 1 / 49).double()
    yield Overlap.create("gaussian", 3, 5.0, 1.3), bell / bell.sum()
    yield Overlap.create("learnt", alpha=0.5, path=str(path)), read_kernel(str(path))[0].double()


def test_the_blurred_error_against_scipy(kernel_file):
    x, other = images(2, 3, 11, 13), images(2, 3, 11, 13, seed=1)
    for loss, kernel in kernels(kernel_file[1]):
        expected = [
            sum(
                ((convolve2d(a, kernel, "same") - convolve2d(b, kernel, "same")) ** 2).sum()
                for a, b in zip(one.numpy(), two.numpy(), strict=True)
            )
            for one, two in zip(x, other, strict=True)
        ]
        found = loss.mapped_error(x, other)
        assert found.tolist() == pytest.approx([loss.alpha * e for e in expected], rel=1e-6)


def test_the_pixels_decide_what_outputs_are():
    y = torch.tensor([0.0])
    assert activate(Overlap.create(pixels="gaussian"), y).item() == 0
    assert activate(Overlap.create(pixels="bernoulli"), y).item() == 0.5
    assert pixel_likelihood(Overlap.create(pixels="sigmoid_gaussian")) == "sigmoid_gaussian"
    assert likelihood_of(object()) == "gaussian"
