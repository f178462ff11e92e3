"""What may be passed, checked without looking at a value: looking would wait for the device."""

from typing import Any

import torch

from trueness.errors import InputError

__all__ = ["check_kind", "check_pair"]

_SCORES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_LABELS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_pair(y_true: Any, scores: Any, name: str, dimensions: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Both as plain tensors: one label per row, on one device."""
    y, p = _tensor(y_true, "y_true"), _tensor(scores, name)
    if p.dtype not in _SCORES:
        raise InputError(f"`{name}` must be float64, float32, float16 or bfloat16; got {_short(p.dtype)}.")
    if y.dtype not in _LABELS:
        hint = " Labels come first." if y.dtype.is_floating_point else ""
        raise InputError(f"`y_true` must be bool or integers; got {_short(y.dtype)}.{hint}")
    if y.device != p.device:
        raise InputError(f"`y_true` and `{name}` must be on one device; got {y.device} and {p.device}.")
    if p.ndim not in dimensions:
        wanted = " or ".join("(n,)" if d == 1 else "(n, K)" for d in dimensions)
        raise InputError(f"`{name}` must have shape {wanted}; got {tuple(p.shape)}.")
    if y.ndim != 1:
        raise InputError(f"`y_true` must have shape (n,); got {tuple(y.shape)}.")
    if y.shape[0] != p.shape[0]:
        raise InputError(
            f"`y_true` and `{name}` must have one entry per row; got {y.shape[0]:,} labels and {p.shape[0]:,} rows."
        )
    if p.ndim == 2 and p.shape[1] < 2:
        raise InputError(f"`{name}` must have a column per class, at least 2; got shape {tuple(p.shape)}.")
    return y, p


def check_kind(kind: str) -> None:
    """One of the two views of a matrix, or an error."""
    if kind not in ("classwise", "confidence"):
        raise InputError(f"`kind` must be 'classwise' or 'confidence'; got {kind!r}.")


def _tensor(given: Any, name: str) -> torch.Tensor:
    if not isinstance(given, torch.Tensor):
        raise InputError(
            f"`{name}` must be a tensor; got {type(given).__name__}. `trueness.binned` takes arrays, lists and frames."
        )
    if given.layout != torch.strided or given.is_nested:
        raise InputError(f"`{name}` must be a dense tensor; got layout {given.layout}. Use `.to_dense()`.")
    if given.device.type == "meta":
        raise InputError(f"`{name}` must hold values; got a tensor on the device 'meta', which holds none.")
    return given.detach().resolve_neg()


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
