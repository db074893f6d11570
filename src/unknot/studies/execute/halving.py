"""Halving: a population that does not fit into memory becomes two."""

from collections.abc import Sequence

from unknot.core.errors import UnknotError
from unknot.runs.folder import RunFolder
from unknot.studies.execute.events import Divided, Failed
from unknot.studies.plan import key_of
from unknot.studies.store import Store


def halve(store: Store, failure: Failed) -> Divided | None:
    """Put the models of a population that died of memory into two; None where that does not help.

    One model cannot be halved, and a population that has a checkpoint is kept: there was room for
    it, so that another try may end what it began.

    Args:
        store: The records, opened by `unknot.studies.execute.driver.driver`.
        failure: Of the population.
    """
    runs = [run.id for run in store.members(failure.key)]
    folder = RunFolder(store.place(failure.key))
    if not failure.memory or len(runs) < 2 or not _drop(folder):
        return None
    middle = (len(runs) + 1) // 2
    parts: dict[str, Sequence[str]] = {key_of(ids): ids for ids in (runs[:middle], runs[middle:])}
    store.divide(failure.key, parts)
    return Divided(failure.key, {key: len(ids) for key, ids in parts.items()}, failure.error)


def _drop(folder: RunFolder) -> bool:
    """Remove a population's folder where nothing has been trained; whether it is gone."""
    if not folder.path.exists():
        return True
    if folder.is_trained or folder.kept_steps():
        return False
    try:
        with folder.lock():  # its worker may be alive, though it was not heard of
            folder.abandon(made=True)  # which leaves one with a checkpoint as it is
    except UnknotError:
        return False
    return not folder.path.exists()
