"""Maps that mend one segment: by its column, or of its rows alone; both tried on held-out rows."""

from dataclasses import replace
from functools import partial

import numpy as np

from trueness._assess.asked import REMEDIES, Asked
from trueness._assess.held_out import deal, held_out_scores, is_splittable
from trueness._assess.rows import ModelRows
from trueness._input.segment_columns import SegmentColumn
from trueness.errors import InputError, quietly
from trueness.results._remedies import Advice, Remedies
from trueness.typing import Bools, Floats


def map_by_column(a: Asked, column: SegmentColumn) -> Remedies | None:
    """The scores before and after a map that shifts each segment of a column.

    None where no such map can be fitted: to classes, to events, to few rows, or by numbers that
    were cut into groups.
    """
    tried: Remedies | None = a.shared(
        ("map by column", column.name, a.level), partial(_map_by_column, a, column)
    )
    return tried


def _map_by_column(a: Asked, column: SegmentColumn) -> Remedies | None:
    """A map by the column on held-out rows; None where no such map can be fitted."""
    evidence = a.view("confidence")
    if evidence.events is not None or column.edges or not is_splittable(evidence):
        return None
    from trueness._assess.remedies import remedies_of  # loads scikit-learn
    from trueness.recalibrate import SegmentCalibration

    dealt = deal(a)
    rows = dealt.rows.matrix
    segments = np.array(column.values, dtype=object)[column.code[dealt.place]]

    def scores(test: Bools) -> Floats:
        """The scores of the rows of a fold from a map by the column, fitted to the other rows."""
        learn = dealt.rows.at(~test)
        fitted = SegmentCalibration().fit(
            learn.matrix.p,
            learn.matrix.y,
            learn.matrix.w,
            by={column.name: segments[~test]},
            cluster=learn.cluster,
        )
        return fitted.predict(rows.p[test], by={column.name: segments[test]})

    try:
        deals = held_out_scores(dealt, scores)
    except InputError:
        return None
    return remedies_of(a, f"a map by {column.name}", SegmentCalibration(), deals)


def with_advised_map(a: Asked, fixes: Remedies | None, wanted: Advice) -> Remedies | None:
    """The maps that were tried on all rows, and the map by a column if that is the advised one."""
    column = next((column for column in a.rows.columns if column.name == wanted.column), None)
    if fixes is None or column is None or wanted.calibrator is None:
        return fixes
    by_column = quietly(map_by_column, a, column)
    if by_column is None or by_column.after[0].calibrator is not wanted.calibrator:
        return fixes
    return replace(fixes, after=(*fixes.after, *by_column.after))


def maps_of_segment(a: Asked, column: SegmentColumn, value: str) -> Remedies | None:
    """The maps that all rows are offered, tried on the rows of one segment alone.

    None where it has too few rows to split.
    """
    rows = np.flatnonzero(column.code == column.values.index(value))
    part = a.but(rows=ModelRows(a.view("confidence").at(rows)))
    return part.possible(REMEDIES)
