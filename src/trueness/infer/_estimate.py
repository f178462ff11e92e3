"""Any measure with its uncertainty: one verb for all."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from trueness._input.arguments import check_flag
from trueness._level import checked_level, level_percent
from trueness._tally.evidence import Evidence
from trueness.errors import InputError
from trueness.infer._floors import NO_FLOOR, Floor, floor_draws, floor_of, is_mean_only
from trueness.infer._questions import Question, question_of
from trueness.infer.limits._limits import Asked, Limits, limits_or_note
from trueness.results import Estimate
from trueness.results._inference import INDEPENDENT_FLOOR
from trueness.typing import Floats

_BY_ROW = ("brier", "miscalibration", "discrimination", "uncertainty", "scaled_brier", "log_loss")
"""Scores of a row of several classes, not means over classes."""
DrawsOf: TypeAlias = Callable[[Mapping[str, Question], Evidence, int], dict[str, Floats]]
"""The values of measures for redrawn labels, as `floor_draws`."""
_AVERAGED = ("value", "low", "high", "floor", "floor_high")


def mean_over_labels(
    question: Question, evidence: Evidence, level: float, seed: int, *, floor: bool
) -> Estimate:
    """The mean of a measure over the labels or classes, each a binary problem.

    The limits are the means of those of each label, whose level is so high that all hold together.
    The mean has none if a label has none.
    """
    problems = dict(evidence.each_class())
    count = len(problems)
    class_level = 1 - (1 - level) / count
    estimates = [
        answers({"": question}, problem, class_level, seed, floor=floor)[""]
        for problem in problems.values()
    ]
    first = estimates[0]
    classes = "labels" if evidence.has_labels else "classes"
    note = f"Limits hold for all {count} {classes} together, however these depend on each other."
    method = f"mean of {count} limits at {level_percent(class_level)}: {first.method}"
    lacking = [estimate.note for estimate in estimates if not estimate.bounded]
    if lacking and lacking[0]:
        note = lacking[0]
        method = ""
    rows = [[getattr(estimate, name) for name in _AVERAGED] for estimate in estimates]
    value, low, high, floor_mean, floor_high = np.mean(rows, axis=0).tolist()
    return replace(
        first,
        value=value,
        low=low,
        high=high,
        floor=floor_mean,
        floor_high=floor_high,
        n=evidence.n,
        kind=evidence.view,
        level=level,
        method=method,
        note=" ".join(filter(None, [note, evidence.note])),
        each=dict(zip(map(str, problems), estimates, strict=True)),
        standard_error=math.nan,
        where="",
        low_open=False,
    )


def is_by_row(question: Question) -> bool:
    """Whether a measure scores a row of several classes, and is no mean over classes."""
    return question.measure.key in _BY_ROW


def unknown_estimate(question: Question, evidence: Evidence, level: float, note: str) -> Estimate:
    """The estimate of a measure that these rows do not determine.

    Value and limits are nan, and `note` says why.
    """
    measure = question.measure
    return Estimate(
        measure=measure.name,
        value=math.nan,
        low=math.nan,
        high=math.nan,
        level=level,
        method="",
        n=evidence.n,
        definition=measure.definition,
        note=note,
        kind=evidence.view,
        bins=question.bins,
        ideal=measure.ideal,
    )


def value_of(measure: str | Callable[..., float], evidence: Evidence) -> float:
    """The value alone of one measure of rows or sums that have been read."""
    return question_of(measure, {}).value(evidence)


def estimates_of(
    names: Iterable[str] | Mapping[str, str | Callable[..., float]],
    evidence: Evidence,
    *,
    level: float = 0.95,
    floor: bool = True,
    limits: bool = True,
    seed: int,
    **options: object,
) -> dict[str, Estimate]:
    """Several measures, perhaps by keys of their own, whose floors share their redrawn labels.

    `options` go to the measures that take them. A measure that refuses these sums has the value nan
    and a note.
    """
    named: Mapping[str, Any]
    named = names if isinstance(names, Mapping) else {name: name for name in names}
    questions = {key: question_of(measure, options, lenient=True) for key, measure in named.items()}
    return answers(
        questions, evidence, checked_level(level), seed, floor=floor, limits=limits, lenient=True
    )


def answers(
    questions: Mapping[str, Question],
    evidence: Evidence,
    level: float,
    seed: int,
    *,
    floor: bool,
    limits: bool = True,
    lenient: bool = False,
    draws: DrawsOf = floor_draws,
) -> dict[str, Estimate]:
    """The estimate of each question, by its key: value, confidence limits and noise floor.

    A question is a measure with its options. The noise floor is the mean, and the upper value at
    `level`, of the measure for labels that are redrawn from the scores by `draws`; all questions
    share the same redrawn labels. Without `floor` or `limits` these fields are nan. If `lenient`, a
    measure that cannot be computed for these rows is nan with the reason as its note; otherwise the
    error is raised.
    """
    check_flag(floor, "floor")
    limits_of: dict[str, Limits] = {}
    for key, question in questions.items():
        try:
            limits_of[key] = _value_and_limits(question, evidence, level, seed, limits=limits)
        except InputError as reason:
            if not lenient:
                raise
            limits_of[key] = Limits(note=str(reason))
    defined = {}
    if floor:
        for key, question in questions.items():
            if not math.isnan(limits_of[key].value):
                defined[key] = question
    drawn = draws(defined, evidence, seed)
    mean_only = is_mean_only(evidence)
    floors = dict.fromkeys(questions, NO_FLOOR)
    floors |= {key: floor_of(values, level, mean_only=mean_only) for key, values in drawn.items()}
    return {
        key: _estimate(question, evidence, level, limits_of[key], floors[key])
        for key, question in questions.items()
    }


def _value_and_limits(
    question: Question, evidence: Evidence, level: float, seed: int, *, limits: bool
) -> Limits:
    """The value of a measure and, if `limits` is true, its confidence limits at `level`.

    Some limits are computed together with the value; their value is then returned, and the measure
    is not computed a second time. The distances between scores and a fitted curve (ICI, E50, E90
    and Emax) are always computed in this way, even without `limits`, as one fit gives both. Without
    limits, `low` and `high` are nan. If the limits cannot be computed for these rows, `note` says
    why. If the value cannot, InputError is raised.
    """
    request = Asked(evidence, question.value, question.options, level, seed)
    ends = Limits()
    # The four distances of a curve come with their limits, of one fit.
    if limits or question.measure.floor == "curve":
        ends = limits_or_note(question.measure.limits, request)
    if ends.known:
        return ends
    return ends._replace(value=request.value)


def _estimate(
    question: Question, evidence: Evidence, level: float, limits: Limits, floor: Floor
) -> Estimate:
    """The record of a measure, from its value and limits and from its noise floor.

    The noise floor is what the measure would be if the scores were the true probabilities. The
    limits are widened to include the value where they do not. The note joins what limits, floor and
    evidence have to say.
    """
    measure = question.measure
    value = limits.value
    notes = [limits.note]
    if evidence.dependent and not math.isnan(floor.mean):
        notes.append(INDEPENDENT_FLOOR)
    # The limits may have said of the two columns what the evidence says.
    if evidence.note not in limits.note:
        notes.append(evidence.note)
    return Estimate(
        measure=measure.name,
        value=value,
        # A debiased square may be negative, and a biased mean above all errors that the rows allow.
        low=min(limits.low, value),
        high=max(limits.high, value),
        level=level,
        method=limits.method,
        n=evidence.n,
        definition=measure.definition,
        standard_error=limits.standard_error,
        floor=floor.mean,
        floor_high=floor.high,
        note=" ".join(filter(None, notes)),
        ideal=measure.ideal,
        kind=evidence.view,
        bins=question.bins,
        where=limits.where,
        low_open=limits.low_open and value >= limits.low,
    )
