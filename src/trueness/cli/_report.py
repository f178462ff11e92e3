"""``trueness report``."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.strings import visible, visible_lines
from trueness.cli._columns import LOG_FIELDS, Model, Request
from trueness.cli._dataset import Rows, dropped_message, missing_rows, open_dataset, require_rows
from trueness.cli._printing import MARKDOWN, Target, note, warning
from trueness.cli._tally import OWN_BINS, add, each, file_names, own_bins, read_total
from trueness.cli._watch import EVERY, period
from trueness.errors import InputError, collected_warnings

if TYPE_CHECKING:
    from trueness._report.report import Report
    from trueness.results._page import Command

_LOG_OPTIONS = ("scorer", "confidence", *LOG_FIELDS)
_USUAL = "trueness-report.html"
_SUFFIXES = {".html": "html", ".htm": "html", **MARKDOWN, ".json": "json", ".txt": "text"}
_LEVEL = "Confidence level of all intervals, bands and decisions; above 1/2."
_intervals = opt.shown_intervals(
    "Compute confidence limits or noise floors of all measures and the panel, or only for the verdict (faster)."
)
_page = opt.combine(
    opt.text("--title", "Heading of the page.", metavar="TEXT"),
    opt.output(("html", "markdown", "json", "text")),
)


@opt.command("report")
@opt.data(label="own", events=True)
@opt.count(
    "--crossed", "With several --by: cross up to this many columns; 2 adds every pair of values.", 1
)
@opt.cluster
@opt.multilabel
@opt.judge
@opt.bins("10", "Bins of the first diagram and of the ECE (the page offers others)", blind=True)
@opt.level(0.95, _LEVEL, least=0.5)
@_intervals
@opt.rounded_to("The scores were rounded to multiples of this")
@click.option(
    "--each", is_flag=True, help="Also test each file, such as a month, and look for a change."
)
@opt.text("--over", "Column of dates or periods: test each of them, and look for a change.")
@opt.choice("--every", EVERY, "Take the dates of --over together.")
@opt.seed()
@_page
def report(**options: Any) -> None:
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
    target = Target.pop_from(options, _SUFFIXES, "html", file=_USUAL)
    settings = {
        name: options[name]
        for name in ("crossed", "level", "intervals", "seed", "title", "rounded_to")
    }
    settings["bins"] = opt.bin_rule(options["bins"])
    request = replace(Request.pop_from(options), multilabel=options["kind"] is not None)
    over = request.over
    if options["every"] is not None and over is None:
        raise click.UsageError("--every needs --over.")
    if over is not None and options["each"]:
        raise click.UsageError("Give --over or --each, not both.")
    if request.judge is not None and (over is not None or options["each"] or request.multilabel):
        raise click.UsageError(
            "--judge is for one label of all rows: leave out --over, --each and --kind multilabel."
        )
    rows = _rows(request if over is None else replace(request, by=(*request.by, over)))
    if over is not None:
        settings |= _series(_periods(rows, over, options["every"]), settings)
        rows = replace(rows, choice=replace(rows.choice, by=request.by))
    elif options["each"]:
        from trueness.sources._files import expand_paths

        each = [
            (name, _rows(replace(request, files=(name,)))) for name in expand_paths(request.files)
        ]
        settings |= _series(each, settings)
    elif len(request.files) > 1:
        note(f"{len(request.files):,} files are read as one; `--each` also tests each of them.")
    if request.judge is not None:
        settings["judge"] = _record_of_judge(rows, settings["level"])
        rows, settings["notes"] = _judged(rows, settings)
    _write(report_of_rows(rows, settings), target)


def _judged(rows: Rows, settings: dict[str, Any]) -> tuple[Rows, list[str]]:
    """The rows with a human label, and what they say of each model together with the judge."""
    found = rows.judged(level=settings["level"], seed=settings["seed"])
    alone = "All else, the verdict too, is of the rows with a human label alone."
    notes = [
        f"{f'{name}: ' if len(found) > 1 else ''}{one.sentence} {alone}"
        for name, one in found.items()
    ]
    note(*notes)
    request = replace(rows.request, missing="drop")  # as the command that fits a map must have it
    return replace(rows.select(~missing_rows(rows.label)), request=request), notes


def _record_of_judge(rows: Rows, level: float) -> "tn.results.Judge | None":
    """How the judge labels rows that people labelled too; a judge with scores has no such record."""
    complete = rows.complete()
    judge = complete.columns.labels[str(rows.choice.judge)]
    with rows.about(*rows.choice.models, options={"pos_label": "--pos-label"}):
        try:
            with collected_warnings():  # `powered` warns of selected rows and of few clusters
                return tn.judge(
                    complete.label,
                    judge,
                    cluster=complete.cluster,
                    level=level,
                    pos_label=_own_event(complete, judge),
                )
        except InputError:
            note("The judge's own record needs labels of two values, such as 0 and 1.")
            return None


def _own_event(rows: Rows, judge: Any) -> Any:
    """The label that is the event, if labels and judge are words."""
    event = rows.request.pos_label
    if event is None or judge.dtype.kind in "biuf":
        return None
    return event


def _rows(request: Request) -> Rows:
    with open_dataset(request, compared=True) as data:
        return data.rows()


def _periods(rows: Rows, over: str, every: str | None) -> "list[tuple[str, Rows]]":
    """The rows of each value of a column, or of each day, week or month."""
    import numpy as np

    texts = [
        str(value) if every is None else period(value, "--over", every)
        for value in rows.columns.groups[over]
    ]
    names, code = np.unique(texts, return_inverse=True)
    return [(str(name), rows.select(code == i)) for i, name in enumerate(names)]


def _series(parts: "list[tuple[str, Rows]]", settings: dict[str, Any]) -> dict[str, Any]:
    """The lines and the tests of files or periods."""
    from trueness.cli._measurements import Options
    from trueness.cli._measures_table import compare_files

    sums = {name: _sums(rows) for name, rows in parts}
    found = compare_files(sums, add(sums), Options(settings["bins"], settings["level"]))
    return {"files": found.rows, "series": found.series}


def _sums(rows: Rows) -> "tn.Accumulator":
    if len(rows.choice.models) != 1:
        raise InputError(
            "--prob", "must name one model for a series", f"got {len(rows.choice.models)}"
        )
    rows = rows.complete()
    require_rows(rows.source, len(rows))
    (model,) = rows.choice.models
    one = rows.arguments(model)
    options: dict[str, Any] = {**one.rows, "missing": "raise"}
    weight = options.pop("sample_weight", None)
    total = tn.Accumulator("distinct", kind="classwise", **options)
    total.update(one.y_true, one.y_prob, sample_weight=weight)
    return total


@opt.command("report")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@opt.bins(None, f"Bins of the first picture and of ECE, {OWN_BINS}", blind=True)
@opt.level(0.95, _LEVEL, least=0.5)
@_intervals
@each
@_page
def report_of_sums(**options: Any) -> None:
    """Write a page about the rows that .tally files sum up.

    It names the sections that need the rows.
    """
    from trueness._report.report import report_sums, today
    from trueness.cli._measurements import Options
    from trueness.cli._measures_table import compare_files
    from trueness.results._page import Command, Provenance

    target = Target.pop_from(options, _SUFFIXES, "html", file=_USUAL)
    rule = opt.bin_rule(options["bins"])  # before the files are read
    sums, total = read_total(options["files"], target.path)
    given: dict[str, Any] = {name: options[name] for name in ("level", "intervals", "title")}
    if options["each"]:
        files = compare_files(sums, total, Options(rule or own_bins(total), options["level"]))
        given |= {"files": files.rows, "series": files.series}
    names = list(sums)
    label, scores = (total.about.get(key) for key in ("label", "prob"))
    known = label if isinstance(label, str) else None
    command = None
    if known is not None and isinstance(scores, str):  # then the columns of the rows are known
        command = Command(("rows.csv",), {"--label": known, "--prob": scores})
    ends = [Path(name).name for name in (names if len(names) < 3 else (names[0], names[-1]))]
    series = ", ".join(ends) if len(names) < 3 else f"{' … '.join(ends)} ({len(names):,} files)"
    origin = Provenance(series, known, None, today(), {"scores": command})
    source = f"{file_names(names)}: labels {label!r}, scores {scores!r}."
    _write(report_sums(total, bins=rule, origin=origin, notes=[source], **given), target)


def _write(report: "Report", target: Target) -> None:
    target.write(report.page() if target.form == "html" else getattr(report, f"to_{target.form}")())
    if target.path is not None:
        click.echo(visible_lines(report.brief))
        if report.series is not None:
            click.echo(visible(report.series.headline))
        note(f"report written to {target.path}.")


def report_of_rows(rows: Rows, settings: dict[str, Any]) -> "Report":
    """The report on rows that were read."""
    require_rows(rows.source, len(rows))
    rows.check_shapes()
    if rows.choice.statements is not None:
        return _report_of_statements(rows.complete(), settings)
    with rows.about(*rows.choice.models) as warned, progress_bar("Writing the report") as bar:
        from trueness._report.report import report_rows, today
        from trueness.results._page import Provenance

        several = rows.request.multilabel
        named = {
            f"label {model.name}" if several else model.name: model for model in rows.choice.models
        }
        commands = {name: _command(rows, model) for name, model in named.items()}
        answers = getattr(rows.origin, "answers", None)
        label = None if several or rows.choice.models[0].label else rows.choice.label
        told: dict[str, Any] = {
            "cluster_name": rows.choice.cluster or "",
            "of_answers": answers is not None,
        }
        how: dict[str, Any] = {
            "origin": Provenance(rows.source, label, None, today(), commands, **told),
            **settings,
        }
        if answers is not None:
            how["confidences"] = {
                "origins": _accepted(answers),
                "missing": answers.missing,
                "notes": answers.notes,
            }
        how["by"] = {name: rows.columns.groups[name] for name in rows.choice.by} or None
        one = rows.side_by_side() if several else rows.model_scores()[1]
        scores: Any = one.y_prob if several else rows.model_scores()[0]
        labels = one.y_true if several else rows.own_labels()
        result = report_rows(labels, scores, one.rows, cluster=rows.cluster, progress=bar, **how)
    counts = result.to_dict()["rows"]
    warning(*dropped_message(counts["dropped"], counts["given"]))
    note(*filter(None, [one.remark]), *warned)
    return result


def _report_of_statements(rows: Rows, settings: dict[str, Any]) -> "Report":
    """The report of intervals, quantiles or risks."""
    with rows.about(*rows.choice.models) as warned, progress_bar("Writing the report") as bar:
        from trueness._report.report import report_assessments, today
        from trueness.results._page import Provenance

        by = {name: rows.columns.groups[name] for name in rows.choice.by} or None
        how: Any = {name: settings[name] for name in ("crossed", "level", "seed")}
        if (
            opt.is_typed("bins")
            or rows.choice.statements is None
            or rows.choice.statements.followup
        ):
            how["bins"] = settings["bins"]
        else:
            how["bins"] = tn.Distinct()
        models = {
            model.name: tn.assess(rows.arguments(model).y_true, by=by, cluster=rows.cluster, **how)
            for model in rows.choice.models
        }
        commands = {model.name: _command_of_statements(rows, model) for model in rows.choice.models}
        origin = Provenance(rows.source, rows.choice.label, None, today(), commands)
        shown: Any = {name: settings[name] for name in ("intervals", "title")}
        result = report_assessments(models, origin=origin, progress=bar, **shown)
    warning(*dropped_message(rows.dropped, len(rows) + rows.dropped))
    note(*warned)
    return result


def _accepted(answers: "tn.results.Answers") -> list[dict[str, Any]]:
    """Each source of confidences, with its risk-coverage and the threshold from which on answers may be accepted."""
    lines = []
    for line in answers.origins():
        at = (
            (answers.source == line["source"])
            & (answers.model == line["model"])
            & (answers.task == line["task"])
        )
        y = answers.label[at]
        p = answers.confidence[at]
        cluster = answers.cluster[at]
        certified = tn.accept_threshold(y, p, cluster=cluster)
        how: Any = {"kind": "correct", "cluster": cluster}
        aurc: Any = tn.risk_coverage(y, p, **how).aurc
        lines.append(
            line
            | {
                "aurc": aurc.value,
                "accept_from": certified.threshold,
                "accepted": certified.coverage,
            }
        )
    return lines


def _command(rows: Rows, model: Model) -> "Command | None":
    """How these rows were read, for other commands; None for logits, which few maps take."""
    from trueness.results._page import Command  # loads what a page needs

    request = rows.request
    choice = rows.choice
    if request.from_logits or request.pair:
        return None
    demo = ("--demo", "--rows", str(request.rows), "--seed", str(request.seed))
    scores = ("--prob" if len(model.columns) == 1 else "--prob-columns", model.name)
    event = request.pos_label
    if model.label is not None:
        scores = "--prob", model.columns[0]
    # Reported as the binary problem of the second.
    if len(model.columns) == 2 and model.classes is not None:
        scores = "--prob", model.columns[1]
        if request.labels:
            event = request.labels[1]
        elif rows.label.dtype.kind in "OU":
            event = model.classes[1]
        else:
            event = event
    options = {
        "--label": model.label or choice.label,
        scores[0]: scores[1],
        "--weight": choice.weight,
        "--weight-type": request.weight_type if request.weight_type != "auto" else None,
        "--pos-label": event,
        "--labels": None
        if request.labels is None or event is not None
        else ",".join(request.labels),
    }
    names = ("input_format", "separator", "decimal", "missing", *_LOG_OPTIONS)
    named = [(name, getattr(request, name)) for name in names]
    options |= {
        f"--{name.replace('_', '-')}": value
        for name, value in named
        if value != getattr(Request, name)
    }
    return Command(
        _files_again(request) or demo,
        {option: value for option, value in options.items() if value is not None},
        ("--percent",) if request.percent else (),
        choice.cluster,
    )


def _command_of_statements(rows: Rows, model: Model) -> "Command | None":
    """The same for intervals and risks by a horizon; None for quantiles, which `fit` does not take."""
    from trueness.results._page import Command  # loads what a page needs

    stated = rows.choice.statements
    if stated is None or stated.kind == "quantiles":
        return None
    if stated.kind == "interval":
        lower, upper = stated.models[model.name]
        options = {
            "--outcome": stated.outcome,
            "--lower": lower,
            "--upper": upper,
            "--coverage": _typed(stated.coverage),
        }
    else:
        options = {
            "--prob": model.columns[0],
            "--followup": str(stated.followup),
            "--event": stated.outcome,
            "--horizon": _typed(stated.horizon),
        }
    request = rows.request
    for name in ("input_format", "separator", "decimal", "missing"):
        value = getattr(request, name)
        if value != getattr(Request, name):
            options[f"--{name.replace('_', '-')}"] = value
    return Command(_files_again(request), options, cluster=rows.choice.cluster)


def _typed(value: float) -> str:
    """A number as one would type it, without loss."""
    return repr(float(value)).removesuffix(".0")


def _files_again(request: Request) -> tuple[str, ...]:
    """The files to read again, which standard input cannot be."""
    return tuple("rows.csv" if file == "-" else file for file in request.files)
