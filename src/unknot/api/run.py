"""Run: trained models as a notebook holds them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unknot.api.pictures import Pictures
from unknot.api.progress import bar, reading_bar, say
from unknot.api.publishing import Publishing
from unknot.api.scores import Scores
from unknot.core.border import check_type, check_whole
from unknot.core.typed import typed
from unknot.runs import evaluate, longer, run, verbs
from unknot.runs.folder import RunFolder
from unknot.runs.metric_names import by_protocol, metric_names, metric_text
from unknot.runs.signals import stop_on_signal
from unknot.runs.training import Watcher

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Run(Pictures, Publishing):
    """One trained model, or a population of them.

    A run of one seed gives results without a member axis; a run of a list of seeds puts the members
    first, ``[p, ...]``, even when the list has one. ``len(run)``, ``run[3]`` and iteration give its
    models, each a run of its own.

    Example: `run = unknot.load("runs/first"); run.traverse(); run.score("mig", "dci@study2019")`
    """

    @classmethod
    def wrap(cls, trained: run.Run, *, say: bool = False) -> "Run":
        """A run with all its verbs; one that was stopped can say how to continue."""
        wrapped = cls(trained.training, trained.path)
        if say and wrapped.status == "stopped":
            _say_stopped(wrapped)
        return wrapped

    def __len__(self) -> int:
        return len(self.training.ids)

    def __getitem__(self, index: int) -> "Run":
        index = check_whole("The number of a model", index)
        if not -len(self) <= index < len(self):  # ends iteration, too
            raise IndexError(f"The run has models 0 .. {len(self) - 1}; got {index}.")
        return self if self.spec.lone else self.member(index % len(self))

    def __iter__(self) -> Iterator["Run"]:
        return (self[i] for i in range(len(self)))

    def member(self, index: int) -> "Run":
        """One model of several, as a run of its own.

        Raises:
            ConfigError: There is no such model.
        """
        return Run(super().member(index).training)

    @property
    def curves(self) -> "DataFrame":
        """What training logged, a row for each log step.

        Of several models the columns have two levels, the name and the number of the model.
        """
        return self.training.curves.frame(lone=self.spec.lone)

    @property
    def validation(self) -> "DataFrame":
        """What training saw on validation rows, likewise; names begin with ``validation.``."""
        return self.training.validation.frame(lone=self.spec.lone)

    def __repr__(self) -> str:
        from unknot.core.text import number
        from unknot.report.run import notebook

        values = notebook.last_values(self)
        few = [f"{n} {number(values[n])}" for n in ("loss", "recon", "kl") if n in values]
        facts = "; ".join(filter(None, (notebook.progress(self), ", ".join(few))))
        return f"Run({notebook.title(self)}; {facts})"

    def _repr_html_(self) -> str:
        from unknot.report.run import notebook

        return notebook.run_html(self)

    @typed()
    def resume(self, *, progress: bool = True) -> "Run":
        """Continue a run that was stopped, to its last step.

        Args:
            progress: Show a bar, in a terminal or a notebook.
        """
        with bar(self.spec.updates, show=progress) as move:
            if self.path is not None:
                device = str(self.training.context.runtime.device)
                data = self.dataset if self.spec.data.name == "memory" else None
                trained = verbs.resume(self.path, device=device, data=data, watch=move)
            else:
                with stop_on_signal() as stop:
                    self.training.run(watch=move, stop=stop.is_set)
                trained = self
        return Run.wrap(trained, say=progress)

    @typed("keep_schedule", "progress")
    def train_more(
        self,
        steps: int,
        *,
        keep_schedule: bool = False,
        watch: Watcher = lambda _: None,
        progress: bool = True,
    ) -> "Run":
        """Train for more steps; the result is bit for bit what asking for all at once gives.

        A run in a folder is trained on there. The longer run has an id of its own; the weights and
        scores that there were are kept as those of their step.

        Args:
            steps: How many more.
            keep_schedule: Let a schedule that ends with the run end where it did; else a run with
                such a schedule is refused.
            watch: Called after every few steps with the progress.
            progress: Show a bar, in a terminal or a notebook.

        Raises:
            ConfigError: A schedule ends with the run.
            StoreError: The run is not finished, or its checkpoints are gone.
        """
        total = self.spec.steps + check_whole("steps", steps, 1)
        device = str(self.training.context.runtime.device)
        with bar(None, show=progress, watch=watch) as move, stop_on_signal() as stop:
            if self.path is not None:
                training = longer.train_longer(
                    RunFolder(self.path),
                    total,
                    keep_schedule=keep_schedule,
                    device=device,
                    data=self.dataset,
                    watch=move,
                    stop=stop.is_set,
                )
            else:
                spec = longer.longer_spec(self.spec, total, keep_schedule=keep_schedule)
                training = longer.extend(self.training, spec)
                training.run(watch=move, stop=stop.is_set)
        return Run.wrap(Run(training, self.path), say=progress)

    @typed("part")
    def score(
        self,
        *metrics: Any,
        part: str | None = None,
        protocol: str = "unknot",
        seed: int = 0,
        interval: float | None = None,
    ) -> Scores:
        """Scores of each model that did not diverge, as a table that is a list of records.

        Args:
            metrics: Names, ``mig``, or with a protocol, ``dci@study2019``; or the metrics
                themselves. All that apply unless given.
            part: Score rows of this part of the run's split: ``train``, ``validation`` or
                ``test``; all rows when None. ``recon`` is the error of reconstructions.
            protocol: The name of a protocol, for metrics that name none.
            seed: Random seed for the metrics.
            interval: Level of an interval over rows, such as 0.95, for the metrics that can have
                one; a remark names the others.

        Raises:
            ConfigError: There is no such metric, part or protocol.
        """
        metrics = tuple(metric_text(metric) for metric in metrics)
        check_type("protocol", protocol, str)
        seed = check_whole("seed", seed, 0)
        if not metrics:
            return self._score(None, part, protocol, seed, interval)
        return Scores(
            record
            for wish, names in by_protocol(metrics, protocol).items()
            for record in self._score(metric_names(names), part, wish, seed, interval)
        )

    def _score(
        self,
        names: list[str] | None,
        part: str | None,
        protocol: str,
        seed: int,
        interval: float | None,
    ) -> Scores:
        with reading_bar("rows encoded") as count:
            scores = evaluate.evaluate(
                self,
                protocol=protocol,
                metrics=names,
                seed=seed,
                strict=names is not None,
                part=part,
                interval=interval,
                on_rows=count,
            )
            return Scores(record for records in scores for record in records)


def _say_stopped(stopped: Run) -> None:
    place = f", or in another process unknot.resume({str(stopped.path)!r})" if stopped.path else ""
    say(
        f"Stopped at step {stopped.step:,} of {stopped.spec.updates:,}. "
        f"To continue: run.resume(){place}."
    )
