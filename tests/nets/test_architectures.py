"""What holds for every registered net."""

import dataclasses
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call

from unknot.core import registry
from unknot.core.architecture import Architecture, Init
from unknot.core.errors import ConfigError, ShapeError
from unknot.nets.parts.weights import initial_weights

NETS = [name for name in registry.names("nets") if name != "modules"]  # which come from a user
HEIGHTS = {name: 1 if name == "conv1d" else 64 for name in NETS}
"""Of images that a net takes: signals have height 1."""
OF_THEIR_OWN = ("residual64", "style64")
"""Nets with layers that train side by side by `vmap`."""
STACKABLE = (
    *(nn.Conv2d, nn.ConvTranspose2d, nn.Linear, nn.Flatten, nn.Unflatten),
    *(nn.ReLU, nn.LeakyReLU, nn.Tanh),
)


def test_the_registry_lists_nets_and_not_the_rooms_tools():
    assert {"conv64", "linear", "locatello", "mushom", "ozcan_cnn", "ozcan_mlp"} <= set(NETS)
    assert not {"weights", "checks"} & set(NETS)


@pytest.mark.parametrize("name", NETS)
def test_a_net_is_a_frozen_dataclass_with_the_fields_every_net_has(name):
    net = registry.get("nets", name)()
    assert isinstance(net, Architecture)
    assert net.latents == 10
    assert net.init in get_args(Init)
    assert {"latents", "init"} <= {field.name for field in dataclasses.fields(net)}
    with pytest.raises(dataclasses.FrozenInstanceError):
        net.latents = 3


@pytest.mark.parametrize("name", NETS)
@given(latents=st.integers(1, 40), channels=st.integers(1, 4), n=st.integers(1, 3))
def test_shapes_of_outputs_follow_latents_and_channels(name, latents, channels, n):
    net, image = registry.get("nets", name)(latents=latents), (channels, HEIGHTS[name], 64)
    with torch.device("meta"):
        codes = net.encoder(image)(torch.empty(n, *image))
        logits = net.decoder(image)(torch.empty(n, latents))
    assert codes.shape == (n, 2 * latents)
    assert logits.shape == (n, *image)


@pytest.mark.parametrize("name", sorted({*NETS} - {*OF_THEIR_OWN}))
def test_the_stacked_backend_knows_each_layer_and_outputs_are_not_activated(name):
    with torch.device("meta"):
        net = registry.get("nets", name)(latents=7)
        image = (1, HEIGHTS[name], 64)
        encoder, decoder = net.encoder(image), net.decoder(image)
    for part in (encoder, decoder):
        assert isinstance(part, nn.Sequential)
        assert all(isinstance(layer, STACKABLE) for layer in part)
        assert isinstance(part[0], nn.Flatten | nn.Linear | nn.Conv2d)
    assert isinstance(encoder[-1], nn.Linear)
    assert encoder[-1].out_features == 14
    assert isinstance(decoder[-1], nn.ConvTranspose2d | nn.Unflatten)


@pytest.mark.parametrize("name", NETS)
def test_initial_weights_fit_and_every_parameter_gets_a_gradient(name):
    net, image = registry.get("nets", name)(latents=3), (1, HEIGHTS[name], 64)
    weights = initial_weights(net, image, torch.tensor([5]))
    with torch.device("meta"):
        modules = nn.ModuleDict({"encoder": net.encoder(image), "decoder": net.decoder(image)})
    assert list(weights) == [name for name, _ in modules.named_parameters()]
    ours = {name: value[0].requires_grad_() for name, value in weights.items()}
    x = torch.rand(8, *image, generator=torch.Generator().manual_seed(0))
    parts = {
        part: {n.removeprefix(f"{part}."): v for n, v in ours.items() if n.startswith(part)}
        for part in modules
    }
    codes = functional_call(modules["encoder"], parts["encoder"], (x,))
    logits = functional_call(modules["decoder"], parts["decoder"], (codes[:, :3],))
    gradients = torch.autograd.grad(logits.square().sum() + codes.square().sum(), ours.values())
    assert all(g.isfinite().all() and g.any() for g in gradients)


@pytest.mark.parametrize("name", NETS)
def test_no_latents_are_refused(name):
    for latents in (0, -2):
        with pytest.raises(ConfigError, match=f"net.latents .* got {latents}\\.$"):
            registry.get("nets", name)(latents=latents)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_an_image_without_channels_is_refused(name, part):
    with pytest.raises(ShapeError, match=rf"^{name} takes images .*\(0, 64, 64\)[^\n]*$"):
        getattr(registry.get("nets", name)(), part)((0, 64, 64))


@pytest.mark.parametrize("name", ["conv64", "locatello", "mushom", "ozcan_cnn", *OF_THEIR_OWN])
@pytest.mark.parametrize("part", ["encoder", "decoder"])
@pytest.mark.parametrize("image", [(1, 32, 32), (3, 64, 128), (3, 128, 64), (1, 28, 28)])
def test_convolutional_nets_refuse_other_sizes(name, part, image):
    with pytest.raises(
        ShapeError, match=rf"^{name} takes .* 64 x 64 [^\n]*conv, linear, mlp, ozcan_mlp\.$"
    ):
        getattr(registry.get("nets", name)(), part)(image)
