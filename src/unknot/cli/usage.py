"""Words that the parser of the command refuses: one line, like every other message."""

import collections
import sys
from typing import Any

import typer
from typer.core import TyperCommand

from unknot.core.text import plain, shown


class Verb(TyperCommand):
    """A command that takes each option once, unless the option is a list: none is lost unseen."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that comes twice."""
        if args and not ctx.resilient_parsing:
            *_, order = self.make_parser(ctx).parse_args(args=[*args])
            for parameter, times in collections.Counter(order).items():
                flag = getattr(parameter, "is_flag", True)  # an argument has no such word
                if times > 1 and not (flag or parameter.multiple):
                    ctx.fail(f"{parameter.opts[0]} is given twice; leave one of them out.")
        return super().parse_args(ctx, args)


class Verbs(typer.Typer):
    """A command whose own commands are verbs."""

    def command(self, name: str | None = None, **options: Any) -> Any:
        """Add a command."""
        return super().command(name, **{"cls": Verb, **options})


def is_refusal(error: Exception) -> bool:
    """Whether the parser raised it; its classes have moved between versions of Typer."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def explain_refusal(error: Any) -> str:
    """What was wrong, what came, and where the words are explained."""
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", None) or "unknot"
    message = plain(" ".join(error.format_message().split())).partition(", unable to parse")[0]
    message = message.replace("Input should", "it should").replace("Value error, ", "")
    if (value := _value(getattr(error, "param", None))) is not None and value not in message:
        message = f"{message.rstrip('.')}; got {shown(value)}"
    end = "" if message.endswith((".", "?")) else "."
    return f"{message}{end} See: {path} --help"


def _value(parameter: Any) -> str | None:
    """The word that came for an option, as it was typed."""
    words, options = sys.argv[1:], getattr(parameter, "opts", ())
    options = [
        name for name in options if name.startswith("-")
    ]  # an argument has no word before it
    for place in reversed(range(len(words))):  # of an option that comes twice, the last counts
        option, equals, value = words[place].partition("=")
        if option in options and (equals or place + 1 < len(words)):
            return value if equals else words[place + 1]
    return None
