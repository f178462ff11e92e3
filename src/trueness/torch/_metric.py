"""`CalibrationError`: a metric that adds batches up on their device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import torch

from trueness._tally.rules import BinsLike, Edges, EqualWidth
from trueness._tally.tally import Binned
from trueness.errors import InputError
from trueness.measure import ece
from trueness.measure._norm import checked_norm
from trueness.torch._edges import ruler_of
from trueness.torch._explain import check_labels, explain_logits, explain_scores, refuse_counts
from trueness.torch._given import check_pair
from trueness.torch._pass import as_binned, on_host, sums_of_logits, sums_of_scores
from trueness.torch._sums import Sums, no_sums
from trueness.typing import Norm

__all__ = ["CalibrationError"]

_KINDS = ("binary", "confidence", "classwise")


class CalibrationError:
    """Expected calibration error of batches of tensors, added up where they are.

    A batch leaves behind the sums of each bin and nothing else. They are whole numbers, so that the value is the
    same bits for any order of the batches, any split and any number of processes. On CUDA neither :meth:`update` nor
    :meth:`merge_state` waits for the device.

    Parameters
    ----------
    bins : int, sequence of edges, EqualWidth or Edges, default 10
        An int means that many bins of equal width on [0, 1].
    norm : {'l1', 'l2', 'max'} or float, default 'l1'
        As for :func:`trueness.ece`.
    kind : {'binary', 'confidence', 'classwise'}, default 'binary'
        Scores of shape (n,); or, of (n, K), the largest of each row against whether that class came, or each column
        against the rest.
    from_logits : bool, default False
        The scores are logits.
    n_classes : int, optional
        K, which 'classwise' needs beforehand: a process that has seen no rows has to know it too.
    moments : bool, default False
        Whether to sum squares as well, for measures other than the binned errors; see :func:`binned`.
    validate : bool, default False
        Whether to look at each batch at once. By default bad values (nan, scores outside [0, 1], labels that are no
        class) on a GPU are left out and counted, and :meth:`compute` raises with their number; on the CPU
        they raise at once, with their place.
    device : optional
        Where the sums are kept; rows must be there too.
    sync : bool, default True
        Whether :meth:`compute` adds up the processes of ``torch.distributed`` where that is set up.
    process_group : optional
        Which of them.

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
    """

    def __init__(
        self,
        *,
        bins: BinsLike = 10,
        norm: Norm = "l1",
        kind: str = "binary",
        from_logits: bool = False,
        n_classes: int | None = None,
        moments: bool = False,
        validate: bool = False,
        device: torch.device | str | None = None,
        sync: bool = True,
        process_group: Any = None,
    ) -> None:
        if kind not in _KINDS:
            raise InputError(f"`kind` must be 'binary', 'confidence' or 'classwise'; got {kind!r}.")
        if (kind == "classwise" or n_classes is not None) and (type(n_classes) is not int or n_classes < 2):
            raise InputError(f"`n_classes` must be a whole number ≥ 2 for kind='classwise'; got {n_classes!r}.")
        self._ruler = ruler_of(bins)
        checked_norm(norm)
        self.norm = norm
        self.kind = kind
        self.from_logits = from_logits
        self.n_classes = n_classes
        self.moments = moments
        self.validate = validate
        self.sync = sync
        self.process_group = process_group
        parts = n_classes if kind == "classwise" and n_classes is not None else 1
        self._sums = no_sums(parts, self._ruler.size, torch.device("cpu" if device is None else device))

    @property
    def device(self) -> torch.device:
        """Where the sums are."""
        return self._sums.table.device

    def update(self, y_true: torch.Tensor, scores: torch.Tensor) -> None:
        """Add a batch.

        Parameters
        ----------
        y_true : tensor of shape (n,)
            Labels: bool or integers.
        scores : tensor of shape (n,) or (n, K)
            Probabilities, or logits, as the metric was made for.
        """
        self._sums.flat.add_(self._batch(y_true, scores).flat)

    def __call__(self, y_true: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Add a batch, and return the error of this batch alone."""
        batch = self._batch(y_true, scores)
        value = self._value(batch)
        self._sums.flat.add_(batch.flat)
        return value

    def compute(self) -> torch.Tensor:
        """The error of all rows so far, over all processes: a float64 tensor without dimensions, on the CPU."""
        return self._value(self._everywhere())

    @property
    def binned(self) -> Binned:
        """The sums of all rows so far, over all processes: takes the place of labels and scores in a measure."""
        return self._binned(self._everywhere())

    def reset(self) -> None:
        """Forget every row."""
        self._sums.flat.zero_()

    def merge_state(self, others: CalibrationError | Iterable[CalibrationError]) -> None:
        """Add the rows of other metrics of the same bins and kind, wherever they are."""
        for other in (others,) if isinstance(others, CalibrationError) else tuple(others):
            if not isinstance(other, CalibrationError):
                raise InputError(f"`others` must be metrics of this class; got {type(other).__name__}.")
            self._refuse_others(other._described(), "others")
            self._sums.flat.add_(other._sums.flat.to(self.device))

    def to(self, device: torch.device | str) -> Self:
        """Move the sums."""
        self._sums = Sums(self._sums.flat.to(device), self._ruler.size)
        return self

    def state_dict(self) -> dict[str, Any]:
        """The sums and what they are sums of; tensors, numbers and strings alone."""
        return {"described": self._described(), "sums": self._sums.flat.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take the sums that :meth:`state_dict` gave; those of other bins or kinds are refused."""
        if not isinstance(state, dict) or set(state) != {"described", "sums"}:
            raise InputError("`state` must be what `state_dict` gave: a dict of 'described' and 'sums'.")
        self._refuse_others(state["described"], "state")
        given, mine = state["sums"], self._sums.flat
        if not isinstance(given, torch.Tensor) or given.shape != mine.shape or given.dtype != mine.dtype:
            raise InputError(f"`state['sums']` must be an int64 tensor of shape {tuple(mine.shape)}.")
        self._sums = Sums(given.to(self.device, copy=True), self._ruler.size)

    def __repr__(self) -> str:
        return f"CalibrationError(bins={self._ruler.size}, norm={self.norm!r}, kind={self.kind!r})"

    def _described(self) -> dict[str, Any]:
        return {
            "edges": self._ruler.edges.tolist(),
            "kind": self.kind,
            "from_logits": self.from_logits,
            "n_classes": self.n_classes,
            "moments": self.moments,
        }

    def _refuse_others(self, described: Any, name: str) -> None:
        """Sums of something else do not add; how many classes there are is learnt from the first batch."""
        mine = self._described()
        for key, value in mine.items():
            given = described.get(key, "nothing") if isinstance(described, dict) else "nothing"
            if given != value and (key != "n_classes" or None not in (given, value)):
                raise InputError(f"`{name}` must have the same `{key}` as this metric, {value!r}; got {given!r}.")
        self.n_classes = mine["n_classes"] or described["n_classes"]

    def _batch(self, y_true: torch.Tensor, scores: torch.Tensor) -> Sums:
        y, p = self._checked(y_true, scores)
        view = "classwise" if self.kind == "binary" else self.kind
        if self.from_logits:
            if p.device.type == "cpu":
                check_labels(y, 2 if p.ndim == 1 else p.shape[1])
            try:
                sums = sums_of_logits(y, p, self._ruler, view, self.moments)
            except InputError:  # its row is counted from the start of a chunk
                explain_logits(y, p, self._ruler)
        else:
            sums = sums_of_scores(y, p, self._ruler, view, self.moments)
        if self.validate and bool(sums.faults.any()):
            if self.from_logits:
                explain_logits(y, p, self._ruler)
            explain_scores(y, p, self._ruler, view)
        if p.ndim == 2:
            self.n_classes = p.shape[1]
        return sums

    def _checked(self, y_true: torch.Tensor, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        name = "logits" if self.from_logits else "y_prob"
        y, p = check_pair(y_true, scores, name, (1,) if self.kind == "binary" else (2,))
        if p.device != self.device:
            raise InputError(
                f"`{name}` must be where the metric is, on {self.device}; it is on {p.device}. Move one with `.to`."
            )
        if self.n_classes not in (None, p.shape[-1]) and p.ndim == 2:
            raise InputError(f"`{name}` must have {self.n_classes} columns, as before or as told; got {p.shape[1]}.")
        return y, p

    def _everywhere(self) -> Sums:
        spread = torch.distributed
        if not (self.sync and spread.is_available() and spread.is_initialized()):
            return self._sums
        flat = self._sums.flat.clone()
        spread.all_reduce(flat, group=self.process_group)
        return Sums(flat, self._ruler.size)

    def _binned(self, sums: Sums) -> Binned:
        sums = on_host(sums)
        refuse_counts(sums.faults, self._ruler, self.from_logits)
        return as_binned(sums, self._ruler, self.kind, self._classes(), self.moments)

    def _classes(self) -> int | None:
        return None if self.kind == "binary" else self.n_classes

    def _value(self, sums: Sums) -> torch.Tensor:
        found = self._binned(sums)
        rule = EqualWidth(self._ruler.size) if self._ruler.uniform else Edges(self._ruler.edges)
        return torch.tensor(ece(found, bins=rule, norm=self.norm), dtype=torch.float64)
