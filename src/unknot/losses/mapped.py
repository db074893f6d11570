"""Losses that compare images through a map as well as pixel by pixel."""

from abc import abstractmethod
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.choices import Creatable

Pixels: TypeAlias = Literal["bernoulli", "gaussian", "sigmoid_gaussian"]


class MappedLoss(Creatable):
    r"""Base of losses $w L_{\text{pixels}}(x, \hat x) + \lVert h(x) - h(\hat x) \rVert^2$.

    The map $h$ makes numbers of images, weights of the second part included. That part is no
    density, so the whole is no log-likelihood.
    """

    pixels: Pixels
    """What the decoder gives, and the loss of single pixels."""
    pixel_weight: float = 1.0
    """The weight $w$."""
    is_density: ClassVar[bool] = True
    """Whether the loss of the pixels is trained by itself, so that its density says something."""
    takes_unit: ClassVar[bool] = True
    """Whether it takes images in [0, 1] as well as standardised ones, as the dataset gives them."""

    @abstractmethod
    def embed(self, x: Float[Tensor, "*n c h w"]) -> Float[Tensor, "*n d"]:
        """The map $h$."""

    def mapped_error(
        self, x: Float[Tensor, "*#n c h w"], y: Float[Tensor, "*#n c h w"]
    ) -> Float[Tensor, "..."]:
        """The second part of the loss, of each pair of images."""
        return (self.embed(x) - self.embed(y.to(x.dtype))).square().sum(-1)

    @abstractmethod
    def check(self, image: tuple[int, int, int]) -> None:
        """Check that images of this shape can be mapped."""

    @abstractmethod
    def prepare(self, device: torch.device, dtype: torch.dtype) -> None:
        """Have what training needs at hand; a finished model can be looked at without it.

        Raises:
            ConfigError: A file or a module is missing, or another one by now.
        """

    @property
    @abstractmethod
    def caption(self) -> str:
        """What distances of images are taken of, in two words."""

    @property
    @abstractmethod
    def reading(self) -> str:
        """A sentence behind that on the loss of the pixels, how the rest of it reads."""
