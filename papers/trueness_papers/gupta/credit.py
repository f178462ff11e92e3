"""The protocol of Sections 2.2 and 4 on the CREDIT data (Gupta & Ramdas 2021)."""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from trueness.errors import TruenessWarning
from trueness.recalibrate import (
    HistogramBinning,
    IsotonicCalibration,
    PlattScaling,
    ScalingBinning,
    epsilon,
)
from trueness.results import ValidityRuns
from trueness.typing import Floats, Ints
from trueness_papers.experiment import Piece, Size, data_file
from trueness_papers.gupta.authors_code import AuthorsBinning
from trueness_papers.gupta.runs import validity_runs
from trueness_papers.record import Estimate

__all__ = [
    "BINS",
    "CODE",
    "FILE",
    "METHODS",
    "conditional_share",
    "guaranteed",
    "least_margin",
    "marginal_share",
    "piece_key",
    "validity",
    "validity_piece",
]

FILE = "credit_default.csv.gz"
BINS = 10
_N_TEST = 5_000
_RUNS = 100

METHODS: dict[str, Any] = {
    "UMD": HistogramBinning(BINS, "randomized"),
    "UMS": HistogramBinning(BINS, "split"),
    "fixed-width": HistogramBinning(BINS, "fixed-width"),
    "isotonic": IsotonicCalibration(interpolation="step"),
    "scaling-binning": ScalingBinning(BINS, scaler="identity", split="none", bins="umd"),
}
"""As printed: Algorithm 2; a 50:50 split for UMS; scaling-binning in UMD's bins, without rescaling or splitting."""

CODE = "UMD, authors' code"
_SIGMOID_OF_P = PlattScaling(from_logits=True)
_VARIANTS: dict[str, Any] = {
    CODE: AuthorsBinning(BINS),
    "UMD, values may be equal": HistogramBinning(BINS, "umd"),
    "scaling-binning, halves": ScalingBinning(BINS, scaler="identity"),
    "scaling-binning, rescaled": ScalingBinning(BINS, scaler=_SIGMOID_OF_P, split="none"),
    "scaling-binning, rescaled, thirds": ScalingBinning(BINS, scaler=_SIGMOID_OF_P),
}
_CALIBRATORS = METHODS | _VARIANTS


@lru_cache(maxsize=1)
def _rows() -> tuple[Floats, Ints]:
    from sklearn.preprocessing import scale

    table = np.loadtxt(data_file(FILE), delimiter=",", skiprows=1)
    return scale(table[:, 1:-1]), table[:, -1].astype(int)


@lru_cache(maxsize=4)
def _model(split: int, n_train: int, n_platt: int) -> tuple[Floats, Ints, Ints]:
    """Probabilities of all rows by logistic regression on split A, and the rows of splits B and C."""
    from sklearn.linear_model import LogisticRegression

    x, y = _rows()
    order = np.random.default_rng(split).permutation(y.size)
    a, b, c = np.split(order, [n_train, n_train + n_platt])
    return LogisticRegression(max_iter=1000).fit(x[a], y[a]).predict_proba(x)[:, 1], b, c


@lru_cache(maxsize=4)
def _scores(split: int, n_train: int, n_platt: int, sigmoid_of: str) -> tuple[Ints, Floats]:
    """Labels and scores of split C: a sigmoid of the model's output, fitted on split B."""
    (p, b, c), (_, y) = _model(split, n_train, n_platt), _rows()
    # With `from_logits` the sigmoid is of the number itself, here of p.
    platt = PlattScaling(from_logits=sigmoid_of == "p").fit(p[b], y[b])
    return y[c], np.asarray(platt.predict(p[c]))


def validity(
    method: str,
    n: int,
    runs: int,
    seed: int,
    *,
    n_train: int = 10_000,
    n_platt: int = 5_000,
    sigmoid_of: str = "p",
) -> dict[str, Any]:
    """Mean validity of a method over random draws of n rows to fit it and 5,000 to test it, out of split C."""
    y, p = _scores(seed, n_train, n_platt, sigmoid_of)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", TruenessWarning
        )  # tied scores and few rows belong to the protocol
        found = validity_runs(_CALIBRATORS[method], y, p, n, _N_TEST, runs, seed)
    return found.to_dict()


def validity_piece(method: str, n: int, quick: int, size: Size, seed: int, **split: int) -> Piece:
    """The piece for a method and a number of rows; `quick` is the number of runs of the small size."""
    runs = quick if size == "quick" else _RUNS
    return Piece(
        piece_key(method, n),
        validity,
        {"method": method, "n": n, "runs": runs, "seed": seed, **split},
    )


def piece_key(method: str, n: int) -> str:
    """The key of that piece."""
    return "".join(letter if letter.isalnum() else "-" for letter in f"{n}-{method}")


def marginal_share(runs: ValidityRuns, e: float) -> Estimate:
    """V(ε), the share of rows off by at most ε, with 95 % limits of the mean over runs."""
    value, half = float(runs(e)), 1.96 * float(runs.error_at(e))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))


def conditional_share(runs: ValidityRuns, e: float) -> Estimate:
    """The share of runs with every predicted value within ε, with Clopper-Pearson limits."""
    from scipy.stats import binomtest

    assert runs.conditional is not None
    share = float(runs.conditional(e))
    limits = binomtest(round(share * runs.runs), runs.runs).proportion_ci(0.95)
    return Estimate(share, float(limits.low), float(limits.high))


def guaranteed(n: int, kind: Any) -> tuple[Floats, Floats]:
    """Tolerances and the validity that Theorem 4 guarantees there, marginal or conditional."""
    share = np.append(np.linspace(0.005, 0.995, 100), [0.999, 0.9999])
    return np.array(
        [epsilon(n, BINS, alpha=float(1 - s), kind=kind, scheme="randomized") for s in share]
    ), share


def least_margin(runs: ValidityRuns, n: int, kind: str) -> float:
    """The least difference, over ε, between the validity of UMD and the guarantee: negative if the curves cross."""
    e, share = guaranteed(n, kind)
    curve = runs if kind == "marginal" else runs.conditional
    assert curve is not None
    return float(np.min(curve.at(e) - share))
