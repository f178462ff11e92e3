"""samples: the Parquet files of details that ``--save-details`` writes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trueness.errors import InputError
from trueness.sources.logs._sample import (
    NO_TARGETS,
    Log,
    Options,
    Report,
    Sample,
    Targets,
    as_list,
    number_or_nan,
    subject_of,
    typed,
)
from trueness.sources.tables._table import import_polars

_COLUMNS = ("doc", "metric", "model_response")
_BATCH_ROWS = 1 << 12
# Without the tokens, which take most of the file.
_FIELDS = {
    "doc": ("id", "query", "choices", "gold_index", "task_name", "specific"),
    "model_response": ("text", "text_post_processed", "logprobs"),
}


def is_lighteval(path: Path) -> bool:
    """Whether a Parquet file has the columns that samples writes."""
    try:
        import polars

        names = polars.read_parquet_schema(path).keys()
    except Exception:  # polars is missing or the file damaged: its reader says so
        return False
    return set(_COLUMNS) <= set(names)


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """samples: a row per document, in the details that ``--save-details`` writes."""
    pl = import_polars(str(log))
    log.model = _model(log.path)
    lazy = pl.scan_parquet(log.path, glob=False)
    schema = lazy.collect_schema()
    columns = [pl.col("metric")]
    for name, wanted in _FIELDS.items():
        if not isinstance(schema[name], pl.Struct):
            demand = f"{log}: column {name!r} must hold objects"
            raise InputError("", demand, f"it holds {schema[name]}")
        present = [field.name for field in schema[name].fields if field.name in wanted]
        fields = [pl.col(name).struct.field(field) for field in present]
        columns.append(pl.struct(fields).alias(name))
    size = log.path.stat().st_size
    rows_read = 0
    try:
        batches = lazy.select(columns).collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True)
        row_count = max(lazy.select(pl.len()).collect().item(), 1)
        for frame in batches:
            for row in frame.iter_rows(named=True):
                log.place = f"{log}, row {rows_read:,}"
                yield _sample(row, log, rows_read)
                rows_read += 1
            report(size * rows_read // row_count)
    except (OSError, pl.exceptions.PolarsError) as reason:
        why = str(reason).partition("\n")[0][:200]
        raise InputError("", f"{log} cannot be read as Parquet", why) from reason


def _model(path: Path) -> str:
    """The model, of ``details/{model}/{time}/details_{task}_{time}.parquet``."""
    folders = list(path.absolute().parent.parts)
    if "details" not in folders:
        return ""
    start = len(folders) - folders[::-1].index("details")
    return "/".join(folders[start:-1])


def _sample(row: Mapping[str, Any], log: Log, number: int) -> Sample:
    """One row of samples as a sample.

    It has options if the model chose among them by their log-probabilities, else the texts it
    wrote.
    """
    doc = typed(row["doc"], dict, log.place, "doc")
    response = typed(row["model_response"], dict, log.place, "model_response")
    log.task = log.task or str(doc.get("task_name") or log.path.stem)
    choices = [str(choice) for choice in doc.get("choices") or ()]
    texts = list(response.get("text_post_processed") or response.get("text") or ())
    text = texts[0] if texts else None
    logs = [number_or_nan(value) for value in response.get("logprobs") or ()]
    is_choice = text is None and len(choices) > 1 and len(logs) == len(choices)
    identity = str(number)
    if doc.get("id") is not None:
        identity = str(doc["id"])
    return Sample(
        question=f"{log.task}/{identity}",
        identity=identity,
        raw={**row, "number": number},
        scores=typed(row["metric"], dict, log.place, "metric"),
        text=text,
        others=tuple(texts[1:]),
        subject=subject_of(doc.get("specific")),
        options=Options(logs, choices) if is_choice else None,
        targets=_targets(doc, len(choices)) if is_choice else NO_TARGETS,
    )


def _targets(doc: Mapping[str, Any], size: int) -> Targets:
    gold = as_list(doc.get("gold_index"))
    right = tuple(index for index in gold if isinstance(index, int) and 0 <= index < size)
    return Targets(right, right)
