"""``trueness plan``."""

from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.table import Column, Table
from trueness.cli._messages import reword_messages, wording
from trueness.cli._plan_validation import validation
from trueness.cli._writing import Output, Target
from trueness.errors import InputError

_KINDS = {
    "conditional": "every bin's value is within epsilon of its event rate",
    "marginal": "the value of a new row's bin is within epsilon of its event rate",
    "expected-ece": "the expected calibration error is at most epsilon",
}


@click.group("plan", invoke_without_command=True, no_args_is_help=True)
@opt.count("--n", "Rows to fit on.")
@click.option("--bins", "n_bins", type=click.IntRange(min=1), metavar="B", help="Bins.")
@opt.number("--epsilon", "The largest error allowed, between 0 and 1.", metavar="EPSILON")
@opt.number("--alpha", "Probability that the guarantee fails, between 0 and 1.", 0.1)
@opt.choice("--kind", tuple(_KINDS), "conditional", "What is guaranteed.")
@opt.choice(
    "--scheme",
    ("umd", "randomized", "original", "split", "fixed-width"),
    "umd",
    "How histogram binning chooses and fills its bins.",
)
@opt.choice(
    "--bound",
    ("hoeffding", "exact"),
    "hoeffding",
    "Hoeffding's inequality, as published, or the binomial distribution: smaller and equally valid.",
)
@opt.output()
@click.pass_context
def command(context: click.Context, /, **how: Any) -> None:
    """Plan histogram binning, or the validation of a model.

    Histogram binning has a guaranteed error. Give any two of rows, bins and error; the third is computed.

    \b
      trueness plan --n 5000 --bins 10          how large can the error be?
      trueness plan --bins 10 --epsilon 0.05    how many rows does it need?
      trueness plan --n 5000 --epsilon 0.05     how many bins can it have?
      trueness plan validation --prevalence 0.1 --c-statistic 0.8

    The guarantee holds for any model and any distribution.

    Exit code 0: planned. 2: the options are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    if context.invoked_subcommand is not None:
        if any(map(opt.is_typed, how)):
            raise click.UsageError(f"Options of `plan {context.invoked_subcommand}` must follow its name.")
        return
    planners: dict[str, Any] = {"n": tn.sample_size, "n_bins": tn.max_bins, "epsilon": tn.epsilon}
    numbers = {name: how.pop(name) for name in planners}
    known = {name: value for name, value in numbers.items() if value is not None}
    if len(known) != 2:
        raise click.UsageError("Give two of --n, --bins and --epsilon; the third is computed.")
    target = Target.pop_from(how)
    (wanted,) = numbers.keys() - known.keys()
    with reword_messages(wording(options={"n": "--n", "n_bins": "--bins"})):
        numbers[wanted] = planners[wanted](**known, **how)
    if numbers["n_bins"] == 0:
        least = tn.sample_size(n_bins=1, epsilon=numbers["epsilon"], **how)
        demand = f"No number of bins keeps `--epsilon` {numbers['epsilon']:g} with {numbers['n']:,} rows"
        raise InputError("", demand, f"one bin needs {least:,}")
    target.deliver(_output(numbers, wanted, how))


command.add_command(validation)


def _output(numbers: dict[str, Any], wanted: str, how: dict[str, Any]) -> Output:
    line = {**numbers, **how, "planned": wanted}
    columns = [
        Column("n", "rows", "count"),
        Column("n_bins", "bins", "count"),
        Column("epsilon", "epsilon", "fraction"),
        Column("alpha", "alpha"),
        Column("kind", "guarantee"),
        Column("scheme", "scheme"),
        Column("bound", "bound"),
        Column("planned", "planned", forms="data"),
    ]
    title = next(column.title for column in columns if column.key == wanted)
    often = "" if how["kind"] == "expected-ece" else f"with probability {1 - how['alpha']:g} "
    notes = [f"Planned: {title}. Histogram binning ({how['scheme']}): {often}{_KINDS[how['kind']]}."]
    return Output(Table(columns, [line], notes), {"plan": line})
