"""What to copy in order to follow the advice of a report."""

import ast
import shlex
from pathlib import PurePath

from trueness._report.records import Provenance

_MAP = "map.json"
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".npz")


def fit_command(calibrator: str, origin: Provenance, model: str) -> str:
    """How to fit the map and to apply it: on the command line if the rows were read there, otherwise in Python."""
    fit = origin.commands.get(model)
    cluster = origin.cluster if calibrator.startswith("AutoCalibration(") else ""
    if fit == "":
        return ""
    if fit is None:
        arguments = ", ".join(filter(None, [origin.arguments, cluster]))
        return f"calibrator = tn.{calibrator}.fit({arguments})\ncalibrated = calibrator.predict(new_scores)"
    suffix = PurePath(origin.file or "").suffix
    suffix = suffix if suffix in _SUFFIXES else ".csv"
    apply = f"trueness apply new{suffix} --calibrator {_MAP} -o calibrated{suffix}"
    return f"{f'{fit} {cluster}'.rstrip()} {as_options(calibrator)} -o {_MAP}\n{apply}"


def segment_command(origin: Provenance, model: str) -> str:
    """The same for the rows of one segment, which are to be selected first."""
    command, file = fit_command("AutoCalibration()", origin, model), origin.file or ""
    if model not in origin.commands:
        return command and f"# y_prob, y_true: the rows of this segment alone\n{command}"
    part = f"segment{PurePath(file).suffix}"
    command = command.replace(f" {shlex.quote(file)} ", f" {part} ", 1)
    return command and f"# {part}: the rows of this segment alone\n{command}"


def as_options(calibrator: str) -> str:
    """A calibrator as options of ``trueness fit``."""
    call = ast.parse(calibrator, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    name = "".join(f"-{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(call.func.id))
    options = ""
    for keyword in call.keywords:
        value = ast.literal_eval(keyword.value)
        if keyword.arg != "seed":
            options += f" --set {keyword.arg}={value}"
        elif value:  # 0 is the default of the command
            options += f" --seed {value}"
    return f"--calibrator {name}{options}"
