"""``unknot data list``: datasets with their images and factors, and which files are there."""

from typing import Any

from unknot.cli.options import Json

UNVERIFIED = "not verified against the real file"


def list_(json: Json = False) -> None:
    """List the datasets: images, factors, which files are there and how large, how checked.

    Example: `unknot data list`
    """
    from unknot.cli.screen import print_json, say
    from unknot.core import registry
    from unknot.data.parts.collections import COLLECTIONS
    from unknot.data.parts.published import data_folder

    rows = [_row(name) for name in registry.names("datasets")]
    rows += [_published_row(name, entry) for name, entry in COLLECTIONS.items()]
    if json:
        print_json(rows)
        return
    for row in rows:
        _say(row)
    say(f"\nFiles lie in {data_folder()} (UNKNOT_DATA); get some: unknot data get NAME.")


def _row(name: str) -> dict[str, Any]:
    from unknot.core import registry
    from unknot.data.parts.published import PublishedDataset, cached_files

    if "" in registry.settings("datasets", name).values():
        row = _facts(name, "", "", "from your file", "your file")
        return row | {"cached": _size(cached_files(name))}
    kind = registry.get("datasets", name)
    if isinstance(kind, PublishedDataset):
        return _published_row(name, kind)
    # What takes seconds to generate states its facts.
    dataset = kind if hasattr(kind, "space") else kind().load()
    row = _facts(name, dataset.space.size, dataset.shape, dataset.space, "generated")
    return row | {"cached": _size(cached_files(name))}


def _published_row(name: str, entry: Any) -> dict[str, Any]:
    from unknot.cli.data.files import files_there
    from unknot.data.parts.published import cached_files, data_folder

    facts = entry.published
    there = files_there(data_folder() / name, facts.files)
    row = _facts(name, facts.images, facts.shape, facts.labels or facts.space, "")
    return row | {
        "files": f"{len(there)} of {len(facts.files)}",
        "there": [path.name for path in there],
        "bytes": _size(there),
        "cached": _size(cached_files(name)),
        "licence": facts.licence,
        "verified": _verified(facts) if facts.images else "",
    }


def _verified(facts: Any) -> str:
    forms = ", ".join(facts.verified)
    return f"verified against the real files as {forms}" if forms else UNVERIFIED


def _facts(name: str, images: Any, shape: Any, space: Any, files: str) -> dict[str, Any]:
    from unknot.core import registry
    from unknot.core.factors import FactorSpace

    if isinstance(space, FactorSpace) and space.stands_in:
        space = "none"
    elif isinstance(space, FactorSpace):
        pairs = zip(space.names, space.sizes, strict=True)
        space = ", ".join(f"{factor} {size}" for factor, size in pairs)
    is_dataset = name in registry.names("datasets")
    return {
        "name": name,
        "images": images or "",
        "shape": " x ".join(map(str, (*shape[1:], shape[0]))) if images else "",
        "factors": space or "",
        "files": files,
        "there": [],
        "bytes": 0,
        "cached": 0,
        "licence": "",
        "verified": "",
        "what": registry.summary("datasets", name) if is_dataset else "Tables of published scores.",
    }


def _say(row: dict[str, Any]) -> None:
    """For people: a block of lines, since factors do not fit beside the rest."""
    from unknot.cli.data.files import size_text
    from unknot.cli.screen import say

    facts = [f"{row['images']:,} images, {row['shape']}"] if row["images"] else []
    count = row["files"]
    facts.append(f"{count} files there" if " of " in count else count)
    facts += [size_text(row["bytes"])] if row["bytes"] else []
    facts += [f"cache {size_text(row['cached'])}"] if row["cached"] else []
    say((row["name"], "bold"), f"  {', '.join(facts)}")
    factors = f"factors: {row['factors']}" if row["factors"] else ""
    checked = f"loader: {row['verified']}" if row["verified"] else ""
    for line in filter(None, (factors, checked)):
        say((f"  {line}", "dim"))


def _size(paths: list[Any]) -> int:
    return sum(path.stat().st_size for path in paths)
