"""The page of the Python API: one directive for each public name, which mkdocstrings fills in."""

import unknot

GROUPS = {
    "Train and load": ("train", "load", "resume", "Run", "Study", "study"),
    "Data": ("dataset", "Dataset", "FactorDataset", "FactorSpace"),
    "Scores": ("evaluate", "baselines", "Representation"),
    "Your own loop": ("Model", "total"),
    "Your own objective": (
        *("Objective", "Net", "Step", "Term", "Posterior", "Hyper"),
        *("MultiView", "Adversarial", "Batchwise", "Stateful", "ExtraState", "Carry"),
        *("Calibrated", "Recoding", "Note"),
    ),
    "Optimisers": ("Adam", "AdamW", "Adagrad", "RMSprop", "SGD"),
    "Errors": ("UnknotError",),
}
MODULES = {
    "Schedules": "unknot.schedules",
    "Scikit-learn": "unknot.api.sklearn",
    "Lightning": "unknot.api.lightning",
}
HEAD = """\
# API

Every public name of `unknot`, from its docstring. Objectives, metrics and datasets have pages of
their own: [objectives](objectives.md), [metrics](metrics_each.md), [datasets](data.md).
"""


def page() -> str:
    """The text of the page."""
    homes = unknot._HOMES
    if faults := set(homes) ^ {name for names in GROUPS.values() for name in names}:
        raise SystemExit(f"tools/api.py and unknot differ in: {', '.join(sorted(faults))}")
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts += [f"## {title}\n", *(f"::: {homes[name]}.{name}\n" for name in names)]
    for title, module in MODULES.items():
        options = "    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"
        parts.append(f"## {title}\n\n::: {module}\n{options}")
    return "\n".join(parts)
