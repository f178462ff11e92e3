"""Makers of the answers about all rows, from the test to the verdict and the gate."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TypedDict, Unpack

from trueness._assess.asked import (
    ADVICE,
    CLASS_ROWS,
    CLASSES,
    INTERVAL,
    POWER,
    PRIOR_SHIFT,
    SEGMENTS,
    SLICES,
    TEST,
    VERDICT,
    Asked,
)
from trueness._assess.decisive import decisive_row
from trueness._assess.judgement import NEEDED, is_rejected, joint_verdict, judge, power_of
from trueness._assess.notes import Notes
from trueness._assess.picture import first_picture
from trueness._assess.rows import two_columns_for
from trueness._assess.statement import decisive_test, with_statement
from trueness._assess.where import Grounds, where
from trueness._level import Level
from trueness._numerics.pairs import Support
from trueness._tally.rules import BinsLike
from trueness.errors import quietly
from trueness.infer.decision._gate import Bound, Names, gate_of
from trueness.infer.group._prior_shift import shift_of_limits
from trueness.infer.interval._ece_interval import Method, interval_of
from trueness.infer.test._calibration_test import TestMethod, test_of
from trueness.infer.test._pair_tests import required_draws
from trueness.measure import bin_table
from trueness.measure._slope import inside_cells
from trueness.results import BinTable, Gate, Interval, PriorShift, Significance, Verdict
from trueness.results._first_screen import Answer
from trueness.results._verdict import DetectionPower

# Draws for a p-value whose decision fewer leave open, and the most labels that are drawn for it.
_SETTLING = (4_999, 19_999)
_MOST_LABELS = 2 * 10**8


class TestOptions(TypedDict, total=False):
    """The options of :func:`trueness.calibration_test`."""

    method: TestMethod
    bins: BinsLike | None
    k: int | None
    resamples: int | None
    fitted: bool


class IntervalOptions(TypedDict, total=False):
    """The options of :func:`trueness.ece_interval`."""

    k: int | None
    bins: BinsLike | None
    method: Method
    squared: bool
    smoothness: float | None
    resamples: int | None
    support: Support


def test(a: Asked, **options: Unpack[TestOptions]) -> Significance:
    """A test of calibration, at the level of the assessment; `options` are its method and others.

    Unless the number of draws is given, the omnibus test takes as many as the level needs. As long
    as the Monte-Carlo error of its p-value leaves the decision open, it is repeated with more, up
    to a limit; that is only done for independent rows of one score.
    """
    evidence = a.view("confidence", two_columns_for(options.get("k")))
    is_default = options.get("resamples") is None
    is_omnibus = options.get("method", "omnibus") in ("omnibus", "quantiles")
    if is_default and is_omnibus and evidence.has_one_score:
        # As for the confidence set, so that both have one p-value.
        options["resamples"] = a.draws or required_draws(Level(a.level).alpha)
    is_plain = evidence.has_one_score and evidence.is_plain
    may_settle = is_default and is_plain and a.draws is None
    result = replace(test_of(evidence, seed=a.seed, **options), level=a.level)
    for draws in _SETTLING if may_settle and evidence.tally is not None else ():
        if not result.is_open or draws * evidence.cells.size > _MOST_LABELS:
            break
        if draws <= 1 / result.smallest_pvalue:
            continue
        options["resamples"] = draws
        result = replace(test_of(evidence, seed=a.seed, **options), level=a.level)
    return result


def _settled_draws(a: Asked, options: IntervalOptions) -> int | None:
    """The number of draws with which the confidence set decides about zero, or None for its own.

    It is the number that the test took, so that both have one p-value. If the assessment fixes a
    number, or the set has a method, bins or classes of its own, it is the fixed number, which may
    be None. It is None too for dependent rows, and where no test was made.
    """
    evidence = a.view("confidence")
    has_own_cells = any(options.get(name) is not None for name in ("k", "bins", "smoothness"))
    if a.draws is not None or has_own_cells or options.get("method", "score") != "score":
        return a.draws
    if not (evidence.has_one_score and evidence.is_plain):
        return None
    decided = quietly(a.possible, TEST)
    if decided is None or not decided.smallest_pvalue:
        return None
    return round(1 / decided.smallest_pvalue) - 1


def interval(a: Asked, **options: Unpack[IntervalOptions]) -> Interval:
    """A confidence set of the l2 error."""
    evidence = a.view("confidence", two_columns_for(options.get("k")))
    draws = _settled_draws(a, options)
    return interval_of(evidence, level=a.level, seed=a.seed, draws=draws, **options)


def power(a: Asked) -> DetectionPower | None:
    """What these rows would have shown; None for several problems and for sums of bins."""
    evidence = a.view("confidence")
    if not evidence.has_one_score or evidence.tally is None:
        return None
    return power_of(evidence, Level(a.level).alpha, a.seed)


def prior_shift(a: Asked) -> PriorShift | None:
    """The factor by which the odds of all scores are off, with its limits.

    None for a top label, for several problems and for sums of bins.
    """
    evidence = a.view("confidence")
    if not evidence.is_binary or evidence.tally is None:
        return None
    intercept = a.estimate("intercept")
    slope = a.estimate("slope")
    shift = shift_of_limits(intercept, slope, inside_cells(evidence.cells), a.level)
    return replace(shift, note=evidence.note)


def verdict(a: Asked) -> Verdict:
    """Whether the scores are calibrated, decided from the other answers."""
    evidence = a.view("confidence")
    if not evidence.has_one_score:
        return _joint_verdict(a)
    found_test = quietly(lambda: a.possible(TEST, **decisive_test(evidence)))
    found_interval = quietly(a.possible, INTERVAL)
    rejected = is_rejected(found_test, found_interval, a.level)
    keys = [*NEEDED, "ece"]
    if rejected and evidence.is_binary and evidence.tally is not None:
        keys.append("auc")
    shown = found_test is not None and rejected
    estimates = {key: quietly(a.estimate, key, "confidence") for key in keys}
    judged = judge(
        evidence,
        found_test,
        found_interval,
        estimates,
        level=a.level,
        power=None if shown else quietly(a.possible, POWER),
        prior_shift=quietly(a.ask, PRIOR_SHIFT),
        segments=quietly(a.ask, SEGMENTS),
        classes=quietly(a.ask, CLASS_ROWS),
    )
    judged = replace(judged, cluster_name=a.rows.labels.cluster, decisive=decisive_row(a, judged))
    return with_statement(a, judged)


def _joint_verdict(a: Asked) -> Verdict:
    """Whether all labels, or classes, are calibrated."""
    verdicts = {name: quietly(problem.ask, VERDICT) for name, problem in a.ask(CLASSES).items()}
    joint = quietly(a.possible, TEST)
    return joint_verdict(a.view("confidence"), verdicts, joint, level=a.level)


def bins(a: Asked) -> BinTable:
    """The bins of the assessment."""
    return bin_table(a.view("confidence").sums, bins=a.rule, level=a.level)


def place(a: Asked) -> Answer | None:
    """Where the scores are off: the strongest of ranges, segments, slices and classes.

    None for several problems.
    """
    evidence = a.view("confidence")
    if not evidence.has_one_score:
        return None
    picture, _ = first_picture(evidence, a.rule or evidence.default_rule, a.level, Notes())
    return where(
        Grounds(
            verdict=quietly(a.ask, VERDICT),
            picture=picture,
            segments=quietly(a.possible, SEGMENTS),
            slices=quietly(a.possible, SLICES),
            classes=quietly(a.ask, CLASS_ROWS),
            brier=quietly(a.estimate, "brier").value,
            advice=quietly(a.ask, ADVICE),
        )
    )


def gate(a: Asked, bounds: Sequence[Bound], require: bool = False) -> Gate:
    """Whether errors keep their bounds."""
    return gate_of(
        {("", ""): a.view("confidence")},
        bounds,
        require=require,
        level=a.level,
        seed=a.seed,
        about=_no_name,
    )


def _no_name(_names: Names) -> AbstractContextManager[None]:
    return nullcontext()
