"""Six measures of calibration, once as the paper prints them and once as the authors' code computes them.

By the text: this library. By the code, which differs in four points: the rows kept back at the upper end
join the last block if 2 N_min ≤ N_max, however large that block is; quantile bins are cut at row
int(j / B * N), where floating point turns 1740 into 1739; equal scores are split by the order of the rows;
and the t test divides by the variance.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from trueness._numerics.binomial import binomial_rejections
from trueness._numerics.proportions import t_rejections
from trueness._tally.rules import BlockIsotonic, EqualMass, Isotonic
from trueness.errors import OneClassWarning
from trueness.measure import ace, ece, estimation_error, mce, tce

__all__ = [
    "MEASURES",
    "RULES",
    "TESTS",
    "Limits",
    "by_code",
    "by_text",
    "code_bins",
    "errors_by_code",
    "errors_by_text",
    "quietly",
    "tests_by_code",
    "tests_by_text",
]

MEASURES = ("TCE(P)", "TCE(Q)", "TCE(V)", "ECE", "ACE", "MCE", "MCE(Q)")
TESTS = ("TCE(P)-B", "TCE(P)-T", "TCE(Q)-B", "TCE(Q)-T", "TCE(V)-B", "TCE(V)-T")
RULES = ("PAVA", "PAVA-BC", "quantiles")

Rows = NDArray[Any]


class Limits(NamedTuple):
    """How bins are cut and tested: limits of PAVA-BC, the number of other bins, the level."""

    n_min: int
    n_max: int
    n_bins: int = 10
    alpha: float = 0.05


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warning that all labels are equal: at a test prevalence of 0 they are meant to be."""
    with catch_warnings():
        simplefilter("ignore", OneClassWarning)
        yield


def _rules(limits: Limits) -> dict[str, Any]:
    return {
        "P": BlockIsotonic(limits.n_min, limits.n_max),
        "Q": EqualMass(limits.n_bins),
        "V": Isotonic(),
    }


def by_text(y: Rows, p: Rows, limits: Limits) -> dict[str, float]:
    """The measures as the paper defines them: what this library computes."""
    with quietly():
        tested = {f"TCE({name})": tce(y, p, bins=rule, alpha=limits.alpha) for name, rule in _rules(limits).items()}
        n = limits.n_bins
        plain = {"ECE": ece(y, p, bins=n), "ACE": ace(y, p, bins=n), "MCE": mce(y, p, bins=n)}
        return {**tested, **plain, "MCE(Q)": mce(y, p, bins=EqualMass(n))}


def tests_by_text(y: Rows, p: Rows, limits: Limits) -> dict[str, float]:
    """TCE by the binomial test and by the t test."""
    with quietly():
        return {
            f"TCE({name})-{test[0].upper()}": tce(y, p, bins=rule, test=test, alpha=limits.alpha)
            for name, rule in _rules(limits).items()
            for test in ("binomial", "t")
        }


def errors_by_text(y: Rows, p: Rows) -> dict[str, tuple[float, float, int]]:
    """Table 1: variance of the labels within bins, over rows and over bins, and the number of bins."""
    rules = dict(zip(RULES, (Isotonic(), BlockIsotonic(), EqualMass(10)), strict=True))
    found = {name: estimation_error(y, p, bins=rule) for name, rule in rules.items()}
    return {name: (error.total, error.average, error.n_bins) for name, error in found.items()}


def by_code(y: Rows, p: Rows, limits: Limits) -> dict[str, float]:
    """The measures as the authors' code computes them."""
    y, p = _in_order(y, p)
    bins = code_bins(y, limits)
    tested = {f"TCE({name})": _tce(y, p, first, limits.alpha) for name, first in bins.items()}
    width = np.searchsorted(p, np.linspace(0, 1, limits.n_bins + 1)[:-1], side="left")
    gaps, sizes = _gaps(y, p, np.unique(width[width < y.size]))
    mass_gaps, mass_sizes = _gaps(y, p, bins["Q"])
    return {
        **tested,
        "ECE": float(gaps @ sizes) / y.size,
        "ACE": float(mass_gaps @ mass_sizes) / y.size,
        "MCE": float(gaps.max()),
        "MCE(Q)": float(mass_gaps.max()),
    }


def tests_by_code(y: Rows, p: Rows, limits: Limits) -> dict[str, float]:
    """TCE by the binomial test and by the t test of the code."""
    y, p = _in_order(y, p)
    return {
        f"TCE({name})-{'T' if t else 'B'}": _tce(y, p, first, limits.alpha, t=t)
        for name, first in code_bins(y, limits).items()
        for t in (False, True)
    }


def errors_by_code(y: Rows, p: Rows) -> dict[str, tuple[float, float, int]]:
    """Table 1, as the authors' code cuts the bins."""
    y, _ = _in_order(y, p)
    bins = code_bins(y, Limits(y.size // 20, y.size // 5))
    return {name: _spread(y, bins[key]) for name, key in zip(RULES, "VPQ", strict=True)}


def _spread(y: Rows, first: Rows) -> tuple[float, float, int]:
    sizes = np.diff(np.append(first, y.size))
    rate = np.add.reduceat(y, first) / sizes
    variance = rate * (1 - rate)
    return float(variance @ sizes) / y.size, float(variance.mean()), int(first.size)


def code_bins(y: Rows, limits: Limits) -> dict[str, Rows]:
    """Where each bin begins, for labels in the order of their scores: PAVA-BC, quantiles, PAVA."""
    labels = y.tolist()
    cuts = (np.linspace(0, 1, limits.n_bins + 1) * y.size).astype(np.int64)
    return {
        "P": _begins(_blocks(labels, limits.n_min, limits.n_max)),
        "Q": cuts[:-1][np.diff(cuts) > 0],
        "V": _begins(_blocks(labels, 0, y.size)),
    }


def _in_order(y: Rows, p: Rows) -> tuple[Rows, Rows]:
    order = np.argsort(p, kind="stable")
    return np.asarray(y)[order].astype(np.int64), np.asarray(p)[order].astype(np.float64)


def _begins(sizes: list[int]) -> Rows:
    return np.cumsum([0, *sizes[:-1]])


def _blocks(labels: list[int], n_min: int, n_max: int) -> list[int]:
    """Sizes of the blocks of Algorithm 2, with the code's rule for the rows kept back; n_min = 0 is PAVA."""
    events: list[int] = []
    sizes: list[int] = []
    for label in labels[: len(labels) - n_min]:
        e, n = label, 1
        while sizes and (sizes[-1] + n <= n_min or (sizes[-1] + n <= n_max and events[-1] / sizes[-1] >= e / n)):
            e, n = e + events.pop(), n + sizes.pop()
        events.append(e)
        sizes.append(n)
    if n_min and 2 * n_min <= n_max:
        sizes[-1] += n_min
    elif n_min:
        sizes.append(n_min)
    return sizes


def _tce(y: Rows, p: Rows, first: Rows, alpha: float, *, t: bool = False) -> float:
    k, n = np.add.reduceat(y, first), np.diff(np.append(first, y.size))
    wrong = (
        t_rejections(k, n, first, p, alpha, deviation="variance") if t else binomial_rejections(k, n, first, p, alpha)
    )
    return float(100 * wrong.sum() / y.size)


def _gaps(y: Rows, p: Rows, first: Rows) -> tuple[Rows, Rows]:
    sizes = np.diff(np.append(first, y.size))
    return np.abs(np.add.reduceat(y - p, first)) / sizes, sizes
