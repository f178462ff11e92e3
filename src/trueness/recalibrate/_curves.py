"""Quadratic scaling and spline calibration: curves of log-odds, fitted with a ridge towards the identity."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from trueness._input.arguments import checked_whole
from trueness._numerics.ridge_logistic import ridge_logistic
from trueness.errors import InputError
from trueness.recalibrate import _logit_map as shapes
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import with_parameters
from trueness.recalibrate._formula import LogOdds
from trueness.recalibrate._saving import Field, all_of, array, meets, number

_MOST_KNOTS = 1_000
_ascending = meets("ascending", lambda _, value: value.size and (np.diff(value) > 0).all())


@with_parameters
class _Curved(shapes.LogitMap):
    """A map of log-odds with a shape, fitted with a ridge towards the identity."""

    _positive: ClassVar = "ridge"

    from_logits: bool = False
    ridge: float = 1.0
    monotone: bool = True
    eps: float | None = None
    limits: bool = False

    def _fit(self, rows: CalibrationSet) -> None:
        cells = shapes.logit_cells(self._fit_logits(rows), rows.y, rows.w)
        self._adapt(cells)
        shape, data = self._curve_shape, (cells.weight[None], cells.events[None])
        bounds = shape.bounded if self.monotone else None
        (self.coefficients_,) = ridge_logistic(
            shape.basis(cells.z), *data, shape.identity, self.ridge * shape.ridge, bounds
        )

    @abstractmethod
    def _adapt(self, cells: shapes.LogitCells) -> None:
        """Choose what of the shape depends on the scores."""

    @property
    @abstractmethod
    def _curve_shape(self) -> shapes.LogitShape: ...

    def _formula(self) -> LogOdds:
        return self._log_odds(self._curve_shape.curve(self.coefficients_))


@with_parameters
class QuadraticScaling(_Curved):
    r"""Quadratic scaling of the log-odds: a + b z + c z², or a + b z + c z|z|.

    One parameter more than :class:`PlattScaling`: the slope may differ between low and high scores or, with `signed`,
    between modest and extreme ones.

    Parameters
    ----------
    signed : bool, default False
        Whether the square has the sign of the log-odds, z|z|, which bends both ends alike.
    ridge : float, default 1
        Half this, times the squared distance of (a, b, c) from the identity (0, 1, 0), is added to the log loss
        summed over rows.
    monotone : bool, default True
        Whether the map must not decrease between the most extreme scores of the fit; beyond them it is straight.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.recalibrate import QuadraticScaling
    >>> p = np.repeat([0.2, 0.5, 0.8], 1000)
    >>> y = np.concatenate([np.arange(1000) < n for n in (100, 500, 800)]).astype(int)
    >>> QuadraticScaling().fit(p, y).predict([0.2, 0.5, 0.8]).round(2)
    array([0.1, 0.5, 0.8])
    """

    _state: ClassVar = {
        **shapes.EPS_STATE,
        "reach": Field("largest distance of fitted log-odds from 0; beyond it, the map is straight", number(above=0)),
        "coefficients": Field("value at log-odds 0; slopes at −reach (signed: at 0) and at reach", array(lambda _: 3)),
    }

    signed: bool = False

    def _adapt(self, cells: shapes.LogitCells) -> None:
        self.reach_ = cells.reach

    @property
    def _curve_shape(self) -> shapes.Bend:
        return shapes.Bend(self.reach_, signed=bool(self.signed))

    def _natural(self, i: int) -> float:
        return float((self._curve_shape.natural @ self.coefficients_)[i])

    a_ = property(lambda self: self._natural(0), doc="The value at log-odds 0.")
    b_ = property(lambda self: self._natural(1), doc="The slope at log-odds 0.")
    c_ = property(lambda self: self._natural(2), doc="The factor of the square.")


@with_parameters
class SplineCalibration(_Curved):
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
        **shapes.EPS_STATE,
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

    def _adapt(self, cells: shapes.LogitCells) -> None:
        self.knots_ = shapes.spline_knots(cells.z, cells.weight, self.n_knots)

    @property
    def _curve_shape(self) -> shapes.Spline:
        return shapes.Spline(self.knots_)
