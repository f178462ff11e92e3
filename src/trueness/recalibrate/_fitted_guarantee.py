"""Guarantees of fitted bins: from theorems that ignore the labels, or from the labels inside the bins."""

import math
from typing import Any, NamedTuple

import numpy as np

from trueness._numerics.proportions import clopper_pearson
from trueness.errors import InputError
from trueness.recalibrate._planning import DELTA, epsilon, expected_ece, per_bin, size_epsilon
from trueness.results import Guarantee
from trueness.typing import Floats


class FittedBins(NamedTuple):
    """The bins that a score can fall into, with the meanings in `HistogramBinning._state`."""

    scheme: str
    n: int
    counts: Floats
    rates: Floats
    values: Floats
    tied: int
    tied_edges: int
    whole: bool


def guarantee_of(fitted: FittedBins, alpha: float, bound: str) -> Guarantee:
    _refuse_ties(fitted)
    if not fitted.whole and bound != "hoeffding":
        got = f"got {bound!r}, which counts labels"
        raise InputError("bound", "must be 'hoeffding' when weights are not whole numbers", got)
    B = fitted.counts.size
    ranked = fitted.scheme in ("umd", "randomized", "original")
    if ranked and bound in ("hoeffding", "exact"):
        options: Any = {"alpha": alpha, "scheme": fitted.scheme, "bound": bound}
        conditional = epsilon(fitted.n, B, kind="conditional", **options)
        marginal = epsilon(fitted.n, B, kind="marginal", **options)
    else:
        all_bins = per_bin(alpha, B) if bound == "exact" else alpha / B
        conditional, marginal = _largest_error(fitted, bound, all_bins), _largest_error(fitted, bound, alpha)
    texts = _theorem(fitted, bound), _assumptions(fitted), bound, fitted.scheme
    return Guarantee(conditional, marginal, _expected_ece(fitted), alpha, *texts, n=fitted.n, n_bins=B)


def _expected_ece(fitted: FittedBins) -> float:
    if not fitted.whole:
        return math.nan
    if fitted.scheme == "split":  # given the bins, they are as fixed as bins of equal width
        return expected_ece(int(fitted.counts.sum()), fitted.counts.size, "fixed-width")
    return expected_ece(fitted.n, fitted.counts.size, fitted.scheme)


def _refuse_ties(fitted: FittedBins) -> None:
    # If each boundary score occurs once, the rows strictly between two of them are independent draws from that
    # interval, tied or not. A boundary score that occurs twice has mass of its own, which belongs to the bin above but
    # is not represented by the labels inside.
    if fitted.tied_edges and fitted.scheme in ("umd", "original"):
        demand = f"`scheme={fitted.scheme!r}` has no guarantee if several rows share the score of a boundary"
        at = f"they do at {fitted.tied_edges:,} of {fitted.counts.size - 1:,} boundaries"
        remedy = "`scheme='randomized'` breaks ties at random and keeps the guarantee."
        raise InputError("", demand, f"{at} ({fitted.tied:,} of {fitted.n:,} rows are tied)", remedy=remedy)
    if fitted.scheme in ("umd", "randomized", "original") and fitted.n < 2 * fitted.counts.size:
        raise InputError("", "A guarantee needs at least two rows per bin", f"got {fitted.n:,} in all")


def _largest_error(fitted: FittedBins, bound: str, d: float) -> float:
    """The largest distance between a prediction and a possible rate of its bin; each bin fails with probability d."""
    low, high = np.zeros(fitted.counts.size), np.ones(fitted.counts.size)
    some = fitted.counts > (1 if bound == "bernstein" else 0)
    low[some], high[some] = _rate_interval(bound, fitted.counts[some], fitted.rates[some], d)
    return float(np.maximum(fitted.values - low, high - fitted.values).max())


def _rate_interval(bound: str, n: Floats, rate: Floats, d: float) -> tuple[Floats, Floats]:
    if bound == "clopper-pearson":
        return clopper_pearson(np.rint(n * rate), n, 1 - d)
    if bound == "hoeffding":
        reach = np.sqrt(math.log(2 / d) / (2 * n))
    elif bound == "exact":
        sizes, at = np.unique(n, return_inverse=True)
        reach = np.array([size_epsilon(int(size), d) for size in sizes])[at]
    else:
        # Maurer and Pontil (2009), Theorem 4, on both sides; the variance is the unbiased one.
        log = math.log(4 / d)
        reach = np.sqrt(2 * rate * (1 - rate) / (n - 1) * log) + 7 * log / (3 * (n - 1))
    return np.maximum(rate - reach, 0.0), np.minimum(rate + reach, 1.0)


_PUBLISHED = {
    "umd": "Theorem 3 (conditional) and Theorem 4 with δ = 0 (marginal)",
    "randomized": f"Theorem 4 with δ = {DELTA:g}",
    "original": "Corollary 1 (conditional) and the same step from Theorem 4 (marginal)",
}
_INSIDE = {
    "hoeffding": "Hoeffding's inequality in each bin, given the labels per bin, with a union bound (conditional)",
    "exact": "The binomial distribution at its worst rate in each bin, given the labels per bin",
    "clopper-pearson": "Clopper-Pearson intervals of the labels inside each bin, with a union bound (conditional)",
    "bernstein": "Empirical Bernstein bounds (Maurer and Pontil 2009) in each bin, with a union bound (conditional)",
}


def _theorem(fitted: FittedBins, bound: str) -> str:
    ranked = fitted.scheme in _PUBLISHED
    text = _INSIDE[bound]
    if ranked:
        published = f"{_PUBLISHED[fitted.scheme]} of Gupta and Ramdas (2021)"
        text = published if bound == "hoeffding" else f"{text}; bins as in {published}"
    if not fitted.whole:
        return f"{text}. The expected error has no bound for fractional weights."
    size = "Σ (N + 1) / 4N(n + 1) over bins of N labels" if ranked else "B/2(m + 1) + B(m/(m + 1))^m/(m + 1), m labels"
    return f"{text}. Expected error: the root of {size}, valid for every n."


def _assumptions(fitted: FittedBins) -> str:
    text = "Rows are independent draws from the distribution of future rows, and were not used to train the classifier"
    if fitted.scheme in ("umd", "original"):
        text += "; the distribution of scores has no point mass at a boundary"
        text += f" ({fitted.tied:,} rows are tied inside bins)" if fitted.tied else ""
    if fitted.scheme == "randomized":
        text += "; scores may be discrete, with ties broken at random now and in future"
    if fitted.scheme in ("split", "fixed-width"):
        text += "; the statements hold given the bins and their numbers of labels, the expected error on average"
    if not fitted.whole:
        text += "; inside a bin, weights are independent of labels"
    return f"{text}. Event rates are per bin, even where two bins share a value."
