"""UQLM: the result of a scorer as a dictionary of columns."""

from collections.abc import Iterator, Mapping
from typing import Any

from trueness.errors import InputError
from trueness.sources.logs._logprobs import sum_of_logprobs, token_pairs
from trueness.sources.logs._sample import (
    Epochs,
    Log,
    Report,
    Sample,
    as_text,
    object_in,
    output_text,
    typed,
)

_TEXTS = ("prompts", "responses", "sampled_responses")
_LOGPROBS = ("logprobs", "multiple_logprobs", "sampled_logprobs")
_WHOLE = ("ensemble_scores", "ensemble_score", "confidence_scores")


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """UQLM: the result of a scorer as a dictionary of columns, which is read whole."""
    log.task = log.path.stem
    columns = _columns(log)
    report(log.path.stat().st_size)
    confidence = _confidence(log, columns)
    epochs = Epochs()
    for i in range(len(columns["responses"])):
        log.place = f"{log}, response {i}"
        row = {name: column[i] for name, column in columns.items()}
        if confidence is not None:
            row["confidence"] = row[confidence]
        identity = as_text(row.get("prompts", i))
        tokens = row.get("logprobs") or []
        yield Sample(
            question=f"{log.task}/{identity}",
            identity=identity,
            raw=row,
            text=output_text(row["responses"]),
            others=[output_text(other) or "" for other in row.get("sampled_responses") or ()],
            epoch=epochs.next_of(identity),
            tokens=token_pairs(tokens),
            logprob=sum_of_logprobs(tokens),
        )


def _columns(log: Log) -> dict[str, list[Any]]:
    """The columns of the result, each with one entry per response."""
    columns: dict[str, list[Any]] = typed(object_in(log.path).get("data"), dict, str(log), "data")
    responses = typed(columns.get("responses"), list, str(log), "data.responses")
    for name, column in columns.items():
        entries = len(typed(column, list, str(log), f"data.{name}"))
        if entries != len(responses):
            demand = f"{log}: field 'data.{name}' must have one entry per response"
            raise InputError("", demand, f"got {entries:,} and {len(responses):,}")
    return columns


def _confidence(log: Log, columns: Mapping[str, Any]) -> str | None:
    """The column that holds the confidence: the score of the ensemble, or the only score.

    None if there are none, or several of which the caller must choose; a note then names these.
    """
    for name in _WHOLE:
        if name in columns:
            return name
    scorers = [name for name in columns if name not in (*_TEXTS, *_LOGPROBS)]
    if len(scorers) == 1:
        return scorers[0]
    if scorers:
        names = ", ".join(scorers)
        log.notes.append(f"it has the scorers {names}: `confidence` takes one of them")
    return None
