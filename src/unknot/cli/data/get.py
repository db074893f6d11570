"""``unknot data get``: the files of a published dataset."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import DatasetSet, parse_path

DatasetName = Annotated[str, typer.Argument(help="Name of a dataset; see `unknot data list`.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
LARGE = 10**9
"""Bytes from which a download is asked for."""


def get(
    name: DatasetName,
    to: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the files of all datasets.",
            show_default="$UNKNOT_DATA, or the user data folder of the system",
            parser=parse_path,
        ),
    ] = None,
    set_: DatasetSet = None,
    yes: Yes = False,
) -> None:
    """Download the files of a published dataset and check them.

    Shows licence, size and addresses first, and asks if there is more than 1 GB or if the licence
    does not allow passing files on. Addresses are tried in turn; a download that was cut
    resumes. A file is used only if its checksum is the published one. Where none is published,
    the checksum of the first download is stored, and later files must match it.

    Example: `unknot data get shapes3d`
    """
    from unknot.cli.data.files import confirm, files_there, find_published, size_text
    from unknot.cli.screen import bar, say
    from unknot.data.parts.download import fetch
    from unknot.data.parts.published import data_folder
    from unknot.data.parts.sources import verify

    dataset = find_published(name, set_)
    facts, sources = dataset.published, dataset.sources()
    folder = (to or data_folder()).expanduser().absolute() / facts.name
    there = files_there(folder, sources)
    missing = [source for source in sources if folder / source.file not in there]
    total = sum(source.size or source.about for source in missing)
    if missing:
        say((name, "bold"), f"  licence: {facts.licence}")
        for source in missing:
            size = size_text(source.size or source.about) if source.size or source.about else "?"
            say(f"  {source.file}  {size if source.size else f'about {size}'}")
            for address in source.addresses:
                say(f"    {address}")
            if source.note:
                say(f"    {source.note}")
        say(f"  to {folder}")
    if missing and (facts.private or total > LARGE):
        terms = f" Its licence: {facts.licence}." if facts.private else ""
        confirm(f"Download {name}, {size_text(total)}?{terms}", yes)
    for source in sources:
        if source in missing:
            with bar(source.file, source.size or source.about or 1, "bytes") as update:
                path = fetch(source, folder, lambda done: update(done, " "))
        else:
            path = folder / source.file
        sha256 = verify(source, path)
        origin = "as published" if source.sha256 or source.md5 else "kept from now on"
        say(f"{path}  {size_text(path.stat().st_size)}, sha256 {sha256}, checksum {origin}")
    if to is not None:
        say(f"Use it with UNKNOT_DATA={folder.parent}, or --set data.path={folder}.")
