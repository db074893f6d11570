# %% [markdown]
# # 1. What a VAE learns, and when it disentangles
#
# A *variational autoencoder* (VAE) is two networks. The encoder maps an image $x$ to a Gaussian
# $q(z|x)$ over codes $z$: a mean $\mu$ and a standard deviation $\sigma$ for each *latent*. The
# decoder maps a code back to an image. Training minimises two terms, both in nats:
#
# $$\mathcal L(x) = \mathbb E_{q(z|x)}\left[-\ln p(x|z)\right]
# + \mathrm{KL}\left(q(z|x) \,\|\, p(z)\right)$$
#
# The first, `recon`, asks that the image comes back. The second, `kl`, asks that codes look like
# the prior $p(z)$, a standard normal distribution. A model is *disentangled* if each latent
# follows one factor of the images, such as size or place. Nothing in the loss says that.
#
# The images of this lesson are drawn by a formula from four factors, so we can check.

# %% alt="A grid of coloured squares in several sizes, hues and places"
import matplotlib.pyplot as plt
import numpy as np
import torch

import unknot
from unknot import metrics, nets
from unknot.losses import kl_normal

data = unknot.dataset("soft_squares")
print(data.summary)
data

# %% [markdown]
# Two models with the same networks. The VAE sees 64 single images per step. The Ada-GVAE sees 32
# pairs of images that differ in one factor; it is not told in which.

# %%
steps = 1_500
settings = {
    "net": nets.MLP(latents=6, hidden=(128, 128)),
    "lr": unknot.schedules.linear(3e-3, 0.0, begin=steps // 2, steps=steps - steps // 2),
    "steps": steps,
    "device": "cpu",
}
vae = unknot.train(data, "vae", batch=64, **settings)
pairs = unknot.train(
    data, "ada_gvae", batch=32, sampler={"name": "pairs", "changed": 1}, **settings
)
for run in (vae, pairs):
    print(run.curves[["recon", "kl"]].tail(1).round(1).to_string(index=False))

# %% [markdown]
# Both reconstruct their images.

# %% alt="Images above their reconstructions by the VAE, which look alike"
vae.reconstruct()

# %% [markdown]
# A *traversal* moves one latent while the others stay. Rows of the VAE change several things at
# once; most rows of the Ada-GVAE change one.

# %% alt="Traversals of the VAE: most rows change several properties of the square"
vae.traverse()

# %% alt="Traversals of the Ada-GVAE: hue, size and the two directions in a row each"
pairs.traverse()

# %% [markdown]
# The same in numbers: the share of each latent's variance that each factor explains.

# %%
pairs.explain().round(2)

# %% [markdown]
# Two scores of disentanglement. Both are 1 at best; [lesson 5](5_scores.ipynb) says what they mean.

# %%
for name, run in {"VAE, single images": vae, "Ada-GVAE, pairs": pairs}.items():
    print(name, {metric: round(float(run.score(metric)), 2) for metric in ("mig", "dci")})

# %% [markdown]
# And to play with: a file with a slider for each latent of both models. It opens in any browser.

# %%
pairs.explorer("squares.html", other=vae)

# %% [markdown]
# ## Exercises
#
# **1.** The term `kl` has a closed form. For one latent,
#
# $$\mathrm{KL}\left(\mathcal N(\mu, \sigma^2) \,\|\, \mathcal N(0, 1)\right)
# = \frac12 \left(\mu^2 + \sigma^2 - 1 - \ln \sigma^2\right).$$
#
# Compute it for the posteriors of the VAE, `vae.posterior(images)`, whose fields are `mean` and
# `logvar`. Compare with `unknot.losses.kl_normal`. Which latents does the VAE use?

# %% tags=["solution"]
q = vae.posterior(data.batch(torch.arange(0, len(data), 7)))
kl = 0.5 * (q.mean**2 + q.logvar.exp() - 1 - q.logvar)
assert torch.allclose(kl.mean(0), kl_normal(q), atol=1e-5)
for z, nats in enumerate(kl.mean(0)):
    print(f"z{z}: {nats:.2f} nats")  # a latent near 0 has the prior for every image: not used

# %% [markdown]
# **2.** Take the codes of the Ada-GVAE and rotate the two latents that follow `hue` and `x` by 45
# degrees. Let the decoder rotate back before it decodes. Which of these change: the
# reconstructions, the prior of the codes, MIG? What does that say about learning without pairs?

# %% tags=["solution"]
rows = torch.arange(0, len(data), 7)
codes, factors = pairs.codes(rows), data.space.factors(rows)
shares = pairs.explain()  # its rows are called z0, z1, ...
a, b = (int(shares[factor].idxmax()[1:]) for factor in ("hue", "x"))
turn = torch.eye(codes.shape[1])
turn[[a, a, b, b], [a, b, a, b]] = torch.tensor([1.0, -1.0, 1.0, 1.0]) / 2**0.5
rotated = codes @ turn.T

same = torch.allclose(pairs.decode(rotated @ turn), pairs.decode(codes), atol=1e-4)
print("same reconstructions:", same)
print("MIG:", round(float(metrics.mig(codes, factors)), 2), "before,", end=" ")
print(round(float(metrics.mig(rotated, factors)), 2), "after")

# %% [markdown] tags=["solution"]
# A standard normal prior is the same in all directions, so rotated codes fit it as well, and the
# decoder with the rotation inside reconstructs as well: the likelihood of the data cannot prefer
# one to the other. What prefers the axes has to come from elsewhere: from pairs that share factors,
# or from the shape of the network and of the posteriors (whose covariances are diagonal). See
# Locatello et al. 2019, theorem 1, and Rolinek et al. 2019.

# %% [markdown]
# **3.** How much of the result is luck? Train the VAE again with `seeds=1` and compare what its
# latents follow, and its scores.

# %% tags=["solution"] alt="Two heat maps, a seed each: which factor explains which latent"
again = unknot.train(data, "vae", batch=64, seeds=1, **settings)
pictures, axes = plt.subplots(1, 2, figsize=(9, 3))
for seed, (axis, run) in enumerate(zip(axes, (vae, again), strict=True)):
    axis.imshow(np.asarray(run.plot_explained()))
    axis.set_title(f"seed {seed}: MIG {float(run.score('mig')):.2f}")
    axis.set_axis_off()
plt.show()
