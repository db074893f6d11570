"""Arguments that are looked at by their annotations."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.typed import check_hint, typed

WHOLE, REAL, TEXTS = "a whole number", "a number", "a list of texts"
CASES = [
    (int, [1, np.int64(3), torch.tensor(3), 2**70], [True, 1.5, "1", None, np.zeros(2), 1j], WHOLE),
    (float, [1, 0.5, np.float32(1), torch.tensor(0.5)], [True, "1", [1.0], 1j, np.zeros(2)], REAL),
    (bool, [True, np.True_], [1, 0, "yes", None, np.zeros(2)], "True or False"),
    (str, ["", "a"], [b"a", 1, None, ["a"], Path("a")], "a text"),
    (str | Path, ["a", Path("a")], [3, None], "a text or of the type Path"),
    (Sequence[str], [[], ["a"], ("a",)], ["a", [1], {"a"}, None, np.array(["a"])], TEXTS),
    (tuple[int, ...], [(), (1,), [2]], [(1.5,), ("1",), 1, "1"], "a list of whole numbers"),
    (Iterable[Any], [[1], {1}, iter([1])], ["a", 3, None], "a list"),
    (Mapping[str, Any], [{}, {"a": 1}], [[], "a", None], "a table"),
    (Callable[[int], None], [print, int], [3, "print", None], "a function"),
    (Tensor | None, [torch.zeros(2), None], [np.zeros(2), 3], "of the type Tensor"),
    (Literal["net", "critic"], ["net"], [3, None, ["net"], np.zeros(2)], "one of net, critic"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("hint", "right", "wrong", "words"), CASES, ids=lambda case: str(case)[:30]
)
def test_values_are_taken_by_their_annotation(hint, right, wrong, words):
    for value in right:
        check_hint("it", value, hint)
    for value in wrong:
        with pytest.raises(ConfigError, match=f"^it must be {words}; got .*, of the type "):
            check_hint("it", value, hint)


def test_an_unknown_choice_gets_the_nearest():
    with pytest.raises(ConfigError, match=r"it has no choice nett; did you mean 'net'\?"):
        check_hint("it", "nett", Literal["net", "critic"])


def test_a_function_checks_the_arguments_that_it_names_and_stays_what_it_is():
    @typed("steps")
    def walk(base, *, steps: int = 3) -> str:
        """Walk."""
        return f"{base} {steps}"

    assert (walk(None, steps=2), walk("a"), walk.__doc__) == ("None 2", "a 3", "Walk.")
    with pytest.raises(ConfigError, match="steps must be a whole number; got x"):
        walk(None, steps="x")
    with pytest.raises(TypeError, match="missing a required argument"):
        walk(steps=2)


def test_each_of_several_arguments_is_looked_at():
    @typed()
    def add(*numbers: float):
        return sum(numbers)

    assert add(1, 2.5) == 3.5
    with pytest.raises(ConfigError, match="numbers must be a number; got b"):
        add(1, "b")
