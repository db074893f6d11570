"""Forms: how the pictures of models get into the file, and which form fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.core.text import number
from unknot.report.explorer.layers import Layer, UnknownLayerError
from unknot.report.explorer.model import ExplorerModel, largest_error, model_layers
from unknot.report.explorer.weights import pack

Form: TypeAlias = Literal["float16", "int8", "frames"]
"""Weights of the decoder in 16 bits, or in 8 bits where pixels allow it, or pictures."""
MOST_BYTES = 24_000_000
"""Of all weights in a file, as text."""
MOST_ERROR = 2 / 255
"""Of a pixel, over some random codes, that weights in 8 bits may cause; 3 / 255 over others."""


@dataclass(frozen=True)
class Decoders:
    """The decoders of all models in one form; none where the form is frames."""

    form: Form
    packed: list[dict[str, Any]]
    reason: str = ""
    """Why it is frames, where nobody asked for them."""

    @property
    def size(self) -> int:
        """Bytes of all weights in the file."""
        return sum(len(decoder["weights"]) for decoder in self.packed)


def check_form(form: Form | None) -> None:
    """Refuse a form that there is not."""
    if form is not None and form not in (names := get_args(Form)):
        raise ConfigError(f"There is no form {form!r}{nearest(str(form), list(names))}")


def choose_form(models: Sequence[ExplorerModel], wish: Form | None) -> Decoders:
    """Weights in 16 bits if they fit, else with 8 bits where pixels allow it, else frames."""
    if wish == "frames":
        return Decoders("frames", [])
    try:
        layers = [model_layers(model.run) for model in models]
    except UnknownLayerError as unknown:
        return Decoders("frames", [], f"the browser cannot compute a layer of the net, {unknown}")
    decoders = Decoders("float16", [pack(of_model) for of_model in layers])
    if wish == "int8" or (wish is None and decoders.size > MOST_BYTES):
        pairs = zip(models, layers, strict=True)
        short = [pack(of_model, small_layers(model, of_model)) for model, of_model in pairs]
        decoders = Decoders("int8", short)
    if decoders.size > MOST_BYTES:
        size = number(decoders.size / 1e6, 3)
        return Decoders("frames", [], f"the weights would take {size} MB")
    return decoders


def small_layers(model: ExplorerModel, layers: Sequence[Layer]) -> frozenset[int]:
    """Layers whose weights may have 8 bits, tried from the largest to the smallest."""
    weighted = [i for i, layer in enumerate(layers) if "weight" in layer]
    small: frozenset[int] = frozenset()
    for i in sorted(weighted, key=lambda i: -layers[i]["weight"].numel()):
        if largest_error(model.run, layers, small | {i}) <= MOST_ERROR:
            small |= {i}
    return small
