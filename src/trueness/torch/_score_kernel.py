"""Binned sums of scores on CUDA, in Triton.

Every thread keeps sums of its own for every cell (bin and label) in shared memory, so that no two rows ever meet:
neither atomics nor waiting. Triton has no shared memory that a program may index, so a few lines of PTX declare it, add
to it and read it. With more bins the threads of a program share one table, to which they add by atomics; with too many
for that, rows are added to copies of the table in global memory.
"""

# mypy: ignore-errors
# Triton's language has the syntax of Python, not its types; what a branch tests is known to its compiler.

from functools import lru_cache

import torch
import triton
import triton.language as tl

from trueness.torch._cell_kernel import _cell, _score, _whole_parts, shape_of
from trueness.torch._copies_kernel import add_to_copies
from trueness.torch._edges import Ruler
from trueness.torch._launch import launch, processors
from trueness.torch._rows import Layout, TensorRows, as_bytes
from trueness.torch._sums import Sums, no_sums

_SHARED = 48_000  # bytes of static shared memory that a program may declare, a little for reductions left aside
_SHARED_OF_ALL = 230_000  # bytes of a multiprocessor
_ROWS_PER_THREAD = 65_000  # Σhi has 42 bits: 26 for one row, 16 for this number of rows
_ROWS_PER_TABLE = 250_000  # pieces of 14 bits: 18 are left for the rows
_VECTOR = 8  # rows that a thread reads at once
_SHARERS = 256  # threads with one table
_OTHER_CELLS = 4  # after those of the bins: three faults, and rows that do not count


def score_sums(
    y: torch.Tensor,
    p: torch.Tensor,
    ruler: Ruler,
    moments: bool,
    *,
    skipped: int | None = None,
    into: Sums | None = None,
) -> Sums:
    """As :func:`trueness.torch._sums.score_sums`; rows that do not count have the label `skipped`.

    If the sums fit into shared memory, they are added to `into`.
    """
    plan = _plan(ruler.size, moments)
    sums = no_sums(1, ruler.size, p.device) if into is None or plan is None else into
    n = p.shape[0]
    if n == 0:
        return sums
    y, p = as_bytes(y).contiguous(), p.contiguous()
    limits = ruler.limits(p.dtype, p.device)
    shape = shape_of(ruler, p.dtype, moments, skipped)
    if plan is None:
        add_to_copies(y, p, limits, sums, shape)
        return sums
    kernel, resident, rows, constants = plan
    programs = max(min(-(-n // constants["BLOCK"]), processors(p.device.index) * resident), -(-n // rows))
    launch(kernel, programs, (p, y, limits, sums.flat, n), {**shape, **constants})
    return sums


def part_sums(rows: TensorRows, part: torch.Tensor, parts: int, layout: Layout) -> Sums:
    """Sums of scores without weights whose rows belong to several parts, such as the predicted classes."""
    sums = no_sums(parts, layout.ruler.size, rows.p.device)
    if rows.p.shape[0] > 0:
        limits = layout.ruler.limits(rows.p.dtype, rows.p.device)
        shape = shape_of(layout.ruler, rows.p.dtype, layout.moments, rows.skipped)
        add_to_copies(rows.y, rows.p, limits, sums, shape, part)
    return sums


@lru_cache(maxsize=64)
def _plan(size: int, moments: bool) -> tuple[object, int, int, dict[str, object]] | None:
    """The kernel, how many programs fit on a multiprocessor, the most rows for one, and what is compiled into it."""
    words = 4 if moments else 2
    of_thread = (2 * size + _OTHER_CELLS) * words * 8
    warps = next((w for w in (2, 1) if of_thread * 32 * w <= _SHARED), 0)
    if not warps:
        table = common_table(size, moments)
        return table and (_common, *table[:2], {"BLOCK": _VECTOR * _SHARERS, **table[2]})
    threads = 32 * warps
    constants = {
        "BLOCK": _VECTOR * threads,
        "THREADS": threads,
        "DECLARE": _declare(of_thread * threads),
        "ADD": _add_asm(words, threads),
        "CLEAR": _clear_asm(words, threads),
        "READ": _read_asm(words, threads),
        "num_warps": warps,
    }
    return _private, _resident(of_thread * threads, 16), threads * _ROWS_PER_THREAD, constants


@lru_cache(maxsize=64)
def common_table(size: int, moments: bool) -> tuple[int, int, dict[str, object]] | None:
    """The same, without a kernel, for a table that the threads of a program share; None if it is too large."""
    pieces = 9 if moments else 5
    shared = (2 * size + _OTHER_CELLS) * pieces * 4
    if shared > _SHARED:
        return None
    constants = {
        "THREADS": _SHARERS,
        "DECLARE": _declare(shared),
        "ADD": _add_pieces_asm(pieces),
        "CLEAR": _clear_pieces_asm(pieces),
        "READ": _read_pieces_asm(pieces),
        "num_warps": _SHARERS // 32,
    }
    return _resident(shared, 8), _ROWS_PER_TABLE, constants


def _resident(shared: int, most: int) -> int:
    return max(1, min(most, _SHARED_OF_ALL // (shared + 1_024)))


def _declare(shared: int) -> str:
    return f".shared .align 16 .b8 tn_cells[{shared}]; mov.u32 $0, $1;"


def _address(words: int, threads: int) -> str:
    """A thread's word of the cell whose number is in $1: neighbouring threads have neighbouring words."""
    shift = (8 * words * threads).bit_length() - 1
    return (
        "{ .reg .u32 t, u; .reg .u64 a, b, c, d, e; mov.u32 t, %tid.x; shl.b32 t, t, 4; mov.u32 u, tn_cells;"
        f" add.u32 t, t, u; shl.b32 u, $1, {shift}; add.u32 t, t, u;"
    )


def _add_asm(words: int, threads: int) -> str:
    pair = (
        " ld.shared.v2.u64 {{a, b}}, [t + {at}]; {first} add.u64 a, a, c; cvt.u64.u32 c, {low}; add.u64 b, b, c;"
        " st.shared.v2.u64 [t + {at}], {{a, b}};"
    )
    # The count grows in the upper bits of the first word: 1 << 42 is 1 << 10 in its upper half.
    body = pair.format(at=0, first="mov.u32 u, 1024; mov.b64 c, {$2, u};", low="$3")
    if words == 4:
        body += pair.format(at=16 * threads, first="cvt.u64.u32 c, $4;", low="$5")
    return f"{_address(words, threads)}{body} mov.u32 $0, 0; }}"


def _clear_asm(words: int, threads: int) -> str:
    body = "".join(f" st.shared.v2.u64 [t + {16 * threads * i}], {{a, a}};" for i in range(words // 2))
    return f"{_address(words, threads)} mov.u64 a, 0;{body} mov.u32 $0, 0; }}"


def _read_asm(words: int, threads: int) -> str:
    """Words $0 … of the cell in the input that follows them."""
    address = _address(words, threads).replace("$1", f"${words}")
    body = "".join(
        f" ld.shared.v2.u64 {{a, b}}, [t + {16 * threads * i}]; mov.u64 ${2 * i}, a; mov.u64 ${2 * i + 1}, b;"
        for i in range(words // 2)
    )
    return f"{address}{body} }}"


def _piece_address(pieces: int, cell: str) -> str:
    return f"{{ .reg .u32 t, u; .reg .pred q; mov.u32 u, tn_cells; mad.lo.u32 t, {cell}, {4 * pieces}, u;"


def _add_pieces_asm(pieces: int) -> str:
    """Atomics of 32 bits are the ones that shared memory has: each part is added in two pieces, if it is not 0."""
    body = " red.shared.add.u32 [t], 1;"
    for i, (part, bits) in enumerate((("$2", 13), ("$3", 14), ("$4", 13), ("$5", 14))[: pieces // 2]):
        body += (
            f" setp.ne.u32 q, {part}, 0; and.b32 u, {part}, {(1 << bits) - 1};"
            f" @q red.shared.add.u32 [t + {8 * i + 4}], u;"
            f" shr.u32 u, {part}, {bits}; @q red.shared.add.u32 [t + {8 * i + 8}], u;"
        )
    return f"{_piece_address(pieces, '$1')}{body} mov.u32 $0, 0; }}"


def _clear_pieces_asm(pieces: int) -> str:
    body = "".join(f" st.shared.u32 [t + {4 * i}], u;" for i in range(pieces))
    return f"{_piece_address(pieces, '$1')} mov.u32 u, 0;{body} mov.u32 $0, 0; }}"


def _read_pieces_asm(pieces: int) -> str:
    """Count, then each part put together again, of the cell in the input that follows them."""
    parts = pieces // 2
    body = " ld.shared.u32 u, [t]; cvt.u64.u32 $0, u;"
    for i, bits in enumerate((13, 14, 13, 14)[:parts]):
        body += (
            f" ld.shared.u32 u, [t + {8 * i + 4}]; cvt.u64.u32 v, u; ld.shared.u32 u, [t + {8 * i + 8}];"
            f" cvt.u64.u32 w, u; shl.b64 w, w, {bits}; add.u64 ${i + 1}, v, w;"
        )
    return f"{_piece_address(pieces, f'${parts + 1}')} .reg .u64 v, w;{body} }}"


@triton.jit
def _add_rows(
    p,
    y,
    limits,
    keep,
    ADD: tl.constexpr,
    MASKED: tl.constexpr,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    SKIPPED: tl.constexpr,
):
    p = _score(p)
    cell = _cell(p, y, limits, B, UNIFORM, STEPS, SKIPPED)
    hi, lo, hi2, lo2 = _whole_parts(p, MOMENTS)
    if MASKED:
        cell = tl.where(keep, cell, 2 * B + 3)
    if MOMENTS:
        tl.inline_asm_elementwise(ADD, "=r,r,r,r,r,r", [cell, hi, lo, hi2, lo2], dtype=tl.int32, is_pure=False, pack=1)
    else:
        tl.inline_asm_elementwise(ADD, "=r,r,r,r", [cell, hi, lo], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def _report(sums, each, B: tl.constexpr, MOMENTS: tl.constexpr, READ: tl.constexpr):
    """Add what every thread has summed to the sums of all programs."""
    for c in range(2 * B + 3):
        if MOMENTS:
            one, lo, hi2, lo2 = tl.inline_asm_elementwise(
                READ, "=l,=l,=l,=l,r", [each * 0 + c], dtype=(tl.int64,) * 4, is_pure=False, pack=1
            )
        else:
            one, lo = tl.inline_asm_elementwise(
                READ, "=l,=l,r", [each * 0 + c], dtype=(tl.int64, tl.int64), is_pure=False, pack=1
            )
        count = tl.sum(one >> 42)
        if c < 2 * B:
            hi = tl.sum(one & 0x3FFFFFFFFFF)
            tl.atomic_add(sums + c * 5, count, sem="relaxed")
            tl.atomic_add(sums + c * 5 + 1, hi, sem="relaxed")
            tl.atomic_add(sums + c * 5 + 2, tl.sum(lo), sem="relaxed")
            if MOMENTS:
                tl.atomic_add(sums + c * 5 + 3, tl.sum(hi2), sem="relaxed")
                tl.atomic_add(sums + c * 5 + 4, tl.sum(lo2), sem="relaxed")
        else:
            # Faults follow the 10·B words of the table.
            tl.atomic_add(sums + 8 * B + c, count, sem="relaxed")


@triton.jit
def _private(
    p_rows,
    y_rows,
    limits,
    sums,
    n,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    SKIPPED: tl.constexpr,
    BLOCK: tl.constexpr,
    THREADS: tl.constexpr,
    DECLARE: tl.constexpr,
    ADD: tl.constexpr,
    CLEAR: tl.constexpr,
    READ: tl.constexpr,
):
    """A table for each thread of a program."""
    each = tl.arange(0, THREADS)
    tl.inline_asm_elementwise(DECLARE, "=r,r", [each], dtype=tl.int32, is_pure=False, pack=1)
    for c in range(2 * B + 4):
        tl.inline_asm_elementwise(CLEAR, "=r,r", [each * 0 + c], dtype=tl.int32, is_pure=False, pack=1)
    rows = tl.arange(0, BLOCK)
    n_full = n // BLOCK
    first = tl.program_id(0).to(tl.int64)
    stride = tl.num_programs(0)
    there = rows < tl.where(first < n_full, BLOCK, 0)
    p = tl.load(p_rows + first * BLOCK + rows, mask=there, eviction_policy="evict_first")
    y = tl.load(y_rows + first * BLOCK + rows, mask=there, eviction_policy="evict_first")
    for b in range(first, n_full, stride):
        # The next block is on its way while this one is summed. The last one reads itself again: a mask of all rows
        # would cost more than a read that the cache serves.
        at = tl.where(b + stride < n_full, b + stride, b) * BLOCK + rows
        p_next = tl.load(p_rows + at, eviction_policy="evict_first")
        y_next = tl.load(y_rows + at, eviction_policy="evict_first")
        _add_rows(p, y, limits, rows, ADD, False, B, UNIFORM, STEPS, MOMENTS, SKIPPED)
        p = p_next
        y = y_next
    if first == n_full % stride:
        at = n_full.to(tl.int64) * BLOCK + rows
        keep = at < n
        p = tl.load(p_rows + at, mask=keep, other=0.0)
        y = tl.load(y_rows + at, mask=keep, other=0)
        _add_rows(p, y, limits, keep, ADD, True, B, UNIFORM, STEPS, MOMENTS, SKIPPED)
    _report(sums, each, B, MOMENTS, READ)


@triton.jit
def _clear_common(each, B: tl.constexpr, DECLARE: tl.constexpr, CLEAR: tl.constexpr):
    """Declare the table of a program and fill it with zeros."""
    tl.inline_asm_elementwise(DECLARE, "=r,r", [each], dtype=tl.int32, is_pure=False, pack=1)
    for c in range(0, 2 * B + 4, each.shape[0]):
        cell = tl.minimum(c + each, 2 * B + 3)
        tl.inline_asm_elementwise(CLEAR, "=r,r", [cell], dtype=tl.int32, is_pure=False, pack=1)
    tl.debug_barrier()


@triton.jit
def _report_common(sums, each, B: tl.constexpr, MOMENTS: tl.constexpr, READ: tl.constexpr):
    """Add the table of a program to the sums of all programs."""
    tl.debug_barrier()
    for c in range(0, 2 * B + 3, each.shape[0]):
        cell = tl.minimum(c + each, 2 * B + 3)
        if MOMENTS:
            count, hi, lo, hi2, lo2 = tl.inline_asm_elementwise(
                READ, "=l,=l,=l,=l,=l,r", [cell], dtype=(tl.int64,) * 5, is_pure=False, pack=1
            )
        else:
            count, hi, lo = tl.inline_asm_elementwise(
                READ, "=l,=l,=l,r", [cell], dtype=(tl.int64,) * 3, is_pure=False, pack=1
            )
        some = (count > 0) & (cell < 2 * B)
        to = sums + cell * 5
        tl.atomic_add(to, count, mask=some, sem="relaxed")
        tl.atomic_add(to + 1, hi, mask=some, sem="relaxed")
        tl.atomic_add(to + 2, lo, mask=some, sem="relaxed")
        if MOMENTS:
            tl.atomic_add(to + 3, hi2, mask=some, sem="relaxed")
            tl.atomic_add(to + 4, lo2, mask=some, sem="relaxed")
        fault = (count > 0) & (cell >= 2 * B) & (cell < 2 * B + 3)
        tl.atomic_add(sums + 8 * B + cell, count, mask=fault, sem="relaxed")


@triton.jit
def _common(
    p_rows,
    y_rows,
    limits,
    sums,
    n,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    SKIPPED: tl.constexpr,
    BLOCK: tl.constexpr,
    THREADS: tl.constexpr,
    DECLARE: tl.constexpr,
    ADD: tl.constexpr,
    CLEAR: tl.constexpr,
    READ: tl.constexpr,
):
    """One table for all threads of a program."""
    each = tl.arange(0, THREADS)
    _clear_common(each, B, DECLARE, CLEAR)
    rows = tl.arange(0, BLOCK)
    for b in range(tl.program_id(0).to(tl.int64), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = b * BLOCK + rows
        keep = at < n
        p = tl.load(p_rows + at, mask=keep, other=0.0, eviction_policy="evict_first")
        y = tl.load(y_rows + at, mask=keep, other=0, eviction_policy="evict_first")
        _add_rows(p, y, limits, keep, ADD, True, B, UNIFORM, STEPS, MOMENTS, SKIPPED)
    _report_common(sums, each, B, MOMENTS, READ)
