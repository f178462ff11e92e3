"""``trueness plan validation``."""

from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.numbers import level_percent
from trueness._text.table import Column, Table
from trueness.cli._columns import Request, choose_scores
from trueness.cli._messages import reword_messages, wording
from trueness.cli._rows import open_source, print_guesses, require_rows
from trueness.cli._writing import Output, Target
from trueness.errors import InputError

_OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("prevalence", "c_statistic", "log_odds", "oe_width", "oe_se", "slope_width", "brier_width", "c_width"),
        *("detect_oe", "detect_slope", "accept_oe", "accept_l2", "accept_ece", "accept_band", "power", "level"),
    )
} | {"scores": "FILE"}


@click.command("validation", no_args_is_help=True)
@opt.data(shown="[FILE]", demo=False, label=False, by=False, scale=False)
@opt.number("--prevalence", "The event rate, between 0 and 1.", metavar="RATE")
@opt.number("--c-statistic", "The expected area under the ROC curve.", metavar="C")
@click.option(
    "--log-odds", type=float, nargs=2, metavar="MEAN SD", help="Mean and standard deviation of normal log-odds."
)
@opt.number(
    "--oe-width", "Width of the confidence interval of observed/expected events.  [default: 0.2]", metavar="WIDTH"
)
@opt.number("--oe-se", "Standard error of log O/E, instead of --oe-width.", metavar="SE")
@opt.number("--slope-width", "Width of the confidence interval of the slope.  [default: 0.2]", metavar="WIDTH")
@opt.number("--brier-width", "Width of the confidence interval of the Brier score.  [default: 0.02]", metavar="WIDTH")
@opt.number("--c-width", "Width of the confidence interval of the c-statistic.  [default: 0.1]", metavar="WIDTH")
@opt.number("--detect-oe", "A value of O/E that the omnibus test must detect, such as 1.25.", metavar="RATIO")
@opt.number("--detect-slope", "A slope that the omnibus test must detect, such as 0.8.", metavar="SLOPE")
@opt.number("--accept-oe", "Margin within which O/E must be shown to be 1.", metavar="MARGIN")
@opt.number("--accept-l2", "Margin within which the l2 error must be shown to be 0.", metavar="MARGIN")
@opt.number("--accept-ece", "Margin within which the ECE in 10 bins must be shown to be 0.", metavar="MARGIN")
@opt.number("--accept-band", "Margin within which the monotone band must lie around the scores.", metavar="MARGIN")
@opt.level(0.95, "Confidence level; tests reject at 1 - level.")
@opt.number("--power", "Probability with which tests detect, or accept.", 0.8)
@opt.seed("Seed of the simulated power.")
@opt.output()
def validation(**how: Any) -> None:
    """Plan how many rows the validation of a model needs.

    For confidence limits of a given width (Riley et al. 2021), for the omnibus test to detect a given miscalibration,
    and for accepting that there is none or little (equivalence tests). Describe the scores by --prevalence and
    --c-statistic, by --log-odds, or by a FILE of earlier scores. If you name no width, error to detect or margin, the
    default widths are planned for.

    \b
      trueness plan validation --prevalence 0.1 --c-statistic 0.8
      trueness plan validation --prevalence 0.018 --oe-width 1
      trueness plan validation --prevalence 0.1 --c-statistic 0.8 --accept-l2 0.05 --accept-oe 0.1
      trueness plan validation pilot.csv --prob model --detect-oe 1.25 --detect-slope 0.8

    Exit code 0: planned. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    target = Target.pop_from(how)
    request = Request.pop_from(how)
    how["log_odds"] = how["log_odds"] or None
    if request.files:
        plan = _plan_by_file(request, how)
    elif request.probs or request.matrices:
        raise click.UsageError("--prob names a column of a FILE; give one.")
    else:
        with reword_messages(wording(options=_OPTIONS)):
            plan = tn.validation_size(**how)
    target.deliver(_output(plan))


def _plan_by_file(request: Request, how: dict[str, Any]) -> Any:
    """The plan for a model whose earlier scores are in one column of a file."""
    with open_source(request) as source:
        models, guesses = choose_scores(source.names, source.name, request, {})
        print_guesses(guesses)
        if len(models) > 1 or len(models[0].columns) > 1:
            raise InputError("--prob", "must name one column of scores", f"got {', '.join(m.name for m in models)}")
        (name,) = models[0].columns
        scores = source.read((), (name,)).numbers[name]
        require_rows(source.name, len(scores))
        words = wording(
            {"scores": f"scores {name!r} of {source.name}"}, lambda place: source.place(place.row), options=_OPTIONS
        )
        with reword_messages(words):
            return tn.validation_size(scores=scores, **how)


def _output(plan: Any) -> Output:
    columns = [
        Column("criterion", "criterion"),
        Column("target", "target"),
        Column("rows", "rows", "count"),
        Column("events", "events", "count"),
    ]
    lines = zip(plan.criterion, plan.target, plan.size, plan.events, strict=True)
    met = "all criteria" if None not in plan.size else "the other criteria"
    rate = level_percent(float(f"{plan.prevalence:.3g}"))
    notes = [f"{plan.n:,} rows meet {met}, if {rate} of them are events."] if plan.n else []
    return Output(
        Table.from_lines(columns, lines, notes=[*notes, *map(wording(options=_OPTIONS).spell, plan.notes)]),
        {"plan": plan.to_dict()},
    )
