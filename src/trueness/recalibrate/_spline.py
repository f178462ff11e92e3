"""Spline calibration: a smooth curve of log-odds that does not decrease."""

from typing import ClassVar

import numpy as np

from trueness._input.arguments import checked_whole
from trueness.errors import InputError
from trueness.recalibrate._calibrator import with_parameters
from trueness.recalibrate._logit_map import EPS_STATE, LogitCells, ShapedMap, Spline, spline_knots
from trueness.recalibrate._saving import Field, all_of, array, meets

_MOST_KNOTS = 1_000
_ascending = meets("ascending", lambda _, value: value.size and (np.diff(value) > 0).all())


@with_parameters
class SplineCalibration(ShapedMap):
    r"""Spline calibration: a curve of log-odds whose slope is linear between knots and constant outside them.

    Parameters
    ----------
    n_knots : int, default 5
        Knots at quantiles of the fitted log-odds, from 5 to 95 % in equal steps; fewer if these coincide.
    ridge : float, default 1
        Half this, times the squared distance of the slopes from 1 and of the value at log-odds 0 from 0, is added to
        the log loss summed over rows.
    monotone : bool, default True
        Whether the curve must not decrease.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.recalibrate import SplineCalibration
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=20_000)
    >>> y = rng.binomial(1, np.clip(2 * p - 0.5, 0.25, 0.75))
    >>> SplineCalibration().fit(p, y).predict([0.1, 0.3, 0.5, 0.7, 0.9]).round(1)
    array([0.2, 0.2, 0.5, 0.8, 0.8])
    """

    _state: ClassVar = {
        **EPS_STATE,
        "knots": Field("log-odds of the knots", all_of(array(lambda c: np.size(c.knots_)), _ascending)),
        "coefficients": Field(
            "value at log-odds 0, then the slope at each knot", array(lambda c: 1 + np.size(c.knots_))
        ),
    }

    n_knots: int = 5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if checked_whole(self.n_knots, "n_knots") > _MOST_KNOTS:
            raise InputError("n_knots", f"must be at most {_MOST_KNOTS:,}", f"got {self.n_knots!r}")

    def _adapt(self, cells: LogitCells) -> None:
        self.knots_ = spline_knots(cells.z, cells.weight, self.n_knots)

    @property
    def _curve_shape(self) -> Spline:
        return Spline(self.knots_)
