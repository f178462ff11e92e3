"""The cells of a sketch where the rows lie: the cell of a score as expressions, one group-by, and what it brought back.

Engines cannot look at the bits of a float. Comparing with powers of two, and multiplying by them, finds the same
exponent and the same upper bits of the mantissa, without rounding.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._tally.grid import LAST_CELL, GridCells, refuse_full_cells
from trueness.sources._cells import Ends, binned_query, weighted_query, whole_parts
from trueness.sources._gather import MOST_WHOLE, Columns, good_of, value_of
from trueness.sources._rows import Rows
from trueness.typing import Floats, Ints

__all__ = ["are_whole", "fit_in_integers", "grid_of", "grid_query", "with_place"]

_ENDS: Ends = ("least", "greatest")
_WHOLE = ("hi", "lo", "hi2", "lo2")

_OCTAVE = 128
_TOP = 30
"""The cells of an octave, and the number of the octave that begins at 1/2 if 0 is that from 2⁻³¹ on."""


def with_place(frame: Any) -> Any:
    """The frame with the cell of the score p as the column place, and x = p · 2^s, where s depends on the cell.

    Below 1/2, x lies in [1/2, 1), or is smaller if p is less than 2⁻³¹; from 1/2 on it is p itself. So sums of x keep
    their digits however small the scores of a cell are.
    """
    import narwhals.stable.v2 as nw

    p, x, step = nw.col("p"), nw.col("x"), nw.col("step")
    # A score from 1/2 up is a multiple of 2⁻⁵³, and so is 1 - p. Half of that less, it lies inside its cell, where p
    # may have been on the left edge, which is the right one of 1 - p.
    tail = (p * -1.0 + 1.0) - 2.0**-54
    frame = frame.with_columns(nw.when(p < 0.5).then(p).otherwise(tail).alias("x"))
    frame = frame.with_columns(nw.lit(float(_OCTAVE * (_TOP - 1) + 2)).alias("step"))
    for bits in (16, 8, 4, 2, 1):
        small = x < 2.0**-bits
        frame = frame.with_columns(
            (x * nw.when(small).then(nw.lit(2.0**bits)).otherwise(nw.lit(1.0))).alias("x"),
            (step - nw.when(small).then(nw.lit(float(_OCTAVE * bits))).otherwise(nw.lit(0.0))).alias("step"),
        )
    frame = frame.with_columns((step + (x * float(2 * _OCTAVE)).floor()).alias("step"))
    step = nw.when(step < 1.0).then(nw.lit(1.0)).otherwise(step)
    inner = nw.when(p < 0.5).then(step).otherwise(float(LAST_CELL) - step)
    below_one = nw.when(p < 1.0).then(inner).otherwise(nw.lit(float(LAST_CELL)))
    place = nw.when(p > 0.0).then(below_one).otherwise(nw.lit(0.0))
    return frame.with_columns(place.alias("place"), nw.when(p < 0.5).then(x).otherwise(p).alias("x"))


def grid_query(rows: Rows, *, whole: bool = False) -> Any:
    """The group-by of rows by cell and label, and of weighted ones by the exponent of the weight.

    `whole` adds the sums of parts of scores times weights, where weights that are not whole numbers below 2³⁵ count
    as 0. They are integers, and :func:`fit_in_integers` says of the answer without them whether 64 bits hold them.
    """
    import narwhals.stable.v2 as nw

    place = nw.col("place")
    rows = rows._replace(frame=with_place(rows.frame))
    if not rows.weighted:
        return binned_query(rows, place, ends=_ENDS)[0]
    if not whole:
        return weighted_query(rows, place, _ENDS, score="x")[0]
    taken = ["place", "x", "p", "y", "ok", "w", *rows.keys]
    frame = whole_parts(rows.frame, taken, taken)
    w = nw.col("w")
    counted = (w == w.floor()) & (w < float(MOST_WHOLE))
    frame = frame.with_columns(nw.when(counted).then(w).otherwise(nw.lit(0.0)).cast(nw.Int64).alias("times"))
    frame = frame.with_columns(*[(nw.col(name) * nw.col("times")).alias(name) for name in _WHOLE])
    return weighted_query(rows._replace(frame=frame), place, _ENDS, score="x", more=_WHOLE)[0]


def are_whole(numbers: Columns) -> bool:
    """Whether there are weights, all of them whole and so small that sums are kept as integers."""
    good = good_of(numbers, numbers["cell"])
    return good["n"].size > 0 and not good["broken"].any() and value_of(good, "m").sum() < MOST_WHOLE


def fit_in_integers(numbers: Columns) -> bool:
    """Whether no sum of parts times weights can pass 64 bits; larger weights than these count as 0 in them."""
    good = good_of(numbers, numbers["cell"])
    counted = good["e"] <= MOST_WHOLE.bit_length()
    return bool((value_of(good, "m")[counted] <= MOST_WHOLE).all())


def grid_of(numbers: Columns) -> GridCells:
    """The sums of each cell."""
    good = good_of(numbers, numbers["cell"])
    if good["cell"].size == 0:
        return GridCells.empty()
    # Engines answer in any order; floats are added in one.
    order = np.lexsort((good["e"], good["cell"])) if "e" in good else np.argsort(good["cell"])
    good = {name: values[order] for name, values in good.items()}
    refuse_full_cells(good["n"])
    cell, at = np.unique(good["cell"] >> 1, return_inverse=True)
    first = np.flatnonzero(np.diff(at, prepend=-1))
    ends = [np.minimum.reduceat(good["least"], first), np.maximum.reduceat(good["greatest"], first)]
    # -0.0 and 0.0 are one score.
    found = (cell, np.add.reduceat(good["n"], first), np.column_stack(ends) + 0.0)
    if "m0" not in good:
        return GridCells(*found, _by_label(good, at, [good[name] for name in ("n", *_WHOLE)]))
    return GridCells(*found, *_weighted(good, at))


def _weighted(good: Columns, at: Ints) -> tuple[Ints | None, Floats | None, Floats]:
    """Exact sums if all weights are whole, else floats; and the sums of squares of weights."""
    w = value_of(good, "m")
    squares = _by_label(good, at, [value_of(good, "mm")])[:, :, 0]
    if "hi" in good and are_whole(good):
        return _by_label(good, at, [np.rint(w).astype(np.int64), *(good[name] for name in _WHOLE)]), None, squares
    shift = _shift(good["cell"] >> 1)
    wp, wpp = (np.ldexp(value_of(good, term), -shift * times) for term, times in (("mp", 1), ("mpp", 2)))
    return None, _by_label(good, at, [w, wp, wpp]), squares


def _shift(cell: Ints) -> Ints:
    """The s of x = p · 2^s."""
    return np.where(cell <= LAST_CELL // 2, _TOP - (cell - 2) // _OCTAVE, 0)


def _by_label(good: Columns, at: Ints, columns: list[NDArray[Any]]) -> NDArray[Any]:
    sums = np.column_stack(columns)
    found = np.zeros((at.max() + 1, 2, sums.shape[1]), dtype=sums.dtype)
    np.add.at(found, (at, good["cell"] & 1), sums)
    return found
