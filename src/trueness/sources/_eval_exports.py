"""Answers that other tools write, as samples: one function per format.

Chat-completion batches (OpenAI, vLLM), promptfoo, deepeval, langfuse, lighteval and UQLM; and the
formats that other packages add, by entry points of the group ``trueness.logs``.
"""

import json
import math
import warnings
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NamedTuple

from trueness.errors import InputError, TruenessWarning
from trueness.sources._eval_sample import (
    NO_TARGETS,
    Log,
    Options,
    Report,
    Sample,
    Targets,
    as_list,
    dotted,
    message_text,
    number_or_nan,
    object_in,
    records_at,
    subject_of,
    token_pairs,
    typed,
)
from trueness.sources._table import import_polars


def _as_text(value: Any) -> str:
    """A value as a name: texts as they are, others as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


class _Epochs:
    """Numbers the answers of one model to one question: repeats are further samples."""

    def __init__(self) -> None:
        self._counts: Counter[Hashable] = Counter()

    def next_of(self, *question: Hashable) -> int:
        self._counts[question] += 1
        return self._counts[question]


# ---- Chat-completion batches of OpenAI and vLLM


def chat_batch(log: Log, report: Report) -> Iterator[Sample]:
    """The output of a batch: a line per request, with one or several completions."""
    log.task = log.path.stem
    for row in records_at(log, report):
        yield from _chat_samples(row, log)


def _chat_samples(row: Mapping[str, Any], log: Log) -> Iterator[Sample]:
    """A sample for each completion of a request."""
    identity = typed(row.get("custom_id"), str, log.place, "custom_id")
    question = f"{log.task}/{identity}"
    response = row.get("response") or {}
    body = response.get("body") or {}
    if "choices" in response:  # earlier versions of vLLM have no body
        body = response
    failure = _chat_failure(row, response, body)
    if failure:
        yield Sample(question=question, identity=identity, raw=row, trouble=failure)
        return
    for i, choice in enumerate(body["choices"]):
        message = choice.get("message") or {}
        content = dotted(choice, "logprobs.content") or []
        refusal = message.get("refusal")
        yield Sample(
            question=question,
            identity=identity,
            raw=row,
            model=str(body.get("model") or ""),
            text=message_text(message.get("content", choice.get("text"))),
            epoch=i + 1,
            trouble="the model refused to answer" if refusal else "",
            tokens=token_pairs(content),
            logprob=_sum_of_logprobs(content),
        )


def _chat_failure(
    row: Mapping[str, Any], response: Mapping[str, Any], body: Mapping[str, Any]
) -> str:
    """Why a request has no completion; empty if it has one."""
    status = response.get("status_code", 200)
    if status != 200:
        return f"the request failed (status {str(status)[:3]})"
    error = row.get("error") or body.get("error")
    if error:
        code = error.get("code") if isinstance(error, Mapping) else None
        return f"the request failed ({str(code or 'error')[:40]})"
    if not body.get("choices"):
        return "the request failed (no completion)"
    return ""


def _sum_of_logprobs(content: Sequence[Mapping[str, Any]]) -> float | None:
    """The log-probability of all tokens together; None without tokens."""
    if not content:
        return None
    return math.fsum(number_or_nan(token.get("logprob")) for token in content)


def _sum_of_numbers(values: Sequence[Any] | None) -> float | None:
    if not values:
        return None
    return math.fsum(number_or_nan(value) for value in values)


class Logprobs(NamedTuple):
    """The tokens of an answer, if they are known, and its log-probability."""

    tokens: Sequence[tuple[str, float]] = ()
    total: float | None = None


def logprobs_beside(raw: Mapping[str, Any], path: str) -> Logprobs:
    """The log-probabilities that stand beside a field, or beside an object that holds it.

    `path` is the field, with dots between the names of the objects around it. The innermost object
    with log-probabilities counts; the result is empty if there is none.
    """
    holders: list[Any] = [raw]
    for name in path.split(".")[:-1]:
        holders.append(dotted(holders[-1], name))
    for holder in reversed(holders):
        if isinstance(holder, Mapping):
            logprobs = _logprobs_of(holder.get("logprobs", holder.get("logprob")))
            if logprobs.total is not None:
                return logprobs
    return Logprobs()


def _logprobs_of(value: Any) -> Logprobs:
    """The log-probabilities in a value of a log, and their sum.

    The value may be that of a chat completion, a list of numbers, or one number, which is the sum.
    Anything else gives an empty result.
    """
    if isinstance(value, Mapping):
        return _logprobs_of(value.get("content", value.get("token_logprobs")))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Logprobs(total=float(value))
    if not isinstance(value, list) or not value:
        return Logprobs()
    if all(isinstance(token, Mapping) for token in value):
        return Logprobs(token_pairs(value), _sum_of_logprobs(value))
    return Logprobs(total=_sum_of_numbers(value))


# ---- promptfoo

_PROMPTFOO_ERROR = 2  # the reason of a failure: 0 none, 1 an assertion, 2 an error of the call


def promptfoo(log: Log, report: Report) -> Iterator[Sample]:
    """promptfoo: the rows of ``results.results``, or JSON lines of such rows."""
    log.task = log.path.stem
    epochs = _Epochs()
    path = () if _is_row_of_promptfoo(log.path) else ("results", "results")
    for row in records_at(log, report, path):
        yield _promptfoo_sample(row, log, epochs)


def _is_row_of_promptfoo(path: Path) -> bool:
    """Whether the first object is a row, and not the whole evaluation."""
    with path.open("rb") as file:
        first_line = file.readline(1 << 24)
    try:
        return "testIdx" in json.loads(first_line)
    except ValueError:  # the file is one object of many lines
        return False


def _promptfoo_sample(row: Mapping[str, Any], log: Log, epochs: _Epochs) -> Sample:
    """One result of promptfoo as a sample; `epochs` numbers the repetitions of a question."""
    provider = row.get("provider")
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    model = str(provider or "")
    variables = row.get("vars") or dotted(row, "testCase.vars")
    question = f"{log.task}/{_as_text(variables or dotted(row, 'prompt.raw'))}"
    response = row.get("response")
    output = response.get("output") if isinstance(response, Mapping) else response
    named = typed(row.get("namedScores") or {}, dict, log.place, "namedScores")
    failed = row.get("failureReason") == _PROMPTFOO_ERROR
    if "failureReason" not in row:  # earlier versions
        failed = bool(row.get("error")) and output is None
    return Sample(
        question=question,
        identity=str(row.get("testIdx", "")),
        raw=row,
        model=model,
        scores={"success": row.get("success"), **named},
        text=_output_text(output),
        epoch=epochs.next_of(question, model),
        subject=subject_of(dotted(row, "testCase.metadata")) or subject_of(variables),
        trouble="errored" if failed else "",
        logprob=_sum_of_numbers(dotted(row, "response.logProbs")),
    )


def _output_text(output: Any) -> str | None:
    """What a model returned: a text, a message, or any JSON; None if it returned nothing."""
    if output is None:
        return None
    if isinstance(output, list) and output and isinstance(output[-1], Mapping):
        # Of a conversation, the last message is the answer; other lists are parts of a message.
        is_conversation = "content" in output[-1]
        return message_text(output[-1] if is_conversation else output)
    if isinstance(output, Mapping) and "content" in output:
        return message_text(output)
    return _as_text(output)


# ---- deepeval


def deepeval(log: Log, report: Report) -> Iterator[Sample]:
    """deepeval: the test cases of a test run; each metric is a scorer."""
    log.task = log.path.stem.removeprefix(".")
    with log.path.open("rb") as file:
        is_latest = b'"testRunData"' in file.read(4096)
    path = ("testRunData", "testCases") if is_latest else ("testCases",)
    epochs = _Epochs()
    for row in records_at(log, report, path):
        question = f"{log.task}/{_as_text(row.get('input'))}"
        output = row.get("actualOutput")
        yield Sample(
            question=question,
            identity=str(row.get("name", "")),
            raw=row,
            scores=_deepeval_scores(row, log),
            text=_output_text(output),
            epoch=epochs.next_of(question),
            subject=subject_of(row.get("additionalMetadata") or row.get("metadata")),
        )


def _deepeval_scores(row: Mapping[str, Any], log: Log) -> dict[str, Any]:
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


def _short(error: Any) -> str:
    """The reason of an error, short enough to be counted; empty if there was none."""
    if not error:
        return ""
    first_line = str(error).partition("\n")[0]
    return f"error: {first_line[:40]}"


# ---- langfuse

_LANGFUSE_CONFIDENCES = ("confidence", "probability", "prob")


def langfuse(log: Log, report: Report) -> Iterator[Sample]:
    """langfuse: traces or observations with their scores; each score is a scorer."""
    log.task = log.path.stem
    with log.path.open("rb") as file:
        is_page = file.read(64).replace(b" ", b"").replace(b"\n", b"").startswith(b'{"data":[')
    epochs = _Epochs()
    for row in records_at(log, report, ("data",) if is_page else ()):
        scores = _langfuse_scores(row, log)
        confidences = {name: scores.pop(name) for name in _LANGFUSE_CONFIDENCES if name in scores}
        question = f"{log.task}/{_as_text(row.get('input'))}"
        model = str(row.get("model") or "")
        output = row.get("output")
        yield Sample(
            question=question,
            identity=str(row.get("id", "")),
            raw={**row, **confidences},
            model=model,
            scores=scores,
            text=_output_text(output),
            epoch=epochs.next_of(question, model),
            subject=subject_of(row.get("metadata")),
            trouble="errored" if row.get("level") == "ERROR" else "",
        )


def _langfuse_scores(row: Mapping[str, Any], log: Log) -> dict[str, Any]:
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


# ---- lighteval

_LIGHTEVAL_COLUMNS = ("doc", "metric", "model_response")
_LIGHTEVAL_BATCH = 1 << 12
# Without the tokens, which take most of the file.
_LIGHTEVAL_FIELDS = {
    "doc": ("id", "query", "choices", "gold_index", "task_name", "specific"),
    "model_response": ("text", "text_post_processed", "logprobs"),
}


def is_lighteval(path: Path) -> bool:
    """Whether a Parquet file has the columns that lighteval writes."""
    try:
        import polars

        names = polars.read_parquet_schema(path).keys()
    except Exception:  # polars is missing or the file damaged: its reader says so
        return False
    return set(_LIGHTEVAL_COLUMNS) <= set(names)


def lighteval(log: Log, report: Report) -> Iterator[Sample]:
    """lighteval: a row per document, in the details that ``--save-details`` writes."""
    pl = import_polars(str(log))
    log.model = _lighteval_model(log.path)
    lazy = pl.scan_parquet(log.path, glob=False)
    schema = lazy.collect_schema()
    columns = [pl.col("metric")]
    for name, wanted in _LIGHTEVAL_FIELDS.items():
        if not isinstance(schema[name], pl.Struct):
            demand = f"{log}: column {name!r} must hold objects"
            raise InputError("", demand, f"it holds {schema[name]}")
        present = [field.name for field in schema[name].fields if field.name in wanted]
        fields = [pl.col(name).struct.field(field) for field in present]
        columns.append(pl.struct(fields).alias(name))
    size = log.path.stat().st_size
    rows_read = 0
    try:
        batches = lazy.select(columns).collect_batches(
            chunk_size=_LIGHTEVAL_BATCH, maintain_order=True
        )
        row_count = max(lazy.select(pl.len()).collect().item(), 1)
        for frame in batches:
            for row in frame.iter_rows(named=True):
                log.place = f"{log}, row {rows_read:,}"
                yield _lighteval_sample(row, log, rows_read)
                rows_read += 1
            report(size * rows_read // row_count)
    except (OSError, pl.exceptions.PolarsError) as reason:
        why = str(reason).partition("\n")[0][:200]
        raise InputError("", f"{log} cannot be read as Parquet", why) from reason


def _lighteval_model(path: Path) -> str:
    """The model, of ``details/{model}/{time}/details_{task}_{time}.parquet``."""
    folders = list(path.absolute().parent.parts)
    if "details" not in folders:
        return ""
    start = len(folders) - folders[::-1].index("details")
    return "/".join(folders[start:-1])


def _lighteval_sample(row: Mapping[str, Any], log: Log, number: int) -> Sample:
    """One row of lighteval as a sample.

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
        targets=_lighteval_targets(doc, len(choices)) if is_choice else NO_TARGETS,
    )


def _lighteval_targets(doc: Mapping[str, Any], size: int) -> Targets:
    gold = as_list(doc.get("gold_index"))
    right = tuple(index for index in gold if isinstance(index, int) and 0 <= index < size)
    return Targets(right, right)


# ---- UQLM

_UQLM_TEXTS = ("prompts", "responses", "sampled_responses")
_UQLM_LOGPROBS = ("logprobs", "multiple_logprobs", "sampled_logprobs")
_UQLM_WHOLE = ("ensemble_scores", "ensemble_score", "confidence_scores")


def uqlm(log: Log, report: Report) -> Iterator[Sample]:
    """UQLM: the result of a scorer as a dictionary of columns, which is read whole."""
    log.task = log.path.stem
    columns = _uqlm_columns(log)
    report(log.path.stat().st_size)
    confidence = _uqlm_confidence(log, columns)
    epochs = _Epochs()
    for i in range(len(columns["responses"])):
        log.place = f"{log}, response {i}"
        row = {name: column[i] for name, column in columns.items()}
        if confidence is not None:
            row["confidence"] = row[confidence]
        identity = _as_text(row.get("prompts", i))
        tokens = row.get("logprobs") or []
        yield Sample(
            question=f"{log.task}/{identity}",
            identity=identity,
            raw=row,
            text=_output_text(row["responses"]),
            others=[_output_text(other) or "" for other in row.get("sampled_responses") or ()],
            epoch=epochs.next_of(identity),
            tokens=token_pairs(tokens),
            logprob=_sum_of_logprobs(tokens),
        )


def _uqlm_columns(log: Log) -> dict[str, list[Any]]:
    """The columns of the result, each with one entry per response."""
    columns: dict[str, list[Any]] = typed(object_in(log.path).get("data"), dict, str(log), "data")
    responses = typed(columns.get("responses"), list, str(log), "data.responses")
    for name, column in columns.items():
        entries = len(typed(column, list, str(log), f"data.{name}"))
        if entries != len(responses):
            demand = f"{log}: field 'data.{name}' must have one entry per response"
            raise InputError("", demand, f"got {entries:,} and {len(responses):,}")
    return columns


def _uqlm_confidence(log: Log, columns: Mapping[str, Any]) -> str | None:
    """The column that holds the confidence: the score of the ensemble, or the only score.

    None if there are none, or several of which the caller must choose; a note then names these.
    """
    for name in _UQLM_WHOLE:
        if name in columns:
            return name
    scorers = [name for name in columns if name not in (*_UQLM_TEXTS, *_UQLM_LOGPROBS)]
    if len(scorers) == 1:
        return scorers[0]
    if scorers:
        names = ", ".join(scorers)
        log.notes.append(f"it has the scorers {names}: `confidence` takes one of them")
    return None


# ---- Formats of other packages

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


def _loaded(entry: EntryPoint) -> Any:
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


def plugin_samples(log: Log, report: Report) -> Iterator[Sample]:
    """The answers of an entry point, each a mapping whose known keys are read."""
    log.task = log.path.stem
    size = log.path.stat().st_size
    epochs = _Epochs()
    for i, row in enumerate(_plugins()[log.harness].read(log.path)):
        log.place = f"{log}, answer {i}"
        report(min(i, size))
        yield _plugin_sample(typed(row, Mapping, log.place), log, epochs, i)
    report(size)


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def _plugin_sample(row: Mapping[str, Any], log: Log, epochs: _Epochs, number: int) -> Sample:
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
