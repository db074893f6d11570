from collections.abc import Callable

import pytest
import torch

from unknot.core.architecture import Architecture, Shape


@pytest.fixture
def sizes() -> Callable[[Architecture, Shape], tuple[int, int]]:
    """Numbers of parameters of encoder and decoder."""

    def count(arch, image):
        with torch.device("meta"):
            parts = arch.encoder(image), arch.decoder(image)
        encoder, decoder = (sum(p.numel() for p in part.parameters()) for part in parts)
        return encoder, decoder

    return count
