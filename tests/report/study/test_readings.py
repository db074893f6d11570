"""How to read this page: scores by what they measure, objectives by what they act on."""

from unknot.analysis import Results
from unknot.report.study import text


def test_scores_stand_by_the_property_that_they_measure():
    found = text.readings(["sap", "dci.completeness@study2019", "mig@study2019", "recon", "mine"])
    assert [*map(list, found.values())] == [
        ["dci.completeness@study2019"],
        ["sap", "mig@study2019"],
    ]
    assert [*found][1] == "Compactness: each factor is encoded by one latent"


def test_objectives_stand_by_their_family_and_those_that_nobody_knows_do_not():
    rows = [
        {"objective": name, "seed": 0, "mig": 0.1}
        for name in ("beta_vae", "factor_vae", "vae", "mine")
    ]
    found = text.families_of(Results(rows))
    assert [*found.values()] == ["beta_vae, vae", "factor_vae"]
    assert all(": " in heading for heading in found)
