"""Losses of two likelihoods are two functions: nothing sets one against the other."""

from report.study.test_figures import boxes, overlaps

from unknot.analysis import Results
from unknot.report.study import figures
from unknot.report.study.blocks import Part
from unknot.report.study.likelihoods import by_likelihood


def two_likelihoods(n=3, **more):
    return [
        {"objective": "vae", "objective.likelihood": name, "objective.beta": beta, "seed": seed,
         "status": "done", "mig": 0.1 * beta + seed / 100, "sap": 0.2, "kl": 10.0 - beta + seed / 9,
         "recon": (50.0 if name == "mse" else 900.0) + beta + seed, **more}
        for name in ("mse", "overlap") for beta in (1, 2, 4) for seed in range(n)
    ]  # fmt: skip


def names(kind, results):
    return [figure.name for figure in kind.applies(Part(results))]


def test_each_likelihood_has_its_own_results():
    parts = by_likelihood(Results(two_likelihoods(), ["mig"]))
    assert {name: len(part.configurations) for name, part in parts.items()} == {
        "mse": 3, "overlap": 3,
    }  # fmt: skip
    one = Results(two_likelihoods()[:9], ["mig"])
    assert by_likelihood(one) == {"mse": one}
    plain = Results([{"objective": "vae", "mig": 0.1}])
    assert by_likelihood(plain) == {"": plain}
    learnt = [{**row, "objective": "sigma_vae"} for row in two_likelihoods()[:9]]
    assert {*by_likelihood(Results([*two_likelihoods()[:9], *learnt], ["mig"]))} == {
        "mse", "sigma_vae mse",
    }  # fmt: skip


def test_fronts_and_correlations_with_a_loss_are_of_one_likelihood():
    results = Results(two_likelihoods(), ["mig", "sap"], others=["kl"])
    assert names(figures.trade_off, results) == [
        "trade-off-mig-mse", "trade-off-mig-overlap", "trade-off-sap-mse", "trade-off-sap-overlap",
    ]  # fmt: skip
    assert names(figures.trade_off_runs, results) == [
        "trade-off-runs-mse", "trade-off-runs-overlap",
    ]  # fmt: skip
    drawn = next(iter(figures.trade_off.applies(Part(results)))).draw()
    assert {row["recon"] < 100 for row in drawn.rows} == {True}
    assert drawn.figure.axes[0].get_xlabel() == "recon (mse), lower is better"
    varied = [{**row, "sap": row["mig"] ** 2} for row in two_likelihoods()]
    first = next(iter(figures.correlations.applies(Part(Results(varied, ["mig", "sap"]))))).draw()
    assert {row["first"] for row in first.rows} == {"mig", "sap"}
    one = next(iter(figures.correlations.applies(Part(Results(varied[:9], ["mig", "sap"]))))).draw()
    assert {row["first"] for row in one.rows} == {"mig", "sap", "recon"}


def test_bars_of_few_seeds_are_their_range():
    few = figures.trade_off.draw(Results(two_likelihoods(3)[:9], ["mig"]), "mig")
    segments = [s for c in few.figure.axes[0].collections for s in c.get_segments()]
    upright = [segment for segment in segments if segment[0][0] == segment[1][0]]
    heights = [abs(segment[1][1] - segment[0][1]) for segment in upright]
    assert len(heights) == 3
    assert all(0.0199 < height < 0.0201 for height in heights), heights
    assert "Bars: range of the seeds." in few.figure.legends[0].get_title().get_text()
    many = figures.trade_off.draw(Results(two_likelihoods(5)[:15], ["mig"]), "mig")
    assert "Bars: standard errors." in many.figure.legends[0].get_title().get_text()


def test_a_collapsed_configuration_is_on_no_front():
    rows = two_likelihoods()[:9]
    best = [{**row, "kl": 0.001, "mig": 0.9, "recon": 1.0} for row in rows if row["seed"] < 3][:3]
    rows = [*best, *rows[3:]]
    front = Results(rows, ["mig"]).front("mig")
    assert front.on.tolist() == [False, True, True]
    sound = Results([{**row, "kl": 5.0} for row in rows], ["mig"]).front("mig")
    assert sound.on.tolist() == [True, False, False]


def test_a_hundred_configurations_are_points_with_labels_on_the_front():
    rows = [
        {"objective": "vae", "objective.beta": beta, "net.latents": z, "seed": seed,
         "mig": 0.5 - ((beta * 7 + z * 3) % 10) / 20 + seed / 100, "recon": 40.0 + beta + z}
        for beta in range(10) for z in range(10) for seed in range(2)
    ]  # fmt: skip
    drawn = figures.trade_off.draw(Results(rows, ["mig"]), "mig")
    (axes,) = drawn.figure.axes
    assert len(axes.texts) <= sum(row["on_front"] for row in drawn.rows)
    assert not overlaps(boxes(drawn.figure, axes.texts))
    assert not any(collection.get_segments() for collection in axes.collections)
