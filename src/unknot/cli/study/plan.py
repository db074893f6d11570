"""``unknot study plan``: what a study would run, and for how long."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from unknot.cli.options import (
    Grid,
    Json,
    Quick,
    ScoreEvery,
    SkipMissing,
    StudyData,
    StudyDevice,
    StudyMetrics,
    StudyObjective,
    StudyProtocol,
    StudySeeds,
    StudySet,
    StudyWords,
    StudyWorkers,
    read_study_flags,
)


def plan(
    words: StudyWords = None,
    quick: Quick = False,
    set_: StudySet = None,
    data: StudyData = None,
    objective: StudyObjective = None,
    grid: Grid = None,
    seeds: StudySeeds = None,
    metrics: StudyMetrics = None,
    protocol: StudyProtocol = None,
    score_every: ScoreEvery = None,
    device: StudyDevice = "auto",
    workers: StudyWorkers = None,
    estimate: Annotated[
        bool,
        typer.Option(
            help="Time a few steps of each population and estimate the total, with its scores."
        ),
    ] = True,
    budget: Annotated[
        bool,
        typer.Option(
            "--budget",
            help="Estimate the time on H200 GPUs, one or as many as --workers; nothing is timed "
            "here.",
        ),
    ] = False,
    skip_missing: SkipMissing = False,
    json: Json = False,
) -> None:
    """Show what a study would run, which files it lacks, and estimate its time.

    Nothing is written.

    Examples:
    `unknot study plan three-betas.toml`

    `unknot study plan hartmann2021 --budget --workers 8`

    `unknot study plan data=xysquares steps=100 --grid objective.beta=1,2,4 --seeds 0..4`
    """
    from unknot.cli.screen import print_json, say
    from unknot.cli.study.table import print_short
    from unknot.core.text import counted
    from unknot.metrics import protocols_for
    from unknot.runs.metric_names import by_place, is_metric
    from unknot.studies import budget as budgets
    from unknot.studies import estimate as estimates
    from unknot.studies import export
    from unknot.studies.execute.machine import machine
    from unknot.studies.file.study_file import read_study
    from unknot.studies.needed_files import drop_missing, find_gaps
    from unknot.studies.omissions import describe_omissions
    from unknot.studies.plan import configuration_table, shards
    from unknot.studies.plan import plan as plan_study
    from unknot.studies.results import describe_waits, read_values
    from unknot.studies.study import Study, flat

    folder, file = read_study_flags(
        words,
        set_,
        data=data,
        objective=objective,
        score_every=score_every,
        grid=grid or (),
        seeds=seeds,
        metrics=metrics,
        protocol=protocol,
        quick=quick,
    )
    study = plan_study(file or read_study(folder / "study.toml" if folder else None))
    gaps = find_gaps(study)
    if skip_missing:
        study = drop_missing(study)
    sweep = study.sweep
    this_machine = machine(len(study.runs), device=device, workers=workers)
    populations = shards(study, members=sweep.members or this_machine.members(len(study.runs)))
    settings = [flat(configuration_table(spec)) for spec in study.configurations]
    settings = [*{repr(row): row for row in settings}.values()]
    settled = read_values(Study.open(folder).store.facts()) if folder else {}
    facts: dict[str, Any] = {
        "name": sweep.name,
        "runs": len(study.runs),
        "configurations": len(settings),
        "seeds": len(sweep.seeds),
        "doubles": study.doubles,
        "missing": [
            {"dataset": g.name, "files": g.files, "runs": g.runs, "command": g.command}
            for g in gaps
        ],
        "omissions": study.omissions,
        "waits": study.waits(settled),
        "populations": len(populations),
        "steps": study.steps,
        "metrics": sweep.metrics if sweep.metrics is not None else "all",
        "protocol": sweep.protocol,
        "device": this_machine.device,
        "workers": this_machine.workers,
        "threads": this_machine.threads,
    }
    if budget:
        cost = budgets.budget(study, workers or 1)
        facts["budget_hours"] = {name: s / 3_600 for name, s in cost.seconds.items()}
        facts["budget_parts"] = {name: asdict(parts) for name, parts in cost.parts.items()}
        facts["budget_gpus"] = cost.gpus
        facts["budget"] = cost.text
    elif estimate:
        time = estimates.estimate(study, populations, this_machine)
        facts["seconds"] = time.seconds if time.measured else None
        facts["estimate"] = time.text
        facts["memory_bytes"] = time.memory
    if json:
        print_json({**facts, "plan": settings, "ids": [run.id for run in study.runs]})
        return
    if names := export.varying_settings(settings):
        print_short(names, settings, "configurations")
    say(
        f"{sweep.name}: {counted(len(study.runs), 'run')} "
        f"({counted(len(settings), 'configuration')} x {counted(len(sweep.seeds), 'seed')}) "
        f"in {counted(len(populations), 'population')}, {study.steps:,} steps"
    )
    for line in describe_waits(facts["waits"]):
        say(f"{line}.")
    if study.doubles:
        say(f"{study.doubles:,} duplicate configurations are counted once.")
    by_name = by_place(sweep.metrics or (), sweep.protocol)
    if sweep.metrics != ():
        parts = [
            f"{', '.join(names)} ({name}{f', {part} part' if part else ''})"
            for (name, part), names in by_name.items()
        ]
        listed = "; ".join(parts) or f"all that apply ({sweep.protocol})"
        before = max(len(spec.kept_steps) for spec in study.configurations)
        plural = "s" * (before > 1)
        steps = f", at the end and at {before} step{plural} before it" if before else ""
        say(f"Scores and their protocols: {listed}{steps}.")
    for (name, _), metrics_of in by_name.items():
        protocols = {metric: protocols_for(metric) for metric in metrics_of if is_metric(metric)}
        if without := [m for m, names in protocols.items() if names and name not in names]:
            say(f"Not scored (no protocol {name}): {', '.join(without)}.")
    if study.omissions:
        say(f"{describe_omissions(study.omissions)}.")
    for gap in gaps:
        say(
            f"Missing files of {gap.name} ({gap.runs:,} runs): {', '.join(gap.files)}. "
            f"Get them with `{gap.command}`."
        )
    if gaps and not skip_missing:
        say(f"--skip-missing leaves those {sum(gap.runs for gap in gaps):,} runs out.")
    say(f"Machine: {this_machine.text}.")
    if "estimate" in facts:
        say(f"Time: {facts['estimate']}.")
    if facts.get("memory_bytes"):
        where = (
            "the GPU"
            if this_machine.gpu
            else f"for each of {counted(this_machine.workers, 'worker')}"
        )
        size = facts["memory_bytes"] / 2**30
        say(f"Memory: about {size:.1f} GB {where} (the most while these steps were trained).")
    if "budget" in facts:
        say(f"Budget: {facts['budget']}.")
