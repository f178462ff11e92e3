"""`eval_log`: answers with confidences from the logs of evaluation harnesses.

`find_logs` (`_log_files`) lists the files, and `formats` makes samples of each. `_read_log` makes a
row of every sample (`_row`): its label and all confidences it has. `complete_log`
(`_chosen_confidence`) chooses one source of confidences per log and keeps the rows that have it.
`_answers` makes the columns. A sample that cannot count is no error: it is counted by its reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._progress import Progress, Report, progress_bar, reporter
from trueness.errors import InputError
from trueness.results import Answers
from trueness.sources.logs._answers_table import objects
from trueness.sources.logs._chosen_confidence import CompleteRow, Key, ReadLog, Rows, complete_log
from trueness.sources.logs._log_files import find_logs
from trueness.sources.logs._log_request import RANKING_OF_METRIC, LogRequest
from trueness.sources.logs._named_fields import TargetsLike
from trueness.sources.logs._row import Row, plain_value, row_of_sample
from trueness.sources.logs._sample import Epochs, Log, Sample, naming_the_place
from trueness.sources.logs._score import score_of
from trueness.sources.logs.formats._any_json import samples as samples_of_any_json
from trueness.sources.logs.formats._formats import samples_of
from trueness.sources.tables._files import expand_paths


def eval_log(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    scorer: str | None = None,
    confidence: str = "auto",
    label_field: str | None = None,
    confidence_field: str | None = None,
    question_field: str | None = None,
    rows_field: str | None = None,
    text_field: str | None = None,
    answer_field: str | None = None,
    target_field: str | None = None,
    id_field: str | None = None,
    targets: TargetsLike | None = None,
    fields: Sequence[str] = (),
    words: Mapping[str, float] | None = None,
    correct_from: float | None = None,
    progress: Progress = True,
) -> Answers:
    r"""Answers of language models from the logs of evaluation harnesses.

    Logs are recognised by their content: samples of lm-evaluation-harness (with the results beside
    them), logs of inspect (``.eval`` and ``.json``), run folders of HELM, records of OpenAI evals,
    chat-completion batches of OpenAI and vLLM, results of promptfoo, deepeval, langfuse, lighteval
    and UQLM, and what entry points of the group ``trueness.logs`` read. Of other JSON, options name
    the fields.

    Parameters
    ----------
    path : str, path or sequence of them
        Files, patterns and folders. A folder stands for all logs in it.
    scorer : str, optional
        The scorer (inspect), metric (lm-eval, HELM) or ``'metric,filter'`` (lm-eval) that says
        which answers are right; needed if there are several. By default ``acc`` or ``exact_match``
        where a log has them.
    confidence : str, default 'auto'
        Where confidences come from: ``'logprob'`` (probability of the answer's tokens),
        ``'options'``, ``'options-per-character'`` or ``'options-per-byte'`` (softmax of the
        log-likelihoods of all options), ``'stated'`` (a number or a word after "confidence" in the
        text), ``'regex:…(\d+)'`` (the last match in the text), ``'agreement'`` (share of the other
        samples of the same question with the same answer), or a field by its path, such as
        ``'metadata.confidence'``. ``'auto'`` takes the first of these that the log has: a field
        called confidence of the score, logprob, options, stated, agreement.
    label_field, confidence_field, question_field : str, optional
        Paths of fields that say whether the answer is right, how confident it is, and which
        question it belongs to.
    rows_field : str, optional
        Path of the array of answers, such as ``'results.results'``, in a file that is an object.
    text_field, answer_field : str, optional
        Paths of what the model wrote, and of the answer that was extracted from it.
        Log-probabilities are those beside the text, or beside an object that holds it: ``logprobs``
        or ``logprob``.
    target_field : str, optional
        Path of the right answer. An answer is right if it equals the target, both stripped; without
        `answer_field`, the answer is the whole text.
    id_field : str, optional
        Path of the id of the question: answers with the same id are samples of one question.
    targets : path or mapping, optional
        The right answers by id, in a CSV file with the columns ``id`` and ``target``; in place of
        `target_field`. Batches have the id ``custom_id``.
    fields : sequence of str, optional
        Paths of further fields to keep, such as ``'metadata.topic'``; None where a sample has none.
    words : mapping, optional
        Probabilities of words such as "likely", in place of
        :data:`trueness.sources.CONFIDENCE_WORDS`.
    correct_from : float, optional
        Scores of at least this are right, others wrong. Without it, scores other than 0 and 1 are
        not counted.
    progress : bool or callable, default True
        Whether to show a progress bar on a terminal, or a function of (done, total) in bytes.

    Returns
    -------
    Answers
        Complete answers only; `missing` counts the others by reason. No answer is taken as right or
        wrong unless the harness said so, by a score or, where a log of lm-eval has no accuracy of
        that ranking, by its target.

    Notes
    -----
    The agreement of few samples overstates how often another sample would agree. With at least 50
    questions of several answers, it is the share of agreeing samples times one factor for all
    questions, which presumes questions of one kind; with fewer, the share of the *other* samples.
    It is agreement, not correctness.

    Within one log, bare numbers other than 0 are percentages if most of them exceed 1, and
    fractions otherwise; a number of the other kind is not counted, because its scale is unclear.
    If no percentage exceeds 10, none is counted. Some harnesses write 100 where the model stated
    nothing: if other texts repeat their confidence and this one does not, it is not counted. If a
    sample is repeated, the last one counts.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import trueness as tn
    >>> log = pathlib.Path(tempfile.mkdtemp(), "answers.jsonl")
    >>> rows = [{"grade": {"right": i != 2}, "sure": f"{60 + 10 * i} %"} for i in range(4)]
    >>> _ = log.write_text("\n".join(map(json.dumps, rows)))
    >>> answers = tn.sources.eval_log(log, label_field="grade.right", confidence_field="sure")
    >>> answers.label.tolist(), answers.confidence.tolist()
    ([1, 1, 0, 1], [0.6, 0.7, 0.8, 0.9])
    """
    request = LogRequest(
        scorer=scorer,
        confidence=confidence,
        label_field=label_field,
        confidence_field=confidence_field,
        question_field=question_field,
        fields=fields,
        words=words,
        correct_from=correct_from,
        rows_field=rows_field,
        text_field=text_field,
        answer_field=answer_field,
        target_field=target_field,
        id_field=id_field,
        targets=targets,
    )
    return read_answers(path, request, progress=progress)


def read_answers(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    request: LogRequest,
    *,
    progress: Progress = True,
) -> Answers:
    """The answers that `eval_log` returns; also those of a log without confidences."""
    paths = _as_strings(path)
    if not paths:
        raise InputError("path", "must name at least one log", "got none")
    logs = list(find_logs(expand_paths(paths), request))
    bar = progress_bar("Reading logs") if progress is True else nullcontext(reporter(progress))
    with bar as report:
        read_logs = _read_logs(logs, request, report)
    _check_key(read_logs, request)

    missing: Counter[str] = Counter()
    repeated = sum(log.repeated for log in logs)
    rows: dict[Any, CompleteRow] = {}
    # The newest log comes last: its samples replace those of an earlier start of the same run.
    for read_log in sorted(read_logs, key=lambda read_log: read_log.log.created):
        log = read_log.log
        for key, row in complete_log(read_log, request, missing).items():
            run_and_key = (log.identity or str(log), key)
            if run_and_key in rows:
                repeated += 1
            rows[run_and_key] = row
    if not rows:
        raise _no_answer_error(paths, missing, request)
    return _answers(
        list(rows.values()),
        field_names=request.extra_fields,
        missing=dict(missing.most_common()),
        notes=_notes(logs, repeated),
    )


def _as_strings(path: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[str]:
    if isinstance(path, str | PathLike):
        return [str(path)]
    return [str(name) for name in path]


def _notes(logs: Sequence[Log], repeated: int) -> tuple[str, ...]:
    notes = [f"{log}: {note}." for log in logs for note in log.notes]
    if repeated:
        notes.append(f"{repeated:,} samples are repeated; the last of each counts.")
    return tuple(notes)


def _no_answer_error(
    paths: Sequence[str], missing: Mapping[str, int], request: LogRequest
) -> InputError:
    """The error that no answer can be used: the reasons with their counts, and the way out."""
    names = ", ".join(paths[:3])
    if len(paths) > 3:
        names = f"{names} …"
    demand = f"{names}: no answer has both a score and a confidence"
    if not request.needs_confidence:
        demand = f"{names}: no answer has a score"
    if not missing:
        return InputError("", demand, "there are no samples")
    reasons = "; ".join(f"{reason}: {number:,}" for reason, number in missing.items())
    remedy = "`confidence` says where confidences are: logprob, a field, regex:…"
    if "not scored" in missing and not request.judges:
        remedy = "`label_field`, `target_field` or `targets` says which answers are right."
    elif not request.needs_confidence:
        remedy = ""
    return InputError("", demand, reasons, remedy=remedy)


def _read_logs(logs: Sequence[Log], request: LogRequest, report: Report) -> list[ReadLog]:
    """The rows of each log; progress is reported in bytes of all files."""
    sizes = [log.path.stat().st_size for log in logs]
    total = max(sum(sizes), 1)
    read_logs = []
    bytes_before = 0
    for log, size in zip(logs, sizes, strict=True):
        report_bytes = _file_reporter(report, before=bytes_before, size=size, total=total)
        with naming_the_place(log):
            if log.harness:
                samples = samples_of(log, report_bytes)
            else:
                samples = samples_of_any_json(log, report_bytes, request.rows_field)
            rows = _read_log(log, samples, request)
        read_logs.append(ReadLog(log, rows))
        bytes_before += size
    return read_logs


def _file_reporter(report: Report, *, before: int, size: int, total: int) -> Callable[[int], None]:
    """Takes the bytes read of one file and reports the bytes read of all files."""

    def report_bytes(done: int) -> None:
        report(before + min(done, size), total)

    return report_bytes


def _read_log(log: Log, samples: Iterable[Sample], request: LogRequest) -> Rows:
    """A row of each sample; of a repeated sample the last counts."""
    rows: Rows = {}
    # Of JSON with ids, answers to one question are numbered by their order.
    epochs = Epochs() if not log.harness and request.id_field is not None else None
    for sample in samples:
        if request.filter and sample.part != request.filter:
            continue
        key = _sample_key(sample)
        if key in rows:
            log.repeated += 1
            del rows[key]  # a dict would keep the last sample in the place of the first
        if request.named.any_named:
            sample = request.named.fill_in(log, sample)
        score = score_of(log, sample, request)
        if not sample.trouble:
            log.scorers |= dict.fromkeys(score.choices)
        epoch = sample.epoch if epochs is None else epochs.next_of(sample.question)
        rows[key] = row_of_sample(log, sample, score, epoch, request)
    if request.filter and not rows:
        demand = f"must name a filter of {log} after the comma"
        raise InputError("scorer", demand, f"got {request.filter!r}")
    _check_scorer(log, request.metric)
    return rows


def _check_key(read_logs: Sequence[ReadLog], request: LogRequest) -> None:
    """Raise if the answer key has no question in common with the logs.

    The answer key, `request.named.targets`, maps the id of a question to its right answer. One
    common id is enough. Nothing is checked without a key, or if the logs have no rows. The error
    shows up to three ids of each side.
    """
    targets = request.named.targets
    if targets is None:
        return
    seen = {row.identity for read_log in read_logs for row in read_log.rows.values()}
    if not seen or seen & targets.keys():
        return
    logs = ", ".join(str(read_log.log) for read_log in read_logs)
    got = f"it has {_some(targets)}, and {logs[:200]} {_some(sorted(seen))}"
    remedy = "`id_field` names the field with the id."
    raise InputError("targets", "must have the ids of the logs", got, remedy=remedy)


def _some(names: Iterable[str]) -> str:
    return ", ".join(repr(name[:40]) for name in list(names)[:3]) or "none"


def _sample_key(sample: Sample) -> Key:
    """What tells the sample from others: a repeated key is the same sample, run again."""
    # Not the question that the caller names: it may be that of many samples.
    return Key(
        question=sample.question,
        model=sample.model,
        epoch=sample.epoch,
        document=plain_value(sample.raw.get("doc_id")),
        part=sample.part,
        perturbed=sample.perturbed,
    )


def _check_scorer(log: Log, metric: str) -> None:
    """Refuse a scorer that the log does not have, or none where the log has several."""
    names = ", ".join(log.scorers)
    if not metric:
        if len(log.scorers) > 1:
            raise InputError("scorer", f"must say which scores of {log} to take", f"it has {names}")
        return
    # An accuracy of lm-eval need not be in the log: the target also says which option is right.
    accepted = {*log.scorers, *RANKING_OF_METRIC}
    scorer = metric.partition(".")[0]  # "judge" of "judge.style"
    if names and metric not in accepted and scorer not in accepted:
        raise InputError("scorer", f"must be one of those of {log}: {names}", f"got {metric!r}")


# ---- Make the result


def _answers(
    complete: Sequence[CompleteRow],
    *,
    field_names: Sequence[str],
    missing: dict[str, int],
    notes: tuple[str, ...],
) -> Answers:
    """The complete rows as columns; `missing` counts the others by reason."""
    rows = [answer.row for answer in complete]
    fields = {}
    for i, name in enumerate(field_names):
        fields[name] = objects(row.fields[i] for row in rows)
    return Answers(
        label=np.array([row.label for row in rows], dtype=np.int64),
        confidence=np.array([answer.confidence for answer in complete], dtype=float),
        question=objects(row.question for row in rows),
        epoch=np.array([row.epoch for row in rows], dtype=np.int64),
        task=objects(row.task for row in rows),
        subject=objects(row.subject for row in rows),
        source=objects(answer.source for answer in complete),
        model=objects(row.model for row in rows),
        answer=objects(row.answer or "" for row in rows),
        right_option=_right_options(rows),
        options=_option_matrix(rows),
        missing=missing,
        notes=notes,
        fields=fields,
    )


def _right_options(rows: Sequence[Row]) -> NDArray[np.int64]:
    """The number of the right option of each row; -1 if there is none or more than one."""
    # A target such as "1" may be the number of an option or its text: the labels tell which.
    by_number = [row.targets.by_number for row in rows]
    by_text = [row.targets.by_text for row in rows]
    targets = by_number
    if _contradictions(rows, by_text) < _contradictions(rows, by_number):
        targets = by_text
    numbers = [right[0] if len(right) == 1 else -1 for right in targets]
    return np.array(numbers, dtype=np.int64)


def _contradictions(rows: Iterable[Row], targets: Iterable[tuple[int, ...]]) -> int:
    """The rows whose label is not what a reading of the targets says of the chosen option."""
    count = 0
    for row, right_options in zip(rows, targets, strict=True):
        if right_options and row.answer and row.answer.isdecimal():
            label_by_target = int(int(row.answer) in right_options)
            if row.label != label_by_target:
                count += 1
    return count


def _option_matrix(rows: Sequence[Row]) -> NDArray[np.float64] | None:
    """The probabilities of the options; None unless all rows have equally many."""
    matrix = []
    for row in rows:
        if row.probabilities is None:
            return None
        matrix.append(row.probabilities)
    sizes = {len(probabilities) for probabilities in matrix}
    if len(sizes) > 1 or sizes == {0}:
        return None
    return np.array(matrix)
