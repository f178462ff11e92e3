"""Ends, ticks and tick labels of axes for probabilities."""

import math

# Below this length a window is not worth its digits; from this length on, all of [0, 1] is shown.
_SHORTEST, _LONGEST = 1e-9, 0.5
# Nearer to 0 or 1 labels have an exponent.
_TINY = 0.95e-7
# Steps between ticks, by the first digits of the length of the axis.
_STEPS = {1: 5, 1.5: 5, 2: 4, 3: 6, 4: 4, 5: 5, 6: 6, 8: 4}


def zoomed_ends(least: float, most: float) -> tuple[float, float]:
    """The ends of an axis from 0 or up to 1 that shows all from `least` to `most`; 0 and 1 if that is half or more.

    Examples
    --------
    >>> zoomed_ends(0.001, 0.017), zoomed_ends(0.93, 1.0), zoomed_ends(0.1, 0.9)
    ((0.0, 0.02), (0.92, 1.0), (0.0, 1.0))
    """
    if _SHORTEST < most < _LONGEST:
        return 0.0, round_up(most)
    if _SHORTEST < 1 - least < _LONGEST:
        return 1 - round_up(1 - least), 1.0
    return 0.0, 1.0


def round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-12)))
    return next(round(first * power, 14) for first in (*_STEPS, 10) if first * power >= 0.999999 * value)


def linear_ticks(low: float, high: float) -> list[float]:
    """Four to six equal steps between ends of :func:`zoomed_ends`.

    Examples
    --------
    >>> linear_ticks(0.0, 0.02)
    [0.0, 0.005, 0.01, 0.015, 0.02]
    """
    length = high - low
    n = _STEPS[float(f"{length:.2e}".partition("e")[0])]
    return [round(low + length * i / n, 14) for i in range(n + 1)]


def percent_tick(value: float) -> str:
    """A tick in percent, with all its digits unless these are very many.

    Examples
    --------
    >>> percent_tick(0.00001), percent_tick(0.999), percent_tick(1e-9), percent_tick(1 - 1e-9)
    ('0.001 %', '99.9 %', '1e-07 %', '100−1e-07 %')
    """
    if 0 < value < _TINY:
        return f"{100 * value:.0e} %"
    if 0 < 1 - value < _TINY:
        return f"100−{100 * (1 - value):.0e} %"
    hundred = f"{100 * value:.10f}"
    return f"{hundred.rstrip('0').rstrip('.')} %"
