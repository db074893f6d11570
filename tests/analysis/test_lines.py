"""Lines of a study: what is on the axis, and which settings are joined."""

import itertools

from analysis.tables import configurations, run

from unknot.analysis.lines import MOST_LINES, setting_lines


def lines(rows):
    return [(line.axis, line.apart, line.values) for line in setting_lines(configurations(rows))]


def unordered(rows):
    (line,) = setting_lines(configurations(rows))
    return not line.ordered and len(line.configurations) == len(configurations(rows))


def test_one_number_is_one_line_smallest_first():
    rows = [run(objective__beta=b, seed=s, mig=0.1) for b in (16, 1, 4) for s in range(2)]
    assert lines(rows) == [("objective.beta", {}, (1, 4, 16))]


def test_a_derived_number_is_grouped_by_what_it_is_derived_from():
    """E1 of Michlo: no beta comes twice, and yet nets of 9 and 25 latents are no line together."""
    rows = [run(objective__beta=b / z, net__latents=z, mig=0.1) for z in (25, 9) for b in (1, 2, 4)]
    assert lines(rows) == [
        ("objective.beta", {"net.latents": 9}, (1 / 9, 2 / 9, 4 / 9)),
        ("objective.beta", {"net.latents": 25}, (1 / 25, 2 / 25, 4 / 25)),
    ]


def test_the_axis_is_what_makes_the_fewest_lines():
    """E2 and E11 of Michlo; points of a line have all else in common."""
    grid = itertools.product((4.3, 1.4), ("fore", "back"), (1, 0, 0.5))
    rows = [run(objective__beta=b, data__mode=m, data__visibility=v, mig=b) for b, m, v in grid]
    assert lines(rows) == [
        ("data.visibility", {"objective.beta": b, "data.mode": m}, (0, 0.5, 1))
        for b in (1.4, 4.3) for m in ("fore", "back")
    ]  # fmt: skip
    for line in setting_lines(configurations(rows)):
        assert [one.settings["data.visibility"] for one in line.configurations] == list(line.values)
        assert {one.settings["data.mode"] for one in line.configurations} == {
            line.apart["data.mode"]
        }
        assert {c.settings["objective.beta"] for c in line.configurations} == {
            line.apart["objective.beta"]
        }


def test_where_two_make_as_few_the_objective_goes_before():
    rows = [run(steps=s, objective__beta=b, mig=0.1) for s in (10, 20) for b in (1, 2)]
    assert lines(rows) == [("objective.beta", {"steps": s}, (1, 2)) for s in (10, 20)]


def test_what_goes_along_one_to_one_makes_no_lines():
    rows = [run("dip", objective__od=od, objective__d=10 * od, mig=0.1) for od in (5, 1)]
    assert lines(rows) == [("objective.od", {}, (1, 5))]


def test_a_line_is_named_by_what_it_has_and_no_more_than_it_takes():
    rows = [
        run(objective__beta=b, mig=0.1, **kind)
        for b in (1, 2)
        for kind in ({"net": "small", "net__width": 8}, {"net__kernel": "box"})
    ]
    assert [apart for _, apart, _ in lines(rows)] == [{"net": "small"}, {"net.kernel": "box"}]


def test_objectives_and_datasets_have_lines_of_their_own():
    rows = [run("ae", data=d, mig=0.1) for d in "ab"]
    rows += [run(data=d, objective__beta=b, mig=0.1) for d in "ab" for b in (1, 2)]
    found = [
        (line.data, line.objective, line.values) for line in setting_lines(configurations(rows))
    ]
    assert sorted(found) == [
        ("a", "ae", ("",)), ("a", "beta_vae", (1, 2)),
        ("b", "ae", ("",)), ("b", "beta_vae", (1, 2)),
    ]  # fmt: skip


def test_settings_without_an_order():
    assert unordered([run(net=n, mig=0.1) for n in ("a", "b")]), "words"
    assert unordered([run(objective__flag=f, mig=0.1) for f in (True, False)]), "no numbers"
    many = [run(objective__beta=b, net=str(n), mig=0.1) for b in (1, 2) for n in range(9)]
    assert unordered(many), "too many"
    assert len(lines(many[:MOST_LINES] + many[9 : 9 + MOST_LINES])) == MOST_LINES
    alone = [run(objective__beta=b, steps=s, mig=0.1) for b, s in ((1, 10), (2, 10), (1, 20))]
    assert unordered([*alone, run(objective__beta=4, steps=30, mig=0.1)]), "a point is no line"
