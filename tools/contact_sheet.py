"""Make every figure of the catalogue once, from small data, and sheets to look at them all.

    python tools/contact_sheet.py --out build/figures
    python tools/contact_sheet.py --out build/figures figures show-dots

All takes about half an hour on two cores. Each step is a command of ours, or several; a step whose
folder is there is skipped. ``--again`` draws anew from what was trained. Files that cannot be
passed on have stand-ins in the same layout (`stand_ins.py`). Sheets show figures as they are,
on a dark page, and as colour-blind eyes see them (`views.py`). Says which texts of a figure overlap
or are cut off on a screen of 1280 pixels, and which warnings a user would have seen.
"""

import argparse
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "tools")]

from report.text_boxes import text_faults  # noqa: E402
from stand_ins import cars, chairs, faces, small_grids  # noqa: E402
from views import VIEWS, seen  # noqa: E402

from unknot.cli.main import app  # noqa: E402
from unknot.report import style  # noqa: E402

SMALL = "net.name=mlp steps=600 batch=32 log_every=20 lr=1e-3 --data {sprites}"
QUICK = "--quick net.name=mlp steps=60 batch=16 log_every=10 --workers 2"
TRAINED = {
    # Runs.
    "run-dots": "train objective=beta_vae beta=1 net=mlp latents=4 steps=1500 batch=32 lr=1e-3 "
    "--data {dots}",
    "run-factor": f"train objective=factor_vae score_every=50 {SMALL.replace('600', '200')}",
    "run-seeds": f"train objective=beta_vae --seeds 0..3 {SMALL}",
    "run-mdl": "train objective=mdl_vae net=ozcan_mlp latents=5 steps=300 batch=32 log_every=10 "
    "lr=1e-3 --data {sprites}",
    "run-ada": f"train objective=ada_gvae {SMALL}",
    "run-tvae": f"train objective=tvae {SMALL}",
    "run-table": "train objective=beta_vae steps=400 latents=3 --data {table}",
    "run-cars": "train data=cars3d objective=beta_vae beta=1 net=conv64 steps=600 batch=32 "
    "log_every=20 lr=1e-3 --set data.path={cars}",
    "run-chairs": "train data=chairs3d objective=dip_vae_i net=conv64 steps=600 batch=32 "
    "log_every=20 lr=1e-3 --set data.path={chairs}",
    "run-faces": "train data=celeba objective=dip_vae_i preset=kumar_celeba net=conv64 latents=12 "
    "steps=1000 batch=32 log_every=20 lr=1e-3 --set data.path={faces}",
    # Studies of the documents, short.
    "study-mushom": f"study run mushom2020 {QUICK} --seeds 0..2 --data {{sprites}} "
    "--metrics mig,beta_vae,factor_vae,elbo,kl_per_dimension,recon --score-every 20",
    "study-hartmann": f"study run hartmann2021 {QUICK.replace('60', '200')} --seeds 0..2 "
    "--data {sprites} --metrics mig,sap,dci,recon,efficiency",
    "study-kumar": f"study run kumar2018 {QUICK} --seeds 0,1 --data {{sprites}} "
    "--metrics sap,beta_vae,recon --protocol kumar",
    "study-ozcan": f"study run ozcan2024 {QUICK} --seeds 0,1 --score-every 20 --data {{sprites}} "
    "--metrics cbd,beta_vae,mig,explicitness,irs,sap,modularity",
    "study-michlo-e1": f"study run michlo2022_e1 {QUICK}",
    "study-michlo-e2": f"study run michlo2022_e2 {QUICK}",
    "study-michlo-e3": f"study run michlo2022_e3 {QUICK}",
    "study-michlo-e4": f"study run michlo2022_e4 {QUICK}",
    "study-michlo-e5": f"study run michlo2022_e5 {QUICK}",
    "study-michlo-e6": f"study run michlo2022_e6 {QUICK}",
    "study-michlo-e7": f"study run michlo2022_e7 {QUICK}",
    "study-michlo-e9": f"study run michlo2022_e9 {QUICK}",
    "study-michlo-e10": f"study run michlo2022_e10 {QUICK}",
    "study-michlo-e11": f"study run michlo2022_e11 {QUICK}",
    "kernels": "learn-loss --grid radius=15,31 --grid data.square=8,4 --steps 40 --batch 64",
}
"""Commands that train, by the folder that they leave; its ``--out`` is added."""
DRAWN = {
    "figures": "figures",
    **{
        f"show-{name}": f"show {{out}}/run-{name}"
        for name in ("dots", "seeds", "mdl", "ada", "tvae", "table", "cars", "chairs", "faces")
    },
    "show-factor": "evaluate {out}/run-factor --step all --metrics "
    "kl_per_dimension,active_units,mig,cbd@paper && show {out}/run-factor",
    "distances-ada": "distances {out}/run-ada",
    "distances-dots": "distances {out}/run-dots",
    "data-sprites": "data show {sprites}",
    "data-xysquares": "data show xysquares",
    "data-spacing": "data show xysquares --set spacing=4",
    "data-shaded": "data show xyobject_shaded",
    "data-scene3d": "data show scene3d",
    "data-dsprites": "data show dsprites",
    "data-pictures": "data show dsprites_imagenet",
    "apart-dots": "data distances {dots}",
    "apart-xysquares": "data distances xysquares --set spacing=4",
    "apart-shaded": "data distances xyobject_shaded",
    "blurs": "data blurs xysquares",
    "report-mushom": "report {out}/study-mushom --published mushom2020 "
    "--metrics mig,beta_vae,factor_vae,elbo,recon,kl",
    "report-posteriors": "report {out}/study-mushom --metrics kl_per_dimension.active,"
    "kl_per_dimension.squared_norm,kl_per_dimension.variance,mig",
    "report-hartmann": "report {out}/study-hartmann",
    "report-kumar": "report {out}/study-kumar --published kumar2018",
    "report-ozcan": "report {out}/study-ozcan --published ozcan2024",
    **{
        f"report-michlo-e{n}": f"report {{out}}/study-michlo-e{n}"
        for n in (1, 2, 3, 4, 6, 7, 9, 10, 11)
    },
    "report-michlo-e5": "report {out}/study-michlo-e5 --baseline {out}/study-michlo-e4:beta_vae "
    "--metrics mig,recon.lowest",
}
"""Commands that draw, likewise."""
ACROSS, THUMB, CAPTION = 5, (380, 300), 30
"""Of a sheet: pictures side by side, and pixels of each and of the name below it."""
DOWN = 6


class Watch:
    """What is wrong with the figures that are drawn meanwhile."""

    def __init__(self) -> None:
        self.faults: dict[str, list[str]] = {}
        self.checked = 0
        self._arrange = style.arrange

    def __enter__(self) -> "Watch":
        style.arrange = self.arrange
        return self

    def __exit__(self, *_: object) -> None:
        style.arrange = self._arrange

    def arrange(self, figure: Figure) -> None:
        """As of the style, and a look at the texts the first time."""
        first = figure.get_layout_engine() is not None
        self._arrange(figure)
        if first:
            self.checked += 1
            if faults := text_faults(figure):
                title = figure.get_suptitle() or next((a.get_title() for a in figure.axes), "")
                self.faults.setdefault(title, []).extend(faults)


def sprites(path: Path, *, shapes: int = 3, scales: int = 4, side: int = 64) -> Path:
    """A small grid of shapes: a square, a disc and a bar, of some sizes, at 8 x 8 places."""
    y, x = np.mgrid[:side, :side]
    images, places = [], [14 + 5 * i for i in range(8)]
    for shape, scale, row, column in np.ndindex(shapes, scales, 8, 8):
        reach = 5 + 1.5 * scale
        away_y, away_x = abs(y - places[row]), abs(x - places[column])
        inside = (
            np.maximum(away_y, away_x) < reach,
            np.hypot(away_y, away_x) < reach,
            (away_y < 0.45 * reach) & (away_x < 1.3 * reach),
        )[shape]
        images.append(255 * inside.astype(np.uint8))
    if not path.exists():
        np.savez(
            path,
            images=np.stack(images)[:, None],
            names=np.array(["shape", "scale", "y", "x"]),
            factors=np.array([*np.ndindex(shapes, scales, 8, 8)]),
        )
    return path


def table(path: Path) -> Path:
    """A table of six columns that three numbers move."""
    draws = np.random.default_rng(0)
    hidden = draws.normal(size=(600, 3))
    mixed = hidden @ draws.normal(size=(3, 6)) + 0.1 * draws.normal(size=(600, 6))
    lines = [",".join(f"{value:.4f}" for value in row) for row in mixed]
    path.write_text("\n".join(["height,width,depth,mass,heat,age", *lines]) + "\n", "utf-8")
    return path


def run(name: str, command: str, out: Path, data: dict[str, str]) -> str:
    """Run a command of ours; gives why it failed, or nothing."""
    *others, last = (shlex.split(part.format(out=out, **data)) for part in command.split("&&"))
    place = out / name / f"{name}.png" if last[:2] == ["data", "show"] else out / name
    place.parent.mkdir(exist_ok=True)
    said = StringIO()
    try:
        with redirect_stdout(said):
            for words in (*others, [*last, "--out", str(place)]):
                app(words, standalone_mode=False)
    except Exception as error:  # the other steps go on
        return f"{name}: {type(error).__name__} {error}"
    finally:
        (out / f"{name}.txt").write_text(said.getvalue(), "utf-8")
    return ""


def small(file: Path) -> Image.Image:
    """A picture of the size of a sheet; of a plot still one with a palette, as `seen` wants it."""
    picture = Image.open(file)
    thumb = picture.convert("RGB")
    thumb.thumbnail(THUMB)
    return thumb.quantize(256) if picture.mode == "P" else thumb


def sheets(pictures: Iterable[Path], out: Path, view: str) -> list[Path]:
    """All pictures in a view, small, with their names, on as many sheets as it takes."""
    files = sorted(pictures)
    pages = []
    for start in range(0, len(files), ACROSS * DOWN):
        chosen = files[start : start + ACROSS * DOWN]
        down = -(-len(chosen) // ACROSS)
        width, height = THUMB[0] + 10, THUMB[1] + CAPTION
        ink, paper = ("white", "#15171b") if view == "dark" else ("black", "white")
        page = Image.new("RGB", (ACROSS * width, down * height), paper)
        draw = ImageDraw.Draw(page)
        for i, file in enumerate(chosen):
            left, top = (i % ACROSS) * width, (i // ACROSS) * height
            page.paste(seen(small(file), view), (left, top))
            draw.text((left, top + THUMB[1]), str(file.relative_to(out))[-62:], fill=ink)
        pages.append(out / f"sheet-{view}-{start // (ACROSS * DOWN) + 1}.png")
        page.save(pages[-1])
    return pages


def main() -> None:
    """Train what is missing, draw what is missing, and lay it out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--views", default=",".join(VIEWS), help=f"Of {', '.join(VIEWS)}.")
    parser.add_argument("--again", action="store_true", help="Draw anew from what was trained.")
    parser.add_argument("names", nargs="*", help="Steps, or starts of their names; all if none.")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    dots = sprites(out / "dots.npz", shapes=1, scales=1)
    files = (sprites(out / "sprites.npz"), dots, table(out / "table.csv"))
    data = {path.stem: str(path) for path in files}
    data |= {"cars": str(cars(out)), "chairs": str(chairs(out)), "faces": str(faces(out / "faces"))}
    small_grids()
    failures = []
    with Watch() as watch, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for name, command in {**TRAINED, **DRAWN}.items():
            folder = out / name
            if options.names and not name.startswith(tuple(options.names)):
                continue
            if options.again and name in DRAWN and folder.exists():
                shutil.rmtree(folder)
            if not folder.exists():
                print(name, flush=True)
                failures.append(run(name, command, out, data))
    pictures = [p for name in ("kernels", *DRAWN) for p in (out / name).rglob("*.png")]
    for view in options.views.split(","):
        print(*sheets(pictures, out, view), sep="\n")
    print(f"{watch.checked} figures checked for their texts.")
    for title, faults in watch.faults.items():
        print(f"{title}: {'; '.join(faults)}")
    for text in sorted({f"{w.category.__name__}: {w.message} ({w.filename})" for w in seen}):
        print(text)
    if wrong := [failure for failure in failures if failure]:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
