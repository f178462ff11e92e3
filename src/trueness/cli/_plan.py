"""``trueness plan``."""

from typing import Any

import click

import trueness.cli._options as opt
from trueness._text.table import Column, Table
from trueness.cli._messages import reword_messages, wording
from trueness.cli._writing import Output, Target
from trueness.errors import InputError

_KINDS = {
    "conditional": "every bin's value is within epsilon of its event rate",
    "marginal": "the value of a new row's bin is within epsilon of its event rate",
    "expected-ece": "the expected calibration error is at most epsilon",
}


@click.command("plan", no_args_is_help=True)
@opt.count("--n", "Rows to fit on.")
@click.option("--bins", "n_bins", type=click.IntRange(min=1), metavar="B", help="Bins.")
@click.option("--epsilon", type=float, metavar="EPSILON", help="The largest error allowed, between 0 and 1.")
@click.option(
    "--alpha",
    type=float,
    default=0.1,
    show_default=True,
    help="Probability that the guarantee fails, between 0 and 1.",
)
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
    "As published, or from the binomial distribution: smaller and equally valid.",
)
@opt.output()
def command(n: int | None, n_bins: int | None, epsilon: float | None, **how: Any) -> None:
    """Plan histogram binning with a guarantee.

    Give any two of rows, bins and error; the third is computed.

    \b
      trueness plan --n 5000 --bins 10          how large can the error be?
      trueness plan --bins 10 --epsilon 0.05    how many rows does it need?
      trueness plan --n 5000 --epsilon 0.05     how many bins can it have?

    The guarantee holds for any model and any distribution.

    Exit code 0: planned. 2: the options are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness import recalibrate as planning

    if [n, n_bins, epsilon].count(None) != 1:
        raise click.UsageError("Give two of --n, --bins and --epsilon; the third is computed.")
    target = Target.pop_from(how)
    arguments = {
        name: value for name, value in (("n", n), ("n_bins", n_bins), ("epsilon", epsilon)) if value is not None
    }
    function, wanted = {
        n: ("sample_size", "n"),
        n_bins: ("max_bins", "n_bins"),
        epsilon: ("epsilon", "epsilon"),
    }[None]
    with reword_messages(wording(options={"n": "--n", "n_bins": "--bins"})):
        planned = getattr(planning, function)(**arguments, **how)
    if wanted == "n_bins" and planned == 0:
        assert epsilon is not None
        least = planning.sample_size(n_bins=1, epsilon=epsilon, **how)
        raise InputError(
            "", f"No number of bins keeps `--epsilon` {epsilon:g} with {n:,} rows", f"one bin needs {least:,}"
        )
    target.deliver(_output({**arguments, wanted: planned}, wanted, how))


def _output(numbers: dict[str, Any], wanted: str, how: dict[str, Any]) -> Output:

    names = {"n": "rows", "n_bins": "bins", "epsilon": "epsilon"}
    line = {"n": numbers["n"], "n_bins": numbers["n_bins"], "epsilon": numbers["epsilon"], **how, "planned": wanted}
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
    often = "" if how["kind"] == "expected-ece" else f"with probability {1 - how['alpha']:g} "
    notes = [f"Planned: {names[wanted]}. Histogram binning ({how['scheme']}): {often}{_KINDS[how['kind']]}."]
    return Output(Table(columns, [line], notes), {"plan": line})
