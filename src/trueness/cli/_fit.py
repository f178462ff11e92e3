"""``trueness fit``."""

import json
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import collect_warnings, errors_as_messages, note, warning
from trueness.cli._options import (
    check_input,
    data_options,
    missing_option,
    plain_output_options,
    seed_option,
)
from trueness.cli._writing import check_suffix, check_writable, write
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness.cli._rows import Rows

__all__ = ["command"]


@click.command("fit", no_args_is_help=True)
@data_options(several=True, by=False, rows=False)
@missing_option
@click.option(
    "--calibrator",
    metavar="NAME",
    default="histogram-binning",
    show_default=True,
    help="What to fit: histogram-binning, platt-scaling, isotonic-calibration, temperature-scaling, ...; "
    "for several classes also top-label:NAME and one-vs-rest:NAME.",
)
@click.option(
    "--set",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the calibrator, such as n_bins=15; of the NAME after a colon, calibrator__n_bins=15. "
    "Repeatable.",
)
@seed_option("Seed of the calibrator, if it takes one, and of the demo data.")
@plain_output_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], demo: bool, debug: bool, **options: Any) -> None:
    """Learn a map from scores to better scores, and write it as JSON.

    The rows must not be those that the model was trained on, nor those that it will be judged on. The map is numbers
    with their meaning and holds no code. `trueness apply` uses it.

    \b
      trueness fit valid.csv --label churned --prob model -o map.json
      trueness fit valid.csv --label churned --prob model --calibrator platt-scaling -o map.json
      trueness fit valid.npz --label y --prob P --calibrator top-label:histogram-binning -o map.json

    Exit code 0: fitted. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_input(context, files, demo)
    with errors_as_messages(debug):
        _fit(files, **options)


def _fit(
    files: tuple[str, ...], *, calibrator: str, parameters: tuple[str, ...], output: str | None, **asked: Any
) -> None:
    from trueness.cli._reading import Request, read_rows

    check_writable(output, *files)
    check_suffix(output, "JSON", (".json",))
    made = _with_parameters(_made(calibrator), calibrator, parameters, asked["seed"])
    request = Request.taken_from({"files": files, **asked})
    if not files and not request.probs:
        request = request.with_probs("p")
    rows = read_rows(request, alike=False)
    if len(rows.choice.models) > 1:
        raise InputError(
            f"`--prob` must name one model to fit a map for; got {', '.join(m.name for m in rows.choice.models)}."
        )
    for line in rows.said_dropped:
        warning(f"{line}")
    _learn(made, rows)
    text = json.dumps(made.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if output is None or output == "-":
        click.echo(text, nl=False)
    else:
        write(output, text)
        note(f"{type(made).__name__} fitted on {made.n_rows_:,} rows and written to {output}.")


def _learn(made: Any, rows: "Rows") -> None:

    (model,) = rows.choice.models
    try:
        with rows.about(model), collect_warnings() as warned:
            given = rows.arguments(model)
            known = ("labels", "pos_label", "sample_weight")
            made.fit(given.y_prob, given.y_true, **{k: v for k, v in given.rows.items() if k in known})
    except InputError as reason:
        logits = "`--calibrator temperature-scaling --set input=logits` takes them"
        said = str(reason).replace('`TemperatureScaling(input="logits")` takes them', logits)
        said = said.replace('`input="logits"` takes them', "`--set input=logits` takes them")
        matrix = "`--calibrator one-vs-rest:NAME` and `--calibrator top-label:NAME` take a matrix"
        said = said.replace("`OneVsRest(calibrator)` and `TopLabel(calibrator)` take a matrix", matrix)
        raise InputError(said) from reason
    if given.remark:
        note(f"{given.remark}")
    for message in warned:
        told = message.replace("scheme='randomized' breaks", "`--set scheme=randomized` breaks")
        warning(f"{told}")


def _made(text: str) -> Any:
    """The calibrator of that name, unfitted; of a name after a colon, inside the one before it."""
    outer, colon, inner = text.partition(":")
    cls = _class(outer)
    if not colon:
        return cls()
    if "calibrator" not in cls._get_param_names():
        raise InputError(f"`--calibrator` {outer!r} takes no other calibrator after a colon; got {text!r}.")
    return cls(calibrator=_made(inner))


def _class(text: str) -> Any:
    from trueness import recalibrate

    wanted = text.strip().lower().replace("_", "-")
    for name in recalibrate.__all__:
        if wanted in (_kebab(name), name.lower()) and _is_calibrator(getattr(recalibrate, name)):
            return getattr(recalibrate, name)
    known = [_kebab(name) for name in recalibrate.__all__ if _is_calibrator(getattr(recalibrate, name))]
    raise InputError(f"`--calibrator` must be one of {', '.join(known)}; got {text!r}.")


def _is_calibrator(thing: Any) -> bool:
    from trueness.recalibrate import Calibrator

    return isinstance(thing, type) and issubclass(thing, Calibrator) and thing is not Calibrator


def _kebab(name: str) -> str:
    """A class as one types it.

    Examples
    --------
    >>> _kebab("HistogramBinning")
    'histogram-binning'
    """
    return "".join(f"-{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def _with_parameters(made: Any, text: str, parameters: tuple[str, ...], seed: int) -> Any:
    """Set what was asked for, and the seed of every part that takes one."""
    known = made.get_params(deep=True)
    values: dict[str, Any] = {name: seed for name in known if name.rpartition("__")[2] == "seed"}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals:
            raise InputError(f"`--set` must be NAME=VALUE; got {parameter!r}.")
        if name not in known:
            raise InputError(f"`--set`: {text} has no parameter {name!r}; it has {', '.join(sorted(known)) or 'none'}.")
        values[name] = _value(value)
    return made.set_params(**values)


def _value(text: str) -> Any:
    """A number, true, false, null or a list as JSON writes them; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
