"""``trueness plan`` and ``trueness plan validation``."""

from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.table import Column, Table
from trueness.cli._command import Command, CommandGroup
from trueness.cli._printing import Output, Target, reword_messages, wording
from trueness.cli._reading import one_column, open_source
from trueness.errors import InputError, Wording
from trueness.sources._columns import as_fractions
from trueness.sources._data_set import require_rows
from trueness.sources._request import Request

_KINDS = {
    "conditional": "every bin's value is within epsilon of its event rate",
    "marginal": "the value of a new row's bin is within epsilon of its event rate",
    "expected-ece": "the expected calibration error is at most epsilon",
}
_SCHEMES = "umd randomized original split fixed-width"
_BOUND = (
    "Hoeffding's inequality, as published, or the binomial distribution: smaller and equally valid."
)
_NUMBERS = {
    "prevalence": ("The event rate, between 0 and 1.", "RATE"),
    "c_statistic": ("The expected area under the ROC curve.", "C"),
    "oe_width": (
        "Width of the confidence interval of observed/expected events.  [default: 0.2]",
        "WIDTH",
    ),
    "oe_se": ("Standard error of log O/E, instead of --oe-width.", "SE"),
    "slope_width": ("Width of the confidence interval of the slope.  [default: 0.2]", "WIDTH"),
    "brier_width": (
        "Width of the confidence interval of the Brier score.  [default: 0.02]",
        "WIDTH",
    ),
    "c_width": ("Width of the confidence interval of the c-statistic.  [default: 0.1]", "WIDTH"),
    "detect_oe": ("A value of O/E that the omnibus test must detect, such as 1.25.", "RATIO"),
    "detect_slope": ("A slope that the omnibus test must detect, such as 0.8.", "SLOPE"),
    "accept_oe": ("Margin within which O/E must be shown to be 1.", "MARGIN"),
    "accept_l2": ("Margin within which the typical error must be shown to be 0.", "MARGIN"),
    "accept_ece": ("Margin within which the ECE in 10 bins must be shown to be 0.", "MARGIN"),
    "accept_band": ("Margin within which the monotone band must lie around the scores.", "MARGIN"),
}
"""What describes a validation: help and the name of the value."""
_OPTIONS = {
    name: f"--{name.replace('_', '-')}" for name in (*_NUMBERS, "log_odds", "power", "level")
}
_OPTIONS["scores"] = "FILE"


@click.group("plan", cls=CommandGroup, invoke_without_command=True, no_args_is_help=True)
@opt.count("--n", "Rows to fit on.")
@click.option("--bins", "n_bins", type=click.IntRange(min=1), metavar="B", help="Bins.")
@opt.number("--epsilon", "The largest error allowed, between 0 and 1.", metavar="EPSILON")
@opt.number("--alpha", "Probability that the guarantee fails, between 0 and 1.", 0.1)
@opt.choice("--kind", _KINDS, "What is guaranteed.", default="conditional")
@opt.choice(
    "--scheme", _SCHEMES, "How histogram binning chooses and fills its bins.", default="umd"
)
@opt.choice("--bound", "hoeffding exact", _BOUND, default="hoeffding")
@opt.output()
def plan(*, target: Target, **values: object) -> None:
    """Plan histogram binning, or the validation of a model.

    Histogram binning has a guaranteed error. Give any two of rows, bins and error; the third is
    computed.

    \b
      trueness plan --n 5000 --bins 10          how large can the error be?
      trueness plan --bins 10 --epsilon 0.05    how many rows does it need?
      trueness plan --n 5000 --epsilon 0.05     how many bins can it have?
      trueness plan validation --prevalence 0.1 --c-statistic 0.8

    The guarantee holds for any model and any distribution.

    Exit code 0: planned. 2: the options are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    options: dict[str, Any] = values
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        if any(map(opt.is_typed, context.params)):
            raise click.UsageError(
                f"Options of `plan {context.invoked_subcommand}` must follow its name."
            )
        return
    planners: dict[str, Any] = {"n": tn.sample_size, "n_bins": tn.max_bins, "epsilon": tn.epsilon}
    numbers = {name: options.pop(name) for name in planners}
    typed = {name: value for name, value in numbers.items() if value is not None}
    if len(typed) != 2:
        raise click.UsageError("Give two of --n, --bins and --epsilon; the third is computed.")
    (wanted,) = numbers.keys() - typed.keys()
    with reword_messages(wording(options={"n": "--n", "n_bins": "--bins"})):
        numbers[wanted] = planners[wanted](**typed, **options)
    if numbers["n_bins"] == 0:
        row_count = tn.sample_size(n_bins=1, epsilon=numbers["epsilon"], **options)
        demand = (
            f"No number of bins keeps `--epsilon` {numbers['epsilon']:g} with {numbers['n']:,} rows"
        )
        raise InputError("", demand, f"one bin needs {row_count:,}")
    target.deliver(_output(numbers, wanted, options))


def _output(numbers: dict[str, Any], wanted: str, options: dict[str, Any]) -> Output:
    """What `plan` prints, and its data: rows, bins and error of histogram binning.

    `numbers` holds these three, of which `wanted` names the one that was computed. `options` are
    alpha (the probability that the guarantee fails), the kind of guarantee, the binning scheme, and
    the bound.
    """
    line = {**numbers, **options, "planned": wanted}
    titles = {"n": "rows", "n_bins": "bins", "epsilon": "epsilon"}
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
    guarantee = _KINDS[options["kind"]]
    if options["kind"] != "expected-ece":
        guarantee = f"with probability {1 - options['alpha']:g} {guarantee}"
    note = f"Planned: {titles[wanted]}. Histogram binning ({options['scheme']}): {guarantee}."
    return Output(Table(columns, [line], [note]), {"plan": line})


@plan.command("validation", cls=Command, no_args_is_help=True)
@opt.data(shown="[FILE]", demo=False, label=False, by=False, scale=False)
@click.option(
    "--log-odds",
    type=float,
    nargs=2,
    metavar="MEAN SD",
    help="Mean and standard deviation of normal log-odds.",
)
@opt.combine(
    *(opt.number(_OPTIONS[name], what, metavar=value) for name, (what, value) in _NUMBERS.items())
)
@opt.level(0.95, "Confidence level; tests reject at 1 - level.")
@opt.number("--power", "Probability with which tests detect, or accept.", 0.8)
@opt.seed("Seed of the simulated power.")
@opt.output()
def validation(request: Request, target: Target, **values: object) -> None:
    """Plan how many rows the validation of a model needs.

    For confidence limits of a given width (Riley et al. 2021), for the omnibus test to detect a
    given miscalibration, and for accepting that there is none or little (equivalence tests).
    Describe the scores by --prevalence and --c-statistic, by --log-odds, or by a FILE of earlier
    scores. If you name no width, error to detect or margin, the default widths are planned for.

    \b
      trueness plan validation --prevalence 0.1 --c-statistic 0.8
      trueness plan validation --prevalence 0.018 --oe-width 1
      trueness plan validation --prevalence 0.1 --c-statistic 0.8 --accept-l2 0.05
      trueness plan validation pilot.csv --prob model --detect-oe 1.25

    Exit code 0: planned. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    options: dict[str, Any] = values
    options["log_odds"] = options["log_odds"] or None
    if not request.files and (request.probs or request.matrices):
        raise click.UsageError("--prob names a column of a FILE; give one.")
    scores, words = _scores(request) if request.files else (None, wording(options=_OPTIONS))
    with reword_messages(words):
        plan = tn.validation_size(scores=scores, **options)
    columns = [
        Column("criterion", "criterion"),
        Column("target", "target"),
        Column("rows", "rows", "count"),
        Column("events", "events", "count"),
    ]
    lines = zip(plan.criterion, plan.target, plan.size, plan.events, strict=True)
    notes = [plan.in_words(), *map(wording(options=_OPTIONS).spell, plan.notes)]
    target.deliver(Output(Table.from_lines(columns, lines, notes=notes), {"plan": plan.to_dict()}))


_NO_SCALE = {
    "drop-missing": "Leave such rows out first.",
    "from-logits": "Logits x must become probabilities first, 1 / (1 + exp(-x)).",
    "clip": "Scores outside must be set to 0 or 1 first.",
}


def _scores(request: Request) -> tuple[Any, Wording]:
    """The earlier scores of a model in one column of a file, and how messages word them."""
    with open_source(request) as source:
        name = one_column(source, request)
        scores = as_fractions(source.read((), (name,)).numbers[name], request.percent)
        require_rows(source.name, len(scores))
        return scores, wording(
            {"scores": f"scores {name!r} of {source.name}"},
            lambda place: source.place(place.row),
            options=_OPTIONS,
            remedies=_NO_SCALE,
        )
