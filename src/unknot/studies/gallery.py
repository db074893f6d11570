"""A gallery: one short run of each of several objectives, below one folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unknot.core import registry
from unknot.core.errors import ConfigError, StoreError
from unknot.runs import config
from unknot.runs.folder import RunFolder
from unknot.runs.spec import TrainSpec


def specs(
    objectives: Sequence[str] | None,
    *,
    data: str,
    net: str,
    steps: int,
    batch: int,
    lr: float,
    seed: int,
) -> dict[str, TrainSpec]:
    """What to train, by objective; all of them unless named."""
    return {
        name: config.spec(
            {
                "data": data,
                "net": net,
                "objective": {"name": name, **quick_settings(name, steps)},
                "optim": {"lr": lr},
                "steps": steps,
                "batch": batch,
                "seeds": seed,
                "log_every": max(1, steps // 100),
            }
        )
        for name in objectives or registry.names("objectives")
    }


def check_folder(folder: Path, specs: dict[str, TrainSpec]) -> None:
    """Refuse a folder that holds something else, or the same runs with other settings."""
    if any((folder / file).exists() for file in ("run.toml", "study.db")):
        raise StoreError(f"{folder} is not a gallery folder; choose another with --out.")
    for name, spec in specs.items():
        run = folder / name
        if (run / "run.toml").exists() and RunFolder(run).spec().ids() != spec.ids():
            raise ConfigError(
                f"{run} was trained with other settings; choose another folder with --out."
            )


def quick_settings(name: str, steps: int) -> dict[str, Any]:
    """What to change of an objective's defaults so that it shows its working in so few steps."""
    changes: dict[str, dict[str, Any]] = {
        # A capacity that is raised within the run, with a leash that lets the net learn meanwhile:
        # held at 0 by a strong one, latents are filled later with what the decoder never reads.
        "annealed_vae": {
            "c": {"kind": "linear", "start": 5.0, "end": 20.0, "steps": float(steps)},
            "gamma": 10.0,
        },
        # The same, with the three shapes that the discrete latent may find in dSprites.
        "joint_vae": {
            "c_z": {"kind": "linear", "start": 5.0, "end": 20.0, "steps": float(steps)},
            "c_c": {"kind": "linear", "start": 0.0, "end": 1.1, "steps": float(steps)},
            "gamma": 10.0,
            "categories": 3,
        },
        # Squared errors of sparse images are small, and the mean image is a long rest on the way.
        "aae": {"likelihood": "bernoulli"},
        "wae_mmd": {"likelihood": "bernoulli"},
        # The same, and at this learning rate a sigmoid goes black at once and stays so.
        "l_vae": {"likelihood": "gaussian"},
        "mdl_vae": {"likelihood": "gaussian"},
        "sigma_vae": {"likelihood": "gaussian"},
        # A target that is there from the start: the ramp of the papers takes 100,000s of steps.
        "control_vae": {"ramp": False},
        "dynamic_vae": {"ramp": False},
    }
    return changes.get(name, {})
