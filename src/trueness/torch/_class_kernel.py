"""Class-wise binned sums of rows of logits on CUDA, in Triton.

The first read finds the largest logit and the sum of powers of each row, the second bins the scores. A row has few
scores above the lowest bin: those, and the score of the row's own class, are added to the table by atomics; the others
are summed in registers.
"""

# mypy: ignore-errors
# Triton's language has the syntax of Python, not its types; what a branch tests is known to its compiler.

import torch
import triton
import triton.language as tl

from trueness.torch._logit_kernel import _power, tops, wide_type
from trueness.torch._rows import Layout, TensorRows, as_bytes
from trueness.torch._score_kernel import _place, _whole_parts, processors
from trueness.torch._sums import BAD_LABEL, BAD_SCORE, Sums, no_sums, sift

_CLASS_PROGRAMS = 32  # for each multiprocessor
_FEWEST_BINS = 8  # the lowest then ends at 1/8 or below


def class_sums(rows: TensorRows, layout: Layout) -> Sums:
    """As :func:`trueness.torch._class_sums.class_sums`, for logits without weights."""
    ruler, (n, k) = layout.ruler, rows.p.shape
    sums = no_sums(k, ruler.size, rows.p.device)
    if n == 0:
        return sums
    logits, y = rows.p.contiguous(), as_bytes(rows.codes.contiguous())
    confidence, correct, top = tops(y, logits)
    good = sift(sums, {BAD_SCORE: ~confidence.isnan(), BAD_LABEL: correct != 2}, rows)
    limits = ruler.limits(confidence.dtype, logits.device)
    narrow = ruler.uniform and logits.dtype != torch.float64 and ruler.size < 1 << 22
    # Of narrower logits a thread reads eight columns at once, and their atomics cost more than the arithmetic saved.
    light = narrow and logits.dtype == torch.float32 and ruler.size >= _FEWEST_BINS and not layout.moments
    tile = min(128, max(32, triton.next_power_of_2(k)))
    tiles = triton.cdiv(k, tile)
    shares = max(1, min(triton.cdiv(n, 16), triton.cdiv(processors(logits.device.index) * _CLASS_PROGRAMS, tiles)))
    with torch.cuda.device(logits.device):
        if light:
            label = torch.where(good, y, -1).to(torch.int32)
            share = torch.where(good, confidence, torch.nan)
            _light_tiles[(tiles, shares)](
                logits,
                label,
                top,
                share,
                limits,
                sums.table,
                n,
                k,
                B=ruler.size,
                TILE=tile,
                num_warps=1,  # each thread reads four columns at once, and a warp decides on its own what to skip
            )
        else:
            _class_tiles[(tiles, shares)](
                logits,
                y,
                top,
                torch.where(good, confidence, 0.0),  # no softmax has a largest probability of 0
                limits,
                sums.table,
                sums.faults,
                n,
                k,
                B=ruler.size,
                UNIFORM=narrow,
                STEPS=max(0, (ruler.size - 1).bit_length()),
                MOMENTS=layout.moments,
                WIDE=wide_type(logits),
                TILE=tile,
                num_warps=tile // 32,  # one column for each thread
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

    Atomics are for the classes of rows and for scores above the lowest bin, of which a row has few. Four rows are read
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


@triton.jit
def _light_row_of(logits, labels, top, share, row, n, k: tl.constexpr, column, within):
    """As `_row_of`; where there is no such row, the confidence is nan and the label no class."""
    there = row < n
    z = tl.load(logits + row.to(tl.int64) * k + column, mask=within & there, other=float("-inf")).to(tl.float32)
    label = tl.load(labels + row, mask=there, other=-1)
    largest = tl.load(top + row, mask=there, other=0.0)
    part = tl.load(share + row, mask=there, other=float("nan"))
    return z, label, largest, part


@triton.jit
def _light_row(row, column, to, limits, lowest_end, B: tl.constexpr):
    """Whether each score is in the lowest bin, and the two parts of those; the other scores go to the table."""
    z, label, largest, part = row
    p = _power(z - largest) * part
    own = column == label
    low = (p < lowest_end) & (own == 0)  # neither low nor other: nan, a row that does not count
    other = (p >= lowest_end) | own
    x = tl.where(low, p, 0.0)
    # 2²⁶ x + 2²³ rounded down has ⌊2²⁶ x⌋ in its last bits, since x < 1/8; the rest is exact.
    scale = tl.full(x.shape, 67108864.0, tl.float32)
    whole = tl.inline_asm_elementwise(
        "fma.rz.f32 $0, $1, $2, 0f4B000000;", "=r,r,r", [x, scale], dtype=tl.float32, is_pure=True, pack=1
    )
    rest = x - (whole - 8388608.0) * 1.4901161193847656e-08
    if tl.max(other.to(tl.int32), axis=0) > 0:
        cell = _place(p, limits, B, True, 0) * 2 + own.to(tl.int32)
        _pour(to, cell * 5, other, _whole_parts(p, False), False)
    return low.to(tl.int32), whole.to(tl.int32, bitcast=True) & 0x7FFFFF, (rest * 9007199254740992.0).to(tl.int32)


@triton.jit
def _light_tiles(logits, labels, top, share, limits, table, n, k: tl.constexpr, B: tl.constexpr, TILE: tl.constexpr):
    """As `_class_tiles` for at least eight bins of equal width, without squares, in less arithmetic.

    Rows that do not count have a confidence of nan and a label of -1.
    """
    column = tl.program_id(0) * TILE + tl.arange(0, TILE)
    within = column < k
    to = table + column.to(tl.int64) * (B * 10)
    lowest_end = tl.load(limits + 1)
    count = tl.zeros((TILE,), tl.int32)
    upper = tl.zeros((TILE,), tl.int64)
    lower = tl.zeros((TILE,), tl.int64)
    for row in range(tl.program_id(1) * 4, n, tl.num_programs(1) * 4):
        a = _light_row_of(logits, labels, top, share, row, n, k, column, within)
        b = _light_row_of(logits, labels, top, share, row + 1, n, k, column, within)
        c = _light_row_of(logits, labels, top, share, row + 2, n, k, column, within)
        d = _light_row_of(logits, labels, top, share, row + 3, n, k, column, within)
        a1, ah, al = _light_row(a, column, to, limits, lowest_end, B)
        b1, bh, bl = _light_row(b, column, to, limits, lowest_end, B)
        c1, ch, cl = _light_row(c, column, to, limits, lowest_end, B)
        d1, dh, dl = _light_row(d, column, to, limits, lowest_end, B)
        # Sums of four rows fit into 32 bits.
        count += a1 + b1 + c1 + d1
        upper += ah + bh + ch + dh
        lower += al + bl + cl + dl
    tl.atomic_add(to, count.to(tl.int64), mask=within, sem="relaxed")
    tl.atomic_add(to + 1, upper, mask=within, sem="relaxed")
    tl.atomic_add(to + 2, lower, mask=within, sem="relaxed")
