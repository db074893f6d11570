"""Tables of Michlo 2022: parts, numbers by any number of workers, and the page of its file."""

import pytest
from scripts import script

michlo = script("docs/michlo_distances.py")


def test_the_page_is_that_of_the_file():
    assert michlo.PAGE.read_text(encoding="utf-8") == michlo.made()


def test_the_file_has_every_printed_value_once():
    def key(row):
        return row[:7]

    assert sorted(map(key, michlo.rows())) == sorted(map(key, michlo.printed()))


def test_a_small_measurement_is_near_the_file(monkeypatch):
    monkeypatch.setattr(michlo, "TRAVERSALS", 64)
    monkeypatch.setattr(michlo, "PAIRS", 2_048)
    values = michlo.measured("xysquares 1", "gaussian", 0)
    stored = [row for row in michlo.rows() if (row.data, row.loss) == ("xysquares 1", "gaussian")]
    assert len(stored) == 2
    for row in stored:
        assert values[row.factor, row.quantity] == pytest.approx(row.ours, abs=0.01)


def test_every_printed_value_has_its_parts():
    places = {(row.data, row.loss) for row in michlo.printed()}
    assert {part[:2] for part in michlo.PARTS} == places
    assert len(set(michlo.PARTS)) == 5 * len(places) == 95
    files = {part.file(michlo.PAGE.parent) for part in michlo.PARTS}
    assert len(files) == len(michlo.PARTS)


@pytest.mark.parametrize(
    ("published", "ours", "sd", "agrees"),
    [(0.52, 0.5249, 0.0, True), (0.52, 0.5251, 0.0, False), (0.52, 0.54, 0.01, True)],
)
def test_what_agrees(published, ours, sd, agrees):
    row = michlo.Row("4.2", "xysquares 8", "x", "box", "rank", published, 2, ours, sd)
    assert row.agrees is agrees


def test_the_page_of_stored_parts(tmp_path, monkeypatch):
    """Seeds 0 to 4 store 0.00, 0.01 .. 0.04 for everything: a mean of 0.02."""
    places = {(row.factor, row.quantity) for row in michlo.printed()}
    for part in michlo.PARTS:
        lines = [
            {"factor": factor, "quantity": quantity, "value": part.seed / 100}
            for factor, quantity in places
        ]
        part.file(tmp_path).write_text(michlo.csv_text(lines))
    rows = list(michlo.joined(tmp_path))
    assert {round(row.ours, 9) for row in rows} == {0.02}
    assert all(row.sd == pytest.approx(0.0158, abs=1e-4) for row in rows)
    monkeypatch.setattr(michlo, "RUNS", tmp_path / "all.csv")
    michlo.RUNS.write_text(michlo.csv_text([row._asdict() for row in rows], michlo.Row._fields))
    page = michlo.made()
    assert "| dsprites, pos_y | 0.0200 (0.0584) **≠** | 0.0200 (0.0378) |" in page
    assert "{" not in page
