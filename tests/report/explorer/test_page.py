"""The page as a file: what is inside, what is not, and what it refuses."""

import json
import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

import unknot
from unknot import nets
from unknot.core.errors import ConfigError, ShapeError, StoreError
from unknot.report.explorer.model import explorer_model
from unknot.report.explorer.page import explorer
from unknot.report.explorer.sliders import match_latents

SHAPE = (1, 8, 8)


def data_of(html):
    text = re.search(r'<script type="application/json" id="explorer-data">(.*?)</script>', html)
    return json.loads(text[1])


@pytest.fixture
def run(make_model):
    return make_model(nets.MLP(latents=3, hidden=(5,)), SHAPE)


def test_one_file_without_addresses_or_paths(tmp_path):
    images = np.random.default_rng(0).integers(0, 255, (40, *SHAPE[1:]), dtype=np.uint8)
    np.savez(tmp_path / "own.npz", images=images)
    words = {"net": nets.MLP(latents=3, hidden=(5,)), "steps": 2, "batch": 8, "device": "cpu"}
    run = unknot.train(str(tmp_path / "own.npz"), out=tmp_path / "run", progress=False, **words)
    html = run.explorer(tmp_path / "face.html").read_text()
    assert not re.search(r"(src|href)=\"(?!data:)", html)
    assert not re.search(r"https?://", html)
    assert str(tmp_path.parent) not in html
    assert "default-src 'none'" in html


def test_codes_are_those_of_the_images_and_no_others_are_there_without(run):
    model = explorer_model(run)
    shown = data_of(explorer([model]).html)
    assert len(shown["images"]) == len(run.dataset)
    codes = np.sort(np.array(shown["models"][0]["codes"]), axis=0)
    np.testing.assert_allclose(codes, np.sort(run.codes().numpy(), axis=0), atol=1e-5)
    hidden = explorer([model], images=False)
    assert data_of(hidden.html)["images"] == []
    assert "data:image" not in hidden.html
    theirs = {tuple(np.round(code, 3)) for code in run.codes().numpy()}
    ours = {tuple(np.round(code, 3)) for code in data_of(hidden.html)["models"][0]["codes"]}
    assert not theirs & ours


def test_frames_share_no_weights(run):
    page = explorer([explorer_model(run)], form="frames")
    (model,) = data_of(page.html)["models"]
    assert "decoder" not in model
    assert len(model["frames"]["sheets"]) == len(run.dataset)
    assert "Not inside: weights" in page.contents


def test_sliders_are_sorted_by_information(run):
    model = explorer_model(run)
    kl = [slider["sides"][0]["kl"] for slider in data_of(explorer([model]).html)["sliders"]]
    assert kl == sorted(kl, reverse=True)
    np.testing.assert_allclose(sorted(kl), np.sort(model.latents.kl), atol=1e-9)


class Doubled(nn.Module):
    """A layer that no browser knows."""

    def forward(self, x):
        return 2 * x


@dataclass(frozen=True)
class DoublingNet(nets.Linear):
    def decoder(self, image):
        return nn.Sequential(*super().decoder(image), Doubled())


@pytest.mark.parametrize("images", [True, False])
def test_a_net_of_unknown_layers_gets_frames(make_model, images):
    page = explorer([explorer_model(make_model(DoublingNet(latents=2), SHAPE))], images=images)
    assert page.form == "frames"
    assert "Doubled" in page.reason
    assert "decoder" not in data_of(page.html)["models"][0]


def test_matched_latents_are_a_permutation_with_signs():
    codes = torch.randn(200, 4, generator=torch.Generator().manual_seed(0)).numpy()
    order, signs = [2, 0, 3, 1], np.array([1, -1, -1, 1])
    other = codes[:, order] * signs + 0.1 * np.random.default_rng(0).normal(size=codes.shape)
    matches = {(a, b): sign for a, b, sign in match_latents(codes, other)}
    assert matches == {(order[b], b): signs[b] for b in range(4)}


def test_bad_calls_say_what_to_do(run, make_model, tmp_path):
    with pytest.raises(StoreError, match="is a folder; name a file"):
        run.explorer(tmp_path)
    with pytest.raises(ConfigError, match="got 3"):
        run.explorer(tmp_path / "a.html", member=3)
    with pytest.raises(ConfigError, match="There is no form 'flaot16'; did you mean 'float16'"):
        run.explorer(tmp_path / "a.html", form="flaot16")
    other = make_model(nets.Linear(latents=2), (1, 9, 9))
    with pytest.raises(ConfigError, match="compared on the same data"):
        run.explorer(tmp_path / "a.html", other=other)
    rows = np.random.default_rng(0).normal(size=(16, 5))
    table = unknot.train(rows, "vae", steps=1, batch=4, device="cpu", progress=False)
    with pytest.raises(ShapeError, match="has rows and no images to explore"):
        table.explorer(tmp_path / "a.html")
    assert [*tmp_path.iterdir()] == []
