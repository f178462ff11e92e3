"""One-vs-rest calibration: one calibrator per class."""

from dataclasses import field
from typing import ClassVar

import numpy as np
from sklearn.base import clone

from trueness.recalibrate._calibration_set import CalibrationSet, Scale
from trueness.recalibrate._calibrator import (
    Calibrator,
    WarningsByName,
    check_flag,
    inner_calibrator,
    refuse_matrix,
    with_parameters,
)
from trueness.recalibrate._formula import PerClass
from trueness.recalibrate._platt import PlattScaling
from trueness.recalibrate._saving import Field, fitted_calibrators


@with_parameters
class OneVsRest(Calibrator):
    """Calibrate each column of a matrix as a binary problem: its class against all others.

    Parameters
    ----------
    calibrator : Calibrator, optional
        A calibrator of one score, copied for each class. Default: ``PlattScaling()``. If it takes logits, so does
        this one.
    normalize : bool, default True
        Whether to divide each row by its sum. Otherwise rows need not sum to one, but each column is exactly what its
        calibrator predicts: a guarantee of the calibrator is about the columns before normalization.

    Notes
    -----
    A row in which every class gets 0 cannot be normalized; it becomes 1/K for each of the K classes, as in
    scikit-learn. A class without rows is fitted as well, on labels that are all 0; a warning names it.

    References
    ----------
    Zadrozny, Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD, 2002.

    Examples
    --------
    >>> import trueness as tn
    >>> d = tn.simulate.multiclass(20_000, 3, distortion=tn.simulate.LabelNoise(0.4), seed=0)
    >>> fit, new = slice(0, 10_000), slice(10_000, None)
    >>> each = tn.OneVsRest(tn.BetaCalibration()).fit(d.y_prob[fit], d.y_true[fit])
    >>> round(tn.ece(d.y_true[new], d.y_prob[new]), 3), round(tn.ece(d.y_true[new], each.predict(d.y_prob[new])), 3)
    (0.082, 0.014)
    """

    _shape = "matrix"
    _state: ClassVar = {"calibrators": Field("the calibrator of each class, in column order", fitted_calibrators())}

    calibrator: Calibrator | None = field(default=None, kw_only=False)
    normalize: bool = True

    @property
    def _scale(self) -> Scale:
        return "probabilities" if self.calibrator is None else self.calibrator._scale

    def _check_parameters(self) -> None:
        refuse_matrix(inner_calibrator(self.calibrator, PlattScaling))
        check_flag("normalize", self.normalize)

    def _fit(self, rows: CalibrationSet) -> None:
        assert rows.classes is not None
        inner = inner_calibrator(self.calibrator, PlattScaling)
        collected = WarningsByName("Class", "Classes")
        self.calibrators_ = [clone(inner) for _ in rows.classes]
        for k, (calibrator, name) in enumerate(zip(self.calibrators_, rows.classes, strict=True)):
            with collected.of(name):
                calibrator.fit(np.ascontiguousarray(rows.p[:, k]), (rows.y == k).astype(np.int64), rows.w)
        collected.give()

    def _formula(self) -> PerClass:
        return PerClass(tuple(calibrator._formula() for calibrator in self.calibrators_), bool(self.normalize))
