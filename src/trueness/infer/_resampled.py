"""The competing intervals of the literature, which resample rows: by name."""

from collections.abc import Callable
from typing import Final

import numpy as np

from trueness._tally.bins import Bins
from trueness.infer._bootstrap import basic_bootstrap, centred_bootstrap, percentile_bootstrap
from trueness.infer._hulc import adaptive_hulc, hulc
from trueness.infer._outcomes import Outcomes
from trueness.infer._region import Region
from trueness.infer._subsampling import politis_romano, subsampling

__all__ = ["BOOTSTRAPS", "RESAMPLED", "resampled_region"]

BOOTSTRAPS: Final[dict[str, Callable[..., tuple[float, float]]]] = {
    "bootstrap": percentile_bootstrap,
    "basic-bootstrap": basic_bootstrap,
    "centred-bootstrap": centred_bootstrap,
}
"""Those that make do with the sums of bins."""

RESAMPLED: Final[dict[str, Callable[..., tuple[float, float]]]] = BOOTSTRAPS | {
    "subsampling": subsampling,
    "politis-romano": politis_romano,
    "hulc": hulc,
    "adaptive-hulc": adaptive_hulc,
}


def resampled_region(
    method: str, sums: Outcomes | Bins, level: float, resamples: int, rng: np.random.Generator
) -> Region:
    """The interval of that name; an error is not negative, so what lies below zero is cut off."""
    low, high = RESAMPLED[method](sums, level=level, resamples=resamples, rng=rng)
    return Region(max(0.0, low), max(0.0, high), True, low <= 0)
