"""Study: what a study's folder holds, to read.

```
<study>/
  study.toml            what was asked, as given
  study.db              plan, runs, scores (SQLite)
  populations/<key>/    weights, curves and scores of models that trained side by side
```

```python
from unknot.studies.study import Study

study = Study.open("studies/three-betas")
best = max((row for row in study.table() if row.get("mig")), key=lambda row: row["mig"])
run = study.run(best["id"])          # the model itself
```
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot.core import dotted
from unknot.core.border import as_path, parse_json
from unknot.core.errors import DamageError, StoreError
from unknot.core.registry import nearest
from unknot.runs import lock
from unknot.studies import opening, store
from unknot.studies.omissions import read_omissions
from unknot.studies.results import count_waits, read_values
from unknot.studies.store import Store

if TYPE_CHECKING:  # reading a table needs no torch
    from pandas import DataFrame

    from unknot.runs.curves import Curves
    from unknot.runs.run import Run

NO_SETTINGS = ("format", "origins", *dotted.WRITTEN_DOWN)
"""They decide when something is written down, not what a run gives; origins are in the formulas."""


@dataclass(frozen=True)
class Study:
    """A study's records and models."""

    path: Path
    store: Store

    @classmethod
    def open(cls, path: str | Path) -> "Study":
        """Read a study's folder, also while it runs.

        Raises:
            StoreError: There is no study in it, or it is damaged.
        """
        opened = opening.open_to_read(as_path("path", path))
        if "text" not in opened.facts():
            raise StoreError(f"The study in {path} was never planned; start it from its file.")
        return cls(Path(path), opened)

    @property
    def name(self) -> str:
        """As its file says."""
        return self.store.facts()["name"]

    def table(self, *, dropped: bool = False, step: int | None = None) -> list[dict[str, Any]]:
        """One row for each run, in the order of the plan.

        Columns, each in all rows where not said otherwise:

        - ``id``: 12 hex digits; ``seed``.
        - ``status``: ``waiting``, ``running``, ``done``, ``diverged`` or ``failed``.
        - ``diverged``: whether the run was lost; None while that is not known.
        - ``population``, ``member``: where its weights are.
        - ``seconds``: of training, its share of its population's; None before the end.
        - ``error``: why it failed; None for others.
        - ``data``, ``net``, ``objective``, ``sampler``: names; the last if the run names one.
        - settings by path: ``objective.beta``, ``net.latents``, ``optim.lr``, ``steps``, ``batch``,
          ``precision``, ``order_seed``. A schedule has a path for each of its own settings
          (``objective.c.end``). A row has the settings of its own objective, net and data only.
          A setting that is taken from the result of another run is its formula, the same for all
          seeds; its value is in ``value.objective.beta`` when it is known.
        - logged values by name (``loss``, ``recon``, ``kl``, ...), means over the last hundredth of
          the log; None where not finite. Only in rows of ended runs.
        - ``contrast``: variance of reconstructions over images, as a share of that of the images;
          near 0 a model draws the same whatever it sees.
        - scores by name (``mig``, ``dci.disentanglement``, ...) under the study's protocol, and as
          ``mig@study2019`` under others; of a part of the data ``readout@test``: the newest measure
          of each. None where a score is
          undefined or does not apply to the run; no key where it was not computed. A score wins
          over a logged value of the same name.

        Args:
            dropped: Also give runs that the study file no longer asks for.
            step: Scores of the weights of this step, where they were kept; of the last when None.
        """
        settings: dict[int, dict[str, Any]] = {}
        scores = self.store.scores(step)
        values = read_values(self.store.facts())
        table = []
        for run in self.store.runs():
            if not (run.current or dropped):
                continue
            if run.configuration not in settings:
                settings[run.configuration] = flat(parse_json(run.spec))
            row = {
                "id": run.id,
                "seed": run.seed,
                "status": store.run_status(run.ended, run.population_status),
                "diverged": None if run.ended is None else run.ended == "diverged",
                "population": run.population,
                "member": run.member,
                "seconds": run.seconds,
                "error": None if run.ended else run.error,
            }
            logged = _last(run.last) if run.last else {}
            taken = {f"value.{path}": value for path, value in values.get(run.id, {}).items()}
            fixed = {**row, **settings[run.configuration], **taken}
            # First and last: an objective may log something that it calls diverged.
            table.append({**fixed, **logged, **scores.get(run.id, {}), **fixed})
        return table

    def frame(self, *, dropped: bool = False) -> "DataFrame":
        """The table as a data frame of pandas.

        Args:
            dropped: Also give runs that the study file no longer asks for.
        """
        import pandas

        return pandas.DataFrame(self.table(dropped=dropped))

    def status(self) -> dict[str, Any]:
        """How far the study is.

        Gives ``name``, ``runs`` and ``populations`` by status and in all, ``steps`` (``done`` and
        ``all``), ``scores``, ``failures`` (messages and how many populations each), ``omissions``
        (runs by dataset that were not planned for want of files), ``waits`` (runs by the source
        that they wait for), and ``driver``: whether a process is at work on it.
        """
        return {
            "study": str(self.path),
            "name": self.name,
            "driver": lock.is_held(self.path),
            "omissions": read_omissions(self.store.facts()),
            "waits": count_waits(self.store),
            **self.store.counts(),
        }

    def find(self, start: str) -> str:
        """The id of a run from its first digits.

        Raises:
            StoreError: No run starts so, or several do.
        """
        ids = self.store.run_ids()
        matches = [run for run in ids if run.startswith(start)]
        if len(matches) != 1:
            several = f"; {len(matches)} start so, write more digits."
            hint = several if matches else nearest(start, ids[:9])
            raise StoreError(f"{self.path} has no run '{start}'{hint}")
        return str(matches[0])

    def run(self, start: str, *, device: str = "auto") -> "Run":
        """One model of the study, as `unknot.load` would give it.

        Args:
            start: Its id, or enough of its first digits.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.

        Raises:
            StoreError: There is no such run, or it is not trained yet.
        """
        from unknot.runs.folder import RunFolder
        from unknot.runs.loading import load_training
        from unknot.runs.run import Run
        from unknot.studies.execute import task

        folder, member = self.place(start)
        specs = task.from_store(self.store, folder.name).specs()
        return Run(load_training(RunFolder(folder), specs, device, member=member))

    def curves(self, start: str) -> "Curves":
        """What the training of one run logged, ``[log steps, 1]`` by name.

        Raises:
            StoreError: There is no such run, or it is not trained yet.
        """
        from unknot.runs.folder import RunFolder

        folder, member = self.place(start, weights=False)
        return RunFolder(folder).curves().member(member)

    def place(self, start: str, *, weights: bool = True) -> tuple[Path, int]:
        """The folder of a trained run's population, and which member of it the run is.

        Args:
            start: Its id, or enough of its first digits.
            weights: Whether its weights must be there; an archive may be without.

        Raises:
            StoreError: There is no such run, or it is not trained yet.
        """
        from unknot.runs.folder import RunFolder

        name = self.find(start)
        run = self.store.run(name)
        folder = self.store.place(run.population)
        bare = RunFolder(folder).archived_weights == "none"
        if bare and weights:
            raise StoreError(f"{folder} comes from an archive without weights (--weights none).")
        if bare and RunFolder(folder).curves_file.exists():
            return folder, run.member
        if run.ended and not RunFolder(folder).is_trained:
            raise DamageError(
                f"Run {name} was trained, but {folder} lacks a file of it; copy it back, or train "
                f"it again: `unknot check {self.path} --repair`, then `unknot study run "
                f"{self.path}`."
            )
        if not RunFolder(folder).is_trained:
            raise StoreError(
                f"Run {name} is not trained yet; resume with `unknot study run {self.path}`."
            )
        return folder, run.member

    def scores(self) -> list[str]:
        """Names of the columns of the table that hold scores, newest measures last."""
        return [*dict.fromkeys(name for of_run in self.store.scores().values() for name in of_run)]

    def setting_names(self) -> list[str]:
        """Names of the columns of the table that hold settings."""
        specs = dict.fromkeys(run.spec for run in self.store.runs())
        return [*dict.fromkeys(path for spec in specs for path in flat(parse_json(spec)))]

    def baselines(self) -> tuple[str, ...]:
        """What the study file wants scores to be compared with, in words."""
        from unknot.studies.file.study_file import StudyFile

        return StudyFile.parse(self.store.facts()["text"]).baselines


def _last(text: str) -> dict[str, float | None]:
    return {k: v for k, v in parse_json(text).items() if not k.endswith(".weight")}


def flat(spec: dict[str, Any]) -> dict[str, Any]:
    """Settings by path; the name of a data set, net, objective or sampler stands for it.

    Example:
        >>> flat({"batch": 64, "objective": {"name": "vae", "c": {"kind": "linear", "end": 5}}})
        {'batch': 64, 'objective': 'vae', 'objective.c.kind': 'linear', 'objective.c.end': 5}
    """
    names = {f"{name}.name": name for name in dotted.NAMED}
    leaves = dotted.leaves(spec)
    return {names.get(path, path): value for path, value in leaves if path not in NO_SETTINGS}
