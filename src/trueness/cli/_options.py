"""Options that verbs share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = [
    "Between",
    "Decorator",
    "bins_option",
    "check_input",
    "cluster_option",
    "data_options",
    "level_option",
    "missing_option",
    "output_options",
    "plain_output_options",
    "seed_option",
    "stacked",
    "stream_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

_FORMATS = ("table", "json", "markdown", "csv")
INPUT_FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", "npz", "npy")


class Between(click.FloatRange):
    """A number within limits; nan, which no comparison refuses, is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        found = super().convert(value, param, ctx)
        if found != found:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


def stacked(*decorators: Decorator[Any]) -> Decorator[Any]:
    """Several decorators as one, shown by help in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


_file = click.argument("file", required=False)
_demo = stacked(
    click.option("--demo", is_flag=True, help="Use built-in simulated data instead of a file."),
    click.option(
        "--rows",
        type=click.IntRange(min=1),
        metavar="N",
        default=10_000,
        show_default=True,
        help="Rows of the demo data.",
    ),
)
_label = click.option("--label", metavar="NAME", help="Column of labels: 0/1, true/false, class numbers or text.")
_scores = stacked(
    click.option(
        "--prob", "probs", metavar="NAME", multiple=True, help="Column of scores; repeat it for several models."
    ),
    click.option(
        "--prob-columns",
        "matrices",
        metavar="NAMES",
        multiple=True,
        help="Columns of one model with several classes, in class order: a,b,c or 'p_*'. Repeatable.",
    ),
)
_by = click.option(
    "--by",
    metavar="NAME",
    multiple=True,
    help="Column of groups, each looked at by itself. Repeatable, but for a tally.",
)
_weight = click.option("--weight", metavar="NAME", help="Column of weights: weight 2 is the row twice.")
_classes = stacked(
    click.option("--pos-label", metavar="LABEL", help="The label that the scores are about, if labels are not 0/1."),
    click.option(
        "--labels", metavar="LABELS", help="The classes in column order, a,b,c; of two classes, the event last."
    ),
)
missing_option = click.option(
    "--missing",
    type=click.Choice(["raise", "drop"]),
    default="raise",
    show_default=True,
    help="Rows that miss a value, of any model: an error, or left out.",
)
_rows = stacked(
    missing_option,
    click.option("--from-logits", is_flag=True, help="The scores are logits."),
    click.option(
        "--clip-tolerance", type=float, default=0.0, help="Move scores outside [0, 1] by so little to its ends."
    ),
    click.option("--sum-tolerance", type=float, help="How far from 1 a row of scores may sum.  [default: 1e-6]"),
)
_input = stacked(
    click.option(
        "--input-format",
        type=click.Choice(INPUT_FORMATS),
        help="What the file is.  [default: by its first bytes, then its name]",
    ),
    click.option(
        "--separator", metavar="CHAR", help="What separates columns of a text file, if not a comma (tsv: a tab)."
    ),
)
_debug = click.option("--debug", is_flag=True, help="Show where an error came from.")

cluster_option = click.option(
    "--cluster", metavar="NAME", help="Column of clusters: rows of one cluster may depend on each other."
)
stream_option = click.option(
    "--stream/--no-stream",
    default=None,
    help="Read the file in pieces, in bounded memory.  [default: if it has more than 256 MB]",
)


def data_options(
    *,
    several: bool = False,
    shown: str = "[FILE]...",
    demo: bool = True,
    label: bool = True,
    by: bool = True,
    rows: bool = True,
) -> Decorator[Any]:
    """Which file, or `several` of them (`shown` by help), which columns, and what they mean."""
    return stacked(
        click.argument("files", nargs=-1, metavar=shown) if several else _file,
        *([_demo] if demo else []),
        *([_label] if label else []),
        _scores,
        *([_weight] if label else []),
        *([_by] if by else []),
        *([_classes] if label else []),
        *([_rows] if rows else []),
        _input,
    )


def bins_option(default: str | None, what: str, *, blind: bool = False) -> Decorator[Any]:
    """``--bins``, read by :func:`trueness.cli._bins.bin_rule`; `blind` ones must not look at the labels."""
    rules = "or distinct" if blind else "isotonic, block-isotonic or distinct"
    return click.option(
        "--bins",
        default=default,
        show_default=default is not None,
        metavar="BINS",
        help=f"{what}: 10 (equal width), mass:10, edges 0,0.1,1, {rules}.",
    )


def level_option(default: float, what: str, least: float = 0) -> Decorator[Any]:
    """``--level``, more than `least` and below 1."""
    return click.option(
        "--level",
        type=Between(least, 1, min_open=True, max_open=True),
        default=default,
        show_default=True,
        help=what,
    )


def seed_option(what: str = "Seed of what is drawn, and of the demo data.") -> Decorator[Any]:
    """``--seed``; 0 unless said otherwise, so that a command repeats itself."""
    return click.option("--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help=what)


output_options = stacked(
    click.option(
        "--format",
        "form",
        type=click.Choice(_FORMATS),
        help="Form of the output.  [default: by the name of the output file, else table]",
    ),
    click.option("-o", "--output", metavar="FILE", help="Write to a file; a failed write leaves the old one."),
    _debug,
)
plain_output_options = stacked(
    click.option("-o", "--output", metavar="FILE", help="Write to a file; a failed write leaves the old one."), _debug
)


def check_input(
    context: click.Context, given: str | tuple[str, ...] | None, demo: bool, *, only_demo: tuple[str, ...] = ("rows",)
) -> None:
    """Refuse both or neither of FILE and --demo, and options of the demo without it."""
    if demo and given:
        raise click.UsageError("Give a FILE or --demo, not both.")
    if not demo and not given:
        raise click.UsageError(f"Give a FILE to {context.info_name}, or --demo.")
    for name in only_demo:
        if not demo and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is for --demo.")
