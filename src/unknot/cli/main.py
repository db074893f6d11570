"""The ``unknot`` command: its verbs, and how errors are printed.

Nothing heavy is imported here: each verb imports what it needs when it runs, so that ``--help``
answers at once.
"""

import sys
import warnings
from typing import Annotated

import typer

from unknot.cli import (
    data,
    demo,
    distances,
    encode,
    evaluate,
    gallery,
    learn_loss,
    list_,
    report,
    resume,
    score,
    show,
    study,
    train,
)
from unknot.core.errors import UnknotError

app = typer.Typer(
    name="unknot",
    help="Train, evaluate and compare disentangled representations.",
    epilog="New here? Run: unknot demo",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=True,
)
app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("resume")(resume.resume)
app.command("encode")(encode.encode)
app.command("evaluate")(evaluate.evaluate)
app.command("learn-loss")(learn_loss.learn_loss)
app.command("score")(score.score)
app.command("distances")(distances.distances)
app.command("show")(show.show)
app.command("report")(report.report)
app.command("gallery")(gallery.gallery)
app.command("list")(list_.list_)
app.add_typer(data.app, name="data")
app.add_typer(study.app, name="study")


def _version(wanted: bool) -> bool:
    if wanted:
        import unknot

        typer.echo(f"unknot {unknot.__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def root(
    debug: Annotated[bool, typer.Option(help="Show the full traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Options that come before the verb."""


def main() -> None:
    """Run the command; an error of ours, or a warning, is one line on the standard error stream."""
    warnings.formatwarning = lambda message, kind, *_: f"{kind.__name__}: {message}\n"
    try:
        app()
    except UnknotError as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"unknot: {error}", err=True)
        sys.exit(error.exit_code)
    except (MemoryError, RuntimeError) as error:
        from unknot.engine.memory import is_out_of_memory

        if "--debug" in sys.argv or not is_out_of_memory(error):
            raise
        typer.echo("unknot: not enough memory; try a smaller --batch or fewer --seeds.", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("unknot: stopped.", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away
        sys.stderr.close()
        sys.exit(1)
