"""Launches of Triton kernels with little work for the host.

Triton looks for the compiled kernel at every launch, which takes twice as long as the launch itself. Small batches, and
those of a language model, wait for that.
"""

# mypy: ignore-errors
# Triton has no types.

from functools import lru_cache
from typing import Any

import torch

_compiled: dict[tuple, Any] = {}


def launch(kernel: Any, programs: int, arguments: tuple, constants: dict[str, Any]) -> None:
    """``kernel[(programs,)](*arguments, **constants)`` on the device of the first argument.

    `constants` must hold the kernel's own constants first, in the order of its signature, then Triton's options.
    """
    device = arguments[0].device.index
    if torch.cuda.current_device() != device:
        with torch.cuda.device(device):
            return launch(kernel, programs, arguments, constants)
    # What Triton compiles a kernel for: types, whether addresses and numbers are multiples of 16, the number 1.
    kinds = tuple(
        (a.dtype, a.data_ptr() % 16 == 0) if isinstance(a, torch.Tensor) else (a % 16 == 0, a == 1, a >> 31)
        for a in arguments
    )
    key = (kernel, device, kinds, *constants.values())
    compiled = _compiled.get(key)
    if compiled is None:
        assert list(constants)[: len(kernel.arg_names) - len(arguments)] == kernel.arg_names[len(arguments) :]
        _compiled[key] = kernel[(programs,)](*arguments, **constants)
    else:
        own = list(constants.values())[: len(kernel.arg_names) - len(arguments)]
        compiled[(programs, 1, 1)](*arguments, *own)
    return None


@lru_cache(maxsize=64)
def processors(device: int) -> int:
    """How many multiprocessors there are."""
    return torch.cuda.get_device_properties(device).multi_processor_count
