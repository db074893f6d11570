"""The quantized-latent autoencoder."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import ExtraState, Net, Note, Recoding, Stateful, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, beta_of_means, reconstruction
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class QLAE(Recoding, Stateful):
    r"""QLAE: autoencoder whose latents each take one of a few learnt values.

    $$\mathcal L = -\ln p(x \mid \bar z)
    + \lambda_q \textstyle\sum_j (\mathrm{sg}(z_j) - q_j)^2
    + \lambda_c \textstyle\sum_j (z_j - \mathrm{sg}(q_j))^2, \qquad
    q_j = \arg\min_{v \in V_j} |z_j - v|, \quad \bar z = z + \mathrm{sg}(q - z)$$

    Latent j has a codebook $V_j$ of its own, `levels` scalars that start evenly between -0.5 and
    0.5. With few combinations of few values, a decoder has to use each value in one meaning only.
    $\mathrm{sg}$ stops the gradient: the first penalty moves values to codes, the second codes to
    values. The code of an image is q.

    Paper: Hsu, Dorrell, Whittington, Wu and Finn 2023, "Disentanglement via latent quantization".
    Equation: The loss of section 3, as in the authors' code.
    Differs: Sums for means. Their loss takes means over N pixels and D latents with weights of
    0.01; N times it is ours with $0.01 N / D$ (`losses.beta_of_means`), by default for 64 x 64
    colour images and 12 latents. The decoder sees q itself, to the last bit: as $z + (q - z)$ in
    float32, ten learnt values come out as up to twenty.

    Weight decay is half of the method, and belongs to the optimiser: `--set optim.name=adamw --set
    optim.lr=1e-3 --set optim.weight_decay=0.1` (0.001 on MPI3D). It spares biases and values. The
    authors also clip each entry of the gradient at 1, of the decayed weights alone; N times their
    loss has N times their gradient, so that their limit is `--set optim.clip_value=12288`, here for
    the values too. They train 200,000 steps of 128 images and use twice as many latents as there
    are factors, and the network `style64`.

    `used` in the log is how many values of a latent the batch takes, on average.

    Example: `unknot.train("dsprites", objectives.QLAE(levels=10))`
    """

    levels: int = 10
    quantization: Hyper = 10.24
    commitment: Hyper = 10.24
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "quantization"

    def __post_init__(self) -> None:
        at_least(self, 2, "levels")
        at_least(self, 0, "quantization", "commitment")

    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """The codebooks."""
        values = torch.linspace(-0.5, 0.5, self.levels, device=seed.device)
        return ExtraState({"codebook": values.repeat(*seed.shape, z, 1)})

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction from the values, and the distance of codes and values from both sides."""
        z, values = net.encode(step.x).mean, net.extra["codebook"]
        index = nearest(z, values)
        q = take(values, index)
        decoded = net.decode(q.detach() + (z - z.detach()))
        used = (index.unsqueeze(-1) == torch.arange(self.levels, device=z.device)).any(-3)
        return {
            "recon": Term(reconstruction(self.likelihood, decoded, step.x)),
            "quantization": Term((z.detach() - q).square().sum(-1).mean(-1), self.quantization),
            "commitment": Term((z - q.detach()).square().sum(-1).mean(-1), self.commitment),
            "used": Note(used.sum(-1).to(z.dtype).mean(-1)),
        }

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """The nearest values."""
        values = net.extra["codebook"]
        return Posterior(take(values, nearest(q.mean, values)), q.logvar).point()


def nearest(z: Float[Tensor, "*p b z"], values: Float[Tensor, "*p z v"]) -> Int[Tensor, "*p b z"]:
    """The number of the value nearest to each code, the first of several.

    Example:
        >>> nearest(torch.tensor([[0.1, 0.9]]), torch.tensor([[0.0, 1.0], [0.0, 1.0]])).tolist()
        [[0, 1]]
    """
    return (z.detach().unsqueeze(-1) - values.detach().unsqueeze(-3)).abs().argmin(-1)


def take(values: Float[Tensor, "*p z v"], index: Int[Tensor, "*p b z"]) -> Float[Tensor, "*p b z"]:
    """Values by their numbers; gradients reach those that are taken."""
    return values.gather(-1, index.mT).mT


# Z = 2 x factors; the weights are 0.01 or 0.001 of means over the latents.
COLOUR = 3 * 64 * 64
_MPI3D = beta_of_means(0.01, pixels=COLOUR, latents=14)
_ISAAC3D = beta_of_means(0.001, pixels=COLOUR, latents=18)
PRESETS = {
    # Hsu et al. 2023, for MPI3D-complex and Falcor3D: 14 latents.
    "hsu2023_mpi3d": QLAE(quantization=_MPI3D, commitment=_MPI3D),
    # Hsu et al. 2023, for Isaac3D: 18 latents and weights of 0.001.
    "hsu2023_isaac3d": QLAE(quantization=_ISAAC3D, commitment=_ISAAC3D),
}
