"""HFS: the distance of codes from the grid of their values, by brute force over all points."""

import itertools

import numpy as np
import pytest
import torch
from scipy.spatial.distance import directed_hausdorff

from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Step, total
from unknot.losses.support import pairs_of, support_gaps
from unknot.objectives.beta_tcvae import BetaTCVAE
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.hfs import HFS

CODES = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("pair", list(itertools.combinations(range(4), 2)))
def test_a_gap_is_the_squared_hausdorff_distance_of_the_grid(pair):
    """SciPy's, from all combinations of values to the codes; the other way round it is 0."""
    codes = CODES.numpy()[:, pair]
    grid = np.array(list(itertools.product(*codes.T)))
    assert directed_hausdorff(codes, grid)[0] == 0
    ours = support_gaps(CODES, torch.tensor([pair]))
    assert ours.item() == pytest.approx(directed_hausdorff(grid, codes)[0] ** 2, rel=1e-12)


def test_the_gradient_is_that_of_the_formula_written_out():
    """Autograd through all b^3 distances; the two extreme points and the nearest one all move."""
    plain = CODES.clone().requires_grad_()
    value = 0
    for j, k in itertools.combinations(range(4), 2):
        squares = [(c[:, None] - c[None]).square() for c in (plain[:, j], plain[:, k])]
        value = value + (squares[0][:, None] + squares[1][None]).amin(-1).amax()
    ours = CODES.clone().requires_grad_()
    gaps = support_gaps(ours, pairs_of(4))
    torch.testing.assert_close(gaps.sum(), value)
    slopes = [torch.autograd.grad(v, c)[0] for v, c in ((gaps.sum(), ours), (value, plain))]
    torch.testing.assert_close(*slopes)
    assert len(slopes[0].nonzero()) > 6


def test_a_full_grid_has_no_gap_however_often_its_points_occur():
    """Correlated factors are no fault, as long as every combination is there."""
    points = torch.tensor(list(itertools.product((0.0, 1.0, 5.0), (-2.0, 3.0))))
    often = torch.cat([points, points[:1].expand(40, 2), points[-1:].expand(40, 2)])
    assert torch.corrcoef(often.T)[0, 1] > 0.8
    assert support_gaps(often, pairs_of(2)).item() == 0
    missing = often[~((often[:, 0] == 5.0) & (often[:, 1] == -2.0))]
    assert support_gaps(missing, pairs_of(2)).item() == 16  # from (5, -2) to (1, -2)


def test_scale_and_members():
    both = torch.stack([CODES, 3 * CODES])
    gaps = support_gaps(both, pairs_of(4))
    assert gaps.shape == (2, 6)
    torch.testing.assert_close(gaps[1], 9 * gaps[0])
    mine = torch.tensor([[[0, 1], [2, 3]], [[1, 2], [0, 3]]])  # each member has pairs of its own
    torch.testing.assert_close(support_gaps(both, mine)[1], gaps[1][[3, 2]])
    assert support_gaps(both[..., :1], pairs_of(1)).shape == (2, 0)


def test_without_a_weight_it_is_its_base_bit_for_bit():
    pairs = (
        (HFS(beta=3.0, gamma=0.0), BetaVAE(beta=3.0)),
        (HFS(beta=5.0, gamma=0.0, base="beta_tcvae"), BetaTCVAE(beta=5.0)),
    )
    for ours, theirs in pairs:
        mine, other = (testing.cases(objective)[1][0].gradients() for objective in (ours, theirs))
        for name, slope in other.items():
            torch.testing.assert_close(mine[name], slope, rtol=1e-12, atol=1e-14)


def test_pairs_are_random_distinct_and_all_where_there_are_few():
    step = Step(torch.zeros(2, 4, 1, 2, 2), torch.tensor([1, 2]), torch.tensor(3), 100)
    order = step.permutation("pairs", 45, 1)[..., :25, 0]
    assert all(len(row.unique()) == 25 for row in order)
    assert not torch.equal(order[0].sort().values, order[1].sort().values)
    case = testing.cases(HFS(gamma=1.0))[1][0]  # three latents: three pairs
    expected = support_gaps(case.net.encode(case.step.x).mean, pairs_of(3)).sum()
    torch.testing.assert_close(case.terms()["hfs"].value, expected)
    assert total(case.terms()).isfinite()


def test_no_pairs_are_refused():
    with pytest.raises(ConfigError, match=r"^HFS\.pairs must be 1 or more; got 0\.$"):
        HFS(pairs=0)
