"""What to copy to use a map: the lines of the command line, or of Python."""

import inspect
import re
import shlex
from dataclasses import replace
from pathlib import PurePath

import trueness
from trueness._input.segment_columns import TIMES
from trueness.results._page import Provenance
from trueness.results._remedies import Advice, Unfitted

_MAP = "map.json"
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".npz")


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
    if takes_clusters and command.cluster is not None:
        words.append(shlex.join(["--cluster", command.cluster]))
    words.append(as_options(calibrator))
    return _fit_and_apply(" ".join(words), origin)


def adjust_command(origin: Provenance, model: str) -> str:
    """How to move the ends of intervals on the command line; empty if it did not read the rows."""
    command = origin.commands.get(model)
    if command is None:
        return ""
    words = [command.line("fit")]
    if command.cluster is not None:
        words.append(shlex.join(["--cluster", command.cluster]))
    return _fit_and_apply(" ".join(words), origin)


def _fit_and_apply(fit: str, origin: Provenance) -> str:
    suffix = _suffix(origin)
    apply = f"trueness apply new{suffix} --calibrator {_MAP} -o calibrated{suffix}"
    return f"{fit} -o {_MAP}\n{apply}"


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
    if command.cluster is not None:
        words.append(shlex.join(["--cluster", command.cluster]))
    words.append("--calibrator platt-scaling")
    return _fit_and_apply(" ".join(words), origin)


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
    everyday = type(calibrator).__name__ in trueness.__all__
    package = "tn" if everyday else "tn.recalibrate"
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
