"""The Triton kernels on a GPU: checked, tuned, and profiled inside a whole training step.

PYTHONPATH=src python bench/kernels.py [--parts check,tune,after,before,layers] [--seconds 240]
    [--json FILE] [--only WORD]

``check`` compares each layer and its gradients with float64 at full size. ``tune`` times each
kernel for a grid of block sizes; the best become the contents of ``engine/kernels/tuned.py``, and
are used by what runs after it. ``after`` and ``before`` profile a captured step of 64 members with
and without the kernels. ``layers`` times each layer forward and backward, both ways.
"""

import argparse
import contextlib
import functools
import json
import math
import multiprocessing
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from populations import bits
from torch import Tensor

from unknot.core.optim import Adam
from unknot.engine import stacked as engine
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.kernels.configs import block, config, extent
from unknot.engine.kernels.shape import Config, Shape
from unknot.engine.kernels.tuned import CAPABILITY, TUNED
from unknot.engine.layers import Conv, ConvTranspose
from unknot.engine.population import Member
from unknot.nets.conv64 import Conv64
from unknot.objectives.beta_vae import BetaVAE

MEMBERS, BATCH = 64, 64
GFLOP = 6.18  # one conv64 step of 64 images, forward and backward; `work` in bench/gpu.py


@dataclass(frozen=True)
class Case:
    """A layer: sizes of its small image, channels of big and small, kernel, transposed or not."""

    name: str
    height: int
    cb: int
    cs: int
    size: int
    phases: bool

    @property
    def big(self) -> tuple[int, ...]:
        return MEMBERS, BATCH, 2 * self.height, 2 * self.height, self.cb

    @property
    def small(self) -> tuple[int, ...]:
        return MEMBERS, BATCH, self.height, self.height, self.cs

    @property
    def weight(self) -> tuple[int, ...]:
        if self.phases:
            return MEMBERS, 4 * self.cs, 4 * self.cb
        return MEMBERS, self.size**2 * self.cb, self.cs

    @property
    def bias(self) -> tuple[int, ...]:
        return MEMBERS, self.cb if self.phases else self.cs

    @property
    def flops(self) -> float:
        return 2 * math.prod(self.small) * self.size**2 * self.cb

    @property
    def layer(self) -> Conv | ConvTranspose:
        if self.phases:
            return ConvTranspose(self.cs)
        return Conv(self.size, 2, self.size // 2 - 1, self.cb)

    def shape(self, kernel: str) -> Shape:
        if kernel == "joint":
            kernel = "joint_up" if self.phases else "joint_down"
        if kernel == "weight_gradient" and self.cb <= 4:
            kernel = "weight_gradient_few"
        return Shape(kernel, self.height, self.cb, self.cs, self.size, self.phases)


CASES = (
    Case("conv1", 32, 1, 32, 4, False),
    Case("conv2", 16, 32, 32, 4, False),
    Case("conv3", 8, 32, 64, 4, False),
    Case("conv4", 4, 64, 64, 4, False),
    Case("deconv1", 4, 64, 64, 4, True),
    Case("deconv2", 8, 32, 64, 4, True),
    Case("deconv3", 16, 32, 32, 4, True),
    Case("deconv4", 32, 1, 32, 4, True),
    Case("conv1rgb", 32, 3, 32, 4, False),
    Case("deconv4rgb", 32, 3, 32, 4, True),
    Case("locatello3", 8, 32, 64, 2, False),
    Case("locatello4", 4, 64, 64, 2, False),
)


def random(*shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def use(precision: str) -> torch.dtype:
    """The type of images in a precision, in which products are computed from now on."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    return torch.bfloat16 if precision == "bf16" else torch.float32


def say(*words: object) -> None:
    print(*words, flush=True)


class Clock:
    """What is left of the seconds that a part may take."""

    def __init__(self, seconds: float) -> None:
        self.end = time.perf_counter() + seconds

    def over(self) -> bool:
        return time.perf_counter() > self.end


# ---- check


def relative(found: Tensor, expected: Tensor) -> float:
    return ((found.double() - expected).norm() / expected.norm()).item()


def check(clock: Clock) -> dict[str, object]:
    """Each layer, its ReLU and its gradients against float64, for three members of 64."""
    from unknot.engine.kernels import ops

    rows: dict[str, object] = {}
    say(f"{'relative errors':22s} {'output':>9s} {'input':>9s} {'weight':>9s} {'bias':>9s}  again")
    for precision, bound in (("bf16", 1e-2), ("tf32", 2e-3), ("float32", 2e-6)):
        dtype = use(precision)
        for case in CASES:
            name = f"{precision} {case.name}"
            if clock.over():
                return rows
            try:
                errors, same = check_one(ops, case, dtype)
            except Exception:
                say(name, "FAILED", traceback.format_exc(limit=-2))
                rows[name] = "failed"
                continue
            good = all(e < bound for e in errors) and same
            numbers = " ".join(f"{e:9.1e}" for e in errors)
            say(f"{name:22s} {numbers}  {'equal' if same else 'DIFFERS'}", "" if good else " WRONG")
            rows[name] = [*errors, same, good]
    return rows


def check_one(ops, case: Case, dtype: torch.dtype) -> tuple[list[float], bool]:
    x = random(*(case.small if case.phases else case.big), dtype=dtype).relu_()
    weight = (random(*case.weight, dtype=dtype) / case.weight[1] ** 0.5).requires_grad_()
    bias = random(*case.bias, dtype=dtype).requires_grad_()
    gradient = random(*(case.big if case.phases else case.small), dtype=dtype)
    op = ops.conv_up if case.phases else ops.conv_down
    x.requires_grad_()

    def once():
        poison = torch.full(gradient.shape, math.nan, device="cuda", dtype=dtype)
        del poison  # the output takes its place
        y = op(x, weight, bias, None, case.size, case.phases, False, True)
        poison = torch.full(x.shape, math.nan, device="cuda", dtype=dtype)
        del poison
        return [y.detach(), *torch.autograd.grad(y, [x, weight, bias], gradient)]

    found, again = once(), once()
    same = all(torch.equal(a, b) for a, b in zip(found, again, strict=True))
    errors = [0.0] * 4
    for i in (0, 17, MEMBERS - 1):
        inputs = [t[i].detach().double().requires_grad_() for t in (x, weight, bias)]
        image = inputs[0].permute(0, 3, 1, 2)
        taps = case.layer.unpack("weight", inputs[1][None])[0]
        if case.phases:
            y = F.conv_transpose2d(image, taps, inputs[2], 2, 1)
        else:
            y = F.conv2d(image, taps, inputs[2], 2, case.size // 2 - 1)
        y = y.permute(0, 2, 3, 1)
        expected = [y, *torch.autograd.grad(y, inputs, gradient[i].double())]
        expected[1] = expected[1] * (x[i] > 0)
        for n, (f, e) in enumerate(zip(found, expected, strict=True)):
            errors[n] = max(errors[n], relative(f[i], e))
            if not f.isfinite().all():
                errors[n] = math.inf
    return errors, same


# ---- tune


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
    from unknot.engine.kernels import ops

    dtype = use(precision)

    def empty(*shape: int) -> Tensor:
        return torch.zeros(shape, device="cuda", dtype=dtype)

    arguments, good = inputs_of(case, kernel, empty), 0
    for how in some:
        with contextlib.suppress(Exception):
            getattr(ops, f"run_{kernel}")(*arguments, how=how)
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

    from unknot.engine.kernels import ops

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
            call, arguments = getattr(ops, f"run_{kernel}"), inputs_of(case, kernel, make)

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


# ---- whole steps


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


# ---- layers


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
    parser.add_argument("--parts", default="check,tune,after,before,layers")
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
        if name == "check":
            part(name, lambda: check(Clock(120)))
        elif name == "tune":
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
            sys.exit(f"Parts are check, tune, after, before and layers; got '{name}'.")


if __name__ == "__main__":
    main()
