"""Annotated shapes are checked while tests run."""

import jaxtyping
import pytest
import torch

from unknot.core.posterior import Posterior


@pytest.mark.skipif(torch.cuda.is_available(), reason="beside a GPU they are not")
def test_shapes_that_do_not_fit_are_noticed():
    Posterior(torch.zeros(2, 3), torch.zeros(2, 3))
    with pytest.raises(jaxtyping.TypeCheckError, match="Posterior"):
        Posterior(torch.zeros(2, 3), torch.zeros(2, 4))
