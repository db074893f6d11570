"""``unknot study status``: how far a study is."""

from typing import TYPE_CHECKING

from unknot.cli.options import Json, StudyArgument

if TYPE_CHECKING:
    from unknot.studies.study import Study


def status(study: StudyArgument, json: Json = False) -> None:
    """Show the progress of a study.

    Example: `unknot study status studies/betas`
    """
    from unknot.studies.study import Study

    print_status(Study.open(study), json)


def print_status(study: "Study", json: bool) -> None:
    """The progress of a study."""
    from unknot.cli.screen import print_json, say
    from unknot.core.text import counted
    from unknot.studies.omissions import describe_omissions
    from unknot.studies.results import describe_waits

    facts = study.status()
    if json:
        print_json(facts)
        return
    for what in ("runs", "populations"):
        noun = what.removesuffix("s")
        counts = [f"{n:,} {name}" for name, n in facts[what].items() if name != "all"]
        say(f"{counted(facts[what]['all'], noun)}: {', '.join(counts)}")
    done, steps = facts["steps"]["done"], facts["steps"]["all"]
    say(f"{done:,} of {steps:,} steps ({done / max(steps, 1):.0%}), {facts['scores']:,} scores")
    if text := describe_omissions(facts["omissions"]):
        say(f"{text}.")
    for line in describe_waits(facts["waits"]):
        say(f"{line}.")
    for failure in facts["failures"]:
        say(f"{failure['populations']} failed: {failure['error']}")
    if facts["driver"]:
        say("A process is running it now.")
    elif facts["runs"].get("waiting") or facts["failures"]:
        same = " --skip-missing" * bool(facts["omissions"])
        say(f"Resume with: unknot study run {study.path}{same}")
