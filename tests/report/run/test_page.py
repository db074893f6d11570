import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from PIL import Image

import unknot
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.posterior import Posterior
from unknot.core.text import number
from unknot.report.model.latents import measure_latents
from unknot.report.run import describe
from unknot.report.run.page import page, write_page, write_pictures

NAN = math.nan
VOID = {"meta", "link", "img", "source", "br"}


class Reader(HTMLParser):
    """Collects text, attributes and code, and insists that tags are closed in order."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.text, self.links, self.code, self.tags = [], [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "srcset", "action", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)
        if self.open[-2:] == ["pre", "code"]:
            self.code.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture
def population(make_run, make_curves):
    """Three members of which the second diverged."""
    values = [[900.0, 900.0, 900.0], [111.0, NAN, 333.0]]
    curves = make_curves(
        [0, 100],
        loss=values,
        recon=values,
        recon__weight=[[1.0] * 3] * 2,
        kl=[[0.0] * 3, [5.0, NAN, 6.0]],
        kl__weight=[[2.0] * 3] * 2,
    )
    return make_run(seeds=(41, 42, 43), alive=(True, False, True), curves=curves, diverged={1: 100})


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A real run in a folder."""
    folder = tmp_path_factory.mktemp("run")
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8), dtype=np.uint8)
    factors = np.stack(np.unravel_index(np.arange(12), (4, 3)), axis=1)
    np.savez(folder / "own.npz", images=images, factors=factors, names=["a", "b"])
    return unknot.train(
        "arrays",
        net="linear",
        steps=10,
        batch=4,
        data_settings={"path": str(folder / "own.npz")},
        net_settings={"latents": 3},
        out=folder / "it's a run",
    )


def test_the_page_is_whole_and_asks_for_nothing_from_outside(trained, population):
    for html in (page(trained, scores=[{"mig": 0.5}]), page(population)):
        seen = Reader(html)
        assert seen.links
        assert all(link.startswith("data:") for link in seen.links)
        assert not re.search(r"url\(|@import|https?:", html)
        assert "script" not in seen.tags


def test_the_code_on_the_page_runs_beside_the_run(trained, monkeypatch):
    monkeypatch.chdir(trained.path.parent)  # pages are shared, so it names no folder of ours
    (code,) = Reader(page(trained)).code
    space = {}
    exec(code, space)
    assert tuple(space["z"].shape) == (3, 3)
    assert tuple(space["y"].shape) == (3, 1, 8, 8)
    assert "codes [3, 3]" in code
    assert "images again [3, 1, 8, 8]" in code


def test_numbers_are_the_runs_own(trained):
    text = Reader(page(trained)).words
    for name in ("loss", "recon", "kl"):
        assert f"{name} {number(float(trained.training.curves[name][-1][0]))}" in text
    (found,) = measure_latents(trained)
    for z in range(3):
        assert f"z{z} {found.kl[z]:.2f} nats" in text
    assert "The loss is recon + 4 × kl." in text
    assert f"step {trained.training.curves.steps[-1]}" in text
    assert unknot.__version__ in text


def test_every_setting_is_on_the_page(trained):
    text = Reader(page(trained)).words
    table = trained.spec.table()
    for group in ("data", "net", "objective", "optim"):
        assert all(name in text for name in table[group])
    assert "latents 3" in text
    assert "batch 4" in text


def test_diverged_members_are_shown_and_not_averaged(population):
    scores = [{"mig": 0.25}, {"mig": NAN}, {"mig": 0.75}]
    text = Reader(page(population, scores=scores)).words
    assert "Seed 42 diverged at step 100: its loss was not finite" in text
    assert "loss 222 111 to 333" in text
    assert "mig 0.5 0.25 to 0.75." in text
    assert "42 not a number not a number – not a number diverged at step 100" in text
    assert "41 111 5" in text
    assert "43 333 6" in text
    assert "Traversals of seed 43" in page(population)
    assert "Traversals of seed 42" not in page(population)


def test_a_missing_score_is_counted_and_not_averaged(population):
    text = Reader(page(population, scores=[{"mig": 0.25}, {}, {"mig": NAN}])).words
    assert "mig 0.25 1 of 2 not a number." in text


def test_the_first_healthy_member_is_shown(make_run, make_curves):
    curves = make_curves([0], loss=[[NAN, 1.0]])
    run = make_run(seeds=(8, 9), alive=(False, True), curves=curves, diverged={0: 0})
    assert "Latent traversals seed 9" in Reader(page(run)).words


def test_a_run_of_which_nothing_is_left_still_has_a_page(make_run, make_curves):
    curves = make_curves([0, 100], loss=[[5.0], [NAN]])
    run = make_run(alive=(False,), curves=curves, diverged={0: 100})
    text = Reader(page(run)).words
    assert "Only settings and training curves are shown." in text
    assert "Latent traversals" not in text
    assert "Try a smaller learning rate" in text


def test_a_run_in_memory_without_curves_says_so(make_run):
    text = Reader(page(make_run())).words
    assert "This run has no training curves." in text
    assert 'run.save("my_run")' in text
    assert "machine that made this page" in text


def test_a_large_population_has_a_table_but_no_small_traversals(make_run):
    html = page(make_run(seeds=tuple(range(100, 111))))
    assert "110" in Reader(html).words
    assert "Traversals of seed" not in html


def test_words_from_outside_are_escaped(make_run):
    html = page(make_run(), scores=[{"<b>mine</b> & yours": 1.0}])
    assert "<b>" not in html.replace("<b>z", "")
    assert "<b>mine</b> & yours 1" in Reader(html).words


def test_parts_of_a_score_stand_beside_it(make_run):
    scores = {"dci": 0.5, "dci.completeness": 0.25, "sap.other": 0.125}
    text = Reader(page(make_run(seeds=(0,)), scores=[scores])).words
    assert "dci 0.5 1: each latent" in text
    assert "completeness 0.25" in text
    assert "dci.completeness" not in text
    assert "sap.other 0.125" in text


def test_scores_must_fit_the_members(population):
    with pytest.raises(ShapeError, match="each of 3 members; got 2"):
        page(population, scores=[{}, {}])


def test_the_same_run_gives_the_same_page(trained, tmp_path):
    path = write_page(trained, tmp_path / "new" / "report")
    assert path.read_text(encoding="utf-8") == page(trained)
    assert [p.name for p in path.parent.iterdir()] == ["index.html"]


def test_pictures_are_written_whole(trained, tmp_path):
    paths = write_pictures(trained, tmp_path)
    assert {p.name for p in paths} == {
        "traversals.png",
        "traversals.gif",
        "factors.png",
        "matrix-dci.png",
        "matrix-sap.png",
        "matrix-cbd.png",
        "matrix-information.png",
        "matrix-pearson.png",
        "reconstructions.png",
        "out_of_distribution.png",
        "out_of_distribution_traversals.png",
        "out_of_distribution.csv",
        "samples.png",
        "curves.png",
    }
    assert sorted(paths) == sorted(tmp_path.iterdir())
    for path in (path for path in paths if path.suffix != ".csv"):
        with Image.open(path) as image:
            image.load()
    with pytest.raises(ConfigError, match=r"from 0 to 0; got 1"):
        write_pictures(trained, tmp_path, 1)


def test_advice_follows_from_the_run(make_run, make_curves):
    falling = make_curves(range(20), recon=[[100.0 - i] for i in range(20)])
    flat = make_curves(range(20), recon=[[100.0] for _ in range(20)])
    for curves, expected in ((falling, True), (flat, False)):
        run = make_run(curves=curves)
        advice = " ".join(describe.suggestions(run, measure_latents(run)))
        assert ("Train longer: `steps=900`" in advice) is expected
        assert "`seeds=range(5)`" in advice
    several = make_run(seeds=(0, 1))
    assert "seeds" not in " ".join(describe.suggestions(several, measure_latents(several)))


def test_advice_says_that_a_model_draws_nothing(make_run):
    def advice(decoder):
        run = make_run(decoder=decoder)
        return " ".join(describe.suggestions(run, measure_latents(run)))

    assert "the same for all images" in advice(lambda z: torch.full((len(z), 1, 4, 6), 0.3))
    varied = torch.linspace(0, 1, 24).reshape(1, 4, 6)
    assert "the same" not in advice(lambda z: z.sum(1).reshape(-1, 1, 1, 1) * varied)


@pytest.mark.parametrize(("used", "says"), [(2, "Fewer latents"), (3, None), (4, "More latents")])
def test_advice_on_beta_compares_latents_in_use_with_factors(make_run, used, says):
    def encode(x):
        mean = torch.zeros(len(x), 4)
        mean[:, :used] = 1  # 0.5 nats each
        return Posterior(mean, torch.zeros_like(mean))

    run = make_run(latents=4, encoder=encode)
    advice = " ".join(describe.suggestions(run, measure_latents(run)))
    assert [w for w in ("Fewer latents", "More latents") if w in advice] == [says] * bool(says)
