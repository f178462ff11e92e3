"""The measures that ``trueness measure`` computes, of rows and of sums. The tables are in ``_measure``."""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import trueness as tn
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned
from trueness._text.bins import rule_in_words
from trueness.cli._columns import Choice, Group, Model
from trueness.cli._interval_texts import with_limits
from trueness.cli._messages import reword_messages, warning, wording
from trueness.cli._rows import Rows, dropped_message, sort_values
from trueness.cli._sums import ModelSums
from trueness.errors import InputError, TruenessWarning
from trueness.measure._slope import inside_cells
from trueness.typing import Kind, RowOptions

_ORDINARY_BINS = 10
_IMPORTANCE = (
    "Weights are not whole numbers: TCE, which counts rows, is left out, and squared ECE takes them as importance."
)


_SCORES_LOST = "This measure needs every distinct score; bins do not keep them."


class Quantity(NamedTuple):
    """One measure: its key in JSON and CSV, its name, its meaning, how it is written, how it is computed."""

    key: str
    name: str
    meaning: str
    form: Literal["count", "fraction", "percent", "number"] = "fraction"
    function: Any = None
    """A function of the sums and of :meth:`arguments`."""
    bins: Literal["own", "mass", ""] = ""
    """Its bins, if any: those of the options, or as many of equal mass."""
    norm: str = ""
    scores: bool = False
    """Whether it needs them: the sums of bins do not suffice."""
    part: bool = False
    """Whether it is a part of the measure above it."""
    kind: str = "binary"
    """The kind of the sums."""
    ideal: float = math.nan
    """Its value for a calibrated model, if that does not depend on the scores."""

    @property
    def uncertain(self) -> bool:
        """Whether it varies by chance, and so has limits."""
        return self.form != "count" and self.key != "weight"

    def arguments(self, options: "Options") -> dict[str, Any]:
        """The arguments of its function besides the sums."""
        bins = {"bins": options.bins if self.bins == "own" else options.mass} if self.bins else {}
        return bins | ({"norm": self.norm} if self.norm else {})

    def of_kind(self, kind: str) -> "Quantity":
        """The measure of one kind of sums, of several; its name says which."""
        view = "class-wise" if kind == "classwise" else kind
        name = self.name if self.part else f"{self.name} ({view})"
        return self._replace(key=f"{self.key}_{kind.replace('-', '_')}", name=name, kind=kind)


@dataclass(frozen=True)
class Options:
    """Bins, kinds, tables and limits to compute."""

    bins: BinRule
    level: float = 0.95
    kinds: tuple[Kind, ...] = ()
    tables: bool = False
    intervals: bool = True
    floors: bool = True
    """Whether the limits come with noise floors, which take longer."""

    @property
    def mass(self) -> tn.EqualMass:
        """Bins of equal mass to go with the bins: as many, if their number is known."""
        n = self.bins.n_requested or _ORDINARY_BINS
        return self.bins if isinstance(self.bins, tn.EqualMass) else tn.EqualMass(n)

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
    """Bin tables by kind, if requested."""
    remarks: tuple[str, ...] = ()
    """Choices made by default."""
    warnings: tuple[str, ...] = ()
    estimates: Mapping[str, tn.Estimate] = field(default_factory=dict)
    """The limits and the noise floor of each measure, unless only the values are needed."""

    def numbers(self, quantities: Iterable[Quantity]) -> dict[str, float]:
        """The values by key, each followed by its limits and its noise floor."""
        found = {}
        for q in quantities:
            found[q.key] = self.values[q.key]
            if q.key in self.estimates:
                found |= with_limits(q.key, self.estimates[q.key])
        return found


@dataclass(frozen=True)
class Measurements:
    """The measures of all models, and their description."""

    quantities: tuple[Quantity, ...]
    models: tuple[ModelMeasures, ...]
    label: str
    weight: str | None
    bins: dict[str, str]
    """The bins in words, by measure."""
    level: float | None = None
    """Confidence level of the limits, if there are any."""
    cluster: str | None = None


def measure_all(rows: Rows, options: Options, group: Group | None = None) -> Measurements:
    """Measure every model; an error names the file and the column."""
    dropped = dropped_message(rows.dropped, len(rows) + rows.dropped)
    results = []
    for model in rows.choice.models:
        with rows.about(model, group=group) as warned:
            sums = sums_of(rows, model, options)
            one = measure_sums(model, sums, options, _sources(rows, model, sums))
        results.append(replace(one, warnings=(*dropped, *warned)))
    return measurements(rows.choice, results, options)


def measurements(
    choice: Choice, models: Sequence[ModelMeasures], options: Options, *, binned: bool = False
) -> Measurements:
    """The measures of all models with their description."""
    quantities = _quantities(options, models[0].classes is not None, choice.weight is not None)
    squared = any(quantity.function is tn.squared_ece for quantity in quantities)
    bins = _bins(options, squared, binned)
    level = options.level if options.intervals else None
    return Measurements(quantities, tuple(models), choice.label, choice.weight, bins, level, choice.cluster)


def sums_of(rows: Rows, model: Model, options: Options) -> ModelSums:
    """Tally the rows of one model, once for each kind that is measured."""
    one = rows.arguments(model)
    if not rows.is_matrix(model):
        if options.kinds:
            demand = "is only for scores of several classes (a matrix)"
            raise InputError("--kind", demand, "these are one column of scores")
        return ModelSums({"binary": tn.tally(one.y_true, one.y_prob, **one.rows)})
    kinds: tuple[Kind, ...] = ("classwise", "confidence", *options.of_matrix)
    settings: dict[str, RowOptions] = {kind: {**one.rows, "kind": kind} for kind in kinds}
    return ModelSums({k: tn.tally(one.y_true, one.y_prob, **own) for k, own in settings.items()}, one.remark)


def measure_sums(
    model: Model, sums: ModelSums, options: Options, sources: "Mapping[str, _Source] | None" = None
) -> ModelMeasures:
    """Every measure of one model; limits come from `sources`, if the rows are known, else from the sums."""
    matrix = "binary" not in sums.parts
    kinds: tuple[str, ...] = options.of_matrix if matrix else ("binary",)
    t = sums.parts["classwise" if matrix else "binary"]
    quantities = _quantities(options, matrix, weighted=True)
    values = {q.key: _value(q, sums.parts[q.kind], options) for q in quantities}
    estimates = {}
    if options.intervals:
        sources = sources or {kind: _Source(part) for kind, part in sums.parts.items()}
        estimates = _estimates(quantities, sources, options, binned=sums.binned)
    tabled = kinds if options.tables else ()
    tables = {kind: tn.bin_table(sums.parts[kind], bins=options.bins, level=options.level) for kind in tabled}
    remarks = filter(None, [sums.remark, "" if _whole_weights(t) else _IMPORTANCE])
    return ModelMeasures(model.name, model.columns, t.classes, values, tables, tuple(remarks), estimates=estimates)


def _event_rate(t: Any) -> float:
    total = t.parts[0].totals
    return float(total.events / total.weight)


def _certain(t: Any) -> float:
    return sum(inside_cells(part).certain for part in _distinct(t).parts)


def _contradicted(t: Any) -> float:
    return sum(inside_cells(part).wrong for part in _distinct(t).parts)


def _distinct(t: Any) -> tn.Tally:
    if isinstance(t, Binned):
        raise InputError("", "This measure needs every distinct score", "bins do not keep them")
    return t.as_tally() if isinstance(t, tn.Sketch) else t


def _corp(part: str, meaning: str) -> Quantity:
    def value(t: Any) -> float:
        return float(getattr(tn.corp(t), part))

    return Quantity(f"brier_{part}", part, meaning, function=value, scores=True, part=True)


def _distance(method: Literal["ks", "kuiper"], name: str) -> Quantity:
    def value(t: Any) -> float:
        return tn.calibration_test(t, method=method).statistic

    return Quantity(method, name, "", function=value, scores=True)


_TABLE = {
    quantity.key: quantity
    for quantity in (
        Quantity("n", "rows", "", "count", lambda t: t.n),
        Quantity("weight", "weight", "in total", "number", lambda t: t.weight),
        Quantity("prevalence", "prevalence", "share of events", function=_event_rate),
        Quantity("classes", "classes", "", "count", lambda t: len(t.classes)),
        Quantity("accuracy", "accuracy", "top label right", function=_event_rate, kind="confidence"),
        Quantity("ece", "ECE", "mean gap", function=tn.ece, bins="own"),
        Quantity("ece_l2", "ECE, l2", "quadratic mean", function=tn.ece, bins="own", norm="l2"),
        Quantity("ace", "ACE", "equal-mass bins", function=tn.ace, bins="mass", scores=True),
        Quantity("mce", "MCE", "largest gap", function=tn.mce, bins="own"),
        Quantity("tce", "TCE", "scores rejected", "percent", tn.tce, scores=True),
        Quantity("tce_equal_mass", "TCE", "", "percent", tn.tce, bins="mass", scores=True),
        Quantity("smooth_ece", "smooth ECE", "without bins", function=tn.smooth_ece, scores=True),
        Quantity("squared_ece", "squared ECE", "debiased", function=tn.squared_ece, bins="own", ideal=0),
        _distance("ks", "KS distance"),
        _distance("kuiper", "Kuiper distance"),
        Quantity("brier", "Brier score", "squared error", function=tn.brier),
        _corp("miscalibration", "0 at best"),
        _corp("discrimination", "is subtracted"),
        _corp("uncertainty", "of prevalence"),
        Quantity("log_loss", "log loss", "-log-likelihood", function=tn.log_loss, scores=True),
        Quantity("slope", "slope", "< 1: extreme", "number", tn.calibration_slope, scores=True, ideal=1),
        Quantity("intercept", "intercept", "at slope 1", "number", tn.calibration_intercept, scores=True, ideal=0),
        Quantity("n_certain", "scores of 0 or 1", "no log-odds", "count", _certain, scores=True),
        Quantity("n_certain_wrong", "contradicted", "by their label", "count", _contradicted, scores=True, part=True),
        Quantity("observed_expected", "observed/expected", "> 1: too low", "number", tn.observed_expected, ideal=1),
    )
}
_ERRORS = ("ece", "ace", "mce", "tce", "smooth_ece")
_PARTS = ("brier_miscalibration", "brier_discrimination", "brier_uncertainty")
_OF_VECTOR = (
    *("prevalence", "ece", "ece_l2", "ace", "mce", "tce", "smooth_ece", "squared_ece", "brier", *_PARTS, "log_loss"),
    *("slope", "intercept", "n_certain", "n_certain_wrong", "observed_expected"),
)
_OF_SUMS = (
    *("prevalence", "ece", "ece_l2", "mce", "ace", "tce", "tce_equal_mass", "smooth_ece", "brier", *_PARTS[:2]),
    *("log_loss", "squared_ece", "ks", "kuiper", "slope", "intercept", "n_certain", "n_certain_wrong"),
    "observed_expected",
)
CERTAIN = ("n_certain", "n_certain_wrong")
"""Shown only if there are scores of exactly 0 or 1."""
_OF_EVENTS = ("prevalence", "slope", "intercept", *CERTAIN, "observed_expected")


def _quantities(options: Options, matrix: bool, weighted: bool) -> tuple[Quantity, ...]:
    """The measures of a vector or a matrix of scores."""
    counts = ("n", "weight") if weighted else ("n",)
    table = _TABLE | {"n": _TABLE["n"]._replace(meaning="of positive weight")} if weighted else _TABLE
    if not matrix:
        return tuple(table[key] for key in (*counts, *_OF_VECTOR))
    whole = {key: q._replace(kind="classwise") for key, q in table.items()}
    return (
        *(whole[key] for key in (*counts, "classes")),
        table["accuracy"],
        *(
            table[key].of_kind(kind)
            for kind in options.of_matrix
            for key in (*_ERRORS, *(("squared_ece",) if kind == "confidence" else ()))
        ),
        *(whole[key]._replace(name=f"{whole[key].name} (all classes)") for key in ("brier",)),
        *(whole[key] for key in _PARTS),
        *(whole[key]._replace(name=f"{whole[key].name} (all classes)") for key in ("log_loss",)),
    )


def _value(quantity: Quantity, t: tn.Tally | Binned, options: Options) -> float:
    binned, whole = isinstance(t, Binned), _whole_weights(t)
    if (binned and quantity.scores) or (quantity.function is tn.tce and not whole):
        return math.nan
    arguments = quantity.arguments(options)
    if quantity.function is tn.squared_ece:
        arguments["weight_type"] = "frequency" if whole else "importance"
        arguments["bins"] = options.bins if binned else None
    value: float = quantity.function(t, **arguments)
    return value


class _Source(NamedTuple):
    """The sums of one kind, and the rows where sums do not suffice for limits."""

    sums: Any
    y_true: Any = None
    y_prob: Any = None
    options: Mapping[str, Any] = {}

    @property
    def needs_rows(self) -> bool:
        """Whether all limits come from the rows: those in clusters, or with weights that are not whole numbers."""
        return self.y_true is not None and (self.options["cluster"] is not None or not _whole_weights(self.sums))


def _sources(rows: Rows, model: Model, sums: ModelSums) -> dict[str, _Source]:
    one = rows.arguments(model)
    options = {"cluster": rows.cluster, **one.rows}
    views = {kind: {} if kind == "binary" else {"kind": kind} for kind in sums.parts}
    return {kind: _Source(t, one.y_true, one.y_prob, {**options, **views[kind]}) for kind, t in sums.parts.items()}


def _estimates(
    quantities: Iterable[Quantity], sources: Mapping[str, _Source], options: Options, *, binned: bool = False
) -> dict[str, tn.Estimate]:
    """The limits and the noise floors of all measures."""
    from trueness.infer._estimate import estimates

    settings: dict[str, Any] = {"level": options.level, "seed": 0, "floor": options.floors}
    found: dict[str, tn.Estimate] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruenessWarning)  # the measures themselves give them
        for kind, source in sources.items():
            named = {q.key: _as_measure(q, options, binned) for q in quantities if q.kind == kind and q.uncertain}
            rows = named if source.needs_rows else {}
            if kind == "classwise" and source.y_true is not None:  # whose sums do not keep the scores of a row together
                rows = rows or {key: named[key] for key in ("brier",) if key in named}
            if rows:
                found |= estimates(rows, source.y_true, source.y_prob, **settings, **source.options)
            rest = {key: one for key, one in named.items() if key not in rows}
            if rest:
                found |= estimates(rest, source.sums, **settings)
    return found


def _as_measure(q: Quantity, options: Options, binned: bool) -> Any:
    """A measure as `estimates` takes it: its name, or a function with its bins."""
    arguments = q.arguments(options)
    if q.function is tn.squared_ece and not binned:
        arguments = {}
    key = q.key.removesuffix(f"_{q.kind.replace('-', '_')}")
    return partial(q.function, **arguments) if arguments else key


def _whole_weights(t: tn.Tally | Binned) -> bool:
    return all(part.whole for part in t.parts)


def _bins(options: Options, squared: bool, binned: bool) -> dict[str, str]:
    own, mass, blocks = (rule_in_words(rule) for rule in (options.bins, options.mass, tn.BlockIsotonic()))
    named = {"ece": own, "mce": own} | ({} if binned else {"ace": mass, "tce": blocks})
    return named | ({"squared_ece": own if binned else "n^0.4 bins of equal width"} if squared else {})


Line = dict[str, Any]
"""A measure of one group: group, key, name, value, low, high, floor, estimate and note."""


def _sums_quantities(options: Options, kind: str, blocks: bool) -> Iterator[Quantity]:
    names = {"tce": "TCE, %", "tce_equal_mass": f"TCE, %, {options.mass.n} bins"}
    view = {"binary": "", "classwise": " (class-wise)"}.get(kind, f" ({kind})")
    for key in _OF_SUMS:
        of_one = key in ("squared_ece", "ks", "kuiper") and kind not in ("binary", "confidence")
        of_events = key in _OF_EVENTS and kind != "binary"
        if not of_one and not of_events and (key != "tce" or blocks):
            quantity = _TABLE[key]
            name = f"– {quantity.name}" if quantity.part else f"{names.get(key, quantity.name)}{view}"
            yield quantity._replace(name=name, kind=kind)


def sums_lines(total: tn.Accumulator, options: Options, where: str = "", *, blocks: bool = False) -> list[Line]:
    """All measures of all rows, then of each group; `where` begins the warnings.

    `blocks` adds the TCE in isotonic blocks for all rows, which takes longer.
    """
    if total.n == 0:
        return [{"group": None, "key": "n", "name": "rows", "value": 0}]
    lines = _lines_of(total.total, options, None, where, blocks)
    for group in sort_values(total.groups) if total.by is not None else ():
        lines += _lines_of(total.groups[group], options, group, where, blocks=False)
    return lines


def _lines_of(sums: Any, options: Options, group: Any, where: str, blocks: bool) -> list[Line]:
    lines: list[Line] = [{"key": "n", "name": "rows", "value": sums.n}]
    quantities = tuple(_sums_quantities(options, sums.kind, blocks))
    with reword_messages(wording()) as warned:
        lines += [_line(one, sums, options) for one in quantities]
        known = [one for one, line in zip(quantities, lines[1:], strict=True) if "value" in line]
        found = _estimates(known, {sums.kind: _Source(sums)}, options, binned=True) if options.intervals else {}
        for line in lines:
            if line["key"] in found:
                line |= {name: getattr(found[line["key"]], name) for name in LIMITS} | {"estimate": found[line["key"]]}
        lines = [line for line in lines if line.get("value") or line["key"] not in CERTAIN]
    warning(*warned, about=": ".join(filter(None, [where, "" if group is None else str(group)])))
    return [{"group": group} | line for line in lines]


def _line(one: Quantity, sums: Any, options: Options) -> Line:
    """The value of a measure and the note that it is from a sketch, or why there is none."""
    line: Line = {"key": one.key, "name": one.name}
    arguments = one.arguments(options)
    try:
        value = one.function(sums, **arguments)
    except InputError as reason:
        if isinstance(sums, Binned) and one.scores:  # not the bins that it asks for, which the user did not name
            return line | {"note": _SCORES_LOST}
        return line | {"note": reason.but(remedy="", context="").render(wording())}
    sketched = isinstance(sums, tn.Sketch) and one.function is not _event_rate
    return line | {"value": value, "note": FROM_SKETCH if sketched else ""}


LIMITS = ("low", "high", "floor")
FROM_SKETCH = "from a sketch"


def lines_data(lines: Iterable[Line], intervals: bool) -> list[Line]:
    """The lines as JSON has them."""
    keys = ("group", "key", "value", *(LIMITS if intervals else ()), "note")
    return [{key: line.get(key) for key in keys} for line in lines]


def group_name(group: Any) -> Any:
    """The group in a table, where an empty cell stands for all groups."""
    return "''" if group == "" else group
