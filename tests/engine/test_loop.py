"""When the loop speaks."""

import torch

from unknot.engine.loop import CHUNK, fit


class Counter:
    """A population that only counts."""

    members = 1

    def __init__(self):
        self.calls = []

    def advance(self, start, steps):
        self.calls.append((start, steps))
        return {"loss": torch.tensor([float(start + steps)])}

    def encode(self, x): ...

    def decode(self, z): ...

    def state(self): ...

    def load(self, state): ...


def ticks(**options):
    counter = Counter()
    return list(fit(counter, **options)), counter.calls


def test_steps_are_neither_skipped_nor_repeated():
    for start, steps, log_every in [(0, 37, 5), (0, 100, 100), (13, 50, 7), (0, 1, 10)]:
        _, calls = ticks(start=start, steps=steps, log_every=log_every)
        done = [s for first, n in calls for s in range(first, first + n)]
        assert done == list(range(start, steps))
        assert all(n <= CHUNK for _, n in calls)


def test_values_come_at_the_first_step_each_interval_and_the_end():
    found, _ = ticks(start=0, steps=45, log_every=20)
    assert [t.step for t in found if t.values is not None] == [1, 20, 40, 45]
    resumed, _ = ticks(start=23, steps=45, log_every=20)
    assert [t.step for t in resumed if t.values is not None] == [40, 45]


def test_nothing_happens_when_all_steps_are_done():
    assert ticks(start=9, steps=9, log_every=3) == ([], [])
