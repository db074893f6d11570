"""Every block of Python in the documentation runs, page by page, with few steps and small data.

What a page takes for granted, such as ``codes`` or a folder of photographs, is put there before. A
block that is followed by a block without a language prints just that.
"""

import contextlib
import importlib
import io
import linecache
import re
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import nn

import unknot
from unknot import Posterior, nets, objectives

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
}
BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n\n```\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
NEED = {"run.push(": "a hub", "slurm_pool.slurm(": "clusters"}
"""Calls of blocks that only run beside something that is not here; their own tests run them."""
SMALLER = (
    (r"\bsteps=[\d_]+", "steps=3"),
    (r"latents=8, settings", "latents=8, steps=3, settings"),
    (r"train_more\(10_000\)", "train_more(2)"),
    (r"step=50_000", "step=2"),
    (r"\bseeds=5", "seeds=2"),
    (r'"dsprites"', '"small.npz"'),
    (r"len\(ds\), 100", "len(ds), 1"),
    (r"\[1, 4, 16\]", "[1, 4]"),
    (r'"xysquares"(?!, spacing)', '"small.npz"'),
)
"""What makes blocks quick."""
GRID = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), -1).reshape(-1, 3)


def encoder():
    return nn.Sequential(nn.Flatten(), nn.Linear(64 * 64, 8))


def decoder():
    return nn.Sequential(nn.Linear(4, 64 * 64), nn.Unflatten(1, (1, 64, 64)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that pages name, where `unknot.train` trains for a moment."""
    monkeypatch.chdir(tmp_path)
    np.savez("small.npz", images=pictures(), factors=GRID)
    for name in ("photos", "faces"):
        Path(name).mkdir()
        for i, image in enumerate(pictures()):
            Image.fromarray(image).save(Path(name) / f"{i}.png")
    names = [f"{i}.png" for i in range(64)]
    glasses = GRID[:, 1].astype(str)
    pd.DataFrame({"file": names, "subject": GRID[:, 0], "glasses": glasses}).to_csv(
        "people.csv", index=False
    )
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(64, 5)), columns=[*"abcde"])
    table.assign(batch=GRID[:, 0], dose=GRID[:, 1]).to_parquet("cells.parquet")
    train, study = unknot.train, unknot.study

    def briefly(data="small.npz", *words, **settings):
        few = {"steps": 3, "batch": 8, "device": "cpu", "progress": False}
        return train(data, *words, **{"steps": 3} | settings | few)

    monkeypatch.setattr(unknot, "train", briefly)
    monkeypatch.setattr(
        unknot, "study", lambda *words, **settings: study(*words, **{"steps": 3} | settings)
    )
    monkeypatch.setattr(unknot.Study, "report", lambda study: study.table())  # a minute of drawing
    return tmp_path


def pictures():
    """Images whose factors are place and brightness, 4 x 4 x 4."""
    images = np.zeros((64, 64, 64), np.uint8)
    for image, (row, column, shade) in zip(images, GRID, strict=True):
        image[16 * row : 16 * row + 16, 16 * column : 16 * column + 16] = 60 + 65 * shade
    return images


def given(page):
    """Names that blocks of a page do not make themselves."""
    rng = np.random.default_rng(0)
    codes = GRID + rng.normal(0, 0.1, GRID.shape)
    images = torch.from_numpy(pictures()).unsqueeze(1) / 255
    return {
        "unknot": unknot,
        "np": np,
        "objectives": objectives,
        "nets": nets,
        "codes": codes,
        "means": codes,
        "logvars": np.full(codes.shape, -4.0),
        "factors": GRID,
        "my_encoder": encoder()[:2],
        "array": pictures(),
        "images": images,
        "encoder": encoder(),
        "decoder": decoder(),
        "Encoder": encoder,
        "Decoder": decoder,
        "decode": decoder(),
        "X": rng.normal(size=(40, 5)),
        "loader": images.split(16),
        "my_vgg": nn.Sequential(*[nn.Conv2d(1, 1, 3, padding=1) for _ in range(10)]),
        "x": images[:4],
    }


def prepare(page):
    """Files and names that stand before the blocks of a page."""
    names = given(page)
    vae = objectives.VAE
    if page == "docs/run_folder.md":
        unknot.train("faces", vae(), nets.MLP(latents=4), out="runs/faces")
    if page in ("docs/training.md", "docs/losses.md", "docs/explorer.md", "docs/sharing.md"):
        words = {"split": {"kind": "rows", "test": 0.3}, "score_at": [2]}
        run = unknot.train("small.npz", vae(), nets.MLP(latents=4), out="runs/first", **words)
        names |= {"run": run, "another_run": run}
    if page in ("docs/sharing.md", "docs/reports.md"):
        words = {"objective": "vae", "net": nets.MLP(latents=4), "steps": 3, "batch": 8}
        grid = {"beta": [1, 4]} if page == "docs/reports.md" else {}
        words |= {"objective": "beta_vae"} if grid else {}
        names["study"] = unknot.study(
            "betas", data="small.npz", grid=grid, seeds=2, metrics=["mig"], **words
        )
        names["study"].run()
    if page == "docs/tables.md":
        names["array"] = np.random.default_rng(0).normal(size=(20, 2, 32))
        names["patients"] = list(range(10)) * 2
    if page == "docs/metrics.md":
        from unknot.core.objective import Net

        seeds = pd.DataFrame({"mig": [0.1, 0.2, 0.3, 0.25], "dci": [0.2, 0.3, 0.5, 0.4]})
        seeds = pd.concat([seeds, seeds + 0.1], ignore_index=True)
        seeds["objective"], seeds["dataset"] = "beta_vae", "dsprites"
        seeds["swept_value"], seeds["seed"] = [1.0] * 4 + [4.0] * 4, [0, 1, 2, 3] * 2
        to_means = encoder()
        names |= {"Net": Net, "encode": lambda x: Posterior(*to_means(x).chunk(2, -1))}
        names |= {"table": seeds, "mig_of_a": [0.1, 0.2, 0.15], "mig_of_b": [0.3, 0.35, 0.4]}
    return names


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if BLOCK.search(text)])
@pytest.mark.filterwarnings("ignore")
def test_python_of_a_page_runs_and_prints_what_it_says(page, folder, monkeypatch):
    module = types.ModuleType("blocks")  # with a file, so that classes in it have a source
    module.__file__ = str(folder / "blocks.py")
    monkeypatch.setitem(sys.modules, "blocks", module)
    names = module.__dict__
    names.update(prepare(page))
    monkeypatch.syspath_prepend(str(folder / "model"))
    for code, expected in BLOCK.findall(PAGES[page]):
        if any(call in code for call in NEED):
            continue
        for pattern, small in SMALLER:
            code = re.sub(pattern, small, code)
        importlib.invalidate_caches()  # a block may have written a module
        Path(module.__file__).write_text(code, encoding="utf-8")
        linecache.checkcache(module.__file__)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, module.__file__, "exec"), names)
        if expected:
            assert printed.getvalue() == expected
    sys.modules.pop("model", None)


def test_blocks_are_found_and_those_left_out_are_few():
    blocks = [code for text in PAGES.values() for code, _ in BLOCK.findall(text)]
    assert len(blocks) > 40
    left = [code for code in blocks if any(call in code for call in NEED)]
    assert len(left) == len(NEED)
