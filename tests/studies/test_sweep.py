"""Study files: which settings they ask for, and what they are told when they make no sense."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unknot.core.errors import ConfigError
from unknot.runs import config
from unknot.studies.file.formula import compute
from unknot.studies.file.study_file import StudyFile, read_study
from unknot.studies.file.sweep import expand
from unknot.studies.plan import plan


def settings(text):
    return expand(tomllib.loads(text)).settings


def test_lists_of_a_grid_multiply_first_slowest_and_grids_add_up():
    found = settings("""
        [train]
        steps = 5
        [[grid]]
        objective.name = "beta_vae"
        objective.beta = [1, 4]
        batch = [8, 16]
        [[grid]]
        objective.name = "vae"
    """)
    rows = [(s["objective"]["name"], s["objective"].get("beta"), s.get("batch")) for s in found]
    assert rows == [
        ("beta_vae", 1, 8),
        ("beta_vae", 1, 16),
        ("beta_vae", 4, 8),
        ("beta_vae", 4, 16),
        ("vae", None, None),
    ]
    assert all(s["steps"] == 5 for s in found)


def test_axes_across_multiply_every_grid_and_are_slowest():
    found = settings("""
        [across]
        data = ["dsprites", "xysquares"]
        [[grid]]
        objective.beta = [1, 2]
        [[grid]]
        objective.name = "vae"
    """)
    grid = ({"beta": 1}, {"beta": 2}, {"name": "vae"})
    assert [(s["data"]["name"], s["objective"]) for s in found] == [
        (data, objective) for data in ("dsprites", "xysquares") for objective in grid
    ]


def test_zipped_axes_run_in_step_and_the_others_multiply():
    found = settings("""
        [[grid]]
        optim.lr = [1e-3, 1e-4]
        steps = [10, 100]
        batch = [8, 16]
        zip = [["optim.lr", "steps"]]
    """)
    assert [(s["optim"]["lr"], s["steps"], s["batch"]) for s in found] == [
        (1e-3, 10, 8),
        (1e-3, 10, 16),
        (1e-4, 100, 8),
        (1e-4, 100, 16),
    ]


def test_a_formula_follows_other_settings_also_those_of_the_base_and_other_formulas():
    found = settings("""
        [train]
        batch = 8
        log_every = "= steps / 4"
        [[grid]]
        objective.name = "dip_vae_i"
        objective.lambda_od = [1, 2, 5]
        objective.lambda_d = "= 10 * objective.lambda_od"
        steps = "= batch * objective.lambda_d"
    """)
    assert [s["objective"]["lambda_d"] for s in found] == [10, 20, 50]
    assert [s["steps"] for s in found] == [80, 160, 400]
    assert [s["log_every"] for s in found] == [20, 40, 100]


def test_a_list_valued_setting_is_a_list_of_lists_in_a_grid_and_itself_in_the_base():
    weights = '{kind = "within", factor = "x", low = 0, high = 3}'
    found = settings(f"""
        [train]
        sampler = {{name = "singles", weights = [{weights}]}}
        [[grid]]
        sampler.weights = [[], [{weights}, {weights}]]
    """)
    assert [len(s["sampler"]["weights"]) for s in found] == [0, 2]
    assert len(settings(f"[train]\nsampler.weights = [{weights}]")[0]["sampler"]["weights"]) == 1


def test_tables_can_be_points_of_an_axis_and_their_entries_axes():
    found = settings("""
        [train]
        objective.beta = 4
        [[grid]]
        objective.beta = [1, {kind = "linear", start = 0, end = 4}]
        [[grid]]
        objective.beta = {kind = "linear", start = 0, end = [1, 2]}
    """)
    assert [s["objective"]["beta"] for s in found] == [
        1,
        *({"kind": "linear", "start": 0, "end": end} for end in (4, 1, 2)),
    ]


def test_the_base_is_not_changed_by_the_runs():
    table = {"train": {"net": {"latents": 3}}, "grid": [{"net": {"name": ["linear", "conv64"]}}]}
    found = expand(table).settings
    found[0]["net"]["latents"] = 9
    assert found[1]["net"] == {"latents": 3, "name": "conv64"}
    assert table["train"] == {"net": {"latents": 3}}


STUDY2019 = """
seeds = "0..49"
[across]
data = ["dsprites", "dsprites_color", "dsprites_noisy", "dsprites_scream", "smallnorb", "cars3d"]
[[grid]]
objective = {name = "beta_vae", beta = [1, 2, 4, 6, 8, 16]}
[[grid]]
objective = {name = "factor_vae", gamma = [10, 20, 30, 40, 50, 100]}
[[grid]]
objective.name = "dip_vae_i"
objective.lambda_od = [1, 2, 5, 10, 20, 50]
objective.lambda_d = "= 10 * objective.lambda_od"
[[grid]]
objective.name = "dip_vae_ii"
objective.lambda_od = [1, 2, 5, 10, 20, 50]
objective.lambda_d = "= objective.lambda_od"
[[grid]]
objective = {name = "beta_tcvae", beta = [1, 2, 4, 6, 8, 10]}
[[grid]]
objective.name = "annealed_vae"
objective.gamma = 1000
objective.c = {kind = "linear", start = 0, end = [5, 10, 25, 50, 75, 100], steps = 100_000}
"""


def test_the_2019_study_has_10800_runs_in_its_published_order():
    """Run number = dataset * 1800 + model * 300 + setting * 50 + seed (Locatello et al. 2019)."""
    sweep = expand(tomllib.loads(STUDY2019))
    runs = [(s, seed) for s in sweep.settings for seed in sweep.seeds]
    assert len(runs) == 10_800
    setting, seed = runs[2 * 1800 + 3 * 300 + 4 * 50 + 17]
    assert (setting["data"]["name"], setting["objective"]["name"]) == (
        "dsprites_noisy",
        "dip_vae_ii",
    )
    assert (setting["objective"]["lambda_od"], seed) == (20, 17)
    setting, _ = runs[5 * 1800 + 5 * 300]
    assert setting["objective"]["c"] == {"kind": "linear", "start": 0, "end": 5, "steps": 100_000}


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        # Michlo 2022, table A.3: the experiment of section 3.3.3.
        (
            '[across]\ndata = ["a", "b", "c", "d", "e"]\nnet.latents = [9, 25]\n'
            'objective.name = ["beta_vae", "ada_gvae"]\nobjective.beta = [1, 2, 3, 4, 5, 6, 7, 8]',
            160,
        ),
        # Özcan 2024, section 3: batch x learning rate x iterations for each model.
        (
            "[across]\nbatch = [64, 128, 256]\noptim.lr = [1e-4, 1e-5]\n"
            "steps = [5, 10, 15, 20, 25, 30]",
            36,
        ),
        # Mushom 2020, table 5.4: 17 configurations of 10 seeds.
        (
            'seeds = "0..9"\n[[grid]]\nobjective.beta = [1, 3, 10, 30]\n'
            '[[grid]]\nobjective = {name = "factor_vae", gamma = [5, 10, 25, 50, 100]}\n'
            '[[grid]]\nobjective = {name = "beta_tcvae", beta = [1, 3, 6, 10]}\n'
            '[[grid]]\nobjective = {name = "dip_vae_i", lambda_od = [1, 3, 10, 30], '
            'lambda_d = "= objective.lambda_od"}',
            170,
        ),
    ],
)
def test_published_sweeps_have_their_published_sizes(text, runs):
    sweep = expand(tomllib.loads(text))
    assert len(sweep.settings) * len(sweep.seeds) == runs


BAD = {
    "grid = []": "one or more tables",
    "[[grid]]": "grid 1 is empty",
    "[grid]\nsteps = 3": "two brackets",
    "[[grid]]\nobjective.beta = []": "objective.beta is an empty list",
    "[across]\nsteps = [1]\n[[grid]]\nsteps = [2]": "steps comes twice",
    '[[grid]]\ndata = "dsprites"\n[across]\ndata = ["xysquares"]': "data.name comes twice",
    '[[grid]]\nbatch = [1, 2]\nsteps = [1, 2, 3]\nzip = [["batch", "steps"]]': "steps has 3",
    '[[grid]]\nbatch = [1, 2]\nzip = [["batch", "setps"]]': "zip names setps",
    '[[grid]]\nbatch = [1, 2]\nzip = [["batch", "batch"]]': "zipped twice",
    '[[grid]]\nbatch = [1, 2]\nzip = "batch"': "zip looks like",
    "sedes = 3": "did you mean 'seeds'",
    "steps = 3": "stands under [train]",
    "[train]\nseeds = 3": "at its top",
    "[across]\nseeds = [3]": "at its top",
    'seeds = "many"': "Seeds look like",
    "seeds = []": "seeds look like",
    "seeds = [0.5]": "seeds look like",
    "seeds = [-1]": "seeds look like",
    "name = 3": "name must be a text",
    'metrics = "mig"': "metrics look like",
    'metrics = ["mgi"]': "There is no metric 'mgi'; did you mean 'mig'",
    'protocol = "study2018"': "did you mean 'study2019'",
    "members = 0": "whole number from 1 on",
    "score_seed = true": "whole number from 0 on",
    f"score_seed = {2**64}": "below 2^63",
    "version = 9": "version of a study must be the number 1; got 9",
    "train = 3": "[train] must be a table",
    '[[grid]]\nsteps = "= 2 * bach"\nbatch = 3': "not set; did you mean 'batch'",
    '[[grid]]\nsteps = "= 2 * batch"\nbatch = "= steps"': "depends on itself",
    '[[grid]]\nsteps = "= 2 *"': "is not a formula",
    '[[grid]]\nsteps = "= 2 ** 3"': "is neither a number",
    "[[grid]]\nsteps = \"= __import__('os')\"": "is neither a number",
    '[[grid]]\nsteps = "= 1 / 0"': "has no value",
    '[[grid]]\nsteps = "= 1e308 * 1e308"': "no finite value",
    '[[grid]]\nsteps = "= precision"\nprecision = "bf16"': "needs a number for precision",
    "[across]\na = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\nseeds.x = 1": "at its top",
}


@pytest.mark.parametrize("text", BAD)
def test_nonsense_is_refused_in_one_line_that_says_what_to_do(text):
    with pytest.raises(ConfigError) as refused:
        expand(tomllib.loads(text))
    assert BAD[text] in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_grid_beyond_all_means_is_refused_before_it_is_written_out():
    axes = {f"a{i}": list(range(10)) for i in range(12)}
    with pytest.raises(ConfigError, match="1,000,000,000,000 runs"):
        expand({"across": axes})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[grid]]\nbatch = 3\n[[grid]]\nobjective.betta = 3", "In grid 2: .*did you mean 'beta'"),
        ("[[grid]]\nobjctive.beta = 3", "did you mean 'objective'"),
        ('[[grid]]\nobjective = "bet_vae"', "did you mean 'beta_vae'"),
        ('[[grid]]\nsteps = "= batch / 3"\nbatch = 64', "steps .*whole number"),
        ("[[grid]]\nsteps = [3, 0]", "In grid 1: steps must be 1 or more"),
    ],
)
def test_settings_are_checked_when_they_are_planned(text, said):
    with pytest.raises(ConfigError, match=said):
        plan(StudyFile.parse(text))


names = st.sampled_from(["a", "b.c"])
formulas = st.recursive(
    st.integers(0, 9).map(str) | names,
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({' '.join(t)})"),
    max_leaves=8,
)


@given(formulas, st.integers(-9, 9), st.integers(-9, 9))
def test_formulas_have_the_value_that_python_gives_them(text, a, bc):
    expected = eval(text.replace("b.c", "bc"), {"a": a, "bc": bc})
    assert compute(f"= {text}", {"a": a, "b.c": bc}.get) == expected


def test_flags_make_a_study_of_their_own_or_change_a_file(tmp_path):
    study = read_study(
        None,
        assignments=["train.steps=100", "name=mine"],
        grid=["objective.beta=1,2,4"],
        seeds="0..2",
    )
    assert [s["objective"]["beta"] for s in study.sweep.settings] == [1, 2, 4]
    assert (study.sweep.seeds, study.sweep.settings[0]["steps"]) == ((0, 1, 2), 100)
    assert study.folder_name == "mine"
    assert StudyFile.parse(study.text).table == study.table
    file = tmp_path / "two.toml"
    file.write_text('[[grid]]\nobjective.beta = [1, 2]\n[[grid]]\nobjective = "vae"\n')
    axes = ["data=dsprites,xysquares", "sampler.weights=[[]]"]
    sweep = read_study(file, grid=axes, metrics="mig,sap").sweep
    assert (len(sweep.settings), sweep.metrics, sweep.name) == (6, ("mig", "sap"), "two")
    assert sweep.settings[0]["sampler"] == {"weights": []}
    study = read_study(None, grid=["data=dsprites,xysquares", "data.standardize=true,false"])
    assert len(study.sweep.settings) == 4


@pytest.mark.parametrize("word", ["data=xysquares", "data.name=xysquares", "train.data=xysquares"])
def test_a_dataset_that_is_named_takes_the_place_of_an_axis_of_datasets(tmp_path, word):
    file = tmp_path / "two.toml"
    file.write_text('across = {data = ["dsprites", "xyobject"], batch = [8, 16]}')
    rows = [read_study(file, assignments=[w]).sweep.settings for w in (word, "net.latents=4")]
    data = [[config.data(s["data"]).name for s in settings] for settings in rows]
    assert data == [["xysquares"] * 2, ["dsprites"] * 2 + ["xyobject"] * 2]
    assert [s["batch"] for s in rows[0]] == [8, 16]


def test_a_file_alone_is_kept_as_it_is_but_for_a_missing_name(tmp_path):
    file = tmp_path / 'a "b".toml'
    file.write_text("# why\nseeds = 3\n")
    assert read_study(file).text == '# why\nseeds = 3\nname = "a \\"b\\""\n'
    file.write_text('# why\nname = "x"\n')
    assert read_study(file).text == '# why\nname = "x"\n'


def test_comments_stay_where_flags_change_a_file(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(
        '# Why three.\nseeds = "0..2"  # few\n\n[train]\nsteps = 5 # short\nobjective.beta = 1\n'
        "# The axis.\n[[grid]]\nbatch = [1, 2]\n"
    )
    flags = {"assignments": ["train.objective.beta.kind=linear", "train.steps=7"], "seeds": "4"}
    study = read_study(file, **flags, grid=["optim.lr=1e-3,1e-4"], protocol="paper")
    assert study.text == (
        '# Why three.\nseeds = 4  # few\nname = "a"\nprotocol = "paper"\n\n[train]\n'
        'steps = 7 # short\nobjective.beta = {kind = "linear"}\n'
        "# The axis.\n[[grid]]\nbatch = [1, 2]\n"
        "\n[across]\noptim = {lr = [0.001, 0.0001]}\n"
    )
    assert tomllib.loads(study.text) == study.table


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "Name a study file"),
        ({"grid": ["objective.beta"]}, "Expected an axis"),
        ({"grid": ["objective.beta="]}, "Expected an axis"),
        ({"grid": ["batch=1", "batch=2"]}, "axis batch comes twice"),
        ({"grid": ["data=a,b", "data.name=c"]}, "axis data.name comes twice"),
        ({"grid": ["data.name=c", "data=a,b"]}, "axis data comes twice"),
        ({"grid": ["batch=1", "batch.b=2"]}, "batch is a list"),
        ({"assignments": ["across=3"], "grid": ["batch=1"]}, r"\[across\] must be a table"),
    ],
)
def test_flags_that_make_no_sense(words, said):
    with pytest.raises(ConfigError, match=said):
        read_study(None, **words)
