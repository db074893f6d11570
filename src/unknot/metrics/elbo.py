"""ELBO, the bound that a VAE is trained on."""

from unknot.metrics.parts.decoding import DecodingSettings, PosteriorSamples, standard_error
from unknot.metrics.parts.facts import MEANINGS
from unknot.metrics.parts.scoring import Measured, metric

ONE, EIGHT = DecodingSettings(1), DecodingSettings(8)
PROTOCOLS = {
    name: ONE if name in ("study2019", "study2019_fast", "paper") else EIGHT for name in MEANINGS
}


@metric(
    PROTOCOLS,
    range=(None, None),
    unit="nats",
    measures=("likelihood",),
    depends_on=("draws",),
    needs=("decoder",),
    reads=(
        "Lower bound on the log-likelihood of an image, in nats. Higher is better. "
        "Comparable only within one dataset and likelihood."
    ),
    lower_parts=("error",),
    parts={
        "reconstruction": "Log-likelihood of an image given its code, in nats. Higher is better.",
        "kl": "What the code costs: KL(posterior ‖ prior) over all latents, in nats.",
        "error": "Standard error of the bound over images.",
    },
)
def elbo(samples: PosteriorSamples, settings: DecodingSettings) -> Measured:  # noqa: ARG001
    r"""Evidence lower bound: lower bound on the log-likelihood of an image, in nats.

    $$\mathbb E_{q(z|x)}[\ln p(x|z)] - \mathrm{KL}(q(z|x) \| p(z)) \le \ln p(x)$$
    mean over images. ``elbo.reconstruction`` and ``elbo.kl`` are its two parts, ``elbo.error`` the
    standard error over images. The prior is standard normal.

    Paper: Kingma and Welling 2014, "Auto-encoding variational Bayes", equation 10.
    Differs: none; those of other papers are ``unknot``, so that one table can have them all.
    A Gaussian likelihood has variance 1/2, so that the squared error is its loss; its constant is
    counted here, and is not in a training curve. No weight such as a beta enters.
    Note: at most 0 for binary images; densities of other images may exceed 1.

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
    reconstruction, kl = samples.likelihoods.mean(0), samples.kl
    bound = reconstruction - kl
    values = {
        "": bound.mean(),
        "reconstruction": reconstruction.mean(),
        "kl": kl.mean(),
        "error": standard_error(bound),
    }
    return Measured(values, {"per_image": bound}, samples.remarks)
