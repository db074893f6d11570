"""``unknot demo``: a small study from plan to page, with nothing to download."""

from pathlib import Path
from typing import Annotated

import typer

PRESET = "quickstart"


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Train for fewer steps.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Study folder.",
            show_default="studies/quickstart; with --quick: studies/quickstart-quick",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")] = "auto",
) -> None:
    """Run a small study on dSprites and write its report: at most 5 minutes on two CPU cores.

    Trains two objectives with two seeds each, then scores, visualises and compares the models.
    Nothing is downloaded: dSprites is generated. If interrupted, run the same command again to
    resume.

    Example: `unknot demo`
    """
    import shutil
    import signal
    import sys

    from unknot.cli.report import write
    from unknot.cli.screen import beside, say, table
    from unknot.cli.study_screen import watching
    from unknot.core.text import cell_text
    from unknot.core.toml import read_text
    from unknot.study import execute, export
    from unknot.study.plan import plan as plan_study
    from unknot.study.study_file import StudyFile, read_study

    given = read_study(Path(PRESET), quick=quick)
    folder = out or Path("studies") / given.folder_name
    if (file := folder / "study.toml").exists():  # resume it, even if its file was edited
        given = StudyFile.parse(read_text(file))
    plan = plan_study(given)
    names = list(dict.fromkeys(spec.objective.name for spec in plan.settings))
    beside.print(
        f"Study: {' and '.join(names)}, {len(plan.runs)} models on {plan.settings[0].data.name}, "
        f"{plan.settings[0].steps:,} steps each.",
        soft_wrap=True,
    )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with watching() as (begun, watch):
            study = execute.run(folder, given, device=device, begun=begun, watch=watch)
        files = write(folder, folder / "report")
    except KeyboardInterrupt:
        typer.echo(f"Stopped. Run the same command again to resume {folder}.", err=True)
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    rows = study.table()
    shown = [n for n in (*export.telling(rows, study.scores()), "recon", "kl") if n != "id"]
    table(shown, [{n: cell_text(row.get(n)) for n in shown} for row in rows], False)
    say(f"Weights and curves: {folder / 'populations'}; pictures: {folder / 'report' / 'figures'}")
    # Where the command is not on the path, say the one that was typed.
    command = "unknot" if shutil.which("unknot") else sys.argv[0]
    same = PRESET + " --quick" * quick + (f" --out {out}" if out else "")
    say(
        f"Open [bold]{files[0]}[/]. Next, add three seeds: {command} study run {same} "
        f"--seeds 0..4 --update && {command} report {folder}"
    )
