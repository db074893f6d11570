"""Latent traversals: images decoded while one latent moves and the others stay fixed."""

import io
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped, UInt8
from PIL import Image, ImageColor, ImageDraw
from scipy.spatial import cKDTree
from torch import Tensor

from unknot.core.factor_table import Space
from unknot.core.factors import FactorSpace
from unknot.report.model.latents import Latents, latent_label
from unknot.report.sheet import GAP, MARGIN, Row, enlargement, pixels, sheet, wrap
from unknot.report.style import INK, MUTED, PAPER, RULE, font
from unknot.runs.run import Run

REACH = 2.0
"""How far a latent moves from its mean, in standard deviations."""
CLEAR = 0.2
"""Share of a latent's variance from which on it follows a factor."""
COLUMNS = 9
STILL: Float[np.ndarray, " t"] = np.linspace(-REACH, REACH, COLUMNS)
"""Where the columns of the picture stand."""
FRAMES = 32
LOOP: Float[np.ndarray, " t"] = -REACH * np.cos(np.linspace(0, np.pi, FRAMES // 2 + 1))
"""Half a cosine, to be played forth and back: no jerk at the ends."""
FRAME_MS = 70
GIF_LIMIT = 1_000_000
SMALLER = ((1, 1), (2, 1), (2, 2), (2, 4))
"""What to try until a GIF is small: divide the enlargement, and show every so many frames."""
NOTE = (
    "Each row decodes the code of one image while a single latent moves from 2 standard deviations "
    "(σ) below its mean over the data to 2 above; the other latents stay fixed. Rows are sorted by "
    "the mean KL divergence of the latent's posterior from the prior, in nats. Grey text: the "
    "factor that explains most of the latent's variance."
)


def middle_row(space: Space) -> int:
    """The row in the middle of a grid, where every factor has room on both sides; or of a table."""
    if not isinstance(space, FactorSpace):
        return space.size // 2
    return int(space.index(torch.tensor(space.sizes) // 2))


def sweep(
    run: Run,
    latents: Sequence[Latents],
    positions: Float[np.ndarray, " t"],
    *,
    members: Sequence[int] = (0,),
) -> UInt8[np.ndarray, "m z t h w 3"]:
    """Images decoded while one latent after the other moves, the most informative first.

    Args:
        run: The trained models.
        latents: From `measure_latents`, one for each member.
        positions: Where to put the latent, in standard deviations from its mean.
        members: Whose images to keep.
    """
    rows = decoded_sweep(run, latents, positions, members=members)
    return np.stack([pixels(run.dataset, decoded) for decoded in rows], axis=1)


def decoded_sweep(
    run: Run,
    latents: Sequence[Latents],
    positions: Float[np.ndarray, " t"],
    *,
    members: Sequence[int] = (0,),
) -> Iterator[Float[Tensor, "m t c h w"]]:
    """What is decoded while one latent after the other moves, as `sweep` draws it.

    The other latents keep the code of the image in the middle of the grid; 0 without images.
    """
    if run.has_data:
        code = run.encode(run.dataset.batch(torch.tensor([middle_row(run.dataset.space)])))
    else:
        code = torch.zeros(len(latents), run.spec.net.settings.latents)
    code = code.reshape(len(latents), 1, -1).repeat(1, len(positions), 1)
    places = torch.from_numpy(positions)
    for rank in range(code.shape[-1]):
        z = code.clone()
        for p, number in enumerate(latents):
            latent = number.order[rank]
            z[p, :, latent] = (number.mean[latent] + places * number.sd[latent]).to(z)
        yield decode(run, z)[list(members)]


def decode(run: Run, z: Float[Tensor, "p n z"]) -> Float[Tensor, "p n c h w"]:
    """Images of each member's codes, with the member axis also for a lone run."""
    images = run.decode(z)
    return images.unsqueeze(0) if run.spec.lone else images


def loop_frames(frames: Shaped[np.ndarray, "t ..."]) -> Shaped[np.ndarray, "loop ..."]:
    """A loop that shows no frame twice in a row."""
    return np.concatenate([frames, frames[-2:0:-1]])


def column_names(positions: Iterable[float] = STILL) -> list[str]:
    """Text above the columns, in standard deviations."""
    return [f"{p:+g}σ".replace("-", "−") if p else "mean" for p in positions]


def title(run: Run, member: int) -> str:
    """Whose picture it is."""
    seed = run.spec.seed_list[member]
    return f"{run.spec.objective.name} on {run.dataset.name}, seed {seed}"


def main_factor(latents: Latents, latent: int, names: Sequence[str]) -> str:
    """The factor that explains most of a latent's variance, if it explains a good part.

    Empty where there are no factors, and where decoded images are all the same.
    """
    if not latents.used[latent]:
        return "inactive"
    if latents.draws_nothing or np.isnan(latents.explained[latent]).all():
        return ""
    shares = np.nan_to_num(latents.explained[latent])
    best = int(shares.argmax())
    return f"{names[best]} {shares[best]:.0%}" if shares[best] >= CLEAR else "mixed"


def latent_lines(latents: Latents, latent: int, names: Sequence[str]) -> tuple[str, ...]:
    """What stands beside the images of a latent: what it says, and the factor it follows."""
    return tuple(
        filter(
            None, (latent_label(latent, latents.kl[latent]), main_factor(latents, latent, names))
        )
    )


def traversal_picture(
    run: Run, latents: Sequence[Latents], member: int = 0
) -> UInt8[np.ndarray, "h w 3"]:
    """One row per latent, most informative first, decoded from -2 to 2 standard deviations."""
    latent, names = latents[member], run.dataset.space.names
    images = sweep(run, latents, STILL, members=(member,))[0]
    rows = [
        Row(
            latent_lines(latent, z, names),
            images[rank],
            faded=not latent.used[z],
        )
        for rank, z in enumerate(latent.order)
    ]
    heading = f"Latent traversals: {title(run, member)}"
    return sheet(rows, title=heading, columns=column_names(), note=NOTE)


def traversal_gif(run: Run, latents: Sequence[Latents], member: int = 0) -> bytes:
    """All latents moving at once, a panel each, as a smooth endless loop of less than 1 MB."""
    latent = latents[member]
    images = sweep(run, latents, LOOP, members=(member,))[0]
    labels = [latent_label(z, latent.kl[z]) for z in latent.order]
    inks = [INK if latent.used[z] else MUTED for z in latent.order]
    full = enlargement(images)
    for shrink, skip in SMALLER:
        scale = max(1, full // shrink)
        heading = f"Latent traversals: {title(run, member)}"
        frames = panels(images[:, ::skip], labels, inks, heading=heading, scale=scale)
        data = gif(loop_frames(frames), ms=FRAME_MS * skip)
        if len(data) < GIF_LIMIT:
            break
    return data


def panels(
    images: UInt8[np.ndarray, "z t h w 3"],
    labels: Sequence[str],
    inks: Sequence[str],
    *,
    heading: str,
    scale: int,
) -> UInt8[np.ndarray, "t height width 3"]:
    """Frames that show the images of all latents, each in its place above its label."""
    count, steps, h, w, _ = images.shape
    across = min(count, 5)
    width, height = w * scale + 2 * GAP, h * scale + 2 * GAP
    step_x, step_y = max(width, 124) + 14, height + 34
    head = wrap(heading, font(15, bold=True), across * step_x - 14)
    top = MARGIN // 2 + 24 * len(head) + 6
    size = (MARGIN + across * step_x - 14, top + -(-count // across) * step_y)
    page = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(page)
    for i, line in enumerate(head):
        pen.text((MARGIN // 2, MARGIN // 2 + 24 * i), line, INK, font(15, bold=True))
    places = []
    for i, (label, ink) in enumerate(zip(labels, inks, strict=True)):
        x, y = MARGIN // 2 + i % across * step_x, top + i // across * step_y
        places.append((x, y))
        pen.rectangle((x, y, x + width - 1, y + height - 1), RULE)
        pen.text((x, y + height + 17), label, ink, font(13), anchor="ls")
    frames = np.repeat(np.array(page)[None], steps, axis=0)
    for (x, y), loop in zip(places, images, strict=True):
        inner = frames[:, y + GAP : y + height - GAP, x + GAP : x + width - GAP]
        inner[:] = loop.repeat(scale, axis=1).repeat(scale, axis=2)
    return frames


def gif(frames: UInt8[np.ndarray, "t h w 3"], *, ms: int) -> bytes:
    """Frames as an endless GIF in one palette, undithered, so that nothing still flickers."""
    packed = frames.astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], np.int32)
    index = np.zeros(1 << 24, np.uint8)
    index[packed] = 1
    present = np.flatnonzero(index)
    shades = np.stack([present >> 16, present >> 8 & 255, present & 255], axis=1)
    colors = shades if len(shades) <= 256 else _palette(frames)
    # Pillow's own search for the nearest colour is rough enough to miss white.
    index[present] = cKDTree(colors).query(shades)[1]
    pictures = [Image.fromarray(frame) for frame in index[packed]]
    for picture in pictures:
        picture.putpalette(colors.astype(np.uint8).tobytes())
    data = io.BytesIO()
    pictures[0].save(
        data, "gif", save_all=True, append_images=pictures[1:], duration=ms, loop=0, disposal=1
    )
    return data.getvalue()


def _palette(frames: UInt8[np.ndarray, "t h w 3"]) -> Int[np.ndarray, "256 3"]:
    """256 colours for all frames by median cut, the one nearest to paper made exactly paper."""
    tall = Image.fromarray(frames.reshape(-1, *frames.shape[2:]))
    colors = np.array(tall.quantize(256, method=Image.Quantize.MEDIANCUT).getpalette())
    colors = colors.reshape(-1, 3)
    paper = np.array(ImageColor.getrgb(PAPER))
    colors[np.abs(colors - paper).sum(1).argmin()] = paper
    return colors
