"""Softmax and binned sums of rows of logits on CUDA, in Triton.

The confidence of a row, whether it was right, and what bins need of it come from one read of the logits: a running
maximum and a running sum of powers. Only n confidences pass through memory between the two kernels. Class by class, the
logits are read a second time.
"""

# mypy: ignore-errors
# ruff: noqa: SIM108
# Triton's language has the syntax of Python, not its types; what a branch tests is known to its compiler.

import torch
import triton
import triton.language as tl

from trueness.torch._rows import Layout, TensorRows, as_bytes
from trueness.torch._score_kernel import _place, _whole_parts, processors, score_sums
from trueness.torch._sums import BAD_LABEL, BAD_SCORE, Sums, no_sums, sift
from trueness.torch._sums import score_sums as sums_by_operations

_IN_REGISTERS = 2_048  # entries of a row that one warp holds
_ENTRIES = 2_048  # in one step of a program of one warp
_LONG_WARPS = 8
_SKIPPED = 3  # beside wrong, right and a label that is no class
_SHORT_PROGRAMS, _CLASS_PROGRAMS = 256, 32  # for each multiprocessor


def logit_sums(rows: TensorRows, layout: Layout) -> Sums:
    """As :func:`trueness.torch._class_sums.class_sums`; class by class, weights have to go there."""
    if layout.kind == "classwise":
        assert rows.w is None
        return _class_sums(rows, layout)
    confidence, correct, top = tops(rows.codes, rows.p, places=layout.kind == "top-label")
    keep, skipped = rows.keep, None
    if keep is not None:
        correct, skipped = torch.where(keep, correct, _SKIPPED), _SKIPPED
    if layout.kind == "confidence" and rows.w is None:
        return score_sums(correct, confidence, layout.ruler, layout.moments, skipped=skipped)
    part, parts = (None, 1) if layout.kind == "confidence" else (top, rows.p.shape[1])
    return sums_by_operations(TensorRows(correct, confidence, rows.w, skipped), layout, part, parts)


def tops(
    y: torch.Tensor, logits: torch.Tensor, *, places: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The confidence of each row, whether it is right, and its largest logit, or where that stands.

    The confidence is nan for a row without a softmax; 2 instead of right or wrong marks a label that is no class.
    """
    n, k = logits.shape
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    confidence = torch.empty(n, dtype=wide, device=logits.device)
    top = torch.empty(n, dtype=torch.int32 if places else wide, device=logits.device)
    correct = torch.empty(n, dtype=torch.uint8, device=logits.device)
    if n == 0:
        return confidence, correct, top
    logits, y = logits.contiguous(), as_bytes(y.contiguous())
    width = triton.next_power_of_2(k)
    common = logits, y, confidence, correct, top
    options = {"WIDE": _wide(logits), "PLACES": places}
    with torch.cuda.device(logits.device):
        if width <= _IN_REGISTERS:
            rows = max(1, _ENTRIES // width)
            programs = min(-(-n // rows), processors(logits.device.index) * _SHORT_PROGRAMS)
            _short_rows[(programs,)](*common, n, k, WIDTH=width, ROWS=rows, **options, num_warps=1)
        else:
            warps = _LONG_WARPS if width > 4 * _IN_REGISTERS else 4
            _long_rows[(n,)](*common, k, THREADS=32 * warps, VECTOR=_vector(logits), **options, num_warps=warps)
    return confidence, correct, top


def _vector(logits: torch.Tensor) -> int:
    """How many entries a thread can read at once: 16 bytes where every row begins at a multiple of them."""
    k, most = logits.shape[1], 16 // logits.element_size()
    return min(most, k & -k)


def _wide(logits: torch.Tensor) -> "tl.dtype":
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
def _store(confidence, correct, top, at, keep, largest, total, found, label, k, PLACES: tl.constexpr):
    score = tl.where(largest == float("-inf"), float("nan"), 1.0 / total)
    hit = tl.where((label < 0) | (label >= k), 2, (found == label).to(tl.int32))
    tl.store(confidence + at, score, mask=keep)
    if PLACES:
        tl.store(top + at, found, mask=keep)
    else:
        tl.store(top + at, largest, mask=keep)
    tl.store(correct + at, hit.to(tl.uint8), mask=keep)


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
    PLACES: tl.constexpr,
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
        _store(confidence, correct, top, row, keep, largest, total, found, label, k, PLACES)


@triton.jit
def _chunk(row, start, offset, k, MASKED: tl.constexpr, WIDE: tl.constexpr):
    at = start + offset
    if MASKED:
        z = tl.load(row + at, mask=at < k, other=float("-inf"), eviction_policy="evict_first")
    else:
        z = tl.load(row + at, eviction_policy="evict_first")
    return z.to(WIDE)


@triton.jit
def _add_chunk(
    row,
    start,
    offset,
    k,
    number,
    largest,
    total,
    where,
    STEP: tl.constexpr,
    MASKED: tl.constexpr,
    WIDE: tl.constexpr,
):
    """Add four vectors of each thread to its own maximum and sum; all four are read before the first is looked at."""
    a = _chunk(row, start, offset, k, MASKED, WIDE)
    b = _chunk(row, start + STEP, offset, k, MASKED, WIDE)
    c = _chunk(row, start + 2 * STEP, offset, k, MASKED, WIDE)
    d = _chunk(row, start + 3 * STEP, offset, k, MASKED, WIDE)
    new = tl.max(tl.maximum(tl.maximum(a, b), tl.maximum(c, d)), axis=1)
    where = tl.where(new > largest, number, where)
    new = tl.maximum(new, largest)
    base = _finite_or_zero(new)
    many = base[:, None]
    powers = (_power(a - many) + _power(b - many)) + (_power(c - many) + _power(d - many))
    total = total * _power(largest - base) + tl.sum(powers, axis=1)
    return new, total, where


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
    PLACES: tl.constexpr,
):
    """One row in pieces: each thread has a maximum and a sum of its own until the row ends."""
    STEP: tl.constexpr = THREADS * VECTOR
    CHUNK: tl.constexpr = STEP * 4
    at = tl.program_id(0).to(tl.int64)
    row = logits + at * k
    offset = tl.arange(0, THREADS)[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]
    largest = tl.full((THREADS,), float("-inf"), WIDE)
    total = tl.zeros((THREADS,), WIDE)
    where = tl.zeros((THREADS,), tl.int32)
    full = k // CHUNK
    for i in range(full):
        largest, total, where = _add_chunk(row, i * CHUNK, offset, k, i, largest, total, where, STEP, False, WIDE)
    if full * CHUNK < k:
        largest, total, where = _add_chunk(row, full * CHUNK, offset, k, full, largest, total, where, STEP, True, WIDE)
    whole = tl.max(largest, axis=0)
    sum = tl.sum(total * _power(largest - _finite_or_zero(whole)), axis=0)
    # Only threads that have seen the maximum look again at the piece where they first did.
    found = k
    for part in tl.static_range(4):
        column = where[:, None] * CHUNK + part * STEP + offset
        again = (largest == whole)[:, None] & (column < k)
        z = tl.load(row + column, mask=again, other=float("-inf")).to(WIDE)
        first = tl.min(tl.min(tl.where(again & (z == whole), column, k), axis=1), axis=0)
        found = tl.minimum(found, first)
    _store(confidence, correct, top, at, True, whole, sum, found, tl.load(labels + at), k, PLACES)


def _class_sums(rows: TensorRows, layout: Layout) -> Sums:
    """One read for the sums of powers, one to bin: most entries fall into the lowest bin, summed in registers."""
    ruler, (n, k) = layout.ruler, rows.p.shape
    sums = no_sums(k, ruler.size, rows.p.device)
    if n == 0:
        return sums
    logits, y = rows.p.contiguous(), as_bytes(rows.codes.contiguous())
    confidence, correct, top = tops(y, logits)
    good = sift(sums, {BAD_SCORE: ~confidence.isnan(), BAD_LABEL: correct != 2}, rows)
    tile = min(128, max(32, triton.next_power_of_2(k)))  # one column for each thread
    tiles = triton.cdiv(k, tile)
    shares = max(1, min(triton.cdiv(n, 16), triton.cdiv(processors(logits.device.index) * _CLASS_PROGRAMS, tiles)))
    with torch.cuda.device(logits.device):
        _class_tiles[(tiles, shares)](
            logits,
            y,
            top,
            torch.where(good, confidence, 0.0),  # no softmax has a largest probability of 0
            ruler.limits(confidence.dtype, logits.device),
            sums.table,
            sums.faults,
            n,
            k,
            B=ruler.size,
            UNIFORM=ruler.uniform and logits.dtype != torch.float64 and ruler.size < 1 << 22,
            STEPS=max(0, (ruler.size - 1).bit_length()),
            MOMENTS=layout.moments,
            WIDE=_wide(logits),
            TILE=tile,
            num_warps=tile // 32,
        )
    return sums


@triton.jit
def _pour(to, offset, good, parts, MOMENTS: tl.constexpr):
    to = to + offset
    tl.atomic_add(to, tl.full(offset.shape, 1, tl.int64), mask=good, sem="relaxed")
    tl.atomic_add(to + 1, parts[0].to(tl.int64), mask=good, sem="relaxed")
    tl.atomic_add(to + 2, parts[1].to(tl.int64), mask=good, sem="relaxed")
    if MOMENTS:
        tl.atomic_add(to + 3, parts[2].to(tl.int64), mask=good, sem="relaxed")
        tl.atomic_add(to + 4, parts[3].to(tl.int64), mask=good, sem="relaxed")


@triton.jit
def _row_of(logits, labels, top, share, row, n, k, column, within, WIDE: tl.constexpr):
    """One row's logits, label, largest logit and confidence; a confidence of 0 where there is no such row."""
    there = row < n
    z = tl.load(logits + row.to(tl.int64) * k + column, mask=within & there, other=float("-inf")).to(WIDE)
    label = tl.load(labels + row, mask=there, other=0)
    largest = tl.load(top + row, mask=there, other=0.0)
    part = tl.load(share + row, mask=there, other=0.0)
    return z, label.to(tl.int32), largest, part


@triton.jit
def _bin_row(
    row,
    sums,
    to,
    limits,
    column,
    within,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
):
    z, label, largest, part = row
    count, hi, lo, hi2, lo2, outside = sums
    p = _power(z - largest) * part
    good = within & (part > 0)
    if not UNIFORM:
        out = good & ((p < tl.load(limits)) | (p > tl.load(limits + B)))
        outside += out.to(tl.int32)
        good = good & (out == 0)
    place = _place(p, limits, B, UNIFORM, STEPS)
    parts = _whole_parts(p, MOMENTS)
    own = (label == column).to(tl.int32)
    cell = place * 2 + own
    low = good & (cell == 0)
    count += low.to(tl.int32)
    hi += tl.where(low, parts[0], 0).to(tl.int64)
    lo += tl.where(low, parts[1], 0).to(tl.int64)
    if MOMENTS:
        hi2 += tl.where(low, parts[2], 0).to(tl.int64)
        lo2 += tl.where(low, parts[3], 0).to(tl.int64)
    _pour(to, cell * 5, good & (cell > 0), parts, MOMENTS)
    return count, hi, lo, hi2, lo2, outside


@triton.jit
def _class_tiles(
    logits,
    labels,
    top,
    share,
    limits,
    table,
    faults,
    n,
    k,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    WIDE: tl.constexpr,
    TILE: tl.constexpr,
):
    """Some columns of a share of the rows.

    Atomics are for classes that came and for scores above the lowest bin, of which a row has few. Four rows are read
    before the first is binned, because no read overtakes an atomic.
    """
    column = tl.program_id(0) * TILE + tl.arange(0, TILE)
    within = column < k
    to = table + column.to(tl.int64) * (B * 10)
    none = tl.zeros((TILE,), tl.int64)
    zero = tl.zeros((TILE,), tl.int32)
    sums = (zero, none, none, none, none, zero)
    for row in range(tl.program_id(1) * 4, n, tl.num_programs(1) * 4):
        a = _row_of(logits, labels, top, share, row, n, k, column, within, WIDE)
        b = _row_of(logits, labels, top, share, row + 1, n, k, column, within, WIDE)
        c = _row_of(logits, labels, top, share, row + 2, n, k, column, within, WIDE)
        d = _row_of(logits, labels, top, share, row + 3, n, k, column, within, WIDE)
        sums = _bin_row(a, sums, to, limits, column, within, B, UNIFORM, STEPS, MOMENTS)
        sums = _bin_row(b, sums, to, limits, column, within, B, UNIFORM, STEPS, MOMENTS)
        sums = _bin_row(c, sums, to, limits, column, within, B, UNIFORM, STEPS, MOMENTS)
        sums = _bin_row(d, sums, to, limits, column, within, B, UNIFORM, STEPS, MOMENTS)
    count, hi, lo, hi2, lo2, outside = sums
    tl.atomic_add(to, count.to(tl.int64), mask=within, sem="relaxed")
    tl.atomic_add(to + 1, hi, mask=within, sem="relaxed")
    tl.atomic_add(to + 2, lo, mask=within, sem="relaxed")
    if MOMENTS:
        tl.atomic_add(to + 3, hi2, mask=within, sem="relaxed")
        tl.atomic_add(to + 4, lo2, mask=within, sem="relaxed")
    if not UNIFORM:
        tl.atomic_add(faults + 2, tl.sum(outside.to(tl.int64)), sem="relaxed")
