"""Training an mdL-VAE by its rule: strong first, and weak where strong left no sigma large.

```python
from unknot.runs import config
from unknot.studies.mdl import train_mdl

net = {"name": "ozcan_mlp", "latents": 5}
spec = config.spec({"objective": "mdl_vae", "net": net, "steps": 300_000, "seeds": [0, 1, 2]})
runs = train_mdl(spec, out="runs/mdl")
for choice in runs.choices:
    print(choice.why)
```
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from unknot.core import noise
from unknot.core.errors import ConfigError, StoreError
from unknot.core.files import write_whole
from unknot.core.representation import Representation
from unknot.losses import kl_normal
from unknot.objectives.mdl_vae import MdLVAE, choose_variant
from unknot.runs.folder import RunFolder
from unknot.runs.run import Run
from unknot.runs.spec import Choice, TrainSpec
from unknot.runs.training import Watcher
from unknot.runs.verbs import resume, train


@dataclass(frozen=True)
class MdlChoice:
    """What the rule said of one member, and the numbers it was said of."""

    seed: int
    variant: Literal["strong", "weak"]
    epsilon: float
    sigmas: tuple[float, ...]
    """Of each latent at the end of the strong training; none of a member that diverged."""
    kls: tuple[float, ...]
    """Mean divergence of each latent, of which its sigma is an increasing function at rest."""

    @property
    def why(self) -> str:
        """The choice in a sentence.

        Example:
            >>> MdlChoice(3, "weak", 0.5, (0.1, 0.31), (0.2, 1.4)).why
            'Seed 3: weak, as no sigma of the strong run reached 0.5; largest 0.31, KL 1.40 nats.'
        """
        if not self.sigmas:
            return f"Seed {self.seed}: {self.variant}, as it diverged and has no sigmas to go by."
        which = "no sigma" if self.variant == "weak" else "a sigma"
        return (
            f"Seed {self.seed}: {self.variant}, as {which} of the strong run reached "
            f"{self.epsilon:g}; largest {max(self.sigmas):.2f}, KL {max(self.kls):.2f} nats."
        )


@dataclass(frozen=True)
class MdlRuns:
    """The strong run of all members, the weak one of those that needed it, and who did."""

    strong: Run
    weak: Run | None
    choices: tuple[MdlChoice, ...]

    @property
    def by_seed(self) -> Mapping[int, tuple[Run, int]]:
        """The chosen run of each seed, and which of its members that seed is."""
        places = {}
        for choice in self.choices:
            run = self.weak if choice.variant == "weak" and self.weak else self.strong
            places[choice.seed] = run, run.spec.seed_list.index(choice.seed)
        return places

    @property
    def final(self) -> Run:
        """The run to use, where one run has all members."""
        runs = [run for run, _ in self.by_seed.values()]
        if any(run is not runs[0] for run in runs):
            raise ConfigError(
                "Some members are strong and others weak, so no one run has them all; "
                "use by_seed or representations."
            )
        return runs[0]

    def representations(self) -> list[Representation]:
        """Each member's codes by grid point, as its chosen run has them."""
        return [run.representations()[member] for run, member in self.by_seed.values()]


def train_mdl(
    spec: TrainSpec,
    *,
    epsilon: float = 0.5,
    out: str | Path | None = None,
    device: str = "auto",
    watch: Watcher = lambda _: None,
) -> MdlRuns:
    """Train mdL-VAE strong; members none of whose sigmas reaches epsilon are trained again as weak.

    Those train side by side from their own seeds, so each is what it would be alone. A member that
    diverged stays strong.

    Args:
        spec: A training of `mdl_vae` in its strong variant.
        epsilon: The thesis's 0.5.
        out: A folder for both runs, `strong` and `weak`, and for `choices.json`; the same call
            again resumes what is there.
        device: As in `unknot.train`.
        watch: As in `unknot.train`, told of one run after the other.
    """
    settings = spec.objective.settings
    if not isinstance(settings, MdLVAE) or settings.variant != "strong":
        raise ConfigError(
            "train_mdl starts from mdl_vae with variant 'strong'; "
            f"got {spec.objective.name} with {settings}."
        )
    if not epsilon > 0:
        raise ConfigError(f"epsilon must be above 0; got {epsilon}.")

    def trained(spec: TrainSpec, name: str) -> Run:
        path = None if out is None else Path(out) / name
        if path is None or not RunFolder(path).spec_file.exists():
            run = train(spec, out=path, device=device, watch=watch)
        elif RunFolder(path).spec() == spec:
            run = resume(path, device=device, watch=watch)
        else:
            raise StoreError(f"{path} holds a run of other settings; choose another folder.")
        if run.status == "stopped":
            raise KeyboardInterrupt
        return run

    strong = trained(spec, "strong")
    choices = _choices(strong, settings, epsilon)
    seeds = tuple(choice.seed for choice in choices if choice.variant == "weak")
    if out is not None:
        text = json.dumps([{**asdict(choice), "why": choice.why} for choice in choices], indent=1)
        write_whole(Path(out) / "choices.json", text.encode())
    weak = None
    if seeds:
        objective = Choice(spec.objective.name, replace(settings, variant="weak"))
        seed = spec.seeds if spec.lone else seeds
        weak = trained(replace(spec, objective=objective, seeds=seed), "weak")
    return MdlRuns(strong, weak, choices)


def _choices(strong: Run, settings: MdLVAE, epsilon: float) -> tuple[MdlChoice, ...]:
    sigmas = settings.sigmas(strong.training.population.state()["extra.sigma"])
    rows = noise.integers(0, "mdl", 0, 1_000, high=len(strong.dataset))
    kls = kl_normal(strong.posteriors(rows)).reshape(sigmas.shape)

    def choice(member: int, seed: int) -> MdlChoice:
        sigma = sigmas[member]
        if member in strong.diverged or not bool(sigma.isfinite().all()):
            return MdlChoice(seed, "strong", epsilon, (), ())
        variant = choose_variant(sigma, epsilon=epsilon)
        return MdlChoice(seed, variant, epsilon, tuple(sigma.tolist()), tuple(kls[member].tolist()))

    return tuple(choice(member, seed) for member, seed in enumerate(strong.spec.seed_list))
