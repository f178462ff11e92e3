"""The cell of a row as an expression, and the sums of each cell as one group-by.

The same in SQL, for DuckDB.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from trueness._tally.cells import MOST_WHOLE
from trueness._tally.grid import LAST_CELL
from trueness._tally.rules import BinRule, EqualWidth
from trueness.sources.engines._row_expressions import Rows, computed_once, flag

BAD = -10  # the cell of rows with a bad value
UNWEIGHED = -20  # the cell of good rows of weight 0
# The upper and lower bits of a score and of its square, as integers.
PARTS = (
    "hi",
    "lo",
    "hi2",
    "lo2",
)
# Cells of an octave of a sketch's grid; the octave that begins at 1/2 if 0 is that from 2⁻³¹ on.
OCTAVE, TOP = (
    128,
    30,
)
_UP = 2.0**26
_DOWN = 2.0**27
_ENDS = ("least", "greatest")
_TINY = 1e-150


def bin_of_score(rule: BinRule) -> Any:
    """The bin of the score p as Float64, as binary search on the edges would find it."""
    # Scores outside the edges get −1 or one past the last; so may a score of exactly 1 among bins
    # of equal width.
    edges = rule.fixed_edges
    p = nw.col("p")
    assert edges is not None
    if isinstance(rule, EqualWidth):
        return cell_of_width(rule.n)
    place = flag(p > float(edges[-1])) - 1
    for edge in edges[:-1]:
        place = place + flag(p >= float(edge))
    return place.cast(nw.Float64)


def cell_of_width(n: int) -> Any:
    """The bin of the score p among n of equal width."""
    # ⌊p·n⌋ alone is wrong on either side of an edge, because the product is rounded. The nearest
    # edge is known with certainty, and comparing with that one float decides.
    p = nw.col("p")
    if n & (n - 1) == 0:  # the product is exact
        return (p * float(n)).floor()
    nearest = (p * float(n) + 0.5).floor()
    # Polars divides by a constant as it multiplies by the reciprocal, which rounds twice; p · 0 + n
    # is no constant.
    edge = nearest / (p * 0.0 + float(n))
    return nearest - flag(p < edge).cast(nw.Float64)


def binned_query(rows: Rows, place: Any, *, ends: tuple[str, ...] = ()) -> Any:
    """The group-by of rows by bin and label (and, with weights, by exponent).

    `ends` of the scores are added.
    """
    # Sums are of whole numbers, so they do not depend on order: the score in units of 2⁻⁵³, in two
    # parts; its square.
    if rows.weighted:
        return _weighted_query(rows, place, ends)
    keep = [*rows.keys, *(["p"] if ends else [])]
    whole = _whole_parts(
        rows.frame, [place.alias("place"), "y", "ok", *keep], [_cell(nw.col("place")), *keep]
    )
    return _aggregate(whole, [*rows.keys, "cell"], list(PARTS), ends)


def _whole_parts(frame: Any, taken: list[Any], kept: list[Any]) -> Any:
    """The upper and lower bits of score and square as integers, beside the kept columns."""
    p = nw.col("p")
    s = nw.col("s")
    q = nw.col("q")
    scaled = frame.select(*taken, (p * _UP).alias("s"), _times(p, p, frame).alias("q"))
    scaled = scaled.with_columns((q * _UP).alias("q"))
    split = computed_once(scaled.with_columns(s.floor().alias("hi"), q.floor().alias("hi2")))
    low = ((s - nw.col("hi")) * _DOWN).floor()
    low2 = ((q - nw.col("hi2")) * _DOWN).floor()
    high_bits = _as_integers(["hi", "hi2"])
    low_bits = _as_integers(["lo", "lo2"], [low, low2])
    return split.select(*kept, *high_bits, *low_bits)


def _times(a: Any, p: Any, frame: Any) -> Any:
    """The product; 0 for scores whose square has no part, to databases behind Ibis.

    An underflow is an error there.
    """
    if frame.implementation.is_ibis():
        return nw.when(p > _TINY).then(a * p).otherwise(nw.lit(0.0))
    return a * p


def _cell(place: Any) -> Any:
    good = (place * 2.0 + nw.col("y").cast(nw.Float64)).cast(nw.Int64)
    return nw.when(nw.col("ok") == 1).then(good).otherwise(nw.lit(BAD)).cast(nw.Int64).alias("cell")


def _as_integers(names: list[str], values: list[Any] | None = None) -> list[Any]:
    return [
        x.cast(nw.Int64).alias(name)
        for x, name in zip(values or map(nw.col, names), names, strict=True)
    ]


def _aggregate(frame: Any, keys: list[str], sums: list[str], ends: tuple[str, ...]) -> Any:
    """The number of rows of each group, some sums, and the smallest and largest score."""
    p = nw.col("p")
    columns = [nw.len().alias("n"), *[nw.col(name).sum().alias(name) for name in sums]]
    for end in ends:
        extreme = p.min() if end == "least" else p.max()
        columns.append(extreme.alias(end))
    # Sums of integers come back from DuckDB as decimals.
    return frame.group_by(*keys).agg(*columns).with_columns(*_as_integers(["n", *sums]))


# The terms of a weighted row, m = w / 2^e, and in how many parts of 26 or 27 bits each is summed:
# products with a small score need the third part to keep twelve digits.
_TERMS = {"m": 2, "mm": 2, "mp": 3, "mpp": 3}


def _weighted_query(
    rows: Rows,
    place: Any,
    ends: tuple[str, ...] = (),
    *,
    score: str = "p",
    more: tuple[str, ...] = (),
) -> Any:
    """The group-by of weighted rows.

    `score` is the column that weights multiply, `more` are integers to add up.
    """
    frame = _with_exponent(rows.frame.with_columns(place.alias("place")))
    p = nw.col(score)
    m = nw.col("m")
    frame = frame.with_columns((m * m).alias("mm"), (m * p).alias("mp"))
    frame = frame.with_columns(_times(nw.col("mp"), p, frame).alias("mpp"))
    frame = frame.with_columns(_cell(nw.col("place"))).with_columns(
        _unless_unweighed("cell", UNWEIGHED)
    )
    return _weighted_sums(frame, [*rows.keys, "cell", "e"], ("m", "mm", "mp", "mpp"), ends, more)


def _unless_unweighed(name: str, code: float) -> Any:
    none = (nw.col("ok") == 1) & (nw.col("w") == 0.0)
    return nw.when(none).then(nw.lit(code)).otherwise(nw.col(name)).alias(name)


def _with_exponent(frame: Any) -> Any:
    """The weight as m · 2^e."""
    # Whole numbers of one exponent add without rounding, however large or small the weights; float
    # sums would depend on the order, and lose digits in long runs. An exponent off by one is
    # harmless: m is then a little below 1, or 2.
    w = nw.col("w")
    frame = frame.with_columns(nw.when(w > 0.0).then(w).otherwise(nw.lit(1.0)).alias("positive"))
    positive = nw.col("positive")
    frame = frame.with_columns(
        positive.log(2).floor().alias("e"), flag(positive != positive.floor()).alias("broken")
    )
    # Not 2.0: PostgreSQL takes that for a decimal, and its powers for rounded ones.
    two = positive * 0.0 + 2.0
    frame = frame.with_columns((two ** nw.col("e")).alias("scale"))
    frame = computed_once(frame.with_columns((nw.col("positive") / nw.col("scale")).alias("m")))
    return frame.with_columns(nw.col("e").cast(nw.Int64).alias("e"))


def _weighted_sums(
    frame: Any,
    keys: list[str],
    terms: tuple[str, ...],
    ends: tuple[str, ...],
    more: tuple[str, ...] = (),
) -> Any:
    """The sums of `terms` by `keys`, each split into whole numbers that an engine adds exactly.

    A term is multiplied by a power of 2, its whole part is kept as a column and the rest is split
    again, as often as the term needs. `ends` are columns whose least and largest values are kept,
    `more` further columns to add.
    """
    for level in range(max(_TERMS[term] for term in terms)):
        deep = [term for term in terms if _TERMS[term] > level]
        scale = _UP if level == 0 else _DOWN
        frame = frame.with_columns(*[(nw.col(term) * scale).alias(term) for term in deep])
        frame = frame.with_columns(*[nw.col(term).floor().alias(f"{term}{level}") for term in deep])
        frame = frame.with_columns(
            *[(nw.col(term) - nw.col(f"{term}{level}")).alias(term) for term in deep]
        )
        frame = computed_once(frame)
    sums = [f"{term}{i}" for term in terms for i in range(_TERMS[term])]
    frame = frame.with_columns(*_as_integers(sums))
    return _aggregate(frame, keys, ["broken", *sums, *more], ends)


def distinct_query(
    rows: Rows, only: np.ndarray[Any, np.dtype[Any]] | None = None, grid: int = 0
) -> Any:
    """The group-by of rows by distinct score; `only` limits it to some cells of a grid."""
    frame = rows.frame
    if only is not None:
        frame = frame.with_columns(cell_of_width(grid).cast(nw.Int64).alias("place"))
        frame = frame.filter(nw.col("place").is_in(only.tolist()) & (nw.col("ok") == 1))
    score = nw.when(nw.col("ok") == 1).then(nw.col("p")).otherwise(nw.lit(float(BAD))).alias("p")
    frame = frame.with_columns(score)
    if not rows.weighted:
        return _aggregate(frame, [*rows.keys, "p"], ["y"], ())
    frame = _with_exponent(frame).with_columns(_unless_unweighed("p", float(UNWEIGHED)))
    frame = frame.with_columns((nw.col("m") * nw.col("m")).alias("mm"))
    return _weighted_sums(frame, [*rows.keys, "p", "y", "e"], ("m", "mm"), ())


def with_grid_cell(frame: Any) -> Any:
    """The frame with the columns place, the cell of the score p, and x = p · 2^s.

    s depends on the cell.
    """
    # Below 1/2, x lies in [1/2, 1), or is smaller if p is less than 2⁻³¹; from 1/2 on it is p
    # itself. So sums of x keep their digits however small the scores of a cell are.
    p = nw.col("p")
    x = nw.col("x")
    step = nw.col("step")
    # A score from 1/2 up is a multiple of 2⁻⁵³, and so is 1 - p. Half of that less, it lies inside
    # its cell, where p may have been on the left edge, which is the right one of 1 - p.
    tail = (p * -1.0 + 1.0) - 2.0**-54
    frame = frame.with_columns(nw.when(p < 0.5).then(p).otherwise(tail).alias("x"))
    frame = frame.with_columns(nw.lit(float(OCTAVE * (TOP - 1) + 2)).alias("step"))
    for bits in (16, 8, 4, 2, 1):
        small = nw.when(x < 2.0**-bits)
        scaled = x * small.then(nw.lit(2.0**bits)).otherwise(nw.lit(1.0))
        lower = step - small.then(nw.lit(float(OCTAVE * bits))).otherwise(nw.lit(0.0))
        frame = computed_once(frame.with_columns(scaled.alias("x"), lower.alias("step")))
    frame = frame.with_columns((step + (x * float(2 * OCTAVE)).floor()).alias("step"))
    frame = computed_once(frame)
    step = nw.when(step < 1.0).then(nw.lit(1.0)).otherwise(step)
    inner = nw.when(p < 0.5).then(step).otherwise(float(LAST_CELL) - step)
    below_one = nw.when(p < 1.0).then(inner).otherwise(nw.lit(float(LAST_CELL)))
    place = nw.when(p > 0.0).then(below_one).otherwise(nw.lit(0.0))
    return frame.with_columns(
        place.alias("place"), nw.when(p < 0.5).then(x).otherwise(p).alias("x")
    )


def grid_query(rows: Rows, *, whole: bool = False) -> Any:
    """The group-by of rows by cell and label, and if weighted by the exponent of the weight."""
    # `whole` adds the sums of parts of scores times weights, where weights that are not whole
    # numbers below 2³⁵ count as 0. They are integers, and :func:`fit_in_integers` says of the
    # answer without them whether 64 bits hold them.
    place = nw.col("place")
    rows = rows._replace(frame=with_grid_cell(rows.frame))
    if not rows.weighted:
        return binned_query(rows, place, ends=_ENDS)
    if not whole:
        return _weighted_query(rows, place, _ENDS, score="x")
    taken = ["place", "x", "p", "y", "ok", "w", *rows.keys]
    frame = _whole_parts(rows.frame, taken, taken)
    w = nw.col("w")
    counted = (w == w.floor()) & (w < float(MOST_WHOLE))
    frame = frame.with_columns(
        nw.when(counted).then(w).otherwise(nw.lit(0.0)).cast(nw.Int64).alias("times")
    )
    frame = frame.with_columns(*[(nw.col(name) * nw.col("times")).alias(name) for name in PARTS])
    return _weighted_query(rows._replace(frame=frame), place, _ENDS, score="x", more=PARTS)


# A score counts as ⌊2⁵³ p⌋, a whole number, so that its sum does not depend on the order of the
# rows. The bin of a score is found by comparing it with the nearest edge, since the product of
# score and number of bins is rounded.
_MACROS = """
CREATE OR REPLACE MACRO tally(rows, label, prob) AS TABLE
SELECT CAST(prob AS DOUBLE) AS prob, CAST(label AS INTEGER) AS label, count(*) AS n
FROM query_table(rows)
GROUP BY ALL
ORDER BY ALL;

CREATE OR REPLACE MACRO calibration_bins(rows, label, prob, bins) AS TABLE
WITH cells AS (
    -- Not an alias, before which a column of that name would be taken.
    SELECT CAST(prob AS DOUBLE) AS p, CAST(label AS INTEGER) AS y,
        floor(CAST(prob AS DOUBLE) * bins + 0.5) AS nearest
    FROM query_table(rows)
)
SELECT CAST(least(nearest - CAST(p < nearest / bins AS INTEGER), bins - 1) AS INTEGER) AS bin,
    count(*) AS n,
    sum(y) AS events,
    CAST(sum(CAST(floor(p * 9007199254740992) AS HUGEINT)) AS DOUBLE)
        / 9007199254740992.0 / count(*) AS score,
    sum(y) / count(*) AS rate
FROM cells
GROUP BY bin
ORDER BY bin;
"""


def duckdb_macros() -> str:
    """SQL that defines the table macros `tally` and `calibration_bins` in DuckDB.

    ``tally(rows, label, prob)`` counts the rows of each distinct score and label of a table or
    view, whose name is a string; labels are 0/1 or boolean. Its columns are arguments of
    :func:`trueness.tally`: every measure of that is the same, to the last bit, as the measure of
    the rows. ``calibration_bins(rows, label, prob, bins)`` has the number of rows, events, mean
    score and event rate of each bin of equal width that is not empty; the numbers of rows and
    events are those of :func:`trueness.bin_table`, the means within rounding.

    Nothing is checked: a missing score or one outside [0, 1] is refused by :func:`trueness.tally`,
    but makes a bin of its own in `calibration_bins`. From Python, :func:`trueness.scan` sums a
    relation in DuckDB and checks it too.

    Returns
    -------
    str
        Two statements, for ``connection.execute``.

    Examples
    --------
    >>> import duckdb
    >>> import trueness as tn
    >>> connection = duckdb.connect()
    >>> _ = connection.execute(tn.sources.duckdb_macros())
    >>> rows = "(VALUES (0, 0.25), (1, 0.25), (1, 0.75), (1, 0.75)) t(y, p)"
    >>> _ = connection.execute(f"CREATE TABLE day AS FROM {rows}")
    >>> sums = connection.sql("FROM tally('day', y, p)").fetchnumpy()
    >>> tn.ece(tn.tally(sums["label"], sums["prob"], sample_weight=sums["n"]), bins=2)
    0.25
    >>> connection.sql("FROM calibration_bins('day', y, p, 2)").fetchall()
    [(0, 2, 1, 0.25, 0.5), (1, 2, 2, 0.75, 1.0)]
    """
    return _MACROS
