"""The table of methods since 2020: paper, how each formula was checked, and what a step costs.

```
python bench/objectives.py --json docs/benchmarks/objectives.json
python docs/beyond.py                 # puts the table on docs/results/beyond.md
```
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unknot.core import registry

COSTS = Path(__file__).parent / "benchmarks" / "objectives.json"


@dataclass(frozen=True)
class Method:
    """Where a formula is from, how it was checked, and the tests that do so."""

    source: str
    checked: str
    tests: tuple[str, ...]


CODE, PAPER, MEMORY = "authors' code", "paper", "second hand"
METHODS = {
    "qlae": Method(
        CODE,
        "loss and gradients against a loop over codes",
        ("test_loss_and_gradients_are_those_of_a_loop_over_codes",),
    ),
    "tripod": Method(
        CODE,
        "kernel densities against loops in NumPy, quotient against exact Hessians",
        (
            "test_total_correlation_is_that_of_kernels_one_by_one",
            "test_the_quotient_is_the_share_of_the_hessian_off_the_diagonal",
        ),
    ),
    "bio_ae": Method(
        "code of QLAE's authors",
        "by hand; slope in closed form",
        ("test_penalties_by_hand", "test_the_slope_is_the_closed_form_on_both_sides_of_0"),
    ),
    "hfs": Method(
        CODE,
        "brute force over all points of the grid, and its gradient",
        (
            "test_a_gap_is_the_squared_hausdorff_distance_of_the_grid",
            "test_the_gradient_is_that_of_the_formula_written_out",
        ),
    ),
    "slow_vae": Method(
        CODE,
        "cross entropy by numerical integration; gradient against the bound in both directions",
        (
            "test_the_cross_entropy_is_its_integral",
            "test_its_gradient_is_that_of_the_bound_in_both_directions_at_twice_the_rate",
        ),
    ),
    "jacobian_l1": Method(
        CODE, "Jacobian against that of autograd", ("test_columns_are_those_of_autograd",)
    ),
    "ima": Method(
        "code of the score",
        "by determinants; 0 for orthogonal columns and no others",
        (
            "test_the_contrast_is_that_of_determinants",
            "test_turning_orthogonal_columns_raises_it_unless_they_are_equally_long",
        ),
    ),
    "orojar": Method(
        MEMORY,
        "half the variance of squared lengths over all signs",
        ("test_the_term_is_half_the_variance_of_squared_lengths_over_all_signs",),
    ),
    "hessian_penalty": Method(
        CODE,
        "exact Hessians; two draws are unbiased",
        (
            "test_bends_along_a_move_are_the_hessian_s_quadratic_form",
            "test_two_draws_estimate_it_without_bias",
        ),
    ),
    "ivae": Method(
        CODE,
        "divergence by numerical integration, prior by hand",
        (
            "test_the_divergence_is_its_integral",
            "test_the_prior_is_three_layers_with_leaky_relus",
        ),
    ),
    "s2_vae": Method(
        MEMORY,
        "penalties by hand, covariance against NumPy",
        (
            "test_the_cross_entropy_and_the_squares_by_hand",
            "test_the_covariance_is_numpys_but_for_the_diagonal",
        ),
    ),
    "joint_vae": Method(
        MEMORY,
        "divergences against torch.distributions; frequencies of relaxed samples",
        (
            "test_divergences_are_those_of_torch",
            "test_the_relaxed_sample_takes_each_value_as_often_as_its_probability",
        ),
    ),
    "ada_gvae": Method(
        "public code",
        "a pair by hand; gradients against finite differences",
        ("test_a_pair_by_hand", "test_gradients_match_finite_differences_with_masks_held"),
    ),
    "ada_mlvae": Method(
        "public code",
        "against the product of the densities",
        ("test_the_sum_of_precisions_is_the_product_of_the_densities",),
    ),
    "group_vae": Method(
        MEMORY,
        "averages by hand; each factor gets its latent",
        (
            "test_a_latent_is_averaged_where_its_factor_is_the_same",
            "test_each_factor_gets_its_own_latent",
        ),
    ),
    "beta_tcvae": Method(
        f"{MEMORY} (TCWAE, its preset `tcwae`)",
        "the three parts against SciPy",
        ("test_against_scipy", "test_the_parts_telescope_to_the_divergence_of_the_sample"),
    ),
}


def costs() -> dict[str, float]:
    """CPU time of a step, as a multiple of the beta-VAE's."""
    rows = json.loads(COSTS.read_text(encoding="utf-8"))["objectives"]
    return {row["name"]: row["ratio"] for row in rows}


def conditions() -> str:
    """How the costs were measured."""
    return str(json.loads(COSTS.read_text(encoding="utf-8"))["conditions"])


def table() -> Iterator[str]:
    """A row for each method."""
    ratios = costs()
    yield "| objective | paper | formula from | checked | CPU time of a step |"
    yield "|---|---|---|---|---|"
    for name, method in METHODS.items():
        paper = "Gaujac, Feige and Barber 2021" if name == "beta_tcvae" else None
        cells = [
            f"[`{name}`](../objectives.md#{name})",
            paper or registry.paper("objectives", name),
            method.source,
            method.checked,
            f"{ratios[name]:.1f} ×" if name in ratios else "not measured",
        ]
        yield f"| {' | '.join(cells)} |"
    yield f"\nCPU time is a multiple of the β-VAE's: {conditions()}."
