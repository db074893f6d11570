"""Published scores of the 2019 study, one row a model; kept in a folder beside the checkout."""

import csv
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "../shared/reference/study2019"
DATASETS = ("dsprites_full", "smallnorb", "cars3d")
SCORES = {
    "beta_vae": "beta_vae_eval_accuracy",
    "factor_vae": "factor_vae_eval_accuracy",
    "mig": "mig_discrete_mig",
    "sap": "sap_score",
    "dci.d": "dci_disentanglement",
    "dci.c": "dci_completeness",
    "dci.i": "dci_informativeness_test",
    "modularity": "modularity_score",
}
STRENGTHS = {
    "beta_vae": "vae_beta",
    "factor_vae": "factor_vae_gamma",
    "dip_vae_i": "dip_vae_lambda_od",
    "dip_vae_ii": "dip_vae_lambda_od",
    "beta_tc_vae": "beta_tc_vae_beta",
    "annealed_vae": "annealed_vae_c_max",
}


@cache
def table(dataset: str) -> dict[str, list[Any]]:
    """1,800 models: objective, strength, seed and scores."""
    if not FOLDER.exists():
        pytest.skip("no published scores beside the checkout")
    with (FOLDER / f"{dataset}.csv").open() as file:
        rows = list(csv.DictReader(file))
    objectives = [row["model_name"].strip("'") for row in rows]
    return {
        "objective": objectives,
        "swept_value": [float(r[STRENGTHS[o]]) for r, o in zip(rows, objectives, strict=True)],
        "seed": [int(row["model_random_seed"]) for row in rows],
        **{name: [float(row[key]) for row in rows] for name, key in SCORES.items()},
    }


def seed_scores(dataset: str, objective: str, strength: float, score: str) -> list[float]:
    """A score of the 50 seeds of one setting."""
    rows = table(dataset)
    settings = zip(rows["objective"], rows["swept_value"], rows[score], strict=True)
    return [value for o, s, value in settings if (o, s) == (objective, strength)]
