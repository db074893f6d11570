"""Check what a release would publish: build it twice, install it alone, and use it.

    python tools/release.py [--without-address] [--out dist]

Builds the wheel and the source archive twice and compares their bytes, looks at size and metadata,
installs the wheel in a new environment for every Python of `PYTHONS` that is there, and runs a
smoke test and the short demo with it. It refuses to build without the public address of the
repository, below which the links of the README lie, unless told otherwise.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13")
LARGEST_WHEEL = 2_000_000
SMOKE = """
import numpy, unknot
from unknot import metrics
factors = numpy.indices((5, 6)).reshape(2, -1).T.repeat(10, 0)
assert metrics.mig(factors + 0.0, factors) > 0.9
run = unknot.train(data="xysquares", objective="vae", steps=3, batch=4)
assert run.encode(numpy.zeros((2, 3, 64, 64), "uint8")).shape[0] == 2
"""


def public_address(project: str) -> str:
    """Where the repository is public, by the text of ``pyproject.toml``; empty if nowhere yet."""
    hook = tomllib.loads(project)["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    return str(hook["address"])


def wheel_faults(wheel: Path, address: str) -> list[str]:
    """What is wrong with a wheel, a sentence each."""
    faults = []
    if wheel.stat().st_size > LARGEST_WHEEL:
        faults.append(
            f"{wheel.name} has {wheel.stat().st_size:,} bytes; at most {LARGEST_WHEEL:,}."
        )
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(
            next(n for n in names if n.endswith(".dist-info/METADATA"))
        ).decode()
    if "unknot/py.typed" not in names:
        faults.append("The wheel has no py.typed: type checkers would ignore its types.")
    if strangers := sorted({n.split("/")[0] for n in names} - {"unknot"}):
        other = [name for name in strangers if not name.endswith(".dist-info")]
        faults += [f"The wheel has {name} beside the package." for name in other]
    head, _, description = metadata.partition("\n\n")
    if "Description-Content-Type: text/markdown" not in head or not description.strip():
        faults.append("The README is not the long description.")
    relative = re.findall(r"\]\((?!https?:|#|mailto:)([^)]+)\)", description)
    if address and relative:
        faults.append(f"The long description has relative links, such as {relative[0]}.")
    return faults


def main() -> None:
    """Build, look, install and use; leaves what was built in a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without-address", action="store_true", help="build without the address")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    address = public_address((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if not address and not options.without_address:
        sys.exit(
            "The public address of the repository is empty: set `address` under "
            "[tool.hatch.metadata.hooks.custom] in pyproject.toml, or add --without-address."
        )
    with tempfile.TemporaryDirectory() as folder:
        built, again = (_build(Path(folder) / name) for name in ("first", "second"))
        if _digests(built) != _digests(again):
            sys.exit("Two builds of the same tree differ.")
        shutil.rmtree(options.out, ignore_errors=True)
        shutil.copytree(built, options.out)
        (wheel,) = options.out.glob("*.whl")
        if faults := wheel_faults(wheel, address):
            sys.exit("\n".join(faults))
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, built twice alike")
        pythons = [name for name in PYTHONS if _works(name)]
        for python in pythons:
            _use(wheel, python, Path(folder) / python)
    missing = [name for name in PYTHONS if name not in pythons]
    print(f"Tried with {', '.join(pythons)}; not there: {', '.join(missing) or 'none'}.")


def _build(out: Path) -> Path:
    """The wheel and the source archive of the tree, by a new environment."""
    _run([sys.executable, "-m", "venv", str(out / "env")])
    python = str(out / "env" / "bin" / "python")
    _run([python, "-m", "pip", "install", "--quiet", "hatchling>=1.25"])
    dist = out / "dist"
    targets = ["-t", "sdist", "-t", "wheel"]
    _run([python, "-m", "hatchling", "build", *targets, "-d", str(dist)], cwd=ROOT)
    return dist


def _works(python: str) -> bool:
    """Whether a Python is there; a version manager may have names for some that are not."""
    path = shutil.which(python)
    return path is not None and subprocess.run([path, "--version"], check=False).returncode == 0


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("unknot-*")
    }


def _use(wheel: Path, python: str, folder: Path) -> None:
    """Install the wheel alone, outside of the tree, and use it."""
    _run([python, "-m", "venv", str(folder)])
    inside = str(folder / "bin" / "python")
    pins = str(ROOT / "constraints.txt")
    _run([inside, "-m", "pip", "install", "--quiet", "-c", pins, str(wheel)])
    start = time.monotonic()
    _run([inside, "-c", SMOKE], cwd=folder)
    smoke, start = time.monotonic() - start, time.monotonic()
    _run([str(folder / "bin" / "unknot"), "demo", "--quick", "--device", "cpu"], cwd=folder)
    demo = time.monotonic() - start
    print(f"{python}: smoke test {smoke:.0f} s, demo --quick {demo:.0f} s")


def _run(command: Sequence[str], cwd: Path | None = None) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


if __name__ == "__main__":
    main()
