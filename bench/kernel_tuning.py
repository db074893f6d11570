"""The search for the block sizes of kernels, a part of ``bench/kernels.py``."""

import contextlib
import functools
import math
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace

import torch
from kernel_cases import CASES, MEMBERS, Case, Clock, random, say, use
from torch import Tensor

from unknot.engine.kernels.configs import block, config, extent
from unknot.engine.kernels.shape import Config, Shape
from unknot.engine.kernels.tuned import CAPABILITY, TUNED


def grid(shape: Shape, item: int) -> list[Config]:
    """Ways to cut a kernel, for numbers of so many bytes."""
    n, k = extent(shape)
    found = []
    if shape.kernel == "weight_gradient_few":
        found = [
            Config(bm, block(n, 64), block(k, 128), warps, stages)
            for bm in (64, 128, 256)
            for warps in (2, 4, 8)
            for stages in (1, 2, 3)
        ]
    elif shape.kernel == "weight_gradient":
        found = [
            Config(bm, min(bn, block(n, 256)), min(bk, block(k, 256)), warps, stages)
            for bk, bn, warps in (
                (128, 128, 8), (128, 128, 4), (128, 64, 4), (64, 128, 4), (64, 64, 4),
                (256, 128, 8), (128, 256, 8),
            )
            for bm in (32, 64, 128)
            for stages in (1, 2, 3, 4)
        ]  # fmt: skip
    elif shape.kernel.startswith("joint"):
        found = [
            Config(bm, bn, block(k, 256), warps, stages)
            for bm in (64, 128, 256)
            for bn in dict.fromkeys((block(n, 32), block(n, 64), block(n, 128)))
            for warps in (4, 8)
            for stages in (1, 2, 3)
        ]
    else:
        widths = {block(n, 64), block(n, 128)}
        found = [
            Config(bm, bn, min(bk, block(k, 128)), warps, stages)
            for bm, warps in ((64, 4), (128, 4), (128, 8), (256, 8))
            for bn in widths
            for bk in (32, 64, 128)
            for stages in (1, 2, 3, 4)
        ]
    if item == 4:  # half as many numbers at a time
        depth = "bk" if shape.kernel in ("conv_down", "conv_up") else "bm"
        found = [replace(c, **{depth: max(16, getattr(c, depth) // 2)}) for c in found]
    held = [c for c in dict.fromkeys(found) if item * _shared(shape, c) < 200_000]
    if shape.kernel in ("conv_down", "conv_up"):
        # With one block of k there is nothing to load ahead.
        held = [c for c in held if c.bk < k or c.stages == 1]
    return held


def _shared(shape: Shape, c: Config) -> int:
    """Numbers in shared memory."""
    if shape.kernel.startswith(("weight_gradient", "joint")):
        return c.stages * c.bm * (c.bn + c.bk)
    return c.stages * c.bk * (c.bm + c.bn)


def inputs_of(case: Case, kernel: str, make=random) -> tuple:
    """What a kernel is called with in training."""
    big, small, weight = make(*case.big), make(*case.small), make(*case.weight)
    if kernel == "weight_gradient":
        return big, small, weight, case.size, case.phases
    if kernel == "joint":
        return big, small, weight, case.size, case.phases, True
    forward = (kernel == "conv_up") == case.phases
    image, other = (big, small) if kernel == "conv_down" else (small, big)
    bias = make(*case.bias) if forward else None
    mask = None if forward else other
    relu = forward and not (kernel == "conv_up" and case.cb <= 4)  # the last layer has none
    return image, weight, bias, mask, case.size, case.phases, relu


def numbers_of(case: Case, kernel: str) -> float:
    """What must be read and written at least."""
    if kernel == "joint":  # the input, its gradient, and that of the output
        sides = math.prod(case.big), math.prod(case.small)
        twice = sides[1] if case.phases else sides[0]
        return sum(sides) + twice + 2 * math.prod(case.weight)
    forward = kernel == "weight_gradient" or (kernel == "conv_up") == case.phases
    out = case.big if kernel == "conv_up" else case.small
    masks = 0 if forward else math.prod(out)
    return math.prod(case.big) + math.prod(case.small) + masks + math.prod(case.weight)


def compile_some(case: Case, kernel: str, precision: str, some: list[Config]) -> int:
    """In a worker: run each way once, which leaves it in Triton's cache on disk."""
    from unknot.engine.kernels import run

    dtype = use(precision)

    def empty(*shape: int) -> Tensor:
        return torch.zeros(shape, device="cuda", dtype=dtype)

    arguments, good = inputs_of(case, kernel, empty), 0
    for how in some:
        with contextlib.suppress(Exception):
            getattr(run, f"run_{kernel}")(*arguments, how=how)
            torch.cuda.synchronize()
            good += 1
    return good


def wanted(only: str) -> list[tuple[Case, str]]:
    """Kernels that training runs: the first layer's input has no gradient."""
    pairs = [
        (case, kernel)
        for case in CASES
        for kernel in ("conv_down", "conv_up", "weight_gradient", "joint")
        if not (case.name.startswith("conv1") and kernel in ("conv_up", "joint"))
        if kernel != "joint"
        or case.shape(kernel) in TUNED["bf16"]
        or (case.phases and case.cb <= 4)
    ]
    return [(c, k) for c, k in pairs if any(o in f"{c.name} {k}" for o in only.split(","))]


def tune(clock: Clock, only: str, precision: str, flush) -> dict[str, object]:
    from triton.testing import do_bench

    from unknot.engine.kernels import run

    dtype = use(precision)
    item = dtype.itemsize
    work = [(case, kernel, grid(case.shape(kernel), item)) for case, kernel in wanted(only)]
    say(f"{sum(len(g) for *_, g in work)} ways to cut {len(work)} kernels")
    context = multiprocessing.get_context("spawn")
    workers = max(1, min(12, (os.cpu_count() or 2) - 2))
    pool = ProcessPoolExecutor(workers, mp_context=context)
    jobs = {
        (case.name, kernel): [
            pool.submit(compile_some, case, kernel, precision, ways[i :: workers // 3 or 1])
            for i in range(workers // 3 or 1)
        ]
        for case, kernel, ways in work
    }
    make = functools.partial(random, dtype=dtype)
    rows: dict[str, object] = {}
    say(f"{'kernel':22s} {'us':>7s} {'GB/s':>6s} {'TFLOP/s':>8s} {'untuned':>8s}  ways, best first")
    try:
        for case, kernel, ways in work:
            name, shape = f"{case.name} {kernel}", case.shape(kernel)
            if clock.over():
                say("out of time")
                break
            for job in jobs[case.name, kernel]:
                with contextlib.suppress(Exception):
                    job.result(timeout=max(1.0, clock.end - time.perf_counter()))
            call, arguments = getattr(run, f"run_{kernel}"), inputs_of(case, kernel, make)

            def timed(how: Config, call=call, arguments=arguments) -> float:
                try:
                    us = do_bench(
                        lambda: call(*arguments, how=how), warmup=2, rep=8, return_mode="median"
                    )
                except Exception:
                    return math.inf
                return 1e3 * us

            default = config(replace(shape, height=-1), precision, CAPABILITY, 10**6, MEMBERS)
            untuned = timed(default)
            times = {default: untuned}
            times |= {how: timed(how) for how in ways if how != default and not clock.over()}
            best = sorted(times, key=lambda how: times[how])
            if kernel in ("weight_gradient", "joint"):
                more = [replace(h, programs=n) for h in best[:3] for n in (256, 512, 2048, 4096)]
                times |= {how: timed(how) for how in more}
                best = sorted(times, key=lambda how: times[how])
                more = [replace(h, ones=True) for h in best[:3]]
                times |= {how: timed(how) for how in more}
                best = sorted(times, key=lambda how: times[how])
            if not best or not math.isfinite(times[best[0]]):
                say(f"{name:22s} none ran")
                continue
            us = times[best[0]]
            TUNED[precision][shape] = best[0]
            flops = case.flops * (2 if kernel == "joint" else 1)
            rates = item * numbers_of(case, kernel) / us / 1e3, flops / us / 1e6
            three = "  ".join(f"{_short(h)}={times[h]:.0f}" for h in best[:4])
            failed = sum(not math.isfinite(t) for t in times.values())
            say(
                f"{name:22s} {us:7.0f} {rates[0]:6.0f} {rates[1]:8.1f} {untuned:8.0f}  {three}"
                f"  ({failed} failed)"
            )
            rows[name] = {
                "shape": asdict(shape),
                "best": asdict(best[0]),
                "us": us,
                "untuned us": untuned,
                "GB/s": rates[0],
                "TFLOP/s": rates[1],
                "all": [[_short(h), round(times[h], 1)] for h in best[:12]],
            }
            flush()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    say(f'"{precision}": {{')
    for shape, how in TUNED[precision].items():
        say(f"    {shape}: {how},")
    say("}")
    return rows


def _short(how: Config) -> str:
    more = "/ones" if how.ones else ""
    return f"{how.bm}/{how.bn}/{how.bk}/w{how.warps}/s{how.stages}/p{how.programs}{more}"
