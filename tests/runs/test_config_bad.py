"""Settings that make no sense get one clear line."""

import pytest

from unknot.core.errors import ConfigError
from unknot.runs import config

BAD = {
    "unknown key": ({"stps": 3}, "Unknown key 'stps'; did you mean 'steps'?"),
    "unknown inner key": ({"objective": {"bta": 3}}, "'objective.bta'; did you mean 'beta'?"),
    "unknown objective": ({"objective": "beta_vea"}, "did you mean 'beta_vae'?"),
    "unknown dataset": ({"data": "dsprits"}, "did you mean 'dsprites'?"),
    "unknown net": ({"net": {"name": "conv46"}}, "did you mean 'conv64'?"),
    "word for a number": ({"objective": {"beta": "x"}}, "objective.beta should be a number"),
    "fraction of a step": ({"steps": 1.5}, "steps should be a whole number"),
    "truth for a number": ({"batch": True}, "batch should be a whole number"),
    "no steps": ({"steps": 0}, "steps must be 1 or more; got 0"),
    "negative batch": ({"batch": -4}, "batch must be 1 or more; got -4"),
    "no latents": ({"net": {"latents": 0}}, "latents must be"),
    "negative rate": ({"optim": {"lr": -1.0}}, "optim.lr must be above 0"),
    "not a number": ({"objective": {"beta": float("nan")}}, "finite number"),
    "another likelihood": ({"objective": {"likelihood": "laplace"}}, "'bernoulli', 'gaussian'"),
    "another precision": ({"precision": "fp8"}, "precision should be"),
    "doubled seed": ({"seeds": [1, 2, 1]}, "twice: [1]"),
    "no seeds": ({"seeds": []}, "at least one seed"),
    "negative seed": ({"seeds": [-1]}, "from 0 to 2**63 - 1"),
    "number for a table": ({"net": 3}, "net must be a table or a name; got 3"),
    "needed key": ({"data": {"name": "arrays"}}, "data.path is needed"),
    "unknown schedule": (
        {"objective": {"beta": {"kind": "lin"}}},
        "objective.beta.kind has no choice 'lin'; did you mean 'linear'?",
    ),
    "key of a schedule": (
        {"objective": {"beta": {"kind": "linear", "start": 0, "end": 1, "stops": 9}}},
        "'objective.beta.stops'; did you mean 'steps'?",
    ),
    "schedule of no steps": (
        {"objective": {"beta": {"kind": "linear", "start": 0, "end": 1, "steps": 0}}},
        "steps must be above 0",
    ),
    "negative weight": ({"objective": {"beta": -1}}, "BetaVAE.beta must be 0 or more; got -1"),
    "schedule that falls below zero": (
        {"objective": {"beta": {"kind": "linear", "start": 4, "end": -1, "steps": 9}}},
        "BetaVAE.beta must be 0 or more; got -1",
    ),
    "schedule longer than the run": (
        {
            "steps": 500,
            "objective": {"beta": {"kind": "linear", "start": 0, "end": 4, "steps": 501}},
        },
        "objective.beta changes until step 501, but the run ends at 500",
    ),
    "late schedule of the rate": (
        {
            "steps": 500,
            "optim": {
                "lr": {"kind": "cosine", "start": 1e-3, "end": 0, "steps": 400, "begin": 101}
            },
        },
        "optim.lr changes until step 501, but the run ends at 500",
    ),
    "preset of an objective without": (
        {"objective": {"name": "ae", "preset": "mine"}},
        "ae has no preset 'mine'; it has none.",
    ),
    "unknown preset": (
        {"objective": {"name": "factor_vae", "preset": "study2091"}},
        "factor_vae has no preset 'study2091'; did you mean 'study2019'?",
    ),
    "unknown estimator": (
        {"objective": {"name": "beta_tcvae", "estimator": "mvs"}},
        "objective.estimator should be 'none', 'mws', 'mixture' or 'mss'",
    ),
    "target below zero": (
        {"objective": {"name": "control_vae", "target": -3}},
        "ControlVAE.target must be 0 or more; got -3",
    ),
    "schedule that begins when the run is over": (
        {"steps": 9, "objective": {"beta": {"kind": "linear", "start": 0, "end": 1, "begin": 9}}},
        "objective.beta begins to change at step 9, but the run ends at 9",
    ),
    "key of format 1": ({"draw": "pairs"}, "Unknown key 'draw'; it is sampler now."),
    "key of data of format 1": (
        {"data": {"name": "xysquares", "standardise": True}},
        "Unknown key 'data.standardise'; it is standardize now.",
    ),
    "unknown sampler": ({"sampler": "pair"}, "There is no sampler 'pair'; did you mean 'pairs'?"),
    "number for a sampler": (
        {"sampler": {"name": 3}},
        "sampler.name must be the name of a sampler; got 3",
    ),
    "list for a sampler": ({"sampler": []}, "sampler must be a table or a name; got []"),
    "key of a sampler": ({"sampler": {"name": "pairs", "changedd": 1}}, "did you mean 'changed'?"),
    "views of another number": (
        {"sampler": "pairs"},
        "The sampler Pairs gives 2 views and BetaVAE takes 1",
    ),
    "unknown weight of pairs": (
        {"objective": "ada_gvae", "sampler": {"weights": [{"kind": "correlate"}]}},
        "sampler.weights[0].kind has no choice 'correlate'; did you mean 'correlated'?",
    ),
    "weights of pairs that are no list": (
        {"objective": "ada_gvae", "sampler": {"weights": "correlated"}},
        "sampler.weights should be a list; got 'correlated'.",
    ),
    "unknown weight": (
        {"sampler": {"weights": [{"kind": "correlate"}]}},
        "sampler.weights[0].kind has no choice 'correlate'; did you mean 'correlated'?",
    ),
    "weight that is no table": ({"sampler": {"weights": [3]}}, "sampler.weights[0] should be"),
    "key of a weight": (
        {"sampler": {"weights": [{"kind": "correlated", "first": "x", "second": "y", "sgma": 1}]}},
        "'sampler.weights[0].sgma'; did you mean 'sigma'?",
    ),
    "format of the future": ({"format": 3}, "have format 3; this release reads 2"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_settings_get_one_clear_line(case):
    table, expected = BAD[case]
    with pytest.raises(ConfigError) as caught:
        config.spec(table)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
