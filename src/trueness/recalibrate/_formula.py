"""Fitted maps as formulas, from which SQL and ONNX are written.

A formula holds numbers, not code: steps, lines, or log-odds that are quadratic between breaks. Outside the scores that
`predict` accepts, a formula has no value.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from trueness._tally.rules import midpoints
from trueness.errors import InputError
from trueness.recalibrate._logit_shapes import Bend, Spline
from trueness.typing import Floats

# A candidate of a smaller weight changes no prediction by 1e-13: log-odds of scores are within 745 of 0.
_NEGLIGIBLE = 1e-16
# Logits that `predict` takes.
_LARGEST = 1e300
_LARGEST_MULTINOMIAL = 1e6
# Weights of odds beyond this are not divided by, but subtracted on the log scale.
_LARGEST_LOG = 300.0


class Steps(NamedTuple):
    """values[0] below edges[0], values[j] from edges[j − 1] on."""

    edges: Floats
    values: Floats


class Lines(NamedTuple):
    """Points joined by straight lines, constant outside; x ascends strictly."""

    x: Floats
    y: Floats


class Odds(NamedTuple):
    """The odds of the score divided by a weight."""

    weight: float


class Pieces(NamedTuple):
    """A function of log-odds z: value + (z − at) · (slope + bend · (z − at)) between breaks.

    Piece i reaches from breaks[i − 1] to breaks[i].
    """

    breaks: Floats
    at: Floats
    value: Floats
    slope: Floats
    bend: Floats


class LogOdds(NamedTuple):
    """Log-odds of the prediction: pieces + a log p − b log(1 − p)."""

    pieces: Pieces
    edges: Floats
    """The breaks on the scale of the scores: the first scores whose log-odds reach them."""
    a: float
    b: float


class VectorFormula(NamedTuple):
    """A map of one score."""

    inside: Steps | Lines | Odds | LogOdds
    from_logits: bool = False
    ends: tuple[float, float, float] | None = None
    """How near to 0 and 1 the formula holds, and the predictions at and beyond both ends."""


class Softmax(NamedTuple):
    """The softmax of matrix @ z + shift, with z the logits or the logarithms of scores moved up to `least`."""

    matrix: Floats
    shift: Floats
    from_logits: bool = False
    least: float = 0.0
    """0 keeps scores of 0: their class gets 0. Only for a diagonal matrix."""
    largest: float = _LARGEST
    """Logits must not be further from 0."""
    beta: Floats | None = None
    """Of each class against all others, with P its share of the row: c, a and b of c + a log P − b log(1 − P). The
    logarithm of the probability of these log-odds, times `beta_weight`, is added to the logit of the class."""
    beta_weight: float = 0.0


class Blend(NamedTuple):
    """A weighted mean of softmaxes, plus a constant."""

    weights: tuple[float, ...]
    parts: tuple[Softmax, ...]
    constant: float


class PerClass(NamedTuple):
    """A map for each column; rows are divided by their sum if `normalize` is set."""

    columns: tuple[VectorFormula, ...]
    normalize: bool


Formula: TypeAlias = VectorFormula | Softmax | Blend | PerClass


def formula_of(calibrator: Any) -> Formula:
    """The formula of a fitted calibrator; an error if it has none."""
    for cls in type(calibrator).__mro__:
        if cls.__name__ in _FORMULAS:
            return _FORMULAS[cls.__name__](calibrator)
    return _refuse(calibrator, "it is a class of your own")


def _refuse(calibrator: Any, reason: str) -> NoReturn:
    demand = f"{type(calibrator).__name__} cannot be written as one formula: {reason}"
    raise InputError("", demand, remedy="`save` and `load_calibrator` carry every map to another Python.")


def _histogram(calibrator: Any) -> VectorFormula:
    if calibrator.ties_ is not None:
        _refuse(calibrator, "with scheme='randomized', scores equal to an edge are placed by random numbers")
    return VectorFormula(_distinct_steps(calibrator.edges_[1:-1], calibrator.values_))


def _bayesian(calibrator: Any) -> VectorFormula:
    return VectorFormula(_distinct_steps(calibrator.edges_, calibrator.values_))


def _distinct_steps(edges: Floats, values: Floats) -> Steps:
    """Steps without those that no score reaches: of equal edges the last one counts."""
    last = np.append(edges[1:] > edges[:-1], True) if edges.size else np.zeros(0, np.bool_)
    return Steps(edges[last], np.concatenate([values[:1], values[1:][last]]))


def _isotonic(calibrator: Any) -> VectorFormula:
    low, high, values = calibrator.low_, calibrator.high_, calibrator.values_
    if calibrator.interpolation == "centred":
        return VectorFormula(Lines(calibrator.centre_, values))
    if calibrator.interpolation == "step":
        return VectorFormula(_distinct_steps(midpoints(high[:-1], low[1:]), values))
    wide = low < high
    x = np.column_stack([low, high])[np.column_stack([np.ones_like(wide), wide])]
    return VectorFormula(Lines(x, np.repeat(values, 1 + wide)))


def _scaling_binning(calibrator: Any) -> VectorFormula:
    scaler = calibrator.scaler_
    if scaler is None:
        return VectorFormula(_distinct_steps(calibrator.edges_, calibrator.values_))
    if not getattr(scaler, "monotone", True) or type(scaler).__name__ == "BayesianBinning":
        _refuse(calibrator, f"its {type(scaler).__name__} is not monotone")
    if getattr(scaler, "ties_", None) is not None:
        _refuse(calibrator, "its HistogramBinning places scores by random numbers")
    return VectorFormula(_steps_of(calibrator, scaler._map, calibrator.edges_))


def _steps_of(calibrator: Any, curve: Callable[[Floats], Floats], edges: Floats) -> Steps:
    """Steps of a map that depends on which edges a monotone curve has reached."""
    start, stop = curve(np.array([0.0, 1.0]))
    if stop < start:
        first = first_scores(lambda p: -curve(p), np.nextafter(-edges[::-1], np.inf))
    else:
        first = first_scores(curve, edges)
    first = np.unique(first[(first > 0) & (first <= 1)])
    return Steps(first, calibrator._map(np.concatenate([[0.0], first])))


def first_scores(curve: Callable[[Floats], Floats], levels: Floats) -> Floats:
    """The first float in [0, 1] at which a function that does not fall is at least each level; 2 if there is none.

    >>> first_scores(np.square, np.array([0.25, 9.0])).tolist()
    [0.5, 2.0]
    """
    # Floats above 0 are ordered as the integers that their bits denote.
    low, high = np.zeros(levels.shape, np.int64), np.full(levels.shape, np.float64(1).view(np.int64) + 1)
    while (low < high).any():
        middle = (low + high) // 2
        reached = curve(np.minimum(middle.view(np.float64), 1.0)) >= levels
        reached |= middle > np.float64(1).view(np.int64)
        low, high = np.where(reached, low, np.minimum(middle + 1, high)), np.where(reached, middle, high)
    found = low.view(np.float64)
    return np.where(found > 1, 2.0, found)


def _line(intercept: float, slope: float) -> Pieces:
    return Pieces(np.zeros(0), *(np.array([float(v)]) for v in (0, intercept, slope, 0)))


def _bend(shape: Bend, theta: Floats) -> Pieces:
    a, b, c = shape.natural @ theta
    t = shape.reach
    low, high = (-c, c) if shape.signed else (c, c)
    breaks = np.array([-t, 0.0, t])
    at = np.array([-t, 0.0, 0.0, t])
    value = np.array([a - b * t + low * t * t, a, a, a + b * t + high * t * t])
    slope = np.array([b - 2 * low * t, b, b, b + 2 * high * t])
    return Pieces(breaks, at, value, slope, np.array([0.0, low, high, 0.0]))


def _spline(shape: Spline, theta: Floats) -> Pieces:
    knots, slopes = shape.knots, theta[1:]
    value = shape.basis(knots) @ theta
    bend = np.diff(slopes) / (2 * np.diff(knots))
    first = [column[:1] for column in (knots, value, slopes)]
    at, height, slope = (
        np.concatenate([one, column]) for one, column in zip(first, (knots, value, slopes), strict=True)
    )
    return Pieces(knots, at, height, slope, np.concatenate([[0.0], bend, [0.0]]))


def _points(x: Floats, y: Floats) -> Pieces:
    apart = np.append(np.diff(x) > 0, True)  # means of blocks are rounded
    x, y = x[apart], y[apart]
    slope = np.concatenate([[1.0], np.diff(y) / np.diff(x), [1.0]])
    return Pieces(x, np.concatenate([x[:1], x]), np.concatenate([y[:1], y]), slope, np.zeros(slope.size))


def _total(weighted: list[tuple[float, Pieces]]) -> Pieces:
    """The weighted sum, on all breaks."""
    breaks = np.unique(np.concatenate([one.breaks for _, one in weighted]))
    at = np.concatenate([breaks[:1], breaks]) if breaks.size else np.zeros(1)
    sums = np.zeros((3, at.size))
    for weight, one in weighted:
        i = np.concatenate([[0], np.searchsorted(one.breaks, breaks, "right")])
        away = at - one.at[i]
        value = one.value[i] + away * (one.slope[i] + one.bend[i] * away)
        sums += weight * np.array([value, one.slope[i] + 2 * one.bend[i] * away, one.bend[i]])
    return Pieces(breaks, at, *sums)


def _logit(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))


def _log_odds(calibrator: Any, pieces: Pieces, a: float = 0.0, b: float = 0.0) -> VectorFormula:
    from_logits = bool(getattr(calibrator, "from_logits", False))
    edges = pieces.breaks if from_logits else first_scores(_logit, pieces.breaks)
    ends = None
    if not from_logits:
        cut = 0.0 if getattr(calibrator, "limits", True) else calibrator.eps_
        low, high = calibrator._map(np.array([0.0, 1.0]))
        ends = (cut, float(low), float(high))
    return VectorFormula(LogOdds(pieces, edges, a, b), from_logits, ends)


def _platt(calibrator: Any) -> VectorFormula:
    return _log_odds(calibrator, _line(calibrator.intercept_, calibrator.slope_))


def _beta(calibrator: Any) -> VectorFormula:
    return _log_odds(calibrator, _line(calibrator.c_, 0), calibrator.a_, calibrator.b_)


def _quadratic(calibrator: Any) -> VectorFormula:
    return _log_odds(calibrator, _bend(calibrator._curve, calibrator.coefficients_))


def _spline_map(calibrator: Any) -> VectorFormula:
    return _log_odds(calibrator, _spline(calibrator._curve, calibrator.coefficients_))


def _auto(calibrator: Any) -> Formula:
    if calibrator.n_classes_ is not None:
        return _auto_matrix(calibrator)
    theta = iter(calibrator.curves_)
    a = b = 0.0
    parts: list[tuple[float, Pieces]] = [(1.0, _line(0, 0))]
    for name, weight in zip(calibrator.candidates_, map(float, calibrator.weights_), strict=True):
        if name == "identity":
            one = _line(0, 1)
        elif name == "isotonic regression":
            one = _points(*calibrator.points_)
        else:
            own = next(theta)
            one = _CURVES[name](calibrator, own)
            if name == "beta calibration":
                a, b = a + weight * float(own[1]), b + weight * float(own[2])
        if weight > _NEGLIGIBLE:
            parts.append((weight, one))
    return _log_odds(calibrator, _total(parts), a, b)


def _auto_matrix(calibrator: Any) -> Formula:
    """The mean of logarithms: normalisations of single candidates cancel."""
    if calibrator.limits and not calibrator.from_logits:
        _refuse(calibrator, "with limits=True, which class wins depends on which others are 0")
    n = calibrator.n_classes_
    matrix, shift = float(calibrator.weights_[0]) * np.eye(n), np.zeros(n)
    beta, beta_weight = None, 0.0
    for name, weight, theta in zip(
        calibrator.candidates_[1:], map(float, calibrator.weights_[1:]), calibrator.curves_, strict=True
    ):
        if weight <= _NEGLIGIBLE:
            continue
        if name == "temperature scaling":
            matrix = matrix + weight * float(theta[0]) * np.eye(n)
        elif name == "beta calibration of each class":
            beta, beta_weight = theta, weight
        else:
            matrix, shift = matrix + weight * _centring(theta[:, :-1]), shift + weight * theta[:, -1]
    return _softmax(calibrator, matrix, shift, _LARGEST)._replace(beta=beta, beta_weight=beta_weight)


def _centring(matrix: Floats) -> Floats:
    """The matrix, applied to what rows differ from their means by."""
    return np.asarray(matrix - matrix.mean(axis=1, keepdims=True))


def _structured(calibrator: Any) -> Formula:
    return _softmax(calibrator, _centring(calibrator.matrix_), calibrator.intercept_, _LARGEST)


def _ensemble(calibrator: Any) -> Formula:
    n = calibrator.n_classes_
    scales = (1 / calibrator.temperature_, 1.0)
    parts = tuple(_softmax(calibrator, scale * np.eye(n), np.zeros(n), _LARGEST) for scale in scales)
    tempered, plain, uniform = map(float, calibrator.weights_)
    return Blend((tempered, plain), parts, uniform / n)


_CURVES: dict[str, Callable[[Any, Floats], Pieces]] = {
    "Platt scaling": lambda _, theta: _line(*theta),
    "beta calibration": lambda _, theta: _line(theta[0], 0),
    "quadratic scaling": lambda c, theta: _bend(Bend(c.reach_, signed=False), theta),
    "signed quadratic scaling": lambda c, theta: _bend(Bend(c.reach_, signed=True), theta),
    "spline": lambda c, theta: _spline(Spline(c.knots_), theta),
}


def _temperature(calibrator: Any) -> Formula:
    if calibrator.n_classes_ is None:
        return _log_odds(calibrator, _line(0, 1 / calibrator.temperature_))
    n = calibrator.n_classes_
    return _softmax(calibrator, np.eye(n) / calibrator.temperature_, np.zeros(n), _LARGEST)


def _vector_scaling(calibrator: Any) -> Formula:
    if calibrator.limits and not calibrator.from_logits:
        _refuse(calibrator, "with limits=True, which class wins depends on which others are 0")
    return _softmax(calibrator, np.diag(calibrator.scale_), calibrator.intercept_, _LARGEST_MULTINOMIAL)


def _matrix_scaling(calibrator: Any) -> Formula:
    return _softmax(calibrator, calibrator.matrix_, calibrator.intercept_, _LARGEST_MULTINOMIAL)


def _dirichlet(calibrator: Any) -> Formula:
    if calibrator.from_logits:
        _refuse(calibrator, "it normalizes logits first; fit it on probabilities instead")
    return _matrix_scaling(calibrator)


def _softmax(calibrator: Any, matrix: Floats, shift: Floats, largest: float) -> Softmax:
    least = 0.0 if getattr(calibrator, "limits", False) else calibrator.eps_
    return Softmax(matrix, shift, bool(calibrator.from_logits), float(least), largest)


def _prior(calibrator: Any) -> Formula:
    if calibrator.n_classes_ is not None:
        return Softmax(np.eye(calibrator.n_classes_), -np.asarray(calibrator.log_weight_))
    if abs(calibrator.log_weight_) > _LARGEST_LOG:
        return _log_odds(calibrator, _line(-calibrator.log_weight_, 1))
    return VectorFormula(Odds(float(np.exp(calibrator.log_weight_))))


def _one_vs_rest(calibrator: Any) -> Formula:
    columns = tuple(formula_of(one) for one in calibrator.calibrators_)
    assert all(isinstance(one, VectorFormula) for one in columns)
    return PerClass(columns, bool(calibrator.normalize))  # type: ignore[arg-type]


def _venn_abers(calibrator: Any) -> Formula:
    return _refuse(calibrator, "it has two probabilities for each score, and as many steps as there were scores")


def _top_label(calibrator: Any) -> Formula:
    return _refuse(calibrator, "the map of a row depends on which of its scores is the largest")


# By name, since the classes import this module through their base class.
_FORMULAS: dict[str, Callable[[Any], Formula]] = {
    "AutoCalibration": _auto,
    "BayesianBinning": _bayesian,
    "BetaCalibration": _beta,
    "DirichletCalibration": _dirichlet,
    "EnsembleTemperatureScaling": _ensemble,
    "HistogramBinning": _histogram,
    "IsotonicCalibration": _isotonic,
    "MatrixScaling": _matrix_scaling,
    "OneVsRest": _one_vs_rest,
    "PlattScaling": _platt,
    "PriorCorrection": _prior,
    "QuadraticScaling": _quadratic,
    "ScalingBinning": _scaling_binning,
    "SplineCalibration": _spline_map,
    "StructuredScaling": _structured,
    "TemperatureScaling": _temperature,
    "TopLabel": _top_label,
    "VectorScaling": _vector_scaling,
    "VennAbers": _venn_abers,
}
