"""Choice of the pass: the library's own loops on the CPU, Triton on CUDA, torch operations elsewhere."""

import os
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from trueness._tally.bins import MOST_EXACT, Bins
from trueness._tally.rows_or_sums import binned as binned_rows
from trueness._tally.rules import check_class_bins
from trueness._tally.tally import Binned
from trueness.errors import InputError, remedies
from trueness.torch._rows import Layout, TensorRows
from trueness.torch._sums import Sums, class_sums, no_sums, refuse_light, score_sums, weighted_sums, with_weights
from trueness.torch._validation import REMEDIES, explain, library_options

# Entries of a chunk of logits that has to be copied for the library. Class-wise, each column has its own pass, which
# pays for many rows only.
_ENTRIES = {"confidence": 1 << 20, "top-label": 1 << 20, "classwise": 1 << 22}


@lru_cache(maxsize=64)
def _has_kernels(device: torch.device) -> bool:
    """Whether the Triton kernels run there: on NVIDIA devices since the A100, compiled by Triton 3.3 or later."""
    if device.type != "cuda" or torch.version.hip is not None or find_spec("triton") is None:
        return False
    import triton

    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    return version >= (3, 3) and bool(torch.cuda.get_device_capability(device) >= (8, 0))


def _only_operations() -> bool:
    """Whether torch's operations are wanted everywhere: to compare, or where a kernel does not compile."""
    return os.environ.get("TRUENESS_TORCH") == "operations"


def binned_of(rows: TensorRows, layout: Layout) -> Binned:
    """The sums of one batch; waits for the device, and raises for bad values."""
    sums = on_host(sums_of(rows, layout))
    if bool(sums.faults.any()):
        explain(rows, layout)
    if sums.weighted is not None:
        refuse_light(sums.weighted, rows.select_kept().y.shape[0])
    return as_binned(sums, layout, None if rows.p.ndim == 1 else rows.p.shape[1])


def sums_of(rows: TensorRows, layout: Layout, into: Sums | None = None) -> Sums:
    """Sums of scores or logits on any device; bad values raise on the CPU and are counted elsewhere.

    Where kernels do it all, rows are added to `into`, which is returned.
    """
    check_class_bins(layout.ruler.size, layout.parts(rows.p))
    device = rows.p.device
    if device.type == "mps":  # which has no float64
        sums = sums_of(rows.on("cpu"), layout)
        return Sums(sums.flat.to(device), sums.size, sums.weighted)
    if device.type != "cpu":
        return _device_sums(rows, layout, into)
    if _only_operations():
        sums = _device_sums(rows, layout)
        return explain(rows, layout) if bool(sums.faults.any()) else sums
    try:
        with remedies(REMEDIES):
            return _host_sums(rows.select_kept(), layout)
    except InputError:
        if not rows.logits and rows.ignored is None:
            raise
    return explain(rows, layout)  # for logits, or a selection of rows, names and row numbers differ


def _device_sums(rows: TensorRows, layout: Layout, into: Sums | None = None) -> Sums:
    """Sums of a vector, or of a matrix viewed as `layout.kind`, by the device itself; see :func:`sums_of`."""
    rows = rows._replace(y=rows.codes)
    if rows.p.ndim == 1 and rows.logits:
        rows = rows._replace(p=_logistic(rows.p), logits=False)
    if _has_kernels(rows.p.device) and (rows.p.ndim == 1 or rows.logits) and not _only_operations():
        from trueness.torch import _launch

        found: Sums = (_launch.score_sums if rows.p.ndim == 1 else _launch.logit_sums)(rows, layout, into)
        return found
    return (score_sums if rows.p.ndim == 1 else class_sums)(rows, layout)


def _logistic(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + e⁻ˣ) as the library computes it."""
    x = x.double()
    small = torch.exp(-x.abs())
    return torch.where(x >= 0, 1.0, small) / (1.0 + small)


def _host_sums(rows: TensorRows, layout: Layout) -> Sums:
    """Sums by the library's loops; logits in chunks where they are copied: bfloat16, and vectors to be mapped."""
    p, options, rule = rows.p, library_options(rows, layout), layout.ruler.rule
    step = max(1, p.shape[0])
    if rows.logits and p.ndim == 1:
        step = _ENTRIES["confidence"]
    elif rows.logits and p.dtype == torch.bfloat16:
        step = max(1, _ENTRIES[layout.kind] // p.shape[1])
    sums = no_sums(layout.parts(p), layout.ruler.size, p.device, weighted=rows.w is not None)
    for few in rows.chunks(step):
        w = few.w if few.w is not None and bool(few.w.any()) else None  # rows of weight 0 are checked, but not summed
        parts = binned_rows(few.y, few.p, bins=rule, sample_weight=w, **options).parts
        if sums.weighted is None:
            sums.table.add_(torch.from_numpy(np.stack([part.table for part in parts if part.table is not None])))
        elif w is not None:
            sums.weighted.add_(torch.stack([weighted_sums(part) for part in parts]))
    return sums


def on_host(sums: Sums) -> Sums:
    """The sums on the CPU; waits for the device."""
    return Sums(sums.flat.cpu(), sums.size, None if sums.weighted is None else sums.weighted.cpu())


def as_binned(sums: Sums, layout: Layout, n_classes: int | None) -> Binned:
    """Sums on the CPU in the library's own form; no number of classes means that scores are a vector."""
    ruler, moments = layout.ruler, layout.moments
    tables = sums.table.numpy().copy()
    most = int(tables[..., 0].sum(axis=-1).max(initial=0))
    if most > MOST_EXACT:  # the counts are still right, the sums of scores may have passed 64 bits
        remedy = "Start a new metric before, and add their `binned`."
        raise InputError("", f"sums hold at most {MOST_EXACT:,} rows in a bin", f"one has {most:,}", remedy=remedy)
    if not moments:  # the CPU loops always sum squares, but equal rows must give equal sums
        tables[..., 3:] = 0
    parts = tuple(Bins(ruler.edges, table, moments=moments) for table in tables)
    if sums.weighted is not None:
        weighted = sums.weighted.numpy()
        parts = tuple(with_weights(part, own, ruler) for part, own in zip(parts, weighted, strict=True))
    if n_classes is None:
        return Binned("binary", parts, None)
    view: Any = layout.kind
    return Binned(view, parts, tuple(range(n_classes)))
