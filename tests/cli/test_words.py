"""Settings as words of the command, and classes of one's own by --import."""

import os
from typing import get_args, get_type_hints

import pytest
import typer

from unknot.cli import main
from unknot.cli.options import parse_path
from unknot.core import user_classes
from unknot.core.errors import ConfigError
from unknot.core.toml import read_toml
from unknot.runs import words

MODULE = '''
from dataclasses import dataclass
from unknot import Hyper, Term
from unknot.losses import kl_normal, reconstruction

@dataclass(frozen=True)
class Mine:
    """A beta-VAE."""
    weight: Hyper = 1.0
    def terms(self, net, step):
        q = net.encode(step.x)
        decoded = net.decode(step.sample(q))
        return {"recon": Term(reconstruction("bernoulli", decoded, step.x)),
                "kl": Term(kl_normal(q).sum(-1), self.weight)}
'''


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["beta=4"], {"objective": {"beta": 4}}),
        (["gamma=3", "objective=factor_vae"], {"objective": {"name": "factor_vae", "gamma": 3}}),
        (["latents=6", "lr=1e-3"], {"net": {"latents": 6}, "optim": {"lr": 1e-3}}),
        (["weight_decay=1", "optim=adamw"], {"optim": {"name": "adamw", "weight_decay": 1}}),
        (["steps=5", "seeds=0..2"], {"steps": 5, "seeds": [0, 1, 2]}),
        (["objective.steps=4"], {"objective": {"steps": 4}}),
        (["spacing=4", "data=xysquares"], {"data": {"name": "xysquares", "spacing": 4}}),
        (["preset=study2019"], {"objective": {"preset": "study2019"}}),
    ],
)
def test_short_names_find_their_setting(given, expected):
    assert words.apply({}, given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["bta=4"], "did you mean 'beta'"),
        (["stps=4"], "did you mean 'steps'"),
        (["gamma=4"], "Unknown key 'gamma'"),  # no setting of beta_vae
        (["likelihood"], "Expected key=value"),
        (["=4"], "Expected key=value"),
    ],
)
def test_typos_get_the_nearest_name(given, message):
    with pytest.raises(ConfigError, match=message):
        words.apply({}, given)


def test_a_name_that_two_things_have_is_refused(monkeypatch):
    monkeypatch.setattr(words, "known_paths", lambda _: ["net.width", "objective.width"])
    with pytest.raises(ConfigError, match=r"net\.width or objective\.width"):
        words.apply({}, ["width=4"])


def test_train_takes_words_and_a_module(unknot, tiny, tmp_path, monkeypatch):
    (tmp_path / "my_objectives.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(user_classes, "_classes", {})
    monkeypatch.setenv(user_classes.IMPORTS, "")
    given = [f"data={tiny}", "net=linear", "latents=2", "steps=3", "batch=4", "weight=2"]
    code, _, err = unknot("train", *given, "objective=my_objectives:Mine", "--device", "cpu")
    assert code == 2
    assert "--import my_objectives" in err
    code, _, err = unknot(
        "--import", "my_objectives", "train", *given, "objective=my_objectives:Mine",
        "--out", "run", "--device", "cpu",
    )  # fmt: skip
    assert code == 0, err
    table = read_toml(tmp_path / "run" / "run.toml")
    assert table["objective"]["weight"] == 2
    assert table["net"]["latents"] == 2
    assert len(table["objective"]["source"]) == 16
    assert os.environ[user_classes.IMPORTS] == "my_objectives"
    code, _, err = unknot("train", "a.toml", "b.toml")
    assert code == 2
    assert "one file" in err


def test_a_module_that_cannot_be_imported_is_named(unknot):
    code, _, err = unknot("--import", "no_such_module", "list", "nets")
    assert code == 2
    assert "no_such_module" in err


def verbs(app):
    """Functions of all verbs."""
    for command in app.registered_commands:
        yield command.callback
    for group in app.registered_groups:
        yield from verbs(group.typer_instance)


def test_a_module_that_ends_the_program_is_refused(unknot, tmp_path, monkeypatch):
    (tmp_path / "leaves_at_once.py").write_text("raise SystemExit(0)\n")
    monkeypatch.chdir(tmp_path)
    code, _, err = unknot("--import", "leaves_at_once", "list", "nets")
    assert code == 2
    assert "leaves_at_once cannot be imported: SystemExit(0)" in err


def test_every_path_refuses_an_empty_text():
    """A shell variable that is not set would stand for the folder that one is in."""
    loose = [
        f"{verb.__name__}: {name}"
        for verb in verbs(main.app)
        for name, hint in get_type_hints(verb, include_extras=True).items()
        if "Path" in str(get_args(hint)[:1]) and hint.__metadata__[0].parser is None
    ]
    assert loose == []
    with pytest.raises(typer.BadParameter, match="empty text"):
        parse_path("")
