"""Overlap: a reconstruction loss under which images that do not overlap still have distances."""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias, cast

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError, DataError
from unknot.core.files import os_reason, read_whole
from unknot.losses.blur import blur_by_rows, box_row, check_reach, convolve, gaussian_row
from unknot.losses.mapped import MappedLoss, Pixels

Kernel: TypeAlias = Literal["box", "gaussian", "learnt"]
RADIUS = 31
"""A kernel of 63 x 63 reaches from each pixel of a 64 x 64 image over most of it."""
KERNELS: dict[tuple[str, str, torch.device, torch.dtype], Tensor] = {}
"""Learnt kernels that were read; a GPU could not wait for a file at every step."""


@dataclass(frozen=True)
class Overlap(MappedLoss):
    r"""The loss of the pixels, and of blurred images beside it.

    $$\mathcal L(x, \hat x) = \mathcal L_{\text{pixels}}(x, \hat x)
    + \alpha \lVert h(x) - h(\hat x) \rVert^2$$

    where $h$ convolves every channel with one kernel, zeros around the image.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), sections 3.4 and 6.1.
    Equation: 3.8; 6.1 for a learnt kernel.

    Differs: Sums over pixels and not means, which scales both parts alike. The blurred part is
    the squared error for every likelihood of the pixels, as blurred images are no probabilities.
    The paper gives no sigma; a quarter of the radius reproduces its table 6.1.

    Args:
        kernel: ``box``, ``gaussian``, or ``learnt`` by `unknot learn-loss`.
        radius: Of a box or Gaussian kernel; 31 if left out. A learnt one has its own.
        alpha: Weight of the blurred part; if left out the number of the kernel's elements, and 1
            for a learnt kernel, whose scale was learnt too.
        sigma: Of a Gaussian kernel; a quarter of the radius if left out.
        path: The file of a learnt kernel.
        sha256: Of that file. Found when left out, so that a run notices when the file changes.
        pixels: The likelihood of single pixels.
    """

    kernel: Kernel = "box"
    radius: int | None = None
    alpha: float | None = None
    sigma: float | None = None
    path: str | None = None
    sha256: str | None = None
    pixels: Pixels = "gaussian"
    kind: ClassVar[str] = "overlap"

    def __post_init__(self) -> None:
        check_choices(self, "kernel", "pixels")
        for name, owner in (("sigma", "gaussian"), ("path", "learnt"), ("sha256", "learnt")):
            if getattr(self, name) is not None and self.kernel != owner:
                raise ConfigError(
                    f"Overlap.{name} belongs to the kernel '{owner}'; "
                    f"leave it out for the kernel '{self.kernel}'."
                )
        needed = {"gaussian": (self.sigma,), "learnt": (self.path, self.sha256)}
        if self.radius is None or self.alpha is None or None in needed.get(self.kernel, ()):
            raise ConfigError("An overlap loss has all its settings; make it with Overlap.create.")
        if self.radius < 1:
            raise ConfigError(f"Overlap.radius must be 1 or more; got {self.radius}.")
        if self.sigma is not None and not self.sigma > 0:
            raise ConfigError(f"Overlap.sigma must be above 0; got {self.sigma}.")
        if not self.alpha >= 0:
            raise ConfigError(f"Overlap.alpha must be 0 or more; got {self.alpha}.")

    @classmethod
    def create(
        cls,
        kernel: Kernel = "box",
        radius: int | None = None,
        alpha: float | None = None,
        sigma: float | None = None,
        path: str | None = None,
        sha256: str | None = None,
        pixels: Pixels = "gaussian",
    ) -> "Overlap":
        """A loss with all that was left out settled, so that a run's file has it written out."""
        if kernel == "learnt":
            path, radius, sha256 = _find_file(path, radius, sha256)
        radius = RADIUS if radius is None else radius
        if alpha is None:
            alpha = 1.0 if kernel == "learnt" else float((2 * radius + 1) ** 2)
        if kernel == "gaussian" and sigma is None:
            sigma = radius / 4
        return cls(kernel, radius, alpha, sigma, path, sha256, pixels)

    def check(self, image: tuple[int, int, int]) -> None:
        """Check that images of this shape can be blurred.

        Raises:
            ShapeError: The kernel reaches further than the image does.
        """
        check_reach(cast(int, self.radius), image[-2:])

    def prepare(self, device: torch.device, dtype: torch.dtype) -> None:  # noqa: ARG002
        """Check that a learnt kernel is at hand.

        Raises:
            ConfigError: Its file is missing or another one by now.
        """
        if self.kernel == "learnt":
            _checked_kernel(cast(str, self.path), cast(str, self.sha256))

    def blur(self, x: Float[Tensor, "*n c h w"]) -> Float[Tensor, "*n c h w"]:
        """The map $h$."""
        radius = cast(int, self.radius)
        if self.kernel == "learnt":
            return convolve(x, self._learnt(x))
        if self.kernel == "gaussian":
            return blur_by_rows(x, gaussian_row(radius, cast(float, self.sigma), x))
        return blur_by_rows(x, box_row(radius, x))

    def embed(self, x: Float[Tensor, "*n c h w"]) -> Float[Tensor, "*n d"]:
        r"""The map $\sqrt\alpha\, h$, squared distances after which are the second part."""
        return (math.sqrt(cast(float, self.alpha)) * self.blur(x)).flatten(-3)

    def mapped_error(
        self, x: Float[Tensor, "*#n c h w"], y: Float[Tensor, "*#n c h w"]
    ) -> Float[Tensor, "..."]:
        """The second part of the loss: blurs are linear, so one of the difference is enough."""
        return cast(float, self.alpha) * self.blur(x - y).square().sum((-3, -2, -1))

    @property
    def caption(self) -> str:
        """What distances of images are taken of."""
        return {"box": "box blur", "gaussian": "Gaussian blur"}.get(self.kernel, "learnt kernel")

    @property
    def reading(self) -> str:
        """How the blurred part reads."""
        return f"Plus {self.alpha:g} times the squared error of blurred images."

    def _learnt(self, like: Tensor) -> Float[Tensor, "k k"]:
        path, sha256 = cast(str, self.path), cast(str, self.sha256)
        return learnt_kernel(path, sha256, like.device, like.dtype)


def _find_file(path: str | None, radius: int | None, sha256: str | None) -> tuple[str, int, str]:
    """Path, radius and sha256 of a learnt kernel, read from its file where one is left out."""
    if path is None:
        raise ConfigError(
            "A learnt kernel needs its file; set path, or learn one with `unknot learn-loss`."
        )
    # A run must find its file from wherever it is opened.
    path = str(Path(path).expanduser().absolute())
    if sha256 is not None and radius is not None:
        return path, radius, sha256
    kernel, checksum = read_kernel(path)
    if radius not in (None, len(kernel) // 2):
        raise ConfigError(
            f"The kernel in {path} has radius {len(kernel) // 2}, not {radius}; "
            "leave the radius out."
        )
    return path, len(kernel) // 2, sha256 or checksum


def learnt_kernel(
    path: str, sha256: str, device: torch.device, dtype: torch.dtype
) -> Float[Tensor, "k k"]:
    """A learnt kernel, read and copied to its device once.

    Raises:
        ConfigError: The file is missing or another one by now.
    """
    if (key := (path, sha256, device, dtype)) not in KERNELS:
        KERNELS[key] = _checked_kernel(path, sha256).to(device, dtype)
    return KERNELS[key]


def _checked_kernel(path: str, sha256: str) -> Float[Tensor, "k k"]:
    try:
        kernel, checksum = read_kernel(path)
    except DataError as error:
        raise ConfigError(str(error)) from error
    if checksum != sha256:
        raise ConfigError(
            f"{path} is not the kernel that these settings name: its sha256 is {checksum}, "
            f"expected {sha256}. Put the file back, or leave sha256 out for a new run."
        )
    return kernel


def read_kernel(path: str) -> tuple[Float[Tensor, "k k"], str]:
    """The kernel in a safetensors file, and the file's sha256.

    Raises:
        DataError: The file is missing, or holds no square kernel of odd side.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        data = read_whole(Path(path))
        kernel = load(data).get("kernel")
    except OSError as error:
        raise DataError(f"Cannot read the kernel '{path}': {os_reason(error)}.") from error
    except SafetensorError as error:
        raise DataError(f"'{path}' is not a safetensors file that can be read: {error}.") from error
    if kernel is None or kernel.ndim != 2 or len(kernel) != kernel.shape[1] or not len(kernel) % 2:
        raise DataError(f"'{path}' holds no kernel; expected a square of odd side named 'kernel'.")
    if not kernel.is_floating_point() or not bool(kernel.isfinite().all()):
        raise DataError(f"The kernel in '{path}' must be of finite real numbers.")
    return kernel, hashlib.sha256(data).hexdigest()
