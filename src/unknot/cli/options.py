"""Options and arguments that several commands share, and how their text is read."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from unknot.core.dataset import FactorDataset
    from unknot.studies.file.study_file import StudyFile


def parse_path(text: str) -> Path:
    """A path as people type it; an empty word, such as a variable that is not set, is none."""
    if not text:
        raise typer.BadParameter("an empty text names no file or folder")
    return Path(text)


def parse_folder(text: str) -> Path:
    """The folder of a run or a study, which an archive becomes when it is unpacked."""
    path = parse_path(text)
    if text.startswith("hub:") and not path.exists():
        raise typer.BadParameter(
            f'{text} is on the hub; take it from there with unknot.load("{text}").save(FOLDER) in '
            "Python"
        )
    if path.suffix == ".zip" and path.is_file():
        raise typer.BadParameter(
            f"{text} is an archive; unpack it to a folder first (unknot.load reads it in Python)"
        )
    return path


RunArgument = Annotated[Path, typer.Argument(help="Run folder.", parser=parse_folder)]
StudyArgument = Annotated[Path, typer.Argument(help="Study folder.", parser=parse_folder)]
DatasetArgument = Annotated[
    str, typer.Argument(help="Dataset name, or your own folder or file of images.")
]
DataPlace = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="Where the run's files are now, if they were moved.",
        parser=lambda text: str(parse_path(text)),
        metavar="PATH",
    ),
]
SkipBroken = Annotated[
    bool, typer.Option("--skip-broken", help="Leave out pictures that cannot be read.")
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Labels of your own images: a CSV file, or names in their file, e.g. object,view.",
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        help="Kind of a label: ordered, cyclic, nominal or continuous, e.g. angle=cyclic. "
        "Repeatable.",
    ),
]

Device = Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:1.")]
StudyDevice = Annotated[
    str,
    typer.Option("--device", help="Device: auto, cpu, cuda (all GPUs), cuda:1 or cuda:0,1."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonOnly = Annotated[bool, typer.Option("--json", help="Print JSON instead of writing pictures.")]
Member = Annotated[
    int, typer.Option(help="Index of the model, if the run has several seeds.", min=0)
]
DatasetSet = Annotated[
    list[str] | None,
    typer.Option("--set", help="Setting of the dataset, e.g. spacing=4. Repeatable."),
]
Traversals = Annotated[int, typer.Option(help="Maximum number of traversals per factor.", min=1)]
Pairs = Annotated[int, typer.Option(help="Number of random pairs.", min=2, max=10_000_000)]

Metrics = Annotated[
    str | None,
    typer.Option(help="Metrics, separated by commas, e.g. mig,dci.", show_default="all"),
]
Protocol = Annotated[
    str,
    typer.Option(
        help="Metric protocol (named settings): unknot (our choice), study2019 (Locatello et "
        "al. 2019), study2019_fast (with DCI in float32), carbonneau (Carbonneau et al. 2022), "
        "kumar (Kumar et al. 2018) or paper (the paper that introduced the metric)."
    ),
]
MetricSeed = Annotated[
    int, typer.Option("--seed", help="Random seed for the metrics.", min=0, max=2**63 - 1)
]

Quick = Annotated[
    bool,
    typer.Option("--quick", help="Use the short version, defined under [quick] in the study file."),
]
StudyWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[STUDY] [KEY=VALUE]...",
        help="Study file (TOML), preset (see `unknot study list`) or study folder, and settings of "
        "its runs such as steps=20000 or beta=4. Without a study, settings, --grid and --seeds "
        "make one.",
        show_default=False,
    ),
]
StudyData = Annotated[
    str | None,
    typer.Option("--data", help="Dataset, or your own folder or file of images, of all runs."),
]
StudyObjective = Annotated[str | None, typer.Option("--objective", help="Objective of all runs.")]
ScoreEvery = Annotated[
    int | None,
    typer.Option(
        "--score-every", help="Score the weights of each multiple of so many steps as well.", min=1
    ),
]
StudySet = Annotated[
    list[str] | None,
    typer.Option("--set", help="The same as a word KEY=VALUE. Repeatable."),
]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        help="Run each of these values, e.g. objective.beta=1,2,4. Repeatable; all combinations "
        "are run.",
    ),
]
StudySeeds = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        help="Seeds of each configuration: 7 (only seed 7), 0,3,5 (a list) or 0..9 (a range).",
    ),
]
StudyMetrics = Annotated[
    str | None, typer.Option("--metrics", help="Metrics, separated by commas, or all.")
]
StudyProtocol = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help="Metric protocol (named settings), e.g. study2019 (Locatello et al. 2019).",
    ),
]
SkipMissing = Annotated[
    bool,
    typer.Option(
        "--skip-missing", help="Leave out runs on published datasets whose files are not there."
    ),
]
StudyWorkers = Annotated[
    int | None,
    typer.Option(
        help="Worker processes.", show_default="one per core; one per GPU", min=1, max=1024
    ),
]


def split_names(text: str | None) -> list[str] | None:
    """Names separated by commas.

    Example:
        >>> split_names("mig, dci,"), split_names(None)
        (['mig', 'dci'], None)
    """
    from unknot.core.errors import ConfigError

    if text is None:
        return None
    if names := [name for part in text.split(",") if (name := part.strip())]:
        return names
    raise ConfigError(f"Expected one or more names, separated by commas; got '{text}'.")


def split_words(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """A file, if one is named, and settings ``key=value``.

    Example:
        >>> split_words(["beta=4", "settings.toml"])
        (PosixPath('settings.toml'), ['beta=4'])
    """
    from unknot.core.errors import ConfigError

    files = [word for word in words if "=" not in word or _is_file(word)]
    if len(files) > 1:
        raise ConfigError(
            f"Expected one file, and settings such as beta=4; got {' and '.join(files)}."
        )
    return (Path(files[0]) if files else None), [word for word in words if word not in files]


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # too long for the name of a file
        return False


def read_study_flags(
    words: Sequence[str] | None,
    set_: Sequence[str] | None,
    *,
    data: str | None,
    objective: str | None,
    score_every: int | None,
    **flags: Any,
) -> "tuple[Path | None, StudyFile | None]":
    """The folder of a study that is there, or the study of a file and flags; words are settings.

    Args:
        words: A file, preset or folder, and settings ``key=value``.
        set_: More settings.
        data: Of all runs.
        objective: Of all runs.
        score_every: Steps between weights that are scored.
        flags: What else `read_study` takes.
    """
    from unknot.core.errors import ConfigError
    from unknot.studies.file.study_file import read_study

    study, settings = split_words(words or [])
    options = {"data.name": data, "objective.name": objective}
    # Quoted: a name is a text, also where it looks like a number.
    quoted = {path: json.dumps(value) for path, value in options.items() if value is not None}
    assignments = [f"train.{path}={value}" for path, value in quoted.items()]
    assignments += [] if score_every is None else [f"score_every={score_every}"]
    assignments += [*settings, *(set_ or ())]
    if study is None or not study.is_dir():
        return None, read_study(study, assignments=assignments, **flags)
    if assignments or any(flags.values()):
        raise ConfigError(
            f"Flags apply to a study file, not to a study folder: edit {study}/study.toml, then "
            "add --update."
        )
    return study, None


def override(
    table: dict[str, Any], flags: Mapping[str, Any], assignments: list[str] | None
) -> dict[str, Any]:
    """Settings by dotted name with the flags that are not None put over them, then `--set`.

    Example:
        >>> override({"steps": 5}, {"steps": 7, "optim.lr": None}, ["batch=2"])
        {'steps': 7, 'batch': 2}
    """
    from unknot.core import dotted
    from unknot.runs import config

    for path, value in flags.items():
        if value is not None:
            dotted.put(table, path, value)
    return config.assign(table, assignments or [])


def output_folder(folder: Path, own: Path | None = None, page: str = "") -> Path:
    """A folder to write into, checked before the work is done.

    Args:
        folder: It may hold other files, but no run and no study.
        own: The run or study whose pictures are written, which may hold them itself.
        page: The file in it that shows the others, if there is one; that of someone else stays.
    """
    from unknot.core.errors import StoreError
    from unknot.core.files import check_folder, check_page

    check_folder(folder)
    if folder != own and any((folder / name).exists() for name in ("run.toml", "study.db")):
        raise StoreError(f"{folder} holds a run or a study; choose another folder with --out.")
    if page:
        check_page(folder, page)
    return folder


def output_file(path: Path, suffix: str, *, force: bool) -> Path:
    """A file to write, checked before the work is done; one that is there is replaced by force.

    Its suffix keeps it off the files of a run or a study.
    """
    from unknot.core.errors import ConfigError, StoreError
    from unknot.core.files import check_folder, is_special

    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file with --out.")
    if is_special(path):
        raise StoreError(f"{path} is a pipe or a device; name a file with --out.")
    if path.suffix != suffix:
        raise ConfigError(f"The name of the output file ends in {suffix}; got {path}.")
    check_folder(path.parent)
    if path.exists() and not force:
        raise StoreError(f"{path} already exists; choose another file with --out, or add --force.")
    return path


def dataset_settings(name: str, assignments: list[str] | None, **flags: Any) -> Any:
    """A dataset's settings with some set, ``spacing=4``, or ``data.spacing=4`` as in train."""
    from unknot.cli.screen import counting_bar
    from unknot.runs import config

    settings = config.assign({}, assignments or [])
    if isinstance(inner := settings.pop("data", {}), dict):
        settings |= inner
    with counting_bar("read", "images") as update:
        return config.data({**settings, **flags, "name": name}, update).settings


def load_dataset(name: str, assignments: list[str] | None, **flags: Any) -> "FactorDataset":
    """A dataset with settings as `dataset_settings` reads them."""
    from unknot.cli.screen import counting_bar
    from unknot.data.parts.published_images import decode_files

    settings = dataset_settings(name, assignments, **flags)
    with counting_bar("read", "images") as update:
        decode_files(settings, update)
    dataset: FactorDataset = settings.load()
    return dataset
