"""A classifier whose probabilities are calibrated on rows that it was not fitted on."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from trueness._input.weights import check_weights, row_weights
from trueness.errors import InputError, TruenessWarning
from trueness.recalibrate._base_classifier import (
    as_probabilities,
    check_classifier,
    check_folds,
    of_rows,
    response,
    routed,
    router,
    rows_and_classes,
)
from trueness.recalibrate._calibrator import Calibrator, Sayings, copy_of, named_or_default
from trueness.recalibrate._one_vs_rest import OneVsRest
from trueness.typing import ArrayLike, Floats, Ints

__all__ = ["CalibratedClassifier"]

_DEFAULT = "PlattScaling"


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # no types
    """A classifier with a calibrator behind it, fitted on scores of rows that the classifier did not see.

    Parameters
    ----------
    estimator : classifier, optional
        With `predict_proba` or `decision_function`. Default: ``LogisticRegression()``. A fitted one inside
        ``sklearn.frozen.FrozenEstimator`` is left as it is, and only the calibrator is fitted: give it rows that the
        classifier did not see.
    calibrator : Calibrator, optional
        Default: ``PlattScaling()``. For more than two classes, one that takes a single score is put into
        :class:`OneVsRest`. One that takes probabilities gets `predict_proba`, or `decision_function` read as log-odds
        where that is all there is; one that takes logits gets `decision_function`, or the logarithm of `predict_proba`.
    cv : int, splitter or iterable of (train, test), default 5
        Folds; every row is in one test part. An int (None: 5) means stratified folds in the order of the rows. A
        splitter that asks for groups, such as ``GroupKFold(5)``, gets them from `fit` if metadata routing is enabled;
        otherwise ``list(GroupKFold(5).split(X, y, groups))``.
    ensemble : bool, default False
        False: the scores of all folds fit one calibrator, and the classifier is fitted again on all rows. True: each
        fold's classifier keeps a calibrator fitted on that fold alone, and probabilities are averaged over the pairs.
    n_jobs : int, optional
        Folds that are fitted at the same time, as in scikit-learn.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Classes, in the order of the columns of `predict_proba`.
    estimators_ : list of classifiers
        One; one per fold if `ensemble`.
    calibrators_ : list of Calibrator
        Those that belong to them. Each can be saved as JSON.
    oof_proba_ : array of shape (n, K)
        Calibrated probabilities of the rows that `fit` was given, each from a classifier and a calibrator that
        were fitted on other folds: what to judge calibration on.
    oof_uncalibrated_ : array of shape (n, K)
        The same before the calibrator: the out-of-fold probabilities of the classifier.

    Notes
    -----
    For `oof_proba_` the calibrator of a fold is fitted on the out-of-fold scores of all other folds. So it never sees
    the score or the label of a row that it is judged on. (The classifiers that gave it those scores were fitted on
    such rows, as on all others of their training parts. Who wants not even that runs the whole in another
    cross-validation: ``cross_val_predict(classifier, X, y, method="predict_proba")``, at `cv` times the cost.) With a
    frozen classifier only the calibrator is fitted on folds, and `cv` serves this purpose alone.

    A calibrator's guarantee is about the scores of one fixed classifier, and holds as stated with a frozen one.
    With folds the scores come from several, and the guarantee holds as far as they resemble the last one.

    Weights go to the calibrator, and to the classifier if its `fit` takes them; a warning says so if not. With
    ``sklearn.set_config(enable_metadata_routing=True)`` this is a metadata router: the classifier gets what it
    requests (``estimator.set_fit_request(sample_weight=True)``), the calibrator gets weights unless it was told
    ``set_fit_request(sample_weight=False)``, and a splitter gets `groups`. Folds count rows, so that weight 2 is
    not quite the row twice.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import trueness as tn
    >>> X, y = make_classification(2000, random_state=0)
    >>> model = tn.CalibratedClassifier(GaussianNB(), tn.IsotonicCalibration()).fit(X, y)
    >>> before, after = model.oof_uncalibrated_[:, 1], model.oof_proba_[:, 1]  # of rows that were not fitted on
    >>> round(tn.ece(y, before), 3), round(tn.ece(y, after), 3)
    (0.023, 0.004)
    """

    classes_: NDArray[Any]
    estimators_: list[Any]
    calibrators_: list[Calibrator]
    oof_proba_: Floats
    oof_uncalibrated_: Floats

    def __init__(
        self,
        estimator: Any = None,
        calibrator: Calibrator | None = None,
        *,
        cv: Any = 5,
        ensemble: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.ensemble = ensemble
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Fit classifier and calibrator.

        Parameters
        ----------
        X : array-like of shape (n, features)
            What the classifier takes.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            Weights of rows.
        **params
            Further arguments of the classifier's `fit`; those with an entry per row are cut with the folds. If metadata
            routing is enabled, what classifier and splitter request, such as `groups`.

        Returns
        -------
        self
        """
        estimator = self._estimator()
        X, y = self._checked(X, y, estimator)
        routes = routed(self, estimator, self.cv, _weights(sample_weight, y.size), params)
        w, codes = routes.weights, self._codes(y)
        folds = self._folds(X, codes, routes.splitter)
        scores = self._fold_scores(estimator, X, y, routes.estimator, folds)
        self._fit_calibrators(scores, codes, w, folds)
        if not self.ensemble:
            self.estimators_ = [clone(estimator).fit(X, y, **routes.estimator)]
        self.oof_uncalibrated_ = as_probabilities(scores, self._ready()._scale)
        self.oof_proba_ = self._cross_fitted(scores, codes, w, folds)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Who takes part in `fit`, and what each of them requests.

        Returns
        -------
        MetadataRouter
            Of the classifier, the calibrator and the splitter.
        """
        return router(self, self._estimator(), named_or_default(self.calibrator, _DEFAULT), self.cv)

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n, features)
            What the classifier takes.

        Returns
        -------
        array of shape (n, K)
            Columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        pairs = zip(self.estimators_, self.calibrators_, strict=True)
        found = [_probabilities(calibrator, self._response(estimator, X)) for estimator, calibrator in pairs]
        return np.mean(found, axis=0) if len(found) > 1 else found[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest calibrated probability, the first of them if several are equal.

        Parameters
        ----------
        X : array-like of shape (n, features)
            What the classifier takes.

        Returns
        -------
        array of shape (n,)
            Classes.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._estimator())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags

    def _estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression()

    @property
    def _frozen(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator)

    def _checked(self, X: Any, y: ArrayLike, estimator: Any) -> tuple[Any, NDArray[Any]]:
        if not isinstance(self.ensemble, bool | np.bool_):
            raise InputError("ensemble", "must be True or False", f"got {self.ensemble!r}")
        if self._frozen and self.ensemble:
            raise InputError(
                "ensemble", "must be False for a FrozenEstimator: there is one classifier, not one per fold"
            )
        check_classifier(estimator)
        check_folds(self.cv)
        X, y, self.classes_ = rows_and_classes(X, y)
        if self._frozen:
            self.classes_ = self._frozen_classes(estimator)
        if self.classes_.size < 2:
            raise InputError("y", "must have at least two classes", f"got one class, {self.classes_.tolist()[0]!r}")
        calibrator = named_or_default(self.calibrator, _DEFAULT)
        if isinstance(calibrator, OneVsRest) and not calibrator.normalize:
            raise InputError("calibrator", "must give rows that sum to one", "`OneVsRest(normalize=False)` does not")
        return X, y

    def _frozen_classes(self, estimator: Any) -> NDArray[Any]:
        known = np.asarray(getattr(estimator, "classes_", ()))
        strange = [label for label in self.classes_.tolist() if label not in known.tolist()]
        if strange:
            raise InputError(
                "y",
                "must hold classes that the frozen estimator knows",
                f"it does not know {strange[0]!r}",
                remedy="Was it fitted before it was frozen?",
            )
        return known

    def _codes(self, y: NDArray[Any]) -> Ints:
        order = np.argsort(self.classes_)  # a frozen classifier may have its classes in any order
        return np.asarray(order[np.searchsorted(self.classes_[order], y)], dtype=np.int64)

    def _folds(self, X: Any, codes: Ints, given: dict[str, Any]) -> list[Ints]:
        """The test parts: every row is in exactly one of them."""
        splitter = check_cv(self.cv, codes, classifier=True)
        with warnings.catch_warnings():
            if self._frozen:  # it is not fitted, so that a fold without some class does no harm
                warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            try:
                folds = [np.asarray(test) for _, test in splitter.split(X, codes, **given)]
            except (TypeError, ValueError) as reason:
                raise InputError(f"`cv` must cut the {codes.size:,} rows into folds; it cannot: {reason}") from reason
        every = np.concatenate([np.ravel(test) for test in folds]) if folds else np.empty(0)
        if len(folds) < 2 or not np.array_equal(np.sort(every), np.arange(codes.size)):
            raise InputError(
                "cv",
                "must have at least two folds and put every row into exactly one test part",
                f"its test parts number {len(folds):,} and hold {every.size:,} rows, {np.unique(every).size:,}"
                f" of them different, of {codes.size:,}",
            )
        return folds

    def _ready(self) -> Calibrator:
        """The unfitted calibrator for this number of classes."""
        calibrator = named_or_default(self.calibrator, _DEFAULT)
        if calibrator._shape == "vector" and self.classes_.size > 2:
            return OneVsRest(copy_of(calibrator))
        return copy_of(calibrator)

    def _response(self, estimator: Any, X: Any) -> Floats:
        calibrator = self._ready()
        matrix = calibrator._shape == "matrix" or self.classes_.size > 2
        return response(estimator, X, self.classes_, calibrator._scale, matrix=matrix)

    def _fold_scores(self, estimator: Any, X: Any, y: NDArray[Any], given: dict[str, Any], folds: list[Ints]) -> Floats:
        """The scores of each row by a classifier that was not fitted on it."""
        if self._frozen:
            return self._response(estimator, X)

        def outside(test: Ints) -> tuple[Any, Floats]:
            train = np.setdiff1d(np.arange(y.size), test)
            fitted = clone(estimator).fit(_safe_indexing(X, train), y[train], **of_rows(given, train, y.size))
            return fitted, self._response(fitted, _safe_indexing(X, test))

        found = Parallel(n_jobs=self.n_jobs)(delayed(outside)(test) for test in folds)
        self.estimators_ = [fitted for fitted, _ in found]
        scores = np.concatenate([score for _, score in found])
        return np.asarray(scores[np.argsort(np.concatenate(folds), kind="stable")])

    def _fit_calibrators(self, scores: Floats, codes: Ints, w: Floats | None, folds: list[Ints]) -> None:
        if not self.ensemble:
            self.calibrators_ = [self._calibrated(scores, codes, w)]
            return
        sayings = Sayings("Fold", "Folds")
        self.calibrators_ = []
        for number, test in enumerate(folds):
            with sayings.of(number):
                self.calibrators_.append(self._calibrated(scores[test], codes[test], None if w is None else w[test]))
        sayings.tell()

    def _calibrated(self, scores: Floats, codes: Ints, w: Floats | None) -> Calibrator:
        calibrator = self._ready()
        if scores.ndim == 1:
            return calibrator.fit(scores, codes, w)
        return calibrator.fit(scores, self.classes_[codes], w, labels=self.classes_.tolist())

    def _cross_fitted(self, scores: Floats, codes: Ints, w: Floats | None, folds: list[Ints]) -> Floats:
        found = np.empty((codes.size, self.classes_.size))
        with warnings.catch_warnings():
            # What there is to say of these scores has been said when the calibrators that stay were fitted.
            warnings.simplefilter("ignore", TruenessWarning)
            for test in folds:
                rest = np.setdiff1d(np.arange(codes.size), test)
                calibrator = self._calibrated(scores[rest], codes[rest], None if w is None else w[rest])
                found[test] = _probabilities(calibrator, scores[test])
        return found


def _probabilities(calibrator: Calibrator, scores: Floats) -> Floats:
    found = calibrator.predict(scores)
    return np.column_stack([1 - found, found]) if found.ndim == 1 else found


def _weights(given: ArrayLike | None, n: int) -> Floats | None:
    if given is None:
        return None
    w: Floats = row_weights(given, n).values
    if not w.any():
        raise InputError("sample_weight", "must have a weight above zero", f"all {n:,} are 0")
    check_weights(w)
    return w
