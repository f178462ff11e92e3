"""Vector, matrix and Dirichlet scaling: multinomial regression on logits."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import refuse_bad
from trueness._numerics import softmax as soft
from trueness._numerics.multinomial import DiagonalMap, FullMap, LinearMap, multinomial_regression
from trueness.errors import SeparableWarning, warn
from trueness.recalibrate._calibration_set import CalibrationSet, Shape
from trueness.recalibrate._calibrator import with_parameters
from trueness.recalibrate._formula import Linear, Logs, PythonOnly, Softmax
from trueness.recalibrate._logit_map import (
    ABOUT_MATRIX,
    EPS_STATE,
    LogitMap,
    check_penalty,
    warn_not_converged,
)
from trueness.recalibrate._saving import Field, array, n_classes, whole
from trueness.typing import ArrayLike, Floats

# With larger logits the identity map predicts 0 and 1 alone, so the search starts at the best
# temperature.
_EXTREME = 1e3
_LARGEST = 1e6  # beyond this, rounding of the logits hides the log-odds that a map makes of them


class _Multinomial(LogitMap):
    """Multinomial regression on logits, with a ridge penalty around the identity map."""

    _shape: ClassVar[Shape] = "matrix"
    _shared_parameters: ClassVar = {
        **ABOUT_MATRIX,
        "from_logits": """    from_logits : bool, default False
        Whether the scores are logits. Probabilities enter by their logarithms, logits unchanged, so
        that a constant added to all logits of a row matters. Logits must lie within ±10⁶.""",
    }

    _positive: ClassVar = "l2"

    l2: float
    max_iter: int
    intercept_: Floats

    def _fit(self, rows: CalibrationSet) -> None:
        """Fit the linear map of the logits by penalized multinomial regression.

        Separated labels, absent classes and a search that did not end are warned of; there is a fit
        all the same.
        """
        X = self._fit_logits(rows).astype(np.float64)
        self._check_logits(X)
        if self._normalized:
            X = soft.log_softmax(X)
        linear, identity, ridge = self._problem(X)
        if np.abs(X).max() > _EXTREME:
            start = identity * soft.inverse_temperature(X, rows.y, rows.w).value
        else:
            start = identity
        solution = multinomial_regression(
            linear, rows.y, rows.weights, identity, ridge, self.max_iter, start=start
        )
        self.n_iter_ = solution.n_steps
        self._keep(solution.theta)
        if not solution.converged:
            warn_not_converged(solution.n_steps)
        absent = np.flatnonzero(np.bincount(rows.y, minlength=X.shape[1]) == 0)
        if solution.separable or absent.size:
            if solution.separable:
                why = "The map separates the labels"
            else:
                why = f"Class {absent[0]} has no rows"
            warn(
                f"{why}: its parameters depend on the penalty alone (l2 = {self.l2:g}).",
                SeparableWarning,
            )

    @property
    def _normalized(self) -> bool:
        """Whether logits are converted to log-probabilities first."""
        return False

    def _accept(self, y_prob: ArrayLike) -> NDArray[Any]:
        p = super()._accept(y_prob)
        self._check_logits(p)
        return p

    def _check_logits(self, logits: NDArray[Any]) -> None:
        """Raise if a logit is too large for this map; logarithms of probabilities never are."""
        bad = np.abs(logits) > _LARGEST if self._takes_logits else np.zeros(1, np.bool_)
        if bad.any():
            demand = f"as logits must lie within ±{_LARGEST:g} for this calibrator"
            remedy = "Use `TemperatureScaling`, which has no such limit."
            refuse_bad(
                "y_prob", demand, bad, f"do not, the first is {logits[bad][0]:g}", remedy=remedy
            )

    def _softmax(self, matrix: Floats) -> Softmax:
        return Softmax(
            self._logs(normalized=self._normalized, largest=_LARGEST),
            Linear(matrix, self.intercept_),
        )

    @abstractmethod
    def _problem(self, X: Floats) -> tuple[LinearMap, Floats, Floats]:
        """The linear map, the parameters of the identity, and the ridge penalty around it."""

    @abstractmethod
    def _keep(self, theta: Floats) -> None: ...


@with_parameters
class VectorScaling(_Multinomial):
    r"""Vector scaling: scale and shift the logit of each class.

    Parameters
    ----------
    l2 : float, default 1e-6
        Ridge penalty: half this, times the squared distance of the parameters from the identity
        map, is added to the mean log loss.
    limits : bool, default False
        Whether `predict` uses probabilities below `eps` unchanged, so that 0 is mapped to the limit
        of the map.

    Notes
    -----
    A row of logits :math:`z` becomes the softmax of :math:`s_k z_k + b_k`, with :math:`z = \log p`
    for probabilities. The ridge penalty makes the optimum unique (a constant added to all shifts
    changes nothing) and finite. If the map separates the labels, or a class has no rows, the
    penalty alone determines its size, and a :class:`~trueness.errors.SeparableWarning` is given.
    With `limits`, a class of probability 0 is mapped to the limit for small probabilities: 0 if its
    factor is positive.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On calibration of modern neural networks,
    ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.recalibrate import VectorScaling
    >>> P = np.repeat([[0.2, 0.8], [0.5, 0.5], [0.8, 0.2]], 10, axis=0)
    >>> y = np.repeat([1, 0, 1, 0, 1, 0], [9, 1, 5, 5, 1, 9])
    >>> VectorScaling().fit(P, y).predict([[0.2, 0.8], [0.0, 1.0]]).round(3)
    array([[0.1  , 0.9  ],
           [0.001, 0.999]])
    """

    _state: ClassVar = {
        **EPS_STATE,
        "scale": Field("factor of each class's logit", array(n_classes)),
        "intercept": Field("number added to each class's logit", array(n_classes)),
        "n_iter": Field("steps of Newton's method", whole()),
    }

    from_logits: bool = False
    l2: float = 1e-6
    eps: float | None = None
    max_iter: int = 100
    limits: bool = False

    def _problem(self, X: Floats) -> tuple[LinearMap, Floats, Floats]:
        identity = np.tile([1.0, 0.0], (X.shape[1], 1))
        return DiagonalMap(X), identity, np.full(identity.shape, float(self.l2))

    def _keep(self, theta: Floats) -> None:
        self.scale_, self.intercept_ = np.ascontiguousarray(theta.T)

    def _formula(self) -> Softmax | PythonOnly:
        if self.limits and not self.from_logits and (self.scale_ <= 0).any():
            return PythonOnly(
                self._limit, "with limits=True, which class wins depends on which others are 0"
            )
        return self._softmax(self.scale_)

    def _limit(self, p: NDArray[Any]) -> Floats:
        """The limit as scores of 0 go there together, where some factors are not positive."""
        logs = Logs()(p)
        zero = np.isneginf(logs)
        logits = np.where(zero, 0.0, logs) * self.scale_ + self.intercept_
        # The log-odds of such classes change at these rates.
        rate = np.where(zero, -self.scale_, 0.0)
        return soft.softmax(np.where(rate < rate.max(axis=1, keepdims=True), -np.inf, logits))


@with_parameters
class MatrixScaling(_Multinomial):
    r"""Matrix scaling: transform the logits by a matrix and shifts.

    Parameters
    ----------
    l2 : float, default 0.01
        Ridge penalty: half this, times the squared distance of the parameters from the identity
        map, is added to the mean log loss. The published map has no penalty and overfits when there
        are many classes and few rows; the default was chosen by cross-validation
        (``benchmarks/cases/regularisation.py``).
    odir : float, default 0
        ODIR penalty: this, times the mean square of the off-diagonal entries of the matrix and
        times that of the shifts, is added to the mean log loss.

    Notes
    -----
    A row of logits :math:`z` becomes the softmax of :math:`W z + b`, with :math:`z = \log p` for
    probabilities. If several probabilities of a row go to 0, the limit depends on how fast each
    does, so zeros are replaced in `predict` too. Separable labels are treated as in
    :class:`VectorScaling`, which comes from the same paper.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.recalibrate import MatrixScaling
    >>> P = np.repeat([[0.2, 0.8], [0.5, 0.5], [0.8, 0.2]], 10, axis=0)
    >>> y = np.repeat([1, 0, 1, 0, 1, 0], [9, 1, 5, 5, 1, 9])
    >>> MatrixScaling(l2=1e-9).fit(P, y).predict([[0.2, 0.8], [0.5, 0.5]]).round(3)
    array([[0.1, 0.9],
           [0.5, 0.5]])
    """

    _state: ClassVar = {
        **EPS_STATE,
        "matrix": Field(
            "row k holds the factors of all logits in the log-odds of class k",
            array(*[n_classes] * 2),
        ),
        "intercept": Field("number added to each class's log-odds", array(n_classes)),
        "n_iter": Field("steps of Newton's method", whole()),
    }

    from_logits: bool = False
    l2: float = 0.01
    odir: float = 0.0
    eps: float | None = None
    max_iter: int = 100

    def _problem(self, X: Floats) -> tuple[LinearMap, Floats, Floats]:
        """The linear map, the parameters of the identity, and the ridge on each parameter.

        The ridge is that of ODIR: one weight off the diagonal, one on the shifts, divided by their
        number.
        """
        n_classes = X.shape[1]
        identity = np.eye(n_classes, n_classes + 1)
        matrix = 2 * self.odir / (n_classes * (n_classes - 1)) * (1 - np.eye(n_classes))
        intercept_penalty = getattr(self, "odir_intercept", None)
        shifts = np.full(
            n_classes,
            2 * (self.odir if intercept_penalty is None else intercept_penalty) / n_classes,
        )
        return FullMap(X), identity, np.column_stack([matrix, shifts]) + self.l2

    def _keep(self, theta: Floats) -> None:
        self.matrix_ = theta[:, :-1].copy()
        self.intercept_ = theta[:, -1].copy()

    def _formula(self) -> Softmax:
        return self._softmax(self.matrix_)


@with_parameters
class DirichletCalibration(MatrixScaling):
    r"""Dirichlet calibration: optimal if each class has Dirichlet-distributed probabilities.

    Beta calibration for any number of classes: :class:`MatrixScaling` of log-probabilities, with
    the authors' penalty on the off-diagonal entries of the matrix and on the shifts.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the scores are logits, which are converted to log-probabilities first.
    odir : float, default 100
        ODIR penalty: this, times the mean square of the off-diagonal entries of the matrix, is
        added to the mean log loss. More rows need less; choose it by cross-validation where that
        matters. The default was chosen in this way on many data sets together
        (``benchmarks/cases/regularisation.py``).
    odir_intercept : float, optional
        The same for the mean square of the shifts; `odir` by default.
    l2 : float, default 1e-6
        Ridge penalty: half this, times the squared distance of the parameters from the identity
        map, is added to the mean log loss. (The authors' L2 penalty shrinks towards 0, which makes
        all classes equally likely.)

    Notes
    -----
    A row :math:`p` becomes the softmax of :math:`W \log p + b`. The objective is

    .. math::

        \text{mean log loss} + \frac{\lambda}{K (K - 1)} \sum_{j \ne k} w_{kj}^2 + \frac{\mu}{K}
        \sum_k b_k^2 + \frac{l_2}{2} \left( \|W - I\|^2 + \|b\|^2 \right) ,

    with λ = `odir` and μ = `odir_intercept`. Probabilities of 0 are treated as in
    :class:`MatrixScaling`.

    References
    ----------
    M. Kull, M. Perello-Nieto, M. Kängsepp, T. Silva Filho, H. Song, P. Flach, Beyond temperature
    scaling: obtaining well-calibrated multi-class probabilities with Dirichlet calibration,
    NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.recalibrate import DirichletCalibration
    >>> P = np.repeat([[0.2, 0.8], [0.5, 0.5], [0.8, 0.2]], 10, axis=0)
    >>> y = np.repeat([1, 0, 1, 0, 1, 0], [9, 1, 5, 5, 1, 9])
    >>> DirichletCalibration().fit(P, y).predict([[0.2, 0.8], [0.5, 0.5]]).round(3)
    array([[0.1, 0.9],
           [0.5, 0.5]])
    """

    odir: float = 100.0
    odir_intercept: float | None = None
    l2: float = 1e-6

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.odir_intercept is not None:
            check_penalty("odir_intercept", self.odir_intercept)

    @property
    def _normalized(self) -> bool:
        return bool(self.from_logits)
