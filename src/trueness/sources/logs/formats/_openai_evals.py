"""OpenAI evals: events, of which several belong to one sample."""

from collections.abc import Iterator, Mapping
from typing import Any

from trueness.sources.logs._sample import (
    Log,
    Report,
    Sample,
    checked_row,
    dotted,
    number_or_nan,
    objects_in,
    subject_of,
    unwrapped,
)

_FIELD_TYPES = {"spec": dict, "type": str, "data": dict}


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """OpenAI evals: events, of which several belong to one sample."""
    events: dict[str, dict[str, Any]] = {}
    finished = False
    for raw in objects_in(log, report):
        row = checked_row(raw, log, _FIELD_TYPES)
        if "spec" in row:
            _read_header(log, row["spec"])
        elif row.get("sample_id") is not None:
            event_of_sample = events.setdefault(str(row["sample_id"]), {"cond_logp": []})
            _add_event(log, row, event_of_sample)
        finished = finished or "final_report" in row
    if not finished:
        log.notes.append("the run did not finish: it has no final report")
    for identity, event_of_sample in events.items():
        log.place = f"{log}, sample {identity!r}"
        yield _sample(log, identity, event_of_sample)


def _read_header(log: Log, spec: Mapping[str, Any]) -> None:
    models = spec.get("completion_fns") or [spec.get("model") or ""]
    log.task = str(spec.get("eval_name") or spec.get("base_eval") or "")
    log.model = ", ".join(str(model) for model in models)
    log.identity = str(spec.get("run_id") or "")
    log.created = str(spec.get("created_at") or "")


def _add_event(log: Log, row: Mapping[str, Any], events: dict[str, Any]) -> None:
    """Add an event to those of its sample: likelihoods are several, of others the last counts."""
    kind = row["type"]
    if kind == "cond_logp":
        events["cond_logp"].append(row["data"])
        return
    if kind == "match" and "match" in events:
        log.repeated += 1
    events[kind] = row["data"]


def _sample(log: Log, identity: str, events: Mapping[str, Any]) -> Sample:
    """The events of one sample of OpenAI evals, as a sample."""
    match = events.get("match", {})
    sampled = unwrapped(match.get("sampled", dotted(events, "sampling.sampled")))
    text = None if sampled is None else str(sampled)
    scores = {"match": match["correct"]} if "correct" in match else events.get("metrics", {})
    return Sample(
        question=f"{log.task}/{identity}",
        identity=identity,
        raw=events,
        scores=scores,
        text=text,
        subject=subject_of(match),
        answer=text,
        trouble=_trouble(events, text),
        logprob=_logprob(events, answer=str(match.get("picked") or text or "").strip()),
    )


def _trouble(events: Mapping[str, Any], text: str | None) -> str:
    if "error" in events:
        return "errored"
    if text is not None and not text.strip():
        return "no answer"
    return ""


def _logprob(events: Mapping[str, Any], answer: str) -> float | None:
    """The log-probability of the answer given, or the only one there is."""
    likelihoods = events["cond_logp"]
    of_answer = [
        event for event in likelihoods if str(event.get("completion", "")).strip() == answer
    ]
    if of_answer:
        return number_or_nan(of_answer[-1].get("logp"))
    if len(likelihoods) == 1:
        return number_or_nan(likelihoods[0].get("logp"))
    return None
