"""The omnibus test of a matrix of scores: every class, or the k largest scores, tested at once.

One class is drawn per row and set of labels, so the columns of a row keep their dependence. Each column is a binary
problem with its own cells and the statistics of :mod:`trueness.infer.test._omnibus_statistics`, all functions of the
events in its cells. :func:`trueness.calibration_test` says how they are combined, and how time and memory are bounded.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueness._input.sample import Sample
from trueness._tally.cells import Cells
from trueness._tally.row_sums import cells_of_rows
from trueness.infer.null._redrawn_labels import draw_classes, impossible_in_words
from trueness.infer.test._method import Outcome
from trueness.infer.test._omnibus import (
    SOME,
    combination,
    combined_pvalues,
    extremeness,
    ranks,
    sizes,
    strongest_in_words,
)
from trueness.infer.test._omnibus_statistics import FORMS, NAMES, WORDS, Statistics, evidence, log_ratio, weights_at
from trueness.typing import Floats, Ints

_CELLS, _FEWEST_CELLS = 20_000, 8
_MOST_CLASSES, _MOST_VALUES, _FEWEST_DRAWS = 2 * 10**8, 4 * 10**7, 199
# Values of a set of labels in a column: four statistics and fourteen forms.
_STATISTICS = 18
_BLOCK = 1 << 21
"""Numbers of a batch."""


class Problem(NamedTuple):
    """One binary problem and the values of the observed and the drawn labels, in columns."""

    name: str
    values: Floats
    rows: float
    expected: float
    """Expected events."""
    deviation: float
    """Null standard deviation of the events."""

    @property
    def deviance(self) -> Floats:
        """Of the number of events. Unlike ranks it has no floor, so the largest of very many problems stands out."""
        events = np.clip(self.expected + self.deviation * self.values[FORMS], 0, self.rows)
        both = log_ratio(events, self.expected) + log_ratio(self.rows - events, self.rows - self.expected)
        return np.asarray(2 * both)


def joint_outcome(problems: Sequence[Problem], draws: int, what: str) -> Outcome:
    """The p-value of all problems together, and that of each.

    Two statistics are combined: the sum over problems of their own combinations, and their largest deviance.
    """
    total, lower, largest = np.zeros(draws + 1), np.zeros(draws + 1), np.zeros(draws + 1)
    alone: dict[str, float] = {}
    leaders = []
    for problem in problems:
        strength, deviance = extremeness(evidence(problem.values)), problem.deviance
        own = combination(strength, weights_at(problem.expected / problem.rows))
        total, largest = total + own, np.maximum(largest, deviance)
        lower += np.log([ranks(-row) for row in sizes(problem.values)]).sum(axis=0)
        alone[problem.name] = float(ranks(own)[0])
        statistic = NAMES[int(strength[:, 0].argmax())]
        leaders.append((alone[problem.name], -float(deviance[0]), f"{problem.name}, {WORDS[statistic]}"))
    pvalue = float(combined_pvalues(np.array([total, largest]), np.ones(2))[1][0])
    smallest, _, strongest = min(leaders)
    words = (
        f"Rows are independent; the level is exact at any n: {draws:,} sets of labels were drawn from the scores, for "
        f"all {len(alone):,} {what} together.{strongest_in_words(strongest, smallest, 'for it alone')}"
    )
    details = {
        "alone": alone,
        "strongest": strongest if smallest < SOME else "",
        "too_good": float(ranks(-lower)[0]),
    }
    return Outcome(smallest, pvalue, words, 1 / (draws + 1), details)


def parts_outcome(parts: Sequence[Cells], names: Sequence[Hashable], draws: int, rng: np.random.Generator) -> Outcome:
    """The test of several problems that share no row."""
    problems = []
    for cells, name in zip(parts, names, strict=True):
        if cells.size:
            statistics = Statistics(cells)
            problems.append(_problem(_class_name(name), statistics, statistics.observed_and_drawn(draws, rng)))
    return joint_outcome(problems, draws, "predicted classes")


def _class_name(name: Any) -> str:
    plain = name.item() if hasattr(name, "item") else name
    return f"class {plain!r}"


def _problem(name: str, statistics: Statistics, values: Floats) -> Problem:
    rows, expected = float(statistics.total.sum()), float(statistics.expected.sum())
    return Problem(name, values, rows, expected, float(statistics.deviation[0]))


class Matrix(NamedTuple):
    """Scores of disjoint outcomes and the outcome of each row, which is K if it is none of them."""

    p: Floats
    y: Ints
    names: tuple[str, ...]


def moved_inside(p: Floats, y: Ints, unit: float) -> Floats:
    """The scores with zeros moved to the share of their class, by at most half a unit, and rows that sum to one."""
    zero = p == 0
    wrong = (zero & (y[:, np.newaxis] == np.arange(p.shape[1]))).sum(axis=0)
    moved = np.where(zero, np.minimum(unit / 2, wrong / np.maximum(zero.sum(axis=0), 1)), p)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def largest_of(p: Floats, y: Ints, k: int) -> Matrix:
    """The k largest scores of each row, the largest first; of equal ones the smallest class first."""
    which = np.argsort(-p, axis=1, kind="stable")[:, :k]
    hit = which == y[:, np.newaxis]
    names = tuple(f"score {r + 1} of the {k} largest" for r in range(k))
    return Matrix(np.take_along_axis(p, which, axis=1), np.where(hit.any(axis=1), hit.argmax(axis=1), k), names)


def matrix_outcome(
    p: Floats,
    y: Ints,
    names: Sequence[Hashable],
    k: int | None,
    draws: int | None,
    rng: np.random.Generator,
    rounded_to: float | None = None,
) -> Outcome:
    """The test of every class or, with `k`, of the k largest scores of each row."""
    contradicted = int((p[np.arange(y.size), y] == 0).sum())
    have = "has" if contradicted == 1 else "have"
    impossible = f"{contradicted:,} of {y.size:,} rows {have} a class of score exactly 0"
    if contradicted and rounded_to is None:
        details = {"contradicted": contradicted, "strongest": "labels that are impossible under the scores"}
        return Outcome(0.0, 0.0, impossible_in_words(impossible, None), details=details)
    p = moved_inside(p, y, rounded_to) if contradicted and rounded_to is not None else p
    matrix = Matrix(p, y, tuple(map(_class_name, names))) if k is None else largest_of(p, y, k)
    outcome = matrix_test(matrix, draws, rng, largest=k is None)
    if not contradicted:
        return outcome
    words = impossible_in_words(impossible, rounded_to)
    details = {**outcome.details, "too_good": None, "contradicted": contradicted}
    return outcome._replace(assumptions=f"{words} {outcome.assumptions}", details=details)


def matrix_test(matrix: Matrix, draws: int | None, rng: np.random.Generator, *, largest: bool) -> Outcome:
    """The test of the columns of a matrix; with `largest`, of the largest score of each row too."""
    columns = [_Column(matrix.p[:, j], matrix.y == j, len(matrix.names)) for j in range(len(matrix.names))]
    names, top = list(matrix.names), matrix.p.argmax(axis=1)
    if largest:
        columns.append(_Column(matrix.p.max(axis=1), matrix.y == top, len(matrix.names)))
        names.append("the largest score")
    offset = np.concatenate([[0], np.cumsum([column.expected.size for column in columns])])
    draws = affordable_draws(len(matrix.p), len(columns)) if draws is None else draws
    cell = np.stack([column.cell for column in columns], axis=1)
    batches: list[list[Floats]] = [[column.values(column.hits[:, np.newaxis])] for column in columns]
    for hits in _drawn_hits(matrix.p, cell, offset, top if largest else None, draws, rng):
        for j, column in enumerate(columns):
            batches[j].append(column.values(hits[offset[j] : offset[j + 1]]))
    problems = [
        _problem(name, column.statistics, np.concatenate(values, axis=1))
        for name, values, column in zip(names, batches, columns, strict=True)
        if column.varies
    ]
    what = "problems (each class, and the largest score)" if largest else "scores"
    return joint_outcome(problems, draws, what)


def affordable_draws(rows: int, columns: int) -> int:
    """999 draws, or as many as the limits on drawn classes and statistics allow, but at least 199."""
    return min(999, max(_FEWEST_DRAWS, min(_MOST_CLASSES // rows, _MOST_VALUES // (_STATISTICS * columns))))


class _Column:
    """One column: the cell of each row, and the statistics as functions of the events in the cells."""

    def __init__(self, p: Floats, event: Any, columns: int) -> None:
        cells = cells_of_rows(Sample(event.astype(np.uint8), p))
        self.statistics = s = Statistics(cells, most=max(_FEWEST_CELLS, _CELLS // columns))
        self.varies = float(s.variance.sum()) > 0
        kind = np.min_scalar_type(s.low.size)
        self.cell: Ints = (np.searchsorted(s.low, p, side="right") - 1).astype(kind)
        self.hits = np.bincount(self.cell, event, s.low.size)
        self.expected = s.expected
        z, count, _, _ = s.entries
        v = count * z * (1 - z)
        weight = np.maximum(np.add.reduceat(v, s.first), 1e-290)
        # Within a cell a form is its mean, so that the events of the cells say everything.
        self.forms = np.add.reduceat(s.forms * v, s.first, axis=1) / weight
        self.slopes = [np.add.reduceat(error.slope * count, s.first) / s.total for error in s.errors]
        s.deviation = np.sqrt(self.forms**2 @ s.variance)

    def values(self, hits: Any) -> Floats:
        """The values of each column of `hits`, the events in the cells."""
        excess = hits - self.expected[:, np.newaxis]
        errors = zip(self.statistics.errors, self.slopes, strict=True)
        return self.statistics.of_sums(excess, self.forms @ excess, [e.square + slope @ hits for e, slope in errors])


def _drawn_hits(
    p: Floats, cell: Ints, offset: Ints, top: Ints | None, draws: int, rng: np.random.Generator
) -> Iterator[Ints]:
    """Events in all cells of all columns, of shape (cells, draws), a batch of draws at a time."""
    rows, classes = p.shape
    reached, size = np.cumsum(p, axis=1), int(offset[-1])
    # Rows whose scores do not sum to one may have none of the classes; those that do must have one.
    reached[np.abs(reached[:, -1] - 1) < 1e-6, -1] = 1.0
    step = max(1, min(draws, 2 * _BLOCK // size))
    for begin in range(0, draws, step):
        batch = min(step, draws - begin)
        hits = np.zeros(size * batch, dtype=np.int64)
        for start in range(0, rows, max(1, _BLOCK // batch)):
            some = slice(start, min(rows, start + max(1, _BLOCK // batch)))
            drawn = draw_classes(reached[some], batch, rng)
            row, column = np.nonzero(drawn < classes)
            label = drawn[row, column]
            at = [(offset[label] + cell[some][row, label]) * batch + column]
            if top is not None:
                right = label == top[some][row]
                at.append((offset[classes] + cell[some][row[right], classes]) * batch + column[right])
            hits += np.bincount(np.concatenate(at), minlength=size * batch)
        yield hits.reshape(size, batch)
