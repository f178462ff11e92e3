"""The common form of all tests of calibration: from cells and options to an outcome."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule
from trueness.errors import InputError
from trueness.results import Significance
from trueness.typing import Floats, Ints


class Entries(NamedTuple):
    """Rows of the same score and weight, in order of their scores."""

    z: Floats
    rows: Ints
    """Number of rows, whose labels are independent."""
    weight: Floats
    """The weight of each of these rows."""
    hits: Ints
    """Rows with label 1."""


def have_equal_weights(cells: Cells) -> bool:
    """Whether all rows of a score have the same weight."""
    w = cells.weight.astype(np.float64)
    return cells.squares is None or np.allclose(
        cells.count * cells.squares, w * w, rtol=1e-9, atol=0
    )


def entries_of_equal_weights(cells: Cells) -> Entries:
    """The rows of cells whose weights do not count them, one entry per score.

    `cells` are the sums per distinct score. An entry has a score, the number of its rows, the
    weight of each, and the number of events. All rows of a score must have the same weight, because
    sums do not tell different ones apart; otherwise there is an InputError.
    """
    if not have_equal_weights(cells):
        demand = "must be equal for all rows of a score if only their sums are there"
        got = "rows of one score have different weights"
        raise InputError("sample_weight", demand, got, remedy="Pass the rows.")
    weight = cells.weight.astype(np.float64) / cells.count
    hits = np.rint(cells.events / weight).astype(np.int64)
    return Entries(cells.score, cells.count, weight, hits)


def entries_of_rows(y: NDArray[Any], p: Floats, w: Floats) -> Entries:
    """Rows with these labels, scores and weights; those of equal score and weight are one entry.

    `y` are the labels 0 and 1, `p` the scores and `w` the weights. The result has, for each entry,
    the score, the weight of each of its rows, their number and that of those with label 1. Entries
    ascend by score, then by weight. Rows of weight 0 are left out.
    """
    y, p, w = (column[w > 0] for column in (y, p, w))
    order = np.lexsort((w, p))
    y = y[order]
    p = p[order]
    w = w[order]
    is_new = (np.diff(p) != 0) | (np.diff(w) != 0)
    first = np.flatnonzero(np.concatenate([[True], is_new]))
    return Entries(
        z=p[first],
        rows=np.diff(np.append(first, p.size)),
        weight=w[first],
        hits=np.add.reduceat(y.astype(np.int64), first),
    )


def entry_of_each_row(p: Floats, w: Floats) -> Ints:
    """The place of each row among the entries of :func:`entries_of_rows`.

    From the scores and weights of the rows; no weight may be 0.
    """
    order = np.lexsort((w, p))
    is_new = (np.diff(p[order]) != 0) | (np.diff(w[order]) != 0)
    place = np.empty(p.size, dtype=np.int64)
    place[order] = np.concatenate([[0], np.cumsum(is_new)])
    return place


class Options(NamedTuple):
    """The checked options of a test; None where the default applies."""

    rule: BinRule | None
    resamples: int | None
    seed: int
    fitted: bool
    classes: int | None
    """Columns of the matrix of scores whose largest entry is tested; None for a vector."""
    rounded_to: float | None = None
    """The unit to which scores were rounded."""
    entries: Entries | None = None
    """Rows whose weights are not whole numbers, so that their labels can be drawn."""


class Outcome(NamedTuple):
    """The outcome of a test, before it is a public record."""

    statistic: float
    pvalue: float
    assumptions: str
    smallest: float = 0.0
    """The smallest p-value that the method can give."""
    details: Mapping[str, Any] = {}
    """Further fields of :class:`trueness.results.Significance`, by name."""

    def significance(self, method: str, n: int) -> Significance:
        """The public record of this outcome of a method, for `n` rows."""
        details = {**self.details, "smallest_pvalue": self.smallest}
        return Significance(self.statistic, self.pvalue, method, n, self.assumptions, **details)


def standardised(value: float, deviation: float) -> float:
    """A sum of residuals in standard deviations.

    Without deviation, it is 0 for 0 and infinite for anything else, which is impossible.
    """
    if deviation > 0:
        return value / deviation
    return 0.0 if value == 0 else math.copysign(math.inf, value)


Test: TypeAlias = Callable[[Cells, Options], Outcome]


def significance(cells: Cells, method: str, outcome: Outcome) -> Significance:
    """The public record of the outcome of a method.

    `cells` are the sums per distinct score. Scores of only 0 and 1 leave nothing to chance: the
    p-value is then 1 if all labels agree, and else the smallest that the method can give. An
    outcome that already says how many labels contradict such scores is left as it is.
    """
    p = cells.score
    n = int(cells.totals.weight if cells.whole else cells.totals.rows)
    if not ((p > 0) & (p < 1)).any() and not outcome.details.get("contradicted"):
        agree = bool((cells.events == cells.weight * p).all())
        outcome = outcome._replace(pvalue=1.0 if agree else outcome.smallest)
    return outcome.significance(method, n)


def observed_events(cells: Cells) -> Floats:
    """The observed events, as a batch of one row."""
    return cells.events.astype(np.float64)[np.newaxis, :]


_TAKERS = "`method='omnibus'`, 'ks', 'kuiper', 'spiegelhalter', 'cox' and 'hosmer-lemeshow'"


def require_counts(cells: Cells, what: str, takers: str = _TAKERS) -> Cells:
    """The cells, if their weights count rows.

    Otherwise an error that names the methods that take other weights.
    """
    if not cells.whole:
        demand = f"must be whole numbers that sum to less than 2³⁵ for {what}, which counts rows"
        raise InputError("sample_weight", demand, remedy=f"Other weights are taken by {takers}.")
    return cells
