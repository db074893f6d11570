"""``unknot check``: whether a run or a study is whole."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import Device, Json


def check(
    path: Annotated[Path, typer.Argument(help="Run folder or study folder.")],
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be mended without training.")
    ] = False,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Check every file of a run or a study against its checksum.

    The exit code is 0 if all is whole, else 2. With --repair, final weights and curves are written
    again from the last checkpoint, `run.toml` from `status.json`, `study.db` from `study.toml` and
    `populations/`; damaged scores and checkpoints are removed. What has to be trained or scored
    again is said, with the command that does it.

    Examples:
    `unknot check runs/beta_vae-dsprites-1`

    `unknot check studies/betas --repair`
    """
    from unknot.cli.screen import print_json, say, stderr
    from unknot.core.errors import StoreError
    from unknot.runs import repair as runs
    from unknot.runs.folder import RunFolder
    from unknot.studies import repair as studies

    if not path.is_dir():
        raise StoreError(f"There is no folder {path}.")
    is_study = (path / "study.db").exists() or (path / "study.toml").exists()
    if not is_study and not any((path / name).exists() for name in ("run.toml", "status.json")):
        raise StoreError(f"{path} holds neither a run nor a study.")
    with stderr.status("reading"):
        faults = studies.find_faults(path) if is_study else runs.find_faults(RunFolder(path))
    left = ""
    if repair and faults:
        left = studies.repair(path, faults) if is_study else runs.repair(RunFolder(path), device)
    if json:
        rows = [{"file": str(f.path), "what": f.what, "remedy": f.remedy} for f in faults]
        print_json({"path": str(path), "faults": rows, "repaired": repair, "left": left})
    else:
        for fault in faults:
            verb = "" if repair else "can be "
            remedy = f" ({verb}{fault.remedy})" if fault.remedy else " (cannot be mended)"
            say(f"{fault.path} {fault.what}{remedy}")
        if not faults:
            say(f"{path} is whole.")
        elif left:
            say(left)
        elif not repair:
            say(f"Repair with: unknot check {path} --repair")
    mended = repair and all(fault.remedy for fault in faults)
    raise typer.Exit(2 if faults and not mended else 0)
