"""The base class of all calibrators, and what calibrators that hold others share."""

import re
import textwrap
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike
from typing import (
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from trueness._input.arguments import check_seed, checked_fraction, checked_word, is_number
from trueness._keywords import suggests_keywords
from trueness._tally.events import Events
from trueness._version import __version__
from trueness.errors import (
    InputError,
    OwnRowsWarning,
    Remedy,
    TruenessWarning,
    collected_warnings,
    remedies,
    warn,
)
from trueness.recalibrate import _calibration_set as calibration
from trueness.recalibrate._formula import Map
from trueness.recalibrate._onnx import Model, onnx_of
from trueness.recalibrate._saving import Savable
from trueness.recalibrate._sql import Dialect, check_columns, query_of, sql_of
from trueness.typing import ArrayLike, Floats

Class = TypeVar("Class", bound=type)

_FINGERPRINT_ROWS = 1 << 9
_TECHNICAL = {"eps", "n_iter", "n_bins", "n", "reach", "merged", "tied", "tied_edges"}
_SHOWN = 4  # numbers of an array that a printed calibrator shows

_REMEDIES = calibration.REMEDIES | {
    "swapped": Remedy("swapped", "Scores come first here: fit(y_prob, y_true).")
}
_REMEDIES_OF_LOGITS = _REMEDIES | {
    "from-logits": Remedy(
        "input-logits", "These look like logits: use `from_logits=True` if they are."
    )
}


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_parameters(cls: Class) -> Class:
    """Give a class a constructor that takes its declared fields, by keyword unless stated.

    Its docstring is completed: parameters that it does not mention are described as
    `_shared_parameters` has it, and what is learnt as `_state` has it.
    """
    made: Any = suggests_keywords(dataclass(eq=False, repr=False, kw_only=True)(cls))
    before, line, after = str(made.__doc__).partition("\n    ----------\n")
    parameters, blank, rest = after.partition("\n\n")
    fields = made.__dataclass_fields__
    shared = getattr(made, "_shared_parameters", {}).items()
    parameters += "".join(
        f"\n{text}"
        for name, text in shared
        if name in fields and not re.search(rf"\b{name} : ", parameters)
    )
    if getattr(made, "_state", {}) and "\n    Attributes\n" not in after:
        parameters += "\n\n    Attributes\n    ----------"
        for name, entry in made._state.items():
            meaning = entry.about[0].upper() + entry.about[1:].replace("null", "None") + "."
            parameters += f"\n    {name}_\n" + textwrap.indent(textwrap.fill(meaning, 112), " " * 8)
    made.__doc__ = before + line + parameters + blank + rest
    return cast(Class, made)


# Its bases, of scikit-learn, have no types.
class Calibrator(Savable, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A map from scores to calibrated probabilities, learnt from labels.

    A subclass declares what it works on (`_shape`), learns in `_fit` and states its map in
    `_formula`, of which `predict`, SQL and ONNX are readings. It keeps what it learnt in attributes
    that end in an underscore and describes each in `_state`, from which saving and loading follow.
    """

    # scikit-learn routes every argument of `fit` that is not called X or y, unless it is declared
    # unused. Weights are requested by default: to a calibrator they are repetitions of rows,
    # wherever they come from.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("y_prob", "y_true", "labels", "pos_label"), metadata_routing.UNUSED),
        "sample_weight": True,
    }
    __metadata_request__predict: ClassVar[dict[str, str]] = {"y_prob": metadata_routing.UNUSED}
    __metadata_request__transform: ClassVar[dict[str, str]] = {"y_prob": metadata_routing.UNUSED}
    __metadata_request__predict_proba: ClassVar[dict[str, str]] = {
        "y_prob": metadata_routing.UNUSED
    }

    _shape: ClassVar[calibration.Shape] = "vector"
    _shared_parameters: ClassVar[dict[str, str]] = {}

    # `_saving.COMMON` says what these are.
    n_rows_: int
    n_classes_: int | None
    classes_: tuple[Any, ...] | None
    columns_: tuple[str | int, ...] | None
    score_names_: tuple[str, ...] | None
    label_name_: str | None
    date_: str | None
    version_: str | None
    seen_: int
    about_: dict[str, Any]
    """Notes that are saved with the map, such as the column that the scores came from; empty after
    `fit`."""

    @property
    def _scale(self) -> calibration.Scale:
        """That of a calibrator inside, if there is one."""
        return getattr(getattr(self, "calibrator", None), "_scale", "probabilities")

    @property
    def _rows_shape(self) -> calibration.Shape:
        return self._shape

    @suggests_keywords
    def fit(
        self,
        y_prob: ArrayLike | Events,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Sequence[Hashable] | None = None,
        pos_label: Hashable | None = None,
    ) -> Self:
        """Learn the map.

        Parameters
        ----------
        y_prob : array-like of shape (n,) or (n, K)
            Scores of rows that the classifier was not trained on; or Events in place of scores,
            labels and weights.
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

        Returns
        -------
        self
        """
        self._check()
        y_prob, y_true, sample_weight = calibration.rows_of_events(y_prob, y_true, sample_weight)
        y_prob = calibration.single_column(y_prob)
        with self._own_remedies():
            rows = calibration.accept_rows(
                y_prob,
                y_true,
                sample_weight,
                labels=labels,
                pos_label=pos_label,
                scale=self._scale,
                shape=self._rows_shape,
            )
        self.n_rows_ = rows.p.shape[0]
        self.n_classes_ = rows.p.shape[1] if rows.p.ndim == 2 else None
        self.classes_ = rows.classes
        self.columns_ = None if rows.classes is None else calibration.column_names(y_prob)
        self.score_names_ = calibration.score_names(y_prob)
        name = getattr(y_true, "name", None)
        self.label_name_ = name if isinstance(name, str) else None
        self.date_ = datetime.now(UTC).date().isoformat()
        self.version_ = __version__
        self.seen_ = _fingerprint(rows.p)
        self.about_ = {}
        self._fit(rows)
        return self

    def predict(self, y_prob: ArrayLike) -> Floats:
        """Calibrated probabilities, in the shape of the scores.

        Scale and columns must be those of `fit`.
        """
        p = self._accept(y_prob)  # refuses a map that is not fitted
        return self._formula()(p)

    def predict_proba(self, y_prob: ArrayLike) -> Floats:
        """Calibrated probabilities with one column per class.

        For a vector of scores, non-event and event.
        """
        scores = self.predict(y_prob)
        if scores.ndim == 1:
            return np.column_stack([1 - scores, scores])
        return scores

    def __str__(self) -> str:
        """The calibrator; once fitted, also what was chosen and the gain, where known."""
        if not any(name.endswith("_") for name in vars(self)):
            return repr(self)
        learnt = self._learnt_in_words()
        return f"{self!r}. {learnt}" if learnt else f"{self!r}, fitted."

    def _learnt_in_words(self) -> str:
        """What `fit` chose: its numbers; of a map in steps, how many steps and where they lie."""
        steps = getattr(self, "values_", None)
        if isinstance(steps, np.ndarray) and steps.ndim == 1 and steps.size:
            return f"{steps.size:,} steps, from {steps.min():.3g} to {steps.max():.3g}."
        values = {
            name: getattr(self, f"{name}_", None) for name in self._state if name not in _TECHNICAL
        }
        parts = [_number_in_words(name.replace("_", " "), value) for name, value in values.items()]
        sentence = "; ".join(filter(None, parts))
        return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""

    def transform(self, y_prob: ArrayLike) -> Floats:
        """Calibrated probabilities, as a step of a pipeline.

        `set_output` chooses the kind of frame.
        """
        return self.predict(y_prob)

    def get_feature_names_out(
        self, input_features: Sequence[str] | None = None
    ) -> NDArray[np.object_]:
        """Names of the columns that `transform` returns: those of the scores, if any."""
        check_is_fitted(self)
        n = self.n_features_in_
        fitted_names = self.score_names_
        names = (
            fitted_names
            if input_features is None and fitted_names and len(fitted_names) == n
            else input_features
        )
        if names is None:
            names = [f"{type(self).__name__.lower()}{k}" for k in range(n)]
        return np.asarray(names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of scores."""
        return self.n_classes_ or 1

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the columns of scores; only if they had names in `fit`."""
        if not self.score_names_:
            raise AttributeError("The scores had no names in `fit`.")
        return np.asarray(self.score_names_, dtype=object)

    def to_sql(
        self,
        dialect: Dialect = "duckdb",
        *,
        column: str | Sequence[str] | None = None,
        table: str | Sequence[str] | None = None,
    ) -> str | dict[str, str]:
        """The fitted map as an SQL expression; for a matrix, one per class, by class name.

        Parameters
        ----------
        dialect : {'duckdb', 'sqlite', 'postgresql', 'spark', 'bigquery', ...}, default 'duckdb'
            The SQL dialect. SQLite needs its mathematical functions (3.35, compiled in by most).
            'snowflake', 'redshift', 'databricks', 'trino', 'clickhouse', 'mysql', 'tsql' and
            'oracle' are translated from DuckDB's by sqlglot; they begin with a comment that says
            that trueness has not executed them.
        column : str or sequence of str, optional
            The column of the scores; for a matrix, its columns in the order of `fit`. They are
            quoted. Default: the names that the scores had in `fit`; for a vector without one, 'p'.
        table : str or sequence of str, optional
            The name of a table, or its parts, such as schema and table; they are quoted. The result
            is then a query of its rows, in which every map of a class is written once: for maps of
            single classes (:class:`~trueness.OneVsRest`) expressions repeat all of them.

        Returns
        -------
        str, or dict of str
            An expression in double precision, which equals `predict` to 1e-12 (steep maps, and maps
            that weigh the logits of classes: to the rounding of the scores, which is 1e-10 for
            logits of a million). Scores that `predict` refuses become NULL: NULL, NaN, and those
            outside [0, 1]. With `table`, a query that adds a column for each score column, with
            _calibrated at the end of its name; and, with _alone, what the map of a class gives
            before it is divided by the sum over classes. Maps that are random or depend on which
            score is the largest are refused.

        Examples
        --------
        >>> from trueness.recalibrate import HistogramBinning
        >>> y_prob, y_true = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9], [0, 0, 0, 1, 1, 1, 1]
        >>> fitted = HistogramBinning(n_bins=2).fit(y_prob, y_true)
        >>> print(fitted.to_sql(column="score"))  # doctest: +NORMALIZE_WHITESPACE
        CASE WHEN "score" >= 0.0e0 AND "score" <= 1.0e0
        THEN CASE WHEN "score" < 0.4e0 THEN 0.0e0 ELSE 1.0e0 END END
        """
        check_is_fitted(self)
        names = check_columns(column, self)
        if table is not None:
            return query_of(self._formula(), names, table, dialect)
        texts = sql_of(self._formula(), names, dialect)
        if self.classes_ is None:
            return texts[0]
        return dict(zip(map(str, self.classes_), texts, strict=True))

    def to_onnx(
        self,
        path: str | PathLike[str] | None = None,
        *,
        dtype: Literal["float64", "float32"] = "float64",
    ) -> Model:
        """The fitted map as an ONNX model, which needs neither Python nor trueness to run.

        Parameters
        ----------
        path : path, optional
            A file to write as well.
        dtype : {'float64', 'float32'}, default 'float64'
            The type of the input `scores` and of the output `calibrated`. The arithmetic has double
            precision.

        Returns
        -------
        onnx.ModelProto
            A model from an array of shape (n,), or (n, K) for a matrix, to one of the same shape:
            equal to `predict` to 1e-12, or 1e-6 with float32, with the exceptions of `to_sql`.
            Scores that `predict` refuses become NaN. Maps that are random or depend on which score
            is the largest are refused.
        """
        check_is_fitted(self)
        return onnx_of(self._formula(), self.n_classes_, path, dtype)

    def _accept(self, y_prob: ArrayLike) -> NDArray[Any]:
        """Checked scores; warns if they are the ones it was fitted on."""
        check_is_fitted(self)
        y_prob = calibration.single_column(y_prob)
        with self._own_remedies():
            p = calibration.accept_scores(
                y_prob, scale=self._scale, classes=self.n_classes_, shape=self._rows_shape
            )
        if self.classes_ is not None:
            calibration.check_column_order(
                calibration.column_names(y_prob), self.columns_, self.classes_
            )
        if p.shape[0] == self.n_rows_ > 1 and _fingerprint(p) == self.seen_:
            seen = f"These are the {self.n_rows_:,} rows that the calibrator was fitted on"
            other = "Hold out other rows, or use `CalibratedClassifier`, which cross-fits."
            warn(f"{seen}: an error measured on them is too small. {other}", OwnRowsWarning)
        return p

    def _own_remedies(self) -> AbstractContextManager[None]:
        # Not `_get_param_names`, which reads a signature: that takes longer than some maps.
        if "from_logits" in vars(self):
            return remedies(_REMEDIES_OF_LOGITS)
        return remedies(_REMEDIES)

    def _check(self) -> None:
        """Raise if a parameter does not meet its demand.

        As usual in scikit-learn, `fit` checks, not `__init__`.
        """
        for name, parameter in getattr(self, "__dataclass_fields__", {}).items():
            value = getattr(self, name)
            if parameter.type is bool:
                check_flag(name, value)
            elif get_origin(parameter.type) is Literal:
                checked_word(value, name, get_args(parameter.type))
            elif name == "seed":
                check_seed(value)
            elif name == "level":
                checked_fraction(value, name)
        self._check_parameters()

    def _check_parameters(self) -> None:
        """Check the parameters other than flags, words, `seed` and `level`."""

    @abstractmethod
    def _fit(self, rows: calibration.CalibrationSet) -> None: ...

    @abstractmethod
    def _formula(self) -> Map:
        """The fitted map of checked scores.

        One of `_formula`, or any function, which SQL and ONNX then refuse.
        """


def _fingerprint(p: NDArray[Any]) -> int:
    # A few hundred rows tell data sets apart as well as all of them, which would cost as much as
    # some maps do.
    sampled = p[:: 1 + p.shape[0] // _FINGERPRINT_ROWS]
    return zlib.crc32(np.ascontiguousarray(sampled).view(np.uint8).data)


def inner_calibrator(
    calibrator: object,
    default: type[Calibrator],
    *,
    name: str = "calibrator",
    others: str = ", or None",
) -> Calibrator:
    """The calibrator passed as argument `name`, by itself or by its name, or a new `default`.

    `others` ends the list of what it may be.
    """
    if calibrator is None:
        return default()
    if isinstance(calibrator, str):
        from trueness.recalibrate._by_name import calibrator_named  # which lists all of them

        return cast(Calibrator, calibrator_named(calibrator, name))
    if not isinstance(calibrator, Calibrator):
        got = (
            f"the class {calibrator.__name__}" if isinstance(calibrator, type) else repr(calibrator)
        )
        raise InputError(
            name, f"must be a calibrator such as `{default.__name__}()`{others}", f"got {got}"
        )
    return calibrator


def _number_in_words(name: str, value: object) -> str:
    """A fitted number with its name, such as "slope 0.8231", for a sentence about the fit.

    Long arrays are named by their shape only; what is no number gives an empty text.
    """
    if isinstance(value, bool | str) or value is None:
        return ""
    if isinstance(value, int | float | np.number):
        return f"{name} {value:.4g}"
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
        return ""
    if value.size <= _SHOWN:
        return f"{name} {', '.join(f'{number:.4g}' for number in value.ravel())}"
    return f"{' × '.join(map(str, value.shape))} {name}"


def check_number(name: str, value: object, demand: str, meets: Callable[[Any], bool]) -> None:
    if not is_number(value) or not meets(value):
        raise InputError(name, f"must {demand}", f"got {value!r}")


def check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool | np.bool_):
        raise InputError(name, "must be True or False", f"got {value!r}")


def refuse_matrix(calibrator: Calibrator, *, name: str = "calibrator") -> None:
    if calibrator._shape == "matrix":
        got = f"{type(calibrator).__name__} takes a matrix"
        raise InputError(name, "must take a single score, such as `PlattScaling()`", got)


@contextmanager
def warn_once() -> Iterator[None]:
    """Of the library's warnings given by the fits of many models, give the last of each class."""
    with collected_warnings() as caught:
        yield
    last = {kind if kind is not TruenessWarning else text: (text, kind) for kind, text in caught}
    for text, kind in last.values():
        warn(text, kind)


def fit_each(nouns: tuple[str, str], fits: Iterable[tuple[Any, Callable[[], Any]]]) -> list[Any]:
    """Run all fits and return what each returns, in order.

    `fits` are pairs of a name and a function; `nouns` is what they are called, one and several.
    Warnings are given at the end, once per category, with the names of the fits they are from and
    the text of the first.
    """
    results: list[Any] = []
    messages: dict[type[TruenessWarning], dict[str, str]] = {}
    for name, fit in fits:
        with collected_warnings() as caught:
            results.append(fit())
        for kind, text in caught:
            messages.setdefault(kind, {}).setdefault(repr(name), text)
    for category, texts in messages.items():
        names = list(texts)
        source = f"{nouns[0]} {names[0]}"
        if len(names) > 1:
            source = f"{nouns[1]} {join_names(names)}; the first says"
        warn(f"{source}: {texts[names[0]]}", category)
    return results


def join_names(names: list[str]) -> str:
    """A few names, and how many more there are."""
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3:,} more"
    return ", ".join(names)
