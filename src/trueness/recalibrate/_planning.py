"""Rows, bins and errors of histogram binning: what can be promised before any data are seen."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from trueness._input.arguments import checked_fraction, checked_whole, checked_word
from trueness._numerics.concentration import binomial_epsilon, certainly_fails, hoeffding_failure, least_size
from trueness.errors import InputError

__all__ = [
    "DELTA",
    "SCHEMES",
    "Bound",
    "PromiseKind",
    "Scheme",
    "checked_alpha",
    "checked_epsilon",
    "checked_split",
    "cut_rows",
    "epsilon",
    "expected_ece",
    "max_bins",
    "per_bin",
    "sample_size",
    "size_epsilon",
    "usual_bins",
]

Scheme: TypeAlias = Literal["umd", "randomized", "original", "split", "fixed-width"]
Bound: TypeAlias = Literal["hoeffding", "exact", "clopper-pearson", "bernstein"]
PromiseKind: TypeAlias = Literal["conditional", "marginal", "expected-ece"]

SCHEMES = ("umd", "randomized", "original", "split", "fixed-width")
KINDS = ("conditional", "marginal", "expected-ece")

DELTA = 1e-9
"""By how much `scheme="randomized"` moves a value, so that no two bins share one; float64 can hold it."""

_MOST_ROWS = 1 << 53
# Beyond these a bound would take many seconds.
_MOST_EXACT = 10**6
_MOST_SEARCHED = 10**5


class _Plan(NamedTuple):
    """Everything but the numbers of rows and bins."""

    alpha: float
    kind: str
    scheme: str
    bound: str
    split: float


def epsilon(
    n: int,
    n_bins: int,
    *,
    alpha: float = 0.1,
    kind: PromiseKind = "conditional",
    scheme: Scheme = "umd",
    bound: Bound = "hoeffding",
    split: float = 0.5,
) -> float:
    r"""How far histogram binning can be off, whatever the distribution.

    Parameters
    ----------
    n : int
        Rows to fit on.
    n_bins : int
        Bins, at most n / 2.
    alpha : float, default 0.1
        How often the promise may fail; 'expected-ece' has no use for it.
    kind : {'conditional', 'marginal', 'expected-ece'}, default 'conditional'
        'conditional': with probability 1 − alpha every bin's value is within ε of the bin's event rate. 'marginal': for
        a new row, the value of its bin is within ε of that bin's rate with probability 1 − alpha. 'expected-ece': the
        expected l1 or l2 calibration error is at most ε.
    scheme : {'umd', 'randomized', 'original', 'split', 'fixed-width'}, default 'umd'
        As in :class:`HistogramBinning`. Bins of fixed width may be empty, so only their expected error has a bound.
    bound : {'hoeffding', 'exact'}, default 'hoeffding'
        'hoeffding' is as published. 'exact' replaces Hoeffding's inequality by the binomial distribution at its worst
        rate: smaller, and as safe. Not for 'expected-ece'. The bounds 'clopper-pearson' and 'bernstein' look
        at the labels; see :meth:`HistogramBinning.guarantee`.
    split : float, default 0.5
        Share of the rows that place the bins, for ``scheme="split"``.

    Returns
    -------
    float
        ε, not cut at 1; for 'split' it is 1 where a bin is too likely to have no labels.

    Notes
    -----
    With :math:`m = \lfloor n/B \rfloor - 1` and Hoeffding's inequality,

    .. math:: \varepsilon_{cond} = \sqrt{\log(2B/\alpha) / 2m}, \quad \varepsilon_{marg} = \sqrt{\log(2/\alpha) / 2m}

    (Theorem 3, and Theorem 4 with its δ). 'original' adds 1/(m + 1) (Corollary 1), 'randomized' adds δ = 1e-9. The
    expected error is at most :math:`\sqrt{\sum_b (N_b + 1) / 4 N_b (n + 1)} \le \sqrt{B / 2(n + 1)}`, N_b the labels
    that are averaged in bin b; the published :math:`\sqrt{B/2n}` is larger, but the last step of its proof fails where
    few labels are averaged.

    'exact' takes :math:`\varepsilon(N, d) = \min\{e : \sup_p P(|\mathrm{Bin}(N, p)/N - p| > e) \le d\}` with d = alpha,
    or :math:`1 - (1 - \alpha)^{1/B}` for all bins together (they are independent given their boundaries), and the
    larger of the two bin sizes that occur. It is not monotone in n.

    For 'split' the number of rows in a bin is beta-binomial whatever the distribution of untied scores, so the mean of
    Hoeffding's bound over that number is known; ε is where the sum over bins is alpha. The bound that is usually cited
    for this scheme rests on a constant that its source does not state.

    References
    ----------
    C. Gupta and A. Ramdas, Distribution-free calibration guarantees for histogram binning without sample splitting,
    ICML 2021.

    Examples
    --------
    >>> from trueness.recalibrate import epsilon
    >>> round(epsilon(2900, 10), 5), round(epsilon(2900, 10, scheme="original"), 5)
    (0.09574, 0.09919)
    >>> round(epsilon(2900, 10, bound="exact"), 5)
    0.07612
    """
    plan = _checked(alpha, kind, scheme, bound, split)
    n, n_bins = checked_whole(n, "n"), checked_whole(n_bins, "n_bins")
    if n < 2 * n_bins:
        raise InputError("n", f"must be at least 2·n_bins = {2 * n_bins:,}, two rows a bin", f"got {n:,}")
    return _epsilon(n, n_bins, plan)


def sample_size(
    n_bins: int,
    epsilon: float,
    *,
    alpha: float = 0.1,
    kind: PromiseKind = "conditional",
    scheme: Scheme = "umd",
    bound: Bound = "hoeffding",
    split: float = 0.5,
) -> int:
    """How many rows keep the error of histogram binning below ε.

    Parameters
    ----------
    n_bins : int
        Bins.
    epsilon : float
        The error allowed, between 0 and 1.
    alpha, kind, scheme, bound, split
        As for :func:`epsilon`.

    Returns
    -------
    int
        The smallest n whose :func:`epsilon` is at most ε, as is that of every larger n. A smaller n may do where the
        bound is not monotone (`bound="exact"`).

    Examples
    --------
    >>> from trueness.recalibrate import sample_size
    >>> [sample_size(b, 0.1) for b in (5, 10, 15, 20)]
    [1160, 2660, 4305, 6020]
    >>> sample_size(10, 0.1, bound="exact")
    1709
    """
    plan = _checked(alpha, kind, scheme, bound, split)
    B, e = checked_whole(n_bins, "n_bins"), checked_epsilon(epsilon)
    if e - _delta(plan) <= 0:
        raise InputError("epsilon", f"must exceed δ = {DELTA:g} for scheme='randomized'", f"got {e!r}")
    if plan.bound == "exact" and plan.kind != "expected-ece":
        _refuse_long_search(e, B, plan)
        size = least_size(lambda size: _deviation_allowed(size, B, e, plan), _level(B, plan))
        return max(2 * B, B * (size + 1) - 1)
    if plan.scheme == "split" and plan.kind != "expected-ece":
        return _split_size(B, e, plan)
    if plan.kind == "expected-ece":
        return _first(lambda n: _epsilon(n, B, plan) <= e, 2 * B)
    return B * _first(lambda rows: _epsilon(rows * B, B, plan) <= e, 2)  # these bounds depend on ⌊n/B⌋ alone


def max_bins(
    n: int,
    epsilon: float,
    *,
    alpha: float = 0.1,
    kind: PromiseKind = "conditional",
    scheme: Scheme = "umd",
    bound: Bound = "hoeffding",
    split: float = 0.5,
) -> int:
    """How many bins keep the error of histogram binning below ε.

    Parameters
    ----------
    n : int
        Rows to fit on.
    epsilon : float
        The error allowed, between 0 and 1.
    alpha, kind, scheme, bound, split
        As for :func:`epsilon`.

    Returns
    -------
    int
        The largest number of bins whose :func:`epsilon` is at most ε; 0 if one bin does not keep it.

    Examples
    --------
    >>> from trueness.recalibrate import max_bins
    >>> max_bins(1000, 0.12), max_bins(1000, 0.12, bound="exact")
    (5, 8)
    """
    plan = _checked(alpha, kind, scheme, bound, split)
    n, e = checked_whole(n, "n"), checked_epsilon(epsilon)
    if n < 2:
        return 0
    if plan.bound == "exact" and plan.kind != "expected-ece":
        return _last_exact(n, e, plan)
    found = _first(lambda B: n // 2 < B or _epsilon(n, B, plan) > e, 1) - 1
    # The bound of a split is monotone only up to rounding of the ranks.
    while plan.scheme == "split" and any(
        _epsilon(n, B, plan) <= e for B in range(found + 1, min(found + 4, n // 2 + 1))
    ):
        found += 1
    return found


def cut_rows(n: int, split: float) -> int:
    """Rows that place the bins when a share `split` of n is to: at least one row is left for the means."""
    return min(math.floor(n * split), n - 1)


# Figure 2 of Gupta and Ramdas (2021): rows, and the bins they advise (ε of Theorem 3 ≤ 0.12, 0.08 and 0.06).
_ADVICE = ((1_000, 5), (5_000, 10), (20_000, 22))


def usual_bins(n: int) -> int:
    """The paper's practical choice: through its three pairs on logarithmic axes, and like √n outside of them."""
    (first, fewest), *_, (last, most) = _ADVICE
    if n <= first:
        return max(1, round(fewest * math.sqrt(n / first)))
    if n >= last:
        return round(most * math.sqrt(n / last))
    rows, bins = np.log(np.array(_ADVICE, dtype=np.float64)).T
    return round(float(np.exp(np.interp(math.log(n), rows, bins))))


@lru_cache(maxsize=4096)
def _epsilon(n: int, B: int, plan: _Plan) -> float:
    if plan.kind == "expected-ece":
        return expected_ece(n, B, plan.scheme, plan.split)
    if plan.scheme == "split":
        return _split_epsilon(n, B, plan)
    if plan.bound == "exact":
        return _exact(n, B, plan)
    least = n // B - 1
    numbers = 2 * B if plan.kind == "conditional" else 2
    found = math.sqrt(math.log(numbers / plan.alpha) / (2 * least))
    return found + (1 / (n // B) if plan.scheme == "original" else 0.0) + _delta(plan)


def expected_ece(n: int, B: int, scheme: str, split: float = 0.5) -> float:
    """A bound on the expected l2 error, and so on that of every l_p, p ≤ 2."""
    if scheme in ("split", "fixed-width"):
        # Given the bins, E[1/N; N > 0] ≤ 2 / (rows + 1) / mass; a bin of that mass is empty with (1 − mass)^rows.
        rows = n - cut_rows(n, split) if scheme == "split" else n
        empty = (rows / (rows + 1)) ** rows / (rows + 1)
        return math.sqrt(B / (2 * (rows + 1)) + B * empty)
    gaps, longer = divmod(n + 1, B)
    total = (B - longer) * _square(gaps, scheme) + longer * _square(gaps + 1, scheme)
    if scheme == "original":
        last = n + 1 - -(-(B - 1) * (n + 1) // B)
        total += _square(last, "umd") - _square(last, scheme)
    return math.sqrt(total / (n + 1)) + (DELTA if scheme == "randomized" else 0.0)


def _square(gaps: int, scheme: str) -> float:
    """Gaps times the mean squared error of a bin that spans them, at most."""
    inside = gaps - 1
    return (inside / 4 + 1) / gaps if scheme == "original" else gaps / (4 * inside)


def _exact(n: int, B: int, plan: _Plan) -> float:
    least, most = (n + 1) // B - 1, -(-(n + 1) // B) - 1
    d = _level(B, plan)
    found = [size_epsilon(size, d) for size in {least, most}]
    if plan.scheme == "original" and B > 1:
        found += [(size * e + 1) / (size + 1) for size, e in zip({least, most}, found, strict=True)]
    return max(found) + _delta(plan)


@lru_cache(maxsize=4096)
def size_epsilon(size: int, d: float) -> float:
    """The exact deviation of a mean of so many labels, remembered."""
    if size > _MOST_EXACT:
        raise InputError(
            f"`bound='exact'` is computed for up to {_MOST_EXACT:,} rows a bin; got {size:,}. 'hoeffding' takes any "
            "number."
        )
    return binomial_epsilon(size, d)


def _refuse_long_search(e: float, B: int, plan: _Plan) -> None:
    """Sizes below what Hoeffding's inequality asks for are looked at one by one."""
    size = math.log(2 / _level(B, plan)) / (2 * e * e)
    if size > _MOST_SEARCHED:
        raise InputError(
            "epsilon",
            f"is too small for `bound='exact'`, which is searched for up to {_MOST_SEARCHED:,} rows a bin",
            f"{e:g} takes about {size:,.0f}. 'hoeffding' takes any epsilon",
        )


def _deviation_allowed(size: int, B: int, e: float, plan: _Plan) -> float:
    """What the mean of `size` labels may be off so that the bin's value is off by e at most."""
    e -= _delta(plan)
    return (e * (size + 1) - 1) / size if plan.scheme == "original" and B > 1 else e


def _level(B: int, plan: _Plan) -> float:
    """How often a single bin may fail."""
    return per_bin(plan.alpha, B) if plan.kind == "conditional" else plan.alpha


def per_bin(alpha: float, B: int) -> float:
    """How often each of B independent bins may fail so that some bin fails with probability alpha."""
    return -math.expm1(math.log1p(-alpha) / B)


def _delta(plan: _Plan) -> float:
    return DELTA if plan.scheme == "randomized" else 0.0


def _last_exact(n: int, e: float, plan: _Plan) -> int:
    """The largest B that keeps ε; the exact bound is not monotone in B, so all are considered."""
    # The m ≤ 2Ne counts next to a rate near one half have probability 0.43 / √(Npq) each at most (Herzog 1947), and
    # together must have 1 − alpha; this leaves out bins of fewer than so many rows.
    fewest = max(0.0, (1 - plan.alpha) ** 2 / (3.2 * e * e) - 1)
    B = np.arange(1, (n // 2 if fewest < 10 else min(n // 2, int((n + 1) / fewest))) + 1)
    size = (n + 1) // B - 1
    allowed = np.full(size.shape, e - _delta(plan))
    d = -np.expm1(math.log1p(-plan.alpha) / B) if plan.kind == "conditional" else np.full(size.shape, plan.alpha)
    hopeful = B[~certainly_fails(size, allowed, d)] if e < 1 else B
    return next((int(b) for b in hopeful[::-1] if _epsilon(n, int(b), plan) <= e), 0)


def _split_epsilon(n: int, B: int, plan: _Plan) -> float:
    """Where the failures of all bins, averaged over the numbers of rows in them, add up to alpha."""
    low, high = 0.0, 1.0
    if _split_failure(high, n, B, plan) > plan.alpha:
        return high  # some bin is too likely to be empty; an error cannot exceed 1
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if _split_failure(middle, n, B, plan) <= plan.alpha else (middle, high)
    return high


def _split_failure(e: float, n: int, B: int, plan: _Plan) -> float:
    cut = cut_rows(n, plan.split)
    gaps, longer = divmod(cut + 1, B)
    if gaps == 0:
        return math.inf
    found = 0.0
    for span, number in ((gaps, B - longer), (gaps + 1, longer)):
        if number and plan.kind == "conditional":
            found += number * hoeffding_failure(e, n - cut, span, cut + 1 - span)
        elif number:  # a new row meets a bin in proportion to its mass
            found += number * span / (cut + 1) * hoeffding_failure(e, n - cut, span + 1, cut + 1 - span)
    return found


def _split_size(B: int, e: float, plan: _Plan) -> int:
    def holds(n: int) -> bool:
        return _split_failure(e, n, B, plan) <= plan.alpha

    # The ranks that cut the bins repeat after this many rows; up to that the failure need not fall in n.
    period = math.ceil(B / min(plan.split, 1 - plan.split)) + 2
    n = _first(lambda n: all(holds(n + i) for i in {0, period // 2, period}), 2 * B) + period
    while n > 2 * B and holds(n - 1):
        n -= 1
    return n


def _first(holds: Callable[[int], bool], start: int) -> int:
    """The smallest whole number from `start` on that holds, if all after it do."""
    if holds(start):
        return start
    low, step = start, 1
    while not holds(low + step):
        low, step = low + step, 2 * step
        if low > _MOST_ROWS:
            raise InputError("epsilon", "is so small that no number of rows keeps it")
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _checked(alpha: Any, kind: Any, scheme: Any, bound: Any, split: Any) -> _Plan:
    kind, scheme = checked_word(kind, "kind", KINDS), checked_word(scheme, "scheme", SCHEMES)
    if isinstance(bound, str) and bound in ("clopper-pearson", "bernstein"):
        raise InputError(
            "bound",
            "must be 'hoeffding' or 'exact' before data are seen",
            f"{bound!r} depends on the labels: ask `HistogramBinning(...).fit(...).guarantee(bound={bound!r})`",
        )
    bound = checked_word(bound, "bound", ("hoeffding", "exact"))
    if scheme == "fixed-width" and kind != "expected-ece":
        raise InputError(
            "kind",
            "must be 'expected-ece' for scheme='fixed-width'",
            f"got {kind!r}",
            remedy=(
                "How many rows fall into a bin of fixed width depends on the scores: after `fit`, "
                "`guarantee` counts them."
            ),
        )
    if scheme == "split" and bound == "exact" and kind != "expected-ece":
        raise InputError(
            "bound",
            "must be 'hoeffding' for scheme='split' before data are seen, since the rows per bin are random",
            "after `fit`, `guarantee(bound='exact')` counts them",
        )
    return _Plan(checked_alpha(alpha), kind, scheme, bound, checked_split(split, scheme))


def checked_alpha(alpha: Any) -> float:
    """A probability of failure."""
    return checked_fraction(alpha, "alpha")


def checked_epsilon(epsilon: Any) -> float:
    """An error that is worth a promise."""
    return checked_fraction(epsilon, "epsilon")


def checked_split(split: Any, scheme: str) -> float:
    """A share of the rows; other schemes than 'split' have no use for it."""
    share = checked_fraction(split, "split")
    if scheme != "split" and share != 0.5:
        raise InputError("split", "is for scheme='split'", f"got split={split!r} with scheme={scheme!r}")
    return share
