"""Subsampling intervals for the debiased squared error.

The spread of an estimate from b rows, scaled by √(b/n), stands in for the spread of the one from n rows.

References: Politis, Romano, "Large sample confidence regions based on subsamples under minimal assumptions", Annals of
Statistics, 1994; Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected calibration
error", 2025.
"""

import math

import numpy as np

from trueness.infer._outcomes import Outcomes
from trueness.typing import Floats, Ints

__all__ = ["politis_romano", "subsamples", "subsampling"]

_BATCH = 1 << 19


def subsampling(rows: Outcomes, *, level: float, resamples: int, rng: np.random.Generator) -> tuple[float, float]:
    r"""The interval that Sun et al. compare with, as their code has it.

    ⌊√n⌋ rows are drawn *with* replacement, and the ends are :math:`T + \sqrt{b/n}\,(q - T)` with the quantiles q of the
    subsamples, tails *not* exchanged. Ends may be negative.
    """
    estimate, drawn, scale = _spread(rows, resamples, rng, replace=True)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return estimate + scale * float(low - estimate), estimate + scale * float(high - estimate)


def politis_romano(rows: Outcomes, *, level: float, resamples: int, rng: np.random.Generator) -> tuple[float, float]:
    r"""The interval of Politis and Romano.

    ⌊√n⌋ rows are drawn without replacement, and the ends are :math:`T - \sqrt{b/n}\,(q - T)`, the upper quantile
    giving the lower end. Ends may be negative.
    """
    estimate, drawn, scale = _spread(rows, resamples, rng, replace=False)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return estimate - scale * float(high - estimate), estimate - scale * float(low - estimate)


def _spread(rows: Outcomes, resamples: int, rng: np.random.Generator, *, replace: bool) -> tuple[float, Floats, float]:
    size = math.isqrt(rows.n)
    drawn = subsamples(rows, size, resamples, rng, replace=replace)
    return rows.estimate, drawn, math.sqrt(size / rows.n)


def subsamples(outcomes: Outcomes, size: int, resamples: int, rng: np.random.Generator, *, replace: bool) -> Floats:
    """The squared error of `resamples` samples of `size` rows each."""
    n = outcomes.n
    batches = []
    step = max(1, _BATCH // max(size, outcomes.first.size))
    for begin in range(0, resamples, step):
        batch = min(step, resamples - begin)
        rows = rng.integers(0, n, (batch, size)) if replace else _different(n, size, batch, rng)
        batches.append(outcomes.of_rows(rows))
    return np.concatenate(batches)


def _different(n: int, size: int, samples: int, rng: np.random.Generator) -> Ints:
    """Samples of `size` different rows, shape (samples, size).

    Rows drawn with replacement that happen to differ are rows drawn without: samples with a row twice are drawn again.
    Of √n rows all differ with probability 0.6 or so, and many samples are cheaper at once than one by one.
    """
    if size * size > 2 * n:
        return np.stack([rng.choice(n, size, replace=False, shuffle=False) for _ in range(samples)])
    found = rng.integers(0, n, (samples, size))
    again = np.arange(samples)
    while again.size:
        ordered = np.sort(found[again], axis=1)
        again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        found[again] = rng.integers(0, n, (again.size, size))
    return found
