"""Files that the runs of a study read, looked for before anything is trained."""

from unknot.core.errors import DataError
from unknot.data.parts.published import missing_files
from unknot.studies.plan import Plan


def require_files(plan: Plan) -> None:
    """Refuse a plan whose published datasets lack files.

    Raises:
        DataError: Some are not there; the message names all of them and how to get them.
    """
    datasets = {repr(spec.data): spec.data for spec in plan.configurations}
    missing = {
        f"{data.name} ({', '.join(files)})": data.name
        for data in datasets.values()
        if (files := missing_files(data.settings))
    }
    if missing:
        commands = ", ".join(
            f"`unknot data get {name}`" for name in dict.fromkeys(missing.values())
        )
        raise DataError(
            f"The study needs files that are not there: {', '.join(missing)}. Get them with "
            f"{commands}, or take those datasets out of the study file."
        )
