"""Freeze the numbers of a small fixed set of runs, scores and pages, and compare them later.

    python tools/evidence.py freeze             # writes tools/evidence.json
    python tools/evidence.py check              # prints "identical", or what differs
    python tools/evidence.py check --part metrics

Weights are compared bit by bit, so the file holds for one kind of processor and one version of
PyTorch. On another machine, freeze an earlier commit first: run this script with PYTHONPATH set to
the ``src`` folder of its checkout, and ``--file`` for a file of its own.
"""

import argparse
import csv
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # another number of threads adds in another order

import numpy as np
import torch

import unknot
from unknot import FactorSpace, Representation, metrics
from unknot.core import registry

FILE = Path(__file__).with_name("evidence.json")
ARRAYS = Path(__file__).parents[1] / "../shared/reference/metrics"
PROTOCOLS = ("unknot", "study2019", "study2019_fast", "carbonneau", "paper")
STUDY = """
name = "evidence"
seeds = [0, 1, 2]
metrics = ["mig", "sap", "modularity", "irs", "active_units", "elbo", "factor_vae", "cbd"]

[train]
data = { name = "arrays", path = "squares.npz" }
net = { name = "ozcan_mlp", latents = 6 }
optim.lr = 1e-3
batch = 16
steps = 60
log_every = 20

[[grid]]
objective.name = "beta_vae"
objective.beta = [1, 4, 16]

[[grid]]
objective = { name = "beta_tcvae", beta = 4 }
"""
DECODER = """
name = "decoder"
metrics = ["elbo", "log_likelihood"]

[train]
data = { name = "arrays", path = "squares.npz" }
net = { name = "ozcan_mlp", latents = 6 }
objective = "vae"
optim.lr = 1e-3
batch = 16
steps = 20
"""
"""A study whose scores ask the decoder."""
RENAMED = {
    " own.": " extra.",
    "wasserstein_tc.normalised": "wasserstein_tc.normalized",
    "strengths.csv": "best-values.csv",
    "strength.csv": "swept-value.csv",
    " strength": " swept_value",
}
"""Names of format 1 in what was frozen, and what they are now. Ids have a table in the file."""
NUMBERS = re.compile(r"[-−±\d.,%]+( to [-−\d.]+)?")
"""Cells of a page that are compared: numbers and intervals."""
VOLATILE = ("seconds", "device", "version", "unknot", "machine")
"""Columns that two runs of the same study do not share."""


def digest(tensor: Any) -> str:
    """A tensor or array as a short hash of its type, shape and bytes."""
    array = np.ascontiguousarray(
        tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor
    )
    hashed = hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return hashed.hexdigest()[:16]


def weights() -> Iterator[tuple[str, Any]]:
    """Run ids, weights and curves: each objective with two seeds, each net, images of datasets."""
    from safetensors.torch import load_file

    def trained(name: str, **settings: Any) -> Iterator[tuple[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            unknot.train(out=out, device="cpu", log_every=10, **settings)
            status = json.loads((out / "status.json").read_text())
            yield f"{name} ids", [member["id"] for member in status["members"]]
            for tensor, value in sorted(load_file(out / "weights.safetensors").items()):
                yield f"{name} {tensor}", digest(value)
            rows = [*csv.DictReader(io.StringIO((out / "curves.csv").read_text()))]
            for column in sorted(rows[0]):
                yield f"{name} curve of {column}", short([row[column] for row in rows])

    for name in registry.names("objectives"):
        ramp = {
            "kind": "linear",
            "start": 0.0,
            "end": 25.0,
            "steps": 20,
        }  # its own takes 100,000 steps
        own = {"c": ramp} if name == "annealed_vae" else {}
        yield from trained(
            f"objective {name}", objective=name, seeds=[0, 1], steps=30, batch=16, **own
        )
    for name in ("conv64", "locatello", "mushom", "ozcan_cnn", "ozcan_mlp", "linear"):
        yield from trained(f"net {name}", objective="vae", net=name, steps=3, batch=8, seeds=[5])
    yield from images()


def images() -> Iterator[tuple[str, Any]]:
    """Some images of every dataset that needs no download."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        random = np.random.default_rng(0)
        painting, stored = Path(folder) / "painting.png", Path(folder) / "images.npz"
        Image.fromarray(random.integers(0, 256, (200, 300, 3), np.uint8)).save(painting)
        pixels = random.random((12, 8, 8, 3)).astype(np.float32)
        factors = np.indices((3, 4)).reshape(2, -1).T[::-1]
        np.savez(stored, images=pixels, factors=factors)
        paths = {"scream_dsprites": painting, "arrays": stored}
        for name in registry.names("datasets"):
            settings = {"path": str(paths[name])} if name in paths else {}
            try:
                dataset = unknot.dataset(name, **settings)
            except unknot.UnknotError:  # its files are not here
                continue
            rows = torch.arange(0, len(dataset), max(1, len(dataset) // 50))
            yield f"data {name}", digest(dataset.batch(rows))


def scores() -> Iterator[tuple[str, Any]]:
    """Every metric under every protocol: reference arrays, a small grid, several models."""

    def of(name: str, table: Any) -> Iterator[tuple[str, Any]]:
        for metric in table:
            score = table[metric]
            yield (
                f"{name} {metric}",
                {
                    "values": {k: repr(float(v)) for k, v in score.values.items()},
                    "ceiling": None if score.ceiling is None else repr(float(score.ceiling)),
                    "parts": {k: digest(v) for k, v in sorted(score.parts.items())},
                },
            )
        yield f"{name} skipped", sorted(table.skipped)

    for case in "ABC":
        given = np.load(ARRAYS / f"case_{case}.npz")
        codes, factors = given["codes_train"], given["factors_train"]
        logvar = np.log(0.01 + np.abs(codes[::-1]) / 10)
        for protocol in PROTOCOLS:
            few = slice(0, 1_000)
            table = metrics.evaluate(
                codes[few], factors[few], logvar=logvar[few], protocol=protocol
            )
            yield from of(f"arrays {case} {protocol}", table)
        for test in (None, (given["codes_test"], given["factors_test"])):
            names = ["sap", "mig", "explicitness", "modularity"]
            table = metrics.evaluate(codes, factors, metrics=names, test=test)
            yield from of(f"all rows {case} {'test' if test else 'split'}", table)
        for protocol in ("unknot", "paper"):
            udr = metrics.udr([*given["udr_codes"]], protocol=protocol)
            yield f"udr {case} {protocol}", {k: repr(float(v)) for k, v in udr.values.items()}
    space = FactorSpace(
        ("a", "b", "c", "d"), (3, 6, 8, 10), ("nominal", "ordered", "cyclic", "ordered")
    )
    factors = space.factors(torch.arange(space.size)).double()
    noise = torch.from_numpy(np.random.default_rng(7).normal(size=(space.size, 6)))
    codes = torch.cat(
        [
            factors
            @ torch.tensor(
                [[1.0, 0.1, 0, 0], [0, 1, 0.2, 0], [0, 0, 1, 0.3], [0.4, 0, 0, 1]]
            ).double(),
            noise[:, :2],
        ],
        1,
    )
    codes = (codes + 0.05 * noise).float()
    for protocol in PROTOCOLS:
        table = metrics.evaluate(Representation.whole(space, codes), protocol=protocol, seed=3)
        yield from of(f"grid {protocol}", table)
    interval = metrics.mig(codes.numpy(), factors.long().numpy(), interval=0.9)
    yield "interval mig", [repr(float(end)) for end in interval.interval]


class Cells(HTMLParser):
    """The text of a page's table cells."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.inside = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        if tag == "td":
            self.inside += 1
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag == "td"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.cells[-1] += data


def study() -> Iterator[tuple[str, Any]]:
    """A study from file to page: its table, the numbers on the page and the files beside it."""
    root = Path(tempfile.gettempdir()) / "unknot-evidence"  # the same each time: ids depend on it
    root.mkdir()
    try:
        (root / "evidence.toml").write_text(STUDY)
        factors = np.indices((6, 5, 4)).reshape(3, -1).T
        images = np.zeros((len(factors), 8, 8), np.uint8)
        for image, (row, column, shade) in zip(images, factors, strict=True):
            image[row : row + 3, column : column + 3] = 60 + 65 * shade
        np.savez(root / "squares.npz", images=images, factors=factors)

        def command(*words: str) -> None:
            subprocess.run(
                [sys.executable, "-m", "unknot", *words], cwd=root, check=True, capture_output=True
            )

        command(
            "study", "run", "evidence.toml", "--out", "study", "--device", "cpu", "--workers", "2"
        )
        command("study", "table", "study", "--csv", "runs.csv")
        command("report", "study", "--out", "page")
        command("report", "runs.csv", "--out", "plain")
        yield from numbers_of(root / "runs.csv", "table")
        (root / "decoder.toml").write_text(DECODER)
        command("study", "run", "decoder.toml", "--out", "decoder", "--device", "cpu")
        command("study", "table", "decoder", "--csv", "decoder.csv")
        yield from numbers_of(root / "decoder.csv", "decoder")
        for page in ("page", "plain"):
            parser = Cells()
            parser.feed((root / page / "index.html").read_text())
            cells = [" ".join(cell.split()) for cell in parser.cells]
            yield f"{page} cells", sorted(cell for cell in cells if NUMBERS.fullmatch(cell))
            for file in sorted((root / page).rglob("*.csv")):
                yield from numbers_of(file, f"{page} {file.name}")
    finally:
        shutil.rmtree(root)


def numbers_of(file: Path, name: str) -> Iterator[tuple[str, Any]]:
    """A CSV file by columns, without those that vary from run to run."""
    rows = [*csv.DictReader(io.StringIO(file.read_text()))]
    for column in rows[0] if rows else ():
        if column not in VOLATILE:
            yield f"{name} {column}", short([row[column] for row in rows])


def short(values: list[str]) -> list[str]:
    """A long list by its first values, its length and a hash of all."""
    if len(values) <= 16:
        return values
    return [*values[:4], f"{len(values)} values", digest(np.array([str(v) for v in values]))]


PARTS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "weights": weights,
    "metrics": scores,
    "study": study,
}


def machine() -> dict[str, str]:
    """What bits depend on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        cpu = next((line.split(": ")[1] for line in lines if line.startswith("model name")), cpu)
    return {"cpu": cpu, "torch": torch.__version__, "numpy": np.__version__}


def alone(value: Any, other: Any) -> Any:
    """Of two lists what only the first has; anything else as it is."""
    if isinstance(value, list) and isinstance(other, list):
        return [*(Counter(map(str, value)) - Counter(map(str, other))).elements()]
    return value


def renamed(facts: Any, ids: dict[str, str]) -> Any:
    """Facts of format 1 under the names and ids of today."""
    if isinstance(facts, dict):
        return {renamed(name, ids): renamed(value, ids) for name, value in facts.items()}
    if isinstance(facts, list):
        return [renamed(value, ids) for value in facts]
    if isinstance(facts, str):
        for old, new in RENAMED.items():
            facts = facts.replace(old, new)
        return ids.get(facts, facts)
    return facts


def main() -> int:
    """Freeze or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["freeze", "check"])
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--part", choices=[*PARTS], action="append")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    frozen = json.loads(asked.file.read_text()) if asked.file.exists() else {}
    if asked.what == "check" and frozen.get("machine") != machine():
        print(f"Frozen on {frozen.get('machine')}, this is {machine()}: bits may differ.")
    differences = 0
    for part in asked.part or PARTS:
        now = json.loads(json.dumps(dict(PARTS[part]())))
        if asked.what == "freeze":
            frozen[part] = now
            continue
        before = renamed(frozen[part], frozen["ids"])
        # A page may gain a table; it must not lose a number.
        wrong = [
            name
            for name in {**before, **now}
            if (
                alone(before.get(name), now.get(name))
                if name.endswith(" cells")
                else before.get(name) != now.get(name)
            )
        ]
        for name in wrong[:20]:
            print(f"{part}: {name}")
            for when, ours, theirs in (("before", before, now), ("now", now, before)):
                print(f"  {when:<7}{str(alone(ours.get(name), theirs.get(name)))[:300]}")
        print(f"{part}: {len(before)} facts, {len(wrong) or 'none'} differ")
        differences += len(wrong)
    if asked.what == "freeze":
        asked.file.write_text(
            json.dumps(
                {
                    "machine": machine(),
                    "ids": frozen.get("ids", {}),
                    **{p: frozen[p] for p in PARTS if p in frozen},
                },
                indent=0,
            )
        )
        return 0
    print("identical" if not differences else f"{differences} facts differ")
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
