"""A model that is pushed twice, by two commands at once, and on disks without room."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from torture.disks import can_mount, small_disk

pytest.importorskip("huggingface_hub", reason="the extra hub is not installed")

PUSH = """
import json, sys
import unknot

run = unknot.load(sys.argv[1], device="cpu")
before = {path: path.read_bytes() for path in run.path.glob("*.*")}
told = []
for _ in range(int(sys.argv[3])):
    try:
        told.append(run.push(sys.argv[2], onnx=False))
    except unknot.UnknotError as error:
        told.append(f"{error.exit_code} {type(error).__name__}: {error}")
assert {path: path.read_bytes() for path in run.path.glob("*.*")} == before
print(json.dumps(told))
"""
LOAD = """
import json, sys
import unknot

try:
    told = unknot.load("hub:" + sys.argv[1], device="cpu").spec.objective.name
except unknot.UnknotError as error:
    told = f"{error.exit_code} {type(error).__name__}: {error}"
print(json.dumps(told))
"""
OVERTAKEN = (
    "2 StoreError: {} on the hub was changed by another command in the meantime; push again."
)


@pytest.fixture(scope="module")
def run(make_scored_run):
    return make_scored_run("mig").path


@pytest.fixture(scope="module")
def other(make_scored_run):
    return make_scored_run("mig", seeds=1).path


def test_the_same_model_twice_is_one_commit(server, python, run):
    (first, again), _ = python(PUSH, run, "me/twice", 2)
    assert first == again == f"hub:me/twice@{server[0].sha('me/twice', 1)}"
    assert len(server[0].commits("me/twice")) == 2
    assert python(LOAD, "me/twice")[0] == "beta_vae"


def test_of_two_pushes_at_once_one_is_whole_and_the_other_is_told(server, python, run):
    hub = server[0]
    with ThreadPoolExecutor() as threads:
        both = [*threads.map(lambda _: python(PUSH, run, "me/both", 1)[0][0], range(2))]
    put = [told for told in both if told.startswith("hub:")]
    assert put
    assert {*both} - {*put} <= {OVERTAKEN.format("me/both")}
    assert f"hub:me/both@{hub.sha('me/both')}" in put
    assert python(LOAD, "me/both")[0] == "beta_vae"


def test_a_commit_that_came_in_between_is_not_replaced(server, python, run, other):
    hub = server[0]
    (first,), _ = python(PUSH, run, "me/between", 1)
    theirs = {"README.md": b"theirs", "config.json": hub.commits("me/between")[-1]["config.json"]}
    hub.before_commit["me/between"] = lambda: hub.commits("me/between").append(theirs)
    (told,), _ = python(PUSH, other, "me/between", 1)
    assert first.startswith("hub:")
    assert told == OVERTAKEN.format("me/between")
    assert hub.commits("me/between")[-1] == theirs


def test_a_repository_that_another_command_makes_in_between_is_not_replaced(server, python, run):
    hub = server[0]
    theirs = {".gitattributes": b"", "README.md": b"theirs"}
    made = {"commits": [theirs], "private": False}
    hub.before_creation["me/made"] = lambda: hub.repos.setdefault("me/made", made)
    (told,), _ = python(PUSH, run, "me/made", 1)
    assert told == OVERTAKEN.format("me/made")
    assert hub.commits("me/made") == [theirs]


@pytest.mark.parametrize("variable", ["TMPDIR", "HF_HOME"])
def test_a_disk_without_room_is_said_and_the_hub_stays_as_it_was(
    server, python, run, tmp_path, variable
):
    if not can_mount(tmp_path):
        pytest.skip("no small disk can be mounted")
    hub, name = server[0], f"me/{variable.lower()}"
    python(PUSH, run, name, 1)
    commits, place = len(hub.commits(name)), tmp_path / "small"
    with small_disk(place, 16_384) as extend:
        (place / "rest").write_bytes(bytes(12_288))
        told = {
            "push": python(PUSH, run, name, 1, **{variable: str(place)})[0][0],
            "load": python(LOAD, name, **{variable: str(place)})[0],
        }
        for verb, text in told.items():
            if text.startswith("1 WriteError: Could not "):
                assert "no space left on device" in text, verb
                assert variable in text, verb
            else:  # the client did without what it could not keep
                assert variable == "HF_HOME", (verb, text)
                assert text.startswith(("hub:", "beta_vae")), (verb, text)
        assert "1 WriteError" in told["load"]
        extend()
        (place / "rest").unlink()
        assert python(LOAD, name, **{variable: str(place)})[0] == "beta_vae"
    assert len(hub.commits(name)) == commits
    assert json.loads(hub.commits(name)[-1]["config.json"])
