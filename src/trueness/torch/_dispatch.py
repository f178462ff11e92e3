"""Which pass serves: the library's own loops on the CPU, Triton on CUDA, torch's operations elsewhere."""

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from trueness._tally.bins import Bins
from trueness._tally.rows_or_sums import binned as binned_rows
from trueness._tally.rules import Edges, EqualWidth
from trueness._tally.tally import Binned
from trueness.errors import InputError
from trueness.torch._class_sums import class_sums, logit_sums
from trueness.torch._edges import Ruler
from trueness.torch._sums import Sums, no_sums, score_sums
from trueness.torch._validation import Rows, as_for_tensors, explain, holds, which_count
from trueness.torch._weights import float_home, of_bins, refuse_light, with_weights

__all__ = [
    "as_binned",
    "binned_of",
    "has_kernels",
    "host_sums",
    "on_host",
    "sums_of",
    "sums_of_logits",
    "sums_of_scores",
]

# Entries of a chunk of logits that the library could only take as a copy. Class by class every column has a pass of its
# own, which is worth it for many rows only.
_ENTRIES = {"confidence": 1 << 20, "top-label": 1 << 20, "classwise": 1 << 22}


@lru_cache(maxsize=1)
def _triton() -> bool:
    if find_spec("triton") is None:
        return False
    import triton

    # The oldest for which the kernels are known to compile.
    return tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 3)


@lru_cache(maxsize=64)
def has_kernels(device: torch.device) -> bool:
    """Whether the Triton kernels run there: on NVIDIA's devices since the A100."""
    if device.type != "cuda" or torch.version.hip is not None or not _triton():
        return False
    return bool(torch.cuda.get_device_capability(device) >= (8, 0))


def binned_of(rows: Rows, ruler: Ruler, kind: str, moments: bool, *, from_logits: bool) -> Binned:
    """The sums of one batch; waits for the device, and raises for what cannot be summed."""
    sums = on_host(sums_of(rows, ruler, kind, moments, from_logits))
    if bool(sums.faults.any()):
        explain(rows, ruler, kind, from_logits)
    if sums.weighted is not None:
        refuse_light(sums.weighted, rows.kept().y.shape[0])
    view, n_classes = ("binary", None) if rows.p.ndim == 1 else (kind, rows.p.shape[1])
    return as_binned(sums, ruler, view, n_classes, moments)


def sums_of(rows: Rows, ruler: Ruler, kind: str, moments: bool, from_logits: bool) -> Sums:
    """Of scores, or of logits, wherever they are; on the CPU what cannot be summed raises, elsewhere it is counted."""
    if rows.p.device.type == "cpu":
        try:
            return _host_sums(rows.kept(), ruler, kind, from_logits)
        except InputError as reason:  # of logits or of some rows only, it has another name and other numbers
            if not from_logits and rows.ignored is None:
                raise as_for_tensors(reason) from None
        explain(rows, ruler, kind, from_logits)
    if rows.w is not None and float_home(rows.p.device) != rows.p.device:
        there = rows._replace(y=rows.y.cpu(), p=rows.p.cpu(), w=rows.w.cpu())
        sums = sums_of(there, ruler, kind, moments, from_logits)
        return Sums(sums.flat.to(rows.p.device), sums.size, sums.weighted)
    w = None if rows.w is None else rows.w.to(torch.float64)
    if from_logits:
        return sums_of_logits(rows.codes, rows.p, ruler, kind, moments, w=w, ignored=rows.ignored)
    options: Any = {"w": w, "ignored": rows.ignored, "tolerance": rows.tolerance}
    return sums_of_scores(rows.codes, rows.p, ruler, kind, moments, **options)


def sums_of_scores(
    y: torch.Tensor,
    p: torch.Tensor,
    ruler: Ruler,
    kind: str,
    moments: bool,
    *,
    w: torch.Tensor | None = None,
    ignored: int | None = None,
    tolerance: float | None = None,
) -> Sums:
    """Of a vector of scores, or of a matrix of probabilities seen as `kind`, on a device."""
    if p.ndim == 1 and w is None and has_kernels(p.device):
        from trueness.torch._score_kernel import score_sums as by_kernel

        return by_kernel(y, p, ruler, moments, skipped=ignored if holds(y, ignored) else None)
    keep = which_count(y, ignored)
    if p.ndim == 2:
        return class_sums(y, p, ruler, kind, moments, w=w, keep=keep, tolerance=tolerance)
    return score_sums(y, p, ruler, moments, w=w, keep=keep)


def sums_of_logits(
    y: torch.Tensor,
    logits: torch.Tensor,
    ruler: Ruler,
    kind: str,
    moments: bool,
    *,
    w: torch.Tensor | None = None,
    ignored: int | None = None,
) -> Sums:
    """Of the logistic function of a vector of logits, or of the softmax of a matrix seen as `kind`, on a device."""
    if logits.ndim == 1:
        return sums_of_scores(y, logistic(logits), ruler, kind, moments, w=w, ignored=ignored)
    keep = which_count(y, ignored)
    if has_kernels(logits.device) and (w is None or kind != "classwise"):
        from trueness.torch._logit_kernel import logit_sums as by_kernel

        return by_kernel(y, logits, ruler, kind, moments, w=w, keep=keep)
    return logit_sums(y, logits, ruler, kind, moments, w=w, keep=keep)


def logistic(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + e⁻ˣ), as the library computes it: in float64 where there is one."""
    x = x.to(torch.float32 if x.device.type == "mps" else torch.float64)
    small = torch.exp(-x.abs())
    return torch.where(x >= 0, 1.0, small) / (1.0 + small)


def _host_sums(rows: Rows, ruler: Ruler, kind: str, from_logits: bool) -> Sums:
    """By the library's loops; logits in chunks where a copy is made: of bfloat16, and of vectors to make scores of."""
    y, p, w = rows[:3]
    matrix = p.ndim == 2
    options: Any = ({"kind": kind} if matrix else {}) | ({"from_logits": True} if from_logits else {})
    if rows.tolerance is not None:
        options["sum_tolerance"] = rows.tolerance
    step = max(1, p.shape[0])
    if from_logits and not matrix:
        step = _ENTRIES["confidence"]
    elif from_logits and p.dtype == torch.bfloat16:
        step = max(1, _ENTRIES[kind] // p.shape[1])
    parts = p.shape[1] if matrix and kind != "confidence" else 1
    sums = no_sums(parts, ruler.size, p.device, weighted=w is not None)
    for few in (slice(i, i + step) for i in range(0, p.shape[0], step)):
        if w is not None and bool(w[few].any()):  # rows of no weight are looked at as others are; nothing is summed
            options["sample_weight"] = w[few]
        found = binned_rows(y[few], p[few], bins=_rule(ruler), **options)
        if options.pop("sample_weight", None) is not None and sums.weighted is not None:
            sums.weighted.add_(torch.stack([of_bins(part) for part in found.parts]))
        elif w is None:
            sums.table.add_(host_sums(found).table)
    return sums


def _rule(ruler: Ruler) -> EqualWidth | Edges:
    return EqualWidth(ruler.size) if ruler.uniform else Edges(ruler.edges)


def host_sums(found: Binned) -> Sums:
    """What the library summed, as tensors."""
    tables = [part.table for part in found.parts if part.table is not None]
    sums = no_sums(len(tables), found.parts[0].size, torch.device("cpu"))
    sums.table.copy_(torch.from_numpy(np.stack(tables)))
    return sums


def on_host(sums: Sums) -> Sums:
    """The sums on the CPU; waits for the device."""
    return Sums(sums.flat.cpu(), sums.size, None if sums.weighted is None else sums.weighted.cpu())


def as_binned(sums: Sums, ruler: Ruler, kind: str, n_classes: int | None, moments: bool) -> Binned:
    """Sums on the CPU as the library's own."""
    tables = sums.table.numpy().copy()
    if not moments:  # the loops of the CPU always sum squares: equal rows must give equal sums
        tables[..., 3:] = 0
    parts = tuple(Bins(ruler.edges, table, moments=moments) for table in tables)
    if sums.weighted is not None:
        weighted = sums.weighted.numpy()
        parts = tuple(with_weights(part, own, ruler) for part, own in zip(parts, weighted, strict=True))
    view: Any = kind
    return Binned(view, parts, None if n_classes is None else tuple(range(n_classes)))
