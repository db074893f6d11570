"""Objects in place of names: ours, and classes of one's own."""

import linecache
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from torch import nn

import unknot
from unknot import Hyper, Term, nets, objectives
from unknot.core import registry, user_classes
from unknot.core.errors import ConfigError
from unknot.losses import kl_normal, reconstruction

IMAGES = (np.arange(40 * 64).reshape(40, 8, 8) * 37 % 256).astype("uint8")
TINY = {"steps": 6, "batch": 8, "log_every": 3, "device": "cpu"}


@dataclass(frozen=True)
class SameAsBeta:
    """What a beta-VAE minimises, written by a user."""

    weight: Hyper = 1.0

    def terms(self, net, step):
        q = net.encode(step.x)
        decoded = net.decode(step.sample(q))
        return {
            "recon": Term(reconstruction("bernoulli", decoded, step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.weight),
        }


@dataclass(frozen=True)
class Tiny:
    """A net of the user's."""

    latents: int = 3
    init: str = "torch"

    def encoder(self, image):
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 2 * self.latents))

    def decoder(self, image):
        return nn.Sequential(nn.Linear(self.latents, 64), nn.Unflatten(1, image))


def test_an_object_is_the_run_that_its_name_is():
    by_name = unknot.train(
        IMAGES, "beta_vae", "linear", beta=3, net_settings={"latents": 4}, **TINY
    )
    by_object = unknot.train(IMAGES, objectives.BetaVAE(beta=3), nets.Linear(latents=4), **TINY)
    assert by_object.spec.ids() == by_name.spec.ids()
    assert torch.equal(by_object.codes(), by_name.codes())
    pairs = unknot.samplers.Pairs(changed=1)
    ours = unknot.data.XYSquares(spacing=4)
    spec = unknot.train(ours, objectives.AdaGVAE(), sampler=pairs, **{**TINY, "steps": 1}).spec
    assert spec.data.settings.spacing == 4
    assert spec.sampler.settings.changed == 1


def test_a_users_classes_give_the_numbers_of_ours():
    """The same formula and the same net under other names: the same weights."""
    theirs = unknot.train(IMAGES, SameAsBeta(weight=4), Tiny(latents=3), **TINY)
    ours = unknot.train(IMAGES, "beta_vae", nets.Linear(latents=3), beta=4, **TINY)
    assert torch.equal(theirs.codes(), ours.codes())
    assert theirs.spec.ids() != ours.spec.ids()


def test_a_run_of_users_classes_is_saved_and_loaded(tmp_path, monkeypatch):
    run = unknot.train(IMAGES, SameAsBeta(weight=2), Tiny(), out=tmp_path / "run", **TINY)
    loaded = unknot.load(tmp_path / "run", data=IMAGES, device="cpu")
    assert torch.equal(loaded.codes(), run.codes())
    # Where nothing of it is imported, the class has to be given: under any name.
    monkeypatch.setattr(user_classes, "_classes", {})
    text = (tmp_path / "run" / "run.toml").read_text().replace(__name__, "absent_module")
    (tmp_path / "run" / "run.toml").write_text(text)
    with pytest.raises(ConfigError, match="unknot --import absent_module"):
        unknot.load(tmp_path / "run", data=IMAGES)
    unknot_load = {"data": IMAGES, "objective": SameAsBeta, "net": Tiny}
    with pytest.raises(unknot.UnknotError, match=r"run\.toml has changed"):
        unknot.load(tmp_path / "run", **unknot_load)  # the name is part of the id


def test_a_folder_never_causes_an_import(tmp_path):
    """A module whose import would leave a trace is not imported."""
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')\n")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from unknot.core import registry\n"
        "try: registry.get('objectives', 'evil:Thing')\n"
        "except Exception as error: print(type(error).__name__)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "ConfigError"
    assert not (tmp_path / "trace").exists()
    with pytest.raises(ConfigError, match="must be a dataclass"):
        registry.get("objectives", "os:getcwd")


def test_an_edited_class_is_another_run(monkeypatch, tmp_path):
    before = unknot.train(IMAGES, SameAsBeta(), Tiny(), out=tmp_path / "run", **TINY).spec
    monkeypatch.setattr(user_classes, "source_hash", lambda _: "0" * 16)
    assert before.ids() != unknot.train(IMAGES, SameAsBeta(), Tiny(), **TINY).spec.ids()
    with pytest.raises(ConfigError, match="was changed after the run was trained"):
        unknot.load(tmp_path / "run", data=IMAGES)


def test_source_that_cannot_be_read_needs_a_version():
    space = {"dataclass": dataclass, "__name__": "nowhere"}
    exec("@dataclass(frozen=True)\nclass Bare:\n    def terms(self, net, step): ...", space)
    with pytest.raises(ConfigError, match="version: str"):
        unknot.train(IMAGES, space["Bare"](), "linear", **TINY)
    exec(
        "@dataclass(frozen=True)\nclass Bare:\n    version: str = '1'\n"
        "    def terms(self, net, step): ...",
        space,
    )
    assert user_classes.source_hash(space["Bare"]) is None


@pytest.mark.parametrize(
    ("objective", "settings", "message"),
    [
        (objectives.BetaVAE, {}, "make an instance"),
        (objectives.BetaVAE(), {"beta": 3}, "BetaVAE\\(beta="),
        (object(), {}, "dataclass"),
        (nets.Linear(), {}, "no method terms"),
    ],
)
def test_what_is_no_objective_is_refused(objective, settings, message):
    with pytest.raises(ConfigError, match=message):
        unknot.train(IMAGES, objective, "linear", **settings, **TINY)


def test_modules_for_other_packages_are_offered_where_those_are(monkeypatch):
    """And asked for by name they say what to install."""
    assert "sklearn" in dir(unknot)
    assert ("lightning" in dir(unknot)) == (find_spec("lightning") is not None)
    monkeypatch.setitem(sys.modules, "lightning", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "unknot.api.lightning", raising=False)
    with pytest.raises(ConfigError, match=r"pip install 'unknot\[lightning\]'"):
        _ = unknot.lightning


def test_catalogues_offer_their_classes():
    for module, name in (
        (unknot.objectives, "FactorVAE"),
        (unknot.nets, "Conv64"),
        (unknot.data, "DSprites"),
        (unknot.samplers, "Pairs"),
    ):
        assert name in dir(module)
        assert getattr(module, name).__name__ == name
        with pytest.raises(AttributeError):
            module.Nothing  # noqa: B018


def test_what_is_public_has_a_text_and_what_people_call_an_example():
    hooks = ("Adversarial", "Batchwise", "Calibrated", "Differencing", "Labelled", "MultiView",
             "Recoding", "Stateful")  # fmt: skip
    made_for_one = ("FactorDataset", "Hyper", "Objective", "Representation", "UnknotError")
    for name in unknot.__all__:
        thing = getattr(unknot, name)
        assert thing.__doc__, name
        if callable(thing) and name not in (*hooks, *made_for_one):
            assert "Example:" in thing.__doc__, name


def test_a_class_that_exec_made_needs_a_version():
    names = {}
    exec("class Ghost:\n    def terms(self, net, step): return {}", names)
    with pytest.raises(ConfigError, match="cannot be read"):
        user_classes.source_hash(names["Ghost"])


def test_a_keyword_that_the_objective_has_not_is_one_of_the_net():
    run = unknot.train(IMAGES, "beta_vae", "mlp", latents=5, beta=2, **TINY | {"steps": 1})
    assert (run.spec.net.settings.latents, run.spec.objective.settings.beta) == (5, 2)
    with pytest.raises(ConfigError, match="given twice"):
        unknot.train(IMAGES, net="mlp", latents=5, net_settings={"latents": 5}, **TINY)
    with pytest.raises(ConfigError, match="did you mean 'latents'"):
        unknot.train(IMAGES, net="mlp", latens=5, **TINY)


CELL = """
@dataclass(frozen=True)
class InACell:
    weight: float = 1.0

    def terms(self, net, step):
        return {SCALE} * self.inner

    @property
    def inner(self):
        return 2
"""


def test_a_class_of_a_notebook_is_known_by_its_methods():
    """Python finds no file for it, but the lines of its functions, as IPython keeps them."""

    def source(code, cell):
        name = f"/tmp/ipykernel_1/{cell}.py"
        linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name
        space = {"dataclass": dataclass, "__name__": "a_notebook"}
        exec(compile(code, name, "exec"), space)
        return user_classes.source_hash(space["InACell"])

    first = source(CELL.replace("{SCALE}", "1"), 1)
    assert source(CELL.replace("{SCALE}", "1"), 2) == first
    assert source(CELL.replace("{SCALE}", "3"), 3) != first
    assert source(CELL.replace("{SCALE}", "1").replace("return 2", "return 4"), 4) != first
