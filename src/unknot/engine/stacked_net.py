"""The networks of all members as an objective sees them: one set of stacked modules."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from unknot.core.objective import Net, no_critic
from unknot.core.posterior import Posterior
from unknot.engine.context import State
from unknot.engine.device import Runtime
from unknot.engine.modules import StackedModule, stack_module


@dataclass(frozen=True)
class StackedNet:
    """Stacked modules by part: encoder, decoder and, where there is one, critic."""

    parts: Mapping[str, StackedModule]

    @classmethod
    def from_modules(cls, modules: Mapping[str, nn.Module], *, kernels: bool) -> "StackedNet":
        """Of the modules of one member."""
        return cls({name: stack_module(m, kernels=kernels) for name, m in modules.items()})

    def has(self, name: str) -> bool:
        """Whether a weight is one of these modules, and not the objective's."""
        return name.partition(".")[0] in self.parts

    def pack(self, name: str, value: Tensor) -> Tensor:
        """A weight in PyTorch's layout to ours."""
        part, _, rest = name.partition(".")
        return self.parts[part].pack(rest, value) if part in self.parts else value

    def unpack(self, name: str, value: Tensor) -> Tensor:
        """A weight in our layout to PyTorch's."""
        part, _, rest = name.partition(".")
        return self.parts[part].unpack(rest, value) if part in self.parts else value

    def net(self, weights: State, carried: State, runtime: Runtime) -> Net:
        """The weights as an objective sees them: in the chosen precision, results in full."""
        dtype, compute = runtime.dtype, runtime.compute

        def weights_of(part: str) -> State:
            start = f"{part}."
            return {n.removeprefix(start): w for n, w in weights.items() if n.startswith(start)}

        def run(part: str, x: Tensor) -> Tensor:
            return self.parts[part].run(weights_of(part), x.to(compute)).to(dtype)

        def encode(x: Tensor) -> Posterior:
            return Posterior(*run("encoder", x).chunk(2, dim=-1))

        def decode(z: Tensor) -> Tensor:
            return run("decoder", z)

        def features(z: Tensor) -> tuple[Tensor, ...]:
            activations = self.parts["decoder"].features(weights_of("decoder"), z.to(compute))
            return tuple(a.to(dtype) for a in activations)

        critic = (lambda z: run("critic", z)) if "critic" in self.parts else no_critic
        return Net(encode, decode, critic, {**weights_of("extra"), **carried}, features)


def detach_net(net: Net) -> Net:
    """The networks but for the critic, as they are: nothing is learnt through them."""

    def encode(x: Tensor) -> Posterior:
        q = net.encode(x)
        return Posterior(q.mean.detach(), q.logvar.detach())

    def features(z: Tensor) -> tuple[Tensor, ...]:
        return tuple(a.detach() for a in net.features(z))

    extra = {name: value.detach() for name, value in net.extra.items()}
    return Net(encode, lambda z: net.decode(z).detach(), net.critic, extra, features)
