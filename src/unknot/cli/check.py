"""``unknot check``: whether a run or a study is whole."""

import itertools
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.options import Device, Json, parse_path

if TYPE_CHECKING:
    from unknot.runs.repair import Fault
    from unknot.studies.recompute import Recomputed, StoredModel


def check(
    path: Annotated[
        Path,
        typer.Argument(help="Run folder, study folder or archive (zip).", parser=parse_path),
    ],
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be mended without training.")
    ] = False,
    rescore: Annotated[
        int,
        typer.Option(help="Compute all scores of so many models again, chosen at random.", min=0),
    ] = 0,
    retrain: Annotated[
        int,
        typer.Option(
            help="Train so many models again from their settings and score them.",
            min=0,
        ),
    ] = 0,
    tolerance: Annotated[
        float,
        typer.Option(
            help="A number computed again may differ by so much, or by such a share of it above 1.",
            min=0,
            max=1e6,
        ),
    ] = 0.01,
    seed: Annotated[int, typer.Option(help="Which models are chosen.", min=0)] = 0,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Check every file of a run or a study against its checksum; recompute a sample of its numbers.

    The exit code is 0 if all is whole, else 2. With --repair, final weights and curves are written
    again from the last checkpoint, `run.toml` from `status.json`, `study.db` from `study.toml` and
    `populations/`; damaged scores and checkpoints are removed. What has to be trained or scored
    again is said, with the command that does it.

    --rescore and --retrain print each number of the record beside the same number computed here,
    and write nothing. Scores must agree within the tolerance. --retrain also says whether the
    weights are equal to the bit, or how far they are apart. A model trained again must agree if
    device and versions are those of the record; elsewhere rounding makes another model, and its
    numbers are shown without a verdict.

    Examples:
    `unknot check runs/beta_vae-dsprites-1`

    `unknot check studies/betas --repair`

    `unknot check study.zip --rescore 5 --retrain 1`
    """
    from unknot.cli.screen import print_json, say, stderr
    from unknot.core.errors import ConfigError, StoreError
    from unknot.runs import repair as runs
    from unknot.runs.folder import RunFolder
    from unknot.studies import repair as studies
    from unknot.studies.archive import reading
    from unknot.studies.recompute import sample, stored_models

    folder = path
    if path.is_file() and reading.is_archive(path):
        if repair:
            raise ConfigError("An archive is not mended; leave --repair out.")
        with stderr.status("unpacking"):
            folder = reading.unpack(path)
    if not folder.is_dir():
        raise StoreError(f"There is no folder and no archive {path}.")
    is_study = (folder / "study.db").exists() or (folder / "study.toml").exists()
    if not is_study and not any((folder / name).exists() for name in ("run.toml", "status.json")):
        raise StoreError(f"{path} holds neither a run nor a study.")
    with stderr.status("reading"):
        faults = studies.find_faults(folder) if is_study else runs.find_faults(RunFolder(folder))
    left = ""
    if repair and faults:
        left = (
            studies.repair(folder, faults) if is_study else runs.repair(RunFolder(folder), device)
        )
    if folder != path:  # where it was unpacked tells nobody anything
        faults = [
            replace(fault, path=fault.path.relative_to(folder), remedy="") for fault in faults
        ]
    absent = studies.absent_populations(folder) if is_study else []
    if not json:
        _print_faults(path, faults, left, repair=repair)
        if absent:
            more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
            say(
                f"populations/{absent[0]}{more}: trained, says {path / 'study.db'}, and not in the "
                "folder; the numbers are there and the models are not."
            )
    if faults and not (repair and all(fault.remedy for fault in faults)):
        if json:
            print_json(_facts(path, faults, left, (), repair=repair))
        raise typer.Exit(2)
    numbers: list[Recomputed] = []
    stored = stored_models(folder) if rescore or retrain else []
    for n, again, title in (
        (rescore, _rescored, "Scored again, from the stored weights:"),
        (retrain, _retrained, "Trained again, from the settings:"),
    ):
        if n:
            some = again(sample(stored, n, seed), device, quiet=json)
            if not some:
                raise StoreError(f"{path} has no scores: `unknot evaluate RUN`, then check again.")
            numbers += some
            if not json:
                _print_numbers(title, some, tolerance)
    if json:
        print_json(_facts(path, faults, left, numbers, repair=repair))
    bad = any(number.differs(tolerance) for number in numbers)
    none = (rescore or retrain) and all(number.again is None for number in numbers)
    raise typer.Exit(2 if bad or none else 0)


def _print_faults(path: Path, faults: "list[Fault]", left: str, *, repair: bool) -> None:
    from unknot.cli.screen import say

    for fault in faults:
        verb = "" if repair else "can be "
        remedy = f" ({verb}{fault.remedy})" if fault.remedy else " (cannot be mended)"
        say(f"{fault.path} {fault.what}{remedy}")
    if not faults:
        say(f"{path} is whole.")
    elif left:
        say(left)
    elif not repair and any(fault.remedy for fault in faults):
        say(f"Repair with: unknot check {path} --repair")


def _facts(
    path: Path,
    faults: "list[Fault]",
    left: str,
    numbers: "list[Recomputed] | tuple[()]",
    *,
    repair: bool,
) -> dict[str, object]:
    """What a program reads."""
    rows = [{"file": str(f.path), "what": f.what, "remedy": f.remedy} for f in faults]
    facts = {"path": str(path), "faults": rows, "repaired": repair, "left": left}
    again = [{**vars(number), "difference": number.difference} for number in numbers]
    return {**facts, "recomputed": again} if again else facts


def _rescored(models: "list[StoredModel]", device: str, *, quiet: bool) -> "list[Recomputed]":
    from unknot.cli.screen import bar
    from unknot.studies.recompute import count_scores, rescore

    with nullcontext() if quiet else bar("rescore", count_scores(models), "scores") as update:
        done = itertools.count(1)
        tick = (lambda: update(next(done), " ")) if update else (lambda: None)
        return [number for model in models for number in rescore(model, device, tick)]


def _retrained(models: "list[StoredModel]", device: str, *, quiet: bool) -> "list[Recomputed]":
    from unknot.cli.screen import bar, watcher
    from unknot.studies.recompute import retrain

    numbers: list[Recomputed] = []
    for model in models:
        steps = model.specs[model.member].updates
        with nullcontext() if quiet else bar(f"train {model.id[:6]}", steps, "steps") as update:
            watch = watcher(update) if update else lambda _: None
            numbers += retrain(model, device, watch)
    return numbers


def _print_numbers(title: str, numbers: "list[Recomputed]", tolerance: float) -> None:
    """Each number beside its record, why some are no test, and what came out."""
    from unknot.cli.screen import print_table, say
    from unknot.core.text import number as text

    say(title)
    for weights in (number for number in numbers if number.kind == "weights"):
        say(_of_weights(weights, tolerance))
    numbers = [number for number in numbers if number.kind != "weights"]
    reasons = [*dict.fromkeys(number.reason for number in numbers if number.reason)]
    rows = [
        {
            "run": number.id[:6],
            "seed": number.seed,
            "step": number.step or "last",
            "number": number.name,
            "protocol": number.protocol,
            "record": text(number.recorded),
            "here": "" if number.again is None else text(number.again),
            "differs by": _gap(number.difference),
            "": f"[{reasons.index(number.reason) + 1}]"
            if number.reason
            else "DIFFERS"
            if number.differs(tolerance)
            else "",
        }
        for number in numbers
    ]
    steps = ["step"] if any(number.step for number in numbers) else []
    names = ["run", "seed", *steps, "number", "protocol", "record", "here", "differs by", ""]
    print_table(rows, names)
    for place, reason in enumerate(reasons, 1):
        say(f"[{place}] Not judged: {reason.rstrip('.')}.")
    judged = [number for number in numbers if not number.reason]
    agree = sum(not number.differs(tolerance) for number in judged)
    largest = max((number.difference or 0.0 for number in judged), default=0.0)
    others = f"; {len(numbers) - len(judged)} were not judged" if reasons else ""
    say(
        f"{agree} of {len(judged)} numbers agree within {tolerance:g} (largest difference "
        f"{_gap(largest)}){others}."
    )


def _of_weights(number: "Recomputed", tolerance: float) -> str:
    """A line on the weights of a model that was trained again."""
    whose = f"Weights of {number.id[:6]}, seed {number.seed}:"
    if number.again is None:
        return f"{whose} not compared: {number.reason or number.name}."
    if number.bits:
        return f"{whose} equal to the bit."
    verdict = ", which DIFFERS" if number.differs(tolerance) else ""
    verdict = f", not judged: {number.reason.rstrip('.')}" if number.reason else verdict
    tensor = number.name.removeprefix("weights").strip(" ()")
    return f"{whose} largest difference {_gap(number.difference)} in {tensor}{verdict}."


def _gap(difference: float | None) -> str:
    """A difference as people write it: none at all is a plain zero.

    Example:
        >>> [_gap(value) for value in (None, 0.0, 3.7e-5)]
        ['', '0', '3.7e-05']
    """
    return "" if difference is None else f"{difference:.1e}" if difference else "0"
