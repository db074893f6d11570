"""The table of what selecting without labels loses: its choices, and what few of them can tell."""

import pytest

from unknot.analysis import Results
from unknot.report.study.blind import ENOUGH, blind_tables, criteria_of
from unknot.report.study.blocks import FigureFolder, Part


def results(count, likelihoods=("bernoulli",)):
    """A configuration for each beta: with a lower loss, a lower score."""
    return Results(
        [
            {"objective": "beta_vae", "objective.beta": float(beta), "seed": seed,
             "objective.likelihood": likelihoods[beta % len(likelihoods)],
             "mig": beta / 10 + seed / 100, "recon": 50.0 + beta}
            for beta in range(count)
            for seed in range(2)
        ],
        ["mig"],
        lower=["recon"],
    )  # fmt: skip


def first_table(count, folder):
    return blind_tables(Part(results(count)), FigureFolder(folder))[0]


def test_it_shows_what_the_lowest_loss_would_choose(tmp_path):
    table = first_table(7, tmp_path)
    assert [cell.text for cell in (row[0] for row in table.rows)] == ["best, by labels", "recon"]
    best, chosen = (row[1] for row in table.rows)
    assert float(best.text) == pytest.approx(0.605)
    assert float(chosen.text) == pytest.approx(0.005)
    assert "0.600 lost" in chosen.small
    assert "ρ -1.00" in chosen.small


@pytest.mark.parametrize("count", [3, ENOUGH - 1, ENOUGH])
def test_few_choices_tell_nothing_of_a_criterion_and_the_page_says_so(count, tmp_path):
    note = first_table(count, tmp_path).note
    assert ("too few to tell" in note) == (count < ENOUGH)
    assert (f"There are {count} configurations" in note) == (count < ENOUGH)


def test_losses_of_two_likelihoods_are_no_criterion():
    assert criteria_of(results(4)) == ["recon"]
    assert criteria_of(results(4, ("bernoulli", "gaussian"))) == []
