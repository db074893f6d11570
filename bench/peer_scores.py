"""CPU seconds of the scores that disent has, computed by disent and by unknot.

    OMP_NUM_THREADS=1 PYTHONPATH=src python bench/peer_scores.py [--json FILE]

Both get the same encoder, one thread, and their own XYObject, whose images are the same. Settings
are those of Locatello et al. 2019: disent's defaults and our protocol `study2019`. Needs disent,
which is not among the dependencies.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import unknot
from unknot.nets.conv64 import Conv64

LATENTS = 10
PAIRS = {
    "dci": ["dci"],
    "factor_vae": ["factor_vae"],
    "mig": ["mig"],
    "sap": ["sap"],
    "unsupervised": ["gaussian_tc", "wasserstein_tc", "mutual_info_score"],
}
"""Metrics of disent, and ours of the same numbers."""


def encoder() -> Callable[[Tensor], Tensor]:
    """The means of an untrained network."""
    torch.manual_seed(0)
    module = Conv64(latents=LATENTS).encoder((3, 64, 64)).eval()

    def encode(x: Tensor) -> Tensor:
        with torch.no_grad():
            means: Tensor = module(x)[:, :LATENTS]
            return means

    return encode


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def theirs(encode: Callable[[Tensor], Tensor]) -> dict[str, float]:
    """Of each metric of disent."""
    from disent.dataset import DisentDataset
    from disent.dataset.data import XYObjectData
    from disent.dataset.sampling import SingleSampler
    from disent.dataset.transform import ToImgTensorF32
    from disent.registry import METRICS

    dataset = DisentDataset(XYObjectData(), sampler=SingleSampler(), transform=ToImgTensorF32())
    return {name: seconds(lambda name=name: METRICS[name](dataset, encode)) for name in PAIRS}


def ours(encode: Callable[[Tensor], Tensor]) -> dict[str, float]:
    """Of each alone, images encoded for it, and of all in one call."""

    def score(names: list[str]) -> float:
        return seconds(
            lambda: unknot.evaluate(encode, "xyobject", protocol="study2019", metrics=names)
        )

    score(["mig"])  # what is loaded and made once
    found = {name: score(names) for name, names in PAIRS.items()}
    return found | {"together": score([n for names in PAIRS.values() for n in names])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    encode = encoder()
    facts: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "disent": version("disent"),
        "torch": torch.__version__,
        "ours": ours(encode),
    }
    print(facts, flush=True)
    facts["theirs"] = theirs(encode)
    rows = [(n, facts["theirs"][n], facts["ours"][n]) for n in PAIRS]
    rows.append(("together", sum(facts["theirs"].values()), facts["ours"]["together"]))
    for name, disent, unknots in rows:
        print(f"{name:14s} {disent:9.1f} {unknots:8.2f} {disent / unknots:8.1f} x")
    if options.json:
        options.json.write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
