"""Frozen modules of feature losses: of a run by its path, given in Python, and in a run folder.

A run folder has the weights of the module in ``features.safetensors``, and what it is made of as
JSON in the file's header, so that it is of use without the run that the module came from.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unknot.core import registry
from unknot.core.border import as_path, check_type, check_whole, parse_json
from unknot.core.errors import ConfigError, DamageError, StoreError, UnknotError
from unknot.core.files import read_whole
from unknot.core.typed import typed
from unknot.engine.checkpoint import unpack_tensors, write_tensors
from unknot.losses.features import Features, FrozenModule, give, is_known, known_module
from unknot.losses.likelihood import likelihood_of
from unknot.losses.mapped import Pixels
from unknot.nets.parts.features import layer_outputs
from unknot.nets.parts.given_modules import module_lines, named_tensors
from unknot.runs import status
from unknot.runs.fields import build
from unknot.runs.spec import TrainSpec, settings_table

HEADER = "unknot"
"""Of the file, what the module is made of."""
MODULES = "modules"
"""Of modules given in Python, that are stored without their code."""


class EncoderLayers(nn.Module):
    """The outputs of an encoder's activation functions."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Images ``[n, c, h, w]`` to activations ``[n, ...]``."""
        return layer_outputs(self.encoder, x)


class Outputs(nn.Module):
    """The outputs of several modules, side by side."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(modules)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Images ``[n, c, h, w]`` to a tensor ``[n, ...]`` or several of each module."""
        outputs: list[Tensor] = []
        for part in self.parts:
            y = part(x)
            outputs += y if isinstance(y, tuple | list) else [y]
        return tuple(outputs)


@typed("layers", "weights", "member", "pixels", "pixel_weight")
def features(
    source: Any,
    *,
    layers: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    member: int | None = None,
    pixels: Pixels = "gaussian",
    pixel_weight: float = 0.0,
) -> Features:
    """A reconstruction loss in the features of a frozen module, for ``likelihood=`` of objectives.

    Images and reconstructions are compared by what the module makes of them: a perceptual loss, as
    in DFC-VAE. Copies of modules are used, in evaluation mode and without gradients of their own.

    Args:
        source: A module of PyTorch that takes images ``[n, c, h, w]`` and gives a tensor
            ``[n, ...]`` or several; or a list of such modules. Or the folder of a finished run,
            whose encoder it is; each of its activation functions is a layer.
        layers: Numbers of the outputs that are compared, the first one 1; all when None.
        weights: One for each of these layers; 1 when None.
        member: Which model of a run that has several.
        pixels: What the decoder gives: ``gaussian`` (means), ``sigmoid_gaussian`` or ``bernoulli``
            (logits).
        pixel_weight: Weight of the loss of single pixels beside it; none by default.

    Raises:
        ConfigError: There are no modules, or the run has several models or is not finished.

    Example: `objectives.BetaVAE(likelihood=unknot.features("runs/first", layers=[1, 2, 3]))`
    """
    path = None
    if isinstance(source, str | Path):
        frozen = read_run(source, member)
        path = str(as_path("path", source).expanduser().absolute())
    else:
        if member is not None:
            raise ConfigError("member is for a run of several models; modules have none.")
        frozen = _of_modules(source)
    give(frozen)
    for weight in weights or ():
        check_type("A weight", weight, int, float)
    numbers = None if layers is None else [check_whole("A layer", n, 1) for n in layers]
    return Features.create(
        numbers, weights, path, member, frozen.sha256, pixels, pixel_weight
    )  # fmt: skip


def pin(objective: dict[str, Any]) -> dict[str, Any]:
    """Settings of an objective, with the hash of the module that its feature loss names.

    Args:
        objective: Whose likelihood may be ``{kind = "features", path = "runs/first"}``.
    """
    table = objective.get("likelihood")
    if not isinstance(table, dict) or table.get("kind") != Features.kind or table.get("sha256"):
        return objective
    path, member = table.get("path"), table.get("member")
    if not isinstance(path, str) or type(member) not in (int, type(None)):
        return objective  # refused where types are checked
    frozen = read_run(path, member)
    give(frozen)
    # A run must find it from wherever it is opened.
    whole = str(as_path("path", path).expanduser().absolute())
    return {**objective, "likelihood": {**table, "path": whole, "sha256": frozen.sha256}}


def require(likelihood: Any) -> None:
    """Have the module of a feature loss known in this process.

    Raises:
        ConfigError: It is not, nor is it that of the run which the settings name.
    """
    if not isinstance(likelihood, Features):
        return
    if is_known(str(likelihood.sha256)) or likelihood.path is None:
        known_module(str(likelihood.sha256))
        return
    frozen = read_run(likelihood.path, likelihood.member)
    if frozen.sha256 != likelihood.sha256:
        raise ConfigError(
            f"The encoder of the run in {likelihood.path} is not the one that these settings name: "
            f"its SHA-256 is {frozen.sha256[:12]}..., expected {str(likelihood.sha256)[:12]}... "
            "Put the run back, or leave sha256 out for a new run."
        )
    give(frozen)


def keep(folder: Path, spec: TrainSpec) -> None:
    """Write the module of a run's feature loss into its folder, once; nothing for other losses."""
    likelihood = likelihood_of(spec.objective.settings)
    file = folder / status.FEATURES
    if not isinstance(likelihood, Features) or file.exists():
        return
    if not is_known(str(likelihood.sha256)):
        return  # of a finished model that is saved elsewhere without it
    frozen = known_module(str(likelihood.sha256))
    header = {"facts": dict(frozen.facts), "image": frozen.image, "scale": frozen.scale}
    write_tensors(file, dict(frozen.tensors), {HEADER: json.dumps(header)})


def provide(folder: Path, spec: TrainSpec) -> None:
    """Read the module of a run's feature loss from its folder, if it is there and not known yet.

    Raises:
        DamageError: The file is not what was written.
    """
    likelihood = likelihood_of(spec.objective.settings)
    file = folder / status.FEATURES
    if not isinstance(likelihood, Features) or is_known(str(likelihood.sha256)):
        return
    if not file.is_file():
        return
    try:
        frozen = _read(file)
    except (UnknotError, OSError, ValueError, LookupError, TypeError) as error:
        reason = str(error).rstrip(".")
        raise DamageError(f"{file} cannot be read: {reason}. {status.way_back(folder)}") from error
    if frozen is None:
        return
    if frozen.sha256 != likelihood.sha256:
        raise DamageError(f"{file} is not the module that was used. {status.way_back(folder)}")
    give(frozen)


def read_run(path: str | Path, member: int | None = None) -> FrozenModule:
    """The encoder of a finished run.

    Args:
        path: Its folder.
        member: Which model, if it has several.

    Raises:
        ConfigError: There is no such run or model, or its net was given in Python.
    """
    from unknot.runs.folder import RunFolder  # which knows trainings, as they know this

    place, record = as_path("path", path).expanduser(), dict[str, Any]()
    try:
        folder = RunFolder(place)
        spec, record = folder.spec(), folder.record()
        packed = status.read_file(place, folder.weights_file.name, record)
        weights = unpack_tensors(packed, folder.weights_file)
        image = _shape(record["data"]["image"])
        scale = tuple(record["data"]["mean"]), tuple(record["data"]["std"])
    except (StoreError, KeyError) as error:
        told = isinstance(error, StoreError) and (record.get("files") or not record)
        reason = str(error) if told else "it is not finished, or has no weights."
        raise ConfigError(
            f"Features are those of a finished run's encoder, and {place} is none: {reason}"
        ) from error
    count = len(record["members"])
    if member is None and count > 1:
        raise ConfigError(
            f"The run in {place} has {count} models; say whose features are meant, such as "
            "member=0."
        )
    number = check_whole("The member of a feature loss", member or 0, 0, count - 1)
    if spec.net.name == MODULES:
        raise ConfigError(
            f"The net of the run in {place} was given in Python and is not stored as code; "
            "give its encoder: unknot.features(encoder)."
        )
    tensors = {
        name.removeprefix("encoder."): tensor[number].float().contiguous()
        for name, tensor in weights.items()
        if name.startswith("encoder.")
    }
    if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise ConfigError(f"Model {number} of the run in {place} diverged; choose another.")
    facts = {"net": {"name": spec.net.name, **settings_table(spec.net.settings)}, "image": [*image]}
    return _frozen_encoder(facts, tensors, image, scale)


def _frozen_encoder(
    facts: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    image: tuple[int, int, int],
    scale: tuple[tuple[float, ...], tuple[float, ...]],
) -> FrozenModule:
    settings = dict(facts["net"])
    net = build(registry.get("nets", settings.pop("name")), settings, "net")
    with torch.device("meta"):
        encoder = net.encoder(image)
    # Before any memory is taken: a file may describe another net than it holds.
    shapes = {name: tensor.shape for name, tensor in named_tensors(encoder).items()}
    if shapes != {name: tensor.shape for name, tensor in tensors.items()}:
        raise StoreError("The weights are not those of the net that is described.")
    encoder = encoder.to_empty(device="cpu").float()
    with torch.no_grad():
        for name, tensor in named_tensors(encoder).items():
            tensor.copy_(tensors[name])
    return FrozenModule(EncoderLayers(encoder), facts, tensors, image, scale)


def _of_modules(source: Any) -> FrozenModule:
    modules = [*source] if isinstance(source, list | tuple) else [source]
    if not modules or not all(isinstance(module, nn.Module) for module in modules):
        raise ConfigError(
            "Features are those of an nn.Module, of a list of them, or of the folder of a run; "
            f"got {', '.join(type(module).__name__ for module in modules) or 'an empty list'}."
        )
    outputs = Outputs(modules)
    facts = {MODULES: [*module_lines(outputs)]}
    named = named_tensors(outputs).items()
    tensors = {name: tensor.detach().cpu().clone() for name, tensor in named}
    return FrozenModule(outputs, facts, tensors)


def _read(file: Path) -> FrozenModule | None:
    """The module in a file; None where its code is not stored."""
    data = read_whole(file)
    tensors = unpack_tensors(data, file)
    size = int.from_bytes(data[:8], "little")
    header = parse_json(parse_json(data[8 : 8 + size])["__metadata__"][HEADER])
    if MODULES in header["facts"]:
        return None
    mean, std = header["scale"]
    scale = tuple(mean), tuple(std)
    return _frozen_encoder(header["facts"], tensors, _shape(header["image"]), scale)


def _shape(sides: Sequence[int]) -> tuple[int, int, int]:
    c, h, w = sides
    return int(c), int(h), int(w)
