"""Vector, matrix and Dirichlet scaling: log-odds that are linear in the logits of all classes."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trueness._numerics.multinomial import DiagonalMap, FullMap, LinearMap, log_softmax, multinomial_regression
from trueness._numerics.softmax import inverse_temperature, softmax
from trueness.errors import InputError, NotConvergedWarning, SeparableWarning, warn
from trueness.recalibrate._calibration_set import Rows, Scale, Shape
from trueness.recalibrate._calibrator import Calibrator
from trueness.recalibrate._fitted_state import check_array, check_learnt_whole
from trueness.recalibrate._logit_map import check_eps, check_input, check_penalty, logits_of, movable_logits
from trueness.typing import Floats

__all__ = ["DirichletCalibration", "MatrixScaling", "VectorScaling"]


# With logits beyond this the identity map is certain of every row: the search begins at the best temperature.
_BOLD = 1e3
# Beyond this the log-odds that a map makes of logits are lost in their rounding.
_LARGEST = 1e6


class _Multinomial(Calibrator):
    """What the three share: multinomial regression on logits, with a ridge around the identity map."""

    _shape: ClassVar[Shape] = "matrix"
    _names: ClassVar[tuple[str, ...]] = ("l2",)

    input: Scale
    l2: float
    eps: float
    max_iter: int

    n_iter_: int

    @property
    def _scale(self) -> Scale:
        return self.input

    def _check_parameters(self) -> None:
        check_input(self.input)
        check_eps(self.eps)
        for name in self._names:
            check_penalty(name, getattr(self, name), positive=name == "l2")
        whole = isinstance(self.max_iter, int | np.integer) and not isinstance(self.max_iter, bool)
        if not whole or self.max_iter < 1:
            raise InputError("max_iter", "must be a whole number ≥ 1", f"got {self.max_iter!r}")

    def _fit(self, rows: Rows) -> None:
        X = self._features(movable_logits(rows.p, self.input, self.eps))
        linear, identity, ridge = self._problem(X)
        start = identity * inverse_temperature(X, rows.y, rows.w).value if np.abs(X).max() > _BOLD else identity
        found = multinomial_regression(linear, rows.y, rows.weights, identity, ridge, self.max_iter, start=start)
        self.n_iter_ = found.n_steps
        self._keep(found.theta)
        if not found.converged:
            warn(
                f"The search for the optimum stopped after {found.n_steps} steps, before it was reached. "
                "A larger `max_iter` or a larger penalty helps.",
                NotConvergedWarning,
            )
        absent = np.flatnonzero(np.bincount(rows.y, minlength=X.shape[1]) == 0)
        if found.separable or absent.size:
            why = "The map separates the labels" if found.separable else f"Class {absent[0]} never came true"
            warn(f"{why}: its size is decided by the penalty alone (l2 = {self.l2:g}).", SeparableWarning)

    def _features(self, logits: NDArray[Any]) -> Floats:
        found = logits.astype(np.float64)
        if self.input == "logits":
            _check_size(found)
        return found

    @abstractmethod
    def _problem(self, X: Floats) -> tuple[LinearMap, Floats, Floats]:
        """Log-odds, the identity map, and the ridge around it."""

    @abstractmethod
    def _keep(self, theta: Floats) -> None: ...


def _check_size(logits: Floats) -> None:
    if not logits.size:
        return
    size = np.abs(logits)
    count = int((size > _LARGEST).sum())
    if count:
        at = np.unravel_index(int(np.argmax(size > _LARGEST)), size.shape)
        raise InputError(
            f"`y_prob` as logits must lie within ±{_LARGEST:g} for this calibrator; {count:,} of {logits.size:,} "
            f"{'do' if count > 1 else 'does'} not, the first is {logits[at]:g} at row {at[0]}, column {at[1]}. "
            "`TemperatureScaling` takes them."
        )


class VectorScaling(_Multinomial):
    r"""Give the logit of every class a factor and a shift of its own.

    Parameters
    ----------
    input : {'probabilities', 'logits'}, default 'probabilities'
        What the scores are. Of probabilities the logarithm is taken; logits are used as they are, so that a number
        added to all logits of a row matters. They must lie within ±10⁶.
    l2 : float, default 1e-6
        Ridge: half this, times the squared distance of the parameters from the identity map, is added to the mean log
        loss.
    eps : float, default 1e-12
        In `fit`, probabilities of exactly 0 are replaced by this, with a warning.
    max_iter : int, default 100
        Steps of Newton's method after which the search stops, with a warning; it needs about ten.

    Attributes
    ----------
    scale_, intercept_ : arrays of shape (K,)
        Factors and shifts.
    n_iter_ : int
        Steps that were needed.

    Notes
    -----
    A row of logits :math:`z` becomes the softmax of :math:`s_k z_k + b_k`, :math:`z = \log p` for probabilities. The
    ridge makes the optimum unique (a number added to all shifts changes nothing) and finite. Where the map separates
    the labels, or a class never came true, it alone decides, and a :class:`~trueness.errors.SeparableWarning` says so.
    A class of probability 0 gets the limit as that probability falls: 0 if its factor is positive.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On calibration of modern neural networks, ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.recalibrate import VectorScaling
    >>> P = np.repeat([[0.2, 0.8], [0.5, 0.5], [0.8, 0.2]], 10, axis=0)
    >>> y = np.repeat([1, 0, 1, 0, 1, 0], [9, 1, 5, 5, 1, 9])
    >>> VectorScaling().fit(P, y).predict([[0.2, 0.8], [0.0, 1.0]]).round(3)
    array([[0.1, 0.9],
           [0. , 1. ]])
    """

    _learnt: ClassVar[dict[str, str]] = {
        "scale": "factor of each class's logit",
        "intercept": "number added to each class's logit",
        "n_iter": "steps of Newton's method",
    }

    scale_: Floats
    intercept_: Floats

    def __init__(
        self, *, input: Scale = "probabilities", l2: float = 1e-6, eps: float = 1e-12, max_iter: int = 100
    ) -> None:
        self.input = input
        self.l2 = l2
        self.eps = eps
        self.max_iter = max_iter

    def _check_learnt(self) -> None:
        for name in ("scale", "intercept"):
            check_array(self, name, (self.n_classes_ or 0,))
        check_learnt_whole(self, "n_iter")

    def _problem(self, X: Floats) -> tuple[LinearMap, Floats, Floats]:
        identity = np.tile([1.0, 0.0], (X.shape[1], 1))
        return DiagonalMap(X), identity, np.full(identity.shape, float(self.l2))

    def _keep(self, theta: Floats) -> None:
        self.scale_, self.intercept_ = np.ascontiguousarray(theta.T)

    def _map(self, p: NDArray[Any]) -> Floats:
        logits = self._features(logits_of(p, self.input))
        never = np.isneginf(logits)
        logits[never] = 0.0
        logits = logits * self.scale_ + self.intercept_
        if never.any():
            # As probabilities fall to 0 together, the log-odds of their classes grow or fall at these rates.
            rate = np.where(never, -self.scale_, 0.0)
            logits[rate < rate.max(axis=1, keepdims=True)] = -np.inf
        return softmax(logits)


class MatrixScaling(_Multinomial):
    r"""Mix the logits of all classes by a matrix.

    Parameters
    ----------
    input : {'probabilities', 'logits'}, default 'probabilities'
        As for :class:`VectorScaling`.
    l2 : float, default 0.01
        Ridge: half this, times the squared distance of the parameters from the identity map, is added to the mean log
        loss. The published map has none, and fits noise when there are many classes and few rows. The default was
        chosen by cross-validation (``benchmarks/regularisation.py``).
    odir : float, default 0
        As for :class:`DirichletCalibration`, for both matrix and shifts.
    eps : float, default 1e-12
        Probabilities of exactly 0 are replaced by this in `fit` and in `predict`, with a warning.
    max_iter : int, default 100
        As for :class:`VectorScaling`.

    Attributes
    ----------
    matrix_ : array of shape (K, K)
        Row k says how the logits make the log-odds of class k.
    intercept_ : array of shape (K,)
        Shifts.
    n_iter_ : int
        Steps that were needed.

    Notes
    -----
    A row of logits :math:`z` becomes the softmax of :math:`W z + b`, :math:`z = \log p` for probabilities. Where
    several probabilities of a row fall to 0, the limit depends on how fast each does; so zeros are replaced in
    `predict` too. What is said of separable labels at :class:`VectorScaling` holds here.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On calibration of modern neural networks, ICML 2017.

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

    _names: ClassVar[tuple[str, ...]] = ("l2", "odir")
    _learnt: ClassVar[dict[str, str]] = {
        "matrix": "row k holds the factors of all logits in the log-odds of class k",
        "intercept": "number added to each class's log-odds",
        "n_iter": "steps of Newton's method",
    }

    odir: float
    matrix_: Floats
    intercept_: Floats

    def __init__(
        self,
        *,
        input: Scale = "probabilities",
        l2: float = 0.01,
        odir: float = 0.0,
        eps: float = 1e-12,
        max_iter: int = 100,
    ) -> None:
        self.input = input
        self.l2 = l2
        self.odir = odir
        self.eps = eps
        self.max_iter = max_iter

    def _check_learnt(self) -> None:
        n_classes = self.n_classes_ or 0
        check_array(self, "matrix", (n_classes, n_classes))
        check_array(self, "intercept", (n_classes,))
        check_learnt_whole(self, "n_iter")

    def _problem(self, X: Floats) -> tuple[LinearMap, Floats, Floats]:
        n_classes = X.shape[1]
        identity = np.eye(n_classes, n_classes + 1)
        matrix = 2 * self.odir / (n_classes * (n_classes - 1)) * (1 - np.eye(n_classes))
        shifts = np.full(n_classes, 2 * self._odir_of_shifts() / n_classes)
        return FullMap(X), identity, np.column_stack([matrix, shifts]) + self.l2

    def _odir_of_shifts(self) -> float:
        return self.odir

    def _keep(self, theta: Floats) -> None:
        self.matrix_, self.intercept_ = theta[:, :-1].copy(), theta[:, -1].copy()

    def _map(self, p: NDArray[Any]) -> Floats:
        X = self._features(movable_logits(p, self.input, self.eps))
        return softmax(X @ self.matrix_.T + self.intercept_)


class DirichletCalibration(MatrixScaling):
    r"""Map probabilities as if each class drew them from a Dirichlet distribution.

    Beta calibration for any number of classes: :class:`MatrixScaling` of log-probabilities, with the penalty of its
    authors, which lets each class keep its own factor and holds back the mixing of classes.

    Parameters
    ----------
    input : {'probabilities', 'logits'}, default 'probabilities'
        What the scores are. Logits are turned into log-probabilities first.
    odir : float, default 100
        ODIR penalty: this, times the mean square of the off-diagonal entries of the matrix, is added to the mean log
        loss. The more rows, the smaller it should be; choose it by cross-validation where that matters. The default was
        chosen so, on many data sets at once (``benchmarks/regularisation.py``).
    odir_intercept : float, optional
        The same for the mean square of the shifts; `odir` if not given.
    l2 : float, default 1e-6
        As for :class:`VectorScaling`. (The authors' L2 pulls to 0, which would make all classes equally likely; this
        one pulls to the identity map.)
    eps : float, default 1e-12
        As for :class:`MatrixScaling`.
    max_iter : int, default 100
        As for :class:`VectorScaling`.

    Attributes
    ----------
    matrix_, intercept_, n_iter_
        As for :class:`MatrixScaling`.

    Notes
    -----
    A row :math:`p` becomes the softmax of :math:`W \log p + b`. The objective is

    .. math::

        \text{mean log loss} + \frac{\lambda}{K (K - 1)} \sum_{j \ne k} w_{kj}^2 + \frac{\mu}{K} \sum_k b_k^2
        + \frac{l_2}{2} \left( \|W - I\|^2 + \|b\|^2 \right) ,

    with λ = `odir` and μ = `odir_intercept`. What is said of zeros at :class:`MatrixScaling` holds here.

    References
    ----------
    M. Kull, M. Perello-Nieto, M. Kängsepp, T. Silva Filho, H. Song, P. Flach, Beyond temperature scaling: obtaining
    well-calibrated multi-class probabilities with Dirichlet calibration, NeurIPS 2019.

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

    odir_intercept: float | None

    def __init__(
        self,
        *,
        input: Scale = "probabilities",
        odir: float = 100.0,
        odir_intercept: float | None = None,
        l2: float = 1e-6,
        eps: float = 1e-12,
        max_iter: int = 100,
    ) -> None:
        self.odir_intercept = odir_intercept
        super().__init__(input=input, l2=l2, odir=odir, eps=eps, max_iter=max_iter)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.odir_intercept is not None:
            check_penalty("odir_intercept", self.odir_intercept)

    def _odir_of_shifts(self) -> float:
        return self.odir if self.odir_intercept is None else self.odir_intercept

    def _features(self, logits: NDArray[Any]) -> Floats:
        found = super()._features(logits)
        return log_softmax(found) if self.input == "logits" else found
