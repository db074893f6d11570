"""A study for a paper: what is bold, what is cited, and that LaTeX takes it."""

import re
import shutil
import string
import subprocess
from typing import get_args

import numpy as np
import pytest
from report import small_study
from report.study_pages import one_cell, study
from scipy import stats

from unknot.analysis import Results
from unknot.api.study import Study
from unknot.core import registry
from unknot.core.csv_files import csv_text
from unknot.report.study.paper import folder as paper_folder
from unknot.report.study.paper.latex import escape
from unknot.report.study.paper.references import Work, best_known, cited, works_of
from unknot.report.study.paper.tables import score_tables


def runs(values, score="mig", **more):
    """A configuration for each list of values, a seed for each value."""
    return [
        {"objective": "beta_vae", "objective.beta": float(beta), "seed": seed, score: value, **more}
        for beta, of_beta in values.items()
        for seed, value in enumerate(of_beta)
    ]


def row_of(table, beta):
    return next(line for line in table.splitlines() if line.startswith(rf"beta\_vae beta {beta} &"))


def write(table, folder):
    file = folder / "table.csv"
    file.write_text(csv_text(table))
    paper_folder.paper(file, folder / "paper")
    return folder / "paper"


# Bold


def test_bold_is_what_seeds_tell_from_all_others():
    apart = {1: [0.1, 0.11, 0.12, 0.13, 0.14], 4: [0.5, 0.52, 0.54, 0.56, 0.58]}
    (table,) = score_tables(Results(runs(apart)), "scores", "A.")
    assert r"\textbf{0.540}" in row_of(table, 4)
    assert table.count(r"\textbf") == 1
    assert "Bold: best, and separated from all others by Welch" in table
    together = {1: [0.1, 0.3, 0.2, 0.4, 0.3], 4: [0.2, 0.4, 0.3, 0.5, 0.3]}
    (table,) = score_tables(Results(runs(together)), "scores", "A.")
    assert r"\textbf" not in table
    assert "None is bold" in table


def test_an_interval_that_a_bound_cuts_off_has_both_ends():
    values = {1: [0.1, 0.11, 0.12, 0.13, 0.14], 4: [0.9, 0.99, 1.0, 0.98, 0.9]}
    (free,) = score_tables(Results(runs(values)), "scores", "A.")
    assert "0.954" in row_of(free, 4)
    assert r"\ensuremath{\pm}0.062" in row_of(free, 4)
    assert "both ends" not in free
    (table,) = score_tables(Results(runs(values), bounds={"mig": (0, 1)}), "scores", "A.")
    assert "{[}0.892, 1.000{]}" in row_of(table, 4)
    assert r"\ensuremath{\pm}0.020" in row_of(table, 1)
    assert "or with both ends where a bound of the score cuts one off" in table


def test_the_lowest_is_bold_where_lower_is_better():
    apart = {1: [10.0, 11, 12, 11, 10], 4: [50.0, 52, 54, 56, 58]}
    (table,) = score_tables(Results(runs(apart), lower=["mig"]), "scores", "A.")
    assert r"\textbf{10.80}" in row_of(table, 1)
    assert r"mig $\downarrow$" in table


def test_nothing_sick_or_unranked_is_bold():
    apart = {1: [0.1, 0.11, 0.12, 0.13, 0.14], 4: [0.5, 0.52, 0.54, 0.56, 0.58]}
    rows = runs(apart)
    for row in rows:
        row["kl"] = 0.001 if row["objective.beta"] == 4 else 9.0
    (table,) = score_tables(Results(rows, ["mig"]), "scores", "A.")
    assert r"\textbf" not in table
    assert r"\textdagger" in row_of(table, 4)
    assert r"\textdagger" not in row_of(table, 1)
    assert "Half of its runs collapsed" in table
    losses = Results(runs(apart, "recon"), ["recon"], losses=["recon"], lower=["recon"])
    (table,) = score_tables(losses, "scores", "A.")
    assert r"\textbf" not in table
    assert "arrow" not in table


def test_few_seeds_have_a_range_and_one_has_nothing():
    (table,) = score_tables(Results(runs({1: [0.1, 0.2], 4: [0.4, 0.6]})), "scores", "A.")
    assert r"\textbf{0.500} {\scriptsize 0.400--0.600}" in row_of(table, 4)
    assert r"\pm" not in table
    assert "Bold: better in every seed than any other" in table
    (table,) = score_tables(Results(runs({1: [0.1], 4: [0.6]})), "scores", "A.")
    assert row_of(table, 4) == r"beta\_vae beta 4 & 0.600 \\"
    assert "Values of one seed" in table


def test_intervals_are_students():
    values = np.array([0.1, 0.14, 0.19, 0.12, 0.3, 0.21])
    (table,) = score_tables(Results(runs({1: values, 4: values})), "scores", "A.")
    half = stats.t.ppf(0.975, 5) * stats.sem(values)
    assert rf"\ensuremath{{\pm}}{half:.3f}}}" in row_of(table, 1)


def test_runs_that_are_missing_are_seen():
    (table,) = score_tables(Results(runs({1: [0.1, 0.2, 0.3], 4: [0.2, 0.4]})), "scores", "A.")
    assert "(n = 2)" in row_of(table, 4)
    assert "(n =" not in row_of(table, 1)
    assert "Other numbers of seeds are in brackets" in table


def test_long_studies_have_several_tables_with_every_configuration_once():
    table = Results(runs({beta: [0.1, 0.2] for beta in range(1, 121)}))
    tables = score_tables(table, "scores", "A.")
    assert len(tables) == 3
    rows = re.findall(r"^beta\\_vae beta (\d+) &", "\n".join(tables), re.MULTILINE)
    assert [int(beta) for beta in rows] == [*range(1, 121)]
    labels = re.findall(r"\\label\{(.*?)\}", "\n".join(tables))
    assert len(labels) == len({*labels}) == 3


def test_many_scores_stand_in_several_tables():
    rows = [
        {"objective": "vae", "seed": seed, **{f"score_number_{i}": i + seed for i in range(20)}}
        for seed in range(5)
    ]
    tables = score_tables(Results(rows), "scores", "A.")
    assert len(tables) > 2
    heads = [name for table in tables for name in re.findall(r"score\\_number\\_(\d+) ", table)]
    assert [int(name) for name in heads] == [*range(20)]


# References


def test_a_reference_has_what_its_docstring_has():
    (work,) = works_of("objectives", "dip_vae_i")
    assert work.authors == ("Kumar", "Sattigeri", "Balakrishnan")
    assert not work.others
    assert work.year == 2018
    # The metric's docstring has neither all authors nor the whole title.
    assert works_of("metrics", "sap") == [work]
    assert "author = {{Kumar} and {Sattigeri} and {Balakrishnan}}" in work.bibtex
    assert "and others" in works_of("objectives", "beta_vae")[0].bibtex
    assert works_of("objectives", "an outsider's") == []


def test_a_text_may_name_several_papers_and_none_of_what_nobody_wrote():
    text = """Kingma et al. 2016, "Improving flows"; Rezende and Mohamed 2015, "Variational
    inference", for flows at large; the distance is Olkin and Pukelsheim's of 1982, table 5.2."""
    assert [(w.authors, w.others, w.year, w.title) for w in cited(text)] == [
        (("Kingma",), True, 2016, "Improving flows"),
        (("Rezende", "Mohamed"), False, 2015, "Variational inference"),
    ]
    assert works_of("datasets", "soft_squares") == [], "no paper has it"
    unknown = Work(("Shao",), True, 2020)
    assert best_known(unknown) == unknown, "two papers of that year: which is not known"


def test_every_paper_of_the_catalogues_is_an_entry_without_a_venue():
    entries = {}
    for room in get_args(registry.Room):
        for name in registry.names(room):
            works = works_of(room, name)
            named = "\nPaper: " in registry.doc(room, name)
            assert bool(works) == (named and name != "soft_squares"), name
            for work in works:
                assert work.title, f"{name}: {work.key}"
                assert work == entries.setdefault(work.key, work), "a key is one paper"
    assert len(entries) > 45
    fields = {f for work in entries.values() for f in re.findall(r"^  (\w+) =", work.bibtex, re.M)}
    assert fields == {"author", "title", "year", "note"}


# Letters


def test_names_are_escaped():
    names = {
        "beta_vae": r"beta\_vae", "95%": r"95\%", "R&D": r"R\&D", "a--b": "a-{}-b",
        "Moğultay Özcan": r"Mo{\u{g}}ultay {\"{O}}zcan", "β": r"\ensuremath{\beta}",
        "[1]": "{[}1{]}", "*": "{*}", "\\x{y}": r"\textbackslash{}x\{y\}", "図": "(U+56F3)",
        "a\nb": "a b",
    }  # fmt: skip
    assert {name: escape(name) for name in names} == names


def test_escaped_texts_are_ascii_with_no_letter_left_that_means_something():
    for code in [*range(32, 0x2200), 0x1F600, 0x56F3]:
        tex = escape(f"x{chr(code)}x")
        assert tex.isascii(), hex(code)
        bare = re.sub(r"\\(?:[a-zA-Z]+|.)", "", tex)
        assert not set("$&%#_~^\\") - set("^~") & set(bare.replace("^2", "").replace("^3", ""))
        assert bare.count("{") == bare.count("}"), tex


# The folder


ODD = ["beta_vae_é", "β & co_100%", "Özcan_\\vae{x}", "[a]--b #1", "*_~^$<tag>"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Objectives with all letters that LaTeX minds, some of which differ."""
    rows = [
        {"objective": name, "seed": seed, "mig": i / 10 + seed / 1000, "sap_%": seed + 0.5}
        for i, name in enumerate(ODD)
        for seed in range(5)
    ]
    return write(rows, tmp_path_factory.mktemp("odd_&_100%"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Six configurations of two objectives; the last run diverged."""
    return write(study(5), tmp_path_factory.mktemp("plain"))


def test_the_document_has_all_files_and_every_citation_an_entry(plain, odd):
    for out in (plain, odd):
        files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
        document = (out / "main.tex").read_text()
        named = {f"{name}.tex" for name in re.findall(r"\\input\{(.*?)\}", document)}
        named |= {*re.findall(r"\\includegraphics\{(.*?)\}", document)}
        assert files == named | {"main.tex", "methods.md", "references.bib"}
        text = "\n".join(path.read_text() for path in out.rglob("*.tex"))
        keys = {key for keys in re.findall(r"\\cite\{(.*?)\}", text) for key in keys.split(",")}
        assert keys == {*re.findall(r"@misc\{(\w+),", (out / "references.bib").read_text())}
        for kind in ("table", "table*", "figure", "figure*", "tabular"):
            assert text.count(rf"\begin{{{kind}}}") == text.count(rf"\end{{{kind}}}")


def test_columns_fit_their_head(plain, odd):
    for out in (plain, odd):
        for file in (out / "tables").iterdir():
            lines = file.read_text().splitlines()
            columns = len(
                re.search(r"@\{\}(.*)@\{\}", file.read_text())[1].replace("p{2.1in}", "l")
            )
            rows = [line for line in lines if line.endswith(r"\\")]
            assert len(rows) >= 6
            assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in rows} == {columns}
            assert not any(line.startswith(("[", "*")) for line in rows), "an option of \\\\"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
@pytest.mark.slow
def test_latex_takes_it(odd, tmp_path):
    shutil.copytree(odd, tmp_path / "paper")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main"]
    done = subprocess.run(words, cwd=tmp_path / "paper", capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert b"Overfull" not in done.stdout


def test_figures_are_as_wide_as_a_column(plain):
    files = sorted((plain / "figures").iterdir())
    assert {file.stem for file in files} >= {"spread-mig", "swept-value-mig", "swept-value-recon"}
    for file in files:
        data = file.read_bytes()
        left, _, right, _ = map(float, re.search(rb"MediaBox \[([\d. ]+)\]", data)[1].split())
        assert right - left == pytest.approx(72 * 3.25, abs=0.1)
        assert b"/CreationDate" not in data
        assert b"/Type3" not in data, "letters are fonts that publishers take"


def test_the_same_runs_give_the_same_files(tmp_path):
    contents = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        out = write(runs({1: [0.1, 0.2], 4: [0.3, 0.4]}), tmp_path / name)
        files = sorted(path for path in out.rglob("*") if path.is_file())
        contents.append({path.relative_to(out): path.read_bytes() for path in files})
    assert contents[0] == contents[1]
    assert len(contents[0]) > 6


def test_methods_say_what_a_table_knows(plain):
    text = (plain / "methods.md").read_text()
    for part in (
        "beta\\_vae [@higgins2017beta] (beta 1, 4 and 16)",
        "Data: dsprites [@matthey2017dsprites]",
        "6 configurations, 30 runs in all; seeds 0 to 4.",
        "1 diverged of 30 runs",
        "mig [@chen2018isolating]",
        "Student's 95% intervals",
    ):
        assert part in text
    assert "version" not in text, "nobody says by which protocol a table was scored"
    assert "cuda" not in text


def test_one_seed_is_no_evidence(tmp_path):
    out = write([*one_cell(1), {**one_cell(1)[0], "objective": "ae", "mig": 0.9}], tmp_path)
    assert "There is one seed per configuration" in (out / "methods.md").read_text()
    assert r"\textbf" not in (out / "tables" / "scores.tex").read_text()


@pytest.mark.slow
def test_a_study_names_protocols_versions_and_seeds(tiny, tmp_path):
    options = {"seeds": "[3, 5]", "steps": 10, "metrics": '["mig", "sap@study2019"]'}
    made = small_study.train(tmp_path / "study", tiny, grids=small_study.ANOTHER, **options)
    first = Study.open(made.path).report(tmp_path / "paper", paper=True)
    assert first == tmp_path / "paper" / "main.tex"
    text = (tmp_path / "paper" / "methods.md").read_text()
    for part in (
        "mig [@chen2018isolating] (protocol unknot, version",
        "sap [@kumar2018variational] (protocol study2019, version 1",
        "[@locatello2019challenging]",
        "seeds 3 and 5",
        "Optimiser: adam (",
        "10 steps, batches of 8, precision float32",
        "on cpu",
        "unknot",
    ):
        assert part in text, part
    assert (tmp_path / "paper" / "methods.tex").read_text().count(r"\cite{") == text.count("[@")


def test_text_between_citations_keeps_its_blanks():
    from unknot.report.study.paper.methods import BEGIN, END, Methods

    made = Methods((f"A_b {BEGIN}x1 y2{END} and c.", "D."), ())
    assert made.latex == "A\\_b~\\cite{x1,y2} and c. D.\n"
    assert made.markdown == "A\\_b [@x1; @y2] and c. D.\n"
    assert set(string.ascii_letters) == {*escape(string.ascii_letters)}
