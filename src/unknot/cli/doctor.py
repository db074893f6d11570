"""``unknot doctor``: what this machine has, and what will be slow on it."""

from typing import Any, TypeAlias

from unknot.cli.options import Json


def doctor(json: Json = False) -> None:
    """Show what this machine has for unknot, and what will be slow on it and why.

    Paste the output into a report of a problem.

    Example: `unknot doctor`
    """
    from dataclasses import asdict

    from unknot.cli.screen import print_json, say
    from unknot.engine.resources import describe_slow, find_resources

    resources = find_resources()
    slow, extras, folders = describe_slow(resources), _extras(), _folders()
    if json:
        facts = {"installed": extras is not None, "extras": extras or {}}
        print_json({**asdict(resources), **facts, "folders": folders, "slow": slow})
        return
    for name, value in {**_lines(resources, extras), **_extra_lines(extras)}.items():
        say((f"{name:<10}", "bold"), value)
    for name, folder in folders.items():
        text = f"{folder['path']}, {folder['used']} used, {folder['free']} free"
        names = f": {', '.join(folder['sets'])}" if folder["sets"] else ""
        say((f"{name:<10}", "bold"), text + names)
    say("")
    for sentence in slow or ["Nothing here will be slow."]:
        say(sentence)


Extras: TypeAlias = "dict[str, str | None] | None"
"""Versions of the optional packages by name, None where one is not installed; None of all where
unknot itself is not, as with `PYTHONPATH`: then nothing says which packages it can use."""


def _lines(resources: Any, extras: Extras) -> dict[str, str]:
    from unknot import __version__
    from unknot.cli.data.files import size_text

    installed = "" if extras is not None else " (not installed)"
    gpus = [f"{gpu.name}, {size_text(gpu.memory)}" for gpu in resources.gpus]
    memory = "" if resources.memory is None else f", {size_text(resources.memory)} of memory"
    return {
        "unknot": f"{__version__}{installed}, Python {resources.python}, {resources.system}",
        "PyTorch": f"{resources.torch}, CUDA {resources.cuda or 'none'}",
        "GPU": "; ".join(gpus) or "none",
        "Triton": resources.triton or "none",
        "compiler": resources.compiler or "none",
        "CPU": f"{resources.cores} cores{memory}",
    }


def _extras() -> Extras:
    import re
    from importlib.metadata import PackageNotFoundError, requires, version

    tools = {"dev", "browser"}
    try:
        lines = requires("unknot") or []
    except PackageNotFoundError:
        return None
    names = {
        match[1]
        for line in lines
        if (match := re.match(r"([\w-]+).*; extra == ['\"]([\w-]+)['\"]", line))
        and match[2] not in tools
    }
    versions: dict[str, str | None] = {}
    for name in sorted(names):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def _extra_lines(extras: Extras) -> dict[str, str]:
    if extras is None:
        return {"packages": "unknown, as unknot is not installed: pip install ."}
    there = [f"{name} {number}" for name, number in extras.items() if number]
    missing = [name for name, number in extras.items() if not number]
    return {"packages": ", ".join(there) or "none", "without": ", ".join(missing) or "none"}


def _folders() -> dict[str, dict[str, Any]]:
    """Where datasets and what is made of them lie, and how much room there is."""
    import shutil

    from unknot.cli.data.files import size_text
    from unknot.data.parts import cache
    from unknot.data.parts.published import data_folder

    folders = {}
    for name, path in {"datasets": data_folder(), "cache": cache.folder()}.items():
        used = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        there = next(parent for parent in (path, *path.parents) if parent.exists())
        free = size_text(shutil.disk_usage(there).free)
        sets = sorted(entry.name for entry in path.glob("*") if entry.is_dir())
        folders[name] = {"path": str(path), "used": size_text(used), "free": free, "sets": sets}
    return folders
