"""CPU seconds of every score on one thread, and the boosters of DCI beside scikit-learn's.

    python bench/metrics.py [--boosters] [--codes 0] [--json FILE]

Ten codes of the 737,280 points of dSprites' grid, computed beforehand: five follow a factor each
with a little noise, five are nearly dead. Seconds are those of this process's CPU time, so that
whatever else the machine does does not count.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import sklearn
import torch

from unknot.core import registry
from unknot.core.errors import UnknotError
from unknot.core.factors import FactorSpace
from unknot.core.optim import Adam
from unknot.core.representation import Representation
from unknot.data.dsprites import DSprites
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.metrics import dci, evaluate, protocols_for
from unknot.metrics.dci import Settings
from unknot.metrics.parts import evaluation
from unknot.nets.conv64 import Conv64
from unknot.objectives.beta_vae import BetaVAE
from unknot.runs.metric_names import decodes

T = TypeVar("T")
TREES = 100
ROWS, TEST_ROWS = 10_000, 5_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--boosters", action="store_true", help="also scikit-learn's, 5 minutes")
    parser.add_argument(
        "--codes", type=int, default=0, help="boosters on so many codes, fewer rows"
    )
    parser.add_argument("--rows", type=int, default=2_000, help="of each of these codes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    space = DSprites().load().space
    print(f"torch {torch.__version__}, scikit-learn {sklearn.__version__}, one thread, CPU seconds")
    found: dict[str, object] = {"scores": scores(space), "of a decoder": decoder_scores()}
    if options.boosters:
        found["boosters"] = boosters(space)
    if options.codes:
        found["codes"] = many(options.codes, options.rows)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


def scores(space: FactorSpace) -> dict[str, dict[str, float]]:
    """Seconds of each score by protocol; the scores of posteriors get log-variances too."""
    codes = aligned(space.factors(torch.arange(space.size)), space, seed=0)
    whole = Representation.whole(space, codes)
    logvars = Representation.whole(space, torch.full_like(codes, -4.0))
    rows: dict[str, dict[str, float]] = {}
    for name in evaluation.code_metrics():
        for protocol in ("study2019", "unknot"):
            if protocol not in protocols_for(name):
                continue
            try:
                seconds, _ = spent(
                    partial(evaluate, whole, logvar=logvars, metrics=[name], protocol=protocol)
                )
            except UnknotError as error:
                print(f"{name} {protocol}: {error}")
                continue
            rows.setdefault(name, {})[protocol] = seconds
    print(f"\n{'score':22s} {'study2019':>10s} {'unknot':>10s}")
    for name, row in rows.items():
        cells = (f"{row[p]:10.2f}" if p in row else f"{'-':>10s}" for p in ("study2019", "unknot"))
        print(f"{name:22s} {' '.join(cells)}")
    for protocol in ("study2019", "unknot"):
        others = sum(row.get(protocol, 0) for name, row in rows.items() if name != "dci")
        print(f"all of {protocol} but dci: {others:.1f} s")
    return rows


def decoder_scores() -> dict[str, float]:
    """Seconds of each score that decodes, of an untrained conv64 and 1,000 images."""
    dataset = DSprites().load()
    context = Context(dataset, Conv64(), 64, runtime("cpu", "float32"))
    (model,) = Looped.fresh(context, [Member(0, BetaVAE(), Adam())]).models
    net = model.trained(context.runtime)
    images = dataset.batch(torch.arange(0, len(dataset), len(dataset) // 1_000)[:1_000])
    found = {}
    print("\nscores that decode, protocol unknot")
    for name in filter(decodes, registry.names("metrics")):
        score = registry.get("metrics", name)
        found[name], _ = spent(partial(score, net, images, likelihood="bernoulli"))
        print(f"{name:22s} {found[name]:10.2f}")
    return found


def boosters(space: FactorSpace) -> list[dict[str, float | str]]:
    """One code at full size under each booster."""
    index = torch.from_numpy(np.random.default_rng(0).integers(0, space.size, ROWS + TEST_ROWS))
    values = space.factors(index)
    return compare(aligned(values, space, seed=0), values, ROWS)


def many(count: int, rows: int) -> list[list[dict[str, float | str]]]:
    """Codes between aligned and mixed, on fewer rows of smaller factors."""
    space = FactorSpace(("a", "b", "c"), (3, 6, 10), ("ordered",) * 3)
    out = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        index = torch.from_numpy(rng.integers(0, space.size, rows + rows // 2))
        values = space.factors(index)
        mixing = torch.eye(6) + (seed / count) * torch.from_numpy(rng.normal(size=(6, 6))).float()
        out.append(compare(aligned(values, space, seed, latents=6) @ mixing, values, rows))
    return out


def compare(codes: torch.Tensor, values: torch.Tensor, rows: int) -> list[dict[str, float | str]]:
    """D, C and seconds of each booster; the first is the measure."""
    settings = {
        "scikit-learn": Settings("sklearn_boosting", trees=TREES),
        "study2019": protocols_for("dci")["study2019"],
        "study2019_fast": protocols_for("dci")["study2019_fast"],
    }
    train, test = (codes[:rows], values[:rows]), (codes[rows:], values[rows:])
    out: list[dict[str, float | str]] = []
    for name, protocol in settings.items():
        seconds, score = spent(partial(dci, *train, protocol=protocol, test=test))
        d, c = (score[f"dci.{part}"] for part in ("disentanglement", "completeness"))
        out.append({"booster": name, "seconds": seconds, "D": d, "C": c})
        times = out[0]["seconds"] / seconds
        print(f"{name:16s} {seconds:8.1f} s  x {times:5.1f}  D {d:.4f}  C {c:.4f}")
    return out


def aligned(values: torch.Tensor, space: FactorSpace, seed: int, latents: int = 10) -> torch.Tensor:
    """Factors of unit variance with noise of 0.1, and codes of noise 0.01."""
    sizes = torch.tensor(space.sizes)
    factors = (values - (sizes - 1) / 2) / ((sizes**2 - 1) / 12).sqrt()
    rng = np.random.default_rng(seed)
    codes = 0.01 * torch.from_numpy(rng.normal(size=(len(values), latents)).astype(np.float32))
    codes[:, : len(sizes)] = factors + 10 * codes[:, : len(sizes)]
    return codes


def spent(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of some work, and what it gives."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


if __name__ == "__main__":
    main()
