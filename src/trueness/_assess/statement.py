"""The verdict on intervals and quantiles, and what is wrong with them."""

from dataclasses import replace
from typing import Any, TypeVar

from trueness._assess.asked import COVERAGE, Asked
from trueness._tally.events import are_ranges
from trueness._tally.evidence import Evidence
from trueness.errors import InputError, quietly
from trueness.infer.limits._coverage import coverage_of, level_histogram_of
from trueness.infer.test._quantiles import gaps_of
from trueness.results import Advice, Coverage, Estimate, LevelHistogram, Segments, Slices, Verdict
from trueness.results._statements import KINDS, Statement, adjust_in_words

Parts = TypeVar("Parts", Segments, Slices)
ASYMMETRIC = ("observed_expected", "intercept")
"""Measures that depend on which of a pair is called the first."""


def coverage(a: Asked) -> Coverage | None:
    """The coverage of intervals or quantiles; None for anything else."""
    return coverage_of(a.view("confidence"), a.level)


def level_histogram(a: Asked) -> LevelHistogram | None:
    """The histogram of the levels of outcomes among their quantiles; None for anything else."""
    evidence = a.view("confidence")
    if evidence.events is None or evidence.events.kind != "quantiles":
        return None
    return level_histogram_of(evidence, a.level)


def has_one_statement(evidence: Evidence) -> bool:
    """Whether all rows are intervals of one coverage, or quantiles of the same levels."""
    events = evidence.events
    return events is not None and are_ranges(events) and events.levels is not None


def decisive_test(evidence: Evidence) -> dict[str, Any]:
    """The options of the test that decides: for quantiles of independent rows, the joint one."""
    if gaps_of(evidence) is None:
        return {}
    return {"method": "quantiles"}


def with_statement(a: Asked, verdict: Verdict) -> Verdict:
    """The verdict with what was stated, if that is not the probability of a label."""
    events = a.view("confidence").events
    if events is None:
        return verdict
    covered = quietly(a.ask, COVERAGE)
    statement = Statement(
        kind=events.kind,
        words=events.words,
        n_input=events.n_input,
        left_out=events.left_out,
        largest_weight=events.largest_weight,
        coverage=covered,
    )
    n = verdict.n if covered is None else covered.n
    if covered is not None and verdict.rejected:
        errors = _errors_of_interval if events.kind == "interval" else _errors_of_quantiles
        statement = replace(statement, errors=errors(verdict, covered))
    return replace(verdict, statement=statement, n=n)


def _errors_of_interval(verdict: Verdict, covered: Coverage) -> tuple[str, ...]:
    if verdict.rate == verdict.mean_score:
        return ()
    narrow = verdict.rate < verdict.mean_score
    return (f"{'too narrow' if narrow else 'too wide'}{covered.factor}",)


def _errors_of_quantiles(verdict: Verdict, covered: Coverage) -> tuple[str, ...]:
    """Spread and location, each where its limits show an error."""
    errors = []
    spread_is_off = _excludes(1, covered.spread_low, covered.spread_high)
    shift_is_off = _excludes(0, covered.shift_low, covered.shift_high)
    if verdict.test is None or verdict.test.method != "quantiles":  # clusters of several rows
        spread_is_off = _is_shown(verdict.slope)
        shift_is_off = _is_shown(verdict.observed_expected)
    if shift_is_off:
        errors.append("too low" if covered.shift > 0 else "too high")
    if spread_is_off:  # last, since its factor ends the sentence
        errors.append(f"{'too narrow' if covered.spread > 1 else 'too wide'}{covered.factor}")
    return tuple(errors)


def _excludes(ideal: float, low: float, high: float) -> bool:
    return low > ideal or high < ideal


def _is_shown(estimate: Estimate | None) -> bool:
    """Whether the limits of a ratio show an error."""
    return estimate is not None and _excludes(1, estimate.low, estimate.high)


def in_own_words(evidence: Evidence, parts: Parts) -> Parts:
    """Segments or slices with findings in the words of the kind of event."""
    if evidence.events is None:
        return parts
    kind = KINDS[evidence.events.kind]
    return replace(parts, finding=tuple(kind.finding(finding) for finding in parts.finding))


def refuse_asymmetric(evidence: Evidence, key: str) -> None:
    """Raise for a measure that depends on which of a pair is called the first."""
    if evidence.events is None or evidence.events.kind != "pairs" or key not in ASYMMETRIC:
        return
    demand = f"must not be {key!r} for pairs"
    got = "it depends on which one of a pair is called the first, which is arbitrary"
    remedy = "The ECE, the slope and the Brier score of the favoured ones do not."
    raise InputError("measure", demand, got, remedy=remedy)


def advice_on_statement(verdict: Verdict) -> Advice | None:
    """What to do about intervals or quantiles; None where the usual advice fits."""
    statement = verdict.statement
    if statement is None or not statement.is_banded:
        return None
    if verdict.code == "too-good":
        reason = "These rows cannot show how good they are."
        return Advice("new-rows", f"Evaluate the {statement.words} on new rows", reason)
    if verdict.code == "no-evidence":
        return Advice("leave", "Nothing", f"Leave the {statement.words} as they are.")
    if verdict.code in ("miscalibrated", "nearly-calibrated"):
        phrase, reason = adjust_in_words(statement, verdict)
        return Advice("adjust", phrase, reason)
    return Advice(
        "collect", "Collect more rows", f"Until then, leave the {statement.words} as they are."
    )
