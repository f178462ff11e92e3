"""The measures of Matsubara et al. 2023, as the paper defines them and as the authors' code computes them.

The text is what this library implements. The code differs in four points: the rows kept back at the upper end join
the last block if 2 N_min ≤ N_max, however large that block is; quantile bins are cut at row int(j / B * N), where
floating point turns 1740 into 1739; equal scores are split by the order of the rows; and the t test divides by the
variance.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from trueness import BlockIsotonic, EqualMass, Isotonic
from trueness._numerics.binomial import binomial_rejections
from trueness._numerics.proportions import t_rejections
from trueness.errors import OneClassWarning
from trueness.measure import ace, ece, estimation_error, mce, tce
from trueness_papers.record import Row, Table

__all__ = [
    "MEASURES",
    "ROUNDING",
    "RULES",
    "TESTS",
    "Options",
    "by_both",
    "by_code",
    "by_text",
    "code_bins",
    "comparison",
    "errors_by_code",
    "errors_by_text",
    "percent",
    "tables_by_both",
    "tests_by_code",
    "tests_by_text",
]

MEASURES = ("TCE(P)", "TCE(Q)", "TCE(V)", "ECE", "ACE", "MCE", "MCE(Q)")
TESTS = ("TCE(P)-B", "TCE(P)-T", "TCE(Q)-B", "TCE(Q)-T", "TCE(V)-B", "TCE(V)-T")
RULES = ("PAVA", "PAVA-BC", "quantiles")

Array: TypeAlias = NDArray[Any]
Numbers: TypeAlias = Mapping[str, float]

# Half a unit of the fourth digit, and a little for binary rounding.
ROUNDING = 5.01e-5
# Sums in another order differ by less.
_SAME = 1e-9


class Options(NamedTuple):
    """Options of the measures: limits of PAVA-BC, number of other bins, level of the tests."""

    n_min: int
    n_max: int
    n_bins: int = 10
    alpha: float = 0.05


@contextmanager
def _ignore_one_class() -> Iterator[None]:
    """Ignore the warning that all labels are equal: at a test prevalence of 0 they should be."""
    with catch_warnings():
        simplefilter("ignore", OneClassWarning)
        yield


def _rules(options: Options) -> dict[str, Any]:
    return {
        "P": BlockIsotonic(options.n_min, options.n_max),
        "Q": EqualMass(options.n_bins),
        "V": Isotonic(),
    }


def by_text(y: Array, p: Array, options: Options) -> dict[str, float]:
    """The measures as the paper defines them."""
    with _ignore_one_class():
        tested = {f"TCE({name})": tce(y, p, bins=rule, alpha=options.alpha) for name, rule in _rules(options).items()}
        n = options.n_bins
        plain = {"ECE": ece(y, p, bins=n), "ACE": ace(y, p, bins=n), "MCE": mce(y, p, bins=n)}
        return {**tested, **plain, "MCE(Q)": mce(y, p, bins=EqualMass(n))}


def tests_by_text(y: Array, p: Array, options: Options) -> dict[str, float]:
    """TCE by the binomial test and by the t test."""
    with _ignore_one_class():
        return {
            f"TCE({name})-{test[0].upper()}": tce(y, p, bins=rule, test=test, alpha=options.alpha)
            for name, rule in _rules(options).items()
            for test in ("binomial", "t")
        }


def errors_by_text(y: Array, p: Array) -> dict[str, tuple[float, float, int]]:
    """Table 1: variance of the labels within bins, averaged over rows and over bins, and the number of bins."""
    rules = dict(zip(RULES, (Isotonic(), BlockIsotonic(), EqualMass(10)), strict=True))
    found = {name: estimation_error(y, p, bins=rule) for name, rule in rules.items()}
    return {name: (error.total, error.average, error.n_bins) for name, error in found.items()}


def by_code(y: Array, p: Array, options: Options) -> dict[str, float]:
    """The measures as the authors' code computes them."""
    y, p = _sort_by_score(y, p)
    bins = code_bins(y, options)
    tested = {f"TCE({name})": _tce(y, p, first, options.alpha) for name, first in bins.items()}
    width = np.searchsorted(p, np.linspace(0, 1, options.n_bins + 1)[:-1], side="left")
    gaps, sizes = _gaps(y, p, np.unique(width[width < y.size]))
    mass_gaps, mass_sizes = _gaps(y, p, bins["Q"])
    return {
        **tested,
        "ECE": float(gaps @ sizes) / y.size,
        "ACE": float(mass_gaps @ mass_sizes) / y.size,
        "MCE": float(gaps.max()),
        "MCE(Q)": float(mass_gaps.max()),
    }


def tests_by_code(y: Array, p: Array, options: Options) -> dict[str, float]:
    """TCE by the binomial test and by the t test of the code."""
    y, p = _sort_by_score(y, p)
    return {
        f"TCE({name})-{'T' if t else 'B'}": _tce(y, p, first, options.alpha, t=t)
        for name, first in code_bins(y, options).items()
        for t in (False, True)
    }


def errors_by_code(y: Array, p: Array) -> dict[str, tuple[float, float, int]]:
    """Table 1, as the authors' code cuts the bins."""
    y, _ = _sort_by_score(y, p)
    bins = code_bins(y, Options(y.size // 20, y.size // 5))
    return {name: _spread(y, bins[key]) for name, key in zip(RULES, "VPQ", strict=True)}


def _spread(y: Array, first: Array) -> tuple[float, float, int]:
    sizes = np.diff(np.append(first, y.size))
    rate = np.add.reduceat(y, first) / sizes
    variance = rate * (1 - rate)
    return float(variance @ sizes) / y.size, float(variance.mean()), int(first.size)


def code_bins(y: Array, options: Options) -> dict[str, Array]:
    """First row of each bin, for labels sorted by score: PAVA-BC, quantiles, PAVA."""
    labels = y.tolist()
    cuts = (np.linspace(0, 1, options.n_bins + 1) * y.size).astype(np.int64)
    return {
        "P": _starts(_blocks(labels, options.n_min, options.n_max)),
        "Q": cuts[:-1][np.diff(cuts) > 0],
        "V": _starts(_blocks(labels, 0, y.size)),
    }


def _sort_by_score(y: Array, p: Array) -> tuple[Array, Array]:
    order = np.argsort(p, kind="stable")
    return np.asarray(y)[order].astype(np.int64), np.asarray(p)[order].astype(np.float64)


def _starts(sizes: list[int]) -> Array:
    return np.cumsum([0, *sizes[:-1]])


def _blocks(labels: list[int], n_min: int, n_max: int) -> list[int]:
    """Block sizes of Algorithm 2, with the code's rule for the rows kept back; n_min = 0 is PAVA."""
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


def _tce(y: Array, p: Array, first: Array, alpha: float, *, t: bool = False) -> float:
    k, n = np.add.reduceat(y, first), np.diff(np.append(first, y.size))
    wrong = (
        t_rejections(k, n, first, p, alpha, deviation="variance") if t else binomial_rejections(k, n, first, p, alpha)
    )
    return float(100 * wrong.sum() / y.size)


def _gaps(y: Array, p: Array, first: Array) -> tuple[Array, Array]:
    sizes = np.diff(np.append(first, y.size))
    return np.abs(np.add.reduceat(y - p, first)) / sizes, sizes


# ---------------------------------------------------------------------------------------------------- tables

_PROCEDURES = {"code": "by the authors' code", "text": "by the text (this library)"}
_ALIKE = "by the authors' code and by the text alike"


def by_both(y: Array, p: Array, options: Options) -> dict[str, dict[str, float]]:
    """The measures by both procedures."""
    return {"code": by_code(y, p, options), "text": by_text(y, p, options)}


def tables_by_both(
    title: str,
    source: str,
    headings: Sequence[str],
    lines: Sequence[tuple[tuple[str, ...], Mapping[str, Numbers], Numbers]],
    *,
    note: str = "",
) -> list[Table]:
    """A table per procedure, or one if both agree; a line has labels, our numbers by procedure, published numbers."""
    alike = all(
        abs(value - ours["text"][measure]) < _SAME for _, ours, _ in lines for measure, value in ours["code"].items()
    )
    tables = []
    for key, words in ({"code": _ALIKE} if alike else _PROCEDURES).items():
        chosen = [(labels, ours[key], published) for labels, ours, published in lines]
        tables.append(comparison(f"{title}, {words}", source, headings, chosen, note=note))
    return tables


def comparison(
    title: str,
    source: str,
    headings: Sequence[str],
    lines: Iterable[tuple[tuple[str, ...], Numbers, Numbers]],
    *,
    note: str = "",
    counted: bool = True,
) -> Table:
    """A line per setting (labels, our numbers, published numbers), a column per measure.

    Numbers that are not `counted` are shown beside the published ones but not expected to agree.
    """
    rows = [
        Row(
            (*labels, measure),
            value,
            published=published.get(measure) if counted else None,
            printed="" if counted or measure not in published else f"{published[measure]:.4f}",
        )
        for labels, ours, published in lines
        for measure, value in ours.items()
    ]
    return Table(title, source, (*headings, "measure"), tuple(rows), within=ROUNDING, note=note, across="measure")


def percent(share: float) -> str:
    """0.5 as "50 %"."""
    return f"{100 * share:g} %"
