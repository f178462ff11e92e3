"""The confidence in the predicted class, made true."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_whole
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.recalibrate._calibration_set import Rows, accepted_scores
from trueness.recalibrate._calibrator import Calibrator, Sayings, copy_of, listed, named_or_default, of_one_score
from trueness.recalibrate._fitted_state import check_nested, refuse_learnt
from trueness.typing import ArrayLike, Bools, Floats, Ints

__all__ = ["TopLabel"]


class TopLabel(Calibrator):
    """Recalibrates the probability of the predicted class, given which class that is.

    Each class has a calibrator of its own, fitted on the rows where it was predicted: on their confidences, and on
    whether the prediction was right. When "cat" is then predicted with 0.8, it is a cat in 80 % of these cases, and
    likewise for every class; calibrated confidence alone would let classes make up for each other.

    Parameters
    ----------
    calibrator : Calibrator, optional
        A calibrator of one probability, copied for each class. Default: ``HistogramBinning()``.
    kind : {'top-label', 'confidence'}, default 'top-label'
        'confidence': one calibrator for the confidences of all classes together.
    min_rows : int, default 50
        A class that was predicted less often (counted in weight) has no calibrator of its own, but that of all
        confidences together; a warning names such classes. The default is the least number of rows per bin in
        the experiments of the paper.

    Attributes
    ----------
    calibrators_ : list of Calibrator or None
        One per class in column order; None where the pooled one serves.
    pooled_ : Calibrator or None
        Fitted on the confidences of all rows; None if every class has its own.

    Notes
    -----
    The predicted class is the column with the largest score, the first of them if several are equal.

    :meth:`predict_confidence` is what a guarantee speaks of: the calibrated probability that the predicted class is
    right. :meth:`predict` puts it into the matrix, in the place of the largest score; the others of the row are scaled
    in proportion to sum to the rest, and share it evenly if they were all 0. If the calibrated confidence falls below
    another entry, the largest entry of the new row belongs to another class: the prediction is still the one that
    :meth:`predict_label` gives, from the scores as they came.

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
    _learnt = {  # noqa: RUF012
        "calibrators": "the calibrator of each class in column order; null where the pooled one serves",
        "pooled": "the calibrator of the confidences of all rows; null if every class has its own",
    }

    calibrators_: list[Calibrator | None]
    pooled_: Calibrator | None

    def __init__(
        self,
        calibrator: Calibrator | None = None,
        *,
        kind: Literal["top-label", "confidence"] = "top-label",
        min_rows: int = 50,
    ) -> None:
        self.calibrator = calibrator
        self.kind = kind
        self.min_rows = min_rows

    @property
    def pooled_classes_(self) -> tuple[Any, ...]:
        """The classes that the pooled calibrator serves."""
        assert self.classes_ is not None
        return tuple(name for name, own in zip(self.classes_, self.calibrators_, strict=True) if own is None)

    def predict_label(self, y_prob: ArrayLike) -> NDArray[Any]:
        """The predicted classes: those with the largest score as it came.

        Parameters
        ----------
        y_prob : array-like of shape (n, K)
            Scores.

        Returns
        -------
        array of shape (n,)
            Names of classes.
        """
        return np.asarray(self.classes_)[self._predicted(y_prob)[0]]

    def predict_confidence(self, y_prob: ArrayLike) -> Floats:
        """The calibrated probability that the predicted class is right.

        Parameters
        ----------
        y_prob : array-like of shape (n, K)
            Scores.

        Returns
        -------
        array of shape (n,)
            Of the class that :meth:`predict_label` gives.
        """
        top, found = self._predicted(y_prob)
        return found[np.arange(top.size), top]

    def _predicted(self, y_prob: ArrayLike) -> tuple[Ints, Floats]:
        found = self.predict(y_prob)
        return _top(accepted_scores(y_prob, classes=self.n_classes_))[0], found

    def _check_parameters(self) -> None:
        calibrator = of_one_score(named_or_default(self.calibrator, "HistogramBinning"))
        if calibrator._scale != "probabilities":
            raise InputError(
                "calibrator", "must take probabilities: a confidence is one", remedy="It is set to take logits."
            )
        if not isinstance(self.kind, str) or self.kind not in ("top-label", "confidence"):
            raise InputError("kind", "must be 'top-label' or 'confidence'", f"got {self.kind!r}")
        checked_whole(self.min_rows, "min_rows")

    def _check_learnt(self) -> None:
        if not isinstance(self.calibrators_, list) or len(self.calibrators_) != self.n_classes_:
            refuse_learnt(self, "calibrators", f"a list of {self.n_classes_} calibrators or nulls", self.calibrators_)
        for calibrator in self.calibrators_:
            if calibrator is not None:
                check_nested(self, "calibrators", calibrator, kind=Calibrator)
        if self.pooled_ is not None or None in self.calibrators_:
            check_nested(self, "pooled", self.pooled_, kind=Calibrator)

    def _fit(self, rows: Rows) -> None:
        assert rows.classes is not None
        top, confidence = _top(rows.p)
        correct, names = (rows.y == top).astype(np.int64), rows.classes
        seen = np.bincount(top, weights=rows.w, minlength=len(names))
        own = seen >= self.min_rows if self.kind == "top-label" else np.zeros(len(names), dtype=bool)
        if self.kind == "top-label":
            self._warn_about(own, names)
        sayings = Sayings("Predicted class", "Predicted classes")
        self.calibrators_, self.pooled_ = [], None
        for k, name in enumerate(names):
            with sayings.of(name):
                self.calibrators_.append(self._fitted(rows, confidence, correct, top == k) if own[k] else None)
        sayings.tell()
        if not own.all():
            self.pooled_ = self._fitted(rows, confidence, correct, np.ones(top.size, dtype=bool))

    def _fitted(self, rows: Rows, confidence: Floats, correct: Ints, kept: Bools) -> Calibrator:
        calibrator = copy_of(named_or_default(self.calibrator, "HistogramBinning"))
        return calibrator.fit(confidence[kept], correct[kept], None if rows.w is None else rows.w[kept])

    def _warn_about(self, own: Bools, names: tuple[Any, ...]) -> None:
        if not own.all():
            few = listed([repr(name) for name, enough in zip(names, own, strict=True) if not enough])
            warn(
                f"Fewer than `min_rows={self.min_rows}` rows are predicted as {few}: there the calibrator of all "
                "confidences together serves.",
                FewRowsWarning,
            )

    def _map(self, p: NDArray[Any]) -> Floats:
        top, confidence = _top(p)
        calibrated = np.empty(top.size)
        for k in np.unique(top):
            calibrator, rows = self.calibrators_[k] or self.pooled_, top == k
            assert calibrator is not None
            calibrated[rows] = calibrator._map(confidence[rows])
        return _with_confidence(p, top, calibrated)


def _top(p: NDArray[Any]) -> tuple[Ints, Floats]:
    top = np.argmax(p, axis=1)
    return top, p[np.arange(top.size), top].astype(np.float64)


def _with_confidence(p: NDArray[Any], top: Ints, confidence: Floats) -> Floats:
    """The matrix with new entries at `top`, and the others of each row in proportion."""
    found = p.astype(np.float64)
    at = np.arange(top.size)
    found[at, top] = 0.0
    rest = found.sum(axis=1)
    found[rest == 0] = 1.0
    found[at, top] = 0.0
    rest[rest == 0] = found.shape[1] - 1
    # Divided first: the rest may be so small that (1 - confidence) / rest is infinite.
    found /= rest[:, None]
    found *= (1 - confidence)[:, None]
    found[at, top] = confidence
    return found
