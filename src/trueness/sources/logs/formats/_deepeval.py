"""samples: the test cases of a test run; each metric is a scorer."""

from collections.abc import Iterator, Mapping
from typing import Any

from trueness.sources.logs._sample import (
    Epochs,
    Log,
    Report,
    Sample,
    as_text,
    output_text,
    records_at,
    subject_of,
    typed,
)


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """samples: the test cases of a test run; each metric is a scorer."""
    log.task = log.path.stem.removeprefix(".")
    with log.path.open("rb") as file:
        is_latest = b'"testRunData"' in file.read(4096)
    path = ("testRunData", "testCases") if is_latest else ("testCases",)
    epochs = Epochs()
    for row in records_at(log, report, path):
        question = f"{log.task}/{as_text(row.get('input'))}"
        output = row.get("actualOutput")
        yield Sample(
            question=question,
            identity=str(row.get("name", "")),
            raw=row,
            scores=_scores(row, log),
            text=output_text(output),
            epoch=epochs.next_of(question),
            subject=subject_of(row.get("additionalMetadata") or row.get("metadata")),
        )


def _scores(row: Mapping[str, Any], log: Log) -> dict[str, Any]:
    """Whether each metric was passed; the whole case if there are none."""
    metrics = row.get("metricsData") or row.get("metricsMetadata")
    if not metrics:
        return {"success": row.get("success")}
    scores = {}
    for metric in typed(metrics, list, log.place, "metricsData"):
        name = str(metric.get("name") or metric.get("metric"))
        reason = _short(metric.get("error"))
        scores[name] = {"value": metric.get("success"), "reason": reason}
    return scores


def _short(error: object) -> str:
    """The reason of an error, short enough to be counted; empty if there was none."""
    if not error:
        return ""
    first_line = str(error).partition("\n")[0]
    return f"error: {first_line[:40]}"
