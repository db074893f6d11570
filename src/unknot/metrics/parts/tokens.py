"""Codes of vector tokens: the first principal components of each token, side by side."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.core.border import check_whole
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.registry import nearest
from unknot.core.text import shown
from unknot.metrics.parts.given import as_codes

PROTOCOLS = {"vct2022": 1, "fdae2024": 3}
"""Components of each token in the tables of papers: of VCT and DisDiff, and of FDAE."""
FEWEST = 2


def tokens(
    codes: Any, test: Any = None, *, components: int | str = "vct2022"
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Codes ``[n, tokens * components]`` of vector tokens ``[n, tokens, d]``, for any metric.

    Models whose code of an image is a set of vectors are scored in the papers by the first
    principal components of each: of token t, $(x_t - \bar x_t) W_t$ with the directions $W_t$ of
    largest variance over the rows. A component's sign is such that its largest weight is positive.
    With the settings of the 2019 study and one component (three) this is the table of VCT and
    DisDiff (of FDAE): ``metrics.dci(metrics.tokens(z), factors, protocol="study2019")``.

    Paper: Yang et al. 2022, "Visual concepts tokenization"; Wu and Zheng 2024, "Factorized
    diffusion autoencoder for unsupervised disentangled representation learning".
    Differs: which rows those programs fit the components to could not be checked. Here they are the
    rows that are given, and test rows are projected onto the same.

    Args:
        codes: Vectors ``[n, tokens, d]``.
        test: Those of test rows; then both are returned.
        components: Of each token, at most d; or ``vct2022`` (one) or ``fdae2024`` (three).

    Raises:
        ConfigError: There is no such protocol.
        ShapeError: The arrays have other axes, or a token has fewer dimensions.
        DataError: Values are not finite, or there are fewer than two rows.

    Example:
        >>> import numpy as np
        >>> z = np.zeros((4, 2, 3)); z[:, 0, 1] = [0, 1, 2, 3]; z[:, 1, 2] = [4, 0, 4, 0]
        >>> tokens(z).tolist()
        [[-1.5, 2.0], [-0.5, -2.0], [0.5, 2.0], [1.5, -2.0]]
    """
    components = _count(components)
    x = _vectors("tokens", codes, components)
    others = None if test is None else _vectors("tokens of test rows", test, components)
    if others is not None and others.shape[1:] != x.shape[1:]:
        raise ShapeError(
            f"Expected test tokens [rows, {x.shape[1]}, {x.shape[2]}]; got {others.shape}."
        )
    if len(x) < FEWEST:
        raise DataError(f"Principal components need two rows or more; got {len(x)}.")
    middle = x.mean(0)
    columns: list[NDArray[np.float64]] = []
    columns_test: list[NDArray[np.float64]] = []
    for t in range(x.shape[1]):
        away = x[:, t] - middle[t]
        _, directions = np.linalg.eigh(away.T @ away)
        w = directions[:, ::-1][:, :components]
        w = w * np.sign(w[np.abs(w).argmax(0), np.arange(components)])
        columns.append(away @ w)
        if others is not None:
            columns_test.append((others[:, t] - middle[t]) @ w)
    result = np.concatenate(columns, axis=1)
    return result if others is None else (result, np.concatenate(columns_test, axis=1))


def _count(components: int | str) -> int:
    """Components by number, or by the name of a protocol."""
    if isinstance(components, str) and not components.isdecimal():
        if components not in PROTOCOLS:
            raise ConfigError(
                f"components are a number or a protocol; there is no '{shown(components)}'"
                f"{nearest(components, [*PROTOCOLS])}"
            )
        return PROTOCOLS[components]
    return check_whole("components", int(components), 1)


def _vectors(what: str, codes: Any, components: int) -> NDArray[np.float64]:
    array = as_codes(codes)
    array = np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)
    if array.ndim != 3 or 0 in array.shape:
        raise ShapeError(f"Expected {what} [rows, tokens, dimensions]; got shape {array.shape}.")
    if array.shape[2] < components:
        raise ShapeError(
            f"Of {what} with {array.shape[2]} dimensions {components} components cannot be taken."
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise DataError(f"Some {what} are NaN or infinite; remove these rows.")
    return array
