"""Families of objectives: each states one, and it fits what the objective looks at."""

from importlib import metadata
from typing import get_args

import pytest
import torch

from unknot.core import registry
from unknot.core.objective import (
    Adversarial,
    Batchwise,
    Labelled,
    Net,
    Step,
    Term,
    sampler_of,
    views_of,
)
from unknot.core.posterior import Posterior
from unknot.objectives.parts.families import FAMILIES, Family, families, family, supervision

NAMES = registry.names("objectives")
OUTSIDERS = '''
class Silent:
    """States nothing."""

class Wrong:
    """States what is no family."""
    family = "elsewhere"
    sampler = "walks"

class Odd:
    """States what is no text."""
    family = ["posterior"]
    sampler = property(len)

class Told:
    """States its family."""
    family = "posterior"
    sampler = "pairs"
'''


@pytest.mark.parametrize("name", NAMES)
def test_every_objective_states_a_family(name):
    kind = registry.get("objectives", name)
    assert kind.family in get_args(Family)
    assert family(name) == kind.family, "as it is read from the file"
    assert "family" not in registry.settings("objectives", name)


@pytest.mark.parametrize("name", NAMES)
def test_supervision_is_labels_or_what_its_sampler_tells(name):
    objective = registry.get("objectives", name)()
    sampler = sampler_of(objective)
    told = "none" if sampler == "singles" else sampler
    assert supervision(name) == ("labels" if isinstance(objective, Labelled) else told)
    views = registry.get("samplers", sampler).views
    assert sampler == "singles" or views == views_of(objective)


@pytest.mark.parametrize("name", NAMES)
def test_codes_of_several_images_are_compared_where_the_family_says_so(name):
    objective = registry.get("objectives", name)()
    compares = isinstance(objective, Batchwise) or views_of(objective) == 3
    if isinstance(objective, Adversarial):  # a critic that sees no image judges all codes alike
        compares |= objective.critic((1, 4, 4), 3)[0].in_features == 3
    assert (family(name) in ("aggregate", "distances")) == compares


@pytest.mark.parametrize("name", ["ae", "ada_ae", "vae", "beta_vae", "ada_gvae", "ada_mlvae"])
def test_nothing_but_the_reconstruction_or_the_divergence_too(name):
    def encode(x):
        return Posterior(x.flatten(-3), -x.flatten(-3))

    x = torch.rand(4, 1, 2, 2)
    net = Net(encode, lambda z: z.unflatten(-1, (1, 2, 2)))
    terms = registry.get("objectives", name)().terms(
        net, Step(x, torch.tensor(0), torch.tensor(0), 4)
    )
    loss = {key for key, term in terms.items() if isinstance(term, Term)}
    assert loss == {"reconstruction": {"recon"}, "posterior": {"recon", "kl"}}[family(name)]


def test_groups_hold_each_once_in_order():
    groups = families(NAMES)
    assert sorted(name for members in groups.values() for name in members) == NAMES
    assert list(groups) == list(FAMILIES)[:-1], "all are used, and none of ours is of no family"
    assert list(FAMILIES) == [*get_args(Family), "other"]
    assert families(["tvae", "vae", "ae"]) == {
        "reconstruction": ["ae"], "posterior": ["vae"], "distances": ["tvae"],
    }  # fmt: skip


def test_those_of_other_packages(monkeypatch, tmp_path):
    (tmp_path / "outside_families.py").write_text(OUTSIDERS)
    names = ("Silent", "Wrong", "Odd", "Told", "Missing")
    entries = [
        metadata.EntryPoint(name.lower(), f"outside_families:{name}", "unknot.objectives")
        for name in names
    ]
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [e for e in entries if e.group == group]
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert [family(name.lower()) for name in names] == [
        "other", "other", "other", "posterior", "other",
    ]  # fmt: skip
    assert [supervision(name.lower()) for name in names] == [
        "none",
        "walks",
        "none",
        "pairs",
        "none",
    ]
    assert families(["silent", "told"]) == {"posterior": ["told"], "other": ["silent"]}
