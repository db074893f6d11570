"""What every verb does with its options, and what every message is."""

from typing import Annotated

import typer
from typer.testing import CliRunner

from unknot.cli.main import app
from unknot.cli.screen import say
from unknot.cli.usage import Verb


def verbs(group):
    """All commands of a group and of those inside of it."""
    for command in group.commands.values():
        yield from verbs(command) if hasattr(command, "commands") else [command]


def test_every_verb_takes_each_option_once():
    found = [*verbs(typer.main.get_command(app))]
    assert len(found) > 20
    assert all(isinstance(verb, Verb) for verb in found)


def test_options_that_are_lists_and_flags_may_come_twice():
    mine, seen = typer.Typer(), []

    @mine.command(cls=Verb)
    def verb(sets: Annotated[list[str], typer.Option("--set")], *, force: bool = False):
        seen.append((sets, force))

    @mine.command("one", cls=Verb)
    def one(name: str, steps: int = 3):
        seen.append((name, steps))

    run = CliRunner().invoke
    assert run(mine, ["verb", "--set", "b", "--set=c", "--force", "--force"]).exit_code == 0
    assert seen == [(["b", "c"], True)]
    refused = run(mine, ["one", "a", "--steps", "1", "--steps=2"])
    assert refused.exit_code == 2
    assert "--steps is given twice" in refused.output
    assert len(seen) == 1


def test_a_message_is_one_line_whatever_a_name_holds(capsys):
    say("Done: ", ("a\nb", "bold"), ". Next.")
    say("\nAfter an empty line.")
    assert capsys.readouterr().out == "Done: a\\nb. Next.\n\nAfter an empty line.\n"
