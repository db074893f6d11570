"""A table instead of pictures: 178 wines, and counts of words in place of measurements."""

import os

import numpy as np
from sklearn.datasets import load_wine

import unknot
from unknot import nets

steps = int(os.environ.get("STEPS", "3000"))

# Columns are standardised for training; what is shown is in the units of the table.
wines = load_wine(as_frame=True).frame.rename(columns={"target": "cultivar"})
data = unknot.dataset(wines, name="wine", labels=["cultivar"], kinds=["cultivar=nominal"])
print(data)
run = unknot.train(
    data, "beta_tcvae", nets.MLP(latents=4), beta=2.0, lr=1e-3, steps=steps, device="cpu"
)
# What each latent follows, and the columns that it moves.
print(run.explain()[["kl", "factor", "moves"]].to_string())
run.traverse().save("columns.png")
run.reconstruct().save("reconstructions.png")
print(run.score("mig"))

# Counts have a likelihood of their own; dispersions are learnt for each column.
rng = np.random.default_rng(0)
topics, lengths = rng.dirichlet([0.3] * 3, size=400), rng.integers(50, 500, size=400)
words = rng.dirichlet([0.1] * 30, size=3)
counts = rng.poisson((topics @ words) * lengths[:, None])
texts = unknot.train(
    counts, "vae", nets.MLP(latents=3), likelihood="negative_binomial", lr=1e-3, steps=steps,
    device="cpu",
)  # fmt: skip
print(texts.decoder[-1].log_dispersion.exp().flatten().tolist())
