"""Quadratic scaling: log-odds bent by a square."""

from typing import Any, ClassVar

import numpy as np

from trueness.recalibrate._calibrator import check_flag
from trueness.recalibrate._fitted_state import Field, array, number
from trueness.recalibrate._logit_map import EPS_STATE
from trueness.recalibrate._logit_shapes import Bend
from trueness.recalibrate._shaped_map import LogitCells, ShapedMap
from trueness.typing import Floats


def _three(_: Any) -> int:
    return 3


class QuadraticScaling(ShapedMap):
    r"""Quadratic scaling of the log-odds: a + b z + c z², or a + b z + c z|z|.

    One parameter more than :class:`PlattScaling`: the slope may differ between low and high scores or, with `signed`,
    between modest and extreme ones.

    Parameters
    ----------
    signed : bool, default False
        Whether the square has the sign of the log-odds, z|z|, which bends both ends alike.
    from_logits : bool, default False
        Whether the scores are logits; otherwise they are P(positive), whose logit is taken.
    ridge : float, default 1
        Half this, times the squared distance of (a, b, c) from the identity (0, 1, 0), is added to the log loss
        summed over rows.
    monotone : bool, default True
        Whether the map must not decrease between the most extreme scores of the fit; beyond them it is straight.
    eps : float, optional
        Scores are clipped to [eps, 1 − eps], because 0 and 1 have infinite log-odds; `fit` warns if some are exactly 0
        or 1. Default: 1 / (2 (n + 1)) for n rows, or less if some scores are nearer to 0 or 1, but at least the square
        of that.
    limits : bool, default False
        Whether `predict` uses scores outside [eps, 1 − eps] unchanged, so that 0 and 1 are mapped to the limits of the
        map.

    Attributes
    ----------
    a_, b_, c_ : float
        Coefficients of the formula.
    reach_ : float
        The largest distance of fitted log-odds from 0.

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
        "coefficients": Field("value at log-odds 0; slopes at −reach (signed: at 0) and at reach", array(_three)),
    }

    def __init__(
        self,
        *,
        signed: bool = False,
        from_logits: bool = False,
        ridge: float = 1.0,
        monotone: bool = True,
        eps: float | None = None,
        limits: bool = False,
    ) -> None:
        self.signed = signed
        self.from_logits = from_logits
        self.ridge = ridge
        self.monotone = monotone
        self.eps = eps
        self.limits = limits

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("signed", self.signed)

    def _adapt(self, cells: LogitCells) -> None:
        self.reach_ = max(float(np.abs(cells.z).max()), 1.0)

    @property
    def _curve(self) -> Bend:
        return Bend(self.reach_, bool(self.signed))

    @property
    def _natural(self) -> Floats:
        return np.asarray(self._curve.natural @ self.coefficients_)

    @property
    def a_(self) -> float:
        """The value at log-odds 0."""
        return float(self._natural[0])

    @property
    def b_(self) -> float:
        """The slope at log-odds 0."""
        return float(self._natural[1])

    @property
    def c_(self) -> float:
        """The factor of the square."""
        return float(self._natural[2])
