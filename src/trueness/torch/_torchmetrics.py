"""The calibration error as a `torchmetrics.Metric`, for code that collects its metrics there."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch

from trueness._tally.rules import BinsLike
from trueness.errors import MissingLibraryError
from trueness.torch._metric import CalibrationError
from trueness.torch._sums import Sums
from trueness.typing import Norm

if find_spec("torchmetrics") is None:
    name = "`trueness.torch.CalibrationErrorMetric`"
    how = "`pip install 'trueness[torchmetrics]'`"
    raise MissingLibraryError(f"{name} needs torchmetrics, which is not installed: {how}.")

from torchmetrics import Metric


# torchmetrics may be absent where types are checked.
class CalibrationErrorMetric(Metric):  # type: ignore[misc, unused-ignore]
    """Expected calibration error as a `torchmetrics.Metric`.

    It adds whole-number sums across processes, and fits into a `MetricCollection`, Lightning's
    ``self.log`` and `torchmetrics`' own synchronisation. As everywhere there, predictions come
    first: ``update(preds, target)``. The value is that of :func:`trueness.ece`, the same bits for
    any order and split of the rows. There are no weights: :class:`CalibrationError` takes them.

    Parameters
    ----------
    bins : int, sequence of edges or bin rule, default 10
        An int is a number of bins of equal width on [0, 1]. torchmetrics' own calibration error has
        15 of them, and one more for scores of exactly 1, which belong to the last bin here.
    norm, kind, from_logits, n_classes, ignore_index
        As for :class:`CalibrationError`.
    **settings
        Those of `torchmetrics.Metric`, such as ``dist_sync_on_step`` and ``process_group``.

    Examples
    --------
    >>> import torch
    >>> from trueness.torch import CalibrationErrorMetric
    >>> metric = CalibrationErrorMetric(bins=2)
    >>> metric.update(torch.tensor([0.125, 0.25]), torch.tensor([0, 0]))
    >>> metric.update(torch.tensor([0.75, 1.0]), torch.tensor([1, 1]))
    >>> metric.compute()
    tensor(0.1562, dtype=torch.float64)
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    sums: torch.Tensor

    def __init__(
        self,
        *,
        bins: BinsLike = 10,
        norm: Norm = "l1",
        kind: str = "binary",
        from_logits: bool = False,
        n_classes: int | None = None,
        ignore_index: int | None = None,
        **settings: object,
    ) -> None:
        super().__init__(**settings)
        self._error = CalibrationError(
            bins=bins,
            norm=norm,
            kind=kind,
            from_logits=from_logits,
            n_classes=n_classes,
            ignore_index=ignore_index,
            sync=False,
        )
        self.add_state("sums", default=self._error._sums.flat.clone(), dist_reduce_fx="sum")

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Add a batch of predictions and labels."""
        if self._error.device != preds.device:
            self._error.to(preds.device)
        self.sums = self.sums + self._error._batch(target, preds, None).flat

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *others: object
    ) -> None:
        """Refuse sums that no rows have; `torch` calls this for every part of a saved model."""
        if (saved := state_dict.get(f"{prefix}sums")) is not None:
            self._error._checked_sums(saved)
        super()._load_from_state_dict(state_dict, prefix, *others)

    def compute(self) -> torch.Tensor:
        """The error of all rows so far, over all processes; a float64 scalar."""
        return self._error._value(Sums(self.sums, self._error._layout.size))
