"""Comparison of several models on the same rows."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from scipy.special import stdtr

from trueness._input.arguments import (
    MOST_WORKERS,
    Seed,
    checked_fraction,
    checked_resamples,
    checked_whole,
    checked_word,
    labels_and_scores,
    whole_seed,
)
from trueness._input.columns import column
from trueness._keywords import suggests_keywords
from trueness._level import level_percent
from trueness._numerics.students_t import t_limits
from trueness._numerics.units import Units
from trueness._progress import Progress, Report, reporter
from trueness._tally.binned_scores import bin_numbers, default_rule
from trueness._tally.events import Events
from trueness._tally.evidence import Evidence, TwoColumns
from trueness._tally.models import model_context
from trueness._tally.reading import read_models
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.rows_or_sums import row_options, warn_few_rows
from trueness._tally.rules import BinRule, BinsLike, as_rule, blind_to_labels
from trueness._tally.tally import Parts
from trueness.errors import InputError, Place, collected_warnings, did_you_mean
from trueness.infer._catalogue import ALIASES, MEASURES, Measure
from trueness.infer._estimate import estimates_of
from trueness.infer._questions import MeasureLike, TallyMeasure, measure_name, measure_value
from trueness.infer.comparison import _paired_bootstrap as bootstrap
from trueness.infer.comparison._pairs import (
    PairDifference,
    multiplicity,
    number_of,
    with_adjustment,
)
from trueness.infer.interval._resampling import centred_interval
from trueness.infer.interval._residuals import BinnedResiduals, pair_variance
from trueness.infer.limits._limits import biased
from trueness.infer.test._pair_tests import required_draws
from trueness.results import Comparison, Estimate
from trueness.typing import ArrayLike, Floats, Ints, Kind, Missing, WeightType

Method: TypeAlias = Literal["auto", "influence", "bootstrap"]
_WITH_INFLUENCES = ("squared_ece", "brier", "log_loss")
# These are not functions with preset bins: `_squared_error` estimates them from residuals, in the
# cells that `bins` cuts or, without `bins`, in default ones.
_IN_CELLS = ("squared_ece", "l2")


@labels_and_scores
@suggests_keywords
def compare(
    y_true: ArrayLike | Mapping[str, ArrayLike],
    models: Mapping[str, ArrayLike] | Mapping[str, Events] | None = None,
    *,
    measure: str | TallyMeasure = "squared_ece",
    method: Method = "auto",
    bins: BinsLike | None = None,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    resamples: int = 999,
    seed: Seed = 0,
    workers: int = 1,
    progress: Progress = True,
    kind: Kind | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    missing: Missing = "raise",
    clip_tolerance: float = 0.0,
    sum_tolerance: float | None = None,
    from_logits: bool = False,
    percent: bool = False,
    ignore_index: int | None = None,
) -> Comparison:
    r"""Compare models on the same rows: differences with confidence intervals and p-values.

    The errors of two models on the same rows are strongly correlated, so their difference is known
    far better than either error; overlapping intervals of the models say little.

    Parameters
    ----------
    y_true : array-like of shape (n,), or dict of them
        Labels. A dict has the labels of each model, by the names of `models`: for instance, whether
        each language model's own answer to a question was right. Rows remain paired: row i is the
        same question for all. Or a dict of Events by model in place of both.
    models : dict of array-like of shape (n,) or (n, K), or frame, optional
        Scores by model name, for the same rows in the same order; of a frame, every column is a
        model.
    measure : str or callable, default 'squared_ece'
        'squared_ece': the debiased squared l2 calibration error, of the top label for a matrix.
        'brier' and 'log_loss': proper scores, over all classes for a matrix; they reward more than
        calibration. Or any measure that :func:`trueness.estimate` knows by name, such as 'ece' or
        'auc'; or any function of a :class:`Tally` that returns one number. Two columns are the
        binary problem of the second unless `kind='confidence'` is given.
    method : {'auto', 'influence', 'bootstrap'}, default 'auto'
        'influence', the default for 'squared_ece', 'brier' and 'log_loss': the influence of each
        row on the difference; not random. 'bootstrap', the default for others: rows, or clusters,
        are drawn with replacement, the same for all models.
    bins : int, sequence of edges or bin rule, optional
        For measures in bins, applied to the scores of each model; by default those of the measure.
        Rules that depend on the labels are refused. For 'squared_ece' and 'l2' resamples keep the
        bins of the whole sample.
    level : float, default 0.95
        Confidence level of all limits.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    resamples : int, default 999
        For 'bootstrap': number of resamples.
    seed : int or numpy.random.Generator, default 0
        For 'bootstrap'. The same seed gives the same result for the same rows in the same order.
    workers : int, default 1
        For 'bootstrap': number of threads. A measure of your own must then be thread-safe.
    progress : bool or callable, default True
        For 'bootstrap': show a progress bar on a terminal if it takes long, or call this function
        with (done, total).
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. The default depends on the measure.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out. Sampling
        weights need the method 'influence'.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
        ``missing="drop"`` drops a row from all models if any score, label, weight or cluster is
        missing. The default `kind` of a matrix of three or more columns is that of
        :func:`trueness.estimate`: 'confidence' for 'squared_ece', 'classwise' for most others.
    clip_tolerance : float, default 0
        Scores outside [0, 1] by at most this much are set to 0 or 1.
    sum_tolerance : float, optional
        How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
    from_logits : bool, default False
        Whether the scores are logits; the logistic function (softmax for a matrix) is applied
        first.
    percent : bool, default False
        Whether the scores are percentages, from 0 to 100.
    ignore_index : int, optional
        The label of rows that are left out, such as 255 for pixels without a class.

    Returns
    -------
    Comparison
        For every pair of models the difference (first − second), its standard error, interval and
        p-value; with more than two models also p-values adjusted by Holm's method and simultaneous
        intervals by Bonferroni's; and a `sentence` that names the winner, or says that there is
        none. `chosen` is the measure of the best model with limits that allow for the choice.

    Notes
    -----
    For losses :math:`d_i` is the difference of the losses of row i. For 'squared_ece' it is that of
    the influences

    .. math:: \psi_i = 2 u_i \bar u_{-i} - \theta_{-i} , \qquad u = y - p ,

    with the mean and the mean over pairs of the other rows in the bin of row i; with clusters,
    without pairs of rows of one cluster. The variance of the difference is that of the mean of
    :math:`d`, :math:`\frac{n}{n-1} \sum w_i^2 (d_i - \bar d)^2 / (\sum w)^2` with importance
    weights :math:`w`, or 1, or its analogue for sums over clusters. Intervals use Student's t with
    rows − 1, or clusters − 1, degrees of freedom. Weights need many rows, none of which dominates.

    Influences count the contribution of each pair of rows to the squared error twice (Efron and
    Stein 1981). The variance :math:`V_2` of the difference if both models were right on average in
    every bin is therefore subtracted from their variance :math:`V`: :math:`\max(V - V_2, V_2)`. If
    both models are calibrated, or err in nearly the same way, they are declared different less
    often than the level allows: see ``docs/evidence/coverage-tests.md``.

    **The best of several models** looks better than it is, since its luck was part of the choice:
    the plain upper limit of the smallest of 5 or 20 mean losses held in 75 to 92 % of simulated
    choices in place of 95 %. `chosen` therefore has limits at the level 1 − α/k, which hold for all
    k models together. It is the best of these models on these rows, not of the procedure that made
    them.

    The bootstrap interval lies between quantiles of the resampled differences, shifted so that
    their mean is the observed difference; its p-value is 1 minus the level at which the interval
    starts to contain zero, at least 2/(resamples + 1). For a measure that is itself biased (any
    error with absolute values) it refers to the mean difference of such samples.

    References
    ----------
    Diebold, Mariano, "Comparing predictive accuracy", Journal of Business & Economic
    Statistics, 1995. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics, 1979. Hoeffding, "A class of statistics with asymptotically normal
    distribution", Annals of Mathematical Statistics, 1948. Efron, Stein, "The jackknife estimate of
    variance", Annals of Statistics, 1981.

    Examples
    --------
    >>> from trueness.infer import compare
    >>> models = {"sharp": [0.1, 0.2, 0.8, 0.9], "flat": [0.5, 0.5, 0.5, 0.5]}
    >>> comparison = compare([0, 0, 1, 1], models, measure="brier")
    >>> round(comparison["sharp", "flat"].difference, 6)
    -0.225
    >>> print(comparison.sentence)
    'sharp' has the lower Brier score (p = 0.00013).
    """
    rows = row_options(
        kind,
        labels,
        pos_label,
        sample_weight,
        weight_type,
        missing,
        clip_tolerance,
        sum_tolerance,
        from_logits,
        percent,
        ignore_index,
    )
    entry = _catalogued(measure, bins)
    method = _checked_method(method, measure)
    level = checked_fraction(level, "level")
    resamples = checked_resamples(resamples)
    workers = checked_whole(workers, "workers", MOST_WORKERS)
    seed = whole_seed(seed)
    report = reporter(progress)
    keep: TwoColumns = "keep" if callable(measure) or entry.key == "accuracy" else "binary"
    named = _named_models(dict.fromkeys(y_true) if _are_events(y_true, models) else models)
    evidence = read_models(y_true, named, rows, kind=entry.view, two_columns=keep, cluster=cluster)
    return compare_of(
        evidence,
        measure,
        method=method,
        bins=bins,
        level=level,
        resamples=resamples,
        workers=workers,
        seed=seed,
        report=report,
        choose=True,
    )


def _chosen(
    comparison: Comparison,
    models: Mapping[str, Evidence],
    measure: str | TallyMeasure,
    bins: BinsLike | None,
    seed: int,
) -> Estimate | None:
    """The measure of the best model, with limits that hold for all models together.

    `comparison` has the value of each model, and `models` the rows of each. Best is the smallest
    value, or the largest where more is better; None if neither is. With k models the limits are at
    the level 1 − (1 − level)/k (Bonferroni), as the luck of the best one was part of the choice.
    """
    if not comparison.better:
        return None
    pick = max if comparison.better == "more" else min
    best = pick(comparison.estimates, key=comparison.estimates.__getitem__)
    # Limits at level 1 − α/k hold for all k models together, so for the one that looks best, too.
    # The multiplier of the largest of k means is shorter, but fell to .91 where this kept .93.
    model_level = 1 - (1 - comparison.level) / len(models)
    options: dict[str, Any] = {} if bins is None else {"bins": bins}
    with collected_warnings():  # the comparison has given them
        estimates = estimates_of(
            {"": measure}, models[best], level=model_level, floor=False, seed=seed, **options
        )
    estimate = replace(estimates[""], level=comparison.level)
    if not estimate.bounded:
        return estimate
    method = f"{estimate.method}, at {level_percent(model_level)} for the best of {len(models)}"
    return replace(estimate, method=method)


def compare_of(
    models: Mapping[str, Evidence],
    measure: str | TallyMeasure = "squared_ece",
    *,
    method: Method = "auto",
    bins: BinsLike | None = None,
    level: float = 0.95,
    resamples: int = 999,
    workers: int = 1,
    seed: int,
    report: Report = lambda _done, _total: None,
    choose: bool = False,
) -> Comparison:
    """The comparison of models whose rows were read together.

    `models` has the rows of each model by its name; the arguments from `measure` to `seed` are
    those of :func:`compare`. `report` gets the resamples that are done, and all of them. Only with
    `choose` does the best model get limits of its own, since these take time. Refused are fewer
    than 2 rows (3 for the squared error), more models than rows if they are more than 10, and
    sampling weights with the bootstrap.
    """
    entry = _catalogued(measure, bins)
    method = _checked_method(method, measure)
    if method == "bootstrap" and any(evidence.importance for evidence in models.values()):
        demand = "must count rows for `method='bootstrap'`, which draws them with equal probability"
        raise InputError("sample_weight", demand, "got sampling weights")
    models = {name: evidence.expanded for name, evidence in models.items()}
    first = next(iter(models.values()))
    n = first.need_rows("").n
    if len(models) > max(n, 10):
        remedy = "If they are rows in truth, change the places of models and rows."
        demand = "must be at most 10, or as many as there are rows"
        got = f"got {len(models):,} on {n:,} rows"
        raise InputError("models", demand, got, remedy=remedy)
    fewest = 3 if entry.key in _IN_CELLS else 2  # the pair of two rows is one value, without spread
    if n < fewest:
        demand = f"must have at least {fewest} rows for the error of a difference"
        raise InputError("y_true", demand, f"got {n}")
    first.warn_one_class()
    rule = None if bins is None else blind_to_labels(as_rule(bins))
    if rule is not None:
        warn_few_rows(n, rule)
    estimates = {}
    for name, evidence in models.items():
        with model_context(name):
            estimates[name] = _estimate(evidence, entry, rule)
    names = list(combinations(estimates, 2))
    pairs = {}
    if method == "bootstrap":
        _check_resamples(resamples, len(names), level)
        values = [estimate.resampled for estimate in estimates.values()]
        draws = bootstrap.paired_resamples(
            values, first.units.number, resamples, seed, workers, report
        )
        drawn = dict(zip(estimates, draws.T, strict=True))
        for a, b in names:
            difference = estimates[a].value - estimates[b].value
            pairs[a, b] = _by_resamples(difference, drawn[a] - drawn[b])
    else:
        weight = first.need_rows("").w
        for a, b in names:
            pairs[a, b] = _by_influence(estimates[a], estimates[b], first.units, weight)
    bins_used = dict.fromkeys(estimate.bins for estimate in estimates.values() if estimate.bins)
    comparison = Comparison(
        measure=entry.key if isinstance(measure, str) else measure_name(measure),
        pairs=with_adjustment(pairs, level),
        estimates={name: estimate.value for name, estimate in estimates.items()},
        level=level,
        method=method,
        n=n,
        clusters=first.units.clusters,
        bins=", ".join(bins_used),
        multiplicity=multiplicity(f"{len(estimates)} models", len(pairs), level),
        assumptions=" ".join([_assumptions(first, method, resamples), *first.notes]),
        name=entry.name,
        better=entry.better,
    )
    if not choose:
        return comparison
    return replace(comparison, chosen=_chosen(comparison, models, measure, bins, seed))


def require_same_rows(models: Mapping[str, Evidence]) -> None:
    """Raise unless all models have rows, of labels of the same shape."""
    (first_name, first), *rest = (
        (name, evidence.need_rows("A comparison needs rows")) for name, evidence in models.items()
    )
    for name, rows in rest:
        if rows.y.shape != first.y.shape:
            got = f"{rows.n:,} rows beside {first.n:,} of {first_name!r}"
            raise InputError(name, "must have the same rows", got)


def _are_events(y_true: ArrayLike, models: object) -> bool:
    """Whether a dict of Events by model was passed in place of labels and scores."""
    return (
        models is None
        and isinstance(y_true, Mapping)
        and isinstance(next(iter(y_true.values()), None), Events)
    )


def _named_models(models: ArrayLike) -> Mapping[str, Any]:
    """The scores of two models or more, by name; from a dict, or from a frame with named columns.

    Anything else, a single model, and sums in place of scores are refused.
    """
    named: Mapping[str, Any] = models
    if not isinstance(models, Mapping):
        names = column(models, "models").names if hasattr(models, "columns") else None
        if names is None:
            demand = "must be a dict of names and scores, {'a': p_a, 'b': p_b}, or a frame"
            raise InputError("models", demand, f"got {type(models).__name__}")
        named = {name: models[name] for name in names}
    if len(named) < 2:
        raise InputError("models", "must hold at least 2 models to compare", f"got {len(named)}")
    for name, scores in named.items():
        if isinstance(scores, Parts):
            got = f"{name!r} is a {type(scores).__name__}, which holds only sums of rows"
            raise InputError("models", "must hold the scores of every row", got)
    return named


def _catalogued(measure: MeasureLike, bins: BinsLike | None) -> Measure:
    """The measure in the catalogue, with `bins` as its preset; a function of the user has no key.

    Bins are an error for a measure without bins.
    """
    entry = _function_entry(measure) if callable(measure) else _named_entry(measure)
    if bins is None or entry.key in _IN_CELLS:
        return entry
    if not entry.bins:
        demand = "needs a measure in bins, by its name, such as 'ece'"
        raise InputError("bins", demand, f"{entry.name} has none")
    in_bins = entry.asked(as_rule(bins))
    assert isinstance(in_bins, partial)
    return entry._replace(preset=in_bins.keywords)


def _function_entry(function: Callable[..., float]) -> Measure:
    """A function of the user as a measure of the catalogue, without a key.

    A function of this library has the name and direction ("less" or "more" is better) of its entry;
    another has the direction "", and no model is named as better.
    """
    name = measure_name(function)
    better = ""
    for entry in MEASURES.values():
        if entry.function is function:
            name = entry.name
            better = entry.better
            break
    return Measure(
        key="",
        name=name,
        definition="",
        meaning="",
        brief="",
        function=function,
        limits=biased,
        better=better,  # type: ignore[arg-type]  # as in the catalogue
    )


def _named_entry(measure: object) -> Measure:
    """The measure of the catalogue that has this name or alias; any other is refused."""
    key = ALIASES.get(measure, measure) if isinstance(measure, str) else ""
    if key in MEASURES:
        return MEASURES[key]
    function = "" if isinstance(measure, str) else "a function of a Tally, or "
    demand = f"must be {function}one of {', '.join(MEASURES)}"
    remedy = did_you_mean(measure, tuple(MEASURES))
    raise InputError("measure", demand, f"got {measure!r}", remedy=remedy)


def _checked_method(method: object, measure: object) -> Literal["influence", "bootstrap"]:
    """The method by which differences are judged; 'auto' is chosen by the measure.

    An influence is what one row contributes to the measure. Influences, which need no resamples,
    are known for the debiased squared error, the Brier score and the log loss, by name. For any
    other measure 'auto' means 'bootstrap', and 'influence' is refused.
    """
    has_influences = isinstance(measure, str) and measure in _WITH_INFLUENCES
    if checked_word(method, "method", ("auto", "influence", "bootstrap")) == "auto":
        if has_influences:
            return "influence"
        return "bootstrap"
    if method == "influence" and not has_influences:
        name = repr(measure) if isinstance(measure, str) else "a measure of your own"
        demand = f"must be 'bootstrap' for {name}, whose influences are unknown"
        remedy = "'squared_ece', 'brier' and 'log_loss', by name, need no bootstrap."
        raise InputError("method", demand, remedy=remedy)
    return cast(Literal["influence", "bootstrap"], method)


def _check_resamples(resamples: int, comparisons: int, level: float) -> None:
    """Raise if resamples are too few for an interval between two of them.

    `comparisons` is the number of pairs, and `level` that at which the intervals of all pairs hold
    together. At least one resample must lie beyond each end of an interval at its Bonferroni level.
    """
    fewest = required_draws(1 - level, tests=comparisons, beyond=2, fewest=0)
    if resamples < fewest:
        reason = "so that at least one resample lies beyond each end of an interval"
        tests = f"{number_of(comparisons)} at level {level:g}"
        demand = f"must be at least {fewest:,} for {tests}, {reason}"
        raise InputError("resamples", demand, f"got {resamples:,}")


class _Estimate(NamedTuple):
    """The measure of one model, and its value in resamples."""

    value: float
    resampled: bootstrap.ResampledValue
    influence: Floats | None = None
    """That of each row, for 'influence'."""
    residuals: BinnedResiduals | None = None
    bins: str = ""


def _estimate(evidence: Evidence, measure: Measure, rule: BinRule | None) -> _Estimate:
    """A measure of one model; `rule` makes the cells of the squared error."""
    if measure.key in _IN_CELLS:
        return _squared_error(evidence, rule, root=measure.key == "l2")
    if measure.key in _WITH_INFLUENCES:
        return _mean_loss(evidence, measure.key)
    return _own_measure(evidence, partial(measure.function, **measure.preset))


def _squared_error(evidence: Evidence, rule: BinRule | None, *, root: bool) -> _Estimate:
    """The debiased squared error of one model in the bins of a rule, or its root, the l2 error.

    `rule` makes the bins; None stands for those of :func:`trueness.squared_ece`. The squared error
    is made of products of the residuals (label − score) of two rows of a bin, so that it may be
    negative. With `root` it is the root, and 0 if negative; the root has no influences. Several
    scores per row are refused.
    """
    evidence.require_one("the squared error of a matrix")
    top = evidence.sample
    # Other weights than counts.
    cells = cells_of_rows(top) if top.w is None else cells_of_rows(top).as_floats()
    rule = rule or default_rule(cells, top.y.size)
    u = np.asarray(top.y, dtype=np.float64) - np.asarray(top.p, dtype=np.float64)
    residuals = BinnedResiduals(u, bin_numbers(top, rule, cells), evidence.units, top.w)
    residuals.check()
    if root:
        return _Estimate(
            value=max(0.0, residuals.estimate) ** 0.5,
            resampled=lambda count: max(0.0, residuals.resampled(count)) ** 0.5,
            bins=repr(rule),
        )
    return _Estimate(
        value=residuals.estimate,
        resampled=residuals.resampled,
        influence=residuals.influence(),
        residuals=residuals,
        bins=repr(rule),
    )


def _mean_loss(evidence: Evidence, measure: str) -> _Estimate:
    """The Brier score or log loss of one model; the influence of a row is its loss.

    `measure` is 'brier' or 'log_loss'. The value in a resample is known from sums of rows or
    clusters; weighted rows are never resampled. A label with the score 0, whose log loss is
    infinite, is refused.
    """
    losses = _losses(evidence, measure)
    w = evidence.matrix.w
    if not np.isfinite(losses).all():
        assert evidence.position is not None
        bad = ~np.isfinite(losses)
        demand = "must not be 0 for the observed label, where the log loss is infinite"
        got = f"it is in {int(bad.sum()):,} of {bad.size:,} rows, the first"
        place = evidence.position[np.argmax(bad)]
        remedy = "Keep scores off 0 and 1 (`np.clip(p, 1e-6, 1 - 1e-6)`), or use `measure='brier'`."
        raise InputError("y_prob", demand, got, place=Place(int(place)), remedy=remedy)
    if w is not None:
        return _Estimate(
            value=float(np.average(losses, weights=w)),
            resampled=lambda count: math.nan,  # noqa: ARG005  # weighted rows are never resampled
            influence=losses,
        )
    sums = evidence.units.sums(losses)
    sizes = evidence.units.sizes
    # Not `@`: the threads of a linear algebra library cost far more than this sum.
    return _Estimate(
        value=float(losses.mean()),
        resampled=lambda count: float((count * sums).sum() / (count * sizes).sum()),
        influence=losses,
    )


def _losses(evidence: Evidence, measure: str) -> Floats:
    """The loss of each row: over all its classes, or of the top label as a binary outcome.

    `measure` is 'brier' or 'log_loss'. The Brier score of a row of several classes is the sum of
    squares over classes, halved for two columns, which gives the binary score. The log loss is −log
    of the score of the label, and infinite for 0.
    """
    sample = evidence.matrix
    if evidence.has_class_rows:
        of_label = sample.p[np.arange(sample.y.size), sample.y].astype(np.float64)
        if measure == "brier":
            squares = np.einsum("ik,ik->i", sample.p, sample.p, dtype=np.float64)
            over_classes = np.asarray(squares - of_label**2 + (1 - of_label) ** 2)
            if sample.p.shape[1] == 2:
                return over_classes / 2  # the binary score
            return over_classes
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(of_label)) + 0.0
    top = evidence.sample
    y = np.asarray(top.y) == 1
    p = np.asarray(top.p, dtype=np.float64)
    if measure == "brier":
        return np.asarray((y - p) ** 2)
    with np.errstate(divide="ignore"):
        return np.where(y, -np.log(p), -np.log1p(-p)) + 0.0


def _own_measure(evidence: Evidence, measure: TallyMeasure) -> _Estimate:
    """A measure of a tally, which has no known influence; it must be finite."""
    view = "classwise" if evidence.view == "binary" else evidence.view
    tally = bootstrap.resampled_tally(evidence.matrix, view)
    units = evidence.units

    def resampled(count: Ints) -> float:
        """The measure of a resample, from the number of copies of each row or cluster."""
        return measure_value(measure, tally(units.spread(count)))

    value = resampled(np.ones(units.number, dtype=np.int64))
    if not np.isfinite(value):
        raise InputError("measure", "must be finite to be compared", f"it is {value}")
    return _Estimate(value, resampled)


def _by_influence(
    a: _Estimate, b: _Estimate, units: Units, weight: Floats | None
) -> PairDifference:
    """The difference a − b of two models, judged by the difference of the influences of each row.

    An influence is what a row contributes to the measure, `weight` the weight of each row, and
    `units` what is independent. The difference has limits and a p-value by Student's t, with rows −
    1 or clusters − 1 degrees of freedom. For the squared error, which is a mean over pairs of rows,
    influences give the variance V, of which the part V₂ from pairs counts twice. So max(V − V₂, V₂)
    is taken. An error of 0 gives the p-value 1 if the difference is 0, else 0.
    """
    difference = a.value - b.value
    d = cast(Floats, a.influence) - cast(Floats, b.influence)
    _, error, n_units = units.mean(d, weight)
    if a.residuals is not None and b.residuals is not None:
        pairs = pair_variance(a.residuals, b.residuals)
        error = math.sqrt(max(error**2 - pairs, pairs))

    def interval(level: float) -> tuple[float, float]:
        return t_limits(difference, error, n_units - 1, level)

    pvalue = float(difference == 0)
    if error:
        pvalue = 2 * float(stdtr(n_units - 1, -abs(difference) / error))
    return PairDifference(difference, error, pvalue, interval)


def _by_resamples(difference: float, drawn: Floats) -> PairDifference:
    """The difference of two models, judged by its values in resamples, `drawn`."""
    return PairDifference(
        value=difference,
        error=float(drawn.std(ddof=1)),
        pvalue=bootstrap.pvalue(difference, drawn),
        interval=partial(centred_interval, difference, drawn),
    )


def _assumptions(evidence: Evidence, method: str, resamples: int) -> str:
    """What the comparison takes for granted, in a sentence."""
    units = evidence.units.word
    design = "Rows are paired and independent"
    if evidence.dependent:
        design = "Rows are paired, clusters are independent"
    if evidence.matrix.w is not None:
        design += ", weights are importance weights"
    if method == "influence":
        return (
            f"{design}; the difference is approximately normal (Student's t with {units} − 1 "
            "degrees of freedom)."
        )
    return (
        f"{design}; {resamples:,} resamples of {units}, the same for all models, centred on the "
        "difference."
    )
