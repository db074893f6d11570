"""Objectives in Lightning, with the real package: the weights of a plain loop."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import unknot
from unknot import objectives
from unknot.data.parts.images import Bytes

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


def test_a_callback_scores_during_training_and_changes_nothing(tmp_path):
    """Logged scores are those of the weights of their epoch, and can be monitored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lightning import Trainer
        from lightning.pytorch.callbacks import ModelCheckpoint

        space = unknot.FactorSpace(("x", "y"), (8, 8), ("ordered", "ordered"))
        images = torch.zeros(64, 1, 8, 8)
        images.view(64, -1)[torch.arange(64), torch.arange(64)] = 1
        data = unknot.FactorDataset("dots", space, Bytes((255 * images).byte()))
        loader = DataLoader(TensorDataset(images), batch_size=16)

        def fit(*callbacks):
            module = unknot.lightning.Module(objectives.BetaVAE(beta=2.0), *parts())
            options = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False}
            trainer = Trainer(
                max_epochs=4, enable_model_summary=False, default_root_dir=tmp_path,
                callbacks=[*callbacks], enable_checkpointing=len(callbacks) > 1, **options,
            )  # fmt: skip
            trainer.fit(module, loader)
            return module, trainer

        best = ModelCheckpoint(tmp_path, monitor="score/mig", mode="max", every_n_epochs=2)
        score = unknot.lightning.ScoreCallback(data, ["mig"], every_n_epochs=2)
        module, trainer = fit(score, best)
        plain, _ = fit()
    expected = unknot.evaluate(module, data, metrics=["mig"])["mig"]
    assert trainer.callback_metrics["score/mig"] == pytest.approx(float(expected), abs=1e-6)
    assert best.best_model_path
    for a, b in zip(module.parameters(), plain.parameters(), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(unknot.UnknotError, match="did you mean 'mig'"):
        unknot.lightning.ScoreCallback(data, ["mgi"])
