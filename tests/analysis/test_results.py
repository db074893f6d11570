"""Parts of a table of results."""

import numpy as np
import pandas as pd
import pytest

from unknot.analysis import Results
from unknot.core.errors import ConfigError


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, iter])
def test_rows_are_marked_by_any_list(kind):
    results = Results({"objective": ["vae", "ae", "vae"], "mig": [0.1, 0.2, 0.3]}, ["mig"])
    assert results.where(kind([True, False, True])).table["mig"] == [0.1, 0.3]


def test_marks_that_are_not_one_for_each_run_are_refused():
    results = Results({"objective": ["vae", "ae"], "mig": [0.1, 0.2]}, ["mig"])
    for wrong in ([True], [True, False, True], np.eye(2)):
        with pytest.raises(ConfigError, match="True or False for each of 2 runs"):
            results.where(wrong)
