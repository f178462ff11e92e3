"""Rows or sums as a user passes them, read into what an assessment asks."""

from trueness._assess.asked import (
    Asked,
)
from trueness._assess.makers import MAKERS
from trueness._assess.rows import Labels, column_name, columns_of, labels_of, model_rows
from trueness._input.arguments import (
    Seed,
    checked_fraction,
    checked_whole,
    whole_seed,
)
from trueness._level import checked_level
from trueness._tally.accumulator import Accumulator
from trueness._tally.reading import read_rows
from trueness._tally.rules import BinsLike, as_rule, blind_to_labels
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.infer.group._segments import sums_by_group
from trueness.typing import ArrayLike, Columns, RowOptions


def asked_of(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    rows: RowOptions,
    *,
    by: Columns | None = None,
    crossed: int = 1,
    slice_groups: int | None = None,
    slices_from: int = 2,
    cluster: ArrayLike | None = None,
    bins: BinsLike | None = None,
    own_bins: bool = False,
    level: float = 0.95,
    seed: Seed = 0,
    rounded_to: float | None = None,
    copied: bool = False,
) -> Asked:
    """What an assessment asks.

    A function that asks one question needs no copy of the rows, and each measure has its
    `own_bins`. `slice_groups` is into how many groups slices cut a column of numbers, None if
    slices are not asked for, and `slices_from` how many columns it takes for slices to say more
    than segments.
    """
    level = checked_level(level)
    seed = whole_seed(seed)
    checked_whole(crossed, "crossed")
    rule = None if bins is None else blind_to_labels(as_rule(bins))
    unit = None if rounded_to is None else checked_fraction(rounded_to, "rounded_to")
    groups = None
    sums = y_true if isinstance(y_true, Tally | Binned | Sketch | Accumulator) else None
    if isinstance(y_true, Accumulator):
        if y_true.by is not None:
            groups = sums_by_group(y_true, by, crossed, alone=y_prob is None and not rows)
        y_true = y_true.total
        by = None
    read = read_rows(y_true, y_prob, rows, two_columns="keep", cluster=cluster).rounded(unit)
    columns, slice_columns = columns_of(read, y_true, by, crossed, slice_groups, slices_from)
    labels = labels_of(read, y_true, rows) if copied else Labels()
    labels = labels._replace(
        cluster=column_name(cluster), column=column_name(y_true), scores=column_name(y_prob)
    )
    kept = model_rows(
        read,
        columns=columns,
        slice_columns=slice_columns,
        groups=groups,
        labels=labels,
        given=sums,
        copied=copied,
    )
    rule = kept.evidence.default_rule if rule is None and not own_bins else rule
    return Asked(kept, MAKERS, level, seed, rule)
