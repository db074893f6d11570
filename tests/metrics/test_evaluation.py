import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from metrics.representations import (
    ACROSS_MODELS,
    DECODING,
    OF_POSTERIORS,
    SCORES,
    SIZES,
    UNSUPERVISED,
    get,
    perfect,
)
from unknot import metrics
from unknot.core import registry
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics.parts import learners, rows
from unknot.metrics.parts.information import information as count

QUICK = ["mig", "modularity", "sap"]


def test_every_score_is_an_attribute_and_stays_one():
    from unknot.metrics.mig import PROTOCOLS  # noqa: F401 - importing a file must not hide it

    for name in registry.names("metrics"):
        assert getattr(metrics, name) is registry.get("metrics", name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        metrics.nothing  # noqa: B018


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_metrics_are_imported_when_they_are_used():
    loaded = "print(*sorted(n for n in sys.modules if n.startswith('unknot.metrics.')))"
    code = f"import sys; from unknot import metrics; assert 'dci' in dir(metrics); {loaded}"
    assert python(f"{code}; print('torch' in sys.modules)") == ["False"]
    some = python(f"{code}; metrics.mig; {loaded}")
    assert "unknot.metrics.mig" in some
    assert "unknot.metrics.dci" not in some
    facts = "metrics.facts('dci'), metrics.lower_is_better('mig'), metrics.reading('mig')"
    assert python(f"{code}; {facts}; print('torch' in sys.modules)") == ["False"]


IMPORTS = [
    "from unknot import metrics; import unknot.metrics.mig",
    "import unknot.metrics.mig; from unknot import metrics",
    "import unknot.metrics.mig as mig; from unknot import metrics",
    "from unknot.metrics import mig; from unknot import metrics; assert metrics.mig is mig",
    "from unknot.metrics.mig_sup import mig_sup; from unknot import metrics",
    "import importlib; importlib.import_module('unknot.metrics.mig'); from unknot import metrics",
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_a_metric_is_no_module_however_its_file_was_imported():
    """Each way in a fork of a process that has imported PyTorch, and nothing of ours."""
    program = f"""
import os, torch
for code in {IMPORTS}:
    if not os.fork():
        exec(code + "; print(callable(metrics.mig), metrics.mig.facts.name, flush=True)")
        os._exit(0)
    assert os.wait()[1] == 0, code
"""
    assert python(program) == ["True", "mig"] * len(IMPORTS)


def test_the_folder_holds_metrics_and_nothing_else():
    folder = Path(metrics.__file__).parent
    files = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    assert files == set(registry.names("metrics")) >= {"mig", "dci", "factor_vae"}
    folders = {file.name for file in folder.iterdir() if file.is_dir()} - {"__pycache__"}
    assert folders == {"parts"}


def test_importing_the_room_loads_no_learner():
    use = "import sys; from unknot import metrics; metrics.dci; metrics.evaluate"
    assert python(f"{use}; print(*({{'sklearn', 'scipy'}} & set(sys.modules)))") == []


def test_everything_on_rows():
    table = metrics.evaluate(*get("dead_first"))
    assert set(table) == set(SCORES)
    assert set(table.skipped) == set(OF_POSTERIORS)
    # A line does not cut the middle values of a factor out, nor does a threshold; of unfairness
    # less is better.
    for name in set(table) - {*UNSUPERVISED, "attribute_accuracy", "tad", "unfairness"}:
        assert float(table[name]) == pytest.approx(1, abs=0.02), name
    assert all(np.isfinite(value) for value in table.values.values())
    assert all(key.split(".")[0] in table for key in table.values)
    said = repr(table)
    assert all(f"\n{name} " in said for name in table)
    assert f"left out: {', '.join(table.skipped)}. It reads whole posteriors" in said


def test_metrics_of_the_same_rows_share_tables_and_give_what_they_give_alone(monkeypatch):
    counted = []
    monkeypatch.setattr(rows, "information", lambda *args: counted.append(args) or count(*args))
    names = ["mig", "mig_sup", "dcimig", "modularity", "jemmig", "med", "cbd", "irs", "linearity"]
    codes, values = get("rotated")
    table = metrics.evaluate(codes, values, metrics=names)
    assert len(counted) == 2  # of the codes, and of perfect ones for ceilings
    for name in names:
        alone = getattr(metrics, name)(codes, values)
        assert alone.values == table[name].values
        assert alone.ceiling == table[name].ceiling
        assert alone.remarks == table[name].remarks
        for key, part in alone.parts.items():
            np.testing.assert_array_equal(part, table[name].parts[key])
    table["mig"].parts["information"][:] = 7.0
    assert not (table["mig_sup"].parts["information"] == 7).any()


def test_log_variances_reach_the_scores_that_read_posteriors():
    codes, values = get("perfect")
    logvar = np.full(codes.shape, -6.0)
    table = metrics.evaluate(codes, values, metrics=["mig", *OF_POSTERIORS], logvar=logvar)
    assert set(OF_POSTERIORS) < set(table)
    with pytest.raises(ConfigError, match="kl_per_dimension reads whole posteriors"):
        metrics.evaluate(codes, values, metrics=["kl_per_dimension"])
    table = metrics.evaluate(codes, values, metrics=["mig"], logvar=logvar, protocol="paper")
    assert "posterior_samples" in table["mig"].protocol


def test_scores_that_decode_are_no_part_of_codes():
    with pytest.raises(ConfigError, match=r"elbo needs a model: metrics.elbo\(net, images\)"):
        metrics.evaluate(*get("perfect"), metrics=["elbo"])


def test_scores_without_the_protocol_are_skipped_with_the_reason():
    table = metrics.evaluate(*get("perfect"), protocol="paper", metrics=None)
    assert "has no protocol 'paper'" in table.skipped["gaussian_tc"]
    said = " ".join(repr(table).split())
    assert said.count("has no protocol 'paper'") == 1  # for all of them together
    with pytest.raises(ConfigError, match="has no protocol 'paper'"):
        table["gaussian_tc"]
    with pytest.raises(ConfigError, match="not asked for"):
        table["nothing"]


def test_scores_that_rows_cannot_support_are_skipped_unless_asked_for():
    rng = np.random.default_rng(0)
    codes, values = rng.normal(size=(150, 2)), np.stack([np.arange(150), np.arange(150) % 3], 1)
    table = metrics.evaluate(codes, values)
    walks = {"distance_correlation", "linearity", "axis_alignment", "orientation"}
    learnt = {"factor_vae", "beta_vae", "dci", "explicitness", "infomec", "efficiency"}
    learnt.add("unfairness")
    assert learnt | walks | set(OF_POSTERIORS) == set(table.skipped)
    assert "Too few rows to learn factor 0: 100 values in 100 rows" in table.skipped["dci"]
    with pytest.raises(Exception, match="Too few rows"):
        metrics.evaluate(codes, values, metrics=["factor_vae"])


def test_a_metric_may_name_its_protocol_and_be_itself():
    codes, values = get("rotated")
    table = metrics.evaluate(codes, values, metrics=[metrics.mig, "mig@study2019", "sap"])
    assert [*table] == ["mig", "mig@study2019", "sap"]
    assert table["mig"].protocol["name"] == "unknot"
    theirs = metrics.mig(codes, values, protocol="study2019")
    assert table.values["mig@study2019"] == table["mig@study2019"] == theirs
    with pytest.raises(ConfigError, match="There is no protocol"):
        metrics.evaluate(codes, values, metrics=["mig@nobody"])


def test_scores_of_several_models_are_no_part_of_one():
    table = metrics.evaluate(*get("perfect"))
    assert not {*ACROSS_MODELS, *DECODING} & {*table, *table.skipped}
    with pytest.raises(ConfigError, match=r"udr compares several models: metrics.udr\("):
        metrics.evaluate(*get("perfect"), metrics=["udr"])


def test_a_representation_and_a_seed():
    space = FactorSpace(("a", "b", "c", "d"), SIZES, ("nominal", "ordered", "ordered", "cyclic"))
    grid = Representation.whole(space, torch.from_numpy(perfect()[: space.size]))
    table = metrics.evaluate(grid, metrics=[*QUICK, "factor_vae"], seed=5)
    assert [float(table[name]) for name in ("mig", "modularity", "factor_vae")] == [1, 1, 1]
    assert table["sap"].protocol["seed"] == 5
    assert table["mig"].protocol["factors"] == ("a", "b", "c", "d")


def test_a_test_set_reaches_the_scores_that_learn():
    codes, values = get("perfect")
    test = (codes[:100], values[:100])
    table = metrics.evaluate(codes, values, metrics=["mig", "explicitness"], test=test)
    assert table["explicitness"].protocol["test_rows"] == 100
    assert "test_rows" not in table["mig"].protocol


def test_bad_arrays_and_names_are_errors_at_once():
    codes, values = get("perfect")
    with pytest.raises(ShapeError):
        metrics.evaluate(codes[:5], values)
    with pytest.raises(ConfigError, match="did you mean 'study2019'"):
        metrics.evaluate(codes, values, protocol="study201")
    with pytest.raises(ConfigError, match="did you mean 'mig'"):
        metrics.evaluate(codes, values, metrics=["migg"])


@pytest.mark.parametrize(
    ("protocol", "names", "learner"),
    [("study2019", ["dci", "efficiency"], "boost"),
     ("unknot", ["explicitness", "efficiency"], "class_scores")],
)  # fmt: skip
def test_what_is_learnt_from_all_rows_is_learnt_once(protocol, names, learner, monkeypatch):
    """Scores are the same to the last digit in any order, and alone."""
    space = FactorSpace(("a", "b"), (4, 60), ("ordered", "ordered"))
    codes = torch.randn(space.size, 3, generator=torch.Generator().manual_seed(0))
    codes[:, :2] += 2 * space.factors(torch.arange(space.size))
    whole = Representation.whole(space, codes)
    calls, kept = [], getattr(learners, learner)

    def counted(x, *others, **options):
        calls.append(len(x))
        return kept(x, *others, **options)

    monkeypatch.setattr(learners, learner, counted)
    together = metrics.evaluate(whole, metrics=names, protocol=protocol)
    assert len(calls) == 2, "once for each factor"
    turned = metrics.evaluate(whole, metrics=names[::-1], protocol=protocol)
    for name in names:
        alone = metrics.evaluate(whole, metrics=[name], protocol=protocol)
        assert alone[name].values == together[name].values == turned[name].values
