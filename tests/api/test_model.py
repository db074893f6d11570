"""A loop of one's own: the same numbers as the engine's, with a critic and extra state too."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import unknot
from unknot import nets, objectives
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.nets.parts.weights import initial_weights

IMAGES = (np.arange(40 * 64).reshape(40, 8, 8) * 37 % 256).astype("uint8")
STEPS = 5


def parts(latents=3, seed=0):
    """Encoder and decoder as the engine starts them."""
    net = nets.Linear(latents=latents)
    weights = initial_weights(net, (1, 8, 8), torch.tensor([seed]))
    modules = net.encoder((1, 8, 8)), net.decoder((1, 8, 8))
    for name, module in zip(("encoder", "decoder"), modules, strict=True):
        for key, weight in module.named_parameters():
            weight.data.copy_(weights[f"{name}.{key}"][0])
    return modules


@pytest.mark.parametrize(
    "objective",
    [
        objectives.BetaVAE(beta=3.0),
        objectives.FactorVAE(gamma=5.0, critic_width=8),
        objectives.LVAE(),
        objectives.ControlVAE(),
        objectives.AdaGVAE(),
        objectives.FlowVAE(),
    ],
    ids=lambda o: type(o).__name__,
)
def test_a_loop_of_ones_own_gives_the_weights_of_a_run(objective):
    """Same images, same seed, same noise: the same weights, also of critics and carried state."""
    data = "xysquares" if isinstance(objective, unknot.MultiView) else IMAGES
    net = nets.Linear(latents=3)
    run = unknot.train(data, objective, net, steps=STEPS, batch=8, log_every=1, device="cpu")
    context, spec = run.training.context, run.spec
    settings = spec.objective.settings
    shape = context.dataset.shape
    start = initial_weights(net, shape, torch.tensor([0]))
    encoder, decoder = net.encoder(shape), net.decoder(shape)
    for name, module in (("encoder", encoder), ("decoder", decoder)):
        for key, weight in module.named_parameters():
            weight.data.copy_(start[f"{name}.{key}"][0])
    model = unknot.Model(settings, encoder, decoder, n_data=len(context.dataset))
    rows = context.rows(settings)(torch.tensor(0), torch.arange(spec.updates))
    views = getattr(settings, "views", 1)
    for t, index in enumerate(rows):
        losses = model.losses(*context.dataset.batch(index).chunk(views))
        model.step(losses)
        torch.testing.assert_close(
            losses["total"].double(), run.training.curves["loss"][t][0], rtol=1e-6, atol=0
        )
    trained = run.training.weights()
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight, trained[name][0], msg=name)


def test_gradients_of_ones_own_are_those_of_step():
    encoder, decoder = parts()
    model = unknot.Model(objectives.FactorVAE(critic_width=8), encoder, decoder, n_data=40)
    x = torch.rand(16, 1, 8, 8)
    twin = copy.deepcopy(model.build(x))
    model.step(model.losses(x))
    losses = twin.losses(x)
    twin.backward(losses)
    assert all(weight.grad is not None for weight in twin.parameters())
    for optim, part, rate in (
        (torch.optim.Adam, "net", 1e-4),
        (torch.optim.Adam, "critic", float(model.objective.critic_optim.lr)),
    ):
        betas = model.optim_of(part).beta1, model.optim_of(part).beta2
        optim(twin.weights(part).values(), lr=rate, betas=betas).step()
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_evaluation_counts_nothing():
    model = unknot.Model(objectives.ControlVAE(), *parts(), n_data=40)
    x = torch.rand(8, 1, 8, 8)
    model.losses(x)
    model.eval()
    first, again = model.losses(x), model.losses(x)
    assert torch.equal(first["total"], again["total"])
    assert int(model.t) == 1


def test_encoders_may_give_a_pair_and_sigmoids_are_questioned():
    class Pair(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x).chunk(2, dim=-1)

    encoder, decoder = parts()
    x = torch.rand(8, 1, 8, 8)
    one = unknot.Model(objectives.BetaVAE(), encoder, decoder, n_data=40).losses(x)
    two = unknot.Model(objectives.BetaVAE(), Pair(encoder), decoder, n_data=40).losses(x)
    assert torch.equal(one["total"], two["total"])
    activated = nn.Sequential(decoder, nn.Sigmoid())
    with pytest.warns(UserWarning, match="logits"):
        unknot.Model(objectives.BetaVAE(), encoder, activated, n_data=40).losses(x)


def test_processes_average_their_gradients(monkeypatch):
    """Two processes, one after the other: what one sends is kept for the other."""
    x, models = torch.rand(2, 8, 1, 8, 8), []
    for rank in (0, 1):
        models.append(
            unknot.Model(objectives.FactorVAE(critic_width=8), *parts(), n_data=40, seed=7 + rank)
        )
        models[rank].build(x[0])
        models[rank].critic.load_state_dict(models[0].critic.state_dict())
        models[rank].backward(models[rank].losses(x[rank]))
    mean = [(a.grad + b.grad) / 2 for a, b in zip(*(m.parameters() for m in models), strict=True)]
    theirs = iter([w.grad for name in ("net", "critic") for w in models[1].weights(name).values()])
    for name, value in {"is_initialized": True, "get_world_size": 2, "get_rank": 0}.items():
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda ours: ours.add_(next(theirs)))
    model = unknot.Model(objectives.FactorVAE(critic_width=8), *parts(), n_data=40, seed=7)
    model.backward(model.losses(x[0]))
    for weight, expected in zip(model.parameters(), mean, strict=True):
        torch.testing.assert_close(weight.grad, expected)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    other = unknot.Model(objectives.BetaVAE(), *parts(), n_data=40, seed=7).losses(x[1])
    monkeypatch.undo()
    alone = unknot.Model(objectives.BetaVAE(), *parts(), n_data=40, seed=8).losses(x[1])
    assert torch.equal(other["total"], alone["total"]), "each process has noise of its own"


def test_losses_are_short_to_read():
    encoder, decoder = parts()
    losses = unknot.Model(objectives.FactorVAE(), encoder, decoder, n_data=40).losses(
        torch.rand(8, 1, 8, 8)
    )
    assert repr(losses).startswith("Losses(recon ")
    assert f"critic {losses['critic'].item():.4g}"[:9] in repr(losses)
    assert len(repr(losses)) < 200


def test_images_outside_of_0_and_1_are_refused_where_the_likelihood_needs_them():
    encoder, decoder = parts()
    x = 255 * torch.rand(8, 1, 8, 8)
    with pytest.raises(DataError, match="these lie in"):
        unknot.Model(objectives.BetaVAE(), encoder, decoder, n_data=40).losses(x)
    means = objectives.BetaVAE(likelihood="gaussian")
    assert unknot.Model(means, encoder, decoder, n_data=40).losses(x)["total"] > 0


def test_what_cannot_be_is_refused():
    encoder, decoder = parts()
    pairs = unknot.Model(objectives.AdaGVAE(), encoder, decoder, n_data=40)
    with pytest.raises(ShapeError, match="takes 2 images"):
        pairs.losses(torch.rand(8, 1, 8, 8))
    schedule = unknot.schedules.linear(0, 4)
    with pytest.raises(ConfigError, match="give the schedule its steps"):
        unknot.Model(objectives.BetaVAE(beta=schedule), encoder, decoder, n_data=40)


@pytest.mark.parametrize("images", [0, 1, 3])
def test_too_few_images_for_halves_are_said_as_they_came(images):
    model = unknot.Model(objectives.FactorVAE(), *parts(), n_data=40)
    with pytest.raises(
        ConfigError, match=rf"2 images each and needs 4 images or more; got {images}"
    ):
        model.losses(torch.rand(images, 1, 8, 8))


@pytest.mark.parametrize("name", ["values", "keys", "training"])
def test_names_of_learnt_tensors_that_pytorch_has_are_refused(name):
    with pytest.raises(ConfigError, match=f"cannot be called '{name}'"):
        unknot.ExtraState(learnt={name: torch.zeros(())})
    assert unknot.ExtraState(carried={name: torch.zeros(())}).carried
