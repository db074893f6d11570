"""Baselines: codes that nobody trained, scored as those of a model are."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from unknot.core import noise, registry
from unknot.core.architecture import Architecture, Premade
from unknot.core.border import check_names, check_type, check_whole
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError
from unknot.core.factor_table import as_table
from unknot.engine.memory import hold_freed_memory
from unknot.metrics import facts
from unknot.metrics.parts.comparison import Comparison
from unknot.metrics.parts.evaluation import Table, code_metrics, score_codes
from unknot.metrics.parts.inputs import Inputs
from unknot.metrics.parts.score import Score
from unknot.nets.parts.weights import initialize
from unknot.runs.config import net_for
from unknot.runs.own_data import as_dataset

Name: TypeAlias = Literal["factors", "pca", "ica", "pixels", "untrained"]
QUICK = ("beta_vae", "factor_vae", "mig", "sap")
"""Metrics unless others are asked for."""
ROWS = 20_000
"""Rows that are scored, at most; they fill no grid, and are scored as anyone's arrays are."""
FITTED = 5_000
"""Images that principal and independent components are fitted to, at most."""
AT_ONCE = 256
"""Images encoded at a time."""
RAW, SIDE = 1_024, 8
"""Images of more pixels than the first are averaged to at most this many rows and columns."""


def baselines(
    data: Any = "dsprites",
    *,
    latents: int = 10,
    net: str | Architecture | None = None,
    names: Sequence[str] = get_args(Name),
    metrics: Sequence[str] = QUICK,
    protocol: str = "unknot",
    seed: int = 0,
    **settings: Any,
) -> Comparison:
    """Scores of codes that nobody trained: the floor and the ceiling of a table of models.

    - ``factors``: the factors themselves, one code each.
    - ``pca``, ``ica``: principal and independent components of at most 5,000 images.
    - ``pixels``: the image; if it has more than 1,024 numbers, averaged to 8 x 8 pixels.
    - ``untrained``: a network before its first step.

    They are scored on at most 20,000 rows, as a part of the data is. Data without factors have no
    ``factors``.

    Args:
        data: A dataset by name, or your own: whatever `unknot.dataset` takes.
        latents: Codes of ``pca``, ``ica`` and ``untrained``.
        net: The untrained network, by name or as an object; one that suits the images unless given.
        names: Which of them.
        metrics: Metrics of codes and factors; what does not apply to a baseline is left out there.
        protocol: The name of a metric protocol.
        seed: Of the metrics, of the images that are fitted and of the network's weights.
        **settings: Of the dataset.

    Raises:
        ConfigError: There is no such baseline, metric or network.

    Example:
        >>> table = baselines("xysquares", names=["factors", "pca"], metrics=["mig"], latents=6)
        >>> print(table)  # doctest: +ELLIPSIS
        metric  factors     pca
        mig      0.9...  0.0...
    """
    dataset = as_dataset(data, settings)
    latents = check_whole("latents", latents, 1)
    seed = check_whole("seed", seed, 0, 2**63 - 1)
    check_type("net", net, str, Architecture, type(None))
    architecture: Architecture
    if net is None or isinstance(net, str):
        architecture = registry.get("nets", net or net_for(dataset.shape))(latents=latents)
    else:
        architecture = net
    return score_baselines(
        dataset, architecture, names=names, metrics=metrics, protocol=protocol, seed=seed
    )


def score_baselines(
    dataset: FactorDataset,
    net: Architecture,
    *,
    names: Sequence[str] = get_args(Name),
    metrics: Sequence[str],
    protocol: str,
    seed: int,
) -> Comparison:
    """The scores of `baselines` beside a network of as many latents."""
    names, metrics = check_names("names", names), check_names("metrics", metrics)
    for name in names:
        if name not in get_args(Name):
            hint = registry.nearest(name, [*get_args(Name)])
            raise ConfigError(f"There is no baseline '{name}'{hint}")
    for metric in metrics:
        if metric not in (known := baseline_metrics()):
            raise ConfigError(
                f"There is no metric '{metric}' of codes alone{registry.nearest(metric, known)}"
            )
    hold_freed_memory()
    index = _rows(dataset, seed)
    labels = None if dataset.space.stands_in else as_table(dataset.space, index)
    tables = {}
    for name in names:
        codes = _codes(name, dataset, index, net, seed)
        if codes is not None:
            tables[name] = _table(Inputs(codes, labels, seed), metrics, protocol)
    return Comparison(tables)


def baseline_metrics() -> list[str]:
    """Metrics that need no more than codes and factors."""
    return [name for name in code_metrics() if "posteriors" not in facts(name).needs]


def _rows(dataset: FactorDataset, seed: int) -> Tensor:
    if len(dataset) <= ROWS:
        return torch.arange(len(dataset))
    return noise.integers(seed, "baseline/rows", 0, ROWS, high=len(dataset))


def _codes(
    name: str, dataset: FactorDataset, index: Tensor, net: Architecture, seed: int
) -> Tensor | None:
    """The codes of rows; None where the data have no factors to be codes."""
    if name == "factors":
        if dataset.space.stands_in:
            return None
        table = as_table(dataset.space, index)
        # A missing label says nothing anywhere.
        return torch.stack([table.numbers(k) for k in range(len(table))], dim=1).nan_to_num()
    encode: Callable[[Tensor], Tensor] = _pixels
    if name == "untrained":
        encode = _untrained(net, dataset, seed)
    elif name != "pixels":
        encode = _components(_images(dataset, index[:FITTED]), net.latents, seed, name == "ica")
    with torch.no_grad():
        return torch.cat([encode(dataset.batch(rows)).cpu() for rows in index.split(AT_ONCE)])


def _images(dataset: FactorDataset, index: Tensor) -> Tensor:
    return torch.cat([dataset.batch(rows).cpu() for rows in index.split(AT_ONCE)]).flatten(1)


def _pixels(x: Tensor) -> Tensor:
    if x[0].numel() > RAW:
        x = F.adaptive_avg_pool2d(x, (min(SIDE, x.shape[2]), min(SIDE, x.shape[3])))
    return x.flatten(1)


def _components(
    images: Tensor, latents: int, seed: int, independent: bool
) -> Callable[[Tensor], Tensor]:
    """The map of images to their principal components, or on to independent ones."""
    from sklearn.decomposition import PCA, FastICA
    from sklearn.exceptions import ConvergenceWarning

    if latents > min(images.shape):
        raise ConfigError(
            f"There are at most {min(images.shape)} components of {images.shape[0]} images of "
            f"{images.shape[1]} numbers; got {latents} latents."
        )
    seed %= 2**32  # of NumPy, which knows no larger ones
    pca = PCA(latents, svd_solver="randomized", random_state=seed).fit(images.numpy())

    def principal(x: Tensor) -> NDArray[Any]:
        components: NDArray[Any] = pca.transform(x.cpu().flatten(1).numpy())
        return components

    if not independent:
        return lambda x: torch.from_numpy(principal(x))
    ica = FastICA(latents, whiten="unit-variance", max_iter=500, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ica.fit(principal(images))
    return lambda x: torch.from_numpy(ica.transform(principal(x)))


def _untrained(net: Architecture, dataset: FactorDataset, seed: int) -> Callable[[Tensor], Tensor]:
    """The means of an encoder with the first weights of a seed."""
    if isinstance(net, Premade):
        encoder = net.start(seed)[0]
    else:
        with torch.device("meta"):
            encoder = net.encoder(dataset.shape)
        seeds = torch.tensor([seed])
        weights = initialize(encoder, "encoder", net.init, seeds, head=net.latents)
        first = {name.removeprefix("encoder."): value[0] for name, value in weights.items()}
        encoder.load_state_dict(first, assign=True)
    encoder.eval()
    return lambda x: encoder(x.cpu())[:, : net.latents]


def _table(inputs: Inputs, metrics: Sequence[str], protocol: str) -> Table:
    scores: dict[str, Score] = {}
    skipped: dict[str, str] = {}
    for metric in metrics:
        try:
            scores[metric] = score_codes(metric, inputs, protocol)
        except (ConfigError, DataError) as error:
            skipped[metric] = str(error)
    return Table(scores, skipped)
