"""Reference representations: what is known about a code before any score is computed.

The factors are a full grid, five times over, so in counts they are exactly independent. The last
two factors have equal sizes and are the ones a rotation mixes.
"""

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SIZES = (3, 4, 6, 6)
COPIES = 5
N = COPIES * 3 * 4 * 6 * 6

Arrays = tuple[NDArray[np.float64], NDArray[np.int64]]


def factors() -> NDArray[np.int64]:
    """All points of the grid, each several times."""
    return np.array(list(itertools.product(*map(range, SIZES))) * COPIES)


def standardized(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Factor values with mean 0 and variance 1."""
    sizes = np.array(SIZES[: values.shape[1]])
    return (values - (sizes - 1) / 2) / np.sqrt((sizes**2 - 1) / 12)


def _noise(columns: int, key: int) -> NDArray[np.float64]:
    return np.random.default_rng([2026, key]).normal(size=(N, columns))


def perfect() -> NDArray[np.float64]:
    """One code per factor."""
    return standardized(factors())


def permuted() -> NDArray[np.float64]:
    """In another order."""
    return perfect()[:, [2, 0, 3, 1]]


def rescaled() -> NDArray[np.float64]:
    """Each in its own unit."""
    return perfect() * [0.5, 2.0, 3.0, 0.2] + [0.0, 5.0, -1.0, 0.3]


def flipped() -> NDArray[np.float64]:
    """Half of them with the other sign."""
    return perfect() * [-1.0, 1.0, -1.0, 1.0]


def dead_first() -> NDArray[np.float64]:
    """A code of hardly any variance before the others."""
    return np.hstack([0.01 * _noise(1, 1), perfect()])


def dead_last() -> NDArray[np.float64]:
    """The same behind the others."""
    return np.hstack([perfect(), 0.01 * _noise(1, 1)])


def constant() -> NDArray[np.float64]:
    """A code that never varies before the others."""
    return np.hstack([np.full((N, 1), 0.7), perfect()])


def duplicated() -> NDArray[np.float64]:
    """Every code twice."""
    return np.hstack([perfect(), perfect()])


def rotated() -> NDArray[np.float64]:
    """The last two codes turned by 45 degrees."""
    codes = perfect()
    a, b = codes[:, 2].copy(), codes[:, 3].copy()
    codes[:, 2], codes[:, 3] = (a + b) / np.sqrt(2), (a - b) / np.sqrt(2)
    return codes


def missing() -> NDArray[np.float64]:
    """Nothing tells about the last factor."""
    return perfect()[:, :3]


def noise() -> NDArray[np.float64]:
    """Codes that tell nothing."""
    return _noise(4, 2)


def outlier() -> NDArray[np.float64]:
    """One row in a thousand of each code is 20 standard deviations away."""
    codes = perfect()
    for j in range(codes.shape[1]):
        codes[j * 7 :: 1000, j] = 20.0
    return codes


ALL: dict[str, Callable[[], NDArray[np.float64]]] = {
    f.__name__: f
    for f in (
        perfect,
        permuted,
        rescaled,
        flipped,
        dead_first,
        dead_last,
        constant,
        duplicated,
        rotated,
        missing,
        noise,
        outlier,
    )
}


def get(name: str) -> Arrays:
    """Codes and factors of a reference representation."""
    return ALL[name](), factors()
