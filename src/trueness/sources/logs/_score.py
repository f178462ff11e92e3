"""What one scorer said of a sample."""

from collections.abc import Iterable, Mapping
from typing import Any

from trueness.sources.logs._log_request import METRIC_OF_RANKING, RANKINGS, LogRequest
from trueness.sources.logs._row import CHOOSES_OPTIONS, Score
from trueness.sources.logs._sample import Log, Sample, dotted

# The metric that need not be named.
_USUAL_METRIC = {"helm": "exact_match", "promptfoo": "success"}


def score_of(log: Log, sample: Sample, request: LogRequest) -> Score:
    """The score of a sample, from where the request says it is.

    That is the targets, a field, a metric, or what the harness uses by default.
    """
    if request.named.judges:
        return Score("", request.named.score(sample))
    if request.label_field is not None:
        return Score("", _as_entry(dotted(sample.raw, request.label_field)))
    if request.metric:
        return _named_score(sample, request.metric)
    return _default_score(log, sample, request)


def _as_entry(said: object) -> Mapping[str, Any]:
    """A score as an object: inspect writes objects, others bare values."""
    if isinstance(said, Mapping) and "value" in said:
        return said
    return {"value": said}


def _named_score(sample: Sample, metric: str) -> Score:
    """The score that the caller names; its value is None if the sample has none of that name."""
    choices = sample.scores.keys()
    if metric in sample.scores:
        return Score(metric, _as_entry(sample.scores[metric]), choices)
    # "judge.style" is the entry "style" of the scorer "judge", whose value is an object.
    scorer, _, entry_path = metric.partition(".")
    entry = sample.scores.get(scorer)
    if isinstance(entry, Mapping):
        value = dotted(entry.get("value"), entry_path)
        return Score(scorer, {**entry, "value": value}, choices)
    return Score(metric, {"value": None}, choices)


def _default_score(log: Log, sample: Sample, request: LogRequest) -> Score:
    """The usual metric of the harness, or else the first score of the sample."""
    usual = _usual_metrics(log.harness, request.source)
    present = [name for name in (*usual, *sample.scores) if name in sample.scores]
    if not present:
        return Score("", {"value": None})
    metric = present[0]
    # The caller need not choose: the target also says which option is right.
    judged_by_target = log.harness in CHOOSES_OPTIONS and sample.options is not None
    if metric in usual or judged_by_target:
        choices: Iterable[str] = (metric,)
    else:
        choices = sample.scores.keys()
    return Score(metric, _as_entry(sample.scores[metric]), choices)


def _usual_metrics(harness: str, source: str) -> tuple[str, ...]:
    """The metrics that need not be named, the preferred one first."""
    if harness in _USUAL_METRIC:
        return (_USUAL_METRIC[harness],)
    if harness in CHOOSES_OPTIONS:
        ranking = source if source in RANKINGS else "options"
        return (METRIC_OF_RANKING[ranking], "exact_match")
    return ()
