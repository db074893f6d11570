"""Models on a hub of this machine: what is put there, what is fetched, and what is refused."""

import json

import pytest

from unknot.core.errors import ConfigError
from unknot.sharing import hub as ours

pytest.importorskip("huggingface_hub", reason="the extra hub is not installed")

NAME = "me/faces"


@pytest.fixture(scope="module")
def run(make_scored_run):
    return make_scored_run("mig").path


JOURNEY = """
import json, sys
import numpy, torch, unknot

run = unknot.load(sys.argv[1], device="cpu")
first = run.push("me/faces", license="mit", private=True, onnx=False)
again = unknot.load("hub:me/faces", device="cpu")
x, z = torch.rand(5, 1, 8, 8), torch.randn(4, 3)
same = {
    "encode": torch.equal(run.encode(x), again.encode(x)),
    "decode": torch.equal(run.decode(z), again.decode(z)),
    "traverse": numpy.array_equal(run.traverse(), again.traverse()),
    "id": run.spec.ids() == again.spec.ids(),
}
record = json.loads((again.path / "status.json").read_text())["hub"]
other = unknot.train(run.dataset, "vae", "linear", latents=3, steps=2, batch=4, progress=False)
second = other.push("me/faces", onnx=False)
latest, pinned = unknot.load("hub:me/faces"), unknot.load(first)
print(json.dumps({
    "same": same, "record": record, "first": first, "second": second,
    "latest": latest.spec.objective.name, "pinned": pinned.spec.objective.name,
    "scores": [(path / "scores.jsonl").exists() for path in (pinned.path, latest.path)],
    "files": sorted(file.name for file in pinned.path.iterdir()),
}))
"""


@pytest.fixture(scope="module")
def journey(python, server, run):
    facts, said = python(JOURNEY, run)
    return facts, said, server[0]


def test_a_run_from_the_hub_is_that_from_the_disk(journey):
    facts, _, _ = journey
    assert facts["same"] == {"encode": True, "decode": True, "traverse": True, "id": True}


def test_the_revision_is_in_the_record_and_said_with_the_hash(journey):
    facts, said, hub = journey
    first = hub.sha(NAME, 1)
    assert facts["record"] == {"name": NAME, "revision": first}
    assert facts["first"] == f"hub:{NAME}@{first}"
    config = json.loads(hub.commits(NAME)[1]["config.json"])
    assert config["files"]["model.safetensors"]["sha256"] in said
    assert config["files"]["run/weights.safetensors"]["sha256"] in said
    assert f"{NAME}, revision {first}" in said


def test_a_revision_stays_what_it_was_when_another_is_pushed(journey):
    facts, _, hub = journey
    assert (facts["latest"], facts["pinned"]) == ("vae", "beta_vae")
    assert facts["second"].endswith(hub.sha(NAME, 2))
    assert len(hub.commits(NAME)) == 3


def test_scores_of_the_model_before_do_not_stay(journey):
    facts, _, hub = journey
    assert facts["scores"] == [True, False]
    before, after = hub.commits(NAME)[1:]
    assert {*before} - {*after} == {"run/scores.jsonl"}


def test_what_is_there_is_an_exported_model_with_a_card(journey):
    yaml = pytest.importorskip("yaml")
    _, _, hub = journey
    files = hub.commits(NAME)[1]
    assert {n.rpartition(".")[2] for n in files} == {
        *("gitattributes", "md", "py", "json", "toml", "safetensors", "jsonl", "csv", "png")
    }
    assert hub.repos[NAME]["private"] or hub.repos[NAME]["visibility"] == "private"
    text = files["README.md"].decode()
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["license"] == "mit"
    assert "beta-vae" in front["tags"]
    assert f'unknot.load("hub:{NAME}")' in text


def test_no_file_but_those_of_a_run_is_fetched(journey):
    _, _, hub = journey
    fetched = {line.rpartition("/resolve/")[2] for line in hub.requests if "/resolve/" in line}
    names = {name.partition("/")[2] for name in fetched}
    assert {name for name in names if not name.startswith("run/")} == {"config.json"}


def test_without_a_network_the_cache_serves(journey, python):
    script = """
import json, unknot
run = unknot.load("hub:me/faces", device="cpu")
try:
    unknot.load("hub:me/nothing")
except unknot.UnknotError as error:
    print(json.dumps([run.spec.objective.name, type(error).__name__, str(error)]))
"""
    _, _, hub = journey
    before = len(hub.requests)
    (objective, kind, message), _ = python(script, HF_HUB_OFFLINE="1")
    assert objective == "vae"
    assert (kind, len(hub.requests)) == ("DownloadError", before)
    assert "cannot be reached, and me/nothing is not in its cache" in message


REFUSALS = """
import json, os, sys
import unknot

run = unknot.load(sys.argv[1], device="cpu")
told = {}


def tell(name, call):
    try:
        call()
    except unknot.UnknotError as error:
        told[name] = f"{type(error).__name__}: {error}"


tell("stranger", lambda: run.push("them/theirs", onnx=False))
tell("missing", lambda: unknot.load("hub:me/nothing"))
tell("revision", lambda: unknot.load("hub:me/faces@nowhere"))
tell("foreign", lambda: unknot.load("hub:them/theirs"))
tell("altered", lambda: unknot.load("hub:me/altered"))
tell("scores", lambda: unknot.load("hub:me/scores"))
for name in ("html", "list", "siblings", "no_sha"):
    tell(name, lambda: unknot.load(f"hub:me/{name}"))
tell("license", lambda: run.push("me/html", onnx=False, license="x y"))
os.environ["HF_TOKEN"] = "hf_wrong"
tell("token", lambda: run.push("me/other", onnx=False))
print(json.dumps(told))
"""


def test_what_cannot_be_done_is_said_in_a_line(journey, python, run):
    _, _, hub = journey
    theirs = {"README.md": b"mine", "model.py": b"mine", "model.pkl": b"x"}
    hub.repos["them/theirs"] = {"commits": [theirs]}
    altered = dict(hub.commits(NAME)[1])
    weights = bytearray(altered["run/weights.safetensors"])
    weights[-1] ^= 1
    altered |= {"run/weights.safetensors": bytes(weights), "run/evil.pkl": b"x"}
    hub.repos["me/altered"] = {"commits": [altered]}
    scores = {**hub.commits(NAME)[1], "run/scores.jsonl": b"<html>"}
    hub.repos["me/scores"] = {"commits": [scores]}
    hub.lies = {
        "me/html": (b"<html>", {}),
        "me/list": ([1], {}),
        "me/siblings": ({"id": "me/siblings", "sha": "0" * 40, "siblings": "x"}, {}),
        "me/no_sha": ({"id": "me/no_sha", "sha": None, "siblings": []}, {}),
    }
    told, _ = python(REFUSALS, run)
    for name in ("html", "list", "siblings", "no_sha"):
        assert told.pop(name).startswith("DownloadError: The hub's answer cannot be read: ")
    assert told == {
        "stranger": "StoreError: them/theirs on the hub holds README.md, which no export of unknot "
        "wrote; choose another name, or remove it there.",
        "missing": "StoreError: There is no model me/nothing on the hub that you may see; log in "
        "with `hf auth login` if it is private.",
        "revision": "StoreError: me/faces on the hub has no such revision or file.",
        "foreign": "StoreError: them/theirs on the hub is no model of unknot: it has no "
        "run/run.toml.",
        "altered": "DamageError: me/altered on the hub is damaged: its weights.safetensors is not "
        "what was written.",
        "scores": "DamageError: me/scores on the hub is damaged: its scores.jsonl is not what was "
        "written.",
        "license": "ConfigError: license is an identifier of the hub, such as mit or cc-by-4.0; "
        "got x y.",
        "token": "ConfigError: The hub refuses you me/other; log in with `hf auth login`.",
    }
    assert hub.commits("them/theirs") == [theirs]
    assert not any(".pkl" in line for line in hub.requests)
    assert "me/other" not in hub.repos


@pytest.mark.parametrize(
    "address",
    ["hub:", "hub:faces", "hub:a/b/c", "hub:../x", "hub:a/b@", "hub:a/b@..", "hub:a/b@x\n"],
)
def test_other_addresses_are_refused_before_anything_is_asked(address):
    with pytest.raises(ConfigError, match=r"has a name such as|A revision is"):
        ours.fetch(address)
