"""Prediction intervals that cover as often as they should."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy.special import betaincinv
from sklearn.base import BaseEstimator

from trueness._input.arguments import checked_fraction, checked_word
from trueness._input.numbers import numbers, refuse
from trueness._tally.clusters import codes_of
from trueness._version import __version__
from trueness.errors import InputError
from trueness.recalibrate._saving import COMMON, Field, Savable, names_of, number, real
from trueness.typing import ArrayLike, Floats, Ints

Method: TypeAlias = Literal["conformal", "sides"]
Change: TypeAlias = Literal["shift", "stretch"]
_DOUBT = 0.05
"""The coverage of one calibration set is below `coverage_low_` with this probability."""


# Its base, of scikit-learn, has no types.
class IntervalCalibration(Savable, BaseEstimator):  # type: ignore[misc]
    r"""Move the ends of prediction intervals so that they cover as often as stated.

    Fit it on rows that the model was not trained on, and judge the new intervals on others:
    coverage on the rows of the fit is what was asked for by construction.

    Parameters
    ----------
    coverage : float, default 0.9
        The probability that a new outcome should lie inside.
    method : {'conformal', 'sides'}, default 'conformal'
        'conformal': both ends move by one amount, with a finite-sample promise (see Notes).
        'sides': each end moves by itself, so that as many outcomes lie below as above; shifted
        intervals are shifted back. No promise.
    change : {'shift', 'stretch'}, default 'shift'
        Whether ends move by an amount of the outcome's unit, or by a share of the half-width of
        each interval. Choose it on other rows.

    Attributes
    ----------
    lower_change_, upper_change_ : float
        How far the ends move, outwards if positive.
    coverage_low_ : float
        For 'conformal' and independent rows: with probability 95 % over calibration sets, new
        outcomes lie inside at least this often; nan otherwise.
    n_rows_ : int
        Rows of the fit.

    Notes
    -----
    With the score :math:`s_i = \max(l_i - y_i, y_i - u_i)` of each row (over the half-width for
    'stretch'), 'conformal' moves both ends by the :math:`k`-th smallest score, :math:`k = \lceil
    (n + 1) g \rceil`. A new row that is exchangeable with those of the fit is then inside with a
    probability between :math:`g` and :math:`g + 1/(n + 1)`, over calibration sets, too; the upper
    end holds if no two scores are equal. For one calibration set the coverage follows the law
    :math:`\mathrm{Beta}(k, n + 1 - k)`. At least :math:`g/(1 - g)` rows are needed.

    With `cluster` the promise, at least :math:`g`, is for a row of a new cluster: each cluster
    counts as one, its rows share its weight, and one more cluster is infinitely far off.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer, Algorithmic learning in a random world, 2005. Y. Romano, E.
    Patterson, E. Candès, Conformalized quantile regression, NeurIPS 2019.

    Examples
    --------
    >>> import trueness as tn
    >>> y = [1.0, 2.0, 3.0, 4.0]
    >>> cal = tn.IntervalCalibration(coverage=0.8).fit(y, [0.5] * 4, [2.5] * 4)
    >>> cal.upper_change_
    1.5
    >>> lower, upper = cal.predict([0.0], [2.0])
    >>> lower.tolist(), upper.tolist()
    ([-1.5], [3.5])
    """

    lower_change_: float
    upper_change_: float
    coverage_low_: float
    n_rows_: int
    interval_names_: tuple[str, ...] | None
    label_name_: str | None
    date_: str
    version_: str
    about_: dict[str, Any]

    _state: ClassVar[Mapping[str, Field]] = {
        "n_rows": COMMON["n_rows"],
        "lower_change": Field("how far lower ends move down, in the unit of `change`", number()),
        "upper_change": Field("how far upper ends move up, in the unit of `change`", number()),
        "coverage_low": Field(
            "new outcomes lie inside at least this often, with probability 95 %; nan if unknown",
            real,
        ),
        "interval_names": Field(
            "columns of the lower and the upper ends; null if they had no names",
            names_of("null, or a tuple of two names"),
            True,
        ),
        "label_name": COMMON["label_name"],
        "date": COMMON["date"],
        "version": COMMON["version"],
    }

    def __init__(
        self, coverage: float = 0.9, *, method: Method = "conformal", change: Change = "shift"
    ) -> None:
        self.coverage = coverage
        self.method = method
        self.change = change

    def fit(
        self, y: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, cluster: ArrayLike | None = None
    ) -> Self:
        """Learn how far the ends must move.

        Parameters
        ----------
        y : array-like of shape (n,)
            Outcomes of rows that the model was not trained on.
        lower, upper : array-like of shape (n,)
            The ends of their intervals.
        cluster : array-like of shape (n,), optional
            A cluster name for each row; rows of one cluster may depend on each other. For
            'conformal' only.

        Returns
        -------
        self
        """
        self._check()
        coverage = float(self.coverage)
        outcome = _numbers(y, "y")
        low, high = self._ends(lower, upper, outcome.size)
        unit = self._unit(low, high)
        below = (low - outcome) / unit
        above = (outcome - high) / unit
        self.n_rows_ = outcome.size
        self.interval_names_ = None
        self.label_name_ = None
        self.date_ = datetime.now(UTC).date().isoformat()
        self.version_ = __version__
        self.about_ = {}
        self.coverage_low_ = math.nan
        if self.method == "sides":
            if cluster is not None:
                raise InputError("cluster", "is only for `method='conformal'`")
            self.lower_change_ = _plain_quantile(below, (1 + coverage) / 2)
            self.upper_change_ = _plain_quantile(above, (1 + coverage) / 2)
            return self
        score = np.maximum(below, above)
        if cluster is None:
            place = _place(coverage, score.size)
            moved = float(np.sort(score)[place - 1])
            rest = score.size + 1 - place
            self.coverage_low_ = float(betaincinv(place, rest, _DOUBT))
        else:
            codes = codes_of(cluster, score.size)
            assert codes is not None
            moved = _clustered_quantile(score, codes, coverage)
        self.lower_change_ = moved
        self.upper_change_ = moved
        return self

    def predict(self, lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats]:
        """The intervals with their ends moved.

        Where they move inwards past each other, both are at the point where they meet.

        Parameters
        ----------
        lower, upper : array-like of shape (n,)
            The ends of the intervals.

        Returns
        -------
        tuple of two arrays
            Lower and upper ends.
        """
        if not hasattr(self, "lower_change_"):
            raise InputError("", "This IntervalCalibration must be fitted first", "call `fit`")
        low, high = self._ends(lower, upper)
        unit = self._unit(low, high)
        new_low = low - self.lower_change_ * unit
        new_high = high + self.upper_change_ * unit
        crossed = new_low > new_high
        meeting = (new_low + new_high) / 2
        return np.where(crossed, meeting, new_low), np.where(crossed, meeting, new_high)

    def _check(self) -> None:
        """Raise for parameters that are not those of a calibration of intervals."""
        checked_fraction(self.coverage, "coverage")
        checked_word(self.method, "method", ("conformal", "sides"))
        checked_word(self.change, "change", ("shift", "stretch"))

    def _is_whole(self) -> bool:
        return True

    @classmethod
    def _fields(cls) -> dict[str, Field]:
        return dict(cls._state)

    def _ends(
        self, lower: ArrayLike, upper: ArrayLike, n: int | None = None
    ) -> tuple[Floats, Floats]:
        low = _numbers(lower, "lower", n)
        high = _numbers(upper, "upper", low.size)
        refuse("lower", "must lie at or below `upper`", low > high, low)
        return low, high

    def _unit(self, low: Floats, high: Floats) -> Floats:
        """What a change of one means, in the unit of the outcome."""
        if self.change == "shift":
            return np.ones(low.size)
        half = (high - low) / 2
        refuse("upper", "must be above `lower` for `change='stretch'`", half == 0, high)
        return half


def _numbers(passed: ArrayLike, name: str, n: int | None = None) -> Floats:
    """Finite numbers, one per row."""
    values = numbers(passed, name, n)
    refuse(name, "must be finite", np.isinf(values), values)
    return values


def _place(coverage: float, n: int) -> int:
    """The rank of the score that keeps the promise."""
    # Not (n + 1)·0.9 as it is, 9.000000000000002 for n = 9: the next score would be taken.
    place = math.ceil(round((n + 1) * coverage, 9))
    if place > n:
        needed = math.ceil(round(coverage / (1 - coverage), 9))
        remedy = "Use more rows, or a lower coverage."
        demand = f"must have at least {needed:,} rows to promise a coverage of {coverage:g}"
        raise InputError("y", demand, f"got {n:,}", remedy=remedy)
    return place


def _clustered_quantile(score: Floats, cluster: Ints, coverage: float) -> float:
    """The score below which a row of a new cluster is with at least this probability."""
    sizes = np.bincount(cluster)
    number = sizes.size
    if number < round(coverage / (1 - coverage), 9):
        needed = math.ceil(round(coverage / (1 - coverage), 9))
        demand = f"must name at least {needed:,} clusters to promise a coverage of {coverage:g}"
        raise InputError("cluster", demand, f"got {number:,}")
    order = np.argsort(score, kind="stable")
    share = np.cumsum(1 / (sizes[cluster[order]] * (number + 1)))
    place = int(np.searchsorted(share, coverage - 1e-12))
    return float(score[order[place]])


def _plain_quantile(score: Floats, share: float) -> float:
    """The smallest score that at least this share of them does not exceed."""
    return float(np.sort(score)[max(0, math.ceil(round(score.size * share, 9)) - 1)])
