"""Bad inputs as data: what is typed or called, what comes back, and what came back once.

`{d}` stands for a folder with the files of `write_files`, `{run}` for a finished run. A command
ends with exit code 2, or the one that its row has, and one line with the words of its row; a call raises
an `UnknotError` with them. ``before`` is a note, and no test looks at it: what the version before did
where that was reported or read from its code. Traceback, silent (a wrong answer), hang, words (a
wrong or useless message), or "" where it was right already.
"""

import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

NUL, ESC, LONG = "\0", "\x1b[31mred", "n" * 300


class Bad(NamedTuple):
    """A bad input."""

    words: tuple[str, ...]
    """Of the command, behind ``unknot``."""
    expected: str
    """A part of the line that comes back."""
    before: str = ""
    code: int = 2


class Call(NamedTuple):
    """A bad call from Python."""

    code: str
    """An expression; `unknot`, `np`, `torch`, `d`, `run` are there."""
    expected: str
    before: str = ""


def bad(line: str, expected: str, before: str = "", code: int = 2) -> Bad:
    """A command without words that have spaces in them."""
    return Bad(tuple(line.split(" ")), expected, before, code)


def setting(text: str, expected: str, before: str = "") -> Bad:
    """``unknot train --set``."""
    return Bad(("train", "--set", text), expected, before)


TABLES = {
    "no_objective.csv": "id,seed,mig\n1,0,0.5\n",
    "twice.csv": "id,objective,seed,mig,mig\n1,vae,0,0.1,0.2\n",
    "no_rows.csv": "id,objective,seed,mig\n",
    "empty.csv": "",
    "digits.csv": f"id,objective,seed,mig\n1,vae,0,{'9' * 400}\n",
    "digits_seed.csv": f"id,objective,seed,mig\n1,vae,{'9' * 400},0.5\n",
    "long_field.csv": f"id,objective,seed,mig\n1,{'v' * 140_000},0,0.5\n",
    "longer_row.csv": "id,objective,seed,mig\n1,vae,0,0.5,7\n",
    "words.csv": "id,objective,seed,mig\n1,vae,0,high\n",
    "no_scores.csv": "id,objective,seed\n1,vae,0\n",
    "all_diverged.csv": "id,objective,seed,status,mig\n1,vae,0,diverged,0.5\n",
    "unnamed.csv": "objective,,,mig\nvae,1,2,0.5\n",
    "part_seed.csv": "id,objective,seed,mig\n1,vae,0.5,0.1\n2,vae,1.5,0.2\n",
    "word_seed.csv": "id,objective,seed,mig\n1,vae,first,0.1\n",
    "list_seed.csv": "id,objective,seed,mig\n1,vae,[0],0.1\n",
    "negative_seed.csv": "id,objective,seed,mig\n1,vae,-1,0.1\n",
    "number_objective.csv": "id,objective,seed,mig\n1,,0,0.1\n",
    "published.csv": "model_num,model_name\n1,x\n",
}
TEXTS = {
    "deep.toml": "a = " + "[" * 5_000 + "]" * 5_000,
    "deeper.toml": "steps = " + "[" * 70 + "]" * 70,
    "date.toml": "[objective]\nbeta = 1979-05-27\n",
    "time.toml": "steps = 07:32:00\n",
    "digits.toml": f"steps = {'9' * 400}\n",
    "many_digits.toml": f"steps = {'9' * 5_000}\n",
    "key.toml": f"{'k' * 300} = 1\n",
    "line.toml": '"a\\nb" = 1\n',
    "escape.toml": '"a\\u001b[31m" = 1\n',
    "nul.toml": 'objective = "a\\u0000b"\n',
    "list_kind.toml": '[objective]\nbeta = {kind = ["linear"], end = 4}\n',
    "list_preset.toml": '[objective]\nname = "beta_vae"\npreset = []\n',
    "no_toml.toml": "steps = \n",
    "two_steps.toml": "steps = 1\nsteps = 2\n",
    "empty_name.toml": 'objective = ""\n',
    "old.toml": 'version = "1"\n',
    "format.toml": "format = 99\n",
    "bool_steps.toml": "steps = true\n",
    "float_steps.toml": "steps = 3.5\n",
    "nan_beta.toml": "[objective]\nbeta = nan\n",
    "inf_lr.toml": "[optim]\nlr = inf\n",
    "table_steps.toml": "[steps]\na = 1\n",
    "unknown.toml": "stpes = 3\n",
    "seeds_text.toml": 'seeds = "many"\n',
    "seeds_float.toml": "seeds = [0.5, 1]\n",
    "seeds_bool.toml": "seeds = [true]\n",
    "chain.toml": "[train]\n" + "".join(f'x{i} = "= x{i - 1}+1"\n' for i in range(1_999, 0, -1)) + "x0 = 1\n",
    "square.toml": "[train]\nx1 = 9\n" + "".join(f'x{i} = "= x{i - 1}*x{i - 1}"\n' for i in range(2, 26)),
    "loop.toml": '[train]\nsteps = "= batch"\nbatch = "= steps"\n',
    "formula_call.toml": '[train]\nsteps = "= abs(3)"\n',
    "formula_power.toml": '[train]\nsteps = "= 9 ** 9"\n',
    "formula_zero.toml": '[train]\nsteps = "= 1 / 0"\n',
    "formula_text.toml": '[train]\nsteps = "= precision"\nprecision = "float32"\n',
    "formula_long.toml": f'[train]\nsteps = "= {"1+" * 300}1"\n',
    "study_version.toml": 'version = "1"\n',
    "study_list_protocol.toml": 'protocol = ["a"]\n',
    "study_name.toml": f'name = "{"n" * 300}"\n',
    "study_name_line.toml": 'name = "a\\nb"\n',
    "study_name_number.toml": "name = 3\n",
    "study_metrics.toml": "metrics = 3\n",
    "study_metric.toml": 'metrics = ["mgi"]\n',
    "study_grid.toml": "[grid]\nsteps = 3\n",
    "study_empty_axis.toml": "[[grid]]\nsteps = []\n",
    "study_empty_grid.toml": "[[grid]]\n",
    "study_zip.toml": '[[grid]]\nzip = "a"\n',
    "study_zip_missing.toml": '[[grid]]\nsteps = [1, 2]\nzip = [["steps", "batch"]]\n',
    "study_zip_lengths.toml": '[[grid]]\nsteps = [1, 2]\nbatch = [1]\nzip = [["steps", "batch"]]\n',
    "study_seeds.toml": "seeds = -1\n",
    "study_members.toml": "members = 0\n",
    "study_million.toml": "seeds = \"0..9999\"\n[[grid]]\nobjective.beta = [" + ",".join(map(str, range(200))) + "]\n",
    "study_train_seeds.toml": "[train]\nseeds = 3\n",
    "study_train_list.toml": "train = [1]\n",
    "study_baseline.toml": "baseline = 3\n",
    "study_quick.toml": "[quick]\nseeds = 3\n",
    "study_date.toml": "[[grid]]\nobjective.beta = [1979-05-27]\n",
}  # fmt: skip


def write_files(folder: Path) -> None:
    """The files that rows name."""
    for name, text in {**TABLES, **TEXTS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.toml").write_bytes(b"name = '\xff'")
    (folder / "latin.csv").write_bytes(b"objective\n\xff\n")
    (folder / "empty.npz").write_bytes(b"")
    (folder / "text.npz").write_text("no archive")
    (folder / "empty.npy").write_bytes(b"")
    (folder / "plain.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (folder / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "kernel.safetensors").write_bytes(b"\xff" * 64)
    (folder / "file").write_text("in the way")
    (folder / "taken").mkdir()
    (folder / "taken" / "notes.txt").write_text("mine")
    (folder / "nothing").mkdir()
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(64, 3)), rng.integers(0, 4, (64, 2))
    images = rng.integers(0, 255, (64, 8, 8), np.uint8)
    arrays: dict[str, dict[str, object]] = {
        "no_codes": {"factors": factors},
        "no_factors": {"codes": codes},
        "objects": {"codes": np.array([None]), "factors": factors},
        "complex": {"codes": codes + 1j, "factors": factors},
        "words": {"codes": np.array(["a", "b"]), "factors": factors},
        "lengths": {"codes": codes[:9], "factors": factors},
        "nan": {"codes": codes * np.nan, "factors": factors},
        "one_row": {"codes": codes[:1], "factors": factors[:1]},
        "no_rows": {"codes": codes[:0], "factors": factors[:0]},
        "flat": {"codes": codes[:, 0], "factors": factors},
        "scalar": {"codes": np.float64(3), "factors": factors},
        "parts": {"codes": codes, "factors": factors + 0.5},
        "test_half": {"codes": codes, "factors": factors, "codes_test": codes},
        "models": {"codes": codes[None], "factors": factors},
        "records": {"codes": np.zeros(3, "f8,i4"), "factors": factors},
        "dates": {"codes": codes.astype("datetime64[s]"), "factors": factors},
        "images_words": {"images": np.array(["a"])},
        "images_objects": {"images": np.array([None])},
        "images_flat": {"images": images[0, 0]},
        "images_none": {"images": images[:0]},
        "images_complex": {"images": images + 1j},
        "images_range": {"images": images * 3.0},
        "images_nan": {"images": images * np.nan},
        "factors_short": {"images": images, "factors": factors[:9]},
        "factors_words": {"images": images, "factors": factors.astype(str)},
        "names_line": {"images": images[:16].copy(), "factors": np.stack(np.divmod(np.arange(16), 4), 1), "names": np.array(["a\nb", "c"])},
        "names_twice": {"images": images[:16].copy(), "factors": np.stack(np.divmod(np.arange(16), 4), 1), "names": np.array(["a", "a"])},
        "names_long": {"images": images[:16].copy(), "factors": np.stack(np.divmod(np.arange(16), 4), 1), "names": np.array(["a" * 300, "b"])},
        "names_few": {"images": images[:16].copy(), "factors": np.stack(np.divmod(np.arange(16), 4), 1), "names": np.array(["a"])},
    }  # fmt: skip
    for name, content in arrays.items():
        np.savez(folder / f"{name}.npz", **content)  # type: ignore[arg-type]
    np.savez(folder / "locked.npz", codes=codes, factors=factors, images=images)
    _encrypt(folder / "locked.npz")
    if hasattr(os, "mkfifo"):
        for name in ("pipe", "pipe.toml", "pipe.csv", "pipe.npz", "pipe.npy", "pipe.safetensors"):
            os.mkfifo(folder / name)


def _encrypt(path: Path) -> None:
    """Set the flags of a zip file that say that its entries are encrypted."""
    with zipfile.ZipFile(path) as archive:
        offsets = [entry.header_offset + 6 for entry in archive.infolist()]
    data = bytearray(path.read_bytes())
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        offsets.append(place + 8)
        place = data.find(b"PK\x01\x02", place + 1)
    for offset in offsets:
        data[offset] |= 1
    path.write_bytes(data)


COMMANDS = [
    # Settings from flags
    setting("steps=4\nbatch=2", "one value", "silent"),
    setting("objective.beta=1979-05-27", "got 1979", "traceback"),
    setting("objective.beta=07:32:00", "a time", "traceback"),
    setting(f"objective.beta={'[' * 5_000}", "deep", "traceback"),
    setting(f"objective.beta={'[' * 5_000}{']' * 5_000}", "deep", "traceback"),
    setting(f"objective.beta={'[' * 70}{']' * 70}", "deep", "words"),
    setting(f"objective.beta={'9' * 400}", "digits", "traceback"),
    setting(f"objective.beta={'9' * 5_000}", "digits", "traceback"),
    setting('objective.beta={kind=["linear"]}', "kind has no choice", "traceback"),
    setting('objective.beta={kind="linear"}', "start", ""),
    setting('objective.beta={kind="linear", start=0, end="x"}', "end", ""),
    setting("objective.beta={}", "kind", ""),
    setting("objective.beta=[1]", "beta", ""),
    setting("objective.beta=true", "beta", ""),
    setting("objective.beta=nan", "beta", ""),
    setting("objective.beta=1e999", "beta", ""),
    setting("objective.beta=", "beta", ""),
    setting("objective.preset=[]", "no preset", "traceback"),
    setting("objective.preset=3", "no preset", ""),
    setting("objective.preset={}", "no preset", "traceback"),
    setting("objective.name=[]", "objective.name", ""),
    setting("objective.name=3", "objective.name", ""),
    setting("objective=3", "objective must be", ""),
    setting("objective=[/]", "[/]", "traceback"),
    setting("objective=", "objective", ""),
    setting("net=[/]", "[/]", "traceback"),
    setting("net.name={}", "net.name", ""),
    setting("net.latents=9223372036854775808", "latents", "traceback"),
    setting("net.latents=4611686018427387904", "latents", "traceback"),
    setting("net.latents=1.5", "latents", ""),
    setting("net.latents=-1", "latents", ""),
    setting("net.latents=true", "latents", ""),
    setting("optim.name=[]", "optimiser", "traceback"),
    setting("optim.name={}", "optimiser", "traceback"),
    setting("optim=sgdd", "did you mean 'sgd'", ""),
    setting("optim.lr=-1", "lr", ""),
    setting("optim.lr=word", "lr", ""),
    setting("optim.betas=[0.9]", "betas", ""),
    setting("sampler.name=[]", "sampler.name", ""),
    setting("sampler=nobody", "nobody", ""),
    setting("split={kind=[]}", "kind", "traceback"),
    setting("split=nobody", "nobody", ""),
    setting("split=[]", "split", ""),
    setting("split=3", "split", ""),
    setting("seeds=[]", "seed", ""),
    setting("seeds=0.5", "seeds", ""),
    setting("seeds=[0.5, 1]", "seeds", ""),
    setting("seeds={}", "seeds", ""),
    setting("seeds=-1", "0 to 2**63", ""),
    setting("seeds=9223372036854775808", "0 to 2**63", ""),
    setting("order_seed=-1", "0 to 2**63", ""),
    setting("ema=1", "ema", ""),
    setting("ema=word", "ema", ""),
    setting("precision=[]", "precision", ""),
    setting("log_every=0", "log_every", ""),
    setting("checkpoint_every=0", "checkpoint_every", ""),
    setting("format=3", "format", ""),
    setting("format=[]", "format", ""),
    setting("version=2", "version", ""),
    setting("nothing", "key=value", ""),
    setting("=3", "key=value", ""),
    setting(".=3", "key=value", ""),
    setting("a..b=3", "key=value", ""),
    setting("", "key=value", ""),
    setting(f"{'k' * 300}=3", "characters", "words"),
    setting(f"{ESC}=3", "\\x1b", "silent"),
    setting("a\nb=3", "line break", "words"),
    setting("steps.a.b.c=3", "steps", ""),
    setting("data.path=\0", "NUL", "traceback"),
    setting("data=[/]", "[/]", "traceback"),
    setting(f"data={LONG}", "nnn", "traceback"),
    setting("data.name=[]", "data.name", ""),
    setting("data.spacing=3", "spacing", ""),
    Bad(("train", "--data", "[/]"), "[/]", "traceback"),
    Bad(("train", "--data", LONG), "nnn", "traceback"),
    Bad(("train", "--data", ESC), "\\x1b", "silent"),
    Bad(("train", "--objective", "a\nb"), "a b", "words"),
    Bad(("train", "--net", ESC), "\\x1b", "silent"),
    Bad(("train", "--preset", "[/]"), "preset", ""),
    bad("train --steps 9223372036854775808", "steps must be below 2^63", "words"),
    bad("train --steps 99999999999999999999999999999999999999999999", "steps", "words"),
    bad("train --batch 4611686018427387904", "batch", "traceback"),
    bad("train --batch 9223372036854775807", "batch", "traceback"),
    bad("train --checkpoint-every 0", "checkpoint_every", ""),
    bad("train --lr nan", "lr", ""),
    bad("train --lr inf", "lr", ""),
    bad("train --lr -1", "lr", ""),
    bad("train --device cpu:7", "cpu", "silent"),
    bad("train --device cuda:99", "cuda:99", ""),
    bad("train --device", "--device", ""),
    Bad(("train", "--device", ""), "Devices are", ""),
    Bad(("train", "--device", ESC), "\\x1b", "silent"),
    bad("train --seeds 0..99999999999", "100,000", ""),
    bad("train --seeds 5..3", "seed", ""),
    bad("train --seeds -1", "-1", ""),
    bad(f"train --seeds {'9' * 5_000}", "digits", "traceback"),
    bad(f"train --seeds 0..{'9' * 5_000}", "digits", "traceback"),
    bad("train --seeds 1.5", "1.5", ""),
    bad("train --seeds ²", "²", ""),
    bad("train --seeds ١", "Seeds look like", "silent"),
    Bad(("train", "--seeds", ""), "Seeds look like", ""),
    Bad(("train", "--seeds", "1\n2"), "Seeds look like", "words"),
    Bad(("train", "--out", ""), "out", "silent"),
    bad("train --steps 1 --out {d}/taken", "taken", ""),
    bad("train --steps 1 --out {d}/file", "file", ""),
    bad("train --steps 1 --out {d}/file/below", "file", "", 1),
    bad("train --steps 1 --out {d}/pipe", "pipe", ""),
    bad("train --steps 1 --out /dev/null", "/dev/null", ""),
    Bad(("train", "--steps", "1", "--batch", "2", "--net", "linear", "--out", f"{{d}}/{LONG}"), "too long", "traceback", 1),
    # Files of settings
    bad("train {d}/deep.toml", "deep", "traceback"),
    bad("train {d}/deeper.toml", "deep", "words"),
    bad("train {d}/date.toml", "objective.beta", "traceback"),
    bad("train {d}/time.toml", "steps", "traceback"),
    bad("train {d}/digits.toml", "digits", "traceback"),
    bad("train {d}/many_digits.toml", "digits", ""),
    bad("train {d}/key.toml", "characters", "words"),
    bad("train {d}/line.toml", "line break", "words"),
    bad("train {d}/escape.toml", "\\x1b", "silent"),
    bad("train {d}/nul.toml", "NUL", "words"),
    bad("train {d}/list_kind.toml", "kind has no choice", "traceback"),
    bad("train {d}/list_preset.toml", "no preset", "traceback"),
    bad("train {d}/no_toml.toml", "is not TOML", ""),
    bad("train {d}/two_steps.toml", "is not TOML", ""),
    bad("train {d}/empty_name.toml", "objective", ""),
    bad("train {d}/old.toml", "version", "words"),
    bad("train {d}/format.toml", "format 99", ""),
    bad("train {d}/bool_steps.toml", "steps", ""),
    bad("train {d}/float_steps.toml", "steps", ""),
    bad("train {d}/nan_beta.toml", "beta", ""),
    bad("train {d}/inf_lr.toml", "lr", ""),
    bad("train {d}/table_steps.toml", "steps", ""),
    bad("train {d}/unknown.toml", "stpes", ""),
    bad("train {d}/seeds_text.toml", "seeds", ""),
    bad("train {d}/seeds_float.toml", "seeds", ""),
    bad("train {d}/seeds_bool.toml", "seeds", ""),
    bad("train {d}/latin.toml", "is not TOML", ""),
    bad("train {d}/empty.npz/x.toml", "Could not read", ""),
    bad("train {d}/taken", "taken", ""),
    bad("train {d}/pipe.toml", "a pipe or a device", "hang"),
    bad("train /dev/zero", "a pipe or a device", "hang"),
    Bad(("train", f"{LONG}.toml"), "Could not read", "words"),
    Bad(("train", "a\nb.toml"), "Could not read", "words"),
    # Data of one's own
    *[
        Bad(("train", "--data", f"{{d}}/{name}"), expected, before)
        for name, expected, before in [
            ("empty.npz", "empty.npz", ""),
            ("text.npz", "text.npz", ""),
            ("locked.npz", "damaged", ""),
            ("empty.npy", "empty.npy", ""),
            ("plain.npy", "plain.npy", ""),
            ("cut.png", "cut.png", ""),
            ("pipe.npz", "a pipe or a device", "hang"),
            ("pipe.npy", "a pipe or a device", "hang"),
            ("nothing", "nothing", ""),
            ("taken", "taken", ""),
            ("images_words.npz", "images_words", ""),
            ("images_objects.npz", "images_objects", ""),
            ("images_flat.npz", "images_flat", ""),
            ("images_none.npz", "images_none", ""),
            ("images_complex.npz", "images_complex", ""),
            ("images_nan.npz", "images_nan", ""),
            ("none.npz", "none.npz", ""),
            ("none/", "none", ""),
        ]
    ],
    *[
        Bad(("train", "--data", "arrays", "--net", "linear", "--set", f"data.path={{d}}/{name}.npz"), expected, before)
        for name, expected, before in [
            ("empty", "empty", ""),
            ("locked", "damaged", ""),
            ("factors_short", "factors", ""),
            ("factors_words", "factors", ""),
            ("names_line", "line break", "traceback"),
            ("names_twice", "names", ""),
            ("names_long", "characters", ""),
            ("names_few", "names", ""),
            ("pipe", "a pipe or a device", "hang"),
            ("no_codes", "images", ""),
        ]
    ],
    bad("train --data dsprites_file --set data.path={d}/locked.npz", "locked", "traceback"),
    bad("data show {d}/locked.npz", "damaged", ""),
    bad("data show [/]", "[/]", "traceback"),
    bad("data show {d}/names_line.npz", "line break", "traceback"),
    bad("data show xysquares --set spacing=[]", "spacing", ""),
    bad("data show xysquares --set spacing=1979-05-27", "spacing", "traceback"),
    bad("data show xysquares --set spacing", "key=value", ""),
    bad("data get [/]", "[/]", "traceback"),
    bad("data remove [/]", "[/]", "traceback"),
    bad("data distances [/]", "[/]", "traceback"),
    bad("data distances nobody", "nobody", ""),
    # Codes to score
    *[
        Bad(("score", f"{{d}}/{name}.npz", "--metrics", "mig"), expected, before)
        for name, expected, before in [
            ("empty", "empty.npz", ""),
            ("text", "plain arrays", ""),
            ("locked", "encrypted", "traceback"),
            ("pipe", "a pipe or a device", "hang"),
            ("no_codes", "no array 'codes'", ""),
            ("no_factors", "factors", ""),
            ("objects", "plain arrays", ""),
            ("lengths", "64", ""),
            ("flat", "codes", ""),
            ("test_half", "codes_test", ""),
            ("models", "--model", ""),
            ("none", "none.npz", ""),
        ]
    ],
    bad("score {d}/taken", "taken", ""),
    bad("score {d}/empty.npy", "empty.npy", ""),
    # Runs
    bad("resume {d}/file", "file", ""),
    bad("resume {d}/pipe", "pipe", ""),
    bad("resume {d}/taken", "no run", ""),
    Bad(("resume", LONG), "too long", "traceback", 1),
    Bad(("resume", ESC), "\\x1b", "silent"),
    Bad(("resume", "[/]"), "[/]", "traceback"),
    bad("evaluate {d}/nothing", "no run", ""),
    bad("evaluate {run} --metrics mgi", "did you mean 'mig'", ""),
    bad("evaluate {run} --protocol nobody", "no protocol", ""),
    bad("evaluate {run} --metrics [/]", "[/]", "traceback"),
    bad("evaluate {run} --seed -1", "--seed", ""),
    bad("evaluate {run} --device cpu:7", "cpu", "silent"),
    bad("encode {run} --rows 0", "--rows", ""),
    bad("encode {run} --rows 99999999999", "--rows", ""),
    bad("encode {run} --out {d}/taken", "taken", ""),
    bad("encode {run} {d}/none.png", "none.png", ""),
    bad("encode {run} {d}/cut.png", "cut.png", ""),
    bad("show {run} --out {d}/file", "file", ""),
    bad("show {d}/taken", "no run", ""),
    bad("check {d}/taken", "taken", ""),
    bad("check {d}/none", "none", ""),
    bad("distances {run} --member 9", "9", ""),
    bad("distances {d}/taken", "no run", ""),
    # Tables of runs
    bad("report {d}/no_objective.csv", "column 'objective'", ""),
    bad("report {d}/twice.csv", "columns called 'mig'", "silent"),
    bad("report {d}/no_rows.csv", "no rows", ""),
    bad("report {d}/empty.csv", "no rows", ""),
    bad("report {d}/digits.csv", "digits", "traceback"),
    bad("report {d}/digits_seed.csv", "digits", "traceback"),
    bad("report {d}/long_field.csv", "field", "traceback"),
    bad("report {d}/longer_row.csv", "longer than its first line", ""),
    bad("report {d}/words.csv", "no scores", ""),
    bad("report {d}/no_scores.csv", "no scores", ""),
    bad("report {d}/all_diverged.csv", "no scores", ""),
    bad("report {d}/unnamed.csv", "without a name", "silent"),
    bad("report {d}/part_seed.csv", "whole number", "silent"),
    bad("report {d}/list_seed.csv", "whole number", "traceback"),
    bad("report {d}/published.csv", "2019", ""),
    bad("report {d}/latin.csv", "Cannot read the table", ""),
    bad("report {d}/pipe.csv", "a pipe or a device", "hang"),
    bad("report /dev/zero", "a pipe or a device", "hang"),
    bad("report {d}/none.csv", "no study and no table", ""),
    bad("report {d}/nothing", "neither a study", ""),
    bad("report {d}/words.csv --metrics [/]", "[/]", "traceback"),
    bad("report {d}/words.csv --metrics nobody", "nobody", ""),
    bad("report {d}/words.csv --out {d}/file", "file", ""),
    bad("report {d}/words.csv --device cpu:7", "cpu", "silent"),
    # Studies
    bad("study plan {d}/deep.toml", "deep", "traceback"),
    bad("study plan {d}/chain.toml", "chain", "traceback"),
    bad("study plan {d}/square.toml", "digits", "hang"),
    bad("study plan {d}/loop.toml", "depends on itself", ""),
    bad("study plan {d}/formula_call.toml", "abs", ""),
    bad("study plan {d}/formula_power.toml", "formula", ""),
    bad("study plan {d}/formula_zero.toml", "no value", ""),
    bad("study plan {d}/formula_text.toml", "number", ""),
    bad("study plan {d}/formula_long.toml", "characters", ""),
    bad("study plan {d}/study_version.toml", "'1'", "words"),
    bad("study plan {d}/study_list_protocol.toml", "protocol", "traceback"),
    bad("study plan {d}/study_name.toml", "characters", "traceback"),
    bad("study plan {d}/study_name_line.toml", "line break", "words"),
    bad("study plan {d}/study_name_number.toml", "name", ""),
    bad("study plan {d}/study_metrics.toml", "metrics", ""),
    bad("study plan {d}/study_metric.toml", "did you mean 'mig'", ""),
    bad("study plan {d}/study_grid.toml", "[[grid]]", ""),
    bad("study plan {d}/study_empty_axis.toml", "empty list", ""),
    bad("study plan {d}/study_empty_grid.toml", "empty", ""),
    bad("study plan {d}/study_zip.toml", "zip", ""),
    bad("study plan {d}/study_zip_missing.toml", "batch", ""),
    bad("study plan {d}/study_zip_lengths.toml", "one length", ""),
    bad("study plan {d}/study_seeds.toml", "seeds", ""),
    bad("study plan {d}/study_members.toml", "members", ""),
    bad("study plan {d}/study_million.toml", "2,000,000 runs", ""),
    bad("study plan {d}/study_train_seeds.toml", "top", ""),
    bad("study plan {d}/study_train_list.toml", "[train]", ""),
    bad("study plan {d}/study_baseline.toml", "baseline", ""),
    bad("study plan {d}/study_quick.toml --quick", "[quick]", ""),
    bad("study plan {d}/study_date.toml", "beta", "traceback"),
    bad("study plan {d}/pipe.toml", "a pipe or a device", "hang"),
    bad("study plan nobody", "nobody", ""),
    bad("study plan [/]", "[/]", "traceback"),
    bad("study plan --grid objective.beta=1979-05-27", "got 1979", "traceback"),
    bad("study plan --grid objective.beta=[[[[1]]]]", "beta", ""),
    Bad(("study", "plan", "--grid", f"objective.beta={'[' * 5_000}"), "deep", "traceback"),
    Bad(("study", "plan", "--grid", f"objective.beta={'9' * 400}"), "digits", "traceback"),
    Bad(("study", "plan", "--grid", "steps=4\nbatch=2"), "one value", "silent"),
    bad("study plan --grid objective.beta", "axis", ""),
    bad("study plan --grid objective.beta=", "axis", ""),
    bad("study plan --grid =1", "axis", ""),
    bad("study plan --grid objective.beta=1 --grid objective.beta=2", "twice", ""),
    bad("study plan --grid seeds=1,2", "seeds", ""),
    bad("study plan --grid steps=1 --seeds 0..9999999", "100,000", ""),
    bad("study plan --grid steps=1 --protocol [/]", "[/]", "traceback"),
    bad("study plan --grid steps=1 --metrics nobody", "nobody", ""),
    bad("study run {d}/study_name.toml", "characters", "traceback"),
    bad("study run {d}/taken", "taken", ""),
    bad("study status {d}/nothing", "nothing", ""),
    bad("study table {d}/nothing", "nothing", ""),
    bad("study extract {d}/nothing 0a1b --out {d}/x", "nothing", ""),
    bad("study export {d}/nothing", "", ""),
    # Other verbs
    bad("gallery [/]", "[/]", "traceback"),
    bad("gallery --steps 0", "steps", ""),
    bad("list", "", "", 2),
    bad("list [/]", "[/]", ""),
    bad("learn-loss --data [/]", "[/]", "traceback"),
    bad("learn-loss --radius -1", "radius", ""),
    bad("learn-loss --data nobody", "nobody", ""),
    Bad(("nobody",), "nobody", ""),
    Bad(("[/]",), "[/]", ""),
    Bad((ESC,), "No such command", "silent"),
    Bad(("train", ESC + ".toml"), "\\x1b", "silent"),
]  # fmt: skip
"""Commands."""
CALLS = [
    # A wrong type, or a value that nothing takes, of what trains
    Call("unknot.train(steps='five')", "steps", ""),
    Call("unknot.train(steps=None)", "steps", ""),
    Call("unknot.train(steps=2.5)", "steps", ""),
    Call("unknot.train(steps=2**70)", "steps must be below", "words"),
    Call("unknot.train(batch=2**62)", "batch", "traceback"),
    Call("unknot.train(batch='x')", "batch", ""),
    Call("unknot.train(objective=3)", "objective", "traceback"),
    Call("unknot.train(objective=None)", "objective", "traceback"),
    Call("unknot.train(objective=['vae'])", "objective", "traceback"),
    Call("unknot.train(net=3)", "net", "traceback"),
    Call("unknot.train(net=['conv64'])", "net", "traceback"),
    Call("unknot.train(device=0)", "device", "traceback"),
    Call("unknot.train(device='cpu:7')", "cpu", "silent"),
    Call("unknot.train(device=torch.device('cpu'))", "device", "traceback"),
    Call("unknot.train(out=3)", "out", "traceback"),
    Call("unknot.train(out='')", "out", "silent"),
    Call("unknot.train(data_settings=3)", "data_settings", "traceback"),
    Call("unknot.train(data_settings=[1])", "data_settings", "traceback"),
    Call("unknot.train(data_settings={'name': 'xysquares'})", "data_settings", "silent"),
    Call("unknot.train(net_settings={'name': 'linear'})", "net_settings", "silent"),
    Call("unknot.train(net_settings='x')", "net_settings", "traceback"),
    Call("unknot.train(net_settings={3: 4})", "key", "traceback"),
    Call("unknot.train(objective_settings=4)", "objective_settings", "traceback"),
    Call("unknot.train(objective_settings={'name': 'vae'})", "name", "silent"),
    Call("unknot.train(sampler=3)", "sampler", "traceback"),
    Call("unknot.train(split=3)", "split", "traceback"),
    Call("unknot.train(split=[('kind', 'rows')])", "split", "silent"),
    Call("unknot.train(stop=3)", "stop", "traceback"),
    Call("unknot.train(watch=3)", "watch", "traceback"),
    Call("unknot.train(callback='x')", "callback", "traceback"),
    Call("unknot.train(precision=32)", "precision", ""),
    Call("unknot.train(precision='half')", "precision", ""),
    Call("unknot.train(lr='fast')", "lr", ""),
    Call("unknot.train(lr=float('nan'))", "lr", ""),
    Call("unknot.train(lr=-1.0)", "lr", ""),
    Call("unknot.train(lr=True)", "lr", ""),
    Call("unknot.train(optimizer=3)", "optimizer", ""),
    Call("unknot.train(optimizer='adamm')", "adamm", ""),
    Call("unknot.train(ema=2)", "ema", ""),
    Call("unknot.train(ema='x')", "ema", ""),
    Call("unknot.train(order_seed='x')", "order_seed", ""),
    Call("unknot.train(order_seed=-1)", "0 to 2**63", ""),
    Call("unknot.train(seeds=range(10**9))", "100,000", "hang"),
    Call("unknot.train(seeds='0..3')", "seeds", "traceback"),
    Call("unknot.train(seeds=0.5)", "seeds", "traceback"),
    Call("unknot.train(seeds=[0.5])", "seeds", "traceback"),
    Call("unknot.train(seeds=None)", "seeds", "traceback"),
    Call("unknot.train(seeds=True)", "seeds", "silent"),
    Call("unknot.train(seeds=[0, 0])", "twice", ""),
    Call("unknot.train(seeds=[])", "at least one", ""),
    Call("unknot.train(seeds=[-1])", "0 to 2**63", ""),
    Call("unknot.train(seeds=np.array([0.5]))", "seeds", "traceback"),
    Call("unknot.train(seeds={'a': 1})", "seeds", "traceback"),
    Call("unknot.train(log_every=0)", "log_every", ""),
    Call("unknot.train(beta='four')", "beta", ""),
    Call("unknot.train(beta=np.array([1.0]))", "beta", "traceback"),
    Call("unknot.train(beta=float('inf'))", "beta", ""),
    Call("unknot.train(beta={'kind': ['linear']})", "kind", "traceback"),
    Call("unknot.train(beta={'kind': 'linear', 'start': 0})", "end", ""),
    Call("unknot.train(gamma=3)", "gamma", ""),
    Call("unknot.train(preset=[])", "preset", "traceback"),
    Call("unknot.train(preset='none')", "preset", ""),
    Call("unknot.train(score_at=[0])", "score_at", ""),
    Call("unknot.train(score_at=3)", "score_at", "traceback"),
    Call("unknot.train(keep=3)", "keep", ""),
    # Data
    Call("unknot.train(3)", "", "traceback"),
    Call("unknot.train(None)", "", "traceback"),
    Call("unknot.dataset(None)", "", "traceback"),
    Call("unknot.dataset(3)", "", "traceback"),
    Call("unknot.dataset('nobody')", "nobody", ""),
    Call("unknot.dataset('a\\0b')", "", "traceback"),
    Call("unknot.dataset('n' * 300)", "too long", "traceback"),
    Call("unknot.dataset([])", "", "traceback"),
    Call("unknot.dataset([1, 'a'])", "", "traceback"),
    Call("unknot.dataset(np.zeros(3))", "", ""),
    Call("unknot.dataset(np.zeros((0, 8, 8)))", "", ""),
    Call("unknot.dataset(np.zeros((4, 8, 8), complex))", "", ""),
    Call("unknot.dataset(np.full((4, 8, 8), np.nan))", "", ""),
    Call("unknot.dataset(np.zeros((4, 8, 8), object))", "", ""),
    Call("unknot.dataset(np.ma.masked_all((4, 8, 8)))", "mask", "silent"),
    Call("unknot.dataset(torch.zeros(4, 8, 8, dtype=torch.complex64))", "", "silent"),
    Call("unknot.dataset('xysquares', spacing=8).batch(torch.tensor([10**9]))", "rows", "silent"),
    Call("unknot.dataset('xysquares', spacing=8).batch(torch.tensor([-1]))", "rows", "silent"),
    Call("unknot.dataset('xysquares', spacing=[])", "spacing", ""),
    Call("unknot.dataset('xysquares', nothing=3)", "nothing", ""),
    # Runs
    Call("unknot.load(3)", "path", "traceback"),
    Call("unknot.load(None)", "path", "traceback"),
    Call("unknot.load('')", "run", ""),
    Call("unknot.load('nowhere')", "no run", ""),
    Call("unknot.load(run, device=3)", "device", "traceback"),
    Call("unknot.load(run, device='gpu')", "Devices are", ""),
    Call("unknot.load(run, step='x')", "", ""),
    Call("unknot.load(run, step=10**9)", "", ""),
    Call("unknot.load(run).encode(np.zeros((2, 3)))", "", ""),
    Call("unknot.load(run).encode(np.zeros((2, 1, 8, 8), complex))", "", "traceback"),
    Call("unknot.load(run).encode(np.full((2, 1, 8, 8), 255.0))", "[0, 1]", "silent"),
    Call("unknot.load(run).encode(np.full((2, 1, 8, 8), np.nan))", "", "silent"),
    Call("unknot.load(run).encode('picture.png')", "", "traceback"),
    Call("unknot.load(run).encode(None)", "", "traceback"),
    Call("unknot.load(run).decode(np.zeros((2, 99)))", "", "traceback"),
    Call("unknot.load(run).decode('x')", "", "traceback"),
    Call("unknot.load(run).score('mgi')", "mig", ""),
    Call("unknot.load(run).score(3)", "", "traceback"),
    Call("unknot.load(run).score('mig', protocol=['a'])", "protocol", "traceback"),
    Call("unknot.load(run).member(9)", "9", ""),
    # Metrics
    Call("unknot.metrics.mig(codes * 1j, factors)", "real", "silent"),
    Call("unknot.metrics.mig(torch.tensor(codes) * 1j, factors)", "real", "silent"),
    Call("unknot.metrics.mig(np.ma.array(codes, mask=codes > 1), factors)", "mask", "silent"),
    Call("unknot.metrics.mig(codes[:0], factors[:0])", "", ""),
    Call("unknot.metrics.mig(codes, factors[:9])", "9", ""),
    Call("unknot.metrics.mig(codes[:, 0], factors)", "codes", ""),
    Call("unknot.metrics.mig(codes * np.nan, factors)", "NaN", ""),
    Call("unknot.metrics.mig(codes * np.inf, factors)", "infinite", ""),
    Call("unknot.metrics.mig(None, factors)", "", "traceback"),
    Call("unknot.metrics.mig('codes', factors)", "", "traceback"),
    Call("unknot.metrics.mig(codes, 'factors')", "", "traceback"),
    Call("unknot.metrics.mig(codes, None)", "factors", ""),
    Call("unknot.metrics.mig(codes, factors, protocol=['a'])", "protocol", "traceback"),
    Call("unknot.metrics.mig(codes, factors, protocol='nobody')", "protocol", ""),
    Call("unknot.metrics.sap(codes, factors.astype(complex))", "real", ""),
    # Studies and tables of runs
    Call("unknot.Study.open('nowhere')", "nowhere", ""),
    Call("unknot.Study.open(3)", "", "traceback"),
    Call(
        "unknot.analysis.Results({'objective': ['vae'], 'mig': ['x']}, ['mig']).summaries()", "", ""
    ),
    Call("unknot.analysis.Results({'mig': [1.0]}, ['mig']).summaries()", "", "traceback"),
    Call("unknot.analysis.Results([], ['mig'])", "no rows", ""),
    Call("unknot.analysis.Results(3, ['mig'])", "", "traceback"),
    Call(
        "unknot.analysis.Results({'objective': ['vae'], 'mig': [1.0, 2.0]}, ['mig'])", "equal", ""
    ),
]
"""Calls."""
