"""`eval_log`: logs of evaluation harnesses as answers with confidences, and what was missing in them."""

import math
import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import trueness.sources._eval_confidence as read
from trueness._input.arguments import checked_number, is_real
from trueness._progress import Progress, progress_bar, reporter
from trueness.errors import InputError, did_you_mean
from trueness.results import Answers
from trueness.sources._eval_formats import HELM_FILE, Log, Sample, dotted, recognise, samples_of
from trueness.sources._files import expand_paths
from trueness.sources._numpy import Arrays
from trueness.sources._table import import_polars

_SOURCES = {
    "logprob": "probability of the answer's tokens",
    "options": "softmax of the options' log-likelihoods",
    "options-per-character": "softmax of the options' log-likelihoods per character",
    "options-per-byte": "softmax of the options' log-likelihoods per byte",
    "stated": "stated in the answer",
    "agreement": "share of the other samples that agree",
}
_RANKED_BY = {"acc": "options", "acc_norm": "options-per-character", "acc_bytes": "options-per-byte"}
"""What the metrics of lm-eval choose an option by."""
_FIELDS = ("confidence", "probability", "prob")


@dataclass
class _Asked:
    """The arguments of `eval_log`, checked, and what follows from them."""

    scorer: str | None
    confidence: str
    label_field: str | None
    confidence_field: str | None
    question_field: str | None
    fields: Sequence[str]
    words: Any
    correct_from: float | None
    part: str = ""
    """The filter of lm-eval."""
    source: str = "field"
    """A key of the sources, 'field' or 'auto'."""
    pattern: Any = None

    def __post_init__(self) -> None:
        for name in ("scorer", "label_field", "confidence_field", "question_field", "confidence"):
            value = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name == "confidence"):
                raise InputError(name, "must be a string", f"got {value!r}")
        field, confidence = self.confidence_field, self.confidence
        if field is not None and confidence != "auto":
            got = f"got both, {field!r}, {confidence!r}"
            raise InputError("confidence_field", "stands in place of `confidence`", got)
        if self.correct_from is not None:
            checked_number(self.correct_from, "correct_from")
        for word, value in (self.words or {}).items():
            if not is_real(value) or not 0 <= value <= 1:
                raise InputError("words", "must give each word a probability from 0 to 1", f"{word!r} has {value!r}")
        given = read.CONFIDENCE_WORDS if self.words is None else self.words
        self.words = {" ".join(word.lower().split()): float(p) for word, p in given.items()}
        self.fields = (self.fields,) if isinstance(self.fields, str) else tuple(self.fields)
        if confidence.startswith("regex:"):
            text = confidence.removeprefix("regex:")
            try:
                self.source, self.pattern = "stated", re.compile(text, re.MULTILINE)
            except re.error as reason:
                demand = "must be a regular expression after 'regex:'"
                raise InputError("confidence", demand, f"{text!r}: {reason}") from None
        elif field is None and confidence in (*_SOURCES, "auto"):
            self.source = confidence
        self.confidence, whole = field or confidence, self.scorer
        self.scorer, _, self.part = (whole or "").partition(",")
        if self.source in _RANKED_BY.values() and self.source != _RANKED_BY.get(self.scorer, self.source):
            demand = f"must be {_RANKED_BY[self.scorer]!r} with `scorer={whole!r}`, which ranks the options by that"
            raise InputError("confidence", demand, f"got {confidence!r}")
        if self.scorer == "acc_mutual_info":
            raise InputError("scorer", "must rank options by a probability", "'acc_mutual_info' does not")


def eval_log(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    scorer: str | None = None,
    confidence: str = "auto",
    label_field: str | None = None,
    confidence_field: str | None = None,
    question_field: str | None = None,
    fields: Sequence[str] = (),
    words: Mapping[str, float] | None = None,
    correct_from: float | None = None,
    progress: Progress = True,
) -> Answers:
    r"""Answers of language models from the logs of evaluation harnesses.

    Logs are recognised by their content: samples of lm-evaluation-harness (with the results beside them), logs of
    inspect (``.eval`` and ``.json``), run folders of HELM, and records of OpenAI evals. Other JSON files are read if
    `label_field` and `confidence` name fields.

    Parameters
    ----------
    path : str, path or sequence of them
        Files, patterns and folders. A folder stands for all logs in it.
    scorer : str, optional
        The scorer (inspect), metric (lm-eval, HELM) or ``'metric,filter'`` (lm-eval) that says which answers are
        right; needed if there are several. By default ``acc`` or ``exact_match`` where a log has them.
    confidence : str, default 'auto'
        Where confidences come from: ``'logprob'`` (probability of the answer's tokens), ``'options'``,
        ``'options-per-character'`` or ``'options-per-byte'`` (softmax of the log-likelihoods of all options),
        ``'stated'`` (a number or a word after "confidence" in the text), ``'regex:…(\d+)'`` (the last match in the
        text), ``'agreement'`` (share of the other samples of the same question with the same answer), or a field by
        its path, such as ``'metadata.confidence'``. ``'auto'`` takes the first of these that the log has: a field
        called confidence of the score, logprob, options, stated, agreement.
    label_field, confidence_field, question_field : str, optional
        Paths of fields that say whether the answer is right, how confident it is, and which question it belongs to.
    fields : sequence of str, optional
        Paths of further fields to keep, such as ``'metadata.topic'``; None where a sample has none.
    words : mapping, optional
        Probabilities of words such as "likely", in place of :data:`trueness.sources.CONFIDENCE_WORDS`.
    correct_from : float, optional
        Scores of at least this are right, others wrong. Without it, scores other than 0 and 1 are not counted.
    progress : bool or callable, default True
        Whether to show a progress bar on a terminal, or a function of (done, total) in bytes.

    Returns
    -------
    Answers
        Complete answers only; `missing` counts the others by reason. No answer is taken as right or wrong unless the
        harness said so, by a score or, where a log of lm-eval has no accuracy of that ranking, by its target.

    Notes
    -----
    Within one log, bare numbers other than 0 are percentages if most of them exceed 1, and fractions otherwise; a
    number of the other kind is not counted, because its scale is unclear, and of percentages none is if all are at
    most 10. Some harnesses write 100 where the model stated nothing: if other texts repeat their confidence and this
    one does not, it is not counted. Of a repeated sample, the last counts.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import trueness as tn
    >>> log = pathlib.Path(tempfile.mkdtemp(), "answers.jsonl")
    >>> rows = [{"grade": {"right": i != 2}, "sure": f"{60 + 10 * i} %"} for i in range(4)]
    >>> _ = log.write_text("\n".join(map(json.dumps, rows)))
    >>> found = tn.sources.eval_log(log, label_field="grade.right", confidence_field="sure")
    >>> found.label.tolist(), found.confidence.tolist()
    ([1, 1, 0, 1], [0.6, 0.7, 0.8, 0.9])
    """
    asked = _Asked(scorer, confidence, label_field, confidence_field, question_field, fields, words, correct_from)
    paths = [str(path)] if isinstance(path, str | PathLike) else [str(one) for one in path]
    if not paths:
        raise InputError("path", "must name at least one log", "got none")
    logs = list(_logs(expand_paths(paths), asked))
    sizes = [log.path.stat().st_size for log in logs]
    samples: list[dict[Any, Sample]] = []
    with progress_bar("Reading logs") if progress is True else nullcontext(reporter(progress)) as report:
        for i, log in enumerate(logs):

            def tell(done: int, before: int = sum(sizes[:i]), size: int = sizes[i]) -> None:
                report(before + min(done, size), max(sum(sizes), 1))

            samples.append(_last_of_each(log, samples_of(log, tell), asked))
    missing: Counter[str] = Counter()
    found: dict[Any, Sample] = {}
    repeated = sum(log.repeated for log in logs)
    for log, rows in sorted(zip(logs, samples, strict=True), key=lambda pair: pair[0].created):
        for key, row in _complete(log, rows, asked, missing):
            place = (log.identity or str(log), *key)
            repeated += place in found
            found[place] = row
    notes = [f"{log}: {one}." for log in logs for one in log.notes]
    notes += [f"{repeated:,} samples are repeated; the last of each counts."] if repeated else []
    if not found:
        lost = "; ".join(f"{reason}: {number:,}" for reason, number in missing.items()) or "there are no samples"
        remedy = "`confidence` says where confidences are: logprob, a field, regex:…" if missing else ""
        names = ", ".join(paths[:3]) + (" …" if len(paths) > 3 else "")
        raise InputError("", f"{names}: no answer has both a score and a confidence", lost, remedy=remedy)
    return _answers(list(found.values()), asked, dict(missing.most_common()), notes)


def is_eval_log(name: str) -> bool:
    """Whether a path is a log of a known harness, or a folder."""
    path = Path(name)
    return path.is_dir() or (path.is_file() and bool(recognise(path)))  # what a pipe has can be read only once


def _logs(names: Iterable[str], asked: _Asked) -> Iterator[Log]:
    for path in map(Path, names):
        if not path.exists():
            raise InputError("", f"There is no file {str(path)!r}")
        runs = {one.parent for one in path.rglob(HELM_FILE)}
        inside = [one for one in path.rglob("*") if one.is_file() and (one.parent not in runs or one.name == HELM_FILE)]
        # Runs of HELM come first.
        files = sorted(inside, key=lambda one: (one.parent not in runs, one)) if path.is_dir() else [path]
        logs = [Log(one, kind) for one in files if (kind := recognise(one))]
        if path.is_dir() and not logs:
            raise InputError("", f"The folder {str(path)!r} has no log of lm-eval, inspect, HELM or OpenAI evals")
        if not logs and (asked.label_field is None or asked.source != "field"):
            remedy = "Of other JSON, `label_field` and `confidence_field` must name the fields."
            raise InputError("", f"{path} is not a log of lm-eval, inspect, HELM or OpenAI evals", remedy=remedy)
        yield from logs or [Log(path, "")]


def _last_of_each(log: Log, samples: Iterable[Sample], asked: _Asked) -> dict[Any, Sample]:
    """The samples of a log, read; a repeated one counts once."""
    rows: dict[Any, Sample] = {}
    for one in samples:
        if asked.part and one.part != asked.part:
            continue
        # Not the question that the caller names: it may be that of many samples.
        key = (one.question, one.epoch, _plain(one.raw.get("doc_id")), one.part, one.trouble == "a perturbed instance")
        log.repeated += rows.pop(key, None) is not None
        rows[key] = _read(log, one, asked)
    if asked.part and not rows:
        raise InputError("scorer", f"must name a filter of {log} after the comma", f"got {asked.part!r}")
    wanted, names = asked.scorer or "", ", ".join(log.scorers)
    if not wanted and len(log.scorers) > 1:
        raise InputError("scorer", f"must say which scores of {log} to take", f"it has {names}")
    if wanted and names and not {wanted, wanted.partition(".")[0]} & {*log.scorers, *_RANKED_BY}:
        raise InputError("scorer", f"must be one of those of {log}: {names}", f"got {wanted!r}")
    return rows


def _read(log: Log, sample: Sample, asked: _Asked) -> Sample:
    """Fill in what is needed of a sample, and forget what the harness wrote."""
    metric, score = _score(log, sample, asked)
    own: Mapping[str, Any] = score if isinstance(score, Mapping) and "value" in score else {"value": score}
    answer = sample.answer if own.get("answer") is None else str(own["answer"])
    label, trouble = read.label(own, asked.correct_from)
    if sample.options is not None:
        ranking = asked.source if asked.source in _RANKED_BY.values() else _RANKED_BY.get(metric, "options")
        options = read.softmax(_scaled(*sample.options, ranking))
        if isinstance(options, str):
            sample.found[ranking], trouble = options, options if log.harness == "lm-eval" else trouble
        else:
            given = ord(answer.strip()) - ord("A") if answer and len(answer.strip()) == 1 else -1
            chosen = given if 0 <= given < len(options) else options.index(max(options))
            sample.found[ranking], sample.probabilities = options[chosen], array("d", options)
            if log.harness == "lm-eval" and asked.label_field is None:
                judged = metric in sample.scores and _RANKED_BY.get(metric) == ranking
                if label is not None or not judged:
                    label, trouble = _label_of_option(sample, chosen, label if judged else None)
                answer = str(chosen)
    if sample.tokens:
        sample.found["logprob"] = read.answer_probability(sample.tokens, answer or "")
    elif sample.logprob is not None:
        sample.found["logprob"] = read.from_log(sample.logprob)
    stated = read.stated(_field(own, sample.raw, asked), asked.words)
    in_text = None if sample.text is None else read.stated_in(sample.text, asked.words, asked.pattern)
    sample.found |= {name: one for name, one in {"field": stated, "stated": in_text}.items() if one is not None}
    if answer == "" or (sample.text is not None and not sample.text.strip()):
        trouble = "no answer"
    sample.label, sample.trouble, sample.answer = label, sample.trouble or trouble, answer
    said = str(sample.raw.get("_said") or sample.text or "")
    sample.echoed = stated is not None and (not said or read.states(said, stated.value))
    if asked.question_field is not None:
        named = dotted(sample.raw, asked.question_field)
        sample.question = f"{log.task}/{named}"
        sample.trouble = sample.trouble or (f"no field {asked.question_field!r}" if named is None else "")
    sample.fields = tuple(_plain(dotted(sample.raw, one)) for one in asked.fields)
    sample.subject, sample.part = sys.intern(sample.subject), sys.intern(sample.part)
    sample.task, sample.model = log.task, log.model
    sample.raw, sample.scores, sample.text, sample.tokens, sample.options = {}, {}, None, (), None
    return sample


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _scaled(logs: Sequence[float], texts: Sequence[str], ranking: str) -> list[float]:
    """The log-likelihoods that options are ranked by; nan if their lengths are unknown."""
    lengths = (len(text.encode() if ranking == "options-per-byte" else text) for text in texts)
    sizes = [1 if ranking == "options" else length for length in lengths]
    return [log / size if size else math.nan for log, size in zip(logs, sizes, strict=True)]


def _score(log: Log, sample: Sample, asked: _Asked) -> tuple[str, Any]:
    """The name of the scorer, and what it said."""
    name, scores = asked.scorer, sample.scores
    if asked.label_field is not None:
        return "", dotted(sample.raw, asked.label_field)
    if name and not sample.trouble:
        log.scorers |= dict.fromkeys(scores)
    if name and name not in scores:
        first, _, rest = name.partition(".")  # an entry of a score with several
        if isinstance(scores.get(first), Mapping):
            return first, {**scores[first], "value": dotted(scores[first].get("value"), rest)}
    if not name:
        wanted = asked.source if asked.source in _RANKED_BY.values() else "options"
        ranked = [metric for metric, by in _RANKED_BY.items() if by == wanted]
        usual = {"lm-eval": (*ranked, "exact_match"), "helm": ("exact_match",)}.get(log.harness, ())
        name = next((one for one in (*usual, *scores) if one in scores), "")
        alone = name in usual or (log.harness == "lm-eval" and sample.options is not None)
        log.scorers |= {} if sample.trouble or not name else {name: None} if alone else dict.fromkeys(scores)
    return name, scores.get(name)


def _label_of_option(sample: Sample, chosen: int, label: int | None) -> tuple[int | None, str]:
    """Whether the chosen option is right: by the label of the metric that ranks options so, else by the target."""
    by_target = {int(chosen in one) for one in sample.targets if one}
    if label is not None:
        odd = "the accuracy is not that of the option with the largest confidence"
        return label, odd if by_target and label not in by_target else ""
    return (by_target.pop(), "") if len(by_target) == 1 else (None, "the target is not one of the options")


def _field(score: Mapping[str, Any], raw: Mapping[str, Any], asked: _Asked) -> Any:
    """The field with the confidence: of the value of the score, of the score, its metadata, or the sample."""
    for key in (asked.confidence,) if asked.source == "field" else _FIELDS:
        for place in (score.get("value"), score, score.get("metadata"), raw.get("match"), raw):
            found = dotted(place, key) if isinstance(place, Mapping) else None
            if found is not None and not isinstance(found, Mapping | list):
                return found
    return None


def _complete(log: Log, rows: dict[Any, Sample], asked: _Asked, missing: Counter[str]) -> Iterator[tuple[Any, Sample]]:
    """The rows of a log that have a label and a confidence; the others are counted."""
    parts = sorted({row.part for row in rows.values()} - {""})
    if log.harness == "lm-eval" and len(parts) > 1:
        metric = asked.scorer or next(iter(log.scorers), "exact_match")
        remedy = f"Name one after a comma: `scorer='{metric},{parts[0]}'`."
        raise InputError("", f"{log} has several filters of each answer: {', '.join(parts)}", remedy=remedy)
    for row in rows.values():
        if "test" in parts and row.part not in ("", "test"):
            row.trouble = row.trouble or f"an instance of the split {row.part!r}"
    missing.update(row.trouble for row in rows.values() if row.trouble)
    scored = {key: row for key, row in rows.items() if not row.trouble}
    _add_agreement(scored.values())
    source = asked.source
    if source == "auto":
        usable = {name for row in scored.values() for name, one in row.found.items() if not isinstance(one, str)}
        order = ("field", "logprob", *_RANKED_BY.values(), "stated", "agreement")
        source = next((one for one in order if one in usable), "")
    if source == "field" and scored and not any("field" in row.found for row in scored.values()):
        got = f"{log} has no field {asked.confidence!r} with a confidence"
        near = did_you_mean(asked.confidence, _SOURCES)
        raise InputError("confidence", "must be a source of confidences or a field of the samples", got, remedy=near)
    found = {key: row.found.get(source, "no confidence") for key, row in scored.items()}
    if source in ("field", "stated"):
        found = _on_one_scale(log, scored, found, source)
    if log.harness == "helm" and source == "logprob" and found and set(found.values()) == {1.0}:
        found = dict.fromkeys(found, "max_prob is 1 everywhere: HELM kept no log-probabilities")
    missing.update(p for p in found.values() if isinstance(p, str))
    own = f"field {asked.confidence}" if asked.source == "field" else "confidence recorded with the score"
    words = _SOURCES.get(source, own) + (f" ({asked.confidence})" if asked.pattern is not None else "")
    words = "max_prob of HELM" if log.harness == "helm" and source == "logprob" else words
    for key, p in found.items():
        if not isinstance(p, str):
            scored[key].source, scored[key].confidence = words, float(p)
            yield key, scored[key]


def _add_agreement(rows: Iterable[Sample]) -> None:
    by_question: dict[str, list[Sample]] = {}
    for row in rows:
        by_question.setdefault(row.question, []).append(row)
    if max(map(len, by_question.values()), default=0) > 1:
        for same in by_question.values():
            for row, share in zip(same, read.agreement([one.answer for one in same]), strict=True):
                row.found["agreement"] = share


def _on_one_scale(log: Log, rows: Mapping[Any, Sample], found: dict[Any, Any], source: str) -> dict[Any, Any]:
    """Stated numbers as probabilities; a 100 of a field that no text states, though others do, is left out."""
    stated = {key: one for key, one in found.items() if isinstance(one, read.Stated)}
    bare = [one.value for one in stated.values() if one.scale is None and one.value and not one.trouble]
    percent = 2 * sum(one > 1 for one in bare) > len(bare)
    if percent and max(bare) <= 10:
        unclear = "a bare confidence in a log where all are at most 10: its scale is unclear"
        stated |= {key: one._replace(trouble=unclear) for key, one in stated.items() if one.scale is None}
    elif percent:
        log.notes.append("confidences are percentages, as most exceed 1")
    if words := sum(one.scale == 1 for one in stated.values()):
        log.notes.append(f"{words:,} confidences are words, taken as the probabilities of CONFIDENCE_WORDS or `words`")
    result = found | {key: one.probability(percent=percent) for key, one in stated.items()}
    silent = [key for key in stated if source == "field" and result[key] == 1 and not rows[key].echoed]
    lower = [rows[key].echoed for key in stated if not isinstance(result[key], str) and result[key] < 1]
    if silent and (2 * sum(lower) > len(lower) if lower else len(silent) == len(stated)):
        return result | dict.fromkeys(silent, "a confidence of 100 % that the answer does not state")
    if silent:
        log.notes.append(f"{len(silent):,} confidences are exactly 1 without being stated in the answer")
    return result


def _answers(rows: list[Sample], asked: _Asked, missing: dict[str, int], notes: list[str]) -> Answers:
    sizes = {0 if row.probabilities is None else len(row.probabilities) for row in rows}

    def disagree(reading: int) -> int:
        chosen = ((row, row.targets[reading]) for row in rows if row.targets[reading])
        return sum((row.answer or "").isdecimal() and row.label != (int(str(row.answer)) in one) for row, one in chosen)

    reading = int(disagree(1) < disagree(0))  # whether targets are texts of options rather than their numbers
    targets = [row.targets[reading] for row in rows]
    texts = ("question", "task", "subject", "source", "model", "answer")
    return Answers(
        label=np.array([row.label for row in rows], dtype=np.int64),
        confidence=np.array([row.confidence for row in rows], dtype=float),
        epoch=np.array([row.epoch for row in rows], dtype=np.int64),
        right_option=np.array([one[0] if len(one) == 1 else -1 for one in targets], dtype=np.int64),
        options=np.array([row.probabilities for row in rows]) if len(sizes) == 1 and sizes != {0} else None,
        missing=missing,
        notes=tuple(notes),
        fields={name: objects(row.fields[i] for row in rows) for i, name in enumerate(asked.fields)},
        **{name: objects(getattr(row, name) or "" for row in rows) for name in texts},
    )


def objects(values: Iterable[Any]) -> Any:
    """An array of any values, lists included."""
    return np.array([*values, None], dtype=object)[:-1]


class AnswersTable(Arrays):
    """Answers as a table of columns."""

    columns = (*Answers._columns, "origin")
    """Also `origin`: the source, model and task together, the same whatever other files are read."""

    def __init__(self, name: str, answers: Answers) -> None:
        arrays = {one: getattr(answers, one) for one in Answers._columns}
        parts = zip(answers.source, answers.model, answers.task, strict=True)
        arrays["origin"] = objects(", ".join(filter(None, map(str, one))) for one in parts)
        if answers.options is not None:
            arrays |= {f"option_{i}": column for i, column in enumerate(answers.options.T)}
        super().__init__(name, arrays | dict(answers.fields))
        self.answers, self.note = answers, " ".join(str(answers).split("\n"))

    def save(self, file: BinaryIO, form: str) -> None:
        """Write all columns as Parquet, Arrow IPC, CSV or JSON lines."""
        frame = import_polars(self.name).DataFrame({name: self.array(name).tolist() for name in self.names})
        methods = {".parquet": "write_parquet", ".arrow": "write_ipc", ".csv": "write_csv", ".jsonl": "write_ndjson"}
        getattr(frame, methods[form])(file)
