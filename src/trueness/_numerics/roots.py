"""Where a function of one number is zero, without SciPy's optimisers.

Loading them takes longer than most searches.
"""

import math
from collections.abc import Callable


def bracketed_root(
    f: Callable[[float], float],
    low: float,
    high: float,
    *,
    xtol: float = 2e-12,
    rtol: float = 1e-14,
) -> float:
    """A zero of a continuous function with different signs at `low` and `high`.

    It is found to within xtol + rtol |zero|.

    Inverse quadratic interpolation where the last three points lie on a curve that it can follow,
    else bisection.

    T. R. Chandrupatla, A new hybrid quadratic/bisection algorithm for finding the zero of a
    nonlinear function without using derivatives, Advances in Engineering Software, 1997.
    :doi:`10.1016/S0965-9978(96)00051-8`
    """
    x, end = float(low), float(high)  # the zero lies between them; x is the newer point
    y = f(x)
    end_y = f(end)
    if math.isnan(y) or math.isnan(end_y) or ((y > 0) == (end_y > 0) and y != 0 != end_y):
        raise ValueError(
            f"f({low:g}) = {y:g} and f({high:g}) = {end_y:g} must have different signs"
        )
    share = 0.5
    while True:
        best = x if abs(y) < abs(end_y) else end
        tolerance = xtol + rtol * abs(best)
        if y == 0 or end_y == 0 or abs(end - x) <= tolerance:
            return best
        shortest = 0.5 * tolerance / abs(end - x)
        # f may return NumPy numbers.
        new = float(x + min(max(share, shortest), 1 - shortest) * (end - x))
        new_y = f(new)
        if (new_y > 0) == (y > 0):
            third = x
            third_y = y
        else:
            third = end
            third_y = end_y
            end = x
            end_y = y
        x = new
        y = new_y
        share = _interpolated_share((x, y), (end, end_y), (third, third_y))


def _interpolated_share(
    new: tuple[float, float], end: tuple[float, float], third: tuple[float, float]
) -> float:
    """Where between two points the zero of a function is expected, as a share of the way.

    The points are pairs of place and value: `new` the last one tried, `end` the other end of the
    interval around the zero, `third` an earlier one. It is inverse quadratic interpolation through
    all three, if these lie so that it can be trusted (Chandrupatla's criterion); otherwise one
    half.
    """
    (a, fa), (b, fb), (c, fc) = new, end, third
    if fc in (fa, fb):
        return 0.5
    xi = (a - b) / (c - b)
    phi = (fa - fb) / (fc - fb)
    if not (phi * phi < xi and (1 - phi) ** 2 < 1 - xi):
        return 0.5
    return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
