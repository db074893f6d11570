"""Options of a training, axis by axis, and trainings with some of them on a tiny grid."""

import torch

from unknot.core import dotted
from unknot.engine.looped import Looped
from unknot.runs import checkpoints, config
from unknot.runs.training import Training

STEPS = 12
AXES = {
    "optimiser": {
        "adam": {},
        "adamw": {"optim.name": "adamw", "optim.weight_decay": 0.1},
        "rmsprop": {"optim.name": "rmsprop", "optim.momentum": 0.5, "optim.centered": True},
        "adagrad": {"optim.name": "adagrad"},
        "sgd": {"optim.name": "sgd", "optim.momentum": 0.9, "optim.nesterov": True},
    },
    "objective": {
        "plain": {"objective.name": "beta_vae"},
        "critic": {"objective.name": "factor_vae", "objective.critic_width": 8},
        "extra state": {"objective.name": "l_vae"},
        "carried state": {"objective.name": "control_vae"},
        "pairs": {"objective.name": "ada_gvae"},
    },
    "rate": {
        "constant": {"optim.lr": 1e-3},
        "schedule": {"optim.lr": {"kind": "warmup", "value": 1e-3, "warmup": 4, "then": "cosine"}},
    },
    "clipping": {
        "none": {},
        "norm": {"optim.clip_norm": 1.0},
        "value": {"optim.clip_value": 0.1},
    },
    "average": {"none": {}, "ema": {"ema": 0.8}},
    "split": {
        "none": {},
        "rows": {"split": {"kind": "rows", "validation": 0.3, "test": 0.1}},
        "combinations": {"split": {"kind": "combinations", "factors": ["factor_0", "factor_1"]}},
        "range": {"split": {"kind": "range", "factors": ["factor_2"]}},
    },
    "looks": {
        "none": {},
        "validation": {"validate_every": 5},
        "keep best": {"validate_every": 2, "keep": "validation.recon"},
        # The worst loss of training is soon behind: members stop at steps of their own.
        "stop": {"stop": {"metric": "loss", "patience": 1, "better": "higher"}, "log_every": 2},
        "stop at validation": {"validate_every": 2, "stop.patience": 1, "stop.better": "higher"},
        "scores": {"score_at": [5, 7]},
        "stop by a score": {
            "score_every": 3,
            "keep": "mig",
            "stop": {"metric": "mig", "patience": 1},
        },
    },
}


def spec_of(case, data, **others):
    """What a case says, on little data; ``others`` are settings besides."""
    table = {
        "data": {"name": "arrays", "path": str(data)},
        "net": {"name": "linear", "latents": 3},
        "steps": STEPS,
        "batch": 8,
        "seeds": [5, 2**40],
        "precision": "float64",
        "log_every": 3,
        "checkpoint_every": 4,
        **others,
    }
    for axis, value in case.items():
        for path, setting in AXES[axis][value].items():
            dotted.put(table, path, setting)
    return config.spec(table)


def start(spec, backend=Looped, device="cpu"):
    training = Training.start([spec], device)
    if not isinstance(training.population, backend):
        training.population = backend.fresh(training.context, spec.members())
    return training


def train(spec, backend=Looped, device="cpu"):
    """A finished training and its checkpoints."""
    training, saved = start(spec, backend, device), []
    training.run(save=lambda one: saved.append(checkpoints.pack(one)))
    return training, saved


def assert_same(one, other, member=slice(None)):
    assert one.keys() == other.keys()
    for name, value in other.items():
        torch.testing.assert_close(one[name][member], value, rtol=0, atol=0, equal_nan=True)


def state(training):
    """All that a training has come to."""
    best = {f"best {name}": value for name, value in training.best_weights.items()}
    curves = {**training.curves.tensors(), **training.validation.tensors("seen")}
    return {**training.population.state(), **curves, **best}
