"""One calibrator per class, each against the rest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.recalibrate._calibration_set import Rows, Scale
from trueness.recalibrate._calibrator import Calibrator, Sayings, copy_of, named_or_default, of_one_score
from trueness.recalibrate._fitted_state import check_nested, refuse_learnt
from trueness.typing import Floats

__all__ = ["OneVsRest"]


class OneVsRest(Calibrator):
    """One calibrator per column of a matrix: this class against all others.

    Parameters
    ----------
    calibrator : Calibrator, optional
        A calibrator of one score, copied for each class. Default: ``PlattScaling()``. If it takes logits, so does
        this one.
    normalize : bool, default True
        Whether each row is divided by its sum. If not, rows need not sum to one, but each column is what its
        calibrator said: a promise of the calibrator is about the columns before they are divided.

    Attributes
    ----------
    calibrators_ : list of Calibrator
        The fitted copies, in column order.

    Notes
    -----
    A row in which every class is left with 0 has no sum to be divided by; it becomes 1/K for each of the K classes,
    as in scikit-learn. A class that no label has is fitted as well, on labels that are all 0; a warning names it.

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
    _learnt = {"calibrators": "the calibrator of each class, in column order"}  # noqa: RUF012

    calibrators_: list[Calibrator]

    def __init__(self, calibrator: Calibrator | None = None, *, normalize: bool = True) -> None:
        self.calibrator = calibrator
        self.normalize = normalize

    @property
    def _scale(self) -> Scale:
        return "probabilities" if self.calibrator is None else self.calibrator._scale

    def _check_parameters(self) -> None:
        of_one_score(named_or_default(self.calibrator, "PlattScaling"))
        if not isinstance(self.normalize, bool | np.bool_):
            raise InputError("normalize", "must be True or False", f"got {self.normalize!r}")

    def _check_learnt(self) -> None:
        if not isinstance(self.calibrators_, list) or len(self.calibrators_) != self.n_classes_:
            refuse_learnt(self, "calibrators", f"a list of {self.n_classes_} calibrators", self.calibrators_)
        for calibrator in self.calibrators_:
            check_nested(self, "calibrators", calibrator, kind=Calibrator)

    def _fit(self, rows: Rows) -> None:
        assert rows.classes is not None
        kind = named_or_default(self.calibrator, "PlattScaling")
        sayings = Sayings("Class", "Classes")
        self.calibrators_ = [copy_of(kind) for _ in rows.classes]
        for k, (calibrator, name) in enumerate(zip(self.calibrators_, rows.classes, strict=True)):
            with sayings.of(name):
                calibrator.fit(np.ascontiguousarray(rows.p[:, k]), (rows.y == k).astype(np.int64), rows.w)
        sayings.tell()

    def _map(self, p: NDArray[Any]) -> Floats:
        # Not `predict`: the rows are checked, and that they are its own has been said.
        columns = [c._map(np.ascontiguousarray(p[:, k])) for k, c in enumerate(self.calibrators_)]
        found = np.column_stack(columns).astype(np.float64, copy=False)
        return _normalized(found) if self.normalize else found


def _normalized(found: Floats) -> Floats:
    total = found.sum(axis=1, keepdims=True)
    none = total[:, 0] == 0
    if none.any():
        found[none], total[none] = 1.0, found.shape[1]
    return np.asarray(found / total)
