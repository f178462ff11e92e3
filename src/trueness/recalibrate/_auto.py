"""The default map: candidates from the identity to flexible ones, combined by held-out log loss."""

import math
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from trueness._keywords import suggests_keywords
from trueness._level import level_percent
from trueness._numerics.softmax import log_softmax
from trueness._numerics.units import units_of
from trueness._tally.events import Events, clusters_of
from trueness._tally.row_sums import are_whole
from trueness.recalibrate import _auto_candidates as fits
from trueness.recalibrate import _formula as formulas
from trueness.recalibrate._calibration_set import (
    CalibrationSet,
    Shape,
    group_codes,
    rows_of_events,
    used_rows,
)
from trueness.recalibrate._calibrator import with_parameters
from trueness.recalibrate._logit_map import EPS_STATE, LogitMap, logit_cells
from trueness.recalibrate._saving import (
    Field,
    Fitted,
    Stored,
    all_of,
    array,
    meets,
    names_of,
    number,
    real,
    sums_to_one,
)
from trueness.typing import ArrayLike, Floats, Ints

_FOLDS = 5
_NEARLY_ALWAYS = 0.99
"""From this chance on, no percentage is said: it would be read as a certainty."""
# Rows of scores of several classes that are repeated as their weights say.
_MOST_REPEATED = 1_000_000


@partial(meets, "a tuple of arrays of coefficients")
def _curves(calibrator: Fitted, value: Stored) -> bool:
    """Whether a stored value has one array of finite numbers for each curve of this map.

    The map of a vector has the curves of its shapes, that of a matrix those of its candidates.
    """
    k = calibrator.n_classes_
    if k is None:
        every = fits.vector_shapes(calibrator.reach_, calibrator.knots_).values()
        shapes: list[tuple[int, ...]] = [(shape.identity.size,) for shape in every]
    else:
        candidates = (fits.MATRIX_CANDIDATES.get(name) for name in calibrator.candidates_[1:])
        shapes = [curve.shape(k) for curve in candidates if curve]
    good = isinstance(value, tuple) and [np.shape(curve) for curve in value] == shapes
    return good and all(np.isfinite(curve).all() for curve in value)


@partial(meets, "two rows of ascending numbers")
def _points(_: Fitted, value: Stored) -> bool:
    good = (
        isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[0] == 2 and value.size > 0
    )
    return bool(good and np.isfinite(value).all() and (np.diff(value) >= 0).all())


@with_parameters
class AutoCalibration(LogitMap):
    r"""The default calibrator: an average of maps, as flexible as the data justify.

    Candidates from the identity to a monotone spline and isotonic regression are fitted with a
    ridge penalty towards the identity and averaged on the log-odds scale. Each is weighted by its
    cross-fitted log loss, starting from a prior weight of one half for the unchanged scores. With a
    hundred rows calibrated scores hardly change; with ten thousand the data decide.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the scores are logits.
    monotone : bool, default True
        Whether the map of a vector must not decrease.
    level : float, default 0.95
        Confidence level of the limits of the gain.

    Notes
    -----
    With the log-odds :math:`z` of a score :math:`p`, the candidates are :math:`z`; :math:`a + b z`;
    :math:`a + b z + c z^2`; :math:`a + b z + c z |z|`; :math:`a \log p - b \log(1 - p) + c`; a
    curve whose slope is linear between five knots; and isotonic regression with its blocks joined
    at their means. Parametric ones minimise the log loss, summed over rows, plus half the squared
    distance of their coefficients from those of the identity, and must not decrease.

    For several classes, with the logarithms of a row, the candidates are the identity; one
    temperature; :class:`trueness.recalibrate.StructuredScaling` with a vector and (up to 100
    classes) a matrix; and (likewise) beta calibration of each class against the others. Logarithms
    are averaged and normalised. Above 5,000,000 entries, all but the temperature is learnt from as
    many rows as hold about that number.

    The rows are dealt into five folds, and up to five times if they are fewer than 2,000, always in
    the same way and whatever their order; rows of a cluster stay together. Candidate :math:`j` with
    prior weight :math:`\pi_j` and cross-fitted log loss :math:`L_j`, summed over rows, gets a
    weight proportional to :math:`\pi_j e^{-L_j / d}`. The design effect :math:`d` is 1 without
    clusters. The gain in a fold is that of the weights which the other folds give.

    `chance_` is how often the map has the smaller log loss in a new sample of the same size,
    calibrated by simulation. It is nan where rows cannot tell: below 1,000 independent rows or 50
    of the rarer outcome (of several classes: of top labels that are right, or wrong), and where it
    would be below 0.8, since then it depends on how many such models are calibrated.

    Weights that are whole numbers count rows. Others are sampling weights, whose unit does not
    matter: they count as :math:`(\sum w)^2 / \sum w^2` rows.

    Above 4,096 distinct scores, neighbours are pooled in fitting.

    Examples
    --------
    >>> import trueness as tn
    >>> bold = tn.simulate.binary(2_000, distortion=tn.simulate.Logit(slope=0.5), seed=0)
    >>> fitted = tn.AutoCalibration().fit(bold.y_prob, bold.y_true)
    >>> fitted.leave_alone_
    False
    """

    _shape: ClassVar[Shape] = "any"

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"cluster": metadata_routing.UNUSED}

    _state: ClassVar = {
        **EPS_STATE,
        "candidates": Field("names of the candidates", names_of("a tuple of names")),
        "weights": Field(
            "share of each candidate",
            all_of(array(lambda c: len(c.candidates_), least=0), sums_to_one),
        ),
        "reach": Field(
            "of a vector: largest distance of fitted log-odds from 0", number(above=0), True
        ),
        "knots": Field(
            "of a vector: log-odds of the knots of the spline",
            array(lambda c: np.size(c.knots_)),
            True,
        ),
        "curves": Field("coefficients of the parametric candidates, in their order", _curves),
        "points": Field(
            "of a vector: log-odds of the isotonic blocks, before and after", _points, True
        ),
        "gain": Field("reduction of the log loss per row, cross-fitted", real),
        "gain_low": Field("lower confidence limit of it", real),
        "gain_high": Field("upper confidence limit of it", real),
        "brier_gain": Field("reduction of the Brier score, cross-fitted", real),
        "brier_gain_low": Field("lower confidence limit of it", real),
        "brier_gain_high": Field("upper confidence limit of it", real),
        "chance": Field(
            "how often the log loss of new samples of this size falls; nan if unclear", real
        ),
    }

    from_logits: bool = False
    monotone: bool = True
    level: float = 0.95
    eps: float | None = None
    limits: bool = False

    @suggests_keywords
    def fit(
        self,
        y_prob: ArrayLike | Events,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Sequence[Hashable] | None = None,
        pos_label: Hashable | None = None,
        cluster: ArrayLike | None = None,
    ) -> Self:
        """Learn the map.

        Parameters
        ----------
        y_prob : array-like of shape (n,) or (n, K)
            Scores of rows that the classifier was not trained on.
        y_true : array-like of shape (n,)
            Outcomes: 0/1, bool, or class labels.
        sample_weight : array-like of shape (n,), optional
            Frequency weights: a weight of 2 counts the row twice, a weight of 0 leaves it out.
        labels : sequence, optional
            The classes in column order, if they are not 0..K-1. By default the names of the
            columns, the categories of a pandas Categorical or Polars Enum in their order, or the
            sorted labels.
        pos_label : optional
            The label of the event, if labels are not 0/1.
        cluster : array-like of shape (n,), optional
            Rows of the same cluster may be dependent; they are in the same fold.

        Returns
        -------
        self
        """
        self._cluster: Ints | None = None
        cluster = clusters_of(y_prob, cluster)
        y_prob, y_true, sample_weight = rows_of_events(y_prob, y_true, sample_weight)
        if cluster is not None:
            used = used_rows(y_true, sample_weight)
            self._cluster = np.unique(
                group_codes(cluster, "cluster", used.size)[used], return_inverse=True
            )[1]
        try:
            return super().fit(y_prob, y_true, sample_weight, labels=labels, pos_label=pos_label)
        finally:
            del self._cluster

    def _fit(self, rows: CalibrationSet) -> None:
        """Weigh the candidates by cross-validation and keep their curves, weights and gains.

        Rows of a vector are summed by their logit first; those of a matrix are not, and then the
        map has no knots.
        """
        # The sum of the weights says how much evidence the rows are against the identity.
        if rows.w is not None:
            rows = rows._replace(w=rows.w * (_rows_worth(rows.w) / rows.w.sum()))
        logits = self._fit_logits(rows)
        worth = _rows_worth(rows.weights)
        units = units_of(self._cluster, rows.y.size)
        most_folds = independent = worth
        if units.clustered:
            most_folds = units.number
            independent = units.effective(rows.w)
        plan = fits.Plan(units, max(1, min(_FOLDS, int(most_folds))), float(self.level), worth)
        if logits.ndim == 2:
            fitted = self._fit_matrix(logits, rows, plan)
            self.reach_ = None
        else:
            cells = logit_cells(logits, rows.y, rows.w)
            fitted = fits.fit_vector(cells, rows, plan, self.monotone)
            self.reach_ = cells.reach
        self.knots_ = fitted.knots
        self.points_ = fitted.points
        self.candidates_ = fitted.names
        self.curves_ = fitted.curves
        self.weights_ = fitted.weights
        self.gain_, self.gain_low_, self.gain_high_ = fitted.gain
        self.brier_gain_, self.brier_gain_low_, self.brier_gain_high_ = fitted.brier_gain
        self.chance_ = fits.chance_of_average(
            fitted.gain, plan.level, independent, _rarer(logits, rows)
        )

    def _fit_matrix(
        self, logits: NDArray[Any], rows: CalibrationSet, plan: fits.Plan
    ) -> fits.AutoFit:
        """Fit the candidates of a matrix of logits.

        Whole weights are replaced by repeated rows, unless that makes too many of them.
        """
        rows = rows._replace(p=log_softmax(logits.astype(np.float64)))
        # A weight of 2 is two rows.
        if rows.w is not None and are_whole(rows.w) and plan.rows_worth <= _MOST_REPEATED:
            times = np.repeat(np.arange(rows.y.size), rows.w.astype(np.int64))
            rows = rows.take(times)._replace(w=None)
            plan = plan._replace(units=plan.units.at(times))
        return fits.fit_matrix(rows, plan)

    def _formula(self) -> formulas.LogOdds | formulas.Softmax | formulas.PythonOnly:
        """The weighted mean of all candidates: one curve of the log-odds, or one linear map.

        With `limits`, scores of 0 in a matrix stay 0, which has no form but this function.
        """
        n = self.n_classes_
        if n is None:
            return self._vector_formula()
        parametric = zip(self.candidates_[1:], self.curves_, strict=True)
        linears = [
            formulas.Linear(),
            *(fits.MATRIX_CANDIDATES[name].linear(theta, n) for name, theta in parametric),
        ]
        linear = formulas.weighted_linear(zip(self.weights_, linears, strict=True), n)
        if not self.limits or self.from_logits:
            return formulas.Softmax(self._logs(normalized=True), linear)

        def zeros_stay(p: NDArray[Any]) -> Floats:
            zero = p == 0
            moved = np.where(zero, self.eps_, p.astype(np.float64))
            kept = np.where(
                zero, 0.0, formulas.Softmax(formulas.Logs(normalized=True), linear)(moved)
            )
            return np.asarray(kept / kept.sum(axis=1, keepdims=True))

        return formulas.PythonOnly(
            zeros_stay, "with limits=True, which class wins depends on which others are 0"
        )

    def _vector_formula(self) -> formulas.LogOdds:
        """The weighted mean of the identity, the fitted shapes and isotonic regression."""
        curves = [formulas.line(0, 1)]
        shapes: Any = fits.vector_shapes(
            self.reach_,  # type: ignore[arg-type]  # a map of a vector has both
            self.knots_,  # type: ignore[arg-type]
        ).values()
        for shape, theta in zip(shapes, self.curves_, strict=True):
            curves.append(shape.curve(theta))
        curves.append(formulas.joined(*self.points_))  # type: ignore[misc]  # two rows
        return self._log_odds(formulas.weighted_curve(zip(self.weights_, curves, strict=True)))

    @property
    def leave_alone_(self) -> bool:
        """Whether to keep the scores unchanged: `gain_` is below 0.61 of its standard errors."""
        return (
            not fits.chance_of_gain(self.gain_, self.gain_low_, self.gain_high_, self.level)
            >= fits.LEAST_CHANCE
        )

    def _learnt_in_words(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """What was chosen and what it gains, in words."""
        check_is_fitted(self)
        shares = []
        for i in np.argsort(-self.weights_, kind="stable"):
            if self.weights_[i] >= 0.05:
                shares.append(f"{self.candidates_[i]} {100 * self.weights_[i]:.0f} %")
        change = "falls"
        gain = self.gain_
        limits = (self.gain_low_, self.gain_high_)
        if gain < 0:
            change = "does not fall but rises"
            gain = -gain
            limits = (-self.gain_low_, -self.gain_high_)
        low, high = sorted(limits)
        level = level_percent(self.level)
        return (
            f"Map: {', '.join(shares)}. The log loss of new rows {change} by {gain:.3g} per row "
            f"({level} limits {low:.3g} and {high:.3g}). {self._prospect()}"
        )

    def _prospect(self) -> str:
        """What the gain means for new rows, in words."""
        if self.leave_alone_:
            return "That is no more than noise: leave the scores alone."
        if math.isnan(self.chance_):
            return "These rows cannot tell how often the map is better in new samples of this size."
        often = f"about {100 * self.chance_:.0f} % of new samples"
        if self.chance_ >= _NEARLY_ALWAYS:
            often = f"almost all new samples ({100 * _NEARLY_ALWAYS:.0f} % or more)"
        return f"In {often} of this size its log loss is lower than that of the scores themselves."


def _rarer(logits: NDArray[Any], rows: CalibrationSet) -> float:
    """The weight of the rarer outcome: event or not; of several classes, top label right or not."""
    event = rows.y == 1 if logits.ndim == 1 else logits.argmax(axis=1) == rows.y
    w = rows.weights
    events = float(w[event].sum())
    return min(events, float(w.sum()) - events)


def _rows_worth(w: Floats) -> float:
    """Whole weights count rows; others are worth as many rows of equal weight."""
    total = float(w.sum())
    if are_whole(w):
        return total
    return total**2 / float(w @ w)
