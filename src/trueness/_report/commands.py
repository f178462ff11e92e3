"""What to copy to use a map: the lines of the command line, or of Python."""

import inspect
import re
import shlex
from pathlib import PurePath
from typing import Any

import trueness
from trueness._report.records import Provenance

_MAP = "map.json"
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".npz")


def fit_command(calibrator: Any, origin: Provenance, model: str) -> str:
    """How to fit the map and to apply it: as shell commands if the rows came from a file."""
    fit = origin.commands.get(model)
    cluster = origin.cluster if type(calibrator).__name__ == "AutoCalibration" else ""
    if fit == "":
        return ""
    if fit is None:
        arguments = ", ".join(filter(None, [origin.arguments, cluster]))
        fit = f"calibrator = {in_python(calibrator)}.fit({arguments})"
        return f"{fit}\ncalibrated = calibrator.predict(new_scores)"
    suffix = PurePath(origin.file or "").suffix
    if suffix not in _SUFFIXES:
        suffix = ".csv"
    apply = f"trueness apply new{suffix} --calibrator {_MAP} -o calibrated{suffix}"
    return f"{f'{fit} {cluster}'.rstrip()} {as_options(calibrator)} -o {_MAP}\n{apply}"


def segment_command(calibrator: Any, origin: Provenance, model: str) -> str:
    """The same for the rows of one segment, which are to be selected first."""
    command = fit_command(calibrator, origin, model)
    file = origin.file or ""
    if model not in origin.commands:
        return command and f"# y_prob, y_true: the rows of this segment alone\n{command}"
    part = f"segment{PurePath(file).suffix}"
    command = command.replace(f" {shlex.quote(file)} ", f" {part} ", 1)
    return command and f"# {part}: the rows of this segment alone\n{command}"


def in_python(calibrator: Any) -> str:
    """The call that makes a calibrator, from `tn` if it is an everyday name there."""
    everyday = type(calibrator).__name__ in trueness.__all__
    package = "tn" if everyday else "tn.recalibrate"
    return f"{package}.{calibrator!r}"


def as_options(calibrator: Any) -> str:
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
