"""Any JSON, of which the caller names the fields."""

from collections.abc import Iterator

from trueness.errors import InputError
from trueness.sources.logs._sample import Log, Report, Sample, objects_in, records_at, subject_of


def samples(log: Log, report: Report, rows_field: str | None) -> Iterator[Sample]:
    """Objects of any kind, whose fields the caller names, and the field of their array."""
    log.task = log.path.stem
    if rows_field is None:
        rows = objects_in(log, report)
    else:
        rows = records_at(log, report, rows_field.split("."))
    row_count = 0
    for row in rows:
        yield Sample(question=f"{log.task}/{row_count}", raw=row, subject=subject_of(row))
        row_count += 1
    if rows_field is not None and row_count == 0:
        got = f"{log} has no object at {rows_field!r}"
        raise InputError("rows_field", "must name an array of answers", got)
