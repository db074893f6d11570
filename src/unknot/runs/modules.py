"""Encoder and decoder of a trained model as plain modules."""

from torch import nn

from unknot.runs.training import Training


def trained_module(training: Training, part: str) -> nn.Module:
    """The encoder or decoder of a population of one, with weights of its own.

    Args:
        training: A trained model.
        part: ``encoder`` or ``decoder``.
    """
    context = training.context
    module = context.modules(training.specs[0].objective.settings)[part]
    module = module.to_empty(device=context.runtime.device).to(dtype=context.runtime.dtype)
    prefix = f"{part}."
    weights = {
        name.removeprefix(prefix): stacked[0].clone()
        for name, stacked in training.weights().items()
        if name.startswith(prefix)
    }
    module.load_state_dict(weights)
    return module.eval()
