"""Tables of more columns or names than a page is for take no time that grows with their square."""

import time

import numpy as np
import pytest

from unknot.core.errors import DataError
from unknot.report.study import source
from unknot.report.study.shown_scores import MOST, MOST_OBJECTIVES


def seconds_to_read(path, columns):
    names = [f"m{i}" for i in range(columns)]
    values = [",".join(map(str, row)) for row in np.random.default_rng(0).random((2, columns))]
    rows = [f"vae,{seed},{text}\n" for seed, text in enumerate(values)]
    path.write_text(f"objective,seed,{','.join(names)}\n{''.join(rows)}")
    begun = time.process_time()
    assert source.read(path).results.scores == names[:MOST]
    return time.process_time() - begun


def test_the_time_of_a_table_grows_with_its_columns_and_not_with_their_square(tmp_path):
    seconds_to_read(tmp_path / "first.csv", 100)
    short, long = (seconds_to_read(tmp_path / "runs.csv", n) for n in (2_500, 20_000))
    assert long < 24 * short  # eight times as many; 64 by their square


def test_more_objectives_than_a_page_is_for_are_refused(tmp_path):
    path = tmp_path / "runs.csv"
    rows = [f"vae {i},0,0.{i}\n" for i in range(MOST_OBJECTIVES + 1)]
    path.write_text(f"objective,seed,mig\n{''.join(rows)}")
    with pytest.raises(DataError, match="has 501 different names; a page shows at most 500"):
        source.read(path)
    path.write_text(f"objective,seed,mig\n{''.join(rows[1:])}")
    assert source.read(path).results.scores == ["mig"]
