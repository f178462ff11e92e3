"""A classifier followed by a calibrator, cross-fitted."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv as as_splitter
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from trueness._input.arguments import check_jobs
from trueness._input.sample import check_weights, row_weights
from trueness._keywords import suggests_keywords
from trueness.errors import InputError, TruenessWarning
from trueness.recalibrate._auto import AutoCalibration
from trueness.recalibrate._base_classifier import (
    as_probabilities,
    base_scores,
    check_classifier,
    check_cv,
    fit_arguments,
    of_rows,
    router,
    rows_and_classes,
)
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import Calibrator, WarningsByName, check_flag, inner_calibrator
from trueness.recalibrate._one_vs_rest import OneVsRest
from trueness.typing import ArrayLike, Floats, Ints


@suggests_keywords
class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # no types
    """A classifier followed by a calibrator that is fitted on out-of-fold scores.

    Parameters
    ----------
    estimator : classifier, optional
        With `predict_proba` or `decision_function`. Default: ``LogisticRegression()``. A fitted classifier inside
        ``sklearn.frozen.FrozenEstimator`` is not refitted; only the calibrator is fitted, on rows that must be new to
        the classifier.
    calibrator : Calibrator, optional
        Default: ``AutoCalibration()``. For more than two classes, a calibrator of a single score is wrapped in
        :class:`OneVsRest`. A calibrator of probabilities gets `predict_proba`, or else `decision_function` as log-odds;
        a calibrator of logits gets `decision_function`, or else the logarithm of `predict_proba`.
    cv : int, splitter or iterable of (train, test), default 5
        Folds; every row must be in exactly one test part. An int (None: 5) means stratified folds in row order. A
        splitter that needs groups, such as ``GroupKFold(5)``, gets them from `fit` if metadata routing is enabled;
        otherwise pass ``list(GroupKFold(5).split(X, y, groups))``.
    ensemble : bool, default False
        False: one calibrator is fitted on the scores of all folds, and the classifier is refitted on all rows. True:
        each fold's classifier has its own calibrator, fitted on that fold, and the probabilities of the pairs are
        averaged.
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
        Out-of-fold calibrated probabilities of the rows passed to `fit`: use these to evaluate calibration.
    oof_uncalibrated_ : array of shape (n, K)
        Out-of-fold probabilities of the classifier, before calibration.

    Notes
    -----
    For `oof_proba_`, the calibrator of a fold is fitted on the out-of-fold scores of all other folds, so it sees
    neither the scores nor the labels of the rows it is evaluated on. (The classifiers that gave those scores were
    fitted on such rows. To exclude even that, run everything in an outer cross-validation,
    ``cross_val_predict(classifier, X, y, method="predict_proba")``, at `cv` times the cost.) With a frozen classifier,
    `cv` is used for `oof_proba_` only.

    A calibrator's guarantee is about the scores of one fixed classifier, so it holds exactly for a frozen classifier.
    With folds, scores come from several classifiers, and it holds as far as these resemble the final one.

    Weights are passed to the calibrator, and to the classifier if its `fit` takes them; otherwise there is a warning.
    With ``sklearn.set_config(enable_metadata_routing=True)`` this is a metadata router: the classifier gets what it
    requests (``estimator.set_fit_request(sample_weight=True)``), the calibrator gets weights unless it has
    ``set_fit_request(sample_weight=False)``, and the splitter gets `groups`. Folds count rows, so a weight of 2 is not
    quite the same as a repeated row.

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
        X, y, sample_weight
            Rows of features that the classifier takes, their classes and, optionally, their weights.
        **params
            Further arguments of the classifier's `fit`; those with one entry per row are split into the folds. If
            metadata routing is enabled, what classifier and splitter request, such as `groups`.

        Returns
        -------
        self
        """
        check_jobs(self.n_jobs)
        estimator = self._estimator()
        X, y = self._check(X, y, estimator)
        arguments = fit_arguments(self, estimator, self.cv, _weights(sample_weight, y.size), params)
        codes = self._codes(y)
        folds = self._folds(X, codes, arguments.splitter)
        scores = self._fold_scores(estimator, X, y, arguments.estimator, folds)
        rows = CalibrationSet(scores, codes, arguments.weights, None)
        self._fit_calibrators(rows, folds)
        if not self.ensemble:
            self.estimators_ = [clone(estimator).fit(X, y, **arguments.estimator)]
        self.oof_uncalibrated_ = as_probabilities(scores, self._new_calibrator()._scale)
        self.oof_proba_ = self._cross_fit(rows, folds)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """What classifier, calibrator and splitter request in `fit`."""
        return router(self, self._estimator(), inner_calibrator(self.calibrator, AutoCalibration), self.cv)

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities of shape (n, K), with columns in the order of `classes_`."""
        check_is_fitted(self)
        pairs = zip(self.estimators_, self.calibrators_, strict=True)
        each = [_matrix(calibrator, self._scores(estimator, X)) for estimator, calibrator in pairs]
        return np.mean(each, axis=0) if len(each) > 1 else each[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest calibrated probability, the first one in case of a tie."""
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

    def _check(self, X: Any, y: ArrayLike, estimator: Any) -> tuple[Any, NDArray[Any]]:
        check_flag("ensemble", self.ensemble)
        if self._frozen and self.ensemble:
            raise InputError(
                "ensemble", "must be False for a FrozenEstimator: there is one classifier, not one per fold"
            )
        check_classifier(estimator)
        check_cv(self.cv)
        X, y, self.classes_ = rows_and_classes(X, y)
        if self._frozen:
            self.classes_ = self._frozen_classes(estimator)
        if self.classes_.size < 2:
            raise InputError("y", "must have at least two classes", f"got one class, {self.classes_.tolist()[0]!r}")
        calibrator = inner_calibrator(self.calibrator, AutoCalibration)
        if isinstance(calibrator, OneVsRest) and not calibrator.normalize:
            raise InputError("calibrator", "must give rows that sum to one", "`OneVsRest(normalize=False)` does not")
        return X, y

    def _frozen_classes(self, estimator: Any) -> NDArray[Any]:
        known = np.asarray(getattr(estimator, "classes_", ()))
        strange = [label for label in self.classes_.tolist() if label not in known.tolist()]
        if strange:
            raise InputError(
                "y",
                "must hold classes of the frozen estimator",
                f"{strange[0]!r} is none",
                remedy="Was it fitted before it was frozen?",
            )
        return known

    def _codes(self, y: NDArray[Any]) -> Ints:
        order = np.argsort(self.classes_)  # a frozen classifier may have its classes in any order
        return np.asarray(order[np.searchsorted(self.classes_[order], y)], dtype=np.int64)

    def _folds(self, X: Any, codes: Ints, arguments: dict[str, Any]) -> list[Ints]:
        """The test parts; every row is in exactly one of them."""
        splitter = as_splitter(self.cv, codes, classifier=True)
        with warnings.catch_warnings():
            if self._frozen:  # it is not fitted, so a fold without some class does no harm
                warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            try:
                folds = [np.asarray(test) for _, test in splitter.split(X, codes, **arguments)]
            except (TypeError, ValueError) as reason:
                got = f"it cannot: {str(reason).rstrip('.')}"
                raise InputError("cv", f"must split the {codes.size:,} rows into folds", got) from reason
        every = np.concatenate([np.ravel(test) for test in folds]) if folds else np.empty(0)
        if len(folds) < 2 or not np.array_equal(np.sort(every), np.arange(codes.size)):
            raise InputError(
                "cv",
                "must have at least two folds and put every row into exactly one test part",
                f"its {len(folds):,} test parts hold {every.size:,} rows, {np.unique(every).size:,} of them different, "
                f"of {codes.size:,}",
            )
        return folds

    def _new_calibrator(self) -> Calibrator:
        """An unfitted calibrator for this number of classes."""
        calibrator: Calibrator = clone(inner_calibrator(self.calibrator, AutoCalibration))
        one_score = calibrator._shape == "vector" and self.classes_.size > 2
        return OneVsRest(calibrator) if one_score else calibrator

    def _scores(self, estimator: Any, X: Any) -> Floats:
        calibrator = self._new_calibrator()
        matrix = calibrator._shape == "matrix" or self.classes_.size > 2
        return base_scores(estimator, X, self.classes_, calibrator._scale, matrix=matrix)

    def _fold_scores(
        self, estimator: Any, X: Any, y: NDArray[Any], arguments: dict[str, Any], folds: list[Ints]
    ) -> Floats:
        """The score of each row from a classifier that was not fitted on it."""
        if self._frozen:
            return self._scores(estimator, X)

        def fit_and_score(test: Ints) -> tuple[Any, Floats]:
            train = np.setdiff1d(np.arange(y.size), test)
            fitted = clone(estimator).fit(_safe_indexing(X, train), y[train], **of_rows(arguments, train, y.size))
            return fitted, self._scores(fitted, _safe_indexing(X, test))

        pairs = Parallel(n_jobs=self.n_jobs)(delayed(fit_and_score)(test) for test in folds)
        self.estimators_ = [fitted for fitted, _ in pairs]
        scores = np.concatenate([score for _, score in pairs])
        return np.asarray(scores[np.argsort(np.concatenate(folds), kind="stable")])

    def _fit_calibrators(self, rows: CalibrationSet, folds: list[Ints]) -> None:
        if not self.ensemble:
            self.calibrators_ = [self._fit_calibrator(rows)]
            return
        collected = WarningsByName("Fold", "Folds")
        self.calibrators_ = []
        for number, test in enumerate(folds):
            with collected.of(number):
                self.calibrators_.append(self._fit_calibrator(rows.take(test)))
        collected.give()

    def _fit_calibrator(self, rows: CalibrationSet) -> Calibrator:
        calibrator = self._new_calibrator()
        if rows.p.ndim == 1:
            return calibrator.fit(rows.p, rows.y, rows.w)
        return calibrator.fit(rows.p, self.classes_[rows.y], rows.w, labels=self.classes_.tolist())

    def _cross_fit(self, rows: CalibrationSet, folds: list[Ints]) -> Floats:
        p = np.empty((rows.y.size, self.classes_.size))
        with warnings.catch_warnings():
            # Warnings about these scores were given when the calibrators that stay were fitted.
            warnings.simplefilter("ignore", TruenessWarning)
            for test in folds:
                rest = np.setdiff1d(np.arange(rows.y.size), test)
                p[test] = _matrix(self._fit_calibrator(rows.take(rest)), rows.p[test])
        return p


def _matrix(calibrator: Calibrator, scores: Floats) -> Floats:
    """Calibrated probabilities, one column per class."""
    p = calibrator.predict(scores)
    return np.column_stack([1 - p, p]) if p.ndim == 1 else p


def _weights(sample_weight: ArrayLike | None, n: int) -> Floats | None:
    if sample_weight is None:
        return None
    w: Floats = row_weights(sample_weight, n).values
    check_weights(w)
    return w
