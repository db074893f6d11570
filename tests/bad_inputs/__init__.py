"""Bad inputs as data: what is typed or called, what comes back, and what came back once.

A file for each part of the command, with `COMMANDS`, `CALLS` and the `TEXTS` of files that they name,
as far as it has any. `{d}` stands for a folder with these files and those of `files.py`, `{run}` for a
finished run. A command ends with exit code 2, or the one that its row has, and one line with the words
of its row; a call raises an `UnknotError` with them.

``before`` is a note, and no test looks at it: what 62a75d4 did, the version before these tables.
Traceback; silent (taken, or the terminal got the escape); hang (8 seconds and more); words (a wrong
exit code, or a message reported as wrong or useless: a judgement); or "" where it was refused in one
line or could not be asked. `measure.py` measures all of that but judgements. The 174 rows of
`flags.py`, `settings.py` and `tables.py` were run again with it: the 19 tracebacks came again; of the 8
that were taken 3 took longer than the limit; the 4 that hung came again, one of them as a traceback; of
17 words 3 were wrong exit codes.
The other files are as first measured. Rows of `calls.py`, `commands.py` and `sharing.py` came later,
with what their authors saw.
"""

from pathlib import Path

from bad_inputs import (
    calls,
    commands,
    data,
    flags,
    habits,
    runs,
    score,
    settings,
    sharing,
    studies,
    tables,
    train,
    verbs,
)
from bad_inputs.files import write_arrays, write_bytes

PARTS = (
    flags,
    settings,
    data,
    score,
    runs,
    tables,
    studies,
    verbs,
    train,
    calls,
    commands,
    sharing,
    habits,
)
COMMANDS = [row for part in PARTS for row in getattr(part, "COMMANDS", ())]
CALLS = [row for part in PARTS for row in getattr(part, "CALLS", ())]


def write_files(folder: Path) -> None:
    """The files that rows name."""
    for part in PARTS:
        for name, text in getattr(part, "TEXTS", {}).items():
            (folder / name).write_text(text, encoding="utf-8")
    write_bytes(folder)
    write_arrays(folder)
