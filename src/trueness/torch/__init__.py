"""Binned sums of tensors on their own device, and a metric that accumulates them."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from trueness._lazy import lazily
from trueness.errors import MissingLibraryError

if find_spec("torch") is None:
    raise MissingLibraryError("`trueness.torch` needs torch, which is not installed: `pip install 'trueness[torch]'`.")

if TYPE_CHECKING:
    from trueness.torch._binned import binned, binned_logits
    from trueness.torch._metric import CalibrationError
    from trueness.torch._torchmetrics import CalibrationErrorMetric as CalibrationErrorMetric

__all__ = ["CalibrationError", "binned", "binned_logits"]

# CalibrationErrorMetric is not in __all__: it needs torchmetrics, and a star import must not.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "_binned": ("binned", "binned_logits"),
        "_metric": ("CalibrationError",),
        "_torchmetrics": ("CalibrationErrorMetric",),
    },
)
