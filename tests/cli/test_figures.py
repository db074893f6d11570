"""``unknot figures``."""


def test_figures_by_name_as_files(unknot, tmp_path):
    out = tmp_path / "lecture"
    code, said, _ = unknot("figures", "information_bottleneck", "--out", str(out))
    assert code == 0
    assert "information_bottleneck.png: The information bottleneck of two" in said
    assert {path.name for path in out.iterdir()} == {
        f"information_bottleneck.{ending}" for ending in ("png", "svg", "csv")
    }


def test_a_wrong_name_writes_nothing(unknot, tmp_path):
    out = tmp_path / "lecture"
    code, _, err = unknot("figures", "information_bottleneck", "iwae", "--out", str(out))
    assert code == 2
    assert "There is no figure 'iwae'" in err
    assert not out.exists()
