"""Expectations under known distributions: integrals on a line, simplex averages, and suprema."""

from collections.abc import Callable
from functools import lru_cache
from math import log
from typing import Any

import numpy as np
from scipy import special
from scipy.special import betaln, gammaincinv, gammaln, log_expit

from trueness.typing import Floats

Function = Callable[[Floats], Floats]

expit: Callable[[Any], Floats] = special.expit
logit: Callable[[Any], Floats] = special.logit

_NODES = 9
_HALVINGS = 64
_OPEN = 1024
_TAIL = 46.0  # -log(1e-20), the mass beyond the ends of a line
_WIDTHS = 2.0 ** np.arange(-2, 40)


def integral(f: Function, breaks: Floats, *, tolerance: float = 1e-13) -> tuple[float, float]:
    """Adaptive Gauss-Lobatto quadrature from the first to the last break: integral and error.

    A panel is halved until its rule of nine nodes agrees with the sum of the same rule on its
    halves, within `tolerance` of the integral of the absolute panels. So a kink or a jump costs
    some 40 halvings of one panel, wherever it lies. `f` takes a whole array and must be finite at
    the breaks, which must be fine enough that no feature of `f` hides between two nodes.

    Ends and middle of a panel are nodes. With them, a jump in one panel makes the two sums differ
    by at least 0.38 of the error it causes, wherever it lies; with Gauss-Legendre nodes they agree
    by chance at some places, and the refinement stops too early.

    ``scipy.integrate.quad`` calls `f` once per point; for the kinked array functions of
    :mod:`trueness.simulate` that took more than ten times as long.
    """
    low = breaks[:-1]
    high = breaks[1:]
    whole = _panel_sums(f, low, high)
    value = error = size = 0.0
    for halving in range(_HALVINGS):
        middle = (low + high) / 2
        left = _panel_sums(f, low, middle)
        right = _panel_sums(f, middle, high)
        halves = left + right
        gap = np.abs(left + right - whole)
        done = (
            (gap <= tolerance * (size + np.abs(halves).sum())) | (middle <= low) | (middle >= high)
        )
        done |= halving == _HALVINGS - 1
        if np.count_nonzero(~done) > _OPEN:
            # Rounding, magnified by `f`, would be refined for ever: only the worst panels are
            # halved.
            done |= gap < np.partition(gap, -_OPEN)[-_OPEN]
        value += float(halves[done].sum())
        error += float(gap[done].sum())
        size += float(np.abs(halves[done]).sum())
        if done.all():
            break
        open_ = ~done
        low = np.concatenate([low[open_], middle[open_]])
        high = np.concatenate([middle[open_], high[open_]])
        whole = np.concatenate([left[open_], right[open_]])
    return value, error


def _panel_sums(f: Function, low: Floats, high: Floats) -> Floats:
    x, w = _rule()
    half = (high - low)[:, None] / 2
    nodes = low[:, None] + half * (1 + x)
    return np.asarray((f(nodes.ravel()).reshape(nodes.shape) * w * half).sum(axis=1))


@lru_cache(maxsize=1)
def _rule() -> tuple[Floats, Floats]:
    """Gauss-Lobatto nodes and weights on [-1, 1]."""
    last = np.polynomial.legendre.Legendre.basis(_NODES - 1)
    x = np.concatenate([[-1.0], np.sort(np.real(last.deriv().roots())), [1.0]])
    return x, 2 / (_NODES * (_NODES - 1) * last(x) ** 2)


def beta_density(s: Floats, a: float, b: float) -> Floats:
    """Density of logit Z at `s`, for Z with a Beta(a, b) distribution.

    On this line the ends of [0, 1] are at infinity: a density with a pole there becomes one that
    decays exponentially.
    """
    return np.asarray(np.exp(beta_log_density(s, a, b)))


def beta_log_density(s: Floats, a: float, b: float) -> Floats:
    """Logarithm of :func:`beta_density`, finite where that underflows."""
    return np.asarray(a * log_expit(s) + b * log_expit(-s) - betaln(a, b))


def beta_breaks(a: float, b: float, extra: Floats | None = None) -> Floats:
    """Panels for :func:`integral` that suit :func:`beta_density`.

    They are cut where the rest has mass below 1e-20.

    They widen geometrically from the top of the density and from 0, where functions of the score
    vary; `extra` breaks are added where they fall between the ends.
    """
    # The density is at most exp(a s) / B(a, b), and at most exp(-b s) / B(a, b): each tail has a
    # bound.
    log_beta = float(betaln(a, b))
    low = (log(a) + log_beta - _TAIL) / a
    high = -(log(b) + log_beta - _TAIL) / b
    centre = log(a / b)
    width = np.sqrt(1 / a + 1 / b)
    steps = np.concatenate([_WIDTHS * width + centre, -_WIDTHS * width + centre, _WIDTHS, -_WIDTHS])
    inner = np.concatenate([steps, [0.0, centre], np.array([]) if extra is None else extra])
    return np.unique(np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]]))


def supremum(f: Function, points: Floats, *, hills: int = 16, rounds: int = 14) -> float:
    """Largest value of `f` between the first and the last point.

    The `hills` highest local maxima among the points are each refined between their neighbours,
    eightfold in each round; `points` must be fine enough to separate the hills of `f`.
    """
    values = f(points)
    around = np.concatenate([[-np.inf], values, [-np.inf]])
    summits = np.flatnonzero((values >= around[:-2]) & (values >= around[2:]))
    best = summits[np.argsort(values[summits])[-hills:]]
    low = points[np.maximum(best - 1, 0)]
    high = points[np.minimum(best + 1, points.size - 1)]
    largest = float(values.max())
    rows = np.arange(best.size)
    for _ in range(rounds):
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 17)
        values = f(grid.ravel()).reshape(grid.shape)
        largest = max(largest, float(values.max()))
        top = values.argmax(axis=1)
        low = grid[rows, np.maximum(top - 1, 0)]
        high = grid[rows, np.minimum(top + 1, 16)]
    return largest


def log_gammas(alpha: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Logarithms of `n` rows of independent Gamma(alpha) variables (quasi-Monte Carlo).

    Divided by their sum, the variables of a row are Dirichlet; logarithms, since a small `alpha`
    gives variables far below the smallest float. The points are Sobol's, shifted digit by digit
    with `rng`, so that averages over different shifts are independent and unbiased. `n` must be a
    power of two.
    """
    from scipy.stats.qmc import Sobol

    bits = 30
    digits = (Sobol(alpha.size, scramble=False, bits=bits).random(n) * 2**bits).astype(np.int64)
    u = ((digits ^ rng.integers(2**bits, size=alpha.size)) + 0.5) / 2**bits
    # Near zero the distribution function is x^alpha / Gamma(alpha + 1).
    small = (np.log(u) + gammaln(alpha + 1)) / alpha
    g = gammaincinv(alpha, u)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(g > 1e-290, np.log(g), small))
