"""The map to use by default: candidates from the identity to flexible ones, combined by cross-fitted log loss."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from trueness._input.arguments import checked_fraction
from trueness._input.columns import column
from trueness._input.sample import row_weights
from trueness._numerics.multinomial import log_softmax
from trueness.recalibrate._auto_matrix import (
    MAPS,
    Affine,
    OneVsRestBeta,
    Rows,
    Temperature,
    fit_matrix,
    mixed_log_probabilities,
)
from trueness.recalibrate._auto_vector import (
    Candidate,
    Curve,
    Held,
    Points,
    fit_candidates,
    held_out,
    loss_differences,
    vector_shapes,
)
from trueness.recalibrate._calibration_set import CalibrationSet, Shape, group_codes
from trueness.recalibrate._calibrator import check_flag
from trueness.recalibrate._cross_fit import deal_folds, number_of_deals
from trueness.recalibrate._fitted_state import Field, array, number
from trueness.recalibrate._logit_map import EPS_STATE, LogitMap
from trueness.recalibrate._mixture import (
    Gain,
    clustered_gain,
    design_effect,
    held_out_weights,
    mean_gain,
    mixture_weights,
)
from trueness.recalibrate._shaped_map import LogitCells, logit_cells, with_limits
from trueness.typing import ArrayLike, Floats, Ints

_FOLDS = 5
# Rows of scores of several classes that are repeated as their weights say.
_MOST_REPEATED = 1_000_000


def _n_candidates(calibrator: Any) -> int:
    return len(calibrator.candidates_)


def _names(_: Any, value: Any) -> str:
    good = isinstance(value, tuple) and value and all(isinstance(name, str) for name in value)
    return "" if good else "a tuple of names"


def _n_knots(calibrator: Any) -> int:
    return int(np.size(calibrator.knots_))


def _any_number(_: Any, value: Any) -> str:
    return "" if isinstance(value, float) else "a number"


def _arrays(calibrator: Any, value: Any) -> str:
    k = calibrator.n_classes_
    if k is None:
        shapes = [(shape.identity.size,) for shape in vector_shapes(calibrator.reach_, calibrator.knots_).values()]
    else:
        sizes = {Temperature: (1,), Affine: (k, k + 1), OneVsRestBeta: (k, 3)}
        shapes = [sizes[MAPS[name][0]] for name in calibrator.candidates_[1:] if name in MAPS]
    good = isinstance(value, tuple) and [np.shape(one) for one in value] == shapes
    return "" if good and all(np.isfinite(one).all() for one in value) else "a tuple of arrays of coefficients"


def _points(_: Any, value: Any) -> str:
    good = isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[0] == 2 and value.size
    good = good and np.isfinite(value).all() and (np.diff(value) >= 0).all()
    return "" if good else "two rows of ascending numbers"


class AutoCalibration(LogitMap):
    r"""The default calibrator: an average of maps that changes the scores only as far as the data justify.

    Candidates from the identity to a monotone spline and isotonic regression are fitted with a ridge penalty towards
    the identity and averaged on the log-odds scale. Each is weighted by its cross-fitted log loss, starting from a
    prior weight of one half for the unchanged scores. With a hundred rows calibrated scores hardly change; with ten
    thousand the data decide.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the scores are logits.
    monotone : bool, default True
        Whether the map of a vector must not decrease.
    level : float, default 0.95
        Confidence level of the limits of the gain.
    eps : float, optional
        Scores are clipped to [eps, 1 − eps], because 0 and 1 have infinite log-odds; `fit` warns if some are exactly 0
        or 1. Default: 1 / (2 (n + 1)) for n rows, or less if some scores are nearer to 0 or 1, but at least the square
        of that.
    limits : bool, default False
        Whether `predict` uses scores outside [eps, 1 − eps] unchanged, so that 0 and 1 are mapped to the limits of the
        map.

    Attributes
    ----------
    candidates_ : tuple of str
        Names; the first is the identity.
    weights_ : array
        The share of each candidate in the map.
    gain_, gain_low_, gain_high_ : float
        By how much the map lowers the log loss of new rows, in nats per row: cross-fitted, with confidence limits.
    brier_gain_, brier_gain_low_, brier_gain_high_ : float
        The same for the Brier score.

    Notes
    -----
    With the log-odds :math:`z` of a score :math:`p`, the candidates are :math:`z`; :math:`a + b z`; :math:`a + b z + c
    z^2`; :math:`a + b z + c z |z|`; :math:`a \log p - b \log(1 - p) + c`; a curve whose slope is linear between five
    knots; and isotonic regression with its blocks joined at their means. Parametric ones minimise the log loss, summed
    over rows, plus half the squared distance of their coefficients from those of the identity, and must not decrease.

    For several classes, with the logarithms of a row, the candidates are the identity; one temperature;
    :class:`StructuredScaling` with a vector and (up to 100 classes) a matrix; and (likewise) beta calibration of each
    class against the others. Logarithms are averaged and normalised. Above 5,000,000 entries, all but the temperature
    is learnt from as many rows as hold about that number.

    The rows are dealt into five folds, and up to five times if they are fewer than 2,000, always in the same way and
    whatever their order; rows of a cluster stay together. Candidate :math:`j` with prior weight :math:`\pi_j` and
    cross-fitted log loss :math:`L_j`, summed over rows, gets a weight proportional to :math:`\pi_j e^{-L_j / d}`. The
    design effect :math:`d` is 1 without clusters. The gain in a fold is that of the weights which the other folds give.

    Weights that are whole numbers count rows. Others are sampling weights, whose unit does not matter: they count as
    :math:`(\sum w)^2 / \sum w^2` rows.

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

    reach_: float | None
    knots_: Floats | None
    points_: Floats | None
    curves_: tuple[Floats, ...]

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"cluster": metadata_routing.UNUSED}

    _state: ClassVar = {
        **EPS_STATE,
        "candidates": Field("names of the candidates", _names),
        "weights": Field("share of each candidate", array(_n_candidates, least=0)),
        "reach": Field("of a vector: largest distance of fitted log-odds from 0", number(above=0), True),
        "knots": Field("of a vector: log-odds of the knots of the spline", array(_n_knots), True),
        "curves": Field("coefficients of the parametric candidates, in their order", _arrays),
        "points": Field("of a vector: log-odds of the isotonic blocks, before and after", _points, True),
        "gain": Field("reduction of the log loss per row, cross-fitted", _any_number),
        "gain_low": Field("lower confidence limit of it", _any_number),
        "gain_high": Field("upper confidence limit of it", _any_number),
        "brier_gain": Field("reduction of the Brier score, cross-fitted", _any_number),
        "brier_gain_low": Field("lower confidence limit of it", _any_number),
        "brier_gain_high": Field("upper confidence limit of it", _any_number),
    }

    def __init__(
        self,
        *,
        from_logits: bool = False,
        monotone: bool = True,
        level: float = 0.95,
        eps: float | None = None,
        limits: bool = False,
    ) -> None:
        self.from_logits = from_logits
        self.monotone = monotone
        self.level = level
        self.eps = eps
        self.limits = limits

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("monotone", self.monotone)
        checked_fraction(self.level, "level")

    def fit(
        self,
        y_prob: ArrayLike,
        y_true: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
        cluster: ArrayLike | None = None,
    ) -> Self:
        """Learn the map.

        Parameters
        ----------
        y_prob : array-like of shape (n,) or (n, K)
            Scores of rows that the classifier was not trained on.
        y_true : array-like of shape (n,)
            Labels: 0/1, bool, or classes.
        sample_weight : array-like of shape (n,), optional
            Frequencies: a weight of 2 counts the row twice, a weight of 0 leaves it out.
        labels : sequence, optional
            The classes in column order, if they are not 0 to K−1.
        pos_label : optional
            The label of the event, if labels are not 0/1.
        cluster : array-like of shape (n,), optional
            Rows of the same cluster may be dependent; they are in the same fold.

        Returns
        -------
        self
        """
        self._cluster: Ints | None = None
        if cluster is not None:
            n = column(y_true, "y_true").values.shape[0]
            self._cluster = group_codes(cluster, "cluster", n)
            if sample_weight is not None:
                used = row_weights(sample_weight, n).values > 0
                self._cluster = np.unique(self._cluster[used], return_inverse=True)[1]
        try:
            return super().fit(y_prob, y_true, sample_weight, labels=labels, pos_label=pos_label)
        finally:
            del self._cluster

    def _fit(self, rows: CalibrationSet) -> None:
        if rows.w is not None:  # the sum of the weights says how much evidence the rows are against the identity
            rows = rows._replace(w=rows.w * (_rows_worth(rows.w) / rows.w.sum()))
        logits = self._fit_logits(rows)
        if logits.ndim == 2:
            self._fit_matrix(logits, rows)
        else:
            self._fit_vector(logits, rows)

    def _number_of_folds(self, rows_worth: float) -> int:
        units = rows_worth if self._cluster is None else int(self._cluster.max()) + 1
        return max(1, min(_FOLDS, int(units)))

    def _fit_matrix(self, logits: NDArray[Any], rows: CalibrationSet) -> None:
        z, y, w, cluster = log_softmax(logits.astype(np.float64)), rows.y, rows.weights, self._cluster
        worth = _rows_worth(w)
        if rows.w is not None and _whole(w) and worth <= _MOST_REPEATED:  # a weight of 2 is two rows, in any fold
            times = w.astype(np.int64)
            z, y, w = np.repeat(z, times, axis=0), np.repeat(y, times), np.ones(int(times.sum()))
            cluster = None if cluster is None else np.repeat(cluster, times)
        found = fit_matrix(Rows(z, y, w), cluster, self._number_of_folds(worth), float(self.level), worth)
        self.candidates_, self.weights_ = ("identity", *found.maps), found.weights
        self.curves_ = tuple(one[0] for one in found.maps.values())
        self.reach_ = self.knots_ = self.points_ = None
        self.gain_, self.gain_low_, self.gain_high_ = found.gain
        self.brier_gain_, self.brier_gain_low_, self.brier_gain_high_ = found.brier_gain

    def _fit_vector(self, logits: NDArray[Any], rows: CalibrationSet) -> None:
        cells = logit_cells(logits, rows.y, rows.w)
        rows_worth = _rows_worth(rows.weights)
        number, deals = self._number_of_folds(rows_worth), number_of_deals(rows_worth)
        folds = deal_folds(cells, rows.y, rows.w, self._cluster, number, deals)
        candidates = fit_candidates(cells, folds, monotone=bool(self.monotone))
        held = held_out(candidates, folds)
        self._keep(cells, candidates)
        if folds.number < 2:  # nothing can be held out
            held = held._replace(loss=np.zeros_like(held.loss))
        effect = self._design_effect(held, cells, rows)
        self.weights_ = mixture_weights(held.loss.sum(axis=2).mean(axis=1), effect)
        gains = self._gains(held, cells, rows, effect, rows_worth)
        self.gain_, self.gain_low_, self.gain_high_ = gains["log"]
        self.brier_gain_, self.brier_gain_low_, self.brier_gain_high_ = gains["brier"]

    def _keep(self, cells: LogitCells, candidates: dict[str, Candidate]) -> None:
        maps = [one.map for one in candidates.values()]
        self.candidates_ = tuple(candidates)
        self.reach_ = max(float(np.abs(cells.z).max()), 1.0)
        self.knots_ = next(one.shape.knots for one in maps if isinstance(one, Curve) and hasattr(one.shape, "knots"))
        self.curves_ = tuple(one.theta for one in maps if isinstance(one, Curve))
        self.points_ = next(np.stack(one) for one in maps if isinstance(one, Points))

    def _design_effect(self, held: Held, cells: LogitCells, rows: CalibrationSet) -> float:
        """How much clusters enlarge the variance of the gain of the best candidate."""
        if self._cluster is None or held.folds.number < 2:
            return 1.0
        best = int(held.loss[1:].sum(axis=(1, 2)).argmin()) + 1
        differences = loss_differences(held.log_odds[0], held.log_odds[best])["log"]
        return design_effect(_at_rows(differences, held, cells, rows), rows.weights, self._cluster)

    def _gains(
        self, held: Held, cells: LogitCells, rows: CalibrationSet, effect: float, rows_worth: float
    ) -> dict[str, Gain]:
        """What the mixture gains in rows that were held out, with weights from the other folds."""
        if held.folds.number < 2:
            return dict.fromkeys(("log", "brier"), Gain(0.0, -np.inf, np.inf))
        weights = held_out_weights(held.loss, effect)
        differences = loss_differences(held.log_odds[0], np.einsum("cdf,cdfm->dfm", weights, held.log_odds))
        if self._cluster is not None:
            return {
                name: clustered_gain(_at_rows(one, held, cells, rows), rows.weights, self._cluster, float(self.level))
                for name, one in differences.items()
            }
        weight = np.concatenate([held.folds.events, held.folds.others]) / held.folds.deals
        return {
            name: mean_gain(np.concatenate(one), weight, float(self.level), rows_worth)
            for name, one in differences.items()
        }

    def _map(self, p: NDArray[Any]) -> Floats:
        logits = np.asarray(self._logits(p), np.float64)
        if logits.ndim == 1:
            return np.asarray(expit(with_limits(self._log_odds, logits)))
        zero = np.isneginf(logits)
        z = log_softmax(np.where(zero, np.log(self.eps_), logits))
        maps = [MAPS[name][0](theta) for name, theta in zip(self.candidates_[1:], self.curves_, strict=True)]
        found = np.exp(mixed_log_probabilities(z, self.weights_, maps))
        if zero.any():  # with `limits`, what is impossible stays so
            found[zero] = 0
            found /= found.sum(axis=1, keepdims=True)
        return found

    def _log_odds(self, z: Floats) -> Floats:
        """Log-odds of the prediction at log-odds of the score."""
        assert self.reach_ is not None
        assert self.knots_ is not None
        assert self.points_ is not None
        shapes = vector_shapes(self.reach_, self.knots_).values()
        maps = [Curve(shape, theta) for shape, theta in zip(shapes, self.curves_, strict=True)]
        every = [z, *(one(z) for one in maps), Points(*self.points_)(z)]
        return np.asarray(sum(weight * one for weight, one in zip(self.weights_, every, strict=True)))

    @property
    def leave_alone_(self) -> bool:
        """Whether to keep the scores unchanged: the lower confidence limit of the gain is not above 0."""
        return not self.gain_low_ > 0

    def summary(self) -> str:
        """What was chosen and what it gains, in words."""
        check_is_fitted(self)
        order = [i for i in np.argsort(-self.weights_, kind="stable") if self.weights_[i] >= 0.05]
        shares = ", ".join(f"{self.candidates_[i]} {100 * self.weights_[i]:.0f} %" for i in order)
        limits = f"{100 * self.level:g} % limits {self.gain_low_:.3g} and {self.gain_high_:.3g}"
        gain = f"The log loss of new rows falls by {self.gain_:.3g} per row ({limits})."
        if self.gain_ < 0:
            limits = f"{100 * self.level:g} % limits {-self.gain_high_:.3g} and {-self.gain_low_:.3g}"
            gain = f"The log loss of new rows does not fall but rises by {-self.gain_:.3g} per row ({limits})."
        advice = " It may gain nothing: leave the scores alone." if self.leave_alone_ else ""
        return f"Map: {shares}. {gain}{advice}"


def _whole(w: Floats) -> bool:
    return bool((w == np.rint(w)).all())


def _rows_worth(w: Floats) -> float:
    """Whole weights count rows; others are worth as many rows of equal weight."""
    total = float(w.sum())
    return total if _whole(w) else total**2 / float(w @ w)


def _at_rows(differences: tuple[Floats, Floats], held: Held, cells: LogitCells, rows: CalibrationSet) -> Floats:
    """Differences for events and for others at each fold and log-odds, as one for each row: the mean over deals."""
    at = np.arange(held.folds.deals)[:, None], held.folds.of_row, cells.cell
    return np.asarray(np.where(rows.y == 1, differences[0][at], differences[1][at]).mean(axis=0))
