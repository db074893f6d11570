"""The VAE with independent mechanisms."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Differencing, Net, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.losses.geometry import check_jacobian, column_contrast, gram, jacobian
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class IMA(Differencing):
    r"""IMA-VAE: beta-VAE whose latents should change an image in orthogonal directions.

    $$\mathcal L = \mathcal L_{\beta\text{-VAE}} + \gamma\, \mathbb E_{q(z|x)} \big[
    \textstyle\sum_j \tfrac12 \ln G_{jj} - \tfrac12 \ln \det G \big], \qquad
    G = J^\top J, \quad J = \tfrac{\partial f(z)}{\partial z}$$

    The contrast is how much less volume the columns of the Jacobian span than if they were
    orthogonal, by Hadamard's inequality. It is 0 if and only if they are, and does not change with
    the scale of a latent.

    Paper: Gresele, von Kügelgen, Stimper, Schölkopf and Besserve 2021, "Independent mechanism
    analysis, a new concept?".
    Equation: The contrast of its section 4, for a Jacobian with more rows than columns.
    Differs: The paper adds the contrast to the likelihood of flows; a VAE has it here as a penalty
    of its decoder, of outputs as they are, at the first `rows` images of the batch, by differences
    of `epsilon`, and without a gradient through z. `ridge` is added to the diagonal of G, so that
    latents that change nothing count as orthogonal.

    Example: `unknot.train("dsprites", objectives.IMA(gamma=10))`
    """

    beta: Hyper = 1.0
    gamma: Hyper = 1.0
    rows: int = 8
    epsilon: float = 1e-2
    ridge: float = 1e-6
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "decoder"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta", "gamma")
        at_least(self, 1e-12, "ridge")
        check_jacobian(self)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, weighted divergence, and how far columns are from orthogonal."""
        q = net.encode(step.x)
        z = step.sample(q)
        columns = jacobian(net, z, rows=self.rows, epsilon=self.epsilon)
        contrast = column_contrast(gram(columns), self.ridge)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            "ima": Term(contrast.mean(-1), self.gamma),
        }
