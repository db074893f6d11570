"""The page on four tables of Michlo 2022 is that of its file, and the file of what is printed."""

import pytest
from scripts import script


@pytest.fixture(scope="module")
def page():
    return script("docs/michlo_distances.py")


def test_the_page_is_that_of_the_file(page):
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.made(text) == text, "run: python docs/michlo_distances.py"


def test_the_file_has_every_printed_value_once(page):
    def key(row):
        return row[:7]

    assert sorted(map(key, page.rows())) == sorted(map(key, page.printed()))


def test_one_measurement_is_near_the_file(page):
    """Of spacing 1 no square overlaps less than its neighbour: distances are exact."""
    values = page.measured("xysquares 1", "gaussian", 0)
    stored = [row for row in page.rows() if (row.data, row.loss) == ("xysquares 1", "gaussian")]
    assert len(stored) == 2
    for row in stored:
        assert values[row.factor, row.quantity] == pytest.approx(row.ours, abs=1e-6)


@pytest.mark.parametrize(
    ("published", "ours", "sd", "agrees"),
    [(0.52, 0.5249, 0.0, True), (0.52, 0.5251, 0.0, False), (0.52, 0.54, 0.01, True)],
)
def test_what_agrees(page, published, ours, sd, agrees):
    row = page.Row("4.2", "xysquares 8", "x", "box", "rank", published, 2, ours, sd)
    assert row.agrees is agrees
