"""What the GPU benchmark counts, and that it runs through; times come from a GPU."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from torch import nn

from unknot.nets.conv64 import Conv64

FILE = Path(__file__).parents[2] / "bench" / "gpu.py"


@pytest.fixture(scope="module")
def gpu():
    sys.path.insert(0, str(FILE.parent))  # as for a script, whose neighbours it imports
    spec = importlib.util.spec_from_file_location("bench_gpu", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_gpu"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(FILE.parent))
    del sys.modules["bench_gpu"]


class Toy:
    latents = 2

    def encoder(self, image):
        return nn.Sequential(nn.Conv2d(1, 3, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4))

    def decoder(self, image):
        return nn.Sequential(nn.Linear(2, 12), nn.Unflatten(1, (3, 2, 2)),
                             nn.ConvTranspose2d(3, 1, 4, 2, 1))  # fmt: skip


def test_operations_and_bytes_by_hand(gpu):
    """Two images of 4 x 4; the first layer has no gradient of its input."""
    works = gpu.roofline.work(Toy(), (1, 4, 4), 2, "bf16")
    conv, dense, back, up = 2 * 12 * 16 * 2, 2 * 12 * 4 * 2, 2 * 2 * 12 * 2, 2 * 12 * 16 * 2
    assert sum(w.flops for w in works) == 2 * conv + 3 * (dense + back + up)
    sizes = {"conv": 48, "dense": 48, "back": 24, "up": 48}
    images = {"conv": 2 * (16 + 12), "dense": 2 * (12 + 4), "back": 2 * (2 + 12)}
    images["up"] = images["conv"]
    products = sum(2 * (images[n] + sizes[n]) * (2 if n == "conv" else 3) for n in sizes)
    assert sum(w.bytes for w in works) == products + 28 * sum(sizes.values())
    full = gpu.roofline.work(Toy(), (1, 4, 4), 2, "float32")
    assert sum(w.bytes for w in full) == 2 * products + 28 * sum(sizes.values())


def test_a_step_of_conv64_is_6_gflop(gpu):
    """Multiplications of an image by hand; outputs, gradients of inputs and of weights."""
    first, second, third, fourth = 32**2 * 512, 16**2 * 32 * 512, 8**2 * 64 * 512, 4**2 * 64 * 1024
    ends = 2 * (1024 * 256) + 256 * 20 + 10 * 256
    once = 2 * (first + second + third + fourth) + ends
    flops = sum(w.flops for w in gpu.roofline.work(Conv64(), (1, 64, 64), 64, "bf16"))
    assert flops == 2 * 64 * (3 * once - first)


def test_the_roofline_takes_the_longer_of_the_two(gpu):
    works = [gpu.roofline.Work(100.0, 1.0), gpu.roofline.Work(1.0, 30.0)]
    assert gpu.roofline.least_seconds(works, 10.0, 3.0) == 10.0 + 10.0


def test_rows_come_once_and_the_weightiest_first(gpu):
    rows = gpu.cases()
    assert len({*rows}) == len(rows)
    assert rows[0].how == "plain"
    assert (rows[1].how, rows[1].members, rows[1].precision) == ("graph", 1, "bf16")
    assert (rows[2].how, rows[2].members, rows[2].precision) == ("kernels", 64, "bf16")
    assert {r.how for r in rows if r.plain} == {"plain", "graph", "vmap", "processes"}
    assert [r.how for r in rows if r.colour] == ["kernels", "graph"]
    grid = {(r.how, r.members, r.precision) for r in rows if r.objective == "beta_vae"}
    assert len([g for g in grid if g[0] in ("kernels", "windows")]) == 24
    others = {"beta_tcvae", "factor_vae", "annealed_vae", "dip_vae_ii", "l_vae", "ada_gvae", "tvae"}
    assert {r.objective for r in rows} == {"beta_vae", *others}


class Line:
    """A row's end of its line to the benchmark, which gives it its turn at once."""

    def __init__(self):
        self.said = []

    def send(self, what):
        self.said.append(what)

    def recv(self):
        return "your turn"


@pytest.mark.slow
def test_a_row_that_fails_is_a_row(gpu):
    heard = {}
    for objective in ("l_vae", "no such objective"):
        pipe = Line()
        how = gpu.Options(True, 0.01, "", "", dict.fromkeys([*gpu.PRECISIONS, "bytes"], 1e12))
        gpu.in_process(gpu.Case("kernels", 2, "float32", objective), how, pipe)
        heard[objective] = pipe.said
    warm, row = heard["l_vae"]
    assert warm > 0
    assert row["model-steps/s"] > 0
    assert row["TFLOP/s"] == pytest.approx(row["model-steps/s"] * row["GFLOP a model-step"] / 1e3)
    (row,) = heard["no such objective"]
    assert "no such objective" in row["error"]


@pytest.mark.slow
@pytest.mark.parametrize("case", [("graph", 1), ("processes", 2), ("kernels", 2)], ids=str)
def test_colour_and_loops_of_others_are_rows(gpu, case):
    how, members = case
    roof = dict.fromkeys([*gpu.PRECISIONS, "bytes"], 1e12)
    pipe = Line()
    options = gpu.Options(True, 0.01, "", "", roof)
    gpu.in_process(gpu.Case(how, members, "float32", colour=how != "processes"), options, pipe)
    _, row = pipe.said
    assert row.get("model-steps/s", 0) > 0, row


def test_rates_of_views_are_counted_by_image(gpu):
    bench = gpu.Options(True, 0.01, "", "", dict.fromkeys([*gpu.PRECISIONS, "bytes"], 1e12)).bench()
    one, three = (bench.row(10.0, gpu.Case("kernels", 2, "bf16", o)) for o in ("beta_vae", "tvae"))
    assert three["images/s"] == 3 * one["images/s"]
    assert three["GFLOP a model-step"] == pytest.approx(3 * one["GFLOP a model-step"])
    colour = bench.row(10.0, gpu.Case("kernels", 2, "bf16", colour=True))
    assert colour["MB a model-step"] > one["MB a model-step"]


@pytest.mark.slow
def test_streaming_is_compared_with_resident_images(tmp_path):
    file = tmp_path / "rows.json"
    few = {"images": 20, "members": 2, "batch": 2, "rounds": 1, "seconds": 0.01}
    options = {**few, "device": "cpu", "precision": "float32", "json": file}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    subprocess.run([sys.executable, FILE.with_name("streaming.py"), *words], check=True)
    rows = json.loads(file.read_text())["rows"]
    assert [row["channels"] for row in rows] == [1, 3]
    assert all(row["same bits"] and row["streamed by resident"] > 0 for row in rows)


@pytest.mark.slow
def test_it_runs_through(tmp_path):
    """On a CPU with next to nothing; what else runs is paused around the measuring only."""
    file, calls = tmp_path / "rows.json", tmp_path / "calls"
    command = [sys.executable, FILE, "--tiny", "--json", file, "--only", "float32 2"]
    around = ["--before", f"echo pause >> {calls}", "--after", f"echo go on >> {calls}"]
    out = subprocess.run(
        [*command, *around, "--together", "2"], check=True, capture_output=True, text=True
    ).stdout
    rows = json.loads(file.read_text())["rows"]
    assert [r["what"] for r in rows] == [
        "plain conv64 beta_vae float32 1",
        "kernels conv64 beta_vae float32 2",
        "vmap conv64 beta_vae float32 2",
        "encode conv64 beta_vae float32 2",
        "windows conv64 beta_vae float32 2",
    ]
    assert all(r["what"] in out for r in rows)
    assert rows[3]["images/s"] == 2 * 64 / rows[3]["seconds"]
    assert all(rows[i]["share of roofline"] > 0 for i in (0, 1, 2, 4))
    assert rows[1]["images/s"] == pytest.approx(4 * rows[1]["model-steps/s"])
    assert all(row["how"] == row["what"].split()[0] for row in rows)
    # Around the roofline, two rows, two more and the last.
    assert calls.read_text().splitlines() == ["pause", "go on"] * 4
