"""``trueness report``."""

import shutil
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.strings import visible, visible_lines
from trueness.cli._command import command
from trueness.cli._printing import MARKDOWN, Target, note, printed_warnings, warning
from trueness.cli._reading import about, dropped_message, judged, read_unchecked
from trueness.cli._tally import OWN_BINS, each, file_names, own_bins, read_total
from trueness.errors import InputError, collected_warnings
from trueness.sources._data_set import DataSet, require_rows
from trueness.sources._request import EVERY, Request

if TYPE_CHECKING:
    from trueness._report.rendering import Report
    from trueness.results._page import Provenance

_USUAL = "trueness-report.html"
_SUFFIXES = {".html": "html", ".htm": "html", **MARKDOWN, ".json": "json", ".txt": "text"}
_LEVEL = "Confidence level of all intervals, bands and decisions; above 1/2."
_intervals = opt.shown_intervals(
    "Compute confidence limits or noise floors of all measures and the panel, or only for the "
    "verdict (faster)."
)
_page = opt.combine(
    opt.text("--title", "Heading of the page.", metavar="TEXT"),
    opt.output(("html", "markdown", "json", "text"), _SUFFIXES, file=_USUAL),
)


@command("report")
@opt.data(label="own", events=True)
@opt.count(
    "--crossed", "With several --by: cross up to this many columns; 2 adds every pair of values.", 1
)
@opt.cluster
@opt.multilabel
@opt.judge
@opt.bins("10", "Bins of the first diagram and of the ECE (the page offers others)", blind=True)
@opt.level(0.95, _LEVEL, minimum=0.5)
@_intervals
@opt.rounded_to("The scores were rounded to multiples of this")
@click.option(
    "--each", is_flag=True, help="Also test each file, such as a month, and look for a change."
)
@opt.text("--over", "Column of dates or periods: test each of them, and look for a change.")
@opt.choice("--every", EVERY, "Take the dates of --over together.")
@opt.seed()
@_page
def report(request: Request, target: Target, **values: object) -> None:
    """Write a report on the calibration of predicted probabilities.

    It says whether they are calibrated, with what confidence, where they are off and what would fix
    them. Without -o the page is written to trueness-report.html in the current folder, and the
    verdict is printed; Markdown, JSON and text go to standard output.

    \b
      trueness report --demo
      trueness report rows.csv --label churned --prob a --prob b --by region
      trueness report answers.jsonl --label correct --prob p --cluster question
      trueness report run.eval
      trueness report answers.csv --label human --judge grader --prob p
      trueness report scores.npz --label y --prob P -o dogs.html
      trueness report m2025-*.csv --each -o months.html
      trueness report rows.csv --over date --every month
      trueness report x.csv --kind multilabel --label 'y_*' --prob-columns 'p_*'
      trueness report monday.tally tuesday.tally -o days.html

    Exit code 0: written, whatever the verdict. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    options: dict[str, Any] = values
    settings = {
        name: options[name]
        for name in ("crossed", "level", "intervals", "seed", "title", "rounded_to")
    }
    settings["bins"] = opt.bin_rule(options["bins"])
    request = replace(request, multilabel=options["kind"] is not None)
    over = request.over
    if options["every"] is not None and over is None:
        raise click.UsageError("--every needs --over.")
    if over is not None and options["each"]:
        raise click.UsageError("Give --over or --each, not both.")
    if request.judge is not None and (over is not None or options["each"] or request.multilabel):
        raise click.UsageError(
            "--judge is for one label of all rows: leave out --over, --each and --kind multilabel."
        )
    rows = read_unchecked(request if over is None else replace(request, by=(*request.by, over)))
    if over is not None:
        settings |= _series(_periods(rows, over, options["every"]), settings)
        rows = replace(rows, request=replace(rows.request, by=tuple(dict.fromkeys(request.by))))
    elif options["each"]:
        from trueness.sources.tables._files import expand_paths

        parts = []
        for name in expand_paths(request.files):
            parts.append((name, read_unchecked(replace(request, files=(name,)))))
        settings |= _series(parts, settings)
    elif len(request.files) > 1:
        note(f"{len(request.files):,} files are read as one; `--each` also tests each of them.")
    if request.judge is not None:
        settings["judge"] = _record_of_judge(rows, settings["level"])
        rows, settings["notes"] = _judged(rows, settings)
    _write(report_of_rows(rows, settings), target)


def _judged(rows: DataSet, settings: dict[str, Any]) -> tuple[DataSet, list[str]]:
    """The rows with a human label, and what they say of each model together with the judge."""
    from trueness.sources._columns import missing_rows

    models = judged(rows, level=settings["level"], seed=settings["seed"])
    notes = []
    for name, powered in models.items():
        head = f"{name}: " if len(models) > 1 else ""
        notes.append(
            f"{head}{powered.sentence} All else, the verdict too, is of the rows with a human "
            "label alone."
        )
    note(*notes)
    request = replace(rows.request, missing="drop")  # as the command that fits a map must have it
    return replace(rows.select(~missing_rows(rows.label)), request=request), notes


def _record_of_judge(rows: DataSet, level: float) -> "tn.results.Judge | None":
    """How the judge labels rows that people labelled too; None for a judge with scores."""
    complete = rows.complete()
    with about(rows, options={"pos_label": "--pos-label"}):
        try:
            with collected_warnings():  # `powered` warns of selected rows and of few clusters
                return tn.judge(
                    complete.label,
                    complete.judge,
                    cluster=complete.cluster,
                    level=level,
                    pos_label=_own_event(complete),
                )
        except InputError:
            note("The judge's own record needs labels of two values, such as 0 and 1.")
            return None


def _own_event(rows: DataSet) -> Hashable:
    """The label that is the event, if labels and judge are words."""
    event = rows.request.pos_label
    if event is None or rows.judge.dtype.kind in "biuf":
        return None
    return event


def _periods(rows: DataSet, over: str, every: str | None) -> list[tuple[str, DataSet]]:
    """The rows of each value of a column, or of each day, week or month."""
    import numpy as np

    from trueness.sources._looks import period

    column = rows.columns.groups[over]
    if every is None:
        texts = list(map(str, column))
    else:
        texts = [period(value, "--over", every) for value in column]
    names, code = np.unique(texts, return_inverse=True)
    return [(str(name), rows.select(code == i)) for i, name in enumerate(names)]


def _series(parts: list[tuple[str, DataSet]], settings: dict[str, Any]) -> dict[str, Any]:
    """The lines and the tests of files or periods."""
    from trueness._assess.measured import Options
    from trueness.cli._measures_table import compare_files
    from trueness.sources._stored_sums import add, sums_of_rows

    sums = {name: sums_of_rows(rows) for name, rows in parts}
    with printed_warnings():
        total = add(sums)
    return compare_files(sums, total, Options(settings["bins"], settings["level"])).of_page


@command("report")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@opt.bins(None, f"Bins of the first picture and of ECE, {OWN_BINS}", blind=True)
@opt.level(0.95, _LEVEL, minimum=0.5)
@_intervals
@each
@_page
def report_of_sums(
    files: tuple[str, ...],
    target: Target,
    *,
    bins: str | None,
    level: float,
    intervals: bool,
    each: bool,
    title: str | None,
) -> None:
    """Write a page about the rows that .tally files sum up.

    It names the sections that need the rows.
    """
    from trueness._assess.measured import Options
    from trueness._report.readers import report_sums, today
    from trueness.cli._measures_table import compare_files
    from trueness.results._page import Command, Provenance

    rule = opt.bin_rule(bins)  # before the files are read
    sums, total = read_total(files, target.path)
    series: dict[str, Any] = {}
    if each:
        series = compare_files(sums, total, Options(rule or own_bins(total), level)).of_page
    label, scores = (total.about.get(key) for key in ("label", "prob"))
    command = None
    if isinstance(label, str) and isinstance(scores, str):
        # How a report reads the rows, whose columns the sums name.
        command = Command(("rows.csv",), {"--label": label, "--prob": scores})
    origin = Provenance(
        _first_and_last(list(sums)),
        label if isinstance(label, str) else None,
        None,
        today(),
        {"scores": command},
    )
    report = report_sums(
        total,
        bins=rule,
        origin=origin,
        notes=[f"{file_names(sums)}: labels {label!r}, scores {scores!r}."],
        level=level,
        intervals=intervals,
        title=title,
        **series,
    )
    _write(report, target)


def _first_and_last(files: Sequence[str]) -> str:
    """The names of up to two files; of more, the first, the last and the number."""
    names = [Path(file).name for file in files]
    if len(names) < 3:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names):,} files)"


def _write(report: "Report", target: Target) -> None:
    """Write the report in its format; of one in a file, print the first screen."""
    from trueness._report.document import brief
    from trueness.results._first_screen import WIDTH

    target.write(report.page() if target.form == "html" else getattr(report, f"to_{target.form}")())
    if target.path is not None:
        width = min(shutil.get_terminal_size((WIDTH, 1)).columns, WIDTH)
        click.echo(visible_lines(brief(report.contents, width)))
        if report.series is not None:
            click.echo(visible(report.series.headline))
        note(f"report written to {target.path}.")


def report_of_rows(rows: DataSet, settings: dict[str, Any]) -> "Report":
    """The report on rows that were read."""
    require_rows(rows.source, len(rows))
    rows.check_shapes()
    if rows.statements is not None:
        return _report_of_statements(rows.complete(), settings)
    with about(rows) as warned, progress_bar("Writing the report") as bar:
        from trueness._assess.page_confidences import accepted
        from trueness._report.readers import report_rows

        answers = getattr(rows.origin, "answers", None)
        options = {**settings, "origin": _provenance(rows)}
        if answers is not None:
            options["confidences"] = {
                "origins": accepted(answers),
                "missing": answers.missing,
                "notes": answers.notes,
            }
        result = report_rows(
            rows.y_true,
            rows.y_prob if rows.request.multilabel else rows.scores,
            rows.options,
            by=rows.by or None,
            cluster=rows.cluster,
            progress=bar,
            **options,
        )
    counts = result.to_dict()["rows"]
    warning(*dropped_message(counts["dropped"], counts["given"]))
    note(*filter(None, [rows.order.remark]), *warned)
    return result


def _provenance(rows: DataSet) -> "Provenance":
    """Where the rows come from, and how other commands read them."""
    from trueness._report.readers import today
    from trueness.results._page import Provenance
    from trueness.sources._command import command_of

    request = rows.request
    several = request.multilabel
    commands = {}
    for model in rows.models:
        name = f"label {model.name}" if several else model.name
        commands[name] = command_of(rows, model)
    return Provenance(
        rows.source,
        None if several or rows.models[0].label else request.label,
        None,
        today(),
        commands,
        cluster_name=request.cluster or "",
        of_answers=hasattr(rows.origin, "answers"),
    )


def _report_of_statements(rows: DataSet, settings: dict[str, Any]) -> "Report":
    """The report of intervals, quantiles or risks."""
    with about(rows) as warned, progress_bar("Writing the report") as bar:
        from trueness._report.readers import report_assessments, today
        from trueness.results._page import Provenance
        from trueness.sources._command import command_of

        statements = rows.statements
        has_scores = statements is None or statements.followup
        bins = settings["bins"] if has_scores or opt.is_typed("bins") else tn.Distinct()
        models = {}
        for part in rows.by_model():
            models[part.model.name] = tn.assess(
                part.y_true,
                by=rows.by or None,
                cluster=rows.cluster,
                bins=bins,
                crossed=settings["crossed"],
                level=settings["level"],
                seed=settings["seed"],
            )
        commands = {model.name: command_of(rows, model) for model in rows.models}
        result = report_assessments(
            models,
            origin=Provenance(rows.source, rows.request.label, None, today(), commands),
            progress=bar,
            intervals=settings["intervals"],
            title=settings["title"],
        )
    warning(*dropped_message(rows.dropped, len(rows) + rows.dropped))
    note(*warned)
    return result
