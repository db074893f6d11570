"""The model card: what a model is, how to use it, and what it is not good for, as Markdown."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import unknot
from unknot.analysis.health import LEAST_CONTRAST
from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.core.places import without_folders
from unknot.core.text import counted, joined, number, plain, shown
from unknot.core.toml import to_toml
from unknot.data.parts.images import are_measured
from unknot.metrics.parts.chance import Chance, has_chance_level
from unknot.report.model.latents import SAMPLE, UNUSED, Latents
from unknot.report.model.traversals import CLEAR, main_factor
from unknot.report.run import describe
from unknot.report.run.notebook import last_values, title
from unknot.report.study.chance import chance_level
from unknot.runs.records import Record
from unknot.runs.run import Run
from unknot.sharing.source import outside_shape, shape_text, units
from unknot.sharing.templates import fill

UNKNOWN = "unknown"
"""The hub's word for a licence that nobody has named."""
LOW_CONTRAST = 0.5
"""Share of the images' variance below which reconstructions leave out most of it."""


def check_license(license: Any) -> str:
    """An identifier of a licence, as the hub lists them."""
    if not isinstance(license, str) or not re.fullmatch(r"[a-z0-9][a-z0-9.+-]{0,60}", license):
        raise ConfigError(
            f"license is an identifier of the hub, such as mit or cc-by-4.0; got {shown(license)}."
        )
    return license


def card(
    run: Run,
    latents: Latents,
    records: Sequence[Record],
    *,
    license: str,
    address: str,
    errors: Mapping[str, float],
    trials: int,
) -> str:
    """The text of the card.

    Args:
        run: One model.
        latents: From `measure_latents`.
        records: Its scores.
        license: An identifier of the hub.
        address: What `unknot.load` takes to load it.
        errors: Largest difference of each exported form from unknot.
        trials: Over how many images and codes.
    """
    spec, dataset = run.spec, run.dataset
    noun, names = dataset.noun, dataset.space.names
    has_factors = run.has_data and not dataset.space.stands_in
    objective = spec.objective.name.partition(":")[2] or spec.objective.name
    versions = sorted({record.unknot for record in records})
    return fill(
        "README.md.jinja",
        license=license,
        tags=[*dict.fromkeys(("disentanglement", "representation-learning", _tag(objective)))],
        title=escape(title(run)),
        latents=spec.net.settings.latents,
        noun=noun,
        shape=shape_text(outside_shape(run)),
        units=units(run),
        has_scale=are_measured(dataset.ends),
        version=describe.facts(run)["unknot"],
        summary=escape(registry.summary("objectives", spec.objective.name)),
        picture_text="How much each column moves with each latent"
        if noun == "rows"
        else "Latent traversals",
        measured=_measured(run),
        has_factors=has_factors,
        latent_rows=_latent_rows(latents, names, has_factors),
        onnx="ONNX" in errors,
        address=address,
        errors=differences(errors),
        trials=trials,
        data=f"{escape(dataset.name)}: {escape(dataset.summary)}.",
        factors=[]
        if dataset.space.stands_in
        else [
            (escape(name), f"{size:,}", kind)
            for name, size, kind in zip(
                names, dataset.space.sizes, dataset.space.kinds, strict=True
            )
        ],
        objective=objective_text(registry.doc("objectives", spec.objective.name)),
        training=_training(run),
        settings=to_toml(without_folders(spec.table())).strip(),
        scores=_score_rows(records, chance_levels(run, records)),
        scored_with=joined(versions) if versions else unknot.__version__,
        limits=limits(run, latents, records),
        license_text=f"`{license}`"
        if license != UNKNOWN
        else "Nobody has named one. Ask whoever shares this model before you use it.",
    )


def differences(errors: Mapping[str, float]) -> str:
    """The largest difference of each exported form from unknot.

    Example:
        >>> differences({"PyTorch": 0.0, "ONNX": 4.4703e-07})
        'PyTorch 0, ONNX 4.5e-07'
    """
    return ", ".join(f"{form} {number(error, 2)}" for form, error in errors.items())


def chance_levels(run: Run, records: Sequence[Record]) -> dict[tuple[str, str], Chance]:
    """What codes that know nothing of the factors score, by name of the score and protocol."""
    levels = {}
    for record in records if not run.dataset.space.stands_in else ():
        protocol = str(record.protocol.get("name"))
        for name in filter(has_chance_level, record.values):
            space, latents = run.dataset.space, run.spec.net.settings.latents
            if level := chance_level(name, protocol, space, latents):
                levels[name, protocol] = level
    return levels


def limits(run: Run, latents: Latents, records: Sequence[Record]) -> list[str]:
    """What the data, the training and the scores give no right to expect, a sentence each."""
    dataset, spec = run.dataset, run.spec
    noun, space = dataset.noun, dataset.space
    found = [
        f"It was trained on {escape(dataset.name)} alone. What it makes of other {noun} was not "
        "looked at.",
        f"It is one model, of seed {spec.seed_list[0]}. Models of other seeds may have other "
        "scores and other latents.",
    ]
    if spec.split is None:
        found.append(f"No {noun} were held out: numbers are of {noun} that it was trained on.")
    if not records:
        found.append("It was not scored: nothing says how disentangled its latents are.")
    if not run.has_data:
        return [*found, "Its latents were not measured: the data was not there."]
    idle = [f"z{z}" for z in sorted(latents.order) if not latents.used[z]]
    if idle:
        verb = "is" if len(idle) == 1 else "are"
        found.append(
            f"{joined(idle)} {verb} inactive, below {UNUSED} nats: moving "
            f"{'it' if len(idle) == 1 else 'them'} changes next to nothing."
        )
    if latents.draws_nothing:
        found.append(
            f"It draws the same for all {noun}: whatever its codes vary with, nothing of it is in "
            "what it decodes. It was trained too little, or has collapsed."
        )
    if space.stands_in:
        found.append("Its data has no factors: nothing says what its latents mean.")
    elif not latents.draws_nothing:
        shares = np.where(latents.used[:, None], np.nan_to_num(latents.explained), 0)
        lost = [
            escape(n) for n, most in zip(space.names, shares.max(0), strict=True) if most < CLEAR
        ]
        if lost:
            found.append(
                f"No latent follows {joined(lost)}: none has {CLEAR:.0%} of its variance from "
                f"{'it' if len(lost) == 1 else 'one of them'}."
            )
        mixed = [f"z{z}" for z in range(len(shares)) if latents.used[z] and shares[z].max() < CLEAR]
        if mixed:
            found.append(f"{joined(mixed)} follow{'s' * (len(mixed) == 1)} no factor clearly.")
    if LEAST_CONTRAST <= latents.contrast < LOW_CONTRAST:
        found.append(
            f"Reconstructions have {latents.contrast:.0%} of the variance of the {noun}: most of "
            "what differs between them is lost."
        )
    remarks = dict.fromkeys(f"{r.metric}: {remark}" for r in records for remark in r.remarks)
    return found + [escape(remark) for remark in remarks]


def objective_text(doc: str) -> str:
    r"""Formula and paper of an objective, from its docstring, as the hub draws formulas.

    Example:
        >>> print(objective_text("Loss $x$.\n\n$$x$$\n\nPaper: A 2020.\n\n`steps` is T."))
        Loss \\(x\\).
        <BLANKLINE>
        $$x$$
        <BLANKLINE>
        *Paper.* A 2020.
    """
    paragraphs = doc.split("\n\n")
    marks = ("Paper:", "Equation:", "Differs:")
    marked = [i for i, text in enumerate(paragraphs) if text.startswith(marks)]
    last = max(marked, default=len(paragraphs) - 1)
    text = "\n\n".join(paragraphs[: last + 1])
    text = re.sub(r"\n(?=(?:Equation|Differs):)", "\n\n", text)
    text = re.sub(r"^(Paper|Equation|Differs):", r"*\1.*", text, flags=re.MULTILINE)
    text = re.sub(r"(?<!\$)\$([^$]+)\$(?!\$)", r"\\\\(\1\\\\)", text)
    return re.sub(r"\n{3,}", "\n\n", text)


def escape(text: str) -> str:
    r"""A name from anywhere, without what Markdown and HTML would take for their own.

    Example:
        >>> print(escape("a_b|<c>"))
        a\_b\|\<c\>
    """
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", plain(text))


def _tag(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _measured(run: Run) -> str:
    if not run.has_data:
        return "The data was not there when this was written, so latents are those of the prior."
    rows = min(SAMPLE, len(run.dataset))
    nats = f"Nats are the KL divergence from the prior, a mean over {rows:,} {run.dataset.noun}"
    if run.dataset.space.stands_in:
        return f"{nats}."
    return f"{nats}; a share is how much of a latent's variance a factor explains alone."


def _latent_rows(latents: Latents, names: Sequence[str], has_factors: bool) -> list[list[str]]:
    rows = []
    for z in latents.order:
        row = [f"z{z}", number(float(latents.kl[z]), 3)]
        if has_factors:
            factor = main_factor(latents, z, names)
            name, _, share = factor.rpartition(" ")
            row += [escape(name), share] if share.endswith("%") else [factor, ""]
        rows.append(row)
    return rows


def _training(run: Run) -> str:
    facts, spec = describe.facts(run), run.spec
    time = f" in {facts['time']}" if facts["time"] else ""
    last = ", ".join(f"{name} {number(value)}" for name, value in last_values(run).items())
    who = f"seed {spec.seed_list[0]}, torch {facts['torch']}"
    return (
        f"{counted(run.step, 'step')} of {spec.batch} {run.dataset.noun}{time}, on "
        f"{facts['place']}, {who}. At the end: {last}."
    )


def _score_rows(
    records: Sequence[Record], chance: Mapping[tuple[str, str], Chance]
) -> list[list[str]]:
    rows = []
    for record in records:
        protocol = record.protocol
        version = protocol.get("version")
        how = str(protocol.get("name")) + (f" v{version}" if version else "")
        count, seed = protocol.get("rows"), protocol.get("seed")
        size = f"{count:,}" if isinstance(count, int) else ""
        part = " ".join(filter(None, (size, record.part)))
        for name, value in record.values.items():
            remarks = [*record.remarks] if name == record.metric else []
            level = chance.get((name, str(protocol.get("name"))))
            if level and value <= level.limit:
                remarks.insert(0, "no better than chance")
            at = number(level.level, 2) if level else ""
            rows.append([name, number(value), at, how, part, seed, "; ".join(remarks)])
    return [[escape("" if cell is None else str(cell)) for cell in row] for row in rows]
