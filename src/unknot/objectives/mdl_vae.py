"""The mdL-VAE."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, at_least, lift
from unknot.core.objective import ExtraState, Net, Note, Stateful, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction

Variant: TypeAlias = Literal["strong", "weak", "v1", "v2", "v3"]
Curve: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Form:
    """A weight and two penalties, as functions of sigma squared."""

    weight: Curve
    penalty_r: Curve
    penalty: Curve
    shared: bool = False
    """Whether the penalty of a latent is divided by their number."""


def bounded_weight(square: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""The weight $1 / (1 + \ln(1 + \sigma^2))$, in (0, 1]."""
    return 1 / (1 + square.log1p())


def identity(square: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    r"""The penalty $\sigma^2$."""
    return square


FORMS: dict[Variant, Form] = {
    "strong": Form(bounded_weight, identity, identity),
    "weak": Form(bounded_weight, identity, torch.log1p, shared=True),
    "v1": Form(bounded_weight, torch.log1p, torch.log1p),
    "v2": Form(torch.reciprocal, identity, identity),
    "v3": Form(torch.reciprocal, torch.log1p, torch.log1p),
}


@dataclass(frozen=True)
class MdLVAE(Stateful):
    r"""mdL-VAE: VAE with a learnt weight for the reconstruction and for each latent.

    $$\mathcal L = f(\sigma_r) R + \sum_j f(\sigma_j)\, \mathrm{KL}_j + r_r(\sigma_r) +
    \sum_j r(\sigma_j)$$

    - strong: $f = 1 / (1 + \ln(1 + \sigma^2))$ and $r_r = r = \sigma^2$.
    - weak: the same $f$ and $r_r$, and $r = \ln(1 + \sigma^2) / L$ for $L$ latents.
    - v1: the same $f$, and $r_r = r = \ln(1 + \sigma^2)$.
    - v2, v3: $f = 1 / \sigma^2$, with the penalties of strong and of v1.

    Paper: Moğultay Özcan 2024, "On disentangled representation learning", chapter 7.
    Equation: 7.1 to 7.3, and Table 7.4 for v1 to v3.

    Differs: The printed sums have one term more than there are latents.

    Each sigma follows the divergence of its latent: strong settles where $(1 + \sigma^2)(1 +
    \ln(1 + \sigma^2))^2 = \mathrm{KL}_j$, and at 0 for a nat or less. It says how much a latent
    tells of an image; that such latents are the disentangled ones is the thesis's finding, not in
    the formula. Both are logged, `sigma.j` beside `kl.j`.

    `choose_variant` is the thesis's rule for taking weak instead of strong, and
    `unknot.studies.mdl.train_mdl` trains by it. A `floor` above 0 is the least that a sigma can be:
    it bounds the weights of v2 and v3 and gives a sigma at 0, where the slope is 0, a way back.
    """

    variant: Variant = "strong"
    floor: Hyper = 0.0
    likelihood: Likelihood = "sigmoid_gaussian"

    def __post_init__(self) -> None:
        check_choices(self, "variant")
        at_least(self, 0, "floor")
        if isinstance(self.floor, int | float) and self.floor >= 1:
            raise ConfigError(f"MdLVAE.floor must be below 1, the first sigma; got {self.floor}.")

    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """Sigma of the reconstruction and of each latent, 1 at the start."""

        def start(n: int) -> Tensor:
            ones = torch.ones(*seed.shape, n, dtype=torch.float64, device=seed.device)
            return ones - lift(self.floor, 1)

        return ExtraState({"sigma_r": start(1), "sigma": start(z)})

    def sigmas(self, learnt: Float[Tensor, "*p n"]) -> Float[Tensor, "*p n"]:
        """Sigmas as the formula has them, of the learnt numbers: their size above the floor."""
        # The slope of the size is 1 at 0, not 0 as that of torch.abs.
        return torch.where(learnt < 0, -learnt, learnt) + lift(self.floor, 1)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and each latent's divergence under their weights, and the penalties."""
        q = net.encode(step.x)
        z = step.sample(q)
        form, kl = FORMS[self.variant], kl_normal(q)
        sigma_r, sigma = self.sigmas(net.extra["sigma_r"]), self.sigmas(net.extra["sigma"])
        square_r, square = sigma_r.square(), sigma.square()
        of_latents = form.penalty(square).sum(-1) / (kl.shape[-1] if form.shared else 1)
        recon = reconstruction(self.likelihood, net.decode(z), step.x)
        divergences = zip(kl.unbind(-1), form.weight(square).unbind(-1), strict=True)
        return {
            "recon": Term(recon, form.weight(square_r).squeeze(-1)),
            **{f"kl.{j}": Term(value, weight) for j, (value, weight) in enumerate(divergences)},
            "penalty": Term(form.penalty_r(square_r).squeeze(-1) + of_latents),
            "kl": Note(kl.sum(-1)),
            "sigma_r": Note(sigma_r.squeeze(-1)),
            **{f"sigma.{j}": Note(value) for j, value in enumerate(sigma.unbind(-1))},
        }


def choose_variant(
    sigmas: Float[Tensor, " z"], *, epsilon: float = 0.5
) -> Literal["strong", "weak"]:
    """The thesis's rule (section 7.2): weak if strong left every latent's sigma below epsilon.

    At the default and at rest this says that no latent carries more than 1.87 nats.

    Example:
        >>> choose_variant(torch.tensor([0.0, 0.0, 0.56, 0.76, 0.76]))
        'strong'
        >>> choose_variant(torch.tensor([0.0, 0.2, 0.49]))
        'weak'
    """
    return "weak" if bool((sigmas.abs() < epsilon).all()) else "strong"


PRESETS: dict[str, MdLVAE] = {
    "ozcan_weak": MdLVAE(variant="weak"),
    "ozcan_v1": MdLVAE(variant="v1"),
    "ozcan_v2": MdLVAE(variant="v2"),
    "ozcan_v3": MdLVAE(variant="v3"),
}
