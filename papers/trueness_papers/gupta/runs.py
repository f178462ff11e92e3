"""Validity over many runs: each with its own rows to calibrate on and its own test rows (Gupta & Ramdas 2021)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from trueness.recalibrate import validity_curve
from trueness.results import ValidityCurve
from trueness.typing import Floats, Ints

__all__ = ["ValidityRuns", "draw_runs", "mean_validity", "validity_runs"]

# Distances that equal the tolerance up to rounding count as within it, as in `ValidityCurve`.
_SLACK = 1e-12


@dataclass(frozen=True)
class ValidityRuns:
    """The mean of V over runs, with its standard error."""

    jumps: Floats
    """Every distance at which V jumps in some run, ascending; the mean is 0 below the first."""
    share: Floats
    """Mean of V from each jump up to the next."""
    error: Floats
    """Standard error of the mean."""
    runs: int
    conditional: "ValidityRuns | None" = None
    """The share of runs in which every predicted value is off by at most ε; None in the conditional itself."""

    def at(self, epsilon: Any) -> Any:
        """Mean of V at a tolerance."""
        return self._at(self.share, epsilon)

    __call__ = at

    def error_at(self, epsilon: Any) -> Any:
        """Standard error of that mean."""
        return self._at(self.error, epsilon)

    def _at(self, values: Floats, epsilon: Any) -> Any:
        at = np.searchsorted(self.jumps, np.asarray(epsilon) + _SLACK, side="right")
        return np.concatenate([[0.0], values])[at]

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, ready for JSON."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ValidityRuns":
        """Inverse of `to_dict`."""
        arrays = {name: np.asarray(data[name]) for name in ("jumps", "share", "error")}
        conditional = None if data["conditional"] is None else cls.from_dict(data["conditional"])
        return cls(**{**data, **arrays, "conditional": conditional})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def validity_runs(calibrator: Any, y: Ints, p: Floats, n_fit: int, n_test: int, runs: int, seed: int) -> ValidityRuns:
    """Mean validity over random draws of rows to fit on and of other rows to test on.

    The same seed gives the same rows, whatever the calibrator. One with a parameter `seed` gets a new one in each run.
    """
    curves = []
    for rng in np.random.default_rng(seed).spawn(runs):
        drawn = rng.permutation(y.size)[: n_fit + n_test]
        fit, test = drawn[:n_fit], drawn[n_fit:]
        copy = clone(calibrator)
        if "seed" in copy.get_params(deep=False):
            copy.set_params(seed=int(rng.integers(1 << 32)))
        curves.append(validity_curve(y[test], copy.fit(p[fit], y[fit]).predict(p[test])))
    return mean_validity(curves)


def mean_validity(curves: Sequence[ValidityCurve]) -> ValidityRuns:
    """The mean of validity curves; conditionally, each is 1 where even its largest distance is within ε."""
    worst = _mean([(curve.jumps[-1:], np.ones(1)) for curve in curves], None)
    return _mean([(curve.jumps, curve.share) for curve in curves], worst)


def _mean(curves: list[tuple[Floats, Floats]], conditional: ValidityRuns | None) -> ValidityRuns:
    jumps = np.unique(np.concatenate([own for own, _ in curves]))
    # Without `_SLACK`, which would let a run jump slightly too early.
    every = np.array(
        [np.concatenate([[0.0], share])[np.searchsorted(own, jumps, side="right")] for own, share in curves]
    )
    free = np.sqrt(len(curves) - 1) if len(curves) > 1 else np.nan
    return ValidityRuns(jumps, every.mean(axis=0), every.std(axis=0) / free, len(curves), conditional)


def draw_runs(runs: Mapping[str, ValidityRuns], ax: Any = None, theory: Any = None) -> Any:
    """Means of V with bands of two standard errors."""
    from trueness.plot import ValidityDisplay

    display = ValidityDisplay(runs, theory=theory).plot(ax=ax)
    for line, found in zip(display.lines_, runs.values(), strict=True):
        x, y = line.get_xdata(), line.get_ydata()
        reach = 2 * np.concatenate([[0.0], found.error, found.error[-1:]])
        look: dict[str, Any] = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
        display.ax_.fill_between(x, np.clip(y - reach, 0, 1), np.clip(y + reach, 0, 1), step="post", **look)
    return display
