"""What ``trueness measure`` computes: every model's measures, from one tally each."""

import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import trueness as tn
from trueness._tally.rules import BinRule, as_rule
from trueness.cli._choice import Choice, Model
from trueness.cli._source import Columns
from trueness.cli._words import in_options
from trueness.errors import InputError, TruenessWarning
from trueness.typing import Kind, RowOptions

__all__ = ["Form", "Measured", "Measurements", "Options", "Quantity", "bin_rule", "in_words", "measure_all"]

Form: TypeAlias = Literal["count", "fraction", "percent", "number", "part"]
_ORDINARY_BINS = 10


class Quantity(NamedTuple):
    """One row of the output: its key in JSON and CSV, its name, what it means, how it is written."""

    key: str
    name: str
    meaning: str
    form: Form


@dataclass(frozen=True)
class Options:
    """What was asked about the bins and the rows."""

    bins: BinRule
    level: float = 0.95
    kinds: tuple[Kind, ...] = ()
    pos_label: str | None = None
    labels: tuple[str, ...] | None = None
    rows: RowOptions = field(default_factory=RowOptions)
    tables: bool = False

    @property
    def mass(self) -> tn.EqualMass:
        """The bins of equal mass that go with the bins: as many, if their number is known."""
        return self.bins if isinstance(self.bins, tn.EqualMass) else tn.EqualMass(self.bins.asked or _ORDINARY_BINS)


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
    """What was decided without being asked."""
    warnings: tuple[str, ...] = ()
    """What the library warned of."""


@dataclass(frozen=True)
class Measurements:
    """The measures of all models, and what they are."""

    quantities: tuple[Quantity, ...]
    models: tuple[Measured, ...]
    label: str
    weight: str | None
    bins: dict[str, str]
    """The bins in words, by the measure that they serve."""


def bin_rule(text: str) -> BinRule:
    """Read ``--bins``: a number, ``mass:10``, edges with commas between, or the name of a rule.

    Examples
    --------
    >>> bin_rule("mass:15")
    EqualMass(n=15)
    """
    word = text.strip().lower()
    named: dict[str, Callable[[], BinRule]] = {
        "isotonic": tn.Isotonic,
        "block-isotonic": tn.BlockIsotonic,
        "distinct": tn.Distinct,
    }
    if word in named:
        return named[word]()
    try:
        if found := re.fullmatch(r"(?:(width|mass):)?(0*[1-9]\d*)", word, re.ASCII):
            return tn.EqualMass(int(found[2])) if found[1] == "mass" else as_rule(int(found[2]))
        if re.fullmatch(r"[-+.\deE]+(,[-+.\deE]+)+", word, re.ASCII):
            return tn.Edges([float(edge) for edge in word.split(",")])
    except InputError as reason:
        raise InputError(in_options(str(reason))) from reason
    except ValueError:  # 1e or +-, which the pattern lets through
        pass
    raise InputError(
        "`--bins` must be a number of bins of equal width (10), of equal mass (mass:10), edges (0,0.1,0.5,1), "
        f"isotonic, block-isotonic or distinct; got {text!r}."
    )


def in_words(rule: BinRule) -> str:
    """A bin rule as one would say it."""
    match rule:
        case tn.EqualWidth(n):
            return f"{n:,} of equal width"
        case tn.EqualMass(n):
            return f"{n:,} of equal mass"
        case tn.Edges():
            return f"{rule.asked:,} between given edges"
        case tn.Isotonic():
            return "isotonic"
        case tn.BlockIsotonic():
            return "isotonic blocks of 5 to 20 % of the rows"
        case _:
            return "one per distinct score"


def measure_all(columns: Columns, choice: Choice, options: Options, source: str) -> Measurements:
    """Measure every model; an error says which file and column it is about."""
    if columns.label.shape[:1] == (0,):
        raise InputError(f"{source} has no rows.")
    vectors = [model.name for model in choice.models if not _is_matrix(columns, model)]
    matrices = [model.name for model in choice.models if _is_matrix(columns, model)]
    if vectors and matrices:
        raise InputError(f"{vectors[0]!r} is one column of scores and {matrices[0]!r} a matrix: measure them apart.")
    if options.kinds and vectors:
        raise InputError("`--kind` is for scores of several classes (a matrix); these are one column of scores.")
    kinds: tuple[Kind, ...] = options.kinds or ("classwise", "confidence")
    dropped: tuple[str, ...] = ()
    if options.rows.get("missing") == "drop":
        columns, dropped = _complete(columns, source)
    measured = []
    for model in choice.models:
        with _about(choice, model, source), _heard() as warned:
            if matrices:
                found = _matrix(columns, choice, model, options, kinds)
            else:
                found = _vector(columns, choice, model, options)
        measured.append(replace(found, warnings=(*dropped, *warned)))
    weighted = choice.weight is not None
    rows = _matrix_quantities(kinds, weighted) if matrices else _vector_quantities(weighted)
    squared = any(quantity.key.startswith("squared_ece") for quantity in rows)
    return Measurements(rows, tuple(measured), choice.label, choice.weight, _bins(options, squared))


def _complete(columns: Columns, source: str) -> tuple[Columns, tuple[str, ...]]:
    """The rows that miss nothing that any model needs, so that all models are measured on the same rows."""
    lengths = {len(column) for column in (columns.label, *columns.numbers.values())}
    if len(lengths) > 1:
        return columns, ()  # an error, which the first measure says
    kept = ~np.logical_or.reduce([_missing(column) for column in (columns.label, *columns.numbers.values())])
    gone, rows = int((~kept).sum()), kept.size
    if gone == rows:
        raise InputError(f"{source} must have at least one complete row; all {rows:,} miss a value.")
    numbers = {name: values[kept] for name, values in columns.numbers.items()}
    said = (f"{gone:,} of {rows:,} rows miss a value and were dropped.",) if gone else ()
    return Columns(columns.label[kept], numbers), said


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind not in "fO":
        return np.zeros(len(column), dtype=bool)
    gaps = np.asarray(column != column) if column.dtype.kind == "f" else np.asarray(column == None)  # noqa: E711  # by entry
    return np.asarray(gaps.any(axis=1) if gaps.ndim == 2 else gaps)


@contextmanager
def _about(choice: Choice, model: Model, source: str) -> Iterator[None]:
    try:
        yield
    except InputError as reason:
        scores = f"column {model.name!r}" if len(model.columns) == 1 else f"scores {model.name!r}"
        arguments = {
            "y_true": f"column {choice.label!r}",
            "y_prob": scores,
            "sample_weight": f"column {choice.weight!r}",
        }
        raise InputError(f"{source}: {in_options(str(reason), arguments)}") from reason


@contextmanager
def _heard() -> Iterator[list[str]]:
    """The library's warnings, each once; others go on to whoever listens."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as all_of_them:
        warnings.simplefilter("always", TruenessWarning)
        yield messages
    for w in all_of_them:
        if not issubclass(w.category, TruenessWarning):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
        elif str(w.message) not in messages:
            messages.append(str(w.message))


def _vector_quantities(weighted: bool) -> tuple[Quantity, ...]:
    return (
        *_rows(weighted),
        Quantity("prevalence", "prevalence", "share of events", "fraction"),
        *_ERRORS,
        _SQUARED,
        Quantity("brier", "Brier score", "mean squared error", "fraction"),
        Quantity("brier_miscalibration", "miscalibration", "what recalibration would gain", "part"),
        Quantity("brier_discrimination", "discrimination", "gain over prevalence (subtracted)", "part"),
        Quantity("brier_uncertainty", "uncertainty", "Brier score of the prevalence", "part"),
        Quantity("log_loss", "log loss", "mean surprise, in nats", "fraction"),
        Quantity("slope", "slope", "1 if calibrated; < 1, too extreme", "number"),
        Quantity("intercept", "intercept", "0 if right on average", "number"),
        Quantity("observed_expected", "observed/expected", "1 if right on average", "number"),
    )


def _matrix_quantities(kinds: Sequence[Kind], weighted: bool) -> tuple[Quantity, ...]:
    by_kind = [
        Quantity(_key(q.key, kind), f"{q.name}, {kind}", q.meaning, q.form)
        for kind in kinds
        for q in (*_ERRORS, *((_SQUARED,) if kind == "confidence" else ()))
        if q.key != "ece_l2"
    ]
    return (
        *_rows(weighted),
        Quantity("classes", "classes", "", "count"),
        Quantity("accuracy", "accuracy", "share of top labels that came", "fraction"),
        *by_kind,
        Quantity("brier", "Brier score", "squared errors of all classes", "fraction"),
        Quantity("log_loss", "log loss", "mean surprise, in nats", "fraction"),
    )


_ERRORS = (
    Quantity("ece", "ECE", "mean gap between score and rate", "fraction"),
    Quantity("ece_l2", "ECE, l2", "root mean squared gap", "fraction"),
    Quantity("ace", "ACE", "mean gap in bins of equal mass", "fraction"),
    Quantity("mce", "MCE", "largest gap of a bin", "fraction"),
    Quantity("tce", "TCE", "scores that a test refutes", "percent"),
    Quantity("smooth_ece", "smooth ECE", "mean gap, smoothed, no bins", "fraction"),
)
_SQUARED = Quantity("squared_ece", "squared ECE", "mean squared gap, debiased", "fraction")


def _rows(weighted: bool) -> tuple[Quantity, ...]:
    rows = Quantity("n", "rows", "of positive weight" if weighted else "", "count")
    return (rows, Quantity("weight", "weight", "in total", "number")) if weighted else (rows,)


def _key(key: str, kind: str) -> str:
    return f"{key}_{kind.replace('-', '_')}"


def _is_matrix(columns: Columns, model: Model) -> bool:
    return len(model.columns) > 1 or columns.numbers[model.columns[0]].ndim == 2


def _vector(columns: Columns, choice: Choice, model: Model, options: Options) -> Measured:
    rows: RowOptions = {**_said(columns, choice, options)}
    if options.pos_label is not None:
        rows["pos_label"] = _like(columns.label, options.pos_label)
    if options.labels is not None:
        rows["labels"] = [_like(columns.label, name) for name in options.labels]
    t = tn.tally(columns.label, columns.numbers[model.columns[0]], **rows)
    parts = tn.corp(t)
    events = float(t.parts[0].events.sum())
    values = _sums(t) | {"prevalence": events / t.weight} | _errors(t, options)
    values |= {
        "brier": tn.brier(t),
        "brier_miscalibration": parts.miscalibration,
        "brier_discrimination": parts.discrimination,
        "brier_uncertainty": parts.uncertainty,
        "log_loss": tn.log_loss(t),
        "slope": tn.calibration_slope(t),
        "intercept": tn.calibration_intercept(t),
        "observed_expected": tn.observed_expected(t),
    }
    tables = {"binary": tn.bin_table(t, bins=options.bins, level=options.level)} if options.tables else {}
    return Measured(model.name, model.columns, None, values, tables, _remarks(t))


def _matrix(columns: Columns, choice: Choice, model: Model, options: Options, kinds: Sequence[Kind]) -> Measured:
    scores = [columns.numbers[name] for name in model.columns]
    P = scores[0] if len(scores) == 1 else np.column_stack(scores)
    rows: RowOptions = {**_said(columns, choice, options)}
    if options.pos_label is not None:
        rows["pos_label"] = options.pos_label
    order, remark = _class_order(columns.label, model, options)
    if order is not None:
        rows["labels"] = order
    both: tuple[Kind, ...] = ("classwise", "confidence")
    asked: dict[Kind, RowOptions] = {kind: {**rows, "kind": kind} for kind in (*both, *kinds)}
    tallies = {kind: tn.tally(columns.label, P, **said) for kind, said in asked.items()}
    whole, top = tallies["classwise"], tallies["confidence"]
    assert whole.classes is not None
    values = _sums(whole) | {"classes": len(whole.classes)}
    values |= {"accuracy": float(top.parts[0].events.sum()) / top.weight}
    for kind in kinds:
        values |= {_key(key, kind): value for key, value in _errors(tallies[kind], options).items()}
    values |= {"brier": tn.brier(whole), "log_loss": tn.log_loss(whole)}
    tabled = kinds if options.tables else ()
    tables: dict[str, tn.BinTable] = {
        kind: tn.bin_table(tallies[kind], bins=options.bins, level=options.level) for kind in tabled
    }
    remarks = ((remark,) if remark else ()) + _remarks(whole)
    return Measured(model.name, model.columns, whole.classes, values, tables, remarks)


def _said(columns: Columns, choice: Choice, options: Options) -> RowOptions:
    if choice.weight is None:
        return options.rows
    return {**options.rows, "sample_weight": columns.numbers[choice.weight]}


def _sums(t: tn.Tally) -> dict[str, float]:
    return {"n": t.n, "weight": t.weight}


def _errors(t: tn.Tally, options: Options) -> dict[str, float]:
    exact = _exact(t)
    values = {
        "ece": tn.ece(t, bins=options.bins),
        "ece_l2": tn.ece(t, bins=options.bins, norm="l2"),
        "ace": tn.ace(t, bins=options.mass),
        "mce": tn.mce(t, bins=options.bins),
        "tce": tn.tce(t) if exact else math.nan,
        "smooth_ece": tn.smooth_ece(t),
    }
    if t.kind in ("binary", "confidence"):
        values["squared_ece"] = tn.squared_ece(t, weight_type="frequency" if exact else "importance")
    return values


def _exact(t: tn.Tally) -> bool:
    return all(part.exact for part in t.parts)


def _remarks(t: tn.Tally) -> tuple[str, ...]:
    if _exact(t):
        return ()
    return (
        "Weights are not whole numbers: TCE, which counts rows, is left out, and squared ECE takes them as importance.",
    )


def _bins(options: Options, squared: bool) -> dict[str, str]:
    own, mass, blocks = (in_words(rule) for rule in (options.bins, options.mass, tn.BlockIsotonic()))
    named = {"ece": own, "mce": own, "ace": mass, "tce": blocks}
    return named | ({"squared_ece": "n^0.4 of equal width"} if squared else {})


def _like(labels: NDArray[Any], text: str) -> Any:
    """A label from the command line in the type that the labels have."""
    kind = labels.dtype.kind
    if kind == "O":
        first = next((v for v in labels if v is not None and v == v), "")
        kind = np.asarray(first).dtype.kind
    if kind == "b":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if kind not in "iuf":
        return text
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def _class_order(labels: NDArray[Any], model: Model, options: Options) -> tuple[list[Any] | None, str | None]:
    """The classes in column order, where options or names tell, and what to say about it."""
    if options.labels is not None:
        return [_like(labels, name) for name in options.labels], None
    found = {v for v in set(labels.tolist()) if v is not None and v == v} if labels.ndim == 1 else set()
    text = any(isinstance(v, str) for v in found)
    if model.classes is None:
        shown = ", ".join(map(str, sorted(found, key=str)[:12]))
        return None, f"Columns of {model.name!r} are taken to be the labels in sorted order: {shown}." if text else None
    if text:
        for names in (model.classes, model.columns):
            if found <= set(names):
                return list(names), None
        shown = ", ".join(map(repr, model.classes[:6]))
        raise InputError(
            f"Labels of `y_true` are not the names of the score columns ({shown}); "
            "`labels=` must name the classes in the order of the columns."
        )
    numbers = [int(part) for part in model.classes] if all(part.isdecimal() for part in model.classes) else []
    if not model.starred or not numbers or not found <= set(numbers) or numbers == list(range(len(numbers))):
        return None, None
    shown = ", ".join(map(str, numbers[:12]))
    return list(numbers), f"Classes are taken from the names of the columns: {shown}."
