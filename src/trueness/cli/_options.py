"""Options that several commands share."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness._tally.rules import BinRule

__all__ = [
    "Between",
    "Decorator",
    "bin_rule",
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
    """A number within limits. click alone lets nan through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


def stacked(*decorators: Decorator[Any]) -> Decorator[Any]:
    """Several decorators as one; help shows the options in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


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
    help="Column of groups, each analysed separately. Repeatable, except for a tally.",
)
_weight = click.option("--weight", metavar="NAME", help="Column of weights: a weight of 2 counts the row twice.")
_classes = stacked(
    click.option("--pos-label", metavar="LABEL", help="The label that the scores predict, if labels are not 0/1."),
    click.option(
        "--labels", metavar="LABELS", help="The classes in column order, a,b,c; with two classes, the event last."
    ),
)
missing_option = click.option(
    "--missing",
    type=click.Choice(["raise", "drop"]),
    default="raise",
    show_default=True,
    help="Rows with a missing value, for any model: an error, or left out.",
)
_rows = stacked(
    missing_option,
    click.option("--from-logits", is_flag=True, help="The scores are logits."),
    click.option(
        "--clip-tolerance", type=float, default=0.0, help="Move scores outside [0, 1] by at most this much to 0 or 1."
    ),
    click.option("--sum-tolerance", type=float, help="How far the scores of a row may sum from 1.  [default: 1e-6]"),
)
_input = stacked(
    click.option(
        "--input-format",
        type=click.Choice(INPUT_FORMATS),
        help="Format of the file.  [default: by its first bytes, then its name]",
    ),
    click.option(
        "--separator", metavar="CHAR", help="Separator of the columns of a text file, if not a comma (tsv: a tab)."
    ),
)
_output = click.option(
    "-o", "--output", metavar="FILE", help="Write to this file; if writing fails, the old file stays."
)
_debug = click.option("--debug", is_flag=True, help="Show the traceback of an error.")

cluster_option = click.option(
    "--cluster", metavar="NAME", help="Column of clusters: rows of the same cluster may be dependent."
)
stream_option = click.option(
    "--stream/--no-stream",
    default=None,
    help="Read the file in pieces, in bounded memory.  [default: if it is larger than 256 MB]",
)


def data_options(
    *,
    shown: str = "[FILE]...",
    demo: bool = True,
    label: bool = True,
    by: bool = True,
    rows: bool = True,
) -> Decorator[Any]:
    """Which files (called `shown` in help), which columns, and what they mean."""
    return stacked(
        click.argument("files", nargs=-1, metavar=shown),
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
    """``--bins``, read by :func:`bin_rule`; `blind` ones must not depend on the labels."""
    rules = "or distinct" if blind else "isotonic, block-isotonic or distinct"
    return click.option(
        "--bins",
        default=default,
        show_default=default is not None,
        metavar="BINS",
        help=f"{what}: 10 (equal width), mass:10, edges 0,0.1,1, {rules}.",
    )


def bin_rule(text: str | None) -> Any:
    """Read ``--bins``: a number, ``mass:10``, edges separated by commas, or the name of a rule.

    Examples
    --------
    >>> bin_rule("mass:15")
    EqualMass(n=15)
    """
    if text is None:
        return None
    import trueness as tn
    from trueness._tally.rules import as_rule  # NumPy, which help does not need

    word = text.strip().lower()
    rules: dict[str, Callable[[], BinRule]] = {
        "isotonic": tn.Isotonic,
        "block-isotonic": tn.BlockIsotonic,
        "block": tn.BlockIsotonic,
        "distinct": tn.Distinct,
    }
    if word in rules:
        return rules[word]()
    try:
        if match := re.fullmatch(r"(?:(width|mass):)?(0*[1-9]\d*)", word, re.ASCII):
            return tn.EqualMass(int(match[2])) if match[1] == "mass" else as_rule(int(match[2]))
        if re.fullmatch(r"[-+.\deE]+(,[-+.\deE]+)+", word, re.ASCII):
            return tn.Edges([float(edge) for edge in word.split(",")])
    except InputError as reason:
        if reason.demand:
            raise reason.but(argument="--bins", remedy="") from reason
    except ValueError:  # 1e or +-, which the pattern lets through
        pass
    raise InputError(
        "--bins",
        "must be a number of bins of equal width (10), of equal mass (mass:10), edges (0,0.1,0.5,1), isotonic, "
        "block-isotonic or distinct",
        f"got {text!r}",
    )


def level_option(default: float, what: str, least: float = 0) -> Decorator[Any]:
    """``--level``, above `least` and below 1."""
    return click.option(
        "--level",
        type=Between(least, 1, min_open=True, max_open=True),
        default=default,
        show_default=True,
        help=what,
    )


def seed_option(what: str = "Seed of random draws, and of the demo data.") -> Decorator[Any]:
    """``--seed``; 0 by default, so that a command repeats itself."""
    return click.option("--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help=what)


output_options = stacked(
    click.option(
        "--format",
        "form",
        type=click.Choice(_FORMATS),
        help="Format of the output.  [default: by the name of the output file, else table]",
    ),
    _output,
    _debug,
)
plain_output_options = stacked(
    _output,
    _debug,
)


def check_input(
    context: click.Context, files: tuple[str, ...], demo: bool, *, only_demo: tuple[str, ...] = ("rows",)
) -> None:
    """Refuse both or neither of FILE and --demo, and options of the demo without it."""
    if demo and files:
        raise click.UsageError("Give a FILE or --demo, not both.")
    if not demo and not files:
        raise click.UsageError(f"Give a FILE to {context.info_name}, or --demo.")
    for name in only_demo:
        if not demo and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is for --demo.")
