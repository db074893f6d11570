"""Runs whose scores say nothing: marked, counted, and never best."""

import math

import pytest
from analysis.tables import run, seeds

from unknot.analysis import Results
from unknot.analysis.claims import claims, warnings
from unknot.analysis.health import AT_CHANCE, describe_flaws, flaws, is_sound
from unknot.analysis.verdicts import verdict

GOOD, BAD = {"kl": 12.0, "contrast": 0.7}, {"kl": 0.001, "contrast": 0.0}
BLANK = {"kl": 12.0, "contrast": 0.0}


def two(better, **options):
    """Beta 1 scores 0.2 and is well; beta 4 scores 0.8 and has these columns."""
    rows = [{**r, **GOOD} for r in seeds([0.20, 0.21, 0.22], objective__beta=1)]
    return Results(
        [*rows, *({**r, **better} for r in seeds([0.80, 0.81, 0.82], objective__beta=4))], **options
    )


@pytest.mark.parametrize(
    ("columns", "flaw"),
    [(BAD, "collapsed"), (BLANK, "draws nothing"), (GOOD, ""), ({}, ""), ({"kl": None}, "")],
)
def test_what_is_wrong_with_a_run(columns, flaw):
    assert flaws({"objective": ["vae"], **{name: [value] for name, value in columns.items()}}) == [
        flaw
    ]


def test_a_run_that_diverged_has_no_other_flaw():
    assert flaws({"objective": ["vae"], "kl": [0.0], "status": ["diverged"]}) == [""]


@pytest.mark.parametrize("columns", [BAD, BLANK, {**GOOD, AT_CHANCE: "sap mig"}])
def test_a_flawed_configuration_is_never_best(columns):
    results = two(columns, scores=["mig"])
    assert verdict(results, "mig") is None
    assert claims(results) == [
        "By mig, all but beta_vae beta 1 are collapsed, blank or at chance, so there is nothing to "
        "compare."
    ]
    assert [winner.best.label for winner in results.winners if winner.score == "mig"] == [
        "beta_vae beta 1"
    ]
    assert {best.swept_value for best in results.best_values if best.score == "mig"} == {1}
    assert warnings(results)


def test_flawed_configurations_are_not_compared_with():
    sound = [{**r, **GOOD} for r in seeds([0.20, 0.21, 0.22], objective__beta=1)]
    weak = [{**r, **GOOD} for r in seeds([0.10, 0.11, 0.12], objective__beta=2)]
    flawed = [{**r, **BAD} for r in seeds([0.80, 0.81, 0.82], objective__beta=4)]
    said = verdict(Results([*sound, *weak, *flawed], ["mig"]), "mig")
    assert said.decided
    assert said.text.startswith("beta_vae beta 1 has the highest mig in every seed")


def test_of_sound_ones_nothing_is_said():
    results = two({**GOOD, AT_CHANCE: "sap"}, scores=["mig"])
    assert verdict(results, "mig").best.label == "beta_vae beta 4"
    assert warnings(results) == []


def test_half_of_the_runs_decide():
    rows = [{**r, **GOOD} for r in seeds([0.1, 0.2, 0.3, 0.4])]
    for row in rows[:2]:
        row |= BAD
    (half,) = Results(rows).configurations
    assert not is_sound(half, "mig")
    rows[1] |= GOOD
    (most,) = Results(rows).configurations
    assert is_sound(most, "mig")
    rows[1]["mig"], rows[0]["mig"] = None, None
    (scored,) = Results(rows).configurations
    assert is_sound(scored, "mig")


def test_where_nothing_is_sound_nothing_is_best():
    rows = [{**r, **BAD} for r in [*seeds([0.2, 0.3]), *seeds([0.7, 0.8], "vae")]]
    results = Results(rows, ["mig"])
    assert verdict(results, "mig") is None
    assert results.winners == results.best_values == []
    assert claims(results) == [
        "By mig, all configurations are collapsed, blank or at chance, so none is best."
    ]


def test_they_are_counted():
    table = Results([
        run(seed=0, **BAD), run(seed=1, **BLANK), run(seed=2, **GOOD, at_chance="mig")
    ]).table  # fmt: skip
    said = " ".join(describe_flaws(table, ["mig", "sap"]))
    assert "1 of 3 runs collapsed: their codes carry no information." in said
    assert "1 of 3 runs draw the same picture whatever they see." in said
    assert "No better than random codes: 1 of 3 runs by mig." in said
    assert "sap" not in said


# Scores by which nothing is ranked


def losses(**settings):
    return [
        run(seed=s, recon=20.0 + s + i, mig=0.1 * i, **{k: v[i] for k, v in settings.items()})
        for i in range(2)
        for s in range(3)
    ]


def test_losses_of_different_weights_are_not_ranked():
    results = Results(losses(objective__beta=[1, 4]), lower=["recon"], losses=["recon", "kl"])
    assert results.ranked == ["mig"]
    assert {winner.score for winner in results.winners} == {"mig"}
    assert {best.score for best in results.best_values} == {"mig"}
    assert results.ranking.scores == ("mig",)
    assert any("Nothing is best by recon" in text for text in warnings(results))
    assert not any("recon" in text for text in claims(results))


def test_losses_of_one_function_are():
    results = Results(losses(optim__lr=[1, 4]), lower=["recon"], losses=["recon", "kl"])
    assert results.ranked == ["recon", "mig"]
    assert warnings(results) == []


def test_losses_alone_of_different_objectives_give_no_best():
    rows = [run(name, seed=s, recon=1.0 + s) for name in ("vae", "ae") for s in range(3)]
    results = Results(rows, ["recon"], losses=["recon"], lower=["recon"])
    assert results.winners == results.best_values == claims(results) == []


def test_a_silent_score_ranks_nothing_and_says_why():
    results = Results(losses(objective__beta=[1, 4]), ["mig"], silent={"mig": "one factor"})
    assert results.ranked == claims(results) == []
    assert warnings(results) == ["Nothing is best by mig: one factor."]
    assert not math.isnan(results.summaries()[0].mean), "its numbers are still there"
