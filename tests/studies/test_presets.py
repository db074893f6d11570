"""Presets: published sweeps have their published sizes, and quick ones fit ten minutes."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from studies.preset_plans import preset, settings_of

from unknot.core.errors import ConfigError
from unknot.losses import beta_of_means
from unknot.studies.budget import images
from unknot.studies.file import presets
from unknot.studies.file.study_file import find_file, read_study
from unknot.studies.needed_files import find_gaps
from unknot.studies.plan import key_of, plan

ROOT = Path(__file__).parents[2]
PUBLISHED = {
    # 6 datasets x 36 settings x 50 seeds (Hartmann 2021, section 5).
    "hartmann2021": 10_800,
    "hartmann2021_contrasts": 13 * 5,  # ours: some of these
    # Kumar et al. 2018, section 4: 12 betas and 8 and 8 strengths for dSprites, CelebA and chairs,
    # with those of table 1 that are not in the lists: beta 60 and lambda 80; our 3 seeds.
    # Hsu et al. 2023: five rows of its table and QLAE without weight decay, on its four datasets
    # and our two; our 5 seeds.
    "hsu2023": 6 * 6 * 5,
    "kumar2018": (3 * (12 + 8 + 8) + 2) * 3,
    # Locatello et al. 2020: two objectives, six strengths and two kinds of pairs, and beta-VAE, on
    # its five datasets and ours; our 5 seeds.
    "locatello2020": (4 * 6 * 2 + 6) * 6 * 5,
    # Montero et al. 2021: three betas and three gammas on all conditions of its code; our 3 seeds.
    "montero2021": 6 * (3 + 4 + 4 + 5) * 3,
    # Michlo 2022, tables A.3 to A.7.
    "michlo2022_e1": 160,
    "michlo2022_e2": 160,
    "michlo2022_e3": 40,
    "michlo2022_e4": 180,
    "michlo2022_e5": 320,
    "michlo2022_e6": 100,
    "michlo2022_e7": 20,
    "michlo2022_e9": 240 * 3 // 4,  # of its four losses one is learnt first
    "michlo2022_e10": 48,
    "michlo2022_e11": 60,
    # Ours: parts of E2 and E3, and of E5 and E6, in short.
    "michlo2022_overlap": 8 * 5,
    "michlo2022_triplets": 2 * 5,
    # Mushom 2020, table 5.4.
    "mushom2020": 17 * 10,
    # Özcan 2024: 8 models x 36 (section 3.2.2) on 4 datasets, 36 weak ones on one of them and
    # 3 x 36 of table 7.4; our 36 a dataset for table 6.2. Six of them are steps of one run.
    "ozcan2024": (4 * 288 + 36 + 108 + 4 * 36) // 6,
    "quickstart": 6,
    # Schott et al. 2022: four splits of its three datasets and of ours; our settings and 3 seeds.
    "schott2022": 8 * 4 * 4 * 3,
    # The grid for dSprites published with Roth et al. 2023: 12 kinds of correlation, four baselines
    # of 8 strengths, HFS of 8 x 6, of 9 alone and of 7 x 6 on beta-TCVAE, 10 seeds.
    "roth2023": 12 * (4 * 8 + 8 * 6 + 9 + 7 * 6) * 10,
    "roth2023_mpi3d": 14 * (4 * 8 + 8 * 6 + 9 + 7 * 6) * 10,
    "roth2023_shapes3d": 2 * 14 * (4 * 8 + 8 * 6 + 9 + 7 * 6) * 10,
}
FIRST = {
    "hartmann2021": "d5d271b231a1",
    "hartmann2021_contrasts": "d5d271b231a1",
    "hsu2023": "2198467fbbbf",
    "kumar2018": "7f066a186906",
    "locatello2020": "8da5f475f15f",
    "montero2021": "36a6fa38f277",
    "michlo2022_e1": "d5b45e1c71c7",
    "michlo2022_e2": "ac6eae5d852d",
    "michlo2022_e3": "0da55d44831b",
    "michlo2022_e4": "f43c89a4031a",
    "michlo2022_e5": "f5c81fb7a38a",
    "michlo2022_e6": "9e6ce3ca83d1",
    "michlo2022_e7": "142004bece14",
    "michlo2022_e9": "c1692ed8d974",
    "michlo2022_e10": "356c73f0d954",
    "michlo2022_e11": "ca15c5e47ab5",
    "michlo2022_overlap": "8ea93a63796a",
    "michlo2022_triplets": "51a90f87433d",
    "mushom2020": "c0bc50fa3e5d",
    "ozcan2024": "f2329272395f",
    "quickstart": "3aca6c0cbd65",
    "schott2022": "a85fe99d0f07",
    "roth2023_mpi3d": "46522d54ea35",
    "roth2023_shapes3d": "9154748fb203",
    "roth2023": "d5d271b231a1",  # without a correlation, beta 1: a run of the 2019 study
}
BEFORE_FILES = {  # digest of the ids of all runs, when presets had generated datasets alone
    "hartmann2021": "950f83333454",
    "kumar2018": "b15dcbcadf39",
    "michlo2022_e1": "18b71dd946bc",
    "michlo2022_e4": "0f84191e0ba6",
    "michlo2022_e5": "5d1aeda70a9c",
    "michlo2022_e6": "2a3b44361e25",
    "michlo2022_e7": "a80a1d7196ce",
    "michlo2022_e11": "bd7b3396d8e9",
    "ozcan2024": "053ae97ff214",
}
STEPS = {  # of a run, where all have the same number
    **dict.fromkeys(["hartmann2021", "hartmann2021_contrasts"], 300_000),  # Locatello et al. 2019
    **dict.fromkeys(["roth2023", "roth2023_mpi3d", "roth2023_shapes3d"], 300_000),
    "hsu2023": 200_000,
    "locatello2020": 300_000,
    "schott2022": 300_000,
    "michlo2022_e1": 115_200,  # the others: Michlo 2022, tables A.3 to A.7
    **dict.fromkeys([f"michlo2022_e{n}" for n in (2, 3, 4, 5, 9, 10, 11)], 57_600),
    **dict.fromkeys(["michlo2022_overlap", "michlo2022_triplets"], 57_600),
    **dict.fromkeys(["michlo2022_e6", "michlo2022_e7"], 86_400),
    "mushom2020": 345_600,  # 30 epochs of 737,280 / 64
}


def test_there_is_a_number_for_each_preset():
    assert presets.names() == sorted(PUBLISHED, key=lambda n: (n.partition("_")[0], len(n), n))


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_runs_are_as_many_as_published(name):
    made = preset(name)
    assert len(made.runs) == PUBLISHED[name]
    assert made.doubles == 0
    assert made.sweep.name == name
    if name in STEPS:
        assert {spec.steps for spec in made.configurations} == {STEPS[name]}


@pytest.mark.parametrize("name", FIRST)
def test_ids_do_not_change(name):
    """Frozen from the first version: another value means that studies cannot be continued."""
    assert preset(name).runs[0].id == FIRST[name]


@pytest.mark.parametrize("name", BEFORE_FILES)
def test_runs_on_generated_datasets_have_the_ids_that_they_had(name):
    words = ["train.data.pictures=textures"] if name == "michlo2022_e11" else []
    made = plan(read_study(Path(name), assignments=words))
    datasets = [spec.data.name for spec in made.configurations]
    older = {"dsprites", "xysquares", "dsprites_imagenet"}
    ids = [run.id for run in made.runs if datasets[run.configuration] in older]
    assert key_of(sorted(ids)) == BEFORE_FILES[name]


DATASETS = {  # runs on each, where there are several
    "hartmann2021": dict.fromkeys(
        [f"{kind}dsprites" for kind in ("", "color_", "noisy_", "scream_")]
        + ["smallnorb", "cars3d"],
        1_800,
    ),
    "hsu2023": dict.fromkeys(
        ["dsprites", "scene3d", "shapes3d", "mpi3d", "falcor3d", "isaac3d"], 6 * 5
    ),
    "locatello2020": dict.fromkeys(
        ["dsprites", "scene3d", "cars3d", "smallnorb", "shapes3d", "mpi3d"], 54 * 5
    ),
    "roth2023_shapes3d": dict.fromkeys(["scene3d", "shapes3d"], 14 * 131 * 10),
    "montero2021": {"dsprites": 54, "scene3d": 72, "shapes3d": 72, "mpi3d": 90},
    "schott2022": dict.fromkeys(["dsprites", "scene3d", "shapes3d", "mpi3d"], 32 * 3),
    "kumar2018": {"dsprites": 29 * 3, "celeba": 29 * 3, "chairs3d": 28 * 3},
    **{
        f"michlo2022_{e}": dict.fromkeys(
            ["dsprites", "smallnorb", "xysquares", "shapes3d", "cars3d"], runs // 5
        )
        for e, runs in (("e1", 160), ("e4", 180), ("e5", 320), ("e6", 100), ("e7", 20))
    },
    "ozcan2024": {"dsprites": 72, "mpi3d": 60, "falcor3d": 54, "isaac3d": 54},
}


@pytest.mark.parametrize("name", DATASETS)
def test_datasets_have_their_shares(name):
    made = preset(name)
    runs = Counter(made.configurations[run.configuration].data.name for run in made.runs)
    assert runs == DATASETS[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_quick_needs_no_files(name, tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_DATA", str(tmp_path))
    assert not find_gaps(preset(name, quick=True))


def test_michlos_benchmarks_are_those_of_his_library():
    """A.3.3: bilinear filters, and of Small NORB the training half with its instances."""
    for name in ("e1", "e4", "e5", "e6", "e7"):
        for spec in preset(f"michlo2022_{name}").configurations:
            settings = spec.data.settings
            assert settings.standardize
            if spec.data.name == "cars3d":
                assert settings.resize == "disent"
            if spec.data.name == "smallnorb":
                assert settings.variant == "disent"


def test_nets_fit_the_images_of_their_datasets():
    """Of published sizes, since files are not here: 128 pixels where the thesis has them."""
    shapes = {}
    for name in DATASETS:
        for spec in preset(name).configurations:
            data = spec.data.settings
            facts = getattr(data, "published", None)
            shape = facts.shape if facts else (3, 64, 64)
            side = getattr(data, "side", shape[1])
            shapes[spec.net.name, spec.net.settings.latents, (shape[0], side, side)] = spec
    for (_, latents, shape), spec in shapes.items():
        x = torch.zeros(1, *shape)
        codes = spec.net.settings.encoder(shape)(x)
        assert codes.shape == (1, 2 * latents)
        assert spec.net.settings.decoder(shape)(codes[:, :latents]).shape == x.shape
    sides = {
        spec.data.name: spec.data.settings.side
        for spec in preset("ozcan2024").configurations
        if hasattr(spec.data.settings, "side")
    }
    assert sides == {"falcor3d": 128, "isaac3d": 128}


@pytest.mark.parametrize("name", PUBLISHED)
def test_quick_fits_ten_minutes_of_two_cores_with_time_left_for_scores(name):
    """About 0.06 s for a step of 64 images with conv64 on two cores (docs/benchmarks.md)."""
    made = preset(name, quick=True)
    seconds = 0.06 * sum(images(made.configurations[run.configuration]) for run in made.runs) / 64
    assert seconds < 8 * 60
    # These need codes of the whole grid, two minutes a model, or grow trees.
    assert not {"beta_vae", "factor_vae", "dci", "efficiency"} & {*made.sweep.metrics}
    assert made.sweep.name == f"{name} quick"
    assert len(made.configurations) > 1
    full = {spec.objective.name for spec in preset(name).configurations}
    assert {spec.objective.name for spec in made.configurations} == full


def test_a_first_study_is_done_in_three_and_a_half_minutes():
    made = preset("quickstart")
    seen = sum(images(made.configurations[run.configuration]) for run in made.runs)
    assert seen < 64 * 10_000, "of 32 x 32 pixels in an mlp: about 75 s on two cores"
    assert {spec.data.name for spec in made.configurations} == {"soft_squares"}
    assert len({spec.objective.name for spec in made.configurations}) == 2
    assert made.sweep.seeds == (0, 1, 2)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_preset_opens_with_what_it_is_and_where_it_differs(name):
    lines = presets.file(name).read_text(encoding="utf-8").splitlines()
    head = "\n".join(line for line in lines[: lines.index(f'name = "{name}"')])
    assert presets.summary(name).endswith(".")
    assert name == "quickstart" or all(f"# {w}: " in head for w in ("Document", "Compares"))
    assert name == "quickstart" or "# Differs: " in head
    assert max(map(len, lines)) <= 100


def test_hartmanns_runs_are_numbered_as_the_models_of_2019():
    """Model number = dataset * 1800 + objective * 300 + strength * 50 + seed."""
    made = preset("hartmann2021")
    order = ["beta_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "beta_tcvae", "annealed_vae"]
    datasets = [*DATASETS["hartmann2021"]]
    for number in (0, 49, 299, 300, 3 * 300 + 4 * 50 + 17, 1_799, 1_800, 7_261, 10_799):
        run = made.runs[number]
        spec = made.configurations[run.configuration]
        assert spec.data.name == datasets[number // 1_800]
        assert spec.objective.name == order[number % 1_800 // 300]
        assert run.seed == number % 50
        assert run.configuration == number // 50
    dip = made.configurations[3 * 6 + 4].objective.settings
    assert (dip.lambda_od, dip.lambda_d) == (20, 20)
    ends = [made.configurations[30 + i].objective.settings.c for i in range(6)]
    assert [(c.start, c.end, c.steps) for c in ends] == [
        (0, end, 100_000) for end in (5, 10, 25, 50, 75, 100)
    ]
    assert {spec.updates for spec in made.configurations[6:12]} == {150_000}


def test_runs_that_show_contrasts_are_some_of_hartmanns():
    """By their ids: a study of all of them need not train these again."""
    every = {run.id for run in preset("hartmann2021").runs}
    assert {run.id for run in preset("hartmann2021_contrasts").runs} < every


def test_strengths_of_dip_vaes_follow_each_other_as_published():
    shapes = settings_of("kumar2018", lambda_3=200.0)
    assert [(s.lambda_od, s.lambda_d) for s in shapes][:2] == [(1, 1), (2, 2)]
    ratios = Counter(
        (spec.data.name, spec.objective.name, s.lambda_d / s.lambda_od, s.likelihood)
        for spec in preset("kumar2018").configurations
        if hasattr(s := spec.objective.settings, "lambda_od")
    )
    assert ratios == {
        ("dsprites", "dip_vae_i", 10, "bernoulli"): 8,
        ("dsprites", "dip_vae_ii", 1, "bernoulli"): 8,
        ("celeba", "dip_vae_i", 50, "gaussian"): 8,
        ("celeba", "dip_vae_ii", 0.5, "gaussian"): 9,
        ("chairs3d", "dip_vae_i", 10, "bernoulli"): 8,
        ("chairs3d", "dip_vae_ii", 1, "bernoulli"): 8,
    }
    assert len(shapes) == 8, "third moments on dSprites alone"
    batches = {(s.data.name, s.batch) for s in preset("kumar2018").configurations}
    assert batches == {("dsprites", 400), ("celeba", 100), ("chairs3d", 400)}
    assert {(s.lambda_od, s.lambda_d) for s in settings_of("mushom2020", lambda_3=0.0)} == {
        (v, v) for v in (1, 3, 10, 30)
    }


def test_ozcans_models_have_36_configurations_each():
    made = preset("ozcan2024")
    lengths = {(*spec.kept_steps, spec.updates) for spec in made.configurations}
    assert lengths == {tuple(range(50_000, 300_001, 50_000))}
    models = Counter(
        (
            spec.data.name,
            s.name,
            getattr(s.settings, "beta", None),
            getattr(s.settings, "variant", None),
        )
        for spec in made.configurations
        for s in (spec.objective,)
    )
    assert set(models.values()) == {36 // 6}
    assert Counter(data for data, *_ in models) == {
        "dsprites": 8 + 3 + 1,
        "mpi3d": 8 + 1 + 1,
        "falcor3d": 8 + 1,
        "isaac3d": 8 + 1,
    }
    frozen = {data: b for data, *_, b, _ in models if b not in (None, 2, 4)}
    assert frozen == {"dsprites": 0.89, "mpi3d": 0.92, "falcor3d": 1.90, "isaac3d": 0.88}
    nets = {(s.data.name, s.net.name, s.net.settings.latents) for s in made.configurations}
    assert nets == {
        ("dsprites", "ozcan_mlp", 5),
        ("mpi3d", "ozcan_cnn", 7),
        ("falcor3d", "ozcan_cnn", 7),
        ("isaac3d", "ozcan_cnn", 9),
    }
    assert {s.objective.settings.likelihood for s in made.configurations} == {"sigmoid_gaussian"}


def test_michlos_betas_are_those_of_means_over_pixels_and_latents():
    """Table A.3; beta 0.01 of the RGB images and 25 latents is 4.9 of sums."""
    made = preset("michlo2022_e1")
    published = (0.000316, 0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316, 1.0)
    for data, channels in (
        *(("dsprites", 1), ("smallnorb", 1)),
        *(("xysquares", 3), ("shapes3d", 3), ("cars3d", 3)),
    ):
        for latents in (9, 25):
            own = [
                spec.objective.settings.beta
                for spec in made.configurations
                if (spec.data.name, spec.net.settings.latents) == (data, latents)
                and spec.objective.name == "ada_gvae"
            ]
            pixels = channels * 64 * 64
            wanted = [beta_of_means(b, pixels=pixels, latents=latents) for b in published]
            assert own == pytest.approx(wanted)
    assert all(spec.data.settings.standardize for spec in made.configurations)
    assert {spec.objective.settings.likelihood for spec in made.configurations} == {"gaussian"}


def test_michlos_triplets_have_the_settings_of_their_own_presets():
    """On XYSquares, for which table A.5 gives them; 512 triplets are two rounds of 256 images."""
    from unknot.objectives.ada_tvae import PRESETS
    from unknot.runs.config import spec

    made = [s for s in preset("michlo2022_e6").configurations if s.data.name == "xysquares"]
    for name in PRESETS:
        whole = spec({"objective": {"name": "ada_tvae", "preset": name}, "steps": 86_400})
        assert whole.objective.settings in [s.objective.settings for s in made]
    assert Counter(s.sampler.settings.order for s in made) == {"distance": 10, "scaled": 10}
    rounds = {s.objective.settings.rounds * s.batch for s in preset("michlo2022_e7").configurations}
    assert rounds == {512, 1024}


def test_an_unknown_name_gives_the_nearest_and_a_file_comes_before_a_preset(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="did you mean 'hartmann2021'"):
        find_file(Path("hartman2021"))
    with pytest.raises(ConfigError, match="unknot learn-loss"):
        find_file(Path("michlo2022_e8"))
    monkeypatch.chdir(tmp_path)
    Path("quickstart").mkdir()
    assert find_file(Path("quickstart")) == presets.file("quickstart")
    Path("mushom2020").write_text("seeds = 3")
    assert find_file(Path("mushom2020")) == Path("mushom2020")
    assert find_file(Path("./folder/quickstart")) == Path("folder/quickstart")
