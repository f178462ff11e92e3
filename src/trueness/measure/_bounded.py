"""How far a measure of a sketch can be from the measure of the rows."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from trueness._tally.grid_cells import GridCells
from trueness._tally.rules import BinRule, BlockIsotonic, BySize, EqualMass, as_rule
from trueness._tally.sketch import Sketch
from trueness.errors import InputError
from trueness.measure import _bin_bounds, _order_bounds, _score_bounds
from trueness.measure._bin_bounds import Ends
from trueness.measure._binned import ace, ece, mce
from trueness.measure._corp import corp
from trueness.measure._cuts import Cuts, at_edges, at_masses, spread_of
from trueness.measure._gce import gce
from trueness.measure._line import calibration_intercept, logits, observed_expected
from trueness.measure._norm import checked_norm
from trueness.measure._scores import brier, log_loss
from trueness.measure._smooth import smooth_ece
from trueness.measure._squared import default_width, squared_ece
from trueness.measure._tce import tce
from trueness.measure._tested_bounds import refuted
from trueness.results import Bounded

__all__ = ["bounded"]

Options: TypeAlias = Mapping[str, Any]
_UNLESS_WHOLE = "No limits are known for {} unless weights are whole numbers that sum to less than 2³⁵."
# What rounding may do to sums of whole numbers, and to sums of others: relative to the measure, or to 1.
_ROUNDING, _ROUNDING_OF_FLOATS = 1e-12, 1e-10
# What a search for a root leaves open, with room to spare.
_CONVERGED = 1e-8


def bounded(measure: Callable[..., float] | str, sketch: Sketch, **options: Any) -> Bounded:
    r"""A measure of a sketch, with limits between which the measure of the rows surely lies.

    Parameters
    ----------
    measure : function or str
        :func:`ece`, :func:`ace`, :func:`mce`, :func:`tce`, :func:`gce` with a loss that has a name,
        :func:`squared_ece`, :func:`smooth_ece`, :func:`brier`, :func:`log_loss`, :func:`observed_expected` or
        :func:`calibration_intercept`. Or a name: 'ks' and 'kuiper', the statistics of :func:`calibration_test`;
        'miscalibration' and 'discrimination', the parts of :func:`corp`. Where no cell holds two different scores, any
        measure at all.
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
    For some measures no limits are known, and this says so: bins that look at the labels
    (:class:`Isotonic`, :class:`BlockIsotonic`, which :func:`tce` uses unless told otherwise), t tests, importance
    weights, a loss or a measure of your own, and the calibration slope. Unless weights are whole numbers that sum
    to less than 2³⁵, bins need fixed edges.

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
        raise InputError(f"`sketch` must be a Sketch; got {type(sketch).__name__}.")
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
    room = (_ROUNDING if exact else _ROUNDING_OF_FLOATS) * max(1.0, abs(value) if math.isfinite(value) else 1.0)
    low, high = low - room, high + room
    if not math.isnan(value):
        value = min(max(value, low), high)
    error = 0.0 if value == low == high else max(high - value, value - low)
    return Bounded(value, low, high, error, name, sketch.n)


def _over_parts(sketch: Sketch, of: Callable[[GridCells], Ends]) -> Ends:
    found = {id(part): of(part) for part in sketch.parts if part.size}
    return Ends(*(sketch.average(lambda part, i=i: found[id(part)][i]) for i in (0, 1)))  # type: ignore[misc]


def _cuts(part: GridCells, rule: BinRule) -> Cuts:
    if isinstance(rule, EqualMass):
        if not part.exact:
            raise InputError(_UNLESS_WHOLE.format("bins of equal mass"))
        return at_masses(part, rule)
    edges = rule.fixed_edges
    if edges is None:
        raise InputError(
            f"No limits are known for {type(rule).__name__} bins of a sketch: they follow the order of the rows inside "
            "cells. `EqualMass` and fixed edges have limits."
        )
    if float(part.low[0]) < edges[0] or float(part.high[-1]) > edges[-1]:
        raise InputError(
            f"`bins` must cover every cell of the sketch; its edges run from {edges[0]:g} to {edges[-1]:g} and a cell "
            f"reaches from {part.low[0]:g}, or to {part.high[-1]:g}."
        )
    return at_edges(part, edges)


def _errors(sketch: Sketch, rule: BinRule, loss: int, norm: float) -> Ends:
    def of(part: GridCells) -> Ends:
        cuts = _cuts(part, rule)
        return _bin_bounds.l1(cuts) if loss * norm == 1 else _bin_bounds.power(cuts, loss, norm)

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
    if loss == "rejection" and norm == 1:
        return _tce(sketch, {"bins": 10, **options})
    if not isinstance(loss, str) or loss == "rejection":
        raise InputError("`loss` must be 'absolute' or 'squared', or 'rejection' with norm='l1', to have limits.")
    return _errors(sketch, as_rule(options.get("bins", 10)), 1 if loss == "absolute" else 2, norm)


def _squared_ece(sketch: Sketch, options: Options) -> Ends:
    if options.get("weight_type", "frequency") != "frequency":
        raise InputError("No limits are known for `weight_type='importance'` of a sketch.")
    bins = options.get("bins")
    rule = BySize(default_width).rule(sketch.weight) if bins is None else as_rule(bins)
    return _over_parts(sketch, lambda part: _bin_bounds.debiased(_cuts(part, rule)))


def _tce(sketch: Sketch, options: Options) -> Ends:
    bins = options.get("bins")
    rule = BlockIsotonic() if bins is None else as_rule(bins)
    if options.get("test", "binomial") != "binomial":
        raise InputError("No limits are known for t tests of a sketch; `test='binomial'` has them.")
    alpha = float(options.get("alpha", 0.05))
    return _over_parts(sketch, lambda part: refuted(part, _cuts(part, rule), rule, alpha))


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
        expected = float(part.sum_score.sum())
        if expected == 0:  # every score is cut to 0, which a ratio shows
            known = math.nan if observed == 0 else math.inf
            return Ends(observed / (n * 2.0**-53) if observed and part.high[-1] > 0 else known, known)
        return Ends(observed / (expected + n * 2.0**-52), observed / (expected - n * 2.0**-53 * (not part.exact)))

    return _over_parts(sketch, of)


def _intercept(sketch: Sketch, options: Options) -> Ends:
    """The shift falls if a score rises: its limits are those of rows at either end of their cells."""
    from trueness._numerics.logistic import recalibration_shift

    eps = float(options.get("eps", 1e-12))

    def of(part: GridCells) -> Ends:
        at = (recalibration_shift(logits(end, eps), part.weight, part.events) for end in (part.high, part.low))
        low, high = at
        return Ends(low - _CONVERGED, high + _CONVERGED)

    return _over_parts(sketch, of)


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
            if not part.exact:
                raise InputError(_UNLESS_WHOLE.format("isotonic fits"))
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
    "ks": _walk(_order_bounds.walk_reach),
    "kuiper": _walk(_order_bounds.walk_range),
    "miscalibration": _part_of_score("miscalibration"),
    "discrimination": _part_of_score("discrimination"),
}
