"""The gallery of the site: every dataset and objective is there, in its own picture."""

import re

import numpy as np
from PIL import Image
from scripts import script

import unknot
from unknot import nets
from unknot.core import registry
from unknot.report.gallery import contact_sheet
from unknot.report.model import traversals
from unknot.report.model.latents import Latents, measure_latents

gallery_page = script("tools/gallery_page.py")
gallery_sheet = script("tools/gallery_sheet.py")


def test_every_dataset_and_objective_is_on_the_page(tmp_path, monkeypatch):
    tiny = np.zeros((20, 30, 3), np.uint8)
    monkeypatch.setattr("unknot.report.model.pictures.dataset_picture", lambda dataset: tiny)
    (tmp_path / "objectives.md").write_text(
        "".join(f"\n## {name}\n\nA summary.\n\nMore.\n" for name in registry.names("objectives"))
    )
    gallery_page.stage(tmp_path)
    page = (tmp_path / "gallery.md").read_text()
    shown = re.findall(r"!\[[^\]]+\]\(pictures/gallery/(\w+)\.png\)", page)
    needs = re.findall(r"^\| \[`(\w+)`\]\(data.md#\1\) \|", page, re.MULTILINE)
    named = re.findall(r"^- \[(\w+)\]\(objectives.md#\1\): \w", page, re.MULTILINE)
    own = {"arrays", "images", "memory", "signals", "vectors"}
    assert sorted([*shown, *needs, *own, *named]) == sorted(
        [*registry.names("datasets"), *registry.names("objectives")]
    )
    assert {"dsprites", "scene3d", "soft_squares", "beta_vae"} <= {*shown}
    assert {"shapes3d", "celeba"} <= {*needs}
    for name in shown:
        assert (tmp_path / "pictures" / "gallery" / f"{name}.png").exists()
    sections = (tmp_path / "objectives.md").read_text().split("\n## ")[1:]
    for section in sections:
        name = section.split()[0]
        assert (f"gallery/{name}.png" in section) == (name not in named)


def test_cards_are_cut_where_the_sheet_has_them(tmp_path, monkeypatch):
    names = [f"objective {n}" for n in range(7)]
    shades = {name: 30 * (n + 1) for n, name in enumerate(names)}
    strips = {name: np.full((5, 9, 64, 64, 3), shade, np.uint8) for name, shade in shades.items()}
    latents = Latents(*np.ones((3, 5)), explained=np.zeros((5, 1)))
    sheet = Image.fromarray(contact_sheet(strips, dict.fromkeys(names, latents)))
    size = (sheet.width // gallery_page.SHRUNK, sheet.height // gallery_page.SHRUNK)
    sheet.resize(size).save(tmp_path / "gallery.png")
    monkeypatch.setattr(gallery_page, "PICTURES", tmp_path)
    monkeypatch.setattr(registry, "summary", lambda kind, name: "")
    gallery_page.cut(tmp_path, names)
    for name, shade in shades.items():
        card = np.asarray(Image.open(tmp_path / f"{name}.png").convert("L")).astype(int)
        for corner in (card[4:20, 4:20], card[-20:-4, -20:-4]):  # within the lines of its tiles
            assert abs(corner - shade).max() < 8, name


def test_strips_made_without_a_drawing_package_are_those_of_the_gallery():
    run = unknot.train("xysquares", "vae", nets.Linear(latents=6), steps=3, batch=4, device="cpu")
    latents = measure_latents(run)
    strips, used = gallery_sheet.decoded_strips(run)
    assert np.array_equal(strips, traversals.sweep(run, latents, traversals.STILL)[0, :5])
    assert np.array_equal(used, latents[0].used)
    assert len(np.unique(strips)) > 10
