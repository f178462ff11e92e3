"""samples: traces or observations with their scores; each score is a scorer."""

from collections.abc import Iterator, Mapping
from typing import Any

from trueness.errors import InputError
from trueness.sources.logs._sample import (
    Epochs,
    Log,
    Report,
    Sample,
    as_list,
    as_text,
    output_text,
    records_at,
    subject_of,
    typed,
)

_CONFIDENCES = ("confidence", "probability", "prob")


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """samples: traces or observations with their scores; each score is a scorer."""
    log.task = log.path.stem
    with log.path.open("rb") as file:
        is_page = file.read(64).replace(b" ", b"").replace(b"\n", b"").startswith(b'{"data":[')
    epochs = Epochs()
    for row in records_at(log, report, ("data",) if is_page else ()):
        scores = _scores(row, log)
        confidences = {name: scores.pop(name) for name in _CONFIDENCES if name in scores}
        question = f"{log.task}/{as_text(row.get('input'))}"
        model = str(row.get("model") or "")
        output = row.get("output")
        yield Sample(
            question=question,
            identity=str(row.get("id", "")),
            raw={**row, **confidences},
            model=model,
            scores=scores,
            text=output_text(output),
            epoch=epochs.next_of(question, model),
            subject=subject_of(row.get("metadata")),
            trouble="errored" if row.get("level") == "ERROR" else "",
        )


def _scores(row: Mapping[str, Any], log: Log) -> dict[str, Any]:
    """The scores by name; of several of one name, the last."""
    scores = row.get("scores") or {}
    if isinstance(scores, Mapping):
        return {
            name: as_list(value)[-1] for name, value in scores.items() if value not in (None, [])
        }
    values = {}
    for score in typed(scores, list, log.place, "scores"):
        if not isinstance(score, Mapping):  # pages of traces have the ids of scores
            demand = f"{log.place}: field 'scores' has the ids of scores, and not what they say"
            remedy = "Export the traces from the page of traces, or fetch each with its scores."
            raise InputError("", demand, remedy=remedy)
        text = score.get("stringValue", score.get("string_value"))
        is_text = score.get("dataType", score.get("data_type")) == "CATEGORICAL"
        values[str(score.get("name"))] = text if is_text else score.get("value")
    return values
