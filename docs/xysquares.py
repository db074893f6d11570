"""Fill in the tables of ``docs/results/xysquares.md`` from the CSV files beside it.

The page's own words stay; what stands between ``<!-- name -->`` and ``<!-- end -->`` is replaced.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from places import filled

from unknot.core.csv_files import read_csv
from unknot.losses import beta_of_means

PAGE = Path(__file__).parent / "results" / "xysquares.md"
PIXELS = 3 * 64 * 64
LOSSES = {"mse": "squared error", "mse + box 31": "squared error + box blur"}
SCORES = {
    "mig": "MIG",
    "dci": "DCI-D",
    "distance_correlation": "distance correlation",
    "axis_alignment": "axis alignment",
    "linearity": "linearity",
}


def runs(name: str) -> list[dict[str, str]]:
    """Lines of one of the CSV files."""
    return read_csv(PAGE.parent / f"{name}.csv")


def spread(values: Sequence[float], digits: int) -> str:
    """Mean, least and largest.

    Example:
        >>> spread([0.1, 0.2, 0.6], 2)
        '0.30 (0.10 to 0.60)'
    """
    middle, low, high = (f"{v:.{digits}f}" for v in (mean(values), min(values), max(values)))
    return f"{middle} ({low} to {high})"


def betas(row: dict[str, str]) -> str:
    """The weight beside sums, as here, and beside means over pixels and latents, as in the thesis.

    Example:
        >>> betas({"beta": "4.9152", "latents": "25"})
        '4.92 / 0.01'
    """
    beta, one = float(row["beta"]), beta_of_means(1.0, pixels=PIXELS, latents=int(row["latents"]))
    return f"{beta:.3g} / {beta / one:.3g}"


def table(rows: list[dict[str, str]], settings: dict[str, str], digits: dict[str, int]) -> str:
    """A line for each setting, in the order of the file."""
    lines = [[*settings, "beta of sums / of means", *(SCORES[score] for score in digits)]]
    each: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        each.setdefault(tuple(row[key] for key in settings.values()), []).append(row)
    for setting, own in each.items():
        words = [LOSSES.get(word, word) for word in setting]
        scores = [spread([float(row[s]) for row in own], digits[s]) for s in digits]
        lines.append([f"`{words[0]}`", *words[1:], betas(own[0]), *scores])
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def made(text: str) -> str:
    """The page with its tables."""
    overlap = {"objective": "objective", "spacing": "spacing", "loss": "loss", "latents": "latents"}
    tables = {
        "overlap": table(runs("overlap"), overlap, dict.fromkeys(SCORES, 2)),
        "triplets": table(
            runs("triplets"),
            {"objective": "objective"},
            dict.fromkeys(SCORES, 2) | {"axis_alignment": 3, "linearity": 3},
        ),
    }
    return filled(text, tables)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
