"""One map for all rows, shifted in each segment as far as its rows justify."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.utils import metadata_routing

from trueness._input.segment_columns import MISSING, TIMES, read_by
from trueness._keywords import suggests_keywords
from trueness._level import level_percent
from trueness._numerics.shrinkage import shrink
from trueness._numerics.units import ClusterUnits, Units
from trueness._tally.events import Events
from trueness._tally.row_sums import are_whole
from trueness.errors import FewRowsWarning, InputError, collected_warnings, warn
from trueness.recalibrate import _calibrator as base
from trueness.recalibrate._auto import AutoCalibration
from trueness.recalibrate._auto_candidates import (
    LEAST_CHANCE,
    chance_of_gain,
    cluster_effect,
    deal_rows,
    mean_gain,
)
from trueness.recalibrate._calibration_set import CalibrationSet, group_codes, used_rows
from trueness.recalibrate._formula import Map, PythonOnly
from trueness.recalibrate._logistic import PlattScaling
from trueness.recalibrate._saving import Field, array, fitted_calibrator, meets, real
from trueness.results import Segments, Slices
from trueness.results._segments import is_protected
from trueness.typing import ArrayLike, Floats, Ints

_FOLDS = 5
_LEVEL = 0.95
_VALUES = {str, type(None)}
_ROUNDING = 1e-12  # a gain below this share of the loss is none
# The gain of the map itself differs from that of the maps of the folds as much as the mean over
# rows varies, and more where segments are alike. Chosen on 23 laws, where limits had covered 0.73
# to 0.94 (some are in `benchmarks/cases/gains.py`).
_WIDER = 1.7
_names = meets(
    "a tuple of names",
    lambda _, value: isinstance(value, tuple) and all(type(v) is str for v in value),
)
_keys = meets(
    "a tuple of tuples of names",
    lambda c, keys: all(
        type(k) is tuple and len(k) == len(c.by_names_) and {*map(type, k)} <= _VALUES for k in keys
    ),
)


@base.with_parameters
class SegmentCalibration(base.Calibrator):
    r"""A map of all rows, shifted in each segment (such as a region) towards its event rate.

    The shift is one of log-odds.

    Parameters
    ----------
    calibrator : Calibrator or str, optional
        The map of all rows. Default: ``PlattScaling()``.

    Notes
    -----
    The shifts are those of `shrunk_gap` of :func:`trueness.segments`: the fewer rows a segment has,
    and the more alike all segments are, the nearer to 0. Rows of unknown segments get the map of
    all rows, and a warning says so.

    `gain_` is what the shifts gain beyond the map of all rows: the reduction of the log loss in
    rows that neither has seen, in five folds. Its limits are 1.7 times as wide as those of a mean
    over rows: the shifts themselves are as uncertain as what they gain. If `leave_alone_`, the map
    of all rows is as good: `gain_` is below 0.61 standard errors of the mean over rows. A gain
    within the rounding of the loss is 0.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p, region = rng.uniform(0.1, 0.6, 4_000), rng.choice(["north", "south", "west"], 4_000)
    >>> y = rng.random(4_000) < np.where(region == "north", 1.5 * p, p)
    >>> fitted = tn.SegmentCalibration().fit(p, y, by={"region": region})
    >>> fitted.leave_alone_
    False
    >>> fitted.predict([0.3, 0.3], by={"region": ["north", "south"]}).round(2).tolist()
    [0.46, 0.3]
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = dict.fromkeys(
        ("by", "cluster"), metadata_routing.UNUSED
    )
    __metadata_request__predict: ClassVar[dict[str, str]] = {"by": metadata_routing.UNUSED}
    _state: ClassVar = {
        "overall": Field("the map of all rows", fitted_calibrator),
        "by_names": Field("columns of the segments", _names),
        "segments": Field("values of these columns, null where they are missing", _keys),
        "shifts": Field(
            "what is added to the log-odds of each segment", array(lambda c: len(c.segments_))
        ),
        "gain": Field("reduction of the held-out log loss per row by the shifts", real),
        "gain_low": Field("lower 95 % limit of it", real),
        "gain_high": Field("upper 95 % limit of it", real),
    }

    calibrator: base.Calibrator | str | None = field(default=None, kw_only=False)

    def _check_parameters(self) -> None:
        base.refuse_matrix(base.inner_calibrator(self.calibrator, PlattScaling))

    @suggests_keywords
    def fit(
        self,
        y_prob: ArrayLike | Events,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        by: object = None,
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
        by : array-like of shape (n,), dict of such, or frame, optional
            The column of the segments, or several, whose values are crossed: names or whole
            numbers. Missing values are a segment.
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
        if isinstance(y_prob, Events):
            got = "got Events"
            remedy = "Pass `events.p`, `events.event` and `events.weight`, and a column per event."
            raise InputError("y_prob", "must be scores for segments", got, remedy=remedy)
        used = used_rows(y_true, sample_weight)
        self.by_names_, keys, code = _segments(by, y_true, used.size)
        there, self._code = np.unique(code[used], return_inverse=True)
        self.segments_ = tuple(keys[i] for i in there)
        self._units: Units = Units(int(used.sum()))
        if cluster is not None:
            codes = group_codes(cluster, "cluster", used.size)
            self._units = ClusterUnits(codes[used])
        try:
            return super().fit(y_prob, y_true, sample_weight, labels=labels, pos_label=pos_label)
        finally:
            del self._code, self._units

    def predict(self, y_prob: ArrayLike, by: object = None) -> Floats:
        """Calibrated probabilities.

        `by` has the segments, in columns of the same names as in `fit`.
        """
        p = self._accept(y_prob)
        columns, keys, code = _segments(by, y_prob, p.shape[0])
        if sorted(columns) != sorted(self.by_names_):
            expected, got = (
                ", ".join(map(repr, column_names)) or "none"
                for column_names in (self.by_names_, columns)
            )
            remedy = "A dict or frame names them, such as `by={'region': regions}`."
            raise InputError(
                "by", f"must have the columns of `fit`: {expected}", f"got {got}", remedy=remedy
            )
        keys = [tuple(key[columns.index(name)] for name in self.by_names_) for key in keys]
        shifts = dict(zip(self.segments_, self.shifts_.tolist(), strict=True))
        if unknown := int(np.array([key not in shifts for key in keys], bool)[code].sum()):
            seen = f"{unknown:,} of {code.size:,} rows"
            warn(
                f"Segments that `fit` has not seen get the map of all rows: {seen}.", FewRowsWarning
            )
        return _shifted(
            self.overall_._formula()(p), np.array([shifts.get(key, 0.0) for key in keys])[code]
        )

    def _fit(self, rows: CalibrationSet) -> None:
        """Fit the map of all rows and a shift for each segment, and estimate what the shifts gain.

        The gain is the mean decrease of the log loss on folds left out. A single segment has no
        folds and gains nothing.
        """
        code = self._code
        units = self._units
        w = rows.weights
        self.overall_, self.shifts_ = self._parts(rows, code, units)
        gain = np.zeros(rows.y.size)
        if len(self.segments_) > 1:
            gain = self._held_out_gain(rows, code, units)
        worth = float(w.sum())
        if not are_whole(w):
            worth = float(w.sum() ** 2 / (w @ w))
        self.gain_, low, high = mean_gain(gain, w, units, _LEVEL, worth)
        self.gain_low_ = self.gain_ - _WIDER * (self.gain_ - low)
        self.gain_high_ = self.gain_ + _WIDER * (high - self.gain_)

    def _held_out_gain(self, rows: CalibrationSet, code: Ints, units: Units) -> Floats:
        """How much the shifts lower the log loss of each row, by maps fitted without its fold.

        All 0 if the sum is no more than rounding error, or if there are too few rows to fold.
        """
        gain, loss = np.zeros((2, rows.y.size))
        folds = min(_FOLDS, units.renumbered().number)
        if folds < 2:
            return gain
        (fold,) = deal_rows(np.asarray(rows.p, np.float64), rows.y, rows.w, units, folds, 1)
        with collected_warnings():  # what they say of parts, they said of all rows
            for number in range(folds):
                out = fold == number
                overall, shifts = self._parts(rows.take(~out), code[~out], units.at(~out))
                plain = overall._formula()(rows.p[out])
                shifted = _shifted(plain, shifts[code[out]])
                before = _label_probability(plain, rows.y[out])
                after = _label_probability(shifted, rows.y[out])
                gain[out] = np.log(after / before)
                loss[out] = -np.log(before)
        w = rows.weights
        if abs(w @ gain) <= _ROUNDING * (w @ loss):
            gain[:] = 0.0
        return gain

    def _parts(
        self, rows: CalibrationSet, code: Ints, units: Units
    ) -> tuple[base.Calibrator, Floats]:
        """The map of all rows, and the shifts of the segments."""
        overall: Any = clone(base.inner_calibrator(self.calibrator, PlattScaling))
        if isinstance(overall, AutoCalibration):
            overall.fit(rows.p, rows.y, rows.w, cluster=units.cluster)
        else:
            overall.fit(rows.p, rows.y, rows.w)
        shifts = np.zeros(len(self.segments_))
        there, code = np.unique(code, return_inverse=True)
        w = rows.weights
        if shifts.size > 1:
            q = overall._formula()(rows.p)
            if are_whole(w):
                effective = np.ones(there.size)
            else:
                effective = np.bincount(code, w) / np.bincount(code, w * w)
            effective /= cluster_effect(rows.y - q, w, units)
            shifts[there] = shrink(q, w, w * rows.y, code, effective, _LEVEL).shift
        return overall, shifts

    def _formula(self) -> Map:
        overall = self.overall_._formula()
        if self.by_names_:
            return PythonOnly(overall, "the map of a row depends on its segment")
        return overall

    @property
    def leave_alone_(self) -> bool:
        """Whether the map of all rows is as good.

        `gain_` is below 0.61 standard errors of the mean over rows.
        """
        low, high = ((end - self.gain_) / _WIDER for end in (self.gain_low_, self.gain_high_))
        return (
            not chance_of_gain(self.gain_, self.gain_ + low, self.gain_ + high, _LEVEL)
            >= LEAST_CHANCE
        )

    def _learnt_in_words(self) -> str:
        if not self.by_names_:
            return "One map for all rows: there are no segments."
        return self.summary()

    def summary(self) -> str:
        """What the shifts gain, in words."""
        limits = f"{level_percent(_LEVEL)} limits {self.gain_low_:.3g} and {self.gain_high_:.3g}"
        fall = f"falls by {self.gain_:.3g} per row" if self.gain_ > 0 else "does not fall"
        text = f"beyond one map for all rows, the held-out log loss {fall} ({limits})"
        advice = " That is no more than noise: fit one map." if self.leave_alone_ else ""
        return (
            f"Map by {' and '.join(self.by_names_)}, {len(self.segments_):,} segments: "
            f"{text}.{advice}"
        )


def advice(
    tested: Segments | Slices,
    y_prob: ArrayLike,
    y_true: ArrayLike,
    columns: Mapping[str, Any],
    *,
    cluster: ArrayLike | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[str, ...]:
    """Advice to fit by the columns of the first segment or slice with an error of its own.

    Empty if the map gains nothing by them, or where the law may protect a column.
    """
    have_own_error = np.flatnonzero(tested.flagged & tested.differs)
    allowed = []
    for i in have_own_error:
        names = tested.column[i].split(TIMES)
        if set(names) <= set(columns) and not any(map(is_protected, names)):
            allowed.append(names)
    if not allowed:
        return ()
    names = allowed[0]
    try:
        with collected_warnings():
            fitted = SegmentCalibration().fit(
                y_prob,
                y_true,
                by={name: columns[name] for name in names},
                cluster=cluster,
                labels=labels,
                pos_label=pos_label,
                sample_weight=sample_weight,
            )
    except InputError:  # a matrix, logits, or numbers that were cut
        return ()
    if fitted.leave_alone_:
        return ()
    options = " ".join(f"--by {name}" for name in names)
    low, high = f"{fitted.gain_low_:.2g}", f"{fitted.gain_high_:.2g}"
    limits = f"({level_percent(_LEVEL)} confidence: {low} to {high})".replace("-", "−")
    chance = "" if fitted.gain_low_ > 0 else ", which may be chance"
    return (
        f"A map by {TIMES.join(names)} lowers the held-out log loss by {fitted.gain_:.2g} per "
        f"row {limits} more than one map for all rows{chance}: `trueness fit {options}`.",
    )


def _segments(
    by: object, rows: ArrayLike, n: int
) -> tuple[tuple[str, ...], list[tuple[str | None, ...]], Ints]:
    """The names of the columns, the values that occur together, and each row's number among these.

    A missing value is None.
    """
    columns = read_by(by, rows, np.ones(n, bool), whole="names")
    if cut := [column.name for column in columns if column.edges]:
        got = f"{cut[0]!r} has many other numbers"
        raise InputError(
            "by", "must hold names or whole numbers", got, remedy="Cut them into groups first."
        )
    if not columns:
        return (), [()], np.zeros(n, np.int64)
    distinct, code = np.unique(
        np.stack([column.code for column in columns]), axis=1, return_inverse=True
    )
    values = [
        [None if value == MISSING else value for value in column.values] for column in columns
    ]
    keys = [
        tuple(column_values[i] for column_values, i in zip(values, pair, strict=True))
        for pair in distinct.T
    ]
    return tuple(column.name for column in columns), keys, code.reshape(-1)


def _label_probability(p: Floats, y: Ints) -> Floats:
    """The probability that scores gave to the label of each row, never 0."""
    return np.maximum(np.where(y == 1, p, 1 - p), 1e-300)


def _shifted(q: Floats, shift: Floats) -> Floats:
    inside = (q > 0) & (q < 1) & (shift != 0)
    return np.where(inside, expit(logit(np.where(inside, q, 0.5)) + shift), q)
