"""Which configuration of each objective a score selects, and what the others say of it."""

import csv

from report.study_pages import study, write

from unknot.analysis import Results
from unknot.report.study.blocks import FigureFolder, More, Part
from unknot.report.study.selection_tables import select, selection_tables

TABLE = [
    ("beta_vae", 1, 0.10, 0.80, 9),
    ("beta_vae", 4, 0.40, 0.30, 5),
    ("factor_vae", 10, 0.30, 0.50, 7),
    ("factor_vae", 20, 0.20, 0.90, 8),
    ("tcvae", 1, 0.25, 0.50, 6),
    ("tcvae", 2, 0.05, 0.60, 4),
]


def results(**options):
    rows = [
        {
            "objective": objective,
            "objective.strength": float(strength),
            "seed": seed,
            "mig": mig + step,
            "sap": sap - step,
            "recon": float(recon),
        }
        for objective, strength, mig, sap, recon in TABLE
        for seed, step in enumerate((-0.01, 0.01))
    ]
    return Results(rows, ["mig", "sap"], lower=["recon"], **options)


def tables(results, tmp_path):
    return selection_tables(Part(results), FigureFolder(tmp_path))


def texts(grid, name):
    column = grid.head.index(name)
    return [(row[column].text, row[column].place) for row in grid.rows]


def test_best_and_second_are_marked(tmp_path):
    best, *_ = tables(results(losses=["recon"]), tmp_path)
    assert texts(best, "mig") == [("0.400 ± 0.014", 1), ("0.300 ± 0.014", 2), ("0.250 ± 0.014", 0)]
    assert texts(best, "sap") == [("0.800 ± 0.014", 2), ("0.900 ± 0.014", 1), ("0.600 ± 0.014", 0)]
    assert [row[2].small for row in best.rows] == ["strength 1", "strength 20", "strength 2"]


def test_other_scores_are_those_of_what_was_selected(tmp_path):
    _, by_mig, more = tables(results(), tmp_path)
    assert [row[0].small for row in by_mig.rows] == ["strength 4", "strength 10", "strength 1"]
    assert texts(by_mig, "sap") == [
        ("0.300 ± 0.014", 2),
        ("0.500 ± 0.014", 1),
        ("0.500 ± 0.014", 1),
    ]
    assert [place for _, place in texts(by_mig, "recon")] == [1, 0, 2], "lower is better"
    assert isinstance(more, More)
    assert [grid.title for grid in more.grids] == ["Selected by sap"]
    with (tmp_path / "figures" / "selected-by-mig.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["selected_by"] for row in rows} == {"mig"}
    assert len(rows) == 9


def test_losses_of_different_objectives_are_not_marked(tmp_path):
    _, by_mig, _ = tables(results(losses=["recon"]), tmp_path)
    assert {place for _, place in texts(by_mig, "recon")} == {0}
    assert "Not marked: recon." in by_mig.note


def test_nothing_to_select_from(tmp_path):
    one_each = [{"objective": name, "mig": 0.1} for name in "abc"]
    assert tables(Results(one_each), tmp_path) == []
    one_objective = [{"objective": "a", "objective.beta": beta, "mig": 0.1} for beta in (1, 2)]
    assert tables(Results(one_objective), tmp_path) == []


def test_collapsed_models_are_not_selected():
    rows = [{"objective": "a", "objective.beta": float(b), "mig": mig, "kl": kl}
            for b, mig, kl in ((1, 0.2, 5.0), (4, 0.9, 0.0))]  # fmt: skip
    (chosen,) = select(Results(rows, ["mig"]), "mig")
    assert chosen.configuration.swept_value == 1


def test_the_page_has_them_bold_and_underlined(tmp_path):
    _, out = write(study(3), tmp_path)
    html = (out / "index.html").read_text()
    assert "Selected by mig" in html
    assert "<strong>0." in html
    assert "<u>0." in html
