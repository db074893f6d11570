"""Encoder and decoder of a trained model as plain modules."""

import torch
from torch import nn

from unknot.nets.parts.given_modules import named_tensors
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
    weights = training.weights()
    with torch.no_grad():
        for name, tensor in named_tensors(module).items():
            tensor.copy_(weights[f"{part}.{name}"][0])
    return module.eval()
