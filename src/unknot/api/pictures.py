"""What a run draws and explains: methods of `Run` that give pictures, or tables to be read."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from unknot.core.border import check_type, check_whole
from unknot.core.errors import ConfigError
from unknot.core.typed import typed
from unknot.runs import run

if TYPE_CHECKING:
    from pandas import DataFrame

    from unknot.report.model.chosen_traversals import Span
    from unknot.report.picture import Picture

MOST_SAMPLES = 10_000
"""Images of one picture."""


class Pictures(run.Run):
    """Pictures of models: in a notebook they show themselves, and ``.save(path)`` writes them."""

    @typed("steps", "order")
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
        self, a: Any, b: Any, *, steps: int = 9, other: run.Run | None = None
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

        check_type("other", other, run.Run, type(None))
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

        return Picture(figures.curves_figure(self.training.curves, self.training.validation))

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
