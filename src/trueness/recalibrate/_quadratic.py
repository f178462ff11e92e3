"""Quadratic scaling: log-odds bent by a square."""

from typing import ClassVar

from trueness.recalibrate._calibrator import with_parameters
from trueness.recalibrate._logit_map import EPS_STATE, Bend, LogitCells, ShapedMap
from trueness.recalibrate._saving import Field, array, number


@with_parameters
class QuadraticScaling(ShapedMap):
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
        **EPS_STATE,
        "reach": Field("largest distance of fitted log-odds from 0; beyond it, the map is straight", number(above=0)),
        "coefficients": Field("value at log-odds 0; slopes at −reach (signed: at 0) and at reach", array(lambda _: 3)),
    }

    signed: bool = False

    def _adapt(self, cells: LogitCells) -> None:
        self.reach_ = cells.reach

    @property
    def _curve_shape(self) -> Bend:
        return Bend(self.reach_, signed=bool(self.signed))

    def _natural(self, i: int) -> float:
        return float((self._curve_shape.natural @ self.coefficients_)[i])

    a_ = property(lambda self: self._natural(0), doc="The value at log-odds 0.")
    b_ = property(lambda self: self._natural(1), doc="The slope at log-odds 0.")
    c_ = property(lambda self: self._natural(2), doc="The factor of the square.")
