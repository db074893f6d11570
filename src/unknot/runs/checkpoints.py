"""A training to a checkpoint, and back: to the bit what it would have been without a pause."""

from pathlib import Path

from unknot.core.errors import StoreError
from unknot.engine.checkpoint import Checkpoint
from unknot.runs.curves import Curves
from unknot.runs.description import check_images
from unknot.runs.states import check_tensors
from unknot.runs.training import Training

OTHERS = ("curves", "seen", "best.")
"""How tensors of a checkpoint begin that are not the population's."""


def pack(training: Training) -> Checkpoint:
    """All of a training, to resume from."""
    tensors = {
        **training.population.state(),
        **training.curves.tensors(),
        **training.validation.tensors("seen"),
        **{f"best.{name}": value for name, value in training.best_weights.items()},
    }
    looks = {"best": training.best, "patience": training.patience}
    facts = {
        **{name: look.facts() for name, look in looks.items() if look is not None},
        "validation": [*training.validation.values],
        "stopped": {str(member): step for member, step in training.stopped_early.items()},
        "diverged": {str(member): step for member, step in training.diverged.items()},
        "ids": training.ids,
        "curves": [*training.curves.values],
        "threads": training.threads,
        "seconds": training.seconds,
        "images": training.context.dataset.signature(),
    }
    return Checkpoint(training.step, tensors, facts)


def restore(training: Training, saved: Checkpoint, source: Path) -> None:
    """Set a fresh training to a checkpoint."""
    if saved.facts.get("ids") not in (training.ids, training.continues.get("ids")):
        raise StoreError(f"The checkpoint in {source} belongs to another run.")
    seen = saved.facts.get("images")
    check_images(training.context.dataset, seen, f"the checkpoint in {source}")
    state = {n: t for n, t in saved.tensors.items() if not n.startswith(OTHERS)}
    check_tensors(training.population.state(), state, source)
    training.population.load(state)
    stopped = {int(member): step for member, step in saved.facts.get("stopped", {}).items()}
    names = saved.facts["curves"], saved.facts.get("validation", [])
    training.curves = Curves.from_tensors(saved.tensors, names[0], ended=stopped)
    training.validation = Curves.from_tensors(saved.tensors, names[1], "seen", stopped)
    if saved.facts["ids"] != training.ids:  # the last step of the shorter run was out of turn
        spec = training.specs[0]
        training.curves = training.curves.thin(spec.log_every, first=True)
        training.validation = training.validation.thin(spec.validate_every or 1)
    training.stopped_early = stopped
    training.population.freeze(stopped)
    for name, look in (("best", training.best), ("patience", training.patience)):
        if look is not None and name in saved.facts:
            look.restore(saved.facts[name])
    best = {n: t for n, t in saved.tensors.items() if n.startswith("best.")}
    training.best_weights = {n.removeprefix("best."): t for n, t in best.items()}
    training.diverged = {int(member): step for member, step in saved.facts["diverged"].items()}
    training.step = saved.step
    training.seconds = saved.facts.get("seconds", 0.0)
    training.threads = saved.facts.get("threads", training.threads)
