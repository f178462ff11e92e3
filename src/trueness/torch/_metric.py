"""`CalibrationError`: a metric that accumulates batches on their device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import torch

from trueness._keywords import suggests_keywords
from trueness._tally.possible_sums import check_sums, refuse
from trueness._tally.rules import BinsLike, check_class_bins
from trueness._tally.tally import Binned
from trueness.errors import InputError
from trueness.measure import ece
from trueness.measure._binned import exponent
from trueness.torch import _rows
from trueness.torch._binned import as_binned, sums_of
from trueness.torch._sums import (
    Sums,
    add_compensated,
    float_home,
    no_sums,
    no_weights,
    refuse_light,
)
from trueness.typing import Norm

_BY_CLASS = ("top-label", "classwise")
_KINDS = ("binary", "confidence", *_BY_CLASS)


@suggests_keywords
class CalibrationError:
    """Expected calibration error, accumulated over batches of tensors on their device.

    Only the sums of each bin are kept. Without weights they are whole numbers, so the value is the
    same, bit for bit, for any order and split of the batches and any number of processes. On CUDA
    neither :meth:`update` nor :meth:`merge_state` waits for the device.

    Parameters
    ----------
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    ignore_index : int, optional
        The label of rows that are left out, whatever their scores.
    sum_tolerance : float, optional
        How far from one the scores of a row may sum; by default 1e-6, for float16 2e-3.
    norm : {'l1', 'l2', 'max'} or float, default 'l1'
        How distances are averaged over bins: weighted mean, root mean square, maximum, or the power
        mean with any exponent ≥ 1.
    kind : {'binary', 'confidence', 'top-label', 'classwise'}, default 'binary'
        'binary': scores of shape (n,). The others need shape (n, K), or (B, K, …) with labels (B,
        …). 'confidence': the largest score of each row against whether that class is correct.
        'top-label': the same by predicted class. 'classwise': each column against the rest.
    from_logits : bool, default False
        Whether the scores are logits.
    n_classes : int, optional
        K, required by 'classwise' and 'top-label': a process without rows must know it too.
    moments : bool, default False
        Whether to sum squares too, which the Brier score and intervals need. Binned errors do not.
    validate : bool, default False
        Whether to check each batch immediately. By default, bad values on a GPU (nan, scores
        outside [0, 1], invalid labels, negative weights) are left out and counted, and
        :meth:`compute` raises with their number; on the CPU they raise immediately, with their row.
    device : optional
        The device of the sums; rows must be on it too.
    sync : bool, default True
        Whether :meth:`compute` sums over the processes of ``torch.distributed``, if that is
        initialized.
    process_group : optional
        The processes to sum over.

    Examples
    --------
    >>> import torch
    >>> from trueness.torch import CalibrationError
    >>> metric = CalibrationError(bins=2)
    >>> metric.update(torch.tensor([0, 0]), torch.tensor([0.125, 0.25]))
    >>> metric.update(torch.tensor([1, 1]), torch.tensor([0.75, 1.0]))
    >>> metric.compute()
    tensor(0.1562, dtype=torch.float64)
    >>> metric.binned
    Binned(binary, 4 rows, 2 bins)
    >>> metric.update(torch.tensor([1.0]), torch.tensor([0.75]), sample_weight=torch.tensor([0.5]))
    >>> metric.binned.weight
    4.5
    """

    def __init__(
        self,
        *,
        bins: BinsLike = 10,
        norm: Norm = "l1",
        kind: str = "binary",
        from_logits: bool = False,
        n_classes: int | None = None,
        ignore_index: int | None = None,
        sum_tolerance: float | None = None,
        moments: bool = False,
        validate: bool = False,
        device: torch.device | str | None = None,
        sync: bool = True,
        process_group: torch.distributed.ProcessGroup | None = None,
    ) -> None:
        if kind not in _KINDS:
            raise InputError(
                "kind",
                f"must be {', '.join(map(repr, _KINDS[:-1]))} or {_KINDS[-1]!r}",
                f"got {kind!r}",
            )
        if (kind in _BY_CLASS or n_classes is not None) and (
            type(n_classes) is not int or n_classes < 2
        ):
            raise InputError(
                "n_classes", f"must be a whole number ≥ 2 for kind={kind!r}", f"got {n_classes!r}"
            )
        self._layout = _rows.layout_of(bins, "classwise" if kind == "binary" else kind, moments)
        exponent(norm)
        self.norm = norm
        self.kind = kind
        self.from_logits = from_logits
        self.n_classes = n_classes
        self.ignore_index = _rows.check_ignored(ignore_index)
        self.sum_tolerance = _rows.check_tolerance(sum_tolerance)
        if sum_tolerance is not None and (from_logits or kind == "binary"):
            raise InputError(
                "sum_tolerance",
                "is only for rows of probabilities, not for logits or kind='binary'",
            )
        self.moments = moments
        self.validate = validate
        self.sync = sync
        self.process_group = process_group
        self._parts = n_classes if kind in _BY_CLASS and n_classes is not None else 1
        check_class_bins(self._layout.size, self._parts)
        with torch.inference_mode(False):  # so that any mode may add to the sums
            self._sums = no_sums(
                self._parts, self._layout.size, torch.device("cpu" if device is None else device)
            )
        # Sums of weighted rows and their rounding errors, if there are any.
        self._weighted: torch.Tensor | None = None

    @property
    def device(self) -> torch.device:
        """Where the sums are."""
        return self._sums.flat.device

    def update(
        self,
        y_true: torch.Tensor,
        scores: torch.Tensor,
        *,
        sample_weight: torch.Tensor | None = None,
    ) -> None:
        """Add a batch of labels and probabilities, or logits if `from_logits`.

        Without weights, every row weighs 1.
        """
        sums = self._batch(y_true, scores, sample_weight, None if self.validate else self._sums)
        if sums is not self._sums:
            self._add(sums)

    def forward(
        self,
        y_true: torch.Tensor,
        scores: torch.Tensor,
        *,
        sample_weight: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Add a batch and return the error of this batch alone, in this process.

        Waits for the device.
        """
        batch = self._batch(y_true, scores, sample_weight)
        value = self._value(batch)
        self._add(batch)
        return value

    __call__ = forward

    def compute(self) -> torch.Tensor:
        """The error of all rows so far, over all processes; a float64 scalar tensor on the CPU."""
        return self._value(self._total())

    @property
    def binned(self) -> Binned:
        """The sums of all rows so far, over all processes.

        Measures take it in place of labels and scores.
        """
        return self._binned(self._total())

    def reset(self) -> None:
        """Remove all rows."""
        self._sums.flat.zero_()
        self._weighted = None

    def merge_state(self, others: CalibrationError | Iterable[CalibrationError]) -> None:
        """Add the rows of other metrics with the same bins and kind, on any device."""
        several = (others,) if isinstance(others, CalibrationError) else tuple(others)
        for other in several:
            if not isinstance(other, CalibrationError):
                raise InputError(
                    "others", "must be metrics of this class", f"got {type(other).__name__}"
                )
            if other is self:
                raise InputError(
                    "others", "must not contain this very metric, whose rows would count twice"
                )
            self._check_same(other._options(), "others")
        for other in several:
            self._sums.flat.add_(other._sums.flat.to(self.device))
            if other._weighted is not None:
                for weighted in other._weighted.to(float_home(self.device)):
                    self._add_weighted(weighted)

    def to(self, device: torch.device | str) -> Self:
        """Move the sums."""
        with torch.inference_mode(False):  # as in __init__
            self._sums = Sums(self._sums.flat.to(device), self._layout.size)
            if self._weighted is not None:
                self._weighted = self._weighted.to(float_home(self.device))
        return self

    def state_dict(self) -> dict[str, Any]:
        """The sums and the options they depend on, as tensors, numbers and strings."""
        weighted = None if self._weighted is None else self._weighted.clone()
        return {"described": self._options(), "sums": self._sums.flat.clone(), "weighted": weighted}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the sums by those of :meth:`state_dict`.

        Other bins or kinds, and sums of no rows, are refused.
        """
        if not isinstance(state, dict) or set(state) != {"described", "sums", "weighted"}:
            demand = (
                "must be what `state_dict` returned: a dict of 'described', 'sums' and 'weighted'"
            )
            raise InputError("state", demand)
        self._check_same(state["described"], "state")
        with torch.inference_mode(False):  # as in __init__
            flat = self._checked_sums(state["sums"])
            weighted = state["weighted"]
            if weighted is not None:
                weighted = _copy_like(weighted, self._no_weights(), "weighted")
                _check_stored(
                    Sums(torch.zeros_like(flat), self._layout.size, weighted[0] + weighted[1]),
                    self._layout,
                )
        self._sums = Sums(flat, self._layout.size)
        self._weighted = weighted

    def __repr__(self) -> str:
        """The options that are not None, and the device if it is not the CPU."""
        shown: dict[str, Any] = {"bins": self._layout.size, "norm": self.norm, "kind": self.kind}
        shown |= {
            "from_logits": self.from_logits or None,
            "n_classes": self.n_classes,
            "ignore_index": self.ignore_index,
        }
        shown["device"] = None if self.device.type == "cpu" else str(self.device)
        options = [f"{name}={value!r}" for name, value in shown.items() if value is not None]
        return f"CalibrationError({', '.join(options)})"

    def _checked_sums(self, saved: torch.Tensor) -> torch.Tensor:
        """A copy of saved sums without weights, if rows can have them."""
        flat = _copy_like(saved, self._sums.flat, "sums")
        _check_stored(Sums(flat, self._layout.size), self._layout)
        return flat

    def _options(self) -> dict[str, Any]:
        """The options that the sums depend on."""
        names = ("kind", "from_logits", "n_classes", "ignore_index", "moments")
        return {
            "edges": self._layout.edges.tolist(),
            **{name: getattr(self, name) for name in names},
        }

    def _check_same(self, options: dict[str, Any], name: str) -> None:
        """Raise if sums with other options cannot be added.

        An unknown number of classes is adopted.
        """
        options_here = self._options()
        for key, value in options_here.items():
            other = options.get(key, "nothing") if isinstance(options, dict) else "nothing"
            if other != value and (key != "n_classes" or None not in (other, value)):
                raise InputError(
                    name, f"must have the same `{key}` as this metric, {value!r}", f"got {other!r}"
                )
        self.n_classes = options_here["n_classes"] or options["n_classes"]

    def _batch(
        self,
        y_true: torch.Tensor,
        scores: torch.Tensor,
        weight: torch.Tensor | None,
        into: Sums | None = None,
    ) -> Sums:
        """The sums of a batch; they are `into` itself if the device could add to it.

        Images come one by one.
        """
        first, *more = _rows.images_of(y_true, scores, weight)
        if not more:
            return self._image(*first, into)
        # Images that come one by one have no weights.
        sums = self._image(*first)
        for image in more:
            sums = sums._replace(flat=sums.flat + self._image(*image).flat)
        return sums

    def _image(
        self,
        y_true: torch.Tensor,
        scores: torch.Tensor,
        weight: torch.Tensor | None,
        into: Sums | None = None,
    ) -> Sums:
        """The sums of one batch of rows, added to `into` if it is given.

        Rows on another device or with another number of classes are refused; so are bad rows, if
        the metric validates them.
        """
        name = "logits" if self.from_logits else "y_prob"
        rows = _rows.check_rows(
            y_true,
            scores,
            weight,
            self.ignore_index,
            logits=self.from_logits,
            dimensions=(1,) if self.kind == "binary" else (2,),
            tolerance=self.sum_tolerance,
        )
        if rows.p.device != self.device:
            demand = f"must be on the device of the metric, {self.device}"
            raise InputError(
                name, demand, f"it is on {rows.p.device}", remedy="Move one with `.to`."
            )
        if rows.p.ndim == 2 and self.n_classes not in (None, rows.p.shape[1]):
            raise InputError(
                name, f"must have {self.n_classes} columns (`n_classes`)", f"got {rows.p.shape[1]}"
            )
        sums = sums_of(rows, self._layout, into)
        if self.validate and bool(sums.faults.any()):
            _rows.explain(rows, self._layout)
        if rows.p.ndim == 2:
            self.n_classes = rows.p.shape[1]
        return sums

    def _add(self, batch: Sums) -> None:
        self._sums.flat.add_(batch.flat)
        if batch.weighted is not None:
            self._add_weighted(batch.weighted)

    def _add_weighted(self, weighted: torch.Tensor) -> None:
        if self._weighted is None:
            self._weighted = self._no_weights()
        add_compensated(self._weighted, weighted)

    def _no_weights(self) -> torch.Tensor:
        with torch.inference_mode(False):  # as in __init__
            return torch.stack([no_weights(self._parts, self._layout.size, self.device)] * 2)

    def _total(self) -> Sums:
        """The sums over all processes."""
        flat = self._sums.flat
        weighted = self._weighted
        distributed = torch.distributed
        if self.sync and distributed.is_available() and distributed.is_initialized():
            # Whether any process has weights is reduced with the sums, so that all agree on a
            # second reduction.
            flat = torch.cat([flat, flat.new_tensor([weighted is not None])])
            distributed.all_reduce(flat, group=self.process_group)
            any_weights = bool(flat[-1])
            flat = flat[:-1]
            if any_weights:
                weighted = self._no_weights() if weighted is None else weighted.clone()
                distributed.all_reduce(weighted, group=self.process_group)
        return Sums(
            flat, self._layout.size, None if weighted is None else weighted[0] + weighted[1]
        )

    def _binned(self, sums: Sums) -> Binned:
        sums = sums.on_host()
        _rows.refuse_counts(sums.faults, self._layout, self.from_logits)
        if sums.weighted is not None:
            refuse_light(sums.weighted)
        return as_binned(sums, self._layout, None if self.kind == "binary" else self.n_classes)

    def _value(self, sums: Sums) -> torch.Tensor:
        return torch.tensor(
            ece(self._binned(sums), bins=self._layout.rule, norm=self.norm), dtype=torch.float64
        )


def _check_stored(sums: Sums, layout: _rows.Layout) -> None:
    """Refuse saved sums that no rows have."""
    sums = sums.on_host()
    counts = sums.faults.double() if sums.weighted is None else sums.weighted[..., 0]
    if not bool(((counts >= 0) & (counts == counts.floor()) & (counts <= 2**53)).all()):
        refuse("its counts must be whole numbers")
    for part in as_binned(sums, layout, None).parts:
        check_sums(part)


def _copy_like(saved: torch.Tensor, like: torch.Tensor, name: str) -> torch.Tensor:
    """A copy of saved sums, which must have the metric's own shape and type."""
    is_tensor = isinstance(saved, torch.Tensor)
    if not is_tensor or saved.shape != like.shape or saved.dtype != like.dtype:
        dtype = str(like.dtype).removeprefix("torch.")
        raise InputError(
            "", f"`state[{name!r}]` must be a tensor of {dtype} and shape {tuple(like.shape)}"
        )
    copy: torch.Tensor = saved.to(like.device, copy=True)
    return copy
