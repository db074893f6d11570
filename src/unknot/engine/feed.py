"""Batches of images that stay in the host's memory, brought to a GPU while it computes."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from unknot.engine.context import Rows


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
    index: Tensor
    """The rows of the next step, on its device."""
    batch: Tensor
    """Their images."""
    begun: deque[torch.cuda.Event] = field(default_factory=deque)
    """One for each load whose batch may not be used up yet."""

    @classmethod
    def of_rows(
        cls,
        rows: Rows,
        images: Callable[[Tensor], Tensor],
        order: Tensor,
        device: torch.device,
    ) -> "Feed":
        """A feed with the batch of the first step."""
        first = rows(order, torch.tensor(0))
        return cls(rows, images, order, first.to(device, copy=True), images(first).clone())

    def load(self, t: int) -> None:
        """Bring the batch of a step; the step before it may still be running."""
        if self.batch.is_cuda:
            # At most one step ahead of the GPU, or pinned memory would pile up.
            self.begun.append(torch.cuda.current_stream().record_event())
            if len(self.begun) > 1:
                self.begun.popleft().synchronize()
        index = self.rows(self.order, torch.tensor(t))
        self.index.copy_(index)
        self.batch.copy_(self.images(index))
