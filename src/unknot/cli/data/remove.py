"""``unknot data remove``: free what a dataset takes on the disk."""

from unknot.cli.data.get import DatasetName, Yes


def remove(name: DatasetName, yes: Yes = False) -> None:
    """Delete the downloaded files of a dataset and what was decoded from them.

    Only the data folder and the cache are touched, not files that `path` names. Checksums of first
    downloads are kept.

    Example: `unknot data remove shapes3d`
    """
    from unknot.cli.data.files import confirm, size_text
    from unknot.cli.screen import say
    from unknot.data.parts.collections import files_on_disk

    paths = files_on_disk(name)
    if not paths:
        say(f"{name} has no files to remove.")
        return
    for path in paths:
        say(f"{path}  {size_text(path.stat().st_size)}")
    confirm(f"Delete these {len(paths)} files?" if len(paths) > 1 else "Delete this file?", yes)
    freed = sum(path.stat().st_size for path in paths)
    for path in paths:
        path.unlink(missing_ok=True)
    say(f"Freed {size_text(freed)}.")
