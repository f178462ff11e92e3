"""A classifier followed by a calibrator, cross-fitted: its checks, scores, folds and metadata."""

import reprlib
import warnings
from dataclasses import field
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv as as_splitter
from sklearn.utils import Tags, _safe_indexing, get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from trueness._input.arguments import check_jobs
from trueness._input.columns import column, refuse_missing
from trueness._input.labels import labels_missing
from trueness._input.weights import check_weights, row_weights
from trueness.errors import (
    InputError,
    MovedScoresWarning,
    TruenessWarning,
    collected_warnings,
    remedies,
    warn,
)
from trueness.recalibrate import _calibrator as base
from trueness.recalibrate._auto import AutoCalibration
from trueness.recalibrate._calibration_set import REMEDIES, CalibrationSet, Scale
from trueness.recalibrate._multiclass import OneVsRest
from trueness.typing import ArrayLike, Classifier, Floats, Ints, Option


class Estimator(Classifier, Protocol):
    """A classifier, as scikit-learn has them, which has no types."""

    def fit(self, X: ArrayLike, y: ArrayLike, /, **options: Option) -> object:
        """Learn from labelled rows."""

    def decision_function(self, X: ArrayLike, /) -> ArrayLike:
        """The scores of those that have no probabilities."""


_EPS = 1e-12
_GROUPS = (
    "`sklearn.set_config(enable_metadata_routing=True)` lets `fit(X, y, groups=groups)` pass them "
    "on; without it, pass the folds themselves: `cv=list({name}(…).split(X, y, groups))`."
)


@base.with_parameters
class CalibratedClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier followed by a calibrator that is fitted on out-of-fold scores.

    Parameters
    ----------
    estimator : classifier, optional
        With `predict_proba` or `decision_function`. Default: ``LogisticRegression()``. A fitted
        classifier inside ``sklearn.frozen.FrozenEstimator`` is not refitted; only the calibrator is
        fitted, on rows that must be new to the classifier.
    calibrator : Calibrator or str, optional
        Also by name, such as ``"isotonic"``. Default: ``AutoCalibration()``. For more than two
        classes, a calibrator of a single score is wrapped in :class:`OneVsRest`. A calibrator of
        probabilities gets `predict_proba`, or else `decision_function` as log-odds; a calibrator of
        logits gets `decision_function`, or else the logarithm of `predict_proba`.
    cv : int, splitter or iterable of (train, test), default 5
        Folds; no row may be in two test parts. The calibrator is fitted on the rows that are in
        one, which with ``TimeSeriesSplit`` are all but the first. An int (None: 5) means stratified
        folds in row order. A splitter that needs groups, such as ``GroupKFold(5)``, gets them from
        `fit` if metadata routing is enabled; otherwise pass ``list(GroupKFold(5).split(X, y,
        groups))``.
    ensemble : bool, default False
        False: one calibrator is fitted on the scores of all folds, and the classifier is refitted
        on all rows. True: each fold's classifier has its own calibrator, fitted on that fold, and
        the probabilities of the pairs are averaged.
    n_jobs : int, optional
        Number of folds fitted in parallel, as in scikit-learn.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Classes, in the order of the columns of `predict_proba`.
    estimators_ : list of classifiers
        One; one per fold if `ensemble`.
    calibrators_ : list of Calibrator
        The calibrators of `estimators_`. Each can be saved as JSON.
    oof_proba_ : array of shape (n, K)
        Out-of-fold calibrated probabilities of the rows passed to `fit`: use these to evaluate
        calibration. Rows in no test part have nan.
    oof_uncalibrated_ : array of shape (n, K)
        Out-of-fold probabilities of the classifier, before calibration.

    Notes
    -----
    For `oof_proba_`, the calibrator of a fold is fitted on the out-of-fold scores of all other
    folds, so it sees neither the scores nor the labels of the rows it is evaluated on. (The
    classifiers that gave those scores were fitted on such rows; an outer
    ``cross_val_predict(classifier, X, y, method="predict_proba")`` excludes even that.) With a
    frozen classifier, `cv` is used for `oof_proba_` only.

    A calibrator's guarantee is about the scores of one fixed classifier: it holds exactly for a
    frozen one, and with folds as far as the classifiers of the folds resemble the final one.

    Weights are passed to the calibrator, and to the classifier if its `fit` takes them; otherwise
    there is a warning. With ``sklearn.set_config(enable_metadata_routing=True)`` this is a metadata
    router: the classifier gets what it requests, the calibrator gets weights unless it has
    ``set_fit_request(sample_weight=False)``, and the splitter gets `groups`. Folds count rows, so a
    weight of 2 is not quite the same as a repeated row.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import trueness as tn
    >>> X, y = make_classification(2000, random_state=0)
    >>> model = tn.CalibratedClassifier(GaussianNB(), tn.IsotonicCalibration()).fit(X, y)
    >>> before, after = model.oof_uncalibrated_[:, 1], model.oof_proba_[:, 1]
    >>> round(tn.ece(y, before), 3), round(tn.ece(y, after), 3)
    (0.023, 0.004)
    """

    estimator: Estimator | None = field(default=None, kw_only=False)
    calibrator: base.Calibrator | str | None = field(default=None, kw_only=False)
    cv: Any = 5
    ensemble: bool = False
    n_jobs: int | None = None

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: object
    ) -> Self:
        """Fit classifier and calibrator.

        Parameters
        ----------
        X, y, sample_weight
            Rows of features that the classifier takes, their classes and, optionally, their
            weights.
        **params
            Further arguments of the classifier's `fit`; those with one entry per row are split into
            the folds. If metadata routing is enabled, what classifier and splitter request, such as
            `groups`.

        Returns
        -------
        self
        """
        check_jobs(self.n_jobs)
        estimator = self._estimator()
        X, y = self._check(X, y, estimator)
        with base.warn_once():
            arguments = _fit_arguments(
                self, estimator, checked_weights(sample_weight, y.size), params
            )
            self._fit(estimator, X, y, arguments)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        return self

    def _fit(
        self, estimator: Estimator, X: ArrayLike, y: NDArray[Any], arguments: "_FitArguments"
    ) -> None:
        """Fit classifiers on folds, and calibrators on the scores of the rows left out.

        With `ensemble` each fold keeps its classifier and calibrator; otherwise one calibrator is
        fitted to all held-out scores and one classifier to all rows. A frozen classifier is not
        fitted again, and scores every row.
        """
        order = np.argsort(self.classes_)  # a frozen classifier may have its classes in any order
        codes = np.asarray(order[np.searchsorted(self.classes_[order], y)], dtype=np.int64)
        folds = self._folds(X, codes, arguments.splitter)
        scores = self._fold_scores(estimator, X, y, arguments.estimator, folds)
        w = arguments.weights
        if self._frozen:
            scored = np.arange(y.size)
        else:
            scored = np.sort(np.concatenate([test for _, test in folds]))
        scored_weights = None if w is None else w[scored]
        rows = CalibrationSet(scores, codes[scored], scored_weights, None)
        tests = [np.searchsorted(scored, test) for _, test in folds]
        fits = (
            (number, partial(self._fit_calibrator, rows.take(test)))
            for number, test in enumerate(tests)
        )
        self.calibrators_ = (
            base.fit_each(("Fold", "Folds"), fits)
            if self.ensemble
            else [self._fit_calibrator(rows)]
        )
        if not self.ensemble:
            self.estimators_ = [clone(estimator).fit(X, y, **arguments.estimator)]
        self.oof_uncalibrated_, self.oof_proba_ = np.full((2, y.size, self.classes_.size), np.nan)
        self.oof_uncalibrated_[scored] = _as_probabilities(scores, self._new_calibrator()._scale)
        self.oof_proba_[scored] = self._cross_fit(rows, tests)

    def get_metadata_routing(self) -> MetadataRouter:
        """What classifier, calibrator and splitter request in `fit`."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        calibrator = base.inner_calibrator(self.calibrator, AutoCalibration)
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self._estimator(), method_mapping=to_fit).add(
            calibrator=calibrator, method_mapping=to_fit
        )
        return router.add(splitter=self.cv, method_mapping=to_split)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Calibrated probabilities of shape (n, K), with columns in the order of `classes_`."""
        check_is_fitted(self)
        pairs = zip(self.estimators_, self.calibrators_, strict=True)
        fold_scores: list[Floats] = [
            calibrator.predict_proba(self._scores(estimator, X)) for estimator, calibrator in pairs
        ]
        if len(fold_scores) == 1:
            return fold_scores[0]
        averaged: NDArray[np.float64] = np.mean(fold_scores, axis=0)
        return averaged

    def __str__(self) -> str:
        """The classifier; once fitted, what its map is and, where that is known, what it gains."""
        calibrators = getattr(self, "calibrators_", [])
        if not calibrators:
            return repr(self)
        if len(calibrators) == 1:
            return f"{self!r}. {calibrators[0]}"
        return f"{self!r}. {len(calibrators)} maps, one per fold; the first: {calibrators[0]}"

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class with the largest calibrated probability, the first one in case of a tie."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._estimator())
        for name in ("sparse", "allow_nan", "pairwise"):
            setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        return tags

    def _estimator(self) -> Estimator:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression

        usual: Estimator = LogisticRegression()
        return usual

    @property
    def _frozen(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator)

    def _check(self, X: ArrayLike, y: ArrayLike, estimator: Estimator) -> tuple[Any, NDArray[Any]]:
        """The features and labels, checked together with all parameters; sets `classes_`.

        Raises for one class only, for a frozen classifier with `ensemble` or without some of the
        classes, and for a calibrator whose rows would not sum to one.
        """
        base.check_flag("ensemble", self.ensemble)
        if self._frozen and self.ensemble:
            demand = (
                "must be False for a FrozenEstimator: there is one classifier, not one per fold"
            )
            raise InputError("ensemble", demand)
        check_classifier(estimator)
        check_cv(self.cv)
        X, y, self.classes_ = rows_and_classes(X, y)
        if self._frozen:
            fitted_classes = np.asarray(getattr(estimator, "classes_", ()))
            present = self.classes_.tolist()
            strange = [label for label in present if label not in fitted_classes.tolist()]
            if strange:
                demand = "must hold classes of the frozen estimator"
                remedy = "Was it fitted before it was frozen?"
                raise InputError("y", demand, f"{strange[0]!r} is none", remedy=remedy)
            self.classes_ = fitted_classes
        if self.classes_.size < 2:
            raise InputError(
                "y",
                "must have at least two classes",
                f"got one class, {self.classes_.tolist()[0]!r}",
            )
        calibrator = base.inner_calibrator(self.calibrator, AutoCalibration)
        if isinstance(calibrator, OneVsRest) and not calibrator.normalize:
            raise InputError(
                "calibrator",
                "must give rows that sum to one",
                "`OneVsRest(normalize=False)` does not",
            )
        return X, y

    def _folds(
        self, X: ArrayLike, codes: Ints, arguments: dict[str, Any]
    ) -> list[tuple[Ints, Ints]]:
        """The rows of training and test of each fold; fewer than two folds are an error."""
        with warnings.catch_warnings():
            if self._frozen:  # it is not fitted, so a fold without some class does no harm
                warnings.filterwarnings(
                    "ignore", message="The least populated class", category=UserWarning
                )
            folds = split_rows(self.cv, X, codes, arguments)
        if len(folds) < 2:
            raise InputError("cv", "must have at least two folds", f"it has {len(folds)}")
        return folds

    def _new_calibrator(self) -> base.Calibrator:
        """An unfitted calibrator for this number of classes."""
        calibrator: base.Calibrator = clone(base.inner_calibrator(self.calibrator, AutoCalibration))
        one_score = calibrator._shape == "vector" and self.classes_.size > 2
        if one_score:
            return OneVsRest(calibrator)
        return calibrator

    def _scores(self, estimator: Estimator, X: ArrayLike) -> Floats:
        calibrator = self._new_calibrator()
        matrix = calibrator._shape == "matrix" or self.classes_.size > 2
        return base_scores(estimator, X, self.classes_, calibrator._scale, matrix=matrix)

    def _fold_scores(
        self,
        estimator: Estimator,
        X: ArrayLike,
        y: NDArray[Any],
        arguments: dict[str, Any],
        folds: list[tuple[Ints, Ints]],
    ) -> Floats:
        """Scores of the rows in test parts, in row order, from classifiers not fitted on them.

        `folds` are pairs of training and test rows. A frozen classifier is not fitted again: it
        scores all rows.
        """
        if self._frozen:
            return self._scores(estimator, X)

        def fit_and_score(train: Ints, test: Ints) -> tuple[Any, Floats]:
            fitted = clone(estimator).fit(
                _safe_indexing(X, train), y[train], **_of_rows(arguments, train, y.size)
            )
            return fitted, self._scores(fitted, _safe_indexing(X, test))

        pairs = Parallel(n_jobs=self.n_jobs)(delayed(fit_and_score)(*fold) for fold in folds)
        self.estimators_ = [fitted for fitted, _ in pairs]
        scores = np.concatenate([score for _, score in pairs])
        return np.asarray(scores[np.argsort(np.concatenate([test for _, test in folds]))])

    def _fit_calibrator(self, rows: CalibrationSet) -> base.Calibrator:
        calibrator = self._new_calibrator()
        if rows.p.ndim == 1:
            return calibrator.fit(rows.p, rows.y, rows.w)
        return calibrator.fit(rows.p, self.classes_[rows.y], rows.w, labels=self.classes_.tolist())

    def _cross_fit(self, rows: CalibrationSet, folds: list[Ints]) -> Floats:
        """Calibrated probabilities of each row, from a calibrator that was fitted without its fold.

        `folds` are the row numbers of the test parts. Rows in none of them stay nan.
        """
        # A frozen classifier scores rows in no test part, too.
        p = np.full((rows.y.size, self.classes_.size), np.nan)
        with collected_warnings():
            # Warnings about these scores were given when the calibrators that stay were fitted.
            for test in folds:
                rest = np.setdiff1d(np.arange(rows.y.size), test)
                p[test] = self._fit_calibrator(rows.take(rest)).predict_proba(rows.p[test])
        return p


def check_classifier(estimator: Estimator) -> None:
    """Raise unless it is a classifier, as far as can be seen before it is fitted."""
    got = remedy = ""
    if isinstance(estimator, type):
        got = f"got the class {estimator.__name__}"
        remedy = f"`{estimator.__name__}()` makes an instance."
    elif not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        got = f"got {reprlib.repr(estimator)}"
    elif hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
        got = f"{type(estimator).__name__} is a regressor"
        remedy = "Use a classifier with `predict_proba` or `decision_function`."
    if got:
        demand = "must be a classifier such as `LogisticRegression()`, or None"
        raise InputError("estimator", demand, got, remedy=remedy)


def check_cv(cv: object) -> None:
    """Raise unless it is None, a number of folds, a splitter or an iterable of splits.

    The message for 'prefit', which scikit-learn once took, names what has replaced it.
    """
    whole = isinstance(cv, int | np.integer) and not isinstance(cv, bool) and cv >= 2
    several = hasattr(cv, "split") or hasattr(cv, "__iter__")
    if cv is None or whole or (several and not isinstance(cv, str | bytes)):
        return
    prefit = isinstance(cv, str) and cv == "prefit"
    remedy = "Pass a fitted classifier as `FrozenEstimator(classifier)`." if prefit else ""
    demand = "must be a whole number ≥ 2, a splitter or an iterable of (train, test)"
    raise InputError("cv", demand, f"got {cv!r}", remedy=remedy)


def takes_groups(cv: object) -> bool:
    """Whether a splitter needs to know the groups of the rows."""
    return hasattr(cv, "split") and bool(get_routing_for_object(cv).consumes("split", ["groups"]))


def split_rows(
    cv: object, X: ArrayLike, y: NDArray[Any], arguments: dict[str, Any]
) -> list[tuple[Ints, Ints]]:
    """Row numbers of the training and the test part of each fold, checked.

    `cv` is a splitter, a number of folds, or an iterable of splits; `arguments` are passed to its
    `split`. InputError if it cannot split, if numbers are not those of rows, if a row is in two
    test parts, or in both parts of one fold.
    """
    try:
        splits = as_splitter(cv, y, classifier=True).split(X, y, **arguments)
        folds = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    except (TypeError, ValueError) as reason:
        got = f"it cannot: {str(reason).rstrip('.')}"
        raise InputError("cv", f"must split the {y.size:,} rows into folds", got) from reason
    folds = [(_positions(train), _positions(test)) for train, test in folds]
    every = np.concatenate([np.empty(0, np.int64), *(test for _, test in folds)])
    for part in (every, *(train for train, _ in folds)):
        if part.size and not (part.dtype.kind in "iu" and part.min() >= 0 and part.max() < y.size):
            if part.dtype.kind in "iuf":
                got = f"got {part.min()!s} to {part.max()!s}"
            else:
                got = f"got {reprlib.repr(part)}"
            raise InputError("cv", f"must have row numbers from 0 to {y.size - 1:,}", got)
    repeated = every.size - np.unique(every).size
    if repeated:
        raise InputError(
            "cv", "must put no row into two test parts", f"{repeated:,} rows are repeated"
        )
    for number, (train, test) in enumerate(folds):
        if np.intersect1d(train, test).size:
            raise InputError(
                "cv", "must keep test rows out of the training part", f"fold {number} does not"
            )
    return folds


def _positions(part: NDArray[Any]) -> Ints:
    """Row numbers of a part, which may be given as a boolean for each row."""
    if part.dtype == np.bool_:
        return np.flatnonzero(part)
    return np.ravel(part)


def checked_weights(sample_weight: ArrayLike | None, n: int) -> Floats | None:
    if sample_weight is None:
        return None
    w: Floats = row_weights(sample_weight, n).values
    check_weights(w)
    return w


def rows_and_classes(X: ArrayLike, y: ArrayLike) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """The features as rows, the class of each row, and the classes in ascending order.

    None, unequal lengths, missing labels and targets that are not classes are errors.
    """
    if X is None:
        raise InputError("X", "must be rows of features", "got None")
    if y is None:
        raise InputError(
            "y", "must be given: the classifier requires y to be passed, but the target y is None"
        )
    try:
        X, y = indexable(X, y)
    except (TypeError, ValueError) as reason:
        raise InputError(
            "", "`X` and `y` must have one entry per row", str(reason).rstrip(".")
        ) from reason
    with remedies(REMEDIES):
        missing = labels_missing(column(y, "y"))
        if missing is not None:
            refuse_missing("y", missing)
    try:
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        classes = np.unique(labels)
    except (TypeError, ValueError) as reason:
        raise InputError("y", "must be a vector of classes", str(reason).rstrip(".")) from reason
    if not labels.size:
        raise InputError("", "`X` and `y` must have at least one row", "both are empty")
    return X, labels, classes


def base_scores(
    estimator: Estimator, X: ArrayLike, classes: NDArray[Any], scale: Scale, *, matrix: bool
) -> Floats:
    """The scores of the rows by a fitted classifier, on the `scale` that the calibrator takes.

    These are probabilities or logits: those of the second class, or with `matrix` one column per
    class. InputError unless the classifier has exactly the `classes`, in this order.
    """
    fitted_classes = getattr(estimator, "classes_", None)
    if fitted_classes is None or list(fitted_classes) != list(classes):
        if fitted_classes is None:
            has = "no `classes_`"
        else:
            has = f"{', '.join(map(repr, np.asarray(fitted_classes).tolist()))}"
        demand = (
            f"must have the classes {', '.join(map(repr, classes.tolist()))} once fitted, in this "
            "order"
        )
        remedy = "Each training part of `cv` must have rows of every class."
        raise InputError("estimator", demand, f"it has {has}", remedy=remedy)
    if scale == "logits":
        return _logits(estimator, X, classes, matrix)
    p = _probabilities(estimator, X, classes)
    if matrix:
        return p
    return p[:, 1]


def _as_probabilities(scores: Floats, scale: Scale) -> Floats:
    """The same scores as a matrix of probabilities, uncalibrated."""
    if scale == "logits":
        scores = expit(scores) if scores.ndim == 1 else softmax(scores, axis=1)
    if scores.ndim == 1:
        return np.column_stack([1 - scores, scores])
    return scores


def _probabilities(estimator: Estimator, X: ArrayLike, classes: NDArray[Any]) -> Floats:
    """The probability of each class for each row.

    Of a classifier without `predict_proba` they are made from its margins; without both it is an
    error.
    """
    if hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        return _check_shape(p, (p.shape[0], classes.size), "predict_proba")
    if not hasattr(estimator, "decision_function"):
        raise InputError(
            "estimator", "must have `predict_proba` or `decision_function`", "it has neither"
        )
    return _as_probabilities(_margins(estimator, X, classes), "logits")


def _logits(estimator: Estimator, X: ArrayLike, classes: NDArray[Any], matrix: bool) -> Floats:
    """The logits of each row: the margins of the classifier, or logarithms of its probabilities.

    Two classes have one logit per row, unless a calibrator takes a `matrix`. Probabilities of 0 are
    moved, with a warning.
    """
    if hasattr(estimator, "decision_function"):
        logits = _margins(estimator, X, classes)
    else:
        p = _probabilities(estimator, X, classes)
        if p.size and p.min() < _EPS:
            warn(
                f"Probabilities of 0 were moved to {_EPS:g}, because their logit is infinite.",
                MovedScoresWarning,
            )
        log = np.log(np.maximum(p, _EPS))
        logits = log[:, 1] - log[:, 0] if classes.size == 2 else log
    if matrix and logits.ndim == 1:
        # Not [0, m]: the softmax is the same, but the first column alone (OneVsRest) would carry no
        # information.
        return np.column_stack([-logits / 2, logits / 2])
    return logits


def _margins(estimator: Estimator, X: ArrayLike, classes: NDArray[Any]) -> Floats:
    margins = np.asarray(estimator.decision_function(X), dtype=np.float64)
    n = margins.shape[0]
    shape = (n,) if classes.size == 2 else (n, classes.size)
    return _check_shape(margins, shape, "decision_function")


def _check_shape(scores: Floats, shape: tuple[int, ...], method: str) -> Floats:
    if scores.shape != shape:
        demand = f"`estimator.{method}` must return shape {shape}, one column per class"
        raise InputError("", demand, f"got {scores.shape}")
    return scores


class _FitArguments(NamedTuple):
    """What the classifier's `fit`, the calibrator and the splitter are passed."""

    estimator: dict[str, Any]
    weights: Floats | None
    splitter: dict[str, Any]


def _fit_arguments(
    owner: "CalibratedClassifier", estimator: Estimator, w: Floats | None, others: dict[str, Any]
) -> _FitArguments:
    """Which arguments of `fit` go to the classifier, to the calibrator and to the splitter.

    With scikit-learn's metadata routing each gets what it requested; without, the classifier gets
    all `others`, and weights if its `fit` takes them. A warning says if weights reach the
    calibrator only. InputError if groups are needed and not given.
    """
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, "fit", sample_weight=w, **others)
        weights = routed.calibrator.fit.get("sample_weight")
        arguments = _FitArguments(dict(routed.estimator.fit), weights, dict(routed.splitter.split))
        takes = get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
    else:
        takes = has_fit_parameter(estimator, "sample_weight")
        if "groups" in others and not has_fit_parameter(estimator, "groups"):
            remedy = _GROUPS.format(name="GroupKFold")
            raise InputError("groups", "needs metadata routing", "it is disabled", remedy=remedy)
        arguments = _FitArguments(
            others | ({"sample_weight": w} if takes and w is not None else {}), w, {}
        )
    # A frozen classifier is not fitted, and one that could take weights but did not request them
    # decided so itself.
    indifferent = isinstance(estimator, FrozenEstimator) or has_fit_parameter(
        estimator, "sample_weight"
    )
    if w is not None and not takes and not indifferent:
        name = type(estimator).__name__
        warn(
            f"`sample_weight` is used by the calibrator only: {name} does not take it.",
            TruenessWarning,
        )
    if takes_groups(owner.cv) and arguments.splitter.get("groups") is None:
        name = type(owner.cv).__name__
        raise InputError(
            "groups",
            f"must be given for cv={name}(…)",
            "got none",
            remedy=_GROUPS.format(name=name),
        )
    return arguments


def _of_rows(arguments: dict[str, Any], rows: Ints, n: int) -> dict[str, Any]:
    """The arguments for some of n rows: those with one entry per row are subset."""
    return {
        name: _safe_indexing(value, rows) if _one_per_row(value, n) else value
        for name, value in arguments.items()
    }


def _one_per_row(value: ArrayLike, n: int) -> bool:
    if isinstance(value, str | bytes | dict) or not (
        hasattr(value, "__len__") or hasattr(value, "shape")
    ):
        return False
    shape = getattr(value, "shape", None) or np.shape(value)[:1]
    return bool(shape) and shape[0] == n
