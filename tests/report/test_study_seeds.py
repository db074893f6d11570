"""How many seeds it takes."""

from report.study_pages import study

from unknot.analysis.cells import cells, taken
from unknot.analysis.seeds import seeds_needed
from unknot.report import (
    study_seeds,
)


def test_all_pairs_are_what_one_at_a_time_gives():
    found = cells(study(6))
    pairs = {
        (r["better"], r["worse"]): r for r in study_seeds.every_pair(found, "recon", draws=500)
    }
    assert len(pairs) == 6 * 5 / 2
    by_label = {cell.label: taken(cell.runs, "recon").values for cell in found}
    for a, b in (
        ("beta_vae beta 1", "beta_vae beta 16"),
        ("beta_vae beta 1", "dip_vae_i lambda_od 1"),
    ):
        one = seeds_needed(by_label[a], by_label[b], draws=500, most=10)
        assert [pairs[a, b][f"n={n}"] for n in study_seeds.AT] == [
            one.probability[n - 1] for n in study_seeds.AT
        ]


def test_contrasts_put_the_better_first():
    for better, worse in study_seeds.contrasts(cells(study(3)), "recon"):
        means = [taken(cell.runs, "recon").values.mean() for cell in (better, worse)]
        assert means[0] <= means[1], "of recon less is better"
