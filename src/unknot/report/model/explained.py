"""Which latent follows which factor, as a table."""

from typing import TYPE_CHECKING

import numpy as np

from unknot.report.model import columns, latents
from unknot.runs.run import Run

if TYPE_CHECKING:
    from pandas import DataFrame


def explained_table(run: Run, member: int) -> "DataFrame":
    """The share of each latent's variance that each factor explains, the most informative first."""
    import pandas as pd

    latents.check_member(run, member)
    all_measured, space = latents.measure_latents(run), run.dataset.space
    measured = all_measured[member]
    names, moves = space.names, {}
    if run.dataset.noun == "rows":
        moves["moves"] = columns.measure_columns(run, all_measured, member).texts()
    shares = measured.explained[measured.order]
    most = np.nan_to_num(shares, nan=-1).argmax(1)
    silent = np.isnan(shares).all(1) | measured.draws_nothing
    best = ["" if no else names[f] for f, no in zip(most, silent, strict=True)]
    return pd.DataFrame(
        {
            "kl": measured.kl[measured.order],
            "active": measured.used[measured.order],
            "factor": best,
            **({} if space.stands_in else dict(zip(names, shares.T, strict=True))),
            **{name: [texts[z] for z in measured.order] for name, texts in moves.items()},
        },
        index=[f"z{z}" for z in measured.order],
    )
