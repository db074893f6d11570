"""``unknot evaluate`` and ``score``: scores of runs, and of plain arrays."""

import json

import numpy as np
import pytest

from unknot.report.run.page import grouped_scores, stored_scores
from unknot.runs.verbs import load


def test_tokens_of_a_file_are_scored_by_their_components(unknot, tmp_path):
    factors = np.indices((4, 5)).reshape(2, -1).T.repeat(10, axis=0)
    tokens = np.zeros((200, 2, 5))
    tokens[:, [0, 1], [3, 1]] = factors
    np.savez(tmp_path / "tokens.npz", tokens=tokens, factors=factors)
    words = ("score", tmp_path / "tokens.npz", "--metrics", "mcc", "--json")
    for more in ((), ("--components", "vct2022"), ("--components", "3")):
        code, out, _ = unknot(*words, *more)
        assert code == 0
        assert json.loads(out)["scores"]["mcc"]["values"]["mcc"] == pytest.approx(1)
    code, _, err = unknot(*words, "--components", "six")
    assert (code, "components are a number or a protocol" in err) == (2, True)
    np.savez(tmp_path / "codes.npz", codes=tokens[:, 0], factors=factors)
    code, _, err = unknot("score", tmp_path / "codes.npz", "--components", "2")
    assert (code, "no array 'tokens'" in err) == (2, True)


def test_evaluate_adds_nothing_twice(unknot, train, tmp_path):
    train("--seeds", "0,1")
    words = ("evaluate", tmp_path / "run", "--metrics", "mig,modularity", "--device", "cpu")
    code, out, _ = unknot(*words)
    assert code == 0
    assert "4 new of 4 records" in out
    before = (tmp_path / "run" / "scores.jsonl").read_bytes()
    assert "0 new of 4 records" in unknot(*words)[1]
    assert (tmp_path / "run" / "scores.jsonl").read_bytes() == before
    assert "4 new of 4 records" in unknot(*words, "--protocol", "study2019")[1]
    records = json.loads(unknot(*words, "--json")[1])
    assert {(r["seed"], r["metric"]) for r in records} == {
        (s, m) for s in (0, 1) for m in ("mig", "modularity")
    }
    by_member = stored_scores(load(tmp_path / "run", device="cpu"))
    assert [set(scores) for scores in by_member] == [
        {"mig", "modularity", "mig (study2019)", "modularity (study2019)"}
    ] * 2
    for record in records:
        assert by_member[record["seed"]][record["metric"]] == record["values"][record["metric"]]


def test_a_metric_may_name_its_protocol(unknot, train, tmp_path):
    train("--seeds", "0,1")
    words = ("evaluate", tmp_path / "run", "--device", "cpu", "--metrics")
    code, out, _ = unknot(*words, "mig,mig@study2019,sap@study2019,mig")
    assert code == 0
    rows = [line.split()[:2] for line in out.splitlines() if line[:2] in ("0 ", "1 ")]
    assert rows == [
        [seed, metric]
        for metrics in (["mig"], ["mig@study2019", "sap@study2019"])
        for seed in "01"
        for metric in metrics
    ]
    assert "6 new of 6 records" in out
    assert "(unknot, study2019)" in out
    plain = json.loads(unknot(*words, "mig,sap", "--protocol", "study2019", "--json")[1])
    named = json.loads(unknot(*words, "mig@study2019,sap@study2019", "--json")[1])
    assert plain == named
    answer = json.loads(unknot(*words, "mig,mig@study2019,elbo", "--baselines", "--json")[1])
    assert list(answer["baselines"]) == ["unknot", "study2019"]
    alone = json.loads(unknot(*words, "mig@study2019", "--baselines", "--json")[1])
    assert alone["baselines"] == answer["baselines"]["study2019"]
    assert "Baselines (study2019):" in unknot(*words, "mig,mig@study2019", "--baselines")[1]


def test_evaluate_tells_what_it_skipped_and_remarks(unknot, train, tmp_path):
    train()
    words = ("evaluate", tmp_path / "run", "--device", "cpu")
    code, out, _ = unknot(*words, "--protocol", "carbonneau")
    assert code == 0
    lines = [line for line in out.splitlines() if line.startswith("Skipped ")]
    assert len({line.partition(": ")[2] for line in lines}) == len(lines), "one line per reason"
    why = ": has no protocol 'carbonneau'; known: paper, unknot."
    (line,) = [line for line in lines if line.endswith(why)]
    assert line.count(", ") > why.count(", "), "all metrics with this reason"
    (line,) = [line for line in lines if "infomec" in line]
    assert "known: paper, hsu2023, hsu2023_file, hsu2024, unknot." in line
    assert "mig " in out
    code, out, _ = unknot(*words, "--metrics", "elbo,kl_per_dimension")
    assert code == 0
    assert "[1] not a likelihood: pixels between black and white" in out
    (line,) = [line for line in out.splitlines() if " elbo " in line]
    assert line.split()[-1] == "[1]"
    assert "kl_per_dimension.active" in out
    assert "skipped" not in out


def test_a_score_that_says_nothing_is_marked_in_the_table_and_on_the_page(unknot, tmp_path):
    """Two photographs of each of 30 people: any code separates the one factor there is."""
    images = np.random.default_rng(0).integers(0, 256, (60, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "people.npz", images=images, person=np.arange(60) // 2)
    run = tmp_path / "run"
    words = ("--labels", "person", "--net", "mlp", "--steps", 2, "--out", run)
    assert unknot("train", "--data", tmp_path / "people.npz", *words)[0] == 0
    _, out, _ = unknot("evaluate", run, "--metrics", "mig,recon")
    lines = [line for line in out.splitlines() if line.startswith("[")]
    numbers = {line.partition("] ")[2]: line[1] for line in lines}
    rows = {line.split()[1]: line for line in out.splitlines() if line.startswith("0 ")}
    assert "[" not in rows["recon"]
    unknot("show", run)
    page = (run / "index.html").read_text()
    assert page.count(f'<sup class="muted">{", ".join(numbers.values())}</sup>') == 1
    for remark in ("one factor: there is nothing to sep", "person has 30 values in 60 rows"):
        (text,) = [text for text in numbers if text.startswith(remark)]
        assert f"[{numbers[text]}]" in rows["mig"]
        assert f"<sup>{numbers[text]}</sup> {text} (mig)" in page


def test_scores_of_a_part_are_named_on_the_page(unknot, train, tmp_path):
    train("--set", "split=rows")
    for words in ((), ("--part", "test"), ("--part", "train")):
        assert unknot("evaluate", tmp_path / "run", "--metrics", "recon", *words)[0] == 0
    (scores,) = stored_scores(load(tmp_path / "run", device="cpu"))
    names = ["recon", "recon (test)", "recon (train)"]
    assert [name for name in scores if name.startswith("recon") and "." not in name] == names
    assert len({scores[name] for name in names}) == 3
    groups = grouped_scores({name: [value] for name, value in scores.items()})
    assert [group["name"] for group in groups] == names
    assert all(group["parts"][0]["name"] == "mse" for group in groups)


def test_score_reads_plain_arrays(unknot, tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, (2000, 2))
    np.savez(
        tmp_path / "codes.npz", codes=factors + 0.01 * rng.normal(size=(2000, 2)), factors=factors
    )
    code, out, _ = unknot("score", tmp_path / "codes.npz", "--metrics", "mig", "--json")
    assert code == 0
    assert json.loads(out)["scores"]["mig"]["values"]["mig"] > 0.9
    assert "mig" in unknot("score", tmp_path / "codes.npz", "--metrics", "mig")[1]


def test_score_takes_log_variances_where_the_file_has_them(unknot, train, tmp_path):
    train("--seeds", "0,1")
    file = tmp_path / "codes.npz"
    code, _, err = unknot("encode", tmp_path / "run", "--out", file, "--rows", 10**8)
    assert (code, "at most" in err, file.exists()) == (2, True, False)
    unknot("encode", tmp_path / "run", "--out", file, "--device", "cpu")
    words = ("--metrics", "mig,kl_per_dimension", "--protocol", "paper", "--model", 1)
    code, out, _ = unknot("score", file, *words, "--json")
    assert code == 0
    scores = json.loads(out)["scores"]
    with np.load(file) as saved:
        mean, logvar = saved["codes"][1], saved["logvars"][1]
    kl = 0.5 * (mean**2 + np.exp(logvar) - 1 - logvar).mean(0).sum()
    assert scores["kl_per_dimension"]["values"]["kl_per_dimension"] == pytest.approx(kl, rel=1e-5)
    np.savez(file, codes=mean, factors=np.indices((4, 4, 4)).reshape(3, -1).T)
    code, _, err = unknot("score", file, *words[:-2])
    assert (code, "`logvar`" in err) == (2, True)


def test_score_takes_a_test_set_from_the_file(unknot, tmp_path):
    """Codes that predict the training factors and not those of the test set."""
    draw = np.random.default_rng(0)
    factors = np.stack([draw.integers(0, 3, 300), draw.integers(0, 4, 300)], axis=1)
    arrays = {"codes": factors + 0.01 * draw.normal(size=(300, 2)), "factors": factors}
    np.savez(tmp_path / "half.npz", **arrays, codes_test=arrays["codes"])
    code, _, said = unknot("score", tmp_path / "half.npz", "--metrics", "dci")
    assert code == 2
    assert "has codes_test but no other half of a test set" in said
    shuffled = {"codes_test": arrays["codes"], "factors_test": draw.permutation(factors)}
    np.savez(tmp_path / "both.npz", **arrays, **shuffled)
    code, out, _ = unknot("score", tmp_path / "both.npz", "--metrics", "dci", "--json")
    assert code == 0
    values = json.loads(out)["scores"]["dci"]["values"]
    assert values["dci.train_informativeness"] == 1
    assert values["dci.informativeness"] < 0.5


def test_foreign_and_truncated_files(unknot, train, tmp_path):
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, codes=np.array([{"a": 1}], dtype=object), factors=np.zeros((1, 1)))
    assert unknot("score", pickled)[0] == 2
    (tmp_path / "text.npz").write_text("not an archive")
    assert unknot("score", tmp_path / "text.npz")[0] == 2
    np.savez(tmp_path / "named.npz", code=np.zeros((4, 1)), factors=np.zeros((4, 1), int))
    code, _, err = unknot("score", tmp_path / "named.npz")
    assert (code, "did you mean 'code'?" in err) == (2, True)
    train()
    weights = tmp_path / "run" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7])
    code, _, err = unknot("show", tmp_path / "run", "--device", "cpu")
    assert (code, "weights.safetensors is damaged" in err) == (2, True)


def test_codes_of_several_models_need_a_choice(unknot, train, tmp_path):
    train("--seeds", "0,1")
    unknot("encode", tmp_path / "run", "--out", tmp_path / "codes.npz", "--device", "cpu")
    code, _, err = unknot("score", tmp_path / "codes.npz", "--metrics", "mig")
    assert (code, "choose one with --model" in err) == (2, True)
    assert unknot("score", tmp_path / "codes.npz", "--metrics", "mig", "--model", 1)[0] == 0


def test_scores_that_cannot_be_stored_are_shown(unknot, train, tmp_path, refusing_disk):
    train()
    refusing_disk("scores.jsonl")
    code, out, err = unknot("evaluate", tmp_path / "run", "--metrics", "mig", "--device", "cpu")
    assert code == 1
    assert "mig" in out
    assert "no space left on device" in err.lower()
    assert not (tmp_path / "run" / "scores.jsonl").exists()
