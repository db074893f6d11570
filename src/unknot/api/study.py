"""Study: a grid of runs, from Python; the same plan, folder and resume as from the shell."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot.analysis.blind import Among
from unknot.api import study_columns
from unknot.api.arguments import device_name
from unknot.api.blind_selection import blind_table
from unknot.api.own_net import give_modules
from unknot.api.progress import bar, say
from unknot.api.run import Run
from unknot.api.study_bar import StudyBar, perform_here
from unknot.api.study_images import images_of_study
from unknot.core import dotted, user_classes
from unknot.core.border import as_path, check_type, check_whole
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, StoreError
from unknot.core.files import check_page
from unknot.core.text import joined
from unknot.core.typed import typed
from unknot.losses.features import is_of_modules
from unknot.runs import words
from unknot.runs.signals import stop_on_signal
from unknot.runs.training import Stopped
from unknot.studies import study as records
from unknot.studies.execute import driver
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import Plan, plan

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """A grid of runs in a folder.

    Args:
        path: The folder.
        file: What to run; None for a study that is only read.
        images: Datasets that were given in Python, which no other process has.

    Example: `unknot.Study.open("studies/betas").best("mig").traverse()`
    """

    path: Path
    file: StudyFile | None = None
    images: tuple[FactorDataset, ...] = ()

    @classmethod
    def open(cls, path: str | Path, *, data: Any = None, net: Any = None) -> "Study":
        """The study in a folder, also while it runs elsewhere.

        Args:
            path: The folder.
            data: The images that it was given in Python, if it was: they are stored nowhere.
            net: The modules that it was given in Python, likewise.

        Raises:
            ConfigError: The modules are others.
            DataError: The images are others.
            StoreError: There is no study in it, or it is damaged.
        """
        tables = records.Study.open(path).store.settings().values()
        if net is not None:
            give_modules(net, {table["net"].get("structure") for table in tables}, "study")
        images = () if data is None else (images_of_study(data, tables),)
        return cls(Path(path), images=images)

    @property
    def records(self) -> records.Study:
        """What the folder holds.

        Raises:
            StoreError: Nothing was run yet, or it is damaged.
        """
        if self.file is not None and not (self.path / "study.db").exists():
            raise StoreError(
                f"Nothing of {self.name} was run yet in {self.path}; study.run() first."
            )
        return records.Study.open(self.path)

    @property
    def name(self) -> str:
        """As its file says."""
        return str(self.file.table["name"]) if self.file else self.records.name

    def plan(self) -> Plan:
        """All runs that it has, checked; nothing is written.

        Raises:
            ConfigError: A setting does not make sense.
        """
        return plan(self._wish)

    @typed("workers", "update", "skip_missing", "progress")
    def run(
        self,
        *,
        device: str = "auto",
        workers: int | None = None,
        update: bool = False,
        skip_missing: bool = False,
        progress: bool = True,
    ) -> "Study":
        """Run what is left of it, in processes of this machine; Ctrl-C stops with checkpoints.

        Images, classes and modules that are objects in Python are known to this process alone: such
        a study runs in it.

        Args:
            device: ``auto``, ``cpu``, ``cuda`` for all GPUs, ``cuda:1`` or ``cuda:0,1``.
            workers: Processes; one for each core, or one for each GPU, when None. A study that runs
                in this process has none, and all cores to itself.
            update: Apply changes of the study to its folder; finished runs are kept.
            skip_missing: Leave out runs on published datasets whose files are not there.
            progress: Show a bar, in a terminal or a notebook.

        Raises:
            ConfigError: The folder holds another study.
            DataError: Files of published datasets are missing.
        """
        device = device_name(device)
        in_process = self._is_of_the_users()
        if in_process and progress:
            say(
                "What is an object in Python, images, classes or modules, can only train in this "
                "process, one population after the other. Worker processes need files: images by "
                "their path, classes by unknot --import MODULE study run FOLDER."
            )
        with (
            bar(None, show=progress) as move,
            stop_on_signal() if in_process else nullcontext() as stop,
        ):
            watcher, stopped = StudyBar(move), stop.is_set if stop else lambda: False
            try:
                driver.run(
                    self.path,
                    self.file,
                    device=device,
                    workers=1 if in_process else workers,
                    update=update,
                    skip_missing=skip_missing,
                    on_start=watcher.start,
                    watch=watcher.see,
                    pool=partial(perform_here, see=watcher.see, stop=stopped) if stop else None,
                )
            except (KeyboardInterrupt, Stopped):
                say("Stopped. study.run() resumes.")
        for error in watcher.errors:
            say(f"Failed: {error}")
        return self

    def table(self, *, step: int | None = None) -> "DataFrame":
        """One row a run: settings, logged values and scores.

        Args:
            step: Scores of the weights of this step, where they were kept; of the last when None.
        """
        import pandas as pd

        step = None if step is None else check_whole("step", step, 1)
        if step is not None and step not in (there := self.records.store.scored_steps()):
            earlier = f"steps {joined([f'{n:,}' for n in there])}" if there else "no step before it"
            raise ConfigError(
                f"There are no scores of step {step:,}; without step= there are those of the last, "
                f"and of {earlier}."
            )
        return pd.DataFrame(self.records.table(step=step))

    def status(self) -> dict[str, Any]:
        """How far it is: numbers of runs, steps and scores."""
        return self.records.status()

    def load(self, run: str, *, device: str = "auto") -> Run:
        """One of its models.

        Args:
            run: Its id, or enough of its first digits.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        """
        check_type("run", run, str)
        return Run.wrap(self.records.run(run, device=device))

    def best(self, metric: str, *, device: str = "auto") -> Run:
        """The model with the best value of a metric or of a logged value, such as ``recon``.

        It is chosen among many, so that its value is biased upwards. Models that collapsed, or that
        draw the same whatever they see, are left out unless all are such.

        Args:
            metric: A column of the table.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.

        Raises:
            ConfigError: There is no such column.
            StoreError: No run has a value.
        """
        run = study_columns.best_run(self.table(), metric, self.path)
        return self.load(run, device=device)

    def effect(self, setting: str, *metrics: str) -> "DataFrame":
        """Scores by the values of a setting, pooled over all other settings and seeds.

        A difference is the mean over pairs of runs that agree in all other settings and the seed.
        `unknot.analysis.effects` says what its interval assumes.

        Args:
            setting: A column of the table, such as ``objective.beta``, or its last name, ``beta``.
            metrics: Columns; all scores unless given.

        Returns:
            A row for each value and metric: number of runs, mean and standard deviation; number of
            pairs, their mean difference from the first value, its 95 % interval, and what that is
            over.

        Raises:
            ConfigError: There is no such column, or the first is no setting.
        """
        known = self.records
        return study_columns.effect_table(
            self.table(),
            setting,
            metrics,
            settings=known.setting_names(),
            scores=known.scores(),
            path=self.path,
        )

    @typed()
    def blind_selection(
        self,
        *metrics: str,
        criteria: Sequence[str] | None = None,
        among: Among = "configurations",
    ) -> "DataFrame":
        """How much of each score is lost where models are chosen by criteria that need no labels.

        Args:
            metrics: Scores that need labels; all that the study has unless given.
            criteria: Columns that need none, such as ``recon`` or ``elbo``, ``udr`` or
                ``udr_ranks``, the agreement of models of other seeds; all unless given.
            among: ``configurations``, by their means over seeds, or ``runs``.

        Returns:
            A row for each dataset, criterion and score: see `unknot.analysis.blind.BlindChoice`.

        Raises:
            ConfigError: There is no such column, or nothing to choose by.
        """
        return blind_table(self.path, metrics, criteria, among)

    def report(
        self, out: str | Path | None = None, *, paper: bool = False, device: str = "cpu"
    ) -> Path:
        """Write the page of the study, or its folder for a paper; gives the first file's path.

        Args:
            out: A folder; ``report``, or ``paper``, in that of the study when None.
            paper: Write LaTeX tables, PDF figures at column width, BibTeX and a paragraph on
                methods instead of the page.
            device: What encodes and decodes the images of models.
        """
        from unknot.report.study import page
        from unknot.report.study.paper import folder

        kind = "paper" if paper else "report"
        place = self.path / kind if out is None else as_path("out", out)
        if any((place / name).exists() for name in ("run.toml", "study.db")):
            raise StoreError(f"{place} holds a run or a study; choose another folder.")
        if out is not None:
            check_page(place, "main.tex" if paper else "index.html")
        if paper:
            return folder.paper(self.path, place)[0]
        return page.report(self.path, place, device=device)[0]

    @typed()
    def archive(self, path: str | Path, *, weights: str = "half") -> Path:
        """Write the study as one zip file, which `unknot.load` reads.

        Args:
            path: The file; one that is there is replaced.
            weights: ``half`` precision, ``full`` as trained, or ``none``.
        """
        from unknot.studies.archive.writing import write_archive

        write_archive(self.path, file := as_path("path", path), weights=weights)
        return file

    def __len__(self) -> int:
        if self._is_planned():
            return int(self.status()["runs"]["all"])
        return len(self.plan().runs)

    def __repr__(self) -> str:
        if not self._is_planned():
            return f"Study({self.name}: {len(self):,} runs in {self.path}, not started; .run())"
        runs = self.status()["runs"]
        text = ", ".join(f"{n:,} {name}" for name, n in runs.items() if n and name != "all")
        return f"Study({self.name}: {runs['all']:,} runs in {self.path}: {text})"

    def _repr_html_(self) -> str:
        from html import escape

        from unknot.report.run import notebook

        if not self._is_planned():
            return f"<div>{escape(repr(self))}</div>"
        return notebook.study_html(self.records)

    def _is_planned(self) -> bool:
        try:
            return bool(self.records)
        except StoreError:
            return False

    @property
    def _wish(self) -> StudyFile:
        """What to run, from Python or from the folder."""
        return self.file or StudyFile.parse(self.records.store.facts()["text"])

    def _is_of_the_users(self) -> bool:
        """Whether it has images, classes or modules that no other process knows."""
        settings = self._wish.sweep.settings
        names = {words.chosen_name(table, word) for table in settings for word in dotted.NAMED}
        return any(
            name in ("modules", "memory") or user_classes.is_user_name(name or "") for name in names
        ) or any(
            is_of_modules(table["objective"].get("likelihood"))
            for table in settings
            if isinstance(table.get("objective"), Mapping)
        )
