"""What to copy to use a map: the lines of the command line, or of Python."""

import inspect
import re
import shlex
import sys
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from trueness._input.segment_columns import TIMES
from trueness._tally.evidence import Evidence
from trueness.results import Verdict
from trueness.results._page import Command, Provenance
from trueness.results._remedies import Advice, Unfitted

_MAP = "map.json"
_READ_BY_APPLY = ("--input-format", "--separator", "--decimal")
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".npz")
_OF_LOGS = (
    *("--scorer", "--confidence", "--label-field", "--confidence-field", "--rows-field"),
    *("--text-field", "--answer-field", "--target-field", "--id-field", "--targets"),
)
"""How evaluation logs are read: options of `fit` that `trueness answers` takes, too."""


def command_for(
    advice: Advice, verdict: Verdict, origin: Provenance, model: str, *, has_remedies: bool
) -> str:
    """The lines to copy in order to follow the advice; empty if there are none."""
    in_python = model not in origin.commands
    command = origin.commands.get(model)
    if advice.kind == "check-labels" and verdict.doubt:
        if in_python:
            return _doubt_in_python(verdict.doubt, origin)
        return _doubt_command(verdict.doubt, command, origin)
    if advice.kind == "check-clusters":
        return _check_clusters(origin, model)
    if advice.kind == "need-rows":
        return "" if command is None else command.line("report")
    if advice.kind == "adjust":
        return adjust_command(origin, model)
    if advice.kind == "recalibrate-segment":
        return segment_command(advice, origin, model)
    if advice.kind == "correct-prior" and (in_python or not has_remedies):
        weight = f"{advice.numbers['weight']:.3g}"
        return f"calibrated = tn.recalibrate.prior_correction(new_scores, weight={weight})"
    if advice.calibrator is None:
        return ""
    return fit_command(advice.calibrator, origin, model)


def _doubt_in_python(doubt: str, origin: Provenance) -> str:
    """How to see whether labels or columns were confused, in Python."""
    scores = origin.arguments.split(",")[0]
    if doubt == "confidence":
        return f"tn.report(y_true == y_predicted, {scores})"
    if origin.other is None:
        return ""
    return f"tn.report(y_true, {scores}, pos_label={origin.other!r})"


def _doubt_command(doubt: str, command: Command | None, origin: Provenance) -> str:
    """The same on the command line, which cannot compare labels with predicted ones."""
    if doubt == "confidence" or origin.other is None or command is None:
        return ""
    return command.line("report", pos_label=str(origin.other))


def _check_clusters(origin: Provenance, model: str) -> str:
    """How to see how many rows each cluster has, and how to name another column."""
    if model not in origin.commands:
        scores = origin.arguments.split(",")[0]
        count = "np.unique(cluster, return_counts=True)  # the rows of each cluster"
        return f"{count}\ntn.report(y_true, {scores}, cluster=another_column)"
    command = origin.commands[model]
    if command is None or command.cluster is None:
        return ""
    by_cluster = shlex.join(["--by", command.cluster])
    return (
        f"{command.line('segments')} {by_cluster}\n"
        f"{command.line('report')} --cluster ANOTHER_COLUMN"
    )


def fit_arguments(evidence: Evidence, event: Hashable, *, several: bool, named: bool) -> str:
    """What the calibrators that were tried take in `fit`, as Python.

    `event` is the label that the scores predict, `several` says whether each row has several
    labels, and `named` whether labels were named by `labels`.
    """
    if evidence.two_columns:
        arguments = "y_prob[:, 1], y_true"
    elif several:
        arguments = "y_prob[:, label], y_true[:, label]"
    else:
        arguments = "y_prob, y_true"
    if isinstance(event, np.generic):
        event = event.item()
    if event is not None and event != 1:
        arguments += f", pos_label={event!r}"
    if event is None and named:
        arguments += ", labels=labels"
    if evidence.weights != "none":
        arguments += ", sample_weight=sample_weight"
    return arguments


def fit_command(calibrator: Unfitted, origin: Provenance, model: str) -> str:
    """How to fit the map and to apply it: as shell commands if the rows were read by one."""
    takes_clusters = type(calibrator).__name__ == "AutoCalibration"
    if model not in origin.commands:
        cluster = origin.cluster if takes_clusters else ""
        arguments = ", ".join(filter(None, [origin.arguments, cluster]))
        fit = f"calibrator = {in_python(calibrator)}.fit({arguments})"
        return f"{fit}\ncalibrated = calibrator.predict(new_scores)"
    command = origin.commands[model]
    if command is None:
        return ""
    words = [command.line("fit")]
    if takes_clusters:
        words += _cluster_option(command)
    words.append(as_options(calibrator))
    return _fit_and_apply(" ".join(words), origin, command)


def adjust_command(origin: Provenance, model: str) -> str:
    """How to move the ends of intervals on the command line; empty if it did not read the rows."""
    command = origin.commands.get(model)
    if command is None:
        return ""
    words = [command.line("fit"), *_cluster_option(command)]
    return _fit_and_apply(" ".join(words), origin, command)


def _cluster_option(command: Command) -> list[str]:
    """The option that names the column of clusters; none without."""
    if command.cluster is None:
        return []
    return [shlex.join(["--cluster", command.cluster])]


def _fit_and_apply(fit: str, origin: Provenance, command: Command, by: Sequence[str] = ()) -> str:
    """The line that fits, with those that apply the map to new rows, read as those at hand were.

    All new rows are kept, also those without a score. A map is applied to a table, with the columns
    `by` if it is one by segments: new evaluation logs are made one first.
    """
    lines = [f"{fit} -o {_MAP}"]
    suffix = _suffix(origin)
    reading = _options_of_apply(command)
    if origin.of_answers:
        lines.append(_answers_command(origin, command, by))
        suffix = ".csv"
        reading = []
    apply = shlex.join(["trueness", "apply", f"new{suffix}", *reading])
    lines.append(f"{apply} --calibrator {_MAP} -o calibrated{suffix}")
    return "\n".join(lines)


def _options_of_apply(command: Command) -> list[str]:
    """How `trueness apply` reads rows of the same kind as `command` does."""
    options = {name: command.options[name] for name in _READ_BY_APPLY if name in command.options}
    if command.options.get("--missing") == "drop":
        options["--missing"] = "keep"
    return [word for option in options.items() for word in option] + list(command.flags)


def _answers_command(origin: Provenance, command: Command, by: Sequence[str]) -> str:
    """How to write the answers of a new log, which is read as the one at hand was, as a table."""
    log = f"new{PurePath(origin.file or '').suffix or '.json'}"
    kept = {name: value for name, value in command.options.items() if name in _OF_LOGS}
    columns = [word for name in by for word in ("--by", name)]
    of_new = replace(command, files=(log,), options=kept, flags=tuple(columns))
    return f"{of_new.line('answers')} -o new.csv"


def segment_command(advice: Advice, origin: Provenance, model: str) -> str:
    """How to fit and apply the map of a segment: by its column, or to its rows alone."""
    if shifts_segments(advice):
        return _by_column(advice, origin, model)
    assert advice.calibrator is not None
    return _of_segment(advice.calibrator, origin, model)


def shifts_segments(advice: Advice) -> bool:
    """Whether the map is for all rows and shifts each segment, so that no rows are selected."""
    return type(advice.calibrator).__name__ == "SegmentCalibration"


def _by_column(advice: Advice, origin: Provenance, model: str) -> str:
    """How to fit and apply a map by a column, or by several that are crossed, as text to copy.

    Lines of Python where `origin` has no command for the model; empty where its command is None.
    On the command line the calibrator is Platt scaling.
    """
    columns = str(advice.column).split(TIMES)
    if model not in origin.commands:
        by = ", ".join(f"{name!r}: {name}" for name in columns)
        arguments = ", ".join(filter(None, [origin.arguments, f"by={{{by}}}", origin.cluster]))
        fit = f"calibrator = {in_python(advice.calibrator)}.fit({arguments})"
        of_new = ", ".join(f"{name!r}: new_{name}" for name in columns)
        return f"{fit}\ncalibrated = calibrator.predict(new_scores, by={{{of_new}}})"
    command = origin.commands[model]
    if command is None:
        return ""
    words = [command.line("fit"), *(shlex.join(["--by", name]) for name in columns)]
    words += _cluster_option(command)
    words.append("--calibrator platt-scaling")
    return _fit_and_apply(" ".join(words), origin, command, by=columns)


def _of_segment(calibrator: Unfitted, origin: Provenance, model: str) -> str:
    """A map of the rows of one segment, which are to be selected first."""
    if model not in origin.commands:
        command = fit_command(calibrator, origin, model)
        return f"# y_prob, y_true: the rows of this segment alone\n{command}"
    all_rows = origin.commands[model]
    if all_rows is None:
        return ""
    part = f"segment{_suffix(origin)}"
    of_part = replace(origin, commands={model: replace(all_rows, files=(part,))})
    command = fit_command(calibrator, of_part, model)
    return f"# {part}: the rows of this segment alone\n{command}"


def _suffix(origin: Provenance) -> str:
    """The suffix of a file of the same format."""
    suffix = PurePath(origin.file or "").suffix
    if suffix in _SUFFIXES:
        return suffix
    return ".csv"


def in_python(calibrator: object) -> str:
    """The call that makes a calibrator, from `tn` if it is an everyday name there."""
    everyday = sys.modules["trueness"].__all__  # no layer below the report imports the package
    package = "tn" if type(calibrator).__name__ in everyday else "tn.recalibrate"
    return f"{package}.{calibrator!r}"


def as_options(calibrator: Unfitted) -> str:
    """A calibrator as options of ``trueness fit``."""
    kind = type(calibrator)
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", kind.__name__).lower()
    options = [f"--calibrator {name}"]
    defaults = inspect.signature(kind).parameters
    for parameter, value in sorted(calibrator.get_params(deep=False).items()):
        if parameter == "seed":
            if value:  # 0 is the default of the command
                options.append(f"--seed {value}")
        elif value != defaults[parameter].default:
            options.append(f"--set {parameter}={value}")
    return " ".join(options)
