from trueness.torch._binned import binned as binned
from trueness.torch._binned import binned_logits as binned_logits
from trueness.torch._metric import CalibrationError as CalibrationError
from trueness.torch._torchmetrics import CalibrationErrorMetric as CalibrationErrorMetric

__all__: list[str]
