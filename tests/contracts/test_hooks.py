"""Hooks are declared: what only has the name of one does nothing, and the kit says so."""

from dataclasses import dataclass, fields, make_dataclass

import pytest
import torch

from unknot import testing
from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper
from unknot.core.objective import (
    HOOKS,
    Adversarial,
    Batchwise,
    Calibrated,
    Carry,
    Differencing,
    ExtraState,
    Labelled,
    Objective,
    Recoding,
    Stateful,
    Term,
    sampler_of,
    total,
    updates_of,
    views_of,
)
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member, populate
from unknot.engine.stacked import Stacked
from unknot.losses import bernoulli, kl_normal
from unknot.runs import config
from unknot.runs.evaluate import evaluate
from unknot.runs.verbs import train

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Plain:
    """The VAE, as a user would write it first: one method."""

    weight: Hyper = 0.5
    likelihood: str = "bernoulli"

    def terms(self, net, step):
        q = net.encode(step.x)
        z = step.sample(q)
        loss = bernoulli(net.decode(z), step.x)
        return {"recon": Term(loss), "kl": Term(kl_normal(q).sum(-1), self.weight)}


def never(*_, **__):
    raise AssertionError("a method that is no hook was called")


NAMES = [name for hook in HOOKS for name in vars(hook) if not name.startswith("_")]
VALUES = {"views": 2, "sampler": "pairs", "steps_per_update": 3, "critic_optim": 5}
Accidental = make_dataclass(
    "Accidental",
    [(f.name, f.type, f) for f in fields(Plain)],
    namespace={"terms": Plain.terms, **{n: VALUES.get(n, never) for n in (*NAMES, "variance")}},
    frozen=True,
)


def test_all_hooks_are_here():
    assert sorted(NAMES) == [
        "check_batch",
        "check_precision",
        "critic",
        "critic_optim",
        "critic_terms",
        "decoder_variance",
        "extra_state",
        "label_state",
        "least_batch",
        "recode",
        "sampler",
        "steps_per_update",
        "views",
    ]
    assert not isinstance(Accidental(), HOOKS)
    assert isinstance(Accidental(), Objective)


def test_methods_and_fields_with_names_of_hooks_do_nothing():
    """An outsider's `views`, `variance`, `recode` and so on are its own affair."""
    assert (views_of(Accidental()), sampler_of(Accidental())) == (1, "singles")
    assert updates_of(Accidental(), 7) == 7
    context = Context(testing.images(), testing.NET, 4, Runtime(CPU, "float64"))
    for backend in (Looped, Stacked):
        ours, plain = (
            backend.fresh(context, [Member(0, kind(), Adam())]) for kind in (Accidental, Plain)
        )
        logs = ours.advance(0, 3), plain.advance(0, 3)
        assert logs[0].keys() == logs[1].keys()
        states = ours.state(), plain.state()
        assert states[0].keys() == states[1].keys()
        for name, value in states[0].items():
            assert torch.equal(value, states[1][name]), name
        x = context.dataset.batch(torch.arange(3)).double()
        assert torch.equal(ours.encode(x).mean, plain.encode(x).mean)
    populate(context, [Member(0, Accidental(), Adam())])


def test_scores_that_decode_take_no_notice_either(monkeypatch):
    """Neither a variance of pixels nor a refusal, as a declared hook would have it."""
    real, kinds = registry.get, {"accidental": Accidental, "plain": Plain}
    monkeypatch.setattr(registry, "get", lambda room, name: kinds.get(name) or real(room, name))
    data, net = {"name": "xysquares"}, {"name": "linear", "latents": 2}
    scores = []
    for name in kinds:
        table = {"data": data, "net": net, "objective": {"name": name}, "steps": 2, "batch": 4}
        (records,) = evaluate(train(config.spec(table), device="cpu"), metrics=["elbo"])
        scores += [(record.values, record.remarks) for record in records]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("name", [*NAMES])
def test_the_kit_names_what_is_not_declared(name):
    kind = make_dataclass(
        "Forgetful",
        [],
        namespace={"terms": Plain.terms, name: VALUES.get(name, never)},
        frozen=True,
    )
    (hook,) = [hook for hook in HOOKS if name in vars(hook)]
    said = rf"^Forgetful has '{name}' but does not declare the hook: .*Forgetful\({hook.__name__}\)"
    with pytest.raises(AssertionError, match=said):
        testing.hooks_are_declared(kind())


@pytest.mark.parametrize("hook", [h for h in HOOKS if h not in (Batchwise, Differencing, Labelled)])
def test_a_hook_that_is_declared_must_be_there(hook):
    missing = make_dataclass("Empty", [], bases=(hook,), frozen=True)
    with pytest.raises(TypeError, match="abstract"):
        missing()


def test_who_compares_the_images_of_a_batch_needs_two():
    empty = make_dataclass("Empty", [], bases=(Batchwise,), frozen=True)()
    empty.check_batch(2, 10)
    with pytest.raises(ConfigError, match="Empty compares the images of a batch and needs 2 or"):
        empty.check_batch(1, 10)


def test_who_takes_differences_is_refused_where_they_are_rounding():
    empty = make_dataclass("Empty", [], bases=(Differencing,), frozen=True)()
    for precision in ("float32", "float64"):
        empty.check_precision(precision)
    for precision in ("tf32", "bf16"):
        with pytest.raises(ConfigError, match=f"Empty takes differences .* {precision} rounds"):
            empty.check_precision(precision)


def test_declared_hooks_work_together():
    @dataclass(frozen=True)
    class All(Stateful, Recoding, Calibrated, Adversarial):
        def terms(self, net, step):
            terms = Plain().terms(net, step)
            return {
                **terms,
                "told": Term(net.critic(step.sample(net.encode(step.x))).mean((-2, -1))),
            }

        def extra_state(self, z, seed):
            return ExtraState(carried={"count": torch.zeros(seed.shape)})

        def recode(self, net, q):
            return Posterior(q.mean + net.extra["count"][..., None, None], q.logvar)

        def decoder_variance(self, extra, error, count):
            return error / count

        @property
        def critic_optim(self):
            return Adam()

        def critic(self, image, z):
            return torch.nn.Linear(z, 1)

        def critic_terms(self, net, step):
            z = step.sample(net.encode(step.x)).detach()
            return {
                "tell": Term(net.critic(z).square().mean((-2, -1))),
                "count": Carry(net.extra["count"] + 1),
            }

    context = Context(testing.images(), testing.NET, 4, Runtime(CPU, "float64"))
    population = Looped.fresh(context, [Member(0, All(), Adam())])
    population.advance(0, 3)
    assert population.state()["carried.count"].tolist() == [3]
    case, _ = testing.cases(All())
    assert total(case.terms()).isfinite().all()
