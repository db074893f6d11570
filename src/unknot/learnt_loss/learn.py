"""Learning a reconstruction loss under which images are as far apart as their factors.

```python
from unknot.data.xysquares import XYSquares
from unknot.learnt_loss.learn import LossSettings, learn_loss

learnt = learn_loss(XYSquares(), LossSettings(radius=31, steps=300))
print(learnt.before.factor_rank, learnt.after.factor_rank)
loss = learnt.save("kernel.safetensors")  # for BetaVAE(likelihood=loss)
```
"""

import json
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.border import check_type, check_whole, parse_json
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError, StoreError
from unknot.core.factors import FactorSpace
from unknot.core.hyper import at_least
from unknot.core.registry import nearest
from unknot.engine.checkpoint import Checkpoint, latest, save, write_tensors
from unknot.engine.device import runtime, threads
from unknot.learnt_loss.soft_rank import pearson, soft_rank
from unknot.losses.blur import check_reach, convolve
from unknot.losses.overlap import Overlap, read_kernel
from unknot.metrics.parts.columns import midranks
from unknot.metrics.parts.distances import RANDOM, correlations
from unknot.runs.lock import hold
from unknot.runs.spec import settings_table

Mode: TypeAlias = Literal["improve", "adversarial", "none"]
Map: TypeAlias = Callable[[Tensor], Tensor]
SIGNS: dict[Mode, float] = {"improve": -1.0, "adversarial": 1.0, "none": 0.0}
MOST_PAIRS = 10_000_000
"""Of a step."""
LOG_EVERY = 10
"""Steps between reports of progress."""
SAVE_EVERY = 100
"""Steps between checkpoints."""


@dataclass(frozen=True)
class LossSettings:
    """How a kernel is learnt.

    Args:
        radius: Of the kernel; its side is twice that and 1.
        steps: Steps of Adam.
        batch: Images of a step.
        pairs: Pairs of them whose distances are ranked.
        lr: Learning rate.
        mode: ``improve`` brings the order of distances nearer to that of factors, ``adversarial``
            drives it away, ``none`` leaves the regularisers alone at work.
        softness: Of the ranks, in ranks: values so close to each other count as nearly tied.
        symmetry: Weight of differences between the kernel and its mirror images.
        l2: Weight of the kernel's sum of squares.
        pixels: Whether the loss has its pixels' part beside the blurred one. Without, the kernel
            suits `unknot.learnt_loss.resave`.
        seed: Of the first kernel, the images and the pairs.
    """

    radius: int = 31
    steps: int = 1_000
    batch: int = 128
    pairs: int = 4096
    lr: float = 1e-3
    mode: Mode = "improve"
    softness: float = 1.0
    symmetry: float = 1.0
    l2: float = 1e-3
    pixels: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "radius", "steps")
        at_least(self, 2, "batch", "pairs")
        at_least(self, 0, "symmetry", "l2", "seed")
        check_whole("LossSettings.seed", self.seed, 0, 2**63 - 1)
        check_whole("LossSettings.pairs", self.pairs, 2, MOST_PAIRS)
        for name, value in (("lr", self.lr), ("softness", self.softness)):
            if not value > 0:
                raise ConfigError(f"LossSettings.{name} must be above 0; got {value}.")
        if self.mode not in (modes := get_args(Mode)):
            raise ConfigError(f"There is no mode '{self.mode}'{nearest(self.mode, [*modes])}")


@dataclass(frozen=True)
class Correlations:
    """How distances of images agree with those of factors, as in table 6.1 of Michlo 2022.

    Mean over factors of pairs along each, an image and itself among them; and of random pairs of
    different images.
    """

    factor_linear: float
    factor_rank: float
    random_linear: float
    random_rank: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_type(f"Correlations.{name}", value, float)


@dataclass(frozen=True)
class LearntLoss:
    """A kernel, how it was learnt, and how distances agree without and with it."""

    kernel: Float[Tensor, "k k"]
    settings: LossSettings
    data: dict[str, Any]
    before: Correlations
    after: Correlations

    def save(self, path: str | Path) -> Overlap:
        """Write the kernel, whole or not at all, and give the loss it makes."""
        facts = {
            "format": "unknot kernel",
            **{
                name: json.dumps(value if isinstance(value, dict) else asdict(value))
                for name, value in vars(self).items()
                if name != "kernel"
            },
        }
        write_tensors(Path(path), {"kernel": self.kernel}, facts)
        return Overlap.create(kernel="learnt", path=str(path))

    @classmethod
    def load(cls, path: str | Path) -> "LearntLoss":
        """What `save` wrote.

        Raises:
            DataError: The file is missing, holds no kernel, or does not say how it was learnt.
        """
        from safetensors import safe_open

        kernel, _ = read_kernel(str(path))
        with safe_open(path, "pt") as file:
            facts = file.metadata() or {}
        try:
            data, settings, before, after = (
                parse_json(facts[name]) for name in ("data", "settings", "before", "after")
            )
            correlations = Correlations(**before), Correlations(**after)
            return cls(kernel, LossSettings(**settings), dict(data), *correlations)
        except (KeyError, TypeError, ValueError, ConfigError) as error:
            raise DataError(f"'{path}' does not say how its kernel was learnt.") from error


def learn_loss(
    data: Any,
    settings: LossSettings,
    *,
    device: str = "auto",
    watch: Callable[[int, float], None] = lambda *_: None,
    checkpoints: Path | None = None,
) -> LearntLoss:
    r"""Learn a kernel $|w|$ by which distances of images have the order of those of factors.

    $$\mathcal L = - \tilde\rho\big(d(y, y'), \lVert x - x' \rVert^2
    + \lVert |w| * (x - x') \rVert^2\big) + \lambda_s S(|w|) + \lambda_2 \lVert w \rVert^2, \qquad
    d(y, y') = \sum_k \frac{|y_k - y'_k|}{f_k - 1}$$

    with $\tilde\rho$ Spearman's correlation with soft ranks of the distances of images, and $S$
    the mean difference between the kernel and its mirror images along both axes and the diagonal.
    No model takes part; what comes out is kept fixed when one is trained with it. A factor of one
    value has no part in $d$.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), section 6.1.
    Equation: 6.1 to 6.3.

    Differs: The paper's regulariser is not given; ours is close to the author's code. Distances are
    scaled to the spread of ranks before they are ranked: the author's strength of 0.01 for unscaled
    ones makes soft ranks proportional to distances, and the correlation Pearson's. Ranks of factor
    distances are exact, ties in the middle. Published settings are 28,800 steps of 512 images;
    fewer do on XYSquares.

    Args:
        data: The settings of a dataset, such as ``XYSquares()``.
        settings: How to learn.
        device: As in `unknot.train`.
        watch: Told the step and the soft rank correlation now and then.
        checkpoints: A folder for checkpoints. Learning resumes from the last one that is there, to
            the bit as without a pause.
    """
    dataset = data.load().to(runtime(device, "float32").device)
    check_learnable(dataset, settings)
    table = {"name": dataset.name, **settings_table(data)}
    who = {"settings": asdict(settings), "data": table, "images": dataset.signature()}
    alone: AbstractContextManager[None] = nullcontext()
    if checkpoints is not None:
        alone = hold(checkpoints, f"Another process learns a kernel in {checkpoints}.")
    with alone:
        kernel = _learn(dataset, settings, watch, checkpoints, json.loads(json.dumps(who)))

    def after(x: Tensor) -> Tensor:
        return _features(x, kernel, settings.pixels)

    seed = settings.seed
    before = agreement(dataset, lambda x: x, seed=seed)
    return LearntLoss(kernel.cpu(), settings, table, before, agreement(dataset, after, seed=seed))


def check_learnable(dataset: FactorDataset, settings: LossSettings) -> None:
    """Check that a dataset has a grid of factors, and images that the kernel does not outreach.

    Raises:
        UnknotError: It has not.
    """
    dataset.require_factors("Learnt losses")
    check_reach(settings.radius, dataset.shape[-2:])
    dataset.space.require_grid("Learnt losses")


def _learn(
    dataset: FactorDataset,
    s: LossSettings,
    watch: Callable[[int, float], None],
    checkpoints: Path | None,
    who: dict[str, Any],
) -> Float[Tensor, "k k"]:
    space = dataset.space.require_grid("Learnt losses")
    w = first_kernel(s).to(dataset.batch(torch.zeros(1, dtype=torch.int64))).requires_grad_()
    adam = torch.optim.Adam([w], lr=s.lr)
    begin, count = _resume(w, adam, checkpoints, who)
    with threads(count):
        for t in range(begin, s.steps):
            rank = _step(dataset, space, s, w, adam, t)
            if (t + 1) % LOG_EVERY == 0 or t + 1 == s.steps:
                watch(t + 1, rank.item())
            if checkpoints is not None and (t + 1) % SAVE_EVERY == 0:
                state = {"kernel": w.detach(), **adam.state[w]}
                facts = {**who, "threads": torch.get_num_threads()}
                save(checkpoints, Checkpoint(t + 1, state, facts))
    return w.detach().abs()


def _resume(
    w: Tensor, adam: torch.optim.Adam, checkpoints: Path | None, who: dict[str, Any]
) -> tuple[int, int | None]:
    """Set kernel and optimiser to the last checkpoint; its step, and the threads it computes with.

    Another number of threads would add in another order.
    """
    saved = latest(checkpoints) if checkpoints is not None else None
    if saved is None:
        return 0, None
    if any(saved.facts.get(name) != fact for name, fact in who.items()):
        raise StoreError(
            f"The checkpoints in {checkpoints} are of other settings or data; remove the folder, "
            "or choose another name."
        )
    with torch.no_grad():
        w.copy_(saved.tensors.pop("kernel"))
    adam.state[w] = {k: t if k == "step" else t.to(w) for k, t in saved.tensors.items()}
    return saved.step, saved.facts["threads"]


def _step(
    dataset: FactorDataset,
    space: FactorSpace,
    s: LossSettings,
    w: Tensor,
    adam: torch.optim.Adam,
    t: int,
) -> Float[Tensor, ""]:
    """One step of Adam; the soft rank correlation before it."""
    rows = noise.integers(s.seed, "loss/order", t, s.batch, high=len(dataset))
    first = noise.integers(s.seed, "loss/first", t, s.pairs, high=s.batch)
    onward = noise.integers(s.seed, "loss/second", t, s.pairs, high=s.batch - 1)
    second = (first + 1 + onward) % s.batch
    truth = factor_distances(space, rows[first], rows[second]).double()
    x = dataset.batch(rows.to(w.device))
    seen = pair_distances(_features(x, w.abs(), s.pixels), first, second).double()
    ranks = soft_rank(_spread(seen), s.softness)
    rank = pearson(ranks, midranks(truth.unsqueeze(-1)).squeeze(-1).to(w.device))
    loss = SIGNS[s.mode] * rank
    loss = loss + s.symmetry * asymmetry(w.abs()) + s.l2 * w.square().sum()
    adam.zero_grad()
    loss.backward()
    adam.step()
    return rank.detach()


def first_kernel(settings: LossSettings) -> Float[Tensor, "k k"]:
    """Nearly a box blur: weights differ by a thousandth and sum to 1."""
    side = 2 * settings.radius + 1
    kernel = 1 + 1e-3 * noise.normal(settings.seed, "loss/kernel", 0, side, side)
    return kernel / kernel.sum()


def asymmetry(kernel: Float[Tensor, "k k"]) -> Float[Tensor, ""]:
    """Mean absolute difference from each of the mirror images, summed over these.

    Example:
        >>> asymmetry(torch.ones(3, 3)).item(), asymmetry(torch.eye(3)).item()
        (0.0, 0.888...)
    """
    mirrored = (kernel.flip(0), kernel.flip(1), kernel.mT)
    return torch.stack([(kernel - other).abs().mean() for other in mirrored]).sum()


def factor_distances(
    space: FactorSpace, first: Int[Tensor, " p"], second: Int[Tensor, " p"]
) -> Int[Tensor, " p"]:
    r"""The sum over factors of $|\Delta y_k| / (f_k - 1)$, times what makes all of it whole.

    In whole numbers equal distances are equal; sums of fractions would part them by rounding.

    Example:
        >>> space = FactorSpace(("a", "one", "b"), (4, 1, 3), ("ordered",) * 3)
        >>> factor_distances(space, torch.tensor([0, 0]), torch.tensor([11, 3])).tolist()
        [12, 2]
    """
    spans = [size - 1 for size in space.sizes]
    common = math.lcm(*(span for span in spans if span))
    weights = torch.tensor([common // span if span else 0 for span in spans])
    return ((space.factors(first) - space.factors(second)).abs() * weights).sum(-1)


def pair_distances(
    x: Float[Tensor, "n ..."], first: Int[Tensor, " p"], second: Int[Tensor, " p"]
) -> Float[Tensor, " p"]:
    """Squared distances of pairs of rows, from inner products: there are fewer rows than pairs."""
    x = x.flatten(1)
    x = x - x.mean(0)  # what all have in common would only cost digits
    products = x @ x.mT
    squares = products.diagonal()
    return squares[first] + squares[second] - 2 * products[first, second]


def _features(x: Tensor, kernel: Tensor, pixels: bool) -> Float[Tensor, "n channels h w"]:
    """Images whose squared distances are the loss."""
    blurred = convolve(x, kernel)
    return torch.cat([x, blurred], dim=1) if pixels else blurred


def _spread(values: Float[Tensor, " p"]) -> Float[Tensor, " p"]:
    """Values with the standard deviation of their ranks; 0 where all are equal.

    Equal distances have no order to learn, and their deviation no slope: a step moves nothing then.
    """
    if bool((values == values[0]).all()):
        return values * 0
    deviation = values.std(correction=0).clamp_min(torch.finfo(values.dtype).tiny)
    return (values - values.mean()) / deviation * (len(values) / math.sqrt(12))


def agreement(
    dataset: FactorDataset, features: Map, *, traversals: int = 32, pairs: int = 4096, seed: int = 0
) -> Correlations:
    """Correlations of a dataset's squared distances after a map of its images.

    Args:
        dataset: The images and their factors.
        features: What distances are taken of.
        traversals: Of each factor.
        pairs: Random ones.
        seed: Of both.
    """
    with torch.no_grad():
        by_factor = correlations(
            lambda index: features(dataset.batch(index)),
            dataset.space.require_grid("Learnt losses"),
            traversals=traversals,
            pairs=pairs,
            seed=seed,
        )
    random = by_factor.pop(RANDOM)
    linear, rank = (
        sum(getattr(scores, kind) for scores in by_factor.values()) / len(by_factor)
        for kind in ("linear", "rank")
    )
    return Correlations(linear, rank, random.linear, random.rank)
