"""The verdict of the demo: there where one objective separates factors, silent where none can."""

import numpy as np
import pytest

from unknot import metrics
from unknot.analysis import Results
from unknot.analysis.claims import claims

SIZES = (6, 5, 12, 12)
"""Values of hue, size, x and y in `soft_squares`."""


def dci(codes, factors):
    return float(metrics.dci(codes, factors))


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_verdict_falls_silent_with_shuffled_factors(shuffled):
    rows = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        factors = np.stack([random.integers(0, size, 600) for size in SIZES], axis=1)
        codes = factors / SIZES + 0.02 * random.standard_normal(factors.shape)
        rotation = np.linalg.qr(random.standard_normal((4, 4)))[0]
        if shuffled:
            factors = random.permutation(factors)
        rows.append({"objective": "ada_gvae", "seed": seed, "dci": dci(codes, factors)})
        rows.append({"objective": "vae", "seed": seed, "dci": dci(codes @ rotation, factors)})
    text = claims(Results(rows))[0]
    assert text.startswith("ada_gvae has the highest dci in every seed") == (not shuffled)
    assert text.startswith("The seeds do not show") == shuffled
