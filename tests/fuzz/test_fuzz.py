"""Whatever a file or a flag holds, nothing but an UnknotError comes out of what reads it.

`HYPOTHESIS_PROFILE=long` tries 40 times as many and keeps what fails; `make torture` goes on for
as long as it is told.
"""

import pytest
from fuzz.parsers import PARSERS, fuzz
from hypothesis import settings

TIMES = settings().max_examples // 50
AIM = 20_000
"""Cases in a CI run."""


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_only_our_errors_come_out(tmp_path, record_property, parser):
    count = fuzz(parser, tmp_path, parser.cases * TIMES)
    record_property("fuzz cases", count)
    assert count >= parser.cases * TIMES


def test_there_are_enough_cases():
    assert sum(parser.cases for parser in PARSERS) >= AIM
