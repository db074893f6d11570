"""``unknot data list``: datasets with the shapes of their images and their factors."""

from typing import Any

from unknot.cli.options import Json


def list_(json: Json = False) -> None:
    """List the datasets with their image shapes and factors.

    Example: `unknot data list`
    """
    from unknot.cli.screen import print_json, print_table
    from unknot.core import registry

    rows: list[dict[str, Any]] = []
    for name in registry.names("datasets"):
        row: dict[str, Any] = {"name": name, "images": "", "shape": "", "factors": "from your file"}
        row["what"] = registry.summary("datasets", name)
        if "" not in registry.settings("datasets", name).values():  # needs nothing to be loaded
            dataset = registry.get("datasets", name)().load()
            pairs = zip(dataset.space.names, dataset.space.sizes, strict=True)
            row["images"] = len(dataset) if json else f"{len(dataset):,}"
            row["shape"] = " x ".join(map(str, dataset.shape))
            row["factors"] = ", ".join(f"{factor} {size}" for factor, size in pairs)
        rows.append(row)
    (print_json if json else print_table)(rows)
