"""Objectives in Lightning, with the real package: the weights of a plain loop."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import unknot
from unknot import objectives

pytest.importorskip("lightning")
pytestmark = pytest.mark.filterwarnings("ignore")


def parts():
    torch.manual_seed(3)
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))
    return encoder, nn.Sequential(nn.Linear(3, 64), nn.Unflatten(1, (1, 8, 8)))


@pytest.mark.parametrize(
    "objective", [objectives.BetaVAE(beta=2.0), objectives.FactorVAE(critic_width=8)]
)
def test_lightning_trains_as_a_plain_loop(objective, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lightning import Trainer

        images = torch.rand(40, 1, 8, 8, generator=torch.Generator().manual_seed(0))
        loader = DataLoader(TensorDataset(images, torch.arange(40)), batch_size=8)
        plain = unknot.Model(objective, *parts(), n_data=40)
        for x, _ in loader:
            plain.step(plain.losses(x))
        module = unknot.lightning.Module(objective, *parts())
        trainer = Trainer(
            max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
        )  # fmt: skip
        trainer.fit(module, loader)
    assert module.model.n_data == 40
    expected = dict(plain.named_parameters())
    for name, weight in module.model.named_parameters():
        torch.testing.assert_close(weight, expected[name])
    assert module(images[:2]).shape == (2, 3)
