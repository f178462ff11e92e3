"""Options that several commands share. Commands import this module as ``opt``."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

import click

import trueness as tn
from trueness.cli._printing import SUFFIXES, Target
from trueness.errors import InputError, did_you_mean
from trueness.sources._request import Request

if TYPE_CHECKING:
    from trueness._tally.rules import BinRule

Command: TypeAlias = Callable[..., object] | click.Command
Decorator: TypeAlias = Callable[[Any], Any]

KINDS = ("classwise", "confidence", "top-label")
LABEL_KINDS = (*KINDS, "multilabel")
_OTHER_BINS = {
    "quantile": "mass:10",
    "quantiles": "mass:10",
    "mass": "mass:10",
    "uniform": "10",
    "width": "10",
}
"""What other libraries call bins, and how they are typed here."""


class Between(click.FloatRange):
    """A number within limits. click alone lets nan through."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


class Word(click.Choice):  # type: ignore[type-arg]  # which click 8.1 does not have
    """One of several words, or an error that suggests the nearest."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message} {did_you_mean(value, self.choices)}".rstrip(), param, ctx)


def combine(*decorators: Decorator) -> Decorator:
    """Several decorators as one; help shows the options in this order."""

    def decorate(command: Command) -> object:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def request_of(options: dict[str, Any]) -> Request:
    """Take the options of a request out of those of a command; `seed` stays there as well."""
    options.pop("demo", None)  # without it there are files
    taken = {}
    for field in fields(Request):
        if field.name in options:
            taken[field.name] = options[field.name]
            if field.name != "seed":
                del options[field.name]
    if isinstance(taken.get("label"), tuple):
        labels = taken.pop("label")
        if labels:
            taken["label"] = labels[0]
        if len(labels) > 1:
            taken["own_labels"] = labels
    if taken.get("weight_type", "auto") != "auto" and taken.get("weight") is None:
        raise click.UsageError("--weight-type needs --weight.")
    if isinstance(taken.get("labels"), str):
        taken["labels"] = tuple(name.strip() for name in taken["labels"].split(","))
    return Request(**taken)


def request(command: Command) -> object:
    """The options about files and columns as the first argument of a command."""

    @wraps(command)
    def with_request(**options: object) -> object:
        return command(request_of(options), **options)

    return with_request


def option(
    name: str, what: str, *more: str, default: object = None, **settings: object
) -> Decorator:
    """An option; help shows its default, if it has one."""
    of_click: dict[str, Any] = {"help": what, "show_default": default is not None, **settings}
    return click.option(name, *more, default=default, **of_click)


def number(
    name: str,
    what: str,
    default: float | None = None,
    kind: "click.ParamType[Any]" = click.FLOAT,
    **more: object,
) -> Decorator:
    """An option that is a number of some kind, such as whole numbers or those between limits."""
    return option(name, what, default=default, type=kind, **more)


def count(name: str, what: str, default: int | None = None, minimum: int = 1) -> Decorator:
    return number(name, what, default, click.IntRange(min=minimum), metavar="N")


def choice(
    name: str, values: str | Iterable[str], what: str, *more: str, **settings: object
) -> Decorator:
    words = values.split() if isinstance(values, str) else tuple(values)
    return option(name, what, *more, type=Word(words), **settings)


def text(name: str, what: str, *more: str, metavar: str = "NAME", **settings: object) -> Decorator:
    return option(name, what, *more, metavar=metavar, **settings)


multilabel = choice(
    "--kind", "multilabel", "Columns of several labels: --label 'y_*' --prob-columns 'p_*'.", "kind"
)
judge = text(
    "--judge", "Column of a judge's labels of all rows; --label is missing where no human looked."
)
missing = choice(
    "--missing",
    "raise drop",
    "Rows with a missing value for any model: fail, or drop them.",
    default="raise",
)
_CONFIDENCES = (
    "Where confidences come from: logprob, options, options-per-byte, stated, agreement, "
    "regex:PATTERN or a field such as metadata.confidence.  [default: the first that the log has]"
)
log_fields = combine(
    text(
        "--label-field",
        "For any JSON: the field that says whether the answer is right.",
        metavar="PATH",
    ),
    text("--confidence-field", "For any JSON: the field with the confidence.", metavar="PATH"),
    text("--rows-field", "For any JSON: the array of answers, as results.results.", metavar="PATH"),
    text("--text-field", "For any JSON: the field with what the model wrote.", metavar="PATH"),
    text(
        "--answer-field", "The field with the extracted answer.  [the whole text]", metavar="PATH"
    ),
    text(
        "--target-field", "The field with the right answer; equal texts are right.", metavar="PATH"
    ),
    text("--id-field", "The field with the id of the question.", metavar="PATH"),
    text("--targets", "CSV with the right answer of each id: columns id, target.", metavar="FILE"),
)
logs = combine(
    text("--scorer", "The scorer, the metric or METRIC,FILTER that says which answers are right."),
    text("--confidence", _CONFIDENCES, metavar="SOURCE"),
    log_fields,
)
cluster = text("--cluster", "Column of clusters: rows of the same cluster may be dependent.")
_STREAM = "Read the file in pieces, in bounded memory.  [default: for files above 256 MB]"
stream = click.option("--stream/--no-stream", default=None, help=_STREAM)


_INSIDE = Between(0, 1, min_open=True, max_open=True)
statements = combine(
    text("--outcome", "Column of outcomes of intervals or quantiles."),
    text("--lower", "Column of lower ends; repeat for several models.", multiple=True),
    text("--upper", "Column of upper ends; repeat for several models.", multiple=True),
    number("--coverage", "Stated coverage of the intervals.  [default: 0.9]", kind=_INSIDE),
    text(
        "--quantile",
        "A level and the column of its quantiles, 0.1=q10. Repeatable.",
        "quantiles",
        metavar="LEVEL=NAME",
        multiple=True,
    ),
    text("--followup", "Column of times of follow-up, for --horizon."),
    text("--event", "Column of what ended it: 0 censored, 1 the event, 2 … other causes."),
    number("--horizon", "The time by which --prob predicts the event.", metavar="TIME"),
)


def data(
    shown: str = "[FILE]...",
    *,
    events: bool = False,
    demo: bool = True,
    label: bool | str = True,
    by: bool = True,
    scale: bool = True,
) -> Decorator:
    """Which files (called `shown` in help), which columns, and what they mean: a request.

    With `label="own"`, each model may have its own labels.
    """
    models = label == "own"
    labels = "Column of labels: 0/1, true/false, class numbers or text."
    if models:
        labels = f"{labels} One for each --prob, in order, if models have their own."
    options = [click.argument("files", nargs=-1, metavar=shown)]
    if demo:
        options += [
            click.option(
                "--demo", is_flag=True, help="Use built-in simulated data instead of a file."
            ),
            count("--rows", "Rows of the demo data.", 10_000),
        ]
    if label:
        options.append(text("--label", labels, multiple=models))
    if models:
        options += [_model_column, _pair]
    options.append(_scores)
    if label:
        options.append(_weights)
    if by:
        options.append(
            text("--by", "Column of groups, each analysed separately. Repeatable.", multiple=True)
        )
    if label:
        options.append(_meaning)
    if scale:
        options.append(_scale)
    options.append(file_format)
    if events:
        options.append(statements)
    if label:
        options.append(logs)
    return combine(*options, request)


_model_column = text(
    "--model-column",
    "For tables with a row per model and question: column of models; needs --pair.",
)
_pair = text("--pair", "Column of questions, by which the rows of models are paired.")
_scores = combine(
    text("--prob", "Column of scores; repeat for several models.", "probs", multiple=True),
    text(
        "--prob-columns",
        "Columns of one model with several classes, in class order: a,b,c or 'p_*'. Repeatable.",
        "matrices",
        metavar="NAMES",
        multiple=True,
    ),
    click.option("--percent", is_flag=True, help="The scores are percentages, from 0 to 100."),
)
_weights = combine(
    text("--weight", "Column of weights: counts of rows, or sampling weights."),
    choice(
        "--weight-type",
        "auto frequency importance",
        "What the weights mean: frequency (a weight of 2 is two rows), importance (sampling "
        "weights), or auto: whole numbers are the first, others the second.",
        default="auto",
    ),
)
_meaning = combine(
    text(
        "--pos-label", "The label that the scores predict, if labels are not 0/1.", metavar="LABEL"
    ),
    text(
        "--labels",
        "The classes in column order, a,b,c; with two classes, the event last.",
        metavar="LABELS",
    ),
)
_scale = combine(
    missing,
    click.option("--from-logits", is_flag=True, help="The scores are logits."),
    click.option(
        "--clip-tolerance",
        type=float,
        default=0.0,
        help="Set scores outside [0, 1] by at most this much to 0 or 1.",
    ),
    number("--sum-tolerance", "How far the scores of a row may sum from 1.  [default: 1e-6]"),
)
file_format = combine(
    choice(
        "--input-format",
        "csv tsv jsonl parquet arrow npz npy",
        "Format of the file.  [default: by its first bytes, then its name]",
    ),
    text(
        "--separator",
        "Separator of the columns of a text file, if not a comma (tsv: a tab).",
        metavar="CHAR",
    ),
    choice(
        "--decimal",
        ". ,",
        "Decimal mark of a text file; with a comma, columns are separated by ';'.",
        default=".",
    ),
)


def is_typed(name: str) -> bool:
    """Whether an option was typed, rather than left at its default."""
    return (
        click.get_current_context().get_parameter_source(name)
        is click.core.ParameterSource.COMMANDLINE
    )


def typed_options() -> Iterator[tuple[str, str]]:
    """The options that were typed, each by its name and as typed."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        if isinstance(parameter, click.Option) and is_typed(name):
            is_off = context.params.get(name) is False
            yield name, (parameter.secondary_opts if is_off else parameter.opts)[-1]


def check_only_demo(name: str) -> None:
    """Refuse an option of the demo data without them."""
    context = click.get_current_context()
    if not context.params["demo"] and is_typed(name):
        raise click.UsageError(f"--{name} is for --demo.", context)


def bins(default: str | None, what: str, *, blind: bool = False) -> Decorator:
    """``--bins``, read by :func:`bin_rule`; `blind` ones must not depend on the labels."""
    rules = "or distinct" if blind else "isotonic, block-isotonic or distinct"
    what = f"{what}: 10 (equal width), mass:10, edges 0,0.1,1, {rules}."
    return text("--bins", what, metavar="BINS", default=default)


@overload
def bin_rule(typed: str) -> "BinRule": ...
@overload
def bin_rule(typed: None) -> None: ...
@overload
def bin_rule(typed: str | None) -> "BinRule | None": ...
def bin_rule(typed: str | None) -> "BinRule | None":
    """Read ``--bins``: a number, ``mass:10``, edges separated by commas, or the name of a rule.

    >>> bin_rule("mass:15")
    EqualMass(n=15)
    """
    if typed is None:
        return None
    from trueness._tally.rules import MOST_BINS  # NumPy, which help does not need

    word = typed.strip().lower()
    rules: dict[str, Callable[[], BinRule]] = {
        "isotonic": tn.Isotonic,
        "block-isotonic": tn.BlockIsotonic,
        "distinct": tn.Distinct,
    }
    if word in rules or word == "block":
        return rules.get(word, tn.BlockIsotonic)()
    try:
        if match := re.fullmatch(r"(?:(width|mass):)?(0*[1-9]\d*)", word, re.ASCII):
            n = int(match[2])
            if n > MOST_BINS:
                raise InputError("--bins", f"must be at most {MOST_BINS:,}", f"got {n:,}")
            if match[1] == "mass":
                return tn.EqualMass(n)
            return tn.EqualWidth(n)
        if re.fullmatch(r"[-+.\deE]+(,[-+.\deE]+)+", word, re.ASCII):
            return tn.Edges([float(edge) for edge in word.split(",")])
    except InputError as reason:
        raise reason.but(argument="--bins", remedy="") from reason
    except ValueError:  # 1e or +-, which the pattern lets through
        pass
    demand = (
        "must be a number of bins of equal width (10), of equal mass (mass:10), edges "
        "(0,0.1,0.5,1), isotonic, block-isotonic or distinct"
    )
    remedy = did_you_mean(word, (*rules, "block"), _OTHER_BINS)
    raise InputError("--bins", demand, f"got {typed!r}", remedy=remedy)


def level(default: float | None, what: str, minimum: float = 0) -> Decorator:
    return number("--level", what, default, Between(minimum, 1, min_open=True, max_open=True))


def rounded_to(what: str) -> Decorator:
    inside = Between(0, 1, min_open=True, max_open=True)
    return number(
        "--rounded-to", f"{what}; those of 0 and 1 may be others.", kind=inside, metavar="X"
    )


def shown_intervals(what: str) -> Decorator:
    return click.option("--intervals/--no-intervals", default=True, help=what)


intervals = shown_intervals(
    "Show confidence limits and noise floors, or only the numbers (faster)."
)
panel = combine(
    click.option(
        "--panel", is_flag=True, help="Print the panel of a clinical or credit validation instead."
    ),
    click.option(
        "--tripod", is_flag=True, help="Print the panel as text for a paper, following TRIPOD+AI."
    ),
)


def seed(what: str = "Seed of random draws, and of the demo data.") -> Decorator:
    """``--seed``; 0 by default, so that a command repeats itself."""
    return count("--seed", what, 0, minimum=0)


# The group of commands reads --debug: it turns errors into messages.
_debug = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an error."
)
file_output = combine(
    text(
        "--output",
        "Write to this file; if that fails, an existing file is kept.",
        "-o",
        metavar="FILE",
    ),
    _debug,
)


def output(
    formats: tuple[str, ...] = ("table", "json", "markdown", "csv"),
    suffixes: Mapping[str, str] = SUFFIXES,
    *,
    file: str | None = None,
    demand_suffix: bool = False,
) -> Decorator:
    """``--format`` and ``--output`` as the argument `target`; the first format is the usual one.

    Without either, a command writes to `file`.
    """
    what = f"Format of the output.  [default: by the name of the output file, else {formats[0]}]"

    def with_target(command: Command) -> object:
        """The command, which gets where and how to write as `target`."""

        @wraps(command)
        def call(
            *request: Request, form: str | None, output: str | None, **options: object
        ) -> object:
            """Make the target of `--format` and `--output`, and call the command with it."""
            read = request[0].files if request else cast(Sequence[str], options.get("files", ()))
            target = Target.of(
                form,
                output,
                read,
                suffixes=suffixes,
                usual=formats[0],
                file=file,
                demand_suffix=demand_suffix,
            )
            return command(*request, target=target, **options)

        return call

    return combine(
        click.option("--format", "form", type=click.Choice(formats), help=what),
        file_output,
        with_target,
    )
