"""What every calibrator is: a scikit-learn estimator from scores and labels to a map of scores."""

import warnings
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from trueness.errors import InputError, OwnRowsWarning, TruenessWarning, warn
from trueness.recalibrate._calibration_set import (
    Rows,
    Scale,
    Shape,
    accepted_rows,
    accepted_scores,
    check_order,
    names_of,
)
from trueness.recalibrate._saving import Stored
from trueness.recalibrate._words import own_words
from trueness.typing import ArrayLike, Floats

__all__ = ["Calibrator", "Sayings", "copy_of", "listed", "named_or_default", "of_one_score"]


_LOOKED_AT = 1 << 9
"""About how many rows a fingerprint is made of."""


class Calibrator(Stored, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A map from scores to better scores, learnt from labels.

    A subclass says what it works on (`_shape`), learns in `_fit` and changes checked scores in `_map`; what it learnt
    it keeps in attributes that end in an underscore, each described in `_learnt`.
    """

    # scikit-learn routes every argument of `fit` that is not called X or y, unless told that it is no metadata.
    # Weights are requested from the start: to a calibrator they are repetitions of rows, whoever hands them over.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("y_prob", "y_true", "labels", "pos_label"), metadata_routing.UNUSED),
        "sample_weight": True,
    }
    __metadata_request__predict: ClassVar[dict[str, str]] = {"y_prob": metadata_routing.UNUSED}

    _shape: ClassVar[Shape] = "vector"

    n_rows_: int
    """Rows of positive weight that it was fitted on."""
    n_classes_: int | None
    """Columns of the scores; None for a vector."""
    classes_: tuple[Any, ...] | None
    """Names of the columns; None for a vector."""

    columns_: tuple[str | int, ...] | None
    """Names of the columns of the frame that it was fitted on; None for a vector or an array."""

    about_: dict[str, Any]
    """Free notes that are saved with the map, such as the column that the scores came from; `fit` leaves it empty."""

    @property
    def _scale(self) -> Scale:
        """Which numbers the scores are."""
        return "probabilities"

    def fit(
        self,
        y_prob: ArrayLike,
        y_true: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
    ) -> Self:
        """Learn the map.

        Parameters
        ----------
        y_prob : array-like of shape (n,) or (n, K)
            Scores, of rows that the classifier was not trained on.
        y_true : array-like of shape (n,)
            What happened: 0/1, bool, or class labels.
        sample_weight : array-like of shape (n,), optional
            Weight 2 is the row twice, weight 0 the row left out.
        labels : sequence, optional
            The classes in the order of the columns, when they are not 0..K-1.
        pos_label : optional
            The label of the event, when labels are not 0/1.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._own_words():
            rows = accepted_rows(
                y_prob,
                y_true,
                sample_weight,
                labels=labels,
                pos_label=pos_label,
                scale=self._scale,
                shape=self._shape,
            )
        self.n_rows_ = rows.y.size
        self.n_classes_ = rows.p.shape[1] if rows.p.ndim == 2 else None
        self.classes_ = rows.classes
        self.columns_ = None if rows.classes is None else names_of(y_prob)
        self._seen = _fingerprint(rows.p)
        self.about_ = {}
        self._fit(rows)
        return self

    def predict(self, y_prob: ArrayLike) -> Floats:
        """Change scores.

        Parameters
        ----------
        y_prob : array-like of shape (n,) or (n, K)
            Scores of the kind and shape that `fit` saw.

        Returns
        -------
        array of float64, of the same shape
            Calibrated probabilities.
        """
        return self._map(self._accepted(y_prob))

    def _accepted(self, y_prob: ArrayLike) -> NDArray[Any]:
        """Checked scores to change; a warning if they are the fitted ones."""
        check_is_fitted(self)
        with self._own_words():
            p = accepted_scores(y_prob, scale=self._scale, classes=self.n_classes_)
        if self.classes_ is not None:
            check_order(names_of(y_prob), self.columns_, self.classes_)
        if p.shape[0] == self.n_rows_ > 1 and _fingerprint(p) == self._seen:
            warn(
                f"These are the {self.n_rows_:,} rows that the calibrator was fitted on: an error measured on them "
                "is too small. Keep rows aside, or use `CalibratedClassifier`, which fits on folds.",
                OwnRowsWarning,
            )
        return p

    def _own_words(self) -> AbstractContextManager[None]:
        # Not `_get_param_names`, which reads a signature: that takes longer than some maps.
        return own_words(hasattr(self, "input"))

    def _check_parameters(self) -> None:
        """Raise if a parameter does not meet its demand; scikit-learn's habit is to look when fitting."""

    @abstractmethod
    def _fit(self, rows: Rows) -> None: ...

    @abstractmethod
    def _map(self, p: NDArray[Any]) -> Floats: ...


def _fingerprint(p: NDArray[Any]) -> int:
    # A few hundred rows tell other data apart as surely as all of them, which would cost as much as some maps do.
    some = p[:: 1 + p.shape[0] // _LOOKED_AT]
    return zlib.crc32(np.ascontiguousarray(some).view(np.uint8).data) if p.size else 0


def named_or_default(calibrator: Any, default: str) -> Calibrator:
    """The calibrator that was given, or a new one of the class called `default`."""
    if calibrator is None:
        made: Calibrator = getattr(import_module("trueness.recalibrate"), default)()
        return made
    if not isinstance(calibrator, Calibrator):
        what = f"the class {calibrator.__name__}" if isinstance(calibrator, type) else repr(calibrator)
        raise InputError("calibrator", f"must be a calibrator such as `{default}()`, or None", f"got {what}")
    return calibrator


def of_one_score(calibrator: Calibrator) -> Calibrator:
    """The calibrator, unless it takes a matrix."""
    if calibrator._shape == "matrix":
        raise InputError(
            "calibrator",
            "must be one of a single score, such as `PlattScaling()`",
            f"{type(calibrator).__name__} takes a matrix by itself",
        )
    return calibrator


def copy_of(calibrator: Calibrator) -> Calibrator:
    """An unfitted copy."""
    from sklearn.base import clone

    copy: Calibrator = clone(calibrator)
    return copy


class Sayings:
    """The warnings of many fits, told once per kind of warning with the names of those that gave it."""

    def __init__(self, singular: str, plural: str) -> None:
        self._words = singular, plural
        self._said: dict[type[TruenessWarning], dict[str, str]] = {}

    @contextmanager
    def of(self, name: Any) -> Iterator[None]:
        """Keep what is said inside under `name`; what others than trueness say passes on."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TruenessWarning)
            yield
        for said in caught:
            if issubclass(said.category, TruenessWarning):
                self._said.setdefault(said.category, {}).setdefault(repr(name), str(said.message))
            else:
                warnings.warn_explicit(said.message, said.category, said.filename, said.lineno)

    def tell(self) -> None:
        """Give the warnings."""
        for category, said in self._said.items():
            names, first = list(said), next(iter(said.values()))
            if len(names) == 1:
                warn(f"{self._words[0]} {names[0]}: {first}", category)
            else:
                warn(f"{self._words[1]} {listed(names)}; the first says: {first}", category)


def listed(names: list[str]) -> str:
    """A few names, and how many more there are."""
    rest = f" and {len(names) - 3:,} more" if len(names) > 4 else ""
    return ", ".join(names[:3] if rest else names) + rest
