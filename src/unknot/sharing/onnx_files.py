"""ONNX: encoder and decoder for other runtimes; needs the extra ``onnx``."""

import importlib
import importlib.util
import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unknot.core.errors import ConfigError

NAMES = {"encoder": ("x", ["mean", "logvar"]), "decoder": ("codes", ["y"])}
"""Inputs and outputs of the two files."""
MISSING = "ONNX files need more packages: pip install 'unknot[onnx]'."


class _Part(nn.Module):
    """The encoding or decoding of a model as a module of its own."""

    def __init__(self, net: Any, part: str) -> None:
        super().__init__()
        self.net, self.part = net, part

    def forward(self, x: Tensor) -> Any:
        return self.net.encode(x) if self.part == "encoder" else self.net.decode(x)


def is_available() -> bool:
    """Whether the packages that write ONNX are installed."""
    return all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript"))


def write_onnx(net: nn.Module, folder: Path, images: Tensor, codes: Tensor) -> list[Path]:
    """Write ``encoder.onnx`` and ``decoder.onnx``, which take any number of images or codes.

    Args:
        net: An exported model.
        folder: Where to.
        images: Some images.
        codes: Some codes.

    Raises:
        ConfigError: The packages are missing.
    """
    if not is_available():
        raise ConfigError(MISSING)
    files = []
    for part, example in (("encoder", images), ("decoder", codes)):
        (name, outputs), path = NAMES[part], folder / f"{part}.onnx"
        with _quiet():
            program: Any = torch.onnx.export(
                _Part(net, part).eval(),
                (example,),
                input_names=[name],
                output_names=outputs,
                dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
                dynamo=True,
                verbose=False,
            )
        for node in program.model.graph.all_nodes():
            node.metadata_props.clear()  # lines of our code, with folders of this machine
        program.save(path, external_data=False)
        files.append(path)
    return files


def run_onnx(folder: Path, images: Tensor, codes: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """Means, log-variances and images of the two files; None without onnxruntime."""
    if not importlib.util.find_spec("onnxruntime"):
        return None
    runtime = importlib.import_module("onnxruntime")
    results: list[np.ndarray] = []
    for part, x in (("encoder", images), ("decoder", codes)):
        session = runtime.InferenceSession(
            folder / f"{part}.onnx", providers=["CPUExecutionProvider"]
        )
        results += session.run(None, {NAMES[part][0]: x.numpy()})
    mean, logvar, decoded = map(torch.from_numpy, results)
    return mean, logvar, decoded


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's notes; what goes wrong is an exception."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
