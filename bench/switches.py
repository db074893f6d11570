"""New ways of computing on a GPU, checked and measured beside the old, within some minutes.

    PYTHONPATH=src python bench/switches.py --seconds 560 [--out FOLDER] [--parts check,agree,...]

Parts, the most important first; ``switches.json`` is written after each of them, so that what is
cut off loses nothing that was measured before. ``gpu.json`` beside it is that of the table.

========= =========================================================================================
environ   versions, and which packages are missing
check     new kernels against float64 at full size: errors, repeatability (``bench/kernels.py``)
agree     losses of 50 steps, old and new ways, in each precision; a population beside one model
tune      block sizes of the joint kernels, used by the parts behind it
switch    model-steps per second, old and new in turn, for several populations
first     seconds to the first step, with an empty cache and a full one, old and new
table     ``bench/gpu.py`` with the ways named by ``--switches``
========= =========================================================================================

``bench/switches.sh`` runs it where packages are missing. The folder is ``build/switches`` unless
named. On a CPU, ``--tiny`` tries the parts that need no GPU.
"""

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from gpu import versions
from populations import bits

from unknot.core import registry
from unknot.core.optim import Adam
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.kernels.configs import TUNED, Config, Shape
from unknot.engine.kernels.switches import Switches, switches
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked

PARTS = {"environ": 5, "check": 110, "agree": 150, "tune": 120, "switch": 240, "first": 150,
         "table": 440}  # fmt: skip
"""Seconds that each may take."""
PACKAGES = ("numpy", "scipy", "sklearn", "jaxtyping", "safetensors", "pydantic", "typer", "rich",
            "PIL", "matplotlib", "jinja2", "filelock", "pandas", "platformdirs", "tomlkit",
            "pytest", "hypothesis", "triton")  # fmt: skip
NAMES = tuple(vars(Switches()))
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Trials:
    """Where results go, and what is known so far."""

    out: Path
    end: float
    tiny: bool
    switches: str
    work: Path
    """Files of the scripts that it calls; what they hold goes into the one file of results."""
    facts: dict[str, object]

    @property
    def device(self) -> str:
        return "cpu" if self.tiny else "cuda"

    def left(self, most: float) -> float:
        return min(most, self.end - time.perf_counter())

    def keep(self, name: str, facts: object) -> None:
        self.facts[name] = facts
        text = json.dumps(self.facts, indent=1, default=str)
        (self.out / "switches.json").write_text(text, encoding="utf-8")

    def script(self, name: str, *words: str, most: float) -> dict[str, object]:
        """Another benchmark; the end of what it says is kept where it fails."""
        command = [sys.executable, str(HERE / name), *words]
        try:
            done = subprocess.run(
                command, timeout=self.left(most), capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired as error:
            said = error.stdout or b""
            return {"out of time": (said if isinstance(said, str) else said.decode())[-3000:]}
        print(done.stdout[-6000:], flush=True)
        return {"exit": done.returncode, "stderr": done.stderr[-3000:]} if done.returncode else {}


def turn(names: str) -> None:
    """Set the switches that are named, by commas, and unset the others."""
    for name in NAMES:
        setattr(switches, name, name in names.split(","))


def population(
    trials: Trials,
    members: int,
    precision: str,
    names: str,
    *,
    objective: str = "beta_vae",
    channels: int = 1,
    lr: float = 1e-4,
    first: int = 0,
) -> Stacked:
    """Models of the seeds from ``first`` on, made and warmed up with some switches."""
    turn(names)
    where = runtime(trials.device, precision)
    data = bits(64 if trials.tiny else 20_000, channels).to(where.device)
    loss = registry.get("objectives", objective)()
    each = [Member(s, loss, Adam(lr=lr)) for s in range(first, first + members)]
    net = registry.get("nets", "conv64")()
    return Stacked.fresh(Context(data, net, 4 if trials.tiny else 64, where), each)


def environ(_: Trials) -> object:
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    return {**versions(), "missing": missing}


def check(trials: Trials) -> object:
    """Layers by `kernels.py`; the loss by its test's comparison; Adam by that of `flat.py`'s."""
    if trials.tiny:
        return "needs a GPU"
    file = trials.work / "check_layers.json"
    facts: dict[str, object] = {}
    said = trials.script(
        "kernels.py", "--parts", "check", "--switches", "joint_backward", "--json", str(file),
        most=PARTS["check"],
    )  # fmt: skip
    facts["layers"] = {**_read(file), **said}
    root = HERE.parent
    if importlib.util.find_spec("pytest") and importlib.util.find_spec("hypothesis"):
        files = [
            str(root / "tests" / "engine" / f"test_kernel_{n}.py") for n in ("adam", "bernoulli")
        ]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
            cwd=root, capture_output=True, text=True, check=False, timeout=trials.left(120),
        )  # fmt: skip
        facts["tests"] = done.stdout[-3000:]
        print(done.stdout[-1500:])
    return facts


def agree(trials: Trials) -> object:
    """Losses after each ten of 50 steps: how far the new ways are from the old one, at most."""
    facts: dict[str, object] = {}
    for precision in ("float32",) if trials.tiny else ("float32", "tf32", "bf16"):
        curves: dict[str, list[torch.Tensor]] = {}
        for names in ("", *NAMES, ",".join(NAMES)):
            if trials.left(1e9) < 5:
                return facts
            models = population(trials, 3, precision, names, lr=1e-3)
            curves[names or "old"] = _curve(models, trials)
        turn(",".join(NAMES))
        alone = population(trials, 1, precision, ",".join(NAMES), lr=1e-3, first=1)
        lone = _curve(alone, trials)
        together = [loss[1:2] for loss in curves[",".join(NAMES)]]
        again = population(trials, 3, precision, ",".join(NAMES), lr=1e-3)
        same = all(
            torch.equal(a, b)
            for a, b in zip(_curve(again, trials), curves[",".join(NAMES)], strict=True)
        )
        row = {name: _apart(curves["old"], losses) for name, losses in curves.items()}
        facts[precision] = {
            "from the old way": row,
            "alone from together": _apart(lone, together),
            "repeats bit for bit": same,
            "losses, old": [loss.tolist() for loss in curves["old"]],
            "losses, new": [loss.tolist() for loss in curves[",".join(NAMES)]],
        }
        print(precision, row, facts[precision]["alone from together"], same, flush=True)
        trials.keep("agree", facts)
    return facts


def _curve(models: Stacked, trials: Trials) -> list[torch.Tensor]:
    each = 2 if trials.tiny else 10
    return [models.advance(start, each)["loss"].cpu() for start in range(0, 5 * each, each)]


def _apart(old: list[torch.Tensor], new: list[torch.Tensor]) -> float:
    return max(float(((b - a) / a).abs().max()) for a, b in zip(old, new, strict=True))


def _read(file: Path) -> dict[str, object]:
    """What a script wrote, if it came so far."""
    text = file.read_text(encoding="utf-8") if file.exists() else "{}"
    found: dict[str, object] = json.loads(text)
    return found


def tune(trials: Trials) -> object:
    if trials.tiny:
        return "needs a GPU"
    file = trials.work / "tune_joint.json"
    seconds = trials.left(PARTS["tune"])
    said = trials.script(
        "kernels.py", "--parts", "tune", "--only", "joint", "--switches", "joint_backward",
        "--seconds", str(int(seconds) - 15), "--json", str(file), most=seconds,
    )  # fmt: skip
    return {**_read(file), **said}


def use_tuned(trials: Trials) -> None:
    """Block sizes that an earlier part found."""
    rows = _read(trials.work / "tune_joint.json").get("tune", {})
    for row in rows.values() if isinstance(rows, dict) else ():
        TUNED[Shape(**row["shape"])] = Config(**row["best"])


def switch(trials: Trials) -> object:
    """Rates in turn: each round takes half a second of the old way and of each new one."""
    use_tuned(trials)
    ways = ("", *NAMES, ",".join(NAMES))
    cases = [(64, "bf16", "beta_vae", 1), (1, "bf16", "beta_vae", 1), (64, "bf16", "beta_vae", 3),
             (64, "bf16", "factor_vae", 1), (8, "bf16", "beta_vae", 1), (64, "tf32", "beta_vae", 1),
             (64, "float32", "beta_vae", 1)]  # fmt: skip
    rows: list[dict[str, object]] = []
    for members, precision, objective, channels in cases[:1] if trials.tiny else cases:
        if trials.left(1e9) < 40 and not trials.tiny:
            break
        members = min(members, 2) if trials.tiny else members
        models, warm = {}, {}
        for names in ways if channels == 1 and objective == "beta_vae" else (ways[0], ways[-1]):
            began = time.perf_counter()
            models[names] = population(
                trials, members, precision, names, objective=objective, channels=channels
            )
            models[names].advance(0, 3)
            _wait(trials)
            warm[names or "old"] = time.perf_counter() - began
        steps = {names: _pace(m, trials) for names, m in models.items()}
        rates: dict[str, list[float]] = {names: [] for names in models}
        for _ in range(2 if trials.tiny else 7):
            for names, m in models.items():
                rates[names].append(members * steps[names] / _timed(m, steps[names], trials))
        old = rates[""]
        row: dict[str, object] = {
            "members": members, "precision": precision, "objective": objective,
            "channels": channels, "warm-up s": warm,
            "model-steps/s": {n or "old": statistics.median(r) for n, r in rates.items()},
            "by the old way": {
                n: statistics.median([b / a for a, b in zip(old, r, strict=True)])
                for n, r in rates.items() if n
            },
            "rounds": {n or "old": r for n, r in rates.items()},
        }  # fmt: skip
        rows.append(row)
        print({k: v for k, v in row.items() if k != "rounds"}, flush=True)
        trials.keep("switch", rows)
        models.clear()
        if not trials.tiny:
            torch.cuda.empty_cache()
    return rows


def _pace(models: Stacked, trials: Trials) -> int:
    """Steps of half a second."""
    if trials.tiny:
        return 1
    return max(5, int(0.5 * 20 / _timed(models, 20, trials)))


def _timed(models: Stacked, steps: int, trials: Trials) -> float:
    _wait(trials)
    began = time.perf_counter()
    models.advance(0, steps)
    _wait(trials)
    return time.perf_counter() - began


def _wait(trials: Trials) -> None:
    if not trials.tiny:
        torch.cuda.synchronize()


def first(trials: Trials) -> object:
    rows: dict[str, object] = {}
    size = (
        ["--members=2", "--batch=4", "--precision=float32", "--device=cpu"] if trials.tiny else []
    )
    for names in ("", ",".join(NAMES)):
        file = trials.work / f"first_{'new' if names else 'old'}.json"
        words = [*size, f"--switches={names}", "--json", str(file)]
        said = trials.script("first_step.py", *words, most=PARTS["first"] / 2)
        rows[names or "old"] = {**_read(file), **said}
    return rows


def table(trials: Trials) -> object:
    file, seconds = trials.out / "gpu.json", trials.left(PARTS["table"])
    words = ["--tiny", "--only", "float32 1"] if trials.tiny else []
    return trials.script(
        "gpu.py", *words, "--seconds", "0.02" if trials.tiny else "1", "--limit",
        str(int(seconds) - 20), "--switches", trials.switches, "--json", str(file), most=seconds,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=560.0)
    parser.add_argument("--out", type=Path, default=Path("build/switches"))
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--switches", default="", help="of the table")
    parser.add_argument("--tiny", action="store_true", help="next to nothing, on a CPU")
    options = parser.parse_args()
    if not options.tiny and not torch.cuda.is_available():
        sys.exit("This benchmark needs a CUDA device.")
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.perf_counter() + options.seconds
    work = Path(tempfile.mkdtemp())
    trials = Trials(options.out, end, options.tiny, options.switches, work, {})
    parts: dict[str, Callable[[Trials], object]] = {
        "environ": environ, "check": check, "agree": agree, "tune": tune, "switch": switch,
        "first": first, "table": table,
    }  # fmt: skip
    for name in options.parts.split(","):
        began = time.perf_counter()
        if trials.left(1e9) < 5:
            print(f"{name}: out of time")
            continue
        try:
            trials.keep(name, parts[name](trials))
        except Exception:
            print(name, "FAILED", traceback.format_exc())
            trials.keep(f"{name}_failed", traceback.format_exc())
        print(f"[{name}: {time.perf_counter() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
