"""Softmax and binned sums of rows of logits on CUDA, in Triton.

The confidence of a row, whether it was right, and what bins need of it come from one read of the logits: a running
maximum and a running sum of powers. With few classes, or few rows of many, confidences go from registers into the table
of bins; otherwise n of them pass through memory to a second kernel.
"""

# mypy: ignore-errors
# ruff: noqa: SIM108
# Triton's language has the syntax of Python, not its types; what a branch tests is known to its compiler.

from typing import Literal

import torch
import triton
import triton.language as tl

from trueness.torch._cell_kernel import shape_of
from trueness.torch._copies_kernel import _add_globally
from trueness.torch._launch import launch, processors
from trueness.torch._rows import Layout, TensorRows, as_bytes
from trueness.torch._score_kernel import (
    _add_rows,
    _clear_common,
    _report_common,
    common_table,
    part_sums,
    score_sums,
)
from trueness.torch._sums import Sums, no_sums
from trueness.torch._sums import score_sums as sums_by_operations
from trueness.torch._weight_kernel import MOST_BINS, weighted_score_sums

_OF_A_THREAD = 32  # entries of a row that one thread reads alone
_IN_REGISTERS = 2_048  # entries of a row that one warp holds
_ENTRIES = 2_048  # in one step of a program of one warp
_LONG_WARPS = 8
_FEW_ROWS = 16_384  # more would wait for each other at the table
_SKIPPED = 3  # beside wrong, right and a label that is no class
_SHORT_PROGRAMS = 256  # for each multiprocessor


def logit_sums(rows: TensorRows, layout: Layout, into: Sums | None = None) -> Sums:
    """As :func:`trueness.torch._class_sums.class_sums`, for the confidence and the top label.

    Confidences without weights are added to `into`, if there is a kernel for that.
    """
    if layout.kind == "confidence" and rows.w is None:
        sums = _one_launch(rows, layout, into)
        if sums is not None:
            return sums
    confidence, correct, top = tops(rows.codes, rows.p, besides="place" if layout.kind == "top-label" else "nothing")
    keep, skipped = rows.keep, None
    if keep is not None:
        correct, skipped = torch.where(keep, correct, _SKIPPED), _SKIPPED
    if layout.kind == "confidence" and rows.w is None:
        return score_sums(correct, confidence, layout.ruler, layout.moments, skipped=skipped, into=into)
    if layout.kind == "confidence" and layout.ruler.size <= MOST_BINS:
        return weighted_score_sums(correct, confidence, rows.w, layout.ruler, layout.moments, skipped=skipped)
    part, parts = (None, 1) if layout.kind == "confidence" else (top, rows.p.shape[1])
    tops_of_rows = TensorRows(correct, confidence, rows.w, skipped)
    if rows.w is None:
        return part_sums(tops_of_rows, top, parts, layout)
    tops_of_rows = tops_of_rows.with_wide_weights()
    return sums_by_operations(tops_of_rows, layout, part, parts)


def _one_launch(rows: TensorRows, layout: Layout, into: Sums | None) -> Sums | None:
    """Sums of confidences without a second kernel, for narrow rows of few classes, or few rows of many; else None."""
    n, k = rows.p.shape
    table = common_table(layout.ruler.size, layout.moments)
    short = k <= _OF_A_THREAD and table is not None and rows.p.dtype != torch.float64
    long = triton.next_power_of_2(k) > _IN_REGISTERS and n <= _FEW_ROWS
    if not short and not long:
        return None
    sums = no_sums(1, layout.ruler.size, rows.p.device) if into is None else into
    if n == 0:
        return sums
    logits, y = rows.p.contiguous(), as_bytes(rows.codes.contiguous())
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    skipped = None if rows.skipped is None else _SKIPPED
    arguments = logits, y, layout.ruler.limits(wide, logits.device), sums.flat
    constants = {"IGNORED": rows.skipped, **shape_of(layout.ruler, wide, layout.moments, skipped)}
    if short:
        resident, most, of_table = table
        programs = min(-(-n // of_table["THREADS"]), processors(logits.device.index) * resident)
        constants = {"k": k, "VECTOR": vector_of(logits), "WIDE": wide_type(logits), **constants, **of_table}
        launch(_thread_sums, max(programs, -(-n // most)), (*arguments, n), constants)
    else:
        launch(_long_sums, n, arguments, {**_long_constants(logits), **constants, "num_warps": _long_warps(k)})
    return sums


def vector_of(logits: torch.Tensor) -> int:
    """How many entries a thread reads at once, in rows that begin where the last one ends."""
    return min(16 // logits.element_size(), logits.shape[1] & -logits.shape[1])


def _long_warps(k: int) -> int:
    return _LONG_WARPS if k > 4 * _IN_REGISTERS else 4


def _long_constants(logits: torch.Tensor) -> dict[str, object]:
    k = logits.shape[1]
    vector = 16 // logits.element_size()
    return {"k": k, "THREADS": 32 * _long_warps(k), "VECTOR": vector, "WIDE": wide_type(logits)}


def tops(
    y: torch.Tensor, logits: torch.Tensor, *, besides: Literal["nothing", "largest", "place"] = "largest"
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The confidence of each row, whether it is right, and its largest logit, or its position, if requested.

    The confidence is nan for a row without a softmax; 2 instead of right or wrong marks a label that is no class.
    """
    n, k = logits.shape
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    confidence = torch.empty(n, dtype=wide, device=logits.device)
    top = torch.empty(
        0 if besides == "nothing" else n, dtype=torch.int32 if besides == "place" else wide, device=logits.device
    )
    correct = torch.empty(n, dtype=torch.uint8, device=logits.device)
    if n == 0:
        return confidence, correct, top
    logits, y = logits.contiguous(), as_bytes(y.contiguous())
    width = triton.next_power_of_2(k)
    common = logits, y, confidence, correct, top
    options = {"WIDE": wide_type(logits), "BESIDES": ("nothing", "largest", "place").index(besides)}
    if k <= _OF_A_THREAD:
        constants = {"k": k, "VECTOR": vector_of(logits), "ROWS": 256, **options, "num_warps": 8}
        launch(_thread_rows, triton.cdiv(n, 256), (*common, n), constants)
    elif width <= _IN_REGISTERS:
        rows = max(1, _ENTRIES // width)
        programs = min(-(-n // rows), processors(logits.device.index) * _SHORT_PROGRAMS)
        launch(_short_rows, programs, (*common, n), {"k": k, "WIDTH": width, "ROWS": rows, **options, "num_warps": 1})
    else:
        constants = {**_long_constants(logits), **options, "num_warps": _long_warps(k)}
        launch(_long_rows, n, common, constants)
    return confidence, correct, top


def wide_type(logits: torch.Tensor) -> "tl.dtype":
    """The type of powers and their sums."""
    return tl.float64 if logits.dtype == torch.float64 else tl.float32


@triton.jit
def _power(difference):
    """The power of e to a number ≤ 0."""
    if difference.dtype == tl.float64:
        power = tl.exp(difference)
    else:
        # The difference first: of logits near 1,000 a product with log2(e) would lose the digits that count.
        power = tl.exp2(difference * 1.4426950408889634)
    return power


@triton.jit
def _finite_or_zero(top):
    """-inf minus itself is nan; a row, or a part of it, may have nothing else."""
    return tl.where(top == float("-inf"), 0.0, top)


@triton.jit
def _score_and_hit(largest, total, found, label, k):
    """The confidence, nan for a row without a softmax; 1 for right, 0 for wrong, 2 for a label that is no class."""
    score = tl.where(largest == float("-inf"), float("nan"), 1.0 / total)
    hit = tl.where((label < 0) | (label >= k), 2, (found == label).to(tl.int32))
    return score, hit


@triton.jit
def _store(confidence, correct, top, at, keep, largest, total, found, label, k, BESIDES: tl.constexpr):
    score, hit = _score_and_hit(largest, total, found, label, k)
    tl.store(confidence + at, score, mask=keep)
    if BESIDES == 2:
        tl.store(top + at, found, mask=keep)
    elif BESIDES == 1:
        tl.store(top + at, largest, mask=keep)
    tl.store(correct + at, hit.to(tl.uint8), mask=keep)


@triton.jit
def _softmax_of_threads(logits, row, keep, k: tl.constexpr, VECTOR: tl.constexpr, WIDE: tl.constexpr):
    """Largest logit, sum of powers and place of the largest, a row for each thread, which needs no other."""
    inner = tl.arange(0, VECTOR)
    largest = tl.full(row.shape, float("-inf"), WIDE)
    total = tl.zeros(row.shape, WIDE)
    found = tl.zeros(row.shape, tl.int32)
    for first in tl.static_range(0, k, VECTOR):
        at = row[:, None] * k + (first + inner)[None, :]
        z = tl.load(logits + at, mask=keep[:, None], other=0.0).to(WIDE)
        new = tl.max(z, axis=1)
        place = tl.min(tl.where(z == new[:, None], first + inner[None, :], k), axis=1)
        found = tl.where(new > largest, place, found)
        new = tl.maximum(new, largest)
        base = _finite_or_zero(new)
        total = total * _power(largest - base) + tl.sum(_power(z - base[:, None]), axis=1)
        largest = new
    return largest, total, found


@triton.jit
def _thread_rows(
    logits,
    labels,
    confidence,
    correct,
    top,
    n,
    k: tl.constexpr,
    VECTOR: tl.constexpr,
    ROWS: tl.constexpr,
    WIDE: tl.constexpr,
    BESIDES: tl.constexpr,
):
    """A row for each thread: few classes."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    keep = row < n
    label = tl.load(labels + row, mask=keep, other=0)
    largest, total, found = _softmax_of_threads(logits, row, keep, k, VECTOR, WIDE)
    _store(confidence, correct, top, row, keep, largest, total, found, label, k, BESIDES)


@triton.jit
def _thread_sums(
    logits,
    labels,
    limits,
    sums,
    n,
    k: tl.constexpr,
    VECTOR: tl.constexpr,
    WIDE: tl.constexpr,
    IGNORED: tl.constexpr,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    SKIPPED: tl.constexpr,
    THREADS: tl.constexpr,
    DECLARE: tl.constexpr,
    ADD: tl.constexpr,
    CLEAR: tl.constexpr,
    READ: tl.constexpr,
):
    """The same, but the confidence goes into the table of a program at once."""
    each = tl.arange(0, THREADS)
    _clear_common(each, B, DECLARE, CLEAR)
    for block in range(tl.program_id(0), tl.cdiv(n, THREADS), tl.num_programs(0)):
        row = block.to(tl.int64) * THREADS + each
        keep = row < n
        label = tl.load(labels + row, mask=keep, other=0)
        largest, total, found = _softmax_of_threads(logits, row, keep, k, VECTOR, WIDE)
        score, hit = _score_and_hit(largest, total, found, label, k)
        if IGNORED is not None:
            hit = tl.where(label == IGNORED, SKIPPED, hit)
        _add_rows(score, hit, limits, keep, ADD, True, B, UNIFORM, STEPS, MOMENTS, SKIPPED)
    _report_common(sums, each, B, MOMENTS, READ)


@triton.jit
def _rows_at(logits, block, n, k: tl.constexpr, column, ROWS: tl.constexpr):
    row = block.to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = (row < n)[:, None] & (column < k)[None, :]
    at = row[:, None] * k + column[None, :]
    return tl.load(logits + at, mask=there, other=float("-inf"), eviction_policy="evict_first")


@triton.jit
def _short_rows(
    logits,
    labels,
    confidence,
    correct,
    top,
    n,
    k: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    WIDE: tl.constexpr,
    BESIDES: tl.constexpr,
):
    """Whole rows in the registers of one warp."""
    column = tl.arange(0, WIDTH)
    stride = tl.num_programs(0)
    ahead = _rows_at(logits, tl.program_id(0), n, k, column, ROWS)
    for block in range(tl.program_id(0), tl.cdiv(n, ROWS), stride):
        z = ahead.to(WIDE)
        ahead = _rows_at(logits, block + stride, n, k, column, ROWS)
        row = block * ROWS + tl.arange(0, ROWS)
        keep = row < n
        label = tl.load(labels + row, mask=keep, other=0)
        largest = tl.max(z, axis=1)
        total = tl.sum(_power(z - _finite_or_zero(largest)[:, None]), axis=1)
        found = tl.min(tl.where(z == largest[:, None], column[None, :], WIDTH), axis=1)
        _store(confidence, correct, top, row, keep, largest, total, found, label, k, BESIDES)


@triton.jit
def _add_vectors(z, number, largest, total, where):
    """Add the entries of each thread to its own maximum and sum."""
    new = tl.max(z, axis=1)
    where = tl.where(new > largest, number, where)
    new = tl.maximum(new, largest)
    base = _finite_or_zero(new)
    total = total * _power(largest - base) + tl.sum(_power(z - base[:, None]), axis=1)
    return new, total, where


@triton.jit
def _add_chunk(at, number, largest, total, where, STEP: tl.constexpr, WIDE: tl.constexpr):
    """The same for four vectors of each thread; all four are read before the first is looked at."""
    a = tl.load(at, eviction_policy="evict_first").to(WIDE)
    b = tl.load(at + STEP, eviction_policy="evict_first").to(WIDE)
    c = tl.load(at + 2 * STEP, eviction_policy="evict_first").to(WIDE)
    d = tl.load(at + 3 * STEP, eviction_policy="evict_first").to(WIDE)
    new = tl.max(tl.maximum(tl.maximum(a, b), tl.maximum(c, d)), axis=1)
    where = tl.where(new > largest, number, where)
    new = tl.maximum(new, largest)
    base = _finite_or_zero(new)
    many = base[:, None]
    powers = (_power(a - many) + _power(b - many)) + (_power(c - many) + _power(d - many))
    total = total * _power(largest - base) + tl.sum(powers, axis=1)
    return new, total, where


@triton.jit
def _softmax_of_program(logits, row, k: tl.constexpr, THREADS: tl.constexpr, VECTOR: tl.constexpr, WIDE: tl.constexpr):
    """One row in pieces: each thread has a maximum and a sum of its own until the row ends.

    Vectors begin at multiples of 16 bytes, whatever the number of classes. The few entries before the first and after
    the last vector are read one by one.
    """
    STEP: tl.constexpr = THREADS * VECTOR
    first = row * k
    end = first + k
    begin = tl.multiple_of((first + VECTOR - 1) // VECTOR * VECTOR, VECTOR)
    inside = (end // VECTOR * VECTOR - begin).to(tl.int32)
    thread = tl.arange(0, THREADS)
    offset = thread[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]
    edge = tl.where(thread < VECTOR, first + thread, begin + inside + thread - VECTOR)
    at_edge = tl.where(thread < VECTOR, edge < begin, (thread < 2 * VECTOR) & (edge < end))
    of_edge = tl.load(logits + edge, mask=at_edge, other=float("-inf")).to(WIDE)
    largest = of_edge
    total = tl.where(at_edge, _power(of_edge - _finite_or_zero(of_edge)), 0.0)
    where = tl.full((THREADS,), -1, tl.int32)
    body = logits + begin
    full = inside // (4 * STEP)
    for i in range(full):
        largest, total, where = _add_chunk(body + i * 4 * STEP + offset, 4 * i, largest, total, where, STEP, WIDE)
    for i in range(4 * full, tl.cdiv(inside, STEP)):
        there = (i * STEP + thread * VECTOR < inside)[:, None]
        z = tl.load(body + i * STEP + offset, mask=there, other=float("-inf"), eviction_policy="evict_first").to(WIDE)
        largest, total, where = _add_vectors(z, i, largest, total, where)
    whole = tl.max(largest, axis=0)
    sum = tl.sum(total * _power(largest - _finite_or_zero(whole)), axis=0)
    # Only threads that have seen the maximum look again at the piece where they first did.
    seen = largest == whole
    found = tl.min(tl.where(seen & (where < 0) & at_edge, (edge - first).to(tl.int32), k), axis=0)
    for part in tl.static_range(4):
        again = where[:, None] * STEP + part * STEP + offset
        look = (seen & (where >= 0))[:, None] & (again < inside)
        z = tl.load(body + again, mask=look, other=float("-inf")).to(WIDE)
        column = again + (begin - first).to(tl.int32)
        nearest = tl.min(tl.min(tl.where(look & (z == whole), column, k), axis=1), axis=0)
        found = tl.minimum(found, nearest)
    return whole, sum, found


@triton.jit
def _long_rows(
    logits,
    labels,
    confidence,
    correct,
    top,
    k: tl.constexpr,
    THREADS: tl.constexpr,
    VECTOR: tl.constexpr,
    WIDE: tl.constexpr,
    BESIDES: tl.constexpr,
):
    """A row for each program: many classes."""
    row = tl.program_id(0).to(tl.int64)
    largest, total, found = _softmax_of_program(logits, row, k, THREADS, VECTOR, WIDE)
    _store(confidence, correct, top, row, True, largest, total, found, tl.load(labels + row), k, BESIDES)


@triton.jit
def _long_sums(
    logits,
    labels,
    limits,
    sums,
    k: tl.constexpr,
    THREADS: tl.constexpr,
    VECTOR: tl.constexpr,
    WIDE: tl.constexpr,
    IGNORED: tl.constexpr,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    SKIPPED: tl.constexpr,
):
    """The same, but the confidence goes into the table at once."""
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    largest, total, found = _softmax_of_program(logits, row, k, THREADS, VECTOR, WIDE)
    score, hit = _score_and_hit(largest, total, found, label, k)
    if IGNORED is not None:
        hit = tl.where(label == IGNORED, SKIPPED, hit)
    one = tl.arange(0, 1)
    faults = sums + 10 * B
    _add_globally(
        sums, faults, score + tl.zeros((1,), WIDE), hit + one, limits, one == 0, B, UNIFORM, STEPS, MOMENTS, SKIPPED
    )
