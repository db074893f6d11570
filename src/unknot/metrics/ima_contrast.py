"""IMA contrast: how far a decoder's latents are from changing images in orthogonal directions."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import DataError, ShapeError
from unknot.core.objective import Net
from unknot.losses.geometry import column_contrast, gram, jacobian
from unknot.losses.likelihood import activate
from unknot.metrics.parts.decoding import Decoded, DecoderSettings, Likelihood, Variance
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import ratio


@dataclass(frozen=True)
class Jacobians(Decoded):
    """Scalar products of the columns of a decoder's Jacobian, under any member axes."""

    codes: Float[Tensor, "*p n z"]
    products: Float[Tensor, "*p n z z"]

    def member(self, i: int) -> "Jacobians":
        """Those of one member of a population."""
        return replace(self, codes=self.codes[i], products=self.products[i])

    def check(self) -> None:
        """Check that one model can be scored by these."""
        if self.codes.ndim != 2:
            raise ShapeError(
                f"A score is of one model; got a net of {len(self.codes)}. Bind the weights of one."
            )
        if not bool(self.codes.isfinite().all() and self.products.isfinite().all()):
            raise DataError("Some codes or images are NaN or infinite; a diverged model has none.")

    @property
    def rows(self) -> Rows:
        """The images as rows of a metric."""
        nothing = torch.zeros(len(self.codes), 0, dtype=torch.int64)
        return Rows(self.codes, nothing, nothing, (), ())


@dataclass(frozen=True)
class Settings(DecoderSettings):
    """Where and how the Jacobian is taken."""

    images: int = 64
    """At the codes of so many images, at most."""
    epsilon: float = 0.01
    ridge: float = 1e-6
    """Added to the diagonal, in units of its largest entry."""
    activated: bool = True
    """Of images as the likelihood makes them; else of the decoder's outputs, such as logits."""
    version: int = 1

    @torch.no_grad()
    def sample(
        self,
        net: Net,
        x: Float[Tensor, "..."],
        *,
        likelihood: Likelihood,
        seed: int,  # noqa: ARG002
        variance: Variance | None = None,  # noqa: ARG002
    ) -> Jacobians:
        """Scalar products at the means of the posteriors of the first images."""
        if x.ndim != 4:
            raise ShapeError(f"Expected images [n, c, h, w]; got shape {tuple(x.shape)}.")
        mean = net.encode(x[: self.images]).mean

        def decode(z: Tensor) -> Tensor:
            decoded = net.decode(z)
            return activate(likelihood, decoded) if self.activated else decoded

        shown = Net(net.encode, decode)
        # One image at a time: a Jacobian is as large as an image for each latent.
        products = [
            gram(jacobian(shown, code, rows=1, epsilon=self.epsilon).double())
            for code in mean.split(1, dim=-2)
        ]
        return Jacobians(mean.double().cpu(), torch.cat(products, dim=-3).cpu())


PROTOCOLS = {"unknot": Settings()}


@metric(
    PROTOCOLS,
    better="lower",
    range=(0, None),
    part_ranges={"cosine": (0, 1)},
    unit="nats",
    measures=("geometry",),
    depends_on=("rows",),
    needs=("decoder",),
    reads=(
        "0: each latent changes an image in a direction of its own, orthogonal to those of all "
        "others. It does not say that such a direction is a factor."
    ),
    parts={"cosine": "0: directions are orthogonal; 1: all latents change images alike."},
)
def ima_contrast(samples: Jacobians, settings: Settings) -> Measured:
    r"""IMA contrast: how far latents are from changing images in orthogonal directions.

    $$\textstyle\sum_j \tfrac12 \ln G_{jj} - \tfrac12 \ln \det G, \qquad G = J^\top J, \quad
    J = \tfrac{\partial f(z)}{\partial z}$$
    at the means of the posteriors, mean over images: how much less volume the columns of the
    decoder's Jacobian span than if they were orthogonal. ``ima_contrast.cosine`` is the absolute
    cosine between two columns, mean over pairs of latents that change the image. The objective
    `ima` makes the contrast small.

    Paper: Gresele, von Kügelgen, Stimper, Schölkopf and Besserve 2021, "Independent mechanism
    analysis, a new concept?", section 4.
    Differs: the paper has a Jacobian of as many rows as columns and an exact determinant; here
    columns are differences of ``epsilon`` of images with more pixels than latents, and ``ridge``
    makes latents that change nothing count as orthogonal.
    Note: it grows with the number of latents in use, and a collapsed model has 0. The scale of a
    latent does not matter, nor does that of the image.

    Args:
        net: One model; ``Net(encode, decode)`` of any two functions.
        x: Images ``[n, c, h, w]``.
        likelihood: Of the decoder; it says how images are made of its outputs.
        protocol: A name, or settings.
        seed: Not used.

    Raises:
        ShapeError: The images are none, or the net is a population.
        DataError: The net diverged.
    """
    lengths = samples.products.diagonal(dim1=-2, dim2=-1)
    largest = lengths.amax(-1, keepdim=True)
    products = ratio(samples.products, largest[..., None].expand_as(samples.products))
    contrast = column_contrast(products, settings.ridge)
    used = lengths > settings.ridge * largest
    both = (used[..., :, None] & used[..., None, :]).triu(1)
    norms = lengths.sqrt()
    cosines = ratio(samples.products.abs(), norms[..., :, None] * norms[..., None, :])
    cosine = ratio((cosines * both).sum(), both.sum().double()).clamp(0, 1)
    values = {"": contrast.mean(), "cosine": cosine, "used": used.double().sum(-1).mean()}
    dead = int((~used.any(-2)).sum())
    remarks = (f"{dead} of {used.shape[-1]} latents change no image",) if dead else ()
    return Measured(values, {"per_image": contrast}, remarks)
