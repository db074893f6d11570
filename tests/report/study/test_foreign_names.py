"""Names in a table from elsewhere stay names: no file is written outside the report's folder."""

from pathlib import Path

import pytest

from unknot.report.study.page import report

NAMES = ("../../../x", "/elsewhere/mine", "..", "β = 4", "x" * 65, "a\\b:", " ")


def table(path: Path, name: str) -> Path:
    rows = [
        f'"{data}","{objective}",{seed},{0.1 * seed + 0.01 * len(data)}'
        for data in (name, "dsprites")
        for objective in (name, "vae")
        for seed in range(3)
    ]
    path.write_text("\n".join(["data,objective,seed,mig", *rows]))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_files_stay_in_the_folder(tmp_path, name):
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    source = table(inner / "runs.csv", name)
    files = report(source, inner / "page", say=lambda _: None)
    written = {path for path in tmp_path.rglob("*") if path.is_file()} - {source}
    assert written
    assert all(path.is_relative_to(inner / "page") for path in written)
    assert {path.resolve() for path in files} <= {path.resolve() for path in written}
    assert not Path("/elsewhere").exists()
