"""``trueness fit``: a map from scores to calibrated scores."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.numbers import level_percent
from trueness.cli._command import command
from trueness.cli._printing import (
    check_suffix,
    check_writable,
    note,
    warning,
    write,
)
from trueness.cli._reading import about, read_rows
from trueness.errors import InputError
from trueness.sources._data_set import DataSet
from trueness.sources._request import Request

if TYPE_CHECKING:
    from trueness.recalibrate._calibrator import Calibrator
    from trueness.recalibrate._interval_calibration import IntervalCalibration

_CALIBRATOR = (
    "The calibrator: auto-calibration, histogram-binning (for a guarantee), platt-scaling, "
    "isotonic-calibration, temperature-scaling, prior-correction, ...; for several classes also "
    "top-label:NAME and one-vs-rest:NAME. The first word is enough."
)
_SET = (
    "A parameter of the calibrator, such as limits=true; for the NAME after a colon, "
    "calibrator__n_bins=15. Repeatable."
)
_FOLDED = ("AutoCalibration", "SegmentCalibration")


Map = TypeVar("Map", bound="Calibrator | IntervalCalibration")


@command("fit")
@opt.data(by=False, scale=False, events=True)
@opt.text(
    "--by",
    "Column whose values get shifts of their own, as far as rows justify. Repeatable.",
    multiple=True,
)
@opt.cluster
@opt.missing
@opt.multilabel
@click.option("--from-logits", is_flag=True, help="The scores are logits.")
@opt.text("--calibrator", _CALIBRATOR, "--method", "calibrator", default="auto-calibration")
@opt.text("--set", _SET, "parameters", metavar="NAME=VALUE", multiple=True)
@opt.seed("Seed of the calibrator, if it takes one, and of the demo data.")
@opt.file_output
def fit(
    request: Request,
    *,
    calibrator: str,
    parameters: tuple[str, ...],
    seed: int,
    kind: str | None,
    output: str | None,
) -> None:
    """Fit a map from scores to calibrated scores; save it as JSON.

    By default, candidate maps from the identity to flexible curves are averaged, weighted by their
    cross-fitted log loss. A note says what was chosen, what it gains and whether to leave the
    scores alone. Use neither the rows that the model was trained on nor those that it will be
    evaluated on. The JSON file holds labelled numbers and the names of the columns, but no code;
    `trueness apply` uses it.

    \b
      trueness fit rows.csv --label churned --prob p -o map.json
      trueness fit rows.csv --label churned --prob p --calibrator platt -o m.json
      trueness fit rows.csv --label churned --prob x --from-logits -o map.json
      trueness fit rows.csv --label churned --prob p --by region -o map.json
      trueness fit rows.npz --label y --prob P --calibrator top-label:histogram
      trueness fit x.csv --kind multilabel --label 'y_*' --prob-columns 'p_*'

    Exit code 0: fitted. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_writable(output, *request.files)
    check_suffix(output, "JSON", (".json",))
    if request.stated_kind == "interval":
        _fit_intervals(request, parameters, output)
        return
    unfitted = _with_parameters(
        _named(calibrator), calibrator, parameters, seed=seed, from_logits=request.from_logits
    )
    # The map takes the logits, so that the rows hold them as they are.
    request = replace(request, from_logits=False)
    if kind is not None:
        inner = unfitted.calibrator if isinstance(unfitted, tn.OneVsRest) else unfitted
        unfitted = tn.OneVsRest(inner, kind="multilabel")
        request = replace(request, multilabel=True)
    if request.by:
        if request.multilabel:
            raise InputError("--by", "is not for several labels: fit each of them alone")
        unfitted = tn.SegmentCalibration(unfitted)
    if request.cluster is not None and type(unfitted).__name__ not in _FOLDED:
        demand = "is only for auto-calibration and --by, whose folds keep clusters together"
        raise InputError("--cluster", demand, f"got {calibrator}")
    if not request.files and not request.probs:
        request = replace(request, probs=("overconfident",))
    rows = read_rows(request, alike=False, gaps=True)
    if len(rows.models) > 1 and not request.multilabel:
        names = ", ".join(model.name for model in rows.models)
        raise InputError("--prob", "must name one model to fit a map for", f"got {names}")
    fitted = _fit_map(unfitted, rows)
    _save(fitted, output)
    note(*_remarks(fitted))


def _fit_map(calibrator: "Calibrator", rows: DataSet) -> "Calibrator":
    """Fit a calibrator to the rows, and name its columns in it.

    Columns of intervals are fitted without scores; quantiles are refused. Weights and the label
    options are passed on, and groups as `by`. Clusters are passed only to maps whose folds keep
    them together. Messages of the library are worded in options of the command line.
    """
    statements = rows.statements
    remedies = {
        "drop-missing": "`--missing drop` leaves such rows out.",
        "temperature": "These look like logits: use `--calibrator temperature-scaling "
        "--from-logits` if they are.",
        "input-logits": "These look like logits: use `--from-logits` if they are.",
        "one-vs-rest": "`--calibrator one-vs-rest:NAME` and `--calibrator top-label:NAME` take a "
        "matrix.",
    }
    parameters = {name: f"--set {name}" for name in calibrator.get_params()}
    with about(rows, options=parameters, remedies=remedies) as warned:
        fitted_by = ("labels", "pos_label", "sample_weight")
        options: dict[str, Any] = {
            name: value for name, value in rows.options.items() if name in fitted_by
        }
        # The questions of a log are clusters by themselves; only these maps have folds that keep
        # them together.
        if type(calibrator).__name__ in _FOLDED:
            options["cluster"] = rows.cluster
        if rows.request.by:
            options["by"] = rows.by
        if statements is None:
            calibrator.fit(rows.y_prob, rows.y_true, **options)
        elif statements.kind == "quantiles":
            remedy = "In Python, `fit` of a calibrator takes the events."
            demand = "is not for a map that is applied to a column of scores"
            raise InputError("--quantile", demand, remedy=remedy)
        else:
            calibrator.fit(rows.y_true, **options)
    calibrator.label_name_ = ", ".join(rows.label_columns)
    calibrator.score_names_ = tuple(column for model in rows.models for column in model.columns)
    note(*filter(None, [rows.order.remark]))
    warning(*warned)
    return calibrator


def _save(fitted: "Calibrator | IntervalCalibration", output: str | None) -> None:
    """Write a map to the output, and say so if that is a file."""
    path = None if output == "-" else output
    write(path, fitted.to_json())
    if path is not None:
        note(f"{type(fitted).__name__} fitted on {fitted.n_rows_:,} rows and written to {path}.")


def _remarks(fitted: "Calibrator") -> list[str]:
    """What the map says about itself: what was chosen and gained, or the number that was wrong."""
    if hasattr(fitted, "summary"):
        return [fitted.summary()]
    low = getattr(fitted, "weight_low_", None)
    high = getattr(fitted, "weight_high_", None)
    if low is None or fitted.n_classes_ is not None:
        return []
    limits = f"{level_percent(fitted.level)} limits {low:.3g} and {high:.3g}"
    return [f"The odds of the scores are divided by {fitted.weight_:.3g} ({limits})."]


def _named(text: str) -> "Calibrator":
    """The unfitted calibrator of that name."""
    from trueness.recalibrate._by_name import calibrator_named  # not needed by help

    calibrator: Calibrator = calibrator_named(text, "--calibrator")
    return calibrator


def _fit_intervals(request: Request, parameters: tuple[str, ...], output: str | None) -> None:
    """Move the ends of intervals, and save how far."""
    for option in ("calibrator", "by", "kind"):
        if opt.is_typed(option):
            demand = "is not for intervals, whose ends are moved: leave it out"
            raise InputError(f"--{option}", demand)
    rows = read_rows(request)
    statements = rows.statements
    assert statements is not None
    if len(rows.models) > 1:
        raise InputError("--lower", "must be given once to move the ends of intervals")
    calibration = _with_parameters(
        tn.IntervalCalibration(statements.coverage),
        "interval-calibration",
        parameters,
        seed=0,
        from_logits=False,
    )
    lower, upper = statements.models[rows.model.name]
    numbers = rows.columns.numbers
    with about(rows) as warned:
        outcome = numbers[statements.outcome]
        calibration.fit(outcome, numbers[lower], numbers[upper], cluster=rows.cluster)
    warning(*warned)
    calibration.interval_names_ = (lower, upper)
    calibration.label_name_ = statements.outcome
    _save(calibration, output)
    lower_change = f"{-calibration.lower_change_:+.6g}"
    upper_change = f"{calibration.upper_change_:+.6g}"
    unit = " half-widths" if calibration.change == "stretch" else ""
    note(f"It moves lower ends by {lower_change}, upper ends by {upper_change}{unit}.")


def _with_parameters(
    calibrator: Map, text: str, parameters: tuple[str, ...], *, seed: int, from_logits: bool
) -> Map:
    """Set the parameters that were typed.

    Also the seed of every part that takes one, and the scale of the part that takes the scores.
    """
    names = calibrator.get_params(deep=True)
    values: dict[str, Any] = {name: seed for name in names if name.rpartition("__")[2] == "seed"}
    if from_logits:
        scale = next((name for name in names if name.rpartition("__")[2] == "from_logits"), None)
        if scale is None:
            remedy = "`auto-calibration`, `platt-scaling` and `temperature-scaling` take them."
            raise InputError(
                "--from-logits", f"is not for {text}, which takes probabilities", remedy=remedy
            )
        values[scale] = True
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals:
            raise InputError("--set", "must be NAME=VALUE", f"got {parameter!r}")
        if name not in names:
            got = f"it has {', '.join(sorted(names)) or 'none'}"
            raise InputError("", f"{text} has no parameter {name!r}", got, context="`--set`")
        try:
            values[name] = json.loads(value)  # a number, true, false, null or a list
        except ValueError:
            values[name] = value
    changed: Map = calibrator.set_params(**values)
    return changed
