"""Tables by rating grade: events expected and observed, exact limits, traffic lights."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from trueness._input.arguments import checked_fraction, checked_word, is_real
from trueness._input.segment_columns import MOST_GRADES, GradeColumn, SegmentColumn, read_grades
from trueness._keywords import suggests_keywords
from trueness._level import Level, checked_level
from trueness._numerics.holm import holm
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.vasicek import OneFactor
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.row_sums import bins_of_rows, cells_of_rows
from trueness._tally.rows_or_sums import are_sums, row_options
from trueness._tally.rules import BinRule, BinsLike, Distinct, Edges, as_rule, blind_to_labels
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import DroppedRowsWarning, InputError, Remedy, dropped_rows, warn
from trueness.infer.group._segment_rows import event_rows, places_by_value
from trueness.infer.limits._slope import shift_limits
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, Grade, GradePeriods, GradeTable
from trueness.results._grades import Light
from trueness.typing import ArrayLike, Floats, Ints, Kind, Missing, RowOptions, WeightType

Portfolio: TypeAlias = Literal["infinite", "finite"]

# Without grades or cut-offs, each distinct score is a grade, up to this many.
_MOST_DISTINCT = 50
_SAMPLING = "Weights are sampling weights"
_SKETCH = "Sketch: a cell that a cut-off divides counts as a whole, in the grade of its mean score."
_ALL = Edges([0, 1])
_TOTAL = "total"
# A grade whose doubled PD would be noticed less often than this has no power.
_NOTICED = 0.5


@suggests_keywords
def grade_table(
    y_true: ArrayLike | Tally | Sketch | Binned,
    y_prob: ArrayLike | None = None,
    *,
    grades: ArrayLike | None = None,
    bins: Mapping[str, float] | BinsLike | None = None,
    level: float = 0.95,
    correlation: float = 0.0,
    portfolio: Portfolio = "infinite",
    lights: tuple[float, float] = (0.95, 0.999),
    margin: float | None = None,
    period: ArrayLike | None = None,
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
) -> GradeTable:
    r"""Predicted and observed events by rating grade, with exact limits and traffic lights.

    The table of credit validation reports: does each grade have the default rate that its
    probability of default (PD) says? Usable for any risk classes.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. Or, without `grades`, a :class:`trueness.Tally`, :class:`trueness.sources.Sketch` or
        :class:`trueness.sources.Binned` in place of both. Scores are the predicted PDs. A matrix
        must have two columns, of which the second is the score.
    grades : array-like of shape (n,), optional
        The grade of each row. An ordered categorical keeps its order; other grades are sorted by
        their mean score.
    bins : dict of names and upper cut-offs, sequence of edges, int or bin rule, optional
        Grades by score, in place of `grades`: ``{"A": 0.01, "B": 0.05, "C": 1}`` puts scores below
        0.01 in A, those from 0.01 to below 0.05 in B, and so on; the last cut-off belongs to its
        grade. With neither `grades` nor `bins`, each distinct score is a grade, if there are at
        most 50.
    level : float, default 0.95
        Level of all limits but those of the lights.
    correlation : float, default 0
        Asset correlation ρ in [0, 1): how strongly events of a period depend on each other.
    portfolio : {'infinite', 'finite'}, default 'infinite'
        With a correlation: limits and lights for infinitely many rows in each grade (Vasicek's
        quantiles), or for the rows there are.
    lights : pair of float, default (0.95, 0.999)
        One-sided levels: a grade is amber above the limit of the first and red above that of the
        second.
    margin : float, optional
        A one-sided level, such as 0.9: `conservative` is the upper limit of each rate at this
        level, and that of the total, the target of a calibration, with a margin of conservatism.
    period : array-like of shape (n,), optional
        The year, or other period, of each row: `periods` then has the rate of each grade in each
        period and its long-run average.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'classwise'. There is no
        `cluster`; `correlation` models the dependence between rows.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
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
    GradeTable
        The grades from low to high risk; the total; the central-tendency offset; inversions. Empty
        grades are kept.

    Notes
    -----
    **Limits of the rate** and of observed/expected: Clopper and Pearson's of the rate, also divided
    by the mean score. With a correlation they are the rates at which as many events or more, or as
    few or fewer, have the probability (1 − level)/2 in the one-factor model, for the rows there
    are: one bad year is compatible with a low PD.

    **Limits if the PD is right.** Without correlation, the number of events of n rows with mean
    score p is compared with the binomial distribution (n, p). If scores differ within a grade,
    p-values are slightly too large, never too small beyond the expected number (Hoeffding 1956).
    With asset correlation ρ the limits of the rate are Vasicek's quantiles,

    .. math:: \Phi\Big( \frac{\Phi^{-1}(p) \pm \sqrt{\rho}\, z}{\sqrt{1 - \rho}} \Big) ,

    with :math:`z` the normal quantile of the level; those of the total are the mean over grades.
    They ignore the chance within a grade, and are too narrow where few events are expected; `notes`
    name the grades whose light would differ. ``portfolio="finite"``, and all p-values, average the
    binomial distribution over the factor.

    **Lights.** Each grade is judged by itself: of 20 calibrated grades one is amber on average.
    `adjusted_pvalue` allows for the number of grades. A grade that is not amber has *no power* if
    events twice as frequent as its PD says would be noticed with a probability below one half: no
    event where 0.1 are expected is no evidence for the PD.

    **Jeffreys' test.** `pvalue_jeffreys` is :math:`P(\mathrm{Beta}(d + \tfrac12, n - d + \tfrac12)
    \le \mathrm{PD})`, the test of the European Central Bank's validation reporting; it takes rows
    as independent, whatever `correlation` is.

    **Periods.** The long-run average counts each period once. Limits, p-values and lights are those
    of all rows; with a correlation they take all rows to share one factor, as if in one period,
    which is cautious.

    **Central tendency.** `offset` is the calibration intercept at slope 1, in log-odds, with
    likelihood-ratio limits for independent rows. Scores of exactly 0 and 1 are left out.

    **Weights** that are whole numbers count rows; others enter by the effective number of rows,
    (Σw)²/Σw².

    References
    ----------
    Basel Committee on Banking Supervision, Studies on the validation of internal rating systems,
    Working Paper 14, 2005.
    D. Tasche, A traffic lights approach to PD validation, 2003.
    O. Vasicek, The distribution of loan portfolio value, Risk 15 (2002), 160-162.
    W. Hoeffding, On the distribution of the number of successes in independent trials, Annals of
    Mathematical Statistics 27 (1956), 713-721.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> pd = np.repeat([0.002, 0.01, 0.05], [2000, 1000, 400])
    >>> y = np.isin(np.arange(3400), [*range(3), *range(2000, 2017), *range(3000, 3015)])
    >>> table = tn.grade_table(y, pd, bins={"A": 0.005, "B": 0.02, "C": 1})
    >>> for grade in table:
    ...     print(grade)
    A: 3 events, 4.0 expected (n = 2,000), p = 0.76, no power
    B: 17 events, 10.0 expected (n = 1,000), p = 0.026, amber
    C: 15 events, 20.0 expected (n = 400), p = 0.90, green
    >>> round(table["B"].ratio, 2), table.inversions
    (1.7, ())
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
    if not is_real(correlation) or not 0 <= correlation < 1:
        raise InputError("correlation", "must lie in [0, 1)", f"got {correlation!r}")
    checked_word(portfolio, "portfolio", ("infinite", "finite"))
    amber, red = _checked_lights(lights)
    model = _Model(
        level=checked_level(level),
        amber=amber,
        red=red,
        correlation=float(correlation),
        portfolio=portfolio,
        margin=None if margin is None else checked_fraction(margin, "margin"),
    )
    if grades is None:
        return _table(_by_score(y_true, y_prob, bins, period, rows), model)
    if bins is not None:
        raise InputError("bins", "must be left out if there is a column of grades")
    return _table(_by_column(y_true, y_prob, grades, period, rows), model)


class _Model(NamedTuple):
    """How the events of a grade are judged: the options of :func:`grade_table`, checked."""

    level: float
    """Of two-sided limits."""
    amber: float
    """The one-sided level of the limit above which a grade is amber."""
    red: float
    """The one-sided level of the limit above which a grade is red."""
    correlation: float
    portfolio: Portfolio
    margin: float | None
    """The one-sided level of the conservative rate; None without it."""

    @property
    def is_large(self) -> bool:
        """Whether limits are those of infinitely many rows that depend on each other."""
        return self.correlation > 0 and self.portfolio == "infinite"


class _Graded(NamedTuple):
    """The rows by grade."""

    sums: "_GradeSums"
    cells: Cells | None
    """All rows together, if every distinct score is known."""
    notes: tuple[str, ...]
    periods: tuple[tuple[str, "_GradeSums"], ...] = ()
    """The sums of the rows of each period."""


class _GradeSums(NamedTuple):
    """The sums of the rows of each grade, in order."""

    names: tuple[str, ...]
    n: Ints
    weight: Floats
    events: Floats
    expected: Floats
    squares: Floats
    """Σw²; the weight itself if weights count rows."""
    whole: bool
    """Whether weights count rows."""

    @property
    def score(self) -> Floats:
        """Mean score, nan without rows."""
        unknown = np.full(self.n.size, np.nan)
        return np.asarray(np.divide(self.expected, self.weight, out=unknown, where=self.n > 0))

    @classmethod
    def of_bins(cls, names: Iterable[str], parts: Iterable[Bins]) -> "_GradeSums":
        """The grades of these names, whose sums are the bins of one or several parts."""
        parts = tuple(parts)

        def joined(column: str) -> Floats:
            """The sums of this name of all bins."""
            values = [np.asarray(getattr(part, column)) for part in parts]
            return np.concatenate(values).astype(np.float64)

        weight = joined("weight")
        whole = all(part.whole for part in parts)
        n = weight if whole else joined("count")
        return cls(
            names=tuple(names),
            n=n.astype(np.int64),
            weight=weight,
            events=joined("events"),
            expected=joined("sum_score"),
            squares=joined("squares"),
            whole=whole,
        )

    def in_order(self, order: Ints) -> "_GradeSums":
        """The grades in another order."""
        names = tuple(self.names[i] for i in order)
        return self._with_columns(lambda values: values[order])._replace(names=names)

    def _with_columns(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> "_GradeSums":
        """All columns of sums changed by one function; the names stay."""
        return self._replace(
            n=change(self.n),
            weight=change(self.weight),
            events=change(self.events),
            expected=change(self.expected),
            squares=change(self.squares),
        )

    @property
    def total(self) -> "_GradeSums":
        """All grades together, as one."""
        total = self._with_columns(lambda values: values.sum(keepdims=True))
        return total._replace(names=(_TOTAL,))


def _checked_lights(lights: object) -> tuple[float, float]:
    """The levels of amber and red; anything but two levels, the lower first, is refused."""
    if not isinstance(lights, tuple | list) or len(lights) != 2:
        raise InputError("lights", "must be two levels, for amber and red", f"got {lights!r}")
    amber, red = (checked_fraction(light, "lights") for light in lights)
    if not amber < red:
        raise InputError(
            "lights", "must have a lower level for amber than for red", f"got {lights!r}"
        )
    return amber, red


def _by_score(
    y_true: ArrayLike,
    y_prob: ArrayLike | None,
    bins: Mapping[str, float] | BinsLike | None,
    period: ArrayLike | None,
    rows: RowOptions,
) -> _Graded:
    """The rows by intervals of their score, from rows or sums.

    `bins` are the named cut-offs, edges or rule; None for one grade per distinct score. `period` is
    the column of periods, and `rows` are the options of rows.
    """
    names, rule = _names_and_rule(bins)
    if rule is not None:
        _check_number(rule.n_requested)
    evidence = event_rows(y_true, y_prob, rows)
    if evidence.is_binned:
        if rule is None:
            demand = "must say which bins are grades"
            remedy = "Pass its edges, or name the cut-offs."
            raise InputError("bins", demand, "got None and a Binned", remedy=remedy)
        part = evidence.binned(rule, moments=False).parts[0]
        cells = None
    else:
        cells = evidence.tally_in(rule).parts[0]
        if rule is None:
            names, rule = _distinct(cells)
        part = _bins_of_cells(cells, rule, is_named=isinstance(bins, Mapping))
    _check_number(part.size)
    names = names or _interval_names(part.edges.tolist())
    notes = evidence.notes
    if isinstance(y_true, Sketch):
        notes = (_SKETCH, *notes)
    edges = Edges(part.edges)

    def sums_of(place: Ints) -> _GradeSums:
        """The sums of the rows at these places."""
        return _GradeSums.of_bins(names, [bins_of_rows(evidence.at(place).sample, edges)])

    return _Graded(
        sums=_GradeSums.of_bins(names, [part]),
        cells=cells,
        notes=notes,
        periods=_by_period(_periods(evidence, y_true, period), evidence, sums_of),
    )


def _bins_of_cells(cells: Cells, rule: BinRule, *, is_named: bool) -> Bins:
    """The sums of each bin of a rule; scores beyond the last of named cut-offs are refused."""
    try:
        return Bins.from_cells(cells, rule.group(cells))
    except InputError as error:
        if not is_named or error.argument != "bins":
            raise
        raise error.but(remedy="Give the last grade the cut-off 1.") from None


def _interval_names(edges: list[float]) -> tuple[str, ...]:
    """Bins as intervals, closed on the left, the last on both sides."""
    names = [f"[{low:.6g}, {high:.6g})" for low, high in pairwise(edges)]
    names[-1] = f"{names[-1][:-1]}]"
    return tuple(names)


def _periods(
    evidence: Evidence, y_true: ArrayLike, period: ArrayLike | None
) -> SegmentColumn | None:
    """The period of each row; None if there are none.

    `y_true` is only named in messages. Refused are sums, several columns, and too many periods.
    """
    if period is None:
        return None
    if not evidence.has_rows:
        raise InputError("period", "needs rows", f"a {type(y_true).__name__} has none")
    if isinstance(period, Mapping):
        raise InputError("period", "must be a column with the period of each row", "got a dict")
    try:
        column, *further_columns = evidence.columns(period, y_true, whole="names")
    except InputError as error:
        if error.argument != "by":
            raise
        raise error.but(argument="period") from None
    if further_columns:
        raise InputError("period", "must be one column", f"got {1 + len(further_columns)}")
    if len(column.values) > MOST_GRADES:
        got = f"got {len(column.values):,}"
        raise InputError("period", f"must have at most {MOST_GRADES:,} different values", got)
    return column


def _by_period(
    column: SegmentColumn | None, evidence: Evidence, sums_of: Callable[[Ints], _GradeSums]
) -> tuple[tuple[str, _GradeSums], ...]:
    """The name and the sums of each period that has rows of any weight; () without periods.

    `column` has the period of each row, and `sums_of` sums the rows at some places.
    """
    if column is None:
        return ()
    return tuple((name, sums_of(place)) for name, place in places_by_value(column, evidence))


def _check_number(grades: int) -> None:
    """Raise if there are too many grades."""
    if grades > MOST_GRADES:
        raise InputError("bins", f"must be at most {MOST_GRADES:,} grades", f"got {grades:,}")


def _names_and_rule(
    bins: Mapping[str, float] | BinsLike | None,
) -> tuple[tuple[str, ...], BinRule | None]:
    """The names of the grades and the rule that cuts scores into grades.

    `bins` is None (the rule is None), or edges or a rule (there are no names), or a dict that names
    the upper cut-off of each grade. Such cut-offs must ascend from above 0 to at most 1.
    """
    if bins is None:
        return (), None
    if not isinstance(bins, Mapping):
        return (), blind_to_labels(as_rule(bins))
    names = tuple(map(str, bins))
    if not names:
        raise InputError("bins", "must name at least one grade", "the dict is empty")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError("bins", "must have different names", f"{min(twice)!r} is there twice")
    last = 0.0
    after = "and no score is below"
    for name, cut in bins.items():
        if not is_real(cut) or not 0 <= cut <= 1:
            raise InputError(
                "bins", "must have upper cut-offs in [0, 1]", f"that of {name!r} is {cut!r}"
            )
        if float(cut) <= last:
            got = f"{name!r} has {float(cut):g} {after}"
            raise InputError("bins", "must have upper cut-offs that ascend from above 0", got)
        last = float(cut)
        after = f"after {str(name)!r} with {last:g}"
    return names, Edges([0.0, *(float(cut) for cut in bins.values())])


def _distinct(cells: Cells) -> tuple[tuple[str, ...], BinRule]:
    """The names of the grades if each distinct score is one, and the rule that makes them.

    A grade is named by six digits of its score, or by all of them if six are ambiguous. More than
    50 scores are refused.
    """
    if cells.size > _MOST_DISTINCT:
        demand = "Grades must be given by a column or by cut-offs"
        got = f"there are {cells.size:,} distinct scores, too many for one grade each"
        text = (
            "`grades=` is a column of grades, `bins={'A': 0.01, 'B': 0.1, 'C': 1}` names cut-offs."
        )
        raise InputError("", demand, got, remedy=Remedy("name-grades", text))
    names = tuple(f"{score:.6g}" for score in cells.score)
    if len(set(names)) < len(names):
        names = tuple(map(repr, cells.score.tolist()))
    return names, Distinct()


def _by_column(
    y_true: ArrayLike,
    y_prob: ArrayLike | None,
    grades: ArrayLike,
    period: ArrayLike | None,
    rows: RowOptions,
) -> _Graded:
    """The rows by the values of the column `grades`.

    Grades without an order of their own are sorted by their mean score. Rows of weight 0 are left
    out; those without a grade are refused or, if missing rows are dropped, left out with a warning.
    `period` is the column of periods, and `rows` are the options of rows.
    """
    if are_sums(y_true):
        got = f"a {type(y_true).__name__} has none"
        raise InputError("grades", "needs rows", got, remedy="`bins=` makes grades of cut-offs.")
    if isinstance(grades, Mapping):
        remedy = "Named cut-offs go to `bins=`."
        raise InputError(
            "grades", "must be a column with the grade of each row", "got a dict", remedy=remedy
        )
    evidence = event_rows(y_true, y_prob, rows)
    w = evidence.sample.w
    periods = _periods(evidence, y_true, period)
    if w is not None and not w.all():
        weighted = np.flatnonzero(w)
        evidence = evidence.at(weighted)
        periods = None if periods is None else periods.at(weighted)
    assert evidence.position is not None
    column = read_grades(grades, y_true, evidence.position, drop=rows.get("missing") == "drop")
    if column.dropped:
        warn(dropped_rows(column.dropped, evidence.position.size, "no grade"), DroppedRowsWarning)
        evidence = evidence.at(column.kept)
        periods = None if periods is None else periods.at(column.kept)
    cells = cells_of_rows(evidence.sample)
    whole = np.arange(column.code.size)
    sums = _sums_by_code(column, evidence, whole)
    order = np.arange(len(column.names))
    if not column.ordered:
        order = np.lexsort((order, sums.score))

    def sums_of(place: Ints) -> _GradeSums:
        """The sums of the rows at these places."""
        return _sums_by_code(column, evidence, place).in_order(order)

    return _Graded(
        sums=sums.in_order(order),
        cells=cells,
        notes=evidence.notes,
        periods=_by_period(periods, evidence, sums_of),
    )


def _sums_by_code(column: GradeColumn, evidence: Evidence, place: Ints) -> _GradeSums:
    """The sums of some rows by grade.

    `column` has the grade of each row, as a code, and the names of the grades; `place` are the
    numbers of the rows to sum. A grade without rows among them has sums of 0.
    """
    code = column.code[place]
    by_grade = place[np.argsort(code, kind="stable")]
    ends = np.searchsorted(np.sort(code), np.arange(len(column.names) + 1)).tolist()
    bins = [
        bins_of_rows(evidence.at(by_grade[start:stop]).sample, _ALL)
        for start, stop in pairwise(ends)
    ]
    return _GradeSums.of_bins(column.names, bins)


def _table(graded: _Graded, model: _Model) -> GradeTable:
    """The table of grades, with a line for each grade and one for all rows.

    `graded` has the sums of the rows by grade, and `model` the levels and assumptions. The p-values
    of grades are adjusted by Holm's method over the grades with rows; that of all rows is not
    adjusted. An inversion is a grade with a lower event rate than the grade before it. A grade
    without rows is kept, with nan.
    """
    sums = graded.sums
    filled = sums.n > 0
    score = np.minimum(sums.score, 1.0)
    grades = []
    for i in range(score.size):
        law = OneFactor(score[i : i + 1], np.array([1.0]), model.correlation)
        grades.append(_grade(sums, i, law, model))
    adjusted = np.full(len(grades), np.nan)
    adjusted[filled] = holm(np.array([grade.pvalue for grade in grades])[filled])
    grades = [
        replace(grade, adjusted_pvalue=float(pvalue))
        for grade, pvalue in zip(grades, adjusted, strict=True)
    ]
    share = sums.weight[filled] / sums.weight.sum()
    law_of_all = OneFactor(score[filled], share, model.correlation)
    total = _grade(sums.total, 0, law_of_all, model)
    filled_grades = [grade for grade in grades if grade.n > 0]
    notes = graded.notes
    if not sums.whole:  # `_notes` says more of sampling weights
        notes = tuple(note for note in notes if not note.startswith("Weights are"))
    return GradeTable(
        grades=tuple(grades),
        total=total,
        offset=_offset(graded.cells, total, model.level),
        inversions=tuple((a.grade, b.grade) for a, b in pairwise(filled_grades) if b.rate < a.rate),
        level=model.level,
        amber=model.amber,
        red=model.red,
        correlation=model.correlation,
        portfolio=model.portfolio,
        margin=model.margin,
        notes=(*notes, *_notes(filled_grades, sums, model)),
        periods=_long_run(graded.periods),
    )


def _long_run(periods: tuple[tuple[str, _GradeSums], ...]) -> GradePeriods | None:
    """The rate of each grade and of all rows in each period, and their averages over periods.

    A grade without rows in a period has the rate nan there. None without periods.
    """
    if not periods:
        return None
    lines: list[_PeriodLine] = []
    for period, sums in periods:
        for part in (sums, sums.total):
            lines += [_period_line(period, part, i) for i in range(len(part.names))]
    rates: dict[str, list[float]] = {}
    for line in lines:
        rates.setdefault(line.grade, []).append(line.rate)
    period_of, grade_of, n, score, events, rate = zip(*lines, strict=True)
    return GradePeriods(
        period=period_of,
        grade=grade_of,
        n=n,
        score=score,
        events=events,
        rate=rate,
        long_run={grade: _mean_of_known(values) for grade, values in rates.items()},
    )


class _PeriodLine(NamedTuple):
    """One grade in one period: the first fields of :class:`GradePeriods`."""

    period: str
    grade: str
    n: int
    score: float
    events: float
    rate: float


def _period_line(period: str, sums: _GradeSums, i: int) -> _PeriodLine:
    """The i-th grade in a period: rows, mean score, events and event rate.

    `sums` has the sums of all grades in this period. Without rows, score and rate are nan.
    """
    events = float(sums.events[i])
    rate = min(events / float(sums.weight[i]), 1.0) if sums.n[i] else math.nan
    return _PeriodLine(
        period=period,
        grade=sums.names[i],
        n=int(sums.n[i]),
        score=float(sums.score[i]),
        events=events,
        rate=rate,
    )


def _mean_of_known(values: list[float]) -> float:
    """The mean of the values that are not nan; nan if all are."""
    rates = [value for value in values if not math.isnan(value)]
    if not rates:
        return math.nan
    return math.fsum(rates) / len(rates)


def _grade(sums: _GradeSums, i: int, law: OneFactor, model: _Model) -> Grade:
    """The line of the i-th grade, without adjustment of its p-value.

    `sums` has the sums of the rows of all grades. `law` is the distribution of the number of events
    if the predicted probability of default (PD) is right, and `model` has levels and assumptions. A
    grade without rows has a line of nan.

    Fractional weights count as the effective number of independent rows, (Σw)²/Σw². `low` and
    `high` are confidence limits of the rate, from the events. `limit_low`, `limit_high`,
    `amber_above` and `red_above` are limits of the rate that would be observed if the PD were
    right. The light says whether there are too many events: by the p-value or, for an infinitely
    large portfolio, by Vasicek's quantiles of the rate. A green light becomes "no power" if doubled
    PDs would turn it amber or red with a probability below one half. If the mean PD is 0, the ratio
    of rate and PD is infinite with events, and nan without.
    """
    name = sums.names[i]
    if sums.n[i] == 0:
        return _empty_grade(name)
    weight = float(sums.weight[i])
    events = float(sums.events[i])
    # Independent rows of equal weight that these are worth.
    rows = weight * (weight / float(sums.squares[i]))
    rate = min(events / weight, 1.0)
    score = law.mean
    whole = sums.whole
    k = round(events) if whole else rate * rows
    low, high = _rate_limits(law, k, rows, model)

    def over_score(value: float) -> float:
        """Observed/expected for a rate; a mean score of 0 allows no event."""
        if score > 0:
            return value / score
        return math.inf if rate > 0 else math.nan

    pvalue = law.at_least(k, rows)
    pvalue_few = law.at_most(k, rows)
    limits = _limits_if_right(law, rows, model, whole=whole)
    light: Light = _exact_light(pvalue, model)
    if model.is_large:
        light = _light(amber=rate > limits.amber, red=rate > limits.red)
    power = _power_of_doubled(law, limits.amber * rows, rows, whole=whole)
    if light == "green" and power < _NOTICED:
        light = "no power"
    return Grade(
        grade=name,
        n=int(sums.n[i]),
        weight=weight,
        score=score,
        expected=float(sums.expected[i]),
        events=events,
        rate=rate,
        low=low,
        high=high,
        ratio=over_score(rate),
        ratio_low=over_score(low),
        ratio_high=over_score(high),
        limit_low=limits.low,
        limit_high=limits.high,
        amber_above=limits.amber,
        red_above=limits.red,
        pvalue=pvalue,
        pvalue_few=pvalue_few,
        pvalue_two_sided=min(1.0, 2 * min(pvalue, pvalue_few)),
        pvalue_jeffreys=float(betainc(k + 0.5, rows - k + 0.5, score)),
        adjusted_pvalue=pvalue,
        light=light,
        few=pvalue_few <= 1 - model.amber,
        power=power,
        conservative=_upper_rate(law, k, rows, model),
    )


class _LimitsIfRight(NamedTuple):
    """Limits of the rate that would be observed if the PD were right."""

    low: float
    high: float
    amber: float
    """The rate above which a grade is amber."""
    red: float


def _limits_if_right(law: OneFactor, rows: float, model: _Model, *, whole: bool) -> _LimitsIfRight:
    """The limits for this number of independent rows, or for infinitely many if the model says so.

    `whole` says that events are whole numbers.
    """

    def upper(probability: float) -> float:
        """The upper limit at this one-sided level."""
        if model.is_large:
            return law.quantile(probability)
        return law.most_events(rows, probability, whole=whole) / rows

    two_sided = (1 + model.level) / 2
    if model.is_large:
        low = law.quantile(1 - two_sided)
    else:
        low = law.fewest_events(rows, two_sided, whole=whole) / rows
    return _LimitsIfRight(low, upper(two_sided), upper(model.amber), upper(model.red))


def _empty_grade(name: str) -> Grade:
    """The line of a grade without rows."""
    values: dict[str, Any] = dict.fromkeys((field.name for field in fields(Grade)), math.nan)
    values |= {"n": 0, "weight": 0.0, "expected": 0.0, "events": 0.0}
    return Grade(**values | {"grade": name, "light": "", "few": False})


def _rate_limits(law: OneFactor, k: float, rows: float, model: _Model) -> tuple[float, float]:
    """The two-sided confidence limits of the event rate, for `k` events among `rows` rows.

    Clopper and Pearson's if rows are independent; otherwise those of the one-factor model `law`, in
    which rows depend on each other. Both numbers may be fractions.
    """
    if model.correlation == 0:
        low, high = clopper_pearson(k, rows, model.level)
        return float(low), float(high)
    tail = Level(model.level).tail
    return law.rate_limits(k, rows, tail, tail)


def _upper_rate(law: OneFactor, k: float, rows: float, model: _Model) -> float:
    """The conservative rate of a grade: a one-sided upper confidence limit of its event rate.

    `model.margin` is the confidence level; without it the result is nan. There are `k` events among
    `rows` rows, which are independent (Clopper and Pearson's limit) or follow the one-factor model
    `law`. Independent rows that are all events give 1.
    """
    if model.margin is None:
        return math.nan
    if model.correlation > 0:
        _, high = law.rate_limits(k, rows, 0.5, 1 - model.margin)
        return high
    if k >= rows:
        return 1.0
    return float(betaincinv(k + 1, rows - k, model.margin))


def _power_of_doubled(law: OneFactor, green: float, rows: float, *, whole: bool) -> float:
    """The probability that a grade is not green if every probability of `law` is doubled.

    `law` is the distribution of the number of events. Doubled probabilities are at most 1. `green`
    is the largest number of events that is green, and `rows` the number of rows. With `whole`,
    events are counts. The result is 0 if even events in all rows would be green.
    """
    doubled = OneFactor(np.minimum(2 * law.p, 1.0), law.share, law.correlation)
    # The limit is a rate: times the rows it may miss a whole number by rounding.
    fewest = math.floor(green + 1e-6) + 1 if whole else green
    if fewest > rows:
        return 0.0
    return doubled.at_least(fewest, rows)


def _exact_light(pvalue: float, model: _Model) -> Literal["green", "amber", "red"]:
    """Whether the events exceed the limits of amber and red.

    The limits are the last numbers of events whose p-value is larger.
    """
    return _light(amber=pvalue <= 1 - model.amber, red=pvalue <= 1 - model.red)


def _light(*, amber: bool, red: bool) -> Literal["green", "amber", "red"]:
    """The light of a grade, from whether it is beyond the limit of amber, and of red."""
    if red:
        return "red"
    if amber:
        return "amber"
    return "green"


def _offset(cells: Cells | None, total: Grade, level: float) -> Estimate:
    """The shift of all log-odds after which as many events are expected as were observed.

    `cells` has the sums at each distinct score; without them the offset is nan. `total` is the line
    of all grades. Limits have the confidence `level`: by the likelihood ratio if weights count
    rows, otherwise Wald's with a sandwich variance. If all labels are equal, the offset is
    infinite, and only one of its limits is finite. Scores of exactly 0 or 1, which no shift moves,
    are left out with a note.
    """
    offset = Estimate(
        measure="central-tendency offset",
        value=math.nan,
        low=math.nan,
        high=math.nan,
        level=level,
        method="",
        n=total.n,
        definition="Shift of all log-odds after which expected = observed events.",
    )
    if cells is None:
        note = "Bins do not keep every distinct score, which the offset needs."
        return replace(offset, note=note)
    limits = shift_limits(cells, level)
    shift = limits.value
    if math.isnan(shift):
        if limits.low > -math.inf:
            shift = math.inf
        elif limits.high < math.inf:
            shift = -math.inf
    certain = inside_cells(cells).certain
    return replace(
        offset,
        value=shift,
        low=limits.low,
        high=limits.high,
        method="likelihood ratio" if cells.whole else "Wald, sandwich variance",
        standard_error=limits.standard_error if math.isfinite(shift) else math.nan,
        note=f"{certain:,.6g} scores of exactly 0 or 1 are left out." if certain else "",
    )


def _notes(grades: list[Grade], sums: _GradeSums, model: _Model) -> Iterable[str]:
    """Sentences for the reader of the table.

    `grades` are the lines of the grades with rows, and `sums` those of all grades. A note says
    which grades have a smaller predicted PD than the grade before. Others are about sampling
    weights and, with correlated rows, about lights that would differ if the portfolio were not
    taken as infinitely large.
    """
    falls = [f"{b.grade} below {a.grade}" for a, b in pairwise(grades) if b.score < a.score]
    if falls:
        yield f"Predicted PDs are inverted: {', '.join(falls)}."
    if not sums.whole:
        yield f"{_SAMPLING}: limits and p-values use the effective number of rows."
    if model.correlation == 0:
        return
    yield "The limits of the offset and Jeffreys' test take rows as independent."
    differences = []
    for grade in grades:
        light = _exact_light(grade.pvalue, model)
        if light != grade.light.replace("no power", "green"):
            differences.append(f"{grade.grade} would be {light}")
    if differences:
        yield (
            "Vasicek's limits are those of infinitely many rows. With the chance within the rows "
            f'there are, {", ".join(differences)} (`portfolio="finite"`).'
        )
