# %% [markdown]
# # 6. A study, on a laptop and on a cluster
#
# One seed proves nothing. A *study* trains a grid of configurations with several seeds each, scores
# every model, and can be interrupted at any time. The same study runs on one machine, on Ray or on
# SLURM.
#
# A question for a small one: does β = 8 give less information than β = 1, and a better MIG? After
# 300 steps models are far from trained, but seconds are enough for the whole study.

# %%
import unknot
from unknot import nets

steps = 300


def plan(seeds):
    """Two values of beta on coloured squares."""
    return unknot.study(
        "two betas",
        data="soft_squares",
        objective="beta_vae",
        net=nets.MLP(latents=6, hidden=(64, 64)),
        grid={"objective.beta": [1, 8]},
        seeds=seeds,
        metrics=["active_units", "mig"],
        steps=steps,
        lr=3e-3,
    )


study = plan(seeds=3)
study.run(device="cpu", progress=False)
study.table()[["objective.beta", "seed", "recon", "kl", "active_units", "mig"]].round(2)

# %% [markdown]
# The effect of β: means over seeds, and the difference of pairs of runs with the same seed. Three
# pairs are too few for an interval: `low` and `high` are empty.

# %%
study.effect("objective.beta", "kl", "mig").round(3).T

# %% [markdown]
# `study.best("mig")` is a run like any other, and `study.report()` writes a page with figures,
# intervals and what can be concluded.

# %% alt="Traversals of the best model of the study"
study.best("mig").traverse()

# %% [markdown]
# ## On a cluster
#
# From a shell, the same study is a file or a line, and the backend is an option:
#
# ```sh
# unknot study plan betas.toml                           # how many runs, how long; writes nothing
# unknot study run betas.toml --out /shared/betas        # this machine
# unknot study run betas.toml --out /shared/betas --backend ray
# unknot study run betas.toml --out /shared/betas --backend slurm --device cuda --workers 16 \
#     --backend-option partition=gpu --backend-option time=4:00:00
# unknot report /shared/betas
# ```
#
# - The folder must be on a disk that all nodes see.
# - What is killed resumes from its last checkpoint, to the same weights. Run the same command again.
# - A study that was begun on a cluster can be finished on a laptop, and the other way round.
#
# [Studies](../studies.md#clusters) has the details.
#
# ## Exercises
#
# **1.** Run `study.run` again. What is trained? Then ask for five seeds in place of three.

# %% tags=["solution"]
before = set(study.table()["id"])
study.run(device="cpu", progress=False)  # everything is there: returns at once
more = plan(seeds=5)
more.run(device="cpu", update=True, progress=False)
after = set(more.table()["id"])
print(len(before), "runs before,", len(after), "after,", len(before & after), "of them kept")
assert before < after

# %% [markdown]
# **2.** Compute the 95 % interval of the paired difference of `kl` by hand, and compare with
# `effect`.

# %% tags=["solution"]
from scipy import stats

table = more.table().pivot(index="seed", columns="objective.beta", values="kl")
difference = table[8] - table[1]
half = stats.t.ppf(0.975, len(difference) - 1) * difference.sem()
print(f"{difference.mean():.3f} ± {half:.3f}, {len(difference)} pairs")
more.effect("objective.beta", "kl").round(3).T

# %% [markdown]
# **3.** How many seeds would a difference in MIG of 0.05 take? Take the spread of the paired
# differences from your table.

# %% tags=["solution"]
mig = more.table().pivot(index="seed", columns="objective.beta", values="mig")
spread = (mig[8] - mig[1]).std()
needed = next(n for n in range(2, 10_000) if stats.t.ppf(0.975, n - 1) * spread / n**0.5 < 0.05)
print(f"the differences of pairs vary by {spread:.3f}: {needed} seeds for ± 0.05")
