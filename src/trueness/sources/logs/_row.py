"""A row of a log: the label of a sample and all confidences that it has."""

import hashlib
import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from trueness.sources.logs._confidence import (
    Confidence,
    Missing,
    Stated,
    Verdict,
    answer_probability,
    from_log,
    softmax,
    stated,
    stated_in,
    states,
    verdict_of_score,
)
from trueness.sources.logs._log_request import RANKING_OF_METRIC, RANKINGS, LogRequest
from trueness.sources.logs._sample import Log, Options, Sample, Targets, dotted

_LONGEST_ANSWER = 200
# Their answer to a multiple-choice question is the most probable option.
CHOOSES_OPTIONS = ("lm-eval", "lighteval")
_CONFIDENCE_FIELDS = ("confidence", "probability", "prob")


class Row(NamedTuple):
    """What is kept of a sample: all samples of all logs are held at once."""

    question: str
    epoch: int
    subject: str
    part: str
    task: str
    model: str
    identity: str  # by which a key file names the question
    answer: str | None
    others: Sequence[str]  # further answers to the question, which are no rows
    label: int | None
    trouble: str  # why it cannot count; empty if it can
    confidences: Mapping[str, Confidence | Stated]  # by source
    echoed: bool  # whether the text repeats the confidence of the field
    probabilities: Sequence[float] | None  # of the options
    targets: Targets
    fields: tuple[Any, ...]


class Score(NamedTuple):
    """What one scorer said of an answer."""

    metric: str  # empty where a field of the caller stands in for a scorer
    entry: Mapping[str, Any]  # with "value", and for inspect also "answer" and "metadata"
    choices: Iterable[str] = ()  # the scorers that the caller could have named


class _ReadOptions(NamedTuple):
    """What the options of a sample say of its answer."""

    answer: str | None
    verdict: Verdict
    confidences: Mapping[str, Confidence]
    probabilities: Sequence[float] | None


def row_of_sample(log: Log, sample: Sample, score: Score, epoch: int, request: LogRequest) -> Row:
    """The label and all confidences of a sample."""
    answer = sample.answer
    if score.entry.get("answer") is not None:
        answer = str(score.entry["answer"])
    verdict = verdict_of_score(score.entry, request.correct_from)
    options = _read_options(log, sample, score, answer, verdict, request)
    in_text = _stated_in_text(sample, request)
    in_field = _stated_in_field(score, sample, request)
    confidences = {
        **sample.confidences,
        **options.confidences,
        **_of_tokens(sample, options.answer),
        **in_field,
        **in_text,
    }
    question = _question(log, sample, request)
    return Row(
        question=question.name,
        epoch=epoch,
        # Large logs repeat few subjects and filters: keep one copy of each.
        subject=sys.intern(sample.subject),
        part=sys.intern(sample.part),
        task=log.task,
        model=sys.intern(sample.model or log.model),
        identity=sample.identity if request.targets is not None else "",
        answer=_kept_answer(log, sample, options.answer),
        others=[_shortened(other) for other in sample.others],
        label=options.verdict.label,
        trouble=sample.trouble or _trouble(sample, options) or question.trouble,
        confidences=confidences,
        echoed=_is_echoed(sample, in_field.get("field")),
        probabilities=options.probabilities,
        targets=sample.targets,
        fields=tuple(plain_value(dotted(sample.raw, name)) for name in request.extra_fields),
    )


def _trouble(sample: Sample, options: _ReadOptions) -> str:
    """Why the answer cannot count; empty if it can."""
    empty_text = sample.text is not None and not sample.text.strip()
    if options.answer == "" or empty_text:
        return "no answer"
    return options.verdict.trouble


def _kept_answer(log: Log, sample: Sample, answer: str | None) -> str | None:
    """The answer; where nothing extracts it, the text."""
    if answer is not None or sample.text is None or log.harness == "inspect":
        return answer
    return _shortened(sample.text)


def _shortened(text: str) -> str:
    """A text that is compared with others, without its length: all rows are held at once."""
    if len(text) <= _LONGEST_ANSWER:
        return text
    # The digest keeps texts apart that begin alike.
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
    return f"{text[:_LONGEST_ANSWER]}… {digest}"


class _Question(NamedTuple):
    name: str
    trouble: str = ""


def _question(log: Log, sample: Sample, request: LogRequest) -> _Question:
    """The question, from the field that the caller names if there is one."""
    path = request.question_field
    if path is None:
        return _Question(sample.question)
    value = dotted(sample.raw, path)
    trouble = f"no field {path!r}" if value is None else ""
    return _Question(f"{log.task}/{value}", trouble)


def plain_value(value: object) -> object:
    """Numbers, texts and None as they are; the text of anything else, which may not be hashable."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _read_options(
    log: Log,
    sample: Sample,
    score: Score,
    answer: str | None,
    verdict: Verdict,
    request: LogRequest,
) -> _ReadOptions:
    """The probabilities of the options, and the verdict on the chosen option.

    Only some harnesses choose the option by these probabilities. Elsewhere, and where the caller
    names the field of the label, the verdict on the answer stands.
    """
    if sample.options is None:
        return _ReadOptions(answer, verdict, {}, None)
    ranking = RANKING_OF_METRIC.get(score.metric, "options")
    if request.source in RANKINGS:
        ranking = request.source
    probabilities = softmax(_scaled(sample.options, ranking))
    if isinstance(probabilities, Missing):
        if log.harness in CHOOSES_OPTIONS:
            verdict = Verdict(verdict.label, trouble=probabilities.reason)
        return _ReadOptions(answer, verdict, {ranking: probabilities}, None)
    chosen = _chosen_option(answer, probabilities)
    if log.harness in CHOOSES_OPTIONS and not request.judges:
        verdict = _verdict_on_option(sample, score, ranking, chosen, verdict)
        answer = str(chosen)
    confidences = {ranking: probabilities[chosen]}
    # An array: large logs have many samples.
    return _ReadOptions(answer, verdict, confidences, array("d", probabilities))


def _scaled(options: Options, ranking: str) -> list[float]:
    """The log-likelihoods that options are ranked by; nan for a text of unknown length."""
    if ranking == "options":
        return list(options.log_likelihoods)
    if ranking == "options-per-byte":
        lengths = [len(text.encode()) for text in options.texts]
    else:
        lengths = [len(text) for text in options.texts]
    pairs = zip(options.log_likelihoods, lengths, strict=True)
    return [value / length if length else math.nan for value, length in pairs]


def _chosen_option(answer: str | None, probabilities: Sequence[float]) -> int:
    """The option whose letter the answer is; without a letter, the most probable one."""
    letter = (answer or "").strip()
    if len(letter) == 1:
        number = ord(letter) - ord("A")
        if 0 <= number < len(probabilities):
            return number
    return probabilities.index(max(probabilities))


def _verdict_on_option(
    sample: Sample, score: Score, ranking: str, chosen: int, verdict: Verdict
) -> Verdict:
    """Right or wrong by the metric that ranks the options so, or else by the target."""
    # A metric that ranks the options in another way may judge another option.
    ranks_alike = RANKING_OF_METRIC.get(score.metric) == ranking
    judges_chosen = ranks_alike and score.metric in sample.scores
    if not judges_chosen:
        return _verdict_of_target(sample.targets, chosen)
    if verdict.label is None:
        return verdict
    return _verdict_against_target(sample.targets, chosen, verdict.label)


def _labels_by_target(targets: Targets, chosen: int) -> set[int]:
    """The labels of the chosen option by each reading of the target: as a number and as a text."""
    return {int(chosen in right_options) for right_options in targets if right_options}


def _verdict_of_target(targets: Targets, chosen: int) -> Verdict:
    """Right or wrong by the target, if its readings agree."""
    labels = _labels_by_target(targets, chosen)
    if len(labels) == 1:
        return Verdict(labels.pop(), trouble="")
    return Verdict(None, trouble="the target is not one of the options")


def _verdict_against_target(targets: Targets, chosen: int, label: int) -> Verdict:
    """The label of the metric; with trouble if every reading of the target contradicts it."""
    labels = _labels_by_target(targets, chosen)
    if labels and label not in labels:
        trouble = "the accuracy is not that of the option with the largest confidence"
        return Verdict(label, trouble)
    return Verdict(label, trouble="")


def _of_tokens(sample: Sample, answer: str | None) -> dict[str, Confidence]:
    """The probability of the answer, where the log has log-probabilities."""
    is_whole = answer is None or answer.strip() == (sample.text or "").strip()
    if sample.logprob is not None and (is_whole or not sample.tokens):
        return {"logprob": from_log(sample.logprob)}
    if sample.tokens:
        return {"logprob": answer_probability(sample.tokens, answer or "")}
    return {}


def _stated_in_text(sample: Sample, request: LogRequest) -> dict[str, Stated]:
    if sample.text is None:
        return {}
    in_text = stated_in(sample.text, request.probability_of_word, request.pattern)
    return {} if in_text is None else {"stated": in_text}


def _stated_in_field(score: Score, sample: Sample, request: LogRequest) -> dict[str, Stated]:
    value = _confidence_field(score, sample, request)
    in_field = stated(value, request.probability_of_word)
    return {} if in_field is None else {"field": in_field}


def _confidence_field(score: Score, sample: Sample, request: LogRequest) -> object:
    """The value of the first field with a confidence; None if there is none."""
    names = (request.field_path,) if request.source == "field" else _CONFIDENCE_FIELDS
    candidates = (
        score.entry.get("value"),
        score.entry,
        score.entry.get("metadata"),
        sample.raw.get("match"),
        sample.raw,
    )
    places = [place for place in candidates if isinstance(place, Mapping)]
    for name in names:
        for place in places:
            value = dotted(place, name)
            if value is not None and not isinstance(value, Mapping | list):
                return value
    return None


def _is_echoed(sample: Sample, in_field: Stated | None) -> bool:
    """Whether the text repeats the confidence of the field, or the log has no text."""
    if in_field is None:
        return False
    text = sample.all_text or sample.text
    return not text or states(str(text), in_field.value)
