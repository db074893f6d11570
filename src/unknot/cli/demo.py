"""``unknot demo``: a small study from plan to page, with nothing to download."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import Device, parse_path

PRESET = "quickstart"


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Train for fewer steps.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Study folder.",
            show_default="studies/quickstart; with --quick: studies/quickstart-quick",
            parser=parse_path,
        ),
    ] = None,
    device: Device = "auto",
) -> None:
    """Run a small study and write its report and its explorer: at most 3 minutes on two CPU cores.

    Trains a VAE of single images and an Ada-GVAE of pairs with three seeds each, then scores and
    compares the models. The explorer has a slider for each latent. Nothing is downloaded: the
    images, coloured squares, are generated. If interrupted, run the same command again to resume.

    Example: `unknot demo`
    """
    import shutil

    from unknot.analysis.claims import claims
    from unknot.cli import interrupts
    from unknot.cli.report import write
    from unknot.cli.screen import print_table, say, stderr
    from unknot.cli.study.board import watching
    from unknot.core.errors import StoreError
    from unknot.core.text import cell_text
    from unknot.core.toml import read_text
    from unknot.report.explorer.study import write_comparison, write_explorers
    from unknot.report.study.source import read
    from unknot.runs.training import Stopped
    from unknot.studies import export
    from unknot.studies.execute import driver
    from unknot.studies.file.study_file import StudyFile, read_study
    from unknot.studies.plan import plan as plan_study

    file = read_study(Path(PRESET), quick=quick)
    folder = out or Path("studies") / file.folder_name
    if (folder / "study.toml").exists():  # resume it, even if its file was edited
        there = StudyFile.parse(read_text(folder / "study.toml"))
        if there.table["name"] != file.table["name"]:
            raise StoreError(
                f"{folder} holds another study, {there.table['name']}; choose another folder with "
                "--out."
            )
        file = there
    plan = plan_study(file)
    first, names = (
        plan.configurations[0],
        dict.fromkeys(s.objective.name for s in plan.configurations),
    )
    stderr.print(
        f"Study: {' and '.join(names)}, {len(plan.runs)} models on {first.data.name}, "
        f"{first.steps:,} steps each.",
        soft_wrap=True,
    )
    try:
        with interrupts.keep_handlers():
            interrupts.listen()
            with watching() as (announce, watch):
                study = driver.run(
                    folder,
                    file,
                    device=device,
                    on_start=announce,
                    watch=watch,
                    stop=interrupts.requested.is_set,
                )
            with stderr.status("writing explorers"):
                write_explorers(folder, folder / "report")
                sliders = write_comparison(folder, folder / "report" / "explorer.html")
            files = write(folder, folder / "report")
    except (KeyboardInterrupt, Stopped):
        interrupts.requested.clear()
        stderr.print(f"Stopped. Run the same command again to resume {folder}.", soft_wrap=True)
        raise typer.Exit(interrupts.STOPPED) from None
    rows = study.table()
    scores = [name for name in study.scores() if "." not in name]  # without parts of a score
    columns = [n for n in (*export.headline_columns(rows, scores), "recon", "kl") if n != "id"]
    print_table([{n: cell_text(row.get(n)) for n in columns} for row in rows])
    for claim in claims(read(folder).results)[:1]:
        say(claim)
    say(f"Weights and curves: {folder / 'populations'}; pictures: {folder / 'report' / 'figures'}")
    command = "unknot" if shutil.which("unknot") else "python -m unknot"
    same = PRESET + " --quick" * quick + (f" --out {out}" if out else "")
    say(
        "Open ",
        (str(files[0]), "bold"),
        ", or move the sliders in ",
        (str(sliders), "bold"),
        f". Next, add two seeds: {command} study run {same} "
        f"--seeds 0..4 --update && {command} report {folder}",
    )
