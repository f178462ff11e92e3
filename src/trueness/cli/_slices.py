"""``trueness slices``."""

import re
from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.table import Column
from trueness.cli._columns import Request
from trueness.cli._dataset import read_rows
from trueness.cli._segments import gap_output, of_models
from trueness.cli._writing import Target
from trueness.errors import InputError

_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?(?<=[\d.])", re.ASCII)


@opt.command("slices")
@opt.data(by=False)
@opt.text("--columns", "Columns to look at, separated by commas. Repeatable.", metavar="NAMES", multiple=True)
@opt.count("--depth", "The most columns in a slice; from 3 on, found in one half of the rows, tested on the other.", 2)
@opt.count(
    "--min-rows", "The least number of rows in a slice, or each half.  [default: a thousandth of all, at least 50]"
)
@opt.choice(
    "--cuts", ["quantiles", "tree"], "quantiles", "How numbers are cut; tree: in one half, tested on the other."
)
@opt.count("--most", "The most slices to show.", 10)
@opt.cluster
@opt.level(0.95, "Confidence level of the limits and of the joint test, over all slices together.", least=0.5)
@opt.count("--resamples", "Number of label vectors drawn from the scores.")
@opt.seed()
@opt.output()
def command(**options: Any) -> None:
    """Find the slices where a model is wrong, among many columns.

    A slice is a value of a column, or values of two columns: "age < 25 and region = north". All are tested jointly: if
    the scores are calibrated, the probability that any slice is flagged is at most 1 - level. Slices that share the
    rows of a slice above them are left out of the table; CSV and JSON have them.

    \b
      trueness slices rows.csv --label y --prob p --columns age,region,shop
      trueness slices rows.csv --label y --prob p --columns age,region --depth 3

    Exit code 0: tested, whatever the result. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_input()
    listed = (name.strip() for name in ",".join(options.pop("columns")).split(","))
    options["by"] = tuple(dict.fromkeys(name for name in listed if name))
    if not options["by"]:
        raise click.UsageError("Give the columns to look at: --columns NAME,NAME.")
    target, most = Target.pop_from(options), options.pop("most")
    settings = {name: options[name] for name in ("depth", "min_rows", "cuts", "level", "resamples", "seed")}
    try:
        rows = read_rows(Request.pop_from(options), gaps=True)
    except InputError as error:
        named = {part: getattr(error, part).replace("--by", "--columns") for part in ("argument", "context")}
        raise error.but(**named) from None
    columns = {name: _numbers(rows.columns.groups[name]) for name in rows.choice.by}
    found = of_models(rows, tn.worst_slices, columns, settings, "Testing the slices")
    gap = (
        "Gap: observed minus expected rate of events, in percentage points; its limits hold for all slices that were "
        f"tested, also for the worst. Method: {next(iter(found.values())).method}."
    )
    keys = ("rows", "observed", "adjusted_p")
    target.deliver(gap_output(rows, found, [Column("rule", "slice")], keys, gap, most))


def _numbers(column: Any) -> Any:
    """A column of text as numbers, if every cell is one; 007 is a name."""
    cells = [one for one in column.tolist() if one is not None] if column.dtype.kind in "OU" else []
    if not cells or not all(isinstance(one, str) and _NUMBER.fullmatch(one) for one in cells):
        return column
    return column.astype(object).astype(float)
