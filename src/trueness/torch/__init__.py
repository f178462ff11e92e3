"""Tensors tallied where they are: binned sums of scores and logits on any device, and a metric that adds them up."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from trueness._lazy import lazily
from trueness.errors import MissingLibraryError

if find_spec("torch") is None:
    raise MissingLibraryError("`trueness.torch` needs torch, which is not installed: `pip install 'trueness[torch]'`.")

if TYPE_CHECKING:
    from trueness.torch._logits import binned_logits
    from trueness.torch._metric import CalibrationError
    from trueness.torch._scores import binned

__all__ = [
    "CalibrationError",
    "binned",
    "binned_logits",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "_logits": ("binned_logits",),
        "_metric": ("CalibrationError",),
        "_scores": ("binned",),
    },
)
