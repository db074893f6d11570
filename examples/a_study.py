"""A study: several configurations and seeds, a table, and a page. Run it again to resume."""

import os

import unknot
from unknot import nets

steps = int(os.environ.get("STEPS", "3000"))

if __name__ == "__main__":
    study = unknot.study(
        "two betas",
        data="xysquares",
        objective="beta_vae",
        net=nets.Linear(latents=6),
        grid={"objective.beta": [1, 8]},
        seeds=2,
        metrics=["active_units", "mig"],
        steps=steps,
    )
    print(study)
    study.run(device="cpu")
    print(study.table()[["objective.beta", "seed", "recon", "active_units", "mig"]])
    print(study.effect("objective.beta", "mig"))
    print(study.best("mig"))
    if steps > 100:
        print(study.report())  # the page with all figures; takes a minute to draw
