"""Binned sums of weighted scores on CUDA, in Triton: one read, float64 sums.

As in :mod:`trueness.torch._score_kernel`, every thread keeps its own sums for every cell (bin and label) in shared
memory. A thread adds at most 4,096 rows, so that sums agree with the library's to 12 digits in any order.
"""

# mypy: ignore-errors
# Triton's language has the syntax of Python, not its types.

import torch
import triton
import triton.language as tl

from trueness.torch._edges import Ruler
from trueness.torch._rows import as_bytes
from trueness.torch._score_kernel import _place, _score, processors
from trueness.torch._sums import Sums, no_sums
from trueness.torch._weights import LARGEST

_THREADS = 32
_VECTOR = 8  # rows that a thread reads at once
_BLOCK = _THREADS * _VECTOR
_ROWS = 4_096 * _THREADS  # for one program: each thread then makes plain sums of at most 4,096 terms
_WORDS = 5  # Σw, Σw², Σwp, Σwp², and two counts in one word
_CELL = 8 * _WORDS * _THREADS  # bytes
_SHARED, _SHARED_OF_ALL = 48_000, 230_000  # bytes for one program, and of a multiprocessor
MOST_BINS = _SHARED // _CELL // 2
"""With more bins the sums of 32 threads do not fit into shared memory."""

_ADDRESS = (
    "{{ .reg .u32 t, u, v; .reg .f64 a, b; .reg .u64 c; mov.u32 u, tn_weights; mad.lo.u32 u, {cell}, "
    + str(_CELL)
    + ", u;"
    " mov.u32 v, %tid.x; shl.b32 t, v, 4; add.u32 t, t, u; shl.b32 v, v, 3; add.u32 v, v, u;"
)
_SECOND, _COUNTS = 16 * _THREADS, 32 * _THREADS  # where the second pair of sums and the counts begin in a cell
_ADD = (
    _ADDRESS.format(cell="$1")
    + " ld.shared.v2.f64 {a, b}, [t]; add.f64 a, a, $2; add.f64 b, b, $3; st.shared.v2.f64 [t], {a, b};"
    + f" ld.shared.v2.f64 {{a, b}}, [t + {_SECOND}]; add.f64 a, a, $4; add.f64 b, b, $5;"
    + f" st.shared.v2.f64 [t + {_SECOND}], {{a, b}};"
    + f" ld.shared.u64 c, [v + {_COUNTS}]; add.u64 c, c, $6; st.shared.u64 [v + {_COUNTS}], c; mov.u32 $0, 0; }}"
)
_CLEAR = (
    _ADDRESS.format(cell="$1")
    + f" mov.f64 a, 0d0000000000000000; st.shared.v2.f64 [t], {{a, a}}; st.shared.v2.f64 [t + {_SECOND}], {{a, a}};"
    + f" mov.u64 c, 0; st.shared.u64 [v + {_COUNTS}], c; mov.u32 $0, 0; }}"
)
_READ = (
    _ADDRESS.format(cell="$5")
    + " ld.shared.v2.f64 {a, b}, [t]; mov.f64 $0, a; mov.f64 $1, b;"
    + f" ld.shared.v2.f64 {{a, b}}, [t + {_SECOND}]; mov.f64 $2, a; mov.f64 $3, b;"
    + f" ld.shared.u64 c, [v + {_COUNTS}]; mov.u64 $4, c; }}"
)
_NATIVE = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def weighted_score_sums(
    y: torch.Tensor, p: torch.Tensor, w: torch.Tensor, ruler: Ruler, *, skipped: int | None = None
) -> Sums:
    """As :func:`trueness.torch._sums.score_sums` for weighted rows and at most `MOST_BINS` bins."""
    sums = no_sums(1, ruler.size, p.device, weighted=True)
    n = p.shape[0]
    if n == 0:
        return sums
    y, p = as_bytes(y).contiguous(), p.contiguous()
    w = (w if w.dtype in _NATIVE else w.to(torch.float64)).contiguous()
    cells = 2 * ruler.size
    resident = max(1, min(16, _SHARED_OF_ALL // (cells * _CELL + 1_024)))
    at_once = processors(p.device.index) * resident
    # Whole waves of programs, so that none waits for a few last ones.
    programs = min(triton.cdiv(n, _BLOCK), at_once * triton.cdiv(n, at_once * _ROWS))
    with torch.cuda.device(p.device):
        _weighted[(programs,)](
            p,
            y,
            w,
            ruler.limits(p.dtype, p.device),
            sums.weighted,
            sums.faults,
            n,
            B=ruler.size,
            UNIFORM=ruler.uniform and p.dtype != torch.float64,
            STEPS=(ruler.size - 1).bit_length(),
            SKIPPED=skipped,
            LARGEST=LARGEST,
            BLOCK=_BLOCK,
            THREADS=_THREADS,
            DECLARE=f".shared .align 16 .b8 tn_weights[{cells * _CELL}]; mov.u32 $0, $1;",
            ADD=_ADD,
            CLEAR=_CLEAR,
            READ=_READ,
            num_warps=_THREADS // 32,
        )
    return sums


@triton.jit
def _add_weighted(
    p,
    y,
    w,
    keep,
    limits,
    B: tl.constexpr,
    UNIFORM: tl.constexpr,
    STEPS: tl.constexpr,
    SKIPPED: tl.constexpr,
    LARGEST: tl.constexpr,
    ADD: tl.constexpr,
):
    """Add rows to their cells; returns the fault of each as 1 << 16 · fault, or 0."""
    p = _score(p)
    w = w.to(tl.float64)
    if SKIPPED is not None:
        keep = keep & (y != SKIPPED)
    bad_score = ((p >= 0) & (p <= 1)) == 0
    bad_label = (y < 0) | (y > 1) if y.dtype != tl.uint8 else y > 1
    bad_weight = ((w >= 0) & (w <= LARGEST)) == 0
    fault = tl.where(bad_weight, 3, 4)
    if not UNIFORM:
        fault = tl.where((p < tl.load(limits)) | (p > tl.load(limits + B)), 2, fault)
    fault = tl.where(bad_label, 1, fault)
    fault = tl.where(bad_score, 0, fault)
    good = keep & (fault == 4)
    p = tl.where(good, p, 0.0)
    w = tl.where(good, w, 0.0)
    cell = tl.where(good, _place(p, limits, B, UNIFORM, STEPS) * 2 + y.to(tl.int32), 0)
    wide = p.to(tl.float64)
    weighted = w * wide
    counts = (w > 0).to(tl.int64) + ((w != tl.floor(w)).to(tl.int64) << 32)
    tl.inline_asm_elementwise(
        ADD,
        "=r,r,d,d,d,d,l",
        [cell, w, w * w, weighted, weighted * wide, counts],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )
    faulty = keep & (fault < 4)
    return tl.where(faulty, tl.full(fault.shape, 1, tl.int64) << (16 * fault).to(tl.int64), 0)


@triton.jit
def _report_weighted(table, faults, bad, each, B: tl.constexpr, READ: tl.constexpr):
    """Add what every thread has summed to the sums of all programs."""
    for c in range(2 * B):
        w_sum, w_square, wp, wp_square, counts = tl.inline_asm_elementwise(
            READ,
            "=d,=d,=d,=d,=l,r",
            [each * 0 + c],
            dtype=(tl.float64, tl.float64, tl.float64, tl.float64, tl.int64),
            is_pure=False,
            pack=1,
        )
        to = table + (c // 2) * 8
        total = tl.sum(w_sum)
        with_p = tl.sum(wp)
        tl.atomic_add(to, tl.sum(counts & 0xFFFFFFFF).to(tl.float64), sem="relaxed")
        tl.atomic_add(to + 1, total, sem="relaxed")
        tl.atomic_add(to + 2, tl.sum(w_square), sem="relaxed")
        tl.atomic_add(to + 4, with_p, sem="relaxed")
        tl.atomic_add(to + 5, tl.sum(wp_square), sem="relaxed")
        tl.atomic_add(to + 7, tl.sum(counts >> 32).to(tl.float64), sem="relaxed")
        if c % 2 == 1:
            tl.atomic_add(to + 3, total, sem="relaxed")
            tl.atomic_add(to + 6, with_p, sem="relaxed")
    # A place of the block sees at most 512 rows of a program and the last, partial block: 16 bits are enough.
    for fault in tl.static_range(3):
        found = tl.sum((bad >> (16 * fault)) & 0xFFFF)
        if found > 0:
            tl.atomic_add(faults + fault, found, sem="relaxed")
    found = tl.sum((bad >> 48) & 0xFFFF)
    if found > 0:
        tl.atomic_add(faults + 4, found, sem="relaxed")


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
        tl.inline_asm_elementwise(CLEAR, "=r,r", [each * 0 + c], dtype=tl.int32, is_pure=False, pack=1)
    rows = tl.arange(0, BLOCK)
    all_rows = rows >= 0
    bad = tl.zeros((BLOCK,), tl.int64)
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
        bad += _add_weighted(p, y, w, all_rows, limits, B, UNIFORM, STEPS, SKIPPED, LARGEST, ADD)
        p = p_next
        y = y_next
        w = w_next
    if first == n_full % stride:
        at = n_full.to(tl.int64) * BLOCK + rows
        keep = at < n
        p = tl.load(p_rows + at, mask=keep, other=0.0)
        y = tl.load(y_rows + at, mask=keep, other=0)
        w = tl.load(w_rows + at, mask=keep, other=0.0)
        bad += _add_weighted(p, y, w, keep, limits, B, UNIFORM, STEPS, SKIPPED, LARGEST, ADD)
    _report_weighted(table, faults, bad, each, B, READ)
