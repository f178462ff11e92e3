"""The omnibus test of a matrix of scores: every class, or the k largest scores, tested at once.

One class is drawn per row and set of labels, so the columns of a row keep their dependence. Each
column is a binary problem with its own cells and the statistics of
:mod:`trueness.infer.test._omnibus_statistics`, all functions of the events in its cells.
:func:`trueness.calibration_test` says how they are combined, and how time and memory are bounded.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._input.sample import Sample
from trueness._numerics.streams import stream
from trueness._tally.cells import Cells
from trueness._tally.clusters import order_by_content
from trueness._tally.row_sums import cells_of_rows
from trueness.infer.null._redrawn_labels import (
    draw_classes,
    impossible_in_words,
    impossible_outcome,
    label_batches,
)
from trueness.infer.test._method import Options, Outcome
from trueness.infer.test._omnibus import (
    SOME,
    combination,
    extremeness,
    ranks,
    sizes,
    strongest_in_words,
)
from trueness.infer.test._omnibus_statistics import (
    FORMS,
    NAMES,
    WORDS,
    Statistics,
    evidence,
    log_ratio,
    weights_at,
)
from trueness.typing import Bools, Floats, Ints

# The notes of :func:`trueness.calibration_test` say how these limits bound time and memory.
_CELLS = 20_000
"""Cells of all columns together; a column has at least `_FEWEST_CELLS`."""
_FEWEST_CELLS = 8
_MOST_CLASSES = 2 * 10**8
"""Classes that are drawn, in all draws; the second limit is that of statistics."""
_MOST_VALUES = 4 * 10**7
_FEWEST_DRAWS = 199
_DRAWS = 999
_MORE = 2 * 10**7
"""Classes and statistics of further draws, which take about a second."""
_OPEN = 0.2
"""Up to this p-value there are further draws."""
_LARGEST = "the largest score"
# Values of a set of labels in a column: four statistics and fourteen forms.
_STATISTICS = 18
_BLOCK = 1 << 21
"""Numbers of a batch."""
Draw: TypeAlias = Callable[[int, np.random.Generator], Iterator[list[Floats]]]
"""Values of each problem for a number of drawn sets of labels, in batches."""


class Problem:
    """One binary problem, with its statistics of labels that were drawn once for comparison.

    Its methods take the values of sets of labels in columns, as :meth:`Statistics.of_sums` gives
    them, and return a number for each set.
    """

    def __init__(self, name: str, statistics: Statistics, reference: Floats) -> None:
        """`reference` are the values of the labels drawn for comparison."""
        self.name = name
        self.reference = reference
        self.evidence = evidence(reference, reference)
        self.rows = float(statistics.total.sum())
        self.expected = float(statistics.expected.sum())
        self.deviation = float(statistics.deviation[0])
        self.sizes = -sizes(reference)

    def strength(self, values: Floats) -> Floats:
        """The negative logarithm of the p-value of each statistic, with a row for each."""
        return extremeness(evidence(values, self.reference), self.evidence)

    def combined(self, values: Floats) -> Floats:
        """All statistics together."""
        return combination(self.strength(values), weights_at(self.expected / self.rows))

    def deviance(self, values: Floats) -> Floats:
        """The deviance of the number of events.

        Unlike ranks it has no floor, so the largest of very many problems stands out.
        """
        events = np.clip(self.expected + self.deviation * values[FORMS], 0, self.rows)
        of_events = log_ratio(events, self.expected)
        of_non_events = log_ratio(self.rows - events, self.rows - self.expected)
        return 2 * (of_events + of_non_events)

    def agreement(self, values: Floats) -> Floats:
        """Large if the labels agree with the scores too well."""
        pairs = zip(-sizes(values), self.sizes, strict=True)
        return np.asarray(-np.log([ranks(row, among) for row, among in pairs]).sum(axis=0))


class Draws(NamedTuple):
    """How many sets of labels are drawn."""

    first: int
    in_all: int
    """If the first ones leave the decision open."""


def joint_outcome(
    named: Sequence[tuple[str, Statistics]],
    observed: Sequence[Floats],
    drawn: Draw,
    draws: Draws,
    seed: int,
    what: str,
) -> Outcome:
    """The p-value of all problems together, and that of each.

    `named` are the names and statistics of the problems, `observed` the values of the observed
    labels in each, and `drawn` draws values; `what` is a word for the problems. Two statistics are
    combined: the sum over problems of their own combinations, and their largest deviance. They are
    ranked among labels drawn with a fixed seed, so that `seed` decides only the draws that are
    counted.
    """
    rng = stream(seed, "labels")
    # The reference labels must be independent of those that are counted, hence another seed.
    batches = drawn(draws.first, np.random.default_rng([draws.first, 0x7472]))
    reference = [np.concatenate(parts, axis=1) for parts in zip(*batches, strict=True)]
    problems = [
        Problem(name, statistics, values)
        for (name, statistics), values in zip(named, reference, strict=True)
    ]
    null = _measured(problems, reference)[:2]

    def joint(values: Floats) -> Floats:
        """Sum and largest deviance together, for sets of labels in columns."""
        return combination(extremeness(values[:2], null), np.ones(2))

    first_draws = [_measured(problems, batch) for batch in drawn(draws.first, rng)]
    table = np.hstack([_measured(problems, observed), *first_draws])
    values = joint(table)
    pvalue = float(ranks(values)[0])
    too_good, *of_problems = [float(ranks(row)[0]) for row in table[2:]]
    if draws.in_all > draws.first and 1.5 / (draws.first + 1) < pvalue <= _OPEN:
        more = drawn(draws.in_all - draws.first, rng)
        values = np.hstack([values, *(joint(_measured(problems, batch)) for batch in more)])
        pvalue = _pvalue_of_two_stages(float(ranks(values)[0]), draws)
    alone = {problem.name: p for problem, p in zip(problems, of_problems, strict=True)}
    smallest, _, strongest = min(
        (alone[problem.name], -float(problem.deviance(v)[0]), _strongest_in_words(problem, v))
        for problem, v in zip(problems, observed, strict=True)
    )
    words = (
        f"Rows are independent; the level is exact at any n: {values.size - 1:,} sets of labels "
        f"were drawn from the scores, for all {len(alone):,} {what} together."
        f"{strongest_in_words(strongest, smallest, 'for it alone')}"
    )
    details = {
        "alone": alone,
        "strongest": strongest if smallest < SOME else "",
        "too_good": too_good,
    }
    return Outcome(smallest, pvalue, words, 1 / (draws.first + 1), details)


def _measured(problems: Sequence[Problem], values: Sequence[Floats]) -> Floats:
    """The statistics by which sets of labels are ranked; each set is a column.

    A problem is one binary test, such as that of a class. It combines its statistics into one
    number for each set, large if the scores look miscalibrated. The rows of the result are the sum
    of these numbers over problems, the largest deviance of a problem's number of events, the sum of
    their agreements (large if labels agree too well), and the number of each problem.
    """
    pairs = list(zip(problems, values, strict=True))
    combined = np.array([problem.combined(v) for problem, v in pairs])
    largest = np.max([problem.deviance(v) for problem, v in pairs], axis=0)
    agreement = sum(problem.agreement(v) for problem, v in pairs)
    return np.vstack([combined.sum(axis=0), largest, agreement, combined])


def _pvalue_of_two_stages(rank: float, draws: Draws) -> float:
    """The p-value from the rank among all draws, as a share, of labels not decided by the first.

    The probability of having stopped after the first draws, at the smallest possible p-value, and
    being at most as extreme in the end is added: the level is exact.
    """
    above = rank * (draws.in_all + 1)
    stopped = (1 - draws.first / draws.in_all) ** above * draws.in_all / draws.first
    return float((above + stopped) / (draws.in_all + 1))


def _strongest_in_words(problem: Problem, values: Floats) -> str:
    """The problem and its statistic that is most extreme in the first set of labels."""
    name = NAMES[int(problem.strength(values)[:, 0].argmax())]
    return f"{problem.name}, {WORDS[name]}"


def parts_outcome(parts: Sequence[Cells], names: Sequence[Hashable], options: Options) -> Outcome:
    """The test of several problems that share no row, given by the sums and the name of each.

    Problems without rows are left out.
    """
    pairs = [
        (cells, _class_name(name)) for cells, name in zip(parts, names, strict=True) if cells.size
    ]
    pairs.sort(key=lambda pair: pair[0].content)
    problems = [Statistics(cells) for cells, _ in pairs]
    scores = np.concatenate([statistics.entries.z for statistics in problems])[:, np.newaxis]
    rows = np.concatenate([statistics.entries.rows for statistics in problems])
    ends = np.cumsum([statistics.entries.rows.size for statistics in problems])[:-1]

    def drawn(count: int, rng: np.random.Generator) -> Iterator[list[Floats]]:
        """The values of drawn labels in each problem, in batches."""
        for (hits,) in label_batches(scores, rows, count, rng):
            events = np.split(hits, ends)
            yield [statistics(part) for statistics, part in zip(problems, events, strict=True)]

    observed = [statistics(statistics.entries.hits[:, np.newaxis]) for statistics in problems]
    named = [(name, statistics) for (_, name), statistics in zip(pairs, problems, strict=True)]
    first = options.resamples or _DRAWS
    draws = Draws(first, options.resamples or more_draws(first, rows.size, len(named)))
    outcome = joint_outcome(named, observed, drawn, draws, options.seed, "predicted classes")
    return _in_order(outcome, map(_class_name, names))


def _in_order(outcome: Outcome, names: Iterable[str]) -> Outcome:
    """The outcome with its problems in the order of the names."""
    alone = outcome.details["alone"]
    alone = {name: alone[name] for name in names if name in alone}
    return outcome._replace(details={**outcome.details, "alone": alone})


def _class_name(name: Hashable) -> str:
    """A class in words; NumPy's numbers read like Python's."""
    plain = name.item() if hasattr(name, "item") else name
    return f"class {plain!r}"


class Matrix(NamedTuple):
    """Scores of K disjoint outcomes, and which of them each row has."""

    p: NDArray[Any]
    """Of shape (rows, K)."""
    y: Ints
    """The column of the outcome; K if it is none of them."""
    names: tuple[str, ...]


def moved_inside(p: NDArray[Any], y: Ints, unit: float) -> Floats:
    """The scores `p` with zeros moved, by at most half a unit, for labels that contradict them.

    `p` is of shape (rows, classes) and `y` holds the class of each row. `unit` is that to which
    scores were rounded. The scores of 0 of a class become the share of its rows with score 0 that
    have this class as their label, but at most unit/2. Rows are then divided by their sum, so that
    they still sum to one.
    """
    is_zero = p == 0
    is_label = y[:, np.newaxis] == np.arange(p.shape[1])
    wrong = (is_zero & is_label).sum(axis=0)
    zeros = np.maximum(is_zero.sum(axis=0), 1)
    share = np.minimum(unit / 2, wrong / zeros)
    moved = np.where(is_zero, share, np.asarray(p, dtype=np.float64))
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def largest_of(matrix: Matrix, k: int) -> Matrix:
    """The matrix of the k largest scores of each row, the largest first.

    Its outcome is the place of the label among these scores, from 0, and k if the label is none of
    them. Of equal scores the first class comes first. The names say which score a column holds.
    """
    which = np.argsort(-matrix.p, axis=1, kind="stable")[:, :k]
    hit = which == matrix.y[:, np.newaxis]
    names = tuple(f"score {r + 1} of the {k} largest" for r in range(k))
    return Matrix(
        np.take_along_axis(matrix.p, which, axis=1),
        np.where(hit.any(axis=1), hit.argmax(axis=1), k),
        names,
    )


def matrix_outcome(
    p: NDArray[Any], y: Ints, names: Sequence[Hashable], k: int | None, options: Options
) -> Outcome:
    """The test of every class or, with `k`, of the k largest scores of each row.

    `p` are the scores, of shape (rows, classes), `y` the columns of the labels, and `names` the
    classes. Without `k` the largest score of each row is tested too.

    A label of score exactly 0 is impossible: the outcome says only that, with a p-value of 0. But
    if the scores are known to be rounded to multiples of `options.rounded_to`, zeros are moved by
    up to half of it, and the test goes on; `too_good` is then None.
    """
    contradicted = int((p[np.arange(y.size), y] == 0).sum())
    rounded_to = options.rounded_to
    have = "has" if contradicted == 1 else "have"
    impossible = f"{contradicted:,} of {y.size:,} rows {have} a class of score exactly 0"
    if contradicted and rounded_to is None:
        return impossible_outcome(impossible, contradicted)
    if contradicted and rounded_to is not None:
        p = moved_inside(p, y, rounded_to)
    rows, columns = order_by_content(p)
    of_class = tuple(map(_class_name, names))
    matrix = Matrix(
        p=p[np.ix_(rows, columns)],
        y=np.argsort(columns)[y[rows]],
        names=tuple(of_class[j] for j in columns),
    )
    if k is None:
        outcome = matrix_test(matrix, options, largest=True)
        outcome = _in_order(outcome, (*of_class, _LARGEST))
    else:
        outcome = matrix_test(largest_of(matrix, k), options, largest=False)
    if not contradicted or rounded_to is None:
        return outcome
    words = impossible_in_words(impossible, rounded_to)
    details = {**outcome.details, "too_good": None, "contradicted": contradicted}
    return outcome._replace(assumptions=f"{words} {outcome.assumptions}", details=details)


def matrix_test(matrix: Matrix, options: Options, *, largest: bool) -> Outcome:
    """The joint test of the columns of a matrix; with `largest`, of the largest scores too.

    A column is a problem of its own: its scores and whether each row has that outcome. Labels are
    drawn row by row, one outcome for each, so that the columns depend on each other as they should.
    The number of draws is `options.resamples` or, by default, what time allows. Columns whose
    scores leave nothing to chance are left out; if all are, the first is tested.
    """
    n, classes = matrix.p.shape
    names = list(matrix.names)
    columns = [_Column(matrix.p[:, j], matrix.y == j, classes) for j in range(classes)]
    top = None
    if largest:
        top = matrix.p.argmax(axis=1)
        columns.append(_Column(matrix.p.max(axis=1), matrix.y == top, classes))
        names.append(_LARGEST)
    if options.resamples:
        draws = Draws(options.resamples, options.resamples)
    else:
        by_statistics = _MOST_VALUES // (_STATISTICS * len(columns))
        first = max(_FEWEST_DRAWS, min(_DRAWS, _MOST_CLASSES // n, by_statistics))
        draws = Draws(first, more_draws(first, n, len(columns)))
    offset = np.concatenate([[0], np.cumsum([column.expected.size for column in columns])])
    cell = np.stack([column.cell for column in columns], axis=1)
    tested = [j for j, column in enumerate(columns) if column.varies] or [0]

    def drawn(count: int, rng: np.random.Generator) -> Iterator[list[Floats]]:
        """The values of drawn labels in each tested column, in batches."""
        for hits in _drawn_hits(matrix, cell, offset, top, count, rng):
            yield [columns[j].values(hits[offset[j] : offset[j + 1]]) for j in tested]

    observed = [columns[j].values(columns[j].hits[:, np.newaxis]) for j in tested]
    named = [(names[j], columns[j].statistics) for j in tested]
    what = "problems (each class, and the largest score)" if largest else "scores"
    return joint_outcome(named, observed, drawn, draws, options.seed, what)


def more_draws(draws: int, rows: int, columns: int) -> int:
    """Ten times as many draws, or as many as a second allows, and at least as many.

    For this number of rows and of columns.
    """
    times = min(10, _MORE // (draws * max(rows, _STATISTICS * columns)))
    return max(draws, times * (draws + 1) - 1)


class _Column:
    """One column: the cell of each row, and the statistics as functions of events in the cells."""

    def __init__(self, p: NDArray[Any], event: Bools, columns: int) -> None:
        """Take the scores `p` of a column, and whether each row has its outcome (`event`).

        Scores are grouped into cells, fewer if there are many `columns`. `hits` and `expected` are
        the observed and expected events of the cells. The forms, weighted sums of residuals over
        rows, are replaced by sums over cells, with their mean coefficient in each cell, so that the
        events of the cells are enough for every statistic.
        """
        p = p.astype(np.float64)
        cells = cells_of_rows(Sample(event.astype(np.uint8), p))
        self.statistics = s = Statistics(cells, cell_limit=max(_FEWEST_CELLS, _CELLS // columns))
        self.varies = float(s.variance.sum()) > 0
        """Whether the scores leave anything to chance."""
        kind = np.min_scalar_type(s.low.size)
        self.cell: Ints = (np.searchsorted(s.low, p, side="right") - 1).astype(kind)
        """The cell of each row."""
        self.hits = np.bincount(self.cell, event, s.low.size)
        self.expected = s.expected
        z, count, _, _ = s.entries
        v = count * z * (1 - z)
        weight = np.maximum(np.add.reduceat(v, s.first), 1e-290)
        # Within a cell a form is its mean, so that the events of the cells are enough.
        self.forms = np.add.reduceat(s.forms * v, s.first, axis=1) / weight
        """The coefficients of each form, of shape (forms, cells)."""
        self.slopes = [
            np.add.reduceat(error.slope * count, s.first) / s.total for error in s.errors
        ]
        """What an event of each cell adds to the squares of both errors."""
        s.deviation = np.sqrt(self.forms**2 @ s.variance)

    def values(self, hits: NDArray[Any]) -> Floats:
        """The values of sets of labels, from the events in the cells, of shape (cells, sets)."""
        excess = hits - self.expected[:, np.newaxis]
        errors = zip(self.statistics.errors, self.slopes, strict=True)
        squares = [error.square + slope @ hits for error, slope in errors]
        return self.statistics.of_sums(excess, self.forms @ excess, squares)


def _drawn_hits(
    matrix: Matrix, cell: Ints, offset: Ints, top: Ints | None, draws: int, rng: np.random.Generator
) -> Iterator[Ints]:
    """Events in all cells of all columns, of shape (cells, draws), a batch of draws at a time.

    A column is a class, and its cells are groups of neighbouring scores. One class is drawn for
    each row of the matrix, or none if its scores sum to less than one. `cell` is the cell of each
    row in each column, and `offset` the number of cells of all columns before. `top` is the class
    of the largest score of each row, whose events are those of a further column; None without that
    column.
    """
    rows, classes = matrix.p.shape
    size = int(offset[-1])
    step = max(1, min(draws, 2 * _BLOCK // max(size, rows)))
    for begin in range(0, draws, step):
        batch = min(step, draws - begin)
        # Draw by draw, so that the size of a batch does not decide what is drawn.
        chance = rng.random((batch, rows))
        hits = np.zeros(size * batch, dtype=np.int64)
        at_once = max(1, _BLOCK // max(batch, classes))
        for start in range(0, rows, at_once):
            block = slice(start, min(rows, start + at_once))
            reached = np.cumsum(matrix.p[block], axis=1, dtype=np.float64)
            # Rows whose scores do not sum to one may have none of the classes; those that do must
            # have one.
            reached[np.abs(reached[:, -1] - 1) < 1e-6, -1] = 1.0
            drawn = draw_classes(reached, chance[:, block].T)
            row, draw = np.nonzero(drawn < classes)
            label = drawn[row, draw]
            place = (offset[label] + cell[block][row, label]) * batch + draw
            if top is not None:
                right = label == top[block][row]
                of_top = offset[classes] + cell[block][row[right], classes]
                place = np.concatenate([place, of_top * batch + draw[right]])
            hits += np.bincount(place, minlength=size * batch)
        yield hits.reshape(size, batch)
