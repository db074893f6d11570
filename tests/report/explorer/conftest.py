"""Models of random weights, and how a browser opens their pages from the disk."""

import numpy as np
import pytest
import torch

import unknot
from unknot.report.explorer.model import explorer_model
from unknot.report.explorer.page import explorer


def small_images(shape, count=8, seed=0):
    """Random bytes ``[n, c, h, w]``."""
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8)


@pytest.fixture
def make_model():
    """A model after one step on random images, with codes and pictures of some contrast."""

    def make(net, shape, objective="vae", **settings):
        data = unknot.dataset(small_images(shape), **settings)
        run = unknot.train(data, objective, net, steps=1, batch=2, device="cpu", progress=False)
        state = run.training.population.state()
        spread = run.decoder(torch.randn(64, run.spec.net.settings.latents)).std().item()
        gains = {"encoder": 20.0, "decoder": 2 / spread}
        for part, gain in gains.items():
            last = [name for name in state if name.startswith(part) and "weight" in name][-1]
            state = {**state, last: state[last] * gain}
        run.training.population.load(state)
        return run

    return make


@pytest.fixture
def open_page(browser, tmp_path):
    """Write the explorer of runs, open it from the disk without a network; nothing may complain."""
    contexts, complaints = [], []

    def open_(*runs, width=1280, motion="reduce", touch=False, **options):
        path = tmp_path / f"explorer-{len(contexts)}.html"
        explorer([explorer_model(run) for run in runs], **options).write(path)
        window = {"viewport": {"width": width, "height": 900}, "has_touch": touch}
        context = browser.new_context(**window, reduced_motion=motion, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda said: complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _note_request(request, complaints))
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


def _note_request(request, complaints):
    if not request.url.startswith(("file:", "data:")):
        complaints.append(request.url[:80])


@pytest.fixture
def random_codes():
    return lambda latents, n=100: torch.from_numpy(
        np.random.default_rng(0).normal(size=(n, latents)).astype(np.float32)
    )
