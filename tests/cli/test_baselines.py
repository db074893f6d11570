"""``unknot evaluate --baselines``: floors and ceilings beside a run."""

import json


def test_baselines_are_shown_beside_the_scores_of_a_run(unknot, train, tmp_path):
    train()
    asked = (
        "evaluate",
        tmp_path / "run",
        "--metrics",
        "mig,elbo",
        "--baselines",
        "--device",
        "cpu",
    )
    code, out, _ = unknot(*asked, "--json")
    assert code == 0
    answer = json.loads(out)
    assert {record["metric"] for record in answer["scores"]} == {"mig", "elbo"}
    assert list(answer["baselines"]) == ["factors", "pca", "ica", "pixels", "untrained"]
    assert answer["baselines"]["factors"]["mig"] >= answer["baselines"]["pca"]["mig"]
    code, out, err = unknot(*asked)
    assert code == 0
    assert "untrained" in out + err
    code, out, err = unknot(
        *asked[:2], "--metrics", "mig,sap", "--baselines", "--protocol", "paper"
    )
    assert code == 0
    assert "No baselines of mig: " in out + err
    code, _, err = unknot(*asked, "--part", "test")
    assert code == 2
    assert "leave --part out" in err
