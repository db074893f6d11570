"""Batches of images that stay in the host's memory, brought to a GPU while it computes."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from unknot.engine.context import Rows
from unknot.engine.labels import Labels


@dataclass(eq=False)
class Feed:
    """Where a captured step takes its batch from, and what puts the next one there.

    A CUDA graph reads the same memory each time and holds nothing that runs on the host. Rows are
    drawn and images gathered outside of it, while the GPU still computes the step before.
    """

    rows: Rows
    images: Callable[[Tensor], Tensor]
    """Rows to images on the device of the step."""
    order: Tensor
    batch: Tensor
    """The images of the next step."""
    labels: Labels
    """Rows to what the objective is told of them; to None where it is told nothing."""
    told: Tensor | None
    """That of the next step."""
    begun: deque[torch.cuda.Event] = field(default_factory=deque)
    """One for each load whose batch may not be used up yet."""

    @classmethod
    def of_rows(
        cls, rows: Rows, images: Callable[[Tensor], Tensor], labels: Labels, order: Tensor
    ) -> "Feed":
        """A feed with the batch of the first step."""
        first = rows(order, torch.tensor(0))
        told = labels(first)
        told = None if told is None else told.clone()
        return cls(rows, images, order, images(first).clone(), labels, told)

    def load(self, t: int) -> None:
        """Bring the batch of a step; the step before it may still be running."""
        if self.batch.is_cuda:
            # At most one step ahead of the GPU, or pinned memory would pile up.
            self.begun.append(torch.cuda.current_stream().record_event())
            if len(self.begun) > 1:
                self.begun.popleft().synchronize()
        index = self.rows(self.order, torch.tensor(t))
        self.batch.copy_(self.images(index))
        factors = self.labels(index)
        if self.told is not None and factors is not None:
            self.told.copy_(factors)
