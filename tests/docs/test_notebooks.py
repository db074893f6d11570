"""Lessons run as they are, with few steps; notebooks become pages with their outputs."""

import re
import runpy

import pytest
from scripts import script

notebooks = script("tools/notebooks.py")
website = script("tools/website.py")
FEW = {
    "1_a_vae": {"steps": 20},
    "3_rate_and_distortion": {"steps": 20},
    "4_overlap": {"steps": 10},
    "6_a_study": {"steps": 5},
}
"""Steps of the lessons that train."""


def source(file, folder):
    """A lesson as a script with few steps, written into a folder."""
    text = file.read_text(encoding="utf-8")
    for name, value in FEW.get(file.stem, {}).items():
        text, n = re.subn(rf"(?m)^{name} = [\d_]+$", f"{name} = {value}", text)
        assert n == 1
    path = folder / file.name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("file", notebooks.LESSONS, ids=lambda file: file.stem)
def test_a_lesson_and_its_solutions_run(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    import matplotlib.pyplot as plt

    runpy.run_path(str(source(file, tmp_path)), run_name="__main__")
    plt.close("all")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("file", notebooks.LESSONS, ids=lambda file: file.stem)
def test_a_lesson_has_exercises_solutions_and_texts_of_its_pictures(file):
    text = file.read_text(encoding="utf-8")
    cells = re.split(r"(?m)^# %%", text)[1:]
    exercises = [n for cell in cells for n in re.findall(r"(?m)^# \*\*(\d)\.\*\*", cell)]
    assert exercises == [str(n + 1) for n in range(len(exercises))]
    assert len(exercises) >= 3
    for number, cell in enumerate(cells):
        if re.search(r"(?m)^# \*\*\d\.\*\*", cell):
            assert 'tags=["solution"]' in cells[number + 1].splitlines()[0]
        if re.search(
            r"plt\.show|^Picture\(|\.traverse\(\)$|\.reconstruct\(\)$", cell, re.MULTILINE
        ):
            assert re.search(r'alt="(\w+\W+){3}', cell.splitlines()[0]), cell[:80]


def test_the_page_lists_every_lesson_and_example():
    page = (notebooks.ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    linked = re.findall(r"\(\.\./(examples/[\w/]+\.py)\)", page)
    assert linked == sorted(linked, key=lambda path: "lessons" not in path)
    assert {*linked} == {f.relative_to(notebooks.ROOT).as_posix() for f in notebooks.SCRIPTS}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A small script with outputs of every kind, run once."""
    for name in ("jupytext", "nbclient", "ipykernel"):
        pytest.importorskip(name)
    root = tmp_path_factory.mktemp("root")
    lessons = root / "examples" / "lessons"
    lessons.mkdir(parents=True)
    file = lessons / "small.py"
    file.write_text(
        "# %% [markdown]\n# # Small\n#\n# As in [other](other.ipynb).\n\n"
        '# %% alt="A plain red square"\n'
        "import sys\nfrom pathlib import Path\nimport numpy as np\nimport pandas as pd\n"
        "from unknot.report.picture import Picture\n"
        'print("seen", Path.cwd() / "x")\nprint("hidden", file=sys.stderr)\n'
        "Picture(np.full((4, 4, 3), (255, 0, 0), np.uint8))\n\n"
        '# %% [markdown]\n# **1.** Ask.\n\n# %% tags=["solution"]\n'
        'pd.DataFrame({"a": [1]})\n\n'
        "# %%\nPath('page.html').write_text('<p>'); Path('page.html')\n\n"
        '# %%\n_ = Picture(np.zeros((4, 4, 3), np.uint8)).save("saved.png")\n'
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebooks, "ROOT", root)
        patch.setattr(notebooks, "RUN", root / "build")
        patch.setattr(notebooks, "LESSONS", (file,))
        patch.setattr(notebooks, "SCRIPTS", (file,))
        notebooks.execute(file)
        assert notebooks.stage(root / "pages") == []
        whole = (root / "pages/notebooks/small.md").read_text(encoding="utf-8")
        file.write_text(file.read_text() + "\nprint(1)\n")
        assert notebooks.stage(root / "later") == ["small"]
        bare = (root / "later/notebooks/small.md").read_text(encoding="utf-8")
    return root, whole, bare


def test_its_page_has_text_pictures_tables_and_links(site):
    root, page, _ = site
    assert page.startswith("# Small\n\nAs in [other](other.md).\n\n*Download: [small.ipynb]")
    assert "```text\nseen x\n```" in page
    assert "hidden" not in page.replace('print("hidden', "")
    pictures = dict(re.findall(r"!\[([^\]]*)\]\((\S+)\)", page))
    assert [*pictures] == ["A plain red square", "The picture saved.png"]
    for name in pictures.values():
        assert (root / "pages/notebooks" / name).read_bytes().startswith(b"\x89PNG")
    assert re.search(r'\?\?\? success "Solution"\n\n    ```python(.|\n)*    <table', page)
    assert "[Open page.html](page.html)" in page
    assert (root / "pages/notebooks/page.html").read_text() == "<p>"


def test_its_notebook_has_outputs_and_a_cell_for_the_answer(site):
    import nbformat

    notebook = nbformat.read(site[0] / "pages/notebooks/small.ipynb", as_version=4)
    nbformat.validate(notebook)
    sources = [cell.source for cell in notebook.cells]
    answer = sources.index("# your answer")
    assert sources[answer - 1] == "**1.** Ask."
    assert notebook.cells[answer + 1].metadata["jupyter"]["source_hidden"]
    assert notebook.cells[answer + 1].outputs
    assert str(site[0]) not in str(notebook)
    assert "/tmp" not in str(notebook)


def test_a_script_that_changed_is_shown_without_outputs_and_says_so(site):
    assert "Outputs are missing" in site[2]
    assert "```text" not in site[2]


def test_links_to_scripts_lead_to_their_pages():
    def link(text):
        return website.LINK.sub(lambda m: website.moved(m, source="docs/faq.md"), text)

    assert link("[x](../examples/lessons/5_scores.py)") == "[x](notebooks/5_scores.md)"
    assert link("[x](../examples/first_run.py)") == "[x](notebooks/first_run.md)"
