import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.errors import UnknotError
from unknot.core.factors import FactorSpace
from unknot.core.posterior import Posterior
from unknot.data.arrays import Arrays
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.nets.linear import Linear
from unknot.objectives.beta_vae import BetaVAE
from unknot.report.study import blocks as study_blocks
from unknot.report.style import STYLE
from unknot.runs.curves import Curves
from unknot.runs.run import Run
from unknot.runs.spec import Choice, TrainSpec
from unknot.runs.training import Training

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(autouse=True)
def few_pixels(monkeypatch):
    """Pages hold dozens of figures: coarse ones are drawn in a fifth of the time."""
    monkeypatch.setitem(STYLE, "savefig.dpi", 40)


@pytest.fixture(scope="session")
def browser():
    """Chromium; one for all tests, since a process can drive no second one beside it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as started:
        # The sandbox needs rights that containers do not give; pages are our own.
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """A figure that fails for a mistake of ours fails its test; people get the rest of the page."""
    monkeypatch.setattr(study_blocks, "TOLERATED", (UnknotError,))


SPACE = FactorSpace(("shade", "corner", "size"), (4, 3, 2), ("ordered", "nominal", "ordered"))


@dataclass(frozen=True)
class Known:
    """A population whose networks are given functions, the same for each finite member."""

    encoder: Callable[[Tensor], Posterior]
    decoder: Callable[[Tensor], Tensor]
    alive: tuple[bool, ...]

    pace = 10

    @property
    def members(self) -> int:
        return len(self.alive)

    def _members(self, one: Tensor) -> Tensor:
        return torch.stack([one if ok else torch.full_like(one, torch.nan) for ok in self.alive])

    def encode(self, x):
        q = self.encoder(x)
        return Posterior(self._members(q.mean), self._members(q.logvar))

    def decode(self, z):
        shown = [self.decoder(codes) for codes in z]
        return torch.stack(
            [
                y if ok else torch.full_like(y, torch.nan)
                for y, ok in zip(shown, self.alive, strict=True)
            ]
        )

    def advance(self, start, steps):
        raise AssertionError("a picture must not train")

    def state(self):
        return {}

    def load(self, state):
        raise AssertionError("a picture must not change a model")


def images(channels: int = 1) -> Tensor:
    """24 images of 4 x 6 pixels that all differ: a small block whose place and shade vary."""
    shown = torch.zeros(SPACE.size, channels, 4, 6, dtype=torch.uint8)
    for row, (shade, corner, size) in enumerate(SPACE.factors(torch.arange(SPACE.size)).tolist()):
        for c in range(channels):
            block = shown[row, c, corner : corner + size + 1, 2 * corner : 2 * corner + size + 1]
            block[:] = 60 + 60 * shade - 20 * c
    return shown


def pixel_codes(latents: int, variance: float = 0.04) -> Callable[[Tensor], Posterior]:
    """Codes are pixels of the image, more and more shrunk, so that each says less."""

    def encode(x):
        mean = x.flatten(1)[:, :latents] * torch.tensor([2.0 / (1 + i) for i in range(latents)])
        return Posterior(mean, torch.full_like(mean, variance).log())

    return encode


@pytest.fixture
def make_run():
    """Runs with known networks on a small grid; options say what is unusual about them."""

    def make(
        *,
        latents=3,
        encoder=None,
        decoder=None,
        seeds: int | tuple[int, ...] = 0,
        alive=None,
        channels=1,
        mean=(),
        std=(),
        curves=None,
        diverged=None,
        path: Path | None = None,
        likelihood="gaussian",
    ) -> Run:
        dataset = FactorDataset("blocks", SPACE, Bytes(images(channels)), mean, std)
        count = 1 if isinstance(seeds, int) else len(seeds)
        shape = dataset.shape
        population = Known(
            encoder or pixel_codes(latents),
            decoder or (lambda z: z.sum(-1)[:, None, None, None].expand(-1, *shape)),
            alive or (True,) * count,
        )
        net = Linear(latents=latents)
        spec = TrainSpec.create(
            Choice("arrays", Arrays("blocks.npz")),
            Choice("linear", net),
            Choice("beta_vae", BetaVAE(beta=2.0, likelihood=likelihood)),
            steps=300,
            seeds=seeds,
        )
        context = Context(dataset, net, spec.batch, runtime("cpu"))
        logged, lost = curves or Curves(), diverged or {}
        training = Training((spec,), context, population, logged, diverged=lost, step=spec.steps)
        return Run(training, path)

    return make


@pytest.fixture
def make_curves():
    """Curves from plain lists, a row per log step and a column per member."""

    def make(steps, **values) -> Curves:
        curves = Curves()
        for i, step in enumerate(steps):
            rows = {name.replace("__", "."): torch.tensor(v[i]) for name, v in values.items()}
            curves.append(step, rows)
        return curves

    return make
