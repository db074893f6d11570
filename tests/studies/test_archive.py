"""Archives give back what was written, and nothing that no archive of ours holds."""

import json
import re
import shutil
import stat
import warnings
import zipfile

import pytest
import torch
from studies.bars import run_inline, study_text

import unknot
from unknot.core.checksums import bytes_sum
from unknot.core.csv_files import read_csv
from unknot.core.errors import ConfigError, DamageError, StoreError, UnknotError
from unknot.runs.folder import RunFolder
from unknot.studies.archive.writing import write_archive
from unknot.studies.study import Study


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("archive") / "run"
    data = unknot.dataset(torch.rand(64, 1, 8, 8, generator=torch.Generator().manual_seed(0)))
    return unknot.train(data, "vae", "linear", steps=4, batch=8, out=out, progress=False)


@pytest.mark.parametrize(("weights", "bits"), [("full", 60), ("half", 10)])
def test_weights_are_those_of_the_run_to_its_precision(tmp_path, run, weights, bits):
    contents = write_archive(run.path, tmp_path / "run.zip", weights=weights)
    assert contents.models == 1
    back = unknot.load(tmp_path / "run.zip").training.weights()
    for name, tensor in run.training.weights().items():
        error = (back[name] - tensor).abs()
        assert bool((error <= tensor.abs() * 2.0**-bits + 2.0**-25).all()), name
        assert weights == "half" or torch.equal(back[name], tensor)


def test_the_same_run_gives_the_same_bytes(tmp_path, run):
    for name in ("a.zip", "b.zip"):
        write_archive(run.path, tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "populations/../../evil", "x.pkl"])
def test_other_names_are_refused(tmp_path, run, name):
    write_archive(run.path, tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip", "a") as file:
        file.writestr(name, b"x")
    with pytest.raises(StoreError, match="which no archive of unknot has"):
        unknot.load(tmp_path / "run.zip")


def test_another_content_is_refused(tmp_path, run):
    write_archive(run.path, tmp_path / "run.zip")
    with (
        zipfile.ZipFile(tmp_path / "run.zip") as old,
        zipfile.ZipFile(tmp_path / "new.zip", "w") as new,
    ):
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data[::-1] if name == "curves.safetensors" else data)
        assert "curves.safetensors" in json.loads(old.read("manifest.json"))["files"]
    with pytest.raises(StoreError, match="not what was written"):
        unknot.load(tmp_path / "new.zip")


def repack(source, out, change):
    """The archive with members as a function has them: entry and content, to a list of those."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            for changed, data in change(entry, old.read(entry)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    new.writestr(changed, data)
    return out


def test_an_archive_that_another_program_packed_is_read(tmp_path, run):
    def press(entry, data):
        entry.compress_type = zipfile.ZIP_DEFLATED
        return [(entry, data)]

    write_archive(run.path, tmp_path / "run.zip")
    assert unknot.load(repack(tmp_path / "run.zip", tmp_path / "new.zip", press)).step == 4


def as_link(entry, data):
    if entry.filename == "curves.safetensors":
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return [(entry, data)]


def twice(entry, data):
    return [(entry, data)] * (2 if entry.filename == "status.json" else 1)


def as_bomb(entry, data):
    if entry.filename != "run.toml":
        return [(entry, data)]
    entry.compress_type = zipfile.ZIP_DEFLATED
    return [(entry, bytes(100 << 20))]


def without_curves(entry, data):
    return [] if entry.filename == "curves.safetensors" else [(entry, data)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (as_link, "as a link"),
        (twice, "one of them twice"),
        (as_bomb, "far more than its size"),
        (without_curves, "lacks curves.safetensors"),
    ],
)
def test_what_no_archive_of_ours_has_is_refused(tmp_path, run, change, message):
    write_archive(run.path, tmp_path / "run.zip")
    repack(tmp_path / "run.zip", tmp_path / "new.zip", change)
    with pytest.raises(StoreError, match=message):
        unknot.load(tmp_path / "new.zip")


def with_manifest(source, out, change, files=()):
    """The archive with another manifest, and further or other files with checksums that fit."""
    with zipfile.ZipFile(source) as old:
        content = {name: old.read(name) for name in old.namelist()} | dict(files)
    facts = json.loads(content.pop("manifest.json"))
    for name, data in dict(files).items():
        facts["files"][name] = {"sha256": bytes_sum(data), "bytes": len(data)}
    with zipfile.ZipFile(out, "w") as new:
        for name in facts["files"]:
            new.writestr(name, content[name])
        change(facts)
        new.writestr("manifest.json", json.dumps(facts))
    return out


@pytest.mark.parametrize(
    ("change", "files", "message"),
    [
        (lambda m: m.update(kind="study"), (), "which no archive of unknot has"),
        (lambda m: m.update(format=True), (), "is none of an archive"),
        (lambda m: m.update(notes="n" * 9_000), (), "longer than any"),
        (lambda m: None, [("study.db", b"")], "which no archive of unknot has"),
        (lambda m: None, [("curves.safetensors", b"x")], "does not belong to the files beside it"),
        (lambda m: None, [("weights-3.safetensors", b"x")], "does not belong to the files"),
        (lambda m: None, [("status.json", b"{}")], "does not belong to the files beside it"),
        (lambda m: m["files"].pop("status.json"), (), "status.json"),
    ],
)
def test_a_manifest_that_fits_other_files_than_those_of_its_kind_is_refused(
    tmp_path, run, change, files, message
):
    """What is wrong is said of the archive, not of a folder that goes when the process ends."""
    write_archive(run.path, tmp_path / "run.zip")
    with_manifest(tmp_path / "run.zip", tmp_path / "new.zip", change, files)
    with pytest.raises(StoreError, match=message) as refusal:
        unknot.load(tmp_path / "new.zip")
    assert str(refusal.value).startswith(str(tmp_path / "new.zip"))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_that_ask_for_memory_by_their_head_are_refused(tmp_path, run, method):
    def press(entry, data):
        entry.compress_type = method
        return [(entry, data)]

    write_archive(run.path, tmp_path / "run.zip")
    with pytest.raises(StoreError, match="pack it again with deflate"):
        unknot.load(repack(tmp_path / "run.zip", tmp_path / "new.zip", press))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"steps = 4", b"steps = 5", "has changed since the run was trained"),
        (b"format = 2", b"format = \xff", "is not TOML"),
    ],
)
def test_a_run_whose_settings_were_edited_makes_no_archive(tmp_path, run, old, new, message):
    folder = shutil.copytree(run.path, tmp_path / "run")
    file = folder / "run.toml"
    file.write_bytes(file.read_bytes().replace(old, new))
    with pytest.raises(UnknotError, match=message):
        write_archive(folder, tmp_path / "run.zip")
    assert not (tmp_path / "run.zip").exists()


def test_comments_in_the_settings_of_a_run_are_no_change(tmp_path, run):
    folder = shutil.copytree(run.path, tmp_path / "run")
    with (folder / "run.toml").open("a") as file:
        file.write("# mine\n")
    write_archive(folder, tmp_path / "run.zip")
    assert unknot.load(tmp_path / "run.zip").step == 4


def edit_directory(path, place, change):
    """Change bytes of each entry in the list of members at the end of a zip file."""
    data = bytearray(path.read_bytes())
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        change(data, at + place)
        at = data.find(b"PK\x01\x02", at + 1)
    path.write_bytes(data)


def test_encrypted_and_overlapping_members_are_refused(tmp_path, run):
    def encrypt(data, at):
        data[at] |= 1

    def overlap(data, at):
        data[at : at + 4] = (1 << 20).to_bytes(4, "little")

    for place, change, message in [(8, encrypt, "is encrypted"), (20, overlap, "overlap")]:
        write_archive(run.path, tmp_path / "run.zip")
        edit_directory(tmp_path / "run.zip", place, change)
        with pytest.raises(StoreError, match=message):
            unknot.load(tmp_path / "run.zip")


@pytest.fixture(scope="module")
def betas(images, tmp_path_factory):
    """A study of images whose content is known, wherever they lie."""
    text = study_text(images, steps=30).replace('"arrays"', '"images"')
    folder = tmp_path_factory.mktemp("betas") / "study"
    run_inline(folder, text)
    return unknot.Study.open(folder)


def test_a_study_travels_with_its_numbers_and_without_folders(tmp_path, betas, images, monkeypatch):
    assert betas.archive(tmp_path / "study.zip") == tmp_path / "study.zip"
    with zipfile.ZipFile(tmp_path / "study.zip") as file:
        for name in file.namelist():
            assert images.parent.name.encode() not in file.read(name), name
    back = unknot.load(tmp_path / "study.zip")
    assert unknot.load(betas.path).table().equals(betas.table())
    columns = [c for c in betas.table().columns if "path" not in c]
    assert back.table()[columns].equals(betas.table()[columns])
    name = betas.table()["id"][0]
    there, here = back.load(name, device="cpu"), betas.load(name, device="cpu")
    z = torch.zeros(2, 3)
    assert not there.has_data
    assert torch.allclose(there.decode(z), here.decode(z), atol=1e-2)
    assert not torch.equal(there.decode(z), here.decode(z))  # half precision
    monkeypatch.chdir(images.parent)  # where the data is found by its name
    assert back.load(name, device="cpu").has_data
    with pytest.raises(ConfigError, match="takes no data"):
        unknot.load(tmp_path / "study.zip", data=images)


def test_paths_that_ids_depend_on_are_kept_and_told(tmp_path, undisturbed, images):
    contents = write_archive(undisturbed, tmp_path / "study.zip")
    assert contents.paths == (str(images),)
    back = unknot.load(tmp_path / "study.zip")
    assert back.load(back.table()["id"][0], device="cpu").has_data


def test_a_study_without_weights_has_curves_and_scores(tmp_path, betas):
    betas.archive(tmp_path / "study.zip", weights="none")
    back = unknot.load(tmp_path / "study.zip")
    name = betas.table()["id"][0]
    curves, expected = (s.records.curves(name).tensors() for s in (back, betas))
    assert all(torch.equal(curves[key], tensor) for key, tensor in expected.items())
    assert list(back.table()["mig"]) == list(betas.table()["mig"])
    with pytest.raises(StoreError, match="archive without weights"):
        back.load(name)


def test_values_beyond_half_precision_stay_as_they_are(tmp_path, run):
    from safetensors.torch import load_file

    from unknot.engine.checkpoint import write_tensors
    from unknot.runs import status

    folder = RunFolder(shutil.copytree(run.path, tmp_path / "run"))
    tensors = load_file(folder.weights_file)
    name = next(iter(tensors))
    tensors[name] = tensors[name] + 1e6
    write_tensors(folder.weights_file, tensors, {})
    status.write(folder.path, {**folder.record(), "files": status.final_files(folder.path)})
    write_archive(folder.path, tmp_path / "run.zip")
    assert torch.equal(unknot.load(tmp_path / "run.zip").training.weights()[name], tensors[name])


def test_what_reads_folders_says_how_an_archive_becomes_one(tmp_path, run):
    file = tmp_path / "run.zip"
    write_archive(run.path, file)
    said = re.escape(f"`unzip {file} -d run`")
    for read in (lambda: RunFolder(file).spec(), lambda: Study.open(file), lambda: read_csv(file)):
        with pytest.raises(UnknotError, match=said):
            read()
    with zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert RunFolder(tmp_path / "unpacked").spec().ids() == run.spec.ids()


def test_an_archive_without_a_finished_population_is_refused(tmp_path, betas):
    betas.archive(tmp_path / "study.zip")

    def drop(names):
        lost = min(name.split("/")[1] for name in names if name.startswith("populations/"))
        return [name for name in names if f"/{lost}/" in name]

    with zipfile.ZipFile(tmp_path / "study.zip") as whole:
        manifest, gone = json.loads(whole.read("manifest.json")), drop(whole.namelist())
        for name in gone:
            del manifest["files"][name]
        with zipfile.ZipFile(tmp_path / "less.zip", "w") as less:
            less.writestr("manifest.json", json.dumps(manifest))
            for name in {*whole.namelist()} - {"manifest.json", *gone}:
                less.writestr(name, whole.read(name))
    with pytest.raises(
        DamageError, match=r"less\.zip is damaged: it lacks populations/\w{12}, which"
    ):
        unknot.load(tmp_path / "less.zip")


def test_messages_name_the_archive_and_no_temporary_folder(tmp_path, betas):
    betas.archive(file := tmp_path / "study.zip", weights="none")
    back = unknot.load(file)
    with pytest.raises(StoreError) as caught:
        back.load(back.table()["id"][0])
    assert f"{file}/populations/" in str(caught.value)
    assert "unknot-" not in str(caught.value)
