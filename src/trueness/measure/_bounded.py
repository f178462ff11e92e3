"""How far a measure of a sketch can be from the measure of the rows."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule, BlockIsotonic, BySize, EqualMass, as_rule
from trueness._tally.sketch import Sketch
from trueness.errors import InputError
from trueness.measure import _bin_bounds, _label_bins, _line_bounds, _order_bounds, _score_bounds
from trueness.measure._bin_bounds import Ends
from trueness.measure._binned import ace, ece, mce
from trueness.measure._cell_bins import ROUNDING_OF_SUMS, apart
from trueness.measure._corp import corp
from trueness.measure._cuts import Cuts, at_edges, spread_of
from trueness.measure._gce import gce
from trueness.measure._importance_bounds import importance
from trueness.measure._line import calibration_intercept, calibration_slope, observed_expected
from trueness.measure._mass_cuts import at_float_masses, at_whole_masses, doubt_of
from trueness.measure._norm import checked_norm
from trueness.measure._rejection_bounds import rejection_norm
from trueness.measure._scores import brier, log_loss
from trueness.measure._smooth import smooth_ece
from trueness.measure._squared import default_width, squared_ece
from trueness.measure._tce import tce
from trueness.results import Bounded

__all__ = ["bounded"]

Options: TypeAlias = Mapping[str, Any]
# What rounding may do to sums of whole numbers, and to sums of others: relative to the measure, or to 1.
_ROUNDING, _ROUNDING_OF_FLOATS = 1e-12, 1e-10


def bounded(measure: Callable[..., float] | str, sketch: Sketch, **options: Any) -> Bounded:
    r"""A measure of a sketch, with limits between which the measure of the rows surely lies.

    Parameters
    ----------
    measure : function or str
        :func:`ece`, :func:`ace`, :func:`mce`, :func:`tce`, :func:`gce` with a loss that has a name,
        :func:`squared_ece`, :func:`smooth_ece`, :func:`brier`, :func:`log_loss`, :func:`observed_expected`,
        :func:`calibration_intercept` or :func:`calibration_slope`. Or a name: 'ks' and 'kuiper', the statistics of
        :func:`calibration_test`; 'miscalibration' and 'discrimination', the parts of :func:`corp`. Where no cell holds
        two different scores, any measure at all.
    sketch : Sketch
        From :func:`sketch`.
    **options
        Those of the measure.

    Returns
    -------
    Bounded
        The value, its limits and the most by which it can be off. The limits are proven, not estimated: they
        say nothing of the noise of the labels, for which see :func:`ece_interval`.

    Notes
    -----
    Sums over whole cells are exact, so that only cells that an edge cuts, and the order inside cells, are in doubt. A
    cell whose least and greatest score agree is in no doubt at all: scores of two decimals, say, are exact.
    Bins that look at the labels (:class:`Isotonic`, and :class:`BlockIsotonic`, which :func:`tce` uses unless told
    otherwise) follow the order inside cells: limits are those of all chains of blocks that the cells allow. They are
    the widest that are true, 0 and 100 for :func:`tce`, where nothing more is known: with t tests, for `fuse` where
    rates may be equal, and where chains are too many to look at.
    For a loss or a measure of your own no limits are known, and this says so. The limits of the slope are infinite
    where the order inside cells decides whether it has an estimate.

    Examples
    --------
    Edges with few binary digits do not cut cells: the value is that of the rows.

    >>> import trueness as tn
    >>> s = tn.sketch([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    >>> found = tn.bounded(tn.ece, s, bins=2)
    >>> round(found.value, 6), round(found.error, 9)
    (0.15, 0.0)
    """
    if not isinstance(sketch, Sketch):
        raise InputError("sketch", "must be a Sketch", f"got {type(sketch).__name__}")
    name = measure if isinstance(measure, str) else getattr(measure, "__name__", repr(measure))
    known = callable(measure) or measure in _LIMITS
    tied = all(bool((part.low == part.high).all()) for part in sketch.parts)
    limits = _LIMITS.get(measure) if known else None
    if not known or (limits is None and not tied):
        names = ", ".join(key if isinstance(key, str) else key.__name__ for key in _LIMITS)
        raise InputError(f"No limits are known for {name!r} of a sketch. They are for {names}.")
    value = float(measure(sketch, **options)) if callable(measure) else _named(measure, sketch, options)
    low, high = Ends(value, value) if tied or limits is None else limits(sketch, options)
    exact = all(part.exact for part in sketch.parts)
    of_sums = max((doubt_of(part, _ROUNDING_OF_FLOATS) for part in sketch.parts), default=_ROUNDING_OF_FLOATS)
    room = (_ROUNDING if exact else of_sums) * max(1.0, abs(value) if math.isfinite(value) else 1.0)
    low, high = low - room, high + room
    if math.isnan(value):
        error = math.nan if math.isnan(low) else math.inf
    else:
        value = min(max(value, low), high)
        error = max(0.0 if value == end else abs(value - end) for end in (low, high))  # inf − inf is no distance
    return Bounded(value, low, high, error, name, sketch.n)


def _over_parts(sketch: Sketch, of: Callable[[GridCells], Ends]) -> Ends:
    found = {id(part): of(part) for part in sketch.parts if part.size}
    return Ends(*(sketch.average(lambda part, i=i: found[id(part)][i]) for i in (0, 1)))  # type: ignore[misc]


def _cuts(part: GridCells, rule: BinRule) -> Cuts:
    if isinstance(rule, EqualMass):
        return at_whole_masses(part, rule) if part.exact else at_float_masses(part, rule)
    edges = rule.fixed_edges
    assert edges is not None  # what looks at the labels goes another way
    if float(part.low[0]) < edges[0] or float(part.high[-1]) > edges[-1]:
        raise InputError(
            "bins",
            "must cover every cell of the sketch",
            f"its edges run from {edges[0]:g} to {edges[-1]:g} and a cell reaches from {part.low[0]:g}, "
            f"or to {part.high[-1]:g}",
        )
    return at_edges(part, edges)


def _errors(sketch: Sketch, rule: BinRule, loss: int, norm: float) -> Ends:
    def of(part: GridCells) -> Ends:
        if _label_bins.looks_at_labels(rule):
            return _label_bins.errors(part, rule, loss, norm)
        cuts = _cuts(part, rule)
        if loss * norm == 1:
            return _bin_bounds.l1(cuts)
        return _bin_bounds.power(cuts, loss, norm, apart(part, rule))

    return _over_parts(sketch, of)


def _ece(sketch: Sketch, options: Options) -> Ends:
    return _errors(sketch, as_rule(options.get("bins", 10)), 1, checked_norm(options.get("norm", "l1")))


def _ace(sketch: Sketch, options: Options) -> Ends:
    bins = options.get("bins", 10)
    rule = bins if isinstance(bins, EqualMass) else EqualMass(bins)
    return _errors(sketch, rule, 1, checked_norm(options.get("norm", "l1")))


def _mce(sketch: Sketch, options: Options) -> Ends:
    return _ece(sketch, {**options, "norm": "max"})


def _gce(sketch: Sketch, options: Options) -> Ends:
    loss, norm = options.get("loss", "absolute"), checked_norm(options.get("norm", "l1"))
    if loss == "rejection":
        return _tce(sketch, {"bins": 10, **options}, norm)
    if not isinstance(loss, str):
        raise InputError("loss", "must be 'absolute', 'squared' or 'rejection' to have limits")
    return _errors(sketch, as_rule(options.get("bins", 10)), 1 if loss == "absolute" else 2, norm)


def _squared_ece(sketch: Sketch, options: Options) -> Ends:
    bins = options.get("bins")
    if options.get("weight_type", "frequency") == "importance":
        by_rows = default_width(sketch.n) if bins is None else as_rule(bins)
        return _over_parts(sketch, lambda part: importance(part, _cuts(part, by_rows), by_rows))
    rule = BySize(default_width).rule(sketch.weight) if bins is None else as_rule(bins)
    return _over_parts(sketch, lambda part: _bin_bounds.debiased(_cuts(part, rule)))


def _tce(sketch: Sketch, options: Options, norm: float = 1) -> Ends:
    bins = options.get("bins")
    rule = BlockIsotonic() if bins is None else as_rule(bins)
    alpha, test = float(options.get("alpha", 0.05)), options.get("test", "binomial")
    if not _label_bins.looks_at_labels(rule):
        return _over_parts(sketch, lambda part: rejection_norm(part, _cuts(part, rule), rule, alpha, test, norm))
    if test != "binomial":
        return Ends(0.0, 100.0)
    found = _over_parts(sketch, lambda part: _label_bins.refuted(part, rule, alpha))
    # A power mean is at least the mean, and Σw·r^q is at most 100^(q − 1)·Σw·r.
    return Ends(found.low, 100 * (found.high / 100) ** (1 / norm))


def _brier(sketch: Sketch, options: Options) -> Ends:  # noqa: ARG001  # all limits are asked alike
    total = _over_parts(sketch, lambda part: Ends(*(2 * [_score_bounds.squared(spread_of(part))])))
    times = len(sketch.parts) if sketch.kind == "classwise" else 1
    return Ends(max(0.0, total.low * times), total.high * times)


def _log_loss(sketch: Sketch, options: Options) -> Ends:  # noqa: ARG001  # all limits are asked alike
    if sketch.kind == "classwise":
        found = [_score_bounds.surprise(spread_of(part), events_only=True) for part in sketch.parts]
        return Ends(sum(e.low for e in found) / sketch.weight, sum(e.high for e in found) / sketch.weight)

    def of(part: GridCells) -> Ends:
        return Ends(*(end / float(part.weight.sum()) for end in _score_bounds.surprise(spread_of(part))))

    return _over_parts(sketch, of)


def _observed_expected(sketch: Sketch, options: Options) -> Ends:  # noqa: ARG001  # all limits are asked alike
    def of(part: GridCells) -> Ends:
        observed, n = float(part.events.sum()), float(part.weight.sum())
        off = doubt_of(part, ROUNDING_OF_SUMS)
        expected, around = float(part.sum_score.sum()), 1 if part.exact else 1 + off
        most = min((expected + n * 2.0**-52) * around, float((part.weight * part.high).sum()) * (1 + off))
        # Where scores were cut before they were added, which a ratio of the smallest shows, the sum is too small.
        least = max(expected / around, float((part.weight * part.low).sum()) * (1 - off))
        if observed == 0 and least == 0:
            return Ends(math.nan if most == 0 else 0.0, math.nan if most == 0 else 0.0)
        return Ends(observed / most if most > 0 else math.inf, observed / least if least > 0 else math.inf)

    return _over_parts(sketch, of)


def _intercept(sketch: Sketch, options: Options) -> Ends:
    """The shift falls if a score rises: rows at either end of their cells have limits that are then narrowed."""
    eps = float(options.get("eps", 1e-12))
    return _over_parts(sketch, lambda part: _line_bounds.shift(part, eps))


def _slope(sketch: Sketch, options: Options) -> Ends:
    eps = float(options.get("eps", 1e-12))
    return _over_parts(sketch, lambda part: _line_bounds.slope(part, eps))


def _smooth_ece(sketch: Sketch, options: Options) -> Ends:  # noqa: ARG001  # all limits are asked alike
    return _over_parts(sketch, lambda part: _score_bounds.smooth(spread_of(part), part.score))


def _walk(of: Callable[[Any], Ends]) -> Callable[[Sketch, Options], Ends]:
    def limits(sketch: Sketch, options: Options) -> Ends:  # noqa: ARG001  # all limits are asked alike
        return _over_parts(sketch, lambda part: of(spread_of(part)))

    return limits


def _part_of_score(name: str) -> Callable[[Sketch, Options], Ends]:
    def limits(sketch: Sketch, options: Options) -> Ends:
        rule = options.get("score", "brier")

        def of(part: GridCells) -> Ends:
            cells, n = spread_of(part), float(part.weight.sum())
            fit = _order_bounds.fitted_score(cells, rule)
            if name == "discrimination":
                base = _order_bounds.base_score(cells, rule)
                return Ends(base - fit.high, base - fit.low)
            if rule == "brier":
                own = Ends(*(2 * [_score_bounds.squared(cells)]))
            else:
                own = Ends(*(end / n for end in _score_bounds.surprise(cells)))
            return Ends(own.low - fit.high, own.high - fit.low)

        found = _over_parts(sketch, of)
        return Ends(max(0.0, found.low), max(0.0, found.high))

    return limits


def _named(name: str, sketch: Sketch, options: Options) -> float:
    if name in ("miscalibration", "discrimination"):
        return float(getattr(corp(sketch, **options), name))
    if options or len(sketch.parts) > 1:
        raise InputError(
            f"{name!r} has no options, and is of a binary problem or of the top label (kind='confidence')."
        )
    if sketch.n == 0:
        raise InputError("An empty Sketch has no calibration error; add rows to it first.")
    cells = spread_of(sketch.parts[0])
    reach = _order_bounds.walk_reach(cells) if name == "ks" else _order_bounds.walk_range(cells)
    return reach.low


_LIMITS: dict[Any, Callable[[Sketch, Options], Ends]] = {
    ece: _ece,
    ace: _ace,
    mce: _mce,
    gce: _gce,
    squared_ece: _squared_ece,
    tce: _tce,
    smooth_ece: _smooth_ece,
    brier: _brier,
    log_loss: _log_loss,
    observed_expected: _observed_expected,
    calibration_intercept: _intercept,
    calibration_slope: _slope,
    "ks": _walk(_order_bounds.walk_reach),
    "kuiper": _walk(_order_bounds.walk_range),
    "miscalibration": _part_of_score("miscalibration"),
    "discrimination": _part_of_score("discrimination"),
}
