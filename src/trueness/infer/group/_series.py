"""`calibration_series`: every day of a series tested, and the day on which calibration changed."""

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np

from trueness._input.arguments import Seed, checked_resamples, whole_seed
from trueness._input.segment_columns import MISSING
from trueness._keywords import suggests_keywords
from trueness._level import Level, checked_level
from trueness._numerics.holm import holm
from trueness._progress import Progress, reporter
from trueness._tally.accumulator import Accumulator
from trueness._tally.cells import Cells
from trueness._tally.events import Events
from trueness._tally.evidence import AnySums
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import tally_of
from trueness._tally.rules import BinRule, BinsLike, Edges, as_rule
from trueness._tally.sketch import Sketch
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, collected_warnings, quietly
from trueness.infer._floors import NO_FLOOR, Floor, floor_of, gap_draws
from trueness.infer.group._change_point import ChangePoint, change_point
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.limits._ece import Gaps, ece_limits_of
from trueness.infer.limits._limits import Limits
from trueness.infer.test._calibration_test import test_of
from trueness.measure import calibration_slope, ece, observed_expected
from trueness.results import Change, Interval, Series
from trueness.typing import ArrayLike, Floats, Ints

_DRAWS = 999
# Draws for a change, times classes, if the level needs many.
_CHANGE_DRAWS = 1_000_000
# Cells times draws of all tests that are repeated with more draws: some ten seconds.
_TEST_LABELS = 4e8
# The omnibus test draws near ties together, so that it has at most about this many entries.
_MOST_ENTRIES = 4096
# With more tests than this, of days and classes, labels are redrawn only where scores are few.
_MANY_TESTS = 2_000
# p-values up to this are computed again with more draws, if 1/1,000 is too large after the
# adjustment.
_SMALL = 0.02
_BINS = (
    "Sums of bins do not hold the scores: tests and noise floors take all rows of a bin at its "
    "mean score, which is cautious and misses errors that cancel inside a bin; there is no typical "
    "error."
)


@suggests_keywords
def calibration_series(
    sums: Mapping[str, AnySums | Accumulator] | ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    by: ArrayLike | None = None,
    bins: BinsLike | None = None,
    level: float = 0.95,
    resamples: int | None = None,
    seed: Seed = 0,
    progress: Progress = True,
) -> Series:
    r"""Test the calibration of every day of a series, and find the day on which it changed.

    Parameters
    ----------
    sums : dict of Tally, Sketch, Binned or Accumulator, or array-like
        The sums of each day by name, in order of time. A day without rows gives a line without
        numbers. Or the labels of rows, with `y_prob` and `by`.
    y_prob : array-like, optional
        The scores of the rows.
    by : array-like, optional
        The day of each row: dates, or text or numbers that sort in order of time.
    bins : int, sequence of edges or bin rule, optional
        Bins of the ECE; by default those of the sums, else 10 of equal width.
    level : float, default 0.95
        Level of all sets and decisions; more than 1/2.
    resamples : int, optional
        Number of sets of labels drawn for each test: by default 999, and for the change as many as
        the level needs. Small p-values of long series are computed with more.
    seed : int or numpy.random.Generator, default 0
        Seed of all draws.
    progress : bool or callable, default True
        Whether to show a progress bar on a terminal if it takes long, or a function of (done,
        total).

    Returns
    -------
    Series
        A line per day: ECE with its confidence interval and its noise floor, the typical error with
        its confidence set, the p-value of ``calibration_test(method="omnibus")`` and its
        adjustment; and the change, if there is one.

    See Also
    --------
    Watch : Evidence that stays valid however often one looks.

    Notes
    -----
    This is a test of one finished series. It holds its level for one look: repeated while the
    series grows, it raises false alarms far more often; for that use :class:`Watch`.

    Two questions are asked, each at half of 1 − level: *which days are miscalibrated?* (p-values
    adjusted by Holm's method) and *did calibration change?* Adjusted p-values are therefore twice
    those of one question alone, and the chance that a calibrated series shows any flag or change is
    at most 1 − level.

    A change means that the event rate given the score differs between days; a model that is
    miscalibrated in the same way on all days has flags but no change, and scores may drift. The
    level and the slope of the residuals of every run of days are compared with those of redrawn
    labels. A run that goes on to the last day is a lasting change. With more than 200 days only
    lasting changes and single days are tried. One change is named, the clearest.

    Sums per class (kinds 'classwise' and 'top-label') are tested class by class, with p-values
    multiplied by the number of classes; with more than 2,000 tests in all, each is the
    Kolmogorov–Smirnov test.

    Examples
    --------
    >>> import trueness as tn
    >>> from trueness import simulate
    >>> def day(i):
    ...     data = simulate.demo(500, seed=i)
    ...     return tn.tally(data.y_true if i < 6 else 1 - data.y_true, data.y_prob)
    >>> found = tn.calibration_series({f"day {i}": day(i) for i in range(10)}, seed=0)
    >>> found.change.first, found.change.lasting
    ('day 6', True)
    """
    level = checked_level(level)
    draws = _DRAWS if resamples is None else checked_resamples(resamples)
    days = _days(sums if y_prob is None and by is None else _by_day(sums, y_prob, by))
    filled = {name: day for name, day in days.items() if day is not None}
    if not filled:
        got = "all days are empty" if days else "the dict is empty"
        raise InputError("sums", "must have rows on some day", got)
    total = _add(filled)
    if bins is None:
        bins = Edges(total.parts[0].edges) if isinstance(total, Binned) else 10
    rule = as_rule(bins)
    seed = whole_seed(seed)
    report = reporter(progress)
    several = len(filled) > 1
    tests = _Tests({name: _at_means(day) for name, day in filled.items()}, draws, seed)
    lines = []
    for i, (name, day) in enumerate(days.items()):
        lines.append(_Line() if day is None else _line(day, tests, name, rule, level))
        report(i + 1, len(days) + 1)
    columns = dict(zip(_Line._fields, map(np.array, zip(*lines, strict=True)), strict=True))
    filled_days = columns["n"] > 0
    pvalues = columns["pvalue"]
    questions = 2 if several else 1
    alpha = Level(level).alpha
    pvalues[filled_days] = tests.refined(pvalues[filled_days], alpha / questions)
    adjusted = np.full(len(lines), math.nan)
    adjusted[filled_days] = np.minimum(1.0, questions * holm(pvalues[filled_days]))
    # The p-value of a change is at least 2 × classes / (draws + 1).
    classes = len(total.parts)
    needed = math.ceil(round(2 * classes / alpha, 6))
    if resamples is None:
        tests.draws = max(draws, min(needed, _CHANGE_DRAWS // classes))
    change: Change | None = None
    change_pvalue: float | None = None
    if several:
        change, change_pvalue = _change(filled, np.flatnonzero(filled_days), tests, rule, level)
    report(len(days) + 1, len(days) + 1)
    notes = _notes(tests, needed=needed if several else 0, are_binned=isinstance(total, Binned))
    return Series(
        name=tuple(days),
        **columns,
        adjusted_pvalue=adjusted,
        flagged=np.nan_to_num(adjusted, nan=1.0) <= alpha,
        change=change,
        change_pvalue=change_pvalue,
        level=level,
        notes=notes,
    )


def _notes(tests: "_Tests", *, needed: int, are_binned: bool) -> tuple[str, ...]:
    """What the tests could not show or took for granted.

    `needed` is the number of draws with which a change can be shown; 0 for a single day.
    """
    notes = []
    if tests.draws + 1 < needed:
        notes.append(
            f"{tests.draws:,} resamples cannot show a change at this level: it takes "
            f"`resamples={needed}`."
        )
    if are_binned:
        notes.append(_BINS)
    if not tests.counted:
        notes.append("Weights do not count rows: there is no noise floor.")
    if tests.asymptotic:
        notes.append(
            f"There are {tests.number:,} tests of days and classes: p-values are those of the KS "
            "test."
        )
    return tuple(notes)


def _at_means(sums: AnySums) -> Tally:
    """The sums of one day with all rows of a cell or bin at its mean score."""
    return Tally(sums.kind, tuple(part.at_means() for part in sums.parts), sums.classes)


def _by_day(y_true: ArrayLike, y_prob: ArrayLike | None, by: ArrayLike | None) -> dict[str, Tally]:
    """The sums of the rows of each day, by the name of the day.

    `by` is one column with the day of each row. Days whose names are all numbers are in the order
    of these; others are in the order of the column's values. Refused are labels without scores, a
    second column, rows without a day, and numbers with many fractions.
    """
    if y_prob is None and not isinstance(y_true, Events):
        raise InputError("y_prob", "must be given beside labels", "got None")
    if by is None:
        raise InputError("by", "must be given beside labels", "got None")
    evidence = read_rows(y_true, y_prob, {}, kind="confidence")
    evidence.require_one("a series")
    (column, *more) = evidence.columns(by, y_true, whole="names")
    got = ""
    if more:
        got = "it has several columns"
    elif column.note:
        got = "it has many fractions"
    elif MISSING in column.values:
        got = "some are missing"
    if got:
        raise InputError("by", "must be one column with the day of each row", got)
    evidence.warn_about_rows()
    order: Iterable[int] = range(len(column.values))
    with suppress(ValueError):
        order = np.argsort([float(name) for name in column.values], kind="stable")
    days = {}
    for i in order:
        rows_of_day = evidence.sample.at(column.code == i, None)
        days[column.values[i]] = tally_of(rows_of_day, "confidence", piece=True)
    return days


def _days(sums: object) -> dict[str, AnySums | None]:
    """The sums of each day, from a dict of sums by name; None for a day without rows."""
    if not isinstance(sums, Mapping):
        raise InputError("sums", "must be a dict of names and sums", f"got {type(sums).__name__}")
    days: dict[str, AnySums | None] = {}
    for name, sums_of_day in sums.items():
        if isinstance(name, tuple):
            remedy = "Make a series for each model, or join the parts to one name."
            raise InputError(
                "sums", "must have one name for each day", f"got the tuple {name!r}", remedy=remedy
            )
        days[str(name)] = _sums_of_day(str(name), sums_of_day)
    return days


def _sums_of_day(name: str, sums: object) -> AnySums | None:
    """The sums of one day, or None if it has no rows.

    `name` is the name of the day, for messages. An Accumulator gives the sums of all its rows.
    Refused are other types and sums that keep clusters, since the tests take rows as independent.
    """
    if not isinstance(sums, Tally | Sketch | Binned | Accumulator):
        remedy = "`tn.tally(y_true, y_prob)` makes sums of rows."
        demand = "must hold a Tally, Sketch, Binned or Accumulator for each day"
        raise InputError(
            "sums", demand, f"{name!r} is of type {type(sums).__name__}", remedy=remedy
        )
    if isinstance(sums, Accumulator):
        if not sums.n:
            return None
        sums = sums.total
    if sums.buckets is not None:
        got = (
            f"{name!r} has buckets of clusters, whose dependence the tests of days do not allow for"
        )
        remedy = "`tn.Watch` takes such sums."
        raise InputError("sums", "must be of independent rows", got, remedy=remedy)
    return sums if sums.n else None


def _add(sums: Mapping[str, AnySums]) -> AnySums:
    """The sums of all days together.

    `sums` has the sums of each day by its name. They are added by pairs: one after another would
    take time that grows with the square of the number of days. If days are of different types, or
    their sums do not add, the error names two of the days.
    """
    parts = list(sums.items())
    while len(parts) > 1:
        pairs = list(zip(parts[::2], parts[1::2], strict=False))
        unpaired = parts[len(parts) // 2 * 2 :]
        parts = []
        for (first, total), (name, other) in pairs:
            if type(other) is not type(total):
                got = f"{first!r} is a {type(total).__name__} and {name!r} a {type(other).__name__}"
                raise InputError("sums", "must be of one type", got)
            try:
                parts.append((first, total + other))
            except InputError as reason:
                raise reason.within(f"{name!r} does not add to {first!r}") from reason
        parts += unpaired
    return parts[0][1]


class _Line(NamedTuple):
    """The numbers of one day; by default those of a day without rows."""

    n: int = 0
    score: float = math.nan
    rate: float = math.nan
    ece: float = math.nan
    ece_low: float = math.nan
    ece_high: float = math.nan
    floor: float = math.nan
    floor_high: float = math.nan
    error: float = math.nan
    error_low: float = math.nan
    error_high: float = math.nan
    includes_zero: bool = False
    pvalue: float = math.nan


def _line(sums: AnySums, tests: "_Tests", name: str, rule: BinRule, level: float) -> _Line:
    """The numbers of one day that has rows.

    `name` is the day, `sums` are its sums, `tests` has the tests of all days, `rule` the bins of
    the ECE, and `level` is the confidence level of floor and l2 error. The ECE has limits at the
    level (1 + level)/2; they are nan where they are not defined, as for one row or several classes.
    With several classes, score and rate are means over all classes, and there is no l2 error; nor
    is there one from bins.
    """
    tally = tests.tallies[name]
    weight = sum(float(part.weight.sum()) for part in tally.parts)
    score = sum(float(part.weight @ part.score) for part in tally.parts)
    events = sum(float(part.events.sum()) for part in tally.parts)
    limits = Limits()
    with collected_warnings():  # small days are expected in a series
        value = float(ece(sums, bins=rule))
        floor = _floor(tally, rule, level, tests.seed)
        with suppress(InputError):
            evidence = Sums.read(sums, two_columns="keep")
            limits = ece_limits_of(evidence, bins=rule, level=(1 + level) / 2, seed=tests.seed)
        error = None if isinstance(sums, Binned) else _error_interval(tally, level, tests.seed)
    line = _Line(
        n=sums.n,
        score=score / weight,
        rate=events / weight,
        ece=value,
        ece_low=limits.low,
        ece_high=limits.high,
        floor=floor.mean,
        floor_high=floor.high,
        pvalue=tests.pvalue(tally, tests.draws),
    )
    if error is None:
        return line
    return line._replace(
        error=error.estimate,
        error_low=error.low,
        error_high=error.high,
        includes_zero=error.includes_zero,
    )


def _error_interval(tally: Tally, level: float, seed: int) -> Interval | None:
    """The confidence interval for the l2 error of one day: how far scores are typically off.

    None with several classes, and where the interval refuses these sums: with too few rows, for
    example.
    """
    if len(tally.parts) != 1:
        return None
    with suppress(InputError):
        return interval_of(Sums.read(tally), level=level, seed=seed)
    return None


def _floor(tally: Tally, rule: BinRule, level: float, seed: int) -> Floor:
    """The noise floor of the ECE: its mean and upper quantile if the scores were right.

    `rule` makes the bins, and `level` is the probability below the upper value. With several
    classes it is the mean of the floors of the classes, which is cautious for the quantile: how
    classes depend on each other is not known from sums. nan if weights do not count rows.
    """
    if not all(cells.whole for cells in tally.parts):
        return NO_FLOOR
    problems = [tally]
    if tally.kind == "classwise":
        problems = [Tally("binary", (cells,)) for cells in _filled(tally)]
    gaps = Gaps(rule, 1.0, 1)
    floors = []
    for problem in problems:
        draws = gap_draws(Sums.read(problem), gaps, seed)
        floors.append(floor_of(draws, level))
    return Floor(
        mean=float(np.mean([floor.mean for floor in floors])),
        high=float(np.mean([floor.high for floor in floors])),
    )


class _Tests:
    """The tests of all days: one for each class of each day."""

    def __init__(self, tallies: dict[str, Tally], draws: int, seed: int) -> None:
        self.tallies = tallies
        self.draws = draws
        self.seed = seed
        self.number = sum(len(_filled(tally)) for tally in tallies.values())
        self.counted = all(cells.whole for tally in tallies.values() for cells in tally.parts)
        """Whether weights count rows."""
        self.asymptotic = self.number > _MANY_TESTS
        """Whether tests are those of Kolmogorov and Smirnov."""

    def pvalue(self, tally: Tally, draws: int) -> float:
        """The p-value of one day: the smallest of its classes, times their number (Bonferroni).

        `tally` has the sums of the day, and must have rows. Each class has a test from `draws` sets
        of redrawn labels. Beyond a number of tests, it is the test of Kolmogorov and Smirnov's
        type, from a limit law. The result is at most 1.
        """
        if self.asymptotic:
            test = partial(test_of, seed=self.seed, method="ks")
        else:
            test = partial(test_of, seed=self.seed, resamples=draws)
        pvalues = []
        for cells in _filled(tally):
            problem = Sums.read(Tally("binary", (cells,)))
            pvalues.append(quietly(test, problem).pvalue)
        return float(min(1.0, len(pvalues) * min(pvalues)))

    def refined(self, pvalues: Floats, alpha: float) -> Floats:
        """The p-values of the days, of which the small ones are computed again with more draws.

        With R draws no p-value is below 1/(R + 1), which may be too much after adjustment for the
        number of tests. R is chosen so that the smallest adjusted p-value can be below `alpha`. All
        stay as they are if there are enough draws already, or if tests use a limit law. The p-value
        of a day stays, too, if its draws would exceed what is left of the budget of work.
        """
        draws = math.ceil(2 * self.number / alpha)
        if draws <= self.draws + 1 or self.asymptotic:
            return pvalues
        refined = pvalues.copy()
        budget = _TEST_LABELS
        for i, tally in enumerate(self.tallies.values()):
            cost = draws * sum(min(part.size, _MOST_ENTRIES) for part in tally.parts)
            if 1 / (self.draws + 1) <= pvalues[i] <= _SMALL and cost <= budget:
                budget -= cost
                refined[i] = self.pvalue(tally, draws - 1)
        return refined


def _filled(tally: Tally) -> list[Cells]:
    """The parts that have rows."""
    return [part for part in tally.parts if part.size]


def _change(
    days: Mapping[str, AnySums], place: Ints, tests: _Tests, rule: BinRule, level: float
) -> tuple[Change | None, float]:
    """The run of days that differs from the others, with its p-value; None if not significant.

    `days` are the sums of the days that have rows, and `place` their places in the series, in which
    empty days count. Each class is tested. The smallest p-value is multiplied by the number of
    classes and by 2, as days are tested one by one, too. The result has ECE, slope and
    observed/expected inside and outside the run, for the class with the smallest p-value. If no
    class has rows on two days, the p-value is 1.
    """
    runs = _runs_by_class(tests)
    if not runs:
        return None, 1.0
    k = min(runs, key=lambda k: runs[k].pvalue)
    pvalue = min(1.0, 2 * len(runs) * runs[k].pvalue)
    if pvalue > Level(level).alpha:
        return None, pvalue
    start = runs[k].start
    stop = runs[k].stop
    # Parts of their own kind, which mypy cannot know.
    parts = []
    for sums in days.values():
        parts.append(type(sums)("binary", (sums.parts[k],)))  # type: ignore[arg-type]
    inside = sum(parts[start:stop])
    outside = sum(parts[:start] + parts[stop:])
    ece_in_bins = partial(ece, bins=rule)
    names = list(days)
    first_tally = next(iter(tests.tallies.values()))
    classes = first_tally.classes if len(first_tally.parts) > 1 else None
    change = Change(
        first=names[start],
        last=names[stop - 1],
        start=int(place[start]),
        lasting=stop == len(names),
        days=int(place[stop - 1] - place[start]) + 1,
        pvalue=pvalue,
        ece=_measure(ece_in_bins, inside),
        ece_others=_measure(ece_in_bins, outside),
        slope=_measure(calibration_slope, inside),
        slope_others=_measure(calibration_slope, outside),
        observed_expected=_measure(observed_expected, inside),
        observed_expected_others=_measure(observed_expected, outside),
        label="" if classes is None else str(classes[k]),
    )
    return change, pvalue


def _runs_by_class(tests: _Tests) -> dict[int, ChangePoint]:
    """The run of days that differs most from the others, for each class, by its number.

    Days are numbered among those with rows of any class; `stop` is one more than the last day of
    the run. A class with rows on fewer than two days is left out.
    """
    tallies = list(tests.tallies.values())
    runs = {}
    for k in range(len(tallies[0].parts)):
        with_rows = [i for i, tally in enumerate(tallies) if tally.parts[k].size]
        if len(with_rows) > 1:
            run = change_point([tallies[i].parts[k] for i in with_rows], tests.draws, tests.seed)
            last = with_rows[run.stop - 1]
            runs[k] = run._replace(start=with_rows[run.start], stop=last + 1)
    return runs


def _measure(measure: Callable[..., float], sums: object) -> float:
    """The measure of these sums, or nan if they do not give it."""
    with suppress(InputError):
        return float(quietly(measure, sums))
    return math.nan
