"""Your objective and net: two dataclasses, and everything else works with them."""

import math
import os
from dataclasses import dataclass

from torch import nn

import unknot
from unknot import Hyper, Term
from unknot.losses import kl_normal, reconstruction

steps = int(os.environ.get("STEPS", "2000"))


@dataclass(frozen=True)
class SquaredKL:
    """A VAE whose divergence counts squared."""

    weight: Hyper = 1.0  # a number or a schedule; it may differ between models of a population

    def terms(self, net, step):
        """The parts of the loss by name."""
        q = net.encode(step.x)
        decoded = net.decode(step.sample(q))
        return {
            "recon": Term(reconstruction("bernoulli", decoded, step.x)),
            "kl2": Term(kl_normal(q).sum(-1) ** 2, self.weight),
        }


@dataclass(frozen=True)
class Narrow:
    """One hidden layer each way."""

    latents: int = 6
    width: int = 64
    init: str = "torch"

    def encoder(self, image):
        """Images to means and log-variances."""
        first = nn.Linear(math.prod(image), self.width)
        last = nn.Linear(self.width, 2 * self.latents)
        return nn.Sequential(nn.Flatten(), first, nn.ReLU(), last)

    def decoder(self, image):
        """Codes to logits."""
        first, last = nn.Linear(self.latents, self.width), nn.Linear(self.width, math.prod(image))
        return nn.Sequential(first, nn.ReLU(), last, nn.Unflatten(1, image))


weight = unknot.schedules.linear(0, 0.1)
many = unknot.train(
    "xysquares", SquaredKL(weight=weight), Narrow(), steps=steps, seeds=range(2), out="runs/squared"
)
print(many[1])
print(unknot.load("runs/squared", objective=SquaredKL, net=Narrow))
