"""Which cell of a table a score belongs to, and the whole numbers it adds there, in Triton."""

# mypy: ignore-errors
# ruff: noqa: SIM108
# Triton's language has the syntax of Python, not its types; what a branch tests is known to its compiler.

import torch
import triton
import triton.language as tl

from trueness.torch._edges import Ruler


def shape_of(ruler: Ruler, score: torch.dtype, moments: bool, skipped: int | None) -> dict[str, object]:
    """Constants of every kernel that bins scores."""
    size = ruler.size
    return {
        "B": size,
        "UNIFORM": ruler.uniform and score != torch.float64 and size < 1 << 22,
        "STEPS": (size - 1).bit_length(),
        "MOMENTS": moments,
        "SKIPPED": skipped,
    }


@triton.jit
def _place(p, limits, B: tl.constexpr, UNIFORM: tl.constexpr, STEPS: tl.constexpr):
    """The bin of each score, as binary search on the edges would find it."""
    if UNIFORM:
        # p·B + 2²³ rounded down has ⌊p·B⌋ in its last bits. A score of 24 bits is at or above the float64 nearest to
        # b/B if and only if it is at or above b/B itself, so this is exact.
        scale = tl.full(p.shape, B, tl.float32)
        sum = tl.inline_asm_elementwise(
            "fma.rz.f32 $0, $1, $2, 0f4B000000;", "=r,r,r", [p, scale], dtype=tl.float32, is_pure=True, pack=1
        )
        place = sum.to(tl.int32, bitcast=True) & 0x7FFFFF
        place = tl.minimum(place, B - 1)
    else:
        place = tl.zeros(p.shape, tl.int32)
        for step in tl.static_range(STEPS):
            further = place + (1 << (STEPS - 1 - step))
            there = further < B
            limit = tl.load(limits + further, mask=there, other=2.0)
            place = tl.where(there & (p >= limit), further, place)
    return place


@triton.jit
def _whole_parts(p, MOMENTS: tl.constexpr):
    """Upper and lower bits of ⌊2⁵³ p⌋ and, if requested, of ⌊2⁵³ p²⌋."""
    if p.dtype == tl.float64:
        q = (p * 9007199254740992.0).to(tl.int64)
        s = (p * p * 9007199254740992.0).to(tl.int64)
        hi = (q >> 27).to(tl.uint32)
        lo = (q & 0x7FFFFFF).to(tl.uint32)
        hi2 = (s >> 27).to(tl.uint32)
        lo2 = (s & 0x7FFFFFF).to(tl.uint32)
    else:
        bits = p.to(tl.uint32, bitcast=True)
        mantissa = (bits << 8) | 0x80000000
        below = 132 - (bits >> 23).to(tl.int32)
        wide = (mantissa.to(tl.uint64) << 32) >> tl.minimum(below, 63).to(tl.uint64)
        hi = (wide >> 32).to(tl.uint32)
        lo = wide.to(tl.uint32) >> 5
        hi2 = hi
        lo2 = lo
        if MOMENTS:
            square = mantissa.to(tl.uint64) * mantissa.to(tl.uint64)
            square = square >> tl.minimum(2 * below - 1, 63).to(tl.uint64)
            square = tl.where(below > 32, 0, square)  # a shift by 64 or more, which no machine has
            hi2 = (square >> 27).to(tl.uint32)
            lo2 = (square & 0x7FFFFFF).to(tl.uint32)
    return hi, lo, hi2, lo2


@triton.jit
def _cell(p, y, limits, B: tl.constexpr, UNIFORM: tl.constexpr, STEPS: tl.constexpr, SKIPPED: tl.constexpr):
    """The cell of each row; faults, and rows that do not count, have cells of their own after those of the bins."""
    place = _place(p, limits, B, UNIFORM, STEPS)
    label = y.to(tl.int32)
    cell = place * 2 + label
    if not UNIFORM:
        outside = (p < tl.load(limits)) | (p > tl.load(limits + B))
        cell = tl.where(outside, 2 * B + 2, cell)
    if y.dtype == tl.uint8:
        fair = y <= 1
    else:
        fair = (y >= 0) & (y <= 1)
    cell = tl.where(fair, cell, 2 * B + 1)
    if p.dtype == tl.float64:
        valid = (p >= 0) & (p <= 1)
    else:
        valid = p.to(tl.uint32, bitcast=True) <= 0x3F800000
    cell = tl.where(valid, cell, 2 * B)
    if SKIPPED is not None:
        cell = tl.where(y == SKIPPED, 2 * B + 3, cell)
    return cell


@triton.jit
def _score(p):
    """-0.0 becomes 0.0; all but float64 become float32."""
    if p.dtype != tl.float64:
        p = p.to(tl.float32)
    return p + 0.0
