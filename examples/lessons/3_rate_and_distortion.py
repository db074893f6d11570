# %% [markdown]
# # 3. Rate and distortion: what β does
#
# The two terms of a VAE's loss have older names. `kl` is the *rate*: how many nats a code says
# about its image. `recon` is the *distortion*: what is wrong with the image that comes back. The
# β-VAE minimises
#
# $$D + \beta R.$$
#
# β is the price of a nat. The best achievable pairs of $D$ and $R$ form a curve, and β chooses the
# point where the curve has slope $-\beta$.
#
# ## A case with a known answer
#
# Data: vectors of six independent directions with variances $\lambda_i$, rotated at random.
# Networks: linear. Loss: squared error. For each direction, $R = \frac12 \ln(\lambda_i / D_i)$ is
# the least rate for a distortion $D_i$ (Shannon 1959), so that each direction minimises
#
# $$D_i + \beta \cdot \tfrac12 \ln \frac{\lambda_i}{D_i}, \qquad
# \text{with the solution}\quad D_i = \min(\lambda_i,\ \beta / 2).$$
#
# Directions with $\lambda_i < \beta / 2$ get no nats at all: their latents *collapse*.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import unknot
from unknot import nets

steps = 1_000
decay = unknot.schedules.linear(1e-2, 0.0, begin=steps // 2, steps=steps - steps // 2)
variances = np.array([4, 2, 1, 0.5, 0.25, 0.1])
rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 6))
x -= x.mean(0)
x = x @ np.linalg.inv(np.linalg.cholesky(np.cov(x.T, bias=True))).T  # covariance exactly 1
turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
data = unknot.dataset(x * np.sqrt(variances) @ turn.T, name="ellipse", standardize=False)


def best(beta):
    """Distortion and rate of the best linear model, direction by direction."""
    distortion = np.minimum(variances, beta / 2)
    return distortion, 0.5 * np.log(variances / distortion)


# %%
betas = (0.3, 1.5, 3, 6)
runs = {
    beta: unknot.train(
        *(data, "beta_vae", nets.Linear(latents=6)),
        beta=beta,
        likelihood="gaussian",
        steps=steps,
        batch=256,
        lr=decay,
        device="cpu",
    )
    for beta in betas
}
print("beta   D trained, best   R trained, best")
for beta, run in runs.items():
    end = run.curves[["recon", "kl"]].tail(3).mean()
    d, r = (part.sum() for part in best(beta))
    print(f"{beta:4}   {end['recon']:7.2f}  {d:5.2f}   {end['kl']:8.2f}  {r:5.2f}")

# %% alt="A falling curve of distortion over rate; trained models lie on it, and their tangents have slope minus beta"
curve = np.array([[part.sum() for part in best(beta)] for beta in np.geomspace(0.1, 8, 200)])
plane, axis = plt.subplots(figsize=(7, 4))
axis.plot(curve[:, 1], curve[:, 0], color="0.5", label="best possible")
for beta, run in runs.items():
    d, r = run.curves[["recon", "kl"]].tail(3).mean()
    across = np.array([r - 0.7, r + 0.7])
    axis.plot(across, d - beta * (across - r), color="#0072b2", linewidth=1)
    axis.plot(r, d, "o", color="#d55e00")
    axis.annotate(f"β = {beta}", (r, d), (6, 6), textcoords="offset points")
axis.set(xlabel="rate R, nats", ylabel="distortion D, squared error", ylim=(0, 8), xlim=(-0.3, 6))
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Images
#
# For images and deep networks the curve is not known, but the reading is the same. More β: fewer
# nats, fewer latents in use, blurrier images.

# %% alt="Reconstructions of six squares: like the data at beta 1, more blurred at 8, the same dim spot at 64"
squares = unknot.dataset("soft_squares")
images = {
    beta: unknot.train(
        *(squares, "beta_vae", nets.MLP(latents=6, hidden=(128, 128))),
        beta=beta,
        steps=steps,
        lr=3e-3,
        device="cpu",
    )
    for beta in (1, 8, 64)
}
rows = torch.tensor([5, 900, 1700, 2500, 3300, 4100])
originals = squares.batch(rows)
sheet, axes = plt.subplots(4, len(rows), figsize=(7, 5))
for line, (title, shown) in enumerate(
    [("data", originals)]
    + [(f"β = {beta}", run.decode(run.encode(originals))) for beta, run in images.items()]
):
    for axis, image in zip(axes[line], shown, strict=True):
        axis.imshow(image.permute(1, 2, 0).clamp(0, 1).numpy())
        axis.set(xticks=[], yticks=[])
    axes[line, 0].set_ylabel(title)
plt.show()
for beta, run in images.items():
    d, r = run.curves[["recon", "kl"]].tail(3).mean()
    used = float(run.score("active_units"))
    print(f"β = {beta:2}: recon {d:6.1f}, kl {r:5.2f} nats, {used:.0f} of 6 latents active")

# %% [markdown]
# ## Exercises
#
# **1.** How many directions of the linear example should each β leave in use? Check with
# `run.score("active_units")`.

# %% tags=["solution"]
for beta, run in runs.items():
    expected = int((variances > beta / 2).sum())
    print(f"β = {beta}: expected {expected}, active {float(run.score('active_units')):.0f}")

# %% [markdown]
# **2.** Derive $D_i = \min(\lambda_i, \beta/2)$, and check it by a search over $D_i$.

# %% [markdown] tags=["solution"]
# The derivative of $D + \frac{\beta}{2} \ln(\lambda / D)$ is $1 - \frac{\beta}{2D}$, which is 0 at
# $D = \beta / 2$. A rate cannot be negative, so $D \le \lambda$, and beyond that the border is best.

# %% tags=["solution"]
for beta in betas:
    for i, variance in enumerate(variances):
        tried = np.linspace(1e-4, variance, 100_001)
        found = tried[np.argmin(tried + beta / 2 * np.log(variance / tried))]
        assert abs(found - best(beta)[0][i]) < 1e-3

# %% [markdown]
# **3.** `soft_squares` has 4,320 different images. How many nats does it take to say which one it
# is? Compare with `kl` of the model with β = 1. Can the rate be above that?

# %% tags=["solution"]
print(f"ln 4320 = {np.log(4320):.2f} nats")
print(f"kl of the model with β = 1: {images[1].curves['kl'].tail(3).mean():.2f} nats")

# %% [markdown] tags=["solution"]
# The rate can be above: it is the information that codes have about images, at most $\ln 4320$,
# *plus* the divergence of all codes together from the prior,
# $\mathrm{KL}(q(z) \,\|\, p(z))$. `run.score("kl_decomposition")` splits it. What lies above
# $\ln 4320$ is paid for nothing.
