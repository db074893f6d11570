"""Your own loop: an objective with a critic in plain PyTorch, your own optimiser, Lightning."""

import os
from importlib.util import find_spec

import torch
from torch import nn
from torch.utils.data import DataLoader

import unknot
from unknot import objectives

steps = int(os.environ.get("STEPS", "1000"))
data = unknot.dataset("xysquares")
loader = DataLoader(data, batch_size=64, sampler=torch.randperm(len(data))[: 64 * steps].tolist())
pixels = data[0].numel()


def modules():
    """An encoder and a decoder; the decoder gives logits, not probabilities."""
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(pixels, 128), nn.ReLU(), nn.Linear(128, 2 * 6))
    decoder = nn.Sequential(nn.Linear(6, 128), nn.ReLU(), nn.Linear(128, pixels))
    return encoder, nn.Sequential(decoder, nn.Unflatten(1, tuple(data.shape)))


model = unknot.Model(objectives.FactorVAE(gamma=10.0), *modules(), n_data=len(data), seed=0)
for x in loader:
    losses = model.losses(x)  # each term, "total" and "critic"
    model.step(losses)  # moves encoder, decoder and critic
print({name: round(value.item(), 3) for name, value in losses.items()})

# The same with optimisers of your own; with Accelerate, prepare the modules and loader first.
model = unknot.Model(objectives.BetaVAE(beta=2.0), *modules(), n_data=len(data)).build(
    next(iter(loader))
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x in loader:
    optimizer.zero_grad()
    losses = model.losses(x)
    losses["total"].backward()
    optimizer.step()
print({name: round(value.item(), 3) for name, value in losses.items()})

codes = model.encode(next(iter(loader)))
images = model.decode(codes)
print(codes.shape, images.shape)

# The loop of Lightning, where it is installed: pip install 'unknot[lightning]'.
if find_spec("lightning"):
    from lightning import Trainer

    module = unknot.lightning.Module(objectives.FactorVAE(gamma=10.0), *modules())
    trainer = Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False)
    trainer.fit(module, loader)
    print({name: round(value.item(), 3) for name, value in trainer.callback_metrics.items()})
