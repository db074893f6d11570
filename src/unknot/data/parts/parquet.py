"""Images in Parquet files as the Hugging Face hub writes them: a column of ``{bytes, path}``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unknot.core.border import parse_json
from unknot.core.errors import DataError
from unknot.core.files import open_file, os_reason
from unknot.core.registry import nearest
from unknot.data.parts import shelf
from unknot.data.parts.labels import name_classes
from unknot.data.parts.picture_files import Pictures


def parquet_pictures(path: Path, column: str, limit: int | None) -> Pictures:
    """The encoded pictures of a column.

    Args:
        path: A file, or a folder of files that are taken in the order of their names.
        column: Its name; the only column of pictures when empty.
        limit: How many to take; all when None.

    Raises:
        DataError: There is no such column, or the file is damaged.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    for file in files:
        _check_file(file)
    table = _read(files, column)
    images = table.column(0).slice(0, limit)
    stats = [(file.name, (s := file.stat()).st_size, s.st_mtime_ns) for file in files]
    listing = shelf.make_key(str(path.absolute()), column, limit, stats)
    width = len(str(len(images)))

    def fetch(row: int) -> bytes:
        # A row without a picture is a broken one.
        return images[row].as_py() or b""

    names = [f"row {row:0{width}}" for row in range(len(images))]
    return Pictures(str(path), listing, names, fetch, fetch)


def parquet_columns(path: Path, names: Sequence[str], limit: int | None) -> dict[str, list[Any]]:
    """Columns of labels, by name.

    Args:
        path: A file, or a folder of files that are taken in the order of their names.
        names: Of the columns.
        limit: How many rows to take; all when None.

    Raises:
        DataError: There is no such column.
    """
    arrow, parquet = parquet_modules()
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    there = _schema(files[0]).names
    if missing := [name for name in names if name not in there]:
        raise DataError(f"'{path}' has no label '{missing[0]}'{nearest(missing[0], [*there])}")
    try:
        table = arrow.concat_tables(parquet.read_table(f, columns=[*names]) for f in files)
    except (OSError, arrow.ArrowException) as error:
        raise DataError(f"'{files[0]}' is damaged or no Parquet file.") from error
    classes = _class_names(_schema(files[0]))
    return {
        name: name_classes(table.column(name).slice(0, limit).to_pylist(), classes.get(name, ()))
        for name in names
    }


def _class_names(schema: Any) -> dict[str, list[str]]:
    """What classes are called, by column, where the Hugging Face hub has written it down."""
    try:
        described = parse_json((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = described["info"]["features"]
        return {
            str(column): [str(name) for name in feature["names"]]
            for column, feature in features.items()
            if isinstance(feature, dict)
            and feature.get("_type") == "ClassLabel"
            and isinstance(feature.get("names"), list)
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def is_picture_table(path: Path) -> bool:
    """Whether a Parquet file has a column of pictures."""
    return bool(_picture_columns(_schema(path)))


def _read(files: list[Path], column: str) -> Any:
    """The bytes of pictures, as the only column of a table."""
    arrow, parquet = parquet_modules()
    names = _picture_columns(_schema(files[0]))
    if column and column not in names:
        raise DataError(f"'{files[0]}' has no column of pictures '{column}'; it has {names}.")
    if not column and len(names) != 1:
        listed = ", ".join(names) or "none"
        raise DataError(
            f"Expected one column of pictures {{bytes, path}} in '{files[0]}'; it has {listed}. "
            f"Name one: {files[0]}::{names[0] if names else 'image'}."
        )
    name = f"{column or names[0]}.bytes"
    try:
        tables = [parquet.read_table(file, columns=[name]).flatten() for file in files]
        return arrow.concat_tables(tables)
    except (OSError, arrow.ArrowException) as error:
        raise DataError(f"'{files[0]}' is damaged or no Parquet file.") from error


def _check_file(path: Path) -> None:
    """Refuse a pipe, which may never end."""
    try:
        open_file(path).close()
    except OSError as error:
        raise DataError(f"Cannot read '{path}': {os_reason(error)}.") from error


def _schema(path: Path) -> Any:
    arrow, parquet = parquet_modules()
    _check_file(path)
    try:
        return parquet.read_schema(path)
    except (OSError, arrow.ArrowException) as error:
        raise DataError(f"'{path}' is damaged or no Parquet file.") from error


def _picture_columns(schema: Any) -> list[str]:
    """Names of columns that are structures with ``bytes``."""
    arrow, _ = parquet_modules()
    return [
        field.name
        for field in schema
        if arrow.types.is_struct(field.type)
        and "bytes" in [field.type.field(i).name for i in range(field.type.num_fields)]
    ]


def parquet_modules() -> tuple[Any, Any]:
    """Pyarrow and its module for Parquet files."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            "To read Parquet files, install pyarrow: pip install 'unknot[parquet]'."
        ) from error
    return pyarrow, pyarrow.parquet
