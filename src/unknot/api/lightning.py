"""An objective of unknot as a module of Lightning; needs the extra ``lightning``."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from unknot.api.model import Model
from unknot.core.errors import ConfigError
from unknot.core.objective import Adversarial, Objective
from unknot.core.optim import Optimizer
from unknot.engine.updates import move_weights, torch_optimizer
from unknot.runs.metric_names import metric_names
from unknot.runs.own_data import as_dataset
from unknot.runs.own_encoder import evaluate

try:
    from lightning import Callback, LightningModule, Trainer
except ModuleNotFoundError as error:
    if error.name != "lightning":
        raise
    raise ConfigError(
        "unknot.lightning needs Lightning; install it with: pip install 'unknot[lightning]'."
    ) from error


class Module(LightningModule):
    """Any objective with modules of one's own, for ``Trainer.fit``.

    A batch is a tensor of images, or a list whose first entries are the views of the objective;
    what comes after, such as labels, is left out. A critic has its own optimiser; with one,
    Lightning counts two steps for each batch.

    Args:
        objective: One of `unknot.objectives`, or of your own.
        encoder: As in `unknot.Model`.
        decoder: As in `unknot.Model`.
        n_data: How many images there are; the length of the loader's dataset when None.
        seed: Of the noise, and of the weights of a critic.
        optimizer: Adam when None; the critic has that of its objective.
    """

    def __init__(
        self,
        objective: Objective,
        encoder: nn.Module,
        decoder: nn.Module,
        *,
        n_data: int | None = None,
        seed: int = 0,
        optimizer: Optimizer | None = None,
    ) -> None:
        super().__init__()
        self.automatic_optimization = False  # a critic's gradients are its own
        self.n_data = n_data
        self.model = Model(  # the loader says how many there are
            objective, encoder, decoder, n_data=n_data or 1, seed=seed, optimizer=optimizer
        )

    def setup(self, stage: str) -> None:
        """Make what depends on the shape of images, before optimisers are made."""
        if stage != "fit":
            return
        self.trainer.fit_loop.setup_data()
        data = getattr(self.trainer.train_dataloader, "dataset", None)
        if data is None or not hasattr(data, "__len__"):
            raise ConfigError("Lightning's loader has no dataset with a length; use a DataLoader.")
        self.model.n_data = self.n_data or len(data)
        first = data[0][0] if isinstance(data[0], tuple | list) else data[0]
        self.model.build(torch.stack([first, first]).to(self.device))

    def training_step(self, batch: Any, _: int) -> None:
        """One step of all optimisers."""
        losses = self.model.losses(*self._views(batch))
        optimizers = self.optimizers()
        optimizers = optimizers if isinstance(optimizers, list) else [optimizers]
        for optimizer in optimizers:
            optimizer.zero_grad()
        self.model.backward(losses)
        for name, optimizer in zip(losses.terms, optimizers, strict=True):
            move_weights(optimizer, self.model.optim_of(name), self.model.t - 1)
        self.log_dict({f"train/{name}": value.detach() for name, value in losses.items()})

    def validation_step(self, batch: Any, _: int) -> None:
        """Log the loss and its terms."""
        losses = self.model.losses(*self._views(batch))
        self.log_dict({f"validation/{name}": value for name, value in losses.items()})

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        """One for the net, and one for a critic."""
        critic = isinstance(self.model.objective, Adversarial)
        return [
            torch_optimizer(self.model.weights(name), self.model.optim_of(name))
            for name in (("net", "critic") if critic else ("net",))
        ]

    def forward(self, x: Tensor) -> Tensor:
        """Codes of images."""
        return self.model.encode(x)

    def _views(self, batch: Any) -> list[Tensor]:
        if isinstance(batch, Tensor):
            return [batch]
        return list(batch[: self.model.views])


class ScoreCallback(Callback):
    """Scores any LightningModule during training; its ``forward`` encodes images.

    Scores are logged as ``score/mig`` and so on, for loggers, `EarlyStopping` and
    `ModelCheckpoint`. Training is what it would be without: neither gradients nor PyTorch's
    generator are touched.

    Args:
        data: A dataset with factors, by name or as an object: whatever `unknot.dataset` takes.
        metrics: Names of metrics.
        every_n_epochs: Epochs between two scores.
        protocol: The name of a metric protocol.
        seed: Random seed for the metrics.

    Example:
        ``Trainer(callbacks=[ScoreCallback("dsprites", ["mig"], every_n_epochs=5)])``
    """

    def __init__(
        self,
        data: Any,
        metrics: Sequence[str],
        *,
        every_n_epochs: int = 1,
        protocol: str = "unknot",
        seed: int = 0,
    ) -> None:
        super().__init__()
        if every_n_epochs < 1:
            raise ConfigError(f"every_n_epochs must be 1 or more; got {every_n_epochs}.")
        self.dataset = as_dataset(data, {})
        self.metrics, self.every = metric_names(metrics), every_n_epochs
        self.protocol, self.seed = protocol, seed

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Score the module, and log the scores."""
        if (trainer.current_epoch + 1) % self.every:
            return
        scores = evaluate(
            pl_module,
            self.dataset,
            metrics=self.metrics,
            protocol=self.protocol,
            seed=self.seed,
        )
        pl_module.log_dict({f"score/{name}": value for name, value in scores.values.items()})
