"""Binned sums of scores on CUDA in copies of a table in global memory, in Triton.

For tables that are too large for shared memory, because they have many bins or a part for each predicted class. Rows
that meet at a cell wait for each other, hence the copies.
"""

# mypy: ignore-errors
# Triton's language has the syntax of Python, not its types; what a branch tests is known to its compiler.

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import triton
import triton.language as tl

from trueness.torch._cell_kernel import _cell, _score, _whole_parts
from trueness.torch._launch import launch, processors
from trueness.torch._sums import Sums

_MOST_COPIES = 64
_COPIED_WORDS = 1 << 22  # of all copies
_BLOCK = 1_024  # rows that a program adds at once


def add_to_copies(
    y: torch.Tensor,
    p: torch.Tensor,
    limits: torch.Tensor,
    sums: Sums,
    shape: dict[str, object],
    part: torch.Tensor | None = None,
) -> None:
    """Add scores to the sums of their part, or of the only one."""
    n, words = p.shape[0], sums.table.numel()
    programs = min(-(-n // _BLOCK), processors(p.device.index) * 16)
    constants = {"PARTS": part is not None, **shape, "BLOCK": _BLOCK, "num_warps": _BLOCK // 256}
    with copied(sums.table) as tables:
        part = y if part is None else part  # a kernel's argument cannot be absent
        launch(_copies, programs, (p, y, part, limits, tables, sums.faults, n, words, len(tables)), constants)


@contextmanager
def copied(table: torch.Tensor) -> Iterator[torch.Tensor]:
    """Rows of zeros, one for each copy, that are added to the table at the end; a large table has no copies."""
    copies = min(_MOST_COPIES, _COPIED_WORDS // table.numel())
    if copies < 2:
        yield table.view(1, -1)
        return
    tables = torch.zeros((copies, table.numel()), dtype=table.dtype, device=table.device)
    yield tables
    table.add_(tables.sum(dim=0).view_as(table))


@triton.jit
def _add_globally(
    table,
    faults,
    p,
    y,
    limits,
    keep,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    SKIPPED: tl.constexpr,
):
    """Add rows to a table in global memory."""
    p = _score(p)
    cell = _cell(p, y, limits, B, UNIFORM, STEPS, SKIPPED)
    hi, lo, hi2, lo2 = _whole_parts(p, MOMENTS)
    good = keep & (cell < 2 * B)
    for fault in tl.static_range(3):
        bad = tl.sum((keep & (cell == 2 * B + fault)).to(tl.int64))
        if bad > 0:
            tl.atomic_add(faults + fault, bad, sem="relaxed")
    to = table + cell.to(tl.int64) * 5
    tl.atomic_add(to, tl.full(cell.shape, 1, tl.int64), mask=good, sem="relaxed")
    tl.atomic_add(to + 1, hi.to(tl.int64), mask=good, sem="relaxed")
    tl.atomic_add(to + 2, lo.to(tl.int64), mask=good & (lo != 0), sem="relaxed")
    if MOMENTS:
        tl.atomic_add(to + 3, hi2.to(tl.int64), mask=good, sem="relaxed")
        tl.atomic_add(to + 4, lo2.to(tl.int64), mask=good, sem="relaxed")


@triton.jit
def _copies(
    p_rows,
    y_rows,
    part_rows,
    limits,
    tables,
    faults,
    n,
    words,
    copies,
    PARTS: tl.constexpr,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    SKIPPED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    rows = tl.arange(0, BLOCK)
    first = tl.program_id(0).to(tl.int64)
    table = tables + (first % copies) * words
    for b in range(first, tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = b * BLOCK + rows
        keep = at < n
        p = tl.load(p_rows + at, mask=keep, other=0.0)
        y = tl.load(y_rows + at, mask=keep, other=0)
        own = table
        if PARTS:
            own = table + tl.load(part_rows + at, mask=keep, other=0).to(tl.int64) * (B * 10)
        _add_globally(own, faults, p, y, limits, keep, B, UNIFORM, STEPS, MOMENTS, SKIPPED)
