"""How far a measure of a sketch can be from the measure of the rows."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule, BlockIsotonic, BySize, EqualMass, Isotonic, as_rule
from trueness._tally.sketch import Sketch
from trueness.errors import InputError
from trueness.measure import _limits
from trueness.measure._auc import auc
from trueness.measure._binned import ace, checked_norm, ece, mce
from trueness.measure._corp import corp
from trueness.measure._gce import gce
from trueness.measure._limits import Limits
from trueness.measure._proper_scores import brier, log_loss
from trueness.measure._slope import calibration_intercept, calibration_slope, observed_expected
from trueness.measure._smooth import smooth_ece
from trueness.measure._squared import default_width, squared_ece
from trueness.measure._tce import tce
from trueness.results import Bounded

Options: TypeAlias = Mapping[str, Any]
# Room for rounding with whole-number and with other weights, relative to the larger of the value and 1.
_ROUNDING, _ROUNDING_OF_FLOATS = 1e-12, 1e-10
_NAMES = ("ks", "kuiper", "miscalibration", "discrimination")
# The largest errors in the experiments of docs/guide/sketch.md (200,000 calibrated rows from each of four beta laws).
_LARGEST_ERRORS: dict[Any, str] = {
    ece: "4e-4",
    mce: "6e-3",
    squared_ece: "2e-5",
    tce: "2.6 percentage points (0.35 in ten bins of equal width or mass)",
    smooth_ece: "9e-5",
    calibration_slope: "3e-5",
    calibration_intercept: "2e-8",
}


def bounded(measure: Callable[..., float] | str, sketch: Sketch, **options: Any) -> Bounded:
    r"""A measure of a sketch, with proven limits for its value on the rows.

    Parameters
    ----------
    measure : function or str
        Any measure. Limits are known for :func:`brier`, :func:`log_loss`, :func:`observed_expected` and :func:`auc`;
        and, in bins with fixed edges or of equal mass, for :func:`ece`, :func:`ace`, :func:`mce`, :func:`squared_ece`
        and :func:`gce` with the absolute or squared loss. Or a name: 'ks' and 'kuiper', the statistics of
        :func:`calibration_test`; 'miscalibration' and 'discrimination', the parts of :func:`corp`.
    sketch : Sketch
        From :func:`sketch`.
    **options
        Options of the measure.

    Returns
    -------
    Bounded
        The value, its limits and its largest possible error. The limits are proven, not estimated; they are not a
        confidence interval (see :func:`ece_interval`). Where no limits are known they are nan, and `note` says how
        close the value was in experiments.

    Notes
    -----
    Sums over whole cells are exact; only the order of the rows inside cells is unknown. A cell with a single score
    leaves nothing unknown, so if all cells are like that (scores with two decimals, for example), any measure is
    exact, including your own functions.

    Examples
    --------
    Edges with few binary digits do not cut cells: the value is exact.

    >>> import trueness as tn
    >>> s = tn.sketch([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    >>> result = tn.bounded(tn.ece, s, bins=2)
    >>> round(result.value, 6), round(result.error, 9)
    (0.15, 0.0)
    """
    if not isinstance(sketch, Sketch):
        raise InputError("sketch", "must be a Sketch", f"got {type(sketch).__name__}")
    if not callable(measure) and measure not in _NAMES:
        raise InputError("measure", f"must be a function or one of {', '.join(map(repr, _NAMES))}", f"got {measure!r}")
    value = _value(measure, sketch, options) if callable(measure) else _named_value(measure, sketch, options)
    name = measure if isinstance(measure, str) else getattr(measure, "__name__", repr(measure))
    if all(bool((part.low == part.high).all()) for part in sketch.parts):
        limits: Limits | None = Limits(value, value)
    else:
        limits = _LIMITS[measure](sketch, options) if measure in _LIMITS else None
    if limits is None:
        return Bounded(value, math.nan, math.nan, math.nan, name, sketch.n, _note(measure))
    low, high = _with_rounding(limits, sketch, value)
    if math.isnan(value):
        return Bounded(value, low, high, math.nan if math.isnan(low) else math.inf, name, sketch.n)
    value = min(max(value, low), high)
    error = max(0.0 if value == end else abs(value - end) for end in (low, high))  # inf − inf is no distance
    return Bounded(value, low, high, error, name, sketch.n)


def _with_rounding(limits: Limits, sketch: Sketch, value: float) -> Limits:
    """The limits with room for rounding."""
    exact = all(part.exact for part in sketch.parts)
    off = _ROUNDING if exact else max(_limits.rounding(part, _ROUNDING_OF_FLOATS) for part in sketch.parts)
    room = off * (max(1.0, abs(value)) if math.isfinite(value) else 1.0)
    return Limits(limits.low - room, limits.high + room)


def _note(measure: Any) -> str:
    if measure in _LARGEST_ERRORS:
        return (
            "No limits known. The largest error in the experiments of docs/guide/sketch.md (200,000 calibrated rows "
            f"from each of four beta laws) was {_LARGEST_ERRORS[measure]}; other rows, and fewer, may give larger ones."
        )
    return "No limits known; rows are taken to lie at the mean score of their cell."


def _value(measure: Callable[..., Any], sketch: Sketch, options: Options) -> float:
    try:
        return float(measure(sketch, **options))
    except (TypeError, AttributeError) as error:
        got = f"called with one, it raised {type(error).__name__}: {error}"
        raise InputError("measure", "must be a function of a Sketch that returns one number", got) from error


def _named_value(name: str, sketch: Sketch, options: Options) -> float:
    if name in ("miscalibration", "discrimination"):
        return float(getattr(corp(sketch, **options), name))
    if options:
        raise InputError("options", f"must be empty for {name!r}", f"got {', '.join(options)}")
    if len(sketch.parts) > 1:
        demand = f"must be of a binary problem or of the top label (kind='confidence') for {name!r}"
        raise InputError("sketch", demand, f"got kind={sketch.kind!r}")
    if sketch.n == 0:
        raise InputError("", "An empty Sketch has no calibration error", remedy="Add rows to it first.")
    return _limits.walk(sketch.parts[0])[name == "kuiper"].low


def _over_parts(sketch: Sketch, limits: Callable[[GridCells], Limits]) -> Limits:
    """Limits of each part, averaged as the measure is."""
    of_part = {id(part): limits(part) for part in sketch.parts if part.size}
    low, high = (sketch.average(lambda part, i=i: of_part[id(part)][i]) for i in (0, 1))  # type: ignore[misc]
    return Limits(low, high)


def _norm(sketch: Sketch, rule: BinRule, options: Options, loss: int = 1) -> Limits | None:
    if isinstance(rule, Isotonic | BlockIsotonic):
        return None
    norm = checked_norm(options.get("norm", "l1"))
    return _over_parts(sketch, lambda part: _limits.norm(part, rule, loss, norm))


def _ece(sketch: Sketch, options: Options) -> Limits | None:
    return _norm(sketch, as_rule(options.get("bins", 10)), options)


def _ace(sketch: Sketch, options: Options) -> Limits | None:
    bins = options.get("bins", 10)
    return _norm(sketch, bins if isinstance(bins, EqualMass) else EqualMass(bins), options)


def _gce(sketch: Sketch, options: Options) -> Limits | None:
    losses = {"absolute": 1, "squared": 2}
    loss = options.get("loss", "absolute")
    if not isinstance(loss, str) or loss not in losses:
        return None
    return _norm(sketch, as_rule(options.get("bins", 10)), options, losses[loss])


def _squared_ece(sketch: Sketch, options: Options) -> Limits | None:
    if options.get("weight_type", "frequency") == "importance":
        return None
    bins = options.get("bins")
    rule = BySize(default_width).rule(sketch.weight) if bins is None else as_rule(bins)
    return _over_parts(sketch, lambda part: _limits.squared_error(part, rule))


def _brier(sketch: Sketch, options: Options) -> Limits:  # noqa: ARG001  # all limits have one signature
    mean = _over_parts(sketch, _limits.brier)
    return Limits(max(0.0, mean.low * sketch.class_factor), mean.high * sketch.class_factor)


def _log_loss(sketch: Sketch, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
    if sketch.kind == "classwise":
        sums = [_limits.log_loss(part, events_only=True) for part in sketch.parts]
        return Limits(*(np.sum(sums, axis=0) / sketch.weight).tolist())
    return _over_parts(sketch, lambda part: Limits(*(x / float(part.weight.sum()) for x in _limits.log_loss(part))))


def _corp(index: int) -> Callable[[Sketch, Options], Limits]:
    def limits(sketch: Sketch, options: Options) -> Limits:
        score = options.get("score", "brier")
        factor = sketch.class_factor if score == "brier" else 1
        low, high = _over_parts(sketch, lambda part: _limits.corp(part, score)[index])
        return Limits(max(0.0, factor * low), max(0.0, factor * high))

    return limits


_LIMITS: dict[Any, Callable[[Sketch, Options], Limits | None]] = {
    ece: _ece,
    ace: _ace,
    mce: lambda sketch, options: _ece(sketch, {**options, "norm": "max"}),
    gce: _gce,
    squared_ece: _squared_ece,
    brier: _brier,
    log_loss: _log_loss,
    observed_expected: lambda sketch, _: _over_parts(sketch, _limits.ratio),
    auc: lambda sketch, _: _over_parts(sketch, _limits.area),
    "ks": lambda sketch, _: _limits.walk(sketch.parts[0])[0],
    "kuiper": lambda sketch, _: _limits.walk(sketch.parts[0])[1],
    "miscalibration": _corp(0),
    "discrimination": _corp(1),
}
