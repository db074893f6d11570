"""Study: what a study's folder holds, to read.

```
<study>/
  study.toml            what was asked, as given
  study.db              plan, runs, scores (SQLite)
  populations/<key>/    weights, curves and scores of models that trained side by side
```

```python
from unknot.study.study import Study

study = Study.open("studies/three-betas")
best = max((row for row in study.table() if row.get("mig")), key=lambda row: row["mig"])
run = study.run(best["id"])          # the model itself
```
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot.core.errors import StoreError
from unknot.core.registry import nearest
from unknot.study import lock, store
from unknot.study.store import FAILED, RUNNING, Store

if TYPE_CHECKING:  # reading a table needs no torch
    from unknot.study.curves import Curves
    from unknot.study.run import Run

NAMED = ("data", "net", "objective", "draw")
NO_SETTINGS = ("version", "log_every", "checkpoint_every")
"""They decide when something is written down, not what a run gives."""


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
        opened = store.open_to_read(Path(path))
        if "text" not in opened.facts():
            raise StoreError(f"The study in {path} was never planned; start it from its file.")
        return cls(Path(path), opened)

    @property
    def name(self) -> str:
        """As its file says."""
        return self.store.facts()["name"]

    def table(self, *, dropped: bool = False) -> list[dict[str, Any]]:
        """One row for each run, in the order of the plan.

        Columns, each in all rows where not said otherwise:

        - ``id``: 12 hex digits; ``seed``.
        - ``status``: ``waiting``, ``running``, ``done``, ``diverged`` or ``failed``.
        - ``diverged``: whether the run was lost; None while that is not known.
        - ``population``, ``member``: where its weights are.
        - ``seconds``: of training, its share of its population's; None before the end.
        - ``error``: why it failed; None for others.
        - ``data``, ``net``, ``objective``, ``draw``: names. ``draw`` only where the run has one.
        - settings by path: ``objective.beta``, ``net.latents``, ``optim.lr``, ``steps``, ``batch``,
          ``precision``, ``order_seed``. A schedule has a path for each of its own settings
          (``objective.c.end``). A row has the settings of its own objective, net and data only.
        - logged values by name (``loss``, ``recon``, ``kl``, ...), means over the last hundredth of
          the log; None where not finite. Only in rows of ended runs.
        - scores by name (``mig``, ``dci.disentanglement``, ...) under the study's protocol, and as
          ``mig@study2019`` under others: the newest measure of each. None where a score is
          undefined or does not apply to the run; no key where it was not computed. A score wins
          over a logged value of the same name.

        Args:
            dropped: Also give runs that the study file no longer asks for.
        """
        settings = {
            n: flat(json.loads(s)) for n, s in self._rows("SELECT number, spec FROM settings")
        }
        scores = self._scores()
        query = f"""
            SELECT plan.run, plan.seed, plan.setting, plan.population, plan.member, runs.status,
                populations.status, populations.error, runs.seconds, runs.last
            FROM plan
            JOIN populations ON populations.key = plan.population
            LEFT JOIN runs ON runs.run = plan.run
            {"" if dropped else "WHERE plan.wanted = 1"}
            ORDER BY plan.wanted DESC, plan.position
        """  # noqa: S608 - no word from outside
        table = []
        for run, seed, setting, key, member, ended, status, error, seconds, last in self._rows(
            query
        ):
            row = {
                "id": run,
                "seed": seed,
                "status": ended or _status(status),
                "diverged": None if ended is None else ended == "diverged",
                "population": key,
                "member": member,
                "seconds": seconds,
                "error": None if ended else error,
            }
            logged = _last(last) if last else {}
            own = {**row, **settings[setting]}
            # First and last: an objective may log something that it calls diverged.
            table.append({**own, **logged, **scores.get(run, {}), **own})
        return table

    def status(self) -> dict[str, Any]:
        """How far the study is.

        Gives ``name``, ``runs`` and ``populations`` by status and in all, ``steps`` (``done`` and
        ``all``), ``scores``, ``failures`` (messages and how many populations each), and ``driver``:
        whether a process is at work on it.
        """
        runs: dict[str, int] = {}
        query = """
            SELECT runs.status, populations.status, count(*) FROM plan
            JOIN populations ON populations.key = plan.population
            LEFT JOIN runs ON runs.run = plan.run
            WHERE plan.wanted = 1 GROUP BY runs.status, populations.status
        """
        for ended, population, count in self._rows(query):
            status = ended or _status(population)
            runs[status] = runs.get(status, 0) + count
        wanted = "key IN (SELECT population FROM plan WHERE wanted = 1)"
        query = f"SELECT status, count(*) FROM populations WHERE {wanted} GROUP BY status"  # noqa: S608
        populations = dict(self._rows(query))
        query = f"""
            SELECT coalesce(sum(members * CASE WHEN phase = 'train' THEN done ELSE steps END), 0),
                coalesce(sum(members * steps), 0) FROM populations WHERE {wanted}
        """  # noqa: S608
        done, steps = self._rows(query)[0]
        query = (
            f"SELECT error, count(*) FROM populations WHERE status = ? AND {wanted} GROUP BY error"  # noqa: S608
        )
        failures = [{"error": e, "populations": n} for e, n in self.store.rows(query, (FAILED,))]
        return {
            "study": str(self.path),
            "name": self.name,
            "driver": lock.is_held(self.path),
            "runs": {"all": sum(runs.values()), **runs},
            "populations": {"all": sum(populations.values()), **populations},
            "steps": {"done": done, "all": steps},
            "scores": self._rows("SELECT count(*) FROM scores")[0][0],
            "failures": failures,
        }

    def find(self, start: str) -> str:
        """The id of a run from its first digits.

        Raises:
            StoreError: No run starts so, or several do.
        """
        ids = [run for (run,) in self._rows("SELECT run FROM plan ORDER BY run")]
        found = [run for run in ids if run.startswith(start)]
        if len(found) != 1:
            said = (
                f"; {len(found)} start so, write more digits." if found else nearest(start, ids[:9])
            )
            raise StoreError(f"{self.path} has no run '{start}'{said}")
        return str(found[0])

    def run(self, start: str, *, device: str = "auto") -> "Run":
        """One model of the study, as `unknot.load` would give it.

        Args:
            start: Its id, or enough of its first digits.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.

        Raises:
            StoreError: There is no such run, or it is not trained yet.
        """
        from unknot.study import task
        from unknot.study.members import load

        folder, member = self.place(start)
        specs = task.of_store(self.store, folder.name).specs()
        return load(folder, specs, device).run(member)

    def curves(self, start: str) -> "Curves":
        """What the training of one run logged, ``[log steps, 1]`` by name.

        Raises:
            StoreError: There is no such run, or it is not trained yet.
        """
        from unknot.study.members import curves_of

        folder, member = self.place(start)
        return curves_of(folder, member)

    def place(self, start: str) -> tuple[Path, int]:
        """The folder of a trained run's population, and which member of it the run is.

        Raises:
            StoreError: There is no such run, or it is not trained yet.
        """
        name = self.find(start)
        query = "SELECT population, member FROM plan WHERE run = ?"
        ((population, member),) = self.store.rows(query, (name,))
        folder = self.path / "populations" / population
        if not (folder / "population.json").exists():
            raise StoreError(
                f"Run {name} is not trained yet; go on with `unknot study run {self.path}`."
            )
        return folder, member

    def scores(self) -> list[str]:
        """Names of the columns of the table that hold scores, newest measures last."""
        return [*dict.fromkeys(name for of_run in self._scores().values() for name in of_run)]

    def baselines(self) -> tuple[str, ...]:
        """What the study file wants scores to be held against, in words."""
        import tomllib

        from unknot.study.sweep import baselines

        return baselines(tomllib.loads(self.store.facts()["text"]).get("baseline", []))

    def _scores(self) -> dict[str, dict[str, float | None]]:
        facts = self.store.facts()
        own, seed = facts["protocol"], int(facts["score_seed"])
        measures = {
            number: ("" if protocol == own else f"@{protocol}", json.loads(options).get("seed"))
            for number, protocol, options in self._rows(
                "SELECT number, protocol, options FROM measures"
            )
        }
        scores = self._rows("SELECT run, measure, name, value FROM scores ORDER BY measure")
        # Of a name the last to be put down stays: what was drawn with the seed that the study has
        # now, and of those the newest, as measures are numbered as they come.
        scores.sort(key=lambda row: measures[row[1]][1] in (None, seed))
        found: dict[str, dict[str, float | None]] = {}
        for run, measure, name, value in scores:
            found.setdefault(run, {})[name + measures[measure][0]] = value
        return found

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.store.rows(query)


def _status(population: str) -> str:
    return population if population in (RUNNING, FAILED) else "waiting"


def _last(text: str) -> dict[str, float | None]:
    return {k: v for k, v in json.loads(text).items() if not k.endswith(".weight")}


def flat(spec: dict[str, Any]) -> dict[str, Any]:
    """Settings by path; the name of a data set, net, objective or draw stands for it.

    Example:
        >>> flat({"batch": 64, "objective": {"name": "vae", "c": {"kind": "linear", "end": 5}}})
        {'batch': 64, 'objective': 'vae', 'objective.c.kind': 'linear', 'objective.c.end': 5}
    """

    def leaves(table: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for key, value in table.items():
            path = f"{prefix}{key}"
            if isinstance(value, dict):
                yield from leaves(value, f"{path}.")
            elif path not in NO_SETTINGS:
                yield path, value

    paths = {f"{name}.name": name for name in NAMED}
    return {paths.get(path, path): value for path, value in leaves(spec, "")}
