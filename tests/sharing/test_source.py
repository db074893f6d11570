"""Exported code gives the numbers of unknot where there is no unknot."""

from dataclasses import dataclass

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import unknot
from unknot import nets, objectives
from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.core.posterior import Posterior
from unknot.sharing.source import layer_call, plain_model

NETS = {
    "conv": ((2, 13, 21), nets.Conv(latents=3)),
    "conv1d": ("signals", nets.Conv1d(latents=3)),
    "conv64": ((1, 64, 64), nets.Conv64(latents=3)),
    "linear": ((3, 5, 7), nets.Linear(latents=3)),
    "locatello": ((3, 64, 64), nets.Locatello(latents=3)),
    "mlp": ((1, 6, 6), nets.MLP(latents=3, hidden=(8,))),
    "mushom": ((1, 64, 64), nets.Mushom(latents=3)),
    "ozcan_cnn": ((3, 128, 128), nets.OzcanCNN(latents=3)),
    "ozcan_mlp": ((1, 8, 8), nets.OzcanMLP(latents=3)),
}
OBJECTIVES = {
    "recoded by a flow": ((1, 6, 6), objectives.FlowVAE(steps=3, width=7)),
    "recoded to points": ((1, 6, 6), objectives.AE()),
    "recoded, variances kept": ((1, 6, 6), objectives.WAEMMD(stochastic=True)),
    "means": ((1, 6, 6), objectives.VAE(likelihood="gaussian")),
    "bounded means": ((1, 6, 6), objectives.VAE(likelihood="sigmoid_gaussian")),
    "a table": ("table", objectives.VAE(likelihood="gaussian")),
    "counts": ("table", objectives.VAE(likelihood="poisson")),
    "dispersed counts": ("table", objectives.VAE(likelihood="negative_binomial")),
}


@pytest.fixture(scope="module")
def differences(make_run, run_elsewhere, frame, tmp_path_factory):
    """Largest differences of means, log-variances and images of each case, as shares of 1."""
    cases = {n: (data, "vae", net) for n, (data, net) in NETS.items()}
    cases |= {n: (data, o, nets.MLP(latents=3)) for n, (data, o) in OBJECTIVES.items()}
    runs, folders = {}, {}
    for name, (data, objective, net) in cases.items():
        likelihood = "gaussian" if data == "signals" else None
        if data == "signals":
            data, objective = torch.randn(12, 2, 1, 37), objectives.VAE(likelihood=likelihood)
            data = unknot.dataset(data.squeeze(2), signals=True)
        runs[name] = make_run(frame if data == "table" else data, objective, net)
        folders[name] = tmp_path_factory.mktemp("model")
        plain_model(runs[name]).write(folders[name])
        given = {"x": people_have(runs[name]), "z": codes()}
        save_file(given, folders[name] / "given.safetensors")
    run_elsewhere(folders.values())
    return {
        n: compare(run, load_file(folders[n] / "results.safetensors")) for n, run in runs.items()
    }


def codes():
    return torch.randn(9, 3, generator=torch.Generator().manual_seed(1))


def people_have(run):
    """Images, signals or rows in their own units."""
    x = run.dataset.unit(run.dataset.batch(torch.arange(12)))
    x = x if run.dataset.row_total is None else x.round()
    squeezed = {"images": x, "signals": x.squeeze(2), "rows": x.flatten(1)}
    return squeezed[run.dataset.noun].contiguous()


def compare(run, results):
    q = run.posterior(run.dataset.batch(torch.arange(12)))
    decoded = run.dataset.unit(run.decode(codes()))
    assert q.mean.std() > 0.1
    assert decoded.std(0).max() > 0.05
    assert results["y"].shape == (9, *people_have(run).shape[1:])
    return {
        "mean": (results["mean"] - q.mean).abs().max() / q.mean.abs().max().clamp(min=1),
        "logvar": (results["logvar"] - q.logvar).abs().max() / q.logvar.abs().max().clamp(min=1),
        "y": (results["y"].flatten(1) - decoded.flatten(1)).abs().max()
        / decoded.abs().max().clamp(min=1),
    }


def test_every_net_of_the_catalogue_is_a_case():
    """But for those with layers of their own, which are refused; modules may have any."""
    others = {"style64", "residual64", "modules"}
    assert {*NETS} == {*registry.names("nets")} - others


@pytest.mark.parametrize("case", [*NETS, *OBJECTIVES])
def test_numbers_are_those_of_unknot(differences, case):
    print(f"{case}: " + ", ".join(f"{n} {e:.1e}" for n, e in differences[case].items()))
    assert max(differences[case].values()) < 2e-5


LAYERS = {
    "nn.Linear(in_features=3, out_features=4, bias=False)": nn.Linear(3, 4, bias=False),
    "nn.Conv2d(4, 6, kernel_size=(3, 3), stride=(2, 2), padding='valid', groups=2)": nn.Conv2d(
        4, 6, 3, 2, padding="valid", groups=2
    ),
    "nn.Conv1d(1, 2, kernel_size=(3,), stride=(1,), padding=(1,), padding_mode='circular')": (
        nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular")
    ),
    "nn.LeakyReLU(negative_slope=0.3)": nn.LeakyReLU(0.3),
    "nn.GELU(approximate='tanh')": nn.GELU("tanh"),
    "nn.ZeroPad2d((1, 2, 3, -4))": nn.ZeroPad2d((1, 2, 3, -4)),
    "nn.Upsample(scale_factor=2.0, mode='nearest')": nn.Upsample(scale_factor=2.0),
}


@pytest.mark.parametrize("call", LAYERS)
def test_the_call_of_a_layer(call):
    assert layer_call(LAYERS[call], "encoder") == call


@pytest.mark.parametrize(
    "layer",
    [
        nn.AvgPool2d(3, count_include_pad=False),
        nn.Upsample(scale_factor=2.0, mode="bilinear", align_corners=True),
    ],
)
def test_a_layer_that_its_call_would_not_make_again_is_refused(layer):
    with pytest.raises(ConfigError, match=f"The decoder has a layer {type(layer).__name__}"):
        layer_call(layer, "decoder")


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_other_layers_are_refused_by_name(make_run, part):
    layers = {
        "encoder": [nn.Flatten(), nn.Linear(36, 6)],
        "decoder": [nn.Linear(3, 36), nn.Unflatten(1, (1, 6, 6))],
    }
    layers[part].append(Twice())
    pair = tuple(nn.Sequential(*layers[name]) for name in ("encoder", "decoder"))
    with pytest.raises(ConfigError, match=f"The {part} has a layer Twice, which cannot be export"):
        plain_model(make_run((1, 6, 6), net=pair))


def test_modules_of_ones_own_are_written_with_their_buffers(make_run):
    encoder = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(36), nn.Sequential(nn.Linear(36, 6)))
    decoder = nn.Sequential(nn.Linear(3, 36), nn.Identity(), nn.Unflatten(1, (1, 6, 6)))
    run = make_run((1, 6, 6), net=(encoder, decoder), steps=5)
    net, x = plain_model(run).load(), run.dataset.batch(torch.arange(12))
    torch.testing.assert_close(net.encode(x)[0], run.encode(x))
    torch.testing.assert_close(net.decode(codes()), run.decode(codes()))


def test_dispersions_are_those_of_the_decoder(make_run, frame):
    run = make_run(frame, objectives.VAE(likelihood="negative_binomial"), nets.MLP(latents=3))
    net = plain_model(run).load()
    outputs = run.decoder(codes())[:, 6:]
    assert outputs.std() > 0
    torch.testing.assert_close(net.log_dispersion.expand_as(outputs), outputs)


@dataclass(frozen=True)
class Doubled(objectives.VAE, unknot.Recoding):
    def recode(self, net, q):
        return Posterior(2 * q.mean, q.logvar)


def test_codes_of_an_objective_that_recodes_in_its_own_way_are_refused(make_run):
    with pytest.raises(ConfigError, match=r"Doubled makes codes .* cannot be exported"):
        plain_model(make_run((1, 6, 6), Doubled(), nets.MLP(latents=4)))


SCHEDULED = {"annealed_vae": {"c": 5.0}, "joint_vae": {"c_z": 5.0, "c_c": 0.5}}
"""Settings of those whose default schedule is longer than a test."""


@pytest.mark.parametrize("name", registry.names("objectives"))
def test_every_objective_of_the_catalogue_can_be_exported_from_float64(tiny, name):
    run = unknot.train(
        "arrays",
        name,
        nets.MLP(latents=3, hidden=(8,)),
        data_settings={"path": str(tiny)},
        steps=20,
        batch=8,
        precision="float64",
        device="cpu",
        progress=False,
        objective_settings=SCHEDULED.get(name),
    )
    x = run.dataset.batch(torch.arange(12))
    net, q = plain_model(run).load(), run.posterior(x)
    mean, logvar = net.encode(x)
    torch.testing.assert_close(mean, q.mean.float(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(logvar, q.logvar.float(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(net.decode(mean), run.decode(mean).float(), atol=1e-5, rtol=1e-4)
