"""Claims of a page: what is said where seeds show it, and nothing where they do not."""

import numpy as np
import pytest
from analysis.tables import run, seeds

from unknot.analysis import Results
from unknot.analysis.claims import claims, question
from unknot.analysis.verdicts import apart_by_chance, informative_scores, verdict

LOW, HIGH = [0.20, 0.22, 0.21, 0.23, 0.19, 0.22], [0.80, 0.82, 0.81, 0.83, 0.79, 0.82]


def of(first, second, **options):
    """What is said of two configurations."""
    rows = [*seeds(first, objective__beta=1), *seeds(second, objective__beta=4)]
    return verdict(Results(rows, **options), "mig")


# The best configuration


def test_one_configuration_is_not_best():
    assert verdict(Results(seeds(HIGH)), "mig") is None
    assert claims(Results(seeds(HIGH))) == []


def test_a_question_is_asked_where_the_first_claim_answers_it():
    asked = "Which of 2 configurations has the highest mig?"
    two = [*seeds(LOW, objective__beta=1), *seeds(HIGH, objective__beta=4)]
    assert question(Results(two)) == asked
    assert question(Results(two, lower=["mig"])) == asked.replace("highest", "lowest")
    assert question(Results([{**row, "data": "shapes"} for row in two])) == (
        "Which of 2 configurations has the highest mig on shapes?"
    )
    assert question(Results(seeds(HIGH))) == "", "one configuration"
    assert question(Results(two, silent={"mig": "says nothing"})) == ""
    collapsed = Results([{**row, "kl": 0.001} for row in two], ["mig"])
    assert question(collapsed) == asked
    assert claims(collapsed)[0] == (
        "By mig, all configurations are collapsed, blank or at chance, so none is best."
    )


def test_one_seed_decides_nothing():
    said = of([0.1], [0.9])
    assert not said.decided
    assert said.text == (
        "beta_vae beta 4 has the highest mig, 0.900, with one seed: another seed may give another "
        "order."
    )
    assert not of(LOW, [0.9]).decided
    assert not of([0.9], LOW).decided


@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_seeds_are_told_apart_by_ranges_and_no_probability_is_said(n):
    said = of(LOW[:n], HIGH[:n])
    assert said.decided
    assert "beta_vae beta 4 has the highest mig in every seed" in said.text
    assert f"0.800 to {max(HIGH[:n]):.3f} in {n} seeds" in said.text
    assert "seeds, too few for an interval; next is beta_vae beta 1 with" in said.text
    assert "%" not in said.text
    studies = {2: 3, 3: 10, 4: 35}[n]
    assert said.text.endswith(
        f"If the 2 configurations were alike, one would come out so in 1 of {studies} studies."
    )
    overlap = of([*LOW[: n - 1], 0.9], HIGH[:n])
    assert not overlap.decided
    assert overlap.text.startswith("The seeds do not show which configuration has the highest mig")


def test_five_seeds_have_an_interval():
    said = of(LOW, HIGH)
    assert said.decided
    assert "0.812 (95% interval 0.796 to 0.827, 6 seeds), and the seeds separate it" in said.text
    close = of(LOW, [value + 0.005 for value in LOW])
    assert not close.decided
    assert "but the seeds do not separate it from beta_vae beta 1." in close.text


def test_lower_may_be_better():
    said = of(LOW, HIGH, lower=["mig"])
    assert said.decided
    assert said.text.startswith("beta_vae beta 1 has the lowest mean mig: 0.212")


def test_equal_scores_decide_nothing():
    assert not of([0.5] * 5, [0.5] * 5).decided
    assert not of([0.5] * 3, [0.5] * 3).decided


def test_diverged_runs_are_no_seeds():
    rows = [*seeds(LOW, objective__beta=1), *seeds(HIGH[:1], objective__beta=4)]
    rows += [run(objective__beta=4, seed=s, status="diverged", mig=0.9) for s in range(1, 6)]
    assert not verdict(Results(rows), "mig").decided


def test_a_best_of_many_that_are_alike_is_hardly_ever_declared():
    """Twenty configurations without a difference: at most one study in twenty names a best."""
    generator, declared = np.random.default_rng(0), 0
    for _ in range(200):
        rows = [
            row
            for beta in range(20)
            for row in seeds(generator.normal(size=5).tolist(), objective__beta=beta)
        ]
        declared += verdict(Results(rows, draws=1), "mig").decided
    assert declared <= 10


def of_many(n):
    """What is said of configurations with the same scores."""
    rows = [row for beta in range(n) for row in seeds([0.1, 0.2, 0.3], objective__beta=beta)]
    return verdict(Results(rows), "mig").text


def test_many_rivals_are_counted_not_listed():
    assert of_many(3).endswith(
        "overlaps with beta_vae beta 1 (0.100 to 0.300) and beta_vae beta 2 (0.100 to 0.300)."
    )
    assert of_many(9).endswith("beta_vae beta 0 (0.100 to 0.300) overlaps with all 8 others.")
    one_apart = [
        *(row for beta in range(9) for row in seeds([0.1, 0.2, 0.3], objective__beta=beta)),
        *seeds([0.01, 0.02, 0.03], objective__beta=9),
    ]
    assert verdict(Results(one_apart), "mig").text.endswith("overlaps with 8 of the 9 others.")


def test_a_score_with_the_name_of_an_objective_is_called_a_score():
    rows = [
        {"objective": name, "seed": s, "beta_vae": value + s / 100}
        for name, value in (("beta_vae", 0.5), ("vae", 0.7))
        for s in range(3)
    ]
    results = Results(rows)
    assert question(results) == "Which of 2 configurations has the highest beta_vae score?"
    assert verdict(results, "beta_vae").text.startswith("vae has the highest beta_vae score in")


# Other sentences


def several(n, scores=("mig", "sap", "cbd")):
    generator = np.random.default_rng(1)
    return [
        run(objective__beta=beta, seed=seed, **{s: beta + generator.normal() for s in scores})
        for beta in (1, 8)
        for seed in range(n)
    ]


def test_other_scores_are_said_in_few_sentences():
    said = claims(Results(several(6)))
    assert said[0].startswith("beta_vae beta 8 has the highest mean mig")
    assert said[1] == "By sap and cbd, beta_vae beta 8 is clearly best too."
    few = claims(Results(several(3)))
    assert few[1] == "By sap and cbd, beta_vae beta 8 is best in every seed too."


@pytest.mark.parametrize(("n", "spoken"), [(2, False), (4, False), (5, True)])
def test_the_share_of_the_seed_takes_five_of_them(n, spoken):
    said = " ".join(claims(Results(several(n))))
    assert ("The seed alone accounts for" in said) == spoken


def test_rank_correlations_take_ten_runs_and_three_scores():
    assert not any("rank correlations" in text for text in claims(Results(several(4))))
    assert any("rank correlations" in text for text in claims(Results(several(5))))
    half = [{**row, "mig": row["mig"] if i % 2 else None} for i, row in enumerate(several(6))]
    assert not any("rank correlations" in text for text in claims(Results(half)))
    two = Results(several(5, ("mig", "sap")))
    assert not any("rank correlations" in text for text in claims(two))


def test_parts_of_one_metric_are_not_said_to_agree():
    parts = ("dci.disentanglement", "dci.completeness", "dci@study2019", "mig", "mig@study2019")
    assert not any("rank correlations" in text for text in claims(Results(several(6, parts))))
    said = claims(Results(several(6, (*parts, "sap"))))
    (sentence,) = (text for text in said if "rank correlations" in text)
    for end in sentence.split(" to "):
        names = end[end.index("(") + 1 : end.index(")")].split(" and ")
        assert len({name.partition("@")[0].partition(".")[0] for name in names}) == 2


# Effects of settings


def grid(effect, n_seeds=6, values=("mse", "overlap"), **columns):
    """Six configurations with either value of a setting; pairs differ by the effect and noise."""
    generator = np.random.default_rng(2)
    return [
        run(
            objective__beta=beta,
            objective__likelihood=value,
            seed=seed,
            mig=0.3 + 0.02 * beta + effect * place + generator.normal() / 100,
            **columns,
        )
        for beta in range(6)
        for place, value in enumerate(values)
        for seed in range(n_seeds)
    ]


def effects_of(rows):
    return [text for text in claims(Results(rows, ["mig"])) if "Over all other" in text]


def test_the_pooled_effect_of_a_setting_is_said_with_its_interval():
    (said,) = effects_of(grid(0.2))
    assert said.startswith(
        "Over all other settings and seeds, likelihood overlap instead of mse adds 0.20"
    )
    assert said.endswith("to the mig.")
    (said,) = effects_of(grid(-0.2))
    assert "likelihood overlap instead of mse takes 0.19" in said
    low, high = said[said.index("(") + 1 : said.index(")")].split(" to ")
    assert float(low) < 0.2 < float(high)


def test_effects_are_silent_where_they_should_be():
    assert effects_of(grid(0.0)) == [], "the interval has zero"
    assert effects_of(grid(0.2, n_seeds=4)) == [], "four seeds"
    assert effects_of(grid(0.2, values=("mse", "overlap", "bce"))) == [], "three values"
    assert effects_of(grid(0.2, kl=0.001)) == [], "collapsed"
    few = [row for row in grid(0.2) if row["objective.beta"] < 4]
    assert effects_of(few) == [], "four configurations"


# Collapsed models and scores at chance


SCORES = ["mig", "sap", "dci"]


def study_of(seeds, kl, **more):
    """Three configurations with noise for scores, and the divergence of each."""
    generator = np.random.default_rng(0)
    return Results(
        [
            run(objective__beta=beta, seed=seed, kl=of_beta, **more)
            | {score: 0.1 * k + 0.01 * generator.random() for k, score in enumerate(SCORES)}
            for beta, of_beta in enumerate(kl)
            for seed in range(seeds)
        ],
        SCORES,
    )


@pytest.mark.parametrize("seeds", [2, 5, 12])
def test_of_collapsed_models_nothing_is_claimed_but_that_none_is_best(seeds):
    collapsed = study_of(seeds, [0.001] * 6)
    assert informative_scores(collapsed) == []
    assert claims(collapsed) == [
        "By mig, sap and dci, all configurations are collapsed, blank or at chance, so none is "
        "best."
    ]


def test_of_scores_at_chance_nothing_is_claimed_but_that_none_is_best():
    chance = study_of(5, [9.0] * 6, at_chance="mig sap dci")
    assert len(claims(chance)) == 1
    some = study_of(5, [9.0] * 6, at_chance="sap")
    assert informative_scores(some) == ["mig", "dci"]
    said = " ".join(claims(some))
    assert "Scores order" not in said, "two metrics are left"
    assert "(sap)" not in said
    assert "The seed alone accounts for" in said


def test_collapsed_runs_do_not_count_for_how_scores_order_runs():
    (of_all,) = (s for s in claims(study_of(5, [9.0] * 6)) if "order" in s)
    assert of_all.startswith("Scores order runs with rank correlations from")
    mixed = study_of(5, [9.0] * 3 + [0.001] * 3)
    (of_rest,) = (s for s in claims(mixed) if "order" in s)
    assert of_rest.startswith("Scores order the runs that did not collapse with")
    rest = Results(mixed.table, SCORES).where([kl > 1 for kl in mixed.table["kl"]])
    (alone,) = (s for s in claims(rest) if "order" in s)
    assert of_rest.partition("with")[2] == alone.partition("with")[2]
    few = study_of(3, [9.0] * 3 + [0.001] * 3)
    assert not [s for s in claims(few) if "order" in s], "nine runs are too few"


# Bounds


def test_the_interval_of_a_verdict_ends_at_the_bound_of_the_score():
    high = [0.9, 0.99, 0.999, 0.98, 0.9, 0.999]
    assert "interval 0.911 to 1.012" in of(LOW, high).text
    assert "interval 0.911 to 1.000" in of(LOW, high, bounds={"mig": (0, 1)}).text


# Ranges by chance


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3, 3), (2, 4)])
def test_how_often_seeds_of_the_same_configuration_come_apart(sizes):
    generator, apart = np.random.default_rng(0), 0
    for _ in range(4_000):
        samples = [generator.normal(size=n) for n in sizes]
        best = max(samples, key=lambda values: values.min())
        apart += all(best.min() > other.max() for other in samples if other is not best)
    assert apart / 4_000 == pytest.approx(apart_by_chance(sizes), abs=0.025)
