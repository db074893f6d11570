"""How a picture looks on a dark page, and to eyes that tell fewer colours."""

import numpy as np
from PIL import Image

DARK_PAPER = np.array([0x15, 0x17, 0x1B]) / 255
"""The background of a dark page, as in `report/page.css`."""
HUE = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])
"""Turn hues by 180 degrees, as the CSS filter does."""
EYES = {
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
               [-0.011820, 0.042940, 0.968881]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
               [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
"""Of linear RGB. Machado, Oliveira and Fernandes 2009, "A physiologically-based model for
simulation of color vision deficiency", severity 1.0."""
VIEWS = ("light", "dark", *EYES)


def seen(picture: Image.Image, view: str) -> Image.Image:
    """A picture as it is in a view; on dark pages plots are turned and photographs are not."""
    # Figures are written with a palette, pictures of data are not.
    is_plot, rgb = picture.mode == "P", picture.convert("RGB")
    if view == "light" or (view == "dark" and not is_plot):
        return rgb
    values = np.asarray(rgb) / 255
    if view == "dark":
        turned = ((1 - values) @ HUE.T).clip(0, 1)
        values = 1 - (1 - turned) * (1 - DARK_PAPER)
    else:
        linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
        linear = (linear @ np.array(EYES[view]).T).clip(0, 1)
        values = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return Image.fromarray(np.rint(255 * values).astype(np.uint8))
