"""Any measure with its uncertainty: one verb for all."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from trueness._input.arguments import check_flag
from trueness._level import checked_level
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
    """Each label, or class, as a binary problem, and the mean over them.

    All limits hold together.
    """
    problems = dict(evidence.each_class())
    each = 1 - (1 - level) / len(problems)
    found = [answers({"": question}, one, each, seed, floor=floor)[""] for one in problems.values()]
    what = "labels" if evidence.view == "multilabel" else "classes"
    together = (
        f"Limits hold for all {len(found)} {what} together, however these depend on each other."
    )
    lacking = next((one.note for one in found if not one.bounded), "")
    numbers = np.mean(
        [[getattr(one, name) for name in _AVERAGED] for one in found], axis=0
    ).tolist()
    about: Any = dict(zip(_AVERAGED, numbers, strict=True)) | {
        "n": evidence.n,
        "kind": evidence.view,
        "level": level,
    }
    about["method"] = (
        "" if lacking else f"mean of {len(found)} limits at {100 * each:.5g} %: {found[0].method}"
    )
    about["note"] = " ".join(filter(None, [lacking or together, evidence.note]))
    about["each"] = dict(zip(map(str, problems), found, strict=True))
    return replace(found[0], **about, standard_error=math.nan, where="", low_open=False)


def is_by_row(question: Question) -> bool:
    """Whether a measure scores a row of several classes, and is no mean over classes."""
    return question.measure.key in _BY_ROW


def unknown_estimate(question: Question, evidence: Evidence, level: float, note: str) -> Estimate:
    """A measure that the rows do not determine, and why."""
    nan = math.nan
    measure = question.measure
    about: Any = {
        "note": note,
        "kind": evidence.view,
        "bins": question.bins,
        "ideal": measure.ideal,
    }
    return Estimate(measure.name, nan, nan, nan, level, "", evidence.n, measure.definition, **about)


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
    **options: Any,
) -> dict[str, Estimate]:
    """Several measures, perhaps by keys of their own, whose floors share their redrawn labels.

    `options` go to the measures that take them. A measure that refuses these sums has the value nan
    and a note.
    """
    named: Mapping[str, Any] = (
        names if isinstance(names, Mapping) else {name: name for name in names}
    )
    questions = {key: question_of(one, options, lenient=True) for key, one in named.items()}
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
    """Each measure with its limits and floor.

    If `lenient`, a measure that refuses these sums is nan.
    """
    check_flag(floor, "floor")
    found: dict[str, Limits] = {}
    asked = {
        key: Asked(evidence, one.value, one.options, level, seed) for key, one in questions.items()
    }
    for key, one in questions.items():
        try:
            # The four distances of a curve come with their limits, of one fit.
            some = limits or one.measure.floor == "curve"
            ends = limits_or_note(one.measure.limits, asked[key]) if some else Limits()
            found[key] = ends if ends.known else ends._replace(value=asked[key].value)
        except InputError as reason:
            if not lenient:
                raise
            found[key] = Limits(note=str(reason))
    known = {
        key: one for key, one in questions.items() if floor and not math.isnan(found[key].value)
    }
    drawn = draws(known, evidence, seed)
    mean_only = is_mean_only(evidence)
    floors = dict.fromkeys(questions, NO_FLOOR)
    floors |= {key: floor_of(values, level, mean_only=mean_only) for key, values in drawn.items()}
    return {
        key: _estimate(one, evidence, level, found[key], floors[key])
        for key, one in questions.items()
    }


def _estimate(
    question: Question, evidence: Evidence, level: float, limits: Limits, floor: Floor
) -> Estimate:
    measure = question.measure
    value = limits.value
    independent = INDEPENDENT_FLOOR if evidence.dependent and not math.isnan(floor.mean) else ""
    # The limits may have said of the two columns what the evidence says.
    notes = [limits.note, independent, "" if evidence.note in limits.note else evidence.note]
    # A debiased square may be negative, and a biased mean above every error that the rows allow.
    low = min(limits.low, value)
    high = max(limits.high, value)
    n = evidence.n
    return Estimate(
        *(
            measure.name,
            value,
            low,
            high,
            level,
            limits.method,
            n,
            measure.definition,
            limits.standard_error,
            *floor,
        ),
        note=" ".join(filter(None, notes)),
        ideal=measure.ideal,
        kind=evidence.view,
        bins=question.bins,
        where=limits.where,
        low_open=limits.low_open and value >= limits.low,
    )
