"""``trueness fit``."""

import json
import re
from dataclasses import replace
from typing import Any

import click

import trueness.cli._options as opt
from trueness.cli._columns import Request
from trueness.cli._dataset import Rows, read_rows
from trueness.cli._messages import note, warning
from trueness.cli._writing import check_suffix, check_writable, write
from trueness.errors import InputError, did_you_mean

_FOLDED = ("AutoCalibration", "SegmentCalibration")


@opt.command("fit")
@opt.data(by=False, scale=False)
@opt.text("--by", "Column whose values get shifts of their own, as far as rows justify. Repeatable.", multiple=True)
@opt.cluster
@opt.missing
@opt.multilabel
@click.option("--from-logits", is_flag=True, help="The scores are logits.")
@opt.text(
    "--calibrator",
    "The calibrator: auto-calibration, histogram-binning (for a guarantee), platt-scaling, isotonic-calibration, "
    "temperature-scaling, prior-correction, ...; for several classes also top-label:NAME and one-vs-rest:NAME. The "
    "first word is enough.",
    "--method",
    "calibrator",
    default="auto-calibration",
)
@click.option(
    "--set",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the calibrator, such as limits=true; for the NAME after a colon, calibrator__n_bins=15. "
    "Repeatable.",
)
@opt.seed("Seed of the calibrator, if it takes one, and of the demo data.")
@opt.file_output
def command(
    files: tuple[str, ...], calibrator: str, parameters: tuple[str, ...], output: str | None, **options: Any
) -> None:
    """Fit a map from scores to calibrated scores; save it as JSON.

    By default, candidate maps from the identity to flexible curves are averaged, weighted by their cross-fitted log
    loss. A note says what was chosen, what it gains and whether to leave the scores alone. Use neither the rows that
    the model was trained on nor those that it will be evaluated on. The JSON file holds labelled numbers and the names
    of the columns, but no code; `trueness apply` uses it.

    \b
      trueness fit rows.csv --label churned --prob p -o map.json
      trueness fit rows.csv --label churned --prob p --calibrator platt -o m.json
      trueness fit rows.csv --label churned --prob x --from-logits -o map.json
      trueness fit rows.csv --label churned --prob p --by region -o map.json
      trueness fit rows.npz --label y --prob P --calibrator top-label:histogram
      trueness fit x.csv --kind multilabel --label 'y_*' --prob-columns 'p_*'

    Exit code 0: fitted. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    opt.check_input()
    check_writable(output, *files)
    check_suffix(output, "JSON", (".json",))
    from_logits = bool(options.pop("from_logits"))
    unfitted = _with_parameters(_calibrator(calibrator), calibrator, parameters, options["seed"], from_logits)
    several = options.pop("kind") is not None
    if several:
        from trueness import OneVsRest

        inner = unfitted.calibrator if isinstance(unfitted, OneVsRest) else unfitted
        unfitted = OneVsRest(inner, kind="multilabel")
    if options["by"]:
        from trueness import SegmentCalibration

        if several:
            raise InputError("--by", "is not for several labels: fit each of them alone")
        unfitted = SegmentCalibration(unfitted)
    if options["cluster"] is not None and type(unfitted).__name__ not in _FOLDED:
        demand = "is only for auto-calibration and --by, whose folds keep clusters together"
        raise InputError("--cluster", demand, f"got {calibrator}")
    request = replace(Request.pop_from({**options, "files": files}), multilabel=several)
    if not files and not request.probs:
        request = replace(request, probs=("overconfident",))
    rows = read_rows(request, alike=False, gaps=True)
    if len(rows.choice.models) > 1 and not several:
        names = ", ".join(model.name for model in rows.choice.models)
        raise InputError("--prob", "must name one model to fit a map for", f"got {names}")
    fitted = _fit_map(unfitted, rows)
    if output is None or output == "-":
        click.echo(fitted.to_json(), nl=False)
        note(*_remarks(fitted))
    else:
        write(output, fitted.to_json())
        note(f"{type(fitted).__name__} fitted on {fitted.n_rows_:,} rows and written to {output}.", *_remarks(fitted))


def _fit_map(calibrator: Any, rows: Rows) -> Any:
    models = rows.choice.models
    remedies = {
        "drop-missing": "`--missing drop` leaves such rows out.",
        "temperature": "These look like logits: use `--calibrator temperature-scaling --from-logits` if they are.",
        "input-logits": "These look like logits: use `--from-logits` if they are.",
        "one-vs-rest": "`--calibrator one-vs-rest:NAME` and `--calibrator top-label:NAME` take a matrix.",
    }
    parameters = {name: f"--set {name}" for name in calibrator.get_params()}
    with rows.about(*models, options=parameters, remedies=remedies) as warned:
        arguments = rows.side_by_side() if rows.request.multilabel else rows.arguments(models[0])
        known = ("labels", "pos_label", "sample_weight")
        own = {name: value for name, value in arguments.rows.items() if name in known}
        # The questions of a log are clusters by themselves; only these maps have folds that keep them together.
        own |= {"cluster": rows.cluster} if type(calibrator).__name__ in _FOLDED else {}
        own |= {"by": {name: rows.columns.groups[name] for name in rows.choice.by}} if rows.choice.by else {}
        calibrator.fit(arguments.y_prob, arguments.y_true, **own)
    calibrator.label_name_ = ", ".join(rows.choice.labels)
    calibrator.score_names_ = tuple(column for model in models for column in model.columns)
    note(*filter(None, [arguments.remark]))
    warning(*warned)
    return calibrator


def _remarks(fitted: Any) -> list[str]:
    """What the map says about itself: what was chosen and gained, or the number that was wrong."""
    if hasattr(fitted, "summary"):
        return [fitted.summary()]
    low, high = getattr(fitted, "weight_low_", None), getattr(fitted, "weight_high_", None)
    if low is None or fitted.n_classes_ is not None:
        return []
    limits = f"{100 * fitted.level:g} % limits {low:.3g} and {high:.3g}"
    return [f"The odds of the scores are divided by {fitted.weight_:.3g} ({limits})."]


def _calibrator(text: str) -> Any:
    """The unfitted calibrator of that name; a name after a colon goes inside the one before it."""
    outer, colon, inner = text.partition(":")
    cls = _class(outer)
    if not colon:
        return cls()
    if "calibrator" not in cls._get_param_names():
        raise InputError("--calibrator", f"{outer!r} takes no other calibrator after a colon", f"got {text!r}")
    return cls(calibrator=_calibrator(inner))


def _class(text: str) -> Any:
    """The class of that name; typed names have hyphens, and their first word is enough."""
    from trueness import recalibrate

    base, named = recalibrate.Calibrator, {}
    for name in recalibrate.__all__:
        cls = getattr(recalibrate, name)
        if isinstance(cls, type) and issubclass(cls, base) and cls is not base:
            named[re.sub("(?<=.)(?=[A-Z])", "-", name).lower()] = cls
    wanted = text.strip().lower().replace("_", "-")
    for name, cls in named.items():
        if wanted in (name, cls.__name__.lower(), name.partition("-")[0]):
            return cls
    remedy = did_you_mean(wanted, named, {name.partition("-")[0]: name for name in named})
    raise InputError("--calibrator", f"must be one of {', '.join(named)}", f"got {text!r}", remedy=remedy)


def _with_parameters(
    calibrator: Any, text: str, parameters: tuple[str, ...], seed: int, from_logits: bool = False
) -> Any:
    """Set the parameters, the seed of every part that takes one, and the scale of the part that takes the scores."""
    known = calibrator.get_params(deep=True)
    values: dict[str, Any] = {name: seed for name in known if name.rpartition("__")[2] == "seed"}
    if from_logits:
        scale = next((name for name in known if name.rpartition("__")[2] == "from_logits"), None)
        if scale is None:
            remedy = "`auto-calibration`, `platt-scaling` and `temperature-scaling` take them."
            raise InputError("--from-logits", f"is not for {text}, which takes probabilities", remedy=remedy)
        values[scale] = True
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals:
            raise InputError("--set", "must be NAME=VALUE", f"got {parameter!r}")
        if name not in known:
            others = ", ".join(sorted(known)) or "none"
            raise InputError("", f"{text} has no parameter {name!r}", f"it has {others}", context="`--set`")
        try:
            values[name] = json.loads(value)  # a number, true, false, null or a list
        except ValueError:
            values[name] = value
    return calibrator.set_params(**values)
