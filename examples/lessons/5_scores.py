# %% [markdown]
# # 5. Scores, and what they do not see
#
# A score takes codes `[n, z]` and factors `[n, f]` and nothing else. So codes can be made up, and
# then we know what the score should be. Nothing is trained in this lesson.
#
# Four factors of ten values each, and codes that follow one factor each, with a little noise.

# %%
import matplotlib.pyplot as plt
import numpy as np

from unknot import metrics

rng = np.random.default_rng(0)
factors = rng.integers(0, 10, size=(5_000, 4))
clean = factors - 4.5 + rng.normal(0, 0.1, size=factors.shape)


def scores(codes):
    """Three scores: is there one best latent, is a latent about one factor, is all of it there."""
    wanted = (metrics.mig, metrics.dci, metrics.explicitness)
    return {metric.__name__: round(float(metric(codes, factors)), 2) for metric in wanted}


print("clean", scores(clean))

# %% [markdown]
# Now spoil them, one way at a time.

# %%
angle = np.pi / 4
turn = np.eye(4)
turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
spoilt = {
    "clean": clean,
    "two latents rotated": clean @ turn.T,
    "a factor encoded twice": np.column_stack([clean, clean[:, 0]]),
    "a factor missing": clean[:, 1:],
    "noise": rng.normal(size=clean.shape),
}
for name, codes in spoilt.items():
    print(f"{name:24}", scores(codes))

# %% [markdown]
# - *MIG* compares the best latent of a factor with the second best. A rotation and a second copy
#   both cost it everything for the factors concerned.
# - *DCI* learns to predict each factor and asks which latents were used.
# - *Explicitness* predicts factors linearly from all latents; a rotation is nothing to it.
#
# No score alone says "disentangled". Three together say most.

# %% alt="Over the angle of a rotation from 0 to 45 degrees MIG falls first, DCI later, explicitness not at all"
angles = np.linspace(0, np.pi / 4, 7)
lines: dict[str, list[float]] = {}
for angle in angles:
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    for name, value in scores(clean @ turn.T).items():
        lines.setdefault(name, []).append(value)
falling, axis = plt.subplots(figsize=(6, 3))
for name, values in lines.items():
    axis.plot(np.degrees(angles), values, "o-", label=name)
axis.set(xlabel="rotation of two of four latents, degrees", ylabel="score", ylim=(0, 1.05))
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# A number needs its settings beside it. A *protocol* names them, and `cite` writes the line.

# %%
print(metrics.mig(clean, factors, interval=0.95).cite())
print(metrics.mig(clean, factors, protocol="study2019").cite())

# %% [markdown]
# ## Exercises
#
# **1.** Write MIG yourself, for codes of few values, where no bins are needed:
#
# $$\mathrm{MIG} = \frac1K \sum_k
# \frac{I(z_{(1)}; v_k) - I(z_{(2)}; v_k)}{H(v_k)}$$
#
# with the mutual information $I$ of the best and the second-best latent and the entropy $H$ of the
# factor. Compare with `metrics.mig(..., protocol="study2019")`. The default protocol differs: it
# corrects the information for the number of rows.


# %% tags=["solution"]
def information(a, b):
    """Mutual information of two columns of whole numbers, in nats."""
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1 / len(a))
    independent = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
    there = table > 0
    return float((table[there] * np.log(table[there] / independent[there])).sum())


def mig(codes, factors):
    """The mean gap of the two best latents."""
    gaps = []
    for v in factors.T:
        second, best = sorted(information(z, v) for z in codes.T)[-2:]
        gaps.append((best - second) / information(v, v))
    return np.mean(gaps)


whole = np.column_stack([factors[:, 0], factors[:, 1] // 2, factors[:, :2].sum(1), factors[:, 3]])
ours = mig(whole, factors)
theirs = float(metrics.mig(whole.astype(float), factors, protocol="study2019"))
print(f"{ours:.4f} by hand, {theirs:.4f} by unknot")
assert abs(ours - theirs) < 1e-6

# %% [markdown]
# **2.** One number in a thousand of the first latent is broken: 1,000 times too large. What becomes
# of MIG with bins of equal width (`protocol="study2019"`), and of `mcc`, which correlates ranks?

# %% tags=["solution"]
broken = clean.copy()
broken[::1000, 0] *= 1000
for name, codes in {"clean": clean, "broken": broken}.items():
    binned = float(metrics.mig(codes, factors, protocol="study2019"))
    print(f"{name}: MIG {binned:.2f}, mcc {float(metrics.mcc(codes, factors)):.2f}")

# %% [markdown] tags=["solution"]
# All other codes fall into one bin, and the first factor is lost for MIG. Ranks do not care. Look at
# codes before you score them: `codes.min(0)` and `codes.max(0)` would have shown it.

# %% [markdown]
# **3.** How large is MIG by chance? Score codes that have nothing to do with the factors, with 100
# and with 5,000 rows, under the protocols `study2019` and `unknot`. Why do they differ?

# %% tags=["solution"]
for n in (100, 5_000):
    for protocol in ("study2019", "unknot"):
        chance = [
            float(metrics.mig(rng.normal(size=(n, 4)), factors[:n], protocol=protocol))
            for _ in range(20)
        ]
        print(f"{n} rows, {protocol}: mean {np.mean(chance):.4f}, at most {np.max(chance):.4f}")

# %% [markdown] tags=["solution"]
# Counts in few rows look dependent by luck, so estimated information is too large: by about
# $(\text{bins} - 1)(\text{values} - 1) / 2n$ nats. The default protocol subtracts that. The gap of
# two latents is affected less than either of them, but not by nothing.
