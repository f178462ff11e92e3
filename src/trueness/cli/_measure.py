"""``trueness measure``, of rows and of .tally files. docs/guide/commands.md lists the keys of the JSON object."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.bins import rule_in_words
from trueness.cli import _sums
from trueness.cli._columns import Group, Request
from trueness.cli._messages import note, warning
from trueness.cli._rows import Dataset, open_dataset, read_rows
from trueness.cli._sums import OWN_BINS, SumsFile, each, file_names, own_bins, read_total
from trueness.cli._writing import Target

if TYPE_CHECKING:
    from trueness.cli._measurements import Measurements, Options

_KINDS = "What to compare for several classes; repeatable.  [default: classwise and confidence]"


@click.command("measure", no_args_is_help=True)
@opt.data()
@opt.cluster
@opt.seed("Seed of the demo data.")
@opt.choice("--kind", opt.KINDS, None, _KINDS, "kinds", multiple=True)
@opt.bins("10", "Bins of ECE and MCE (ACE uses the same number, of equal mass)")
@click.option("--table", "tables", is_flag=True, help="Also print the bins, with intervals for the event rates.")
@opt.level(0.95, "Confidence level of all intervals.", least=0.5)
@opt.intervals
@opt.panel
@click.option("--each", is_flag=True, help="For .tally files: also show each file separately.")
@opt.stream
@opt.output()
def command(**options: Any) -> None:
    """Measure the calibration of scores and print a table.

    FILE is CSV, TSV, JSON lines, Parquet, Arrow, npz or npy; '-' is standard input. The options --label and --prob can
    be omitted if there is one column called label, y, y_true or target, and one called prob, p, y_prob, score or
    probability.

    \b
      trueness measure --demo
      trueness measure predictions.csv --label churned --prob model_a --prob model_b
      trueness measure scores.parquet --label species --prob-columns 'p_*' --table
      trueness measure scores.npz --label y --prob P --format json -o measures.json
      trueness measure monday.tally tuesday.tally --each

    Exit code 0: measured. 2: the options or the data are wrong, and a message explains it.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.cli._measurements import Options, measure_all
    from trueness.cli._measures_table import groups_output, models_output

    opt.check_input(only_demo=("rows", "seed"))
    if not options["tables"] and not options["intervals"] and opt.is_typed("level"):
        raise click.UsageError("--level is for intervals; leave it out, or leave --no-intervals out.")
    if options["cluster"] and not options["intervals"]:
        raise click.UsageError("--cluster is for intervals; leave it out, or leave --no-intervals out.")
    stream = options["stream"]
    if options.pop("each"):
        raise click.UsageError("--each is for .tally files; `trueness tally` makes one from each file of rows.")
    if options["by"] and options["tables"]:
        raise click.UsageError("--table is for all rows together; leave --by out.")
    for name in ("by", "cluster"):
        if options[name] and stream:
            raise click.UsageError(f"--{name} needs all rows at once; leave --stream out.")
    if options["panel"] or options["tripod"]:
        return _panel(options)
    kinds = tuple(dict.fromkeys(options["kinds"]))
    rule = opt.bin_rule(options["bins"])
    settings = Options(rule, options["level"], kinds, options["tables"], options["intervals"])
    target = Target.pop_from(options)
    request = Request.pop_from(options)
    with open_dataset(request) as data:
        if stream or (stream is None and data.large and not request.by and not request.cluster):
            results = [(Group(), _from_stream(data, settings, asked=stream is not None))]
        else:
            rows = data.rows().validate()
            if request.by:
                rows.warn_of_dropped()
            results, groups = [], rows.groups()
            with progress_bar("Measuring") as report:
                for group, part in groups:
                    results.append((group, measure_all(part, settings, group)))
                    report(len(results), len(groups))
    _print_remarks(results)
    name = data.source.name
    return target.deliver(groups_output(results, name) if request.by else models_output(results[0][1], name))


def _panel(options: dict[str, Any]) -> None:
    from trueness.cli import _panel as panels

    target, tripod = Target.pop_from(options), options["tripod"]
    panels.check_options(target, tripod=tripod)
    rows = read_rows(Request.pop_from(options))
    about, cluster = rows.choice.about(rows.source), rows.choice.cluster
    source = f"Data: {rows.source}, labels {rows.choice.label!r}{'' if cluster is None else f', clusters {cluster!r}'}."
    found = list(panels.panels_of_rows(rows, options["level"]))
    panels.deliver(found, target, {"data": about, "level": options["level"]}, source, tripod=tripod)


@click.command("measure")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@opt.bins(None, f"Bins of ECE and MCE, {OWN_BINS}; ACE and TCE take as many, of equal mass")
@each
@opt.level(0.95, "Confidence level of intervals and, with --each, of flags.", least=0.5)
@opt.intervals
@opt.panel
@opt.output()
def measure(**options: Any) -> None:
    """Measure the rows that .tally files sum up, all together, and each group.

    \b
      trueness measure monday.tally tuesday.tally
      trueness measure day-*.tally --each --format csv -o days.csv
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.cli._measurements import Options, sums_lines
    from trueness.cli._measures_table import sums_notes, sums_output

    target = Target.pop_from(options)
    rule = opt.bin_rule(options["bins"])  # before the files are read
    if not options["intervals"] and not options["each"] and opt.is_typed("level"):
        raise click.UsageError("--level is for intervals and --each; leave it out, or leave --no-intervals out.")
    sums, total = read_total(options["files"], target.path)
    if options["panel"] or options["tripod"]:
        return _panel_of_sums(sums, total, options, target)
    settings = Options(rule or own_bins(total), options["level"], intervals=options["intervals"])
    lines = sums_lines(total, settings, blocks=True)
    names = [name for name, _ in sums]
    columns = f"labels {total.about.get('label')!r}, scores {total.about.get('prob')!r}"
    source = f"{file_names(names)}: {total.n:,} rows; {columns}; bins: {rule_in_words(settings.bins)}."
    output = sums_output(names, total, lines, settings, source)
    if options["each"]:
        from trueness.cli._series import compare_files, files_output

        files = compare_files(sums, total, settings, lines)
        output = files_output(files, output, lines, total.by, sums_notes(total, source), intervals=settings.intervals)
    return target.deliver(output)


def _panel_of_sums(sums: Sequence[SumsFile], total: "tn.Accumulator", options: dict[str, Any], target: Target) -> None:
    from trueness.cli import _panel as panels

    panels.check_options(target, tripod=options["tripod"])
    data = {"data": {"sources": [name for name, _ in sums], **total.about, "by": total.by}, "level": options["level"]}
    source = f"{file_names([name for name, _ in sums])}: labels {total.about.get('label')!r}."
    panels.deliver([panels.panel_of_sums(total, options["level"])], target, data, source, tripod=options["tripod"])


def _from_stream(data: Dataset, settings: "Options", *, asked: bool) -> "Measurements":
    from trueness._tally.evidence import Evidence
    from trueness.cli._measurements import measure_views, measurements, sums_of

    total = _sums.stream_sums(data, lambda rows, model: sums_of(rows, model, settings), settings.bins, asked=asked)
    binned = any(sums.binned for sums in total.values())
    if binned:
        note(
            f"there are more than {_sums.MOST_CELLS:,} distinct scores. Measures that need each of them are left "
            "out: ACE, TCE, smooth ECE, the parts of the Brier score, log loss, slope and intercept. `--no-stream` "
            "computes them."
        )
    models = []
    for model in data.choice.models:
        sums = total[model.name]
        with data.about(model.name) as warned:
            views = {kind: Evidence.of_sums(part, two_columns="keep") for kind, part in sums.parts.items()}
            one = measure_views(model, views, settings, sums.remark)
        models.append(replace(one, warnings=(*sums.warnings, *warned)))
    return measurements(data.choice, models, settings, binned=binned)


def _print_remarks(results: Sequence[tuple[Group, "Measurements"]]) -> None:
    """Print each remark and each warning once, with the models and groups it is about unless it is about all."""
    models = [(group.name(model.name), model) for group, one in results for model in one.models]
    for kind, print_one in (("remarks", note), ("warnings", warning)):
        about: dict[str, list[str]] = {}
        for name, model in models:
            for message in getattr(model, kind):
                about.setdefault(message, []).append(name)
        for message, names in about.items():
            print_one(message if len(names) == len(models) else f"{'; '.join(names)}: {message}")
