"""The measures that ``trueness measure`` computes: those of each model, from one tally per kind."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import trueness as tn
from trueness._tally.bins import Bins
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned
from trueness._text.bins import rule_in_words
from trueness.cli._columns import Choice, Model
from trueness.cli._rows import Group, Rows, dropped_message
from trueness.cli._stream import Sums
from trueness.errors import InputError
from trueness.typing import Kind

__all__ = ["Measured", "Measurements", "Options", "Quantity", "measure_all", "measured", "measurements", "sums_of"]

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
class Measured:
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
    models: tuple[Measured, ...]
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
            one = measured(model, sums_of(rows, model, options), options)
        results.append(replace(one, warnings=(*dropped, *warned)))
    return measurements(rows.choice, results, options)


def measurements(choice: Choice, models: Sequence[Measured], options: Options, *, binned: bool = False) -> Measurements:
    """The measures of all models with their description."""
    weighted = choice.weight is not None
    matrices = models[0].classes is not None
    quantities = _matrix_quantities(options.of_matrix, weighted) if matrices else _vector_quantities(weighted)
    squared = any(quantity.key.startswith("squared_ece") for quantity in quantities)
    return Measurements(quantities, tuple(models), choice.label, choice.weight, _bins(options, squared, binned))


def sums_of(rows: Rows, model: Model, options: Options) -> Sums:
    """Tally the rows of one model, once for each kind that is measured."""
    one = rows.arguments(model)
    if not rows.is_matrix(model):
        if options.kinds:
            demand = "is for scores of several classes (a matrix)"
            raise InputError("--kind", demand, "these are one column of scores")
        return Sums({"binary": tn.tally(one.y_true, one.y_prob, **one.rows)})
    kinds: tuple[Kind, ...] = ("classwise", "confidence", *options.of_matrix)
    tallies = {kind: tn.tally(one.y_true, one.y_prob, **{**one.rows, "kind": kind}) for kind in dict.fromkeys(kinds)}
    return Sums(tallies, one.remark)


def measured(model: Model, sums: Sums, options: Options) -> Measured:
    """Every measure of one model."""
    if "binary" in sums.parts:
        t, kinds = sums.parts["binary"], ("binary",)
        values = _vector_values(t, options)
    else:
        t, kinds = sums.parts["classwise"], options.of_matrix
        values = _matrix_values(sums.parts, options)
    tabled = kinds if options.tables else ()
    tables = {kind: tn.bin_table(sums.parts[kind], bins=options.bins, level=options.level) for kind in tabled}
    remarks = ((sums.remark,) if sums.remark else ()) + _remarks(t)
    return Measured(model.name, model.columns, t.classes, values, tables, remarks)


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
            "tce": tn.tce(t) if _exact(t) else math.nan,
            "smooth_ece": tn.smooth_ece(t),
        }
    if t.kind in ("binary", "confidence"):
        weights: Literal["frequency", "importance"] = "frequency" if _exact(t) else "importance"
        bins = options.bins if isinstance(t, Binned) else None
        values["squared_ece"] = tn.squared_ece(t, weight_type=weights, bins=bins)
    return values


def _exact(t: tn.Tally | Binned) -> bool:
    return all(part.whole if isinstance(part, Bins) else part.exact for part in t.parts)


def _remarks(t: tn.Tally | Binned) -> tuple[str, ...]:
    if _exact(t):
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
