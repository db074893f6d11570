import pytest

from metrics.representations import get
from unknot import metrics
from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.metrics.parts import information
from unknot.metrics.parts.facts import MEANINGS, pick_protocol, protocol_table, protocols_for


def test_every_score_has_our_protocol_and_only_known_ones():
    for name in registry.names("metrics"):
        known = protocols_for(name)
        assert "unknot" in known, name
        assert set(known) <= set(MEANINGS), name
        assert all(settings.version >= 1 for settings in _flat(known.values())), name


def _flat(settings):
    return [getattr(s, "counting", s) for s in settings]


def test_the_study_scores_what_it_published():
    published = {"beta_vae", "factor_vae", "mig", "dci", "sap", "modularity", "explicitness", "irs"}
    assert {n for n in registry.names("metrics") if "study2019" in protocols_for(n)} >= published


def test_an_unknown_protocol_gets_the_nearest_name():
    with pytest.raises(
        ConfigError, match=r"mig has no protocol 'study2020'; did you mean 'study2019'"
    ):
        metrics.mig(*get("noise"), protocol="study2020")
    with pytest.raises(
        ConfigError, match=r"gaussian_tc has no protocol 'paper'; known: study2019, unknot"
    ):
        metrics.gaussian_tc(*get("noise"), protocol="paper")
    with pytest.raises(ConfigError, match="no metric 'migg'; did you mean 'mig'"):
        protocols_for("migg")


def test_settings_of_ones_own():
    score = metrics.jemmig(*get("noise"), protocol=information.Counting(bins=7))
    assert score.protocol["name"] == "custom"
    assert score.protocol["bins"] == 7
    with pytest.raises(ConfigError, match="its own Counting or Quantized; got int"):
        pick_protocol("jemmig", protocols_for("jemmig"), 3)


def test_the_table_shows_every_setting_in_use():
    text = protocol_table()
    lines = text.splitlines()
    assert len(lines) == 2 + sum(len(protocols_for(n)) for n in registry.names("metrics"))
    assert (
        "| mig | study2019 | 1 | samples 10,000, bins 20, edges width, dead counted, "
        "normalizer factor |" in lines
    )
    assert any("all samples" in line and "alphas 0.0001" in line for line in lines)
