"""The VAE with a sparse Jacobian."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Differencing, Net, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.losses.geometry import check_jacobian, jacobian
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class JacobianL1(Differencing):
    r"""JL1-VAE: beta-VAE whose latents should each change few pixels (L1 norm of the Jacobian).

    $$\mathcal L = \mathcal L_{\beta\text{-VAE}} + \gamma\, \mathbb E_{q(z|x)}
    \textstyle\sum_{ij} \big| \tfrac{\partial f_i(z)}{\partial z_j} \big|$$

    Turning the latents keeps the sum of squares of the Jacobian f' of the decoder and changes the
    sum of its magnitudes, so the penalty tells directions apart where the divergence does not.

    Paper: Rhodes and Lee 2021, "Local disentanglement in variational auto-encoders using Jacobian
    L1 regularization".
    Equation: The penalty as in the authors' code, by differences of `epsilon`, at a sample of each
    posterior through which no gradient goes.
    Differs: The Jacobian is taken at the first `rows` images of the batch, where the code takes
    all. It is that of the decoder's outputs as they are, logits unless the likelihood is Gaussian;
    which the paper takes could not be checked.

    The authors raise beta and gamma together from 0 at the start of training: `--set
    objective.gamma='{kind="linear", start=0, end=0.1, steps=10000}'`. They train 300,000 steps of
    64 images.

    How much a gamma weighs depends on the images. In a VAE of dSprites without the term the sum is
    180,000 (`conv64`, 10 latents, 2,500 steps of 16 images): a gamma of 6e-5 makes it a tenth of
    the reconstruction loss, and the default is 1,600 times that.

    Example: `unknot.train("dsprites", objectives.JacobianL1(gamma=0.1))`
    """

    beta: Hyper = 1.0
    gamma: Hyper = 0.1
    rows: int = 8
    epsilon: float = 1e-3
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "decoder"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta", "gamma")
        check_jacobian(self)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, weighted divergence, and magnitudes of the Jacobian."""
        q = net.encode(step.x)
        z = step.sample(q)
        columns = jacobian(net, z, rows=self.rows, epsilon=self.epsilon)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            "jacobian": Term(columns.abs().sum((-2, -1)).mean(-1), self.gamma),
        }
