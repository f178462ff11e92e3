"""Maps for several classes: of the confidence in the top class, and of each class on its own."""

from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from trueness._input.arguments import checked_whole
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.recalibrate import _calibrator as base
from trueness.recalibrate._calibration_set import CalibrationSet, Shape
from trueness.recalibrate._formula import PerClass, PythonOnly
from trueness.recalibrate._histogram import HistogramBinning
from trueness.recalibrate._logistic import PlattScaling
from trueness.recalibrate._saving import (
    Field,
    Fitted,
    Stored,
    fitted_calibrator,
    fitted_calibrators,
)
from trueness.typing import ArrayLike, Floats, Ints


def _check_pooled(calibrator: Fitted, value: Stored) -> str:
    if value is not None or None in calibrator.calibrators_:
        return fitted_calibrator(calibrator, value)
    return ""


@base.with_parameters
class TopLabel(base.Calibrator):
    """Calibrate the probability of the predicted class, separately for each predicted class.

    Each class has its own calibrator, fitted on the rows for which it was predicted. When "cat" is
    then predicted with 0.8, it is a cat in 80 % of these cases; with calibrated confidence alone,
    errors of classes could cancel.

    Parameters
    ----------
    calibrator : Calibrator or str, optional
        A calibrator of one probability, copied for each class. Default: ``HistogramBinning()``.
    kind : {'top-label', 'confidence'}, default 'top-label'
        'confidence': one calibrator for the confidences of all classes together.
    min_rows : int, default 50
        A class that is predicted less often (counted in weight) uses the calibrator of all classes
        pooled; a warning names such classes. The default is the smallest number of rows per bin in
        the experiments of the paper.

    Notes
    -----
    The predicted class is the column with the largest score, the first one in case of a tie.

    A guarantee is about :meth:`predict_confidence`, the calibrated probability that the predicted
    class is correct. :meth:`predict` returns it in a matrix, in place of the largest score; the
    other entries of the row are rescaled to sum to the rest, and share it equally if they were
    all 0. If it falls below another entry, the predicted class is still that of
    :meth:`predict_label`, which uses the original scores.

    References
    ----------
    Gupta, Ramdas, "Top-label calibration and multiclass-to-binary reductions", ICLR, 2022.

    Examples
    --------
    >>> import trueness as tn
    >>> d = tn.simulate.multiclass(20_000, 3, distortion=tn.simulate.LabelNoise(0.4), seed=0)
    >>> fit, new = slice(0, 10_000), slice(10_000, None)
    >>> top = tn.TopLabel(tn.IsotonicCalibration()).fit(d.y_prob[fit], d.y_true[fit])
    >>> right = top.predict_label(d.y_prob[new]) == d.y_true[new]
    >>> before, after = d.y_prob[new].max(axis=1), top.predict_confidence(d.y_prob[new])
    >>> round(tn.ece(right, before), 3), round(tn.ece(right, after), 3)
    (0.117, 0.019)
    """

    _shape = "matrix"
    _state: ClassVar = {
        "calibrators": Field(
            "calibrator of each class; null if it uses the pooled one",
            fitted_calibrators(gaps=True),
        ),
        "pooled": Field(
            "calibrator of the confidences of all rows; null if every class has its own",
            _check_pooled,
        ),
    }

    calibrator: base.Calibrator | str | None = field(default=None, kw_only=False)
    kind: Literal["top-label", "confidence"] = "top-label"
    min_rows: int = 50

    @property
    def pooled_classes_(self) -> tuple[Any, ...]:
        """The classes that use the pooled calibrator."""
        assert self.classes_ is not None
        return tuple(
            name
            for name, calibrator in zip(self.classes_, self.calibrators_, strict=True)
            if calibrator is None
        )

    def predict_label(self, y_prob: ArrayLike) -> NDArray[Any]:
        """The predicted classes, which have the largest original score."""
        return np.asarray(self.classes_)[self._top_and_matrix(y_prob)[0]]

    def predict_confidence(self, y_prob: ArrayLike) -> Floats:
        """The calibrated probability that :meth:`predict_label` returns the right class."""
        top, matrix = self._top_and_matrix(y_prob)
        return matrix[np.arange(top.size), top]

    def _top_and_matrix(self, y_prob: ArrayLike) -> tuple[Ints, Floats]:
        p = self._accept(y_prob)
        return _top(p)[0], self._calibrated(p)

    def _check_parameters(self) -> None:
        """Raise unless the inner calibrator takes a vector of probabilities; checks `min_rows`."""
        calibrator = base.inner_calibrator(self.calibrator, HistogramBinning)
        base.refuse_matrix(calibrator)
        if calibrator._scale != "probabilities":
            raise InputError(
                "calibrator",
                "must take probabilities, as confidences are",
                "it is set to take logits",
            )
        checked_whole(self.min_rows, "min_rows")

    def _fit(self, rows: CalibrationSet) -> None:
        """Fit a calibrator of the largest score for each predicted class, or one for all classes.

        Classes that are predicted for fewer than `min_rows` rows use the pooled one, with a
        warning; if there are none, it is not fitted. For every `kind` but 'top-label' all classes
        use it.
        """
        assert rows.classes is not None
        top, confidence = _top(rows.p)
        names = rows.classes
        binary = CalibrationSet(confidence, (rows.y == top).astype(np.int64), rows.w, None)
        predicted = np.bincount(top, weights=rows.w, minlength=len(names))
        has_enough = (predicted >= self.min_rows) & (self.kind == "top-label")
        if self.kind == "top-label" and not has_enough.all():
            names_of_few = base.join_names(
                [repr(name) for name, enough in zip(names, has_enough, strict=True) if not enough]
            )
            these = "these classes use the calibrator of all classes pooled"
            warn(
                f"Fewer than `min_rows={self.min_rows}` rows are predicted as {names_of_few}: "
                f"{these}.",
                FewRowsWarning,
            )

        def fit(rows: CalibrationSet) -> base.Calibrator:
            inner: base.Calibrator = clone(base.inner_calibrator(self.calibrator, HistogramBinning))
            return inner.fit(rows.p, rows.y, rows.w)

        fits = (
            (name, partial(fit, binary.take(top == k)) if has_enough[k] else lambda: None)
            for k, name in enumerate(names)
        )
        self.calibrators_ = base.fit_each(("Predicted class", "Predicted classes"), fits)
        self.pooled_ = None if has_enough.all() else fit(binary)

    def _formula(self) -> PythonOnly:
        return PythonOnly(
            self._calibrated, "the map of a row depends on which of its scores is the largest"
        )

    def _calibrated(self, p: NDArray[Any]) -> Floats:
        """The rows with their largest score calibrated, and the others scaled to what remains.

        Rows are calibrated by the calibrator of their predicted class, or by the pooled one.
        """
        top, confidence = _top(p)
        calibrated = np.empty(top.size)
        for k in np.unique(top):
            calibrator = self.calibrators_[k] or self.pooled_
            rows = top == k
            assert calibrator is not None
            calibrated[rows] = calibrator._formula()(confidence[rows])
        return _with_confidence(p, top, calibrated)


def _top(p: NDArray[Any]) -> tuple[Ints, Floats]:
    top = np.argmax(p, axis=1)
    return top, p[np.arange(top.size), top].astype(np.float64)


def _with_confidence(p: NDArray[Any], top: Ints, confidence: Floats) -> Floats:
    """The matrix with new entries at `top`, and the others of each row rescaled."""
    matrix = p.astype(np.float64)
    row = np.arange(top.size)
    matrix[row, top] = 0.0
    rest = matrix.sum(axis=1)
    matrix[rest == 0] = 1.0
    matrix[row, top] = 0.0
    rest[rest == 0] = matrix.shape[1] - 1
    # Divided first: the rest may be so small that (1 - confidence) / rest is infinite.
    matrix /= rest[:, None]
    matrix *= (1 - confidence)[:, None]
    matrix[row, top] = confidence
    return matrix


@base.with_parameters
class OneVsRest(base.Calibrator):
    """Calibrate each column of a matrix as a binary problem.

    A column is a class against all others, or a label of its own.

    Parameters
    ----------
    calibrator : Calibrator or str, optional
        A calibrator of one score, copied for each class. Default: ``PlattScaling()``. If it takes
        logits, so does this one.
    normalize : bool, default True
        Whether to divide each row by its sum. Otherwise rows need not sum to one, but each column
        is exactly what its calibrator predicts: a guarantee of the calibrator is about the columns
        before normalization.
    kind : {'classwise', 'multilabel'}, default 'classwise'
        'multilabel': each column is a label of its own, of which a row may have any number. Labels
        are a column of 0/1 each, and nothing is normalized.

    Notes
    -----
    A row in which every class gets 0 cannot be normalized; it becomes 1/K for each of the K
    classes, as in scikit-learn. A class without rows is fitted as well, on labels that are all 0; a
    warning names it.

    References
    ----------
    Zadrozny, Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", KDD, 2002.

    Examples
    --------
    >>> import trueness as tn
    >>> d = tn.simulate.multiclass(20_000, 3, distortion=tn.simulate.LabelNoise(0.4), seed=0)
    >>> fit, new = slice(0, 10_000), slice(10_000, None)
    >>> each = tn.OneVsRest(tn.BetaCalibration()).fit(d.y_prob[fit], d.y_true[fit])
    >>> y_true, y_prob = d.y_true[new], d.y_prob[new]
    >>> round(tn.ece(y_true, y_prob), 3), round(tn.ece(y_true, each.predict(y_prob)), 3)
    (0.082, 0.014)
    """

    _shape = "matrix"
    _state: ClassVar = {
        "calibrators": Field("the calibrator of each class, in column order", fitted_calibrators())
    }

    calibrator: base.Calibrator | str | None = field(default=None, kw_only=False)
    normalize: bool = True
    kind: Literal["classwise", "multilabel"] = "classwise"

    @property
    def _rows_shape(self) -> Shape:
        if self.kind == "multilabel":
            return "labels"
        return "matrix"

    def _check_parameters(self) -> None:
        base.refuse_matrix(base.inner_calibrator(self.calibrator, PlattScaling))

    def _fit(self, rows: CalibrationSet) -> None:
        """Fit a copy of the calibrator to each column, against its label or all other classes."""
        assert rows.classes is not None
        inner = base.inner_calibrator(self.calibrator, PlattScaling)
        several = rows.y.ndim == 2

        def fit(k: int) -> base.Calibrator:
            class_calibrator: base.Calibrator = clone(inner)
            y = rows.y[:, k] if several else (rows.y == k).astype(np.int64)
            return class_calibrator.fit(np.ascontiguousarray(rows.p[:, k]), y, rows.w)

        fits = ((name, partial(fit, k)) for k, name in enumerate(rows.classes))
        nouns = ("Label", "Labels") if several else ("Class", "Classes")
        self.calibrators_ = base.fit_each(nouns, fits)

    def _formula(self) -> PerClass:
        columns = tuple(calibrator._formula() for calibrator in self.calibrators_)
        return PerClass(columns, bool(self.normalize) and self.kind != "multilabel")
