"""From files and words to a checked specification, or to one clear line."""

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.core.hyper import Cosine, Hyper, Linear
from unknot.core.overlap import Overlap
from unknot.data.arrays import Arrays
from unknot.data.draw import Correlated, Pairs, Singles, Without
from unknot.study import config
from unknot.study.spec import Choice, TrainSpec, to_toml
from unknot.study.train import begin

IDS = ["c475c6f6dece", "ce5c389d5f16"]
BAD = {
    "unknown key": ({"stps": 3}, "Unknown key 'stps'; did you mean 'steps'?"),
    "unknown inner key": ({"objective": {"bta": 3}}, "'objective.bta'; did you mean 'beta'?"),
    "unknown objective": ({"objective": "beta_vea"}, "did you mean 'beta_vae'?"),
    "unknown dataset": ({"data": "dsprits"}, "did you mean 'dsprites'?"),
    "unknown net": ({"net": {"name": "conv46"}}, "did you mean 'conv64'?"),
    "word for a number": ({"objective": {"beta": "x"}}, "objective.beta should be a valid number"),
    "fraction of a step": ({"steps": 1.5}, "steps should be a valid integer"),
    "truth for a number": ({"batch": True}, "batch should be a valid integer"),
    "no steps": ({"steps": 0}, "steps must be 1 or more; got 0"),
    "negative batch": ({"batch": -4}, "batch must be 1 or more; got -4"),
    "no latents": ({"net": {"latents": 0}}, "latents must be"),
    "negative rate": ({"optim": {"lr": -1.0}}, "optim.lr must be above 0"),
    "not a number": ({"objective": {"beta": float("nan")}}, "finite number"),
    "another likelihood": ({"objective": {"likelihood": "poisson"}}, "'bernoulli', 'gaussian' or"),
    "another precision": ({"precision": "fp8"}, "precision should be"),
    "doubled seed": ({"seeds": [1, 2, 1]}, "twice: [1]"),
    "no seeds": ({"seeds": []}, "at least one seed"),
    "negative seed": ({"seeds": [-1]}, "from 0 to 2**63 - 1"),
    "number for a table": ({"net": 3}, "net must be a table or a name; got 3"),
    "needed key": ({"data": {"name": "arrays"}}, "data.path is needed"),
    "unknown schedule": (
        {"objective": {"beta": {"kind": "lin"}}},
        "names no schedule: 'lin'; did you mean 'linear'?",
    ),
    "key of a schedule": (
        {"objective": {"beta": {"kind": "linear", "start": 0, "end": 1, "stops": 9}}},
        "'objective.beta.stops'; did you mean 'steps'?",
    ),
    "schedule of no steps": (
        {"objective": {"beta": {"kind": "linear", "start": 0, "end": 1, "steps": 0}}},
        "steps must be above 0",
    ),
    "negative weight": ({"objective": {"beta": -1}}, "BetaVAE.beta must be 0 or more; got -1"),
    "schedule that falls below zero": (
        {"objective": {"beta": {"kind": "linear", "start": 4, "end": -1, "steps": 9}}},
        "BetaVAE.beta must be 0 or more; got -1",
    ),
    "schedule longer than the run": (
        {
            "steps": 500,
            "objective": {"beta": {"kind": "linear", "start": 0, "end": 4, "steps": 501}},
        },
        "objective.beta changes until step 501, but the run ends at 500",
    ),
    "late schedule of the rate": (
        {
            "steps": 500,
            "optim": {
                "lr": {"kind": "cosine", "start": 1e-3, "end": 0, "steps": 400, "begin": 101}
            },
        },
        "optim.lr changes until step 501, but the run ends at 500",
    ),
    "preset of an objective without": (
        {"objective": {"name": "ae", "preset": "mine"}},
        "ae has no preset 'mine'; it has none.",
    ),
    "unknown preset": (
        {"objective": {"name": "factor_vae", "preset": "study2091"}},
        "factor_vae has no preset 'study2091'; did you mean 'study2019'?",
    ),
    "unknown estimator": (
        {"objective": {"name": "beta_tcvae", "estimator": "mvs"}},
        "objective.estimator should be 'none', 'mws', 'mixture' or 'mss'",
    ),
    "target below zero": (
        {"objective": {"name": "control_vae", "target": -3}},
        "ControlVAE.target must be 0 or more; got -3",
    ),
    "schedule that begins when the run is over": (
        {"steps": 9, "objective": {"beta": {"kind": "linear", "start": 0, "end": 1, "begin": 9}}},
        "objective.beta begins to change at step 9, but the run ends at 9",
    ),
    "unknown draw": ({"draw": "pair"}, "There is no draw 'pair'; did you mean 'pairs'?"),
    "number for a draw": ({"draw": {"name": 3}}, "draw.name must be the name of a draw; got 3"),
    "list for a draw": ({"draw": []}, "draw must be a table or a name; got []"),
    "key of a draw": ({"draw": {"name": "pairs", "changedd": 1}}, "did you mean 'changed'?"),
    "views of another number": (
        {"draw": "pairs"},
        "The draw Pairs gives 2 views and BetaVAE takes 1",
    ),
    "weights of pairs": (
        {"draw": {"name": "pairs", "weights": []}},
        "Unknown key 'draw.weights'; known: changed, sampler.",
    ),
    "unknown weight": (
        {"draw": {"weights": [{"kind": "correlate"}]}},
        "draw.weights[0].kind names no weight: 'correlate'; did you mean 'correlated'?",
    ),
    "weight that is no table": ({"draw": {"weights": [3]}}, "draw.weights[0].kind names no weight"),
    "key of a weight": (
        {"draw": {"weights": [{"kind": "correlated", "first": "x", "second": "y", "sgma": 1}]}},
        "'draw.weights[0].sgma'; did you mean 'sigma'?",
    ),
    "version of the future": ({"version": 2}, "version 2 is not known"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_settings_get_one_clear_line(case):
    table, expected = BAD[case]
    with pytest.raises(ConfigError) as caught:
        config.spec(table)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_defaults_make_a_run():
    spec = config.spec({})
    assert (spec.data.name, spec.net.name, spec.objective.name) == (
        "dsprites",
        "conv64",
        "beta_vae",
    )
    assert spec.seeds == 0
    assert spec.lone


numbers = st.floats(0.001, 1e6)
hyper = st.one_of(
    numbers,
    st.builds(lambda a, b, n: {"kind": "linear", "start": a, "end": b, "steps": n}, *[numbers] * 3),
    st.builds(lambda a, n, r: {"kind": "cyclic", "start": 0.0, "end": a, "period": n, "ramp": r},
              numbers, numbers, st.floats(0.01, 1)),
)  # fmt: skip


@given(
    beta=hyper,
    lr=numbers,
    steps=st.integers(10**6, 10**9),
    seeds=st.one_of(
        st.integers(0, 2**63 - 1), st.lists(st.integers(0, 99), min_size=1, unique=True)
    ),
    order=st.one_of(st.none(), st.integers(0, 5)),
    likelihood=st.sampled_from(["bernoulli", "gaussian"]),
)
def test_a_specification_survives_its_file(beta, lr, steps, seeds, order, likelihood):
    table = {
        "objective": {"beta": beta, "likelihood": likelihood},
        "optim": {"lr": lr},
        "steps": steps,
        "seeds": seeds,
    } | ({} if order is None else {"order_seed": order})
    spec = config.spec(table)
    again = config.spec(tomllib.loads(to_toml(spec.table())))
    assert again == spec
    assert again.ids() == spec.ids()


def test_strings_survive_their_file():
    table = {"data": {"name": 'q"uo\\te\n\u00e9'}}
    assert tomllib.loads(to_toml(table)) == table


def test_whole_numbers_are_welcome_where_reals_are_wanted():
    assert config.spec({"objective": {"beta": 4}}) == config.spec({"objective": {"beta": 4.0}})
    assert config.spec({"objective": {"beta": 4}}).ids() == config.spec({}).ids()


def test_schedules_are_built():
    beta = {"kind": "linear", "start": 0, "end": 4, "steps": 100}
    assert config.spec({"objective": {"beta": beta}}).objective.settings.beta == Linear(
        0.0, 4.0, 100.0
    )
    lr = {"kind": "cosine", "start": 1e-3, "end": 0.0, "steps": 9, "begin": 2}
    assert config.spec({"optim": {"lr": lr}}).optim.lr == Cosine(1e-3, 0.0, 9.0, 2.0)


def test_a_preset_is_where_settings_start_from():
    table = {"objective": {"name": "factor_vae", "preset": "study2019", "gamma": 7}, "steps": 9}
    spec = config.spec(table)
    preset = registry.presets("objectives", "factor_vae")["study2019"]
    assert spec.objective.settings == replace(preset, gamma=7.0)
    assert "preset" not in spec.table()["objective"]
    assert config.spec(tomllib.loads(to_toml(spec.table()))) == spec


def test_an_update_that_counts_as_two_steps_halves_the_run():
    table = {"objective": {"name": "factor_vae", "count_both_optimizers": True}, "steps": 301}
    assert config.spec(table).updates == 151
    assert config.spec({"steps": 301}).updates == 301


def test_a_schedule_without_steps_is_over_the_whole_run():
    """In updates, and written out: the run's file says what every step had."""
    beta, lr = {"kind": "linear", "start": 1, "end": 0.5}, {"kind": "cosine", "start": 1, "end": 0}
    spec = config.spec({"steps": 300, "objective": {"beta": beta}, "optim": {"lr": lr}})
    assert spec.objective.settings.beta == Linear(1.0, 0.5, 300.0)
    assert spec.optim.lr == Cosine(1.0, 0.0, 300.0)
    assert spec.table()["objective"]["beta"]["steps"] == 300
    assert config.spec(tomllib.loads(to_toml(spec.table()))) == spec
    explicit = {"steps": 300, "objective": {"beta": {**beta, "steps": 300}}, "optim": {"lr": lr}}
    assert config.spec(explicit).ids() == spec.ids()
    both = {"name": "factor_vae", "count_both_optimizers": True, "gamma": beta}
    halved = config.spec({"steps": 300, "objective": both})
    assert halved.objective.settings.gamma == Linear(1.0, 0.5, 150.0)


WEIGHTS = [
    {"kind": "correlated", "first": "x_r", "second": "y_r", "sigma": 0.2},
    {"kind": "without", "factors": ["x_g", "y_g"], "first": [0, 1], "last": [3, 4]},
]


@dataclass(frozen=True)
class Wishing:
    beta: Hyper = 1.0
    views: ClassVar[int] = 2
    draw: ClassVar[str] = "pairs"

    def terms(self, net, step):
        return {}


@pytest.fixture
def wishing(monkeypatch):
    """The name of an objective of two views that asks for pairs."""
    real = registry.get
    monkeypatch.setattr(registry, "get", lambda r, n: Wishing if n == "wishing" else real(r, n))
    return "wishing"


def test_a_run_takes_the_draw_of_its_objective_and_writes_it_out(wishing):
    spec = config.spec({"objective": wishing})
    assert spec.draw == Choice("pairs", Pairs())
    assert spec.table()["draw"] == {"name": "pairs", "sampler": "exact"}
    assert config.spec(tomllib.loads(to_toml(spec.table()))) == spec
    said = [{"draw": "pairs"}, {"draw": {"name": "pairs"}}, {"draw": {"sampler": "exact"}}]
    for table in said:
        assert config.spec({"objective": wishing, **table}) == spec
        assert config.spec({"objective": wishing, **table}).ids() == spec.ids()


def test_a_run_may_name_another_draw(wishing):
    base = config.spec({"objective": wishing})
    tables = [
        {"changed": 2},
        {"name": "pairs", "sampler": "reference"},
        {"name": "singles"},
        {"name": "singles", "weights": WEIGHTS},
    ]
    specs = [config.spec({"objective": wishing, "draw": table}) for table in tables]
    assert [s.draw.settings for s in specs] == [
        Pairs(changed=2),
        Pairs(sampler="reference"),
        Singles(),
        Singles((Correlated("x_r", "y_r"), Without(("x_g", "y_g"), (0, 1), (3, 4)))),
    ]
    for spec in specs:
        assert config.spec(tomllib.loads(to_toml(spec.table()))) == spec
    assert len({s.ids()[0] for s in (base, *specs)}) == 5


def test_words_name_a_draw_and_its_settings(wishing):
    words = ["draw.name=pairs", "draw.changed=2"]
    table = config.assign({"objective": wishing, "draw": "singles"}, words)
    assert config.spec(table).draw == Choice("pairs", Pairs(changed=2))


def test_single_images_said_or_not_are_the_same_run():
    """Ids of runs from before there were draws must not move."""
    for table in ({"draw": "singles"}, {"draw": {}}, {"draw": {"weights": []}}):
        spec = config.spec({"seeds": [0, 1], **table})
        assert spec == config.spec({"seeds": [0, 1]})
        assert "draw" not in spec.table()
        assert spec.ids() == IDS
    assert config.spec({"seeds": [0, 1], "draw": {"weights": WEIGHTS}}).ids() != IDS


def test_data_that_a_draw_cannot_use_is_refused_before_training(tmp_path, tiny):
    np.savez(tmp_path / "images.npz", images=np.zeros((9, 8, 8), np.uint8))
    common = Choice("linear", registry.get("nets", "linear")()), Choice("wishing", Wishing())
    factorless = Choice("arrays", Arrays(str(tmp_path / "images.npz")))
    with pytest.raises(ConfigError, match=r"^Pairs compare factors and arrays has none; add 'fac"):
        begin(TrainSpec(factorless, *common), "cpu")
    grid = Choice("arrays", Arrays(str(tiny)))
    many = TrainSpec(grid, *common, draw=Choice("pairs", Pairs(changed=4)))
    with pytest.raises(ConfigError, match=r"differ in 4 factors .* arrays has 3: "):
        begin(many, "cpu")
    setting = begin(TrainSpec(grid, *common), "cpu").setting
    assert setting.draw == Pairs()


def test_words_are_applied_over_a_table():
    table = {"steps": 3, "objective": {"name": "vae"}}
    words = ["objective.name=beta_vae", "objective.beta=2", "batch = 8", "data.path=a b.npz"]
    assert config.assign(table, words) == {
        "steps": 3,
        "batch": 8,
        "objective": {"name": "beta_vae", "beta": 2},
        "data": {"path": "a b.npz"},
    }
    assert table == {"steps": 3, "objective": {"name": "vae"}}


def test_a_name_alone_is_short_for_a_table():
    short = config.assign({"data": "dsprites"}, ["data.name=xysquares", "data.spacing=4"])
    assert short == {"data": {"name": "xysquares", "spacing": 4}}


def test_a_path_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = config.spec({"data": {"name": "arrays", "path": "mine.npz"}})
    assert spec.data.settings.path == str(tmp_path / "mine.npz")


def test_the_readmes_file_is_a_specification():
    readme = Path(__file__).parents[2] / "README.md"
    (block,) = re.findall(r"```toml\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    spec = config.spec(tomllib.loads(block))
    assert spec.seeds == (0, 1, 2)
    assert spec.objective.settings.beta == Linear(0.0, 4.0, 5000.0)


@pytest.mark.parametrize("word", ["beta", "=3", "a..b=1", ""])
def test_words_without_a_key_are_refused(word):
    with pytest.raises(ConfigError, match="Expected key=value"):
        config.assign({}, [word])


def test_something_inside_of_a_word_or_number_makes_a_table_of_it():
    asked = {"data": "xysquares", "objective": {"beta": 4, "likelihood": "bernoulli"}}
    words = ["objective.likelihood.kind=overlap", "objective.likelihood.kernel=box"]
    words += ["objective.beta.kind=linear", "objective.beta.end=2", "data.spacing=4"]
    table = config.assign(asked, [*words, "objective.beta.start=0"])
    assert asked["objective"] == {"beta": 4, "likelihood": "bernoulli"}, "the given stays"
    assert table["data"] == {"name": "xysquares", "spacing": 4}, "a name stays a name"
    settings = config.spec({**table, "steps": 10}).objective.settings
    assert settings.likelihood == Overlap(kernel="box")
    assert settings.beta == Linear(0.0, 2.0, 10.0)


def test_tables_where_none_fit_are_refused():
    with pytest.raises(ConfigError, match=r"^steps should be a valid integer; got \{'more': 1\}"):
        config.spec(config.assign({"steps": 3}, ["steps.more=1"]))
    with pytest.raises(ConfigError, match=r"^'seeds.more': seeds is a list; set it as a whole"):
        config.assign({"seeds": [1, 2]}, ["seeds.more=1"])
    asked = {"objective": {"likelihood": "gaussian"}}
    with pytest.raises(ConfigError, match=r"likelihood.kind names no loss: None; known: overlap"):
        config.spec(config.assign(asked, ["objective.likelihood.radius=3"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("0..3", [0, 1, 2, 3]), ("5,1", [5, 1]), ("0..1, 9", [0, 1, 9]), ("4..4", [4])],
)
def test_seeds_as_people_type_them(text, expected):
    assert config.seeds(text) == expected


@pytest.mark.parametrize("text", ["a", "-1", "1...3", "", "1,,2", "3..1", "0..9999999", "\u00b2"])
def test_seeds_that_make_no_sense(text):
    with pytest.raises(ConfigError):
        config.spec({"seeds": config.seeds(text)})


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        config.read(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("steps = ")
    with pytest.raises(ConfigError, match="not a TOML file"):
        config.read(tmp_path / "bad.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not a TOML file"):
        config.read(tmp_path / "bytes.toml")


def test_ids_are_stable():
    """Frozen output: ids name runs on disk, so they must not move between versions."""
    assert config.spec({"seeds": [0, 1]}).ids() == IDS


def test_ids_depend_on_what_decides_a_result_and_on_nothing_else():
    base = config.spec({}).ids()
    same = [{"log_every": 7}, {"checkpoint_every": 5}, {"seeds": [0]}]
    other = [{"steps": 1}, {"batch": 5}, {"seeds": 1}, {"order_seed": 0}, {"precision": "bf16"},
             {"optim": {"lr": 1e-3}}, {"net": {"latents": 9}}, {"data": {"standardise": True}},
             {"objective": {"beta": 5}}]  # fmt: skip
    assert all(config.spec(t).ids() == base for t in same)
    ids = [config.spec(t).ids()[0] for t in other]
    assert len({*ids, *base}) == len(other) + 1
