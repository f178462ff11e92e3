"""The confidences of a log's answers, all from one source, and the rows that have one."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from trueness.errors import InputError, did_you_mean
from trueness.sources.logs._confidence import (
    FEWEST_QUESTIONS,
    Agreeing,
    Confidence,
    Missing,
    Stated,
    agreement,
    factor_for_few_samples,
)
from trueness.sources.logs._log_request import RANKINGS, SOURCES, LogRequest
from trueness.sources.logs._row import Row
from trueness.sources.logs._sample import Log

# What `confidence="auto"` tries, in this order.
_AUTO_ORDER = ("field", "logprob", *RANKINGS, "stated", "agreement")


class Key(NamedTuple):
    """What two samples of one log share if the second repeats the first."""

    question: str
    model: str
    epoch: int
    document: object
    part: str
    perturbed: bool


class CompleteRow(NamedTuple):
    """An answer with a label and a confidence."""

    row: Row
    confidence: float
    source: str  # where the confidence comes from, in words


Rows: TypeAlias = dict[Key, Row]


@dataclass(frozen=True)
class ReadLog:
    """A log and its rows, each once."""

    log: Log
    rows: Rows


def complete_log(
    read_log: ReadLog, request: LogRequest, missing: Counter[str]
) -> dict[Key, CompleteRow]:
    """The rows with a label and a confidence; the others are counted in `missing`."""
    log = read_log.log
    _check_filters(log, read_log.rows.values(), request)
    scored = _rows_that_count(read_log.rows, missing)
    if not request.needs_confidence:
        return {key: CompleteRow(row, math.nan, source="") for key, row in scored.items()}
    source = _chosen_source(scored.values(), request)
    if source == "field":
        _check_field(log, scored.values(), request)
    chosen = _chosen_confidences(log, scored, source, request)
    complete = {}
    for key, confidence in chosen.confidences.items():
        if isinstance(confidence, Missing):
            missing[confidence.reason] += 1
        else:
            complete[key] = CompleteRow(scored[key], float(confidence), chosen.in_words)
    return complete


def _check_filters(log: Log, rows: Iterable[Row], request: LogRequest) -> None:
    """Refuse a log of lm-eval with several filters: each answer would count several times."""
    if log.harness != "lm-eval":
        return
    filters = sorted({row.part for row in rows} - {""})
    if len(filters) > 1:
        metric = request.metric or next(iter(log.scorers), "exact_match")
        demand = f"{log} has several filters of each answer: {', '.join(filters)}"
        remedy = f"Name one after a comma: `scorer='{metric},{filters[0]}'`."
        raise InputError("", demand, remedy=remedy)


def _rows_that_count(rows: Rows, missing: Counter[str]) -> Rows:
    """The rows without trouble; of a log with a test split, only those of that split."""
    has_test_split = any(row.part == "test" for row in rows.values())
    counted = {}
    for key, row in rows.items():
        trouble = row.trouble
        if has_test_split and row.part not in ("", "test") and not trouble:
            trouble = f"an instance of the split {row.part!r}"
        if trouble:
            missing[trouble] += 1
        else:
            counted[key] = row
    return counted


def _chosen_source(rows: Collection[Row], request: LogRequest) -> str:
    """The source of the request; for 'auto' the first that any row has, or empty if none."""
    if request.source != "auto":
        return request.source
    usable = set()
    for row in rows:
        for source, confidence in row.confidences.items():
            if not isinstance(confidence, Missing):
                usable.add(source)
    if any(isinstance(agreeing, Agreeing) for agreeing in _agreement(rows)):
        usable.add("agreement")
    for source in _AUTO_ORDER:
        if source in usable:
            return source
    return ""


def _check_field(log: Log, rows: Collection[Row], request: LogRequest) -> None:
    """Refuse a field that no row has: a misspelt source reads as the name of a field."""
    if not rows or any("field" in row.confidences for row in rows):
        return
    demand = "must be a source of confidences or a field of the samples"
    got = f"{log} has no field {request.field_path!r} with a confidence"
    near = did_you_mean(request.field_path, SOURCES)
    raise InputError("confidence", demand, got, remedy=near)


def _source_in_words(log: Log, source: str, request: LogRequest) -> str:
    """What the column `source` of the answers says."""
    if log.harness == "helm" and source == "logprob":
        return "max_prob of HELM"
    if request.pattern is not None:
        return f"{SOURCES['stated']} ({request.confidence})"
    if source in SOURCES:
        return SOURCES[source]
    if request.source == "field":
        return f"field {request.field_path}"
    return "confidence recorded with the score"


class _Chosen(NamedTuple):
    """The confidence of each row by one source, and what the source is."""

    confidences: dict[Key, Confidence]
    in_words: str


def _chosen_confidences(log: Log, rows: Rows, source: str, request: LogRequest) -> _Chosen:
    if source == "agreement":
        return _agreement_shares(log, rows)
    return _Chosen(_confidences(log, rows, source), _source_in_words(log, source, request))


def _confidences(log: Log, rows: Rows, source: str) -> dict[Key, Confidence]:
    """The confidence of each row from one source, or why it has none.

    Bare numbers are brought to one scale; defaults that a harness writes where nothing was stated
    do not count.
    """
    missing = Missing("no confidence")
    by_source = {key: row.confidences.get(source, missing) for key, row in rows.items()}
    on_one_scale = _on_one_scale(log, by_source)
    if source == "field":
        return _without_defaults(log, rows, on_one_scale)
    if log.harness == "helm" and source == "logprob":
        return _without_constant(on_one_scale)
    return on_one_scale


def _agreement_shares(log: Log, rows: Rows) -> _Chosen:
    """The share of agreeing answers, corrected for few samples where there are many questions."""
    agreement_of_rows = dict(zip(rows, _agreement(rows.values()), strict=True))
    agreeing = {
        key: alike for key, alike in agreement_of_rows.items() if isinstance(alike, Agreeing)
    }
    questions = {(rows[key].question, rows[key].model) for key in agreeing}
    shares: dict[Key, Confidence] = {
        key: alike for key, alike in agreement_of_rows.items() if isinstance(alike, Missing)
    }
    if len(questions) < FEWEST_QUESTIONS:
        shares |= {key: alike.share_of_others for key, alike in agreeing.items()}
        return _Chosen({key: shares[key] for key in rows}, SOURCES["agreement"])
    factor = factor_for_few_samples(list(agreeing.values()))
    shares |= {key: factor * alike.share for key, alike in agreeing.items()}
    log.notes.append(
        f"agreement is the share of agreeing samples times {factor:.3f}, one factor for all"
        " questions, which presumes questions of one kind; it is agreement, not correctness"
    )
    in_words = "share of the samples that agree, corrected for few samples"
    return _Chosen({key: shares[key] for key in rows}, in_words)


def _agreement(rows: Collection[Row]) -> list[Agreeing | Missing]:
    """How many answers of the same model to the same question agree with each."""
    places: dict[tuple[str, str], list[int]] = {}
    answers: dict[tuple[str, str], list[str | None]] = {}
    for i, row in enumerate(rows):
        question = (row.question, row.model)
        places.setdefault(question, []).append(i)
        answers.setdefault(question, []).append(row.answer)
    for row in rows:
        answers[row.question, row.model].extend(row.others)
    result: list[Agreeing | Missing] = [Missing("no confidence")] * len(rows)
    if all(len(same_question) == 1 for same_question in answers.values()):
        return result
    for question, same_question in answers.items():
        for i, agreeing in zip(places[question], agreement(same_question), strict=False):
            result[i] = agreeing
    return result


def _without_constant(probabilities: dict[Key, Confidence]) -> dict[Key, Confidence]:
    """Probabilities of HELM, unless all are 1, which it writes where it has none."""
    if any(probability != 1 for probability in probabilities.values()):
        return probabilities
    reason = Missing("max_prob is 1 everywhere: HELM kept no log-probabilities")
    return dict.fromkeys(probabilities, reason)


def _on_one_scale(
    log: Log, confidences: Mapping[Key, Confidence | Stated]
) -> dict[Key, Confidence]:
    """Stated numbers as probabilities; bare numbers share one scale."""
    stated_numbers = [number for number in confidences.values() if isinstance(number, Stated)]
    bare_numbers = [
        number.value
        for number in stated_numbers
        if number.scale is None and number.value != 0 and not number.trouble
    ]
    above_1 = sum(number > 1 for number in bare_numbers)
    percent = above_1 > len(bare_numbers) / 2
    # Numbers up to 10 may be marks from 1 to 10 as well as small percentages.
    scale_is_unclear = percent and max(bare_numbers) <= 10
    if percent and not scale_is_unclear:
        log.notes.append("confidences are percentages, as most exceed 1")
    word_count = sum(number.scale == 1 for number in stated_numbers)
    if word_count:
        table = "the probabilities of CONFIDENCE_WORDS or `words`"
        log.notes.append(f"{word_count:,} confidences are words, taken as {table}")

    unclear = Missing("a bare confidence in a log where all are at most 10: its scale is unclear")
    probabilities: dict[Key, Confidence] = {}
    for key, confidence in confidences.items():
        if not isinstance(confidence, Stated):
            probabilities[key] = confidence
        elif scale_is_unclear and confidence.scale is None:
            probabilities[key] = unclear
        else:
            probabilities[key] = confidence.probability(percent=percent)
    return probabilities


def _without_defaults(
    log: Log, rows: Rows, probabilities: dict[Key, Confidence]
) -> dict[Key, Confidence]:
    """The confidences of a field, without a 100 % that the harness wrote where nothing was stated.

    A confidence of 1 that its text does not repeat is taken for such a default if most texts with
    a lower confidence repeat theirs; or, where none is lower, if no text repeats its own.
    """
    unstated = []  # confidences of 1 that the text does not repeat
    lower_is_echoed = []  # of each lower confidence, whether the text repeats it
    for key, probability in probabilities.items():
        if isinstance(probability, Missing):
            continue
        echoed = rows[key].echoed
        if probability < 1:
            lower_is_echoed.append(echoed)
        elif not echoed:
            unstated.append(key)
    if not unstated:
        return probabilities
    if lower_is_echoed:
        are_defaults = sum(lower_is_echoed) > len(lower_is_echoed) / 2
    else:
        have_field = sum("field" in rows[key].confidences for key in probabilities)
        are_defaults = len(unstated) == have_field
    if are_defaults:
        reason = Missing("a confidence of 100 % that the answer does not state")
        return probabilities | dict.fromkeys(unstated, reason)
    note = f"{len(unstated):,} confidences are exactly 1 without being stated in the answer"
    log.notes.append(note)
    return probabilities
