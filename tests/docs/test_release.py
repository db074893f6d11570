"""What the check of a release finds wrong with a wheel."""

import importlib.util
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)

HEAD = "Name: unknot\nDescription-Content-Type: text/markdown\n\n"


def wheel(
    folder, *, names=("unknot/__init__.py", "unknot/py.typed"), text=HEAD + "# unknot", size=0
):
    path = folder / "unknot-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"x" * size)
        archive.writestr("unknot-1.dist-info/METADATA", text)
    return path


@pytest.mark.parametrize(
    ("changes", "address", "words"),
    [
        ({}, "", []),
        ({"text": HEAD + "[page](docs/page.md)"}, "", []),
        ({"text": HEAD + "[page](docs/page.md)"}, "https://example.org", ["such as docs/page.md"]),
        ({"text": HEAD + "[page](https://example.org/page)"}, "https://example.org", []),
        ({"text": "Name: unknot\n\n"}, "", ["not the long description"]),
        ({"names": ("unknot/__init__.py",)}, "", ["py.typed"]),
        ({"names": ("unknot/py.typed", "tests/a.py")}, "", ["tests beside the package"]),
        ({"size": 2_000_000}, "", ["at most 2,000,000"]),
    ],
)
def test_faults_of_a_wheel(tmp_path, changes, address, words):
    faults = release.wheel_faults(wheel(tmp_path, **changes), address)
    assert len(faults) == len(words)
    for fault, word in zip(faults, words, strict=True):
        assert word in fault


def test_the_address_is_read_from_the_project():
    assert release.public_address((ROOT / "pyproject.toml").read_text()).startswith(("", "https:"))
    text = '[tool.hatch.metadata.hooks.custom]\naddress = "https://example.org/unknot"'
    assert release.public_address(text) == "https://example.org/unknot"
