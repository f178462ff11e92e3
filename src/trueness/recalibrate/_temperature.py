"""Temperature scaling, a mixture of temperatures, and structured scaling, which refines one."""

import sys
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._numerics import softmax as soft
from trueness._numerics.multinomial import (
    DiagonalMap,
    FullMap,
    LinearMap,
    Regression,
    multinomial_regression,
)
from trueness.errors import SeparableWarning, warn
from trueness.recalibrate._calibration_set import CalibrationSet, Shape
from trueness.recalibrate._calibrator import with_parameters
from trueness.recalibrate._formula import Linear, LogOdds, Mixture, Softmax, line
from trueness.recalibrate._logit_map import ABOUT_MATRIX, EPS_STATE, LogitMap, warn_not_converged
from trueness.recalibrate._saving import (
    Field,
    all_of,
    array,
    fractions,
    n_classes,
    number,
    sums_to_one,
    whole,
)
from trueness.typing import Floats, Ints

Structure: TypeAlias = Literal["matrix", "vector"]

# Penalties of factors, shifts and mixing terms, as numbers of rows.
_FACTORS: dict[str, float] = {"vector": 1.0, "matrix": 5.0}
_SHIFTS = 1.0
_MIXING = 20.0
_EM_STEPS = 1000
_EM_CONVERGED = 1e-10


@with_parameters
class TemperatureScaling(LogitMap):
    r"""Temperature scaling: divide all logits by one temperature.

    The temperature minimises the log loss. Above 1, predictions were over-confident and are
    softened; below 1, they were under-confident and are sharpened. The order of the classes in a
    row never changes.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the scores are logits. A vector is P(positive) or its logit; a matrix has one column
        per class.
    eps : float, optional
        Smaller probabilities are set to this, and those of a vector above 1 − eps to 1 − eps; `fit`
        warns if some are exactly 0 or 1. Default: 1 / (K (n + 1)) for n rows and K classes, or less
        if some scores are nearer to 0 or 1, but at least the square of that.
    limits : bool, default False
        Whether `predict` uses scores outside [eps, 1 − eps] unchanged, so that 0 stays 0 and 1
        stays 1.
    ridge : float, default 0
        Half this, times the squared distance of 1/T from 1, is added to the log loss summed over
        rows: it shrinks the map towards the identity where rows are few. 1 is a good choice.

    Notes
    -----
    A row of logits :math:`z` becomes

    .. math:: \frac{e^{z_k / T}}{\sum_j e^{z_j / T}} , \qquad z = \log p \text{ for probabilities},

    and P(positive) :math:`p` becomes :math:`1 / (1 + e^{-x / T})`, :math:`x = \log(p / (1 - p))`.
    The log loss is convex in 1/T; a safeguarded search by its derivatives finds the minimum to a
    relative 1e-8.

    In three cases there is no minimum, and a :class:`~trueness.errors.SeparableWarning` is given.
    If every label has the largest score of its row, labels are smoothed by Platt's rule: in its own
    rows, a class of weight N has the target (N + 1) / (N + K). If no finite T is better than T = ∞,
    T is 10⁶ times the spread of the logits (the root mean square of their deviations from the row
    mean), which makes all classes nearly equally likely. If the logits of every row are equal, T
    is 1.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On calibration of modern neural networks,
    ICML 2017.

    Examples
    --------
    Odds of 3:1 were predicted, 2:1 were observed.

    >>> from trueness.recalibrate import TemperatureScaling
    >>> fitted = TemperatureScaling().fit([0.75] * 9, [1] * 6 + [0] * 3)
    >>> round(fitted.temperature_, 4)
    1.585
    >>> fitted.predict([0.75, 0.5, 1.0]).round(4)
    array([0.6667, 0.5   , 0.865 ])
    """

    _shape: ClassVar[Shape] = "any"
    _state: ClassVar = {
        **EPS_STATE,
        "temperature": Field("number that all logits are divided by", number(above=0)),
    }

    from_logits: bool = False
    eps: float | None = None
    limits: bool = False
    ridge: float = 0.0

    def _fit(self, rows: CalibrationSet) -> None:
        """Find the temperature of the largest likelihood.

        Where there is none, the finite one that the search returned is kept, with a warning that
        says why.
        """
        logits = self._fit_logits(rows)
        if logits.ndim == 1:
            logits = np.column_stack([np.zeros_like(logits), logits])
        solution = soft.inverse_temperature(logits, rows.y, rows.w, self.ridge)
        self.temperature_ = min(1 / solution.value, sys.float_info.max)  # logits may be that large
        message = {
            "separable": "Every label has the largest score of its row: no temperature is small "
            "enough. Labels were smoothed by Platt's rule",
            "reversed": "Labels are not likelier where scores are higher: no temperature is high "
            "enough. It was set to 10⁶ times the spread of the logits",
            "constant": "The logits of every row are equal: the temperature is not determined",
        }.get(solution.verdict)
        if message:
            warn(f"{message}; T = {self.temperature_:.4g}.", SeparableWarning)

    def _formula(self) -> LogOdds | Softmax:
        if self.n_classes_ is None:
            return self._log_odds(line(0, 1 / self.temperature_))
        return Softmax(self._logs(), temperature=self.temperature_)


@with_parameters
class EnsembleTemperatureScaling(LogitMap):
    r"""Ensemble temperature scaling: a mixture of tempered, original and uniform scores.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the scores are logits.

    Notes
    -----
    The temperature is that of :class:`trueness.TemperatureScaling`; then the weights minimise the
    log loss, which is convex in them, by expectation-maximisation. The order of the classes in a
    row never changes.

    References
    ----------
    J. Zhang, B. Kailkhura, T. Y.-J. Han, Mix-n-Match: ensemble and compositional methods for
    uncertainty calibration in deep learning, ICML 2020.

    Examples
    --------
    >>> import trueness as tn
    >>> d = tn.simulate.multiclass(4_000, 3, distortion=tn.simulate.LabelNoise(0.3), seed=0)
    >>> fitted = tn.recalibrate.EnsembleTemperatureScaling().fit(d.y_prob, d.y_true)
    >>> bool(fitted.weights_[2] > 0.1)
    True
    """

    _shape: ClassVar[Shape] = "matrix"
    _shared_parameters: ClassVar = ABOUT_MATRIX
    _state: ClassVar = {
        **EPS_STATE,
        "temperature": Field("number that logits are divided by", number(above=0)),
        "weights": Field(
            "weights of tempered scores, scores and 1/K",
            all_of(fractions(lambda _: 3), sums_to_one),
        ),
    }

    from_logits: bool = False
    eps: float | None = None

    def _fit(self, rows: CalibrationSet) -> None:
        """Find the temperature, then the weights of scaled, original and uniform scores by EM.

        It ends when no weight moves any more, or after a fixed number of steps.
        """
        logits = self._fit_logits(rows)
        self.temperature_ = 1 / soft.inverse_temperature(logits, rows.y, rows.w).value
        uniform = np.full(logits.shape, 1 / logits.shape[1])
        parts = soft.softmax(logits, self.temperature_), soft.softmax(logits), uniform
        label_share = np.stack([part[np.arange(rows.y.size), rows.y] for part in parts], axis=1)
        weight = rows.weights / rows.weights.sum()
        mixture = np.full(3, 1 / 3)
        for _ in range(_EM_STEPS):
            share = label_share * mixture
            total = share.sum(axis=1, keepdims=True)
            after = weight @ (share / np.where(total > 0, total, 1))
            after = after / after.sum()
            moved = float(np.abs(after - mixture).max())
            mixture = after
            if moved < _EM_CONVERGED:
                break
        self.weights_ = mixture

    def _formula(self) -> Mixture:
        tempered, plain, uniform = map(float, self.weights_)
        parts = Softmax(self._logs(), temperature=self.temperature_), Softmax(self._logs())
        return Mixture((tempered, plain), parts, uniform * (1 / n_classes(self)))


def fit_structured(
    logits: NDArray[Any], y: Ints, w: Floats, structure: Structure, ridge: float, max_iter: int
) -> tuple[float, Linear, Regression]:
    """Fit log-odds of classes that are linear in the logits, pulled towards one temperature.

    `logits` have shape (n, K); `y` are the codes of the labels, `w` the weights of the rows. With z
    the logits of a row minus their mean, a temperature T is fitted first (with a ridge towards 1).
    Then a multinomial regression fits log-odds W z + b, where W has shape (K, K) and b has K
    entries. With `structure` "vector" W is diagonal. Quadratic penalties pull the diagonal of W
    towards 1 / T, and b and the rest of W towards 0. `ridge` multiplies all of them. As the
    regression minimises a mean, the penalties are divided by the sum of the weights and so fade as
    rows increase.

    The result is T, the map (W, b), and the solution of the regression with its steps and whether
    it converged within `max_iter` steps of Newton's method; that is not checked here. The penalties
    are those of Berta, Holzmüller, Jordan and Bach, Structured matrix scaling for multi-class
    calibration, 2025.
    """
    z = Linear(centred=True)(logits)
    n = float(w.sum())
    k = z.shape[1]
    beta = soft.inverse_temperature(z, y, w, ridge).value
    factor, shift, mixing = (
        ridge * penalty / n for penalty in (_FACTORS[structure], _SHIFTS, _MIXING)
    )
    linear: LinearMap
    if structure == "vector":
        linear = DiagonalMap(z)
        centre = np.tile([beta, 0.0], (k, 1))
        penalty = np.tile([factor, shift], (k, 1))
    else:
        linear = FullMap(z)
        centre = beta * np.eye(k, k + 1)
        penalty = np.column_stack(
            [np.where(np.eye(k, dtype=bool), factor, mixing), np.full(k, shift)]
        )
    solution = multinomial_regression(linear, y, w, centre, penalty, max_iter)
    matrix = (
        np.diag(solution.theta[:, 0]) if structure == "vector" else solution.theta[:, :-1].copy()
    )
    return 1 / beta, Linear(matrix, solution.theta[:, -1].copy(), centred=True), solution


@with_parameters
class StructuredScaling(LogitMap):
    r"""Structured scaling: vector or matrix scaling, penalised towards one temperature.

    Plain :class:`VectorScaling` and :class:`MatrixScaling` overfit when classes are many and rows
    are few. Here a temperature is fitted first; factors of single classes, shifts and, with
    ``structure="matrix"``, influences of one class on another depart from it only as far as the
    data support.

    Parameters
    ----------
    structure : {'matrix', 'vector'}, default 'matrix'
        Whether classes may influence each other. The matrix has K² parameters: up to about 100
        classes.
    from_logits : bool, default False
        Whether the scores are logits. A number added to all logits of a row does not matter.
    ridge : float, default 1
        Multiple of the penalties below.

    Notes
    -----
    With :math:`z` the logits of a row minus their mean, the map is the softmax of :math:`W z + b`.
    The log loss, summed over rows, plus :math:`\frac12 (\lambda \sum_k (w_{kk} - 1/T)^2 + 20
    \sum_{j \ne k} w_{kj}^2 + \sum_k b_k^2)` is minimised, :math:`\lambda = 5` for a matrix and 1
    for a vector, whose :math:`w_{kj}` are 0. As the loss is summed, the penalties fade as rows
    increase.

    References
    ----------
    E. Berta, D. Holzmüller, M. I. Jordan, F. Bach, Structured matrix scaling for multi-class
    calibration, 2025.

    Examples
    --------
    >>> import trueness as tn
    >>> d = tn.simulate.multiclass(4_000, 3, distortion=tn.simulate.Temperature(2.0), seed=0)
    >>> fitted = tn.recalibrate.StructuredScaling().fit(d.y_prob, d.y_true)
    >>> round(fitted.temperature_)
    2
    """

    _shape: ClassVar[Shape] = "matrix"
    _shared_parameters: ClassVar = ABOUT_MATRIX
    _state: ClassVar = {
        **EPS_STATE,
        "temperature": Field("temperature towards which the map is pulled", number(above=0)),
        "matrix": Field(
            "row k holds the factors of all centred logits in class k", array(n_classes, n_classes)
        ),
        "intercept": Field("number added to each class's log-odds", array(n_classes)),
        "n_iter": Field("steps of Newton's method", whole()),
    }

    _positive: ClassVar = "ridge"

    structure: Structure = "matrix"
    from_logits: bool = False
    ridge: float = 1.0
    eps: float | None = None
    max_iter: int = 100

    def _fit(self, rows: CalibrationSet) -> None:
        """Fit the matrix of this structure, with shifts; a search that did not end is warned of."""
        z = self._fit_logits(rows)
        fitted = fit_structured(
            z, rows.y, rows.weights, self.structure, float(self.ridge), self.max_iter
        )
        self.temperature_, (self.matrix_, self.intercept_, *_), fit = fitted
        self.n_iter_ = fit.n_steps
        if not fit.converged:
            warn_not_converged(self.n_iter_)

    def _formula(self) -> Softmax:
        return Softmax(self._logs(), Linear(self.matrix_, self.intercept_, centred=True))
