"""The measures of Matsubara et al. 2023, as the paper defines them and as the authors' code computes them.

The text is what this library implements. The code differs in five points: every block of Algorithm 2 is a bin, where
Algorithm 3 joins neighbours of equal rate; the rows kept back at the upper end join the last block if 2 N_min ≤ N_max,
however large that block is; quantile bins are cut at the whole part of linspace(0, 1, B + 1) * N, where rounding turns
1740 into 1739; equal scores are split in the order in which an unstable sort leaves them; and the t test divides by the
variance.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias
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
    "Line",
    "Options",
    "by_both",
    "by_code",
    "by_text",
    "code_bins",
    "comparison",
    "errors_by_code",
    "errors_by_text",
    "four_by_text",
    "percent",
    "tce_variant",
    "tests_by_code",
    "tests_by_text",
    "uncounted",
]

MEASURES = ("TCE(P)", "TCE(Q)", "TCE(V)", "ECE", "ACE", "MCE", "MCE(Q)")
TESTS = ("TCE(P)-B", "TCE(P)-T", "TCE(Q)-B", "TCE(Q)-T", "TCE(V)-B", "TCE(V)-T")
RULES = ("PAVA", "PAVA-BC", "quantiles")

Array: TypeAlias = NDArray[Any]
Numbers: TypeAlias = Mapping[str, float]

Ties: TypeAlias = Literal["quicksort", "rows"]
"""The order of rows with equal scores: as NumPy's unstable sort leaves them, or as they come."""
End: TypeAlias = Literal["code", "text"]
"""When the rows kept back join the last block: if 2 N_min ≤ N_max, or if the joint block has at most N_max rows."""

# Half a unit of the fourth digit, and a little for binary rounding.
ROUNDING = 5.01e-5


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


def _rules(options: Options, *, fuse: bool = True) -> dict[str, Any]:
    """The bins of the paper; without `fuse`, every block of Algorithm 2 is one."""
    return {
        "P": BlockIsotonic(options.n_min, options.n_max, fuse=fuse),
        "Q": EqualMass(options.n_bins),
        "V": Isotonic(),
    }


def by_text(y: Array, p: Array, options: Options) -> dict[str, float]:
    """The measures as the paper defines them."""
    with _ignore_one_class():
        tested = {
            f"TCE({name})": tce(y, p, bins=rule, alpha=options.alpha)
            for name, rule in _rules(options).items()
        }
        n = options.n_bins
        plain = {"ECE": ece(y, p, bins=n), "ACE": ace(y, p, bins=n), "MCE": mce(y, p, bins=n)}
        return {**tested, **plain, "MCE(Q)": mce(y, p, bins=EqualMass(n))}


def four_by_text(y: Array, p: Array, options: Options) -> dict[str, float]:
    """The measures of Table 2 without those that take longest; every block is a bin, as in the published numbers."""
    rules = _rules(options, fuse=False)
    with _ignore_one_class():
        tested = {f"TCE({name})": tce(y, p, bins=rules[name], alpha=options.alpha) for name in "PQ"}
        return {
            **tested,
            "ECE": ece(y, p, bins=options.n_bins),
            "ACE": ace(y, p, bins=options.n_bins),
        }


def tests_by_text(y: Array, p: Array, options: Options, *, fuse: bool) -> dict[str, float]:
    """TCE by the binomial test and by the t test."""
    with _ignore_one_class():
        return {
            f"TCE({name})-{test[0].upper()}": tce(y, p, bins=rule, test=test, alpha=options.alpha)
            for name, rule in _rules(options, fuse=fuse).items()
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


def tce_variant(
    y: Array, p: Array, options: Options, *, ties: Ties = "quicksort", end: End = "code"
) -> dict[str, float]:
    """TCE(P) and TCE(Q) as by the code, but for the order of equal scores or the rule for the upper end."""
    y, p = _sort_by_score(y, p, ties)
    bins = {
        "P": _starts(_blocks(y.tolist(), options.n_min, options.n_max, end)),
        "Q": _quantile_cuts(y.size, options),
    }
    return {f"TCE({name})": _tce(y, p, first, options.alpha) for name, first in bins.items()}


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
    return {
        "P": _starts(_blocks(labels, options.n_min, options.n_max)),
        "Q": _quantile_cuts(y.size, options),
        "V": _starts(_blocks(labels, 0, y.size)),
    }


def _quantile_cuts(n: int, options: Options) -> Array:
    cuts = (np.linspace(0, 1, options.n_bins + 1) * n).astype(np.int64)
    return cuts[:-1][np.diff(cuts) > 0]


def _sort_by_score(y: Array, p: Array, ties: Ties = "quicksort") -> tuple[Array, Array]:
    # The authors sorted by NumPy's default, which is not stable. Its order of equal scores depends on the processor
    # since NumPy 1.25, except for long doubles, which are still sorted by the loops of then.
    order = (
        np.argsort(p, kind="stable")
        if ties == "rows"
        else np.argsort(np.asarray(p, dtype=np.longdouble))
    )
    return np.asarray(y)[order].astype(np.int64), np.asarray(p)[order].astype(np.float64)


def _starts(sizes: list[int]) -> Array:
    return np.cumsum([0, *sizes[:-1]])


def _blocks(labels: list[int], n_min: int, n_max: int, end: End = "code") -> list[int]:
    """Block sizes of Algorithm 2, by default with the code's rule for the rows kept back; n_min = 0 is PAVA."""
    events: list[int] = []
    sizes: list[int] = []
    for label in labels[: len(labels) - n_min]:
        e, n = label, 1
        while sizes and (
            sizes[-1] + n <= n_min or (sizes[-1] + n <= n_max and events[-1] / sizes[-1] >= e / n)
        ):
            e, n = e + events.pop(), n + sizes.pop()
        events.append(e)
        sizes.append(n)
    if n_min and (n_min if end == "code" else sizes[-1]) + n_min <= n_max:
        sizes[-1] += n_min
    elif n_min:
        sizes.append(n_min)
    return sizes


def _tce(y: Array, p: Array, first: Array, alpha: float, *, t: bool = False) -> float:
    k, n = np.add.reduceat(y, first), np.diff(np.append(first, y.size))
    wrong = (
        t_rejections(k, n, first, p, alpha, published=True)
        if t
        else binomial_rejections(k, n, first, p, alpha)
    )
    return float(100 * wrong.sum() / y.size)


def _gaps(y: Array, p: Array, first: Array) -> tuple[Array, Array]:
    sizes = np.diff(np.append(first, y.size))
    return np.abs(np.add.reduceat(y - p, first)) / sizes, sizes


# ---------------------------------------------------------------------------------------------------- tables


_NONE: Mapping[str, Any] = MappingProxyType({})


class Line(NamedTuple):
    """The numbers of one setting by measure: ours by the text and by the code, stored and printed ones."""

    labels: tuple[str, ...]
    text: Numbers = _NONE
    code: Numbers = _NONE
    authors: Numbers = _NONE
    printed: Mapping[str, str] = _NONE
    note: str = ""


def by_both(y: Array, p: Array, options: Options) -> dict[str, dict[str, float]]:
    """The measures by both procedures, and by the text but with every block of Algorithm 2 as a bin."""
    text = by_text(y, p, options)
    with _ignore_one_class():
        apart = tce(y, p, bins=_rules(options, fuse=False)["P"], alpha=options.alpha)
    return {"code": by_code(y, p, options), "text": text, "blocks": {**text, "TCE(P)": apart}}


def comparison(
    title: str, source: str, headings: Sequence[str], lines: Iterable[Line], *, note: str = ""
) -> Table:
    """A column per measure, and for each setting a line per source of numbers."""
    rows = []
    for line in lines:
        for measure in dict.fromkeys([*line.printed, *line.authors, *line.code]):
            printed = line.printed.get(measure, "")
            row = Row(
                (*line.labels, measure),
                published=float(printed) if printed else None,
                printed=printed,
                authors=line.authors.get(measure),
                text=line.text.get(measure),
                code=line.code.get(measure),
                note=line.note,
            )
            rows.append(row)
    order = {measure: i for i, measure in enumerate((*MEASURES, *TESTS, *RULES))}
    rows.sort(
        key=lambda row: order[row.labels[-1]]
    )  # columns in the usual order; lines keep theirs
    return Table(
        title,
        source,
        (*headings, "measure"),
        tuple(rows),
        within=ROUNDING,
        note=note,
        across="measure",
    )


def uncounted(
    title: str,
    source: str,
    headings: Sequence[str],
    lines: Iterable[tuple[tuple[str, ...], Numbers, Mapping[str, str]]],
    *,
    note: str,
) -> Table:
    """Our numbers by labels, with printed ones in brackets that are not expected to agree."""
    rows = [
        Row((*labels, measure), value, printed=printed.get(measure, ""))
        for labels, ours, printed in lines
        for measure, value in ours.items()
    ]
    return Table(title, source, (*headings, "measure"), tuple(rows), note=note, across="measure")


def percent(share: float) -> str:
    """0.5 as "50 %"."""
    return f"{100 * share:g} %"
