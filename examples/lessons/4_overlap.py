# %% [markdown]
# # 4. Why overlap matters
#
# A code is noisy: the decoder sees a sample of $q(z|x)$, not its mean. Where the posteriors of two
# images overlap, the decoder confuses them now and then, and pays the *distance between the two
# images*. So the cheapest arrangement puts images next to each other that look alike: this is
# how a VAE comes to order its latents, without being told any order.
#
# It also says when that fails: if all images are equally far apart, no arrangement is cheaper than
# another (Michlo 2022; Watters et al. 2019).
#
# The smallest example: a bar at one of ten places. In one dataset, neighbouring bars overlap. In
# the other they do not.

# %% alt="Upper row: wide bars that overlap from place to place. Lower row: narrow bars side by side"
import matplotlib.pyplot as plt
import numpy as np
import torch

import unknot
from unknot import nets, objectives
from unknot.losses.overlap import Overlap

places = 10


def bars(width, step):
    """Images of 32 x 32 pixels with a bar at each place."""
    images = np.zeros((places, 32, 32), np.uint8)
    for i, image in enumerate(images):
        image[12:20, 1 + i * step : 1 + i * step + width] = 255
    return images


datasets = {"overlap": bars(width=12, step=2), "apart": bars(width=3, step=3)}
shown, axes = plt.subplots(2, places, figsize=(9, 2))
for line, images in zip(axes, datasets.values(), strict=True):
    for axis, image in zip(line, images, strict=True):
        axis.imshow(image, cmap="gray")
        axis.set_axis_off()
plt.show()

# %% [markdown]
# Distances between images, pixel by pixel: rising where bars overlap, flat where they do not.

# %% alt="Squared distance from the first bar over places: rising with overlap, flat without"
curves, axis = plt.subplots(figsize=(6, 3))
for name, images in datasets.items():
    x = images.reshape(places, -1) / 255
    axis.plot(np.square(x - x[0]).sum(1), "o-", label=name)
axis.set(xlabel="place", ylabel="squared distance from place 0")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# Train β-VAEs with a single latent, three seeds each. Then line the ten codes up and count in how
# many of the nine cases neighbours in the image are neighbours in the code.

# %%
steps = 1_000


def train(images, likelihood="bernoulli"):
    """Three seeds of a beta-VAE with one latent."""
    objective = objectives.BetaVAE(beta=4, likelihood=likelihood)
    net = nets.MLP(latents=1, hidden=(64, 64))
    data = unknot.dataset(images, name="bars")
    return unknot.train(
        data, objective, net, steps=steps, batch=places, lr=2e-3, seeds=range(3), device="cpu"
    )


def kept(codes):
    """Neighbouring places that are neighbours in the order of the codes."""
    ranks = np.argsort(np.argsort(np.ravel(codes)))
    return int((abs(np.diff(ranks)) == 1).sum())


models = {name: train(images) for name, images in datasets.items()}
for name, many in models.items():
    print(name, [kept(model.encode(datasets[name])) for model in many], "of 9 neighbours kept")

# %% alt="Posteriors of ten bars along the latent: in the order of places with overlap, mixed without"
drawn, axes = plt.subplots(2, 1, figsize=(8, 4), sharex=True)
z = np.linspace(-4, 4, 400)
for axis, (name, many) in zip(axes, models.items(), strict=True):
    images = torch.tensor(datasets[name])[:, None] / 255
    q = many[0].posterior(images)
    for i in range(places):
        mean, sd = q.mean[i].item(), q.logvar[i].div(2).exp().item()
        density = np.exp(-0.5 * ((z - mean) / sd) ** 2) / sd
        axis.plot(z, density, color=plt.cm.viridis(i / places))
        axis.annotate(i, (mean, 1 / sd), ha="center")
    axis.set(yticks=[], title=f"{name}: q(z|x) of each place, seed 0")
axes[1].set_xlabel("z")
drawn.tight_layout()
plt.show()

# %% [markdown]
# ## Exercises
#
# **1.** How many of nine neighbours would random codes keep? Derive it, and check by simulation.

# %% [markdown] tags=["solution"]
# Of the $10 \cdot 9$ ordered pairs of ranks that two places can have, $2 \cdot 9$ are next to each
# other: a probability of $2 / 10$. With nine pairs of neighbours the mean is 1.8.

# %% tags=["solution"]
rng = np.random.default_rng(0)
tried = [kept(rng.normal(size=places)) for _ in range(20_000)]
print("random codes keep", round(np.mean(tried), 2))
assert abs(np.mean(tried) - 1.8) < 0.05

# %% [markdown]
# **2.** Bring the overlap in through the *loss*: `Overlap.create(radius=15)` adds the squared error
# of blurred images. Do models of bars that lie apart find the order now?

# %% tags=["solution"]
many = train(datasets["apart"], Overlap.create(radius=15))
print([kept(model.encode(datasets["apart"])) for model in many], "of 9 neighbours kept")

# %% [markdown]
# **3.** The dataset `xysquares` was made to show this: three squares on grids of eight by eight
# places. Draw the distance along one factor for spacings of 8, 4 and 1 pixels. From which spacing on
# is there an order?

# %% tags=["solution"] alt="Distances along a factor of XYSquares: flat at spacing 8, rising below it"
along, axis = plt.subplots(figsize=(6, 3))
for spacing in (8, 4, 1):
    squares = unknot.dataset("xysquares", spacing=spacing)
    first = torch.zeros(8, len(squares.space.sizes), dtype=torch.long)
    first[:, 0] = torch.arange(8)  # the first factor moves, the others stay
    strides = [int(np.prod(squares.space.sizes[i + 1 :])) for i in range(first.shape[1])]
    line = squares.batch(first @ torch.tensor(strides)).flatten(1)
    axis.plot((line - line[0]).square().sum(1).numpy(), "o-", label=f"spacing {spacing}")
axis.set(xlabel="place of the first square", ylabel="squared distance from place 0")
axis.legend(frameon=False)
plt.show()

# %% [markdown] tags=["solution"]
# Squares have 8 pixels: below spacing 8 neighbours overlap, and the distance grows with the place
# until two squares are clear of each other.
