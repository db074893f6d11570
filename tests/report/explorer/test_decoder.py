"""Pictures that the browser computes are those of PyTorch, for every net that it can compute."""

import base64
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

import unknot
from unknot import nets
from unknot.core import registry
from unknot.report.sheet import pixels

pytestmark = pytest.mark.slow
GREY, COLOR, BROAD = (1, 64, 64), (3, 64, 64), (3, 37, 50)
CASES = {
    "conv": (nets.Conv(init="kaiming"), BROAD),
    "conv1d": (nets.Conv1d(init="kaiming"), (3, 1, 50)),
    "conv64": (nets.Conv64(init="kaiming"), COLOR),
    "linear": (nets.Linear(init="kaiming"), (2, 9, 7)),
    "locatello": (nets.Locatello(), GREY),
    "mlp": (nets.MLP(init="kaiming"), BROAD),
    "mushom": (nets.Mushom(), GREY),
    "ozcan_cnn": (nets.OzcanCNN(), (3, 128, 128)),
    "ozcan_mlp": (nets.OzcanMLP(), (1, 32, 32)),
}
DECODE = """
(codes) => {
  const decode = makeDecoder(page.models[0].decoder);
  return codes.map((code) => {
    const colors = decode(code).data.filter((_, i) => i % 4 < 3);
    let text = "";
    for (let i = 0; i < colors.length; i += 999) {
      text += String.fromCharCode(...colors.subarray(i, i + 999));
    }
    return btoa(text);
  });
}
"""


def browser_pixels(page, codes):
    """What the page's decoder makes of codes, ``[n, values]``."""
    images = page.evaluate(DECODE, codes.double().tolist())
    return np.stack([np.frombuffer(base64.b64decode(image), np.uint8) for image in images])


def torch_pixels(run, codes):
    decoded = torch.cat([run.decode(some) for some in codes.split(20)])
    return pixels(run.dataset, decoded).reshape(len(codes), -1)


def largest_difference(page, run, codes):
    ours, theirs = browser_pixels(page, codes), torch_pixels(run, codes)
    assert theirs.std() > 20, "pictures without contrast show nothing"
    return np.abs(ours.astype(int) - theirs).max()


@dataclass(frozen=True)
class Assorted(nets.Linear):
    """Layers of all kinds and odd sizes that the browser computes."""

    def decoder(self, image):
        return nn.Sequential(
            nn.Linear(self.latents, 60, bias=False),
            nn.Sequential(nn.ELU(0.7), nn.Identity()),
            nn.Unflatten(1, (5, 3, 4)),
            nn.ConvTranspose2d(5, 6, (5, 3), stride=(3, 2), padding=(1, 0), output_padding=(1, 1)),
            nn.LeakyReLU(0.2),
            nn.Conv2d(6, 7, 3, padding=1),
            nn.SiLU(),
            nn.ConvTranspose2d(7, 4, 2, stride=1),
            nn.Tanh(),
            nn.Conv2d(4, 3, (2, 3), stride=(1, 2), padding=(0, 2), bias=False),
            nn.ZeroPad2d((1, -2, 0, 1)),
            nn.Flatten(),
            nn.Sigmoid(),
            nn.Linear(198, 2 * 6 * 7),
            nn.Unflatten(1, image),
        )


def test_layers_of_all_kinds_and_standardised_data(make_model, open_page, random_codes):
    """Two channels, shown one above the other; a Gaussian likelihood has means as outputs."""
    objective = unknot.objectives.VAE(likelihood="gaussian")
    run = make_model(Assorted(latents=4), (2, 6, 7), objective, standardize=True)
    assert run.dataset.std
    assert largest_difference(open_page(run), run, random_codes(4)) <= 1


def test_every_net_of_the_registry_is_here():
    """But for those with layers of their own, which get frames; modules may have any."""
    others = {"style64", "residual64", "modules"}
    assert {*CASES} == {*registry.names("nets")} - others


@pytest.mark.parametrize("name", CASES)
def test_the_browser_decodes_as_torch_does(name, make_model, open_page, random_codes):
    run = make_model(*CASES[name])
    codes = random_codes(CASES[name][0].latents)
    assert largest_difference(open_page(run), run, codes) <= 1
    assert largest_difference(open_page(run, form="int8"), run, codes) <= 3
