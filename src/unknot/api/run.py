"""Run: trained models as a notebook holds them."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot.api.progress import bar, say
from unknot.api.scores import Scores
from unknot.core.border import as_path, check_type, check_whole
from unknot.core.errors import ConfigError
from unknot.runs import evaluate, longer, run, verbs
from unknot.runs.folder import RunFolder
from unknot.runs.metric_names import by_protocol, metric_names
from unknot.runs.signals import stop_on_signal
from unknot.runs.training import Watcher

if TYPE_CHECKING:
    from pandas import DataFrame

    from unknot.report.explorer.forms import Form
    from unknot.report.model.chosen_traversals import Span
    from unknot.report.picture import Picture


MOST_SAMPLES = 10_000
"""Images of one picture."""


@dataclass(frozen=True, eq=False, repr=False)
class Run(run.Run):
    """One trained model, or a population of them.

    A run of one seed gives results without a member axis; a run of a list of seeds puts the members
    first, ``[p, ...]``, even when the list has one. ``len(run)``, ``run[3]`` and iteration give its
    models, each a run of its own.
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

    def traverse(
        self,
        member: int = 0,
        *,
        base: Any = None,
        span: "Span" = None,
        steps: int = 9,
        order: str = "kl",
        latent: int | str | None = None,
        bases: Sequence[Any] | None = None,
    ) -> "Picture":
        """Images decoded while one latent moves and the others stay, the most informative first.

        ``run.traverse(latent=3, bases=[0, 10, 20])`` moves one latent of several images. Of a
        table, how far each latent moves each column, as a figure, without options.

        Args:
            member: Which model, if there are several.
            base: The image around which latents move, or its row; one in the middle when None.
            span: From which value to which, ``(-3, 3)``, or of each latent that is shown,
                ``{0: (-3, 3), 4: (-1, 2)}``; 2 standard deviations about its mean when None.
            steps: Columns.
            order: ``kl``, or ``factor``: latents that follow the same factor beside each other.
            latent: Move this one alone, a row per image; or a factor, for the latent that follows
                it most.
            bases: The images of these rows, or their numbers; some of the data when None.

        Raises:
            ConfigError: There is no such row, latent or order, or no such span.
            ShapeError: The data is a table, or the image is of another size.
        """
        from unknot.report.model import chosen_traversals, latents, views
        from unknot.report.picture import Picture

        if latent is not None:
            if base is not None or order != "kl":
                raise ConfigError(
                    "With latent=, images are bases=[...]; base and order do not apply."
                )
            return Picture(
                chosen_traversals.traverse_images(
                    self, latent, member, bases=bases, span=span, steps=steps
                )
            )
        if bases is not None:
            raise ConfigError("bases needs the latent that moves: traverse(latent=3, bases=[...]).")
        if base is not None or span is not None or (steps, order) != (9, "kl"):
            return Picture(
                chosen_traversals.traverse_latents(
                    self, member, base=base, span=span, steps=steps, order=order
                )
            )
        latents.check_member(self, member)
        measured = latents.measure_latents(self)
        return Picture(views.traversal_view(self, measured, member))

    def reconstruct(self, member: int = 0) -> "Picture":
        """Images of the dataset, each above its reconstruction; of a table, R² of each column.

        Args:
            member: Which model, if there are several.
        """
        from unknot.report.model import views
        from unknot.report.picture import Picture

        return Picture(views.reconstruction_view(self, member))

    def sample(self, n: int = 16, member: int = 0) -> "Picture":
        """Images decoded from codes that are drawn from the prior.

        Args:
            n: How many.
            member: Which model, if there are several.
        """
        from unknot.report.model import pictures, traversals
        from unknot.report.picture import Picture
        from unknot.report.sheet import Row, sheet

        n = check_whole("n", n, 1, MOST_SAMPLES)
        images = pictures.prior_samples(self, member, n=n)
        across = math.ceil(math.sqrt(n)) if n < 64 else 8
        rows = [Row((), images[start : start + across]) for start in range(0, n, across)]
        heading = f"Samples from the prior: {traversals.title(self, member)}"
        return Picture(sheet(rows, title=heading))

    def interpolate(
        self, a: Any, b: Any, *, steps: int = 9, other: "Run | None" = None
    ) -> "Picture":
        """What models decode on the straight line between the codes of two images, a row for each.

        Args:
            a: An image, or the number of a row of the dataset.
            b: The other.
            steps: Columns, the two ends counted.
            other: Another run, whose rows come below: an AE beside a VAE.

        Raises:
            ConfigError: The other run is of images of another shape.
        """
        from unknot.report.model import between
        from unknot.report.picture import Picture

        check_type("other", other, Run, type(None))
        return Picture(between.interpolation(self, a, b, steps=steps, other=other))

    def swap(self, a: Any, b: Any, latents: int | Sequence[int]) -> "Picture":
        """Two images, their reconstructions, and those with some latents exchanged.

        Args:
            a: An image, or the number of a row of the dataset.
            b: The other.
            latents: The number of a latent, or several.
        """
        from unknot.report.model import between
        from unknot.report.picture import Picture

        numbers = latents if isinstance(latents, Iterable) else [latents]
        return Picture(between.exchange(self, a, b, [*numbers]))

    def plot_curves(self) -> "Picture":
        """What training logged, a panel each; ``.figure`` is the figure of matplotlib."""
        from unknot.report.model import figures
        from unknot.report.picture import Picture

        return Picture(figures.curves_figure(self.curves, self.validation))

    def plot_explained(self, member: int = 0) -> "Picture":
        """How much of each latent's variance each factor explains, as a figure.

        Args:
            member: Which model, if there are several.
        """
        from unknot.report.model import figures, latents
        from unknot.report.picture import Picture

        latents.check_member(self, member)
        measured = latents.measure_latents(self)[member]
        return Picture(figures.factor_figure(measured, self.dataset.space.names))

    def plot_matrix(self, kind: str = "pearson", member: int = 0) -> "Picture":
        """A matrix of latents by factors as a figure, each latent with its σ and KL divergence.

        Args:
            kind: ``dci`` (importances), ``sap`` (predictability), ``cbd`` (correlations with the
                largest and second marked), ``information`` (nats) or ``pearson`` (with signs).
            member: Which model, if there are several.

        Raises:
            ConfigError: There is no such matrix.
            DataError: The data has no factors, or is not here; or the model diverged.
        """
        from unknot.report.model import matrices
        from unknot.report.picture import Picture

        return Picture(matrices.matrix_view(self, kind, member))

    def explain(self, member: int = 0) -> "DataFrame":
        """Which latent follows which factor, and how strongly: a row for each latent.

        ``kl`` is what the latent says, in nats; ``factor`` explains most of its variance, and the
        columns after it give the share that each factor explains alone. `plot_explained` draws it.
        Of a table, ``moves`` names the columns that move most with the latent, and between which
        values.

        Args:
            member: Which model, if there are several.
        """
        from unknot.report.model.explained import explained_table

        return explained_table(self, member)

    def explorer(
        self,
        path: str | Path,
        *,
        other: "Run | None" = None,
        member: int = 0,
        images: bool = True,
        form: "Form | None" = None,
    ) -> Path:
        """Write one HTML file in which people move the latents; it needs no server and no network.

        Args:
            path: The file; one that is there is overwritten.
            other: Another run on the same data, to compare under the same sliders.
            member: Which model, if there are several.
            images: Put some images of the data and their codes into it.
            form: ``float16`` or ``int8`` puts the weights of the decoder into it, ``frames``
                pictures alone; what fits when None.

        Raises:
            ConfigError: The model diverged, or the other run is of other data.
            ShapeError: The data is a table.
            StoreError: The path is a folder.
        """
        from unknot.report.explorer.forms import check_form
        from unknot.report.explorer.model import explorer_model
        from unknot.report.explorer.page import check_path, explorer

        check_path(path := as_path("path", path))
        check_form(form)
        check_type("images", images, bool)
        check_type("other", other, Run, type(None))
        runs = [self] if other is None else [self, other]
        models = [explorer_model(run, member) for run in runs]
        return explorer(models, images=images, form=form).write(path)

    def export(
        self,
        path: str | Path,
        *,
        member: int = 0,
        license: str = "unknown",
        onnx: bool | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the model for others: plain PyTorch, ONNX and a model card, in one folder.

        ``model.py`` and ``model.safetensors`` need no unknot; `unknot.load` reads ``run`` in it.

        Args:
            path: A new or empty folder.
            member: Which model, if there are several.
            license: For the card, an identifier of the hub such as ``mit``.
            onnx: Write ONNX files; if the extra ``onnx`` is installed when None.
            overwrite: Replace a model that was exported there before.

        Raises:
            ConfigError: The model diverged, or has a layer that cannot be exported.
            StoreError: The folder holds something else.
        """
        from unknot.sharing.folder import export

        exported = export(
            self, path, member=member, license=license, onnx=onnx, overwrite=overwrite
        )
        for note in exported.notes:
            say(note)
        return exported.path

    def push(
        self,
        name: str,
        *,
        member: int = 0,
        license: str = "unknown",
        private: bool = False,
        onnx: bool | None = None,
    ) -> str:
        """Put the model on the Hugging Face hub; gives the address that `unknot.load` takes.

        What is put there is what `export` writes. Log in before with ``hf auth login``, or set
        ``HF_TOKEN``. Needs the extra ``hub``.

        Args:
            name: ``user/name``.
            member: Which model, if there are several.
            license: For the card, an identifier of the hub such as ``mit``.
            private: Make a new repository private.
            onnx: Write ONNX files; if the extra ``onnx`` is installed when None.

        Raises:
            ConfigError: The extra is not installed, or nobody is logged in.
            StoreError: The repository holds files of others.
            DownloadError: The hub refused, or could not be reached.
        """
        from unknot.sharing import hub

        pushed = hub.push(self, name, member=member, license=license, private=private, onnx=onnx)
        for note in pushed.exported.notes:
            say(note)
        say(f"{pushed.url}, revision {pushed.revision}, model.safetensors SHA-256 {pushed.sha256}")
        return f"{hub.PREFIX}{name}@{pushed.revision}"

    def score(
        self,
        *metrics: str,
        part: str | None = None,
        protocol: str = "unknot",
        seed: int = 0,
    ) -> Scores:
        """Scores of each model that did not diverge, as a table that is a list of records.

        Args:
            metrics: Names, ``mig``, or with a protocol, ``dci@study2019``; all metrics that apply
                unless given.
            part: Score rows of this part of the run's split: ``train``, ``validation`` or
                ``test``; all rows when None. ``recon`` is the error of reconstructions.
            protocol: The name of a protocol, for metrics that name none.
            seed: Random seed for the metrics.

        Raises:
            ConfigError: There is no such metric, part or protocol.
        """
        for metric in metrics:
            check_type("metrics", metric, str)
        check_type("protocol", protocol, str)
        if not metrics:
            return self._score(None, part, protocol, seed)
        return Scores(
            record
            for wish, names in by_protocol(metrics, protocol).items()
            for record in self._score(metric_names(names), part, wish, seed)
        )

    def _score(self, names: list[str] | None, part: str | None, protocol: str, seed: int) -> Scores:
        scores = evaluate.evaluate(
            self,
            protocol=protocol,
            metrics=names,
            seed=seed,
            strict=names is not None,
            part=part,
        )
        return Scores(record for records in scores for record in records)


def _say_stopped(stopped: Run) -> None:
    place = f", or in another process unknot.resume({str(stopped.path)!r})" if stopped.path else ""
    say(
        f"Stopped at step {stopped.step:,} of {stopped.spec.updates:,}. "
        f"To continue: run.resume(){place}."
    )
