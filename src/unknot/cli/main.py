"""The ``unknot`` command: its verbs, and how errors are printed.

Nothing heavy is imported here: each verb imports what it needs when it runs, so that ``--help``
answers at once.
"""

import errno
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated

import typer

from unknot.cli import (
    archive,
    check,
    data,
    demo,
    distances,
    doctor,
    encode,
    evaluate,
    explore,
    export,
    figures,
    gallery,
    interrupts,
    learn_loss,
    list_,
    push,
    report,
    resume,
    score,
    show,
    study,
    train,
    usage,
)
from unknot.core.errors import UnknotError
from unknot.core.files import NO_ROOM, os_reason
from unknot.core.text import plain, shown

app = usage.Verbs(
    name="unknot",
    help="Train, evaluate and compare disentangled representations.",
    epilog="New here? Run: unknot demo",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=True,
)
PANELS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Models": {
        "train": train.train,
        "resume": resume.resume,
        "check": check.check,
        "evaluate": evaluate.evaluate,
        "show": show.show,
        "explore": explore.explore,
        "export": export.export,
        "push": push.push,
        "encode": encode.encode,
        "score": score.score,
        "distances": distances.distances,
        "learn-loss": learn_loss.learn_loss,
    },
    "Studies": {
        "demo": demo.demo,
        "report": report.report,
        "archive": archive.archive,
        "gallery": gallery.gallery,
        "figures": figures.figures,
        "study": study.app,
    },
    "Datasets and lists": {"list": list_.list_, "data": data.app, "doctor": doctor.doctor},
}
for panel, verbs in PANELS.items():
    for name, verb in verbs.items():
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(verb)


def _print_version(flag: bool) -> None:
    if flag:
        import unknot

        typer.echo(f"unknot {unknot.__version__}")
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
    import_: Annotated[
        list[str] | None,
        typer.Option(
            "--import", help="Import a Python module with classes of your own. Repeatable."
        ),
    ] = None,
) -> None:
    """Options that come before the verb."""
    del debug, version  # read elsewhere
    if import_:
        from unknot.core import user_classes

        user_classes.import_modules(import_)


def main() -> None:
    """Run the command; an error or a warning is one line on the standard error stream.

    Exit codes: 0 done, 1 failed, 2 bad input, 70 a bug of ours, 130 stopped.
    """
    warnings.formatwarning = lambda message, kind, *_: f"{kind.__name__}: {plain(str(message))}\n"
    interrupts.listen()
    try:
        sys.exit(app(prog_name="unknot", standalone_mode=False))
    except (KeyboardInterrupt, SystemExit, typer.Abort) as end:
        if isinstance(end, SystemExit) and not interrupts.requested.is_set():
            raise
        typer.echo("Stopped.", err=True)
        raise SystemExit(interrupts.STOPPED) from None
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        text, code = _explain(error)
        if text:
            typer.echo(f"unknot: {text}", err=True)
        raise SystemExit(code) from error


def _explain(error: Exception) -> tuple[str, int]:
    """An error as one line, and the exit code."""
    if isinstance(error, UnknotError):
        return str(error), error.exit_code
    if usage.is_refusal(error):
        is_help = type(error).__name__ == "NoArgsIsHelpError"  # which is printed already
        return "" if is_help else usage.explain_refusal(error), 2
    if isinstance(error, MemoryError):  # of Python or NumPy, whose arrays hold the data
        text = f" ({shown(str(error))})" if str(error) else ""
        return f"not enough memory for the data{text}; use fewer rows, or a larger machine.", 1
    if isinstance(error, RuntimeError):
        from unknot.engine.memory import is_out_of_memory

        if is_out_of_memory(error):
            return "not enough memory; try a smaller --batch or fewer --seeds.", 1
    if isinstance(error, OSError) and error.errno and error.filename:  # what the system refuses
        code = 2 if error.errno == errno.ENAMETOOLONG else 1  # no machine has such a file
        return f"{shown(str(error.filename))}: {os_reason(error)}.", code
    if isinstance(error, OSError) and error.errno in NO_ROOM:  # of a stream, which has no name here
        return f"Could not write the output: {os_reason(error)}.", 1
    text = shown(" ".join(f"{type(error).__name__}: {error}".split()))
    return f"This is a bug in unknot: {text}; details in {_write_details(error)}", 70


def _write_details(error: Exception) -> str:
    """Write the traceback of an error into a file for a report of it, and say where."""
    lines = [f"unknot {' '.join(sys.argv[1:])}\n", *traceback.format_exception(error)]
    try:
        handle, path = tempfile.mkstemp(prefix="unknot-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(lines)
    except OSError:  # a full disk, perhaps the cause of it all
        return "the traceback of: unknot --debug ..."
    return path
