"""The page of estimates of total correlation: its table is that of its file, and adds up."""

import pytest
import torch
from scripts import script

from unknot.core.csv_files import read_csv
from unknot.core.posterior import Posterior

page = script("docs/kl_decomposition.py")


def test_the_page_is_that_of_the_file():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.made(text) == text


def test_the_three_parts_add_up_to_the_divergence():
    for row in read_csv(page.FILE):
        if row["kl"]:
            total = sum(float(row[part]) for part in page.PARTS)
            assert total == pytest.approx(float(row["kl"]), abs=1e-6)


def test_a_batch_of_all_posteriors_is_the_mixture():
    """Posteriors that are all alike: no information, no correlation, no divergence."""
    q = Posterior(torch.zeros(500, 3).double(), torch.zeros(500, 3).double())
    for mean, spread in page.batch_estimates(q, "mixture", 64, 500).values():
        assert mean == pytest.approx(0, abs=1e-9)
        assert spread == pytest.approx(0, abs=1e-9)
