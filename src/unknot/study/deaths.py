"""Deaths: how often a task whose workers die is tried again, wherever they are."""

from dataclasses import dataclass, field

from unknot.study.events import Failed, Lost, Progress

DEATHS = 3
"""A task whose worker dies so often without getting any further is given up."""
Place = tuple[str, int]


@dataclass(frozen=True)
class Deaths:
    """How far tasks were, and where their workers died."""

    reached: dict[str, Place] = field(default_factory=dict)
    places: dict[str, list[Place]] = field(default_factory=dict)

    def progress(self, key: str, phase: str, done: int) -> Progress:
        """A worker says how far it is."""
        before = self.reached.get(key, ("", 0))
        self.reached[key] = max(before, (phase, done), key=_far)
        return Progress(key, phase, done)

    def died(self, key: str, how: str) -> Lost | Failed:
        """A worker is gone: its task is to be tried again if Lost, and given up if Failed."""
        places = self.places.setdefault(key, [])
        places.append(self.reached.get(key, ("", 0)))
        if places[-DEATHS:] == places[-1:] * DEATHS:
            return Failed(
                key,
                f"Its worker died {DEATHS} times at the same place ({how}); "
                "there may be too little memory for it.",
            )
        return Lost(key, how)


def _far(place: Place) -> tuple[bool, int]:
    """Scores come after steps."""
    return place[0] == "score", place[1]
