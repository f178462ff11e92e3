"""``trueness measure``."""

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import errors_as_messages, note, warning
from trueness.cli._options import (
    bin_rule,
    bins_option,
    check_input,
    data_options,
    level_option,
    output_options,
    seed_option,
    stream_option,
)
from trueness.cli._writing import check_writable, form_of, write

if TYPE_CHECKING:
    from trueness.cli._measurements import Measurements, Options
    from trueness.cli._rows import Dataset

__all__ = ["command"]


@click.command("measure", no_args_is_help=True)
@data_options()
@seed_option("Seed of the demo data.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(["classwise", "confidence", "top-label"]),
    multiple=True,
    help="What to compare for several classes; repeatable.  [default: classwise and confidence]",
)
@bins_option("10", "Bins of ECE and MCE; ACE takes as many, of equal mass")
@click.option("--table", "tables", is_flag=True, help="Also the bins, with intervals for the event rates.")
@level_option(0.95, "Level of these intervals.")
@click.option("--each", is_flag=True, help="Of .tally files: also each file by itself.")
@stream_option
@output_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], demo: bool, debug: bool, **options: Any) -> None:
    """Measure the calibration of scores and print a table.

    FILE is CSV, TSV, JSON lines, Parquet, npz or npy; '-' is standard input. Columns called label, y, y_true or target,
    and prob, p, y_prob, score or probability, are found without being named if there is one of each.

    \b
      trueness measure --demo
      trueness measure predictions.csv --label churned --prob model_a --prob model_b
      trueness measure scores.parquet --label species --prob-columns 'p_*' --table
      trueness measure scores.npz --label y --prob P --format json -o measures.json
      trueness measure monday.tally tuesday.tally --each

    Exit code 0: measured. 2: the options or the data are wrong, and a message says how.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_input(context, files, demo, only_demo=("rows", "seed"))
    if options.pop("each"):
        raise click.UsageError("--each is for .tally files; `trueness tally` makes one of each file of rows.")
    if options["by"] and options["tables"]:
        raise click.UsageError("--table is for all rows together; leave --by out.")
    if options["by"] and options["stream"]:
        raise click.UsageError("--by needs all rows at once; leave --stream out.")
    with errors_as_messages(debug):
        _measure(files, **options)


def _measure(
    files: tuple[str, ...], *, form: str | None, output: str | None, stream: bool | None, **asked: Any
) -> None:
    from trueness.cli._measurements import Options, measure_all, measure_groups
    from trueness.cli._rows import Request, open_dataset

    options = Options(
        bins=bin_rule(asked["bins"]),
        level=asked["level"],
        kinds=tuple(dict.fromkeys(asked["kinds"])),
        tables=asked["tables"],
    )
    check_writable(output, *files)
    form = form_of(form, output)
    request = Request.pop_from(asked, files=files)
    with open_dataset(request) as data:
        source = data.source.name
        if stream or (stream is None and data.large and not request.by):
            results = _streamed(data, options, asked=stream is not None)
        else:
            rows = data.rows().checked()
            if request.by:
                rows.warn_of_dropped()
                _by_group(measure_groups(rows, options), source, form, output)
                return
            results = measure_all(rows, options)
    _remark([("", results)])
    _deliver(results, source, form, output)


def _streamed(data: "Dataset", options: "Options", *, asked: bool) -> "Measurements":
    from dataclasses import replace

    from trueness.cli import _stream
    from trueness.cli._measurements import measured, measurements, sums_of

    total = _stream.stream_sums(data, lambda rows, model: sums_of(rows, model, options), options.bins, asked=asked)
    binned = any(sums.binned for sums in total.values())
    if binned:
        note(
            f"there are more than {_stream.MOST_CELLS:,} distinct scores. Measures that need each of them are left "
            "out: ACE, TCE, smooth ECE, the parts of the Brier score, log loss, slope and intercept. `--no-stream` "
            "computes them."
        )
    models = []
    for model in data.choice.models:
        sums = total[model.name]
        with data.about(model.name) as warned:
            one = measured(model, sums, options)
        models.append(replace(one, warnings=(*sums.warnings, *warned)))
    return measurements(data.choice, models, options, binned=binned)


def _by_group(found: Sequence[tuple[Any, "Measurements"]], source: str, form: str | None, output: str | None) -> None:
    from trueness.cli._groups import sheet_of_groups
    from trueness.cli._writing import deliver

    _remark(found)
    deliver(sheet_of_groups(found, source), form, output)


def _remark(every: Sequence[tuple[Any, "Measurements"]]) -> None:
    """Say each remark and each warning once; of which model and group, where it is not of all."""
    models = [
        (f"{model.name}, {group}" if str(group) else model.name, model) for group, f in every for model in f.models
    ]
    for kind, printed in (("remarks", note), ("warnings", warning)):
        said: dict[str, list[str]] = {}
        for name, model in models:
            for message in getattr(model, kind):
                said.setdefault(message, []).append(name)
        for message, names in said.items():
            about = "" if len(names) == len(models) else f"{'; '.join(names)}: "
            printed(f"{about}{message}")


def _deliver(found: "Measurements", source: str, form: str | None, output: str | None) -> None:
    from trueness.cli import _tables

    chosen: Any = form_of(form, output)
    if output is not None and output != "-":
        write(output, _tables.rendered(found, chosen, source=source))
        return
    width = shutil.get_terminal_size().columns
    if chosen == "table" and sys.stdout.isatty() and _tables.show(found, source=source, width=width):
        return
    click.echo(_tables.rendered(found, chosen, source=source, width=width), nl=False)
