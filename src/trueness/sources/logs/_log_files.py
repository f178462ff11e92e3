"""The files and folders that are logs."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from trueness.errors import InputError
from trueness.sources.logs._log_request import LogRequest
from trueness.sources.logs._sample import Log
from trueness.sources.logs.formats._formats import recognise
from trueness.sources.logs.formats._helm import HELM_FILE
from trueness.sources.tables._files import SUFFIXES, inner_suffix


def is_eval_log(name: str) -> bool:
    """Whether a path is a log of a known harness, or a folder."""
    path = Path(name)
    if path.is_dir():
        return not _is_folder_of_tables(path)
    # Nothing but a regular file is opened: the content of a pipe can be read only once.
    return path.is_file() and recognise(path) != ""


def _is_folder_of_tables(folder: Path) -> bool:
    """Whether a folder holds Parquet, and no log."""
    tables = 0
    for file in folder.rglob("*"):
        if not file.is_file():
            continue
        is_parquet = file.suffix == ".parquet"
        tables += is_parquet
        # Of many files of a table, only those that are called as lighteval does are opened.
        if (not is_parquet or file.name.startswith("details_")) and recognise(file):
            return False
    return tables > 0


def find_logs(names: Iterable[str], request: LogRequest) -> Iterator[Log]:
    """The logs that files are and that folders hold."""
    for path in map(Path, names):
        if not path.exists():
            raise InputError("", f"There is no file {str(path)!r}")
        if path.is_dir():
            yield from _logs_in_folder(path)
        else:
            yield _log_in_file(path, request)


def _logs_in_folder(folder: Path) -> list[Log]:
    """The logs of known harnesses below a folder, the runs of HELM first."""
    helm_runs = {file.parent for file in folder.rglob(HELM_FILE)}
    helm_files = []
    other_files = []
    for file in sorted(folder.rglob("*")):
        if not file.is_file():
            continue
        if file.parent not in helm_runs:
            other_files.append(file)
        elif file.name == HELM_FILE:  # the other files of a HELM run are not logs
            helm_files.append(file)
    logs = []
    for file in helm_files + other_files:
        harness = recognise(file)
        if harness:
            logs.append(Log(file, harness))
    if not logs:
        demand = f"The folder {str(folder)!r} has no log of lm-eval, inspect, HELM or OpenAI evals"
        raise InputError("", demand, remedy=_pattern_remedy(folder, other_files))
    return logs


def _pattern_remedy(folder: Path, files: Iterable[Path]) -> str:
    """How to name the tables of a folder, or nothing if it holds none.

    Only a folder of Parquet files is a table; text files are named by a pattern.
    """
    for file in files:
        suffix = inner_suffix(file)
        if suffix in SUFFIXES:
            return f"The tables in it are named by a pattern: '{folder / f'*{suffix}'}'."
    return ""


def _log_in_file(file: Path, request: LogRequest) -> Log:
    """The log in a file; other JSON is one if the request names its fields."""
    harness = "" if request.rows_field is not None else recognise(file)
    if not harness and not request.reads_any_json:
        known = "lm-eval, inspect, HELM or OpenAI evals, nor a batch or an export that is known"
        raise InputError("", f"{file} is not a log of {known}", remedy=_NEEDED_FIELDS)
    return Log(file, harness)


_NEEDED_FIELDS = (
    "Of other JSON, `label_field` and `confidence_field` must name the fields; or `text_field` and"
    " `target_field`, or `id_field` with `targets`."
)
