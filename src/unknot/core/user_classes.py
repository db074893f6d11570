"""Classes that users write in a script or notebook, by the name ``module:Class``.

A file that names such a class never causes an import: its module has to be imported already, or the
class has to be given.
"""

import builtins
import difflib
import hashlib
import importlib
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from unknot.core.errors import ConfigError

NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.<>]*")
METHODS = {
    "objectives": ("terms",),
    "nets": ("encoder", "decoder"),
    "datasets": ("load",),
    "samplers": ("bind",),
}
"""What a class of each room has, and no class that is imported by chance."""
KNOWN_PACKAGES = {"builtins", "abc", "typing", "torch", "unknot"}
"""Whose versions a run writes down, or whose source does not matter."""

IMPORTS = "UNKNOT_IMPORT"
"""Environment variable by which worker processes know which modules to import."""

_classes: dict[str, type] = {}


def import_modules(names: Sequence[str]) -> None:
    """Import the user's modules, here and in worker processes, also from the working folder."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    for name in names:
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:  # whatever a module does when it is imported
            raise ConfigError(f"The module {name} cannot be imported: {error!r}.") from error
    os.environ[IMPORTS] = ",".join(names)


def import_given() -> None:
    """Import what the process that started this one was told to import."""
    if names := os.environ.get(IMPORTS):
        import_modules(names.split(","))


def is_user_name(name: str) -> bool:
    """Whether a name is that of a class outside of the registry.

    Example:
        >>> is_user_name("my_module:SquaredKL"), is_user_name("beta_vae")
        (True, False)
    """
    return NAME.fullmatch(name) is not None


def give(kind: type, name: str | None = None) -> str:
    """Make a class known in this process, under its name or another; gives the name."""
    name = name or f"{kind.__module__}:{kind.__qualname__}"
    _classes[name] = kind
    return name


def find(room: str, name: str) -> type:
    """The class of a name ``module:Class``, from modules that are imported already."""
    module, _, path = name.partition(":")
    thing: Any = _classes.get(name)
    if thing is None:
        thing = sys.modules.get(module)
        for part in path.split("."):
            thing = getattr(thing, part, None)
    if thing is None and module in sys.modules:
        classes = [
            name for name, value in vars(sys.modules[module]).items() if isinstance(value, type)
        ]
        close = difflib.get_close_matches(path, classes, n=1)
        hint = f"; did you mean '{module}:{close[0]}'?" if close else "."
        raise ConfigError(f"The module {module} has no class {path}{hint}")
    if thing is None:
        keyword = {"datasets": "data"}.get(room, room[:-1])
        raise ConfigError(
            f"{name} is a class of your own, and files never cause an import. Import {module} "
            f"first, give the class ({keyword}={path}), or use: unknot --import {module} ..."
        )
    check_class(room, thing, name)
    kind: type = thing
    return kind


def check_class(room: str, kind: Any, name: str) -> None:
    """Refuse what cannot be an objective, a net, a dataset or a sampler."""
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise ConfigError(
            f"{name} must be a dataclass, whose fields are its settings: write "
            "@dataclass(frozen=True) above it."
        )
    methods = METHODS.get(room, ())
    if missing := [m for m in methods if not callable(getattr(kind, m, None))]:
        raise ConfigError(f"{name} is none of the {room}: it has no method {missing[0]}.")


def source_hash(kind: type) -> str | None:
    """16 hex digits of the source of a class and of the user's classes that it inherits from.

    None where the source cannot be read and a field or attribute ``version`` stands for it.
    """
    digest = hashlib.blake2b(digest_size=8)
    for base in kind.__mro__:
        of_python = getattr(builtins, base.__name__, None) is base
        if of_python or base.__module__.partition(".")[0] in KNOWN_PACKAGES - {"builtins"}:
            continue  # what exec() makes says that it is of builtins, too
        try:
            source = _source(base)
        except (OSError, TypeError) as error:
            names = {f.name for f in fields(kind)} if is_dataclass(kind) else set()
            if "version" in names or hasattr(kind, "version"):
                return None
            raise ConfigError(
                f"The source of {base.__name__} cannot be read, so that a run could not tell when "
                'the class changes. Put it into a file, or give it a field: version: str = "1".'
            ) from error
        digest.update(textwrap.dedent(source).encode())
    return digest.hexdigest()


def _source(kind: type) -> str:
    """The source of a class; of one in a notebook, which Python cannot find, that of its methods.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        things = [getattr(thing, "fget", None) or thing for thing in vars(kind).values()]
        functions = [f for f in map(inspect.unwrap, filter(callable, things)) if _is_written(f)]
        if not functions:
            raise
        return "".join(textwrap.dedent(inspect.getsource(function)) for function in functions)


def _is_written(thing: Any) -> bool:
    """Whether a function has a source of its own, and was not made by a decorator."""
    return inspect.isfunction(thing) and not thing.__code__.co_filename.startswith("<string")
