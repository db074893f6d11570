"""The VAE with an orthogonal Jacobian."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Differencing, Net, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.losses.geometry import check_jacobian, gram, jacobian
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class OroJaR(Differencing):
    r"""OroJaR: beta-VAE with a penalty on scalar products between columns of the Jacobian.

    $$\mathcal L = \mathcal L_{\beta\text{-VAE}} + \gamma\, \mathbb E_{q(z|x)}
    \textstyle\sum_{i \ne j} G_{ij}^2, \qquad G = J^\top J, \quad J = \tfrac{\partial f(z)}
    {\partial z}$$

    Each latent should change an image in directions of its own. Unlike the contrast of `ima` the
    penalty depends on the scale of the Jacobian: latents that change little cost little.

    Paper: Wei, Shi, Liu, Ji, Gao, Wu and Zuo 2021, "Orthogonal Jacobian regularization for
    unsupervised disentanglement in image generation".
    Equation: The penalty that its Hutchinson estimate stands for: over random signs v,
    $\mathrm{Var}\, \|J v\|^2 = 2 \sum_{i \ne j} G_{ij}^2$.
    Differs: The paper trains GANs, on activations of several layers, with two draws of v; here all
    columns are taken, of the outputs of a VAE's decoder as they are, at the first `rows` images of
    the batch, by differences of `epsilon`, and without a gradient through z. How its code scales
    the penalty could not be checked.

    How much a gamma weighs depends on the images. In a VAE of dSprites without the term the sum is
    3e11 (`conv64`, 10 latents, 2,500 steps of 16 images): a gamma of 3e-11 makes it a tenth of the
    reconstruction loss. The default suits small images.

    Example: `unknot.train("dsprites", objectives.OroJaR(gamma=1e-3))`
    """

    beta: Hyper = 1.0
    gamma: Hyper = 1e-4
    rows: int = 8
    epsilon: float = 1e-2
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "decoder"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta", "gamma")
        check_jacobian(self)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, weighted divergence, and squared products of different columns."""
        q = net.encode(step.x)
        z = step.sample(q)
        products = gram(jacobian(net, z, rows=self.rows, epsilon=self.epsilon))
        different = products.tril(-1)  # G is symmetric: each pair stands there twice
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            "products": Term(2 * different.square().sum((-2, -1)).mean(-1), self.gamma),
        }
