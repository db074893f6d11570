"""The backend that trains all members in one pass, one tensor per weight."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.hyper import at, stack
from unknot.core.objective import Adversarial, Net, Objective, Step, total
from unknot.core.optim import Adam, AdamW, Optimizer
from unknot.core.posterior import Posterior
from unknot.engine.capture import Parts, fastest
from unknot.engine.context import Context, Rows, State
from unknot.engine.device import Runtime
from unknot.engine.feed import Feed
from unknot.engine.flat import Flat
from unknot.engine.kernels import ready
from unknot.engine.labels import Labels
from unknot.engine.population import Member, carried, log_of, loss_of, mean_logs, recode
from unknot.engine.stacked_net import StackedNet, detach_net
from unknot.engine.updates import decays, moments_of, update


@dataclass(eq=False)
class Stacked:
    """Members along the first axis of every weight; nothing in a step waits for the host."""

    context: Context
    objective: Objective
    optim: Mapping[str, Optimizer]
    modules: StackedNet
    weights: State
    used: State
    """What the networks multiply with: the weights, or copies in the precision of the products."""
    carried: State
    moments: State
    """What optimisers keep, by the prefix of `moments_of` and the name of the weight."""
    averages: State
    """Of the weights; empty where none are kept."""
    decayed: Mapping[str, bool]
    """Whether weight decay is for a weight."""
    flats: Mapping[str, Flat]
    """The buffers that weights and moments are views of, for optimisers that move them so."""
    seed: Tensor
    order: Tensor
    t: Tensor
    rows: Rows
    labels: Labels
    log: State = field(default_factory=dict)
    """Of the last step."""
    frozen: set[int] = field(default_factory=set)
    """Members that are put back as they were after each few steps: the step knows nothing of it."""
    replay: Callable[[], None] | None = None
    """The step, made when it is first taken."""
    feed: Feed | None = None
    """Where the step takes its batches from, if images are streamed."""

    @classmethod
    def fresh(cls, context: Context, members: Sequence[Member]) -> "Stacked":
        """Members with the initial weights of their seeds."""
        device, dtype = context.runtime.device, context.runtime.dtype
        seeds = torch.tensor([m.seed for m in members], device=device)
        orders = [m.seed if m.order_seed is None else m.order_seed for m in members]
        objective = stack([m.objective for m in members], device, dtype)
        parts = context.modules(objective)
        weights = context.weights(objective, parts, seeds)
        kernels = device.type == "cuda" and ready(device)
        modules = StackedNet.from_modules(parts, kernels=kernels)
        extra = context.extra_state(objective, seeds)
        weights |= {f"extra.{name}": value for name, value in extra.learnt.items()}
        packed = {name: modules.pack(name, w).to(device) for name, w in weights.items()}
        compute = context.runtime.compute
        used = {n: w.to(compute) if modules.has(n) else w for n, w in packed.items()}
        optims = [member.optims for member in members]
        moments = {
            f"{prefix}{name}": torch.zeros_like(weight)
            for name, weight in packed.items()
            for prefix in moments_of(optims[0][loss_of(name)])
        }
        decayed = {name: decays(name, w.ndim - 1) for name, w in weights.items()}
        flats = {}
        for key in [k for k, optim in optims[0].items() if isinstance(optim, Adam | AdamW)]:
            flat = flats[key] = Flat.from_weights(
                {n: w for n, w in packed.items() if loss_of(n) == key},
                used,
                decayed,
                kernel=kernels and dtype == torch.float32,
            )
            for state, views in zip((packed, used, moments), flat.views(), strict=True):
                state.update(views)
        return cls(
            context,
            objective,
            {name: stack([o[name] for o in optims], device, dtype) for name in optims[0]},
            modules,
            packed,
            {name: w.requires_grad_() for name, w in used.items()},
            {name: value.clone() for name, value in extra.carried.items()},
            moments,
            {} if context.ema is None else {n: w.detach().clone() for n, w in packed.items()},
            decayed,
            flats,
            seeds,
            torch.tensor(orders, device=context.rows_device),
            torch.zeros((), dtype=torch.int64, device=device),
            context.rows(objective),
            context.labels(objective),
        )

    @property
    def members(self) -> int:
        """How many they are."""
        return len(self.seed)

    @property
    def pace(self) -> int:
        """Steps to take at a time."""
        return 10

    def advance(self, start: int, steps: int) -> Mapping[str, Float[Tensor, " p"]]:
        """Train all members for some steps."""
        self.t.fill_(start)
        with self.context.runtime.computing():
            if self.replay is None:
                self.replay = self.prepare(graph=self.seed.device.type != "cpu")
            with self._holding():
                for step in range(start, start + steps):
                    if self.feed is not None:
                        self.feed.load(step)
                    self.replay()
        return {name: value.clone() for name, value in self.log.items()}

    @torch.no_grad()
    def validate(self, rows: Int[Tensor, "batches n"], t: int) -> Mapping[str, Float[Tensor, " p"]]:
        """The loss and its terms on the same rows for every member."""
        exact = self.context.runtime.exact
        now, logs = torch.tensor(t, device=self.seed.device), []
        with exact.computing():
            net = self._trained(exact)
            objective = at(self.objective, now, exact.dtype)
            for i, index in enumerate(rows, start=1):
                x = self._images(index)
                x = x.expand(self.members, *x.shape)
                step = Step(x, self.seed ^ i, now, self.context.n_data, self._told(index))
                losses = {"net": objective.terms(net, step)}
                if isinstance(objective, Adversarial):
                    losses["critic"] = objective.critic_terms(net, step)
                logs.append(log_of(losses))
        return mean_logs(logs)

    def freeze(self, members: Collection[int]) -> None:
        """Let these members stay as they are."""
        self.frozen |= {*members}

    @contextmanager
    def _holding(self) -> Iterator[None]:
        """Put frozen members back as they were; members do not mix, so others do not notice."""
        places = torch.tensor(sorted(self.frozen), device=self.seed.device)
        with _put_back(self._moving(), places) if self.frozen else nullcontext():
            yield

    def _moving(self) -> list[Tensor]:
        """All that a step changes, but for the number of steps."""
        sets = (self.weights, self.used, self.carried, self.moments, self.averages)
        return [tensor for state in sets for tensor in state.values()]

    @torch.no_grad()
    def encode(self, x: Float[Tensor, "n c h w"]) -> Posterior:
        """Posteriors of the same images for every member."""
        x = x.to(self.seed.device, self.context.runtime.dtype)
        with self.context.runtime.exact.computing():
            net = self._trained(self.context.runtime.exact)
            return recode(self.objective, net, net.encode(x.expand(len(self.seed), *x.shape)))

    @torch.no_grad()
    def decode(self, z: Float[Tensor, "p n z"]) -> Float[Tensor, "p n c h w"]:
        """Logits or means for each member's own codes."""
        exact = self.context.runtime.exact
        with exact.computing():
            return self._trained(exact).decode(z.to(self.seed.device))

    def state(self) -> State:
        """Weights and moments in PyTorch's layouts."""
        state = {
            key: self.modules.unpack(name, value.detach()).to("cpu", copy=True)
            for key, (name, value) in self._tensors().items()
        }
        return {**state, **{f"carried.{n}": v.cpu().clone() for n, v in self.carried.items()}}

    def load(self, state: State) -> None:
        """Continue from a state."""
        with torch.no_grad():
            for key, (name, value) in self._tensors().items():
                value.copy_(self.modules.pack(name, state[key].to(value.device)))
            for name, weight in self.weights.items():
                self.used[name].copy_(weight)
            for name, value in self.carried.items():
                value.copy_(state[f"carried.{name}"])

    def _tensors(self) -> dict[str, tuple[str, Tensor]]:
        """Each tensor of a state but those carried, and the name of the weight that it is for."""
        tensors = {name: (name, weight) for name, weight in self.weights.items()}
        for name in self.weights:
            for prefix in moments_of(self.optim[loss_of(name)]):
                tensors[prefix + name] = name, self.moments[prefix + name]
        return {**tensors, **{f"ema.{name}": (name, w) for name, w in self.averages.items()}}

    def _trained(self, runtime: Runtime) -> Net:
        """The net whose codes and images are looked at: with averaged weights, where there are."""
        return self.modules.net(self.averages or self.weights, self.carried, runtime)

    def _losses(
        self, weights: State, before: State, objective: Objective, step: Step
    ) -> tuple[Tensor, State, State]:
        """The sum of all losses; what to carry and to log.

        Gradients of members do not mix in it, nor do those of net and critic: each sees the other
        as it is, and so one pass back through the sum does for both.
        """
        net = self.modules.net(weights, before, self.context.runtime)
        if isinstance(objective, Adversarial):
            fixed = {n: w.detach() if loss_of(n) == "critic" else w for n, w in weights.items()}
            fooled = self.modules.net(fixed, before, self.context.runtime)
            losses = {
                "net": objective.terms(replace(net, critic=fooled.critic), step),
                "critic": objective.critic_terms(detach_net(net), step),
            }
        else:
            losses = {"net": objective.terms(net, step)}
        value = torch.stack([total(terms).sum() for terms in losses.values()]).sum()
        return value, carried(losses, before), log_of(losses)

    def _images(self, index: Tensor) -> Tensor:
        return self.context.dataset.at(index).to(self.context.runtime.dtype)

    def _told(self, index: Tensor) -> Tensor | None:
        """Factors of rows ``[n]`` or ``[p, n]``, where the objective is told any."""
        factors = self.labels(index)
        return None if factors is None else factors.expand(self.members, *factors.shape[-2:])

    def _train(self, parts: Parts) -> None:
        """One step, as a sequence of kernels that never waits for the host."""
        index = parts.rows(self.order, self.t)
        x = parts.images(index)
        objective = at(self.objective, self.t, x.dtype)
        step = Step(x, self.seed, self.t, self.context.n_data, parts.labels(index))
        value, carries, log = parts.losses(self.used, self.carried, objective, step)
        gradients = torch.autograd.grad(
            value,
            [*self.used.values()],
            materialize_grads=True,  # a weight that no loss uses stays where it is
        )
        for key, optim in self.optim.items():
            pairs = zip(self.weights, gradients, strict=True)
            mine = {name: gradient for name, gradient in pairs if loss_of(name) == key}
            settings = at(optim, self.t, torch.float64)
            flat = self.flats.get(key)
            if flat and isinstance(settings, Adam | AdamW):
                flat.update(mine, settings, self.t, parts.update)
                continue
            names, gradient = zip(*mine.items(), strict=True)
            weights, used = ([source[n] for n in names] for source in (self.weights, self.used))
            moments = [[self.moments[k + n] for k in moments_of(optim)] for n in names]
            decayed = [self.decayed[n] for n in names]
            parts.update(weights, moments, gradient, settings, self.t, decayed, used)
        self._keep_averages()
        for name, value in carries.items():
            self.carried[name].copy_(value)
        for name, value in log.items():
            self.log.setdefault(name, torch.empty_like(value)).copy_(value)
        self.t.add_(1)

    @torch.no_grad()
    def _keep_averages(self) -> None:
        """Move the averaged weights towards the weights; they begin as those of the first step."""
        if self.context.ema is None:
            return
        share = 1 - self.context.ema * (self.t > 0).double()
        for name, average in self.averages.items():
            average.lerp_(self.weights[name], share.to(average.dtype))

    def prepare(self, *, graph: bool) -> Callable[[], None]:
        """The step: plain, or compiled and captured as one CUDA graph."""
        parts = Parts(self.rows, self._images, self._told, self._losses, update)
        if not graph:
            return partial(self._train, parts)
        if self.context.dataset.streamed:
            self.feed = feed = Feed.of_rows(self.rows, self._images, self._told, self.order)
            parts = replace(
                parts, rows=lambda *_: feed.batch, images=lambda x: x, labels=lambda _: feed.told
            )
        # A warm-up takes whole steps and perhaps one that fails half-way.
        with _put_back([*self._moving(), self.t.unsqueeze(0)], slice(None)):
            return fastest(parts, self._train, self.order, self.t)


@contextmanager
def _put_back(tensors: Sequence[Tensor], places: Tensor | slice) -> Iterator[None]:
    """Undo what happens inside to these places of the first axes."""
    before = [tensor.detach()[places].clone() for tensor in tensors]
    yield
    with torch.no_grad():
        for tensor, value in zip(tensors, before, strict=True):
            tensor[places] = value
