"""Families of objectives: what they act on, and what they are told about their images.

An objective states its family as a class variable; what it is told is its sampler. Nothing here
imports PyTorch.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, TypeAlias, get_args

from unknot.core import registry
from unknot.core.errors import ConfigError

Family: TypeAlias = Literal[
    "reconstruction",
    "posterior",
    "quantization",
    "inference",
    "weights",
    "aggregate",
    "distances",
    "decoder",
]
FAMILIES: dict[str, str] = {
    "reconstruction": "no other term than the reconstruction",
    "posterior": "the code of each image, q(z|x): its divergence from the prior, or its size",
    "quantization": "the values of each latent, of which there are a few",
    "inference": "how q(z|x) or the bound is computed: by a critic, a flow or many samples",
    "weights": "weights of the VAE's terms, or the target of its divergence: over time, "
    "by a controller, or learnt",
    "aggregate": "the codes of all images together, q(z), or their moments; most keep the "
    "divergence of q(z|x) as well",
    "distances": "distances between the codes of images",
    "decoder": "how the decoder's images change with the code: its Jacobian or Hessian",
    "other": "no family stated",
}
"""What the objectives of a family act on; ``other`` is for those of other packages."""


def family(name: str) -> str:
    """The family that an objective states; ``other`` where it states none of them.

    Example:
        >>> family("factor_vae"), family("beta_vae")
        ('aggregate', 'posterior')
    """
    stated = _constant(name, "family")
    return stated if stated in get_args(Family) else "other"


def supervision(name: str) -> str:
    """What an objective is told of its images: ``none``, the name of its sampler, or ``labels``.

    Example:
        >>> supervision("ada_gvae"), supervision("ada_tvae_unsupervised"), supervision("ivae")
        ('pairs', 'none', 'labels')
    """
    if told := _constant(name, "told"):
        return told
    sampler = _constant(name, "sampler")
    return sampler if sampler not in ("", "singles") else "none"


def families(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of objectives by their family, in the order of `FAMILIES`; none that is empty."""
    by_name = {name: family(name) for name in names}
    groups = {each: [n for n, group in by_name.items() if group == each] for each in FAMILIES}
    return {name: members for name, members in groups.items() if members}


def _constant(name: str, key: str) -> str:
    # The list shows an objective whose package cannot be imported, and says so there.
    with suppress(ConfigError):
        value = registry.constant("objectives", name, key)
        return value if isinstance(value, str) else ""
    return ""
