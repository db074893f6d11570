"""What ``unknot evaluate`` says while scores wait for codes."""

import pytest

from unknot.cli import score_meter
from unknot.cli.score_meter import ScoreMeter


@pytest.fixture
def meter(monkeypatch):
    """A meter, its clock, and what its bar and the log show."""
    now, bar, log = [100.0], [], []
    monkeypatch.setattr(score_meter.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(score_meter.stderr, "print", lambda text, **_: log.append(text))
    meter = ScoreMeter()
    meter.update = lambda done, note: bar.append((done, note.strip()))

    def encode(total, seconds, start=0.0):
        """Portions of 500 rows; the first takes a while longer, as a warm-up does."""
        now[0] += start
        for done in range(500, total + 1, 500):
            now[0] += seconds * 500 / total
            meter.encoded(done, total)

    return meter, encode, bar, log


def test_a_wait_is_said_with_its_rows_and_seconds_once_and_taken_back(meter):
    meter, encode, bar, log = meter
    meter.scored(3)
    encode(50_000, 40.0, start=100.0)
    assert bar == [(3, ""), (3, "encoding 50,000 rows, about 40 s"), (3, "")]
    assert log == ["score: encoding 50,000 rows, about 40 s"]
    encode(10_000, 4.0)
    assert bar[3:] == [(3, "encoding 10,000 rows, about 3.8 s"), (3, "")]
    assert len(log) == 1, "a short wait is no line of a log"


def test_what_takes_a_moment_is_not_said(meter):
    _, encode, bar, log = meter
    for _ in range(20):
        encode(5_000, 0.4)
    assert not bar
    assert not log
