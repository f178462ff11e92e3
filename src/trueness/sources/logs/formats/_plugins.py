"""Formats that other packages add, by entry points of the group ``trueness.logs``."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from trueness.errors import TruenessWarning
from trueness.sources.logs._sample import Epochs, Log, Report, Sample, typed

_GROUP = "trueness.logs"


def plugin_of(path: Path, start: bytes) -> str:
    """The name of the entry point that recognises a file; empty if none does."""
    for name, reader in _plugins().items():
        if reader.recognise(path, start):
            return name
    return ""


@cache
def _plugins() -> dict[str, Any]:
    """The readers that other packages add.

    One that cannot be loaded is left out, with a warning.
    """
    readers = {}
    for entry in entry_points(group=_GROUP):
        reader = _loaded(entry)
        if reader is not None:
            readers[f"{_GROUP}:{entry.name}"] = reader
    return readers


def _loaded(entry: EntryPoint) -> object:
    """The reader of logs that an entry point names.

    None, with a warning, if it cannot be loaded or is no reader: another package may not stop this
    one.
    """
    try:
        reader = entry.load()
    except Exception as reason:  # any package may be broken in any way
        message = f"The reader of logs {entry.name!r} ({entry.value}) cannot be loaded: {reason}"
        warnings.warn(message, TruenessWarning, stacklevel=2)
        return None
    if callable(getattr(reader, "recognise", None)) and callable(getattr(reader, "read", None)):
        return reader
    message = f"The reader of logs {entry.name!r} ({entry.value}) lacks `recognise` or `read`."
    warnings.warn(message, TruenessWarning, stacklevel=2)
    return None


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """The answers of an entry point, each a mapping whose known keys are read."""
    log.task = log.path.stem
    size = log.path.stat().st_size
    epochs = Epochs()
    for i, row in enumerate(_plugins()[log.harness].read(log.path)):
        log.place = f"{log}, answer {i}"
        report(min(i, size))
        fields: Mapping[str, Any] = typed(row, Mapping, log.place)  # type: ignore[type-abstract]
        yield _sample(fields, log, epochs, i)
    report(size)


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _sample(row: Mapping[str, Any], log: Log, epochs: Epochs, number: int) -> Sample:
    """A row of another package's reader, as a sample; `number` is its place in the log."""
    identity = str(row.get("question", number))
    model = str(row.get("model") or "")
    log.task = str(row.get("task") or log.task)
    question = f"{log.task}/{identity}"
    logprob = row.get("logprob")
    return Sample(
        question=question,
        identity=identity,
        raw=row,
        model=model,
        scores={"label": row["label"]} if "label" in row else {},
        text=_text_or_none(row.get("text")),
        answer=_text_or_none(row.get("answer")),
        epoch=epochs.next_of(question, model),
        subject=str(row.get("subject") or ""),
        trouble=str(row.get("trouble") or ""),
        tokens=[(str(token), float(value)) for token, value in row.get("tokens") or ()],
        logprob=None if logprob is None else float(logprob),
    )
