"""Files as we write them, to be damaged."""

import io
import json
import sqlite3
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save

from unknot.core.checksums import bytes_sum
from unknot.engine import checkpoint
from unknot.runs import records, status
from unknot.studies import opening
from unknot.studies.archive import members
from unknot.studies.database import FILE

MEMBER = {"id": "0123456789ab", "status": "done", "diverged_at": None, "last": {"loss": 0.5}}
SCORE = records.Record("0123456789ab", 0, "mig", {"name": "unknot"}, {"mig": 0.5}, 1.0, [], "1.0")


def pack(**arrays):
    """An npz file."""
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


def read_back(write, name):
    """The bytes of a file that a function writes into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return (Path(folder) / name).read_bytes()


def write_store(folder):
    """The records of a study of one run, which is done."""
    records_of_it = opening.create(folder)
    run = {"id": MEMBER["id"], "configuration": 0, "seed": 0}
    facts = {"name": "s", "metrics": '["mig"]', "protocol": "unknot", "score_seed": "0"}
    records_of_it.save_plan(
        configurations=[{"steps": 1}],
        populations=[{"key": "ba9876543210", "steps": 1, "runs": [run]}],
        run_ids=[MEMBER["id"]],
        rescore=False,
        facts={**facts, "threads": "1", "text": "seeds = 1", "unknot": "1.0"},
    )
    outcome = {"members": [MEMBER], "scores": [SCORE.table()], "seconds": 1.0, "step": 1}
    records_of_it.finish("ba9876543210", {**outcome, "device": "cpu", "versions": {}})
    records_of_it.close()


def pack_archive(files, /, **changes):
    """An archive of a run with these files, and with other facts in its manifest."""
    data = io.BytesIO()
    sums = {name: {"sha256": bytes_sum(b), "bytes": len(b)} for name, b in files.items()}
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
        file.writestr(members.MANIFEST, json.dumps({**FACTS, "files": sums, **changes}))
    return data.getvalue()


FACTS = {
    "format": members.FORMAT,
    "unknot": "1.0",
    "kind": "run",
    "name": "r",
    "weights": "none",
}


def table_names(database):
    """Names of its tables and their columns."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        file.write_bytes(database)
        db = sqlite3.connect(file)
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        cells = [(t, row[1]) for t in tables for row in db.execute(f"PRAGMA table_info({t})")]
        db.close()
    return cells


TWO_STAGES = """
seeds = [0, 1]
[train]
data = {name = "xysquares", spacing = 8}
net = "linear"
steps = 3
[[grid]]
objective.name = "l_vae"
[[grid]]
objective.name = "beta_vae"
objective.beta = "= result('l_vae').beta_hat"
"""
CODES = pack(codes=np.eye(4), factors=np.arange(8).reshape(4, 2))
IMAGES = pack(
    images=np.zeros((4, 8, 8), np.uint8),
    factors=np.array([[0, 0], [0, 1], [1, 0], [1, 1]]),
    names=np.array(["x", "y"]),
)
TENSORS = save({"kernel": torch.eye(3)})
STATUS = read_back(lambda f: status.write(f, {"members": [MEMBER], "files": {}}), status.FILE)
SCORES = read_back(lambda f: records.append(f, [SCORE]), records.FILE)
STORE = read_back(write_store, FILE)
CELLS = table_names(STORE)
ARCHIVED = {"run.toml": b"steps = 1\n", status.FILE: STATUS, records.FILE: SCORES}
ARCHIVE = pack_archive(ARCHIVED)
STATE = json.dumps({"format": checkpoint.FORMAT, "step": 3, "sha256": "0"}).encode()
