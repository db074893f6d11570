"""Labels that a user has beside images: read from a file or an object, and matched with rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from unknot.core.csv_files import parse_cell, read_cells
from unknot.core.errors import DataError
from unknot.core.factor_table import FactorTable, fill_grid
from unknot.core.labels import clean_names, parse_kinds, tabulate
from unknot.data.parts.decoding import ENDINGS
from unknot.data.parts.reading import Reading
from unknot.data.parts.shelf import make_key

Columns: TypeAlias = dict[str, Sequence[Any]]


def label(
    reading: Reading,
    source: Any,
    kinds: Iterable[str] = (),
    *,
    partial: bool = False,
) -> Reading:
    """Images with their labels, in the order of the grid if the labels fill one exactly once.

    Args:
        reading: The images.
        source: A CSV file, a mapping of columns, or a DataFrame.
        kinds: Of some labels, such as ``angle=cyclic``.
        partial: Whether some labels may be of pictures that were left out.

    Raises:
        DataError: Labels cannot be read or do not go with the images.
    """
    table, notes = read_labels(
        source, kinds, names=reading.names, count=len(reading.pixels), partial=partial
    )
    return with_table(reading, table, *notes)


def read_labels(
    source: Any,
    kinds: Iterable[str] = (),
    *,
    names: Sequence[str] = (),
    count: int,
    partial: bool = False,
) -> tuple[FactorTable, list[str | None]]:
    """Labels in the order of rows, and what is to be said of them.

    Args:
        source: A CSV file, a mapping of columns, or a DataFrame.
        kinds: Of some labels, such as ``angle=cyclic``.
        names: Of the rows, if they have any.
        count: How many rows there are.
        partial: Whether some labels may be of rows that were left out.
    """
    if isinstance(source, str | Path):
        header, rows = _read_csv(Path(source).expanduser())
        cells: list[Sequence[Any]] = [*zip(*rows, strict=True)]
        where = f"'{source}'"
    else:
        header, cells = _columns(source)
        where = "the labels"
    clean, changes = clean_names(header)
    columns: Columns = dict(zip(clean, cells, strict=True))
    by_row = None
    if names:
        columns, by_row = _match(columns, names, where, partial=partial)
    elif partial:
        columns = {name: column[:count] for name, column in columns.items()}
    if isinstance(source, str | Path):
        try:
            columns = {name: [*map(_parse, column)] for name, column in columns.items()}
        except ValueError as error:
            raise DataError(f"Cannot read the labels {where}: {error}.") from error
    notes = [by_row, changes and f"in {where} {changes}"]
    table = tabulate(columns, parse_kinds(kinds))
    if table.size != count:
        raise DataError(
            f"There are {table.size:,} rows of labels for {count:,} rows of data; give one for "
            "each, or for pictures a column with their names."
        )
    return table, notes


def with_table(reading: Reading, table: FactorTable, *notes: str | None) -> Reading:
    """Images with a table of labels, one row for each."""
    note = "; ".join(filter(None, [reading.note, f"labels: {table.summary}", *notes]))
    content = make_key(reading.content, table.key)
    if (grid := fill_grid(table)) is None:
        return replace(reading, content=content, space=table, note=note)
    space, order = grid
    rows = order.numpy()
    names = tuple(reading.names[row] for row in rows) if reading.names else ()
    return replace(
        reading, pixels=reading.pixels[rows], content=content, space=space, note=note, names=names
    )


def name_classes(numbers: Iterable[Any], texts: Sequence[str]) -> list[Any]:
    """Numbers of classes as what they are called; -1 is one that is not known, as in test parts.

    Numbers stay where one has no name.
    """
    cells = [*numbers]
    known = [cell for cell in cells if cell is not None and cell >= 0]
    if not texts or any(cell >= len(texts) for cell in known):
        return cells
    return [None if cell is None or cell < 0 else texts[cell] for cell in cells]


def _read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows of text."""
    header, rows = read_cells(path)
    if not rows:
        raise DataError(f"'{path}' needs a line with names of labels, and one for each image.")
    if wrong := next((n for n, row in enumerate(rows, 2) if len(row) != len(header)), None):
        raise DataError(
            f"'{path}' has {len(header)} columns and {len(rows[wrong - 2])} in row {wrong}."
        )
    return header, rows


def _columns(source: Any) -> tuple[list[str], list[Sequence[Any]]]:
    """Names and columns of a mapping or a DataFrame."""
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        names = [*source.columns]
        return [str(name) for name in names], [[*source.iloc[:, i]] for i in range(len(names))]
    if isinstance(source, Mapping) and all(isinstance(v, Iterable) for v in source.values()):
        return [str(name) for name in source], [[*column] for column in source.values()]
    raise DataError(
        "Labels are a CSV file, a DataFrame or a dict of columns, one value for each image; got "
        f"{type(source).__name__}."
    )


def _parse(cell: Any) -> Any:
    return parse_cell(cell) if isinstance(cell, str) else cell


def _match(
    columns: Columns, names: Sequence[str], where: str, *, partial: bool
) -> tuple[Columns, str | None]:
    """Columns in the order of the pictures, and a remark if there are no names to go by."""
    texts = {name: [str(cell).strip() for cell in column] for name, column in columns.items()}
    places, key = _find_names(texts, names)
    if key is None:
        pictures = [c for cells in texts.values() for c in cells if c.lower().endswith(ENDINGS)]
        lengths = {len(cells) for cells in texts.values()}
        if pictures or lengths != {len(names)}:
            hint = f"; it has '{pictures[0]}'" if pictures else ""
            raise DataError(
                f"No row of {where} names one of the {len(names):,} pictures, such as "
                f"'{names[0]}'{hint}."
            )
        return columns, "labels by row, in the order of the file names"
    cells = texts.pop(key)
    if not texts:
        raise DataError(f"{where} has no label beside the names of pictures; add a column.")
    doubles = [cell for cell, count in Counter(cells).items() if count > 1]
    if doubles:
        raise DataError(f"{where} has the picture '{doubles[0]}' twice; keep one row.")
    unknown = [cell for cell in cells if cell not in places]
    if unknown and not partial:
        more = f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""
        raise DataError(
            f"{where} names the picture '{unknown[0]}'{more}, which is not there; take its row "
            "out, or put the picture back."
        )
    rows = {places[cell]: row for row, cell in enumerate(cells) if cell in places}
    if len(rows) < len(cells) - len(unknown):
        raise DataError(f"{where} has two rows for one picture; keep one.")
    order = [rows.get(place) for place in range(len(names))]
    return {
        name: [None if row is None else column[row] for row in order]
        for name, column in columns.items()
        if name != key
    }, None


def _find_names(
    texts: Mapping[str, Sequence[str]], names: Sequence[str]
) -> tuple[dict[str, int], str | None]:
    """The column that names pictures: by path, else by file name, else without the ending."""
    paths = [PurePosixPath(name) for name in names]
    for spelling in (names, [p.name for p in paths], [p.stem for p in paths]):
        count = Counter(spelling)
        places = {text: row for row, text in enumerate(spelling) if count[text] == 1}
        hits = {name: sum(cell in places for cell in cells) for name, cells in texts.items()}
        best = max(hits, key=lambda name: hits[name])
        stems = spelling is not names and spelling == [p.stem for p in paths]
        if hits[best] > (len(texts[best]) / 2 if stems else 0):
            return places, best
    return {}, None
