"""Public functions of Python, and values that none or few of their arguments take.

Each argument gets each value, the others being right: it is taken, or refused in a line.
"""

import datetime
import math
import pathlib
from functools import partial

import numpy as np
import pandas as pd
import torch

import unknot

VALUES = {
    "None": None, "True": True, "-1": -1, "0": 0, "1.5": 1.5, "NaN": math.nan, "inf": math.inf,
    "2**70": 2**70, "nothing": "", "a word": "nobody", "an escape": "\x1b[31m\n", "bytes": b"x",
    "a list": [], "a table": {}, "[None]": [None], "{'a': 1}": {"a": 1}, "a set": {1, 2},
    "a function": lambda *_, **__: None, "an object": object(), "an array": np.zeros(0),
    "objects": np.array([None, "x"], object), "a tensor": torch.zeros(2, 3), "complex": 1j,
    "a module": math, "a frame": pd.DataFrame({"a": [1, 2]}), "a path": pathlib.Path("none/x"),
    "a date": datetime.date(2020, 1, 1), "...": ...,
}  # fmt: skip
TRAIN = "data objective net steps batch lr optimizer ema seeds order_seed sampler split device "
TRAIN += "precision out log_every checkpoint_every validate_every stop keep score_at score_every "
TRAIN += "track data_settings net_settings objective_settings watch progress"
SCORES = "res.choose res.means res.summaries res.agreement res.variance_shares"
SCORE = "res.sign res.bounds res.has res.varies res.contrasts"


def functions(run):
    """Functions by name: each with right arguments, and the names of those that get values.

    Args:
        run: The folder of a finished run on files.
    """
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(64, 3)), rng.integers(0, 4, (64, 2))
    images = rng.integers(0, 256, (8, 8, 8), dtype=np.uint8)
    scored = {"codes": codes, "factors": factors}
    run, metrics = unknot.load(run, device="cpu"), unknot.metrics
    shape = run.dataset.shape
    parts = torch.nn.Flatten(), torch.nn.Linear(9, 4)
    decoder = torch.nn.Sequential(torch.nn.Linear(2, 9), torch.nn.Unflatten(1, (1, 3, 3)))
    model = unknot.Model(
        unknot.objectives.BetaVAE(), torch.nn.Sequential(*parts), decoder, n_data=5
    )
    model.build(torch.rand(2, 1, 3, 3))
    table = {"objective": ["vae", "vae", "ae", "ae"], "seed": [0, 1, 0, 1], "mig": [1.0, 2, 3, 4]}
    res = unknot.analysis.Results({**table, "sap": [3.0, 1, 2, 2]}, ["mig", "sap"])
    two = {"first": {"objective": "vae"}, "second": {"objective": "ae"}, "score": "mig"}
    small = {"net": "linear", "steps": 1, "batch": 4, "progress": False, "device": "cpu"}
    names = {"res": res, "model": model, "run": run}

    def method(path):
        owner, name = path.split(".")
        return path, getattr(names[owner], name)

    yield "train", unknot.train, {"data": images, **small}, TRAIN
    yield "dataset", unknot.dataset, {"source": images, "progress": False}, "source progress labels"
    yield "load", unknot.load, {"path": run.path, "device": "cpu"}, "path device data step net"
    yield (
        "study",
        unknot.study,
        {"name": "s", "data": images},
        ("name data objective net optimizer grid seeds metrics protocol out steps beta"),
    )
    yield *method("run.codes"), {}, "index"
    yield *method("run.encode"), {"images": torch.zeros(2, *shape)}, "images"
    yield *method("run.decode"), {}, "z"
    yield *method("run.posterior"), {}, "x"
    yield *method("run.posteriors"), {"index": torch.arange(2)}, "index dataset"
    yield *method("run.member"), {}, "index"
    yield *method("run.rows"), {}, "part"
    yield *method("run.score"), {}, "part protocol seed interval"
    yield "score of run", lambda name: run.score(name), {}, "name"
    yield "row", lambda index: run.dataset.batch(index), {}, "index"
    yield *method("model.build"), {"x": torch.rand(2, 1, 3, 3)}, "x factors"
    for name, argument in {
        "encode": "x",
        "posterior": "x",
        "decode": "z",
        "step": "losses",
    }.items():
        yield *method(f"model.{name}"), {}, argument
    yield *method("model.weights"), {}, "part"
    yield *method("model.optim_of"), {}, "part"
    yield "Results", unknot.analysis.Results, {"table": table, "scores": ["mig"]}, "table scores"
    for name in SCORES.split():
        yield *method(name), {}, "scores"
    for name in SCORE.split():
        yield *method(name), {}, "score"
    yield *method("res.front"), {"score": "mig"}, "score cost"
    yield *method("res.only"), {"name": "seed", "values": [0]}, "name values"
    yield *method("res.where"), {}, "rows"
    yield *method("res.without"), {}, "name"
    yield *method("res.seed_pairs"), {"score": "mig"}, "score first draws"
    yield *method("res.seeds_needed"), two, "first second score most draws"
    seeds = {"first": [0.1, 0.2], "second": [0.4, 0.5]}
    yield "seeds_needed", unknot.analysis.seeds_needed, seeds, "first second most draws level"
    yield (
        "agreement",
        unknot.analysis.agreement,
        {"table": table, "scores": ["mig"]},
        "table scores",
    )
    shares = {"table": table, "score": "mig"}
    yield "variance_shares", unknot.analysis.variance_shares, shares, "table score by rest"
    yield "split_table", unknot.analysis.split_table, {"table": table, "by": "seed"}, "table by"
    for name, further in {"mig": "logvar interval", "sap": "test", "mcc": "interval"}.items():
        yield name, getattr(metrics, name), scored, f"codes factors protocol seed {further}"
    yield "distance_correlation", metrics.distance_correlation, scored, "images"
    yield "udr", metrics.udr, {"models": [codes, codes]}, "models"
    yield "elbo", partial(metrics.elbo, model.net()), {}, "x"
    evaluated = {**scored, "metrics": ["mig"]}
    yield "metrics.evaluate", metrics.evaluate, evaluated, "codes factors protocol metrics seed"
    for name, argument in {"facts": "name", "reading": "column", "protocols_for": "metric"}.items():
        yield name, getattr(metrics, name), {}, argument
    yield "cite", metrics.mig(codes, factors).cite, {}, "digits"
    yield "Adam", unknot.Adam, {}, "lr beta1 beta2 eps clip_norm clip_value"
    yield "SGD", unknot.SGD, {}, "lr momentum nesterov"
    yield "Pairs", unknot.samplers.Pairs, {}, "changed rule weights"
    yield "Triplets", unknot.samplers.Triplets, {}, "order ties factor"
    grid = {"names": ("a", "b"), "sizes": (2, 3), "kinds": ("ordered", "ordered")}
    yield "FactorSpace", unknot.FactorSpace, grid, "names sizes kinds"
    yield "warmup", unknot.schedules.warmup, {"value": 1.0, "warmup": 3.0}, "value warmup then"


def arguments(run):
    """What there is to try: the name of a function, itself, right arguments, and one of them."""
    return [
        (name, function, right, argument)
        for name, function, right, chosen in functions(run)
        for argument in chosen.split()
    ]
