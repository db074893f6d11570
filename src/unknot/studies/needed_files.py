"""Files that the runs of a study read, looked for before anything is trained."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from unknot.core.errors import DataError
from unknot.data.parts.published import missing_files
from unknot.studies.plan import Plan


@dataclass(frozen=True)
class Gap:
    """A published dataset of which files are missing."""

    name: str
    """What `unknot data get` takes."""
    files: tuple[str, ...]
    runs: int
    """Runs of the study that need them."""
    settings: tuple[str, ...] = ()
    """Of the dataset, such as ``variant=real``, where they decide about the files."""

    @property
    def command(self) -> str:
        """What gets the files."""
        return " ".join(["unknot data get", self.name, *(f"--set {s}" for s in self.settings)])


def find_gaps(plan: Plan) -> list[Gap]:
    """Published datasets of a plan whose files are not there, in the order of the plan."""
    runs: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]] = Counter()
    for spec in plan.configurations:
        dataset = spec.data.settings
        for name, files in missing_files(dataset).items():
            own = _deciding(dataset) if name == spec.data.name else ()
            runs[name, tuple(files), own] += len(spec.seed_list)
    return [Gap(name, files, n, settings) for (name, files, settings), n in runs.items()]


def _deciding(dataset: Any) -> tuple[str, ...]:
    """Settings that say which of its files a dataset reads, as `unknot data get` takes them."""
    if len(dataset.sources()) == len(dataset.published.files):
        return ()
    return (f"variant={dataset.variant}",) if hasattr(dataset, "variant") else ()


def describe_gaps(gaps: Collection[Gap]) -> str:
    """Gaps in a line: datasets with their missing files, and what gets them.

    Example:
        >>> describe_gaps([Gap("shapes3d", ("3dshapes.h5",), 32)])
        'shapes3d (3dshapes.h5). Get them with `unknot data get shapes3d`'
    """
    named = ", ".join(f"{gap.name} ({', '.join(gap.files)})" for gap in gaps)
    commands = ", ".join(dict.fromkeys(f"`{gap.command}`" for gap in gaps))
    return f"{named}. Get them with {commands}"


def require_files(plan: Plan) -> None:
    """Refuse a plan whose published datasets lack files.

    Raises:
        DataError: Some are not there; the message names all of them and how to get them.
    """
    if gaps := find_gaps(plan):
        raise DataError(
            f"The study needs files that are not there: {describe_gaps(gaps)}, or add "
            "--skip-missing to run the study without those datasets."
        )


def drop_missing(plan: Plan, keep: Collection[str] = ()) -> Plan:
    """The plan without the runs whose files are not there.

    Args:
        plan: All runs.
        keep: Ids of runs that stay whatever is there, since they are in the records.

    Raises:
        DataError: No run is left.
    """
    ids: dict[int, list[str]] = {}
    for run in plan.runs:
        ids.setdefault(run.configuration, []).append(run.id)
    kept = [
        number
        for number, spec in enumerate(plan.configurations)
        if not missing_files(spec.data.settings) or not {*ids[number]}.isdisjoint(keep)
    ]
    if not kept:
        raise DataError(
            "All runs of the study need files that are not there: "
            f"{describe_gaps(find_gaps(plan))}."
        )
    places = {number: place for place, number in enumerate(kept)}
    missing = Counter(
        spec.data.name
        for number, spec in enumerate(plan.configurations)
        if number not in places
        for _ in spec.seed_list
    )
    return replace(
        plan,
        configurations=tuple(plan.configurations[number] for number in kept),
        runs=tuple(
            replace(run, configuration=places[run.configuration])
            for run in plan.runs
            if run.configuration in places
        ),
        omissions=dict(missing),
    )
