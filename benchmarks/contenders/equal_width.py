"""ECE with ten bins of equal width."""

from typing import Any

import numpy as np

from contenders.contender import Call, Contender, Task

BINS = 10


def trueness(y: np.ndarray, p: np.ndarray) -> Call:
    import trueness as tn

    ece = tn.ece
    return lambda: ece(y, p, bins=BINS)


def sums(y: np.ndarray, p: np.ndarray) -> Call:
    return lambda: p.sum() + y.sum()


def no_value(_result: Any, _y: np.ndarray, _p: np.ndarray) -> float:
    return float("nan")


def relplot(y: np.ndarray, p: np.ndarray) -> Call:
    from relplot.metrics import binnedECE

    return lambda: binnedECE(p, y, nbins=BINS)


def torchmetrics(y: np.ndarray, p: np.ndarray, *, validate_args: bool = True) -> Call:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    scores, labels = torch.from_numpy(p), torch.from_numpy(y)
    return lambda: binary_calibration_error(scores, labels, n_bins=BINS, validate_args=validate_args).item()


def torchmetrics_unchecked(y: np.ndarray, p: np.ndarray) -> Call:
    return torchmetrics(y, p, validate_args=False)


def scikit_learn(y: np.ndarray, p: np.ndarray) -> Call:
    from sklearn.calibration import calibration_curve

    return lambda: calibration_curve(y, p, n_bins=BINS)


def ece_of_curve(curve: Any, _y: np.ndarray, p: np.ndarray) -> float:
    """The curve has no counts; they are added here, outside the clock."""
    rate, score = curve
    count, _ = np.histogram(p, np.arange(BINS + 1) / BINS)
    return float(np.average(np.abs(rate - score), weights=count[count > 0]))


def mapie(y: np.ndarray, p: np.ndarray) -> Call:
    from mapie.metrics.calibration import expected_calibration_error

    # Its `num_bins` counts the edges.
    return lambda: expected_calibration_error(y, p, num_bins=BINS + 1, split_strategy="uniform")


def netcal(y: np.ndarray, p: np.ndarray) -> Call:
    from netcal.metrics import ECE

    measure = ECE(BINS).measure
    return lambda: measure(p, y)


def uncertainty_calibration(y: np.ndarray, p: np.ndarray) -> Call:
    from calibration import get_ece

    return lambda: get_ece(p, y, num_bins=BINS)


EQUAL_WIDTH = Task(
    "ece",
    "ECE, ten bins of equal width",
    (
        Contender("trueness", "trueness", trueness, most_rows=10**8, is_peer=False),
        Contender("p.sum() + y.sum()", "numpy", sums, no_value, most_rows=10**8, is_peer=False),
        Contender("relplot", "relplot", relplot, most_rows=10**8),
        Contender("torchmetrics", "torchmetrics", torchmetrics, most_rows=10**8),
        Contender("torchmetrics, unchecked", "torchmetrics", torchmetrics_unchecked, note="validate_args=False"),
        Contender("scikit-learn", "scikit-learn", scikit_learn, ece_of_curve, note="calibration_curve, no counts"),
        Contender("MAPIE", "mapie", mapie),
        Contender("netcal", "netcal", netcal),
        Contender("uncertainty-calibration", "uncertainty-calibration", uncertainty_calibration, most_rows=10**6),
    ),
)
