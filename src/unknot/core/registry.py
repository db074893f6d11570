"""The file name is the registry.

A file ``objectives/beta_vae.py`` registers the public class or function whose name, without
underscores and in lower case, is the file's: ``BetaVAE``. Files without such a name are the room's
own tools and are not listed. Other packages add things through entry points of the groups
``unknot.objectives``, ``unknot.metrics``, ``unknot.datasets``, ``unknot.nets`` and
``unknot.samplers``.
"""

import ast
import contextlib
import difflib
import importlib.util
import inspect
import pkgutil
import re
import sys
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, TypeAlias

from unknot.core import user_classes
from unknot.core.errors import ConfigError


@dataclass(frozen=True)
class Entry:
    """What a file says of the thing it registers."""

    name: str
    """Of the class or function."""
    doc: str
    settings: dict[str, str]
    presets: list[str]
    literals: dict[str, Any]
    """Keyword arguments of its decorator that are plain values."""
    constants: dict[str, Any]
    """Class variables that are plain values."""


Room: TypeAlias = Literal["objectives", "metrics", "datasets", "nets", "samplers"]
PACKAGES: dict[Room, str] = {
    "objectives": "unknot.objectives",
    "metrics": "unknot.metrics",
    "datasets": "unknot.data",
    "nets": "unknot.nets",
    "samplers": "unknot.samplers",
}


def names(room: Room) -> list[str]:
    """Names of everything a room offers, ours and outsiders', sorted."""
    return sorted({*_ours(room), *_outsiders(room)})


def get(room: Room, name: str) -> Any:
    """The class or function registered under a name.

    Example:
        >>> get("objectives", "beta_vae").__name__
        'BetaVAE'
    """
    if name in (ours := _ours(room)):
        return getattr(importlib.import_module(f"{PACKAGES[room]}.{name}"), ours[name].name)
    if name in (outsiders := _outsiders(room)):
        return _load(outsiders[name])
    if user_classes.is_user_name(name):
        return user_classes.find(room, name)
    if others := [other for other in PACKAGES if other != room and name in _ours(other)]:
        raise ConfigError(
            f"There is no {room[:-1]} '{name}': it is the name of a {others[0][:-1]}. "
            f"See: unknot list {room}."
        )
    raise ConfigError(
        f"There is no {room[:-1]} '{name}'{nearest(name, names(room))} See: unknot list {room}."
    )


def name_of(room: Room, kind: type) -> str:
    """The name under which a class is registered, or ``module:Class`` for one of the user's own.

    Example:
        >>> from unknot.objectives.beta_vae import BetaVAE
        >>> name_of("objectives", BetaVAE)
        'beta_vae'
    """
    package = kind.__module__.rpartition(".")[0]
    if package == PACKAGES[room] and kind.__name__ in (ours := class_names(room)):
        return ours[kind.__name__]
    for name, entry in _outsiders(room).items():
        if entry.value == f"{kind.__module__}:{kind.__qualname__}":
            return name
    user_classes.check_class(room, kind, kind.__name__)
    return user_classes.give(kind)


def class_names(room: Room) -> dict[str, str]:
    """Of each thing of ours the name of its class, and the registry's name.

    Example:
        >>> class_names("objectives")["BetaVAE"]
        'beta_vae'
    """
    return {entry.name: name for name, entry in _ours(room).items()}


def attribute(room: Room, name: str) -> Any:
    """A class of ours by its own name: what the package of a room offers as attributes."""
    if name not in (ours := class_names(room)):
        raise AttributeError(f"module '{PACKAGES[room]}' has no attribute '{name}'")
    return get(room, ours[name])


def summary(room: Room, name: str) -> str:
    """The first line of a thing's docstring, read without importing ours."""
    return doc(room, name).partition("\n")[0]


def paper(room: Room, name: str) -> str:
    """Authors and year of the paper that a thing's docstring names first; else nothing.

    Example:
        >>> paper("objectives", "beta_vae")
        'Higgins et al. 2017'
    """
    match = re.search(r"^Paper: (.*? \d{4})", doc(room, name), re.MULTILINE)
    return match[1] if match else ""


def doc(room: Room, name: str) -> str:
    """A thing's docstring, read without importing ours."""
    if name in (ours := _ours(room)):
        return ours[name].doc
    try:
        return inspect.getdoc(get(room, name)) or ""
    except ConfigError as error:
        return str(error)


def settings(room: Room, name: str) -> dict[str, str]:
    """A thing's settings and their defaults as text, read without importing ours.

    Example:
        >>> settings("objectives", "beta_vae")
        {'beta': '4.0', 'likelihood': "'bernoulli'"}
    """
    if name in (ours := _ours(room)):
        return ours[name].settings
    thing = get(room, name)
    its_fields = fields(thing) if is_dataclass(thing) else ()
    return {f.name: "" if f.default is MISSING else repr(f.default) for f in its_fields}


def preset_names(room: Room, name: str) -> list[str]:
    """Names of a thing's presets, read without importing ours."""
    if name in (ours := _ours(room)):
        return ours[name].presets
    return [*presets(room, name)]


def literals(room: Room, name: str) -> dict[str, Any] | None:
    """What the decorator of one of our things is told as plain values; None for an outsider's.

    Example:
        >>> literals("metrics", "gaussian_tc")["better"]
        'lower'
    """
    return ours[name].literals if name in (ours := _ours(room)) else None


def constant(room: Room, name: str, key: str) -> Any:
    """A class variable of a thing, read without importing ours; None where it has none.

    Example:
        >>> constant("objectives", "ada_gvae", "sampler")
        'pairs'
    """
    if name in (ours := _ours(room)):
        return ours[name].constants.get(key)
    return getattr(get(room, name), key, None)


def presets(room: Room, name: str) -> dict[str, Any]:
    """Named settings of a thing: the ``PRESETS`` of its module, instances of its class.

    Example:
        >>> presets("objectives", "beta_vae")["study2019"]
        BetaVAE(beta=4.0, likelihood='bernoulli')
    """
    presets_by_name: dict[str, Any] = getattr(
        sys.modules[get(room, name).__module__], "PRESETS", {}
    )
    return presets_by_name


def nearest(name: object, choices: list[str]) -> str:
    """The end of a message about an unknown name: the nearest choice, or all of them.

    Example:
        >>> nearest("bta", ["alpha", "beta"])
        "; did you mean 'beta'?"
        >>> nearest("q", ["alpha", "beta"])
        '; known: alpha, beta.'
    """
    by_lower = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    if close:
        return f"; did you mean '{by_lower[close[0]]}'?"
    return f"; known: {', '.join(choices)}."


def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:  # whatever an outside package does when it is imported
        package = entry.dist.name if entry.dist else entry.value
        raise ConfigError(
            f"'{entry.name}' of the package {package} cannot be imported: {error!r}."
        ) from error


def _ours(room: Room) -> dict[str, Entry]:
    return _files(PACKAGES[room])


@cache
def _files(package: str) -> dict[str, Entry]:
    """What the files of a package register, by file name; parsed, not imported."""
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec else []
    entries = {}
    for module in pkgutil.iter_modules(folders):
        if module.ispkg:
            continue
        tree = ast.parse((Path(folders[0]) / f"{module.name}.py").read_text(encoding="utf-8"))
        for node in tree.body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef):
                continue
            if node.name.lower() == module.name.replace("_", "") or node.name == module.name:
                doc = ast.get_docstring(node) or ""
                entries[module.name] = Entry(
                    node.name,
                    doc,
                    _fields(node),
                    _presets(tree),
                    _literals(node),
                    _constants(node),
                )
    return entries


def _presets(tree: ast.Module) -> list[str]:
    """The keys of a module's ``PRESETS = {...}``, with or without a type."""
    return [
        key.value
        for line in tree.body
        if isinstance(line, ast.Assign | ast.AnnAssign)
        and ast.unparse(line.targets[0] if isinstance(line, ast.Assign) else line.target)
        == "PRESETS"
        and isinstance(line.value, ast.Dict)
        for key in line.value.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]


def _fields(node: ast.ClassDef | ast.FunctionDef) -> dict[str, str]:
    """The fields of a dataclass and their defaults; a score's settings are its protocol."""
    return {
        line.target.id: ast.unparse(line.value) if line.value else ""
        for line in node.body
        if isinstance(node, ast.ClassDef)
        and isinstance(line, ast.AnnAssign)
        and isinstance(line.target, ast.Name)
        and not ast.unparse(line.annotation).startswith("ClassVar")
    }


def _literals(node: ast.ClassDef | ast.FunctionDef) -> dict[str, Any]:
    literals = {}
    for call in (d for d in node.decorator_list if isinstance(d, ast.Call)):
        for keyword in call.keywords:
            with contextlib.suppress(ValueError):  # not a plain value
                literals[str(keyword.arg)] = ast.literal_eval(keyword.value)
    return literals


def _constants(node: ast.ClassDef | ast.FunctionDef) -> dict[str, Any]:
    constants = {}
    for line in node.body:
        if (
            isinstance(line, ast.AnnAssign)
            and line.value
            and ast.unparse(line.annotation).startswith("ClassVar")
        ):
            with contextlib.suppress(ValueError):  # not a plain value
                constants[ast.unparse(line.target)] = ast.literal_eval(line.value)
    return constants


def _outsiders(room: Room) -> dict[str, EntryPoint]:
    return _entries(f"unknot.{room}", tuple(sys.path))


@cache
def _entries(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Entry points by name; reading those of all packages takes some 20 ms."""
    del path  # where they were looked for
    return {entry.name: entry for entry in entry_points(group=group)}
