"""Errors, sizes and times of explorers, for each net: python bench/explorer.py [STEPS]

Trains each net for a moment on dSprites, opens its explorers in Chromium, and compares 100 random
codes with PyTorch. Needs the extra ``browser`` and a Chromium of the system.
"""

import base64
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from playwright.sync_api import Page, sync_playwright

import unknot
from unknot.report.explorer.model import explorer_model
from unknot.report.explorer.page import explorer
from unknot.report.sheet import pixels

NETS = ("conv", "conv64", "linear", "locatello", "mlp", "mushom", "ozcan_cnn", "ozcan_mlp")
CODES = 100
DECODE = """
(codes) => {
  const decode = makeDecoder(page.models[0].decoder);
  const begin = performance.now(), images = codes.map((code) => decode(code).data);
  const time = (performance.now() - begin) / codes.length;
  const text = images.map((data) => {
    let bytes = "";
    for (let i = 0; i < data.length; i += 1000) {
      bytes += String.fromCharCode(...data.subarray(i, i + 1000));
    }
    return btoa(bytes);
  });
  return [time, text];
}
"""


def measure(
    page: Page, run: unknot.Run, form: str, folder: Path
) -> tuple[str, float, float, float]:
    """The form that was written, the largest error of 255, megabytes, and milliseconds an image."""
    written = explorer([explorer_model(run)], form=form)
    path = written.write(folder / "explorer.html")
    page.goto(path.as_uri())
    z = torch.randn(
        CODES, run.spec.net.settings.latents, generator=torch.Generator().manual_seed(1)
    )
    time, images = page.evaluate(DECODE, z.tolist())
    bytes_ = [np.frombuffer(base64.b64decode(text), np.uint8) for text in images]
    ours = np.stack(bytes_).reshape(CODES, -1, 4)[..., :3].astype(int)
    theirs = pixels(run.dataset, run.decode(z)).reshape(CODES, -1, 3)
    return written.form, np.abs(ours - theirs).max(), path.stat().st_size / 1e6, time


def main() -> None:
    """Print a row of the table in docs/explorer.md for each net."""
    steps = int(sys.argv[1]) if sys.argv[1:] else 300
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as started, tempfile.TemporaryDirectory() as folder:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="reduce")
        print("| net | float16: error | MB | int8: error | MB | ms per image |")
        print("|---|---|---|---|---|---|")
        for net in NETS:
            run = unknot.train(
                "dsprites", "vae", net, steps=steps, batch=32, lr=1e-3, progress=False
            )
            rows = [measure(page, run, form, Path(folder)) for form in ("float16", "int8")]
            cells = [f"{error}/255 | {size:.1f}" for _, error, size, _ in rows]
            print(f"| `{net}` | {' | '.join(cells)} | {rows[0][3]:.0f} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
