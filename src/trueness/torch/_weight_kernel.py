"""Binned sums of weighted scores on CUDA, in Triton: one read, float64 sums.

As in :mod:`trueness.torch._score_kernel`, every thread keeps its own sums in shared memory: Σw and Σwp of every bin and
label; Σw², two counts and, if requested, Σwp² of every bin. A thread adds at most 4,096 rows, so that sums agree with
the library's to 12 digits in any order.
"""

# mypy: ignore-errors
# ruff: noqa: SIM108
# Triton's language has the syntax of Python, not its types; what a branch tests is known to its compiler.

from functools import lru_cache

import torch
import triton
import triton.language as tl

from trueness.torch._cell_kernel import _place, _score, shape_of
from trueness.torch._edges import Ruler
from trueness.torch._launch import launch, processors
from trueness.torch._rows import as_bytes
from trueness.torch._sums import Sums, no_sums
from trueness.torch._weights import LARGEST

_THREADS = 32
_VECTOR = 8  # rows that a thread reads at once
_BLOCK = _THREADS * _VECTOR
_ROWS = 4_096 * _THREADS  # for one program: each thread then makes plain sums of at most 4,096 terms
_SHARED, _SHARED_OF_ALL = 48_000, 230_000  # bytes for one program, and of a multiprocessor
_NATIVE = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _bytes_of_bin(moments: bool) -> int:
    """Two pairs of sums, one or two sums of squares, and a word of two counts, for each thread."""
    return _THREADS * (2 * 16 + (16 if moments else 8) + 4)


MOST_BINS = _SHARED // _bytes_of_bin(True) - 1
"""With more bins the sums of 32 threads do not fit into shared memory."""


def weighted_score_sums(
    y: torch.Tensor, p: torch.Tensor, w: torch.Tensor, ruler: Ruler, moments: bool, *, skipped: int | None = None
) -> Sums:
    """As :func:`trueness.torch._sums.score_sums` for weighted rows and at most `MOST_BINS` bins.

    Without `moments` Σwp² stays 0.
    """
    sums = no_sums(1, ruler.size, p.device, weighted=True)
    n = p.shape[0]
    if n == 0:
        return sums
    y, p = as_bytes(y).contiguous(), p.contiguous()
    w = (w if w.dtype in _NATIVE else w.to(torch.float64)).contiguous()
    shared = (ruler.size + 1) * _bytes_of_bin(moments)
    at_once = processors(p.device.index) * max(1, min(16, _SHARED_OF_ALL // (shared + 1_024)))
    # Whole waves of programs, so that none waits for a few last ones.
    programs = min(triton.cdiv(n, _BLOCK), at_once * triton.cdiv(n, at_once * _ROWS))
    constants = {
        **shape_of(ruler, p.dtype, moments, skipped),
        "LARGEST": LARGEST,
        "BLOCK": _BLOCK,
        "THREADS": _THREADS,
        **_assembler(shared, moments),
        "num_warps": _THREADS // 32,
    }
    limits = ruler.limits(p.dtype, p.device)
    launch(_weighted, programs, (p, y, w, limits, sums.weighted, sums.faults, n), constants)
    return sums


@lru_cache(maxsize=64)
def _assembler(shared: int, moments: bool) -> dict[str, str]:
    """PTX that declares the sums of a program, adds a row to them, clears them and reads them."""
    # Of a bin: the pairs of label 0, of label 1, the squares, the counts; each has its threads side by side.
    size = _bytes_of_bin(moments)
    squares, counts = 32 * _THREADS, (48 if moments else 40) * _THREADS
    of_bin = (
        "{{ .reg .u32 s, t, u, v, c; .reg .f64 a, b; mov.u32 v, %tid.x; mov.u32 u, tn_weights; mad.lo.u32 t, v, 16, u;"
        f" mad.lo.u32 t, {{bin}}, {size}, t; mad.lo.u32 t, {{label}}, {16 * _THREADS}, t;"
        f" mad.lo.u32 s, v, {16 if moments else 8}, u; mad.lo.u32 s, {{bin}}, {size}, s;"
        f" mad.lo.u32 v, v, 4, u; mad.lo.u32 v, {{bin}}, {size}, v;"
    )
    add = " ld.shared.v2.f64 {a, b}, [t]; add.f64 a, a, $3; fma.rn.f64 b, $3, $4, b; st.shared.v2.f64 [t], {a, b};"
    zero = " mov.f64 a, 0d0000000000000000; mov.u32 c, 0; st.shared.v2.f64 [t], {a, a};"
    read = " ld.shared.v2.f64 {a, b}, [t]; mov.f64 $0, a; mov.f64 $1, b;"
    if moments:
        add += (
            f" ld.shared.v2.f64 {{a, b}}, [s + {squares}]; fma.rn.f64 a, $3, $3, a; fma.rn.f64 b, $5, $4, b;"
            f" st.shared.v2.f64 [s + {squares}], {{a, b}};"
        )
        zero += f" st.shared.v2.f64 [s + {squares}], {{a, a}};"
        read += f" ld.shared.v2.f64 {{a, b}}, [s + {squares}]; mov.f64 $2, a; mov.f64 $3, b;"
    else:
        add += f" ld.shared.f64 a, [s + {squares}]; fma.rn.f64 a, $3, $3, a; st.shared.f64 [s + {squares}], a;"
        zero += f" st.shared.f64 [s + {squares}], a;"
        read += f" ld.shared.f64 a, [s + {squares}]; mov.f64 $2, a; mov.f64 $3, 0d0000000000000000;"
    add += f" ld.shared.u32 c, [v + {counts}]; add.u32 c, c, $6; st.shared.u32 [v + {counts}], c;"
    return {
        "DECLARE": f".shared .align 16 .b8 tn_weights[{shared}]; mov.u32 $0, $1;",
        "ADD": f"{of_bin.format(bin='$1', label='$2')}{add} mov.u32 $0, 0; }}",
        "CLEAR": f"{of_bin.format(bin='$1', label='$2')}{zero} st.shared.u32 [v + {counts}], c; mov.u32 $0, 0; }}",
        "READ": f"{of_bin.format(bin='$5', label='$6')}{read} ld.shared.u32 c, [v + {counts}]; mov.u32 $4, c; }}",
    }


@triton.jit
def _is_score(p):
    """Whether numbers that are not -0.0 lie in [0, 1]."""
    if p.dtype == tl.float64:
        valid = (p >= 0) & (p <= 1)
    else:
        valid = p.to(tl.uint32, bitcast=True) <= 0x3F800000
    return valid


@triton.jit
def _is_label(y):
    if y.dtype == tl.uint8:
        valid = y <= 1
    else:
        valid = (y >= 0) & (y <= 1)
    return valid


@triton.jit
def _is_weight(w, LARGEST: tl.constexpr):
    if w.dtype == tl.float64:
        valid = (w >= 0) & (w <= LARGEST)
    else:
        valid = (w + 0.0).to(tl.uint32, bitcast=True) < 0x7F800000  # finite float32 numbers are below the limit
    return valid


@triton.jit
def _is_inside(p, limits, B: tl.constexpr, UNIFORM: tl.constexpr):
    inside = p == p
    if not UNIFORM:
        inside = (p >= tl.load(limits)) & (p <= tl.load(limits + B))
    return inside


@triton.jit
def _count(faults, bad):
    found = tl.sum(bad.to(tl.int32))
    if found > 0:
        tl.atomic_add(faults, found.to(tl.int64), sem="relaxed")


@triton.jit
def _add_weighted(
    p,
    y,
    w,
    keep,
    limits,
    faults,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    SKIPPED: tl.constexpr,
    LARGEST: tl.constexpr,
    ADD: tl.constexpr,
):
    """Add rows to their bins; those that do not count go to a bin after the last, which nobody reads."""
    p = _score(p)
    w = w if w.dtype == tl.float64 else w.to(tl.float32)
    if SKIPPED is not None:
        keep = keep & (y != SKIPPED)
    good = _is_score(p) & _is_label(y) & _is_weight(w, LARGEST)
    if not UNIFORM:
        good = good & _is_inside(p, limits, B, UNIFORM)
    if tl.max((keep & (good == 0)).to(tl.int32)) > 0:
        _count(faults, keep & (_is_score(p) == 0))
        left = keep & _is_score(p)
        _count(faults + 1, left & (_is_label(y) == 0))
        left = left & _is_label(y)
        _count(faults + 2, left & (_is_inside(p, limits, B, UNIFORM) == 0))
        left = left & _is_inside(p, limits, B, UNIFORM)
        _count(faults + 4, left & (_is_weight(w, LARGEST) == 0))
    place = tl.where(keep & good, _place(p, limits, B, UNIFORM, STEPS), B)
    counts = (w > 0).to(tl.int32) + ((w != tl.floor(w)).to(tl.int32) << 16)
    p = p.to(tl.float64)
    w = w.to(tl.float64)
    with_p = w * p if MOMENTS else w
    label = y.to(tl.int32) & 1
    tl.inline_asm_elementwise(
        ADD, "=r,r,r,d,d,d,r", [place, label, w, p, with_p, counts], dtype=tl.int32, is_pure=False, pack=1
    )


@triton.jit
def _report_weighted(table, each, B: tl.constexpr, MOMENTS: tl.constexpr, READ: tl.constexpr):
    """Add what every thread has summed to the sums of all programs."""
    for c in range(2 * B):
        w_sum, wp, w_square, wp_square, counts = tl.inline_asm_elementwise(
            READ,
            "=d,=d,=d,=d,=r,r,r",
            [each * 0 + c // 2, each * 0 + c % 2],
            dtype=(tl.float64, tl.float64, tl.float64, tl.float64, tl.int32),
            is_pure=False,
            pack=1,
        )
        to = table + (c // 2) * 8
        total = tl.sum(w_sum)
        with_p = tl.sum(wp)
        tl.atomic_add(to + 1, total, sem="relaxed")
        tl.atomic_add(to + 4, with_p, sem="relaxed")
        if c % 2 == 1:
            tl.atomic_add(to, tl.sum(counts & 0xFFFF).to(tl.float64), sem="relaxed")
            tl.atomic_add(to + 2, tl.sum(w_square), sem="relaxed")
            tl.atomic_add(to + 3, total, sem="relaxed")
            if MOMENTS:
                tl.atomic_add(to + 5, tl.sum(wp_square), sem="relaxed")
            tl.atomic_add(to + 6, with_p, sem="relaxed")
            tl.atomic_add(to + 7, tl.sum(counts >> 16).to(tl.float64), sem="relaxed")


@triton.jit
def _weighted(
    p_rows,
    y_rows,
    w_rows,
    limits,
    table,
    faults,
    n,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    MOMENTS: tl.constexpr,
    SKIPPED: tl.constexpr,
    LARGEST: tl.constexpr,
    BLOCK: tl.constexpr,
    THREADS: tl.constexpr,
    DECLARE: tl.constexpr,
    ADD: tl.constexpr,
    CLEAR: tl.constexpr,
    READ: tl.constexpr,
):
    each = tl.arange(0, THREADS)
    tl.inline_asm_elementwise(DECLARE, "=r,r", [each], dtype=tl.int32, is_pure=False, pack=1)
    for c in range(2 * B):
        cell = [each * 0 + c // 2, each * 0 + c % 2]
        tl.inline_asm_elementwise(CLEAR, "=r,r,r", cell, dtype=tl.int32, is_pure=False, pack=1)
    rows = tl.arange(0, BLOCK)
    all_rows = rows >= 0
    n_full = n // BLOCK
    first = tl.program_id(0).to(tl.int64)
    stride = tl.num_programs(0)
    there = rows < tl.where(first < n_full, BLOCK, 0)
    p = tl.load(p_rows + first * BLOCK + rows, mask=there, eviction_policy="evict_first")
    y = tl.load(y_rows + first * BLOCK + rows, mask=there, eviction_policy="evict_first")
    w = tl.load(w_rows + first * BLOCK + rows, mask=there, eviction_policy="evict_first")
    for b in range(first, n_full, stride):
        # The next block is on its way while this one is summed; the last one reads itself again.
        at = tl.where(b + stride < n_full, b + stride, b) * BLOCK + rows
        p_next = tl.load(p_rows + at, eviction_policy="evict_first")
        y_next = tl.load(y_rows + at, eviction_policy="evict_first")
        w_next = tl.load(w_rows + at, eviction_policy="evict_first")
        _add_weighted(p, y, w, all_rows, limits, faults, B, UNIFORM, STEPS, MOMENTS, SKIPPED, LARGEST, ADD)
        p = p_next
        y = y_next
        w = w_next
    if first == n_full % stride:
        at = n_full.to(tl.int64) * BLOCK + rows
        keep = at < n
        p = tl.load(p_rows + at, mask=keep, other=0.0)
        y = tl.load(y_rows + at, mask=keep, other=0)
        w = tl.load(w_rows + at, mask=keep, other=0.0)
        _add_weighted(p, y, w, keep, limits, faults, B, UNIFORM, STEPS, MOMENTS, SKIPPED, LARGEST, ADD)
    _report_weighted(table, each, B, MOMENTS, READ)
