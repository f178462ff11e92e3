"""Which pass serves: the library's own loops on the CPU, Triton on CUDA, torch's operations elsewhere."""

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from trueness._tally.accept import binned as binned_rows
from trueness._tally.bins import Bins
from trueness._tally.rules import Edges, EqualWidth
from trueness._tally.tally import Binned
from trueness.torch._classes import class_sums, logit_sums
from trueness.torch._edges import Ruler
from trueness.torch._sums import Sums, no_sums, score_sums

__all__ = ["as_binned", "has_kernels", "host_sums", "on_host", "sums_of_logits", "sums_of_scores"]

# Entries of a chunk of logits that the library could only take as a copy. Class by class every column has a pass of its
# own, which is worth it for many rows only.
_ENTRIES = {"confidence": 1 << 20, "classwise": 1 << 22}


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


def sums_of_scores(y: torch.Tensor, p: torch.Tensor, ruler: Ruler, kind: str, moments: bool) -> Sums:
    """Of a vector of scores, or of a matrix of probabilities seen as `kind`."""
    if p.device.type == "cpu":
        options: Any = {} if p.ndim == 1 else {"kind": kind}
        return host_sums(binned_rows(y, p, bins=_rule(ruler), **options))
    if p.ndim == 2:
        return class_sums(y, p, ruler, kind, moments)
    if has_kernels(p.device):
        from trueness.torch._score_kernel import score_sums as by_kernel

        return by_kernel(y, p, ruler, moments)
    return score_sums(y, p, ruler, moments)


def sums_of_logits(y: torch.Tensor, logits: torch.Tensor, ruler: Ruler, kind: str, moments: bool) -> Sums:
    """Of the logistic function of a vector of logits, or of the softmax of a matrix seen as `kind`."""
    if logits.device.type == "cpu":
        return _host_logits(y, logits, ruler, kind)
    if logits.ndim == 1:
        return sums_of_scores(y, logistic(logits), ruler, kind, moments)
    if has_kernels(logits.device):
        from trueness.torch._logit_kernel import logit_sums as by_kernel

        return by_kernel(y, logits, ruler, kind, moments)
    return logit_sums(y, logits, ruler, kind, moments)


def logistic(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + e⁻ˣ), as the library computes it: in float64 where there is one."""
    x = x.to(torch.float32 if x.device.type == "mps" else torch.float64)
    small = torch.exp(-x.abs())
    return torch.where(x >= 0, 1.0, small) / (1.0 + small)


def _host_logits(y: torch.Tensor, logits: torch.Tensor, ruler: Ruler, kind: str) -> Sums:
    """The library's softmax; in chunks of bfloat16, which NumPy lacks, and of a vector, which becomes scores."""
    options: Any = {"from_logits": True} if logits.ndim == 1 else {"from_logits": True, "kind": kind}
    rule, n = _rule(ruler), logits.shape[0]
    step = n
    if logits.ndim == 1:
        step = _ENTRIES["confidence"]
    elif logits.dtype == torch.bfloat16:
        step = max(1, _ENTRIES[kind] // logits.shape[1])
    parts = 1 if logits.ndim == 1 or kind == "confidence" else logits.shape[1]
    sums = no_sums(parts, ruler.size, logits.device)
    for i in range(0, n, max(1, step)):
        found = binned_rows(y[i : i + step], logits[i : i + step], bins=rule, **options)
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
    return Sums(sums.flat.cpu(), sums.size)


def as_binned(sums: Sums, ruler: Ruler, kind: str, n_classes: int | None, moments: bool) -> Binned:
    """Sums on the CPU as the library's own."""
    tables = sums.table.numpy().copy()
    if not moments:  # the loops of the CPU always sum squares: equal rows must give equal sums
        tables[..., 3:] = 0
    parts = tuple(Bins(ruler.edges, table, moments=moments) for table in tables)
    view: Any = kind
    return Binned(view, parts, None if n_classes is None else tuple(range(n_classes)))
