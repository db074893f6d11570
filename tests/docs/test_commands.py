"""Every command line that the documentation and the help show is one that the command accepts."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from unknot.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("docs/results/*.md")),
]
COMMAND = typer.main.get_command(app)


def shown(text: str) -> list[str]:
    """Command lines in the blocks of a page; a line that ends in a backslash goes on below."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    blocks = [block for language, block in fenced if language in ("", "sh", "console")]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [m[1] for line in lines if (m := re.match(r"(?:\w*\$ )?(unknot .*)", line))]


def examples(command) -> list[str]:
    """Command lines in the help of a command and of those below it."""
    text = " ".join((command.help or "").split())
    lines = re.findall(r"`(unknot [^`]* [^`]*)`", text)
    for child in getattr(command, "commands", {}).values():
        lines += examples(child)
    return lines


def refusal(line: str) -> str:
    """Why the command does not accept a line, parsed as the shell gives it; nothing is run."""
    _, *words = shlex.split(line, comments=True)
    command = COMMAND
    while hasattr(command, "commands"):
        name, *words = words
        if name not in command.commands:
            return f"There is no command {name}."
        command = command.commands[name]
    try:
        command.make_context("unknot", words)
    except Exception as error:
        return repr(error)
    return ""


PAGE_LINES = [line for path in PAGES for line in shown(path.read_text(encoding="utf-8"))]
LINES = sorted({*examples(COMMAND), *PAGE_LINES})


@pytest.mark.parametrize("line", LINES)
def test_the_command_accepts_what_is_shown(line):
    assert refusal(line) == ""


def test_commands_are_found_in_pages_and_help():
    assert len(examples(COMMAND)) > 20
    assert len(PAGE_LINES) > 50
    assert any("--backend slurm" in line and "mem=16G" in line for line in LINES)


@pytest.mark.parametrize("line", ["unknot trian", "unknot train --betas 4", "unknot show"])
def test_what_the_command_does_not_accept_is_noticed(line):
    assert refusal(line)
