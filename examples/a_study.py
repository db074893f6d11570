"""A study: several configurations and seeds, a table, and a page. Run it again to resume."""

import os

import unknot
from unknot import nets

steps = int(os.environ.get("STEPS", "1500"))

if __name__ == "__main__":
    study = unknot.study(
        "two betas",
        data="soft_squares",
        objective="beta_vae",
        net=nets.MLP(latents=6, hidden=(128, 128)),
        grid={"objective.beta": [1, 8]},
        seeds=3,
        metrics=["active_units", "dci"],
        steps=steps,
        lr=3e-3,
    )
    print(study)
    study.run(device="cpu")
    print(study.table()[["objective.beta", "seed", "recon", "active_units", "dci"]])
    print(study.effect("objective.beta", "recon", "dci").round(3).to_string(index=False))
    print(study.best("dci"))
    if steps > 100:
        print(study.report())  # the page with all figures; takes a minute to draw
