"""What others would write: a beta-VAE in plain PyTorch, and the ways an expert makes it faster.

``plain`` is an eager loop with the data on the card. ``graph`` is the same step compiled, with the
draw of the batch and Adam captured as one CUDA graph. ``vmap`` trains many models in such a graph,
by `torch.func.vmap` over stacked weights. All of them draw noise and rows from PyTorch's generator.
"""

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unknot.core.dataset import FactorDataset
from unknot.nets.conv64 import Conv64

Steps = Callable[[int], None]
BETA = 4.0


@dataclass(frozen=True)
class Baseline:
    """Where a loop in plain PyTorch runs."""

    device: torch.device
    dataset: FactorDataset
    batch: int
    precision: str

    def steps(self, how: str, members: int = 1) -> Steps:
        """A call that takes so many steps, of one model or of all members."""
        matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        matmul.allow_tf32 = cudnn.allow_tf32 = self.precision != "float32"
        if how == "plain":
            return self._repeated(self._single(compiled=False))
        step = self._stacked(members) if how == "vmap" else self._single(compiled=True)
        return self._repeated(self._captured(step))

    def _repeated(self, step: Callable[[], None]) -> Steps:
        def steps(n: int) -> None:
            for _ in range(n):
                step()

        return steps

    def _modules(self) -> tuple[nn.Module, nn.Module]:
        net, shape = Conv64(), self.dataset.shape
        return net.encoder(shape).to(self.device), net.decoder(shape).to(self.device)

    def _adam(self, weights: list[Tensor]) -> torch.optim.Optimizer:
        gpu = self.device.type == "cuda"
        return torch.optim.Adam(weights, lr=1e-4, fused=gpu, capturable=gpu)

    def _compiled(self, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """Compiled on a GPU; a CPU only tries the lines."""
        if self.device.type != "cuda":
            return function
        return torch.compile(function, dynamic=False)

    def _batch(self, *members: int) -> tuple[Tensor, Tensor]:
        """Images and noise."""
        shape = (*members, self.batch)
        rows = torch.randint(0, len(self.dataset), shape, device=self.device)
        images = self.dataset.at(rows.flatten())  # `batch` looks at the rows, which waits
        noise = torch.randn(*shape, Conv64().latents, device=self.device)
        return images.reshape(*shape, *self.dataset.shape), noise

    def _single(self, *, compiled: bool) -> Callable[[], None]:
        encoder, decoder = self._modules()
        low = self.precision == "bf16"

        def loss(x: Tensor, noise: Tensor) -> Tensor:
            with torch.autocast(self.device.type, torch.bfloat16, low):
                mean, logvar = encoder(x).float().chunk(2, 1)
                y = decoder(mean + noise * (0.5 * logvar).exp()).float()
            return _loss(mean, logvar, y, x)

        call = self._compiled(loss) if compiled else loss
        weights = [*encoder.parameters(), *decoder.parameters()]
        optimizer = self._adam(weights) if compiled else torch.optim.Adam(weights, lr=1e-4)

        def step() -> None:
            optimizer.zero_grad()
            call(*self._batch()).backward()
            optimizer.step()

        return step

    def _stacked(self, members: int) -> Callable[[], None]:
        encoder, decoder = self._modules()
        named = {
            (part, name): torch.stack([weight.detach()] * members).requires_grad_()
            for part, module in (("encoder", encoder), ("decoder", decoder))
            for name, weight in module.named_parameters()
        }
        dtype = torch.bfloat16 if self.precision == "bf16" else torch.float32

        def one(weights: dict[tuple[str, str], Tensor], x: Tensor, noise: Tensor) -> Tensor:
            def run(part: str, module: nn.Module, data: Tensor) -> Tensor:
                mine = {n: w.to(dtype) for (p, n), w in weights.items() if p == part}
                out: Tensor = torch.func.functional_call(module, mine, (data.to(dtype),))
                return out.float()

            mean, logvar = run("encoder", encoder, x).chunk(2, 1)
            y = run("decoder", decoder, mean + noise * (0.5 * logvar).exp())
            return _loss(mean, logvar, y, x)

        def loss(weights: dict[tuple[str, str], Tensor], x: Tensor, noise: Tensor) -> Tensor:
            return torch.func.vmap(one)(weights, x, noise).sum()

        call, optimizer = self._compiled(loss), self._adam([*named.values()])

        def step() -> None:
            optimizer.zero_grad()
            call(named, *self._batch(members)).backward()
            optimizer.step()

        return step

    def _captured(self, step: Callable[[], None]) -> Callable[[], None]:
        """A step as one CUDA graph."""
        if self.device.type != "cuda":
            return step
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(4):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph.replay


def _loss(mean: Tensor, logvar: Tensor, y: Tensor, x: Tensor) -> Tensor:
    recon = F.binary_cross_entropy_with_logits(y, x, reduction="sum") / len(x)
    kl = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum() / len(x)
    return recon + BETA * kl


def side_by_side(make: Callable[[], Steps], count: int, seconds: float) -> Callable[[], float]:
    """Several processes with a loop each, warm; what counts the steps of all per second.

    Args:
        make: A loop, made in each process; it can be pickled.
        count: Processes.
        seconds: How long they count, all at the same time.
    """
    context = multiprocessing.get_context("spawn")
    pipes = []
    for _ in range(count):
        ours, theirs = context.Pipe()
        context.Process(target=_count, args=(make, seconds, theirs), daemon=False).start()
        theirs.close()
        pipes.append(ours)
    for pipe in pipes:
        pipe.recv()

    def rate() -> float:
        for pipe in pipes:
            pipe.send("go")
        return sum(pipe.recv() for pipe in pipes)

    return rate


def _count(make: Callable[[], Steps], seconds: float, pipe: Connection) -> None:
    steps = make()
    steps(3)
    _wait()
    pipe.send("ready")
    pipe.recv()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        steps(20)
        _wait()
        done += 20
    pipe.send(done / (time.perf_counter() - began))


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
