"""Evaluation logs as samples, one at a time: lm-eval, inspect, HELM, OpenAI evals, and other JSON.

A log is recognised by its content. Nothing of an archive is extracted.
"""

import importlib
import json
import math
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from trueness.errors import InputError, MissingLibraryError, TruenessError
from trueness.sources._text import DAMAGED, JsonReader

HELM_FILE = "per_instance_stats.json"
_ZSTD = 93
_METHODS = (
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
    _ZSTD,
)  # Python unpacks others without a limit
# The members of an archive may unpack to this many bytes, plus this many times its size: enough for
# any log, too little to fill a memory. Objects of Python take up to 24 times the bytes of their
# JSON.
_ROOM = 1 << 24
_RATIO = 100
_CHUNK = 1 << 20
_INSPECT_VERSION = 2
_SUBJECTS = ("subject", "category", "topic", "domain")
_LOGPROBS = "output.choices.0.logprobs"
_TYPES: dict[str, dict[str, type]] = {
    "lm-eval": {"doc": dict, "filtered_resps": list, "metrics": list},
    "inspect": {
        "epoch": int,
        "choices": list,
        "messages": list,
        "scores": dict,
        "output": dict,
        "output.choices": list,
    }
    | {
        "output.choices.0": dict,
        _LOGPROBS: dict,
        f"{_LOGPROBS}.content": list,
        f"{_LOGPROBS}.content.0": dict,
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
_SIGNS = {
    "openai": (rb'^\{\s*"spec"\s*:\s*\{', rb'"(run_config|eval_name|base_eval|completion_fns)"'),
    "helm": (rb'^\[\s*\{\s*"(instance_id|train_trial_index|perturbation|stats)"\s*:',),
    "lm-eval": (rb"^[\[{]", rb'"doc_id"\s*:', rb'"(resps|filtered_resps|arguments)"\s*:'),
    "inspect": (rb"^\{", rb'"eval"\s*:\s*\{', rb'"(version|status)"\s*:'),
}
_NEEDED = {"lm-eval": ("doc_id",), "inspect": ("id",), "helm": ("instance_id", "stats")}
_BLANK = b"\xef\xbb\xbf \t\r\n"
Report: TypeAlias = Callable[[int], None]  # called with the bytes read so far


@dataclass
class Log:
    """One file. What it says of itself is known once its samples are read."""

    path: Path
    harness: str
    task: str = ""
    model: str = ""
    created: str = ""
    identity: str = (
        ""  # what several files of one run share; of their samples the last written count
    )
    scorers: dict[str, None] = field(
        default_factory=dict
    )  # of its samples; where one is taken by default, that one
    notes: list[str] = field(default_factory=list)
    repeated: int = 0
    place: str = ""  # the line, element or member that is being read

    def __str__(self) -> str:
        return str(self.path)


@dataclass(slots=True)
class Sample:
    """One answer to one question, as the harness wrote it; and below, what was read from it."""

    question: str
    raw: Mapping[str, Any]
    scores: Mapping[str, Any]  # what each scorer said; a score of inspect is an object
    text: str | None = None  # what the model wrote; None where only likelihoods were asked for
    epoch: int = 1
    subject: str = ""
    answer: str | None = None
    trouble: str = ""  # why it cannot count, whatever its score
    options: tuple[Sequence[float], Sequence[str]] | None = (
        None  # log-likelihoods and texts, of multiple choice
    )
    targets: tuple[tuple[int, ...], tuple[int, ...]] = (
        (),
        (),
    )  # right options if the target is a number, or a text
    tokens: Sequence[tuple[str, float]] = ()
    logprob: float | None = None  # log-probability of the answer, if the harness gives one number
    part: str = ""  # the filter of lm-eval, or the split of HELM: a log may have several

    task: str = ""
    model: str = ""
    source: str = ""
    label: int | None = None
    confidence: float = math.nan
    found: dict[str, Any] = field(
        default_factory=dict
    )  # by source: a probability, a `Stated`, or why there is none
    echoed: bool = False  # whether the text has the number of the field
    probabilities: Any = None  # those of the options, as an array: large logs have many samples
    fields: tuple[Any, ...] = ()


def _typed(value: Any, kind: Any, where: str, name: str = "") -> Any:
    if not isinstance(value, kind):
        what = f"field {name!r}" if name else "it"
        raise InputError(
            "", f"{where}: {what} must be of type {kind.__name__}", f"got {type(value).__name__}"
        )
    return value


def _checked(raw: Any, log: Log, where: str) -> dict[str, Any]:
    """An object of the log whose fields have the types that its harness writes."""
    log.place = where
    own: dict[str, Any] = _typed(raw, dict, where)
    for name in _NEEDED.get(log.harness, ()):
        if name not in own:
            raise InputError(
                "", f"{where}: field {name!r} is missing: damaged, or a log of another schema"
            )
    for name, kind in _TYPES.get(log.harness, {}).items():
        if (value := dotted(own, name)) is not None:
            _typed(value, kind, where, name)
    return own


def dotted(raw: Any, path: str) -> Any:
    """A value by its path, such as ``metadata.topic`` or ``choices.0.text``; None if there is none.

    >>> dotted({"a": {"b": [7]}, "c.d": 1}, "a.b.0"), dotted({"c.d": 1}, "c.d")
    (7, 1)
    """
    if isinstance(raw, list) and raw:
        raw = {str(i): one for i, one in enumerate(raw)}
    if not isinstance(raw, Mapping) or path in raw:
        if isinstance(raw, Mapping):
            return raw.get(path)
        return None
    first, _, rest = path.partition(".")
    if rest:
        return dotted(raw.get(first), rest)
    return None


def recognise(path: Path) -> str:
    """The harness that wrote a file, by its content; '' for other files."""
    if path.name == HELM_FILE or path.is_fifo():  # a pipe is read once
        if path.name == HELM_FILE:
            return "helm"
        return ""
    try:
        with path.open("rb") as file:
            start = file.read(4096)
            if start.lstrip(_BLANK)[:1] in (b"{", b"[") and b"\n" not in start[:-1]:
                start += file.readline(1 << 24)
    except OSError:
        return ""
    if start.startswith(b"PK\x03\x04"):
        if re.search(rb"(_journal/|samples/|header\.json)", start) or path.suffix == ".eval":
            return "inspect"
        return ""
    known = (
        name
        for name, signs in _SIGNS.items()
        if all(re.search(one, start.lstrip(_BLANK)) for one in signs)
    )
    return next(known, "")


def samples_of(log: Log, report: Report) -> Iterator[Sample]:
    """The samples of a log in order."""
    readers = {
        "lm-eval": _lm_eval,
        "inspect": _inspect,
        "helm": _helm,
        "openai": _openai,
        "": _other,
    }
    return readers[log.harness](log, report)


@contextmanager
def naming_the_place(log: Log) -> Iterator[None]:
    """Errors inside that come from a field of an unexpected type say where in the log it is."""
    try:
        yield
    except TruenessError:
        raise
    except (
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        OverflowError,
    ) as reason:  # of a field within a field
        demand = f"{log.place or log}: a field has another type than {log.harness} writes: damaged, or another schema"
        raise InputError("", demand, f"{type(reason).__name__}: {reason}"[:200]) from reason


def _objects(log: Log, report: Report) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines, or of an array."""
    with log.path.open("rb") as file:
        array = file.read(64).lstrip(_BLANK).startswith(b"[")
        file.seek(0)
        if array:
            for i, (_, row) in enumerate(JsonReader(file, str(log), report).items()):
                yield _checked(row, log, f"{log}, element {i}")
            return
        read = 0
        for i, line in enumerate(file, 1):
            read += len(line)
            report(read)
            if line.strip():
                yield _checked(_parsed(line, f"{log}, line {i:,},"), log, f"{log}, line {i:,}")


def _parsed(data: bytes, where: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as reason:
        raise InputError("", f"{where} is not JSON: {DAMAGED}", str(reason)) from None


def _object_in(path: Path) -> Mapping[str, Any]:
    return _typed(_parsed(path.read_bytes(), str(path)), dict, str(path))  # type: ignore[no-any-return]  # a dict


def _subject(place: Any) -> str:
    found = (place[name] for name in _SUBJECTS if isinstance(place, Mapping) and name in place)
    return str(next((one for one in found if isinstance(one, str | int)), ""))


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value]


def _lm_eval(log: Log, report: Report) -> Iterator[Sample]:
    """lm-evaluation-harness: a line per document and filter.

    The type of task is in the file of results beside it.
    """
    found = re.fullmatch(r"samples_(.*?)_(\d{4}-\d\d-\d\dT[-\d.:]+)\.jsonl?", log.path.name)
    log.task, log.created = (
        found.groups() if found else (log.path.stem.removeprefix("samples_"), "")
    )
    beside = sorted(log.path.parent.glob("results*.json"))
    own = [one for one in beside if log.created and log.created in one.name] or (
        beside if len(beside) == 1 else []
    )
    results = _object_in(own[0]) if own else {}
    if not own:
        log.notes.append(
            "no file of results lies beside it: its model is unknown, and the type of task is inferred"
        )
    config = (results.get("configs") or {}).get(log.task, {})
    log.model = str(results.get("model_name") or dotted(results, "config.model_args") or "")
    if found:  # a run that was started again with the same settings, into the same folder
        names = "model_name config.model_args config.gen_kwargs system_instruction_sha chat_template_sha"
        own_settings = [str(dotted(results, one)) for one in names.split()]
        log.identity = "/".join(
            [str(log.path.parent), log.task, str(config.get("num_fewshot")), *own_settings]
        )
    for row in _objects(log, report):
        given = _typed(
            row.get("filtered_resps", row.get("resps")), list, log.place, "filtered_resps"
        )
        responses = [_unwrapped(one) for one in given]
        likelihoods = bool(responses) and all(map(_is_likelihood, responses))
        options: dict[str, Any] = {}
        if (
            config.get("output_type") in (None, "multiple_choice")
            and likelihoods
            and len(responses) > 1
        ):
            logs = [_number(one[0]) for one in responses]
            delimiter = str(config.get("target_delimiter", " "))
            options = _lm_eval_options(row, logs, delimiter, log.place)
        answer = None if likelihoods or not responses else str(responses[0])
        trouble = "no answer" if answer is not None and answer.strip() in ("", "[invalid]") else ""
        # A filter may leave the number alone: a confidence stands in the response. Of several, that
        # which passed.
        written = answer and _unwrapped(row.get("resps") or answer)
        if not isinstance(written, list):
            text = written
        elif answer in written:
            text = answer
        else:
            text = None
        if likelihoods and not options:
            trouble = "the log has the likelihood of the right answer, not of the answer given"
        scored = [
            *(row.get("metrics") or ()),
            *(one for one in ("acc", "exact_match") if one in row),
        ]
        scores = {
            one: row.get(one)
            for one in scored
            if isinstance(row.get(one), int | float | str | None)
        }
        question = str(row.get("doc_hash") or f"{log.task}/{row['doc_id']}")
        subject = _subject(row.get("doc"))
        part = str(row.get("filter", ""))
        yield Sample(question, row, scores, text, 1, subject, answer, trouble, part=part, **options)


def _unwrapped(response: Any) -> Any:
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    return response


def _is_likelihood(response: Any) -> bool:
    """Whether it is a log-likelihood, as a number or text, with whether it is that of the greedy answer."""
    pair = (
        isinstance(response, list) and len(response) == 2 and str(response[1]) in ("True", "False")
    )
    return pair and (not math.isnan(_number(response[0])) or str(response[0]) == "nan")


def _lm_eval_options(
    row: Mapping[str, Any], logs: list[float], delimiter: str, where: str
) -> dict[str, Any]:
    arguments = row.get("arguments") or ()
    pairs = list(arguments.values()) if isinstance(arguments, Mapping) else list(arguments)
    texts = [
        [str(one) for one in (pair.values() if isinstance(pair, Mapping) else pair)][:2]
        for pair in pairs
    ]
    half = len(logs) // 2
    alone = (
        len(texts) == 2 * half == len(logs)
        and half > 1
        and not any(text[0] for text in texts[half:])
    )
    if alone or "acc_mutual_info" in row:
        logs, texts = logs[:half], texts[:half]  # the rest is without the question
    if texts and len(texts) != len(logs):
        raise InputError(
            "", f"{where}: 'filtered_resps' has {len(logs)} options and 'arguments' {len(texts)}"
        )
    in_question = (
        len({text[-1] for text in texts}) == 1
    )  # as of winogrande: the target is a text after them
    choices = [text[0] if in_question else text[-1].removeprefix(delimiter) for text in texts]
    targets = ((), ()) if in_question else _lm_eval_targets(row, choices, len(logs))
    return {"options": (logs, choices or [""] * len(logs)), "targets": targets}


def _lm_eval_targets(row: Mapping[str, Any], choices: list[str], size: int) -> Any:
    """The right options, if the target is a number and if it is a text: the log has both as text."""
    for name in ("brier_score", "likelihood", "f1", "mcc"):  # which keep the number itself
        own = row.get(name)
        if isinstance(own, list) and own and isinstance(own[0], int) and 0 <= own[0] < size:
            return ((own[0],),) * 2
    target = row.get("target")
    many = _listed(
        json.loads(str(target)) if re.fullmatch(r"\[[-\d,\s]*\]", str(target)) else target
    )
    numbers = tuple(int(one) for one in many if re.fullmatch(r"\d+", str(one)) and int(one) < size)
    texts = tuple(choices.index(str(one)) for one in many if str(one) in choices)
    return numbers or texts, texts or numbers


def _inspect(log: Log, report: Report) -> Iterator[Sample]:
    """inspect: a zip with a member per sample, or one JSON object."""
    with log.path.open("rb") as file:
        if file.read(4) == b"PK\x03\x04":
            yield from _inspect_zip(log, report)
            return
        file.seek(0)
        header: dict[str, Any] = {}
        samples = 0
        for key, value in JsonReader(file, str(log), report).items("samples"):
            if key != "samples" or value is None:
                header[key] = value
                continue
            if not samples:  # the header stands before them
                _inspect_header(log, header, str(log))
            yield _inspect_sample(value, log, f"{log}, samples[{samples}]")
            samples += 1
        if not samples:
            _inspect_header(log, header, str(log))


def _inspect_zip(log: Log, report: Report) -> Iterator[Sample]:
    with _archive(log) as archive:
        entries = {
            entry.filename: entry for entry in archive.infolist()
        }  # of a repeated member the last counts
        if number := len(archive.infolist()) - len(entries):
            log.notes.append(f"{number:,} members are repeated, and the last of each counts")
        header = next(
            (one for one in ("header.json", "_journal/start.json") if one in entries), None
        )
        if header is None:
            raise InputError(
                "",
                f"{log} is a zip file without the members 'header.json' and '_journal/start.json'",
            )
        if header != "header.json":
            log.notes.append("the run did not finish: it has no member 'header.json'")
        members = _Members(archive, log)
        _inspect_header(log, members.read(entries[header]), f"{log}, member {header!r}")
        read = 0
        for name, entry in entries.items():
            if re.fullmatch(r"samples/.+_epoch_\d+(\.json|/sample\.json)", name):
                read += entry.compress_size
                report(read)
                yield _inspect_sample(members.read(entry), log, f"{log}, member {name!r}")


def _archive(log: Log) -> Any:
    try:
        archive: Any = zipfile.ZipFile(log.path)
        if any(one.compress_type == _ZSTD for one in archive.infolist()) and sys.version_info < (
            3,
            14,
        ):
            archive = importlib.import_module("backports.zstd.zipfile").ZipFile(log.path)
    except ImportError:
        how = "`pip install 'trueness[evals]'`, or use Python 3.14"
        raise MissingLibraryError(f"{log} is compressed with zstd. To read it: {how}.") from None
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as reason:
        raise InputError(
            "", f"{log} cannot be read as a zip file: {DAMAGED}", str(reason)
        ) from None
    for member in archive.namelist():
        if (
            member.startswith("/")
            or "\\" in member
            or ".." in member.split("/")
            or not member.isprintable()
        ):
            raise InputError(
                "",
                f"{log} has the member {member[:200]!r}, a name that leads outside of it or is hidden",
            )
    return archive


class _Members:
    """The members of an archive as JSON, of which a small file cannot unpack to a large memory."""

    def __init__(self, archive: Any, log: Log) -> None:
        self.archive = archive
        self.log = log
        self.limit = self.left = _ROOM + _RATIO * log.path.stat().st_size

    def read(self, entry: Any) -> Any:
        where = f"{self.log}, member {entry.filename!r},"
        if entry.compress_type not in _METHODS:
            raise InputError(
                "",
                f"{where} must be stored, deflated or packed by zstd",
                f"got {entry.compress_type}",
            )
        if entry.file_size > self.left:
            so_far = "" if self.left == self.limit else " with those before it"
            demand = f"{where} must unpack{so_far} to at most {self.limit:,} bytes, by the size of the file"
            remedy = "`inspect log dump` writes a log as JSON, which is read whatever its size."
            raise InputError("", demand, f"it has {entry.file_size:,}", remedy=remedy)
        self.left -= entry.file_size
        try:
            # Not at once: what is packed may have more bytes than the archive says, and ends with
            # its checksum.
            with self.archive.open(entry) as file:
                data = b"".join(iter(lambda: file.read(_CHUNK), b""))
        except (
            Exception
        ) as reason:  # damaged archives raise a dozen classes: zlib's, zstd's and the system's
            raise InputError("", f"{where} cannot be unpacked: {DAMAGED}", str(reason)) from None
        return _parsed(data, where)


def _inspect_header(log: Log, header: Any, where: str) -> None:
    version = _typed(header, dict, where).get("version", 1)
    if not isinstance(version, int) or version > _INSPECT_VERSION:
        demand = f"{where}: field 'version' must be at most {_INSPECT_VERSION}, the newest schema that is known"
        raise InputError("", demand, f"got {version!r}")
    about = _typed(header.get("eval"), dict, where, "eval")
    log.task = _typed(about.get("task"), str, where, "eval.task")
    log.model = str(about.get("model", ""))
    log.created = str(about.get("created", ""))
    log.identity = str(about.get("task_id", ""))
    if header.get("status", "success") != "success":
        log.notes.append(f"the run did not finish: its status is {header['status']!r}")


def _inspect_sample(raw: Any, log: Log, where: str) -> Sample:
    output = _checked(raw, log, where).get("output") or {}
    choice = dotted(output, "choices.0") or {}
    text = output.get("completion")
    text = _inspect_text(dotted(choice, "message.content")) if text is None else str(text)
    scores = raw.get("scores") or (
        {"score": raw["score"]} if raw.get("score") else {}
    )  # older logs had one
    content = dotted(choice, "logprobs.content") or []
    said = [
        _inspect_text(one.get("content"))
        for one in raw.get("messages") or ()
        if one.get("role") == "assistant"
    ]
    return Sample(
        f"{log.task}/{raw['id']}",
        {**raw, "_said": "\n".join([*said, text])},
        scores,
        text,
        int(
            np.int64(raw.get("epoch") or 1)
        ),  # larger numbers are an error here, where the place is known
        _subject(raw.get("metadata")),
        trouble="errored" if raw.get("error") else "invalidated" if raw.get("invalidation") else "",
        tokens=[(str(one.get("token", "")), _number(one.get("logprob"))) for one in content],
        **_inspect_options(raw, content),
    )


def _inspect_text(content: Any) -> str:
    """A message as text: a string, or a list of parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    if content is None:
        return ""
    return str(content)


def _inspect_options(raw: Mapping[str, Any], content: list[Any]) -> dict[str, Any]:
    """The log-probabilities of all letters at the last token that is one of them."""
    choices = [str(one) for one in raw.get("choices") or ()]
    letters = [chr(ord("A") + i) for i in range(len(choices))]
    tops = [
        one.get("top_logprobs") for one in content if str(one.get("token", "")).strip() in letters
    ]
    if len(letters) < 2 or not tops or not tops[-1]:
        return {}
    seen = [(str(top.get("token")).strip(), _number(top.get("logprob"))) for top in tops[-1]]
    sums = [
        math.fsum(math.exp(log) for token, log in seen if token == letter) for letter in letters
    ]
    right = tuple(letters.index(one) for one in _listed(raw.get("target")) if one in letters)
    found = {
        "options": ([math.log(one) for one in sums if one], choices),
        "targets": (right, right),
    }
    if all(sums):
        return found
    return {}


def _helm(log: Log, report: Report) -> Iterator[Sample]:
    """HELM: the statistics of each instance, in the folder of a run."""
    about = log.path.with_name("run_spec.json")
    spec = _object_in(about) if about.is_file() else {}
    if not spec:
        log.notes.append("it has no file run_spec.json: its model is unknown")
    log.model = str(dotted(spec, "adapter_spec.model") or "")
    name = str(spec.get("name") or log.path.absolute().parent.name)
    log.task = re.sub(r"[,:]?model(_deployment)?=[^,]*", "", name).strip(",:")
    splits: set[str] = set()
    for row in _objects(log, report):
        # Beside the instance itself, newer versions list what its perturbations did to each number.
        stats = [
            (_typed(one.get("name"), dict, log.place, "stats[].name"), one) for one in row["stats"]
        ]
        plain = [(name, one) for name, one in stats if name.get("perturbation") is None]
        perturbed = row.get("perturbation") is not None or not plain
        split = next((str(name["split"]) for name, _ in stats if name.get("split")), "")
        kept = (
            (name, one) for name, one in plain if one.get("count") and one.get("mean") is not None
        )
        own = {str(name.get("name")): one["mean"] for name, one in kept}
        splits |= {split} - {"train", ""}
        prob = _number(own.get("max_prob"))
        yield Sample(
            f"{log.task}/{_typed(row['instance_id'], str, log.place, 'instance_id')}",
            {**row, "stats": own},
            own,
            epoch=int(np.int64(row.get("train_trial_index") or 0)) + 1,
            subject=_subject(dotted(spec, "scenario_spec.args")),
            trouble="a perturbed instance"
            if perturbed
            else "a training instance"
            if split == "train"
            else "",
            found={}
            if math.isnan(prob)
            else {"logprob": prob if 0 <= prob <= 1 else "max_prob is outside 0 to 1"},
            part=split if split != "train" else "",
        )
    if splits and "test" not in splits:
        log.notes.append(
            f"it has no instances of the split 'test': those of {', '.join(sorted(splits))} count"
        )


def _openai(log: Log, report: Report) -> Iterator[Sample]:
    """OpenAI evals: events, of which several belong to one sample."""
    samples: dict[str, dict[str, Any]] = {}
    ended = False
    for row in _objects(log, report):
        if "spec" in row:
            spec = row["spec"]
            log.task = str(spec.get("eval_name") or spec.get("base_eval") or "")
            log.model = ", ".join(map(str, spec.get("completion_fns") or [spec.get("model") or ""]))
            log.identity = str(spec.get("run_id") or "")
            log.created = str(spec.get("created_at") or "")
        elif row.get("sample_id") is not None:
            own = samples.setdefault(str(row["sample_id"]), {"cond_logp": []})
            many = row["type"] == "cond_logp"
            log.repeated += row["type"] == "match" and "match" in own
            own[row["type"]] = [*own["cond_logp"], row["data"]] if many else row["data"]
        ended = ended or "final_report" in row
    if not ended:
        log.notes.append("the run did not finish: it has no final report")
    for key, own in samples.items():
        log.place = f"{log}, sample {key!r}"
        match = own.get("match", {})
        written = _unwrapped(match.get("sampled", dotted(own, "sampling.sampled")))
        text = None if written is None else str(written)
        # Of the likelihoods of several answers, that of the answer given counts.
        answer = str(match.get("picked") or text or "").strip()
        known = own["cond_logp"]
        given = [one for one in known if str(one.get("completion", "")).strip() == answer]
        logprob = _number((given or known)[-1].get("logp")) if given or len(known) == 1 else None
        scores = {"match": match["correct"]} if "correct" in match else own.get("metrics", {})
        if "error" in own:
            trouble = "errored"
        elif text is not None and not text.strip():
            trouble = "no answer"
        else:
            trouble = ""
        yield Sample(
            f"{log.task}/{key}",
            own,
            scores,
            text,
            1,
            _subject(match),
            text,
            trouble,
            logprob=logprob,
        )


def _other(log: Log, report: Report) -> Iterator[Sample]:
    """Objects of any kind, whose fields the caller names."""
    log.task = log.path.stem
    for i, row in enumerate(_objects(log, report)):
        yield Sample(f"{log.task}/{i}", row, {}, subject=_subject(row))
