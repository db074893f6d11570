"""A scikit-learn estimator around any objective: codes in a pipeline."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from unknot.api.loading import load
from unknot.api.training import train
from unknot.core.files import inside


class VAE(TransformerMixin, BaseEstimator):
    """Codes of the rows of a table, by a model that is trained on them.

    Columns are standardised. `transform` gives posterior means, `inverse_transform` decodes codes
    into the units of the columns, `score` is minus the mean squared error of reconstructions in
    standard deviations. The trained run is ``run_``.

    Args:
        objective: By name, or an object such as ``unknot.objectives.BetaTCVAE(beta=6)``.
        latents: Number of latents.
        steps: Training steps.
        batch: Rows per step.
        lr: Learning rate of Adam.
        settings: The objective's settings, such as ``{"beta": 4}``.
        net: By name, or an object; `mlp` unless given.
        random_state: Seed of the run.
        device: As in `unknot.train`.

    Example:
        >>> X = np.random.default_rng(0).normal(size=(50, 4))
        >>> VAE(latents=2, steps=10).fit(X).transform(X).shape
        (50, 2)
    """

    def __init__(
        self,
        objective: Any = "beta_vae",
        latents: int = 10,
        *,
        steps: int = 2_000,
        batch: int = 64,
        lr: float = 1e-3,
        settings: Mapping[str, Any] | None = None,
        net: Any = None,
        random_state: int = 0,
        device: str = "auto",
    ) -> None:
        self.objective, self.latents, self.net = objective, latents, net
        self.steps, self.batch, self.lr, self.settings = steps, batch, lr, settings
        self.random_state, self.device = random_state, device

    def __getstate__(self) -> dict[str, Any]:
        """As any estimator, with the files of the run folder in place of the run."""
        state: dict[str, Any] = super().__getstate__()
        if (run := state.get("run_")) is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = run.save(Path(folder) / "run")
                files = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
            state = {**state, "run_": files}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(files := state.get("run_"), dict):
            with tempfile.TemporaryDirectory() as folder:
                for name, data in files.items():
                    inside(Path(folder), name).write_bytes(data)
                state = {**state, "run_": load(folder, device=state.get("device", "auto"))}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # codes are float32
        return tags

    def fit(self, X: Any, y: Any = None) -> "VAE":  # noqa: N803, ARG002 - scikit-learn's names
        """Train a model on the rows."""
        table = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        by_name = self.net is None or isinstance(self.net, str)
        self.run_ = train(
            table,
            self.objective,
            self.net,
            steps=self.steps,
            batch=self.batch,
            lr=self.lr,
            seeds=self.random_state,
            device=self.device,
            net_settings={"latents": self.latents} if by_name else None,
            objective_settings=self.settings,
            progress=False,
        )
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """Posterior means ``[n, latents]``."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.run_.encode(table))

    def inverse_transform(self, Z: Any) -> np.ndarray:  # noqa: N803
        """Rows in the units of the columns, decoded from codes."""
        check_is_fitted(self)
        codes = check_array(Z, dtype=np.float64)
        decoded = self.run_.dataset.unit(self.run_.decode(torch.from_numpy(codes)))
        return np.asarray(decoded.flatten(1))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803, ARG002
        """Minus the mean squared error of reconstructions, in standard deviations; 0 is perfect."""
        table = validate_data(self, X, dtype=np.float64, reset=False)
        std = np.asarray(self.run_.dataset.std)
        error = (self.inverse_transform(self.transform(table)) - table) / std
        return -float(np.square(error).mean())

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """``z0``, ``z1`` and so on."""
        check_is_fitted(self)
        return np.array([f"z{i}" for i in range(self.run_.spec.net.settings.latents)], dtype=object)
