"""``unknot list`` and ``data``: what there is."""

import json


def test_lists_as_tables_and_as_json(unknot):
    for room, name in [("objectives", "beta_vae"), ("datasets", "dsprites"), ("nets", "conv64")]:
        assert name in unknot("list", room)[1]
        names = [row["name"] for row in json.loads(unknot("list", room, "--json")[1])]
        assert name in names
        assert names == sorted(names)
    (beta,) = [
        r for r in json.loads(unknot("list", "objectives", "--json")[1]) if r["name"] == "beta_vae"
    ]
    assert beta["settings"] == {"beta": "4.0", "likelihood": "'bernoulli'"}
    assert "path=None standardize=False" in unknot("list", "datasets")[1].replace("\n", " ")
    said = unknot("list", "objectives")[1]
    assert "  Kim and Mnih 2018\n" in said
    assert "presets: study2019, mushom" in said
    assert "ozcan_weak" in said, "those of a dictionary with a type"
    rows = {row["name"]: row for row in json.loads(unknot("data", "list", "--json")[1])}
    assert (rows["dsprites"]["images"], rows["dsprites"]["shape"]) == (737_280, "64 x 64 x 1")
    assert rows["dsprites"]["factors"] == "shape 3, scale 6, orientation 40, pos_x 32, pos_y 32"
    assert rows["arrays"]["images"] == ""


def test_objectives_stand_under_their_families_and_metrics_under_what_they_measure(unknot):
    said = unknot("list", "objectives")[1]
    heads = [said.index(f"\n{head}: ") for head in ("Posterior", "Aggregate", "Distances")]
    names = [said.index(f"\n{name}  ") for name in ("beta_vae", "beta_tcvae", "tvae")]
    assert heads[0] < names[0] < heads[1] < names[1] < heads[2] < names[2]
    assert said.count("supervision: pairs") == 3
    rows = {row["name"]: row for row in json.loads(unknot("list", "objectives", "--json")[1])}
    assert (rows["tvae"]["family"], rows["tvae"]["supervision"]) == ("distances", "triplets")
    assert (rows["dip_vae_i"]["family"], rows["dip_vae_i"]["supervision"]) == ("aggregate", "none")
    said = unknot("list", "metrics")[1]
    assert "\nModularity, compactness, explicitness: " in said
    compact = said.partition("\nCompactness: ")[2].partition("\nExplicitness: ")[0]
    names = [line.split()[0] for line in compact.splitlines()[1:] if line[:1].strip()]
    assert names == ["mig", "sap", "tad"]


def test_names_that_few_readers_know_are_explained_where_they_are_listed(unknot):
    documents = ("Michlo 2022: a dissertation", "Mushom 2020: an MSc", "Özcan 2024: a PhD")
    for room, count in (("nets", 3), ("objectives", 3), ("samplers", 1)):
        out = unknot("list", room)[1]
        assert [document in out for document in documents] == [True] * count + [False] * (3 - count)
    assert "study2019 means the settings of its" in unknot("list", "objectives")[1]
    rows = json.loads(unknot("study", "list", "--json")[1])
    assert all("(dissertation)" in row["about"] for row in rows if "Michlo" in row["about"])


def test_samplers_are_listed_with_those_of_other_packages(unknot, monkeypatch, tmp_path):
    from importlib import metadata

    from unknot.core import registry

    rows = {row["name"]: row for row in json.loads(unknot("list", "samplers", "--json")[1])}
    assert list(rows) == ["labelled", "pairs", "singles", "transitions", "triplets"]
    assert rows["pairs"]["settings"] == {
        "changed": "None", "rule": "'exact'", "weights": "()",
    }  # fmt: skip
    assert [rows[name]["views"] for name in rows] == [2, 2, 1, 2, 3]
    assert rows["triplets"]["paper"] == "Michlo 2022"
    said = unknot("list", "samplers")[1]
    assert "singles  Single images" in said
    assert "changed=None rule='exact'" in said

    def entries(group):
        own = [("walks", "unknot.samplers.pairs:Pairs"), ("broken", "no_such_module:Draw")]
        return [metadata.EntryPoint(n, at, group) for n, at in own if group == "unknot.samplers"]

    monkeypatch.setattr(registry, "entry_points", entries)
    monkeypatch.syspath_prepend(tmp_path)  # so that entry points are read again
    rows = {row["name"]: row for row in json.loads(unknot("list", "samplers", "--json")[1])}
    assert list(rows) == [
        "broken", "labelled", "pairs", "singles", "transitions", "triplets", "walks",
    ]  # fmt: skip
    assert rows["walks"]["settings"] == rows["pairs"]["settings"]
    assert "cannot be imported" in rows["broken"]["what it is"]
    assert unknot("list", "samplers")[0] == 0


def test_data_show(unknot, tmp_path):
    picture = tmp_path / "squares.png"
    code, out, _ = unknot("data", "show", "xysquares", "--set", "spacing=4", "--out", picture)
    assert code == 0
    assert "262,144 images" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    for word in ("spacing=4", "data.spacing=4"):  # the second is what train takes
        (facts,) = json.loads(unknot("data", "show", "xysquares", "--set", word, "--json")[1])
        assert facts["size"] == 8**6
    (facts,) = json.loads(unknot("data", "show", "dsprites", "--json")[1])
    assert facts["size"] == 737_280
    assert [f["values"] for f in facts["factors"]] == [3, 6, 40, 32, 32]
