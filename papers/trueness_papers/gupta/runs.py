"""Validity over many runs: each with its own rows to calibrate on and its own test rows (Gupta & Ramdas 2021)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from trueness.recalibrate import mean_validity, validity_curve
from trueness.results import ValidityRuns
from trueness.typing import Floats, Ints

__all__ = ["draw_runs", "runs_from_dict", "validity_runs"]


def runs_from_dict(data: dict[str, Any]) -> ValidityRuns:
    """Inverse of `ValidityRuns.to_dict`."""
    arrays = {name: np.asarray(data[name], np.float64) for name in ("jumps", "share", "error")}
    conditional = None if data["conditional"] is None else runs_from_dict(data["conditional"])
    return ValidityRuns(**{**data, **arrays, "conditional": conditional})


def validity_runs(
    calibrator: Any, y: Ints, p: Floats, n_fit: int, n_test: int, runs: int, seed: int
) -> ValidityRuns:
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


def draw_runs(runs: Mapping[str, ValidityRuns], ax: Any = None, theory: Any = None) -> Any:
    """Means of V with bands of two standard errors."""
    from trueness.plot import ValidityDisplay

    display = ValidityDisplay(runs, theory=theory).plot(ax=ax)
    for line, found in zip(display.lines_, runs.values(), strict=True):
        x, y = line.get_xdata(), line.get_ydata()
        reach = 2 * np.concatenate([[0.0], found.error, found.error[-1:]])
        look: dict[str, Any] = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
        display.ax_.fill_between(
            x, np.clip(y - reach, 0, 1), np.clip(y + reach, 0, 1), step="post", **look
        )
    return display
