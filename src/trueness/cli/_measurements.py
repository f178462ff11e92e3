"""The measures that ``trueness measure`` computes, of rows and of sums. The tables are in ``_measure``."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import trueness as tn
from trueness._tally.bins import Bins
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned
from trueness._text.bins import rule_in_words
from trueness.cli._columns import Choice, Model
from trueness.cli._messages import reword_messages, warning, wording
from trueness.cli._rows import Group, Rows, dropped_message, sort_values
from trueness.cli._sums import ModelSums, SumsFile
from trueness.errors import InputError
from trueness.typing import Kind, RowOptions

_ORDINARY_BINS = 10


class Quantity(NamedTuple):
    """One measure: its key in JSON and CSV, its name, its meaning, how it is written."""

    key: str
    name: str
    meaning: str
    form: Literal["count", "fraction", "percent", "number"]
    part: bool = False
    """Whether it is a part of the measure above it."""


@dataclass(frozen=True)
class Options:
    """Bins, kinds and tables to compute."""

    bins: BinRule
    level: float = 0.95
    kinds: tuple[Kind, ...] = ()
    tables: bool = False

    @property
    def mass(self) -> tn.EqualMass:
        """Bins of equal mass to go with the bins: as many, if their number is known."""
        return (
            self.bins if isinstance(self.bins, tn.EqualMass) else tn.EqualMass(self.bins.n_requested or _ORDINARY_BINS)
        )

    @property
    def of_matrix(self) -> tuple[Kind, ...]:
        """The kinds to measure of a matrix."""
        return self.kinds or ("classwise", "confidence")


@dataclass(frozen=True)
class ModelMeasures:
    """The measures of one model."""

    name: str
    columns: tuple[str, ...]
    classes: tuple[Any, ...] | None
    """In column order; None for a vector of scores."""
    values: dict[str, float]
    tables: dict[str, tn.BinTable]
    """Bin tables by kind, if asked for."""
    remarks: tuple[str, ...] = ()
    """Choices made by default."""
    warnings: tuple[str, ...] = ()
    """Warnings of the library."""


@dataclass(frozen=True)
class Measurements:
    """The measures of all models, and their description."""

    quantities: tuple[Quantity, ...]
    models: tuple[ModelMeasures, ...]
    label: str
    weight: str | None
    bins: dict[str, str]
    """The bins in words, by measure."""


def measure_all(rows: Rows, options: Options, group: Group | None = None) -> Measurements:
    """Measure every model; an error names the file and the column."""
    dropped = dropped_message(rows.dropped, len(rows) + rows.dropped)
    results = []
    for model in rows.choice.models:
        with rows.about(model, group=group) as warned:
            one = measure_sums(model, sums_of(rows, model, options), options)
        results.append(replace(one, warnings=(*dropped, *warned)))
    return measurements(rows.choice, results, options)


def measurements(
    choice: Choice, models: Sequence[ModelMeasures], options: Options, *, binned: bool = False
) -> Measurements:
    """The measures of all models with their description."""
    weighted = choice.weight is not None
    matrices = models[0].classes is not None
    quantities = _matrix_quantities(options.of_matrix, weighted) if matrices else _vector_quantities(weighted)
    squared = any(quantity.key.startswith("squared_ece") for quantity in quantities)
    return Measurements(quantities, tuple(models), choice.label, choice.weight, _bins(options, squared, binned))


def sums_of(rows: Rows, model: Model, options: Options) -> ModelSums:
    """Tally the rows of one model, once for each kind that is measured."""
    one = rows.arguments(model)
    if not rows.is_matrix(model):
        if options.kinds:
            demand = "is for scores of several classes (a matrix)"
            raise InputError("--kind", demand, "these are one column of scores")
        return ModelSums({"binary": tn.tally(one.y_true, one.y_prob, **one.rows)})
    kinds: tuple[Kind, ...] = ("classwise", "confidence", *options.of_matrix)
    settings: dict[str, RowOptions] = {kind: {**one.rows, "kind": kind} for kind in kinds}
    return ModelSums({k: tn.tally(one.y_true, one.y_prob, **own) for k, own in settings.items()}, one.remark)


def measure_sums(model: Model, sums: ModelSums, options: Options) -> ModelMeasures:
    """Every measure of one model."""
    kinds: tuple[str, ...] = ("binary",)
    if "binary" in sums.parts:
        t = sums.parts["binary"]
        values = _vector_values(t, options)
    else:
        t, kinds = sums.parts["classwise"], options.of_matrix
        values = _matrix_values(sums.parts, options)
    tabled = kinds if options.tables else ()
    tables = {kind: tn.bin_table(sums.parts[kind], bins=options.bins, level=options.level) for kind in tabled}
    remarks = ((sums.remark,) if sums.remark else ()) + _remarks(t)
    return ModelMeasures(model.name, model.columns, t.classes, values, tables, remarks)


_ERRORS = (
    Quantity("ece", "ECE", "mean gap between score and rate", "fraction"),
    Quantity("ece_l2", "ECE, l2", "root mean squared gap", "fraction"),
    Quantity("ace", "ACE", "mean gap in bins of equal mass", "fraction"),
    Quantity("mce", "MCE", "largest gap of a bin", "fraction"),
    Quantity("tce", "TCE", "scores rejected by a test", "percent"),
    Quantity("smooth_ece", "smooth ECE", "mean gap, smoothed, no bins", "fraction"),
)
_SQUARED = Quantity("squared_ece", "squared ECE", "mean squared gap, debiased", "fraction")
_LOG_LOSS = Quantity("log_loss", "log loss", "negative log-likelihood per row", "fraction")
_NEED_SCORES = (
    *("brier_miscalibration", "brier_discrimination", "brier_uncertainty"),
    *("log_loss", "slope", "intercept"),
)


def _vector_quantities(weighted: bool) -> tuple[Quantity, ...]:
    return (
        *_counts(weighted),
        Quantity("prevalence", "prevalence", "share of events", "fraction"),
        *_ERRORS,
        _SQUARED,
        Quantity("brier", "Brier score", "mean squared error", "fraction"),
        Quantity("brier_miscalibration", "miscalibration", "gain from recalibration", "fraction", part=True),
        Quantity("brier_discrimination", "discrimination", "gain over prevalence (subtracted)", "fraction", part=True),
        Quantity("brier_uncertainty", "uncertainty", "Brier score of the prevalence", "fraction", part=True),
        _LOG_LOSS,
        Quantity("slope", "slope", "1 if calibrated; < 1, too extreme", "number"),
        Quantity("intercept", "intercept", "0 if right on average", "number"),
        Quantity("observed_expected", "observed/expected", "1 if right on average", "number"),
    )


def _matrix_quantities(kinds: Sequence[Kind], weighted: bool) -> tuple[Quantity, ...]:
    by_kind = [
        q._replace(key=_key(q.key, kind), name=f"{q.name}, {kind}")
        for kind in kinds
        for q in (*_ERRORS, *((_SQUARED,) if kind == "confidence" else ()))
        if q.key != "ece_l2"
    ]
    return (
        *_counts(weighted),
        Quantity("classes", "classes", "", "count"),
        Quantity("accuracy", "accuracy", "share of correct top labels", "fraction"),
        *by_kind,
        Quantity("brier", "Brier score", "squared errors of all classes", "fraction"),
        _LOG_LOSS,
    )


def _counts(weighted: bool) -> tuple[Quantity, ...]:
    rows = Quantity("n", "rows", "of positive weight" if weighted else "", "count")
    return (rows, Quantity("weight", "weight", "in total", "number")) if weighted else (rows,)


def _key(key: str, kind: str) -> str:
    return f"{key}_{kind.replace('-', '_')}"


def _vector_values(t: tn.Tally | Binned, options: Options) -> dict[str, float]:
    total = t.parts[0].totals
    values = {"n": t.n, "weight": t.weight, "prevalence": total.events / total.weight} | _errors(t, options)
    values |= {"brier": tn.brier(t), "observed_expected": tn.observed_expected(t)}
    if isinstance(t, Binned):
        return values | dict.fromkeys(_NEED_SCORES, math.nan)
    parts = tn.corp(t)
    return values | {
        "brier_miscalibration": parts.miscalibration,
        "brier_discrimination": parts.discrimination,
        "brier_uncertainty": parts.uncertainty,
        "log_loss": tn.log_loss(t),
        "slope": tn.calibration_slope(t),
        "intercept": tn.calibration_intercept(t),
    }


def _matrix_values(parts: Mapping[str, tn.Tally | Binned], options: Options) -> dict[str, float]:
    whole, top = parts["classwise"], parts["confidence"]
    assert whole.classes is not None
    values = {"n": whole.n, "weight": whole.weight, "classes": len(whole.classes)}
    values |= {"accuracy": top.parts[0].totals.events / top.weight}
    for kind in options.of_matrix:
        values |= {_key(key, kind): value for key, value in _errors(parts[kind], options).items()}
    return values | {
        "brier": tn.brier(whole),
        "log_loss": math.nan if isinstance(whole, Binned) else tn.log_loss(whole),
    }


def _errors(t: tn.Tally | Binned, options: Options) -> dict[str, float]:
    values = {
        "ece": tn.ece(t, bins=options.bins),
        "ece_l2": tn.ece(t, bins=options.bins, norm="l2"),
        "mce": tn.mce(t, bins=options.bins),
    }
    if isinstance(t, Binned):
        values |= dict.fromkeys(("ace", "tce", "smooth_ece"), math.nan)
    else:
        values |= {
            "ace": tn.ace(t, bins=options.mass),
            "tce": tn.tce(t) if _whole_weights(t) else math.nan,
            "smooth_ece": tn.smooth_ece(t),
        }
    if t.kind in ("binary", "confidence"):
        weights: Literal["frequency", "importance"] = "frequency" if _whole_weights(t) else "importance"
        bins = options.bins if isinstance(t, Binned) else None
        values["squared_ece"] = tn.squared_ece(t, weight_type=weights, bins=bins)
    return values


def _whole_weights(t: tn.Tally | Binned) -> bool:
    return all(part.whole if isinstance(part, Bins) else part.exact for part in t.parts)


def _remarks(t: tn.Tally | Binned) -> tuple[str, ...]:
    if _whole_weights(t):
        return ()
    return (
        "Weights are not whole numbers: TCE, which counts rows, is left out, and squared ECE takes them as importance.",
    )


def _bins(options: Options, squared: bool, binned: bool) -> dict[str, str]:
    own, mass, blocks = (rule_in_words(rule) for rule in (options.bins, options.mass, tn.BlockIsotonic()))
    if binned:
        return {"ece": own, "mce": own} | ({"squared_ece": own} if squared else {})
    named = {"ece": own, "mce": own, "ace": mass, "tce": blocks}
    return named | ({"squared_ece": "n^0.4 bins of equal width"} if squared else {})


class _SumsMeasure(NamedTuple):
    """A measure of sums: its key, its name, its function and how to ask for its limits."""

    key: str
    name: str
    value: Callable[[Any], float]
    limits: Any = None
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed


Line = dict[str, Any]
"""A measure of one group: group, key, name, value, low, high and note."""


def _measures(rule: BinRule, kind: str, blocks: bool) -> list[_SumsMeasure]:
    mass = rule if isinstance(rule, tn.EqualMass) else tn.EqualMass(rule.n_requested or 10)

    def plain(key: str, name: str, function: Callable[..., float], **options: Any) -> _SumsMeasure:
        return _SumsMeasure(key, name, lambda sums: function(sums, **options), function, options)

    def statistic(method: Any) -> Callable[[Any], float]:
        return lambda sums: tn.calibration_test(sums, method=method).statistic

    measures = [
        plain("ece", "ECE", tn.ece, bins=rule),
        plain("ece_l2", "ECE, l2", tn.ece, bins=rule, norm="l2"),
        plain("mce", "MCE", tn.mce, bins=rule),
        plain("ace", "ACE", tn.ace, bins=mass),
        *([plain("tce", "TCE, %", tn.tce)] if blocks else []),
        plain("tce_equal_mass", f"TCE, %, {mass.n} bins", tn.tce, bins=mass),
        plain("smooth_ece", "smooth ECE", tn.smooth_ece),
        plain("brier", "Brier score", tn.brier),
        _SumsMeasure("brier_miscalibration", "miscalibration", lambda s: tn.corp(s).miscalibration, "miscalibration"),
        _SumsMeasure("brier_discrimination", "discrimination", lambda s: tn.corp(s).discrimination, "discrimination"),
        plain("log_loss", "log loss", tn.log_loss),
    ]
    if kind in ("binary", "confidence"):
        measures += [
            plain("squared_ece", "squared ECE of these bins", tn.squared_ece, bins=rule),
            _SumsMeasure("ks", "KS distance", statistic("ks"), "ks"),
            _SumsMeasure("kuiper", "Kuiper distance", statistic("kuiper"), "kuiper"),
        ]
    if kind == "binary":
        measures += [
            plain("slope", "slope", tn.calibration_slope),
            plain("intercept", "intercept", tn.calibration_intercept),
            plain("observed_expected", "observed/expected", tn.observed_expected),
        ]
    return measures


def sums_lines(total: tn.Accumulator, rule: BinRule, where: str = "", *, blocks: bool = False) -> list[Line]:
    """All measures of all rows, then of each group; `where` begins the warnings.

    `blocks` adds the TCE in isotonic blocks for all rows, which takes longer.
    """
    if total.n == 0:
        return [{"group": None, "key": "n", "name": "rows", "value": 0}]
    lines = _lines_of(total.total, rule, None, where, blocks)
    for group in sort_values(total.groups) if total.by is not None else ():
        lines += _lines_of(total.groups[group], rule, group, where, blocks=False)
    return lines


def _lines_of(sums: Any, rule: BinRule, group: Any, where: str, blocks: bool) -> list[Line]:
    lines: list[Line] = [{"key": "n", "name": "rows", "value": sums.n}]
    if sums.kind == "binary":
        total = sums.parts[0].totals
        lines.append({"key": "prevalence", "name": "prevalence", **_exact_line(float(total.events / total.weight))})
    with reword_messages(wording()) as warned:
        lines += [_line(one, sums) for one in _measures(rule, sums.kind, blocks)]
    warning(*warned, about=": ".join(filter(None, [where, "" if group is None else str(group)])))
    return [{"group": group} | line for line in lines]


def _exact_line(value: float) -> Line:
    return {"value": value, "low": value, "high": value, "note": "exact"}


def _line(one: _SumsMeasure, sums: Any) -> Line:
    """Value and limits of a measure, or why there are none."""
    line: Line = {"key": one.key, "name": one.name}
    try:
        value = one.value(sums)
    except InputError as reason:
        return line | {"note": _reason(reason)}
    if not isinstance(sums, tn.Sketch):
        return line | _exact_line(value)
    limits = tn.bounded(one.limits, sums, **one.options)
    if limits.note:
        return line | {"value": value, "note": limits.note}
    note = "" if limits.error > 1e-9 * max(1, abs(limits.value)) else "exact"
    return line | {"value": limits.value, "low": limits.low, "high": limits.high, "note": note}


def _reason(reason: InputError) -> str:
    return reason.but(remedy="", context="").render(wording())


def lines_data(lines: Iterable[Line]) -> list[Line]:
    """The lines as JSON has them."""
    return [{key: line.get(key) for key in ("group", "key", "value", "low", "high", "note")} for line in lines]


def group_name(group: Any) -> Any:
    """The group in a table, where an empty cell stands for all groups."""
    return "''" if group == "" else group


def file_lines(sums: Sequence[SumsFile], total: tn.Accumulator, rule: BinRule) -> list[Line]:
    """The measures of each file and of all, as plain rows: what a report shows of the files."""
    files = [(name, sums_lines(one, rule, name)) for name, one in sums]
    rows = file_rows([*files, ("all", sums_lines(total, rule))])
    return [{key: value for key, value in row.items() if not key.endswith("_shown")} for row in rows]


def file_rows(files: Sequence[tuple[str, Sequence[Line]]]) -> list[Line]:
    return [row for name, lines in files for row in _rows_of_file(name, lines)]


def _rows_of_file(name: str, lines: Sequence[Line]) -> Iterator[Line]:
    """One row for all groups, and one for each."""
    for group in dict.fromkeys(line["group"] for line in lines):
        row: Line = {"file": name, "group": group_name(group)}
        for line in lines:
            if line["group"] != group:
                continue
            key = line["key"]
            row[key] = line.get("value")
            if key != "n":
                row |= {
                    f"{key}_low": line.get("low"),
                    f"{key}_high": line.get("high"),
                    f"{key}_shown": _short_value(line),
                }
        yield row


def _short_value(line: Line) -> str:
    """Four decimals, with the limits if they differ at four decimals."""
    if line.get("value") is None:
        return "-"
    value = f"{line['value']:.4f}"
    if line.get("low") is None:
        return f"≈{value}"
    low, high = f"{line['low']:.4f}", f"{line['high']:.4f}"
    return value if low == value == high else f"{value} [{low}, {high}]"
