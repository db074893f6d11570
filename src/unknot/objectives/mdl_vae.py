"""The mdL-VAE."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, at_least, lift
from unknot.core.objective import ExtraState, Net, Note, Stateful, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family

Variant: TypeAlias = Literal["strong", "weak", "v1", "v2", "v3"]
Weight: TypeAlias = Literal["bounded", "reciprocal", "rational"]
Penalty: TypeAlias = Literal["square", "log"]
LatentPenalty: TypeAlias = Literal["square", "log", "shared_log"]
Curve: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Form:
    """The weight and the penalties of the reconstruction and of a latent, by name."""

    weight: Weight
    penalty_r: Penalty
    penalty: LatentPenalty


FORMS: dict[Variant, Form] = {
    "strong": Form("bounded", "square", "square"),
    "weak": Form("bounded", "square", "shared_log"),
    "v1": Form("bounded", "log", "log"),
    "v2": Form("reciprocal", "square", "square"),
    "v3": Form("reciprocal", "log", "log"),
}
# Functions of sigma squared.
WEIGHTS: dict[Weight, Curve] = {
    "bounded": lambda square: 1 / (1 + square.log1p()),
    "reciprocal": torch.reciprocal,
    "rational": lambda square: 1 / (1 + square),
}
# Sums over all that the sigmas belong to.
PENALTIES: dict[LatentPenalty, Curve] = {
    "square": lambda square: square.sum(-1),
    "log": lambda square: square.log1p().sum(-1),
    "shared_log": lambda square: square.log1p().sum(-1) / square.shape[-1],
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

    Other functions than a variant's are chosen by name, which the thesis leaves open (7.2, 8.1):
    `f` is "bounded" ($1 / (1 + \ln(1 + \sigma^2))$), "reciprocal" ($1 / \sigma^2$) or "rational"
    ($1 / (1 + \sigma^2)$); `r` and `r_r` are "square" ($\sigma^2$), "log" ($\ln(1 + \sigma^2)$) or
    "shared_log", for latents alone (the same divided by $L$).

    Each sigma follows the divergence of its latent: strong settles where $(1 + \sigma^2)(1 +
    \ln(1 + \sigma^2))^2 = \mathrm{KL}_j$, and at 0 for a nat or less. It says how much a latent
    tells of an image; that such latents are the disentangled ones is the thesis's finding, not in
    the formula. Both are logged, `sigma.j` beside `kl.j`.

    `choose_variant` is the thesis's rule for taking weak instead of strong, and
    `unknot.studies.mdl.train_mdl` trains by it. A `floor` above 0 is the least that a sigma can be:
    it bounds the weights of v2 and v3 and gives a sigma at 0, where the slope is 0, a way back.

    Example: `unknot.train("dsprites", objectives.MdLVAE(variant="strong"))`
    """

    variant: Variant = "strong"
    floor: Hyper = 0.0
    likelihood: Likelihood = "sigmoid_gaussian"
    f: Weight | None = None
    r: LatentPenalty | None = None
    r_r: Penalty | None = None
    family: ClassVar[Family] = "weights"

    def __post_init__(self) -> None:
        check_choices(self, "variant", "f", "r", "r_r")
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
        kl, form = kl_normal(q), FORMS[self.variant]
        weight = WEIGHTS[self.f or form.weight]
        penalty_r, penalty = (
            PENALTIES[self.r_r or form.penalty_r],
            PENALTIES[self.r or form.penalty],
        )
        sigma_r, sigma = self.sigmas(net.extra["sigma_r"]), self.sigmas(net.extra["sigma"])
        square_r, square = sigma_r.square(), sigma.square()
        recon = reconstruction(self.likelihood, net.decode(z), step.x)
        divergences = zip(kl.unbind(-1), weight(square).unbind(-1), strict=True)
        return {
            "recon": Term(recon, weight(square_r).squeeze(-1)),
            **{f"kl.{j}": Term(value, weight) for j, (value, weight) in enumerate(divergences)},
            "penalty": Term(penalty_r(square_r) + penalty(square)),
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
