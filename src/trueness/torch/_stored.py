"""Sums from outside satisfy the inequalities that the sums of rows obey, or are refused."""

import numpy as np

from trueness._tally.inequalities import Fields, check_classes, read_bins, refuse
from trueness.torch._dispatch import on_host
from trueness.torch._rows import Layout
from trueness.torch._sums import Sums


def check_stored(sums: Sums, layout: Layout) -> None:
    """Raise if no rows have these sums; unweighted and weighted ones are checked separately."""
    sums = on_host(sums)
    if bool((sums.faults < 0).any()):
        refuse("the number of rows that were left out must not be below 0")
    tables = sums.table.numpy().copy()
    if not layout.moments:  # the CPU loops always sum squares
        tables[..., 3:] = 0
    _check_parts([{"table": table, "whole": True} for table in tables], layout)
    if sums.weighted is None:
        return
    weighted = sums.weighted.numpy()
    count, fractional = weighted[..., 0], weighted[..., -1]
    if not ((count == np.floor(count)) & (np.abs(count) <= 2.0**53)).all():
        refuse("the rows of a bin must be a whole number")
    # The CPU notes fractional weights of any bin at the first one.
    if not ((fractional >= 0) & (fractional <= count.sum(axis=1, keepdims=True))).all():
        refuse("rows of fractional weight must be among all rows")
    floats = weighted[..., 1:-1].copy()
    if not layout.moments:
        floats[..., 4] = 0
    own = [
        {"floats": one, "count": n.astype(np.int64), "whole": not part.any()}
        for one, n, part in zip(floats, count, fractional, strict=True)
    ]
    _check_parts(own, layout)


def _check_parts(parts: list[Fields], layout: Layout) -> None:
    shared = {"edges": layout.ruler.edges, "moments": layout.moments}
    with np.errstate(over="ignore", invalid="ignore"):
        found = tuple(read_bins(shared | part) for part in parts)
    if layout.kind == "classwise" and len(found) > 1:
        check_classes(found)
