"""Labels: what objectives are told of the factors of their images, and of which ones."""

from dataclasses import dataclass

import pytest
import torch

from unknot import testing
from unknot.api.model import Model
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factor_table import FactorTable
from unknot.core.factors import FactorSpace
from unknot.core.objective import Labelled, MultiView, Note, Term
from unknot.core.optim import Adam
from unknot.data.color_dsprites import ColorDSprites
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.feed import Feed
from unknot.engine.labels import label_source
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.losses import gaussian
from unknot.objectives.ivae import IVAE
from unknot.objectives.s2_vae import S2VAE
from unknot.objectives.vae import VAE
from unknot.samplers import labelled
from unknot.samplers.parts.split import RowSplit

CPU = torch.device("cpu")
F64 = Runtime(CPU, "float64")


def grey(space=None):
    """Images whose pixel says which row they are of."""
    space = space or FactorSpace(("a", "b"), (5, 8), ("nominal", "ordered"))
    pixels = torch.arange(space.size, dtype=torch.uint8).reshape(-1, 1, 1, 1)
    return FactorDataset("grey", space, Bytes(pixels.expand(-1, *testing.IMAGE).contiguous()))


@dataclass(frozen=True)
class Checks(MultiView, Labelled):
    """Compares what it is told with what the pixels say."""

    views = 2
    sampler = "labelled"

    def terms(self, net, step):
        row = (step.x[..., 0, 0, 0] * 255).round().long()
        right = torch.stack([row // 8 / 4, row % 8 / 7], dim=-1)  # in float32
        known = step.factors.isfinite()
        wrong = ((step.factors - right).abs().nan_to_num() > 1e-6).sum((-2, -1))
        known = known.all(-1).unflatten(-1, (2, -1)).double().mean(-1)
        loss = gaussian(net.decode(net.encode(step.x).mean), step.x)
        return {
            "recon": Term(loss),
            "wrong": Note(wrong.double()),
            "first": Note(known[..., 0]),
            "second": Note(known[..., 1]),
        }


@pytest.mark.parametrize("backend", [Looped, Stacked])
@pytest.mark.parametrize("split", [None, RowSplit(validation=0.5)])
def test_factors_are_those_of_the_images_and_known_for_labelled_rows_alone(backend, split):
    context = Context(
        grey(), testing.NET, 64, F64, sampler=labelled.Labelled(labels=10), split=split
    )
    members = [Member(seed, Checks(), Adam()) for seed in (3, 4)]
    population = backend.fresh(context, members)
    log = population.advance(0, 2)
    assert log["wrong"].tolist() == [0, 0]
    assert log["second"].tolist() == [1, 1]
    assert 0 < log["first"].min() <= log["first"].max() < 0.7  # 1 of 4, or of 2
    rows = context.validation_rows(Checks(), 64)
    checked = population.validate(rows, 2)
    assert checked["wrong"].tolist() == [0, 0]
    assert checked["second"].tolist() == [1, 1]


def test_values_are_scaled_and_keep_the_distances_of_continuous_labels():
    table = FactorTable(
        ("name", "size", "age", "one"),
        ("nominal", "ordered", "continuous", "ordered"),
        (("x", "y", "z"), (1, 2, 10), (20.0, 30.0, 70.0), (5,)),
        torch.tensor([[0, 1, 1, 0], [2, -1, 2, 0], [1, 2, -1, 0], [0, 0, 0, 0]]),
    )
    expected = torch.tensor(
        [
            [0.0, 0.5, 0.2, 0.0],
            [1.0, torch.nan, 1.0, 0.0],
            [0.5, 1.0, torch.nan, 0.0],
            [0.0, 0.0, 0.0, 0.0],
        ]
    )
    labels = label_source(table, None, CPU, torch.float32)
    torch.testing.assert_close(labels(torch.arange(4)), expected, equal_nan=True)
    told = label_source(table, torch.tensor([3, 1]), CPU, torch.float32)
    expected[[0, 2]] = torch.nan
    torch.testing.assert_close(told(torch.arange(4)), expected, equal_nan=True)


def test_nuisance_variants_have_the_factors_of_their_row():
    data = ColorDSprites().load()
    context = Context(data, testing.NET, 4, F64)
    labels, size = context.labels(IVAE()), len(data)
    rows = torch.tensor([[5, 70_000]])
    assert torch.equal(labels(rows), labels(rows + 3 * size))
    sizes = torch.tensor(data.space.sizes)
    expected = data.space.factors(rows) / (sizes - 1).clamp(min=1)
    torch.testing.assert_close(labels(rows), expected.double())


def test_who_is_not_told_gets_nothing():
    context = Context(grey(), testing.NET, 4, F64)
    assert context.labels(VAE())(torch.arange(3)) is None
    assert context.extra_state(VAE(), torch.tensor([1])).learnt == {}


def test_data_without_factors_are_refused():
    space = FactorSpace(("index",), (40,), ("nominal",))
    context = Context(grey(space), testing.NET, 4, F64)
    with pytest.raises(ConfigError, match=r"compare factors and grey has none; give labels"):
        context.labels(IVAE())
    with pytest.raises(ConfigError, match=r"^Labels compare factors and grey has none"):
        labelled.Labelled().labelled_rows(grey(space))
    three = FactorSpace(("a", "b", "c", "d"), (2, 2, 2, 5), ("ordered",) * 4)
    with pytest.raises(ConfigError, match=r"^S2VAE gives each factor a latent: 4 factors need as"):
        Looped.fresh(Context(grey(three), testing.NET, 4, F64), [Member(0, S2VAE(), Adam())])


@pytest.mark.parametrize("told", [True, False])
def test_a_feed_keeps_what_is_told_of_its_batch(told):
    """A captured step takes the labels of rows that were drawn outside of it."""
    data = grey()

    def rows(order, t):
        return (torch.arange(4) + 3 * t) % 40

    labels = label_source(data.space, None, CPU, torch.float32)
    feed = Feed.of_rows(rows, data.at, labels if told else lambda _: None, torch.tensor(0))
    for t in (0, 1, 5):
        feed.load(t)
        assert torch.equal(feed.batch, data.at(rows(None, t)))
        if told:
            assert torch.equal(feed.told, labels(rows(None, t)))
        else:
            assert feed.told is None


def test_a_loop_of_ones_own_tells_factors():
    def model(objective):
        torch.manual_seed(0)
        encoder = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 6))
        decoder = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.Unflatten(1, testing.IMAGE))
        return Model(objective, encoder, decoder, n_data=40)

    x, factors = torch.rand(6, *testing.IMAGE), torch.rand(6, 2)
    ours = model(IVAE(width=5))
    ours.encode(x)  # before anything is told
    losses = ours.losses(x, factors=factors)
    before = {name: weight.detach().clone() for name, weight in ours.extra.items()}
    assert before["prior_weight_0"].shape == (2, 5)
    ours.step(losses)
    assert all(not torch.equal(ours.extra[n], w) for n, w in before.items() if "weight" in n)
    halves = model(S2VAE()).losses(x[:3], x[3:], factors=factors)
    assert halves["supervised"] > 0
    with pytest.raises(ConfigError, match=r"^IVAE is told factors of its images: losses\(x, fact"):
        ours.losses(x)
    with pytest.raises(ConfigError, match=r"^VAE takes no factors; got some"):
        model(VAE()).losses(x, factors=factors)
    with pytest.raises(ShapeError, match=r"the factors of its 6 images, \[6, factors\]; got \(5, "):
        ours.losses(x, factors=factors[:5])
    with pytest.raises(DataError, match=r"^Factors must lie in \[0, 1\].* from 0 to 7"):
        ours.losses(x, factors=torch.tensor([[0.0, 7.0]] * 6))
