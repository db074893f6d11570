"""The backend that trains one member after the other, as ordinary PyTorch modules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unknot.core.hyper import Schedule, at
from unknot.core.objective import Adam, Adversarial, Net, Step, no_critic, total
from unknot.core.posterior import Posterior
from unknot.engine.device import Runtime
from unknot.engine.memory import hold_freed_memory
from unknot.engine.population import Context, Member, Rows, State, carried, log_of, recode


@dataclass(eq=False)
class Looped:
    """Members as separate models; nothing is shared but the dataset."""

    context: Context
    models: tuple["Model", ...]

    @classmethod
    def fresh(cls, context: Context, members: Sequence[Member]) -> "Looped":
        """Models with the initial weights of their seeds."""
        hold_freed_memory()
        rows = context.rows(members[0].objective)
        return cls(context, tuple(Model.fresh(context, member, rows) for member in members))

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
            logs = [model.advance(start, steps) for model in self.models]
        return {name: torch.stack([log[name] for log in logs]) for name in logs[0]}

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
            images = [m.net(runtime).decode(c) for m, c in zip(self.models, z, strict=True)]
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
    optimizers: Mapping[str, torch.optim.Adam]
    seed: Tensor
    order: Tensor
    rows: Rows

    @classmethod
    def fresh(cls, context: Context, member: Member, rows: Rows) -> "Model":
        """A model with the initial weights of its seed."""
        device, dtype = context.runtime.device, context.runtime.dtype
        parts = context.modules(member.objective)
        weights = context.weights(parts, torch.tensor([member.seed]))
        extra = context.extra_state(member.objective, torch.tensor(member.seed))
        modules = nn.ModuleDict(parts)
        modules.to_empty(device=device)
        # No overload of PyTorch's has both, though the call does.
        modules.to(dtype=dtype, memory_format=torch.channels_last)  # type: ignore[call-overload]
        for name, parameter in modules.named_parameters():
            parameter.data.copy_(weights[name][0])
        modules["extra"] = nn.ParameterDict(extra.learnt)
        trained = {"net": [module for name, module in modules.items() if name != "critic"]}
        if "critic" in modules:
            trained["critic"] = [modules["critic"]]
        optimizers = {name: _adam(trained[name], optim) for name, optim in member.optims.items()}
        order = member.seed if member.order_seed is None else member.order_seed
        return cls(
            context,
            member,
            modules,
            dict(extra.carried),
            optimizers,
            torch.tensor(member.seed, device=device),
            torch.tensor(order, device=device),
            rows,
        )

    def encode(self, x: Tensor) -> Posterior:
        """Posteriors of images."""
        net = self.net(self.context.runtime.exact)
        return recode(self.member.objective, net, net.encode(x))

    def advance(self, start: int, steps: int) -> dict[str, Tensor]:
        """Train for some steps; the loss and its terms at the last of them."""
        dataset, dtype = self.context.dataset, self.context.runtime.dtype
        ticks = torch.arange(start, start + steps, device=self.seed.device)
        for _, _, moments in self._moments():
            moments["step"].fill_(start)
        for t, index in zip(ticks, self.rows(self.order, ticks), strict=True):
            x = dataset.batch(index).to(dtype=dtype, memory_format=torch.channels_last)
            step = Step(x, self.seed, t, len(dataset))
            objective = at(self.member.objective, t, dtype)
            net = self.net(self.context.runtime)
            losses = {"net": objective.terms(net, step)}
            if isinstance(objective, Adversarial):
                losses["critic"] = objective.critic_terms(net, step)
            self.carried.update(carried(losses, self.carried))
            # All gradients are taken before any weight moves, and each only of its own weights.
            for name, terms in losses.items():
                optimizer = self.optimizers[name]
                weights = optimizer.param_groups[0]["params"]
                gradients = torch.autograd.grad(
                    total(terms), weights, retain_graph=len(losses) > 1, materialize_grads=True
                )
                for weight, gradient in zip(weights, gradients, strict=True):
                    weight.grad = gradient
            for name, optimizer in self.optimizers.items():
                lr = self.member.optims[name].lr
                optimizer.param_groups[0]["lr"] = float(
                    lr.at(t) if isinstance(lr, Schedule) else lr
                )
                optimizer.step()
        return log_of(losses)

    def state(self) -> State:
        """Weights and moments."""
        state = {}
        for name, parameter, moments in self._moments():
            state[name] = parameter.detach().cpu().clone()
            state[f"adam.m.{name}"] = moments["exp_avg"].cpu().clone()
            state[f"adam.v.{name}"] = moments["exp_avg_sq"].cpu().clone()
        return {**state, **{f"carried.{n}": v.cpu().clone() for n, v in self.carried.items()}}

    def load(self, state: State) -> None:
        """Continue from a state."""
        with torch.no_grad():
            for name, parameter, moments in self._moments():
                parameter.copy_(state[name])
                moments["exp_avg"].copy_(state[f"adam.m.{name}"])
                moments["exp_avg_sq"].copy_(state[f"adam.v.{name}"])
        for name, value in self.carried.items():
            self.carried[name] = state[f"carried.{name}"].to(value)

    def net(self, runtime: Runtime) -> Net:
        """The modules as an objective sees them: in the chosen precision, results in full."""

        def run(name: str, x: Tensor) -> Tensor:
            bf16 = runtime.compute is torch.bfloat16
            with torch.autocast(runtime.device.type, dtype=runtime.compute, enabled=bf16):
                y: Tensor = self.modules[name](x)
            return y.to(runtime.dtype)

        def encode(x: Tensor) -> Posterior:
            return Posterior(*run("encoder", x).chunk(2, dim=-1))

        def decode(z: Tensor) -> Tensor:
            return run("decoder", z)

        critic = (lambda z: run("critic", z)) if "critic" in self.modules else no_critic
        return Net(encode, decode, critic, {**dict(self.modules["extra"].items()), **self.carried})  # type: ignore[operator]

    def _moments(self) -> list[tuple[str, nn.Parameter, dict[str, Tensor]]]:
        states = [optimizer.state for optimizer in self.optimizers.values()]
        return [
            (name, parameter, next(state[parameter] for state in states if parameter in state))
            for name, parameter in self.modules.named_parameters()
        ]


def _adam(modules: Sequence[nn.Module], settings: Adam) -> torch.optim.Adam:
    """PyTorch's fused Adam with its moments in place from the start, so that a state is whole."""
    parameters = [p for module in modules for p in module.parameters()]
    optimizer = torch.optim.Adam(
        parameters,
        lr=1.0,  # set at each step
        betas=(settings.beta1, settings.beta2),
        eps=settings.eps,
        fused=True,
    )
    for p in parameters:
        optimizer.state[p] = {
            "step": torch.zeros((), device=p.device),
            "exp_avg": torch.zeros_like(p),
            "exp_avg_sq": torch.zeros_like(p),
        }
    return optimizer
