"""``trueness fit``, ``apply`` and ``export``: maps from scores to calibrated scores."""

import json
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness.cli._printing import (
    Target,
    check_suffix,
    check_writable,
    note,
    reword_messages,
    warning,
    wording,
    write,
)
from trueness.cli._reading import about, names_of, open_source, print_guesses, read_rows
from trueness.errors import InputError
from trueness.sources._columns import as_fractions, missing_rows, side_by_side
from trueness.sources._request import Model, Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueness.sources._data_set import DataSet
    from trueness.sources._table import Table

DIALECTS = (
    *("duckdb", "sqlite", "postgresql", "postgres", "spark", "bigquery"),
    *("snowflake", "redshift", "databricks", "trino", "clickhouse", "mysql", "tsql", "oracle"),
)
_ONLY = {"dialect": "sql", "prob": "sql", "matrices": "sql", "table": "sql", "dtype": "onnx"}
"""Options of one format of `export`."""
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


@opt.command("fit")
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


def _fit_map(calibrator: Any, rows: "DataSet") -> Any:
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
        options = {name: value for name, value in rows.options.items() if name in fitted_by}
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


def _save(fitted: Any, output: str | None) -> None:
    """Write a map to the output, and say so if that is a file."""
    path = None if output == "-" else output
    write(path, fitted.to_json())
    if path is not None:
        note(f"{type(fitted).__name__} fitted on {fitted.n_rows_:,} rows and written to {path}.")


def _remarks(fitted: Any) -> list[str]:
    """What the map says about itself: what was chosen and gained, or the number that was wrong."""
    if hasattr(fitted, "summary"):
        return [fitted.summary()]
    low = getattr(fitted, "weight_low_", None)
    high = getattr(fitted, "weight_high_", None)
    if low is None or fitted.n_classes_ is not None:
        return []
    limits = f"{100 * fitted.level:g} % limits {low:.3g} and {high:.3g}"
    return [f"The odds of the scores are divided by {fitted.weight_:.3g} ({limits})."]


def _named(text: str) -> Any:
    """The unfitted calibrator of that name."""
    from trueness.recalibrate._by_name import calibrator_named  # not needed by help

    return calibrator_named(text, "--calibrator")


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
    calibrator: Any, text: str, parameters: tuple[str, ...], *, seed: int, from_logits: bool
) -> Any:
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
    return calibrator.set_params(**values)


@opt.command("apply")
@opt.data(shown="[FILE]", demo=False, label=False, by=False, scale=False)
@click.option(
    "--calibrator",
    "map_path",
    metavar="FILE",
    required=True,
    help="The JSON file that `trueness fit` wrote.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the new column.  [default: the score column + _calibrated]",
)
@opt.choice(
    "--missing",
    "raise keep",
    "Rows without a score: fail, or keep them without a calibrated score.",
    "gaps",
    default="raise",
)
@opt.text(
    "--lower", "Of intervals: column of the lower ends.  [default: the one of `fit`]", "lower_end"
)
@opt.text(
    "--upper", "Of intervals: column of the upper ends.  [default: the one of `fit`]", "upper_end"
)
@opt.file_output
def apply(
    request: Request,
    *,
    map_path: str,
    name: str | None,
    gaps: str,
    lower_end: str | None,
    upper_end: str | None,
    output: str | None,
) -> None:
    """Add calibrated scores to a file.

    Writes the rows of FILE with one more column, in the format of the input. Without --prob, the
    scores are taken from the column that the map was fitted on. Without -o, text goes to standard
    output. Of Parquet and Arrow files only the scores are held in memory.

    \b
      trueness apply new.csv --calibrator map.json -o better.csv
      trueness apply new.csv --prob score_b --calibrator map.json -o better.csv

    Exit code 0: done. 2: the options or the data are wrong, and no output was written.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    if not request.files:
        raise click.UsageError("Give a FILE to apply the map to.")
    if len(request.files) > 1:
        raise click.UsageError(
            f"apply takes one FILE; got {len(request.files)}. Run it once for each."
        )
    path = None if output == "-" else output
    check_writable(path, map_path)  # not the rows: they are all written again
    calibrator = load_map(map_path, f"`--calibrator` {map_path!r}")
    with open_source(request) as source:
        if hasattr(source, "answers"):
            remedy = f"`trueness answers {source.name} -o answers.csv` writes rows."
            raise InputError(
                "",
                f"{source.name} is a log of an evaluation; a map is applied to rows",
                remedy=remedy,
            )
        compress = _compression(source, path or "")
        if isinstance(calibrator, tn.IntervalCalibration):
            model = _ends_of(source, request, calibrator, lower_end, upper_end)
        elif lower_end is not None or upper_end is not None:
            demand = "is for intervals, and this is a map of scores"
            raise InputError("--upper" if lower_end is None else "--lower", demand)
        else:
            model = _model(source, request, calibrator.score_names_)
        names = _new_names(model, name, source)
        if path is None and sys.stdout.isatty() and not source.is_text:
            raise InputError(
                "", f"{source.name} is binary, and so is the output: `-o` must name a file for it"
            )
        scores = _calibrated(calibrator, source, model, gaps, request.percent)
        new = dict(zip(names, [scores] if len(names) == 1 else scores.T, strict=True))
        write(path, compress(lambda file: source.write(file, new)))


def _ends_of(
    source: "Table", request: Request, calibrator: Any, lower: str | None, upper: str | None
) -> Model:
    """The columns of both ends: those that the options name, else those of the fit."""
    if request.probs or request.matrices:
        raise InputError("--prob", "is for scores, and this moves the ends of intervals")
    fitted = calibrator.interval_names_ or (None, None)
    ends = []
    for option, typed, known in (("--lower", lower, fitted[0]), ("--upper", upper, fitted[1])):
        column = typed or known
        if column is None:
            raise InputError(option, "must name the column of these ends")
        names_of(source).check(option, column)
        ends.append(column)
    return Model(",".join(ends), tuple(ends))


def _compression(source: "Table", path: str) -> Any:
    """How the name of a file says to compress.

    Refuses one of another format than the rows', if these are not text.
    """
    from trueness.sources._files import SUFFIXES, compress_into, compression_by_name, inner_suffix

    suffixes = source.suffixes
    if not source.is_text and compression_by_name(path):
        demand = f"must end in {' or '.join(suffixes)}: only text is compressed"
        raise InputError("--output", demand, f"got {path!r}")
    if inner_suffix(path) in SUFFIXES:
        what = f"{source.format}, as {source.name} is"
        check_suffix(path, what, suffixes, inner_suffix(path))
    return partial(compress_into, path)


def load_map(path: str, shown: str) -> Any:
    """The map in a file, which messages call `shown`."""
    try:
        with reword_messages(wording({"stored": "it", "path": "it"}), f"{shown} cannot be used"):
            return tn.load_calibrator(path)
    except OSError as reason:
        raise InputError("", f"{shown} cannot be read: {reason.strerror or reason}") from reason


def _model(source: "Table", request: Request, fitted: tuple[str, ...] | None) -> Model:
    """The scores that the options name, else those of the columns that the map was fitted on."""
    if fitted is not None and not (request.probs or request.matrices):
        if absent := [column for column in fitted if column not in names_of(source).names]:
            names = _list_names(tuple(absent))
            demand = f"{source.name} has no {names}, which the map was fitted on"
            remedy = "`--prob` names the column of the scores; `--prob-columns`, several."
            raise InputError("", demand, remedy=remedy)
        return Model(",".join(fitted), fitted)
    from trueness.sources._choose import choose_scores

    models, guesses = choose_scores(names_of(source), request, {})
    print_guesses(guesses)
    if len(models) > 1:
        names = ", ".join(model.name for model in models)
        raise InputError("--prob", "must name one model", f"got {names}")
    (model,) = models
    if fitted is None or model.columns == fitted:
        return model
    if sorted(model.columns) == sorted(fitted):
        demand = f"must name the columns in the order of `fit`: {', '.join(fitted)}"
        raise InputError("--prob-columns", demand, f"got {', '.join(model.columns)}")
    columns = _list_names(model.columns)
    warning(f"the map was fitted on {_list_names(fitted)}, and is applied to {columns}.")
    return model


def _list_names(columns: tuple[str, ...]) -> str:
    return f"column{'' if len(columns) == 1 else 's'} {', '.join(map(repr, columns))}"


def _new_names(model: Model, name: str | None, source: "Table") -> list[str]:
    """The names of the new columns: one, or one for each column of a matrix."""
    if len(model.columns) > 1 and name is not None:
        demand = (
            "is only for one column of scores; the columns of a matrix get _calibrated after their "
            "names"
        )
        raise InputError("--name", demand)
    new = [name] if name else [f"{column}_calibrated" for column in model.columns]
    for column in new:
        if column in source.names:
            raise InputError(
                "",
                f"{source.name} has a column {column!r} already",
                "`--name` must give another name",
            )
    return new


def _calibrated(
    calibrator: Any, source: "Table", model: Model, gaps: str, percent: bool
) -> "NDArray[Any]":
    """The calibrated scores of all rows; nan where a score is missing and may be."""
    import numpy as np

    from trueness.sources._data_set import require_rows

    by = getattr(calibrator, "by_names_", ())
    if absent := [name for name in by if name not in names_of(source).names]:
        raise InputError(
            "", f"{source.name} has no {_list_names(tuple(absent))}, by which the map was fitted"
        )
    read = source.read((), model.columns, by)
    p = side_by_side([read.numbers[name] for name in model.columns])
    require_rows(source.name, len(p))
    gone = missing_rows(p)
    logits = "These look like logits: the calibrator was fitted on probabilities."
    scores = np.full(p.shape, np.nan)
    kept = np.flatnonzero(~gone)
    moves_ends = isinstance(calibrator, tn.IntervalCalibration)
    arguments = {"y_prob": f"scores {model.name!r}"}
    if moves_ends:
        lower, upper = model.columns
        arguments |= {"lower": f"column {lower!r}", "upper": f"column {upper!r}"}
    options = {}
    if read.groups:
        options["by"] = {name: values[kept] for name, values in read.groups.items()}
    words = wording(
        arguments,
        lambda place: source.place(int(kept[place.row])),
        remedies=dict.fromkeys(("temperature", "input-logits"), logits),
    )
    with reword_messages(words, source.name) as warned:
        if gone.any() and gaps == "raise":
            demand = "must not have missing values"
            got = f"{int(gone.sum()):,} of {gone.size:,} are"
            remedy = "`--missing keep` leaves those rows without a calibrated score."
            raise InputError("y_prob", demand, got, remedy=remedy)
        if len(kept):
            if moves_ends:
                scores[kept] = np.column_stack(calibrator.predict(*p[kept].T))
            else:
                scores[kept] = calibrator.predict(as_fractions(p[kept], percent), **options)
    warning(*warned)
    return scores


@opt.command("export")
@click.argument("path", metavar="MAP")
@opt.choice(
    "--dialect",
    DIALECTS,
    "Dialect of the SQL: duckdb, sqlite, postgresql, spark, bigquery; translated by sqlglot, and "
    "not executed here, also snowflake, redshift, databricks, trino, clickhouse, mysql, tsql, "
    "oracle.",
    default="duckdb",
    metavar="NAME",
)
@opt.text("--prob", "SQL: column of the scores.  [default: the one of `fit`, else p]")
@opt.text(
    "--prob-columns",
    "SQL: columns of several classes, in class order: a,b,c.",
    "matrices",
    metavar="NAMES",
)
@opt.text("--table", "SQL: write a whole query of this table; shorter for maps class by class.")
@opt.choice(
    "--dtype", "float64 float32", "ONNX: the type of scores and results.", default="float64"
)
@opt.output(("sql", "onnx"), {".sql": "sql", ".onnx": "onnx"}, demand_suffix=True)
def export(path: str, target: Target, **options: Any) -> None:
    """Write a fitted map as SQL or as an ONNX model.

    MAP is the JSON file that `trueness fit` wrote. SQL is what stands after SELECT: an expression
    for each column that `trueness apply` would add, under the same name. An ONNX model takes
    `scores` and gives `calibrated`. Neither needs trueness to run, and both agree with `apply` to
    1e-12 (1e-16 times the logit, for logits beyond 10,000); scores that `apply` refuses become NULL
    or NaN.

    \b
      trueness export map.json --dialect postgresql --prob score -o map.sql
      trueness export map.json -o map.onnx

    Exit code 0: written. 2: the options or the map are wrong, or no formula of either kind gives
    the map.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_writable(target.path, path)
    for name, typed in opt.typed_options():
        if _ONLY.get(name, target.form) != target.form:
            raise click.UsageError(f"{typed} is for --format {_ONLY[name]}.")
    if target.form == "onnx" and target.path is None:
        raise click.UsageError("An ONNX model is binary: name a file, -o map.onnx.")
    calibrator = load_map(path, repr(path))
    if isinstance(calibrator, tn.IntervalCalibration):
        raise InputError("MAP", "must map scores", f"{path} moves the ends of intervals")
    if target.form == "onnx":
        with reword_messages(wording({}), path):
            model = calibrator.to_onnx(dtype=options["dtype"])
        target.write(model.SerializeToString())
        return
    dialect = options["dialect"]
    columns = _columns(options["prob"], options["matrices"])
    option = "--prob" if calibrator.n_classes_ is None else "--prob-columns"
    with reword_messages(wording({"column": option}), path):
        sql = calibrator.to_sql(dialect, column=columns, table=options["table"])
    if options["table"] is not None:
        target.write(f"{sql}\n")
        return
    from trueness.recalibrate._sql import quoted

    expressions = sql if isinstance(sql, dict) else {"p": sql}
    names = columns or calibrator.score_names_ or list(expressions)
    if isinstance(names, str):
        names = [names]
    lines = []
    for name, expression in zip(names, expressions.values(), strict=True):
        lines.append(f"{expression} AS {quoted(f'{name}_calibrated', dialect)}")
    target.write(",\n".join(lines) + "\n")


def _columns(prob: str | None, matrix: str | None) -> str | list[str] | None:
    """The column of scores, or the columns of `--prob-columns` as a list; None if neither is given.

    `matrix` holds names separated by commas. Both options together are an error.
    """
    if prob is not None and matrix is not None:
        raise click.UsageError("Give --prob or --prob-columns, not both.")
    if matrix is None:
        return prob
    names = [name.strip() for name in matrix.split(",")]
    if "" in names:
        raise InputError(
            "--prob-columns", "must name columns separated by commas", f"got {matrix!r}"
        )
    return names
