"""Presets of papers since 2020: weights, correlations and splits as the papers have them."""

from collections import Counter

import pytest
from studies.preset_plans import preset, settings_of

from unknot.samplers.parts.split import is_in_part


def test_correlations_of_roth_are_those_of_the_code():
    """Single, double and confounded; each kind with all settings, and scores of all rows."""
    configurations = preset("roth2023").configurations
    weights = [spec.sampler.settings.weights if spec.sampler else () for spec in configurations]
    kinds = Counter(tuple((w.first, w.second, w.sigma) for w in some) for some in weights)
    assert set(kinds.values()) == {131}
    pairs = {n: sorted(k for k in kinds if len(k) == n) for n in range(5)}
    assert [len(pairs[n]) for n in range(5)] == [1, 3, 6, 0, 2]
    assert [k[0][:2] for k in pairs[1]] == [
        ("pos_x", "pos_y"), ("shape", "pos_y"), ("shape", "scale"),
    ]  # fmt: skip
    assert {sigma for kind in pairs[2] for *_, sigma in kind} == {0.4, 0.1, 0.04}
    for kind, factor in zip(pairs[4], ("pos_x", "shape"), strict=True):
        assert {first for first, *_ in kind} == {factor}
        assert {sigma for *_, sigma in kind} == {0.2}
        others = {second for _, second, _ in kind}
        assert others == {"shape", "scale", "orientation", "pos_x", "pos_y"} - {factor}
    alone = [s for s in settings_of("roth2023", beta=0, base="beta_vae") if s.gamma > 50]
    assert len({s.gamma for s in alone}) == 9 + 3


@pytest.mark.parametrize("name", ["roth2023_shapes3d", "roth2023_mpi3d"])
def test_correlations_of_roth_on_other_data(name):
    """As on dSprites, and three pairs at once; no factor is in two pairs unless it confounds."""
    configurations = preset(name).configurations
    weights = [spec.sampler.settings.weights if spec.sampler else () for spec in configurations]
    kinds = Counter(tuple((w.first, w.second, w.sigma) for w in some) for some in weights)
    factors = {factor for kind in kinds for *pair, _ in kind for factor in pair}
    assert len(factors) == {"roth2023_shapes3d": 6, "roth2023_mpi3d": 7}[name]
    sizes = Counter(map(len, kinds))
    assert sizes == {0: 1, 1: 3, 2: 6, 3: 2, len(factors) - 1: 2}
    for kind in kinds:
        named = Counter(factor for *pair, _ in kind for factor in pair)
        most = len(factors) - 1 if len(kind) > 3 else 1
        assert max(named.values(), default=1) == most
        wide = {0.2} if len(kind) > 3 else {0.4, 0.1, 0.04} if len(kind) == 2 else {0.1}
        assert {sigma for *_, sigma in kind} <= wide
    data = Counter(spec.data.name for spec in configurations)
    assert {*kinds.values()} == {131 * len(data)}


def test_weights_of_hsu_are_those_of_means_over_pixels_and_latents():
    """As the presets of the objectives have them, which are of the same paper."""
    from unknot import objectives
    from unknot.objectives.bio_ae import PRESETS as BIO_AE
    from unknot.objectives.qlae import PRESETS as OF_QLAE

    by_data = {}
    for spec in preset("hsu2023").configurations:
        settings = spec.objective.settings
        by_data.setdefault((spec.objective.name, spec.data.name), []).append(spec)
        if spec.objective.name == "qlae":
            assert settings.quantization == settings.commitment
    wanted = {
        "scene3d": objectives.QLAE().commitment,
        "shapes3d": objectives.QLAE().commitment,
        "mpi3d": OF_QLAE["hsu2023_mpi3d"].commitment,
        "falcor3d": OF_QLAE["hsu2023_mpi3d"].commitment,
        "isaac3d": OF_QLAE["hsu2023_isaac3d"].commitment,
    }
    for data, weight in wanted.items():
        decayed, free = by_data["qlae", data]
        assert decayed.objective.settings.commitment == pytest.approx(weight)
        assert decayed.optim.weight_decay == (0.001 if data == "mpi3d" else 0.1)
        assert free.optim.weight_decay == 0
    (bio,) = by_data["bio_ae", "isaac3d"]
    assert bio.objective.settings.activity == pytest.approx(BIO_AE["hsu2023_isaac3d"].activity)
    assert bio.objective.settings.nonnegativity == pytest.approx(
        BIO_AE["hsu2023_isaac3d"].nonnegativity
    )
    latents = {
        spec.data.name: spec.net.settings.latents for spec in preset("hsu2023").configurations
    }
    assert latents.pop("dsprites") == 2 * 5
    assert latents == {"scene3d": 12, "shapes3d": 12, "mpi3d": 14, "falcor3d": 14, "isaac3d": 18}


def held_out(name, data):
    """Shares of rows that the splits of a dataset hold out, in the order of the file."""
    shares = {}
    for spec in preset(name).configurations:
        if spec.data.name == data and spec.split not in shares:
            settings = spec.data.settings
            space = getattr(settings, "space", None) or settings.published.space
            shares[spec.split] = is_in_part(spec.split, space, "test").double().mean().item()
    return [*shares.values()]


def test_conditions_of_montero_are_those_of_the_code():
    """Half of a factor, half of one for a value of another, and a block of combinations."""
    block = 1 / 3 * 4 / 6 * 12 / 40 * (11 / 32) ** 2
    assert held_out("montero2021", "dsprites") == pytest.approx([1 / 2, 1 / 6, block])
    for data in ("scene3d", "shapes3d"):
        block = (2 / 10) ** 3 * 3 / 8 * 1 / 4 * 3 / 15
        assert held_out("montero2021", data) == pytest.approx([1 / 2, 1 / 8, 1 / 8, block])
    block = 1 / 6 * 1 / 6 * 1 / 2 * 1 / 3 * 1 / 3 * (4 / 40) ** 2
    shares = [1 / 2, 1 / 3, 1 / 12, 1 / 12, block]
    assert held_out("montero2021", "mpi3d") == pytest.approx(shares)


def test_generalisation_is_scored_on_rows_held_out_and_on_others():
    for name in ("montero2021", "schott2022"):
        for quick in (False, True):
            metrics = preset(name, quick=quick).sweep.metrics
            assert {"readout@train", "readout@test"} <= {*metrics}
    assert held_out("schott2022", "dsprites")[:2] == pytest.approx([0.3, 0.3], abs=0.001)


def test_the_quick_version_of_hsu_has_the_weights_of_the_long_one():
    """With ten times the weight, 800 steps of dSprites leave all codes of QLAE at one value."""
    weights = {
        quick: {
            spec.data.name: spec.objective.settings.commitment
            for spec in preset("hsu2023", quick=quick).configurations
            if spec.objective.name == "qlae"
        }
        for quick in (False, True)
    }
    assert {*weights[True]} == {"dsprites", "scene3d"}
    assert weights[True].items() <= weights[False].items()


def test_pairs_of_locatello_differ_in_one_factor_or_as_the_public_code_has_it():
    kinds = Counter(
        (spec.objective.name, getattr(spec.sampler and spec.sampler.settings, "changed", "none"))
        for spec in preset("locatello2020").configurations
    )
    assert kinds == {
        ("ada_gvae", 1): 36, ("ada_gvae", None): 36, ("ada_mlvae", 1): 36,
        ("ada_mlvae", None): 36, ("group_vae", 1): 72, ("group_vae", None): 72,
        ("beta_vae", "none"): 36,
    }  # fmt: skip
