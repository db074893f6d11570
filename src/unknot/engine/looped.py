"""The backend that trains one member after the other, as ordinary PyTorch modules."""

import copy
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from unknot.core.architecture import Premade
from unknot.core.hyper import at
from unknot.core.objective import Adversarial, Net, Step, Terms, no_critic, total
from unknot.core.posterior import Posterior
from unknot.engine.context import Context, Rows, State
from unknot.engine.device import Runtime
from unknot.engine.labels import Labels
from unknot.engine.memory import hold_freed_memory
from unknot.engine.population import Member, carried, log_of, loss_of, mean_logs, recode
from unknot.engine.transposed import sum_biases
from unknot.engine.updates import Mover, light_optimizer, moments_of, move_weights, weights_of
from unknot.nets.parts.features import layer_outputs
from unknot.nets.parts.given_modules import named_tensors, seeded

T = TypeVar("T")


@dataclass(eq=False)
class Looped:
    """Members as separate models; nothing is shared but the dataset."""

    context: Context
    models: tuple["Model", ...]
    frozen: set[int] = field(default_factory=set)

    @classmethod
    def fresh(cls, context: Context, members: Sequence[Member]) -> "Looped":
        """Models with the initial weights of their seeds."""
        hold_freed_memory()
        objective = members[0].objective
        rows, labels = context.rows(objective), context.labels(objective)
        return cls(context, tuple(Model.fresh(context, m, rows, labels) for m in members))

    @property
    def members(self) -> int:
        """How many they are."""
        return len(self.models)

    @property
    def pace(self) -> int:
        """Steps to take at a time; each of them is as many as there are members."""
        return max(1, 10 // self.members)

    def advance(self, start: int, steps: int) -> Mapping[str, Float[Tensor, " p"]]:
        """Train each member in turn for some steps."""
        with self.context.runtime.computing():
            logs = {
                i: model.advance(start, steps)
                for i, model in enumerate(self.models)
                if i not in self.frozen
            }
        first = next(iter(logs.values()))
        nothing = {name: torch.full_like(value, torch.nan) for name, value in first.items()}
        columns = [logs.get(i, nothing) for i in range(self.members)]
        return {name: torch.stack([column[name] for column in columns]) for name in first}

    @torch.no_grad()
    def validate(self, rows: Int[Tensor, "batches n"], t: int) -> Mapping[str, Float[Tensor, " p"]]:
        """The loss and its terms on the same rows for every member."""
        with self.context.runtime.exact.computing():
            logs = [model.validate(rows, t) for model in self.models]
        return {name: torch.stack([log[name] for log in logs]) for name in logs[0]}

    def freeze(self, members: Collection[int]) -> None:
        """Let these members stay as they are."""
        self.frozen |= {*members}

    @torch.no_grad()
    def encode(self, x: Float[Tensor, "n c h w"]) -> Posterior:
        """Posteriors of the same images for every member."""
        runtime = self.context.runtime.exact
        x = x.to(runtime.device, runtime.dtype, memory_format=torch.channels_last)
        with runtime.computing():
            posteriors = [model.encode(x) for model in self.models]
        return Posterior(
            torch.stack([q.mean for q in posteriors]), torch.stack([q.logvar for q in posteriors])
        )

    @torch.no_grad()
    def decode(self, z: Float[Tensor, "p n z"]) -> Float[Tensor, "p n c h w"]:
        """Logits or means for each member's own codes."""
        runtime = self.context.runtime.exact
        z = z.to(runtime.device, runtime.dtype)
        with runtime.computing():
            images = [m.trained(runtime).decode(c) for m, c in zip(self.models, z, strict=True)]
        return torch.stack(images)

    def state(self) -> State:
        """Weights and moments, stacked over members."""
        states = [model.state() for model in self.models]
        return {name: torch.stack([s[name] for s in states]) for name in states[0]}

    def load(self, state: State) -> None:
        """Give each member its slice of a state."""
        for i, model in enumerate(self.models):
            model.load({name: stacked[i] for name, stacked in state.items()})


@dataclass(eq=False)
class Model:
    """One member: its modules, its own tensors, optimisers and the noise it draws."""

    context: Context
    member: Member
    modules: nn.ModuleDict
    carried: dict[str, Tensor]
    optimizers: Mapping[str, Mover]
    seed: Tensor
    order: Tensor
    rows: Rows
    labels: Labels
    average: nn.ModuleDict | None = None
    """The modules with averaged weights, where an average is kept."""

    @classmethod
    def fresh(cls, context: Context, member: Member, rows: Rows, labels: Labels) -> "Model":
        """A model with the initial weights of its seed."""
        device, dtype = context.runtime.device, context.runtime.dtype
        parts = context.modules(member.objective)
        weights = context.weights(member.objective, parts, torch.tensor([member.seed]))
        extra = context.extra_state(member.objective, torch.tensor(member.seed))
        # As `to_empty` does, whose `empty_like` of a meta tensor imports an algebra system.
        modules = nn.ModuleDict(parts)._apply(lambda t: t.new_empty(t.shape, device=device))
        modules = modules.to(dtype)
        sum_biases(modules)
        for name, tensor in named_tensors(modules).items():
            layout = torch.channels_last if tensor.ndim == 4 else torch.contiguous_format
            tensor.data = tensor.data.contiguous(memory_format=layout).copy_(weights[name][0])
        modules["extra"] = nn.ParameterDict(extra.learnt)
        named = dict(modules.named_parameters())
        optimizers = {
            loss: light_optimizer({n: w for n, w in named.items() if loss_of(n) == loss}, settings)
            for loss, settings in member.optims.items()
        }
        order = member.seed if member.order_seed is None else member.order_seed
        return cls(
            context,
            member,
            modules,
            dict(extra.carried),
            optimizers,
            torch.tensor(member.seed, device=device),
            torch.tensor(order, device=context.rows_device),
            rows,
            labels,
            None if context.ema is None else copy.deepcopy(modules).requires_grad_(False),
        )

    def encode(self, x: Tensor) -> Posterior:
        """Posteriors of images."""
        net = self.trained(self.context.runtime.exact)
        return recode(self.member.objective, net, net.encode(x))

    def advance(self, start: int, steps: int) -> dict[str, Tensor]:
        """Train for some steps; the loss and its terms at the last of them."""
        dataset, dtype = self.context.dataset, self.context.runtime.dtype
        self.modules.train()
        ticks = torch.arange(start, start + steps, device=self.seed.device)
        for optimizer in self.optimizers.values():
            for moments in optimizer.state.values():
                moments["step"].fill_(start)
        rows = self.rows(self.order, ticks.to(self.order.device))
        for t, index in zip(ticks, rows, strict=True):
            x = dataset.at(index).to(dtype=dtype, memory_format=torch.channels_last)
            step = Step(x, self.seed, t, self.context.n_data, self.labels(index))
            losses = self._losses(self.net(self.context.runtime, self.modules, t), step)
            self.carried.update(carried(losses, self.carried))
            # All gradients are taken before any weight moves, and each only of its own weights.
            for name, terms in losses.items():
                weights = weights_of(self.optimizers[name])
                gradients = torch.autograd.grad(
                    total(terms), weights, retain_graph=len(losses) > 1, materialize_grads=True
                )
                for weight, gradient in zip(weights, gradients, strict=True):
                    weight.grad = gradient
            for name in self.optimizers:
                move_weights(self.optimizers[name], self.member.optims[name], t)
            self._keep_average(first=bool(t == 0))
        return log_of(losses)

    def _losses(self, net: Net, step: Step) -> dict[str, Terms]:
        objective = at(self.member.objective, step.t, step.x.dtype)
        losses = {"net": objective.terms(net, step)}
        if isinstance(objective, Adversarial):
            losses["critic"] = objective.critic_terms(net, step)
        return losses

    def validate(self, rows: Tensor, t: int) -> dict[str, Tensor]:
        """The loss and its terms on some batches of rows."""
        runtime, net = self.context.runtime, self.trained(self.context.runtime.exact)
        now = torch.tensor(t, device=self.seed.device)
        logs = []
        for i, index in enumerate(rows, start=1):
            x = self.context.dataset.at(index)
            x = x.to(dtype=runtime.dtype, memory_format=torch.channels_last)
            step = Step(x, self.seed ^ i, now, self.context.n_data, self.labels(index))
            logs.append(log_of(self._losses(net, step)))
        return mean_logs(logs)

    def _keep_average(self, *, first: bool) -> None:
        """Move the averaged weights towards the weights; they begin as those of the first step."""
        if self.average is None or self.context.ema is None:
            return
        share = 1.0 if first else 1 - self.context.ema
        pairs = zip(self.average.parameters(), self.modules.parameters(), strict=True)
        for average, weight in pairs:
            average.data.lerp_(weight.data, share)
        self._copy_buffers()

    def _copy_buffers(self) -> None:
        """Let the averaged modules have the buffers of the others: they are averages already."""
        if self.average is not None:
            pairs = zip(self.average.buffers(), self.modules.buffers(), strict=True)
            for average, buffer in pairs:
                average.copy_(buffer)

    def state(self) -> State:
        """Weights and moments."""
        tensors = {name: tensor.detach() for name, tensor in self._tensors().items()}
        carried = {f"carried.{name}": value for name, value in self.carried.items()}
        return {name: value.cpu().clone() for name, value in {**tensors, **carried}.items()}

    def load(self, state: State) -> None:
        """Continue from a state."""
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(state[name])
        self._copy_buffers()
        for name, value in self.carried.items():
            self.carried[name] = state[f"carried.{name}"].to(value)

    def trained(self, runtime: Runtime) -> Net:
        """The net whose codes and images are looked at: with averaged weights, where there are."""
        modules = self.modules if self.average is None else self.average
        modules.eval()
        return self.net(runtime, modules, torch.zeros_like(self.seed))

    def net(self, runtime: Runtime, modules: nn.ModuleDict, t: Tensor) -> Net:
        """The modules as an objective sees them: in the chosen precision, results in full.

        Modules that a user gave may draw at random: each call has numbers of its own, from the
        seed and the step.
        """
        calls = itertools.count() if isinstance(self.context.net, Premade) else None

        def computing(call: Callable[[Tensor], T], x: Tensor) -> T:
            bf16 = runtime.compute is torch.bfloat16
            chance = (
                nullcontext()
                if calls is None
                else seeded(self.seed, f"modules/{next(calls)}", t, runtime.device)
            )
            with chance, torch.autocast(runtime.device.type, dtype=runtime.compute, enabled=bf16):
                return call(x)

        def run(name: str, x: Tensor) -> Tensor:
            y: Tensor = computing(modules[name], x)
            return y.to(runtime.dtype)

        def encode(x: Tensor) -> Posterior:
            return Posterior(*run("encoder", x).chunk(2, dim=-1))

        def decode(z: Tensor) -> Tensor:
            return run("decoder", z)

        def features(z: Tensor) -> tuple[Tensor, ...]:
            activations = computing(partial(layer_outputs, modules["decoder"]), z)
            return tuple(a.to(runtime.dtype) for a in activations)

        critic = (lambda z: run("critic", z)) if "critic" in modules else no_critic
        extra = cast(nn.ParameterDict, modules["extra"])
        return Net(encode, decode, critic, {**dict(extra.items()), **self.carried}, features)

    def _tensors(self) -> dict[str, Tensor]:
        """Weights with what the optimisers keep of them, and averages, by their names in states."""
        tensors: dict[str, Tensor] = {}
        for name, weight in self.modules.named_parameters():
            tensors[name] = weight
            key = loss_of(name)
            for prefix, key_in_torch in moments_of(self.member.optims[key]).items():
                tensors[prefix + name] = self.optimizers[key].state[weight][key_in_torch]
        tensors |= dict(self.modules.named_buffers())
        averages = self.average.named_parameters() if self.average else ()
        return {**tensors, **{f"ema.{name}": average for name, average in averages}}
