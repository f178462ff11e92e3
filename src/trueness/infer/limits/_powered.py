"""`powered`: calibration from few human labels, and the labels of a judge that is never trusted."""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import chdtrc, logit

from trueness._input.arguments import Seed, check_ignore_index, generator
from trueness._input.columns import Column, column, refuse_bad
from trueness._input.labels import labels_missing
from trueness._input.sample import refuse_shuffled_index
from trueness._input.scores import numeric
from trueness._keywords import suggests_keywords
from trueness._level import Level, checked_level
from trueness._numerics.units import ClusterUnits
from trueness._tally.binned_scores import bin_numbers
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinsLike, EqualMass, as_rule, blind_to_labels
from trueness.errors import InputError, SelectedRowsWarning, warn
from trueness.infer.limits._few_events import (
    FEW_EVENTS,
    BlendedRate,
    JudgedRows,
    JudgeLaw,
    blended_rate,
    end_sums,
    expected_events,
    redrawn_pvalue,
)
from trueness.infer.limits._limits import Limits
from trueness.infer.limits._observed_expected import EffectiveEvents
from trueness.infer.limits._stratified_rate import stratified_rate
from trueness.results import Estimate, NextLabels, Powered
from trueness.typing import ArrayLike, Bools, Floats, Ints, Kind, Missing, RowOptions, WeightType

# Fewer human labels, or clusters with one, say too little about the variance.
_LEAST_LABELS = 10
# A p-value below this warns that the labelled rows may be no random sample.
_SELECTED = 0.01
_LEAST_SCORE = 1e-100
"""The squares of smaller scores are too small for a float."""
# Cells of equal mass whose gaps the test sums.
_CELLS = 32
_DRAWS = 4_999
_RIDGE = 1.0
# Log-odds beyond this count as this: a few certain scores must not decide a slope.
_STEEPEST = 5.0
# In place of a sum of squares of 0, as where a column is 0 in all rows.
_TINY = 1e-300
_METHOD = "prediction-powered, effective Clopper-Pearson"
_FEW_METHOD = "judge shrunk for few events, effective Clopper-Pearson"


@suggests_keywords
def powered(
    y_human: ArrayLike,
    judge: ArrayLike,
    y_prob: ArrayLike,
    *,
    human_prob: ArrayLike | NextLabels | None = None,
    bins: BinsLike | None = None,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    seed: Seed = 0,
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
) -> Powered:
    r"""Calibration from human labels of some rows and a judge's labels of all.

    The judge is not trusted.

    A judge, such as a language model that grades answers, is cheap and wrong in ways that nobody
    knows. Human labels correct it: the better it is, the narrower the limits; a useless judge gives
    those of the human labels alone.

    Parameters
    ----------
    y_human : array-like of shape (n,)
        Labels by humans; nan or None where no human looked.
    judge : array-like of shape (n,)
        Scores of the judge for every row, or labels: 0 and 1, or those of `y_human` if `pos_label`
        names the event.
    y_prob : array-like of shape (n,)
        Predicted probabilities of every row: P(positive).
    human_prob : array-like of shape (n,) or NextLabels, optional
        The probability with which each row was given to a human, if not the same for all; above 0
        in every row, also where no human looked. The record of :func:`next_labels` also tells the
        strata, by which the event rate is then estimated.
    bins : int, sequence of edges or bin rule, optional
        Bins of the gaps; by default five of equal mass.
    level : float, default 0.95
        Confidence level.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    seed : int or numpy.random.Generator, default 0
        For the null distribution of the test.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'classwise'. Refused
        here.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out. Weights
        are refused here.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
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
    Powered
        P-value, event rate, O/E, Brier score and gaps of bins with limits; ``labels_needed`` plans
        more labels.

    Notes
    -----
    With :math:`\hat m` the prediction of the label from judge and score by ridge regression without
    the row's cluster, N rows, and human labels of weight :math:`w_i`, the inverse of `human_prob`,
    any mean of :math:`b(p)(Y - p)` is

    .. math:: \frac1N \sum_{i=1}^N b(p_i) (\hat m_i - p_i)
              + \frac{\sum_i w_i b(p_i) (Y_i - \hat m_i)}{\sum_i w_i} .

    Errors of :math:`\hat m` cancel, whatever the judge does. Bins have the level
    ``level**(1/bins)``; limits and test are derived in ``docs/methods/powered.md``.

    Rows given to humans must be a random sample, or drawn with `human_prob`. If scores and judge
    differ between rows with and without a human label (p < 0.01), a warning says so; nothing shows
    a choice that depends on the labels.

    References
    ----------
    A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan, T. Zrnic, Prediction-powered
    inference, Science 382 (2023). E. L. Korn, B. I. Graubard, Confidence intervals for proportions
    with small expected number of positive counts estimated from survey data, Survey Methodology 24
    (1998).

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 1, 4_000)
    >>> y = rng.random(4_000) < p
    >>> judge = np.where(rng.random(4_000) < 0.9, y, 1 - y)  # wrong in every tenth row
    >>> y_human = np.where(np.arange(4_000) < 300, y, np.nan)
    >>> found = tn.powered(y_human, judge, p, seed=0)
    >>> found.pvalue > 0.05, found.event_rate.low < 2 / 3 < found.event_rate.high, found.worth > 450
    (True, True, True)
    >>> found.labels_needed(half_width=0.03) > 0
    True
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
    level = checked_level(level)
    rng = generator(seed)
    rule = blind_to_labels(as_rule(EqualMass(5) if bins is None else bins))
    for name in ("kind", "sample_weight"):
        if rows.get(name) is not None:
            got = "labels of humans and judge are those of single rows"
            raise InputError(name, "must be left out", got)
    refuse_shuffled_index(y_human, {"judge": judge, "y_prob": y_prob, "human_prob": human_prob})
    read = _read_rows(y_human, judge, y_prob, human_prob=human_prob, cluster=cluster, rows=rows)
    by_strata = _rate_by_strata(read, level)
    p = read.alone.p
    verdict = read.verdict - read.verdict.mean()
    powered_rows = read.alone._replace(m=p + _correction(read.alone, verdict))
    selection = _selection(powered_rows, np.column_stack([p, verdict, p * verdict]))
    if selection < _SELECTED:
        text = f"Rows with and without a human label differ in score or judge (p = {selection:.2g})"
        warn(f"{text}: the limits assume a random sample, or `human_prob`.", SelectedRowsWarning)
    cell = bin_numbers(read.evidence.sample, EqualMass(_CELLS))
    few = _rows_of_few_events(read.alone, verdict)
    if few is None:
        pvalue = _test(powered_rows, cell, rng)
        blended: BlendedRate | None = None
    else:
        law = JudgeLaw(few)
        pvalue = redrawn_pvalue(few, law, np.sort(cell), rng)
        blended = blended_rate(few, law)
    record = _record(
        powered_rows,
        alone=read.alone,
        bin_of=bin_numbers(read.evidence.sample, rule),
        level=level,
        blended=blended,
        pvalue=pvalue,
        selection_pvalue=selection,
    )
    return _with_rate_by_strata(record, by_strata)


class _ReadRows(NamedTuple):
    """The rows, checked: who has a human label, and what the judge says."""

    evidence: Evidence
    alone: "_Rows"
    """The rows with their scores in place of predictions."""
    has_label: Bools
    verdict: Floats
    """The judge's number for each row."""
    strata: Ints | None
    """The stratum of each row; None unless rows were chosen by `next_labels`."""


def _read_rows(
    y_human: ArrayLike,
    judge: ArrayLike,
    y_prob: ArrayLike,
    *,
    human_prob: ArrayLike | NextLabels | None,
    cluster: ArrayLike | None,
    rows: RowOptions,
) -> _ReadRows:
    """Read the labels of humans and judge, the scores, and the chances of a human label.

    Refused are too few human labels, or clusters with one, and scores that are all about 0.
    """
    human = _one_per_row(y_human, "y_human")
    absent = labels_missing(human)
    was_labelled = np.ones(len(human.values), bool) if absent is None else ~absent
    units = "rows" if cluster is None else "clusters"
    demand = f"must have labels in at least {_LEAST_LABELS} {units}"
    if not was_labelled.any():
        raise InputError("y_human", demand, "got none")
    placeholder = _placeholder(human.values[was_labelled], rows)
    filled = np.where(was_labelled, human.values, placeholder)
    evidence = _evidence(filled, y_prob, cluster, rows)
    position = evidence.position
    assert position is not None
    judgements = _judgements(judge, set(filled.tolist()), rows)
    verdict = _numbers(judgements, "judge", was_labelled.size, position)
    strata = None
    if isinstance(human_prob, NextLabels):
        strata = _strata_of(human_prob, was_labelled.size)[position]
        human_prob = human_prob.human_prob
    weight = _label_weights(human_prob, was_labelled, position)
    has_label = was_labelled[position]
    codes = evidence.units.code
    labelled_units = np.unique(codes[has_label]).size
    if labelled_units < _LEAST_LABELS:
        raise InputError("y_human", demand, f"got {labelled_units}")
    p = np.asarray(evidence.sample.p, np.float64)
    y = np.asarray(evidence.sample.y, np.float64)
    if p.max() < _LEAST_SCORE:
        got = f"all {p.size:,} are below"
        raise InputError("y_prob", f"must have a score above {_LEAST_SCORE:g}", got)
    alone = _Rows(p=p, y=y, m=p, share=weight / weight.sum(), cluster=codes)
    return _ReadRows(evidence, alone, has_label, verdict, strata)


def _rate_by_strata(read: _ReadRows, level: float) -> Limits | None:
    """The event rate by the strata that rows were drawn from; None without strata."""
    if read.strata is None:
        return None
    return stratified_rate(
        read.alone.y,
        has_label=read.has_label,
        p=read.alone.p,
        judge=np.clip(read.verdict, 0, 1),
        stratum=read.strata,
        level=level,
        units=read.evidence.units,
    )


def _with_rate_by_strata(record: Powered, rate: Limits | None) -> Powered:
    """The record, whose event rate is the one by strata if there is one."""
    if rate is None:
        return record
    event_rate = replace(
        record.event_rate,
        value=rate.value,
        low=rate.low,
        high=rate.high,
        method=rate.method,
        standard_error=rate.standard_error,
    )
    return replace(record, event_rate=event_rate)


def _rows_of_few_events(rows: "_Rows", verdict: Floats) -> JudgedRows | None:
    """The rows as the law of few events takes them.

    None if enough events are expected among the labelled rows, or if rows are dependent.
    """
    is_independent = np.unique(rows.cluster).size == rows.cluster.size
    if not is_independent or expected_events(rows.p, rows.share) >= FEW_EVENTS:
        return None
    return JudgedRows.of(rows.p, rows.y, rows.share, verdict)


def _label_weights(human_prob: ArrayLike | None, has_label: Bools, position: Ints) -> Floats:
    """The weight of the human label of each row, the inverse of its probability; 0 without one.

    `human_prob` is the probability of each row to get a human label, `has_label` says which rows
    have one, both for all rows entered; `position` holds the places of the rows that are left.
    Without probabilities all weights are 1. A row without a label whose probability was 1 is an
    InputError, and so is a single number for all rows.
    """
    weight = has_label[position].astype(np.float64)
    if human_prob is None:
        return weight
    if isinstance(human_prob, Number):
        demand = f"must have one entry per row ({has_label.size:,})"
        remedy = "Leave it out if it is the same for all."
        raise InputError("human_prob", demand, "got a number", remedy=remedy)
    chance = _numbers(human_prob, "human_prob", has_label.size, position)
    never_left_out = (chance == 1) & ~has_label[position]
    if never_left_out.any():
        demand = "must be below 1 where no human looked"
        refuse_bad("human_prob", demand, never_left_out, "values are 1, the first", position)
    weight /= chance
    return weight


def _strata_of(labels: NextLabels, n: int) -> Ints:
    """The stratum of each row; the rows must be those that the labels were chosen from."""
    if labels.n != n:
        demand = f"must be of the same rows ({n:,})"
        raise InputError("human_prob", demand, f"`next_labels` had {labels.n:,}")
    return labels.stratum


def _one_per_row(values: ArrayLike, name: str) -> Column:
    """A vector; several columns, such as one per class, and single values are refused."""
    values_read = column(values, name)
    shape = values_read.values.shape
    if len(shape) == 1:
        return values_read
    demand = "must have one value per row"
    if not shape:
        raise InputError(name, demand, "got a single number")
    raise InputError(
        name, demand, f"got shape {shape}", remedy="Pass the column of the event as a vector."
    )


def _placeholder(labels: ArrayLike, rows: RowOptions) -> str | float:
    """A label for the rows that no human looked at.

    It is never used, but it is read with the others: it must be one of `labels`, those of the other
    rows, if they have names, and not the label to ignore.
    """
    ignored = rows.get("ignore_index")
    check_ignore_index(ignored)
    is_named = rows.get("pos_label") is not None or rows.get("labels") is not None
    if is_named or not isinstance(labels[0], Number):
        others: Iterator[str | float] = (label for label in labels if label != ignored)
        return next(others, labels[0])
    if ignored == 0:
        return 1
    return 0


def _evidence(
    labels: ArrayLike, y_prob: ArrayLike, cluster: ArrayLike | None, rows: RowOptions
) -> Evidence:
    """The labels and scores as rows, checked; errors name `y_human`.

    A matrix of scores is refused. Labels that are all equal are not: the limits are valid.
    """
    try:
        evidence = read_rows(labels, y_prob, rows, cluster=cluster)
        if not evidence.is_binary:
            got = f"got {evidence.view} scores"
            raise InputError("y_prob", "must be a vector of probabilities", got)
        evidence.said.one_class = True  # the limits are valid if all human labels are equal
        evidence.warn_about_rows()
    except InputError as error:
        raise error.but(
            argument=error.argument.replace("y_true", "y_human"),
            demand=error.demand.replace("y_true", "y_human"),
            got=error.got.replace("y_true", "y_human"),
        ) from None
    return evidence


def _judgements(judge: ArrayLike, human: set[Any], rows: RowOptions) -> ArrayLike:
    """The judge's answers as numbers: labels in words become 1 for the event and 0 for the other.

    Numbers are returned as they are, and a missing label becomes nan. `human` holds the labels of
    humans; a judge whose words are not the same two labels is refused.
    """
    column_values = _one_per_row(judge, "judge").values
    values = column_values.tolist()
    is_text = column_values.dtype.kind == "U" or any(isinstance(value, str) for value in values)
    if not is_text:
        return judge
    event = rows.get("pos_label")
    if event is None:
        event = (rows.get("labels") or [None])[-1]
    labels = {value for value in values if value is not None and value == value}  # nan is not
    if event is None or event not in labels | human or len(labels | human) > 2:
        names = ", ".join(map(repr, sorted(labels, key=str)[:4]))
        demand = "must hold numbers, or the two labels of `y_human` with `pos_label`"
        remedy = "Write 1 for the event and 0 for the other label."
        raise InputError("judge", demand, f"got {names}", remedy=remedy)
    return [float(value == event) if value in labels else math.nan for value in values]


def _numbers(values: ArrayLike, name: str, n: int, position: Ints) -> Floats:
    """The numbers of an argument, one per row entered, at the rows that are left.

    `n` is the number of rows entered, `position` the places of those left. For 'judge' any number
    will do, for 'human_prob' it must be a probability above 0; missing values are refused.
    """
    entered = numeric(column(values, name), name)
    if entered.values.shape != (n,):
        got = f"got shape {entered.values.shape}"
        raise InputError(name, f"must have one entry per row ({n:,})", got)
    missing = np.False_ if entered.missing is None else entered.missing
    numbers = np.where(missing, np.nan, entered.values)[position]
    if name == "judge":
        inside = np.abs(numbers) < 1e100
        demand = "must be a number within ±1e100 in every row"
    else:
        inside = (numbers > 0) & (numbers <= 1)
        demand = "must lie above 0 and at most at 1"
    if not inside.all():
        refuse_bad(name, demand, ~inside, "values are missing or outside, the first", position)
    return np.asarray(numbers, np.float64)


class _Rows(NamedTuple):
    """Rows in clusters, some with a human label."""

    p: Floats
    """Scores."""
    y: Floats
    """Human labels; any label where there is none, since its share is 0."""
    m: Floats
    """A prediction of each label."""
    share: Floats
    """The weight of each human label among all; 0 where there is none."""
    cluster: Ints

    def at(self, place: Bools) -> "_Rows":
        """Some of the rows; shares add up to 1 again."""
        share = self.share[place]
        return _Rows(
            p=self.p[place],
            y=self.y[place],
            m=self.m[place],
            share=share / share.sum(),
            cluster=self.cluster[place],
        )

    @property
    def units(self) -> float:
        """Independent human labels of equal weight."""
        return 1 / self.squares(self.share)

    def squares(self, terms: Floats) -> float:
        """The squared sums of the terms of each cluster, added up."""
        return ClusterUnits(self.cluster).squared_sums(terms)

    def mean(self, base: Floats, factor: Floats | float, ratio: float = 0.0) -> "_Mean":
        """The mean of base + factor · (label − score) over all rows, with its variance.

        It is the mean with predictions in place of labels, plus what human labels show these to be
        wrong by. The variance is that of the mean less `ratio` times the mean score. It is at least
        that of labels drawn from the predictions.
        """
        predicted = base + factor * (self.m - self.p)
        errors = factor * (self.y - self.m)
        correction = float(self.share @ errors)
        value = float(predicted.mean()) + correction
        label_terms = self.share * (errors - correction)
        centred = predicted - ratio * self.p
        row_terms = (centred - centred.mean()) / centred.size
        # Few labels cannot show that a prediction is nearer to 0 or 1 than this share of the score.
        near = min(0.5, 4 / self.units)
        m = np.clip(self.m, near * self.p, 1 - near * (1 - self.p))
        floor = float((factor**2 * m * (1 - m)).mean()) / self.units
        inflation = self.units / max(self.units - 1, 0.5)
        row_variance = 0.0
        if np.ndim(factor) == 0:
            row_variance = float(m.mean() * (1 - m.mean()))
        return _Mean(
            value=min(max(value, 0.0), 1.0),
            variance=max(self.squares(row_terms + label_terms) * inflation, floor),
            label_variance=max(self.squares(label_terms) * inflation, floor),
            row_variance=row_variance,
            units=self.units,
            n=centred.size,
        )


class _Mean(NamedTuple):
    """A mean over all rows that human labels correct."""

    value: float
    variance: float
    label_variance: float
    """What human labels contribute to the variance."""
    row_variance: float
    """The least variance of a single row."""
    units: float
    """Independent human labels of equal weight."""
    n: int
    """All rows."""

    def limits(self, level: float) -> tuple[float, float]:
        """Clopper-Pearson limits of as many rows as have this variance.

        Without a variance both limits are the value.
        """
        if not self.variance:
            return self.value, self.value
        row_variance = max(self.value * (1 - self.value), self.row_variance)
        events = EffectiveEvents(
            value=self.value,
            rate=self.value,
            mean_score=1.0,
            rows=min(row_variance / self.variance, self.n),
            # Of a single label the units are 1, but for rounding.
            freedom=self.units - 1 if self.units > 1 + 1e-9 else 0.0,
        )
        limits = events.limits(Level(level).tail)
        return limits.low, limits.high

    def parts(self, unit: float = 1.0) -> tuple[float, float]:
        """The part of the variance that falls with more human labels, and the rest.

        Both are those of the mean divided by `unit`.
        """
        rest = max(self.variance - self.label_variance, 0.0)
        return self.label_variance / unit**2, rest / unit**2


def _correction(rows: _Rows, verdict: Floats) -> Floats:
    """Label − score of each row, as predicted by ridge regression on the score and the judge.

    The result has one number for every row, labelled or not, and score + prediction is not clipped
    to [0, 1]. `rows.share` is the weight of each human label among all, 0 for a row without a
    label; the weights sum to 1. `verdict` is the judge's number for each row, less its mean.

    With s = √(p (1 − p)), the standard deviation of a label of score p, the five regressors are s,
    s (p − ½), s · verdict, s (p − ½) · verdict and verdict. Each is scaled to a mean square of 1
    over all rows, and there is no intercept. The fit uses the labelled rows, whose weights are
    scaled to sum to their number, so that the penalty `_RIDGE` counts in rows.

    The prediction of a row leaves out all labels of its own cluster, so that no label predicts
    itself. Rows of clusters without any label get the fit to all labels. A regressor that is 0 in
    all rows, as with a constant judge, stays 0.
    """
    spread = np.sqrt(rows.p * (1 - rows.p))
    slope = rows.p - 0.5
    x = np.column_stack(
        [spread, spread * slope, spread * verdict, spread * slope * verdict, verdict]
    )
    x = x / np.sqrt(np.maximum((x**2).mean(axis=0), _TINY))
    labelled = np.flatnonzero(rows.share)
    labelled_x = x[labelled]
    weight = rows.share[labelled] * labelled.size
    gap = weight * (rows.y - rows.p)[labelled]
    clusters, code = np.unique(rows.cluster[labelled], return_inverse=True)
    squares = np.zeros((clusters.size, 5, 5))
    products = np.zeros((clusters.size, 5))
    outer = labelled_x[:, :, None] * labelled_x[:, None, :]
    np.add.at(squares, code, outer * weight[:, None, None])
    np.add.at(products, code, labelled_x * gap[:, None])
    square = squares.sum(axis=0) + _RIDGE * np.eye(5)
    product = products.sum(axis=0)
    correction = np.asarray(x @ np.linalg.solve(square, product))
    without = np.linalg.solve(square - squares, (product - products)[..., None])[..., 0]
    place = np.minimum(np.searchsorted(clusters, rows.cluster), clusters.size - 1)
    has_labels = clusters[place] == rows.cluster
    correction[has_labels] = (x[has_labels] * without[place[has_labels]]).sum(axis=1)
    return correction


def _selection(rows: _Rows, x: Floats) -> float:
    """P-value of "the rows with a human label, weighted, have the means of all rows".

    The means are those of the columns of `x`, which has one row for each row. Their differences are
    compared with the covariance that they have if rows are labelled at random, as a squared
    distance that is chi-squared. A small p-value shows that rows were not chosen at random. It is 1
    if all rows have a label or no column varies.
    """
    centred = x - x.mean(axis=0)
    # The variance of a mean of some of the rows about that of all, in variances of a row.
    factor = 1 / rows.units - 1 / rows.p.size
    covariance = centred.T @ centred / rows.p.size * max(factor, _TINY)
    difference = rows.share @ centred
    rank = np.linalg.matrix_rank(covariance, hermitian=True)
    if not rank or factor <= 1e-12:
        return 1.0
    distance = float(difference @ np.linalg.pinv(covariance, hermitian=True) @ difference)
    return float(chdtrc(rank, distance))


def _test(rows: _Rows, cell: Ints, rng: np.random.Generator) -> float:
    """P-value of the hypothesis that the scores are calibrated.

    `cell` is the cell of each row. The statistic is the sum of squares of the mean gap, of its
    slope and of cumulative sums over cells from both ends. It is compared with draws from its law
    for normal gaps, whose covariance is estimated from as many clusters as have human labels.
    """
    units = rows.units
    terms = (rows.m - rows.p) / rows.p.size + rows.share * (rows.y - rows.m)
    sums = csr_array((terms, (rows.cluster, cell)))
    covariance = _covariance_of_cells(rows, cell, (sums.T @ sums).toarray())
    forms = _unit_forms(rows, cell, covariance)
    weights = np.linalg.eigvalsh(forms @ covariance @ forms.T) * units / (units - 1)
    # Smaller ones are rounding: there are more forms than cells.
    weights = weights[weights > 1e-6 * weights.max()]
    observed = forms @ sums.sum(axis=0)
    value = float((observed**2).sum())
    squares = rng.standard_normal((_DRAWS, weights.size)) ** 2
    drawn = squares @ weights * (units - 1) / rng.chisquare(units - 1, _DRAWS)
    return (1 + int((drawn >= value).sum())) / (_DRAWS + 1)


def _covariance_of_cells(rows: _Rows, cell: Ints, covariance: Floats) -> Floats:
    """The covariance of the sums of gaps of cells, enlarged where human labels vary too little.

    `covariance` is the estimated one, and `cell` the cell of each row. If the scores are
    calibrated, predictions are right on average at every score, and human labels vary at least as
    much as labels drawn from these. The share by which they vary less is added to the diagonal. The
    rows' own part, which is all there is with a good judge, is known and is not enlarged.
    """
    n = rows.p.size
    error = rows.share * (rows.y - rows.m)
    design = np.column_stack([np.ones(n), rows.p])
    line = np.linalg.lstsq(design, rows.m - rows.p, rcond=None)[0]
    m = np.clip(rows.m - design @ line, 0, 1)
    floor = np.bincount(cell, m * (1 - m)) / n / rows.units
    lacking = max(0.0, 1 - float(error @ error) / max(float(floor.sum()), _TINY))
    return covariance + np.diag(lacking * floor)


def _unit_forms(rows: _Rows, cell: Ints, covariance: Floats) -> Floats:
    """Linear forms of the gaps of the cells, in rows: cumulative sums from both ends, mean, slope.

    `cell` is the cell of each row, `covariance` that of the gaps. Each of these three kinds is
    scaled so that the variances of its forms add up to 1. Cumulative sums see a wrong mean and
    slope late, so these have forms of their own, which are uncorrelated.
    """
    share = np.bincount(cell) / cell.size
    slope = np.bincount(cell, np.clip(logit(rows.p), -_STEEPEST, _STEEPEST)) / cell.size / share
    slope -= (covariance @ slope).sum() / max(covariance.sum(), _TINY)
    scaled = []
    for form in (end_sums(share), np.ones((1, share.size)), slope[None, :]):
        variance = float(np.trace(form @ covariance @ form.T))
        scaled.append(form / math.sqrt(max(variance, _TINY)))
    return np.vstack(scaled)


def _record(
    rows: _Rows,
    *,
    alone: _Rows,
    bin_of: Ints,
    level: float,
    blended: BlendedRate | None,
    pvalue: float,
    selection_pvalue: float,
) -> Powered:
    """The record: estimates with their limits, and the gaps of bins.

    `rows` have the predictions by score and judge, `alone` those by the score. `bin_of` is the bin
    of each row. `blended` is the event rate of few events, which then replaces that of `rows`.
    """
    p = rows.p
    expected = float(p.mean())
    humans = int(np.count_nonzero(rows.share))
    event = rows.mean(p, 1.0)
    ratio = rows.mean(p, 1.0, event.value / expected)
    brier = rows.mean(p * (1 - p), 1 - 2 * p)
    by_humans = alone.mean(p, 1.0)

    def estimate(mean: _Mean, name: str, definition: str, unit: float = 1.0) -> Estimate:
        low, high = mean.limits(level)
        return Estimate(
            measure=name,
            value=mean.value / unit,
            low=low / unit,
            high=high / unit,
            level=level,
            method=_METHOD,
            n=humans,
            definition=definition,
            standard_error=math.sqrt(mean.variance) / unit,
        )

    oe = "Observed events divided by the sum of the scores."
    event_rate = estimate(event, "event rate", "Share of events.")
    observed_expected = estimate(ratio, "observed/expected", oe, expected)
    variance = {
        "event_rate": event.parts(),
        "observed_expected": ratio.parts(expected),
        "brier": brier.parts(),
        "humans_alone": by_humans.parts(),
    }
    if blended is not None:
        event_rate = _with_blended(event_rate, blended, 1.0)
        observed_expected = _with_blended(observed_expected, blended, expected)
        variance["event_rate"] = (blended.variance, 0.0)
        variance["observed_expected"] = (blended.variance / expected**2, 0.0)
    gaps = _gaps_of_bins(rows, bin_of, level)
    variance["bins"] = gaps.variance
    return Powered(
        event_rate=event_rate,
        observed_expected=observed_expected,
        brier=estimate(brier, "Brier score", "Mean of (score − label)²."),
        humans_alone=estimate(by_humans, "event rate", "Share of events, without the judge."),
        **gaps.columns,
        pvalue=pvalue,
        selection_pvalue=selection_pvalue,
        level=level,
        n=p.size,
        humans=humans,
        label_variance={name: of_labels for name, (of_labels, _) in variance.items()},
        row_variance={name: of_rows for name, (_, of_rows) in variance.items()},
    )


class _Gaps(NamedTuple):
    """The gaps of bins."""

    columns: dict[str, NDArray[Any]]
    """The numbers of all bins, by the fields of `Powered`."""
    variance: tuple[float, float]
    """The largest of any bin: the part that falls with more human labels, and the rest."""


def _gaps_of_bins(rows: _Rows, bin_of: Ints, level: float) -> _Gaps:
    """The gaps of all bins; their limits hold together with the probability `level`."""
    n_bins = int(bin_of.max()) + 1
    lines = []
    largest = (0.0, 0.0)
    for b in range(n_bins):
        line, parts = _bin_line(rows, bin_of == b, level ** (1 / n_bins))
        lines.append(line)
        largest = max(largest, parts, key=sum)
    columns = map(np.array, zip(*lines, strict=True))
    return _Gaps(dict(zip(_BinLine._fields, columns, strict=True)), largest)


def _with_blended(estimate: Estimate, blended: BlendedRate, unit: float) -> Estimate:
    """The estimate with the value and limits of the event rate of few events, divided by `unit`."""
    low, high = blended.limits(estimate.level)
    return replace(
        estimate,
        value=blended.value / unit,
        low=low / unit,
        high=high / unit,
        standard_error=math.sqrt(blended.variance) / unit,
        method=_FEW_METHOD,
    )


class _BinLine(NamedTuple):
    """The numbers of one bin, as fields of `Powered`."""

    low_score: float
    high_score: float
    rows_in_bin: int
    humans_in_bin: int
    score: float
    rate: float
    gap: float
    low: float
    high: float


def _bin_line(rows: _Rows, inside: Bools, level: float) -> tuple[_BinLine, tuple[float, float]]:
    """The numbers of one bin, whose rows are `inside`, and the two parts of its variance.

    The numbers are the range of scores, the rows, the human labels, the mean score, the event rate
    corrected by human labels, its difference from the mean score, and its limits at `level`. The
    parts are the one that falls with more human labels, and the rest. Without a human label the
    rate is nan, with limits 0 and 1, and both parts are 0.
    """
    p = rows.p[inside]
    labels = int(np.count_nonzero(rows.share[inside]))
    rate = math.nan
    low = 0.0
    high = 1.0
    variance = (0.0, 0.0)
    if labels:
        in_bin = rows.at(inside)
        mean = in_bin.mean(in_bin.p, 1.0, 1.0)
        rate = mean.value
        low, high = mean.limits(level)
        variance = mean.parts()
    score = float(p.mean())
    line = _BinLine(
        low_score=p.min(),
        high_score=p.max(),
        rows_in_bin=p.size,
        humans_in_bin=labels,
        score=score,
        rate=rate,
        gap=rate - score,
        low=low - score,
        high=high - score,
    )
    return line, variance
