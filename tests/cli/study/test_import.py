"""Classes of one's own in a study: workers import what `--import` names."""

import json
import sys

from unknot.core import user_classes

MODULE = """
from dataclasses import dataclass
from unknot import Hyper, Term
from unknot.losses import kl_normal, reconstruction

@dataclass(frozen=True)
class Mine:
    weight: Hyper = 1.0

    def terms(self, net, step):
        q = net.encode(step.x)
        decoded = net.decode(step.sample(q))
        return {
            "recon": Term(reconstruction("bernoulli", decoded, step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.weight),
        }
"""


def test_workers_import_the_users_module(unknot, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(user_classes.IMPORTS, "")
    (tmp_path / "my_study_classes.py").write_text(MODULE)
    words = (
        *("study", "run", "data=arrays", f"data.path={tiny}", "net=linear", "latents=3"),
        *("objective=my_study_classes:Mine", "steps=4", "batch=8", "--device", "cpu", "--json"),
        *("--grid", "objective.weight=1,2", "--seeds", "0"),
    )
    code, _, err = unknot(*words)
    assert (code, "--import my_study_classes" in err) == (2, True)
    code, out, err = unknot("--import", "my_study_classes", *words)
    assert code == 0, err
    assert json.loads(out)["runs"]["done"] == 2
