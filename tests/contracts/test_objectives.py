"""What holds for every registered objective."""

import tomllib
from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot import testing
from unknot.core import noise, registry
from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.core.hyper import Constant, Cosine, Cyclic, LinearSchedule, hyper_fields
from unknot.core.objective import Differencing, Objective
from unknot.core.optim import Adam
from unknot.core.toml import to_toml
from unknot.data.parts.images import Bits
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.nets.conv64 import Conv64
from unknot.runs import config
from unknot.runs.spec import Choice, TrainSpec

NAMES = registry.names("objectives")
each_objective = pytest.mark.parametrize("name", NAMES)


def scheduled(objective):
    """With a schedule for each number that may have one."""
    now = {field: getattr(objective, field) for field in hyper_fields(objective)}
    numbers = {field: value for field, value in now.items() if isinstance(value, float)}
    ramps = {f: LinearSchedule(value, 2 * value, 20.0, begin=5.0) for f, value in numbers.items()}
    return replace(objective, **ramps)


def variants(name):
    """The objective with other likelihoods, and its presets."""
    usual = registry.get("objectives", name)()
    if "likelihood" in {f.name for f in fields(usual)}:
        yield replace(usual, likelihood="gaussian")
        yield replace(usual, likelihood="sigmoid_gaussian")
    yield from registry.presets("objectives", name).values()


def narrow(objective):
    """With networks of its own of a few units, as wide ones only take longer."""
    own = {f.name for f in fields(objective)} & {"critic_width", "width"}
    return replace(objective, **dict.fromkeys(own, 8))


USUAL = [narrow(registry.get("objectives", name)()) for name in NAMES]
SCHEDULED = [narrow(scheduled(objective)) for objective in USUAL if hyper_fields(objective)]
OTHERS = [
    other
    for other in dict.fromkeys(narrow(o) for n in NAMES for o in variants(n))
    if other not in USUAL
]


@pytest.mark.parametrize("check", testing.OBJECTIVE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("objective", USUAL, ids=repr)
def test_contract(objective, check):
    check(objective)


@pytest.mark.parametrize("objective", SCHEDULED, ids=repr)
def test_contract_with_schedules(objective):
    testing.same_after_a_file(objective)
    testing.together_as_alone(objective)
    testing.backends_agree(objective, steps=3)


@pytest.mark.parametrize("objective", OTHERS, ids=repr)
def test_contract_of_other_likelihoods_and_presets(objective):
    """What differs from the defaults is the formula, which one pass alone and together shows."""
    testing.same_after_a_file(objective)
    testing.together_as_alone(objective)


@each_objective
def test_an_objective_names_its_paper_and_equation(name):
    kind = registry.get("objectives", name)
    assert isinstance(kind(), Objective)
    assert "\n    Paper: " in kind.__doc__
    assert "\n    Equation: " in kind.__doc__
    assert "$$" in kind.__doc__


@each_objective
def test_convolutions_train_the_same_stacked_as_looped(name):
    stored = noise.integers(1, "blobs", 0, 32, 512, high=256).to(torch.uint8)
    space = FactorSpace(("row",), (32,), ("ordered",))
    data = FactorDataset("blobs", space, Bits(stored, (1, 64, 64)))
    context = Context(data, Conv64(latents=4), 2, runtime("cpu", "float64"))
    members = [
        Member(seed, objective, Adam(lr=1e-3))
        for seed, objective in enumerate(
            testing.members(narrow(registry.get("objectives", name)()))[:2]
        )
    ]
    looped, stacked = (backend.fresh(context, members) for backend in (Looped, Stacked))
    first, second = looped.advance(0, 3), stacked.advance(0, 3)
    assert first.keys() == second.keys()
    for key in first:
        # Tripod's are differences of activations near 1, exact to 1e-16 at best however small.
        least = 1e-16 if (name, key) == ("tripod", "hessian") else 0.0
        torch.testing.assert_close(first[key], second[key], rtol=1e-10, atol=least)


def test_the_beta_vae_at_1_is_the_vae_bit_for_bit():
    vae, beta_vae = (registry.get("objectives", name) for name in ("vae", "beta_vae"))
    for likelihood in ("bernoulli", "gaussian"):
        pair = vae(likelihood=likelihood), beta_vae(beta=1.0, likelihood=likelihood)
        cases = [testing.cases(objective)[1][0] for objective in pair]
        for ours, theirs in (
            (case.terms() for case in cases),
            (case.gradients() for case in cases),
        ):
            assert ours.keys() == theirs.keys()
            for key, value in ours.items():
                other = theirs[key]
                if isinstance(value, torch.Tensor):
                    assert torch.equal(value, other)
                else:
                    assert torch.equal(value.value * value.weight, other.value * other.weight)


number = st.floats(0.01, 1)  # inside the bounds of every field
hyper = st.one_of(
    number,
    st.builds(Constant, number),
    st.builds(LinearSchedule, number, number, number, number),
    st.builds(Cosine, number, number, number, number),
    st.builds(Cyclic, number, number, number, st.floats(0.1, 1)),
)
specs = st.fixed_dictionaries(
    {
        "steps": st.integers(200, 10**9),  # longer than any schedule below
        "batch": st.integers(1, 4096),
        "seeds": st.one_of(
            st.integers(0, 2**63 - 1),
            st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4, unique=True).map(tuple),
        ),
        "order_seed": st.none() | st.integers(0, 2**63 - 1),
        "precision": st.sampled_from(["float32", "tf32", "bf16", "float64"]),
    }
)


@each_objective
@given(data=st.data(), shared=specs, lr=hyper)
def test_a_spec_survives_a_toml_file(name, data, shared, lr):
    kind = registry.get("objectives", name)
    own = {field: data.draw(hyper) for field in hyper_fields(kind)}
    if issubclass(kind, Differencing) and shared["precision"] in ("tf32", "bf16"):
        shared = shared | {"precision": "float64"}
    spec = TrainSpec.create(
        Choice("xysquares", registry.get("datasets", "xysquares")(spacing=3)),
        Choice("conv64", Conv64(latents=7)),
        Choice(name, kind(**own)),
        optim=Adam(lr=lr),
        **shared,
    )
    back = config.spec(tomllib.loads(to_toml(spec.table())))
    assert back == spec
    assert back.ids() == spec.ids()
