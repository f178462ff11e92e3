"""Class-wise binned sums of rows of logits on CUDA, in Triton.

A row has few scores above the lowest bin: those, and the score of the row's own class, are added to the table by
atomics; the others are summed in registers. Up to 4,096 narrow logits are read once, by a program that keeps a row in
its registers. Of other rows, a first read finds the largest logit and the sum of powers, and a second bins the scores.
"""

# mypy: ignore-errors
# ruff: noqa: SIM113
# Triton's language has the syntax of Python, not its types; what a branch tests is known to its compiler.

import torch
import triton
import triton.language as tl

from trueness.torch._cell_kernel import _place, _whole_parts
from trueness.torch._copies_kernel import copied
from trueness.torch._launch import launch, processors
from trueness.torch._logit_kernel import _finite_or_zero, _power, tops, vector_of, wide_type
from trueness.torch._rows import Layout, TensorRows, as_bytes
from trueness.torch._sums import BAD_LABEL, BAD_SCORE, Sums, no_sums, sift

_CLASS_PROGRAMS = 32  # for each multiprocessor
_FEWEST_BINS = 8  # the lowest then ends at 1/8 or below
_FEWEST_CLASSES = 65  # with fewer, many scores of a row are above the lowest bin
_OF_A_THREAD = 32  # entries of a row
_MOST_THREADS = 128  # each needs 256 bytes of shared memory
_SPILLED = 32  # rows; sums of 32 numbers of 27 bits fit into 32 bits
_REGISTERS = {32: 168, 16: 128, 8: 96}  # by entries of a thread; with fewer registers, more programs run at once
_ADDRESS = "{ .reg .u32 t; .reg .u64 a, b; mov.u32 t, tn_lower; mad.lo.u32 t, $1, 8, t;"
_CLEAR = _ADDRESS + " mov.u64 a, 0; st.shared.u64 [t], a; mov.u32 $0, 0; }"
_ADD = _ADDRESS + " ld.shared.u64 a, [t]; cvt.u64.u32 b, $2; add.u64 a, a, b; st.shared.u64 [t], a; mov.u32 $0, 0; }"
_READ = _ADDRESS + " ld.shared.u64 a, [t]; mov.u64 $0, a; }"


def class_sums(rows: TensorRows, layout: Layout, into: Sums | None = None) -> Sums:
    """As :func:`trueness.torch._class_sums.class_sums`, for logits without weights.

    What a single launch sums is added to `into`.
    """
    ruler, k = layout.ruler, rows.p.shape[1]
    narrow = ruler.uniform and rows.p.dtype != torch.float64 and ruler.size < 1 << 22
    once = narrow and ruler.size >= _FEWEST_BINS and not layout.moments
    once = once and _FEWEST_CLASSES <= k <= _OF_A_THREAD * _MOST_THREADS
    sums = no_sums(k, ruler.size, rows.p.device) if into is None or not once else into
    if rows.p.shape[0] > 0:
        rows = rows._replace(p=rows.p.contiguous(), y=as_bytes(rows.codes.contiguous()))
        (_read_once if once else _read_twice)(rows, layout, sums)
    return sums


def _read_once(rows: TensorRows, layout: Layout, sums: Sums) -> None:
    logits, size, (n, k) = rows.p, layout.ruler.size, rows.p.shape
    width = triton.next_power_of_2(k)
    threads = max(32, width // _OF_A_THREAD)
    vector = min(vector_of(logits), width // threads)
    pieces = width // (threads * vector)
    registers = _REGISTERS.get(width // threads, 64)
    warps = 4 * (512 // registers)  # of a multiprocessor: each quarter has 16,384 registers for its warps of 32 threads
    programs = min(n, processors(logits.device.index) * max(1, 32 * warps // threads))
    constants = {
        "k": k,
        "SKIPPED": rows.skipped,
        "B": size,
        "PIECES": pieces,
        "THREADS": threads,
        "VECTOR": vector,
        "AHEAD": pieces * max(1, vector * logits.element_size() // 4) <= _OF_A_THREAD // 2,
        "LINES": max(threads, width * logits.element_size() // 128),
        "SPILLED": _SPILLED,
        "DECLARE": f".shared .align 8 .b8 tn_lower[{8 * width}]; mov.u32 $0, $1;",
        "CLEAR": _CLEAR,
        "ADD": _ADD,
        "READ": _READ,
        "num_warps": threads // 32,
        "maxnreg": registers,
    }
    limits = layout.ruler.limits(torch.float32, logits.device)
    launch(_whole_rows, programs, (logits, rows.y, limits, sums.table, sums.faults, n), constants)


def _read_twice(rows: TensorRows, layout: Layout, sums: Sums) -> None:
    ruler, logits, (n, k) = layout.ruler, rows.p, rows.p.shape
    confidence, correct, top = tops(rows.y, logits)
    good = sift(sums, {BAD_SCORE: ~confidence.isnan(), BAD_LABEL: correct != 2}, rows)
    share = torch.where(good, confidence, 0.0)  # no softmax has a largest probability of 0
    tile = min(128, max(32, triton.next_power_of_2(k)))
    tiles = triton.cdiv(k, tile)
    shares = max(1, min(triton.cdiv(n, 16), triton.cdiv(processors(logits.device.index) * _CLASS_PROGRAMS, tiles)))
    with torch.cuda.device(logits.device), copied(sums.table) as tables:
        _class_tiles[(tiles, shares)](
            logits,
            rows.y,
            top,
            share,
            ruler.limits(confidence.dtype, logits.device),
            tables,
            sums.faults,
            n,
            k,
            len(tables),
            B=ruler.size,
            UNIFORM=ruler.uniform and logits.dtype != torch.float64 and ruler.size < 1 << 22,
            STEPS=max(0, (ruler.size - 1).bit_length()),
            MOMENTS=layout.moments,
            WIDE=wide_type(logits),
            TILE=tile,
            num_warps=tile // 32,  # one column for each thread
        )


@triton.jit
def _pour(to, offset, good, one, parts, MOMENTS: tl.constexpr):
    to = to + offset
    tl.atomic_add(to, tl.full(offset.shape, one, tl.int64), mask=good, sem="relaxed")
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
    _pour(to, cell * 5, good & (cell > 0), 1, parts, MOMENTS)
    return count, hi, lo, hi2, lo2, outside


@triton.jit
def _class_tiles(
    logits,
    labels,
    top,
    share,
    limits,
    tables,
    faults,
    n,
    k,
    copies,
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
    table = tables + (tl.program_id(1) % copies).to(tl.int64) * (B * 10) * k
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
def _whole_row(logits, row, k: tl.constexpr, column):
    return tl.load(logits + row.to(tl.int64) * k + column, mask=column < k, other=float("-inf"))


@triton.jit
def _fetch(row, k: tl.constexpr, LINES: tl.constexpr):
    """Bring a row nearer, in lines of 128 bytes: the registers have no room for it, but the cache has."""
    STEP: tl.constexpr = 1024 // row.dtype.element_ty.primitive_bitwidth
    at = row + tl.minimum(tl.arange(0, LINES) * STEP, k - 1)
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [at], dtype=tl.int32, is_pure=False, pack=1
    )


@triton.jit
def _move_own(table, limits, own, p, B: tl.constexpr):
    """Move scores that are not nan from label 0 to label 1 of their bin."""
    there = p == p
    to = table + own.to(tl.int64) * (B * 10)
    cell = _place(p, limits, B, True, 0) * 10
    hi, lo, _, _ = _whole_parts(p, False)
    hi = hi.to(tl.int64)
    lo = lo.to(tl.int64)
    _pour(to, cell, there, -1, (-hi, -lo), False)
    _pour(to, cell + 5, there, 1, (hi, lo), False)


@triton.jit
def _add_upper(to, within, upper, rows):
    """Add sums of ⌊2²⁶ x⌋ + 0x4B000000, modulo 2³², of `rows` rows."""
    upper -= (rows * 0x4B000000).to(tl.uint32)
    tl.atomic_add(to + 1, upper.to(tl.int64), mask=within, sem="relaxed")


@triton.jit
def _whole_rows(
    logits,
    labels,
    limits,
    table,
    faults,
    n,
    k: tl.constexpr,
    SKIPPED: tl.constexpr,
    B: tl.constexpr,
    PIECES: tl.constexpr,
    THREADS: tl.constexpr,
    VECTOR: tl.constexpr,
    AHEAD: tl.constexpr,
    LINES: tl.constexpr,
    SPILLED: tl.constexpr,
    DECLARE: tl.constexpr,
    CLEAR: tl.constexpr,
    ADD: tl.constexpr,
    READ: tl.constexpr,
):
    """Rows of narrow logits, each read once, for at least eight bins of equal width, without squares.

    All scores are taken for label 0; that of a row's own class is moved to label 1 afterwards. Scores of the lowest bin
    are summed column by column, upper and lower bits in a register each, which is emptied before it overflows. The
    number of rows, minus those that go elsewhere, is the count of that bin. The next row is read AHEAD if it fits into
    the registers.
    """
    # Neighbouring threads read neighbouring vectors, and each thread reads some pieces of a row.
    thread = tl.arange(0, THREADS)
    piece = tl.arange(0, PIECES)[None, :, None]
    inner = tl.arange(0, VECTOR)[None, None, :]
    column = (piece * THREADS + thread[:, None, None]) * VECTOR + inner
    number = (piece * VECTOR + inner) * THREADS + thread[:, None, None]
    tl.inline_asm_elementwise(DECLARE, "=r,r", [thread], dtype=tl.int32, is_pure=False, pack=1)
    tl.inline_asm_elementwise(CLEAR, "=r,r", [number], dtype=tl.int32, is_pure=False, pack=1)
    tl.debug_barrier()
    slot = tl.arange(0, PIECES * VECTOR)
    turn = tl.arange(0, SPILLED)
    own_score = tl.full((SPILLED,), float("nan"), tl.float32)
    own_class = tl.zeros((SPILLED,), tl.int32)
    lowest_end = tl.load(limits + 1)
    to = table + column.to(tl.int64) * (B * 10)
    upper = tl.zeros(column.shape, tl.uint32)
    lower = tl.zeros(column.shape, tl.uint32)
    rows = 0
    upper_rows = 0
    counted = 0
    bad_rows = 0
    bad_labels = 0
    stride = tl.num_programs(0)
    ahead = _whole_row(logits, tl.program_id(0), k, column)
    label_ahead = tl.load(labels + tl.program_id(0))
    for row in range(tl.program_id(0), n, stride):
        next = tl.minimum(row + stride, n - 1)
        if not AHEAD:
            ahead = _whole_row(logits, row, k, column)
            _fetch(logits + next.to(tl.int64) * k, k, LINES)
        z = ahead.to(tl.float32)
        label = label_ahead
        label_ahead = tl.load(labels + next)
        wrong = (label < 0) | (label >= k)
        own = tl.where(wrong, 0, label).to(tl.int32)
        z_own = tl.load(logits + row.to(tl.int64) * k + own).to(tl.float32)
        tops_of_threads = tl.max(tl.max(z, axis=2), axis=1)
        largest = tl.max(tops_of_threads, axis=0)
        base = _finite_or_zero(largest)
        powers = _power(z - base)
        if AHEAD:
            ahead = _whole_row(logits, next, k, column)  # not before the registers of this row are free
        total = tl.sum(tl.sum(tl.sum(powers, axis=2), axis=1), axis=0)
        bad = ((total == total) & (largest != float("-inf"))) == 0
        good = (bad | wrong) == 0
        if SKIPPED is not None:
            keep = label != SKIPPED
            good = good & keep
            bad = bad & keep
            wrong = wrong & keep
        bad_rows += bad.to(tl.int32)
        bad_labels += (wrong & (bad == 0)).to(tl.int32)
        counted += good.to(tl.int32)
        share = tl.where(good, 1.0 / total, float("nan"))
        p = powers * share
        x = tl.where(p < lowest_end, p, 0.0)
        # 2²⁶ x + 2²³ rounded down is 2²³ + ⌊2²⁶ x⌋, since x < 1/8; all other steps are exact.
        scale = tl.full(x.shape, 67108864.0, tl.float32)
        whole = tl.inline_asm_elementwise(
            "fma.rz.f32 $0, $1, $2, 0f4B000000;", "=r,r,r", [x, scale], dtype=tl.float32, is_pure=True, pack=1
        )
        rest = x * 9007199254740992.0 - (whole * 134217728.0 - 1125899906842624.0)
        upper += whole.to(tl.uint32, bitcast=True)
        lower += rest.to(tl.uint32)
        now = turn == rows % SPILLED
        own_score = tl.where(now, _power(z_own - base) * share, own_score)
        own_class = tl.where(now, own, own_class)
        # Threads whose largest score is above the lowest bin: the entries of each are looked at again, side by side.
        look = _power(tops_of_threads - base) * share >= lowest_end
        first = tl.min(tl.where(look, thread, THREADS), axis=0)
        while first < THREADS:
            at = (slot // VECTOR * THREADS + first) * VECTOR + slot % VECTOR
            again = tl.load(logits + row.to(tl.int64) * k + at, mask=at < k, other=float("-inf")).to(tl.float32)
            q = _power(again - base) * share
            above = q >= lowest_end
            first_cell = table + at.to(tl.int64) * (B * 10)
            tl.atomic_add(first_cell, tl.full(at.shape, -1, tl.int64), mask=above, sem="relaxed")
            _pour(first_cell, _place(q, limits, B, True, 0) * 10, above, 1, _whole_parts(q, False), False)
            look = look & (thread != first)
            first = tl.min(tl.where(look, thread, THREADS), axis=0)
        rows += 1
        if rows % SPILLED == 0:
            tl.inline_asm_elementwise(ADD, "=r,r,r", [number, lower], dtype=tl.int32, is_pure=False, pack=1)
            lower = tl.zeros(column.shape, tl.uint32)
            _move_own(table, limits, own_class, own_score, B)
            own_score = tl.full((SPILLED,), float("nan"), tl.float32)
        upper_rows += 1
        if upper_rows == 64 * B:  # sums of 64·B numbers below 2²⁶/B fit into 32 bits
            _add_upper(to, column < k, upper, upper_rows)
            upper = tl.zeros(column.shape, tl.uint32)
            upper_rows = 0
    tl.inline_asm_elementwise(ADD, "=r,r,r", [number, lower], dtype=tl.int32, is_pure=False, pack=1)
    _move_own(table, limits, own_class, own_score, B)
    tl.debug_barrier()
    lower_sum = tl.inline_asm_elementwise(READ, "=l,r", [number], dtype=tl.int64, is_pure=False, pack=1)
    _add_upper(to, column < k, upper, upper_rows)
    tl.atomic_add(to, tl.zeros(column.shape, tl.int64) + counted, mask=column < k, sem="relaxed")
    tl.atomic_add(to + 2, lower_sum, mask=column < k, sem="relaxed")
    if bad_rows > 0:
        tl.atomic_add(faults, bad_rows.to(tl.int64), sem="relaxed")
    if bad_labels > 0:
        tl.atomic_add(faults + 1, bad_labels.to(tl.int64), sem="relaxed")
