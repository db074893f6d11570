"""Parts of a table of results."""

import numpy as np
import pandas as pd
import pytest

from unknot.analysis import Results


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, iter])
def test_rows_are_marked_by_any_list(kind):
    results = Results({"objective": ["vae", "ae", "vae"], "mig": [0.1, 0.2, 0.3]}, ["mig"])
    assert results.where(kind([True, False, True])).table["mig"] == [0.1, 0.3]
