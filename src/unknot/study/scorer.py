"""A scorer: a process that scores models of another one, which it asks for their codes.

It lives as long as its standard input is open, so that none outlives whoever started it. Messages
are JSON lines; one that names a number of ``bytes`` is followed by them.
"""

import json
import os
import queue
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from typing import IO, Any, TypeAlias

Message: TypeAlias = tuple[dict[str, Any], bytearray]


def write(stream: IO[bytes], fact: Mapping[str, Any], data: bytes = b"") -> None:
    """Send a message."""
    stream.write(json.dumps({**fact, "bytes": len(data)}).encode() + b"\n")
    stream.write(data)
    stream.flush()


def read(stream: IO[bytes]) -> Message | None:
    """Receive a message; None at the end, even in the middle of one."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    fact = json.loads(line)
    data = bytearray(fact.pop("bytes"))
    return (fact, data) if stream.readinto(data) == len(data) else None  # type: ignore[attr-defined]


def main() -> None:
    """Score one model after the other until the input ends."""
    # What libraries print must not get between our messages.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    heard: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(heard,), daemon=True).start()
    import torch

    torch.set_num_threads(1)
    while True:
        job, _ = heard.get()
        try:
            _score(job, heard, out)
            write(out, {"event": "end"})
        except BrokenPipeError:
            os._exit(1)  # nobody is there to hear it
        except Exception as error:
            write(out, {"event": "failed", "kind": type(error).__name__, "error": str(error)})


def _listen(heard: "queue.SimpleQueue[Message]") -> None:
    while message := read(sys.stdin.buffer):
        heard.put(message)
    os._exit(0)  # at once, whatever is being computed: nobody waits for it


def _score(job: Mapping[str, Any], heard: "queue.SimpleQueue[Message]", out: IO[bytes]) -> None:
    import torch
    from torch import Tensor

    from unknot.core.factors import FactorSpace
    from unknot.metrics.parts.result import Score
    from unknot.study.evaluate import Model, ScoringRequest, compute

    def encode(index: Tensor) -> Tensor:
        write(out, {"event": "rows"}, index.numpy().tobytes())
        _, data = heard.get()
        return torch.frombuffer(data, dtype=torch.float32).view(len(index), -1)

    def decoded(metric: str) -> Score:
        raise NotImplementedError(f"{metric} decodes, which is done where the model is")

    space = FactorSpace(*(tuple(part) for part in job["space"]))
    model = Model(job["id"], job["seed"], space, job["latents"], encode, decoded)
    for record in compute(model, ScoringRequest(**job["wanted"])):
        write(out, {"event": "score", "record": asdict(record)})


if __name__ == "__main__":
    main()
