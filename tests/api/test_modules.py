"""An encoder and a decoder as modules of PyTorch: `unknot.train(net=(encoder, decoder))`."""

import warnings
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import unknot
from unknot import objectives
from unknot.core.errors import ConfigError, ShapeError
from unknot.engine.modules import why_not_stacked
from unknot.nets.parts import given_modules

IMAGES = (np.arange(40 * 64).reshape(40, 8, 8) * 37 % 256).astype("uint8")
TINY = {"steps": 6, "batch": 8, "log_every": 3, "device": "cpu", "progress": False}


class Pairs(nn.Module):
    """Gives mean and log-variance as two tensors."""

    def __init__(self, latents=3, scale=1.0):
        super().__init__()
        self.mean, self.logvar = nn.Linear(64, latents), nn.Linear(64, latents)
        self.scale = scale

    def forward(self, x):
        return self.scale * self.mean(x.flatten(1)), self.logvar(x.flatten(1))


class Noisy(nn.Module):
    """Draws at random in a way that no type of layer shows."""

    def forward(self, x):
        return x + 0.1 * torch.randn_like(x) if self.training else x


def plain(seed=0):
    torch.manual_seed(seed)
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))
    return encoder, nn.Sequential(nn.Linear(3, 64), nn.Unflatten(1, (1, 8, 8)))


def rich(seed=0):
    """Dropout, batch norm and noise."""
    torch.manual_seed(seed)
    encoder = nn.Sequential(
        *(nn.Flatten(), nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU()),
        *(nn.Dropout(0.3), Noisy(), nn.Linear(16, 6)),
    )
    return encoder, nn.Sequential(nn.Linear(3, 64), nn.Dropout(0.1), nn.Unflatten(1, (1, 8, 8)))


def test_modules_train_as_in_a_loop_of_ones_own():
    """The same weights before and the same images: the same weights after, but for rounding."""
    encoder, decoder = plain()
    before = encoder[1].weight.clone()
    run = unknot.train(IMAGES, "beta_vae", (encoder, decoder), beta=2, **TINY)
    assert torch.equal(encoder[1].weight, before)  # copies are trained
    model = unknot.Model(objectives.BetaVAE(beta=2.0), encoder, decoder, n_data=len(IMAGES))
    population = run.training.population.models[0]
    for t in range(TINY["steps"]):
        rows = population.rows(population.order, torch.tensor([t]))[0]
        model.step(model.losses(run.dataset.batch(rows)))
    assert torch.allclose(run.encoder[1].weight, encoder[1].weight, atol=1e-6)
    assert not torch.allclose(run.encoder[1].weight, before, atol=1e-6)


@pytest.mark.parametrize("make", [plain, rich])
def test_a_member_of_many_is_the_run_alone_and_a_stopped_run_goes_on(make, tmp_path):
    """To the bit, with dropout, batch norm and noise; whatever PyTorch's own generator does."""
    whole = unknot.train(IMAGES, net=make(), ema=0.9, **TINY)
    with pytest.warns(UserWarning, match="begin with the weights of these modules"):
        many = unknot.train(IMAGES, net=make(), ema=0.9, seeds=[4, 0], **TINY)
    torch.manual_seed(99)
    out = tmp_path / "run"
    stop = unknot.train(
        IMAGES, net=make(), ema=0.9, out=out, callback=lambda *_: True, **TINY | {"log_every": 2}
    )
    assert (stop.status, stop.step) == ("stopped", 1)
    resumed = unknot.resume(out, data=IMAGES, device="cpu", progress=False)
    longer = unknot.train(IMAGES, net=make(), ema=0.9, **TINY | {"steps": 3}).train_more(3)
    for name, weight in whole.training.population.state().items():
        assert torch.equal(many.training.population.state()[name][1:], weight), name
        assert torch.equal(longer.training.population.state()[name], weight), name
    assert torch.equal(resumed.codes(), whole.codes())
    assert torch.equal(whole.codes(), whole.codes())  # nothing is drawn when it encodes
    if make is rich:
        assert whole.encoder[2].num_batches_tracked == TINY["steps"]
        assert not torch.equal(whole.encoder[2].running_mean, torch.zeros(16))


def test_a_run_of_modules_needs_them_again(tmp_path, monkeypatch):
    torch.manual_seed(1)
    encoder, decoder = Pairs(), plain()[1]
    run = unknot.train(IMAGES, net=(encoder, decoder), out=tmp_path / "run", **TINY)
    assert run.spec.net.settings.latents == 3
    monkeypatch.setattr(given_modules, "_pairs", {})
    with pytest.raises(ConfigError, match=r"net=\(encoder, decoder\)"):
        unknot.load(tmp_path / "run", data=IMAGES, device="cpu")
    with pytest.raises(ConfigError, match="not those of the run"):
        unknot.load(tmp_path / "run", data=IMAGES, net=(Pairs(scale=2.0), decoder))
    fresh = unknot.load(tmp_path / "run", data=IMAGES, device="cpu", net=(Pairs(), plain(5)[1]))
    assert torch.equal(fresh.codes(), run.codes())
    more = fresh.train_more(2, progress=False)
    whole = unknot.train(IMAGES, net=(encoder, decoder), **TINY | {"steps": 8})
    assert torch.equal(more.codes(), whole.codes())


def test_what_decides_a_run_is_in_its_id():
    ids = [
        unknot.train(IMAGES, net=net, **TINY | {"steps": 1}).spec.ids()[0]
        for net in (plain(), plain(), plain(1), (Pairs(), plain()[1]))
    ]
    assert ids[0] == ids[1]
    assert len({*ids}) == 3


def test_an_object_and_a_function_give_modules():
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = plain()

    ours = unknot.train(IMAGES, net=plain(), **TINY)
    assert torch.equal(unknot.train(IMAGES, net=Holder(), **TINY).codes(), ours.codes())

    def make():
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 6)), plain_decoder()

    def plain_decoder():
        return nn.Sequential(nn.Linear(3, 64), nn.Unflatten(1, (1, 8, 8)))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = unknot.train(IMAGES, net=make, seeds=[0, 1], **TINY | {"steps": 1, "lr": 1e-9})
    alone = unknot.train(IMAGES, net=make, seeds=1, **TINY | {"steps": 1, "lr": 1e-9})
    weights = many.training.weights()["encoder.1.weight"]
    assert (weights[0] - weights[1]).abs().max() > 0.01  # each seed has weights of its own
    assert torch.equal(many[1].codes(), alone.codes())


def test_all_that_can_be_called_without_arguments_gives_modules():
    """A function with its arguments filled in, and a method; each seed has weights of its own."""
    tiny = TINY | {"steps": 1}
    by_function = unknot.train(IMAGES, net=lambda: (Pairs(4), plain_of(4)), seeds=[0, 1], **tiny)

    class Kit:
        def make(self):
            return Pairs(4), plain_of(4)

    for net in (partial(lambda z: (Pairs(z), plain_of(z)), 4), Kit().make):
        again = unknot.train(IMAGES, net=net, seeds=[0, 1], **tiny)
        assert torch.equal(again.codes(), by_function.codes())


def plain_of(latents):
    return nn.Sequential(nn.Linear(latents, 64), nn.Unflatten(1, (1, 8, 8)))


def test_modules_that_differ_in_their_weights_alone_are_known_side_by_side():
    """A run that stopped before its first step finds its own, whatever was given since."""
    spec = unknot.train(IMAGES, net=plain(0), **TINY).spec
    later = unknot.train(IMAGES, net=plain(1), **TINY)
    assert spec.net.settings.structure == later.spec.net.settings.structure
    for net, seed in ((spec.net.settings, 0), (later.spec.net.settings, 1)):
        assert torch.equal(net.start(5)[0][1].weight, plain(seed)[0][1].weight)


def test_modules_whose_source_cannot_be_read_need_a_version():
    """Those of a plain Python prompt, say."""
    code = (
        "class Flat(nn.Linear):\n    {}\n"
        "    def forward(self, x):\n        return super().forward(x.flatten(1))"
    )

    def spec(line):
        space = {"nn": nn, "__name__": "nowhere"}
        exec(code.replace("{}", line), space)
        torch.manual_seed(0)
        return unknot.train(IMAGES, net=(space["Flat"](64, 6), plain()[1]), **TINY).spec

    with pytest.raises(ConfigError, match="version: str"):
        spec("pass")
    first, again, other = (spec(f"version: str = '{n}'").ids() for n in (1, 1, 2))
    assert first == again != other


def test_modules_that_do_not_fit_are_refused():
    encoder, decoder = plain()
    with pytest.raises(ShapeError, match="decoder must give"):
        unknot.train(IMAGES, net=(encoder, nn.Linear(3, 7)), **TINY)
    with pytest.raises(ShapeError, match="encoder does not take"):
        unknot.train(IMAGES, net=(nn.Linear(5, 6), decoder), **TINY)
    with pytest.raises(ShapeError, match="means and log-variances"):
        unknot.train(IMAGES, net=(nn.Sequential(nn.Flatten(), nn.Linear(64, 5)), decoder), **TINY)
    shared = nn.Linear(64, 64)
    tied = nn.Sequential(nn.Flatten(), shared, nn.Linear(64, 6))
    with pytest.raises(ConfigError, match="share weights"):
        unknot.train(IMAGES, net=(tied, nn.Sequential(nn.Linear(3, 64), shared)), **TINY)
    with pytest.raises(ConfigError, match="modules already"):
        unknot.train(IMAGES, net=plain(), net_settings={"latents": 3}, **TINY)
    with pytest.raises(ConfigError, match="a function that makes it"):
        unknot.train(IMAGES, net=(Pairs, Pairs), **TINY)
    with pytest.warns(UserWarning, match="logits"):
        unknot.train(IMAGES, net=(encoder, nn.Sequential(decoder, nn.Sigmoid())), **TINY)


def test_what_cannot_be_stacked_says_why():
    """What can be is stacked on a GPU; the reason is that of the first part that cannot."""
    image = (1, 8, 8)
    assert why_not_stacked(*plain(), image, 3) is None
    assert "has buffers (2.running_mean" in why_not_stacked(*rich(), image, 3)
    dropout = nn.Sequential(nn.Flatten(), nn.Dropout(0.1), nn.Linear(64, 6))
    assert "draws at random (Dropout)" in why_not_stacked(dropout, plain()[1], image, 3)
    noisy = nn.Sequential(nn.Flatten(), Noisy(), nn.Linear(64, 6))
    assert "encoder cannot be stacked" in why_not_stacked(noisy, plain()[1], image, 3)
    pairs = given_modules.SideBySide(Pairs())
    assert why_not_stacked(pairs, plain()[1], image, 3) is None


def test_stacked_modules_begin_with_their_weights():
    """The backend of GPUs takes the same weights and trains them in the same way."""
    from unknot.engine.stacked import Stacked

    encoder, decoder = plain()
    run = unknot.train(IMAGES, net=(encoder, decoder), **TINY)
    stacked = Stacked.fresh(run.training.context, run.spec.members())
    assert torch.equal(stacked.state()["encoder.1.weight"][0], encoder[1].weight)
    stacked.advance(0, TINY["steps"])
    for name, weight in run.training.population.state().items():
        assert torch.allclose(stacked.state()[name], weight, atol=1e-5), name
