"""The user's own images, from a folder or a file."""

from dataclasses import dataclass, replace
from pathlib import Path

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.labels import replace_kinds
from unknot.core.places import NeededPlace, Place
from unknot.data.parts.array_files import open_array, split_key
from unknot.data.parts.assembly import assemble
from unknot.data.parts.decoding import Crop
from unknot.data.parts.grids import read_grid, read_table
from unknot.data.parts.labels import label, with_table
from unknot.data.parts.parquet import parquet_columns, parquet_pictures
from unknot.data.parts.picture_files import folder_pictures, read_pictures
from unknot.data.parts.reading import Options, Reading, Size
from unknot.data.parts.shelf import Progress, make_key
from unknot.data.parts.stacks import read_stack


@dataclass(frozen=True)
class Images:
    """Your own images: a folder of pictures, or an npy, npz, HDF5 or Parquet file.

    ``--data faces/`` is short for ``--data images --set data.path=faces/``. A folder is searched
    with its subfolders for PNG, JPEG, WebP, BMP and TIFF files, in the order of their paths. Each
    is turned upright as its EXIF tag says; transparent parts become white. What has more than 8
    bits, in files or arrays, keeps its type; each channel is scaled to 0 .. 1 by its percentiles
    0.1 and 99.9, of the training part where there is a split, unless it holds floats that lie
    there already. Pages of a TIFF file are channels.

    An npy file holds images ``[n, h, w]``, ``[n, h, w, c]`` or ``[n, c, h, w]``; of an npz or HDF5
    file the array ``images`` or the only one is taken, or the one named as ``file.h5::key``. An npz
    file may have ``factors`` and ``names`` too, as described under `arrays`, and ``kinds``; they
    need not fill a grid. A Parquet file, or a
    folder of them, has a column of pictures ``{bytes, path}``, as the Hugging Face hub writes it.

    Args:
        path: The folder or file.
        size: Side of the images, or height and width. Unless set, arrays and square pictures of
            one size up to 128 stay as they are, and other pictures become 64 x 64.
        crop: ``centre`` cuts off what does not fit the new shape, ``squeeze`` changes the
            proportions, ``pad`` adds black, ``none`` refuses to change the size.
        channels: 1 (grey) or 3 (colour); what the images have unless set.
        standardize: Subtract each channel's mean and divide by its standard deviation.
        limit: Take the first so many images only.
        skip_broken: Leave out pictures that cannot be read.
        labels: A CSV file with a column of file names, or one row for each image; or names of
            arrays in the npz or HDF5 file or of columns in the Parquet file, such as
            ``object,view``.
        kinds: Of labels, where they are not to be inferred: ``["angle=cyclic"]``.
        content: A hash of what the files hold; written down by a run, whose images are then
            checked, wherever they lie.

    Example: `unknot.dataset("photos/", size=64, labels="people.csv")`
    """

    path: NeededPlace
    size: Size = None
    crop: Crop = "centre"
    channels: int | None = None
    standardize: bool = False
    limit: int | None = None
    skip_broken: bool = False
    labels: Place = None
    kinds: tuple[str, ...] | None = None
    content: str | None = None

    def __post_init__(self) -> None:
        self._options()

    @property
    def title(self) -> str:
        """What people call it: the name of the folder or file."""
        path = split_key(self.path)[0]
        return path.stem or path.resolve().name

    @property
    def unbounded(self) -> bool:
        """Whether values lie outside [0, 1]."""
        return self.standardize

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width, once they are decided."""
        sides = self._options().sides
        return None if sides is None or self.channels is None else (self.channels, *sides)

    def pin(self, on_progress: Progress = lambda *_: None) -> "Images":
        """The same settings with what the files decide written down."""
        if self.content is not None and self.shape is not None:
            return self
        reading = self._checked(self.read(on_progress))
        _, c, h, w = reading.pixels.shape
        return replace(self, size=(h, w), channels=c, content=reading.content)

    def load(self) -> FactorDataset:
        """All images.

        Raises:
            DataError: There are no images, one cannot be read, or they are not as described.
            ShapeError: An array is not a stack of images.
            WriteError: There is no room to keep decoded images.
        """
        reading = self._checked(self.read())
        return assemble(reading, self.title, standardize=self.standardize)

    def _checked(self, reading: Reading) -> Reading:
        if self.content not in (None, reading.content):
            raise DataError(
                f"The images in '{self.path}' are no longer those of the run; put those back, or "
                "leave out data.content to take these."
            )
        return reading

    def _options(self) -> Options:
        return Options(self.size, self.crop, self.channels, self.limit, self.skip_broken)

    def read(self, on_progress: Progress = lambda *_: None) -> Reading:
        """Images and labels.

        Args:
            on_progress: Told how many images are read, and of how many.
        """
        if self.kinds and not self.labels and split_key(self.path)[0].suffix.lower() != ".npz":
            raise DataError("Kinds are of labels, and there are none; give them with --labels.")
        path, key = split_key(self.path)
        if not path.exists():
            raise DataError(
                f"There is no file or folder '{path}'; if it was moved, say where it is with "
                "--data PATH (in Python: data=PATH)."
            )
        options = self._options()
        if path.suffix.lower() == ".parquet" or (path.is_dir() and any(path.glob("*.parquet"))):
            pictures = parquet_pictures(path, key, self.limit)
            reading = read_pictures(pictures, options, on_progress)
            if self._columns:
                labels = parquet_columns(path, self._columns, self.limit)
                rows = [pictures.names.index(name) for name in reading.names]
                labels = {name: [cells[row] for row in rows] for name, cells in labels.items()}
                return label(replace(reading, names=()), labels, self.kinds or ())
            return self._labelled(replace(reading, names=()))
        if path.is_dir():
            self._check_label_file()
            pictures = folder_pictures(path, self.limit)
            return self._labelled(read_pictures(pictures, options, on_progress))
        with open_array(path, key, self._columns) as opened:
            reading = read_stack(
                opened.array,
                options,
                f"'{self.path}'",
                key=opened.key,
                on_progress=on_progress,
            )
            if opened.columns:
                columns = {name: column[: self.limit] for name, column in opened.columns.items()}
                return label(reading, columns, self.kinds or ())
            if opened.factors is None or self.labels:
                return self._labelled(reading)
            table = read_table(
                opened.factors, opened.names, opened.kinds, len(reading.pixels), self.path
            )
            table = replace_kinds(table, self.kinds or ())
            labelled = with_table(reading, table)
            if not (labelled.space and labelled.space.is_grid) or {*table.kinds} != {"ordered"}:
                return labelled
            _, order = read_grid(opened.factors, opened.names, table.size, self.path)
            # As before there were kinds: ids of runs come from it.
            content = make_key(reading.content, order.tolist(), table.names)
            return replace(labelled, content=content)

    @property
    def _columns(self) -> tuple[str, ...]:
        """Labels that the file of the images has."""
        if self.labels is None or Path(self.labels).expanduser().is_file():
            return ()
        return tuple(filter(None, (name.strip() for name in self.labels.split(","))))

    def _check_label_file(self) -> None:
        """Refuse labels that are no file, before thousands of pictures are decoded."""
        if self.labels is not None and not Path(self.labels).expanduser().exists():
            raise DataError(
                f"There is no file '{self.labels}'; labels of a folder of images come from a "
                "table with a row for each, such as labels.csv."
            )

    def _labelled(self, reading: Reading) -> Reading:
        if self.labels is None:
            return reading
        partial = self.limit is not None or self.skip_broken
        return label(reading, self.labels, self.kinds or (), partial=partial)
