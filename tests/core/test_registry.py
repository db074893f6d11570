"""The file name is the registry: what is listed, found, described and refused."""

import pytest

from unknot.core import registry
from unknot.core.errors import ConfigError

FILES = {
    "__init__.py": "",
    "beta_vae.py": 'class BetaVAE:\n    """A class in capitals.\n\n    More."""\n',
    "dci.py": 'def dci():\n    """A function.\n    """\n',
    "mig_sup.py": 'def mig_sup():\n    """A function with a bar in its name."""\n',
    "two_d.py": "class Two:\n    pass\nclass TwoD:\n    pass\nclass TwoDMore:\n    pass\n",
    "losses.py": "def kl():\n    pass\nclass Loss:\n    pass\n",
    "inner.py": "class Other:\n    class Inner:\n        pass\n    inner = 3\n",
    "fails.py": 'class Fails:\n    """Described without being imported."""\nraise RuntimeError\n',
    "notes.txt": "class Notes: pass",
}


@pytest.fixture
def room(tmp_path, monkeypatch):
    folder = tmp_path / "a_room_of_files"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(registry.PACKAGES, "nets", "a_room_of_files")


def test_files_that_define_their_own_name_are_listed(room):
    assert registry.names("nets") == ["beta_vae", "dci", "fails", "mig_sup", "two_d"]


def test_a_name_gives_the_class_or_function(room):
    found = {name: registry.get("nets", name) for name in ("beta_vae", "dci", "mig_sup", "two_d")}
    assert [thing.__name__ for thing in found.values()] == ["BetaVAE", "dci", "mig_sup", "TwoD"]


def test_summaries_are_read_and_not_imported(room):
    assert registry.summary("nets", "beta_vae") == "A class in capitals."
    assert registry.summary("nets", "fails") == "Described without being imported."
    assert registry.summary("nets", "two_d") == ""
    with pytest.raises(RuntimeError):
        registry.get("nets", "fails")


@pytest.mark.parametrize("name", ["losses", "inner", "notes", "Beta_VAE", "", "beta_vae.BetaVAE"])
def test_anything_else_is_unknown(room, name):
    with pytest.raises(
        ConfigError, match=rf"^There is no net '{name}'; [^\n]* unknot list nets\.$"
    ):
        registry.get("nets", name)


def test_the_message_names_the_nearest_or_all():
    with pytest.raises(ConfigError) as near:
        registry.get("objectives", "betavae")
    assert str(near.value) == (
        "There is no objective 'betavae'; did you mean 'beta_vae'? See: unknot list objectives."
    )
    with pytest.raises(ConfigError) as far:
        registry.get("datasets", "q")
    assert str(far.value) == (
        f"There is no dataset 'q'; known: {', '.join(registry.names('datasets'))}. "
        "See: unknot list datasets."
    )


@pytest.mark.parametrize("room_name", registry.PACKAGES)
def test_everything_listed_can_be_had_and_says_what_it_is(room_name):
    for name in registry.names(room_name):
        thing = registry.get(room_name, name)
        assert thing.__name__.lower() in (name, name.replace("_", ""))
        assert registry.summary(room_name, name) == thing.__doc__.strip().partition("\n")[0]
        assert registry.summary(room_name, name).endswith(".")


def test_what_is_there():
    assert {"vae", "beta_vae"} <= set(registry.names("objectives"))
    assert {"dsprites", "xysquares"} <= set(registry.names("datasets"))
    assert {"conv64", "linear"} <= set(registry.names("nets"))
    assert not {"losses", "checks", "weights", "dataset", "draw"} & {
        name for room_name in registry.PACKAGES for name in registry.names(room_name)
    }
