"""Selection: some members of a trained population as a population of their own."""

from collections.abc import Sequence
from pathlib import Path

from unknot.core.files import write_whole
from unknot.engine.checkpoint import unpack_tensors, write_tensors
from unknot.runs import records, status
from unknot.runs.folder import NOTE, RunFolder


def write_members(folder: RunFolder, members: Sequence[int], out: Path) -> None:
    """Write weights, curves and scores of some members, bit by bit as they are.

    Args:
        folder: Of a trained population.
        members: Places of those to write, in order.
        out: An empty folder.
    """
    record = folder.record_there()
    for name in record["files"]:
        if name == status.FEATURES:  # the same for all members
            write_whole(out / name, status.read_file(folder.path, name, record))
            continue
        tensors = unpack_tensors(status.read_file(folder.path, name, record), folder.path / name)
        if name == folder.curves_file.name:  # members come after steps, and times have none
            chosen = {k: t[:, [*members]] if t.dim() > 1 else t for k, t in tensors.items()}
        else:
            chosen = {k: t[[*members]] for k, t in tensors.items()}
        note = {} if name == folder.curves_file.name else NOTE
        write_tensors(out / name, {k: t.contiguous() for k, t in chosen.items()}, note)
    ids = {record["members"][i]["id"] for i in members}
    records.append(out, [score for score in records.read(folder.path) if score.id in ids])
    tables = [record["settings"][record["settings_of"][i]] for i in members]
    settings = [table for i, table in enumerate(tables) if table not in tables[:i]]
    status.write(
        out,
        {
            **record,
            "seconds": record["seconds"] * len(members) / len(record["members"]),
            "members": [record["members"][i] for i in members],
            "settings": settings,
            "settings_of": [settings.index(table) for table in tables],
            "files": status.final_files(out),
        },
    )
