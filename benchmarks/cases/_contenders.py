"""How each library is asked for one number: a small function per contender; and the rows they all get."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
from timing import Call

from cases import _published_tce

SEED = 20_230_731
FORMS = {"float64/int64": (np.float64, np.int64), "float32/uint8": (np.float32, np.uint8)}
USUAL, COMPACT = FORMS
BINS = 10
_CHUNK = 1 << 18


def rows(n: int, form: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores of an overconfident model, whose log-odds are 1.5 times the true ones.

    Drawn in chunks, so that drawing needs hardly more memory than the rows.
    """
    score_type, label_type = FORMS[form]
    rng = np.random.default_rng([SEED, n])
    y, p = np.empty(n, label_type), np.empty(n, score_type)
    for i in range(0, n, _CHUNK):
        part = slice(i, min(i + _CHUNK, n))
        log_odds = rng.normal(-0.5, 1.0, part.stop - i)
        p[part] = _probability(1.5 * log_odds)
        y[part] = rng.random(log_odds.size) < _probability(log_odds)
    return y, p


def _probability(log_odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-log_odds))


def _number(result: Any, _y: np.ndarray, _p: np.ndarray) -> float:
    return float(result)


@dataclass(frozen=True)
class Contender:
    """One library.

    `ready(y, p)` imports the library, converts the rows to the form it takes, and returns the call that is timed.
    `value(result, y, p)` reads the number from what that call returned.
    """

    name: str
    package: str
    ready: Callable[[np.ndarray, np.ndarray], Call]
    value: Callable[[Any, np.ndarray, np.ndarray], float] = _number
    most_rows: int = 10**7
    is_peer: bool = True
    note: str = ""

    def version(self) -> str | None:
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None


@dataclass(frozen=True)
class Task:
    """A number and all contenders that compute it. Ratios are to the first contender."""

    name: str
    title: str
    contenders: tuple[Contender, ...]

    @property
    def baseline(self) -> Contender:
        return self.contenders[0]

    def contender(self, name: str) -> Contender:
        return next(c for c in self.contenders if c.name == name)


def _ece(y: np.ndarray, p: np.ndarray) -> Call:
    import trueness as tn

    ece = tn.ece
    return lambda: ece(y, p, bins=BINS)


def _sums(y: np.ndarray, p: np.ndarray) -> Call:
    return lambda: p.sum() + y.sum()


def _no_value(_result: Any, _y: np.ndarray, _p: np.ndarray) -> float:
    return float("nan")


def _relplot(y: np.ndarray, p: np.ndarray) -> Call:
    from relplot.metrics import binnedECE

    return lambda: binnedECE(p, y, nbins=BINS)


def _torchmetrics(y: np.ndarray, p: np.ndarray, *, validate_args: bool = True) -> Call:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    scores, labels = torch.from_numpy(p), torch.from_numpy(y)
    return lambda: binary_calibration_error(
        scores, labels, n_bins=BINS, validate_args=validate_args
    ).item()


def _torchmetrics_unchecked(y: np.ndarray, p: np.ndarray) -> Call:
    return _torchmetrics(y, p, validate_args=False)


def _scikit_learn(y: np.ndarray, p: np.ndarray) -> Call:
    from sklearn.calibration import calibration_curve

    return lambda: calibration_curve(y, p, n_bins=BINS)


def _ece_of_curve(curve: Any, _y: np.ndarray, p: np.ndarray) -> float:
    """The curve has no counts; they are added here, outside the clock."""
    rate, score = curve
    count, _ = np.histogram(p, np.arange(BINS + 1) / BINS)
    return float(np.average(np.abs(rate - score), weights=count[count > 0]))


def _mapie(y: np.ndarray, p: np.ndarray) -> Call:
    from mapie.metrics.calibration import expected_calibration_error

    # Its `num_bins` counts the edges.
    return lambda: expected_calibration_error(y, p, num_bins=BINS + 1, split_strategy="uniform")


def _netcal(y: np.ndarray, p: np.ndarray) -> Call:
    from netcal.metrics import ECE

    measure = ECE(BINS).measure
    return lambda: measure(p, y)


def _uncertainty_calibration(y: np.ndarray, p: np.ndarray) -> Call:
    from calibration import get_ece

    return lambda: get_ece(p, y, num_bins=BINS)


EQUAL_WIDTH = Task(
    "ece",
    "ECE, ten bins of equal width",
    (
        Contender("trueness", "trueness", _ece, most_rows=10**8, is_peer=False),
        Contender("p.sum() + y.sum()", "numpy", _sums, _no_value, most_rows=10**8, is_peer=False),
        Contender("relplot", "relplot", _relplot, most_rows=10**8),
        Contender("torchmetrics", "torchmetrics", _torchmetrics, most_rows=10**8),
        Contender(
            "torchmetrics, unchecked",
            "torchmetrics",
            _torchmetrics_unchecked,
            note="validate_args=False",
        ),
        Contender(
            "scikit-learn",
            "scikit-learn",
            _scikit_learn,
            _ece_of_curve,
            note="calibration_curve, no counts",
        ),
        Contender("MAPIE", "mapie", _mapie),
        Contender("netcal", "netcal", _netcal),
        Contender(
            "uncertainty-calibration",
            "uncertainty-calibration",
            _uncertainty_calibration,
            most_rows=10**6,
        ),
    ),
)


def _trueness_mass(y: np.ndarray, p: np.ndarray) -> Call:
    import trueness as tn

    ace = tn.ace
    return lambda: ace(y, p, bins=BINS)


def _scikit_learn_mass(y: np.ndarray, p: np.ndarray) -> Call:
    from sklearn.calibration import calibration_curve

    return lambda: calibration_curve(y, p, n_bins=BINS, strategy="quantile")


def _mean_gap(curve: Any, _y: np.ndarray, _p: np.ndarray) -> float:
    """The curve has no counts; bins of equal mass count the same, up to one row."""
    rate, score = curve
    return float(np.abs(rate - score).mean())


def _mapie_mass(y: np.ndarray, p: np.ndarray) -> Call:
    from mapie.metrics.calibration import expected_calibration_error

    # Its `num_bins` counts the edges.
    return lambda: expected_calibration_error(y, p, num_bins=BINS + 1, split_strategy="quantile")


def _netcal_mass(y: np.ndarray, p: np.ndarray) -> Call:
    from netcal.metrics import ECE

    measure = ECE(BINS, equal_intervals=False).measure
    return lambda: measure(p, y)


def _uncertainty_calibration_mass(y: np.ndarray, p: np.ndarray) -> Call:
    from calibration import get_ece_em

    return lambda: get_ece_em(p, y, num_bins=BINS)


EQUAL_MASS = Task(
    "ace",
    "ECE, ten bins of equal mass",
    (
        Contender("trueness", "trueness", _trueness_mass, is_peer=False),
        Contender(
            "scikit-learn",
            "scikit-learn",
            _scikit_learn_mass,
            _mean_gap,
            note="calibration_curve, no counts",
        ),
        Contender("MAPIE", "mapie", _mapie_mass),
        Contender("netcal", "netcal", _netcal_mass),
        Contender(
            "uncertainty-calibration",
            "uncertainty-calibration",
            _uncertainty_calibration_mass,
            most_rows=10**6,
        ),
    ),
)


def _tce(y: np.ndarray, p: np.ndarray) -> Call:
    import trueness as tn

    tce = tn.tce
    return lambda: tce(y, p)


def _published(y: np.ndarray, p: np.ndarray) -> Call:
    import scipy.stats  # noqa: F401 (so that the clock does not see the import)

    return lambda: _published_tce.tce(y, p)


TCE = Task(
    "tce",
    "TCE, PAVA-BC bins, binomial test at 5 %",
    (
        Contender("trueness", "trueness", _tce, is_peer=False),
        Contender(
            "published algorithm",
            "scipy",
            _published,
            most_rows=50_000,
            note="transcribed; a binomtest per row",
        ),
    ),
)


TASKS = {task.name: task for task in (EQUAL_WIDTH, EQUAL_MASS, TCE)}
