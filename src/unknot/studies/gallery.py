"""Settings of objectives for a run of a few thousand steps, where those of the paper are longer."""

from typing import Any


def short(name: str, steps: int) -> dict[str, Any]:
    """What to change of an objective's defaults so that it shows its working in so few steps."""
    changes: dict[str, dict[str, Any]] = {
        # A capacity that is raised within the run, with a leash that lets the net learn meanwhile:
        # held at 0 by a strong one, latents are filled later with what the decoder never reads.
        "annealed_vae": {
            "c": {"kind": "linear", "start": 5.0, "end": 20.0, "steps": float(steps)},
            "gamma": 10.0,
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
