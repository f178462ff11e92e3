"""The panel of an estimator, corrected for the optimism of evaluating it on its training rows."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from trueness._assess.panel import panel
from trueness._input.arguments import Seed, check_jobs, checked_resamples, checked_word, whole_seed
from trueness._input.labels import check_pos_label
from trueness._input.weights import WEIGHT_TYPES
from trueness._keywords import suggests_keywords
from trueness._level import checked_level
from trueness._numerics.streams import stream
from trueness._progress import Progress, Report, reporter
from trueness._tally.rows_or_sums import tally
from trueness.errors import InputError, TruenessWarning, collected_warnings, warn
from trueness.infer._panel import panel_values
from trueness.measure._flexible_curve import FlexibleMethod
from trueness.recalibrate import _classifier as classifiers
from trueness.recalibrate._calibration_set import group_codes
from trueness.recalibrate._calibrator import warn_once
from trueness.results import Estimate, Panel, Validation
from trueness.typing import ArrayLike, Bools, Floats, Ints, WeightType

_FOLDS = 5
_RESAMPLES = 200
_MOST_DRAWS = 100  # resamples of one class that are drawn again
_CROSSFIT = (
    "Limits treat these predictions as fixed: they do not include how the models would vary with "
    "other training rows."
)
_BOOTSTRAP = (
    "Limits are those of the apparent value, moved by the optimism, which is taken as known."
)
_MUCH_OPTIMISM = 0.5
_MEMORISED = (
    f" The optimism of the slope exceeds {_MUCH_OPTIMISM:g}: the models seem to memorise rows, and "
    "the correction is not reliable. Use `method='crossfit'`."
)
# Limits that are moved stay in the range of the measure.
_RANGES = {
    **dict.fromkeys(("brier", "auc", "ici", "e50", "e90", "emax", "ece"), (0.0, 1.0)),
    **dict.fromkeys(("observed_expected", "log_loss"), (0.0, np.inf)),
    "scaled_brier": (-np.inf, 1.0),
}


@suggests_keywords
def validate(
    estimator: classifiers.Estimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    cv: object = _FOLDS,
    method: Literal["crossfit", "bootstrap"] = "crossfit",
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    pos_label: Hashable | None = None,
    curve: FlexibleMethod = "spline",
    floor: bool = True,
    resamples: int | None = None,
    seed: Seed = 0,
    n_jobs: int | None = None,
    progress: Progress = True,
) -> Validation:
    r"""Panel of a classifier as it would be on new rows, from the rows it is trained on.

    A classifier looks better on its training rows than on new ones. Either every row is predicted
    by a model that was fitted without it, or the difference, called optimism, is estimated by the
    bootstrap and subtracted.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba` and two classes; clones are fitted. Pass the whole procedure, tuning
        and selection of features included, as a pipeline: steps taken before are not corrected for.
    X, y
        The training rows and their classes.
    cv : int, splitter or iterable of (train, test), default 5
        For 'crossfit'. An int means stratified folds, drawn by `seed`, that keep `groups`
        together. No row may be in two test parts; rows in none, such as the first ones of a
        ``TimeSeriesSplit``, are left out.
    method : {'crossfit', 'bootstrap'}, default 'crossfit'
        'crossfit' pools predictions for rows outside the training part. 'bootstrap' is Harrell's
        correction; it uses all rows to fit, but is itself too optimistic for models that memorise
        rows, such as trees.
    level : float, default 0.95
        Confidence level of all limits.
    groups : array-like of shape (n,), optional
        Rows of one group, such as a patient, stay in one fold, are resampled together, and are the
        clusters of the limits.
    sample_weight : array-like of shape (n,), optional
        Weights for the panels and, if it takes them, for fitting the estimator.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    pos_label : optional
        The class that is the event. Default: the second in ascending order.
    curve : {'spline', 'loess'}, default 'spline'
        The calibration curve of ICI, E50, E90 and Emax.
    floor : bool, default True
        For 'crossfit': whether to draw labels for the noise floors of the corrected panel.
    resamples : int, optional
        For 'bootstrap': number of resamples. Default 200.
    seed : int or numpy.random.Generator, default 0
        For folds, resamples and noise floors. The estimator has a `random_state` of its own.
    n_jobs : int, optional
        Number of models fitted in parallel, as in scikit-learn.
    progress : bool or function, default True
        Whether to show a bar on a terminal, or a function of (done, total).

    Returns
    -------
    Validation
        The panels `apparent` and `corrected`, and the `optimism` of each measure.

    Notes
    -----
    'bootstrap': a model :math:`f_b` is fitted on rows drawn with replacement; a measure :math:`M`
    has the optimism

    .. math:: O = \frac1B \sum_b \left(M(f_b, \text{resample}_b) - M(f_b, \text{all rows})\right) ,

    and the corrected value is :math:`M(f, \text{all rows}) - O`. Resamples on which a measure is
    not finite (the slope of separated classes) are left out of its mean.

    References
    ----------
    F. E. Harrell, K. L. Lee and D. B. Mark, Multivariable prognostic models: issues in developing
    models, evaluating assumptions and adequacy, and measuring and reducing errors, Statistics in
    Medicine 15 (1996), 361-387. H. Noma, T. Shinozaki, K. Iba, S. Teramukai and T. A. Furukawa,
    Confidence intervals of prediction accuracy measures for multivariable prediction models based
    on the bootstrap-based optimism correction methods, Statistics in Medicine 40 (2021), 5691-5701.

    Examples
    --------
    A deep tree has memorised its rows. Its apparent Brier score is near 0; on new rows it is not.

    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import trueness as tn
    >>> X, y = make_classification(600, flip_y=0.3, random_state=0)
    >>> tree = DecisionTreeClassifier(min_samples_leaf=3, random_state=0)
    >>> result = tn.validate(tree, X, y, cv=5)
    >>> result.apparent["brier"].value < 0.1 < 0.2 < result.corrected["brier"].value
    True
    """
    crossfit = checked_word(method, "method", ("crossfit", "bootstrap")) == "crossfit"
    if crossfit and resamples is not None:
        raise InputError(
            "resamples", "is used by `method='bootstrap'` only", remedy="Leave it out."
        )
    if not crossfit and not (isinstance(cv, int) and cv == _FOLDS):
        raise InputError("cv", "is used by `method='crossfit'` only", remedy="Leave it out.")
    level = checked_level(level)
    seed = whole_seed(seed)
    report = reporter(progress)
    check_jobs(n_jobs)
    number = _RESAMPLES if resamples is None else checked_resamples(resamples)
    checked_word(weight_type, "weight_type", WEIGHT_TYPES)
    rows = _training_rows(estimator, X, y, groups, sample_weight, pos_label)
    rows = rows._replace(weight_type=weight_type)
    folds = _folds(cv, rows, seed) if crossfit else []
    options = {"level": level, "curve": curve, "floor": floor, "seed": seed}
    with collected_warnings():  # a model that fits its own rows too well is expected here
        apparent = rows.panel(_fitted_scores(rows, None), slice(None), {**options, "floor": False})
    fits = partial(_reported, report, n_jobs)
    with warn_once():
        if crossfit:
            return _crossfit(rows, folds, apparent, options, fits)
        return _bootstrap(rows, number, apparent, options, fits)


class _Rows(NamedTuple):
    """The classifier and the checked rows to train it on."""

    estimator: classifiers.Estimator
    X: ArrayLike
    y: NDArray[Any]
    classes: NDArray[Any]
    event: int  # the column of the event
    group: Ints | None
    w: Floats | None
    fit_w: Floats | None  # weights for the estimator, if it takes them
    weight_type: WeightType = "auto"

    @property
    def events(self) -> Bools:
        return np.asarray(self.y == self.classes[self.event])

    def panel(self, p: Floats, kept: Bools | slice, options: dict[str, Any]) -> Panel:
        """The panel of the rows marked by `kept`, with their weights and groups."""
        w, group = (None if values is None else values[kept] for values in (self.w, self.group))
        return panel(
            self.events[kept],
            p[kept],
            sample_weight=w,
            weight_type=self.weight_type,
            cluster=group,
            **options,
        )


def _training_rows(
    estimator: classifiers.Estimator,
    X: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    pos_label: Hashable | None,
) -> _Rows:
    """The rows that the estimator is to be fitted to, with labels as events and checked weights.

    Refused are estimators that are fitted once and for all or are no classifiers, labels other than
    two classes, and a `pos_label` that is none of these. If the estimator takes no weights, the
    panels alone use them, and a warning says so.
    """
    if estimator is None or isinstance(estimator, FrozenEstimator):
        got = "got None" if estimator is None else "got a FrozenEstimator"
        remedy = (
            "`tn.panel(y_new, estimator.predict_proba(X_new)[:, 1])` evaluates a fixed model on "
            "new rows."
        )
        raise InputError("estimator", "must be a classifier that can be fitted", got, remedy=remedy)
    try:
        classifiers.check_classifier(estimator)
    except InputError as error:
        raise error.but(demand="must be a classifier such as `LogisticRegression()`") from None
    X, y, classes = classifiers.rows_and_classes(X, y)
    labels = classes.tolist()
    if len(labels) != 2:
        if len(labels) > 2:
            remedy = (
                "Validate one class against the rest: `validate(estimator, X, y == one_class)`."
            )
        else:
            remedy = ""
        raise InputError("y", "must have two classes", f"got {len(labels)}", remedy=remedy)
    if pos_label is not None:
        check_pos_label(pos_label)
    if pos_label not in (None, *labels):
        raise InputError(
            "pos_label", f"must be {labels[0]!r} or {labels[1]!r}", f"got {pos_label!r}"
        )
    event = 1 if pos_label is None else labels.index(pos_label)
    w = classifiers.checked_weights(sample_weight, y.size)
    takes = has_fit_parameter(estimator, "sample_weight")
    if w is not None and not takes:
        name = type(estimator).__name__
        warn(
            f"`sample_weight` is used by the panels only: {name} does not take it.", TruenessWarning
        )
    group = None if groups is None else group_codes(groups, "groups", y.size)
    return _Rows(estimator, X, y, classes, event, group, w, w if takes else None)


def _fitted_scores(rows: _Rows, train: Ints | None, test: Ints | None = None) -> Floats:
    """Scores of the event in the rows `test` from a clone fitted on the rows `train`.

    None means all rows.
    """
    X = rows.X
    y = rows.y
    w = rows.fit_w
    if train is not None:
        X = _safe_indexing(X, train)
        y = y[train]
        w = None if w is None else w[train]
    fitted = clone(rows.estimator).fit(X, y, **({} if w is None else {"sample_weight": w}))
    if not hasattr(fitted, "predict_proba"):
        got = f"{type(rows.estimator).__name__} has none"
        raise InputError(
            "estimator",
            "must have `predict_proba`",
            got,
            remedy="Wrap it in `tn.CalibratedClassifier`.",
        )
    scored = rows.X if test is None else _safe_indexing(rows.X, test)
    matrix = classifiers.base_scores(fitted, scored, rows.classes, "probabilities", matrix=True)
    return np.asarray(matrix[:, rows.event])


def _folds(cv: object, rows: _Rows, seed: int) -> list[tuple[Ints, Ints]]:
    """The training and test rows of each fold.

    `cv` is a number of folds, a splitter or None for the default. Refused are folds without both
    classes in training, folds that part the rows of a group, and splitters that need groups where
    there are none.
    """
    classifiers.check_cv(cv)
    state = int(stream(seed, "folds").integers(2**31))
    if cv is None or isinstance(cv, int | np.integer):
        kind = StratifiedKFold if rows.group is None else StratifiedGroupKFold
        cv = kind(_FOLDS if cv is None else int(cv), shuffle=True, random_state=state)
    if classifiers.takes_groups(cv) and rows.group is None:
        raise InputError("groups", f"must be given for cv={type(cv).__name__}(…)", "got none")
    # Others warn that they ignore groups.
    arguments = {"groups": rows.group} if classifiers.takes_groups(cv) else {}
    folds = classifiers.split_rows(cv, rows.X, rows.y, arguments)
    if not folds:
        raise InputError("cv", "must have at least one fold", "it has none")
    for number, (train, test) in enumerate(folds):
        fold = f"fold {number} does not"
        if not 0 < rows.events[train].sum() < train.size:
            demand = "must leave rows of both classes in each training part"
            raise InputError("cv", demand, fold, remedy="Use fewer folds.")
        if rows.group is not None and np.intersect1d(rows.group[train], rows.group[test]).size:
            remedy = "An int, or `GroupKFold`, keeps them together."
            raise InputError("cv", "must keep the rows of a group together", fold, remedy=remedy)
    return folds


def _reported(
    report: Report, n_jobs: int | None, number: int, tasks: Iterator[Any]
) -> Iterator[tuple[int, Floats]]:
    """What the tasks return, by their numbers; each is reported when it has been used."""
    report(0, number)
    for done, scores in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(tasks)):
        yield done, scores
        report(done + 1, number)


def _crossfit(
    rows: _Rows,
    folds: list[tuple[Ints, Ints]],
    apparent: Panel,
    options: dict[str, Any],
    fits: Callable[..., Any],
) -> Validation:
    """A validation by scores that each row gets from a model fitted without it.

    `folds` holds the rows to fit and the rows to score for each model. `apparent` is the panel of
    the model on the rows that it was fitted to; its optimism is, for each measure, that value minus
    the value by cross-fitting. `fits(number, tasks)` runs the tasks and yields the number of each
    with its scores. `options` go to the panel. Rows that are scored by no model are left out; the
    text about limits gives their number.
    """
    p = np.full(rows.y.size, np.nan)
    for i, scores in fits(
        len(folds), (delayed(_fitted_scores)(rows, train, test) for train, test in folds)
    ):
        p[folds[i][1]] = scores
    kept = np.zeros(p.size, np.bool_)
    kept[np.concatenate([test for _, test in folds])] = True
    corrected = rows.panel(p, kept, options)
    pairs = zip(corrected.names, apparent.estimates, corrected.estimates, strict=True)
    optimism = {key: before.value - after.value for key, before, after in pairs}
    left = int((~kept).sum())
    outside = f" {left:,} of {kept.size:,} rows are in no test part and left out." if left else ""
    return Validation(apparent, corrected, optimism, "crossfit", len(folds), _CROSSFIT + outside)


def _bootstrap(
    rows: _Rows, number: int, apparent: Panel, options: dict[str, Any], fits: Callable[..., Any]
) -> Validation:
    """Correct a panel of measures for optimism, by models fitted to resampled rows (Harrell).

    `apparent` is the panel of a model on the rows that it was fitted to. Each of `number` models is
    fitted to a resample of the rows (of whole groups, if there are groups), and scores all rows.
    Its loss is the measure on its own resample minus the measure on all rows. The optimism of a
    measure is the mean loss over draws in which it is finite, or nan if there are none.

    `fits(number, tasks)` runs the tasks, perhaps in parallel, and yields the number of each with
    its scores. `options` holds the seed and the curve.

    In the result, `corrected` is the apparent panel with each value and its limits moved by the
    optimism, which is treated as known; tests are left out. The text about limits says more if the
    optimism of the slope is large or nan.
    """
    draws: list[Ints] = []
    rng = stream(options["seed"], "resample")

    def tasks() -> Iterator[Any]:
        for _ in range(number):
            draws.append(_resample(rows, rng))
            yield delayed(_fitted_scores)(rows, draws[-1])

    differences = np.empty((number, len(apparent.names)))
    for i, p in fits(number, tasks()):
        times = np.bincount(draws[i], minlength=rows.y.size)
        draws[i] = np.empty(0, np.int64)
        w = np.ones(rows.y.size) if rows.w is None else rows.w
        drawn = tally(rows.events, p, sample_weight=times * w)
        whole = tally(rows.events, p, sample_weight=rows.w)
        before = panel_values(drawn, apparent.names, options["curve"])
        after = panel_values(whole, apparent.names, options["curve"])
        differences[i] = [before[key] - after[key] for key in apparent.names]
    finite = np.isfinite(differences)
    sums = np.where(finite, differences, 0.0).sum(axis=0)
    means = np.divide(
        sums, finite.sum(axis=0), out=np.full(sums.size, np.nan), where=finite.any(axis=0)
    )
    optimism = dict(zip(apparent.names, means.tolist(), strict=True))
    moved = tuple(
        _moved(key, e, optimism[key])
        for key, e in zip(apparent.names, apparent.estimates, strict=True)
    )
    note = "Test statistics are not corrected and left out."
    corrected = replace(apparent, estimates=moved, tests=(), note=note)
    limits = _BOOTSTRAP
    if not abs(optimism["slope"]) <= _MUCH_OPTIMISM:
        limits += _MEMORISED
    return Validation(apparent, corrected, optimism, "bootstrap", number, limits)


def _resample(rows: _Rows, rng: np.random.Generator) -> Ints:
    """Rows, or whole groups of rows, drawn with replacement until both classes are there."""
    events = rows.events
    n = rows.y.size
    if rows.group is not None:
        order = np.argsort(rows.group, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(rows.group[order])) + 1)
    for _ in range(_MOST_DRAWS):
        if rows.group is None:
            drawn = rng.integers(n, size=n)
        else:
            drawn = np.concatenate(
                [members[i] for i in rng.integers(len(members), size=len(members))]
            )
        if 0 < events[drawn].sum() < drawn.size:
            return np.asarray(drawn, np.int64)
    demand = "must have enough rows of each class to be resampled"
    raise InputError(
        "y",
        demand,
        f"{_MOST_DRAWS} resamples had one class only",
        remedy="Use `method='crossfit'`.",
    )


def _moved(key: str, estimate: Estimate, optimism: float) -> Estimate:
    """The estimate minus the optimism; there is no noise floor, since no scores belong to it."""
    smallest, largest = _RANGES.get(key, (-np.inf, np.inf))
    return replace(
        estimate,
        value=estimate.value - optimism,
        low=float(np.clip(estimate.low - optimism, smallest, largest)),
        high=float(np.clip(estimate.high - optimism, smallest, largest)),
        method=f"{estimate.method}, moved" if estimate.bounded else "",
        floor=float("nan"),
        floor_high=float("nan"),
    )
