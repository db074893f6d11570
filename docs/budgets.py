"""The tables of what studies take on H200 GPUs, in ``docs/studies.md`` and ``docs/benchmarks.md``.

```
PYTHONPATH=src python docs/budgets.py
```
"""

from collections.abc import Iterator
from pathlib import Path

from places import filled

from unknot.studies.budget import PRECISIONS, Budget, budget
from unknot.studies.file import presets
from unknot.studies.file.study_file import read_study
from unknot.studies.gpu_rates import measured_on
from unknot.studies.plan import plan

DOCS = Path(__file__).parent
LARGE, GPUS = "hartmann2021", (1, 8, 64)
LEFT_OUT = "quickstart"


def of_preset(name: str, gpus: int = 1) -> Budget:
    """What a preset takes."""
    return budget(plan(read_study(Path(name))), gpus)


def preset_lines() -> Iterator[str]:
    """A row for each preset on one GPU."""
    yield f"| preset | {' | '.join(PRECISIONS)} | of that in bf16, scores after training |"
    yield "|---" * (len(PRECISIONS) + 2) + "|"
    for name in presets.names():
        if name == LEFT_OUT:
            continue
        found = of_preset(name)
        hours = " | ".join(f"{found.seconds[p] / 3_600:,.1f} h" for p in PRECISIONS)
        share = found.parts["bf16"].scores / found.seconds["bf16"]
        yield f"| `{name}` | {hours} | {100 * share:.0f} % |"


def gpu_lines() -> Iterator[str]:
    """A row for each number of GPUs and precision: hours, and what GPUs do in them."""
    yield "| GPUs | precision | hours | training | starts | scores after training | waiting |"
    yield "|---" * 7 + "|"
    for count in GPUS:
        found = of_preset(LARGE, count)
        for precision in PRECISIONS:
            seconds, parts = found.seconds[precision], found.parts[precision]
            idle = max(0.0, seconds * count - parts.seconds)
            each = [parts.training, parts.starts, parts.scores, idle]
            shares = " | ".join(f"{100 * part / seconds / count:.1f} %" for part in each)
            hours = f"{seconds / 3_600:,.1f}"
            cells = f"{count} | {precision} | {hours} | {shares}"
            yield f"| {cells} |"
    yield f"\nRates: {measured_on()}."


def made(name: str, page: str) -> str:
    """A page with its table."""
    lines = {"studies": preset_lines, "benchmarks": gpu_lines}[name]
    return filled(page, {{"studies": "budgets", "benchmarks": "gpus"}[name]: "\n".join(lines())})


def main() -> None:
    """Fill in the pages."""
    for name in ("studies", "benchmarks"):
        file = DOCS / f"{name}.md"
        file.write_text(made(name, file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
