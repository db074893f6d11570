import math
import zlib
from dataclasses import dataclass
from inspect import unwrap

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from torch import nn

from unknot.core import noise, registry
from unknot.core.errors import ConfigError
from unknot.nets.conv64 import Conv64
from unknot.nets.linear import Linear
from unknot.nets.locatello import Locatello
from unknot.nets.mushom import Mushom
from unknot.nets.parts.weights import fans, initial_weights, initialize

NETS = [name for name in registry.names("nets") if name != "modules"]  # which come from a user
IMAGE = (1, 64, 64)
# A layer and its fans, written out: kernel area times channels of either side.
LAYERS = {
    "linear": (lambda: nn.Linear(120, 200), 120, 200),
    "conv": (lambda: nn.Conv2d(24, 40, 4), 24 * 16, 40 * 16),
    "oblong": (lambda: nn.Conv2d(24, 40, (2, 5)), 24 * 10, 40 * 10),
    # Stored [in, out, k, k]; PyTorch reads its second dimension as the fan-in.
    "transposed": (lambda: nn.ConvTranspose2d(24, 40, 4), 40 * 16, 24 * 16),
}
RULES = ["torch", "glorot", "kaiming"]
layers = pytest.mark.parametrize("layer", LAYERS)
rules = pytest.mark.parametrize("rule", RULES)
seeds = st.integers(0, 2**63 - 1)


def on_meta(build):
    with torch.device("meta"):
        return build()


def variance(rule, fan_in, fan_out):
    return {"torch": 1 / fan_in / 3, "glorot": 2 / (fan_in + fan_out), "kaiming": 2 / fan_in}[rule]


def assert_moments(values, rule, var):
    """Mean and variance within 5 standard errors, by the fourth moment of each distribution."""
    values = values.double().flatten()
    n = values.numel()
    kurtosis = 3 if rule == "kaiming" else 9 / 5
    assert abs(values.mean()) < 5 * math.sqrt(var / n)
    assert abs(values.square().mean() - var) < 5 * var * math.sqrt((kurtosis - 1) / n)


# --- the three rules ------------------------------------------------------------------------------


@layers
@rules
def test_weights_have_the_moments_of_their_rule(layer, rule):
    build, fan_in, fan_out = LAYERS[layer]
    module = on_meta(build)
    assert fans(module.weight) == (fan_in, fan_out)
    weight = initialize(module, layer, rule, torch.arange(8))[f"{layer}.weight"]
    assert weight.shape == (8, *module.weight.shape)
    assert_moments(weight, rule, variance(rule, fan_in, fan_out))


@layers
@pytest.mark.parametrize("rule", ["torch", "glorot"])
def test_uniform_weights_fill_their_bounds_and_never_leave_them(layer, rule):
    build, fan_in, fan_out = LAYERS[layer]
    bound = {"torch": fan_in**-0.5, "glorot": math.sqrt(6 / (fan_in + fan_out))}[rule]
    module = on_meta(build)
    weight = initialize(module, layer, rule, torch.arange(8), dtype=torch.float64)[
        f"{layer}.weight"
    ]
    assert weight.abs().max() <= bound
    assert weight.max() > bound * 0.999
    assert weight.min() < -bound * 0.999


@layers
def test_only_the_torch_rule_draws_biases(layer):
    build, fan_in, _ = LAYERS[layer]
    module, members = on_meta(build), torch.arange(64)
    bias = initialize(module, layer, "torch", members)[f"{layer}.bias"]
    assert_moments(bias, "torch", 1 / fan_in / 3)
    assert bias.abs().max() <= fan_in**-0.5 * (1 + 1e-7)
    for rule in ("glorot", "kaiming"):
        assert not initialize(module, layer, rule, members)[f"{layer}.bias"].any()


@layers
@rules
def test_weights_are_distributed_as_pytorchs_own(layer, rule):
    module = on_meta(LAYERS[layer][0])
    reference = torch.empty(module.weight.shape)
    generator = torch.Generator().manual_seed(1)
    if rule == "torch":  # what nn.Linear and the convolutions call when they are made
        nn.init.kaiming_uniform_(reference, a=math.sqrt(5), generator=generator)
    elif rule == "glorot":
        nn.init.xavier_uniform_(reference, generator=generator)
    else:
        nn.init.kaiming_normal_(reference, nonlinearity="relu", generator=generator)
    weight = initialize(module, layer, rule, torch.tensor([3]))[f"{layer}.weight"]
    # 15,000 numbers each: scales 5 % apart give p far below this.
    assert ks_2samp(weight.flatten(), reference.flatten()).pvalue > 1e-3


@pytest.mark.parametrize("kind", [nn.Conv2d, nn.ConvTranspose2d])
def test_biases_are_distributed_as_pytorchs_own(kind):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        module = kind(2, 6000, 3)
    bias = initialize(module, "b", "torch", torch.tensor([3]))["b.bias"]
    assert ks_2samp(bias.flatten(), module.bias.detach()).pvalue > 1e-3


@pytest.mark.parametrize("latents", [1, 10, 64])
def test_merged_heads_start_as_two_layers_would(latents):
    """Glorot's bound for a Dense(256, latents), for the means and the log-variances."""
    weights = initial_weights(Locatello(latents=latents), IMAGE, torch.arange(8))
    bound = math.sqrt(6 / (256 + latents))
    for head in weights["encoder.11.weight"].split(latents, dim=1):
        assert head.abs().max() <= bound * (1 + 1e-7)
        assert head.abs().max() > bound * 0.99
    # The decoder's last linear layer is no pair of heads.
    bound = math.sqrt(6 / (256 + 1024))
    assert bound * 0.999 < weights["decoder.2.weight"].abs().max() <= bound * (1 + 1e-7)


def test_a_head_that_is_not_merged_keeps_its_fan_out():
    module = on_meta(lambda: nn.ModuleList([nn.Linear(500, 8), nn.Linear(500, 8)]))
    mean, logvar = (
        initialize(module, "e", "glorot", torch.arange(9), head=8)[f"e.{i}.weight"] for i in (0, 1)
    )
    bound = math.sqrt(6 / 508)
    assert bound * 0.999 < mean.abs().max() <= bound * (1 + 1e-7)
    assert bound * 0.999 < logvar.abs().max() <= bound * (1 + 1e-7)


# --- a pure function of the seed ------------------------------------------------------------------


@rules
@given(members=st.lists(seeds, min_size=1, max_size=4), data=st.data())
def test_a_member_of_a_population_starts_as_it_would_alone(rule, members, data):
    m = data.draw(st.integers(0, len(members) - 1))
    net = Linear(latents=3, init=rule)
    together = initial_weights(net, (1, 3, 5), torch.tensor(members))
    alone = initial_weights(net, (1, 3, 5), torch.tensor(members[m : m + 1]))
    assert together.keys() == alone.keys()
    assert all(torch.equal(together[name][m], alone[name][0]) for name in alone)


@pytest.mark.parametrize("net", [Conv64(), Locatello(), Mushom()])
def test_same_seed_same_weights_other_seed_other_weights(net):
    first = initial_weights(net, IMAGE, torch.tensor([4]))
    again = initial_weights(net, IMAGE, torch.tensor([4]))
    other = initial_weights(net, IMAGE, torch.tensor([5]))
    for name, value in first.items():
        assert torch.equal(value, again[name])
        if value.any() or not name.endswith("bias"):
            assert (value != other[name]).float().mean() > 0.999


def test_a_value_is_its_words_scaled_into_the_bound():
    """Pins the stream and the step; a change here changes every trained number."""
    weight = initial_weights(Conv64(), IMAGE, torch.tensor([11]), dtype=torch.float64)
    words = noise.words(11, "init/encoder.0.weight", 0, 32 * 16).double()
    expected = ((words + 0.5) / 2**31 - 1) / 4  # fan-in 16
    torch.testing.assert_close(
        weight["encoder.0.weight"][0].flatten(), expected, rtol=1e-15, atol=1e-16
    )


def test_parameters_and_members_are_uncorrelated():
    """Rows: two square layers of one shape for two seeds; 5 standard errors of a correlation."""
    module = on_meta(lambda: nn.Sequential(nn.Linear(200, 200), nn.Linear(200, 200)))
    drawn = initialize(module, "e", "torch", torch.tensor([0, 1]))
    drawn |= initialize(module, "d", "torch", torch.tensor([0, 1]))
    rows = torch.cat([v.flatten(1) for name, v in drawn.items() if name.endswith("weight")])
    correlation = torch.corrcoef(rows.double()) - torch.eye(8, dtype=torch.float64)
    assert correlation.abs().max() < 5 / math.sqrt(200 * 200)


def test_no_two_parameters_of_a_net_share_a_stream():
    """Streams are told apart by a 32-bit checksum of their name."""
    for name in NETS:
        image = (1, 1, 64) if name == "conv1d" else IMAGE
        weights = initial_weights(registry.get("nets", name)(latents=2), image, torch.tensor([0]))
        assert len({zlib.crc32(f"init/{key}".encode()) for key in weights}) == len(weights)


def test_what_else_is_drawn_changes_nothing():
    before = initial_weights(Conv64(), IMAGE, torch.tensor([4]))
    initial_weights(Mushom(), (3, 64, 64), torch.tensor([4, 9]))
    critic = on_meta(lambda: nn.Sequential(nn.Linear(10, 50), nn.Linear(50, 2)))
    initialize(critic, "critic", "torch", torch.tensor([4]))
    after = initial_weights(Conv64(), IMAGE, torch.tensor([4]))
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_global_generator_is_left_alone():
    state = torch.get_rng_state()
    for name in NETS:
        image = (1, 1, 64) if name == "conv1d" else IMAGE
        initial_weights(registry.get("nets", name)(), image, torch.tensor([0, 1]))
    assert torch.equal(state, torch.get_rng_state())
    torch.manual_seed(123)
    seeded = initial_weights(Mushom(), IMAGE, torch.tensor([0]))
    torch.set_rng_state(state)
    plain = initial_weights(Mushom(), IMAGE, torch.tensor([0]))
    assert all(torch.equal(seeded[name], plain[name]) for name in plain)


@rules
def test_precision_changes_rounding_and_not_the_draw(rule):
    net = Linear(latents=2, init=rule)
    double = initial_weights(net, (1, 8, 8), torch.arange(3), dtype=torch.float64)
    for dtype in (torch.float32, torch.bfloat16):
        rounded = initial_weights(net, (1, 8, 8), torch.arange(3), dtype=dtype)
        assert all(torch.equal(rounded[name], double[name].to(dtype)) for name in double)
        assert all(value.dtype == dtype for value in rounded.values())


# --- nets of outsiders ----------------------------------------------------------------------------


@rules
def test_normalisation_starts_as_the_identity(rule):
    # A BatchNorm that keeps running statistics is refused: they are buffers.
    batch = lambda: nn.BatchNorm2d(2, track_running_stats=False)  # noqa: E731
    module = on_meta(lambda: nn.Sequential(nn.LayerNorm((2, 4, 4)), nn.GroupNorm(1, 2), batch()))
    weights = initialize(module, "e", rule, torch.arange(2))
    assert len(weights) == 6
    for name, value in weights.items():
        assert torch.equal(value, torch.full_like(value, name.endswith("weight")))


class Scaled(nn.Module):
    """A module with parameters of its own and no ``nn.Linear``."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Parameter(torch.empty(300, 100))
        self.gain = nn.Parameter(torch.empty(300))
        self.scale = nn.Parameter(torch.empty(()))
        self.bias = nn.Parameter(torch.empty(300))


@rules
def test_parameters_of_unknown_modules_are_weights_or_zero(rule):
    weights = initialize(on_meta(Scaled), "e", rule, torch.arange(2), head=5)
    assert_moments(weights["e.mix"], rule, variance(rule, 100, 300))
    assert not weights["e.gain"].any()
    assert not weights["e.bias"].any()
    assert weights["e.scale"].tolist() == [0, 0]


def test_tied_parameters_are_drawn_once():
    def build():
        a, b = nn.Linear(4, 4), nn.Linear(4, 4)
        b.weight = a.weight
        return nn.Sequential(a, b)

    weights = initialize(on_meta(build), "e", "torch", torch.arange(2))
    assert list(weights) == ["e.0.weight", "e.0.bias", "e.1.bias"]


@dataclass(frozen=True)
class Outsider:
    latents: int = 2
    init: str = "torch"

    def encoder(self, image):
        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(image), 8), nn.LayerNorm(8), Last())

    def decoder(self, image):
        return nn.Sequential(nn.Linear(2, math.prod(image)), nn.Unflatten(1, image))


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.Linear(8, 4)


def test_an_outsiders_architecture_needs_no_more_than_the_protocol():
    weights = initial_weights(Outsider(), (1, 4, 4), torch.arange(3))
    assert weights["encoder.3.heads.weight"].shape == (3, 4, 8)
    assert weights["encoder.2.weight"].eq(1).all()


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.Dropout2d(), nn.RReLU()])
def test_layers_that_draw_at_random_are_refused(layer):
    with pytest.raises(ConfigError, match=f"at random .{type(layer).__name__}."):
        initialize(nn.Sequential(nn.Linear(3, 2), layer), "encoder", "torch", torch.tensor([0]))


def test_an_unknown_rule_is_refused():
    bare = unwrap(initialize)  # without the type check that tests switch on
    with pytest.raises(ConfigError, match=r"^There is no init 'glorott'; did you mean 'glorot'\?$"):
        bare(on_meta(lambda: nn.Linear(2, 2)), "e", "glorott", torch.arange(1))
