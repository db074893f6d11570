"""The table of GPU training is what the stored measurement gives."""

import importlib
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("benchmarks")


def test_the_page_has_the_table_of_the_stored_rows(script):
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert script.made(page) == page


def test_bytes_of_a_layer_by_hand(script):
    """The last layer: 4.19 MB in, 0.52 MB out and 1 kB of weights, in two bytes."""
    inputs, outputs, weights = 64 * 32**2 * 32 * 2, 64 * 64**2 * 2, 512 * 2
    lines = [line for line in script.bytes_of_a_step() if "64² × 1 |" in line]
    forward = inputs + outputs + weights
    # The weight's gradient reads both; the input's reads the output's, and the input as a mask.
    apart = forward + outputs + 2 * inputs + weights
    joint = 2 * inputs + outputs + 2 * weights
    assert lines == [
        f"| decoder 6: 32² × 32 → 64² × 1 | {forward / 1e6:.2f} | {apart / 1e6:.2f} | "
        f"{joint / 1e6:.2f} | {28 * 512 / 1e6:.2f} |"
    ]


def row(how, precision, rate, **other):
    return {
        "what": how, "how": how, "net": "conv64", "objective": "beta_vae", "precision": precision,
        "members": 1, "colour": False, "model-steps/s": rate, "GB": 0.25, **other,
    }  # fmt: skip


def test_ratios_are_to_both_baselines_of_the_same_run(script):
    rows = [
        row("plain", "float32", 100.0),
        row("graph", "bf16", 1000.0),
        row("kernels", "bf16", 20_000.0, members=64, **{"TFLOP/s": 12.5, "share of roofline": 0.4}),
        row("kernels", "bf16", 8_000.0, colour=True),
        {"what": "vmap conv64", "error": "OutOfMemoryError"},
    ]
    head, _, plain, graph, ours, colour, failed = script.lines({"rows": rows})
    columns = [cell.strip() for cell in head.strip("|").split("|")]
    assert columns[3:5] == ["× eager float32", "× compiled graph bf16"]
    assert plain.split("|")[4:6] == [" 1.0 ", " 0.1 "]
    assert graph.split("|")[1].strip() == "compiled, one CUDA graph, bf16"
    assert ours.split("|")[2:9] == [" **64** ", " **20,000** ", " 200 ", " 20 ", " 12 ", " 40 ",
                                    " 0.2 "]  # fmt: skip
    assert colour.split("|")[4:6] == ["  ", "  "]  # other images than the baselines'
    assert "vmap conv64" in failed


def test_the_file_says_what_it_was_measured_with(script):
    stored = json.loads(script.RUNS.read_text(encoding="utf-8"))
    needed = {"date", "device", "torch", "triton", "batch", "command", "roofline", "rows"}
    assert needed <= {*stored}
    assert {*stored["roofline"]} == {"bf16", "tf32", "float32", "bytes"}


def test_the_readme_has_the_ratios_of_the_stored_rows(script):
    rates = {
        (row["how"], row["members"], row["precision"]): row["model-steps/s"]
        for row in script.facts()["rows"]
        if "model-steps/s" in row
        and (row["net"], row["objective"], row["colour"]) == ("conv64", "beta_vae", False)
    }
    eager, ours = rates["plain", 1, "float32"], rates["kernels", 64, "bf16"]
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert (
        f"{rates['kernels', 64, 'float32'] / eager:.0f} × (float32); {ours / eager:.0f} × (bf16; "
        f"{ours / rates['plain', 1, 'bf16']:.0f} × a plain bf16 loop, "
        f"{ours / rates['graph', 1, 'bf16']:.0f} × one compiled in bf16 as a CUDA graph)"
    ) in readme
    assert f"to {eager:.0f} steps per second between runs" in readme
