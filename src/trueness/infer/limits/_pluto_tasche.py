"""Default probabilities of grades with no defaults or hardly any: the most prudent estimate."""

from collections.abc import Mapping
from itertools import accumulate

import numpy as np
from scipy.special import betaincinv, ndtr

from trueness._input.arguments import checked_fraction, is_real
from trueness._input.columns import column
from trueness._input.scores import numeric
from trueness._input.segment_columns import MOST_GRADES
from trueness._keywords import suggests_keywords
from trueness._numerics.roots import bracketed_root
from trueness._numerics.vasicek import OneFactor
from trueness.errors import InputError, Place
from trueness.results import LowDefault
from trueness.typing import ArrayLike

# Normal quantiles between which every probability lies: Φ(−38) is the smallest normal float.
_FARTHEST = 38.0
# Larger whole numbers have no exact float.
_MOST_ROWS = 2**53


@suggests_keywords
def pluto_tasche(
    n: ArrayLike | Mapping[str, int],
    events: ArrayLike | Mapping[str, int],
    *,
    level: float,
    correlation: float = 0.0,
) -> LowDefault:
    r"""Upper limits of the default probabilities of a low-default portfolio.

    A grade without a default still has a default probability above zero. How high may it be? If
    worse grades are at least as risky, their rows say something about it, too.

    Parameters
    ----------
    n : sequence of int, or mapping of names to int
        Rows of each grade, best grade first.
    events : sequence of int, or mapping of names to int
        Defaults of each grade, in the same order or by the same names.
    level : float
        One-sided confidence level γ of each limit, between 0 and 1. There is no default: the level
        decides how prudent the estimate is.
    correlation : float, default 0
        Asset correlation ρ in [0, 1).

    Returns
    -------
    LowDefault
        `upper` for each grade, best first; the rows and defaults that were pooled for it; the
        assumptions.

    Notes
    -----
    With n rows and d defaults of a grade and all worse ones, its limit is the p at which d defaults
    or fewer have the probability 1 − γ: for independent defaults the γ-quantile of the distribution
    Beta(d + 1, n − d), else the solution of

    .. math:: \int P\left( \mathrm{Bin}\left( n, \Phi\left( \frac{\Phi^{-1}(p) - \sqrt{\rho}\, z}
              {\sqrt{1 - \rho}} \right) \right) \le d \right) \varphi(z)\, dz = 1 - \gamma .

    **Assumptions.** The order of the grades is right: no grade has a higher default probability
    than a worse one. Rows belong to one period with one common factor; several years of one
    portfolio are not independent repetitions. Each limit holds by itself. With 0 rows and with only
    defaults it is 1.

    A limit is no estimate: at γ = 0.95 it is nearly always above the true probability.
    :func:`trueness.grade_table` compares defaults with PDs where there are enough of them.

    References
    ----------
    K. Pluto, D. Tasche, Estimating probabilities of default for low default portfolios, 2005,
    arXiv:cond-mat/0411699.

    Examples
    --------
    Not a single default in three grades:

    >>> import trueness as tn
    >>> table = tn.pluto_tasche({"A": 100, "B": 400, "C": 300}, {"A": 0, "B": 0, "C": 0}, level=0.9)
    >>> print(table)
    Upper limits of default probabilities, 90 % confidence
    grade    n  events  pooled n  pooled events   upper
    A      100       0       800              0  0.29 %
    B      400       0       700              0  0.33 %
    C      300       0       300              0  0.76 %
    <BLANKLINE>
    No grade has a higher default probability than a worse one, so that each is pooled with all worse
    ones. Defaults are independent. Each limit holds by itself with 90 % confidence, one-sided.
    >>> round(tn.pluto_tasche([9810], [35], level=0.95, correlation=0.15).upper[0], 4)
    0.0334
    """
    level = checked_fraction(level, "level")
    if not is_real(correlation) or not 0 <= correlation < 1:
        raise InputError("correlation", "must lie in [0, 1)", f"got {correlation!r}")
    rho = float(correlation)
    names, rows, defaults = _read(n, events)
    pooled_rows = tuple(accumulate(reversed(rows)))[::-1]
    pooled_defaults = tuple(accumulate(reversed(defaults)))[::-1]
    upper = tuple(
        _upper_limit(d, size, level, rho)
        for d, size in zip(pooled_defaults, pooled_rows, strict=True)
    )
    return LowDefault(
        grade=names,
        n=rows,
        events=defaults,
        pooled_n=pooled_rows,
        pooled_events=pooled_defaults,
        upper=upper,
        level=level,
        correlation=rho,
    )


def _upper_limit(events: int, n: int, level: float, correlation: float) -> float:
    """The largest default probability that `events` defaults of `n` rows do not refute.

    With it, so few defaults have the probability 1 − level. It is 1 if all rows default, and a
    quantile of the beta distribution if rows are independent.
    """
    if events == n:
        return 1.0
    if correlation == 0:
        return float(betaincinv(events + 1, n - events, level))
    whole = np.ones(1)

    def beyond_tail(quantile: float) -> float:
        """P(at most `events` defaults) less 1 − level, for the probability Φ(quantile)."""
        law = OneFactor(np.array([ndtr(quantile)]), whole, correlation)
        return law.at_most(events, n) - (1 - level)

    return float(ndtr(bracketed_root(beyond_tail, -_FARTHEST, _FARTHEST)))


def _read(
    n: ArrayLike, events: ArrayLike
) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
    """The names of the grades, their rows and their defaults, checked.

    Both arguments are mappings with the same names, or sequences, whose grades are called 1, 2, …
    """
    if isinstance(n, Mapping) != isinstance(events, Mapping):
        raise InputError("events", "must be a mapping if `n` is one, and only then")
    if isinstance(n, Mapping):
        if set(n) != set(events):
            differing = min(map(repr, set(n) ^ set(events)))
            raise InputError("events", "must have the grades of `n`", f"{differing} is in one only")
        names = tuple(map(str, n))
        events = [events[name] for name in n]
        n = list(n.values())
    else:
        names = ()
    rows = _whole_numbers(n, "n")
    defaults = _whole_numbers(events, "events")
    if len(rows) != len(defaults):
        got = f"got {len(defaults)} for {len(rows)} grades"
        raise InputError("events", "must have one number per grade of `n`", got)
    for i, (size, count) in enumerate(zip(rows, defaults, strict=True)):
        if count > size:
            got = f"{count:,} of {size:,}"
            raise InputError("events", "must not exceed `n`", got, place=Place(i))
    return names or tuple(str(i + 1) for i in range(len(rows))), rows, defaults


def _whole_numbers(values: ArrayLike, name: str) -> tuple[int, ...]:
    """The numbers of an argument called `name`, one per grade: whole numbers of at least 0.

    Other numbers, no grade at all and too many grades are refused.
    """
    numbers = numeric(column(values, name), name).values
    if numbers.ndim != 1 or not 1 <= numbers.size <= MOST_GRADES:
        demand = f"must be one number per grade, for 1 to {MOST_GRADES:,} grades"
        raise InputError(name, demand, f"got shape {numbers.shape}")
    wide = numbers.astype(np.float64)
    right = np.isfinite(wide) & (wide >= 0) & (wide < _MOST_ROWS)
    right[right] = wide[right] == np.floor(wide[right])
    if not right.all():
        first = int(np.argmin(right))
        raise InputError(name, "must be whole numbers ≥ 0", f"got {numbers[first]!r}")
    return tuple(int(number) for number in numbers)
