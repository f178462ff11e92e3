"""The arguments of `eval_log`, and which source of confidences and which accuracy they mean."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from trueness._input.arguments import checked_number, is_real
from trueness.errors import InputError
from trueness.sources.logs._confidence import CONFIDENCE_WORDS
from trueness.sources.logs._named_fields import NamedFields, TargetsLike, read_targets

SOURCES = {
    "logprob": "probability of the answer's tokens",
    "options": "softmax of the options' log-likelihoods",
    "options-per-character": "softmax of the options' log-likelihoods per character",
    "options-per-byte": "softmax of the options' log-likelihoods per byte",
    "stated": "stated in the answer",
    "agreement": "share of the other samples that agree",
}
# By which of these sources each accuracy of lm-eval chooses an option.
RANKING_OF_METRIC = {
    "acc": "options",
    "acc_norm": "options-per-character",
    "acc_bytes": "options-per-byte",
}
METRIC_OF_RANKING = {ranking: metric for metric, ranking in RANKING_OF_METRIC.items()}
RANKINGS = tuple(METRIC_OF_RANKING)


@dataclass(frozen=True)
class LogRequest:
    """The arguments of `eval_log`, checked, and what follows from them."""

    scorer: str | None = None
    confidence: str = "auto"
    label_field: str | None = None
    confidence_field: str | None = None
    question_field: str | None = None
    fields: Sequence[str] = ()
    words: Mapping[str, float] | None = None
    correct_from: float | None = None
    rows_field: str | None = None
    text_field: str | None = None
    answer_field: str | None = None
    target_field: str | None = None
    id_field: str | None = None
    targets: TargetsLike | None = None
    needs_confidence: bool = True
    """Whether an answer must have a confidence to count; without, every confidence is nan."""

    def __post_init__(self) -> None:
        """Raise if an option has another type than it should, or contradicts another one."""
        for name in ("scorer", *_FIELD_OPTIONS):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(name, "must be a string", f"got {value!r}")
        if not isinstance(self.confidence, str):
            raise InputError("confidence", "must be a string", f"got {self.confidence!r}")
        if self.confidence_field is not None and self.confidence != "auto":
            got = f"got both, {self.confidence_field!r}, {self.confidence!r}"
            raise InputError("confidence_field", "stands in place of `confidence`", got)
        judges = [name for name in _JUDGES if getattr(self, name) is not None]
        if len(judges) > 1:
            got = f"got both, {' and '.join(judges)}"
            raise InputError(judges[1], f"stands in place of `{judges[0]}`", got)
        if self.correct_from is not None:
            checked_number(self.correct_from, "correct_from")
        _check_words(self.words or {})
        _compiled(self.confidence)  # a mistake in it is reported before any file is read
        _check_ranking(self)

    @cached_property
    def named(self) -> NamedFields:
        """The fields of texts, answers, targets and questions."""
        targets = None if self.targets is None else read_targets(self.targets)
        key = "targets" if isinstance(self.targets, Mapping) else str(self.targets)
        return NamedFields(
            text=self.text_field,
            answer=self.answer_field,
            target=self.target_field,
            identity=self.id_field,
            targets=targets,
            key=key,
        )

    @cached_property
    def judges(self) -> bool:
        """Whether the caller says which answers are right, whatever a scorer said."""
        return any(getattr(self, name) is not None for name in _JUDGES)

    @cached_property
    def reads_any_json(self) -> bool:
        """Whether the options say of any JSON which answers are right, and how confident."""
        if not self.judges:
            return False
        if self.targets is not None and self.id_field is None:
            return False
        has_text = self.text_field is not None or self.answer_field is not None
        return has_text or self.source in ("field", "logprob")

    @cached_property
    def metric(self) -> str:
        """The scorer without the filter; empty if the caller names none."""
        return (self.scorer or "").partition(",")[0]

    @cached_property
    def filter(self) -> str:
        """The filter of lm-eval, after the comma of `scorer`; empty if the caller names none."""
        return (self.scorer or "").partition(",")[2]

    @cached_property
    def source(self) -> str:
        """A key of `SOURCES`, 'auto', or 'field' where the caller gives the path of a field."""
        if self.confidence_field is not None:
            return "field"
        if self.confidence.startswith("regex:"):
            return "stated"
        if self.confidence == "auto" or self.confidence in SOURCES:
            return self.confidence
        return "field"

    @cached_property
    def field_path(self) -> str:
        """Where the confidence is if `source` is 'field'."""
        return self.confidence_field or self.confidence

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """The pattern of 'regex:…'; None for other confidences."""
        return _compiled(self.confidence)

    @cached_property
    def probability_of_word(self) -> dict[str, float]:
        """The probability of each word, in lower case and with single spaces."""
        words = CONFIDENCE_WORDS if self.words is None else self.words
        return {" ".join(word.lower().split()): float(p) for word, p in words.items()}

    @cached_property
    def extra_fields(self) -> tuple[str, ...]:
        return (self.fields,) if isinstance(self.fields, str) else tuple(self.fields)


# The options that say which answers are right: one of them may be given.
_JUDGES = ("label_field", "target_field", "targets")


_FIELD_OPTIONS = (
    "label_field",
    "confidence_field",
    "question_field",
    "rows_field",
    "text_field",
    "answer_field",
    "target_field",
    "id_field",
)


def _check_words(words: Mapping[str, float]) -> None:
    demand = "must give each word a probability from 0 to 1"
    for word, value in words.items():
        if not is_real(value) or not 0 <= value <= 1:
            raise InputError("words", demand, f"{word!r} has {value!r}")


def _compiled(confidence: str) -> re.Pattern[str] | None:
    """The caller's regular expression; None if the confidence is not read by one."""
    if not confidence.startswith("regex:"):
        return None
    text = confidence.removeprefix("regex:")
    try:
        return re.compile(text, re.MULTILINE)
    except re.error as reason:
        demand = "must be a regular expression after 'regex:'"
        raise InputError("confidence", demand, f"{text!r}: {reason}") from None


def _check_ranking(request: LogRequest) -> None:
    """Refuse a confidence that ranks the options in another way than the accuracy does."""
    ranking = RANKING_OF_METRIC.get(request.metric)
    if ranking is not None and request.source in RANKINGS and request.source != ranking:
        scorer = f"`scorer={request.scorer!r}`"
        demand = f"must be {ranking!r} with {scorer}, which ranks the options by that"
        raise InputError("confidence", demand, f"got {request.source!r}")
    if request.metric == "acc_mutual_info":
        got = "'acc_mutual_info' does not"
        raise InputError("scorer", "must rank options by a probability", got)
