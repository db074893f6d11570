"""Text of the run page: facts, settings, how to read each number, what to try next."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unknot.core.places import without_folders
from unknot.core.text import duration, number, setting_text
from unknot.losses.likelihood import Likelihood, is_of_counts, likelihood_of, pixel_likelihood
from unknot.losses.mapped import MappedLoss
from unknot.report.model.latents import UNUSED, Latents
from unknot.runs.folder import RunFolder
from unknot.runs.run import Run
from unknot.runs.spec import plain_value
from unknot.runs.status import versions

NOUNS = {"images": ("image", "pixels"), "rows": ("row", "columns"), "signals": ("signal", "points")}
"""What one of the data is called, and what it is made of."""


def term(name: str, run: Run) -> str:
    """How to read a term of the loss; empty if unknown."""
    spec, (one, parts) = run.spec, NOUNS[run.dataset.noun]
    likelihood = likelihood_of(spec.objective.settings)
    terms = {
        "loss": "What training minimises.",
        "recon": _recon(likelihood, one, parts),
        "kl": "KL(posterior ‖ prior) summed over latents, in nats: an upper bound on the "
        "information in the code.",
        "mi": f"Mutual information of code and {one}, in nats.",
        "tc": "Total correlation of the latents, in nats. 0: independent latents.",
        "dwkl": "KL divergence of each latent's aggregate posterior from the prior, in nats, "
        "summed over latents.",
        "capacity": "KL divergence that the objective asks for at this step, in nats.",
        "target": "KL divergence that the controller aims at, in nats.",
        "error": "Target minus KL divergence, in nats: the input of the controller.",
        "beta": "Weight of the KL divergence that the model has set itself.",
        "beta_hat": "Learnt weight of the KL divergence relative to the reconstruction.",
        "mmd": "Maximum mean discrepancy between a batch of codes and samples from the prior. "
        "Near 0: the same distribution.",
        "adversary": "Loss of the encoder against the critic that tells codes from samples of the "
        "prior. Lower: harder to tell apart.",
        "off_diagonal": "Squared covariances between different latents, summed.",
        "diagonal": "Squared differences of the latents' variances from 1, summed.",
        "sigma": "Standard deviation of the decoder's pixels.",
        "logdet": "Log determinant that the flow adds to the posterior's log density, in nats.",
        "bound": "Importance-weighted bound: tighter than the sum of its two parts.",
        "active latents": f"Of {spec.net.settings.latents}: latents with at least {UNUSED} nats.",
    }
    return terms.get(name, "")


def _recon(likelihood: Likelihood, one: str, parts: str) -> str:
    """How to read the reconstruction loss."""
    if isinstance(likelihood, MappedLoss):
        of_pixels = _recon(likelihood.pixels, one, parts) if likelihood.pixel_weight else ""
        return f"{of_pixels} {likelihood.reading}".lstrip()
    density = pixel_likelihood(likelihood)
    if is_of_counts(density):
        return f"−ln p({one} | code) in nats, summed over {parts}. Lower is better."
    if density == "bernoulli":
        return (
            f"Cross-entropy per {one} in nats, summed over {parts}. Lower is better; for grey "
            f"{parts} the minimum is above 0."
        )
    return f"Squared error per {one}, summed over {parts}. Lower is better."


def formula(run: Run) -> str:
    """The loss as a sum of its terms with the weights of the last log step."""
    curves = run.training.curves
    parts = []
    for name in curves.values:
        if name.startswith("critic.") or f"{name}.weight" not in curves.values:
            continue
        weights = np.unique(curves[f"{name}.weight"][-1].numpy())
        weight = number(float(weights[0])) if len(weights) == 1 else "its weight"
        parts.append(name if weight == "1" else f"{weight} × {name}")
    return " + ".join(sorted(parts, key=lambda part: "recon" not in part))


def suggestions(run: Run, latents: Sequence[Latents]) -> list[str]:
    """What to try next; each suggestion follows from the run's settings or numbers."""
    spec, advice = run.spec, []
    if run.diverged:
        advice.append(
            "Some seeds diverged. Try a smaller learning rate: `lr` was "
            f"{setting_text(plain_value(spec.optim.lr))}."
        )
    if any(latent.draws_nothing for latent in latents):
        advice.append(
            f"Reconstructions are the same for all {run.dataset.noun}, so that no latent is "
            "said to follow a factor. Train longer; if that does not help, the model has collapsed."
        )
    if _still_falling(run):
        advice.append(
            "The reconstruction loss was still decreasing at the end. Train longer: "
            f"`steps={3 * spec.steps}`."
        )
    if spec.lone:
        advice.append(
            "Results from a single seed are unreliable. Train several seeds, "
            "`seeds=range(5)`, and compare them on one page."
        )
    beta = getattr(spec.objective.settings, "beta", None)
    used = [int(f.used.sum()) for p, f in enumerate(latents) if p not in run.diverged]
    factors, total = len(run.dataset.space), spec.net.settings.latents
    if isinstance(beta, int | float) and used and not run.dataset.space.stands_in:
        if np.median(used) < min(factors, total):
            advice.append(
                f"Fewer latents are active than the data has factors ({factors}). A `beta` below "
                f"{beta:g} keeps more of them active."
            )
        elif np.median(used) > factors:
            advice.append(
                f"More latents are active than the data has factors ({factors}). A `beta` above "
                f"{beta:g} encodes each factor in fewer latents, at the cost of blurrier "
                "reconstructions."
            )
    return advice


def _still_falling(run: Run) -> bool:
    """Whether recon fell by 3 % from the fifth of the steps before the last to the last."""
    curves = run.training.curves
    if "recon" not in curves.values or len(curves.steps) < 10:
        return False
    healthy = [p for p in range(len(run.spec.seed_list)) if p not in run.diverged]
    values = curves["recon"][:, healthy].mean(1).numpy()
    fifth = len(values) // 5
    late, before = values[-fifth:].mean(), values[-2 * fifth : -fifth].mean()
    return bool(late < before - 0.03 * abs(before))


def facts(run: Run) -> dict[str, Any]:
    """Where and how long it ran, as the folder tells; what is known now for a run in memory."""
    record = RunFolder(run.path).record() if run.path else {}
    record = {**record, **record.get("versions", {})}
    facts = {"device": str(run.training.context.runtime.device), **versions(), **record}
    seconds, device = facts.get("seconds"), facts["device"]
    return {
        **facts,
        "recorded": bool(record),
        # One of a population that trained together has no time of its own.
        "time": duration(seconds) if seconds else None,
        "place": "a CPU" if device == "cpu" else f"a GPU ({device})",
    }


def settings(run: Run) -> dict[str, dict[str, str]]:
    """All settings in groups, as the run's file has them."""
    table = without_folders(run.spec.table())
    table.pop("format")
    groups = {name: table.pop(name) for name in ("data", "net", "objective", "optim")}
    return {
        name: {key: setting_text(value) for key, value in group.items()}
        for name, group in {"training": table, **groups}.items()
    }


def load_code(run: Run) -> str:
    """Code that loads the run and uses it, with the shapes it will have."""
    path = run.path.resolve().name if run.path else "my_run"
    first = "" if run.spec.lone else f"{len(run.spec.seed_list)}, "
    image = ", ".join(map(str, run.dataset.shape))
    return (
        f"import torch\nimport unknot\n\n"
        f"run = unknot.load({path!r})\n"
        f"x = run.dataset.batch(torch.tensor([0, 1, 2]))  # {run.dataset.noun} [3, {image}]\n"
        f"z = run.encode(x)  # codes [{first}3, {run.spec.net.settings.latents}]\n"
        f"y = run.decode(z)  # {run.dataset.noun} again [{first}3, {image}]\n"
    )
