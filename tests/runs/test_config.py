"""From files and words to a checked specification, or to one clear line."""

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.core.hyper import Cosine, LinearSchedule
from unknot.core.optim import Adam
from unknot.core.toml import read_toml, to_toml
from unknot.runs import config
from unknot.runs.fields import build
from unknot.runs.spec import settings_table

IDS = ["3befda6b6ece", "85dc2343599d"]


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
    assert config.spec({"objective": {"beta": beta}}).objective.settings.beta == LinearSchedule(
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
    assert spec.objective.settings.beta == LinearSchedule(1.0, 0.5, 300.0)
    assert spec.optim.lr == Cosine(1.0, 0.0, 300.0)
    assert spec.table()["objective"]["beta"]["steps"] == 300
    assert config.spec(tomllib.loads(to_toml(spec.table()))) == spec
    explicit = {"steps": 300, "objective": {"beta": {**beta, "steps": 300}}, "optim": {"lr": lr}}
    assert config.spec(explicit).ids() == spec.ids()
    both = {"name": "factor_vae", "count_both_optimizers": True, "gamma": beta}
    halved = config.spec({"steps": 300, "objective": both})
    assert halved.objective.settings.gamma == LinearSchedule(1.0, 0.5, 150.0)


def test_a_path_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = config.spec({"data": {"name": "arrays", "path": "mine.npz"}})
    assert spec.data.settings.path == str(tmp_path / "mine.npz")


def test_the_readmes_file_is_a_specification():
    readme = Path(__file__).parents[2] / "README.md"
    (block,) = re.findall(r"```toml\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    spec = config.spec(tomllib.loads(block))
    assert spec.seeds == (0, 1, 2)
    assert spec.objective.settings.beta == LinearSchedule(0.0, 4.0, 5000.0)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        read_toml(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("steps = ")
    with pytest.raises(ConfigError, match="is not TOML"):
        read_toml(tmp_path / "bad.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not TOML"):
        read_toml(tmp_path / "bytes.toml")


def test_ids_are_stable():
    """Frozen output: ids name runs on disk, so they must not move between versions."""
    assert config.spec({"seeds": [0, 1]}).ids() == IDS


def test_ids_depend_on_what_decides_a_result_and_on_nothing_else():
    base = config.spec({}).ids()
    same = [{"log_every": 7}, {"checkpoint_every": 5}, {"seeds": [0]}]
    other = [{"steps": 1}, {"batch": 5}, {"seeds": 1}, {"order_seed": 0}, {"precision": "bf16"},
             {"optim": {"lr": 1e-3}}, {"net": {"latents": 9}}, {"data": {"standardize": True}},
             {"objective": {"beta": 5}}]  # fmt: skip
    assert all(config.spec(t).ids() == base for t in same)
    ids = [config.spec(t).ids()[0] for t in other]
    assert len({*ids, *base}) == len(other) + 1


@dataclass(frozen=True)
class Sharp:
    width: int = 1
    kind: ClassVar[str] = "sharp"


@dataclass(frozen=True)
class Soft:
    edges: tuple[Sharp, ...] = ()
    kind: ClassVar[str] = "soft"


@dataclass(frozen=True)
class Toy:
    """Settings of an outsider: a union of its own, in a list, in one another, or left out."""

    edge: Sharp | Soft | Literal["none"] = "none"
    edges: tuple[Sharp | Soft, ...] | None = None


def test_unions_of_an_outsider_are_told_apart_by_their_kind():
    toy = Toy(Soft((Sharp(2),)), (Soft(), Sharp(3)))
    table = settings_table(toy)
    assert table == {
        "edge": {"kind": "soft", "edges": [{"kind": "sharp", "width": 2}]},
        "edges": [{"kind": "soft", "edges": []}, {"kind": "sharp", "width": 3}],
    }
    assert build(Toy, tomllib.loads(to_toml({"toy": table}))["toy"]) == toy
    assert build(Toy, {"edge": "none"}) == Toy()
    with pytest.raises(ConfigError, match=r"^toy.edge.kind has no choice 'shrp'; did you mean"):
        build(Toy, {"edge": {"kind": "shrp"}}, "toy")
    with pytest.raises(ConfigError, match=r"'toy.edges\[1\].wdth'; did you mean 'width'"):
        build(Toy, {"edges": [{"kind": "soft"}, {"kind": "sharp", "wdth": 1}]}, "toy")


def test_a_spec_that_leaves_something_open_is_refused():
    spec = config.spec({"objective": {"name": "ada_gvae"}})
    with pytest.raises(ConfigError, match=r"TrainSpec\.create"):
        replace(spec, sampler=None)
    with pytest.raises(ConfigError, match=r"TrainSpec\.create"):
        replace(spec, optim=Adam(lr=LinearSchedule(1.0, 0.5)))
    assert replace(spec, batch=7).sampler == spec.sampler


@pytest.mark.parametrize(
    ("data", "net", "expected"),
    [
        ("soft_squares", {}, "conv"),
        ({"name": "mnist", "path": "nowhere"}, {"latents": 4}, "conv"),
        ({"name": "mnist", "path": "nowhere", "side": 64}, {}, "conv64"),
        ("soft_squares", "mlp", "mlp"),
        ("dsprites", {}, "conv64"),
    ],
)
def test_a_net_that_is_not_named_fits_the_images(data, net, expected):
    assert config.spec({"data": data, "net": net}).net.name == expected
