"""Files of the 2019 study's published runs: what is read, under which names, and bad files."""

import csv

import numpy as np
import pytest
from analysis.published_tables import objective, table
from analysis.tables import configurations, summaries
from metrics import study2019

from unknot import metrics
from unknot.analysis import published
from unknot.analysis.comparison import compare
from unknot.core import registry
from unknot.core.errors import DataError
from unknot.runs import config
from unknot.runs.spec import settings_table
from unknot.studies.plan import configuration_table
from unknot.studies.study import flat


def test_what_is_read():
    held = table("dsprites")
    assert {len(column) for column in held.values()} == {1800}
    assert {key: held[key][0] for key in ("id", "seed", "status", "data", "objective")} == {
        "id": "0", "seed": 0, "status": "done", "data": "dsprites", "objective": "beta_vae",
    }  # fmt: skip
    assert len({one.key for one in configurations(held)}) == 36
    # Run numbers: dataset * 1800 + model * 300 + setting * 50 + seed.
    models = ("beta_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "beta_tcvae", "annealed_vae")
    for data, place in (("dsprites", 0), ("smallnorb", 4), ("cars3d", 5)):
        found = configurations(table(data))
        for one in found:
            own = [c.swept_value for c in found if c.objective == one.objective]
            setting = own.index(one.swept_value)
            first = place * 1800 + models.index(one.objective) * 300 + setting * 50
            ids = {int(i): s for i, s in zip(one.runs["id"], one.runs["seed"], strict=True)}
            assert ids == {first + s: s for s in range(50)}


def test_all_that_a_run_of_ours_has_otherwise_is_said():
    """A preset's run has nothing otherwise; net, optimiser and precision may differ too."""
    specs = [
        config.spec({"seeds": [0], "steps": 300_000, "objective": {"name": "beta_vae", "beta": 4},
                     "net": {"name": "locatello"}, **own})
        for own in ({}, {"precision": "bf16", "net": {"name": "ozcan_mlp", "latents": 2},
                         "optim": {"beta1": 0.5}})
    ]  # fmt: skip
    theirs = summaries(objective("beta_vae"), ["mig"], draws=2)
    said = []
    for spec in specs:
        run = {**flat(configuration_table(spec)), "seed": 0, "mig": 0.1}
        (one,) = compare(summaries([run], ["mig"], draws=2), theirs).differences
        said.append({words.split()[0] for words in one.differs})
    assert said == [set(), {"precision", "net", "net.init", "net.latents", "optim.beta1"}]


def test_medians_from_the_file_itself():
    """Middle of the sorted text, by another way through the file."""
    table("dsprites")
    with (study2019.FOLDER / "dsprites_full.csv").open() as file:
        rows = list(csv.DictReader(file))
    for name, column in (("mig", "mig_discrete_mig"), ("kl", "kl_loss")):
        own = sorted(float(r[column]) for r in rows if r["vae_beta"] == "16.0")
        (found,) = (
            s for s in summaries(objective("beta_vae"), [name], draws=2) if s.swept_value == 16
        )
        assert found.median == pytest.approx((own[24] + own[25]) / 2, abs=1e-12)
        assert (found.low, found.high) == (own[0], own[-1])


def test_runs_that_went_astray_are_marked_and_counted():
    """Section 1.4: two of Cars3D, FactorVAE at gamma 100."""
    assert not any(table("dsprites")["diverged"])
    found = summaries(objective("factor_vae", "cars3d"), ["kl", "mig"], draws=2)
    lost = {(s.swept_value, s.score): (s.n, s.diverged) for s in found if s.diverged}
    assert lost == {(100, "kl"): (48, 2), (100, "mig"): (48, 2)}
    assert max(s.high for s in found if s.score == "kl") < 100


HEADER = [
    "model_num", "dataset", "model_name", "vae_beta", "factor_vae_gamma", "dip_vae_lambda_d_factor",
    "dip_vae_lambda_od", "beta_tc_vae_beta", "annealed_vae_c_max", "model_random_seed",
    *dict.fromkeys(published.SCORES.values()),
]  # fmt: skip


def write(path, *rows):
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, HEADER, restval="")
        out.writeheader()
        for row in rows:
            base = {"dataset": "'cars3d'", "model_random_seed": 3, "model_num": 7}
            out.writerow({**base, **dict.fromkeys(published.SCORES.values(), 0.5), **row})


def test_strengths_become_our_settings(tmp_path):
    """A file of our own, so that this is tested without the published one."""
    write(
        tmp_path / "a.csv",
        {"model_name": "'dip_vae_i'", "dip_vae_lambda_od": 5, "dip_vae_lambda_d_factor": 10},
        {"model_name": "'annealed_vae'", "annealed_vae_c_max": 75},
        {"model_name": "'beta_tc_vae'", "beta_tc_vae_beta": 6},
        {"model_name": "'factor_vae'", "factor_vae_gamma": 100, "kl_loss": 14230073.0},
        {"model_name": "'beta_vae'", "vae_beta": 2, "elbo": "", "dci_disentanglement": "nan"},
    )
    dip, annealed, tc, factor, beta = (
        {n: column[i] for n, column in published.read(tmp_path).items()} for i in range(5)
    )
    assert (dip["objective.lambda_od"], dip["objective.lambda_d"]) == (5, 50)
    capacity = [annealed[f"objective.c.{n}"] for n in ("kind", "start", "end", "steps")]
    assert capacity == ["linear", 0, 75, 100_000]
    assert annealed["objective.gamma"] == 1000
    assert (tc["objective"], tc["objective.beta"]) == ("beta_tcvae", 6)
    assert tc["objective.reading"] == "beta_minus_1"
    assert (factor["diverged"], factor["status"]) == (True, "diverged")
    assert factor["objective.count_both_optimizers"] is True
    assert (beta["objective.beta"], beta["elbo"], beta["status"]) == (2, None, "done")
    assert beta["objective.lambda_od"] is None
    assert beta["dci.disentanglement"] != beta["dci.disentanglement"]
    assert (beta["steps"], beta["batch"], beta["data"]) == (300_000, 64, "cars3d")


@pytest.mark.parametrize("name", published.OBJECTIVES.values())
def test_settings_are_those_of_our_presets(name):
    preset = registry.presets("objectives", name)["study2019"]
    ours = flat({"objective": settings_table(preset)})
    written = {f"objective.{key}": v for key, v in published.OBJECTIVE_SETTINGS[name].items()}
    assert list(written.items()) == list(ours.items())


def test_scores_bear_the_names_that_ours_have():
    """Published and own runs meet by the names of their columns."""
    draw = np.random.default_rng(0)
    factors = draw.integers(0, 3, (300, 2))
    codes = factors + 0.1 * draw.normal(size=(300, 2))
    names = {name.partition(".")[0] for name in published.SCORES}
    scores = sorted(names - {"elbo", "recon", "kl", "loss", "regularizer"})
    found = metrics.evaluate(codes, factors, metrics=scores, protocol="study2019")
    ours = {value for name in found for value in found[name].values}
    assert {n for n in published.SCORES if n.partition(".")[0] in scores} <= ours


def test_dci_is_its_disentanglement_as_among_our_scores(tmp_path):
    beta = {"model_name": "'beta_vae'", "vae_beta": 4.0}
    write(tmp_path / "a.csv", {**beta, "dci_disentanglement": 0.25})
    read = published.read(tmp_path / "a.csv")
    assert read["dci"] == read["dci.disentanglement"] == [0.25]


def test_files_of_another_kind(tmp_path):
    with pytest.raises(DataError, match="holds no CSV files"):
        published.read(tmp_path)
    with pytest.raises(DataError, match="Cannot read the table"):
        published.read(tmp_path / "none.csv")
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="it has no column beta_vae_eval_accuracy"):
        published.read(other)
    other.write_text("a,b\n")
    with pytest.raises(DataError, match="it has no rows"):
        published.read(other)
    write(other, {"model_name": "'nvae'"})
    with pytest.raises(DataError, match="no table of the 2019 study: KeyError"):
        published.read(other)
    write(other, {"model_name": "'beta_vae'", "vae_beta": "strong"})
    with pytest.raises(DataError, match="strong"):
        published.read(other)
