"""Errors of exported models, for each net: python bench/export.py [STEPS]

Trains each net for a moment, exports it as plain PyTorch and ONNX, opens its explorer in Chromium,
and compares all three with unknot. Needs the extras ``onnx`` and ``browser`` and a Chromium of the
system.
"""

import math
import platform
import shutil
import sys
import tempfile
from datetime import date
from pathlib import Path

import onnxruntime
import torch
from explorer import NETS, measure
from playwright.sync_api import sync_playwright

import unknot
from unknot.core.errors import UnknotError
from unknot.core.text import number
from unknot.report.explorer.model import explorer_model
from unknot.report.explorer.page import explorer
from unknot.sharing.folder import export

FRAMED = ("style64", "residual64")
"""Nets whose layers are not plain."""
SETTINGS = {"batch": 32, "lr": 1e-3, "progress": False, "device": "cpu"}


def waves() -> torch.Tensor:
    """Signals of two channels: sines of random frequencies and phases."""
    generator = torch.Generator().manual_seed(0)
    rate = torch.rand(512, 2, 1, generator=generator) * 4 + 1
    phase = torch.rand(512, 2, 1, generator=generator) * 2 * math.pi
    return (rate * torch.linspace(0, 2 * math.pi, 100) + phase).sin()


def main() -> None:
    """Print the table in docs/sharing.md."""
    steps = int(sys.argv[1]) if sys.argv[1:] else 300
    signals = unknot.dataset(waves(), signals=True)
    cases = [(f"`{net}`", "dsprites", "vae", net) for net in NETS]
    cases.append(("`conv1d`", signals, "vae", "conv1d"))
    cases.append(("`mlp`, `flow_vae`", "dsprites", "flow_vae", "mlp"))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as started, tempfile.TemporaryDirectory() as folder:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="reduce")
        print(
            f"{date.today()}, {platform.machine()}, Chromium {browser.version}, "
            f"torch {torch.__version__}, onnxruntime {onnxruntime.__version__}\n"
        )
        print("| net | explorer | PyTorch | ONNX | MB |")
        print("|---|---|---|---|---|")
        for name, data, objective, net in cases:
            run = unknot.train(data, objective, net, steps=steps, **SETTINGS)
            written = export(run, Path(folder) / net / objective, onnx=True)
            pixels = "–"
            if run.dataset.noun == "images":
                pixels = f"{measure(page, run, 'float16', Path(folder))[1]}/255"
            errors = " | ".join(number(written.errors[form], 1) for form in ("PyTorch", "ONNX"))
            size = sum(file.stat().st_size for file in written.path.rglob("*") if file.is_file())
            print(f"| {name} | {pixels} | {errors} | {size / 1e6:.1f} |", flush=True)
        for net in FRAMED:  # a step is enough to see what becomes of them
            run = unknot.train("dsprites", "vae", net, steps=1, **SETTINGS)
            form = explorer([explorer_model(run)]).form
            try:
                export(run, Path(folder) / net, onnx=True)
            except UnknotError:
                print(f"| `{net}` | {form} | refused | refused | – |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
