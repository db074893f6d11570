"""Pairs of configurations: how likely n seeds show which of the two is better."""

from report.study_pages import study

from unknot.analysis import Results, seeds_needed
from unknot.analysis.seeds import SEED_COUNTS


def test_all_pairs_are_what_one_at_a_time_gives():
    results = Results(study(6), lower=["recon"])
    pairs = {(r["better"], r["worse"]): r for r in results.seed_pairs("recon", draws=500)}
    assert len(pairs) == 6 * 5 / 2
    by_label = {one.label: one.sample("recon").values for one in results.configurations}
    for a, b in (
        ("beta_vae beta 1", "beta_vae beta 16"),
        ("beta_vae beta 1", "dip_vae_i lambda_od 1"),
    ):
        one = seeds_needed(by_label[a], by_label[b], draws=500, most=10)
        assert [pairs[a, b][f"n={n}"] for n in SEED_COUNTS] == [
            one.probability[n - 1] for n in SEED_COUNTS
        ]


def test_contrasts_put_the_better_first():
    contrasts = Results(study(6), lower=["recon"]).contrasts("recon")
    assert contrasts
    for better, worse in contrasts:
        means = [one.sample("recon").values.mean() for one in (better, worse)]
        assert means[0] <= means[1], "of recon less is better"


def test_contrasts_are_best_and_weakest_then_the_best_of_neighbouring_objectives():
    means = {("a", 1): 0.1, ("a", 2): 0.4, ("b", 1): 0.9, ("c", 1): 0.2, ("c", 2): 0.3, ("c", 4): 0}
    rows = [
        {"objective": name, "objective.beta": beta, "seed": seed, "mig": mean + 0.01 * seed}
        for (name, beta), mean in means.items()
        for seed in range(5)
    ]

    def pairs(lower):
        return [(a.label, b.label) for a, b in Results(rows, lower=lower).contrasts("mig")]

    assert pairs(()) == [
        ("a beta 2", "a beta 1"),
        ("c beta 2", "c beta 4"),
        ("b", "a beta 2"),
        ("a beta 2", "c beta 2"),
    ]
    assert pairs({"mig"}) == [
        ("a beta 1", "a beta 2"),
        ("c beta 4", "c beta 2"),
        ("c beta 4", "a beta 1"),
        ("a beta 1", "b"),
    ]


def test_the_better_of_a_pair_has_the_better_mean_however_many_seeds_it_has():
    values = {1: [0.9] * 5, 2: [0.5, 0.6, 0.5, 0.6, 0.5, 0.6], 4: [0.1, 0.2, 0.3] * 3, 8: [1] * 4}
    rows = [
        {"objective": "a", "objective.beta": beta, "seed": seed, "mig": value}
        for beta, every in values.items()
        for seed, value in enumerate(every)
    ]
    pairs = [(r["better"], r["worse"]) for r in Results(rows).seed_pairs("mig", draws=50)]
    # Four seeds of beta 8 are too few to say anything of others.
    one, two, four = "a beta 1", "a beta 2", "a beta 4"
    assert pairs == [(one, two), (one, four), (two, four)]
