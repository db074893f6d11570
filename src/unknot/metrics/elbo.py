"""ELBO, the bound that a VAE is trained on."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from unknot.core.objective import Net
from unknot.metrics.parts import protocols
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.importance import Draws, Likelihood, draw, error
from unknot.metrics.parts.result import Measured, Score, build


@dataclass(frozen=True)
class Settings:
    """How many points of each posterior are decoded."""

    draws: int
    version: int = 1


PROTOCOLS = {"paper": Settings(1), "unknot": Settings(8)}


@metric(
    better="higher",
    range=(None, None),
    unit="nats",
    measures=("likelihood",),
    needs=("decoder",),
    reads=(
        "What the model gives an image at least, in nats. Higher is better; it compares models "
        "of one dataset and one likelihood."
    ),
    lower_parts=("error",),
)
def elbo(
    net: Net,
    x: Float[Tensor, "..."],
    *,
    likelihood: Likelihood = "bernoulli",
    protocol: str | Settings = "unknot",
    seed: int = 0,
) -> Score:
    r"""Evidence lower bound: what a model gives an image at least, in nats.

    $$\mathbb E_{q(z|x)}[\ln p(x|z)] - \mathrm{KL}(q(z|x) \| p(z)) \le \ln p(x)$$
    mean over images. ``elbo.reconstruction`` and ``elbo.kl`` are its two parts, ``elbo.error`` the
    standard error over images. The prior is standard normal.

    Paper: Kingma and Welling 2014, "Auto-encoding variational Bayes", equation 10.
    Differs: none. A Gaussian likelihood has variance 1/2, so that the squared error is its loss;
    its constant is counted here, and is not in a training curve. No weight such as a beta enters.
    Range: minus infinity to 0 for binary images; densities of others may exceed 1.
    Reads as: of models of the same images the higher fits better; across datasets it says nothing,
    and it hardly goes with any score of disentanglement.

    Args:
        net: One model; ``Net(encode, decode)`` of any two functions.
        x: Images ``[n, c, h, w]``.
        likelihood: Of the decoder.
        protocol: A name, or settings.
        seed: Of the points drawn.

    Raises:
        ShapeError: The images are none, or the net is a population.
        DataError: A Bernoulli likelihood and images outside [0, 1], or a net that diverged.
    """
    chosen = protocols.pick("elbo", PROTOCOLS, protocol)
    drawn = draw(net, x, likelihood=likelihood, draws=chosen.settings.draws, seed=seed)
    return of_draws(drawn, protocol=protocol, seed=seed)


def of_draws(drawn: Draws, *, protocol: str | Settings, seed: int) -> Score:
    """The score of one model from its draws, such as those of a population's member.

    Raises:
        ShapeError: The draws are of several models.
        DataError: The model diverged.
    """
    chosen = protocols.pick("elbo", PROTOCOLS, protocol)
    drawn.check()
    reconstruction, kl = drawn.likelihoods.mean(0), drawn.kl
    bound = reconstruction - kl
    values = {
        "": bound.mean(),
        "reconstruction": reconstruction.mean(),
        "kl": kl.mean(),
        "error": error(bound),
    }
    measured = Measured(values, {"per_image": bound}, drawn.remarks)
    return build(chosen, measured, drawn.rows, likelihood=drawn.likelihood, seed=seed)
