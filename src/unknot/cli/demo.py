"""``unknot demo``: a small study from plan to page, with nothing to download."""

from pathlib import Path
from typing import Annotated

import typer

PRESET = "quickstart"


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="A shorter training.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Study folder [studies/quickstart, or with -quick].")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
) -> None:
    """Run a small study and make its page: at most five minutes on two cores.

    Two objectives, two seeds each, on dSprites: trained, scored, drawn and compared. The images are
    drawn from formulas; nothing is downloaded. Stopped halfway, the same command goes on.

    Example: `unknot demo`
    """
    import shutil
    import signal
    import sys

    from unknot.cli.report import write
    from unknot.cli.screen import beside, say, table
    from unknot.cli.study_screen import watching
    from unknot.study import execute, export
    from unknot.study.study_file import asked, slug

    text = asked(Path(PRESET), quick=quick)
    folder = out or Path("studies") / slug(text)
    if (file := folder / "study.toml").exists():  # go on with it, whatever has become of it
        text = file.read_text(encoding="utf-8")
    plan = execute.planned(text)
    names = list(dict.fromkeys(spec.objective.name for spec in plan.settings))
    beside.print(
        f"A study: {' and '.join(names)}, {len(plan.runs)} models on {plan.settings[0].data.name}, "
        f"{plan.settings[0].steps:,} steps each.",
        soft_wrap=True,
    )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with watching() as (begun, watch):
            study = execute.run(folder, text, device=device, begun=begun, watch=watch)
        files = write(folder, folder / "report")
    except KeyboardInterrupt:
        typer.echo(f"Stopped. The same command goes on with {folder}.", err=True)
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    rows = study.table()
    shown = [n for n in (*export.telling(rows, study.scores()), "recon", "kl") if n != "id"]
    table(shown, [{n: export.cell(row.get(n)) for n in shown} for row in rows], False)
    say(f"Weights and curves: {folder / 'populations'}; pictures: {folder / 'report' / 'figures'}")
    # Where the command is not on the path, say the one that was typed.
    command = "unknot" if shutil.which("unknot") else sys.argv[0]
    same = PRESET + " --quick" * quick + (f" --out {out}" if out else "")
    say(
        f"Open [bold]{files[0]}[/]. Then try three more seeds: {command} study run {same} "
        f"--seeds 0..4 --update && {command} report {folder}"
    )
