"""When the loop speaks."""

import torch

from unknot.engine.loop import fit


class Counter:
    """A population that only counts."""

    members, pace = 1, 10

    def __init__(self):
        self.calls = []

    def advance(self, start, steps):
        self.calls.append((start, steps))
        return {"loss": torch.tensor([float(start + steps)])}

    def validate(self, rows, t): ...

    def freeze(self, members): ...

    def encode(self, x): ...

    def decode(self, z): ...

    def state(self): ...

    def load(self, state): ...


def ticks(pause_every=1000, **options):
    counter = Counter()
    return list(fit(counter, pause_every=pause_every, **options)), counter.calls


def test_steps_are_neither_skipped_nor_repeated():
    for start, steps, log_every in [(0, 37, 5), (0, 100, 100), (13, 50, 7), (0, 1, 10)]:
        _, calls = ticks(start=start, steps=steps, log_every=log_every)
        done = [s for first, n in calls for s in range(first, first + n)]
        assert done == list(range(start, steps))
        assert all(n <= 10 for _, n in calls)


def test_values_come_at_the_first_step_each_interval_and_the_end():
    found, _ = ticks(start=0, steps=45, log_every=20)
    assert [t.step for t in found if t.values is not None] == [1, 20, 40, 45]
    resumed, _ = ticks(start=23, steps=45, log_every=20)
    assert [t.step for t in resumed if t.values is not None] == [40, 45]


def test_there_is_a_tick_at_every_pause():
    found, _ = ticks(start=0, steps=20, log_every=100, pause_every=4)
    assert {4, 8, 12, 16, 20} <= {t.step for t in found}


def test_there_is_a_tick_at_every_pause_of_several_and_at_chosen_steps():
    found, _ = ticks(start=0, steps=20, log_every=100, pause_every=(6, 9), pause_at=(7, 13, 99))
    assert {6, 7, 9, 12, 13, 18, 20} <= {t.step for t in found}


def test_nothing_happens_when_all_steps_are_done():
    assert ticks(start=9, steps=9, log_every=3) == ([], [])
