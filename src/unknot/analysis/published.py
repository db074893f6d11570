"""Published results, as tables in our own words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unknot.core.csv_files import read_csv
from unknot.core.errors import DataError

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
SWEPT = {
    "beta_vae": {"beta": "vae_beta"},
    "factor_vae": {"gamma": "factor_vae_gamma"},
    "dip_vae_i": {"lambda_od": "dip_vae_lambda_od", "lambda_d": "dip_vae_lambda_d_factor"},
    "dip_vae_ii": {"lambda_od": "dip_vae_lambda_od", "lambda_d": "dip_vae_lambda_d_factor"},
    "beta_tcvae": {"beta": "beta_tc_vae_beta"},
    "annealed_vae": {"c.end": "annealed_vae_c_max"},
}
"""For each objective our names of what the study varies, and the published columns."""
OBJECTIVE_SETTINGS: dict[str, dict[str, Any]] = {
    "beta_vae": {"beta": 4.0, "likelihood": "bernoulli"},
    "factor_vae": {
        "gamma": 50.0, "second_batch": False, "count_both_optimizers": True, "critic_layers": 6,
        "critic_width": 1000, "critic_slope": 0.2, "critic_lr": 1e-4, "critic_beta1": 0.5,
        "critic_beta2": 0.9, "likelihood": "bernoulli",
    },
    "dip_vae_i": {"lambda_od": 10.0, "lambda_d": 100.0, "decay": 0.0, "likelihood": "bernoulli"},
    "dip_vae_ii": {
        "lambda_od": 10.0, "lambda_d": 10.0, "lambda_3": 0.0, "third": "analytic", "decay": 0.0,
        "likelihood": "bernoulli",
    },
    "beta_tcvae": {
        "alpha": 1.0, "beta": 6.0, "gamma": 1.0, "estimator": "none", "reading": "beta_minus_1",
        "likelihood": "bernoulli",
    },
    "annealed_vae": {
        "gamma": 1000.0, "c.kind": "linear", "c.start": 0.0, "c.end": 25.0, "c.steps": 100_000.0,
        "c.begin": 0.0, "likelihood": "bernoulli",
    },
}  # fmt: skip
"""The settings of each objective, flat: those of the presets ``study2019``."""
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

    The settings are those of the objectives' presets ``study2019`` with the swept value of each
    run, ``lambda_d`` multiplied out and the capacity as the schedule it is. Both sum over pixels
    and latents, so that values and losses need no other translation. Seven of the published runs
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
    rows = read_csv(file)
    needed = {"model_num", "dataset", "model_name", "model_random_seed", *SCORES.values()}
    if not rows or (lacking := sorted(needed - set(rows[0]))):
        reason = f"has no column {', '.join(lacking)}" if rows else "has no rows"
        raise DataError(f"{file} is no table of the 2019 study: it {reason}.")
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
    names = SWEPT[objective]
    swept = {name: float(row[column]) for name, column in names.items()}
    if "lambda_d" in swept:  # published as a multiple of lambda_od
        swept["lambda_d"] *= swept["lambda_od"]
    return {**OBJECTIVE_SETTINGS[objective], **swept}


def _number(text: str) -> float | None:
    return float(text) if text else None
