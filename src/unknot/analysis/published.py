"""Published results, as tables in our own words."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unknot.core import registry
from unknot.core.errors import DataError
from unknot.study.spec import plain

DATA = {
    "dsprites_full": "dsprites",
    "color_dsprites": "color_dsprites",
    "noisy_dsprites": "noisy_dsprites",
    "scream_dsprites": "scream_dsprites",
    "smallnorb": "smallnorb",
    "cars3d": "cars3d",
}
OBJECTIVES = {
    "beta_vae": "beta_vae",
    "factor_vae": "factor_vae",
    "dip_vae_i": "dip_vae_i",
    "dip_vae_ii": "dip_vae_ii",
    "beta_tc_vae": "beta_tcvae",
    "annealed_vae": "annealed_vae",
}
SCORES = {
    "elbo": "elbo",
    "recon": "reconstruction_loss",
    "kl": "kl_loss",
    "loss": "loss",
    "regularizer": "regularizer",
    "beta_vae": "beta_vae_eval_accuracy",
    "beta_vae.train_accuracy": "beta_vae_train_accuracy",
    "factor_vae": "factor_vae_eval_accuracy",
    "factor_vae.train_accuracy": "factor_vae_train_accuracy",
    "mig": "mig_discrete_mig",
    "sap": "sap_score",
    "dci": "dci_disentanglement",
    "dci.disentanglement": "dci_disentanglement",
    "dci.completeness": "dci_completeness",
    "dci.informativeness": "dci_informativeness_test",
    "dci.train_informativeness": "dci_informativeness_train",
    "modularity": "modularity_score",
    "explicitness": "modularity_explicitness_score_test",
    "explicitness.train_auc": "modularity_explicitness_score_train",
}
"""Our names of the published columns."""
SEVEN = (
    "beta_vae", "factor_vae", "mig", "sap", "dci.disentanglement", "dci.completeness",
    "dci.informativeness",
)  # fmt: skip
"""The scores that the studies of 2019 and 2021 compare models by."""
ALL_RUNS = {
    "steps": 300_000, "batch": 64, "precision": "float32",
    "net": "locatello", "net.latents": 10, "net.conv3_kernel": 2, "net.init": "glorot",
    "optim.lr": 1e-4, "optim.beta1": 0.9, "optim.beta2": 0.999, "optim.eps": 1e-8,
}  # fmt: skip
"""What all runs of the study share, by our names."""
RUNAWAY = 1e4
"""Nats of divergence from the prior above which a run counts as diverged, as for our FactorVAE."""


def read(path: str | Path) -> dict[str, list[Any]]:
    """Runs of the 2019 study, as columns like those of a study of ours.

    The settings are those of the objectives' presets ``study2019`` with the strength of each run,
    ``lambda_d`` multiplied out and the capacity as the schedule it is. Both sum over pixels and
    latents, so that strengths and losses need no other translation. Seven of the published runs
    went astray with divergences above 1e5 nats; they are marked as diverged.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations", whose pretrained models were collected run by run by Hartmann
    2021.

    Args:
        path: A CSV file of one dataset, or a folder of them.

    Raises:
        DataError: There is no such file, or it is not of this kind.
    """
    path = Path(path)
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    if not files:
        raise DataError(f"{path} holds no CSV files of published runs.")
    records = [record for file in files for record in _records(file)]
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _records(file: Path) -> list[dict[str, Any]]:
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            rows = list(csv.DictReader(opened))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read the published runs of {file}: {error}.") from error
    wanted = {"model_num", "dataset", "model_name", "model_random_seed", *SCORES.values()}
    if not rows or (lacking := sorted(wanted - set(rows[0]))):
        said = f"has no column {', '.join(lacking)}" if rows else "has no rows"
        raise DataError(f"{file} is no table of the 2019 study: it {said}.")
    try:
        return [_record(row) for row in rows]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{file} is no table of the 2019 study: {error!r}.") from error


def _record(row: Mapping[str, str]) -> dict[str, Any]:
    objective = OBJECTIVES[row["model_name"].strip("'")]
    scores = {name: _number(row[column]) for name, column in SCORES.items()}
    kl = scores["kl"]
    diverged = kl is None or not kl <= RUNAWAY
    return {
        "id": row["model_num"],
        "seed": int(row["model_random_seed"]),
        "status": "diverged" if diverged else "done",
        "diverged": diverged,
        "data": DATA[row["dataset"].strip("'")],
        "objective": objective,
        **{f"objective.{name}": value for name, value in _settings(objective, row).items()},
        **ALL_RUNS,
        **scores,
    }


def _settings(objective: str, row: Mapping[str, str]) -> dict[str, Any]:
    """All settings of a run's objective, flat."""
    preset = registry.presets("objectives", objective)["study2019"]
    if objective == "annealed_vae":
        own: dict[str, Any] = {"c": replace(preset.c, end=float(row["annealed_vae_c_max"]))}
    elif objective == "factor_vae":
        own = {"gamma": float(row["factor_vae_gamma"])}
    elif objective.startswith("dip_vae"):
        od = float(row["dip_vae_lambda_od"])
        own = {"lambda_od": od, "lambda_d": od * float(row["dip_vae_lambda_d_factor"])}
    else:
        own = {"beta": float(row["vae_beta" if objective == "beta_vae" else "beta_tc_vae_beta"])}
    flat: dict[str, Any] = {}
    for name, value in plain(replace(preset, **own)).items():
        inner = {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {}
        flat |= inner or {name: value}
    return flat


def _number(cell: str) -> float | None:
    return float(cell) if cell else None
