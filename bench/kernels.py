"""The Triton kernels on a GPU: tuned, and profiled inside a whole training step.

PYTHONPATH=src python bench/kernels.py [--parts tune,after,before,layers] [--seconds 240]
    [--json FILE] [--only WORD]

``tune`` times each kernel for a grid of block sizes; the best become the contents of
``engine/kernels/tuned.py``, and are used by what runs after it. ``after`` and ``before`` profile a
captured step of 64 members with and without the kernels. ``layers`` times each layer forward and
backward, both ways. Whether kernels are right is for ``pytest -m gpu tests/engine``, which compares
each layer with float64 at its full size.
"""

import argparse
import functools
import json
import math
import sys
import time
import traceback
from pathlib import Path

import torch
import torch.nn.functional as F
from kernel_cases import BATCH, CASES, MEMBERS, Clock, random, say, use
from kernel_tuning import tune
from populations import bits

from unknot.core.optim import Adam
from unknot.engine import stacked as engine
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.population import Member
from unknot.nets.conv64 import Conv64
from unknot.objectives.beta_vae import BetaVAE

GFLOP = 6.18  # one conv64 step of 64 images, forward and backward; `work` in bench/gpu.py


def step(name: str, precision: str, kernels: bool, top: int, channels: int) -> dict[str, object]:
    """Time and profile a captured step; the kernels that take longest."""
    ready = engine.ready
    engine.ready = ready if kernels else lambda _: False
    try:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        context = Context(
            bits(16_384, channels).to(torch.device("cuda")),
            Conv64(),
            BATCH,
            runtime("cuda", precision),
        )
        each = [Member(seed, BetaVAE(beta=4.0), Adam(lr=1e-4)) for seed in range(MEMBERS)]
        models = engine.Stacked.fresh(context, each)
        began = time.perf_counter()
        models.advance(0, 3)
        torch.cuda.synchronize()
        warm = time.perf_counter() - began
        times = []
        for _ in range(3):
            began = time.perf_counter()
            loss = models.advance(0, 40)["loss"]
            torch.cuda.synchronize()
            times.append((time.perf_counter() - began) / 40)
        ms, rate = 1e3 * min(times), MEMBERS / min(times)
        memory = torch.cuda.max_memory_allocated() / 2**30
        say(
            f"\n{name} {precision}: {ms:.2f} ms a step, {rate:,.0f} model-steps/s, "
            f"{rate * GFLOP / 1e3:.0f} TFLOP/s, {memory:.1f} GB, warm-up {warm:.0f} s, "
            f"mean loss {loss.mean():.2f}"
        )
        row: dict[str, object] = {"ms": ms, "rate": rate, "GB": memory, "warm-up": warm}
        row["top"] = profiled(models, top)
        return row
    finally:
        engine.ready = ready


def profiled(models: engine.Stacked, top: int) -> list[tuple[str, float, float]]:
    steps = 5
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        models.advance(0, steps)
        torch.cuda.synchronize()
    rows = []
    for event in profile.key_averages():
        us = getattr(event, "self_device_time_total", 0.0)
        if us > 0 and str(getattr(event, "device_type", "")).endswith("CUDA"):
            rows.append((event.key, us / steps, event.count / steps))
    rows.sort(key=lambda row: -row[1])
    total = sum(us for _, us, _ in rows)
    say(f"kernels: {total / 1e3:.2f} ms a step in {sum(n for *_, n in rows):.0f} launches")
    for key, us, count in rows[:top]:
        say(f"{us:8.0f} us {100 * us / total:5.1f} % {count:5.1f} x  {key[:120]}")
    return rows


def layers(clock: Clock) -> dict[str, object]:
    """Forward and backward of a layer and its ReLU: kernels against compiled im2col."""
    from triton.testing import do_bench

    from unknot.engine.kernels import ops

    rows: dict[str, object] = {}
    say(f"\n{'forward + backward, us':22s} {'kernels':>8s} {'im2col':>8s}")
    for precision in ("bf16", "tf32", "float32"):
        dtype = use(precision)
        for case in CASES[:10]:
            if clock.over():
                return rows
            needs = not case.name.startswith("conv1")
            x = random(*(case.small if case.phases else case.big), dtype=dtype).relu_()
            weight = (random(*case.weight, dtype=dtype) / case.weight[1] ** 0.5).requires_grad_()
            bias = random(*case.bias, dtype=dtype).requires_grad_()
            gradient = random(*(case.big if case.phases else case.small), dtype=dtype)
            op = ops.conv_up if case.phases else ops.conv_down
            x.requires_grad_(needs)
            wanted = [x, weight, bias] if needs else [weight, bias]

            def ours(x=x, weight=weight, bias=bias, gradient=gradient, op=op, case=case, w=wanted):
                y = op(x, weight, bias, None, case.size, case.phases, True, True)
                return torch.autograd.grad(y, w, gradient)

            def im2col(x, weight, bias, case=case):
                return F.relu(case.layer(x, weight, bias))

            compiled = torch.compile(im2col, dynamic=False)

            def theirs(x=x, weight=weight, bias=bias, g=gradient, w=wanted, f=compiled):
                return torch.autograd.grad(f(x, weight, bias), w, g)

            times = []
            for call in (ours, theirs):
                try:
                    times.append(1e3 * do_bench(call, warmup=5, rep=20, return_mode="median"))
                except Exception:
                    say(traceback.format_exc(limit=-1))
                    times.append(math.inf)
            say(f"{precision + ' ' + case.name:22s} {times[0]:8.0f} {times[1]:8.0f}")
            rows[f"{precision} {case.name}"] = times
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="tune,after,before,layers")
    parser.add_argument("--seconds", type=float, default=240.0, help="the most for tuning")
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--only", default="", help="tune what holds one of these: conv2,deconv4 joint"
    )
    parser.add_argument(
        "--precisions", default="bf16", help="to tune, and of steps: bf16,tf32,float32"
    )
    parser.add_argument("--channels", type=int, default=1, help="of the images of a step")
    parser.add_argument("--top", type=int, default=40)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("This benchmark needs a CUDA device.")
    facts: dict[str, object] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "members": MEMBERS,
        "batch": BATCH,
    }
    say(f"{facts['device']}, torch {torch.__version__}, {MEMBERS} members, batch {BATCH}")

    def flush() -> None:
        if options.json:
            options.json.write_text(json.dumps(facts, indent=1, default=str))

    def part(name: str, work) -> None:
        began = time.perf_counter()
        try:
            facts[name] = work()
        except Exception:
            facts[name] = traceback.format_exc()
            say(name, "FAILED", facts[name])
        say(f"[{name}: {time.perf_counter() - began:.0f} s]")
        flush()

    for name in options.parts.split(","):
        if name == "tune":
            for p in options.precisions.split(","):
                tuning = functools.partial(tune, Clock(options.seconds), options.only, p, flush)
                part(f"{name} {p}", tuning)
        elif name in ("after", "before"):
            for p in options.precisions.split(","):
                part(
                    f"{name} {p}",
                    lambda name=name, p=p: step(
                        name, p, name == "after", options.top, options.channels
                    ),
                )
        elif name == "layers":
            part(name, lambda: layers(Clock(90)))
        else:
            sys.exit(f"Parts are tune, after, before and layers; got '{name}'.")


if __name__ == "__main__":
    main()
