"""Evaluation logs as samples, one at a time: lm-eval, inspect, HELM, OpenAI evals, and other JSON.

Chat batches and the exports of other tools are in `_eval_exports`. A log is recognised by its
content. Nothing of an archive is extracted.
"""

import importlib
import json
import math
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness.errors import InputError, MissingLibraryError
from trueness.sources import _eval_exports as exports
from trueness.sources._eval_confidence import Confidence, Missing
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
    objects_in,
    parse,
    records_at,
    subject_of,
    token_pairs,
    typed,
)
from trueness.sources._text import BLANK, DAMAGED, JsonReader
from trueness.sources._zstd import import_zstandard, read_member

Reader: TypeAlias = Callable[[Log, Report], Iterator[Sample]]

HELM_FILE = "per_instance_stats.json"
_ZIP_START = b"PK\x03\x04"
_PARQUET_START = b"PAR1"

# What each format has at the start of a file, behind blanks: all of these must match.
_SIGNS: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    (
        "openai",
        (rb'^\{\s*"spec"\s*:\s*\{', rb'"(run_config|eval_name|base_eval|completion_fns)"'),
    ),
    ("helm", (rb'^\[\s*\{\s*"(instance_id|train_trial_index|perturbation|stats)"\s*:',)),
    ("lm-eval", (rb"^[\[{]", rb'"doc_id"\s*:', rb'"(resps|filtered_resps|arguments)"\s*:')),
    ("inspect", (rb"^\{", rb'"eval"\s*:\s*\{', rb'"(version|status)"\s*:')),
    ("chat batch", (rb"^\{", rb'"custom_id"\s*:', rb'"response"\s*:')),
    (
        "promptfoo",
        (
            rb"^\{",
            rb'"results"\s*:\s*\{\s*"(version|timestamp|results|prompts)"\s*:',
            rb'"(prompts|evalId|stats|testIdx|failureReason)"\s*:',
        ),
    ),
    ("promptfoo", (rb"^\{", rb'"promptIdx"\s*:\s*\d', rb'"testIdx"\s*:\s*\d', rb'"success"\s*:')),
    (
        "deepeval",
        (
            rb"^\{",
            rb'"testCases"\s*:\s*\[',
            rb'"(actualOutput|metricsData|metricsScores|testRunData)"\s*:',
        ),
    ),
    (
        "langfuse",
        (
            rb"^[\[{]",
            rb'"input"\s*:',
            rb'"output"\s*:',
            rb'"scores"\s*:\s*[\[{]',
            rb'"(htmlPath|observations|traceId|trace_id|projectId|project_id|bookmarked)"\s*:',
        ),
    ),
    (
        "uqlm",
        (
            rb'^\{\s*"data"\s*:\s*\{\s*"(prompts|responses)"\s*:\s*\[',
            rb'"(responses|sampled_responses|prompts)"',
        ),
    ),
)
_INSPECT_MEMBERS = rb"(_journal/|samples/|header\.json)"
_START_SIZE = 4096
# A file of one line, such as a whole log of inspect, is searched this far.
_LONGEST_FIRST_LINE = 1 << 24


def recognise(path: Path) -> str:
    """The name of the harness that wrote a file, found from its content; '' for other files.

    A pipe is never recognised, as it can be read only once. Readers of other packages are asked
    last.
    """
    if path.name == HELM_FILE:
        return "helm"
    if path.is_fifo():  # a pipe can be read only once
        return ""
    start = _start_of(path)
    if start.startswith(_ZIP_START):
        is_log = path.suffix == ".eval" or re.search(_INSPECT_MEMBERS, start)
        return "inspect" if is_log else ""
    if start.startswith(_PARQUET_START) and exports.is_lighteval(path):
        return "lighteval"
    text = start.lstrip(BLANK)
    for harness, signs in _SIGNS:
        if all(re.search(sign, text) for sign in signs):
            return harness
    return exports.plugin_of(path, start)


def _start_of(path: Path) -> bytes:
    """The first bytes, and of JSON the whole first line; nothing if the file cannot be read."""
    try:
        with path.open("rb") as file:
            start = file.read(_START_SIZE)
            is_json = start.lstrip(BLANK).startswith((b"{", b"["))
            if is_json and b"\n" not in start[:-1]:
                start += file.readline(_LONGEST_FIRST_LINE)
    except OSError:
        return b""
    return start


def samples_of(log: Log, report: Report) -> Iterator[Sample]:
    """The samples of a log in order."""
    reader = _READERS.get(log.harness, exports.plugin_samples)
    return reader(log, report)


# The types of fields that a harness writes; a field that is absent or null has none.
_TYPES: dict[str, dict[str, type]] = {
    "lm-eval": {"doc": dict, "filtered_resps": list, "metrics": list},
    "inspect": {
        "epoch": int,
        "choices": list,
        "messages": list,
        "scores": dict,
        "output": dict,
        "output.choices": list,
        "output.choices.0": dict,
        "output.choices.0.logprobs": dict,
        "output.choices.0.logprobs.content": list,
        "output.choices.0.logprobs.content.0": dict,
    },
    "helm": {
        "instance_id": str,
        "train_trial_index": int,
        "stats": list,
        "stats.0": dict,
        "stats.0.name": dict,
    },
    "openai": {"spec": dict, "type": str, "data": dict},
}
_NEEDED_FIELDS = {
    "lm-eval": ("doc_id",),
    "inspect": ("id",),
    "helm": ("instance_id", "stats"),
}


def _checked(raw: Any, log: Log) -> dict[str, Any]:
    """An object of the log whose fields have the types that its harness writes."""
    row: dict[str, Any] = typed(raw, dict, log.place)
    for name in _NEEDED_FIELDS.get(log.harness, ()):
        if name not in row:
            problem = f"field {name!r} is missing: damaged, or a log of another schema"
            raise InputError("", f"{log.place}: {problem}")
    for name, kind in _TYPES[log.harness].items():
        value = dotted(row, name)
        if value is not None:
            typed(value, kind, log.place, name)
    return row


def _rows(log: Log, report: Report) -> Iterator[dict[str, Any]]:
    for row in objects_in(log, report):
        yield _checked(row, log)


# ---- lm-evaluation-harness

_LM_EVAL_NAME = re.compile(r"samples_(.*?)_(\d{4}-\d\d-\d\dT[-\d.:]+)\.jsonl?")
# What a run that was started again into the same folder has in common with the first start.
_LM_EVAL_SETTINGS = (
    "model_name",
    "config.model_args",
    "config.gen_kwargs",
    "system_instruction_sha",
    "chat_template_sha",
)
# Metrics that keep the number of the right option beside their value.
_METRICS_WITH_TARGET = ("brier_score", "likelihood", "f1", "mcc")


def _lm_eval(log: Log, report: Report) -> Iterator[Sample]:
    """lm-evaluation-harness: a line per document and filter."""
    config = _lm_eval_header(log)
    for row in _rows(log, report):
        yield _lm_eval_sample(row, log, config)


def _lm_eval_header(log: Log) -> Mapping[str, Any]:
    """Fill in what the name of the file and the results beside it say; the settings of the task."""
    name = _LM_EVAL_NAME.fullmatch(log.path.name)
    if name is None:
        log.task = log.path.stem.removeprefix("samples_")
    else:
        log.task = name[1]
        log.created = name[2]
    results_file = _lm_eval_results(log)
    if results_file is None:
        results: Mapping[str, Any] = {}
        unknown = "its model is unknown, and the type of task is inferred"
        log.notes.append(f"no file of results lies beside it: {unknown}")
    else:
        results = object_in(results_file)
    config: Mapping[str, Any] = (results.get("configs") or {}).get(log.task, {})
    log.model = str(results.get("model_name") or dotted(results, "config.model_args") or "")
    if name is not None:
        settings = [str(dotted(results, setting)) for setting in _LM_EVAL_SETTINGS]
        folder = str(log.path.parent)
        shots = str(config.get("num_fewshot"))
        log.identity = "/".join([folder, log.task, shots, *settings])
    return config


def _lm_eval_results(log: Log) -> Path | None:
    """The file of results of the same time; of a log without a time, the only one beside it."""
    beside = sorted(log.path.parent.glob("results*.json"))
    for file in beside:
        if log.created and log.created in file.name:
            return file
    return beside[0] if len(beside) == 1 else None


def _lm_eval_sample(row: Mapping[str, Any], log: Log, config: Mapping[str, Any]) -> Sample:
    """One row of lm-evaluation-harness as a sample.

    Its responses are the log-likelihoods of the options, or the text that the model wrote.
    """
    filtered = row.get("filtered_resps", row.get("resps"))
    responses = [_unwrapped(one) for one in typed(filtered, list, log.place, "filtered_resps")]
    likelihoods = bool(responses) and all(_is_likelihood(response) for response in responses)
    choices = _NO_CHOICES
    is_choice = config.get("output_type") in (None, "multiple_choice")
    if is_choice and likelihoods and len(responses) > 1:
        logs = [number_or_nan(response[0]) for response in responses]
        delimiter = str(config.get("target_delimiter", " "))
        choices = _lm_eval_choices(row, logs, delimiter, log.place)
    answer = None
    if responses and not likelihoods:
        answer = str(responses[0])
    trouble = ""
    if answer is not None and answer.strip() in ("", "[invalid]"):
        trouble = "no answer"
    if likelihoods and choices.options is None:
        trouble = "the log has the likelihood of the right answer, not of the answer given"
    return Sample(
        question=str(row.get("doc_hash") or f"{log.task}/{row['doc_id']}"),
        identity=str(row["doc_id"]),
        raw=row,
        scores=_lm_eval_scores(row),
        text=_lm_eval_text(row, answer),
        subject=subject_of(row.get("doc")),
        answer=answer,
        trouble=trouble,
        part=str(row.get("filter", "")),
        options=choices.options,
        targets=choices.targets,
    )


def _unwrapped(response: Any) -> Any:
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    return response


def _is_likelihood(response: Any) -> bool:
    """Whether it is a log-likelihood beside whether it is that of the most likely answer."""
    if not isinstance(response, list) or len(response) != 2:
        return False
    value, is_greedy = response
    if str(is_greedy) not in ("True", "False"):
        return False
    return not math.isnan(number_or_nan(value)) or str(value) == "nan"


def _lm_eval_scores(row: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a line; a list belongs to a metric of all lines, such as F1."""
    names = list(row.get("metrics") or ())
    names += [name for name in ("acc", "exact_match") if name in row]
    scores = {}
    for name in names:
        value = row.get(name)
        if value is None or isinstance(value, int | float | str):
            scores[name] = value
    return scores


def _lm_eval_text(row: Mapping[str, Any], answer: str | None) -> Any:
    """What the model wrote; None if that is unknown.

    A filter may leave only the number of an answer, and a confidence stands in the whole
    response. Of several responses, it is the one that the filter let through as it was.
    """
    written = answer and _unwrapped(row.get("resps") or answer)
    if not isinstance(written, list):
        return written
    return answer if answer in written else None


class _Choices(NamedTuple):
    """The options of a document, if it has any, and which are right."""

    options: Options | None
    targets: Targets


_NO_CHOICES = _Choices(None, NO_TARGETS)


def _lm_eval_choices(
    row: Mapping[str, Any], logs: list[float], delimiter: str, place: str
) -> _Choices:
    """The options of a question with their log-likelihoods `logs`, and which of them is right.

    Refused are rows with fewer options than log-likelihoods.
    """
    texts = _lm_eval_arguments(row)
    half = len(logs) // 2
    # The second half may be the same options without the question.
    doubled = half > 1 and len(texts) == 2 * half == len(logs)
    without_question = doubled and not any(pair[0] for pair in texts[half:])
    if without_question or "acc_mutual_info" in row:
        logs = logs[:half]
        texts = texts[:half]
    if texts and len(texts) != len(logs):
        got = f"'filtered_resps' has {len(logs)} options and 'arguments' {len(texts)}"
        raise InputError("", f"{place}: {got}")
    # As in winogrande: the options stand in the question, and the text after them is the same.
    in_question = len({pair[-1] for pair in texts}) == 1
    if in_question:
        choices = [pair[0] for pair in texts]
        targets = NO_TARGETS
    else:
        choices = [pair[-1].removeprefix(delimiter) for pair in texts]
        targets = _lm_eval_targets(row, choices, len(logs))
    return _Choices(Options(logs, choices or [""] * len(logs)), targets)


def _lm_eval_arguments(row: Mapping[str, Any]) -> list[list[str]]:
    """The question and the option of each likelihood."""
    arguments = row.get("arguments") or ()
    pairs = arguments.values() if isinstance(arguments, Mapping) else arguments
    texts = []
    for pair in pairs:
        parts = pair.values() if isinstance(pair, Mapping) else pair
        texts.append([str(part) for part in parts][:2])
    return texts


def _lm_eval_targets(row: Mapping[str, Any], choices: Sequence[str], size: int) -> Targets:
    """The right options; the target is a text, whatever its type was."""
    for name in _METRICS_WITH_TARGET:
        value = row.get(name)
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, int) and 0 <= first < size:
            return Targets((first,), (first,))
    target = row.get("target")
    if re.fullmatch(r"\[[-\d,\s]*\]", str(target)):
        target = json.loads(str(target))
    numbers = []
    texts = []
    for spelled in map(str, as_list(target)):
        if re.fullmatch(r"\d+", spelled) and int(spelled) < size:
            numbers.append(int(spelled))
        if spelled in choices:
            texts.append(choices.index(spelled))
    return Targets(tuple(numbers or texts), tuple(texts or numbers))


# ---- inspect

_INSPECT_VERSION = 2
_INSPECT_SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)")
_INSPECT_HEADERS = ("header.json", "_journal/start.json")


def _inspect(log: Log, report: Report) -> Iterator[Sample]:
    """inspect: a zip with a member per sample, or one JSON object."""
    with log.path.open("rb") as file:
        is_zip = file.read(4) == _ZIP_START
    return _inspect_zip(log, report) if is_zip else _inspect_json(log, report)


def _inspect_json(log: Log, report: Report) -> Iterator[Sample]:
    """The samples of a JSON log of inspect, one by one; what stands before them is its header."""
    header: dict[str, Any] = {}
    sample_count = 0
    with log.path.open("rb") as file:
        for key, value in JsonReader(file, str(log), report).items("samples"):
            if key != "samples" or value is None:
                header[key] = value
                continue
            if sample_count == 0:  # the header stands before the samples
                _inspect_header(log, header, str(log))
            log.place = f"{log}, samples[{sample_count}]"
            yield _inspect_sample(value, log)
            sample_count += 1
    if sample_count == 0:
        _inspect_header(log, header, str(log))


def _inspect_zip(log: Log, report: Report) -> Iterator[Sample]:
    """The samples of an `.eval` archive of inspect, one by one, after its header.

    Of repeated members the last counts, and a note says so; so does one for a run that did not
    finish.
    """
    with _archive(log) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        repeated = len(archive.infolist()) - len(entries)
        if repeated:
            log.notes.append(f"{repeated:,} members are repeated, and the last of each counts")
        header = _header_member(log, entries)
        if header != "header.json":
            log.notes.append("the run did not finish: it has no member 'header.json'")
        members = _Members(archive, log)
        _inspect_header(log, members.read(entries[header]), f"{log}, member {header!r}")
        bytes_read = 0
        for name, entry in entries.items():
            if _INSPECT_SAMPLE.fullmatch(name):
                bytes_read += entry.compress_size
                report(bytes_read)
                raw = members.read(entry)
                log.place = f"{log}, member {name!r}"
                yield _inspect_sample(raw, log)


def _header_member(log: Log, names: Mapping[str, Any]) -> str:
    for name in _INSPECT_HEADERS:
        if name in names:
            return name
    wanted = " and ".join(repr(name) for name in _INSPECT_HEADERS)
    raise InputError("", f"{log} is a zip file without the members {wanted}")


def _inspect_header(log: Log, header: Any, place: str) -> None:
    """Take the task, the model and the date of a run of inspect from its header.

    Schemas newer than those known are refused; a run that did not finish gets a note.
    """
    version = typed(header, dict, place).get("version", 1)
    if not isinstance(version, int) or version > _INSPECT_VERSION:
        limit = f"at most {_INSPECT_VERSION}, the newest schema that is known"
        raise InputError("", f"{place}: field 'version' must be {limit}", f"got {version!r}")
    run = typed(header.get("eval"), dict, place, "eval")
    log.task = typed(run.get("task"), str, place, "eval.task")
    log.model = str(run.get("model", ""))
    log.created = str(run.get("created", ""))
    log.identity = str(run.get("task_id", ""))
    status = header.get("status", "success")
    if status != "success":
        log.notes.append(f"the run did not finish: its status is {status!r}")


def _inspect_sample(raw: Any, log: Log) -> Sample:
    """One sample of inspect: its last answer, scores, tokens and options."""
    row = _checked(raw, log)
    output = row.get("output") or {}
    choice = dotted(output, "choices.0") or {}
    text = _inspect_answer(output, choice)
    scores = row.get("scores")
    if not scores:  # older logs had one score
        scores = {"score": row["score"]} if row.get("score") else {}
    content = dotted(choice, "logprobs.content") or []
    messages = [
        message_text(message.get("content"))
        for message in row.get("messages") or ()
        if message.get("role") == "assistant"
    ]
    choices = _inspect_choices(row, content)
    return Sample(
        question=f"{log.task}/{row['id']}",
        identity=str(row["id"]),
        raw=row,
        scores=scores,
        text=text,
        all_text="\n".join([*messages, text]),
        # int64, so that a number that is too large is an error here, where its place is known.
        epoch=int(np.int64(row.get("epoch") or 1)),
        subject=subject_of(row.get("metadata")),
        trouble=_inspect_trouble(row),
        tokens=token_pairs(content),
        options=choices.options,
        targets=choices.targets,
    )


def _inspect_answer(output: Mapping[str, Any], choice: Any) -> str:
    if output.get("completion") is None:
        return message_text(dotted(choice, "message.content"))
    return str(output["completion"])


def _inspect_trouble(row: Mapping[str, Any]) -> str:
    if row.get("error"):
        return "errored"
    if row.get("invalidation"):
        return "invalidated"
    return ""


def _inspect_choices(row: Mapping[str, Any], content: Sequence[Any]) -> _Choices:
    """The log-probabilities of all letters at the last token that is one of them."""
    choices = [str(choice) for choice in row.get("choices") or ()]
    letters = [chr(ord("A") + i) for i in range(len(choices))]
    tops = [
        token.get("top_logprobs")
        for token in content
        if str(token.get("token", "")).strip() in letters
    ]
    if len(letters) < 2 or not tops or not tops[-1]:
        return _NO_CHOICES
    sums = _letter_probabilities(letters, tops[-1])
    right = tuple(letters.index(one) for one in as_list(row.get("target")) if one in letters)
    if not all(sums):
        return _NO_CHOICES
    logs = [math.log(probability) for probability in sums]
    return _Choices(Options(logs, choices), Targets(right, right))


def _letter_probabilities(letters: Sequence[str], top: Sequence[Any]) -> list[float]:
    """The probability of each letter, over all tokens that spell it."""
    seen = [(str(token.get("token")).strip(), number_or_nan(token.get("logprob"))) for token in top]
    probabilities = []
    for letter in letters:
        powers = [math.exp(logprob) for spelled, logprob in seen if spelled == letter]
        probabilities.append(math.fsum(powers))
    return probabilities


# ---- Archives of inspect

_ZSTD = 93
# Python unpacks other methods without a limit on memory.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD)
# The members of an archive may unpack to this many bytes, plus this many times its size: enough for
# any log, too little to fill a memory. Objects of Python take up to 24 times the bytes of their
# JSON.
_ROOM = 1 << 24
_RATIO = 100
_CHUNK = 1 << 20


def _archive(log: Log) -> Any:
    """The zip archive of a log; with the backport of zstd for Pythons that need it.

    Damaged archives are refused, and members whose names lead outside.
    """
    try:
        archive: Any = zipfile.ZipFile(log.path)
        uses_zstd = any(entry.compress_type == _ZSTD for entry in archive.infolist())
        if uses_zstd and sys.version_info < (3, 14):
            archive = _backported_archive(log) or archive
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as reason:
        demand = f"{log} cannot be read as a zip file: {DAMAGED}"
        raise InputError("", demand, str(reason)) from None
    for name in archive.namelist():
        if _is_hostile(name):
            problem = "a name that leads outside of it or is hidden"
            raise InputError("", f"{log} has the member {name[:200]!r}, {problem}")
    return archive


def _backported_archive(log: Log) -> Any | None:
    """The archive by the backport of Python 3.14; None if zstandard unpacks its members instead."""
    with suppress(ImportError):
        return importlib.import_module("backports.zstd.zipfile").ZipFile(log.path)
    if import_zstandard() is None:
        remedy = "`pip install 'trueness[evals]'`, or use Python 3.14"
        raise MissingLibraryError(f"{log} is compressed with zstd. To read it: {remedy}.")
    return None


def _is_hostile(name: str) -> bool:
    """Whether the name of a member is no plain path inside of the archive."""
    return name.startswith("/") or "\\" in name or ".." in name.split("/") or not name.isprintable()


class _Members:
    """The members of an archive as JSON, of which a small file cannot unpack to a large memory."""

    def __init__(self, archive: Any, log: Log) -> None:
        self.archive = archive
        self.log = log
        self.limit = _ROOM + _RATIO * log.path.stat().st_size
        self.left = self.limit

    def read(self, entry: Any) -> Any:
        """The parsed JSON of one member.

        Refused are other packings, damaged members, and those that exceed what is left of the limit
        of bytes.
        """
        place = f"{self.log}, member {entry.filename!r},"
        if entry.compress_type not in _METHODS:
            demand = f"{place} must be stored, deflated or packed by zstd"
            raise InputError("", demand, f"got {entry.compress_type}")
        if entry.file_size > self.left:
            raise self._too_large(entry, place)
        self.left -= entry.file_size
        try:
            data = self._unpacked(entry)
        except Exception as reason:  # zlib, zstd and the system raise a dozen classes
            demand = f"{place} cannot be unpacked: {DAMAGED}"
            raise InputError("", demand, str(reason)) from None
        return parse(data, place)

    def _unpacked(self, entry: Any) -> bytes:
        """The bytes of one member, unpacked."""
        is_plain = type(self.archive) is zipfile.ZipFile
        if entry.compress_type == _ZSTD and is_plain and sys.version_info < (3, 14):
            return read_member(self.log.path, entry, import_zstandard())
        # Not at once: what is packed may have more bytes than the archive says, and ends with its
        # checksum.
        with self.archive.open(entry) as file:
            return b"".join(iter(lambda: file.read(_CHUNK), b""))

    def _too_large(self, entry: Any, place: str) -> InputError:
        together = "" if self.left == self.limit else " with those before it"
        limit = f"at most {self.limit:,} bytes, by the size of the file"
        remedy = "`inspect log dump` writes a log as JSON, which is read whatever its size."
        demand = f"{place} must unpack{together} to {limit}"
        return InputError("", demand, f"it has {entry.file_size:,}", remedy=remedy)


# ---- HELM


def _helm(log: Log, report: Report) -> Iterator[Sample]:
    """HELM: the statistics of each instance, in the folder of a run."""
    subject = _helm_header(log)
    splits: set[str] = set()
    for row in _rows(log, report):
        stats = _helm_stats(row, log)
        if stats.split not in ("", "train"):
            splits.add(stats.split)
        yield _helm_sample(row, log, stats, subject)
    if splits and "test" not in splits:
        names = ", ".join(sorted(splits))
        log.notes.append(f"it has no instances of the split 'test': those of {names} count")


def _helm_header(log: Log) -> str:
    """Fill in what the specification of the run says; the subject of all its instances."""
    file = log.path.with_name("run_spec.json")
    spec = object_in(file) if file.is_file() else {}
    if not spec:
        log.notes.append("it has no file run_spec.json: its model is unknown")
    log.model = str(dotted(spec, "adapter_spec.model") or "")
    name = str(spec.get("name") or log.path.absolute().parent.name)
    log.task = re.sub(r"[,:]?model(_deployment)?=[^,]*", "", name).strip(",:")
    return subject_of(dotted(spec, "scenario_spec.args"))


class _HelmStats(NamedTuple):
    """The numbers of one instance."""

    means: dict[str, Any]  # by name, of the instance itself
    split: str
    perturbed: bool


def _helm_stats(row: Mapping[str, Any], log: Log) -> _HelmStats:
    """The numbers of the instance itself.

    Newer versions list beside them what perturbations did to each number.
    """
    means = {}
    split = ""
    plain_count = 0
    for stat in row["stats"]:
        name = typed(stat.get("name"), dict, log.place, "stats[].name")
        if name.get("split") and not split:
            split = str(name["split"])
        if name.get("perturbation") is not None:
            continue
        plain_count += 1
        if stat.get("count") and stat.get("mean") is not None:
            means[str(name.get("name"))] = stat["mean"]
    perturbed = row.get("perturbation") is not None or plain_count == 0
    return _HelmStats(means, split, perturbed)


def _helm_sample(row: Mapping[str, Any], log: Log, stats: _HelmStats, subject: str) -> Sample:
    """One instance of HELM as a sample, with the means of its statistics."""
    identity = typed(row["instance_id"], str, log.place, "instance_id")
    return Sample(
        question=f"{log.task}/{identity}",
        identity=identity,
        raw={**row, "stats": stats.means},
        scores=stats.means,
        epoch=int(np.int64(row.get("train_trial_index") or 0)) + 1,
        subject=subject,
        trouble=_helm_trouble(stats),
        confidences=_helm_confidences(stats),
        part="" if stats.split == "train" else stats.split,
        perturbed=stats.perturbed,
    )


def _helm_trouble(stats: _HelmStats) -> str:
    if stats.perturbed:
        return "a perturbed instance"
    if stats.split == "train":
        return "a training instance"
    return ""


def _helm_confidences(stats: _HelmStats) -> dict[str, Confidence]:
    probability = number_or_nan(stats.means.get("max_prob"))
    if math.isnan(probability):
        return {}
    if 0 <= probability <= 1:
        return {"logprob": probability}
    return {"logprob": Missing("max_prob is outside 0 to 1")}


# ---- OpenAI evals


def _openai(log: Log, report: Report) -> Iterator[Sample]:
    """OpenAI evals: events, of which several belong to one sample."""
    events: dict[str, dict[str, Any]] = {}
    finished = False
    for row in _rows(log, report):
        if "spec" in row:
            _openai_header(log, row["spec"])
        elif row.get("sample_id") is not None:
            event_of_sample = events.setdefault(str(row["sample_id"]), {"cond_logp": []})
            _openai_event(log, row, event_of_sample)
        finished = finished or "final_report" in row
    if not finished:
        log.notes.append("the run did not finish: it has no final report")
    for identity, event_of_sample in events.items():
        log.place = f"{log}, sample {identity!r}"
        yield _openai_sample(log, identity, event_of_sample)


def _openai_header(log: Log, spec: Mapping[str, Any]) -> None:
    models = spec.get("completion_fns") or [spec.get("model") or ""]
    log.task = str(spec.get("eval_name") or spec.get("base_eval") or "")
    log.model = ", ".join(str(model) for model in models)
    log.identity = str(spec.get("run_id") or "")
    log.created = str(spec.get("created_at") or "")


def _openai_event(log: Log, row: Mapping[str, Any], events: dict[str, Any]) -> None:
    """Add an event to those of its sample: likelihoods are several, of others the last counts."""
    kind = row["type"]
    if kind == "cond_logp":
        events["cond_logp"].append(row["data"])
        return
    if kind == "match" and "match" in events:
        log.repeated += 1
    events[kind] = row["data"]


def _openai_sample(log: Log, identity: str, events: Mapping[str, Any]) -> Sample:
    """The events of one sample of OpenAI evals, as a sample."""
    match = events.get("match", {})
    sampled = _unwrapped(match.get("sampled", dotted(events, "sampling.sampled")))
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
        trouble=_openai_trouble(events, text),
        logprob=_openai_logprob(events, answer=str(match.get("picked") or text or "").strip()),
    )


def _openai_trouble(events: Mapping[str, Any], text: str | None) -> str:
    if "error" in events:
        return "errored"
    if text is not None and not text.strip():
        return "no answer"
    return ""


def _openai_logprob(events: Mapping[str, Any], answer: str) -> float | None:
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


# ---- Other JSON


def other_samples(log: Log, report: Report, rows_field: str | None) -> Iterator[Sample]:
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


_READERS: dict[str, Reader] = {
    "lm-eval": _lm_eval,
    "inspect": _inspect,
    "helm": _helm,
    "openai": _openai,
    "chat batch": exports.chat_batch,
    "promptfoo": exports.promptfoo,
    "deepeval": exports.deepeval,
    "langfuse": exports.langfuse,
    "lighteval": exports.lighteval,
    "uqlm": exports.uqlm,
}
