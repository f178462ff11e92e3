"""samples: results of prompts, providers and test cases."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from trueness.sources.logs._logprobs import sum_of_numbers
from trueness.sources.logs._sample import (
    Epochs,
    Log,
    Report,
    Sample,
    as_text,
    dotted,
    output_text,
    records_at,
    subject_of,
    typed,
)

_CALL_FAILED = 2  # the reason of a failure: 0 none, 1 an assertion, 2 an error of the call


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """samples: the rows of ``results.results``, or JSON lines of such rows."""
    log.task = log.path.stem
    epochs = Epochs()
    path = () if _is_file_of_rows(log.path) else ("results", "results")
    for row in records_at(log, report, path):
        yield _sample(row, log, epochs)


def _is_file_of_rows(path: Path) -> bool:
    """Whether the first object is a row, and not the whole evaluation."""
    with path.open("rb") as file:
        first_line = file.readline(1 << 24)
    try:
        return "testIdx" in json.loads(first_line)
    except ValueError:  # the file is one object of many lines
        return False


def _sample(row: Mapping[str, Any], log: Log, epochs: Epochs) -> Sample:
    """One result of samples as a sample; `epochs` numbers the repetitions of a question."""
    provider = row.get("provider")
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    model = str(provider or "")
    variables = row.get("vars") or dotted(row, "testCase.vars")
    question = f"{log.task}/{as_text(variables or dotted(row, 'prompt.raw'))}"
    response = row.get("response")
    output = response.get("output") if isinstance(response, Mapping) else response
    named = typed(row.get("namedScores") or {}, dict, log.place, "namedScores")
    failed = row.get("failureReason") == _CALL_FAILED
    if "failureReason" not in row:  # earlier versions
        failed = bool(row.get("error")) and output is None
    return Sample(
        question=question,
        identity=str(row.get("testIdx", "")),
        raw=row,
        model=model,
        scores={"success": row.get("success"), **named},
        text=output_text(output),
        epoch=epochs.next_of(question, model),
        subject=subject_of(dotted(row, "testCase.metadata")) or subject_of(variables),
        trouble="errored" if failed else "",
        logprob=sum_of_numbers(cast(Sequence[Any] | None, dotted(row, "response.logProbs"))),
    )
