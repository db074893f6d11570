"""Write ``docs/objectives.md`` from the docstrings: ``python docs/objectives.py``."""

import inspect
import itertools
import re
from pathlib import Path

from unknot.core import registry
from unknot.core.hyper import hyper_fields
from unknot.objectives.parts.families import FAMILIES, families, supervision

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Objectives

<!-- Made by docs/objectives.py from the docstrings in src/unknot/objectives; do not edit. -->

An objective is the loss that a model is trained with. Each objective is one file in
`src/unknot/objectives/` that reads like its paper. Use its name on the command line:

```sh
unknot train --objective beta_tcvae --set objective.beta=6 --steps 20000
unknot train --objective factor_vae --preset study2019 --steps 300000
```

All losses are minimised, summed over pixels and latents and averaged over the batch. Where a paper
uses another convention for a weight, *Differs* gives the conversion. A setting that *may vary* can
follow a schedule and can differ between the models of a population.

Presets are named settings. `study2019` is Locatello et al. 2019, the large study whose 10,800
models are the field's reference. Presets that begin with `mushom`, `ozcan` or `michlo` come from
a thesis each: Mushom 2020 (MSc, five objectives on dSprites), Moğultay Özcan 2024 (PhD, L-VAE) and
Michlo 2022 (dissertation, VAEs and distances between images).

InfoGAN, StyleGAN, NVAE, Glow and diffusion models are not here; codes of theirs, as of any model,
are scored from a file: `unknot score codes.npz` ([metrics](metrics.md)).

The setting `likelihood` defines the decoder output and the reconstruction loss
([losses](losses.md)):

- "bernoulli": logits of probabilities; cross-entropy.
- "gaussian": means; squared error, without the factor 1/2.
- "sigmoid_gaussian": the same, with a sigmoid that keeps the means in (0, 1). If images are mostly
  black, the sigmoid can saturate: with it, `l_vae`, `mdl_vae` and `sigma_vae` gave black images
  after 2,000 steps of 32 dSprites images at a learning rate of 1e-3 (`conv64`, seed 0); with
  "gaussian" they did not.
- "poisson", "negative_binomial": for [tables of counts](tables.md#counts); logits of each column's
  share of the row's total, and for the negative binomial one learnt dispersion for each column.
- a table of kind "overlap" or "features": blurred images, or the features of a frozen network, are
  compared as well as pixels or in their place ([losses](losses.md)).

## Families

An objective belongs to a family by what it acts on. Supervision is what the choice of images tells
it: pairs that share factors or are a small step apart, or triplets ordered by their distances. Both
as one table: `unknot figures objective_families`. An objective of another package states its family
as a class variable, `family = "posterior"`; without one it is listed under *other*.

"""


def page() -> str:
    """The text of the page."""
    names = registry.names("objectives")
    return HEAD + "\n".join(map(_family, families(names).items())) + "".join(map(_section, names))


def _family(group: tuple[str, list[str]]) -> str:
    """A family's objectives as a table under what they act on."""
    family, names = group
    rows = [
        f"| [`{name}`](#{name}) | {_cell(registry.summary('objectives', name))} "
        f"| {supervision(name)} | {registry.paper('objectives', name)} |\n"
        for name in names
    ]
    head = "| name | what it is | supervision | paper |\n|---|---|---|---|\n"
    return f"*{family.capitalize()}*: {FAMILIES[family]}.\n\n{head}{''.join(rows)}"


def _section(name: str) -> str:
    lines = registry.doc("objectives", name).split("\n")
    text = re.sub(r"^(Paper|Equation|Differs):", r"*\1.*", "\n".join(lines[1:]), flags=re.MULTILINE)
    # A line break before each, which Markdown would run together.
    text = re.sub(r"\n(\*(?:Equation|Differs)\.\*)", r"  \n\1", text)
    settings = registry.settings("objectives", name)
    parts = [f"\n## {name}\n\n{lines[0]}\n{text.rstrip()}\n"]
    if settings:
        varies = hyper_fields(registry.get("objectives", name))
        parts.append("\n| setting | default | |\n|---|---|---|\n")
        parts += [
            f"| `{key}` | `{default}` | {'may vary' if key in varies else ''} |\n"
            for key, default in settings.items()
        ]
    for key, preset in registry.presets("objectives", name).items():
        note = _note(name, key)
        parts.append(f"\nPreset `{key}`: `{_changed(name, preset)}`{f'. {note}' if note else ''}\n")
    return "".join(parts)


def _note(name: str, key: str) -> str:
    """The comment above a preset, or above all: where its numbers come from, and what of."""
    lines = inspect.getsource(inspect.getmodule(registry.get("objectives", name))).splitlines()
    for place in (rf' +"{key}": ', "PRESETS = "):
        at = next((i for i, line in enumerate(lines) if re.match(place, line)), 0)
        above = itertools.takewhile(lambda line: line.lstrip().startswith("#"), lines[:at][::-1])
        if comment := [line.strip(" #") for line in above][::-1]:
            return " ".join(comment)
    return ""


def _changed(name: str, preset: object) -> str:
    """What a preset sets that the defaults do not."""
    usual = registry.get("objectives", name)()
    pairs = {key: (getattr(preset, key), getattr(usual, key)) for key in vars(usual)}
    changed = [f"{key}={ours!r}" for key, (ours, theirs) in pairs.items() if ours != theirs]
    # Schedules as one would write them; those over the whole run name no steps.
    text = ", ".join(changed).replace(", steps=inf, begin=0.0", "")
    return text.replace("LinearSchedule(", "linear(") or "the defaults"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
