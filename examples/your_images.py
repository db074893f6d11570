"""Your own images: an array here; a folder, an npz or a Parquet file work the same way."""

import os

import numpy as np

import unknot

steps = int(os.environ.get("STEPS", "3000"))

# Discs of several sizes and places, in place of your photographs.
rng = np.random.default_rng(0)
x, y, radius = (rng.uniform(*ends, size=(600, 1, 1)) for ends in ((8, 24), (8, 24), (3, 8)))
across, down = np.meshgrid(np.arange(32), np.arange(32))
images = (255 * ((across - x) ** 2 + (down - y) ** 2 < radius**2)).astype(np.uint8)

discs = unknot.dataset(images, name="discs")  # or unknot.dataset("photos/", size=64)
print(discs)

run = unknot.train(
    discs, "beta_tcvae", steps=steps, split="rows", validate_every=max(1, steps // 10), lr=1e-3
)
print(run)
print(run.validation[["validation.loss"]].tail(3))
run.traverse().save("discs_traversals.png")
run.interpolate(0, images[1]).save("discs_between.png")

codes = run.encode(images)  # uint8 or floats in [0, 1], NumPy or PyTorch
print(codes.shape)  # [600, 10]
