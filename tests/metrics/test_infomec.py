import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from metrics import peers
from metrics.representations import ALIGNED, expected, factors, get, perfect
from unknot.core.errors import DataError
from unknot.metrics import infomec
from unknot.metrics.infomec import best_share

# Two of four codes, or factors, share equally: (1/2 - 1/4) / (1 - 1/4) each.
SHARED = (2 + 2 / 3) / 4
# Both of eight codes hold half: (1/2 - 1/8) / (1 - 1/8).
TWICE = 3 / 7


@expected(
    ALIGNED | {"duplicated": 1, "rotated": SHARED, "missing": 1, "noise": 0, "outlier": 0.998}
)
def test_reference_representation(name, value):
    score = infomec(*get(name))
    assert float(score) == score["infomec.infom"] == pytest.approx(value, abs=0.01)


@expected(
    ALIGNED
    | {"duplicated": TWICE, "rotated": SHARED, "missing": 0.75, "noise": 0, "outlier": 0.998}
)
def test_compactness_of_reference_representation(name, value):
    assert infomec(*get(name))["infomec.infoc"] == pytest.approx(value, abs=0.01)


@expected(ALIGNED | {"duplicated": 1, "rotated": 1, "missing": 0.75, "noise": 0, "outlier": 0.74})
def test_explicitness_of_reference_representation(name, value):
    """Far outliers bend a linear reader, so that one row in a thousand costs it a quarter."""
    assert infomec(*get(name))["infomec.infoe"] == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize("iterations", [100, 5_000])
def test_explicitness_is_the_loss_of_a_classifier_and_not_a_loss_with_a_ceiling(iterations):
    """Logits give the loss of each row, however unlikely its level; `log_loss` holds it."""
    codes, levels = get("outlier")
    x = (codes - codes.mean(0)) / codes.std(0)
    losses, held = [], []
    for level in levels.T:
        tight = {"max_iter": iterations, "tol": 1e-4 if iterations == 100 else 1e-9}
        model = LogisticRegression(C=np.inf, class_weight="balanced", **tight).fit(x, level)
        places = np.searchsorted(model.classes_, level)
        logits = log_softmax(model.decision_function(x), axis=1)[np.arange(len(x)), places]
        guess = np.log(len(model.classes_))
        losses.append(1 + logits.mean() / guess)
        held.append(1 - log_loss(level, model.predict_proba(x)) / guess)
    ours = infomec(codes, levels, protocol="paper")["infomec.infoe"]
    assert ours == pytest.approx(np.mean(losses), abs=1e-8 if iterations == 100 else 1e-3)
    assert np.mean(held) == pytest.approx(0.883, abs=2e-3)
    assert ours == pytest.approx(0.737, abs=1e-3)


def test_noise_is_not_sorted_unlike_in_the_paper():
    noise = infomec(*get("noise"), protocol="paper")
    assert noise["infomec.infom"] > 0.5
    assert "may describe noise" in noise.remarks[-1]
    assert infomec(*get("noise"))["infomec.active"] == 0


def test_the_range_of_a_code_matters_to_the_paper_only():
    """A fifth code knows half of a factor, in a unit of a hundredth."""
    rng = np.random.default_rng(0)
    weak = 0.01 * (factors()[:, :1] > 0) + 0.001 * rng.normal(size=(len(factors()), 1))
    codes = np.hstack([perfect(), weak])
    assert infomec(codes, factors(), protocol="paper")["infomec.active"] == 4
    for scale in (1, 100):
        score = infomec(codes * [1, 1, 1, 1, scale], factors())
        assert score["infomec.active"] == 5
        assert score["infomec.infom"] == pytest.approx(1, abs=0.02)
        assert score["infomec.infoc"] < 0.95


def test_many_rows_are_drawn_from_by_default():
    assert infomec(perfect().repeat(5, 0), factors().repeat(5, 0)).protocol["rows"] == 10_000


def test_shares_in_closed_form():
    table = torch.tensor([[0.6, 0.3, 0.1], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 2.0, 0.0]])
    assert best_share(table, dim=1).tolist() == pytest.approx([0.4, 0, 0, 1])
    assert best_share(table[:, :1], dim=1).tolist() == [1, 0, 1, 0]
    assert best_share(table[:0], dim=0).tolist() == [0, 0, 0]


def test_one_code_one_factor_and_constant_codes():
    values = factors()[:, :1]
    score = infomec(values.astype(float), values)
    assert [score[f"infomec.info{x}"] for x in "mec"] == pytest.approx([1, 1, 1], abs=0.01)
    for protocol in ("paper", "unknot"):
        nothing = infomec(np.ones((60, 3)), factors()[:60], protocol=protocol)
        assert all(v == pytest.approx(0, abs=1e-6) for v in nothing.values.values())


def test_a_factor_with_nearly_as_many_values_as_rows_is_refused():
    with pytest.raises(DataError, match="Too few rows to learn factor 0"):
        infomec(np.random.default_rng(0).normal(size=(50, 2)), np.arange(50)[:, None])


@pytest.mark.parametrize("case", peers.CASES)
def test_equals_the_reference(case):
    """latent_quantization at 9a420a3 with current scikit-learn; shares of noise amplify noise."""
    theirs = peers.golden(case)["infomec_and_tripod"]["infomec_continuous"]
    ours = infomec(*peers.train(case), protocol="paper")
    near = 1e-3 if case == "C" else 1e-5
    assert ours["infomec.infom"] == pytest.approx(theirs["scores"]["infom"], abs=near)
    assert ours["infomec.infoc"] == pytest.approx(theirs["scores"]["infoc"], abs=near)
    assert ours["infomec.infoe"] == pytest.approx(theirs["scores"]["infoe"], abs=1e-3)
    np.testing.assert_array_equal(ours.parts["active"], theirs["matrices"]["active_codes"])


@pytest.mark.parametrize("entry", ["infomec_continuous", "infomec_discrete_20bins"])
@pytest.mark.parametrize("case", peers.CASES)
def test_shares_of_a_stored_table_add_up_to_the_reference(case, entry):
    theirs = peers.golden(case)["infomec_and_tripod"][entry]
    active = theirs["matrices"]["active_codes"]
    table = torch.tensor(theirs["matrices"]["nmi_factors_by_codes"]).double().T[active]
    infom, infoc = best_share(table, dim=1).mean(), best_share(table, dim=0).mean()
    assert infom.item() == pytest.approx(theirs["scores"]["infom"], abs=1e-6)
    assert infoc.item() == pytest.approx(theirs["scores"]["infoc"], abs=1e-6)


def test_noise_is_remarked_upon_however_many_factors_there_are():
    """A little of each of four factors is nothing still; the remark is about their mean."""
    codes, values = get("noise")
    codes = codes + 0.18 * (values - values.mean(0)) / values.std(0)
    score = infomec(codes, values)
    assert score["infomec.infoe"] < 0.02 < 4 * score["infomec.infoe"]
    assert any("finds nothing" in remark for remark in score.remarks)
    assert not any("finds nothing" in remark for remark in infomec(*get("perfect")).remarks)


def binned(codes, bins=20):
    """Codes cut into bins of equal width, as before the reference was called."""
    low, high = codes.min(0), codes.max(0)
    return ((codes - low) / (high - low) * bins).astype(int).clip(0, bins - 1).astype(float)


@pytest.mark.parametrize("protocol", ["hsu2023_file", "hsu2023", "hsu2024"])
@pytest.mark.parametrize("case", peers.CASES)
def test_discrete_codes_equal_the_reference(case, protocol):
    """latent_quantization at 9a420a3, `discrete_latents=True`; nothing is pruned in these cases."""
    theirs = peers.golden(case)["infomec_and_tripod"]["infomec_discrete_20bins"]
    codes, values = peers.train(case)
    ours = infomec(binned(codes.astype(float)), values, protocol=protocol)
    assert ours.protocol["codes"] == "discrete"
    for key, value in theirs["scores"].items():
        name = "active" if key == "active_codes" else key
        assert ours[f"infomec.{name}"] == pytest.approx(value, abs=1e-7)
    expected = np.array(theirs["matrices"]["nmi_factors_by_codes"]).T
    np.testing.assert_allclose(ours.parts["table"], expected, atol=1e-9)


def discrete(n=6000):
    """Two factors; a code for each, a copy of the first in a narrow unit, noise, and a constant."""
    rng = np.random.default_rng(0)
    values = np.stack([rng.integers(0, 4, n), rng.integers(0, 3, n)], 1)
    rare = np.where(rng.random(n) < 0.1, 8.0, 0.0)
    codes = [values[:, 0] % 4, values[:, 1], 0.09 * values[:, 0], rare, np.full(n, 2.0)]
    return np.stack(codes, 1).astype(float), values


@pytest.mark.parametrize(
    ("protocol", "active"),
    [
        ("hsu2023_file", [1, 1, 1, 1, 0]),  # whatever takes two values
        ("hsu2023", [1, 1, 0, 1, 0]),  # ranges 3, 2, 0.27, 8 and 0: more than 1
        ("hsu2024", [1, 1, 1, 0, 0]),  # quartiles 2, 1 or 2, 0.18 or less, 0 and 0 apart
    ],
)
def test_each_program_has_its_own_rule_of_what_is_active(protocol, active):
    codes, values = discrete()
    score = infomec(codes, values, protocol=protocol)
    assert score.parts["active"].astype(int).tolist() == active
    assert score["infomec.infoe"] == pytest.approx(1, abs=0.01)


def test_discrete_information_is_counted_and_one_hot_codes_need_no_order():
    """A code that is a factor in another order tells all of it, to a linear reader too."""
    rng = np.random.default_rng(1)
    values = np.stack([rng.integers(0, 5, 5000), rng.integers(0, 4, 5000)], 1)
    codes = np.stack([np.array([3, 0, 4, 1, 2])[values[:, 0]], values[:, 1]], 1).astype(float)
    score = infomec(codes, values, protocol="hsu2023_file")
    assert score.parts["table"].diagonal() == pytest.approx(1, abs=1e-12)
    assert [score[f"infomec.info{x}"] for x in "mec"] == pytest.approx([1, 1, 1], abs=0.01)


def test_continuous_codes_stay_continuous_under_the_programs_protocols():
    codes, values = get("perfect")
    codes = codes + 1e-3 * np.random.default_rng(0).normal(size=codes.shape)
    ours = infomec(codes, values, protocol="hsu2023_file")
    assert ours.protocol["codes"] == "continuous"
    assert ours.values == infomec(codes, values, protocol="paper").values
    # Ranges 1, 1/10 and 1/25 of the largest; quartiles likewise.
    scaled = codes[:, [0, 0, 0, 1, 2, 3]] * [1, 0.11, 0.04, 1, 1, 1]
    counts = {p: infomec(scaled, values, protocol=p)["infomec.active"]
              for p in ("hsu2023", "hsu2023_file", "hsu2024")}  # fmt: skip
    assert counts == {"hsu2023": 4, "hsu2023_file": 5, "hsu2024": 5}
