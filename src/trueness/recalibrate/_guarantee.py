"""What fitted bins can promise: from theorems before the labels were seen, or from the labels inside the bins."""

import math
from typing import NamedTuple

import numpy as np

from trueness._numerics.proportions import clopper_pearson
from trueness.errors import InputError
from trueness.recalibrate._planning import DELTA, epsilon, expected_ece, per_bin, size_epsilon
from trueness.results import Guarantee
from trueness.typing import Floats

__all__ = ["Fitted", "promise"]


class Fitted(NamedTuple):
    """Bins that a score can fall into."""

    scheme: str
    n: int
    """Rows; one of weight 2 is two."""
    counts: Floats
    """Labels averaged in each bin; effective numbers where weights are not whole."""
    rates: Floats
    """Their mean, anything in an empty bin."""
    values: Floats
    """What is predicted."""
    tied: int
    """Rows that share their score with another."""
    tied_edges: int
    """Inner edges whose score several rows share."""
    whole: bool
    """Whether weights, if there are any, are whole numbers."""


def promise(fitted: Fitted, alpha: float, bound: str) -> Guarantee:
    """The guarantee of fitted bins."""
    _refuse_ties(fitted)
    if not fitted.whole and bound != "hoeffding":
        raise InputError(
            "bound", "must be 'hoeffding' when weights are not whole numbers", f"got {bound!r}, which counts labels"
        )
    B = fitted.counts.size
    ranked = fitted.scheme in ("umd", "randomized", "original")
    if ranked and bound in ("hoeffding", "exact"):
        given = {"alpha": alpha, "scheme": fitted.scheme, "bound": bound}
        conditional = epsilon(fitted.n, B, kind="conditional", **given)  # type: ignore[arg-type]
        marginal = epsilon(fitted.n, B, kind="marginal", **given)  # type: ignore[arg-type]
    else:
        together = per_bin(alpha, B) if bound == "exact" else alpha / B
        conditional, marginal = _largest(fitted, bound, together), _largest(fitted, bound, alpha)
    return Guarantee(
        epsilon=conditional,
        marginal=marginal,
        expected_ece=_expected(fitted),
        alpha=alpha,
        theorem=_theorem(fitted, bound),
        assumptions=_assumptions(fitted),
        bound=bound,
        scheme=fitted.scheme,
        n=fitted.n,
        n_bins=B,
    )


def _expected(fitted: Fitted) -> float:
    if not fitted.whole:
        return math.nan
    if fitted.scheme == "split":  # given its bins, they are as fixed as bins of equal width
        return expected_ece(int(fitted.counts.sum()), fitted.counts.size, "fixed-width")
    return expected_ece(fitted.n, fitted.counts.size, fitted.scheme)


def _refuse_ties(fitted: Fitted) -> None:
    # Given boundary scores that were seen once each, the rows strictly between two of them are independent draws from
    # that interval, ties or not. A boundary score seen twice has mass of its own, which falls into the bin above and
    # of which the labels inside tell nothing.
    if fitted.tied_edges and fitted.scheme in ("umd", "original"):
        raise InputError(
            f"scheme={fitted.scheme!r} guarantees nothing when rows share the score of a boundary; at "
            f"{fitted.tied_edges:,} of {fitted.counts.size - 1:,} boundaries they do ({fitted.tied:,} of {fitted.n:,} "
            "rows are tied). scheme='randomized' breaks ties at random and keeps the guarantee."
        )
    if fitted.scheme in ("umd", "randomized", "original") and fitted.n < 2 * fitted.counts.size:
        raise InputError(f"A guarantee needs at least two rows a bin; got {fitted.n:,} in all.")


def _largest(fitted: Fitted, bound: str, d: float) -> float:
    """The largest distance of a value from the rates that its bin may have, each bin failing with probability d."""
    low, high = np.zeros(fitted.counts.size), np.ones(fitted.counts.size)
    some = fitted.counts > (1 if bound == "bernstein" else 0)
    low[some], high[some] = _rates_between(bound, fitted.counts[some], fitted.rates[some], d)
    return float(np.maximum(fitted.values - low, high - fitted.values).max())


def _rates_between(bound: str, n: Floats, rate: Floats, d: float) -> tuple[Floats, Floats]:
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


def _theorem(fitted: Fitted, bound: str) -> str:
    ranked = fitted.scheme in _PUBLISHED
    if ranked and bound == "hoeffding":
        found = f"{_PUBLISHED[fitted.scheme]} of Gupta and Ramdas (2021)"
    elif ranked:
        found = f"{_INSIDE[bound]}; bins as in {_PUBLISHED[fitted.scheme]} of Gupta and Ramdas (2021)"
    else:
        found = _INSIDE[bound]
    if not fitted.whole:
        return f"{found}. The expected error has no bound with weights that are not whole."
    size = "Σ (N + 1) / 4N(n + 1) over bins of N labels" if ranked else "B/2(m + 1) + B(m/(m + 1))^m/(m + 1), m labels"
    return f"{found}. Expected error: the root of {size}, valid for every n."


def _assumptions(fitted: Fitted) -> str:
    found = "Rows are independent draws from the distribution of later rows, and were not used to train the classifier"
    if fitted.scheme in ("umd", "original"):
        found += "; no single score at a boundary has a share of the rows of its own, here or later"
        found += f" ({fitted.tied:,} rows are tied inside bins)" if fitted.tied else ""
    if fitted.scheme == "randomized":
        found += "; scores may be discrete, equal ones being put in random order here and later"
    if fitted.scheme in ("split", "fixed-width"):
        found += "; the statements hold given the bins and how many labels each has, the expected error on average"
    if not fitted.whole:
        found += "; inside a bin, weights say nothing about labels"
    return f"{found}. Event rates are those of a bin, also where two bins share a value."
