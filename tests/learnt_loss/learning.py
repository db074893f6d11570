"""A short learning with checkpoints, for processes that are killed."""

from unknot.data.xysquares import XYSquares
from unknot.learnt_loss import learn

SHORT = learn.LossSettings(radius=5, steps=30, batch=8, pairs=40, lr=1e-2)


def learn_short(folder, told=None):
    """Learn with a checkpoint every 8 steps; ``told`` gets the steps that were reported."""
    learn.SAVE_EVERY, before = 8, learn.SAVE_EVERY
    steps = [] if told is None else told
    try:
        return learn.learn_loss(
            XYSquares(),
            SHORT,
            device="cpu",
            watch=lambda step, _: steps.append(step),
            checkpoints=folder,
        )
    finally:
        learn.SAVE_EVERY = before
