"""`judge`: the record of a judge beside human labels, and whether it may replace them."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from trueness._input.arguments import checked_fraction
from trueness._input.columns import LEAVE_OUT, column
from trueness._input.sample import refuse_shuffled_index
from trueness._input.segment_columns import SegmentColumn, read_by
from trueness._input.zero_one import zero_one
from trueness._level import Level
from trueness._numerics.paired_proportions import noninferiority, score_limits
from trueness._numerics.proportions import mid_p
from trueness._numerics.streams import stream
from trueness._numerics.units import Units
from trueness._tally.clusters import read_units, warn_few_clusters
from trueness.errors import InputError, SelectedRowsWarning, warn
from trueness.infer.limits._judged_rate import judged_rate
from trueness.infer.limits._limits import Limits
from trueness.infer.limits._paired_difference import clustered_difference
from trueness.infer.limits._row_means import mean_row_limits
from trueness.results import Estimate, Judge
from trueness.typing import ArrayLike, Bools, Floats

# Tables drawn for the limits of kappa.
_DRAWS = 4_000
_PRIOR = np.full(4, 0.5)
"""Of each cell of the table: of five ways and three priors this one covered best, by simulation."""
_FEW_DISAGREE = np.array([0.5, 0.25, 0.25, 0.5])
"""For the upper end: with ½ in both cells of disagreement a judge right in 99 of 100 rows was
covered in .88 of samples of 50 rows."""
# A p-value below this warns that the labelled rows may be no random sample.
_SELECTED = 0.01
_DEFINITIONS = {
    "sensitivity": "Share of events that the judge calls events.",
    "specificity": "Share of other rows that the judge calls other.",
    "PPV": "Share of events among rows that the judge calls events.",
    "NPV": "Share of other rows among those that the judge calls other.",
    "kappa": "Agreement beyond that of independent labels with the same rates.",
    "bias": "The judge's rate of events less that of people, on the same rows.",
    "event rate": "Share of events in all rows.",
    "repeatability": "Probability that two judgements of one row agree.",
}


def judge(
    y_human: ArrayLike,
    judge: ArrayLike,
    *,
    within: float | None = None,
    by: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    pos_label: Hashable | None = None,
) -> Judge:
    r"""The record of a judge: how often it agrees with people, and whether it may replace them.

    Parameters
    ----------
    y_human : array-like of shape (n,)
        Labels by humans, 0 and 1; nan or None where no human looked.
    judge : array-like of shape (n,) or (n, r)
        Labels of the judge for every row. Further columns are repeated judgements of the same rows,
        nan where there is none; the first column is judged.
    within : float, optional
        How far the judge's rate of events may lie from that of people, such as 0.03 for three
        points, if it is to replace them.
    by : array-like, dict of array-like or frame, optional
        Columns of segments: where is the judge's error another one?
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    level : float, default 0.95
        Confidence level; `replaces` is decided at 1 − level.
    pos_label : optional
        The label that is the event, if labels are not 0 and 1.

    Returns
    -------
    Judge
        Sensitivity, specificity, predictive values, Cohen's kappa, bias, the corrected rate of
        events, repeatability, each with limits; `replaces` is True, False or None. Without a row
        that could tell, limits are 0 and 1.

    Notes
    -----
    Rates have mid-P binomial limits. Kappa's are quantiles of its values under Dirichlet posteriors
    of the table, with ½ in each cell of agreement, and for the upper end ¼, else ½, in each of
    disagreement; up to 1 if no disagreement was seen. The bias has Tango's paired
    score limits. The rate of events adds the judge's labels of the other rows to the human ones,
    :math:`\bar Y + \lambda (\bar J_N - \bar J_n)`, with a λ that few events shrink. Clusters lower
    the number of rows by what they add to the variance.

    The judge replaces people within a margin if two one-sided tests reject that its rate differs by
    as much or more. That is about rates, not about single rows: kappa is about those. The rows that
    humans labelled must be a random sample of all rows.

    References
    ----------
    G. Berry and P. Armitage, Mid-P confidence intervals, The Statistician 44 (1995), 417-423. T.
    Tango, Statistics in Medicine 17 (1998), 891-908. A. N. Angelopoulos et al., Prediction-powered
    inference, Science 382 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(3_000) < 0.3
    >>> grader = np.where(rng.random(3_000) < 0.9, truth, ~truth)
    >>> y_human = np.where(np.arange(3_000) < 300, truth, np.nan)
    >>> found = tn.judge(y_human, grader, within=0.1)
    >>> round(found.sensitivity.value, 3), round(found.kappa.value, 2), found.replaces
    (0.987, 0.81, True)
    """
    level = checked_fraction(level, "level")
    margin = None if within is None else checked_fraction(within, "within")
    rows = _read(y_human, judge, cluster, pos_label)
    _warn_of_selection(rows)
    record = _record(rows, margin, level)
    if by is None:
        return record
    columns = read_by(by, y_human, np.ones(rows.judge.size, bool))
    return _with_segments(record, rows, columns, margin, level)


@dataclass(frozen=True)
class _Rows:
    """All rows, with nan where no human looked."""

    human: Floats
    judge: Floats
    repeats: Floats
    """All judgements, a column each; nan where there is none."""
    units: Units

    @property
    def has_label(self) -> Bools:
        """Which rows have a human label."""
        return ~np.isnan(self.human)

    def at(self, place: Bools) -> "_Rows":
        """Some of the rows."""
        return _Rows(
            human=self.human[place],
            judge=self.judge[place],
            repeats=self.repeats[place],
            units=self.units.at(place),
        )


def _read(
    y_human: ArrayLike, judge: ArrayLike, cluster: ArrayLike | None, pos_label: Hashable | None
) -> _Rows:
    """The labels of humans and judge as 0 and 1, checked, and the clusters of the rows.

    `pos_label` is the label that becomes 1. At least one row must have a human label. Of the
    judge's columns the first must be without gaps.
    """
    refuse_shuffled_index(y_human, {"judge": judge})
    human = zero_one(y_human, "y_human", gaps=True, pos_label=pos_label)
    if not np.isfinite(human).any():
        raise InputError("y_human", "must have a label in at least one row", "got none")
    judge_columns = column(judge, "judge")
    if judge_columns.values.ndim == 2 and judge_columns.values.shape[1] == 0:
        raise InputError("judge", "must have at least one column", "it has none")
    columns: list[Any] = list(judge_columns.values.T) if judge_columns.values.ndim == 2 else [judge]
    remedy = "Scores need a cut first, such as `score >= 0.5`."
    repeats = [
        zero_one(
            judgements,
            "judge",
            human.size,
            gaps=i > 0,
            pos_label=pos_label,
            remedy=remedy,
            if_missing=LEAVE_OUT,
        )
        for i, judgements in enumerate(columns)
    ]
    units = read_units(y_human, cluster, human.size)
    warn_few_clusters(units, None)
    return _Rows(human, repeats[0], np.column_stack(repeats), units)


def _warn_of_selection(rows: _Rows) -> None:
    """Warn if the judge's labels differ between rows with and without a human label.

    It is a two-sided normal test of two rates. If all rows have a human label, or all labels of the
    judge are equal, there is nothing to compare.
    """
    labelled = rows.judge[rows.has_label]
    unlabelled = rows.judge[~rows.has_label]
    if unlabelled.size == 0:
        return
    pooled = float(rows.judge.mean())
    variance = pooled * (1 - pooled) * (1 / labelled.size + 1 / unlabelled.size)
    unit = rows.units.rows_per_unit(rows.judge - pooled, 0.95)
    if variance == 0:
        return
    z = abs(float(labelled.mean() - unlabelled.mean())) / math.sqrt(variance * unit)
    pvalue = 2 * float(ndtr(-z))
    if pvalue < _SELECTED:
        text = (
            f"Rows with and without a human label differ in the judge's labels (p = {pvalue:.2g})"
        )
        warn(f"{text}: the limits assume a random sample.", SelectedRowsWarning)


def _record(rows: _Rows, margin: float | None, level: float) -> Judge:
    """The record of these rows, without segments: every rate with its limits, and the counts.

    `margin` is how far the judge's rate may lie from that of people; without one, nothing is
    decided.
    """
    labelled = rows.at(rows.has_label)
    y = labelled.human
    j = labelled.judge
    bias, pvalue = _bias(labelled, margin, level)
    return Judge(
        sensitivity=_rate("sensitivity", j == 1, y == 1, labelled, level),
        specificity=_rate("specificity", j == 0, y == 0, labelled, level),
        ppv=_rate("PPV", y == 1, j == 1, labelled, level),
        npv=_rate("NPV", y == 0, j == 0, labelled, level),
        kappa=_kappa(labelled, level),
        bias=bias,
        event_rate=_event_rate(rows, labelled, level),
        repeatability=_repeatability(rows, level),
        both=int(((y == 1) & (j == 1)).sum()),
        judge_only=int(((y == 0) & (j == 1)).sum()),
        human_only=int(((y == 1) & (j == 0)).sum()),
        neither=int(((y == 0) & (j == 0)).sum()),
        within=margin,
        pvalue=pvalue,
        replaces=_replaces(bias, margin, pvalue, level),
        level=level,
        n=rows.judge.size,
        humans=y.size,
    )


def _estimate(name: str, value: float, limits: Limits, n: int, level: float) -> Estimate:
    """The record of a number called `name`, with its limits and the definition of its name."""
    return Estimate(
        measure=name,
        value=value,
        low=limits.low,
        high=limits.high,
        level=level,
        method=limits.method,
        n=n,
        definition=_DEFINITIONS[name],
    )


def _rate(name: str, right: Bools, among: Bools, rows: _Rows, level: float) -> Estimate:
    """The share of rows that are `right` among those that are `among`, with mid-P limits.

    Both are one boolean per row; sensitivity, for instance, is the share of rows that the judge
    calls events among those that people do. `name` is that of the rate. With clusters the limits
    are those of an effective number of rows. Without a row among them, the share is nan and the
    limits are 0 and 1.
    """
    n = int(among.sum())
    if n == 0:
        return _estimate(name, math.nan, Limits(0.0, 1.0, "no such row"), 0, level)
    hits = right[among].astype(np.float64)
    value = float(hits.mean())
    units = n / rows.units.at(among).rows_per_unit(hits - value, level)
    low, high = mid_p(value * units, units, level)
    method = "mid-P, effective rows" if rows.units.clustered else "mid-P"
    return _estimate(name, value, Limits(float(low), float(high), method), n, level)


def _kappa(rows: _Rows, level: float) -> Estimate:
    """Cohen's kappa of rows with a human label, with limits.

    Kappa is the agreement of people and judge beyond that by chance, as a share of the largest
    possible. Limits are quantiles of kappa under the Dirichlet posterior of the shares of the
    two-by-two table, with the same draws for every table, and another prior for the upper limit
    than for the lower one. For clusters the counts are first reduced to effective numbers.

    If humans and judge never disagree, the upper limit is 1. The value always lies within the
    limits. It is nan if both label all rows alike.
    """
    y = rows.human
    j = rows.judge
    events = y == 1
    judged_events = j == 1
    cells = (
        events & judged_events,
        events & ~judged_events,
        ~events & judged_events,
        ~events & ~judged_events,
    )
    counts = np.array([cell.sum() for cell in cells], dtype=np.float64)
    value = float(_kappa_of(counts / y.size))
    counts = counts / rows.units.rows_per_unit(_kappa_influence(y, j), level)
    tail = Level(level).tail
    low = float(np.quantile(_drawn_kappas(counts + _PRIOR), tail))
    high = float(np.quantile(_drawn_kappas(counts + _FEW_DISAGREE), 1 - tail))
    if counts[1] + counts[2] == 0:
        high = 1.0
    if not math.isnan(value):
        low = min(low, value)
        high = max(high, value)
    limits = Limits(low, high, "Dirichlet posterior")
    return _estimate("kappa", value, limits, y.size, level)


def _drawn_kappas(shape: Floats) -> Floats:
    """Kappas of tables drawn from a Dirichlet distribution, whose four parameters are `shape`."""
    gammas = stream(0, "resample").standard_gamma(shape, (_DRAWS, 4))
    return np.asarray(_kappa_of((gammas / gammas.sum(axis=1, keepdims=True)).T))


def _kappa_of(shares: Floats) -> Floats:
    """Cohen's kappa of the shares of rows that are events by both, people, the judge, none.

    `shares` has one row for each of the four, and may have a column for each of several tables. It
    is nan if both label all rows alike.
    """
    by_both, by_human, by_judge, by_none = shares
    agreement = by_both + by_none
    both_events = (by_both + by_human) * (by_both + by_judge)
    by_chance = both_events + (by_none + by_human) * (by_none + by_judge)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(by_chance < 1, (agreement - by_chance) / (1 - by_chance), np.nan)


def _kappa_influence(y: Floats, j: Floats) -> Floats:
    """How much each row, with the labels `y` of people and `j` of the judge, moves kappa.

    It is the derivative of kappa by the weight of the row, up to a factor common to all rows.
    """
    agrees = (y == j).astype(np.float64)
    rate = float(y.mean())
    judged = float(j.mean())
    by_chance = rate * judged + (1 - rate) * (1 - judged)
    agreement = float(agrees.mean())
    chance = (y - rate) * (2 * judged - 1) + (j - judged) * (2 * rate - 1)
    return np.asarray((agrees - agreement) * (1 - by_chance) - chance * (1 - agreement))


def _bias(rows: _Rows, margin: float | None, level: float) -> tuple[Estimate, float | None]:
    """The judge's rate of events less that of people, and the p-value for a small difference.

    The rows all have a human label. The p-value is that of two one-sided tests of the hypothesis
    that the difference is `margin` or more, in either direction: a small one shows that it is
    smaller. It is None without a margin. Limits and p-value are by score methods for paired rates.
    With two clusters or more, each is also computed from the sums of clusters by Student's t, and
    the more cautious one is used.
    """
    signs = rows.judge - rows.human
    n = signs.size
    judge_only = int((signs > 0).sum())
    human_only = int((signs < 0).sum())
    low, high = (float(end) for end in score_limits(judge_only, human_only, n, level))
    method = "paired score"
    pvalue = None
    if margin is not None:
        pvalue = max(
            float(noninferiority(judge_only, human_only, n, margin)),
            float(noninferiority(human_only, judge_only, n, margin)),
        )
    units = rows.units.renumbered()
    if units.clustered and units.number > 1:
        above = clustered_difference(signs, units, margin or 0.0, level)
        below = clustered_difference(-signs, units, margin or 0.0, level)
        low = min(low, above.low)
        high = max(high, above.high)
        method = "paired score and t of clusters"
        if pvalue is not None:
            pvalue = max(pvalue, above.pvalue, below.pvalue)
    limits = Limits(low, high, method)
    return _estimate("bias", float(signs.mean()), limits, n, level), pvalue


def _replaces(
    bias: Estimate, margin: float | None, pvalue: float | None, level: float
) -> bool | None:
    """Whether the judge may replace people: True if its bias is shown to be within the margin.

    False if the bias is shown to be beyond it; None if the rows show neither, or without a margin.
    """
    if margin is None or pvalue is None:
        return None
    if pvalue <= Level(level).alpha:
        return True
    if bias.low > margin or bias.high < -margin:
        return False
    return None


def _event_rate(rows: _Rows, labelled: _Rows, level: float) -> Estimate:
    """The share of events in all rows: human labels, corrected by the judge's labels of all rows.

    `labelled` are the rows with a human label.
    """
    n_all = rows.judge.size
    rate = judged_rate(labelled.human, labelled.judge, float(rows.judge.mean()), n_all)
    residual = labelled.human - labelled.human.mean()
    unit = labelled.units.rows_per_unit(residual, level)
    low, high = rate._replace(rows=rate.rows / unit).limits(level)
    limits = Limits(low, high, "prediction-powered, effective Clopper-Pearson")
    return _estimate("event rate", rate.value, limits, labelled.human.size, level)


def _repeatability(rows: _Rows, level: float) -> Estimate | None:
    """The probability that two judgements of one row agree, with limits.

    It is the share of agreeing pairs of judgements of a row, averaged over rows with two or more;
    None if there is no such row. If each has exactly two, a row agrees or does not, and the limits
    are binomial.
    """
    judgements = np.isfinite(rows.repeats).sum(axis=1)
    repeated = judgements > 1
    if not repeated.any():
        return None
    times = judgements[repeated].astype(np.float64)
    events = np.nansum(rows.repeats[repeated], axis=1)
    non_events = times - events
    pairs = times * (times - 1)
    agree = (events * (events - 1) + non_events * (non_events - 1)) / pairs
    units = rows.units.at(repeated)
    value = float(agree.mean())
    if (times == 2).all():
        n = agree.size / units.rows_per_unit(agree - value, level)
        low, high = (float(end) for end in mid_p(value * n, n, level))
        limits = Limits(low, high, "mid-P")
    else:
        limits = _share_limits(agree, units.renumbered(), level)
    return _estimate("repeatability", value, limits, agree.size, level)


def _share_limits(agree: Floats, units: Units, level: float) -> Limits:
    """Limits of the mean of `agree`, shares of rows between 0 and 1, by Student's t.

    The upper limit is that of the mean, the lower one that of the mean of 1 − share.
    """
    below = mean_row_limits(1 - agree, 1.0, level, units)
    above = mean_row_limits(agree, 1.0, level, units)
    return Limits(max(1 - below.high, 0.0), min(above.high, 1.0), below.method)


def _with_segments(
    whole: Judge,
    rows: _Rows,
    columns: tuple[SegmentColumn, ...],
    margin: float | None,
    level: float,
) -> Judge:
    """The record with that of each segment, and how far its bias lies from that of the other rows.

    `whole` is the record of all rows and `columns` are the columns that define segments. Bias is
    the judge's rate of events less that of people. Limits of all segments hold together at `level`,
    by Bonferroni's inequality over all segments of all columns. A segment without a human label is
    left out; one whose other rows have none has no difference.
    """
    total = sum(len(segmented.values) for segmented in columns)
    segment_level = 1 - (1 - level) / total
    segments = {}
    differences = {}
    for segmented in columns:
        for i in range(len(segmented.values)):
            inside = segmented.code == i
            if not (inside & rows.has_label).any():
                continue
            name = segmented.rule(i)
            segment = _record(rows.at(inside), margin, segment_level)
            segments[name] = segment
            if (~inside & rows.has_label).any():
                elsewhere = _record(rows.at(~inside), margin, segment_level)
                differences[name] = _difference(segment.bias, elsewhere.bias)
    return replace(whole, segments=segments, differences=differences)


def _difference(segment: Estimate, rest: Estimate) -> Estimate:
    """The bias of a segment less that of the other rows, with limits.

    Bias is the judge's rate of events less that of people. The limits come from those of both
    numbers, which are independent (MOVER, the method of variance estimates recovery): the distance
    of a limit from the difference is the root of the sum of the squared distances of theirs.
    """
    value = segment.value - rest.value
    below = math.hypot(segment.value - segment.low, rest.high - rest.value)
    above = math.hypot(segment.high - segment.value, rest.value - rest.low)
    return Estimate(
        measure="difference of bias",
        value=value,
        low=value - below,
        high=value + above,
        level=segment.level,
        method="MOVER",
        n=segment.n,
        definition="The judge's bias in a segment less that in the other rows.",
    )
