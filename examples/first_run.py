"""First run: train a VAE, look at it, score it, keep it."""

import os

import unknot

steps = int(os.environ.get("STEPS", "1500"))  # half a minute on one CPU core

run = unknot.train(
    "soft_squares", "beta_vae", "mlp", beta=4, lr=3e-3, steps=steps, out="runs/squares"
)
print(run)

run.traverse().save("runs/squares_traversals.png")  # in a notebook, a cell that ends so shows it
run.reconstruct().save("runs/squares_reconstructions.png")
run.plot_curves().save("runs/squares_curves.png")

print(run.explain().round(2).to_string())  # which latent follows which factor
print(run.score("active_units", "mig"))

again = unknot.load("runs/squares")
print(again.encode(run.dataset[0][None]))  # the code of one image, [1, 10]
