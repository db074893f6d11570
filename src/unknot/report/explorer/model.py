"""A model as the explorer shows it, and how its decoder gets into the file."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from unknot.core import noise
from unknot.core.errors import ConfigError
from unknot.losses.likelihood import activate, likelihood_of
from unknot.report.explorer.layers import Layer, decoder_layers, output_layers, steps
from unknot.report.explorer.weights import rounded
from unknot.report.model.latents import Latents, check_member, measure_latents
from unknot.report.run.page import stored_scores
from unknot.report.sheet import check_pictures
from unknot.runs.run import Run

TRIALS = 200
"""Random codes on which the error of rounded weights is measured."""


@dataclass(frozen=True, eq=False)
class ExplorerModel:
    """One model with what was measured of it."""

    run: Run
    latents: Latents
    scores: Mapping[str, float]
    role: str = ""
    """Why it was chosen, in a few words."""


def explorer_model(run: Run, member: int = 0) -> ExplorerModel:
    """One model of a run.

    Raises:
        ConfigError: There is no such model, or it diverged.
        ShapeError: The data is a table.
    """
    check_member(run, member)
    check_pictures(run.dataset)
    if member in run.diverged:
        raise ConfigError(f"Seed {run.spec.seed_list[member]} diverged; nothing can be explored.")
    lone = run if run.spec.lone else run.member(member)
    latents = measure_latents(lone)[0]
    # A latent that never changes still has a slider.
    sd = np.where(latents.sd > 0, latents.sd, 1.0)
    return ExplorerModel(lone, replace(latents, sd=sd), stored_scores(run)[member])


def model_layers(run: Run) -> list[Layer]:
    """What turns a code into pixels.

    Raises:
        UnknownLayerError: There is a layer that the browser does not know.
    """
    layers = decoder_layers(run.decoder, run.spec.net.settings.latents)
    return layers + output_layers(run.dataset, likelihood_of(run.spec.objective.settings))


def largest_error(run: Run, layers: Sequence[Layer], eight_bits: frozenset[int]) -> float:
    """Largest error of a pixel, from 0 to 1, that rounded weights cause over random codes.

    Args:
        run: One model.
        layers: From `model_layers`.
        eight_bits: Numbers of layers whose weights get 8 bits.
    """
    decoder = run.decoder.float().cpu()
    coarse = copy.deepcopy(decoder)
    for i, (module, layer) in enumerate(zip(steps(coarse), layers, strict=False)):
        if "weight" in layer:
            module.weight.data = rounded(layer["weight"], eight_bits=i in eight_bits)
    z = noise.normal(0, "explorer/error", 0, TRIALS, run.spec.net.settings.latents)
    likelihood = likelihood_of(run.spec.objective.settings)
    with torch.no_grad():
        fine, rough = (
            run.dataset.unit(activate(likelihood, net(z))).clamp(0, 1) for net in (decoder, coarse)
        )
    return float((fine - rough).abs().max())
