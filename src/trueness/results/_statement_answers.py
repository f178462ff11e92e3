"""The answers of the first screen about intervals and quantiles."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._text.numbers import level_percent, number, percent, short_number
from trueness._text.strings import capitalized, uncapitalized
from trueness.results._coverage import Coverage
from trueness.results._first_screen import Answer
from trueness.results._statements import FlaggedGroup, Statement, flagged_in_words, how_far_in_words


def answers_on_statement(
    statement: Statement | None, flags: Sequence[FlaggedGroup], usual: Mapping[str, Answer]
) -> dict[str, Answer]:
    """How often outcomes are where they were stated to be.

    Empty for anything but intervals and quantiles. `flags` are the segments that a verdict flagged;
    the numbers of the usual answers are kept.
    """
    if statement is None or statement.coverage is None:
        return {}
    covered = statement.coverage
    of_segments = [flagged for flagged in flags if flagged.kind == "segment"]
    if statement.kind == "interval":
        answers = {
            "how_far": _how_far_of_interval(how_far_in_words(statement), covered),
            "where": _where_of_interval(of_segments, covered),
            "cost": _cost_of_interval(covered),
        }
    else:
        answers = {
            "how_far": _how_far_of_quantiles(how_far_in_words(statement), covered),
            "where": _where_of_quantiles(of_segments, covered),
            "cost": Answer("What does it cost?", "Not measured here", "", {}),
        }
    segment = next((flags for flags in of_segments if flags.own != 0), None)
    if segment is not None and not statement.errors and segment.size():
        answers["how_far"] = _how_far_of_segment(segment, answers["how_far"])
    return {
        name: replace(answer, numbers={**usual[name].numbers, **answer.numbers})
        for name, answer in answers.items()
    }


def _how_far_of_segment(segment: FlaggedGroup, all_rows: Answer) -> Answer:
    """The gap of the worst segment, where only segments are off, then that of all rows."""
    detail = f"Over all rows: {uncapitalized(all_rows.phrase)}. {all_rows.detail}".rstrip()
    return replace(all_rows, phrase=capitalized(segment.size()), detail=detail)


def _how_far_of_interval(phrase: str, covered: Coverage) -> Answer:
    """How far off prediction intervals are: the share of outcomes inside beside the stated one."""
    detail = f"{level_percent(covered.level)} confidence in brackets ({covered.method})."
    if covered.factor:
        off = covered.factor.removeprefix(", by a ")
        detail = f"A {off} on the width, if outcomes are about normal. {detail}"
    return Answer("How far off?", phrase, detail, {"coverage": covered.to_dict()})


def _where_of_interval(segments: Sequence[FlaggedGroup], covered: Coverage) -> Answer:
    """The segment whose coverage is worst, and on which side outcomes lie outside.

    Without a flagged segment, the sides alone.
    """
    sides = ""
    if covered.below is not None and covered.above is not None:
        sides = f"{percent(covered.below)} of outcomes lie below, {percent(covered.above)} above."
    if not segments:
        return Answer("Where?", "No segment stands out", sides, {})
    phrase = f"In {segments[0].worst_in_words}"
    if segments[0].own == 0:
        phrase = "In all segments alike"
    return Answer("Where?", phrase, f"{flagged_in_words(segments[0])}. {sides}".strip(), {})


def _cost_of_interval(covered: Coverage) -> Answer:
    """What the intervals cost: their score and width, where all rows have both."""
    if covered.interval_score is None or covered.mean_width is None:
        return Answer("What does it cost?", "Not known for some of the rows", "", {})
    score = short_number(covered.interval_score)
    phrase = f"Interval score {score}, mean width {short_number(covered.mean_width)}"
    detail = (
        "The score is the width plus a penalty for outcomes outside; compare it between models."
    )
    return Answer("What does it cost?", phrase, detail, {})


def _how_far_of_quantiles(phrase: str, covered: Coverage) -> Answer:
    """How far off quantiles are: the largest gap of a share, and the spread of the outcomes."""
    detail = ""
    if np.isfinite(covered.spread):
        detail = f"Outcomes spread {number(covered.spread, 2)} times as far as stated"
        if np.isfinite(covered.spread_low):
            low, high = number(covered.spread_low, 2), number(covered.spread_high, 2)
            detail += f" ({low} to {high})"
        detail += f", if they are about normal; {level_percent(covered.level)} confidence."
    numbers: dict[str, Any] = {"coverage": covered.to_dict()}
    return Answer("How far off?", phrase, detail, numbers)


def _where_of_quantiles(segments: Sequence[FlaggedGroup], covered: Coverage) -> Answer:
    """The segment with an error of its own, or the levels that are farthest off."""
    of_its_own = [segment for segment in segments if segment.own != 0]
    if of_its_own:
        detail = f"{flagged_in_words(of_its_own[0])}. {covered.farthest}".strip()
        return Answer("Where?", f"In {of_its_own[0].worst_in_words}", detail, {})
    if not covered.farthest:
        return Answer("Where?", "No level stands out", "", {})
    return Answer("Where?", "At some levels", covered.farthest, {})
