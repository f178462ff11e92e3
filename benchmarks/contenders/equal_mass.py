"""ECE with ten bins of equal mass."""

from typing import Any

import numpy as np

from contenders.contender import Call, Contender, Task

BINS = 10


def trueness(y: np.ndarray, p: np.ndarray) -> Call:
    import trueness as tn

    ace = tn.ace
    return lambda: ace(y, p, bins=BINS)


def scikit_learn(y: np.ndarray, p: np.ndarray) -> Call:
    from sklearn.calibration import calibration_curve

    return lambda: calibration_curve(y, p, n_bins=BINS, strategy="quantile")


def mean_gap(curve: Any, _y: np.ndarray, _p: np.ndarray) -> float:
    """The curve has no counts; bins of equal mass count the same, up to one row."""
    rate, score = curve
    return float(np.abs(rate - score).mean())


def mapie(y: np.ndarray, p: np.ndarray) -> Call:
    from mapie.metrics.calibration import expected_calibration_error

    # Its `num_bins` counts the edges.
    return lambda: expected_calibration_error(y, p, num_bins=BINS + 1, split_strategy="quantile")


def netcal(y: np.ndarray, p: np.ndarray) -> Call:
    from netcal.metrics import ECE

    measure = ECE(BINS, equal_intervals=False).measure
    return lambda: measure(p, y)


def uncertainty_calibration(y: np.ndarray, p: np.ndarray) -> Call:
    from calibration import get_ece_em

    return lambda: get_ece_em(p, y, num_bins=BINS)


EQUAL_MASS = Task(
    "ace",
    "ECE, ten bins of equal mass",
    (
        Contender("trueness", "trueness", trueness, is_peer=False),
        Contender("scikit-learn", "scikit-learn", scikit_learn, mean_gap, note="calibration_curve, no counts"),
        Contender("MAPIE", "mapie", mapie),
        Contender("netcal", "netcal", netcal),
        Contender("uncertainty-calibration", "uncertainty-calibration", uncertainty_calibration, most_rows=10**6),
    ),
)
