"""Reference representations, what tests expect of them, and which scores read what."""

import pytest
import scripts

from unknot.core import registry
from unknot.metrics import facts

_shared = scripts.script("docs/representations.py")
ALL, N, SIZES = _shared.ALL, _shared.N, _shared.SIZES
factors, get = _shared.factors, _shared.get
perfect, permuted, rotated = _shared.perfect, _shared.permuted, _shared.rotated


def expected(values: dict[str, float]) -> pytest.MarkDecorator:
    """Run a test once for each reference representation, with the value it must give."""
    everywhere = {name: values[name] for name in ALL}
    return pytest.mark.parametrize(("name", "value"), everywhere.items())


NEEDS = {name: facts(name).needs for name in registry.names("metrics")}
UNSUPERVISED = tuple(name for name, needs in NEEDS.items() if needs == ("codes",))
"""Scores of codes alone: nats, distances and counts, so that a perfect code is not 1."""
NO_FLOOR, NO_CEILING = "readout", "tad"
"""R² of rows held out may be negative; gaps of attributes add up."""
ACROSS_MODELS = tuple(name for name, needs in NEEDS.items() if "models" in needs)
"""Scores of several representations together."""
OF_POSTERIORS = tuple(name for name, needs in NEEDS.items() if "posteriors" in needs)
"""Scores that need log-variances beside the codes."""
DECODING = tuple(name for name, needs in NEEDS.items() if "decoder" in needs)
"""Scores of a model and images."""
SCORES = [name for name in NEEDS if name not in (*ACROSS_MODELS, *OF_POSTERIORS, *DECODING)]

ALIGNED = dict.fromkeys(
    ("perfect", "permuted", "rescaled", "flipped", "dead_first", "dead_last", "constant"), 1.0
)
"""Where one code per factor is all a score asks for."""
