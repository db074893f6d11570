"""Rows of the GPU benchmark: what each trains or encodes, and how it is measured."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import roofline
import torch
import torch.nn.functional as F
from roofline import PRECISIONS

from unknot.core import registry
from unknot.core.dataset import FactorDataset
from unknot.core.objective import Adversarial, views_of
from unknot.core.optim import Adam
from unknot.engine import stacked as engine
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.encode import encode
from unknot.engine.population import Member
from unknot.nets.conv64 import Conv64

OBJECTIVES = ("beta_tcvae", "factor_vae", "annealed_vae", "dip_vae_ii", "l_vae")

Row = dict[str, object]


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    how: str
    """``plain``, ``kernels``, ``windows`` or ``encode``."""
    members: int
    precision: str
    objective: str = "beta_vae"
    net: str = "conv64"

    @property
    def name(self) -> str:
        return f"{self.how} {self.net} {self.objective} {self.precision} {self.members}"


def cases(sizes: tuple[int, ...] = (1, 8, 64, 128), precisions=PRECISIONS) -> list[Case]:
    """All rows, what matters most first."""
    low, many = precisions[0], max(m for m in sizes if m <= 64)
    first = [
        Case("plain", 1, "float32"),
        Case("kernels", many, low),
        Case("kernels", 1, low),
        Case("encode", many, "float32"),  # codes are, however models are trained
        *(Case("kernels", many, p) for p in precisions[1:]),
        *(Case("kernels", many, low, objective) for objective in OBJECTIVES),
        Case("kernels", many, low, net="locatello"),
        *(Case("kernels", m, low) for m in sizes),
        *(Case("windows", many, p) for p in precisions),
        *(Case("plain", 1, p) for p in precisions),
    ]
    rest = [Case(h, m, p) for h in ("kernels", "windows") for p in precisions for m in sizes]
    return list(dict.fromkeys([*first, *rest]))


@dataclass(frozen=True)
class Bench:
    """Where rows are measured, with what data and for how long."""

    device: torch.device
    dataset: FactorDataset
    batch: int
    seconds: float
    roof: dict[str, float]

    def population(self, case: Case) -> engine.Stacked:
        net = registry.get("nets", case.net)()
        context = Context(self.dataset, net, self.batch, runtime(str(self.device), case.precision))
        objective = registry.get("objectives", case.objective)()
        each = [Member(seed, objective, Adam(lr=1e-4)) for seed in range(case.members)]
        if case.how == "windows":  # for good: a row is a process of its own
            engine.ready = lambda _: False
        return engine.Stacked.fresh(context, each)

    def plain(self, precision: str) -> Callable[[int], None]:
        """What anyone would write first: one model, eager, PyTorch's Adam, data on the card."""
        net, shape, batch = Conv64(), self.dataset.shape, self.batch
        encoder, decoder = net.encoder(shape).to(self.device), net.decoder(shape).to(self.device)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-4)
        fast = precision != "float32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = fast

        def steps(n: int) -> None:
            for _ in range(n):
                rows = torch.randint(0, len(self.dataset), (batch,), device=self.device)
                x = self.dataset.batch(rows)
                optimizer.zero_grad()
                with torch.autocast(self.device.type, torch.bfloat16, precision == "bf16"):
                    mean, logvar = encoder(x).float().chunk(2, 1)
                    z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
                    y = decoder(z).float()
                recon = F.binary_cross_entropy_with_logits(y, x, reduction="sum") / batch
                kl = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum() / batch
                (recon + 4 * kl).backward()
                optimizer.step()

        return steps

    def warm(self, case: Case) -> Callable[[], Row]:
        """What measures a row, ready to run."""
        if case.how == "encode":
            models = self.population(case)
            encode(models, self.dataset, torch.arange(min(2048, len(self.dataset))))
            call = partial(self.encoding, models)
        else:
            if case.how == "plain":
                steps = self.plain(case.precision)
            else:
                steps = partial(self.population(case).advance, 0)
            steps(3)
            call = partial(self.training, steps, case)
        roofline.wait(self.device)
        return call

    def training(self, steps: Callable[[int], object], case: Case) -> Row:
        """Model-steps per second, and the operations and bytes in them."""
        n = 5
        for _ in range(2):  # the first round says how many steps the second may take
            began = time.perf_counter()
            steps(n)
            roofline.wait(self.device)
            rate = n / (time.perf_counter() - began)
            n = max(5, int(self.seconds * rate))
        objective = registry.get("objectives", case.objective)()
        if isinstance(objective, Adversarial):  # whose critic is not among the layers counted
            return {"model-steps/s": rate * case.members}
        net, batch = registry.get("nets", case.net)(), self.batch * views_of(objective)
        works = roofline.work(net, self.dataset.shape, batch, case.precision)
        flops = sum(w.flops for w in works)
        least = roofline.least_seconds(works, self.roof[case.precision], self.roof["bytes"])
        return {
            "model-steps/s": rate * case.members,
            "TFLOP/s": rate * case.members * flops / 1e12,
            "share of roofline": rate * case.members * least,
            "GFLOP a model-step": flops / 1e9,
            "MB a model-step": sum(w.bytes for w in works) / 1e6,
        }

    def encoding(self, models: engine.Stacked) -> Row:
        """All images for all members, as an evaluation asks for them."""
        began = time.perf_counter()
        q = encode(models, self.dataset, torch.arange(len(self.dataset)))
        seconds = time.perf_counter() - began
        return {"seconds": seconds, "images/s": q.mean.shape[0] * q.mean.shape[1] / seconds}
