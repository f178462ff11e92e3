"""``trueness document``."""

import shlex
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness.cli._command import command
from trueness.cli._printing import Target, note
from trueness.cli._reading import about, read_unchecked
from trueness.cli._report import report_of_rows
from trueness.errors import InputError
from trueness.sources._data_set import DataSet
from trueness.sources._request import Request

if TYPE_CHECKING:
    from trueness._report.filing import Style
    from trueness._report.rendering import Report
    from trueness.results._page import Contents
    from trueness.typing import ArrayLike

_USUAL = "trueness-document.html"
_STYLE = (
    "The sections: of a credit validation, or of a clinical one (without definition of default and "
    "stability)."
)


@command("document")
@opt.data()
@opt.choice("--style", "credit clinical", _STYLE, default="credit")
@opt.text("--grades", "Column with the grade of each row, for a table of grades.")
@opt.text("--over", "Column of periods: the scores of each are compared with those of the first.")
@opt.cluster
@opt.level(0.95, "Confidence level of all limits; above 1/2.", minimum=0.5)
@opt.seed()
@opt.text("--title", "Heading of the document.", metavar="TEXT")
@opt.output(("html",), {".html": "html", ".htm": "html"}, file=_USUAL)
def document(
    request: Request, target: Target, *, style: "Style", level: float, seed: int, title: str | None
) -> None:
    """Write the document that a validator files, with the judgement left blank.

    Its sections are data, definition of default, discrimination, calibration, stability, limits of
    use, decision and receipt. Numbers and pictures are filled in; what a person must judge is a box
    to write in. It prints well. Without -o it is written to trueness-document.html.

    \b
      trueness document loans.csv --label default --prob pd --grades rating --over year
      trueness document patients.csv --label died --prob risk --style clinical -o risk.html

    Exit code 0: written, whatever the verdict. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness._report.filing import Filing, filing_page

    settings = {"level": level, "seed": seed}
    heading = title or f"Validation of a {style} model"
    over = request.over
    rows = read_unchecked(request if over is None else replace(request, by=(*request.by, over)))
    if len(rows.models) != 1:
        raise InputError("--prob", "must name one model for a document", f"got {len(rows.models)}")
    periods = None if over is None else rows.columns.groups[over]
    if over is not None:
        rows = replace(rows, request=replace(rows.request, by=tuple(dict.fromkeys(request.by))))
    report = report_of_rows(rows, settings | {"title": heading, "bins": 10})
    filing = Filing(
        contents=_binary(report),
        style=style,
        command=_command(request.files),
        digests=_digests(request.files),
    )
    if style == "credit":
        filing = replace(
            filing,
            grades=_grades(rows, level),
            **_stability(rows, periods, settings),
        )
    target.write(filing_page(filing))
    if target.path is not None:
        note(f"document written to {target.path}; the judgement is left blank.")


def _binary(report: "Report") -> "Contents":
    """The contents of the report, if there is one event per row."""
    contents = report.contents
    if contents.view != "binary":
        remedy = "For one class name its column with `--prob` and its label with `--pos-label`."
        raise InputError("--prob", "must be the probability of an event", remedy=remedy)
    return contents


def _grades(rows: DataSet, level: float) -> "tn.results.GradeTable | None":
    """The table of grades, if there is a column of them."""
    if rows.grades is None:
        return None
    rows = rows.complete()
    with about(rows):
        return rows.ask(tn.grade_table, grades=rows.grades, level=level)


def _stability(
    rows: DataSet, periods: "ArrayLike | None", settings: dict[str, Any]
) -> dict[str, Any]:
    """The stability index of the scores in each later period, compared with the first.

    `periods` names the period of each row; without it the result is empty. Periods are in the order
    of their text, and missing scores are left out. InputError if there is only one period.
    """
    import numpy as np

    if periods is None:
        return {}
    scores = np.asarray(rows.y_prob)
    names = np.array([str(value) for value in periods])
    first, *later = sorted(set(names.tolist()))
    if not later:
        raise InputError("--over", "must have two periods or more", "got 1")
    is_present = ~np.isnan(scores)
    before = scores[is_present & (names == first)]
    stability = {}
    for name in later:
        stability[name] = tn.psi(before, scores[is_present & (names == name)], **settings)
    return {"first_period": first, "stability": stability}


def _digests(files: tuple[str, ...]) -> dict[str, str]:
    """The SHA-256 of each file that was read; standard input has none."""
    digests = {}
    for name in files:
        path = Path(name)
        if path.is_file():
            with path.open("rb") as file:
                digests[path.name] = file_digest(file, "sha256").hexdigest()
    return digests


def _command(files: tuple[str, ...]) -> str:
    """The command with the options that were typed, unless they only say where output goes."""
    context = click.get_current_context()
    words = ["trueness", "document", *files]
    for name, option in opt.typed_options():
        value = context.params.get(name)
        if name in ("output", "debug"):
            continue
        if value is True:
            words.append(option)
            continue
        for text in value if isinstance(value, tuple) else (value,):
            words += [option, str(text)]
    return shlex.join(words)
