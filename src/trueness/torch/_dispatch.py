"""Choice of the pass: the library's own loops on the CPU, Triton on CUDA, torch operations elsewhere."""

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from trueness._tally.bins import Bins
from trueness._tally.rows_or_sums import binned as binned_rows
from trueness._tally.tally import Binned
from trueness.errors import InputError, remedies
from trueness.torch._class_sums import class_sums, logit_sums
from trueness.torch._edges import Ruler
from trueness.torch._sums import Sums, no_sums, score_sums
from trueness.torch._validation import REMEDIES, TensorRows, can_hold, explain, kept_rows
from trueness.torch._weights import float_home, refuse_light, weighted_sums, with_weights

# Entries of a chunk of logits that has to be copied for the library. Class-wise, each column has its own pass, which
# pays for many rows only.
_ENTRIES = {"confidence": 1 << 20, "top-label": 1 << 20, "classwise": 1 << 22}


@lru_cache(maxsize=1)
def _triton() -> bool:
    if find_spec("triton") is None:
        return False
    import triton

    # The oldest version for which the kernels are known to compile.
    return tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 3)


@lru_cache(maxsize=64)
def has_kernels(device: torch.device) -> bool:
    """Whether the Triton kernels run there: on NVIDIA devices since the A100."""
    if device.type != "cuda" or torch.version.hip is not None or not _triton():
        return False
    return bool(torch.cuda.get_device_capability(device) >= (8, 0))


def binned_of(rows: TensorRows, ruler: Ruler, kind: str, moments: bool, *, from_logits: bool) -> Binned:
    """The sums of one batch; waits for the device, and raises for bad values."""
    sums = on_host(sums_of(rows, ruler, kind, moments, from_logits))
    if bool(sums.faults.any()):
        explain(rows, ruler, kind, from_logits)
    if sums.weighted is not None:
        refuse_light(sums.weighted, rows.select_kept().y.shape[0])
    view, n_classes = ("binary", None) if rows.p.ndim == 1 else (kind, rows.p.shape[1])
    return as_binned(sums, ruler, view, n_classes, moments)


def sums_of(rows: TensorRows, ruler: Ruler, kind: str, moments: bool, from_logits: bool) -> Sums:
    """Sums of scores or logits on any device; bad values raise on the CPU and are counted elsewhere."""
    if rows.p.device.type == "cpu":
        try:
            with remedies(REMEDIES):
                return _host_sums(rows.select_kept(), ruler, kind, from_logits)
        except InputError:
            if not from_logits and rows.ignored is None:
                raise
        explain(rows, ruler, kind, from_logits)  # for logits, or a selection of rows, names and row numbers differ
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
    """Sums of a vector of scores, or of a matrix of probabilities viewed as `kind`, on a device."""
    if p.ndim == 1 and w is None and has_kernels(p.device):
        from trueness.torch._score_kernel import score_sums as by_kernel

        return by_kernel(y, p, ruler, moments, skipped=ignored if can_hold(y, ignored) else None)
    keep = kept_rows(y, ignored)
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
    """Sums of the logistic function of a vector, or of the softmax of a matrix viewed as `kind`, on a device."""
    if logits.ndim == 1:
        return sums_of_scores(y, logistic(logits), ruler, kind, moments, w=w, ignored=ignored)
    keep = kept_rows(y, ignored)
    if has_kernels(logits.device) and (w is None or kind != "classwise"):
        from trueness.torch._logit_kernel import logit_sums as by_kernel

        return by_kernel(y, logits, ruler, kind, moments, w=w, keep=keep)
    return logit_sums(y, logits, ruler, kind, moments, w=w, keep=keep)


def logistic(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + e⁻ˣ) as the library computes it, in float64 where the device has it."""
    x = x.to(torch.float32 if x.device.type == "mps" else torch.float64)
    small = torch.exp(-x.abs())
    return torch.where(x >= 0, 1.0, small) / (1.0 + small)


def _host_sums(rows: TensorRows, ruler: Ruler, kind: str, from_logits: bool) -> Sums:
    """Sums by the library's loops; logits in chunks where they are copied: bfloat16, and vectors to be mapped."""
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
    n_parts = p.shape[1] if matrix and kind != "confidence" else 1
    sums = no_sums(n_parts, ruler.size, p.device, weighted=w is not None)
    for few in (slice(i, i + step) for i in range(0, p.shape[0], step)):
        if w is not None and bool(w[few].any()):  # rows of weight 0 are checked like others, but not summed
            options["sample_weight"] = w[few]
        parts = binned_rows(y[few], p[few], bins=ruler.rule, **options).parts
        if options.pop("sample_weight", None) is not None and sums.weighted is not None:
            sums.weighted.add_(torch.stack([weighted_sums(part) for part in parts]))
        elif w is None:
            sums.table.add_(torch.from_numpy(np.stack([part.table for part in parts if part.table is not None])))
    return sums


def on_host(sums: Sums) -> Sums:
    """The sums on the CPU; waits for the device."""
    return Sums(sums.flat.cpu(), sums.size, None if sums.weighted is None else sums.weighted.cpu())


def as_binned(sums: Sums, ruler: Ruler, kind: str, n_classes: int | None, moments: bool) -> Binned:
    """Sums on the CPU in the library's own form."""
    tables = sums.table.numpy().copy()
    if not moments:  # the CPU loops always sum squares, but equal rows must give equal sums
        tables[..., 3:] = 0
    parts = tuple(Bins(ruler.edges, table, moments=moments) for table in tables)
    if sums.weighted is not None:
        weighted = sums.weighted.numpy()
        parts = tuple(with_weights(part, own, ruler) for part, own in zip(parts, weighted, strict=True))
    view: Any = kind
    return Binned(view, parts, None if n_classes is None else tuple(range(n_classes)))
