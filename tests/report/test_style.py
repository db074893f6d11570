"""How figures look: as small stored pictures, and whatever matplotlib is set to elsewhere.

After a change of looks that is meant, ``python tests/report/test_style.py`` stores them anew.
"""

import io
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from PIL import Image
from report import study_pages

from unknot.analysis import Results
from unknot.report.data.distances import matrices_figure
from unknot.report.data.thresholds import threshold_figure
from unknot.report.model.figures import curves_figure, factor_figure
from unknot.report.model.latents import Latents
from unknot.report.sheet import Row, sheet
from unknot.report.study import figures
from unknot.report.study.covariance import covariance_maps
from unknot.report.study.latents import Posteriors
from unknot.report.style import STYLE, png
from unknot.runs.curves import Curves

STORED = Path(__file__).parent / "looks"
DPI = 40
TOLERANCE = 3.0
"""Root mean square over pixels of 0 to 255: a letter size of 1 point more is noticed."""


def curves():
    steps = list(range(0, 2000, 100))
    lines = [torch.tensor([4.0, 3.0, 5.0]) + 400 / (1 + k) for k in range(20)]
    each = {f"kl.{z}": [torch.full((3,), z + k / 20) for k in range(20)] for z in range(3)}
    return curves_figure(Curves(steps, {"loss": lines, **each}))


def factors():
    shares = np.array([[0.9, 0.05], [0.1, 0.7], [0.0, 0.01]])
    found = Latents(np.array([2.0, 1.0, 0.01]), np.zeros(3), np.ones(3), shares)
    return factor_figure(found, ("shade", "corner"))


def covariances():
    draws = np.random.default_rng(0)
    mean = 0.5 * draws.standard_normal((200, 4)) @ draws.standard_normal((4, 4))
    kl = np.linspace(2, 0, 4)
    found = Posteriors(mean, np.full((200, 4), 0.3), [0, 1, 2, 3], kl >= 0.05, kl)
    return covariance_maps(found, title="Covariances of a model").figure


def distances():
    values = torch.arange(5.0).double()
    matrix = (values[:, None] - values).abs()
    found = {"x": {"factors": matrix, "images": 0.01 * matrix}}
    return matrices_figure(found, title="Distances", lines={"images": "squared error"})


def thresholds():
    found = {"x": torch.tensor([0.1, 3.0, 0.4, 2.0])}
    return threshold_figure(found, title="Latents that two images share", etas=(0.25, 0.75))


def images():
    ramp = np.linspace(0, 255, 16).astype(np.uint8)
    tiles = np.stack([np.tile(np.roll(ramp, k)[:, None, None], (1, 16, 3)) for k in range(3)])
    rows = [Row(("z0", "1.20 nats"), tiles), Row(("z1",), tiles, faded=True)]
    return sheet(rows, title="A sheet", columns=["low", "mean", "high"], note="How to read it.")


def table():
    return Results(study_pages.study(12))


FIGURES = {
    "boxes": lambda: figures.spread.draw(table(), ["mig", "recon"]).figure,
    "correlations": lambda: figures.correlations.draw(table()).figure,
    "covariances": covariances,
    "curves": curves,
    "distances": distances,
    "factors": factors,
    "images": images,
    "shares": lambda: figures.shares.draw(table()).figure,
    "swept_value": lambda: figures.swept_value.draw(table(), ["mig", "recon"]).figure,
    "thresholds": thresholds,
    "trade_off": lambda: figures.trade_off.draw(table(), "mig").figure,
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_look_as_they_did(name):
    then = Image.open(STORED / f"{name}.png").convert("RGB")
    now = Image.open(io.BytesIO(png(FIGURES[name]()))).convert("RGB")
    assert now.size == then.size
    # Half a pixel to the side is no other look.
    small = (now.width // 2, now.height // 2)
    away = np.asarray(now.resize(small), float) - np.asarray(then.resize(small), float)
    assert np.sqrt(np.square(away).mean()) < TOLERANCE


def test_looks_do_not_depend_on_what_matplotlib_is_set_to():
    one = png(curves())
    figure = curves()
    with matplotlib.rc_context({"xtick.labelsize": 20, "axes.edgecolor": "red", "font.size": 15}):
        assert png(figure) == one, "drawn under the style, rendered elsewhere"
        assert png(curves()) == one


if __name__ == "__main__":
    STYLE["savefig.dpi"] = DPI
    for name, draw in FIGURES.items():
        (STORED / f"{name}.png").write_bytes(png(draw()))
