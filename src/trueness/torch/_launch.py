"""Launches of the Triton kernels: how rows are divided among programs, and what is compiled into a kernel."""

# mypy: ignore-errors
# Triton has no types.

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import torch
import triton
import triton.language as tl

from trueness.torch import _kernels as kernels
from trueness.torch._rows import BAD_LABEL, BAD_SCORE, Layout, TensorRows, as_bytes
from trueness.torch._sums import LARGEST, Sums, class_sums, no_sums, sift
from trueness.torch._sums import score_sums as sums_by_operations

_THREADS = 32  # of a program that sums
# Each group of bins reads the rows again, but torch's operations are as slow as 16 groups.
_MOST_BINS = 256
_MOST_ROWS = 8_000  # that a thread adds, and a block more: 13 bits, for a count beside Σhi
# A plain sum of as many positive terms has a relative error below 4.6e-13.
_MOST_WEIGHTED_ROWS = 4_000
_PROGRAMS = 32  # that sum, for each multiprocessor
# That sum confidences of short rows: all have room at the same time, with 128 registers.
_SHORT_PROGRAMS = 16
_FEWEST_BLOCKS = 4  # for one program
_OF_A_THREAD = 32  # entries of a row that one thread reads alone
_IN_REGISTERS = 8_192  # bytes of rows, as wide as their powers, that one warp holds
_SKIPPED = 3  # beside wrong, right and a label that is no class

_compiled: dict[tuple, Any] = {}
_properties = lru_cache(maxsize=64)(torch.cuda.get_device_properties)


class Kernel(Protocol):
    """A function that Triton compiles for a grid of programs."""

    def __getitem__(self, programs: tuple[int, int, int]) -> Callable[..., Any]: ...


def _launch(
    kernel: Kernel,
    programs: tuple[int, int, int],
    arguments: tuple,
    constants: dict[str, Any],
    **options: int | None,
) -> None:
    """``kernel[programs](*arguments, **constants)`` on the device of the first argument."""
    # Triton looks for the compiled kernel at every launch, which takes twice as long as the launch:
    # small batches, and those of a language model, would wait for that. `constants` must be in the
    # order of the kernel's signature.
    device = arguments[0].device.index
    if torch.cuda.current_device() != device:
        with torch.cuda.device(device):
            return _launch(kernel, programs, arguments, constants, **options)
    # What Triton compiles a kernel for: types, whether addresses and numbers are multiples of 16,
    # the number 1.
    kinds = tuple(
        (a.dtype, a.data_ptr() % 16 == 0)
        if isinstance(a, torch.Tensor)
        else (a % 16 == 0, a == 1, a >> 31)
        for a in arguments
    )
    key = (kernel, device, kinds, *constants.values())
    compiled = _compiled.get(key)
    if compiled is None:
        assert list(constants) == kernel.arg_names[len(arguments) :]
        _compiled[key] = kernel[programs](*arguments, **constants, **{"num_warps": 1, **options})
    else:
        compiled[programs](*arguments, *constants.values())
    return None


def _bins(
    layout: Layout, score: torch.dtype, most: int, parts: int = 1
) -> tuple[int, dict[str, int]]:
    """Into how many groups the bins of all parts are divided, at most `most` in each, and the constants of bins."""
    narrow = score != torch.float64
    size = layout.size
    groups = -(-parts * size // most)
    steps = 0 if layout.uniform and narrow else max(1, (size - 1).bit_length())
    return groups, {"B": size, "STEPS": steps, "BINS": -(-parts * size // groups)}


def score_sums(
    rows: TensorRows,
    layout: Layout,
    into: Sums | None = None,
    part: torch.Tensor | None = None,
    parts: int = 1,
) -> Sums:
    """As :func:`trueness.torch._sums.score_sums`; rows without weights are added to `into`."""
    weighted = rows.w is not None
    if parts * layout.size > _MOST_BINS or (weighted and parts > 1):
        return sums_by_operations(rows, layout, part, parts)
    if into is None or weighted:
        sums = no_sums(parts, layout.size, rows.p.device, weighted=weighted)
    else:
        sums = into
    y = as_bytes(rows.codes).contiguous()
    p = rows.p.contiguous()
    skipped = rows.skipped
    w = rows.w if rows.w is None or rows.w.dtype.is_floating_point else rows.w.double()
    w = w if w is None else w.contiguous()
    wide = torch.float64 in (p.dtype, w if w is None else w.dtype) or (
        p.ndim == 2 and p.shape[1] > 16
    )
    vector = 2 if wide else 4
    block = _THREADS * vector
    n = p.shape[0]
    full = n - (n % block if p.ndim == 1 else 0)  # wide reads need whole blocks
    for some, whole in ((slice(0, full), True), (slice(full, n), False)):
        if some.start < some.stop:
            few = rows._replace(y=y[some], p=p[some], w=None if w is None else w[some])
            options = {"WHOLE": whole, "MOMENTS": layout.moments, "SKIPPED": skipped}
            _vector_sums(
                few, layout, sums, options, vector, p if part is None else part[some], parts
            )
    return sums


def _vector_sums(
    rows: TensorRows,
    layout: Layout,
    sums: Sums,
    options: dict[str, Any],
    vector: int,
    part: torch.Tensor,
    parts: int,
) -> None:
    """Add the sums of rows with one score each, of `parts` parts, to `sums`.

    Rows with weights are added to its weighted sums, all others to its table. The number of
    programs follows from the rows and the device; `vector` is the number of rows that a thread
    reads at once.
    """
    p = rows.p
    n = rows.p.shape[0]
    limits = layout.limits(rows.p.device)
    weighted = rows.w is not None
    if weighted:
        most = 8 if layout.moments else 10
    elif layout.moments:
        most = 5
    else:
        most = 16
    groups, bins = _bins(layout, p.dtype, most, parts)
    blocks = -(-n // (_THREADS * vector * _FEWEST_BLOCKS))
    programs = _properties(p.device).multi_processor_count * (
        _PROGRAMS if p.ndim == 1 else _SHORT_PROGRAMS
    )
    shares = min(blocks, max(1, programs // groups))
    shares = max(shares, -(-n // (_THREADS * (_MOST_WEIGHTED_ROWS if weighted else _MOST_ROWS))))
    size = {"T": _THREADS, "V": vector}
    if weighted:
        arguments = p, rows.y, rows.w, limits, sums.weighted, sums.faults, n
        _launch(
            kernels.weights,
            (1, groups, shares),
            arguments,
            {**options, **bins, "LARGEST": LARGEST, **size},
        )
        return
    arguments = p, rows.y, part, p, limits, sums.flat, sums.faults, n, 0
    low = parts * bins["B"] if parts > 1 else _low(layout, p.dtype, groups)
    row, depth = (
        (0, 1) if p.ndim == 1 else (p.shape[1], _pieces(p.shape[1], p.element_size())[1]["DEPTH"])
    )
    constants = {
        "CLASSES": False,
        "ROW": row,
        "DEPTH": depth,
        "PARTS": parts,
        **options,
        **bins,
        "LOW": low,
        **size,
    }
    _launch(kernels.scores, (1, groups, shares), arguments, constants, maxnreg=128 if row else None)


def _low(layout: Layout, score: torch.dtype, groups: int) -> int:
    """How many of the first bins have scores with bits below 2⁻²⁶, which those of 24 bits from 1/4 on have not."""
    if score != torch.float64 and groups == 1:
        return int(layout.edges[:-1].searchsorted(0.25))
    return layout.size


def logit_sums(rows: TensorRows, layout: Layout, into: Sums | None = None) -> Sums:
    """As :func:`trueness.torch._sums.class_sums`, for logits.

    Those without weights may be added to `into`.
    """
    if layout.kind == "classwise" and (rows.w is not None or layout.size > _MOST_BINS):
        return class_sums(rows, layout)
    # The order in which powers are added depends on wide reads, and these on the address.
    z = rows.p.contiguous()
    rows = rows._replace(p=z if z.data_ptr() % 16 == 0 else z.clone())
    if (
        layout.kind == "confidence"
        and rows.w is None
        and z.shape[1] <= _OF_A_THREAD
        and layout.size <= 16
    ):
        return score_sums(rows, layout, into)
    besides = {"classwise": "largest", "top-label": "place"}.get(layout.kind, "nothing")
    confidence, correct, top = _tops(rows, besides)
    tops = TensorRows(correct, confidence, rows.w, None if rows.skipped is None else _SKIPPED)
    if layout.kind == "confidence":
        return score_sums(tops, layout, into)
    if layout.kind == "top-label":
        return score_sums(tops, layout, into, top, rows.p.shape[1])
    sums = no_sums(rows.p.shape[1], layout.size, rows.p.device) if into is None else into
    good = sift(sums, {BAD_SCORE: ~confidence.isnan(), BAD_LABEL: correct != 2}, tops)
    _class_sums(rows, layout, top, torch.where(good, confidence, 0.0), sums)
    return sums


def _class_sums(
    rows: TensorRows, layout: Layout, top: torch.Tensor, share: torch.Tensor, sums: Sums
) -> None:
    """Class-wise sums, from the largest logit of each row and its probability."""
    (n, k), device = rows.p.shape, rows.p.device
    if n == 0:
        return
    groups, bins = _bins(layout, share.dtype, 5 if layout.moments else 16)
    vector = 4
    tiles = -(-k // _THREADS)
    programs = 2 * _properties(device).multi_processor_count * _PROGRAMS
    shares = max(1, min(-(-n // (vector * 16)), programs // (tiles * groups)))
    shares = max(shares, -(-n // _MOST_ROWS))
    y = as_bytes(rows.codes).contiguous()
    limits = layout.limits(device)
    arguments = rows.p, y, top, share, limits, sums.flat, sums.faults, n, k
    options = {"WHOLE": n % vector == 0, "MOMENTS": layout.moments, "SKIPPED": None}
    size = {"LOW": _low(layout, share.dtype, groups), "T": _THREADS, "V": vector}
    constants = {"CLASSES": True, "ROW": 0, "DEPTH": 1, "PARTS": 1, **options, **bins, **size}
    _launch(kernels.scores, (tiles, groups, shares), arguments, constants)


def _tops(rows: TensorRows, besides: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The confidence of each row, whether it is right, and its largest logit, or that one's place, if requested."""
    z, y, (n, k) = rows.p, as_bytes(rows.codes).contiguous(), rows.p.shape
    wide = torch.float64 if z.dtype == torch.float64 else torch.float32
    confidence = torch.empty(n, dtype=wide, device=z.device)
    correct = torch.empty(n, dtype=torch.uint8, device=z.device)
    dtype = torch.int32 if besides == "place" else wide
    top = torch.empty(0 if besides == "nothing" else n, dtype=dtype, device=z.device)
    if n > 0:
        warps, shape = _pieces(k, z.element_size())
        power = tl.float64 if wide == torch.float64 else tl.float32
        constants = {"k": k, "WIDE": power, "BESIDES": besides, "SKIPPED": rows.skipped, **shape}
        programs = (-(-n // shape["ROWS"]), 1, 1)
        _launch(
            kernels.logits,
            programs,
            (z, y, confidence, correct, top, n),
            constants,
            num_warps=warps,
        )
    return confidence, correct, top


@lru_cache(maxsize=64)
def _pieces(k: int, size: int) -> tuple[int, dict[str, int]]:
    """The warps of a program, and the pieces in which it reads rows of `k` logits of `size` bytes."""
    vector = min(16 // size, k & -k)  # entries that a thread reads at once
    if k <= _OF_A_THREAD:  # a row for each thread, which needs no other
        return 8, {"DEPTH": vector, "ROWS": 256, "WIDTH": 1}
    width = triton.next_power_of_2(k)
    most = _IN_REGISTERS // max(4, size)
    if width <= most:  # whole rows in the registers of one warp
        across = min(width, 32 * vector)
        return 1, {"DEPTH": width // across, "ROWS": most // width, "WIDTH": across}
    warps = 8 if k > 4 * most else 4
    return warps, {"DEPTH": max(4, 16 // vector), "ROWS": 1, "WIDTH": 32 * warps * vector}
