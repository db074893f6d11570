"""Features: a reconstruction loss in the features of a frozen module, a perceptual loss."""

import copy
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.places import Place
from unknot.losses.mapped import MappedLoss, Pixels


@dataclass(frozen=True, eq=False)
class FrozenModule:
    """A module whose weights nobody changes, and how a run knows it again."""

    module: nn.Module
    """Images ``[n, c, h, w]`` to a tuple of tensors ``[n, ...]``, one for each layer."""
    facts: Mapping[str, Any]
    """What it is made of, as plain values."""
    tensors: Mapping[str, Tensor]
    """Its weights and buffers by name."""
    image: tuple[int, int, int] | None = None
    """The shape of the images that it takes; None where only trying tells."""
    scale: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """Mean and standard deviation of the channels of these images; empty for images as they are,
    and None where it is not known."""

    @cached_property
    def sha256(self) -> str:
        """Of what it is made of and of its weights, whatever file they are in."""
        digest = hashlib.sha256(json.dumps(dict(self.facts), sort_keys=True).encode())
        for name in sorted(self.tensors):
            tensor = self.tensors[name].detach().cpu().contiguous()
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


_known: dict[str, FrozenModule] = {}
"""By SHA-256, those that were read or given in this process."""
_placed: dict[tuple[str, torch.device, torch.dtype], nn.Module] = {}
"""Copies of their modules on devices; a GPU could not wait for one at every step."""


def give(frozen: FrozenModule) -> None:
    """Make a frozen module known in this process."""
    _known.setdefault(frozen.sha256, frozen)


def is_known(sha256: str) -> bool:
    """Whether a frozen module is known in this process."""
    return sha256 in _known


def is_of_modules(likelihood: Any) -> bool:
    """Whether settings of a likelihood, as a file has them, are features of modules in Python."""
    return (
        isinstance(likelihood, Mapping)
        and likelihood.get("kind") == Features.kind
        and "path" not in likelihood
    )


def known_module(sha256: str) -> FrozenModule:
    """A frozen module that was given.

    Raises:
        ConfigError: It was not, in this process.
    """
    if (frozen := _known.get(sha256)) is None:
        raise ConfigError(
            f"The module of SHA-256 {sha256[:12]}..., whose features are compared, was given in "
            "Python and is not stored as code; give it again: unknot.features(module)."
        )
    return frozen


def place(sha256: str, device: torch.device, dtype: torch.dtype) -> nn.Module:
    """Copy a frozen module to a device, once; a step that is compiled finds it there.

    Raises:
        ConfigError: It is not known in this process.
    """
    if (there := _placed.get((sha256, device, dtype))) is None:
        there = copy.deepcopy(known_module(sha256).module).to(device, dtype).eval()
        _placed[sha256, device, dtype] = there.requires_grad_(requires_grad=False)
    return there


@dataclass(frozen=True)
class Features(MappedLoss):
    r"""The squared distance of images in the features of a frozen module: a perceptual loss.

    $$\mathcal L(x, \hat x) = \sum_l w_l \lVert \Phi_l(x) - \Phi_l(\hat x) \rVert^2
    + w_0\, \mathcal L_{\text{pixels}}(x, \hat x)$$

    with the outputs $\Phi_l$ of the module's layers. It has no unit: no nats, so that there is no
    ELBO, and a beta that suits pixels need not suit features.

    Paper: Hou, Shen, Sun and Qiu 2017, "Deep feature consistent variational autoencoder" (DFC-VAE).
    Equation: 3 and 4.

    Differs: Sums over features, as of pixels. The paper has halves of means; `weights` of
    $\frac\beta{2 N_l}$ give its loss for layers of $N_l$ features. Its module is a VGG network
    trained on ImageNet, which none here is; any module can be given.

    Made by `unknot.features`, or in a file by the ``path`` of a run.

    Args:
        layers: Numbers of the layers that are compared, the first one 1; all if left out. Of an
            encoder of ours these are its activation functions, from the image on.
        weights: One for each of these layers; 1 if left out.
        path: The run whose encoder is the module.
        member: Which model of that run, if it has several.
        sha256: Of the module and its weights. Found when left out, so that a run notices when it
            is another one.
        pixels: What the decoder gives, as under the likelihood of this name.
        pixel_weight: Weight $w_0$ of the loss of single pixels; none by default.
    """

    layers: tuple[int, ...] | None = None
    weights: tuple[float, ...] | None = None
    path: Place = None
    member: int | None = None
    sha256: str | None = None
    pixels: Pixels = "gaussian"
    pixel_weight: float = 0.0
    kind: ClassVar[str] = "features"
    is_density: ClassVar[bool] = False
    takes_unit: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_choices(self, "pixels")
        if self.sha256 is None:
            raise ConfigError(
                "Features are those of a module; make them with unknot.features(module), or name "
                "the run whose encoder it is: objective.likelihood.path."
            )
        if self.layers is not None:
            if not self.layers or min(self.layers) < 1 or len({*self.layers}) < len(self.layers):
                raise ConfigError(
                    f"Features.layers must be different numbers from 1 on; got {[*self.layers]}."
                )
            if self.weights is not None and len(self.weights) != len(self.layers):
                raise ConfigError(
                    f"Features.weights must be one for each of {len(self.layers)} layers; "
                    f"got {len(self.weights)}."
                )
        if any(not 0 <= w < math.inf for w in (*(self.weights or ()), self.pixel_weight)):
            raise ConfigError(
                "Features.weights and pixel_weight must be numbers of 0 or more; got "
                f"{[*(self.weights or ())]} and {self.pixel_weight}."
            )

    @classmethod
    def create(
        cls,
        layers: Sequence[int] | None = None,
        weights: Sequence[float] | None = None,
        path: str | None = None,
        member: int | None = None,
        sha256: str | None = None,
        pixels: Pixels = "gaussian",
        pixel_weight: float = 0.0,
    ) -> "Features":
        """The loss, of a module that is named by its SHA-256."""
        return cls(
            None if layers is None else tuple(layers),
            None if weights is None else tuple(map(float, weights)),
            path,
            member,
            sha256,
            pixels,
            float(pixel_weight),
        )

    def prepare(self, device: torch.device, dtype: torch.dtype) -> None:
        """Have the module on a device.

        Raises:
            ConfigError: It is not known in this process.
        """
        place(str(self.sha256), device, dtype)

    def check(self, image: tuple[int, int, int]) -> None:
        """Check that the module, where it is at hand, takes images of this shape.

        Raises:
            ShapeError: It takes others, or has fewer layers.
        """
        if not is_known(str(self.sha256)):
            return
        frozen = known_module(str(self.sha256))
        if frozen.image is not None and frozen.image != tuple(image):
            raise ShapeError(
                f"The frozen module takes images {frozen.image} (channels, height, width); the "
                f"dataset has {tuple(image)}. Compare features of a run on images of this shape."
            )
        try:
            with torch.no_grad():
                outputs = self._outputs(torch.zeros(2, *image))
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ShapeError(
                f"The frozen module does not take images {tuple(image)} (channels, height, width): "
                f"{reason}."
            ) from error
        count = len(outputs)
        if not count:
            raise ShapeError(
                "The frozen module has no layer to compare: of an encoder of ours these are its "
                "activation functions, and the net 'linear' has none."
            )
        if any(not isinstance(y, Tensor) or y.ndim < 1 or len(y) != 2 for y in outputs):
            raise ShapeError(
                "The frozen module must give a tensor [n, ...] of n images, or several of them."
            )
        if self.layers is not None and max(self.layers) > count:
            raise ShapeError(
                f"The frozen module has {count} layer{'s' * (count > 1)} to compare; got layers "
                f"{[*self.layers]}."
            )
        if self.layers is None and self.weights is not None and len(self.weights) != count:
            raise ShapeError(
                f"Features.weights must be one for each of {count} layers; got {len(self.weights)}."
            )

    def check_scale(
        self, mean: tuple[float, ...], std: tuple[float, ...], *, close: float = 1e-3
    ) -> None:
        """Check that images are standardised as those that the module was trained on.

        Raises:
            ConfigError: They are not.
        """
        scale = frozen.scale if (frozen := _known.get(str(self.sha256))) else None
        if scale is None:
            return
        both = zip((*scale[0], *scale[1]), (*mean, *std), strict=False)
        same = all(math.isclose(a, b, rel_tol=close) for a, b in both)
        if len(scale[0]) != len(mean) or not same:
            raise ConfigError(
                f"The frozen module was trained on images {_scale_text(*scale)}; these are "
                f"{_scale_text(mean, std)}. Use the same data.standardize for both."
            )

    def embed(self, x: Float[Tensor, "*n c h w"]) -> Float[Tensor, "*n d"]:
        r"""The features $\sqrt{w_l}\, \Phi_l$ of all layers, side by side."""
        outputs = self._outputs(x.reshape(-1, *x.shape[-3:]))
        layers = self.layers or range(1, len(outputs) + 1)
        chosen = [outputs[layer - 1].reshape(len(outputs[layer - 1]), -1) for layer in layers]
        if self.weights is not None:
            chosen = [math.sqrt(w) * y for w, y in zip(self.weights, chosen, strict=True)]
        return torch.cat(chosen, dim=1).reshape(*x.shape[:-3], -1)

    def _outputs(self, x: Float[Tensor, "n c h w"]) -> tuple[Tensor, ...]:
        outputs: tuple[Tensor, ...] = place(str(self.sha256), x.device, x.dtype)(x)
        return outputs

    @property
    def caption(self) -> str:
        """What distances of images are taken of."""
        return "features"

    @property
    def reading(self) -> str:
        """How the distance of features reads."""
        plus = "Plus the squared" if self.pixel_weight else "Squared"
        return (
            f"{plus} distance in the features of a frozen module, summed over features. It has no "
            "unit, so it is no log-likelihood and gives no ELBO. Lower is better."
        )


def _scale_text(mean: tuple[float, ...], std: tuple[float, ...]) -> str:
    if not mean:
        return "that are not standardised"
    values = (", ".join(f"{value:.4g}" for value in part) for part in (mean, std))
    return "standardised by mean {} and deviation {}".format(*values)
