"""JEMMIG, the gap minus what the best code holds beside the factor."""

import math
from functools import partial

import torch

from unknot.metrics import protocols
from unknot.metrics.aggregate import gap
from unknot.metrics.inputs import Codes, Factors, Rows, take
from unknot.metrics.result import Measured, Score, score
from unknot.metrics.tables import CARBONNEAU, UNKNOT, Counting, information

PROTOCOLS = {"carbonneau": CARBONNEAU, "unknot": UNKNOT}


def jemmig(
    codes: Codes,
    factors: Factors = None,
    *,
    protocol: str | Counting = "unknot",
    seed: int = 0,
    interval: float | None = None,
) -> Score:
    r"""Joint entropy minus mutual information gap, scaled to grow towards 1.

    With $b$ bins, and $z_{(1)}, z_{(2)}$ the codes that know most of $v_k$,
    $$1 - \frac1K \sum_k \frac{H(z_{(1)}, v_k) - I_{(1)k} + I_{(2)k}}{H(v_k) + \ln b}$$

    Paper: Do and Tran 2020, "Theory and evaluation metrics for learning disentangled
    representations".
    Differs: counted from codes, not integrated over posteriors.
    Range: 0 to 1; noise is above 0, and a code of fewer values than bins gains from it.
    Reads as: unlike MIG, a code loses when it holds something beside its factor.
    """
    chosen = protocols.pick("jemmig", PROTOCOLS, protocol)
    rows = take(codes, factors, samples=chosen.settings.samples, seed=seed)
    measure = partial(_measure, counting=chosen.settings)
    return score(chosen, measure, rows, seed=seed, interval=interval, ceiling=True)


def _measure(rows: Rows, counting: Counting) -> Measured:
    known = information(rows, counting)
    # Of codes that know equally much, the one that holds least beside; rounding must not choose.
    best = known.mutual >= known.mutual.amax(0) - 1e-9
    excess = torch.where(best, known.joint, torch.inf).amin(0) - gap(known.mutual, dim=0)
    scores = (1 - excess / (known.factors + math.log(counting.bins))).clamp_min(0)
    parts = {"per_factor": scores, "information": known.mutual, "joint_entropies": known.joint}
    return Measured({"": scores.mean()}, parts, known.remarks)
