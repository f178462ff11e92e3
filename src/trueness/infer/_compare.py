"""Which of several models is better, on the same rows."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
from scipy.special import stdtr, stdtrit

from trueness._input.arguments import Seed, checked_fraction, checked_whole, checked_word, generator
from trueness._input.sample import Sample
from trueness._progress import Progress, reporter
from trueness._tally import rows_or_sums
from trueness._tally.row_sums import bins_of_rows
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.rules import BinRule, BinsLike, EqualWidth, as_rule, blind_to_labels
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.infer._clusters import error_of_mean
from trueness.infer._influence import PairedResiduals, pair_variance
from trueness.infer._interval import equal_mass_by_size
from trueness.infer._noise_floor import TallyMeasure, checked_number, measure_name
from trueness.infer._paired_bootstrap import Redrawn, RedrawnTally, drawn_interval, drawn_pvalue, paired_draws
from trueness.infer._paired_rows import PairedRows, about, bin_numbers, paired_rows, top_scores
from trueness.results import Comparison, Difference
from trueness.typing import ArrayLike, Floats, Ints, Kind, RowOptions

__all__ = ["compare", "holm"]

Method: TypeAlias = Literal["influence", "bootstrap"]
Named: TypeAlias = Literal["squared_ece", "brier", "log_loss"]
_NAMED = ("squared_ece", "brier", "log_loss")


@partial(takes_rows, kind=None)  # type: ignore[arg-type]  # what is looked at by default depends on the measure
def compare(
    y_true: ArrayLike,
    models: Mapping[str, ArrayLike],
    *,
    measure: Named | TallyMeasure = "squared_ece",
    method: Method = "influence",
    bins: BinsLike | None = None,
    level: float = 0.9,
    cluster: ArrayLike | None = None,
    weight_type: Literal["frequency", "importance"] = "frequency",
    resamples: int = 999,
    seed: Seed = None,
    workers: int = 1,
    progress: Progress = True,
    **rows: Unpack[RowOptions],
) -> Comparison:
    r"""Compare models on the same rows: differences, how sure they are, and whether they could be chance.

    Errors of two models on one row have much in common, and their difference is known far better than either of them.
    Two intervals that overlap say little; this is the interval of the difference itself.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    models : dict of array-like of shape (n,) or (n, K)
        Scores by name of the model, for the same rows in the same order.
    measure : {'squared_ece', 'brier', 'log_loss'} or callable, default 'squared_ece'
        'squared_ece': the debiased squared l2 calibration error, for a matrix that of the top label. 'brier' and
        'log_loss': proper scores, for a matrix over all classes; lower is better, and not only for calibration. Or any
        function of a :class:`Tally` that returns one number, which needs ``method="bootstrap"``.
    method : {'influence', 'bootstrap'}, default 'influence'
        'influence': from how much each row moves the difference; no randomness. 'bootstrap': rows, or clusters, are
        drawn with replacement, the same for all models.
    bins : int, sequence of edges or bin rule, optional
        For 'squared_ece': ``EqualMass(max(5, round(n**0.4)))`` if nothing is said; the scores of each model are cut
        by the same rule. Rules that look at the labels are refused. Resamples keep the bins of the whole sample.
    level : float, default 0.9
        Level of the intervals.
    cluster : array-like of shape (n,), optional
        A name for each row; rows of one name may depend on each other (answers to one prompt, visits of one patient).
    weight_type : {'frequency', 'importance'}, default 'frequency'
        'frequency': weight 2 is the row twice, and weights are whole numbers. 'importance': a row of any weight is one
        row, and weights say how much it matters (sampling weights); for 'influence'.
    resamples : int, default 999
        For 'bootstrap': how many times rows are drawn.
    seed : int or numpy.random.Generator, optional
        For 'bootstrap'; the same seed gives the same values for the same order of rows, whatever the number of workers.
    workers : int, default 1
        For 'bootstrap': threads. Your own measure must allow for that if there is more than one.
    progress : bool or callable, default True
        For 'bootstrap': whether a bar is shown on a terminal if it takes long, or a function of (done, total).
    **rows
        As for :func:`ece`; `sample_weight` must be whole numbers unless `weight_type` is 'importance'.
        ``missing="drop"`` drops a row for all models if one
        of them, or a label, a weight or a cluster, misses it. `kind` of a matrix is 'confidence' for 'squared_ece'
        and 'classwise' for other measures unless it says otherwise.

    Returns
    -------
    Comparison
        Every pair of models: the difference (first − second), its standard error, interval and p-value; with more than
        two models also p-values adjusted by Holm's method and simultaneous intervals by Bonferroni's.

    Notes
    -----
    For losses :math:`d_i` is the difference of the losses of row i. For 'squared_ece' it is that of the influences

    .. math:: \psi_i = 2 u_i \bar u_{-i} - \theta_{-i} , \qquad u = y - p ,

    with the mean and the mean over pairs of the other rows in the bin of row i. Either way the variance of the
    difference is that of the mean of :math:`d`: :math:`\sum (d_i - \bar d)^2 / (n (n - 1))`, or the like from sums over
    clusters, and intervals use Student's t with one degree of freedom fewer than there are rows, or clusters. With
    clusters, pairs of rows of one cluster are left out of the squared error.

    With ``weight_type="importance"`` the difference is that of weighted means, and row i moves it by
    :math:`w_i (d_i - \bar d) / \sum w`, where :math:`\bar d` is the weighted mean: the variance is
    :math:`\frac{n}{n-1} \sum w_i^2 (d_i - \bar d)^2 / (\sum w)^2`, or the like from sums over clusters. It needs many
    rows, none with much of the weight.

    A row moves the squared error by itself, and by the pairs it is in; the spread of influences counts a pair for both
    of its rows, and so twice what pairs add to the variance (Efron and Stein 1981). That part, the variance
    :math:`V_2` that the difference would have if both models were right on average in every bin, is therefore taken
    off the variance :math:`V` of the influences: :math:`\max(V - V_2, V_2)`.

    What is compared by 'squared_ece' is the binned error. In simulations with 100 to 5,000 rows, models that err as
    much as each other but on opposite sides are told apart in 7 to 11 % of samples at level 0.9. Where both models are
    calibrated, or err in nearly the same way, the standard error is still 1.1 to 1.4 times too large (1.5 times
    without the correction), because chance then passes for error, and most where the difference is large; equal models
    are told apart in 0 to 5 % only. The bootstrap is more cautious still, with a spread about 1.7 times too large.

    The interval of the bootstrap is that between quantiles of the resampled differences, moved so that their mean
    is the difference observed; its p-value is where that interval begins to hold zero, at least
    2/(resamples + 1). For a measure that is itself biased (any error with absolute values) it speaks of the
    difference such samples show on average.

    References
    ----------
    Diebold, Mariano, "Comparing predictive accuracy", Journal of Business & Economic Statistics, 1995. Holm, "A simple
    sequentially rejective multiple test procedure", Scandinavian Journal of Statistics, 1979. Hoeffding, "A class of
    statistics with asymptotically normal distribution", Annals of Mathematical Statistics, 1948. Efron, Stein, "The
    jackknife estimate of variance", Annals of Statistics, 1981.

    Examples
    --------
    >>> from trueness.infer import compare
    >>> found = compare([0, 0, 1, 1], {"sharp": [0.1, 0.2, 0.8, 0.9], "flat": [0.5, 0.5, 0.5, 0.5]}, measure="brier")
    >>> round(found["sharp", "flat"].difference, 6)
    -0.225
    >>> found["sharp", "flat"].high < 0
    True
    """
    asked = _checked_measure(measure, method, bins)
    level, resamples = checked_fraction(level, "level"), checked_whole(resamples, "resamples")
    workers, rng, report = checked_whole(workers, "workers"), generator(seed), reporter(progress)
    kind: Kind = "confidence" if asked == "squared_ece" else "classwise"
    importance = checked_word(weight_type, "weight_type", ("frequency", "importance")) == "importance"
    if importance and method != "influence":
        raise InputError("`weight_type='importance'` needs `method='influence'`: rows of other weights are not drawn.")
    paired = paired_rows(y_true, models, cluster, rows, kind=kind, importance=importance)
    if paired.n < 2:
        raise InputError("y_true", "must have at least 2 rows to tell how sure a difference is", f"got {paired.n}")
    rows_or_sums.warn_one_class(next(iter(paired.samples.values())))
    words = ""
    if asked == "squared_ece":
        rule = blind_to_labels(as_rule(bins)) if bins is not None else equal_mass_by_size(paired.n)
        words = repr(rule)
        standings = _squared_standings(paired, rule)
    elif isinstance(asked, str):
        standings = _loss_standings(paired, asked)
    else:
        standings = _own_standings(paired, asked)
    judge: _Judge = (
        _Influence(standings, paired.cluster, paired.weight)
        if method == "influence"
        else _Bootstrap(standings, _drawn(standings, paired, level, resamples, rng, workers, report))
    )
    return Comparison(
        measure=asked if isinstance(asked, str) else measure_name(asked),
        pairs=_differences(judge, level),
        estimates={name: standing.estimate for name, standing in standings.items()},
        level=level,
        method=method,
        n=paired.n,
        clusters=None if paired.cluster is None else int(paired.cluster.max()) + 1,
        bins=words,
        multiplicity=_multiplicity(len(standings), level),
        assumptions=_assumptions(paired, method, resamples),
    )


def _checked_measure(measure: Any, method: Any, bins: Any) -> Named | TallyMeasure:
    if not (callable(measure) or (isinstance(measure, str) and measure in _NAMED)):
        raise InputError(
            "measure",
            f"must be {', '.join(map(repr, _NAMED))} or a function of a Tally, such as `tn.ece`",
            f"got {measure!r}",
        )
    if not isinstance(method, str) or method not in ("influence", "bootstrap"):
        raise InputError("method", "must be 'influence' or 'bootstrap'", f"got {method!r}")
    if callable(measure) and method != "bootstrap":
        raise InputError(
            "method",
            "must be 'bootstrap' for a measure of your own: how much a row moves it is not known. "
            "'squared_ece', 'brier' and 'log_loss', by name, need no bootstrap",
        )
    if bins is not None and measure != "squared_ece":
        raise InputError("bins", "is for `measure='squared_ece'`", f"{_shown(measure)} has none")
    return measure  # type: ignore[no-any-return]  # a name or a function, as was just seen


def _shown(measure: Any) -> str:
    return repr(measure) if isinstance(measure, str) else f"{measure_name(measure)}, as a function of a Tally,"


@dataclass(frozen=True)
class _Standing:
    """One model: its number, what each row adds to it, and the number of a resample."""

    estimate: float
    redrawn: Redrawn
    values: Floats | None = None
    residuals: PairedResiduals | None = None


def _squared_standings(paired: PairedRows, rule: BinRule) -> dict[str, _Standing]:
    if rule.asked > paired.n:
        warn(f"There are fewer rows ({paired.n:,}) than bins ({rule.asked:,}).", FewRowsWarning)
    return {name: _squared(name, sample, paired, rule) for name, sample in paired.samples.items()}


def _squared(name: str, sample: Sample, paired: PairedRows, rule: BinRule) -> _Standing:
    if sample.p.ndim == 2 and paired.kind != "confidence":
        raise InputError(
            "kind",
            "must be 'confidence' for the squared error of a matrix",
            f"got {paired.kind!r}",
            remedy="For one class against the rest pass its column as a vector.",
        )
    with about(name):
        top = top_scores(sample)
        bin_of = bin_numbers(top, rule)
        u = np.asarray(top.y, dtype=np.float64) - np.asarray(top.p, dtype=np.float64)
        # Weights are of entries, and a row of its own is one.
        unit = np.arange(paired.n) if paired.cluster is None and paired.weight is not None else paired.cluster
        residuals = PairedResiduals(u, bin_of, unit, paired.weight)
        residuals.check()
    return _Standing(residuals.estimate, residuals.redrawn, residuals.influence(), residuals)


def _loss_standings(paired: PairedRows, measure: str) -> dict[str, _Standing]:
    standings = {}
    for name, sample in paired.samples.items():
        with about(name):
            losses = _losses(sample, paired.kind == "classwise", measure)
        if not np.isfinite(losses).all():
            _refuse_infinite(name, losses, paired.row)
        standings[name] = _mean_standing(losses, paired.cluster, paired.weight)
    return standings


def _losses(sample: Sample, whole: bool, measure: str) -> Floats:
    """The loss of each row: of all its classes, or of the top label as a yes or no."""
    top = top_scores(sample)  # looks at every value of a matrix
    if sample.p.ndim == 2 and whole:
        chosen = sample.p[np.arange(sample.y.size), sample.y].astype(np.float64)
        if measure == "brier":
            squares = np.einsum("ik,ik->i", sample.p, sample.p, dtype=np.float64)
            return np.asarray(squares - chosen**2 + (1 - chosen) ** 2)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(chosen)) + 0.0
    bins_of_rows(top, EqualWidth(1))  # looks at every value of a vector
    y, p = np.asarray(top.y) == 1, np.asarray(top.p, dtype=np.float64)
    if measure == "brier":
        return np.asarray((y - p) ** 2)
    with np.errstate(divide="ignore"):
        return np.where(y, -np.log(p), -np.log1p(-p)) + 0.0


def _refuse_infinite(name: str, losses: Floats, row: Ints) -> None:
    bad = ~np.isfinite(losses)
    raise InputError(
        f"`models[{name!r}]` gives probability 0 to what happened in {int(bad.sum()):,} of {bad.size:,} rows, "
        f"the first is row {int(row[np.argmax(bad)])}: its log loss is infinite, and no difference can be judged. "
        "Keep scores off 0 and 1 (`np.clip(p, 1e-6, 1 - 1e-6)`), or use `measure='brier'`."
    )


def _mean_standing(losses: Floats, cluster: Ints | None, weight: Floats | None) -> _Standing:
    if weight is not None:
        mean = float(np.average(losses, weights=weight))
        return _Standing(mean, lambda count: math.nan, losses)  # noqa: ARG005  # never drawn
    sums = losses if cluster is None else np.bincount(cluster, losses)
    sizes = np.ones(losses.size) if cluster is None else np.bincount(cluster).astype(np.float64)
    # Not `@`: threads of a linear algebra library cost far more than such a sum.
    return _Standing(float(losses.mean()), lambda count: float((count * sums).sum() / (count * sizes).sum()), losses)


def _own_standings(paired: PairedRows, measure: TallyMeasure) -> dict[str, _Standing]:
    standings = {}
    for name, sample in paired.samples.items():
        with about(name):
            if sample.p.ndim == 2:
                top_scores(sample)
            of = partial(_redrawn_measure, measure, RedrawnTally(sample, paired.kind), paired.cluster)
            units = paired.n if paired.cluster is None else int(paired.cluster.max()) + 1
            value = of(np.ones(units, dtype=np.int64))
            if not np.isfinite(value):
                raise InputError("measure", "must be finite to be compared", f"it is {value}")
        standings[name] = _Standing(value, of)
    return standings


def _redrawn_measure(measure: TallyMeasure, tally: RedrawnTally, cluster: Ints | None, count: Ints) -> float:
    return checked_number(measure, tally(count if cluster is None else count[cluster]))


def _drawn(
    standings: dict[str, _Standing],
    paired: PairedRows,
    level: float,
    resamples: int,
    rng: np.random.Generator,
    workers: int,
    report: Callable[[int, int], None],
) -> Floats:
    m = _comparisons(len(standings))
    least = int(np.ceil(round(2 * m / (1 - level), 6))) - 1
    if resamples < least:
        raise InputError(
            "resamples",
            f"must be at least {least:,} for {_counted(m)} at level {level:g}, so that one of them can "
            "lie beyond each end of an interval",
            f"got {resamples:,}",
        )
    units = paired.n if paired.cluster is None else int(paired.cluster.max()) + 1
    return paired_draws([s.redrawn for s in standings.values()], units, resamples, rng, workers, report)


class _Judged(NamedTuple):
    """A difference, and what gives its p-value and its interval at a level."""

    difference: float
    error: float
    pvalue: float
    interval: Callable[[float], tuple[float, float]]


@dataclass(frozen=True)
class _Influence:
    """Judges a difference by what rows add to it."""

    standings: dict[str, _Standing]
    cluster: Ints | None
    weight: Floats | None

    def __call__(self, first: str, second: str) -> _Judged:
        a, b = self.standings[first], self.standings[second]
        assert a.values is not None
        assert b.values is not None
        difference = a.estimate - b.estimate
        error, units = error_of_mean(_shares(a.values - b.values, self.weight), self.cluster)
        if a.residuals is not None and b.residuals is not None and error > 0:
            pairs = pair_variance(a.residuals, b.residuals)
            error = math.sqrt(max(error**2 - pairs, pairs))

        def interval(level: float) -> tuple[float, float]:
            reach = -float(stdtrit(units - 1, (1 - level) / 2)) * error
            return difference - reach, difference + reach

        return _Judged(difference, error, _student(difference, error, units - 1), interval)


@dataclass(frozen=True)
class _Bootstrap:
    """Judges a difference by its resamples."""

    standings: dict[str, _Standing]
    drawn: Floats

    def __call__(self, first: str, second: str) -> _Judged:
        names = list(self.standings)
        difference = self.standings[first].estimate - self.standings[second].estimate
        drawn = self.drawn[:, names.index(first)] - self.drawn[:, names.index(second)]
        interval = partial(drawn_interval, difference, drawn)
        return _Judged(difference, float(drawn.std(ddof=1)), drawn_pvalue(difference, drawn), interval)


_Judge: TypeAlias = _Influence | _Bootstrap


def _shares(d: Floats, weight: Floats | None) -> Floats:
    """Values whose plain mean is the weighted one, and whose spread is that of what rows add to it."""
    if weight is None:
        return d
    mean = np.average(d, weights=weight)
    return np.asarray(mean + weight / weight.mean() * (d - mean))


def _student(difference: float, error: float, freedom: int) -> float:
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stdtr(freedom, -abs(difference) / error))


def _differences(judge: _Judge, level: float) -> tuple[Difference, ...]:
    pairs = list(combinations(judge.standings, 2))
    found = [judge(*pair) for pair in pairs]
    adjusted = holm(np.array([one.pvalue for one in found]))
    each = 1 - (1 - level) / len(pairs)
    return tuple(
        Difference(*names, one.difference, one.error, *one.interval(level), one.pvalue, float(p), *one.interval(each))
        for names, one, p in zip(pairs, found, adjusted, strict=True)
    )


def holm(pvalues: Floats) -> Floats:
    """P-values adjusted so that rejecting those at most α errs at all with probability at most α.

    The smallest of m is multiplied by m, the next by m − 1, and so on; none becomes smaller than one before it.
    """
    order = np.argsort(pvalues, kind="stable")
    scaled = pvalues[order] * np.arange(pvalues.size, 0, -1)
    adjusted = np.empty(pvalues.size)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def _comparisons(models: int) -> int:
    return models * (models - 1) // 2


def _counted(m: int) -> str:
    return f"{m:,} comparison{'' if m == 1 else 's'}"


def _multiplicity(models: int, level: float) -> str:
    m = _comparisons(models)
    if m == 1:
        return "One comparison: nothing to adjust for."
    return (
        f"{_counted(m)} of {models} models: adjusted p-values by Holm's method; simultaneous intervals by "
        f"Bonferroni's, each of level {100 * (1 - (1 - level) / m):.4g} %, so that all of them hold together with "
        f"probability {100 * level:g} %."
    )


def _assumptions(paired: PairedRows, method: str, resamples: int) -> str:
    who = "Rows are paired and independent" if paired.cluster is None else "Rows are paired, clusters are independent"
    units = "rows" if paired.cluster is None else "clusters"
    if paired.weight is not None:
        who += ", weights say how much a row matters"
    if method == "influence":
        return f"{who}; the difference is about normal (Student's t with {units} − 1 degrees of freedom)."
    return f"{who}; {resamples:,} resamples of {units}, the same for all models, centred on the difference."
