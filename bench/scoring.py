"""What the scores of a population cost, and what it gains to compute them in several processes.

    python bench/scoring.py [--data dsprites] [--latents 10] [--members 8] [--processes 2]

Linear nets are trained for a moment. All codes are computed beforehand and looked up when a score
asks for them, as if by a GPU: what is timed is the scores of codes, and handing codes to other
processes. CPU seconds do not count what else the machine does; times by the clock do, so that only
their ratio says something.
"""

import argparse
import json
import resource
import time
from collections import defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path

import sklearn
import torch

import unknot
from unknot.core.representation import CodeCache
from unknot.metrics.parts import evaluation
from unknot.runs import evaluate
from unknot.runs.evaluate import Model, ScoringRequest
from unknot.studies.execute.score_models import score_models

CORES, MEMBERS = 16, 64
"""Of the machine and the population that the last line speaks of."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default="dsprites")
    parser.add_argument("--latents", type=int, default=10)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--protocol", default="unknot")
    parser.add_argument("--without", nargs="*", default=[], help="scores to leave out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = [n for n in evaluation.code_metrics() if n not in options.without]
    wanted = ScoringRequest(names, options.protocol, strict=False)
    models = encoded(options, wanted)
    print(f"torch {torch.__version__}, scikit-learn {sklearn.__version__}")
    print(f"{options.data}, {options.latents} latents, {options.members} members, one thread each")

    alone, by_score = time.monotonic(), defaultdict(float)
    for model in models:
        began = time.process_time()
        for record in evaluate.compute(model, wanted):
            by_score[record.metric] += time.process_time() - began
            began = time.process_time()
    alone = time.monotonic() - alone

    before, beside = (spent(), lent()), time.monotonic()
    list(score_models(models, wanted, processes=options.processes))
    beside = time.monotonic() - beside
    here, there = spent() - before[0], lent() - before[1]

    each = {metric: seconds / len(models) for metric, seconds in by_score.items()}
    for metric, seconds in sorted(each.items(), key=lambda pair: -pair[1]):
        print(f"| {metric} | {seconds:.2f} |")
    total = sum(each.values())
    print(f"| all | {total:.2f} |")
    n = options.processes
    print(
        f"by the clock: {alone:.1f} s here, {beside:.1f} s in {n} processes, x {alone / beside:.2f}"
    )
    print(
        f"CPU s: {sum(by_score.values()):.1f} here; with {n} processes {there:.1f} in them "
        f"(starting included), {here:.1f} to serve them"
    )
    start = max(0.0, (there - sum(by_score.values())) / n)
    serve = here / len(models)
    least = max(start + total * MEMBERS / CORES, serve * MEMBERS)
    print(
        f"{MEMBERS} members on {CORES} such cores: {least:.0f} s, if the device encodes a member "
        f"in {total / CORES:.1f} s or less"
    )
    if options.json:
        found = {"scores": each, "clock": [alone, beside], "serve": here, "processes": there}
        options.json.write_text(json.dumps(found, indent=1))


def encoded(options: argparse.Namespace, wanted: ScoringRequest) -> list[Model]:
    """Trained models whose codes are there already."""
    run = unknot.train(
        *(options.data, "beta_vae", "linear"),
        net_settings={"latents": options.latents},
        steps=options.steps,
        lr=1e-3,
        seeds=list(range(options.members)),
        device="cpu",
    )
    q = run.posteriors(torch.arange(len(run.dataset)))
    tables = torch.cat([q.mean, q.logvar], dim=-1)
    rows = CodeCache(lambda index: tables[:, index], len(run.dataset))
    return [
        replace(model, encode=partial(rows, model=i))
        for i, model in enumerate(evaluate.models(run.training, wanted))
    ]


def spent() -> float:
    """CPU seconds of this process."""
    return time.process_time()


def lent() -> float:
    """CPU seconds of the processes that it started, those that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
