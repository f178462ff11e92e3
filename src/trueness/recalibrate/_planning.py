"""Planning histogram binning: rows, bins and guaranteed errors before any data are seen."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np

from trueness._input.arguments import checked_fraction, checked_whole, checked_word
from trueness._keywords import suggests_keywords
from trueness._numerics.concentration import (
    binomial_epsilon,
    certainly_fails,
    hoeffding_failure,
    least_size,
)
from trueness.errors import InputError

Scheme: TypeAlias = Literal["umd", "randomized", "original", "split", "fixed-width"]
Bound: TypeAlias = Literal["hoeffding", "exact", "clopper-pearson", "bernstein"]
GuaranteeKind: TypeAlias = Literal["conditional", "marginal", "expected-ece"]
Function = TypeVar("Function", bound=Callable[..., int])

SCHEMES = get_args(Scheme)
KINDS = get_args(GuaranteeKind)

DELTA = 1e-9
"""How far `scheme="randomized"` may move a value so that no two bins share one; float64 can
represent it."""

_MOST_ROWS = 1 << 53
# Beyond these, a bound would take many seconds to compute.
_MOST_EXACT, _MOST_SEARCHED = (
    10**6,
    10**5,
)


class _Plan(NamedTuple):
    """Everything but the numbers of rows and bins."""

    alpha: float
    kind: str
    scheme: str
    bound: str
    split: float

    @property
    def delta(self) -> float:
        """How far a value may have been moved."""
        if self.scheme == "randomized":
            return DELTA
        return 0.0

    def level(self, B: int) -> float:
        """The probability with which each of B bins may fail."""
        if self.kind == "conditional":
            return per_bin(self.alpha, B)
        return self.alpha


@suggests_keywords
def epsilon(
    n: int,
    n_bins: int,
    *,
    alpha: float = 0.1,
    kind: GuaranteeKind = "conditional",
    scheme: Scheme = "umd",
    bound: Bound = "hoeffding",
    split: float = 0.5,
) -> float:
    r"""Distribution-free bound on the error of histogram binning.

    Parameters
    ----------
    n : int
        Number of rows to fit on.
    n_bins : int
        Number of bins, at most n / 2.
    alpha : float, default 0.1
        Probability with which the bound may fail; not used for 'expected-ece'.
    kind : {'conditional', 'marginal', 'expected-ece'}, default 'conditional'
        'conditional': with probability 1 − alpha, every bin's value is within ε of the bin's event
        rate. 'marginal': with probability 1 − alpha, the value of a new row's bin is within ε of
        that bin's rate. 'expected-ece': the expected l1 or l2 calibration error is at most ε.
    scheme : {'umd', 'randomized', 'original', 'split', 'fixed-width'}, default 'umd'
        The scheme of :class:`HistogramBinning`. Bins of 'fixed-width' may be empty: only their
        expected error has a bound.
    bound : {'hoeffding', 'exact'}, default 'hoeffding'
        'hoeffding' is as published. 'exact' replaces Hoeffding's inequality by the binomial
        distribution at its worst rate: smaller and equally valid. Not for 'expected-ece'. The
        bounds 'clopper-pearson' and 'bernstein' depend on the labels; see
        :meth:`HistogramBinning.guarantee`.
    split : float, default 0.5
        Fraction of the rows that places the bins, for ``scheme="split"``.

    Returns
    -------
    float
        ε, which may exceed 1; for 'split' it is 1 if a bin is too likely to have no labels.

    Notes
    -----
    With :math:`m = \lfloor n/B \rfloor - 1` and Hoeffding's inequality,

    .. math:: \varepsilon_{cond} = \sqrt{\log(2B/\alpha) / 2m}, \quad
       \varepsilon_{marg} = \sqrt{\log(2/\alpha) / 2m}

    (Theorem 3, and Theorem 4 with its δ). 'original' adds 1/(m + 1) (Corollary 1), 'randomized'
    adds δ = 1e-9. The expected error is at most :math:`\sqrt{\sum_b (N_b + 1) / 4 N_b (n + 1)} \le
    \sqrt{B / 2(n + 1)}`, with N_b the number of labels averaged in bin b; the published
    :math:`\sqrt{B/2n}` is larger, but the last step of its proof fails if few labels are averaged.

    'exact' uses :math:`\varepsilon(N, d) = \min\{e : \sup_p P(|\mathrm{Bin}(N, p)/N - p| > e) \le
    d\}` with d = alpha, or :math:`1 - (1 - \alpha)^{1/B}` for all bins together (they are
    independent given their boundaries), and the larger of the values for the two bin sizes that
    occur. It is not monotone in n.

    For 'split', the number of rows in a bin is beta-binomial for any distribution of untied scores,
    which gives the mean of Hoeffding's bound; ε is where the sum over bins equals alpha. The
    theorems are those of Gupta and Ramdas (2021); see :class:`HistogramBinning`.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample
    splitting", ICML 2021.

    Examples
    --------
    >>> from trueness.recalibrate import epsilon
    >>> round(epsilon(2900, 10), 5), round(epsilon(2900, 10, scheme="original"), 5)
    (0.09574, 0.09919)
    >>> round(epsilon(2900, 10, bound="exact"), 5)
    0.07612
    """
    plan = _plan(alpha, kind, scheme, bound, split)
    n = checked_whole(n, "n", _MOST_ROWS)
    n_bins = checked_whole(n_bins, "n_bins", _MOST_ROWS)
    if n < 2 * n_bins:
        raise InputError("n", f"must be at least {2 * n_bins:,}, two rows per bin", f"got {n:,}")
    return _epsilon(n, n_bins, plan)


@suggests_keywords
def sample_size(
    n_bins: int,
    epsilon: float,
    *,
    alpha: float = 0.1,
    kind: GuaranteeKind = "conditional",
    scheme: Scheme = "umd",
    bound: Bound = "hoeffding",
    split: float = 0.5,
) -> int:
    """The number of rows for which the error of histogram binning is at most ε.

    Parameters
    ----------
    epsilon : float
        The allowed error, between 0 and 1.
    n_bins : int
        Number of bins.
    alpha : float, default 0.1
        Probability with which the bound may fail; not used for 'expected-ece'.
    kind : {'conditional', 'marginal', 'expected-ece'}, default 'conditional'
        'conditional': with probability 1 − alpha, every bin's value is within ε of the bin's event
        rate. 'marginal': with probability 1 − alpha, the value of a new row's bin is within ε of
        that bin's rate. 'expected-ece': the expected l1 or l2 calibration error is at most ε.
    scheme : {'umd', 'randomized', 'original', 'split', 'fixed-width'}, default 'umd'
        The scheme of :class:`HistogramBinning`. Bins of 'fixed-width' may be empty: only their
        expected error has a bound.
    bound : {'hoeffding', 'exact'}, default 'hoeffding'
        'hoeffding' is as published. 'exact' replaces Hoeffding's inequality by the binomial
        distribution at its worst rate: smaller and equally valid. Not for 'expected-ece'. The
        bounds 'clopper-pearson' and 'bernstein' depend on the labels; see
        :meth:`HistogramBinning.guarantee`.
    split : float, default 0.5
        Fraction of the rows that places the bins, for ``scheme="split"``.

    Returns
    -------
    int
        The smallest n such that :func:`epsilon` is at most ε for it and every larger n. A smaller n
        may suffice if the bound is not monotone (`bound="exact"`).

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample
    splitting", ICML 2021.

    Examples
    --------
    >>> from trueness.recalibrate import sample_size
    >>> [sample_size(b, 0.1) for b in (5, 10, 15, 20)]
    [1160, 2660, 4305, 6020]
    >>> sample_size(10, 0.1, bound="exact")
    1709
    """
    plan = _plan(alpha, kind, scheme, bound, split)
    B = checked_whole(n_bins, "n_bins", _MOST_ROWS)
    e = checked_fraction(epsilon, "epsilon")
    if e - plan.delta <= 0:
        raise InputError(
            "epsilon", f"must exceed δ = {DELTA:g} for `scheme='randomized'`", f"got {e!r}"
        )
    if plan.kind == "expected-ece":
        return _first_true(lambda n: _epsilon(n, B, plan) <= e, 2 * B)
    if plan.scheme == "split":
        return _split_size(B, e, plan)
    if plan.bound == "exact":
        needs = math.log(2 / plan.level(B)) / (2 * e * e)
        if needs > _MOST_SEARCHED:  # sizes below Hoeffding's are tried one by one
            demand = (
                f"is too small for `bound='exact'`, which is searched for up to {_MOST_SEARCHED:,} "
                "rows per bin"
            )
            remedy = "'hoeffding' takes any epsilon."
            raise InputError("epsilon", demand, f"{e:g} needs about {needs:,.0f}", remedy=remedy)
        # If a bin has the label of its boundary.
        allowed, below = (
            e - plan.delta,
            plan.scheme == "original" and B > 1,
        )
        size = least_size(
            lambda n: (allowed * (n + 1) - 1) / n if below else allowed, plan.level(B)
        )
        return max(2 * B, B * (size + 1) - 1)
    # These bounds depend on ⌊n/B⌋ alone.
    return B * _first_true(lambda rows: _epsilon(rows * B, B, plan) <= e, 2)


@suggests_keywords
def max_bins(
    n: int,
    epsilon: float,
    *,
    alpha: float = 0.1,
    kind: GuaranteeKind = "conditional",
    scheme: Scheme = "umd",
    bound: Bound = "hoeffding",
    split: float = 0.5,
) -> int:
    """The largest number of bins for which the error of histogram binning is at most ε.

    Parameters
    ----------
    epsilon : float
        The allowed error, between 0 and 1.
    n : int
        Number of rows to fit on.
    alpha : float, default 0.1
        Probability with which the bound may fail; not used for 'expected-ece'.
    kind : {'conditional', 'marginal', 'expected-ece'}, default 'conditional'
        'conditional': with probability 1 − alpha, every bin's value is within ε of the bin's event
        rate. 'marginal': with probability 1 − alpha, the value of a new row's bin is within ε of
        that bin's rate. 'expected-ece': the expected l1 or l2 calibration error is at most ε.
    scheme : {'umd', 'randomized', 'original', 'split', 'fixed-width'}, default 'umd'
        The scheme of :class:`HistogramBinning`. Bins of 'fixed-width' may be empty: only their
        expected error has a bound.
    bound : {'hoeffding', 'exact'}, default 'hoeffding'
        'hoeffding' is as published. 'exact' replaces Hoeffding's inequality by the binomial
        distribution at its worst rate: smaller and equally valid. Not for 'expected-ece'. The
        bounds 'clopper-pearson' and 'bernstein' depend on the labels; see
        :meth:`HistogramBinning.guarantee`.
    split : float, default 0.5
        Fraction of the rows that places the bins, for ``scheme="split"``.

    Returns
    -------
    int
        The largest number of bins whose :func:`epsilon` is at most ε; 0 if not even one bin
        achieves it.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample
    splitting", ICML 2021.

    Examples
    --------
    >>> from trueness.recalibrate import max_bins
    >>> max_bins(1000, 0.12), max_bins(1000, 0.12, bound="exact")
    (5, 8)
    """
    plan = _plan(alpha, kind, scheme, bound, split)
    n = checked_whole(n, "n", _MOST_ROWS)
    e = checked_fraction(epsilon, "epsilon")
    if n < 2:
        return 0
    if plan.bound == "exact" and plan.kind != "expected-ece":
        return _most_exact(n, e, plan)
    return _first_true(lambda B: n // 2 < B or _epsilon(n, B, plan) > e, 1) - 1


def cut_rows(n: int, split: float) -> int:
    """The number of rows that place the bins.

    At least one row is left for the means, since n · split < n.
    """
    return math.floor(n * split)


# Figure 2 of Gupta and Ramdas (2021): rows and recommended bins (ε of Theorem 3 ≤ 0.12, 0.08 and
# 0.06).
_ADVICE = ((1_000, 5), (5_000, 10), (20_000, 22))


def usual_bins(n: int) -> int:
    """The number of bins that Gupta and Ramdas recommend for n rows.

    They give three pairs of rows and bins. Between these it is interpolated on logarithmic axes;
    outside, it is proportional to √n.
    """
    (first, fewest), *_, (last, most_bins) = _ADVICE
    if n <= first:
        return max(1, round(fewest * math.sqrt(n / first)))
    if n >= last:
        return round(most_bins * math.sqrt(n / last))
    rows, bins = np.log(np.array(_ADVICE, dtype=np.float64)).T
    return round(float(np.exp(np.interp(math.log(n), rows, bins))))


@lru_cache(maxsize=4096)
def _epsilon(n: int, B: int, plan: _Plan) -> float:
    """The error ε that n rows in B bins guarantee, by the kind, scheme and bound of the plan.

    Expected errors, split samples and exact bounds have functions of their own; the rest is
    Hoeffding's bound.
    """
    if plan.kind == "expected-ece":
        return expected_ece(n, B, plan.scheme, plan.split)
    if plan.scheme == "split":
        return _split_epsilon(n, B, plan)
    if plan.bound == "exact":
        return _exact(n, B, plan)
    fewest_rows = n // B - 1
    tails = 2 * B if plan.kind == "conditional" else 2
    error = math.sqrt(math.log(tails / plan.alpha) / (2 * fewest_rows))
    if plan.scheme == "original":
        error += 1 / (n // B)
    return error + plan.delta


def expected_ece(n: int, B: int, scheme: str, split: float = 0.5) -> float:
    """A bound on the expected l2 error, and hence on the expected l_p error for every p ≤ 2."""
    if scheme in ("split", "fixed-width"):
        # Given the bins, E[1/N; N > 0] ≤ 2 / (rows + 1) / mass; a bin is empty with probability (1
        # − mass)^rows.
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
    """A bound on `gaps` times the mean squared error of a bin that spans this many gaps."""
    inside = gaps - 1
    if scheme == "original":
        return (inside / 4 + 1) / gaps
    return gaps / (4 * inside)


def _exact(n: int, B: int, plan: _Plan) -> float:
    """The error ε that n rows guarantee for B bins, by the exact binomial bound.

    Bins have one of two sizes, of which the worse one counts. With the scheme "original", the row
    at the boundary is one row more of a bin.
    """
    fewest_rows = (n + 1) // B - 1
    most_rows = -(-(n + 1) // B) - 1
    d = plan.level(B)
    errors = [size_epsilon(size, d) for size in {fewest_rows, most_rows}]
    if plan.scheme == "original" and B > 1:
        errors += [
            (size * e + 1) / (size + 1)
            for size, e in zip({fewest_rows, most_rows}, errors, strict=True)
        ]
    return max(errors) + plan.delta


@lru_cache(maxsize=4096)
def size_epsilon(size: int, d: float) -> float:
    """The deviation of a mean of `size` labels that is exceeded with probability d, cached."""
    if size > _MOST_EXACT:
        demand = f"`bound='exact'` is available for up to {_MOST_EXACT:,} rows per bin"
        raise InputError("", demand, f"got {size:,}", remedy="'hoeffding' takes any number.")
    return binomial_epsilon(size, d)


def per_bin(alpha: float, B: int) -> float:
    """The failure probability of each of B independent bins if any fails with alpha."""
    return -math.expm1(math.log1p(-alpha) / B)


def _most_exact(n: int, e: float, plan: _Plan) -> int:
    """The largest number of bins for which n rows guarantee an error of at most `e`, or 0.

    The exact bound is used. It is monotone only among numbers of bins with equally many rows per
    bin; there are few such runs, and they are checked from the largest numbers of bins on. Bins so
    small that they cannot keep the error are skipped.
    """
    # The m ≤ 2Ne counts next to a rate near one half have probability at most 0.43 / √(Npq) each
    # (Herzog 1947), and must together have 1 − alpha; this excludes bins with fewer than `fewest`
    # rows.
    fewest = (1 - plan.alpha) ** 2 / (3.2 * e * e) - 1
    most_bins = n // 2 if fewest < 10 else int((n + 1) / fewest)
    runs = _runs_of_equal_size(n, most_bins)
    searched = 0
    while batch := list(islice(runs, 1024)):
        size = np.array([(n + 1) // first - 1 for first, _ in batch])
        searched += size.size
        if size[0] > _MOST_EXACT and searched > _MOST_EXACT // 4:
            size_epsilon(int(size[0]), plan.alpha)  # refuses it
        d = np.array([plan.level(first) for first, _ in batch])
        for index in np.flatnonzero(~certainly_fails(size, np.full(d.shape, e - plan.delta), d)):
            first, last = batch[index]
            if _epsilon(n, last, plan) <= e:
                return last
            if first < last and _epsilon(n, first, plan) <= e:
                return (
                    first
                    + bisect_left(range(first, last), True, key=lambda B: _epsilon(n, B, plan) > e)
                    - 1
                )
    return 0


def _runs_of_equal_size(n: int, last: int) -> Iterator[tuple[int, int]]:
    """First and last B of each run with the same ⌊(n + 1)/B⌋, from `most` bins down to one."""
    while last >= 1:
        first = (n + 1) // ((n + 1) // last + 1) + 1
        yield first, last
        last = first - 1


def _split_epsilon(n: int, B: int, plan: _Plan) -> float:
    """The error ε that n rows guarantee for B bins, where some of the rows place the bins.

    It is the smallest, by bisection, for which the failure probabilities of all bins sum to at most
    alpha. They are averaged over the random sizes of the bins. It is 1 if even that is not enough,
    because a bin is too likely to be empty.
    """
    low = 0.0
    high = 1.0
    if _split_failure(high, n, B, plan) > plan.alpha:
        return high  # a bin is too likely to be empty; an error cannot exceed 1
    while high - low > 1e-12:
        middle = (low + high) / 2
        if _split_failure(middle, n, B, plan) <= plan.alpha:
            high = middle
        else:
            low = middle
    return high


def _split_failure(e: float, n: int, B: int, plan: _Plan) -> float:
    """A bound on the probability of an error above e, if part of the rows places the bins.

    The error is that of any bin for 'conditional', that of the bin of a new row otherwise. Infinite
    if fewer rows place the bins than there are bins.
    """
    cut = cut_rows(n, plan.split)
    gaps, longer = divmod(cut + 1, B)
    if gaps == 0:
        return math.inf
    total = 0.0
    for span, number in ((gaps, B - longer), (gaps + 1, longer)):
        if number and plan.kind == "conditional":
            total += number * hoeffding_failure(e, n - cut, span, cut + 1 - span)
        elif number:  # a new row falls into a bin with probability equal to its mass
            total += (
                number * span / (cut + 1) * hoeffding_failure(e, n - cut, span + 1, cut + 1 - span)
            )
    return total


def _split_size(B: int, e: float, plan: _Plan) -> int:
    """The smallest n from which on B bins hold to e with split rows.

    It is found a period above, where the failure has stayed below alpha, and then lowered row by
    row.
    """

    def holds(n: int) -> bool:
        return _split_failure(e, n, B, plan) <= plan.alpha

    # The pattern of ranks repeats after this many rows; within a period the failure need not
    # decrease in n.
    period = math.ceil(B / min(plan.split, 1 - plan.split)) + 2
    n = _first_true(lambda n: all(holds(n + i) for i in {0, period // 2, period}), 2 * B) + period
    while n > 2 * B and holds(n - 1):
        n -= 1
    return n


def _first_true(holds: Callable[[int], bool], start: int) -> int:
    """The smallest whole number from `start` on for which `holds` is true.

    It must be true for all larger ones. Steps are doubled until it is true, then halved. InputError
    if that takes more than the most rows.
    """
    if holds(start):
        return start
    low = start
    step = 1
    while not holds(low + step):
        low = low + step
        step = 2 * step
        if low > _MOST_ROWS:
            raise InputError("epsilon", "is too small for any number of rows")
    return low + 1 + bisect_left(range(low + 1, low + step), True, key=holds)


def _plan(alpha: object, kind: object, scheme: object, bound: object, split: object) -> _Plan:
    """The checked options of a guarantee before data are seen.

    Combinations without a theorem are errors.
    """
    kind = checked_word(kind, "kind", KINDS)
    scheme = checked_word(scheme, "scheme", SCHEMES)
    if isinstance(bound, str) and bound in ("clopper-pearson", "bernstein"):
        demand = "must be 'hoeffding' or 'exact' before data are seen"
        remedy = "Use `HistogramBinning(...).fit(...)"
        remedy = f"{remedy}.guarantee(bound={bound!r})`."
        raise InputError("bound", demand, f"{bound!r} depends on the labels", remedy=remedy)
    bound = checked_word(bound, "bound", ("hoeffding", "exact"))
    if scheme == "fixed-width" and kind != "expected-ece":
        remedy = (
            "The number of rows in a bin depends on the scores: after `fit`, `guarantee` counts "
            "them."
        )
        raise InputError(
            "kind",
            "must be 'expected-ece' for `scheme='fixed-width'`",
            f"got {kind!r}",
            remedy=remedy,
        )
    if scheme == "split" and bound == "exact" and kind != "expected-ece":
        demand = (
            "must be 'hoeffding' for `scheme='split'` before data are seen, since the rows per "
            "bin are random"
        )
        raise InputError(
            "bound", demand, remedy="After `fit`, `guarantee(bound='exact')` counts them."
        )
    return _Plan(
        checked_fraction(alpha, "alpha"), kind, scheme, bound, checked_split(split, scheme)
    )


def checked_split(split: object, scheme: str) -> float:
    """A fraction of the rows, which only scheme 'split' uses."""
    share = checked_fraction(split, "split")
    if scheme != "split" and share != 0.5:
        raise InputError(
            "split", "is only for `scheme='split'`", f"got split={split!r} with scheme={scheme!r}"
        )
    return share
