"""What a pass takes: rows of tensors, checked, and what is summed of them.

Looking at a value waits for the device, so values are looked at only when there is a fault to
explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, NoReturn, TypeAlias, TypedDict, cast

import numpy as np
import torch

from trueness._tally.rows_or_sums import binned as binned_rows
from trueness._tally.rules import BinsLike, Edges, EqualWidth, as_rule
from trueness.errors import InputError, Place, Remedy, remedies
from trueness.typing import Floats, Kind

BAD_SCORE, BAD_LABEL, OUTSIDE, BAD_SUM, BAD_WEIGHT = range(5)
# torch compares these on the CPU only, if at all.
WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
_MOST_CLASSES = 2.0**31


class Layout(NamedTuple):
    """What is summed: in which bins, of which view of a matrix, and whether squares too."""

    edges: Floats
    uniform: bool
    kind: str
    moments: bool

    @property
    def size(self) -> int:
        """Number of bins."""
        return self.edges.size - 1

    @property
    def rule(self) -> EqualWidth | Edges:
        """The bin rule of these edges."""
        if self.uniform:
            return EqualWidth(self.size)
        return Edges(self.edges)

    def limits(self, device: torch.device) -> torch.Tensor:
        """The edges on a device."""
        return _limits(self.edges.tobytes(), str(device))

    def covers(self, p: torch.Tensor) -> torch.Tensor:
        """Whether float64 scores lie between the outer edges."""
        limits = self.limits(p.device)
        return (p >= limits[0]) & (p <= limits[-1])

    def parts(self, p: torch.Tensor) -> int:
        """How many tables of bins the scores have."""
        if p.ndim == 1 or self.kind == "confidence":
            return 1
        return int(p.shape[1])


def layout_of(bins: BinsLike, kind: str, moments: bool) -> Layout:
    """The bins of a view; rules whose edges depend on the rows are refused."""
    rule = as_rule(bins)
    edges = rule.fixed_edges
    if edges is None:
        demand = (
            "must have fixed edges to be summed in one pass: a number, edges, EqualWidth or Edges"
        )
        raise InputError("bins", demand, f"got {rule!r}")
    return Layout(edges, isinstance(rule, EqualWidth), kind, moments)


@lru_cache(maxsize=64)
def _limits(edges: bytes, device: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(edges).copy()).to(device)


class TensorRows(NamedTuple):
    """Labels and scores as plain tensors, on one device."""

    y: torch.Tensor
    p: torch.Tensor
    w: torch.Tensor | None = None  # weights
    ignored: int | None = None  # the label of rows that are left out
    logits: bool = False  # whether the scores are logits
    # How far from one a row may sum; None for the default of its type.
    tolerance: float | None = None

    @property
    def codes(self) -> torch.Tensor:
        """The labels as bool or integers.

        -1 for fractions, since selecting rows would wait for the device.
        """
        if self.y.dtype in WIDE_UNSIGNED:
            return self.y.to(torch.int64)  # 2⁶³ and above turn negative and stay invalid
        if not self.y.dtype.is_floating_point:
            return self.y
        y = self.y.float() if self.y.dtype != torch.float64 else self.y
        return torch.where((y == y.floor()) & (y.abs() < _MOST_CLASSES), y, -1.0).to(torch.int64)

    @property
    def skipped(self) -> int | None:
        """The ignored label, if codes of this type can be it.

        For others, torch would compare with the wrapped value.
        """
        if self.ignored is None:
            return None
        codes = self.codes.dtype
        limits = torch.iinfo(torch.uint8 if codes == torch.bool else codes)
        if limits.min <= self.ignored <= limits.max:
            return self.ignored
        return None

    @property
    def keep(self) -> torch.Tensor | None:
        """Which rows count; None for all of them."""
        skipped = self.skipped
        if skipped is None:
            return None
        return torch.ne(as_bytes(self.codes), skipped)

    def each(self, change: Callable[[torch.Tensor], torch.Tensor]) -> TensorRows:
        """The same change of labels, scores and weights."""
        return self._replace(
            y=change(self.y), p=change(self.p), w=None if self.w is None else change(self.w)
        )

    def chunks(self, step: int) -> Iterator[TensorRows]:
        """At most `step` rows at a time, in order."""
        return (self.each(itemgetter(slice(i, i + step))) for i in range(0, self.p.shape[0], step))

    def select_kept(self) -> TensorRows:
        """The rows that count; waits for the device."""
        keep = self.keep
        if keep is None:
            return self
        return self.each(lambda column: column[keep])._replace(ignored=None)


Image: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]


def images_of(y: torch.Tensor, p: torch.Tensor, w: torch.Tensor | None) -> Iterator[Image]:
    """Labels, scores and weights of each image of dense scores (B, C, …), a row per pixel.

    Others as they are.
    """
    # One channel, or a single column, is a vector. With weights all images come together, since one
    # alone may weigh 0.
    are_tensors = isinstance(p, torch.Tensor) and isinstance(y, torch.Tensor)
    is_vector = are_tensors and p.ndim > 1 and p.shape[1] == 1
    if is_vector and y.shape == p.shape:
        y = y[:, 0]
    if is_vector and p.ndim == 2:
        p = p[:, 0]
    is_dense = isinstance(p, torch.Tensor) and p.ndim >= 3
    if not is_dense or getattr(y, "shape", None) != p.shape[:1] + p.shape[2:]:
        yield y, p, w
        return
    images = p.flatten(2)
    if w is not None or p.shape[0] == 0:
        rows = images.flatten() if is_vector else images.movedim(1, 2).flatten(0, 1)
        if w is not None and getattr(w, "shape", None) == y.shape:
            w = w.flatten()
        yield y.flatten(), rows, w
        return
    for labels, image in zip(y, images, strict=True):
        yield labels.flatten(), image[0] if is_vector else image.T.contiguous(), None


def as_bytes(codes: torch.Tensor) -> torch.Tensor:
    """Labels as integers, without a copy."""
    if codes.dtype == torch.bool:
        return codes.view(torch.uint8)
    return codes


_SCORES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_WHOLE = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    *WIDE_UNSIGNED,
)

# Ways out of errors of `trueness.binned` for functions of tensors, which have fewer options.
REMEDIES = {
    "drop-missing": Remedy("", "Select the other rows first, such as `y_prob[~y_prob.isnan()]`."),
    "clip": Remedy(
        "", "They are outside by at most {value}: `y_prob.clamp(0, 1)` moves them back."
    ),
    "from-logits": Remedy(
        "", "These look like logits: use `binned_logits` or `from_logits=True` if they are."
    ),
    "pos-label": Remedy("", "`y_true == {value}` makes 0/1 of them, if {value} is the event."),
    "labels-order": Remedy("", "Class codes are column numbers, from 0."),
}


def check_rows(
    y_true: torch.Tensor,
    scores: torch.Tensor,
    weight: torch.Tensor | None,
    ignored: int | None,
    *,
    logits: bool = False,
    dimensions: tuple[int, ...] = (1, 2),
    tolerance: float | None = None,
) -> TensorRows:
    """Check types, shapes and devices; no value is looked at."""
    name = "logits" if logits else "y_prob"
    y = _tensor(y_true, "y_true")
    p = _tensor(scores, name)
    if p.dtype not in _SCORES:
        raise InputError(
            name, "must be float64, float32, float16 or bfloat16", f"got {_short(p.dtype)}"
        )
    if y.dtype not in _WHOLE + _SCORES:
        raise InputError(
            "y_true", "must be bool, integers or whole floats", f"got {_short(y.dtype)}"
        )
    _check_device(y, "y_true", p, name)
    if p.ndim not in dimensions:
        wanted = " or ".join("(n,)" if d == 1 else "(n, K)" for d in dimensions)
        raise InputError(
            name,
            f"must have shape {wanted}",
            f"got {tuple(p.shape)}",
            remedy=_flatten_advice(y, p, name),
        )
    if y.ndim != 1:
        one_hot = y.ndim == 2 and y.shape[1] > 1
        if one_hot:
            one_line = "argmax(dim=1)` makes labels of one-hot rows."
        else:
            one_line = "flatten()` makes a vector of it."
        raise InputError(
            "y_true", "must have shape (n,)", f"got {tuple(y.shape)}", remedy=f"`y_true.{one_line}"
        )
    if y.shape[0] != p.shape[0]:
        got = f"got {y.shape[0]:,} labels and {p.shape[0]:,} rows"
        raise InputError("", f"`y_true` and `{name}` must have one entry per row", got)
    if p.ndim == 2 and p.shape[1] < 2:
        raise InputError(
            name, "must have one column per class, at least 2", f"got shape {tuple(p.shape)}"
        )
    if p.ndim == 1 and tolerance is not None:
        raise InputError(
            "sum_tolerance",
            "is only for rows of probabilities of shape (n, K)",
            "these have shape (n,)",
        )
    rows = TensorRows(y, p, None, check_ignored(ignored), logits, check_tolerance(tolerance))
    if weight is None:
        return rows
    w = _tensor(weight, "sample_weight")
    if w.dtype not in _WHOLE + _SCORES:
        raise InputError("sample_weight", "must be numbers", f"got {_short(w.dtype)}")
    _check_device(w, "sample_weight", p, name)
    if w.shape != p.shape[:1]:
        raise InputError(
            "sample_weight",
            f"must have one entry per row ({len(p):,})",
            f"got shape {tuple(w.shape)}",
        )
    return rows._replace(w=w)


def _check_device(other: torch.Tensor, other_name: str, p: torch.Tensor, name: str) -> None:
    if other.device != p.device:
        demand = f"`{other_name}` and `{name}` must be on one device"
        got = f"got {other.device} and {p.device}"
        raise InputError("", demand, got, remedy=f"`{other_name}.to({name}.device)` moves it.")


def _flatten_advice(y: torch.Tensor, p: torch.Tensor, name: str) -> str:
    """The line that makes a matrix of scores with more dimensions."""
    if p.ndim < 3:
        return ""
    last = f"`{name}.flatten(0, -2)`"
    second = f"`{name}.movedim(1, -1).flatten(0, -2)`"
    fits_last = y.shape == p.shape[:-1]
    fits_second = y.shape == p.shape[:1] + p.shape[2:]
    if fits_last != fits_second:
        return f"{last if fits_last else second} and `y_true.flatten()` have a row for each label."
    return (
        f"With classes in the second dimension: {second}; in the last: {last}. "
        "Labels: `y_true.flatten()`."
    )


def check_ignored(ignored: object) -> int | None:
    """A label, or None."""
    if ignored is not None and type(ignored) is not int:
        raise InputError("ignore_index", "must be a whole number or None", f"got {ignored!r}")
    return ignored


def check_tolerance(tolerance: float | None) -> float | None:
    """A number between 0 and 1, or None."""
    is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if tolerance is not None and not (is_number and 0 <= tolerance <= 1):
        raise InputError("sum_tolerance", "must be a number between 0 and 1", f"got {tolerance!r}")
    if tolerance is None:
        return None
    return float(tolerance)


class ScoreOptions(TypedDict):
    """Options of :func:`trueness.binned` about the scores."""

    kind: Kind
    from_logits: bool
    sum_tolerance: float | None


def library_options(rows: TensorRows, layout: Layout) -> ScoreOptions:
    """The options of `trueness.binned` that depend on the shape and scale of the scores."""
    kind = layout.kind if rows.p.ndim == 2 else "classwise"
    return {
        "kind": cast(Kind, kind),
        "from_logits": rows.logits,
        "sum_tolerance": rows.tolerance,
    }


def _tensor(value: object, name: str) -> torch.Tensor:
    """The tensor without its gradient; an error unless it is dense and holds values."""
    if not isinstance(value, torch.Tensor):
        remedy = "`trueness.binned` takes arrays, lists and frames."
        raise InputError(name, "must be a tensor", f"got {type(value).__name__}", remedy=remedy)
    if value.layout != torch.strided or value.is_nested:
        raise InputError(
            name,
            "must be a dense tensor",
            f"got layout {value.layout}",
            remedy="Use `.to_dense()`.",
        )
    if value.device.type == "meta":
        raise InputError(
            name, "must hold values", "got a tensor on the device 'meta', which holds none"
        )
    return value.detach().resolve_neg()


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def explain(rows: TensorRows, layout: Layout) -> NoReturn:
    """Raise the error for the first bad row, by its number among all rows."""
    if rows.logits:
        _explain_logits(rows, layout)
    w = None if rows.w is None else rows.w.cpu()
    with remedies(REMEDIES):
        binned_rows(
            rows.y.cpu(),
            rows.p.cpu(),
            bins=Edges(layout.edges),
            sample_weight=w,
            ignore_index=rows.ignored,
            **library_options(rows, layout),
        )
    raise AssertionError("a pass refused rows in which no bad value can be found")


def _explain_logits(rows: TensorRows, layout: Layout) -> NoReturn:
    """Raise for the first fault of logits, in the order in which rows are tested.

    A row without a softmax, an invalid label, a bad weight, a score outside the edges.
    """
    logits = rows.p
    y = rows.codes
    n = rows.p.shape[0]
    keep = torch.ones_like(y, dtype=torch.bool) if rows.keep is None else rows.keep
    is_vector = logits.ndim == 1
    n_classes = 2 if is_vector else logits.shape[1]
    # The largest of a row is nan if any is.
    bad = logits.isnan() if is_vector else ~logits.amax(dim=1).isfinite()
    count, first = _bad_rows(bad & keep)
    if count and is_vector:
        raise InputError(
            "logits", "must not be nan", f"{count:,} of {n:,} are, the first", place=first
        )
    if count:
        demand = "Rows of `logits` must have no nan, no +inf and at least one finite entry"
        verb = "does" if count == 1 else "do"
        raise InputError("", demand, f"{count:,} of {n:,} {verb} not, the first", place=first)
    count, first = _bad_rows(((y < 0) | (y >= n_classes)) & keep)
    if count:
        demand = f"must hold class codes 0 to {n_classes - 1}, one per column of `logits`"
        verb = "is" if count == 1 else "are"
        value = rows.y[first.row].item()
        got = f"{count:,} of {n:,} labels {verb} not, the first is {value}"
        raise InputError("y_true", demand, got, place=first)
    if rows.w is not None:
        none = torch.zeros(n)
        binned_rows(none, none, sample_weight=torch.where(keep, rows.w, 0).cpu())
    _refuse_outside(layout, "a score lies outside of them")


def _bad_rows(bad: torch.Tensor) -> tuple[int, Place]:
    """How many rows are bad, and where the first of them is."""
    return int(bad.sum()), Place(int(bad.to(torch.uint8).argmax()) if bad.numel() else 0)


def _refuse_outside(layout: Layout, got: str, remedy: str = "") -> NoReturn:
    edges = f"its edges run from {layout.edges[0]:g} to {layout.edges[-1]:g} and {got}"
    raise InputError("bins", "must cover every score", edges, remedy=remedy)


def refuse_counts(faults: torch.Tensor, layout: Layout, from_logits: bool) -> None:
    """Raise if rows were left out; only their number is known, since the rows are gone."""
    counts = faults.tolist()
    if not any(counts):
        return
    remedy = "`validate=True` checks each batch immediately and names the row."
    logits = ("logits", "must have no nan, no +inf and a finite entry in every row")
    complaints = {
        BAD_SCORE: (*(logits if from_logits else ("y_prob", "must lie in [0, 1]")), "rows did not"),
        BAD_SUM: ("", "Rows of `y_prob` must sum to 1", "did not"),
        BAD_LABEL: ("y_true", "must hold 0/1 or class codes", "labels did not"),
        BAD_WEIGHT: (
            "sample_weight",
            "must be finite, at least 0 and at most 1e100",
            "weights were not",
        ),
    }
    for fault, (argument, demand, got) in complaints.items():
        if counts[fault]:
            raise InputError(argument, demand, f"{counts[fault]:,} {got}", remedy=remedy)
    _refuse_outside(layout, f"{counts[OUTSIDE]:,} scores were outside", remedy)
