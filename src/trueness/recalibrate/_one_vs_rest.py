"""One-vs-rest calibration: one calibrator per class."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from trueness.recalibrate._calibration_set import CalibrationSet, Scale
from trueness.recalibrate._calibrator import Calibrator, WarningsByName, check_flag, inner_calibrator, refuse_matrix
from trueness.recalibrate._fitted_state import Field, fitted_calibrators
from trueness.recalibrate._platt import PlattScaling
from trueness.typing import Floats


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

    Attributes
    ----------
    calibrators_ : list of Calibrator
        The fitted copies, in column order.

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

    def __init__(self, calibrator: Calibrator | None = None, *, normalize: bool = True) -> None:
        self.calibrator = calibrator
        self.normalize = normalize

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

    def _map(self, p: NDArray[Any]) -> Floats:
        # Not `predict`: the scores are checked, and warned about if they are the fitted ones.
        columns = [c._map(np.ascontiguousarray(p[:, k])) for k, c in enumerate(self.calibrators_)]
        matrix = np.column_stack(columns).astype(np.float64, copy=False)
        return _normalize(matrix) if self.normalize else matrix


def _normalize(matrix: Floats) -> Floats:
    total = matrix.sum(axis=1, keepdims=True)
    zero = total[:, 0] == 0
    matrix[zero], total[zero] = 1.0, matrix.shape[1]
    return np.asarray(matrix / total)
