"""``trueness measure``, of rows and of .tally files.

docs/reference/json.md lists the keys of the JSON object.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.strings import grouped
from trueness._text.table import Column, Table
from trueness.cli._command import command
from trueness.cli._printing import (
    VALUE_AND_LIMITS,
    Output,
    Target,
    data_columns,
    group_columns,
    model_if,
    note,
    reword_messages,
    warning,
    wording,
)
from trueness.cli._reading import ask_each, judged, open_data, read, read_rows, warn_of_dropped
from trueness.cli._tally import OWN_BINS, each, file_names, own_bins, read_total, sums_entry
from trueness.sources._data_set import DataSet
from trueness.sources._request import Group, Request

if TYPE_CHECKING:
    from trueness.cli._measurements import Measurements
    from trueness.typing import Kind

_REFUSED = ("bins", "kinds", "tables", "stream", "intervals", "each", "judge")
"""Options of `measure` that do not change a panel; nor, with `by`, what is said with a judge."""
_KINDS = (
    "What to compare for several classes or labels; repeatable.  "
    "[default: classwise and confidence]"
)
_BESIDE_INTERVALS = "is for intervals; leave it out, or leave --no-intervals out."


@command("measure")
@opt.data(label="own", events=True)
@opt.cluster
@opt.judge
@opt.seed("Seed of the demo data, and of the test of --judge.")
@opt.choice("--kind", opt.LABEL_KINDS, _KINDS, "kinds", multiple=True)
@opt.bins("10", "Bins of ECE and MCE (ACE uses the same number, of equal mass)")
@click.option(
    "--table",
    "tables",
    is_flag=True,
    help="Also print the bins, with intervals for the event rates.",
)
@opt.level(0.95, "Confidence level of all intervals.", minimum=0.5)
@opt.intervals
@opt.panel
@click.option("--each", is_flag=True, help="For .tally files: also show each file separately.")
@opt.stream
@opt.output()
def measure(
    request: Request,
    target: Target,
    *,
    seed: int,
    kinds: "tuple[Kind, ...]",
    bins: str,
    tables: bool,
    level: float,
    intervals: bool,
    panel: bool,
    tripod: bool,
    each: bool,
    stream: bool | None,
) -> None:
    """Measure the calibration of scores and print a table.

    FILE is CSV, TSV, JSON lines, Parquet, Arrow, npz or npy; '-' is standard input. The options
    --label and --prob can be omitted if there is one column called label, y, y_true or target, and
    one called prob, p, y_prob, score or probability.

    \b
      trueness measure --demo
      trueness measure rows.csv --label churned --prob model_a --prob model_b
      trueness measure rows.parquet --label species --prob-columns 'p_*' --table
      trueness measure rows.npz --label y --prob P --format json -o errors.json
      trueness measure answers.csv --label human --judge grader --prob p
      trueness measure monday.tally tuesday.tally --each

    Exit code 0: measured. 2: the options or the data are wrong, and a message explains it.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness._assess.measured import Options
    from trueness.cli._measurements import measure_all, measure_stream
    from trueness.cli._measures_table import results_output

    _check_options(request, tables=tables, intervals=intervals, each=each)
    if panel or tripod:
        return _panel(request, target, level=level, tripod=tripod)
    if request.judge is not None:
        return _judged(request, target, level=level, seed=seed)
    is_multilabel = "multilabel" in kinds
    views = tuple(kind for kind in dict.fromkeys(kinds) if kind != "multilabel")
    if is_multilabel and views:
        raise click.UsageError(
            f"--kind multilabel does not go with --kind {views[0]}; leave one of them out."
        )
    settings = Options(opt.bin_rule(bins), level, views, tables, intervals)
    with open_data(replace(request, multilabel=is_multilabel)) as data:
        if data.request.reads_pieces(stream, data.origin.size):
            results = [(Group(), measure_stream(data, settings, requested=stream is not None))]
        else:
            rows = read(data).validate()
            if request.by:
                warn_of_dropped(rows)
            results = []
            groups = rows.groups()
            with progress_bar("Measuring") as report:
                for part in groups:
                    results.append((part.group, measure_all(part, settings)))
                    report(len(results), len(groups))
    _print_remarks(results)
    return target.deliver(results_output(results))


def _check_options(request: Request, *, tables: bool, intervals: bool, each: bool) -> None:
    """Raise for options that have no effect beside each other, or on rows."""
    if request.judge is None:
        opt.check_only_demo("seed")
    if not intervals:
        if opt.is_typed("level") and not tables:
            raise click.UsageError(f"--level {_BESIDE_INTERVALS}")
        if request.cluster is not None:
            raise click.UsageError(f"--cluster {_BESIDE_INTERVALS}")
    if each:
        raise click.UsageError(
            "--each is for .tally files; `trueness tally` makes one from each file of rows."
        )
    if request.by and tables:
        raise click.UsageError("--table is for all rows together; leave --by out.")


def _panel(request: Request, target: Target, *, level: float, tripod: bool) -> None:
    """Print or write the panel of each model and group, from rows."""
    _check_panel(target, tripod=tripod)
    rows = read_rows(request)
    data = {"data": rows.entry, "level": level}

    def ask(part: DataSet) -> "tn.results.Panel":
        return part.ask(tn.panel, level=level, cluster=part.cluster, seed=0)

    panels = [
        _GroupPanel(part.group, part.model.name, panel)
        for part, panel in ask_each(rows, "Making the panel", ask)
    ]
    _deliver(panels, target, data, rows.sentence, tripod=tripod)


def _judged(request: Request, target: Target, *, level: float, seed: int) -> None:
    """What few human labels and a judge's labels of all rows say together."""
    _check_unused({*_REFUSED, "by"} - {"judge"}, "--judge")
    with open_data(request) as data:
        rows = read(data)
    models = judged(rows, level=level, seed=seed)
    columns = [
        model_if(len(models) > 1),
        Column("measure", "measure"),
        *VALUE_AND_LIMITS,
    ]
    bins = [
        Column("score", "score", "number"),
        Column("rows_in_bin", "rows", "count"),
        Column("humans_in_bin", "human labels", "count"),
        Column("gap", "gap", "number"),
        *VALUE_AND_LIMITS[1:],
    ]
    lines = []
    details = []
    notes = [rows.sentence]
    entries = []
    for name, powered in models.items():
        for estimate in (powered.event_rate, powered.observed_expected, powered.brier):
            lines.append({"model": name, **estimate.to_dict()})
        title = f"{name}: gaps, with limits for all bins together"
        details.append((title, Table(bins, powered.rows())))
        notes.append(f"{name}: {powered.sentence}")
        entries.append({"model": name, **powered.to_dict()})
    source = rows.entry | {"judge": rows.request.judge}
    entry = {"data": source, "models": entries}
    target.deliver(Output(Table(columns, lines, notes), entry, details))


@command("measure")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@opt.bins(None, f"Bins of ECE and MCE, {OWN_BINS}; ACE and TCE take as many, of equal mass")
@each
@opt.level(0.95, "Confidence level of intervals and, with --each, of flags.", minimum=0.5)
@opt.intervals
@opt.panel
@opt.output()
def measure_of_sums(
    files: tuple[str, ...],
    target: Target,
    *,
    bins: str | None,
    each: bool,
    level: float,
    intervals: bool,
    panel: bool,
    tripod: bool,
) -> None:
    """Measure the rows that .tally files sum up, all together, and each group.

    \b
      trueness measure monday.tally tuesday.tally
      trueness measure day-*.tally --each --format csv -o days.csv
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness._assess.measured import Options
    from trueness.cli._measurements import measure_sums
    from trueness.cli._measures_table import compare_files, files_output, results_output

    rule = opt.bin_rule(bins)  # before the files are read
    if not intervals and not each and opt.is_typed("level"):
        raise click.UsageError(
            "--level is for intervals and --each; leave it out, or leave --no-intervals out."
        )
    sums, total = read_total(files, target.path)
    if panel or tripod:
        return _panel_of_sums(list(sums), total, target, level=level, tripod=tripod)
    settings = Options(rule or own_bins(total), level, intervals=intervals)
    results = measure_sums(total, list(sums), settings)
    if not each:
        return target.deliver(results_output(results))
    return target.deliver(files_output(compare_files(sums, total, settings, results), results))


def _panel_of_sums(
    names: list[str], total: "tn.Accumulator", target: Target, *, level: float, tripod: bool
) -> None:
    """Print or write the panel of all rows in stored sums.

    `names` are the files of the sums and `total` their sum.
    """
    _check_panel(target, tripod=tripod)
    with reword_messages(wording()) as warned:
        panel = tn.panel(total.total, level=level, seed=0)
    warning(*warned)
    data = {"data": sums_entry(total, names), "level": level}
    source = f"{file_names(names)}: labels {total.about.get('label')!r}."
    panels = [_GroupPanel(Group(), str(total.about.get("prob")), panel)]
    _deliver(panels, target, data, source, tripod=tripod)


def _print_remarks(results: Sequence[tuple[Group, "Measurements"]]) -> None:
    """Print each remark and each warning once, with its models and groups unless these are all."""
    remarks = []
    warnings = []
    n_models = 0
    for group, measurements in results:
        for model in measurements.models:
            n_models += 1
            name = group.name(model.name)
            remarks += [(message, name) for message in model.remarks]
            warnings += [(message, name) for message in model.warnings]
    for messages, print_message in ((remarks, note), (warnings, warning)):
        for message, names in grouped(messages).items():
            is_of_all = len(names) == n_models
            print_message(message if is_of_all else f"{'; '.join(names)}: {message}")


def _check_panel(target: Target, *, tripod: bool) -> None:
    _check_unused(_REFUSED, "--tripod" if tripod else "--panel")
    if tripod and target.form in ("json", "csv"):
        raise click.UsageError(f"--tripod prints text; use --panel for {target.form}.")


def _check_unused(names: Collection[str], beside: str) -> None:
    """Refuse options that have no effect beside another one."""
    for name, typed in opt.typed_options():
        if name in names:
            raise click.UsageError(f"{typed} does not go with {beside}; leave one of them out.")


class _GroupPanel(NamedTuple):
    """The panel of one model in one group."""

    group: Group
    model: str
    panel: "tn.results.Panel"


def _deliver(
    panels: Sequence[_GroupPanel],
    target: Target,
    data: dict[str, Any],
    source: str,
    *,
    tripod: bool,
) -> None:
    """Write the panels as text, as the text of a paper, or as one table of all of them."""
    if tripod or target.form == "table":
        texts = []
        for group, name, panel in panels:
            text = panel.text(style="tripod") if tripod else str(panel)
            texts.append(f"{group.name(name)}\n\n{text}" if len(panels) > 1 else text)
        if not tripod:
            texts.append(source)
        return target.write("\n\n\n".join(texts) + "\n")
    columns = [
        *group_columns(panel.group.by for panel in panels),
        Column("model", "model", "name"),
        Column("key", "key"),
    ]
    columns += [
        *VALUE_AND_LIMITS,
        Column("floor", "floor", "number"),
        Column("floor_high", "floor_high", "number"),
        Column("pvalue", "pvalue", "number"),
        *data_columns("standard_error", "method", "note"),
    ]
    lines = []
    entries = []
    for group, name, panel in panels:
        head = {**group.entry(), "model": name}
        lines += [head | line for line in panel.rows()]
        entries.append(head | panel.to_dict())
    return target.deliver(Output(Table(columns, lines, [source]), data | {"panels": entries}))
