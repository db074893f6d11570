"""A trained model as one file of plain PyTorch: its text, and its tensors."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeAlias

import torch
from safetensors.torch import save as pack_tensors
from torch import Tensor, nn

import unknot
from unknot.core.errors import ConfigError
from unknot.core.objective import Recoding
from unknot.data.parts.images import are_measured
from unknot.losses.likelihood import likelihood_of, pixel_likelihood
from unknot.nets.parts.dispersion import Dispersion
from unknot.nets.parts.given_modules import named_tensors
from unknot.objectives.flow_vae import FlowVAE, masks
from unknot.objectives.joint_vae import JointVAE
from unknot.objectives.qlae import QLAE
from unknot.objectives.tripod import Tripod
from unknot.report.explorer.layers import steps
from unknot.runs.run import Run
from unknot.sharing.templates import fill

LAYERS = frozenset(
    {
        *(nn.Linear, nn.Flatten, nn.Unflatten),
        *(nn.Conv1d, nn.Conv2d, nn.Conv3d),
        *(nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
        *(nn.ZeroPad1d, nn.ZeroPad2d, nn.ReflectionPad2d, nn.ReplicationPad2d),
        *(nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.ELU, nn.SELU, nn.GELU, nn.SiLU, nn.Mish),
        *(nn.Tanh, nn.Sigmoid, nn.Softplus),
        *(nn.LayerNorm, nn.RMSNorm, nn.GroupNorm),
        *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d),
        *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d),
        *(nn.MaxPool1d, nn.MaxPool2d, nn.AvgPool1d, nn.AvgPool2d, nn.AdaptiveAvgPool2d),
        *(nn.Upsample, nn.PixelShuffle, nn.PixelUnshuffle),
    }
)
"""What PyTorch prints of these is the call that makes them, mostly."""
Recode: TypeAlias = Literal["none", "point", "values", "probabilities", "flow"]
"""What an objective makes of the encoder's posteriors: nothing, a point, the nearest of a few
values, the probabilities of a discrete latent, or the end of a flow."""
POINT = -20.0
"""Log-variances where an objective trains none."""
TRIALS = 32
"""Random images that show what an objective makes of posteriors."""
UNITS = {
    "images": "in [0, 1]",
    "signals": "in the units of the data",
    "rows": "in the units of the table",
}
OUTPUTS = {
    "bernoulli": "logits",
    "gaussian": "means",
    "sigmoid_gaussian": "logits of means",
    "poisson": "logits of shares of a row's counts",
    "negative_binomial": "logits of shares of a row's counts",
}


@dataclass(frozen=True, eq=False)
class PlainModel:
    """The text of a module and the tensors that it loads."""

    text: str
    tensors: dict[str, Tensor]

    def write(self, folder: Path) -> None:
        """Write ``model.py`` and ``model.safetensors``."""
        (folder / "model.py").write_text(self.text, encoding="utf-8")
        (folder / "model.safetensors").write_bytes(pack_tensors(self.tensors, {"format": "pt"}))

    def load(self) -> nn.Module:
        """The model as whoever has the two files gets it."""
        module = ModuleType("model")
        module.__file__ = "model.py"
        exec(self.text, module.__dict__)  # noqa: S102 - our own text, with no word of anyone else
        net: nn.Module = module.Model()
        net.load_state_dict(self.tensors, assign=True)
        return net.eval()


def plain_model(run: Run) -> PlainModel:
    """One trained model as plain PyTorch, in float32.

    Args:
        run: Of one model.

    Raises:
        ConfigError: It has a layer, or makes codes in a way, that cannot be written down.
    """
    dataset, recode = run.dataset, _recode(run)
    likelihood = pixel_likelihood(likelihood_of(run.spec.objective.settings))
    layers = {"encoder": [*steps(run.encoder)], "decoder": [*steps(run.decoder)]}
    buffers: dict[str, Tensor] = {}
    if isinstance(dispersion := layers["decoder"][-1], Dispersion):
        layers["decoder"].pop()
        buffers["log_dispersion"] = dispersion.log_dispersion
    if dataset.mean:
        for name, values in (("mean", dataset.mean), ("std", dataset.std)):
            buffers[name] = torch.tensor(values).reshape(-1, 1, 1)
    if has_scale := are_measured(dataset.ends):
        for name, values in zip(("low", "high"), dataset.ends, strict=True):
            buffers[name] = torch.tensor(values).reshape(-1, 1, 1)
    if recode == "values":
        buffers["values"] = _values(run)
    flow = _flow_tensors(run) if recode == "flow" else {}
    tensors = {
        **buffers,
        **{f"flow.{name}": tensor for name, tensor in flow.items()},
        **{
            f"{part}.{number}.{name}": tensor
            for part, sequence in layers.items()
            for number, layer in enumerate(sequence)
            for name, tensor in named_tensors(layer).items()
        },
    }
    outside = shape_text(outside_shape(run))
    text = fill(
        "model.py.jinja",
        version=unknot.__version__,
        latents=run.spec.net.settings.latents,
        noun=dataset.noun,
        units=units(run),
        outside=outside,
        inside=shape_text(dataset.shape),
        image=", ".join(map(str, dataset.shape)),
        outputs=OUTPUTS[likelihood],
        likelihood=likelihood,
        standardised=bool(dataset.mean),
        row_total=dataset.row_total,
        has_scale=has_scale,
        recode=recode,
        point=POINT,
        squashed=isinstance(run.spec.objective.settings, Tripod),
        categories=getattr(run.spec.objective.settings, "categories", 0),
        buffers={name: tuple(tensor.shape) for name, tensor in buffers.items()},
        flow={name: tuple(tensor.shape) for name, tensor in flow.items()},
        **{p: [layer_call(layer, p) for layer in sequence] for p, sequence in layers.items()},
    )
    return PlainModel(text, {name: _plain(tensor) for name, tensor in tensors.items()})


def outside_shape(run: Run) -> tuple[int, ...]:
    """The shape of one image, signal or row as people have it."""
    channels, height, width = run.dataset.shape
    shapes = {
        "rows": (channels,),
        "signals": (channels, width),
        "images": (channels, height, width),
    }
    return shapes[run.dataset.noun]


def shape_text(shape: tuple[int, ...]) -> str:
    """The shape of a batch.

    Example:
        >>> shape_text((3, 64, 64))
        '[n, 3, 64, 64]'
    """
    return f"[n, {', '.join(map(str, shape))}]"


def units(run: Run) -> str:
    """What the numbers are that an exported model takes and gives."""
    return "of counts" if run.dataset.row_total is not None else UNITS[run.dataset.noun]


def layer_call(layer: nn.Module, part: str) -> str:
    """The call that makes a layer.

    Args:
        layer: Any.
        part: Whose it is, for the message.

    Raises:
        ConfigError: It is none of `LAYERS`, or has a setting that PyTorch does not print.

    Example:
        >>> layer_call(nn.Conv2d(1, 8, 4, padding="valid"), "encoder")
        "nn.Conv2d(1, 8, kernel_size=(4, 4), stride=(1, 1), padding='valid')"
    """
    call = _call(layer) if type(layer) in LAYERS else None
    if call is None:
        raise ConfigError(
            f"The {part} has a layer {type(layer).__name__}, which cannot be exported; plain "
            "layers of torch.nn can, one after the other in an nn.Sequential."
        )
    return call


def _call(layer: nn.Module) -> str | None:
    """What PyTorch prints of a layer, if that makes the same layer: some settings it leaves out."""
    # Some words it leaves without quotes.
    call = "nn." + re.sub(r"=([a-z]\w*)(?=[,)])", r"='\1'", repr(layer))
    with torch.device("meta"):
        again: nn.Module = eval(call, {"nn": nn, "torch": torch})  # noqa: S307 - of a layer above
    return call if _settings(again) == _settings(layer) else None


def _settings(layer: nn.Module) -> dict[str, Any]:
    """All that tells a layer from others of its class, but for its weights."""
    plain = {k: v for k, v in vars(layer).items() if not k.startswith("_") and k != "training"}
    return plain | {name: tensor.shape for name, tensor in named_tensors(layer).items()}


def _recode(run: Run) -> Recode:
    """What the objective makes of posteriors, seen on random images."""
    objective = run.spec.objective.settings
    if not isinstance(objective, Recoding):
        return "none"
    if isinstance(objective, FlowVAE):
        return "flow" if objective.steps else "none"
    if isinstance(objective, QLAE | Tripod):
        return "values"
    if isinstance(objective, JointVAE):
        return "probabilities"
    x = torch.rand(TRIALS, *run.dataset.shape, generator=torch.Generator().manual_seed(0))
    q = run.posterior(x)
    with torch.no_grad():
        like = next(run.encoder.parameters())
        mean, logvar = run.encoder(x.to(like)).to(q.mean).chunk(2, dim=-1)
    if torch.allclose(q.mean, mean, atol=1e-5):
        if torch.equal(q.logvar, torch.full_like(q.logvar, POINT)):
            return "point"
        if torch.allclose(q.logvar, logvar, atol=1e-5):
            return "none"
    raise ConfigError(
        f"{run.spec.objective.name} makes codes of the encoder's outputs in a way of its own, "
        "which cannot be exported."
    )


def _values(run: Run) -> Tensor:
    """The values that each latent takes, one row for each."""
    objective = run.spec.objective.settings
    if isinstance(objective, Tripod):
        levels = 2 * torch.arange(objective.levels) / (objective.levels - 1) - 1
        return levels.repeat(run.spec.net.settings.latents, 1)
    codebook: Tensor = run.training.weights()["extra.codebook"][0]
    return codebook


def _flow_tensors(run: Run) -> dict[str, Tensor]:
    """Weights of a flow with its masks multiplied in."""
    weights = run.training.weights()
    names = ("latent_weight", "context_weight", "hidden_bias", "out_weight", "out_bias")
    flow = {name: weights[f"extra.{name}"][0].clone() for name in names}
    count, width, latents = flow["latent_weight"].shape
    for t in range(count):
        device = flow["latent_weight"].device
        sees, hears = masks(latents, width, backwards=t % 2 == 1, device=device)
        flow["latent_weight"][t] *= sees
        flow["out_weight"][t] *= hears.repeat(2, 1)
    return flow


def _plain(tensor: Tensor) -> Tensor:
    tensor = tensor.detach().cpu().contiguous()
    return tensor.float() if tensor.is_floating_point() else tensor
