"""The generator against published vectors, a second implementation, and what randomness means."""

import itertools
import math
import random
import zlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import philox
from scipy import stats

from unknot.core import noise, registry
from unknot.core import philox as ours

WORD = st.integers(0, 2**32 - 1)
SEED, STEP = st.integers(0, 2**63 - 1), st.integers(0, 2**62)
NAME = st.text(max_size=20)

DRAWS = {
    "words": lambda seed, step: noise.words(seed, "z", step, 11),
    "uniform": lambda seed, step: noise.uniform(seed, "z", step, 3, 5),
    "uniform64": lambda seed, step: noise.uniform(seed, "z", step, 3, 5, dtype=torch.float64),
    "normal": lambda seed, step: noise.normal(seed, "z", step, 3, 5),
    "integers": lambda seed, step: noise.integers(seed, "z", step, 3, 5, high=1000),
    "permutation": lambda seed, step: noise.permutation(seed, "z", step, 7, 3),
}
each_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


def run(counter, key):
    return tuple(
        int(w)
        for w in ours.philox(
            tuple(torch.tensor(c) for c in counter), tuple(torch.tensor(k) for k in key)
        )
    )


def run_numpy(counter, key):
    return tuple(
        int(w[0])
        for w in ours.philox(
            tuple(np.array([c]) for c in counter), tuple(np.array([k]) for k in key)
        )
    )


@pytest.mark.parametrize(
    "generate", [run, run_numpy, philox.philox4x32], ids=["torch", "numpy", "reference"]
)
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        (
            (0, 0, 0, 0),
            (0, 0),
            (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
        ),
        (
            (0xFFFFFFFF,) * 4,
            (0xFFFFFFFF,) * 2,
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_published_vectors(generate, counter, key, expected):
    """The known answers of philox4x32, 10 rounds, in Random123's file kat_vectors."""
    assert generate(counter, key) == expected


@given(st.tuples(WORD, WORD, WORD, WORD), st.tuples(WORD, WORD))
def test_philox_equals_whole_number_arithmetic(counter, key):
    assert run(counter, key) == philox.philox4x32(counter, key)


@given(SEED, NAME, STEP, st.integers(0, 30))
def test_words_have_the_documented_counter(seed, stream, step, n):
    assert noise.words(seed, stream, step, n).tolist() == philox.words(seed, stream, step, n)


@pytest.mark.parametrize("step", [0, 2**32 - 1, 2**32, 2**32 + 1, 2**40])
@pytest.mark.parametrize("seed", [0, 2**32 - 1, 2**32, 2**63 - 1, -1])
def test_seeds_and_steps_beyond_32_bits(seed, step):
    expected = philox.words(seed % 2**64, "order", step, 6)
    assert noise.words(seed, "order", step, 6).tolist() == expected
    as_tensors = noise.words(torch.tensor(seed), "order", torch.tensor(step), 6)
    assert as_tensors.tolist() == expected


def test_words_that_differ_in_their_upper_half_only_are_other_draws():
    here = noise.words(7, "z", 3, 4)
    assert not torch.equal(here, noise.words(7 + 2**32, "z", 3, 4))
    assert not torch.equal(here, noise.words(7, "z", 3 + 2**32, 4))


@each_draw
def test_a_member_draws_what_it_draws_alone(draw):
    seeds = torch.tensor([0, 1, 2**40 + 3, 2**62, 5])
    together = draw(seeds, 2**33 + 1)
    for row, seed in zip(together, seeds, strict=True):
        assert torch.equal(row, draw(int(seed), 2**33 + 1))
        assert torch.equal(row, draw(seed, torch.tensor(2**33 + 1)))


@each_draw
def test_seeds_and_steps_broadcast_and_lead_the_result(draw):
    seeds, steps = torch.tensor([4, 9, 2**35]), torch.tensor([[0], [2**34]])
    together, one = draw(seeds, steps), draw(4, 0)
    assert together.shape == (2, 3, *one.shape)
    for (i, step), (j, seed) in itertools.product(enumerate(steps), enumerate(seeds)):
        assert torch.equal(together[i, j], draw(seed, step[0]))


@given(SEED, st.integers(0, 40), st.integers(0, 40))
def test_fewer_draws_are_the_first_of_more(seed, few, more):
    few, more = min(few, more), max(few, more)
    for draw in (
        lambda n: noise.words(seed, "z", 1, n),
        lambda n: noise.uniform(seed, "z", 1, n),
        lambda n: noise.normal(seed, "z", 1, n),
        lambda n: noise.integers(seed, "z", 1, n, high=99),
    ):
        assert torch.equal(draw(more)[:few], draw(few))


@each_draw
def test_no_global_generator_is_touched(draw):
    def states():
        legacy = repr(np.random.get_state())  # noqa: NPY002 - only looked at
        return torch.get_rng_state().tolist(), legacy, random.getstate()

    before = states()
    draw(torch.tensor([1, 2]), 3)
    assert states() == before


@given(SEED, NAME, STEP)
def test_uniforms_are_words_centred_in_their_cells(seed, stream, step):
    exact = [(w + 0.5) / 2**32 for w in philox.words(seed, stream, step, 9)]
    assert noise.uniform(seed, stream, step, 9, dtype=torch.float64).tolist() == exact
    rounded = np.float32(exact)
    assert noise.uniform(seed, stream, step, 9).tolist() == rounded.tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_uniforms_of_extreme_words_stay_inside(monkeypatch, dtype):
    extreme = torch.tensor([0, 1, 127, 128, 2**31, 2**32 - 257, 2**32 - 129, 2**32 - 2, 2**32 - 1])
    monkeypatch.setattr(noise, "words", lambda *_: extreme)
    u = noise.uniform(0, "z", 0, len(extreme), dtype=dtype)
    assert u.dtype == dtype
    assert bool(((u > 0) & (u < 1)).all())
    assert bool((u.diff() >= 0).all())
    torch.testing.assert_close(u.double(), (extreme.double() + 0.5) / 2**32, rtol=1e-7, atol=1e-7)


def test_normals_of_extreme_words_are_finite(monkeypatch):
    """The radius is at most sqrt(2 ln 2**33), since no uniform number is below 2**-33."""
    ends = torch.tensor([0, 2**32 - 1])
    extreme = torch.cartesian_prod(ends, ends).flatten()
    monkeypatch.setattr(noise, "words", lambda *_: extreme)
    z = noise.normal(0, "z", 0, 8)
    assert bool(z.isfinite().all())
    assert z.abs().max().item() == pytest.approx(math.sqrt(2 * 33 * math.log(2)), rel=1e-6)


@given(SEED, NAME, STEP, st.integers(1, 9))
def test_normals_are_box_and_mullers(seed, stream, step, n):
    u = [(w + 0.5) / 2**32 for w in philox.words(seed, stream, step, n + n % 2)]
    pairs = [
        (r * math.cos(2 * math.pi * b), r * math.sin(2 * math.pi * b))
        for a, b in zip(u[::2], u[1::2], strict=True)
        for r in [math.sqrt(-2 * math.log(a))]
    ]
    expected = np.array(pairs).flatten()[:n]
    z = noise.normal(seed, stream, step, n, dtype=torch.float64)
    np.testing.assert_allclose(z.numpy(), expected, rtol=1e-12, atol=1e-14)


def test_precision_changes_the_rounding_of_a_draw_only():
    shape = (100, 33)
    for draw in (noise.normal, noise.uniform):
        fine = draw(3, "z", 9, *shape, dtype=torch.float64)
        assert torch.equal(draw(3, "z", 9, *shape), fine.float())
        assert draw(3, "z", 9, *shape).dtype == torch.float32


@given(SEED, NAME, STEP, st.integers(1, 2**62))
def test_integers_are_63_bits_modulo_high(seed, stream, step, high):
    w = philox.words(seed, stream, step, 10)
    expected = [(a + b % 2**31 * 2**32) % high for a, b in zip(w[::2], w[1::2], strict=True)]
    assert noise.integers(seed, stream, step, 5, high=high).tolist() == expected


def test_a_million_uniforms_are_uniform():
    u = noise.uniform(1, "battery", 0, 10**6, dtype=torch.float64).numpy()
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    assert abs(u.mean() - 1 / 2) < 4 * math.sqrt(1 / 12 / 1e6)
    assert abs(u.var() - 1 / 12) < 4 * math.sqrt(1 / 180 / 1e6)


def test_a_million_normals_are_normal():
    """Within four deviations of the first four moments; powers of z have variances 1, 2, 15, 96."""
    z = noise.normal(1, "battery", 0, 10**6, dtype=torch.float64).numpy()
    assert stats.kstest(z, "norm").pvalue > 1e-3
    for power, moment, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs((z**power).mean() - moment) < 4 * math.sqrt(variance / 1e6)
    tail = (np.abs(z) > 4).sum()
    assert stats.binomtest(int(tail), 10**6, 2 * stats.norm.sf(4)).pvalue > 1e-3


def uniformly(counts):
    p = stats.chisquare(counts).pvalue
    return 1e-4 < p < 1 - 1e-4  # too good a fit is not random either


@pytest.mark.parametrize("high", [1, 2, 3, 6, 10, 64, 1000])
def test_integers_are_uniform(high):
    drawn = noise.integers(2, "battery", 0, 200_000, high=high)
    counts = torch.bincount(drawn, minlength=high)
    assert len(counts) == high
    assert high == 1 or uniformly(counts.numpy())


def test_integers_of_the_largest_grid_are_uniform_in_every_digit():
    drawn = noise.integers(2, "battery", 0, 200_000, high=64**6)
    assert drawn.max() < 64**6
    for digit in range(6):
        assert uniformly(torch.bincount(drawn // 64**digit % 64, minlength=64).numpy())


def neighbors(n):
    """Draws of neighbouring seeds, steps, streams and blocks, ``[64, n]`` each."""
    ids = torch.arange(64)
    return {
        "seeds": noise.normal(ids, "z", 0, n, dtype=torch.float64),
        "seeds around 2**32": noise.normal(ids + 2**32 - 32, "z", 0, n, dtype=torch.float64),
        "steps": noise.normal(0, "z", ids, n, dtype=torch.float64),
        "steps around 2**32": noise.normal(0, "z", ids + 2**32 - 32, n, dtype=torch.float64),
        "streams": torch.stack(
            [noise.normal(0, f"z{i}", 0, n, dtype=torch.float64) for i in range(64)]
        ),
        "positions": noise.normal(0, "z", 0, n, 64, dtype=torch.float64).T,
        "diagonal": noise.normal(ids, "z", ids, n, dtype=torch.float64),
        "antidiagonal": noise.normal(ids, "z", 63 - ids, n, dtype=torch.float64),
    }


@pytest.mark.parametrize("square", [False, True], ids=["values", "squares"])
def test_neighbours_correlate_no_more_than_by_chance(square):
    """2016 pairs of 10,000 draws: the largest correlation is about 3.6 / 100, 5.2 / 100 at most."""
    for name, z in neighbors(10_000).items():
        r = np.corrcoef((z.square() if square else z).numpy())
        largest = np.abs(r[np.triu_indices(64, 1)]).max()
        assert largest < 5.2 / 100, name


def test_streams_in_use_have_different_numbers():
    """A stream is told from another by 32 bits of its name; these must not collide."""
    names = {"z", "order", "shuffle", "metric/rows"}
    for room_name in {*registry.names("nets")} - {"modules"}:  # which come from a user
        net = registry.get("nets", room_name)()
        image = (3, 1 if room_name == "conv1d" else 64, 64)
        with torch.device("meta"):
            parts = {"encoder": net.encoder(image), "decoder": net.decoder(image)}
        names |= {f"init/{p}.{n}" for p, part in parts.items() for n, _ in part.named_parameters()}
    assert len({zlib.crc32(name.encode()) for name in names}) == len(names)


@given(SEED, st.integers(0, 30), st.integers(0, 4))
def test_columns_of_a_permutation_are_permutations(seed, n, columns):
    drawn = noise.permutation(seed, "shuffle", 0, n, columns)
    assert drawn.shape == (n, columns)
    assert torch.equal(drawn.sort(0).values, torch.arange(n)[:, None].expand(n, columns))


def test_permutations_are_uniform_and_columns_independent():
    """All 4! orders of a column are equally likely, and so are all 576 pairs of orders."""
    drawn = noise.permutation(3, "shuffle", torch.arange(57_600), 4, 2)
    orders = {order: i for i, order in enumerate(itertools.permutations(range(4)))}
    ids = np.array([[orders[tuple(c)] for c in pair] for pair in drawn.mT.tolist()])
    for column in ids.T:
        assert uniformly(np.bincount(column, minlength=24))
    assert uniformly(np.bincount(24 * ids[:, 0] + ids[:, 1], minlength=576))
