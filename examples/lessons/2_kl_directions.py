# %% [markdown]
# # 2. Two directions of the KL divergence
#
# The Kullback-Leibler divergence compares two distributions:
#
# $$\mathrm{KL}(p \,\|\, q) = \mathbb E_p\left[\ln p - \ln q\right].$$
#
# It is not symmetric. If $q$ is fitted to $p$, the direction decides what the fit looks like:
#
# - *Forward*, $\mathrm{KL}(p \,\|\, q)$: wherever $p$ has mass, $q$ must have some. The fit covers.
# - *Reverse*, $\mathrm{KL}(q \,\|\, p)$: wherever $q$ has mass, $p$ must have some. The fit picks.
#
# Nothing is trained in this lesson: the distributions have one dimension, so integrals are sums.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

x = np.linspace(-12, 12, 4001)
dx = x[1] - x[0]


def log_normal(x, mean, sd):
    """The logarithm of a Gaussian density."""
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))


def log_two(x, apart):
    """The same of an even mixture of two Gaussians with standard deviation 1."""
    return np.logaddexp(log_normal(x, -apart / 2, 1), log_normal(x, apart / 2, 1)) - np.log(2)


def kl(log_a, log_b):
    """The divergence of b from a, as a sum over x."""
    return np.sum(np.exp(log_a) * (log_a - log_b)) * dx


# %% [markdown]
# Fit one Gaussian to the mixture, once in each direction.


# %%
def fit(log_p, direction, start):
    """Mean and standard deviation of the Gaussian with the least divergence."""

    def loss(settings):
        log_q = log_normal(x, settings[0], np.exp(settings[1]))
        return kl(log_p, log_q) if direction == "forward" else kl(log_q, log_p)

    mean, log_sd = minimize(loss, (start, 0.0), method="Nelder-Mead", tol=1e-9).x
    return mean, np.exp(log_sd)


log_p = log_two(x, apart=6)
forward, reverse = fit(log_p, "forward", 0.5), fit(log_p, "reverse", 0.5)
for name, (mean, sd) in {"forward": forward, "reverse": reverse}.items():
    print(f"{name}: mean {mean:.2f}, sd {sd:.2f}")

# %% alt="Two bumps; the forward fit is one wide bump over both, the reverse fit lies on one of them"
fits, axis = plt.subplots(figsize=(7, 3))
axis.fill_between(x, np.exp(log_p), color="0.85", label="p")
axis.plot(x, np.exp(log_normal(x, *forward)), color="#0072b2", label="least KL(p ‖ q): covers")
axis.plot(x, np.exp(log_normal(x, *reverse)), color="#d55e00", label="least KL(q ‖ p): picks")
axis.set(xlim=(-8, 8), yticks=[], xlabel="x")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# In two dimensions, with four bumps; this figure comes with unknot.

# %% alt="A mixture of Gaussians in the plane with the circles of a forward and of reverse fits"
from unknot.report.data.kl_directions import kl_directions_figure, random_mixture
from unknot.report.picture import Picture

Picture(kl_directions_figure(random_mixture(seed=0)))

# %% [markdown]
# ## What a VAE minimises
#
# For every encoder,
#
# $$\ln p(x) = \mathrm{ELBO}(x) + \mathrm{KL}\left(q(z|x) \,\|\, p(z|x)\right).$$
#
# A VAE maximises the ELBO: it fits the encoder to the decoder's posterior $p(z|x)$ in the
# *reverse* direction. If two codes explain an image, $q(z|x)$ picks one of them.
#
# An example that can be computed: $z$ is standard normal, and the decoder says
# $x = z^2$ with noise of standard deviation 0.3. The codes $\pm\sqrt{x}$ explain $x$ equally well.

# %% alt="The posterior for x = 4 has bumps at -2 and 2; the best Gaussian lies on one of them"
seen = 4.0
log_joint = log_normal(seen, x**2, 0.3) + log_normal(x, 0, 1)
log_evidence = np.log(np.sum(np.exp(log_joint)) * dx)
log_posterior = log_joint - log_evidence
mean, sd = fit(log_posterior, "reverse", start=1.5)
log_q = log_normal(x, mean, sd)
elbo = np.sum(np.exp(log_q) * (log_joint - log_q)) * dx
print(f"ln p(x) {log_evidence:.3f} = ELBO {elbo:.3f} + KL {kl(log_q, log_posterior):.3f}")

bumps, axis = plt.subplots(figsize=(7, 3))
axis.fill_between(x, np.exp(log_posterior), color="0.85", label="p(z | x = 4)")
axis.plot(x, np.exp(log_q), color="#d55e00", label="best Gaussian q(z | x = 4)")
axis.set(xlim=(-4, 4), yticks=[], xlabel="z")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# The gap is almost exactly $\ln 2$: one of two equal bumps is left out. `iwae` and `flow_vae` are
# objectives that make such gaps smaller, the first by many samples, the second by a richer $q$.
#
# ## Exercises
#
# **1.** Between Gaussians the divergence has a closed form:
#
# $$\mathrm{KL}\left(\mathcal N(m_1, s_1^2) \,\|\, \mathcal N(m_2, s_2^2)\right)
# = \ln \frac{s_2}{s_1} + \frac{s_1^2 + (m_1 - m_2)^2}{2 s_2^2} - \frac12.$$
#
# Check it against `kl` in both directions, for $\mathcal N(0, 1)$ and $\mathcal N(1, 2^2)$.


# %% tags=["solution"]
def closed_form(m1, s1, m2, s2):
    """The divergence of the second Gaussian from the first."""
    return np.log(s2 / s1) + (s1**2 + (m1 - m2) ** 2) / (2 * s2**2) - 0.5


for a, b in [((0, 1), (1, 2)), ((1, 2), (0, 1))]:
    summed = kl(log_normal(x, *a), log_normal(x, *b))
    assert abs(summed - closed_form(*a, *b)) < 1e-4
    print(f"KL from {a} to {b}: {summed:.4f}")

# %% [markdown]
# **2.** The forward fit has a closed form as well: mean and variance of $q$ are those of $p$. Show
# it, and check the numbers above.

# %% [markdown] tags=["solution"]
# Only $-\mathbb E_p[\ln q] = \ln s + \mathbb E_p[(x - m)^2] / (2 s^2) + \text{const}$ depends on
# $q$. Its derivative in $m$ is 0 where $m = \mathbb E_p[x]$, and then that in $s$ where
# $s^2 = \mathbb E_p[(x - m)^2]$. Here $m = 0$ and $s^2 = 1 + 3^2 = 10$.

# %% tags=["solution"]
assert abs(forward[0]) < 1e-3
assert abs(forward[1] ** 2 - 10) < 1e-2

# %% [markdown]
# **3.** Move the two bumps together. How far apart must they be for the reverse fit to leave the
# middle?


# %% tags=["solution"] alt="The mean of the reverse fit is 0 while bumps are close, and then leaves the middle"
def best(gap):
    """The better of two fits: one that starts in the middle, one that starts on a bump."""
    log_p = log_two(x, gap)
    fits = [fit(log_p, "reverse", start) for start in (0.0, gap / 2)]
    return min(fits, key=lambda q: kl(log_normal(x, *q), log_p))


gaps = np.arange(1.0, 7.01, 0.25)
means = [abs(best(gap)[0]) for gap in gaps]
turning, axis = plt.subplots(figsize=(6, 3))
axis.plot(gaps, means, "o-", color="#d55e00", label="mean of the reverse fit")
axis.plot(gaps, gaps / 2, color="0.6", label="one of the bumps")
axis.set(xlabel="distance of the two bumps, in standard deviations")
axis.legend(frameon=False)
plt.show()
print("leaves the middle at about", next(g for g, m in zip(gaps, means, strict=True) if m > 0.1))

# %% [markdown]
# **4.** Over the whole dataset, the likelihood of the data is fitted in the *forward* direction:
# training minimises $\mathrm{KL}(p_\text{data} \,\|\, p_\text{model})$. A decoder with a Gaussian
# likelihood that is not told which of several images to draw draws their mean. Why, and what does
# it look like?

# %% [markdown] tags=["solution"]
# The forward fit of a Gaussian takes the mean of what it covers (exercise 2), pixel by pixel. The
# mean of many sharp squares is one blurred spot: what VAEs draw when their codes say too little.

# %% tags=["solution"] alt="Sharp squares at several places, and their mean: a blurred spot"
import torch

import unknot

squares = unknot.dataset("soft_squares").batch(torch.arange(144))[:, 2]
shown = [*squares[::40], squares.mean(0)]
blurred, axes = plt.subplots(1, len(shown), figsize=(8, 2))
for axis, image in zip(axes, shown, strict=True):
    axis.imshow(image.numpy(), cmap="gray", vmin=0, vmax=float(image.max()))
    axis.set_axis_off()
axes[-1].set_title("mean of 144")
plt.show()
