"""Your codes and your encoder: scores of models that unknot did not train."""

import numpy as np
import torch

import unknot
from unknot import metrics

# Codes and labels as arrays, from any model.
rng = np.random.default_rng(0)
labels = rng.integers(0, 5, size=(2000, 2))
codes = np.stack([labels[:, 0], labels.sum(1), rng.normal(size=2000)], axis=1) + 0.0
print(metrics.mig(codes, labels))
print(metrics.dci(codes, labels).values)

# An encoder: metrics that need their own rows, such as the FactorVAE score, draw them.
encoder = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 64 * 64, 6))
print(unknot.evaluate(encoder, data="xysquares", metrics=["active_units", "modularity"]))
