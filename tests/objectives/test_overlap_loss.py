"""The overlap loss in objectives: every one that has a likelihood takes it."""

import subprocess
import sys
import tomllib
from dataclasses import fields, replace
from typing import get_type_hints

import pytest
import torch
from safetensors.torch import save_file

from unknot import testing
from unknot.core import noise, registry
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.optim import Adam
from unknot.core.toml import to_toml
from unknot.data.xysquares import XYSquares
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.losses import bernoulli, gaussian, reconstruction
from unknot.losses.likelihood import Likelihood
from unknot.losses.overlap import Overlap
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.iwae import IWAE, log_loss
from unknot.objectives.vae import VAE
from unknot.runs import config

BOX = Overlap.create(radius=3)
TAKING = [
    name
    for name in registry.names("objectives")
    if get_type_hints(registry.get("objectives", name)).get("likelihood") == Likelihood
]
CHECKS = (
    testing.same_after_a_file,
    testing.one_value_per_member,
    testing.together_as_alone,
    testing.never_waits,
    testing.gradients_reach_all_weights,
)


def images(*shape, seed=0):
    return noise.uniform(seed, "images", 0, *shape, dtype=torch.float64)


def narrow(objective):
    own = {f.name for f in fields(objective)} & {"critic_width", "width"}
    return replace(objective, **dict.fromkeys(own, 8))


def test_nearly_every_objective_takes_it():
    """All but sigma-VAE, whose likelihood must have a variance, and those without images."""
    without = {n for n in registry.names("objectives") if n not in TAKING}
    assert without <= {"sigma_vae"}, without


@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(name, check):
    check(narrow(replace(registry.get("objectives", name)(), likelihood=BOX)))


@pytest.mark.parametrize("pixels", ["bernoulli", "sigmoid_gaussian"])
def test_backends_agree(pixels):
    loss = Overlap.create("gaussian", BOX.radius, BOX.alpha, pixels=pixels)
    testing.backends_agree(BetaVAE(likelihood=loss), steps=10)


def test_backends_agree_on_a_learnt_kernel(tmp_path):
    save_file({"kernel": noise.uniform(0, "kernel", 0, 7, 7)}, tmp_path / "k.safetensors")
    loss = Overlap.create("learnt", path=str(tmp_path / "k.safetensors"))
    testing.backends_agree(BetaVAE(likelihood=loss), steps=10)


def test_the_loss_is_that_of_pixels_and_of_blurred_images():
    """Equation 3.8 of Michlo 2022, by a blur of each side and not of their difference."""
    x, y = images(4, 3, 16, 16), images(4, 3, 16, 16, seed=1)
    squared = gaussian(y, x) + 49.0 * gaussian(BOX.blur(y), BOX.blur(x))
    torch.testing.assert_close(reconstruction(BOX, y, x), squared)
    crossed = bernoulli(y, x) + 49.0 * gaussian(BOX.blur(y.sigmoid()), BOX.blur(x))
    torch.testing.assert_close(reconstruction(replace(BOX, pixels="bernoulli"), y, x), crossed)


@pytest.mark.parametrize("pixels", ["bernoulli", "gaussian", "sigmoid_gaussian"])
def test_without_weight_it_is_the_loss_of_pixels(pixels):
    x, y = images(2, 4, 1, 8, 8), images(2, 4, 1, 8, 8, seed=1)
    none = Overlap.create(radius=2, alpha=0.0, pixels=pixels)
    assert torch.equal(reconstruction(none, y, x), reconstruction(pixels, y, x))


def test_squares_that_never_touch_have_an_order():
    """XYSquares at spacing 8: pixels see one distance for all steps, the blur a rising one."""
    data = XYSquares().load()
    x = data.batch(torch.arange(8) * 8**5).double()
    of_pixels, of_both = (
        torch.stack([reconstruction(loss, x[:1], x[i : i + 1]) for i in range(8)])
        for loss in ("gaussian", Overlap.create())
    )
    assert of_pixels.tolist() == [0, *[128] * 7]
    assert (of_both.diff() > 1).all()


def test_importance_weights_feel_it():
    decoded, x = images(3, 2, 1, 8, 8), images(2, 1, 8, 8, seed=1)
    plain, both = (log_loss(loss, decoded, x) for loss in ("gaussian", BOX))
    expected = BOX.mapped_error(x.expand_as(decoded), decoded)
    torch.testing.assert_close(both - plain, expected)
    assert IWAE(likelihood=BOX).likelihood == BOX


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "overlap"},
        {"kind": "overlap", "kernel": "gaussian", "radius": 15, "sigma": 4, "alpha": 7},
        {"kind": "overlap", "pixels": "bernoulli"},
    ],
)
def test_a_specification_survives_its_file(table):
    spec = config.spec({"objective": {"name": "vae", "likelihood": table}})
    assert isinstance(spec.objective.settings.likelihood, Overlap)
    written = to_toml(spec.table())
    again = config.spec(tomllib.loads(written))
    assert (again, again.ids()) == (spec, spec.ids())
    assert "alpha = " in written, "what was left out is written out"


def test_words_of_the_command_line_make_one():
    words = ["objective.likelihood.kind=overlap", "objective.likelihood.radius=7"]
    spec = config.spec(config.assign({"objective": "vae"}, words))
    assert spec.objective.settings.likelihood == Overlap.create(radius=7)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"kind": "overlab"}, "objective.likelihood.kind has no choice 'overlab'; did you mean"),
        ({"kind": "overlap", "radios": 3}, "Unknown key 'objective.likelihood.radios'; did you"),
        ({"kind": "overlap", "radius": 2.5}, "objective.likelihood.radius should be"),
        ({"kernel": "box"}, "objective.likelihood as a table needs a kind, one of overlap"),
    ],
)
def test_bad_tables_get_one_clear_line(table, said):
    with pytest.raises(ConfigError) as caught:
        config.spec({"objective": {"likelihood": table}})
    assert said in str(caught.value)


def test_the_hash_of_a_learnt_kernel_is_part_of_a_run(tmp_path):
    path = tmp_path / "k.safetensors"
    table = {"kind": "overlap", "kernel": "learnt", "path": str(path)}
    specs = []
    for scale in (1.0, 2.0):
        save_file({"kernel": scale * torch.ones(3, 3)}, path)
        specs.append(config.spec({"objective": {"likelihood": table}}))
    assert specs[0].ids() != specs[1].ids()
    assert config.spec(tomllib.loads(to_toml(specs[0].table()))) == specs[0]


def small(**settings):
    return config.spec(
        {
            "data": {"name": "xysquares"},
            "net": {"name": "linear", "latents": 2},
            "objective": {"name": "vae", "likelihood": {"kind": "overlap", **settings}},
            "steps": 3,
            "batch": 4,
        }
    )


def test_a_run_trains_decodes_scores_and_is_told_of(tmp_path):
    from unknot.report.run.describe import term
    from unknot.runs import evaluate, verbs

    spec = small(pixels="sigmoid_gaussian")
    trained = verbs.train(spec, out=tmp_path / "run", device="cpu")
    assert trained.status == "done"
    decoded = trained.decode(torch.zeros(1, 2))
    assert ((decoded > 0) & (decoded < 1)).all()
    # Scores that decode see the likelihood of the pixels, which is a density.
    objective = replace(spec.objective, settings=VAE(likelihood="sigmoid_gaussian"))
    training = replace(trained.training, specs=(replace(spec, objective=objective),))
    bounds = []
    for each in (trained, replace(trained, training=training, path=None)):
        ((record,),) = evaluate.evaluate(each, metrics=["elbo"])
        bounds.append(record.values)
    assert bounds[0] == bounds[1]
    assert "3969 times the squared error of blurred images" in term("recon", trained)


def test_runs_that_cannot_be(tmp_path):
    from unknot.runs import verbs

    with pytest.raises(ShapeError, match="radius 64 reaches further than images of 64 x 64"):
        verbs.train(small(radius=64), device="cpu")
    spec = small(pixels="bernoulli")
    spec = replace(spec, data=replace(spec.data, settings=XYSquares(standardize=True)))
    with pytest.raises(ConfigError, match="likelihood bernoulli does not allow"):
        verbs.train(spec, device="cpu")


def test_a_finished_run_needs_its_kernel_no_more_but_a_new_one_does(tmp_path):
    from unknot.runs import verbs

    path = tmp_path / "k.safetensors"
    save_file({"kernel": torch.ones(3, 3)}, path)
    spec = small(kernel="learnt", path=str(path))
    verbs.train(spec, out=tmp_path / "run", device="cpu")
    path.unlink()
    assert verbs.load(tmp_path / "run", device="cpu").status == "done"
    with pytest.raises(ConfigError, match="no such file"):
        verbs.train(spec, device="cpu")


COMPILED = """
import sys, torch
from unknot.losses import overlap
from unknot.losses import reconstruction
torch.compiler.assume_constant_result(overlap.learnt_kernel)
x, y = torch.rand(2, 2, 4, 1, 8, 8)
for loss in (
    overlap.Overlap.create(radius=3),
    overlap.Overlap.create("gaussian", 3),
    overlap.Overlap.create("learnt", path=sys.argv[1]),
):
    own = lambda y, x: reconstruction(loss, y, x)
    whole = torch.compile(own, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(whole(y, x), own(y, x))
"""


@pytest.mark.slow
def test_the_compiler_can_follow(tmp_path):
    """In one graph; in a process of its own, as the tests' check of types is in a tracer's way."""
    path = tmp_path / "k.safetensors"
    save_file({"kernel": torch.ones(7, 7) / 49}, path)
    subprocess.run([sys.executable, "-c", COMPILED, str(path)], check=True, timeout=120)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation for complex")
@pytest.mark.parametrize("kernel", ["box", "gaussian", "learnt"])
def test_a_gpu_gives_what_the_cpu_gives(kernel, tmp_path):
    path = tmp_path / "k.safetensors"
    save_file({"kernel": torch.ones(7, 7) / 49}, path)
    own = {"path": str(path)} if kernel == "learnt" else {"radius": 3}
    objective = BetaVAE(likelihood=Overlap.create(kernel, alpha=9.0, **own))
    members = [Member(seed, objective, Adam(lr=1e-3)) for seed in range(3)]
    results = []
    for backend, device in ((Looped, "cpu"), (Stacked, "cuda")):
        chosen = runtime(device, "float64")
        context = Context(testing.images().to(chosen.device), testing.NET, 6, chosen)
        population = backend.fresh(context, members)
        logs = [population.advance(start, 3) for start in (0, 3)]
        results.append({**logs[-1], **population.state()})
    for key, value in results[0].items():
        torch.testing.assert_close(results[1][key].cpu(), value, rtol=1e-8, atol=1e-10, msg=key)
