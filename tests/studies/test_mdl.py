"""Training an mdL-VAE by its rule: who is trained anew, what is written, and how it goes on."""

import json
import os
import signal
from dataclasses import replace

import pytest
import torch

from unknot.core.errors import ConfigError, StoreError
from unknot.runs import config, verbs
from unknot.studies.mdl import MdlChoice, train_mdl

SEEDS = (4, 9, 5)


@pytest.fixture(scope="module")
def spec(tiny):
    return config.spec(
        {
            "data": {"name": "arrays", "path": str(tiny)},
            "net": {"name": "linear", "latents": 2},
            "objective": "mdl_vae",
            "optim": {"lr": 1e-2},
            "steps": 12,
            "batch": 8,
            "seeds": list(SEEDS),
        }
    )


@pytest.fixture(scope="module")
def strong(spec):
    return verbs.train(spec, device="cpu")


@pytest.fixture(scope="module")
def sigmas(strong):
    return strong.training.population.state()["extra.sigma"]


@pytest.fixture(scope="module")
def between(sigmas):
    """An epsilon that only some members reach."""
    low, middle, _ = sigmas.amax(1).sort().values.tolist()
    return (low + middle) / 2


def weights(trained):
    return {n: w for n, w in trained.training.population.state().items() if "adam" not in n}


def test_members_that_reach_epsilon_stay_strong(spec, strong, sigmas):
    found = train_mdl(spec, epsilon=sigmas.amax(1).min().item(), device="cpu")
    assert found.weak is None
    assert [choice.variant for choice in found.choices] == ["strong"] * 3
    assert found.final is found.strong
    for name, weight in weights(strong).items():
        assert torch.equal(weights(found.strong)[name], weight)


def test_all_others_are_trained_anew_as_weak(spec):
    found = train_mdl(spec, epsilon=99.0, device="cpu")
    assert found.final is found.weak
    assert found.weak.spec.objective.settings == replace(spec.objective.settings, variant="weak")
    assert replace(found.weak.spec, objective=spec.objective) == spec


def test_each_member_is_judged_by_its_own_sigmas(spec, sigmas, between):
    found = train_mdl(spec, epsilon=between, device="cpu")
    smallest = SEEDS[sigmas.amax(1).argmin()]
    assert [c.seed for c in found.choices if c.variant == "weak"] == [smallest]
    assert found.weak.spec.seeds == (smallest,)
    assert found.by_seed[smallest] == (found.weak, 0)
    others = [seed for seed in SEEDS if seed != smallest]
    assert [found.by_seed[seed] for seed in others] == [
        (found.strong, SEEDS.index(seed)) for seed in others
    ]
    with pytest.raises(ConfigError, match="no one run has them all"):
        _ = found.final
    rows = torch.arange(5)
    for representation, (chosen, member) in zip(
        found.representations(), found.by_seed.values(), strict=True
    ):
        torch.testing.assert_close(representation.codes(rows), chosen.codes(rows)[member])
    # It is the model that it would be alone.
    weak = replace(found.weak.spec.objective.settings, variant="weak")
    alone = replace(spec, seeds=smallest, objective=replace(spec.objective, settings=weak))
    for name, weight in weights(verbs.train(alone, device="cpu")).items():
        assert torch.equal(weights(found.weak)[name], weight)


def test_a_lone_run_stays_lone(spec):
    found = train_mdl(replace(spec, seeds=7), epsilon=99.0, device="cpu")
    assert found.final.spec.seeds == 7
    assert found.final.codes(torch.arange(4)).shape == (4, 2)
    assert len(found.representations()) == 1


def test_a_choice_tells_both_sigma_and_divergence(spec, sigmas, strong):
    choice = train_mdl(spec, epsilon=99.0, device="cpu").choices[1]
    assert choice.sigmas == pytest.approx(sigmas[1].tolist())
    q = strong.posteriors(torch.arange(64))
    kl = 0.5 * (q.mean.square() + q.logvar.exp() - 1 - q.logvar)[1].mean(0)
    assert choice.kls == pytest.approx(kl.tolist(), rel=0.1)
    assert choice.why == (
        "Seed 9: weak, as no sigma of the strong run reached 99; "
        f"largest {max(choice.sigmas):.2f}, KL {max(choice.kls):.2f} nats."
    )
    kept = MdlChoice(2, "strong", 0.5, (0.1, 0.76), (0.3, 3.34))
    assert "strong, as a sigma of the strong run reached 0.5; largest 0.76, KL 3.34" in kept.why


def test_a_member_that_diverged_stays_strong(spec):
    wild = replace(spec, optim=replace(spec.optim, lr=1e30))
    found = train_mdl(wild, device="cpu")
    assert found.strong.diverged
    assert found.weak is None
    assert found.choices[0].why == "Seed 4: strong, as it diverged and has no sigmas to go by."


def test_a_folder_holds_both_runs_and_the_reasons(spec, between, tmp_path):
    out = tmp_path / "deep" / "mdl"
    found = train_mdl(spec, epsilon=between, out=out, device="cpu")
    assert sorted(p.name for p in out.iterdir()) == ["choices.json", "strong", "weak"]
    told = json.loads((out / "choices.json").read_text())
    assert [(c["seed"], c["variant"], c["why"]) for c in told] == [
        (c.seed, c.variant, c.why) for c in found.choices
    ]
    loaded = verbs.load(out / "weak", device="cpu")
    assert loaded.spec == found.weak.spec
    assert torch.equal(loaded.codes(), found.weak.codes())

    def nothing_is_trained_twice(progress):
        raise AssertionError(progress)

    again = train_mdl(spec, epsilon=between, out=out, device="cpu", watch=nothing_is_trained_twice)
    assert again.choices == found.choices
    assert torch.equal(again.weak.codes(), found.weak.codes())
    with pytest.raises(StoreError, match="strong holds a run of other settings; choose another"):
        train_mdl(replace(spec, batch=9), out=out, device="cpu")


@pytest.mark.parametrize("which", ["strong", "weak"])
def test_a_stopped_training_goes_on_where_it_was(spec, tmp_path, which):
    whole = train_mdl(spec, epsilon=99.0, device="cpu")
    runs = []

    def stop(progress):
        runs.extend(["begun"] if progress.step == 1 else [])
        if len(runs) == (1 if which == "strong" else 2) and progress.step >= 6:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train_mdl(spec, epsilon=99.0, out=tmp_path / "mdl", device="cpu", watch=stop)
    assert (tmp_path / "mdl" / "weak").exists() == (which == "weak")
    resumed = train_mdl(spec, epsilon=99.0, out=tmp_path / "mdl", device="cpu")
    assert resumed.choices == whole.choices
    for name, weight in weights(whole.weak).items():
        assert torch.equal(weights(resumed.weak)[name], weight)


def test_other_objectives_and_bad_numbers_are_refused_before_training(spec):
    other = config.spec({**spec.table(), "objective": "beta_vae"})
    with pytest.raises(ConfigError, match=r"starts from mdl_vae with variant 'strong'; got beta_v"):
        train_mdl(other)
    weak = config.spec({**spec.table(), "objective": {"name": "mdl_vae", "variant": "weak"}})
    with pytest.raises(ConfigError, match=r"got mdl_vae with MdLVAE\(variant='weak'"):
        train_mdl(weak)
    with pytest.raises(ConfigError, match=r"^epsilon must be above 0; got 0.0.$"):
        train_mdl(spec, epsilon=0.0)
