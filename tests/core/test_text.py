"""Numbers, durations and settings for people."""

import math

import pytest

from unknot.core.text import cell_text, compact, decimals, duration, number, setting_text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (999.96, 3, "1,000"),
        (1234.5, 4, "1,234"),
        (1234.5, 5, "1,234.5"),
        (9999.7, 4, "10,000"),
        (-0.25, 4, "−0.25"),
        (1e-5, 4, "1e-05"),
        (-math.inf, 4, "−∞"),
    ],
)
def test_significant_digits(value, digits, text):
    assert number(value, digits) == text


def test_columns_keep_their_decimals():
    assert decimals(0.0004) == "0.000"
    assert decimals(99.999) == "100.00"
    assert decimals(math.inf) == "∞"


def test_no_sign_before_nothing():
    assert compact(-0.004) == "0"
    assert compact(-0.996) == "−1"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.2e-6, "0 s"), (0.123, "0.12 s"), (59.4, "59 s"), (59.7, "1 min"), (3599.6, "1 h"),
     (86_399.7, "1 day"), (1e6, "11 days 13 h")],
)  # fmt: skip
def test_times_round_into_the_next_unit(seconds, text):
    assert duration(seconds) == text


def test_settings_of_all_kinds():
    assert setting_text({"kind": "linear", "stops": [0, 1.5], "on": False}) == (
        "kind linear, stops 0, 1.5, on no"
    )
    assert setting_text(1_000_000) == setting_text(1e6) == "1000000", "the same setting"
    assert [cell_text(v) for v in (None, 12345.6, 12345, True)] == ["", "12,346", "12345", "yes"]
