"""The tables of ``docs/benchmarks.md`` that come from stored measurements, in ``docs/benchmarks/``.

```
PYTHONPATH=src python bench/gpu.py --json docs/benchmarks/gpu.json
python docs/benchmarks.py
```

The page's own words stay; what stands between ``<!-- gpu -->`` and ``<!-- end -->`` is replaced,
and so is the table of bytes, which ``bench/roofline.py`` counts. The rates that `unknot study plan
--budget` takes are written, too.
"""

import importlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from places import filled

from unknot.nets.conv64 import Conv64

PAGE = Path(__file__).parent / "benchmarks.md"
RUNS = PAGE.with_suffix("") / "gpu.json"
RATES = PAGE.parents[1] / "src" / "unknot" / "studies" / "gpu_rates.json"
WORDS = {
    "plain": "plain eager",
    "graph": "compiled, one CUDA graph",
    "vmap": "`vmap`, compiled, one CUDA graph",
    "processes": "compiled, one CUDA graph, a process each",
    "windows": "without kernels",
}
LEAD = {"how": "kernels", "members": 64, "precision": "bf16", "net": "conv64"}

Row: TypeAlias = Mapping[str, Any]


def facts() -> dict[str, Any]:
    """What was measured last."""
    stored: dict[str, Any] = json.loads(RUNS.read_text(encoding="utf-8"))
    return stored


def what(row: Row) -> str:
    """A row in words.

    Example:
        >>> what({"how": "kernels", "net": "conv64", "precision": "bf16", "objective": "tvae",
        ...       "colour": True})
        'stacked conv64, bf16, `tvae`, 3 × 64 × 64'
    """
    parts = [WORDS.get(row["how"], f"stacked {row['net']}"), row["precision"]]
    if row["objective"] != "beta_vae":
        parts.append(f"`{row['objective']}`")
    return ", ".join([*parts, "3 × 64 × 64"] if row["colour"] else parts)


def baselines(rows: list[Row]) -> Iterator[tuple[str, float]]:
    """What rates are divided by: the head of a column and one model's rate, in float32 or bf16."""
    for how, precision, head in (
        ("plain", "float32", "× eager float32"),
        ("graph", "bf16", "× compiled graph bf16"),
    ):
        for row in rows:
            if (row["how"], row["precision"], row["colour"]) == (how, precision, False):
                yield head, row["model-steps/s"]
                break


def lines(stored: Mapping[str, Any]) -> Iterator[str]:
    """The table; rows that failed are named below it."""
    rows = [row for row in stored["rows"] if "model-steps/s" in row]
    columns = [*baselines(rows)]
    heads = ["what", "models", "model-steps/s", *(head for head, _ in columns)]
    heads += ["TFLOP/s", "% of roofline", "GB"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        rate = row["model-steps/s"]
        cells = [what(row), str(row["members"]), f"{rate:,.0f}"]
        if all(row.get(key) == value for key, value in LEAD.items()) and cells[0].count(",") == 1:
            cells = [f"**{cell}**" for cell in cells]
        cells += ["" if row["colour"] else _ratio(rate / base) for _, base in columns]
        if "TFLOP/s" in row:
            flops, share = row["TFLOP/s"], row["share of roofline"]
            cells += [f"{flops:.1f}" if flops < 10 else f"{flops:.0f}", f"{100 * share:.0f}"]
        else:
            cells += ["", ""]
        yield f"| {' | '.join([*cells, format(row['GB'], '.1f')])} |"
    failed = [row["what"] for row in stored["rows"] if "error" in row]
    if failed:
        yield f"\nNot measured, because they failed: {', '.join(failed)}."


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 9.5 else f"{ratio:.0f}"


def bytes_of_a_step() -> Iterator[str]:
    """The table of what a step of one model moves, layer by layer: conv64, 64 images, bf16."""
    sys.path.append(str(PAGE.parents[1] / "bench"))
    rows = importlib.import_module("roofline").traffic(Conv64(), (1, 64, 64), 64, 2)
    yield "| layer | forward | gradients, two kernels | gradients, one kernel | Adam |"
    yield "|---" * 5 + "|"
    for row in rows:
        numbers = [row.forward, row.apart, row.joint if row.joins else None, row.adam]
        yield f"| {row.name} | {' | '.join(_megabytes(n) for n in numbers)} |"
    columns = zip(*((r.forward, r.apart, r.joint, r.adam) for r in rows), strict=True)
    forward, apart, joint, adam = (sum(column) for column in columns)
    sums = " | ".join(_megabytes(n) for n in (forward, apart, joint, adam))
    yield f"| **all** | {sums} |"
    yield (
        f"\nAll of it is {_megabytes(forward + apart + adam)} MB with two kernels and "
        f"{_megabytes(forward + joint + adam)} MB with one where there is one."
    )


def _megabytes(count: float | None) -> str:
    return "–" if count is None else f"{count / 1e6:.2f}"


def rates(stored: Mapping[str, Any]) -> dict[str, Any]:
    """What budgets of studies rest on: our own rates, and when they were measured on what."""
    keys = ("net", "objective", "precision", "members", "colour")
    rows = [
        {**{key: row[key] for key in keys}, "steps": round(row["model-steps/s"], 1)}
        for row in stored["rows"]
        if row["how"] == "kernels" and "model-steps/s" in row
    ]
    return {"device": stored["device"], "date": stored["date"], "rows": rows}


def rates_text(stored: Mapping[str, Any]) -> str:
    """The file of rates, a line for each."""
    found = rates(stored)
    lines = ",\n".join(f"  {json.dumps(row)}" for row in found.pop("rows"))
    head = json.dumps(found)[:-1]
    return f'{head}, "rows": [\n{lines}\n]}}\n'


def made(page: str) -> str:
    """The page with its tables."""
    return filled(page, {"gpu": "\n".join(lines(facts())), "bytes": "\n".join(bytes_of_a_step())})


def main() -> None:
    """Fill in the page, and write the rates."""
    RATES.write_text(rates_text(facts()), encoding="utf-8")
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
