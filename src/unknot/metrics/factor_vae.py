"""The FactorVAE score: which code stands stillest while a factor is held."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import UNKNOT
from unknot.metrics.parts.interventions import accuracy_values, batches, chance_remark, source
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric


@dataclass(frozen=True)
class Settings(RowSettings):
    """How many votes of how many points, and which codes may be voted for."""

    votes: int = 10_000
    eval_votes: int = 5_000
    """0 evaluates on the votes the majority was taken from."""
    batch: int = 64
    samples: int | None = 10_000
    """Rows for the overall variances."""
    dead: float | Literal["uninformative"] = 0.05
    """Codes of a smaller standard deviation are left out, or codes that tell nothing; 0 leaves
    constant codes out alone."""
    factor_bins: int | None = None
    rescaled: bool = False
    """Whether the score counts from chance instead of from 0."""
    version: int = 1


PROTOCOLS = {
    "study2019": Settings(),
    "paper": Settings(votes=800, eval_votes=0, batch=200),
    "carbonneau": Settings(800, 800, 200, dead=0.02, factor_bins=10, rescaled=True),
    "unknot": Settings(samples=None, dead="uninformative"),
}


@metric(
    PROTOCOLS,
    options=(),
    range=(0, 1),
    part_ranges={"accuracy": (0, 1), "train_accuracy": (0, 1), "rescaled": (None, 1)},
    measures=("modularity",),
    depends_on=("draws", "threshold"),
    rows="most",
    cost=0.27,
    reads=(
        "How often the latent with the lowest variance reveals which factor was fixed. "
        "Chance is 1 / number of factors. Small rotations do not lower it."
    ),
    parts={
        "accuracy": "Share of right answers on test points. Chance is 1 / number of factors.",
        "rescaled": "From chance up: 0 is guessing, 1 always right, below 0 worse than guessing.",
        "train_accuracy": "The same on points it was fitted to; far above the other: overfitted.",
    },
)
def factor_vae(rows: Rows, settings: Settings) -> Measured:
    r"""FactorVAE score (Z-min variance): accuracy of predicting the factor that is fixed.

    A vote holds one factor at one value in a batch of points, divides the variance of each code by
    its overall variance, and goes to the code with the smallest. Each code stands for the factor
    that most of its votes came from; the score is the accuracy of that rule on fresh votes.

    Paper: Kim and Mnih 2018, "Disentangling by factorising".
    Differs: ``paper`` is 800 votes of 200 points, evaluated on themselves; it drops codes by their
    standard deviation, having no posteriors to see a collapse by. ``unknot`` drops codes that tell
    nothing about any factor, whatever their scale; a constant code is never voted for. Mushom 2020
    mentions no codes that are left out: ``replace(PROTOCOLS["study2019"], dead=0.0)`` leaves none
    out but constant ones. Rows that are not a grid are grouped by the value of the factor.
    Note: ``factor_vae.rescaled`` is 0 for chance. A factor spread over two latents costs nothing as
    long as one of them varies least.
    """
    scale = _scale(rows.codes)
    scaled = (rows.codes * scale).var(0)
    variances = scaled / scale / scale
    if settings.dead == "uninformative":
        active = rows.information(UNKNOT).alive
    else:
        active = scaled.sqrt() / scale >= settings.dead
    # A constant code has a trace of variance where its mean is rounded.
    active = active & (rows.codes.amax(0) > rows.codes.amin(0))
    points, k, some = source(rows, settings.factor_bins), len(rows.names), bool(active.any())

    def votes(n: int, stage: str) -> Tensor:
        """How often each code was voted for, by the factor that was fixed [z, f]."""
        table = torch.zeros(len(active) * k, dtype=torch.int64)
        for factor, numbers in batches(
            k, n if some else 0, rows.seed, f"metric/factor_vae/{stage}"
        ):
            spread = (points.hold(factor, settings.batch, numbers) * scale).var(1) / scaled
            still = torch.where(active, spread, torch.inf).argmin(1).cpu()
            table += torch.bincount(still * k + factor, minlength=len(table))
        return table.reshape(-1, k).double()

    train = votes(settings.votes, "train")
    fresh = votes(settings.eval_votes, "eval") if settings.eval_votes else train
    rule = train.argmax(1, keepdim=True)
    train_accuracy = train.gather(1, rule).sum() / settings.votes
    accuracy = fresh.gather(1, rule).sum() / fresh.sum().clamp_min(1)
    # Without a code to vote for there is no chance to count from either.
    values = accuracy_values(train_accuracy, accuracy, k if some else 1, rescaled=settings.rescaled)
    values["active"] = active.sum()
    parts = {"votes": train, "eval_votes": fresh, "variances": variances, "active": active}
    dead = int((~active).sum())
    remarks = (
        *([f"{dead} of {len(active)} latents are dead and were left out"] if dead else []),
        *chance_remark(accuracy, k, int(fresh.sum())),
    )
    record = {"groups": points.groups} if points.groups else {}
    return Measured(values, parts, (*remarks, *points.remarks), record)


def _scale(codes: Float[Tensor, "n z"]) -> Float[Tensor, " z"]:
    """Powers of two that bring codes to about 1: nothing is rounded, and squares stay in range."""
    largest = codes.abs().amax(0).clamp_min(torch.finfo(codes.dtype).tiny)
    return largest.frexp().mantissa / largest
