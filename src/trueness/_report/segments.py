"""The segments of one model: rows with one value of a column, or one group of sums, tested jointly."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from trueness._input.arguments import generator
from trueness._input.segment_columns import SegmentColumn
from trueness._report.inference import Notes, Options, collect_warnings
from trueness._report.records import Segments
from trueness._tally.evidence import Evidence, Sums
from trueness._tally.rows_or_sums import tally_of
from trueness.infer.decision._verdict import Alpha
from trueness.infer.group._segment_rows import of_groups
from trueness.infer.group._segments import describe_segments, segments_of
from trueness.measure import ece
from trueness.results import Segments as Tested


def segments(
    data: Evidence, by: tuple[SegmentColumn, ...], groups: Mapping[str, Sums], options: Options, group_name: str = ""
) -> tuple[Segments, Tested]:
    """Measure and test every segment of one model, the costliest first: by columns of its rows, or groups of sums."""
    rule, level, seed, _ = options
    alpha, rng = Alpha.of_level(level, parts=1 + (data.classwise is not None)).part, generator(seed)
    with collect_warnings(Notes()):  # the table shows which segments are small
        if data.rows is None:
            found = describe_segments(of_groups([group_name], groups), level, alpha, None, rng)
        else:
            found = segments_of(replace(data, notes=()), by, level=level, alpha=alpha, rng=rng)
        errors = {name: float(ece(sums, bins=rule)) for name, sums in _sums(data, by, groups, group_name)}
    lines = (row | {"ece": errors[row["column"], row["value"]]} for row in found.rows())
    rows = tuple({key: value for key, value in row.items() if key != "weight"} for row in lines)
    return Segments(rows, found.joint_pvalue, found.alpha, found.assumptions, found.notes), found


def _sums(
    data: Evidence, by: tuple[SegmentColumn, ...], groups: Mapping[str, Sums], name: str
) -> Iterator[tuple[tuple[str, str], Sums]]:
    """The sums of each segment by column and value."""
    if data.rows is None:
        yield from (((name, group), sums) for group, sums in groups.items())
        return
    sample = data.sample
    for column in by:
        order = np.argsort(column.code, kind="stable")
        ends = np.cumsum(np.bincount(column.code, minlength=len(column.values)))
        for value, rows in zip(column.values, np.split(order, ends[:-1]), strict=True):
            yield (
                (column.name, value),
                tally_of(sample.at(rows, None if sample.w is None else sample.w[rows]), "classwise"),
            )
