"""Checks that every objective, dataset and net must pass; run them on your own in a test.

``check_objective(Mine(gamma=3.0))`` passes in silence, or raises an AssertionError that says in
one line what is wrong. ``OBJECTIVE_CHECKS`` holds the single checks of an objective, for test
runners that name them.
"""

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from torch.func import functional_call, vmap

from unknot.core import noise
from unknot.core.architecture import Architecture, Shape
from unknot.core.dataset import FactorDataset, Images
from unknot.core.factor_table import Space
from unknot.core.factors import FactorSpace
from unknot.core.hyper import at, hyper_fields, replace_fields, stack
from unknot.core.objective import (
    HOOKS,
    Adversarial,
    Carry,
    Net,
    Note,
    Objective,
    Step,
    Term,
    no_critic,
    total,
    views_of,
)
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.core.toml import to_toml
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context, State
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.modules import stack_module
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.nets.linear import Linear
from unknot.nets.parts.weights import initial_weights, initialize
from unknot.runs.fields import build
from unknot.runs.spec import settings_table

CPU, DOUBLE = torch.device("cpu"), torch.float64
IMAGE, BATCH, ROWS = (1, 8, 8), 6, 40
NET = Linear(latents=3)
SEEDS = (5, 2**40 + 1, 9)
ROUNDING = 1e-25
"""Squares of what float64 leaves of second differences of a plane are below: 1e-16 of outputs near
1, over the square of a step of 0.1, squares to about 1e-28."""


def check_objective(objective: Objective) -> None:
    """Run all checks of an objective; its ``Hyper`` fields are varied between the members."""
    for check in OBJECTIVE_CHECKS:
        check(objective)


def check_dataset(dataset: Any, *, still: Collection[str] = ()) -> None:
    """Run all checks of a dataset, the dataclass with ``load`` that the registry names.

    Args:
        dataset: Its settings.
        still: Names of factors that may change without changing the image.
    """
    same_after_a_file(dataset)
    states = _random_states()
    loaded, again = dataset.load(), dataset.load()
    _images_fit_the_grid(loaded)
    _each_factor_shows(loaded, still)
    rows = _some_rows(loaded.space, 20)
    same = torch.equal(loaded.batch(rows), again.batch(rows))
    _require(same and states == _random_states(), f"{loaded.name} must not be random.")


def check_net(net: Architecture, image: Shape = (1, 64, 64)) -> None:
    """Run all checks of a net for a shape of image."""
    same_after_a_file(net)
    with torch.device("meta"):
        parts = {"encoder": net.encoder(image), "decoder": net.decoder(image)}
    weights = initial_weights(net, image, torch.tensor(SEEDS), dtype=DOUBLE)
    inputs, outputs = (image, (net.latents,)), ((2 * net.latents,), image)
    for (part, module), shape, expected in zip(parts.items(), inputs, outputs, strict=True):
        mine = {n.removeprefix(f"{part}."): w for n, w in weights.items() if n.startswith(part)}
        _check_module(f"{_name(net)}.{part}", module, mine, shape, expected)


def same_after_a_file(thing: Any) -> None:
    """Settings are a frozen dataclass that is equal after being written as TOML and read."""
    parameters: Any = getattr(type(thing), "__dataclass_params__", None)
    frozen = parameters is not None and parameters.frozen
    _require(frozen, f"{_name(thing)} must be a frozen dataclass.")
    read = tomllib.loads(to_toml({"settings": settings_table(thing)}))["settings"]
    back = build(type(thing), read)
    _require(back == thing, f"{_name(thing)} reads back from a file as {back}, not as {thing}.")


@dataclass(frozen=True)
class Case:
    """An objective with weights and a step, of one member or of all; bound without the engine."""

    objective: Objective
    critic: nn.Module | None
    weights: State
    carried: State
    step: Step

    @property
    def net(self) -> Net:
        """The linear net, and the critic and extra state where there are any."""

        def linear(layer: str, x: Tensor) -> Tensor:
            weight, bias = self.weights[f"{layer}.weight"], self.weights[f"{layer}.bias"]
            return x @ weight.mT + bias.unsqueeze(-2)

        def encode(x: Tensor) -> Posterior:
            return Posterior(*linear("encoder.1", x.flatten(-3)).chunk(2, dim=-1))

        def decode(z: Tensor) -> Tensor:
            return linear("decoder.0", z).reshape(*z.shape[:-1], *IMAGE)

        def features(z: Tensor) -> tuple[Tensor, ...]:
            return (linear("decoder.0", z).relu(), z.tanh())  # those of some deeper decoder

        def weights_of(part: str) -> State:
            names = [name for name in self.weights if name.startswith(part)]
            return {name.removeprefix(part): self.weights[name] for name in names}

        extra = {**weights_of("extra."), **self.carried}
        if self.critic is None:
            return Net(encode, decode, no_critic, extra, features)
        call = _caller(self.critic)

        def critic(z: Tensor) -> Tensor:
            return (call if z.ndim == 2 else vmap(call))(weights_of("critic."), z)

        return Net(encode, decode, critic, extra, features)

    def terms(self) -> dict[str, Term | Note | Carry]:
        """All terms by name, those of the critic with its prefix."""
        terms = dict(self.objective.terms(self.net, self.step))
        if isinstance(self.objective, Adversarial):
            critics = self.objective.critic_terms(self.net, self.step)
            terms |= {f"critic.{name}": term for name, term in critics.items()}
        return terms

    def gradients(self) -> dict[str, Tensor | None]:
        """The gradient of each loss, summed over members, of its own weights."""
        gradients: dict[str, Tensor | None] = {}
        for critics in {_critics(name) for name in self.weights}:
            loss = total({n: t for n, t in self.terms().items() if _critics(n) == critics}).sum()
            names = [name for name in self.weights if _critics(name) == critics]
            inputs = [self.weights[name] for name in names]
            values = torch.autograd.grad(loss, inputs, allow_unused=True)
            gradients |= dict(zip(names, values, strict=True))
        return gradients


def images() -> FactorDataset:
    """A few images of noise."""
    stored = noise.integers(0, "check", 0, ROWS, *IMAGE, high=256).to(torch.uint8)
    space = FactorSpace(("row", "column"), (ROWS // 8, 8), ("ordered", "ordered"))
    return FactorDataset("check", space, Bytes(stored))


def members(objective: Objective) -> list[Objective]:
    """Objectives that may share a population: numbers in ``Hyper`` fields shrink by a tenth each.

    Shrinking keeps signs and upper bounds, which is all that one can know of a field.
    """
    values = {name: getattr(objective, name) for name in hyper_fields(objective)}
    numbers = {name: value for name, value in values.items() if isinstance(value, int | float)}
    return [
        replace_fields(objective, {name: value * 0.9**i for name, value in numbers.items()})
        for i in range(len(SEEDS))
    ]


def cases(objective: Objective) -> tuple[Case, list[Case]]:
    """All members together, and each of them alone."""
    seeds, t = torch.tensor(SEEDS), torch.tensor(7)
    weights, critic = initial_weights(NET, IMAGE, seeds, dtype=DOUBLE), None
    if isinstance(objective, Adversarial):
        with torch.device("meta"):
            critic = objective.critic(IMAGE, NET.latents)
        weights |= initialize(critic, "critic", "torch", seeds, dtype=DOUBLE)
    context = Context(images(), NET, BATCH, Runtime(CPU, "float64"))
    extra = context.extra_state(stack(members(objective), CPU, DOUBLE), seeds)
    weights |= {f"extra.{name}": value for name, value in extra.learnt.items()}
    x = noise.uniform(seeds, "check", 0, BATCH * views_of(objective), *IMAGE, dtype=DOUBLE)

    factors = context.labels(objective)(torch.arange(BATCH * views_of(objective)))
    factors = None if factors is None else factors.expand(len(SEEDS), *factors.shape)

    def case(mine: Objective, weights: State, carried: State, x: Tensor, seed: Tensor) -> Case:
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        told = factors if factors is None or seed.ndim else factors[0]
        return Case(at(mine, t, DOUBLE), critic, leaves, carried, Step(x, seed, t, ROWS, told))

    def row(tensors: Mapping[str, Tensor], i: int) -> State:
        return {name: value[i] for name, value in tensors.items()}

    varied = members(objective)
    alone = [
        case(mine, row(weights, i), row(extra.carried, i), x[i], seeds[i])
        for i, mine in enumerate(varied)
    ]
    return case(stack(varied, CPU, DOUBLE), weights, dict(extra.carried), x, seeds), alone


def hooks_are_declared(objective: Objective) -> None:
    """What has the name of a hook is one: the engine takes no notice of it otherwise."""
    for hook in HOOKS:
        names = [name for name in vars(hook) if not name.startswith("_")]
        like = next((name for name in names if hasattr(objective, name)), None)
        _require(
            isinstance(objective, hook) or like is None,
            f"{_name(objective)} has '{like}' but does not declare the hook: write "
            f"`class {_name(objective)}({hook.__name__})`, or choose another name.",
        )


def one_value_per_member(objective: Objective) -> None:
    """One member gives scalars and many give ``[p]``, for every term and its weight."""
    side_by_side, alone = cases(objective)
    for case, expected in ((side_by_side, (len(SEEDS),)), (alone[0], ())):
        for key, term in case.terms().items():
            if isinstance(term, Carry):
                continue
            weight = getattr(term.weight, "shape", ()) if isinstance(term, Term) else ()
            _require(
                term.value.shape == expected and weight in ((), expected),
                f"{_name(objective)} term '{key}' should be {expected} and is "
                f"{tuple(term.value.shape)} with a weight {tuple(weight)}: keep the leading axes.",
            )


def together_as_alone(objective: Objective) -> None:
    """Terms and gradients of a member do not depend on who is beside it."""
    side_by_side, alone = cases(objective)
    together, gradients = side_by_side.terms(), side_by_side.gradients()
    for i, case in enumerate(alone):
        for key, term in case.terms().items():
            _close(together[key].value[i], term.value, f"{_name(objective)} term '{key}'")
        for key, gradient in case.gradients().items():
            if (of_all := gradients[key]) is not None and gradient is not None:
                _close(of_all[i], gradient, f"{_name(objective)} gradient of {key}")


def pure(objective: Objective) -> None:
    """The same inputs give the same outputs, stay as they were, and no global state is used."""
    side_by_side, alone = cases(objective)
    for case in (side_by_side, alone[1]):
        inputs = [case.step.x, case.step.seed, case.step.t]
        inputs += [*case.weights.values(), *case.carried.values()]
        before, states = [tensor.detach().clone() for tensor in inputs], _random_states()
        first, second = case.terms(), case.terms()
        same = all(torch.equal(a, b) for a, b in zip(inputs, before, strict=True))
        _require(same, f"{_name(objective)} changes its inputs in place.")
        untouched = states == _random_states()
        _require(untouched, f"{_name(objective)} draws from a global generator; use step.normal.")
        for key, term in first.items():
            again = torch.equal(term.value, second[key].value)
            _require(again, f"{_name(objective)} term '{key}' differs between two calls.")


def never_waits(objective: Objective) -> None:
    """No value is read on the host, where a GPU would have to wait for it."""
    side_by_side, _ = cases(objective)
    mode = FakeTensorMode(allow_non_fake_inputs=True)  # such as the weights of a frozen module
    fake, step = mode.from_tensor, side_by_side.step
    factors = None if step.factors is None else fake(step.factors)
    hyper = {name: fake(getattr(side_by_side.objective, name)) for name in hyper_fields(objective)}
    case = Case(
        replace_fields(side_by_side.objective, hyper),
        side_by_side.critic,
        {name: fake(w.detach()) for name, w in side_by_side.weights.items()},
        {name: fake(value) for name, value in side_by_side.carried.items()},
        Step(fake(step.x), fake(step.seed), fake(step.t), ROWS, factors),
    )
    try:
        with mode:
            case.terms()
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        raise AssertionError(
            f"{_name(objective)} reads a tensor's value on the host ({error}); "
            "use torch.where and its likes instead of if, .item() and boolean masks."
        ) from error


def gradients_reach_all_weights(objective: Objective) -> None:
    """Gradients are finite, and none of encoder, decoder and critic is left without one."""
    for key, gradient in cases(objective)[0].gradients().items():
        reached = gradient is not None and bool(gradient.reshape(len(SEEDS), -1).any(1).all())
        _require(reached, f"{_name(objective)} does not depend on {key}.")
        finite = gradient is not None and bool(gradient.isfinite().all())
        _require(finite, f"{_name(objective)} gradient of {key} is not finite.")


def backends_agree(objective: Objective, *, steps: int = 20) -> None:
    """After training in a population, looped or stacked, a member is what it is alone."""
    context = Context(images(), NET, BATCH, Runtime(CPU, "float64"))
    variants = [
        Member(seed, mine, Adam(lr=lr))
        for seed, mine, lr in zip(SEEDS, members(objective), (1e-3, 5e-4, 2e-3), strict=True)
    ]

    def trained(backend: type[Looped | Stacked], variants: list[Member]) -> State:
        population = backend.fresh(context, variants)
        log = population.advance(0, steps)
        return {**population.state(), **log}

    looped, together = trained(Looped, variants), trained(Stacked, variants)
    for i, member in enumerate(variants):
        for key, value in trained(Looped, [member]).items():
            name = f"{_name(objective)} {key} after {steps} steps"
            _require(torch.equal(looped[key][i], value[0]), f"{name} differs from that alone.")
            _close(together[key][i], value[0], f"{name}, stacked,")


OBJECTIVE_CHECKS: tuple[Callable[[Any], None], ...] = (
    same_after_a_file,
    hooks_are_declared,
    one_value_per_member,
    together_as_alone,
    pure,
    never_waits,
    gradients_reach_all_weights,
    backends_agree,
)


def _images_fit_the_grid(data: FactorDataset) -> None:
    rows = _some_rows(data.space, 1000)
    if isinstance(data.space, FactorSpace):
        same = torch.equal(data.space.index(data.space.factors(rows)), rows)
        _require(same, f"{data.name}: row numbers and factors are not each other's inverse.")
    few = rows[:20].reshape(2, 10)
    _require(isinstance(data.images, Images), f"{data.name}.images must satisfy `Images`.")
    pixels, x = data.images.pixels(few), data.batch(few)
    _require(
        x.dtype == torch.float32 and x.shape == pixels.shape == (2, 10, *data.shape),
        f"{data.name} should give float32 images (2, 10, *{data.shape}); "
        f"got {x.dtype} {tuple(x.shape)}.",
    )
    inside = bool(((pixels >= 0) & (pixels <= 1)).all())
    _require(inside, f"{data.name} has pixels outside [0, 1].")
    _close(data.unit(x), pixels, f"{data.name}.unit", tolerance=1e-5)


def _each_factor_shows(data: FactorDataset, still: Collection[str]) -> None:
    if not isinstance(data.space, FactorSpace):
        return
    for factor, name in enumerate(data.space.names):
        if name not in still:
            rows = data.space.traversal(_some_rows(data.space, 8), factor)[:, :50]
            for images in data.batch(rows).flatten(2):
                different = len(images.unique(dim=0)) == len(images)
                _require(different, f"{data.name}: changing '{name}' leaves an image the same.")


def _some_rows(space: Space, n: int) -> Tensor:
    """The first row, the last, and others in between."""
    ends = torch.tensor([0, space.size - 1])
    return torch.cat([ends, noise.integers(0, "check", 0, n - 2, high=space.size)])


def _check_module(
    name: str, module: nn.Module, weights: State, shape: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """One part of a net: alone and stacked it is the same function, of each row by itself."""
    x = noise.normal(torch.tensor(SEEDS), "check", 0, 3, *shape, dtype=DOUBLE)
    leaves = {key: w.clone().requires_grad_() for key, w in weights.items()}
    call, many = _caller(module), stack_module(module)
    states = _random_states()
    y = torch.stack([call({k: w[i] for k, w in leaves.items()}, x[i]) for i in range(len(SEEDS))])
    _require(states == _random_states(), f"{name} draws random numbers.")
    _require(y.shape[2:] == expected, f"{name} should give {expected}; got {tuple(y.shape[2:])}.")
    _require(bool(y.isfinite().all()), f"{name} gives values that are not finite.")
    first = call({k: w[0] for k, w in leaves.items()}, x[0, :1])
    _close(first[0], y[0, 0], f"{name} of one row by itself", tolerance=1e-12)

    packed = {key: many.pack(key, w).detach().requires_grad_() for key, w in weights.items()}
    for key, w in weights.items():
        same = torch.equal(many.unpack(key, packed[key]), w)
        _require(same, f"{name}.{key} is not itself after being packed and unpacked.")
    other = many.run(packed, x)
    _close(other, y, f"{name} stacked", tolerance=1e-12)
    slopes = torch.autograd.grad(y.square().sum(), list(leaves.values()))
    others = torch.autograd.grad(other.square().sum(), [packed[key] for key in leaves])
    for key, slope, theirs in zip(leaves, slopes, others, strict=True):
        _close(many.unpack(key, theirs), slope, f"{name} stacked gradient of {key}")


def _caller(module: nn.Module) -> Callable[[State, Tensor], Tensor]:
    def call(weights: State, x: Tensor) -> Tensor:
        out: Tensor = functional_call(module, weights, (x,))
        return out

    return call


def _critics(name: str) -> bool:
    return name.startswith("critic.")


def _random_states() -> tuple[bytes, bytes]:
    """Where the global generators of PyTorch and NumPy stand."""
    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002 - only looked at
    return torch.get_rng_state().numpy().tobytes(), repr(state).encode()


def _close(a: Tensor, b: Tensor, name: str, *, tolerance: float = 1e-10) -> None:
    """Equal up to rounding, by the largest value; second differences of a plane are rounding."""
    if (a - b).abs().max().item() <= ROUNDING:
        return
    error = ((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item()
    _require(error <= tolerance, f"{name} is off by {error:.1e} relative to alone.")


def _require(ok: bool, message: str) -> None:
    if not ok:
        raise AssertionError(message)


def _name(thing: object) -> str:
    return type(thing).__name__
