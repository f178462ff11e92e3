"""What may be passed, checked without looking at a value: looking would wait for the device."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

import torch

from trueness._tally.rows_or_sums import binned as binned_rows
from trueness._tally.rules import Edges
from trueness.errors import InputError
from trueness.torch._edges import Ruler
from trueness.torch._sums import BAD_LABEL, BAD_SCORE, BAD_SUM, BAD_WEIGHT, OUTSIDE

__all__ = [
    "Rows",
    "as_for_tensors",
    "check_ignored",
    "check_kind",
    "check_rows",
    "check_tolerance",
    "explain",
    "holds",
    "refuse_counts",
    "which_count",
]


_SCORES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # which torch compares nowhere but on the CPU, if at all
_WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, *_WIDE_UNSIGNED)
_MOST_CLASSES = 2.0**31


class Rows(NamedTuple):
    """Labels and scores as plain tensors, on one device."""

    y: torch.Tensor
    p: torch.Tensor
    w: torch.Tensor | None = None
    """Weights, if there are any."""
    ignored: int | None = None
    """The label of rows that are left out."""
    name: str = "y_prob"
    """What the scores are called."""
    tolerance: float | None = None
    """How far from one the scores of a row may sum; None for what their type suggests."""

    @property
    def codes(self) -> torch.Tensor:
        """The labels as bool or integers: -1 for what is no whole number, since selecting would wait."""
        if self.y.dtype in _WIDE_UNSIGNED:
            return self.y.to(torch.int64)  # 2⁶³ and above turn negative: no class, as they were
        if not self.y.dtype.is_floating_point:
            return self.y
        y = self.y.float() if self.y.dtype != torch.float64 else self.y
        return torch.where((y == y.floor()) & (y.abs() < _MOST_CLASSES), y, -1.0).to(torch.int64)

    @property
    def keep(self) -> torch.Tensor | None:
        """Which rows count; None for all of them."""
        return which_count(self.codes, self.ignored)

    def kept(self) -> Rows:
        """The rows that count; waits for the device."""
        keep = self.keep
        if keep is None:
            return self
        w = None if self.w is None else self.w[keep]
        return self._replace(y=self.y[keep], p=self.p[keep], w=w, ignored=None)

    def filled(self, score: float) -> Rows:
        """Rows that do not count made harmless, so that the others keep their numbers in a message."""
        keep = self.keep
        if keep is None:
            return self
        harmless: torch.Tensor | float = score
        if self.p.ndim == 2:
            harmless, keep = torch.zeros_like(self.p[:1]), keep[:, None]
            harmless[0, 0] = 1
        p = torch.where(keep, self.p, harmless)
        keep = keep.flatten()
        w = None if self.w is None else torch.where(keep, self.w, 0)
        return self._replace(y=torch.where(keep, self.y, 0), p=p, w=w, ignored=None)


def which_count(codes: torch.Tensor, ignored: int | None) -> torch.Tensor | None:
    """Rows whose label is not the one that is left out; None for all of them, or where no label can be that one."""
    codes = codes.view(torch.uint8) if codes.dtype == torch.bool else codes
    return None if ignored is None or not holds(codes, ignored) else torch.ne(codes, ignored)


def holds(codes: torch.Tensor, label: int | None) -> bool:
    """Whether integers of this type can be that label: torch would compare with what it wraps around to."""
    if label is None:
        return False
    limits = torch.iinfo(torch.uint8 if codes.dtype == torch.bool else codes.dtype)
    return bool(limits.min <= label <= limits.max)


def check_rows(
    y_true: Any,
    scores: Any,
    name: str,
    dimensions: tuple[int, ...],
    weight: Any = None,
    ignored: int | None = None,
    tolerance: float | None = None,
) -> Rows:
    """Everything as plain tensors: one label per row, on one device."""
    y, p = _tensor(y_true, "y_true"), _tensor(scores, name)
    if p.dtype not in _SCORES:
        raise InputError(name, "must be float64, float32, float16 or bfloat16", f"got {_short(p.dtype)}")
    if y.dtype not in _WHOLE + _SCORES:
        raise InputError("y_true", "must be bool, integers or whole floats", f"got {_short(y.dtype)}")
    _check_device(y, "y_true", p, name)
    if p.ndim not in dimensions:
        wanted = " or ".join("(n,)" if d == 1 else "(n, K)" for d in dimensions)
        raise InputError(name, f"must have shape {wanted}", f"got {tuple(p.shape)}", remedy=_flattened(y, p, name))
    if y.ndim != 1:
        raise InputError("y_true", "must have shape (n,)", f"got {tuple(y.shape)}", remedy=_as_vector(y))
    if y.shape[0] != p.shape[0]:
        raise InputError(
            f"`y_true` and `{name}` must have one entry per row; got {y.shape[0]:,} labels and {p.shape[0]:,} rows."
        )
    if p.ndim == 2 and p.shape[1] < 2:
        raise InputError(name, "must have a column per class, at least 2", f"got shape {tuple(p.shape)}")
    if p.ndim == 1 and tolerance is not None:
        raise InputError("sum_tolerance", "is for rows of probabilities of shape (n, K)", "these have shape (n,)")
    return Rows(y, p, None if weight is None else _weights(weight, p, name), ignored, name, tolerance)


def _weights(given: Any, p: torch.Tensor, name: str) -> torch.Tensor:
    w = _tensor(given, "sample_weight")
    if w.dtype not in _WHOLE + _SCORES:
        raise InputError("sample_weight", "must be numbers", f"got {_short(w.dtype)}")
    _check_device(w, "sample_weight", p, name)
    if w.shape != p.shape[:1]:
        raise InputError(
            "sample_weight", f"must have one entry per row ({p.shape[0]:,})", f"got shape {tuple(w.shape)}"
        )
    return w


def _check_device(given: torch.Tensor, given_name: str, p: torch.Tensor, name: str) -> None:
    if given.device != p.device:
        raise InputError(
            f"`{given_name}` and `{name}` must be on one device; got {given.device} and {p.device}. "
            f"`{given_name}.to({name}.device)` moves it."
        )


def _flattened(y: torch.Tensor, p: torch.Tensor, name: str) -> str:
    """The line that makes a matrix of scores with more dimensions."""
    if p.ndim < 3:
        return ""
    last = f"`{name}.flatten(0, -2)`"
    second = f"`{name}.movedim(1, -1).flatten(0, -2)`"
    if y.shape == p.shape[:-1] and y.shape != p.shape[:1] + p.shape[2:]:
        line = f"{last} and `y_true.flatten()` have a row for each label."
    elif y.shape == p.shape[:1] + p.shape[2:] and y.shape != p.shape[:-1]:
        line = f"{second} and `y_true.flatten()` have a row for each label."
    else:
        line = f"With classes in the second dimension: {second}; in the last: {last}. Labels: `y_true.flatten()`."
    return " " + line


def _as_vector(y: torch.Tensor) -> str:
    if y.ndim == 2 and y.shape[1] > 1:
        return " `y_true.argmax(dim=1)` makes labels of one-hot rows."
    return " `y_true.flatten()` makes a vector of it."


def check_kind(kind: Any) -> None:
    """One of the three views of a matrix, or an error."""
    if kind not in ("classwise", "confidence", "top-label"):
        raise InputError("kind", "must be 'classwise', 'confidence' or 'top-label'", f"got {kind!r}")


def check_ignored(ignored: Any) -> int | None:
    """A label, or None."""
    if ignored is not None and type(ignored) is not int:
        raise InputError("ignore_index", "must be a whole number or None", f"got {ignored!r}")
    return ignored


def check_tolerance(asked: Any) -> float | None:
    """A number between 0 and 1, or None."""
    if asked is None:
        return None
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked <= 1:
        raise InputError("sum_tolerance", "must be a number between 0 and 1", f"got {asked!r}")
    return float(asked)


def _tensor(given: Any, name: str) -> torch.Tensor:
    if not isinstance(given, torch.Tensor):
        raise InputError(
            name,
            "must be a tensor",
            f"got {type(given).__name__}",
            remedy="`trueness.binned` takes arrays, lists and frames.",
        )
    if given.layout != torch.strided or given.is_nested:
        raise InputError(name, "must be a dense tensor", f"got layout {given.layout}", remedy="Use `.to_dense()`.")
    if given.device.type == "meta":
        raise InputError(name, "must hold values", "got a tensor on the device 'meta', which holds none")
    return given.detach().resolve_neg()


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


_ENTRIES = 1 << 22


def explain(rows: Rows, ruler: Ruler, kind: str, from_logits: bool) -> NoReturn:
    """Raise what is wrong with the first bad row, by its number among all rows."""
    rows = rows.filled(float(ruler.edges[0]) if not from_logits else 0.0)
    if from_logits:
        _explain_logits(rows, ruler)
    options: Any = {} if rows.p.ndim == 1 else {"kind": kind}
    if rows.w is not None:
        options["sample_weight"] = rows.w.cpu()
    if rows.tolerance is not None:
        options["sum_tolerance"] = rows.tolerance
    try:
        binned_rows(rows.y.cpu(), rows.p.cpu(), bins=Edges(ruler.edges), **options)
    except InputError as reason:
        raise as_for_tensors(reason) from None
    raise AssertionError("a pass refused rows in which no bad value can be found")


# What :func:`trueness.binned` advises, and what does the same for tensors.
_ADVICE = (
    (r'`missing="drop"` leaves such rows out\.', "Select the other rows first, such as `y_prob[~y_prob.isnan()]`."),
    (r"Say which value is the event: `pos_label=([^`]*)`\.", r"`y_true == \1` makes 0/1 of them, if \1 is the event."),
    (r"Say what it means: `pos_label=([^`]*)`, or .*", r"`y_true == \1` makes 0/1 of them, if \1 is the event."),
)


def as_for_tensors(reason: InputError) -> InputError:
    """The same error, without advice that takes options which functions of tensors do not have."""
    text = str(reason)
    for advised, instead in _ADVICE:
        text = re.sub(advised, instead, text)
    return InputError(text)


def _check_labels(rows: Rows) -> None:
    """Raise if a label is no class code."""
    n_classes = 2 if rows.p.ndim == 1 else rows.p.shape[1]
    y = rows.codes
    bad = (y < 0) | (y >= n_classes)
    if bool(bad.any()):
        at, count = int(bad.to(torch.uint8).argmax()), int(bad.sum())
        raise InputError(
            "y_true",
            f"must hold class codes 0 to {n_classes - 1}, one per column of `logits`",
            f"{count:,} of {y.shape[0]:,} labels {('is' if count == 1 else 'are')} not, the first is "
            f"{rows.y[at].item()} at row {at}",
        )


def _explain_logits(rows: Rows, ruler: Ruler) -> NoReturn:
    """Raise for a row that has no softmax, a label that is no class, a bad weight, or a score outside the edges."""
    logits = rows.p
    step = max(1, _ENTRIES // (1 if logits.ndim == 1 else logits.shape[1]))
    count, first = 0, -1
    for i in range(0, logits.shape[0], step):
        bad = _without_softmax(logits[i : i + step])
        found = int(bad.sum())
        if found and first < 0:
            first = i + int(bad.to(torch.uint8).argmax())
        count += found
    if count:
        if logits.ndim == 1:
            raise InputError(
                "logits", "must not be nan", f"{count:,} of {logits.shape[0]:,} are, the first at row {first}"
            )
        raise InputError(
            f"Rows of `logits` must have no nan, no +inf and at least one finite entry; {count:,} of "
            f"{logits.shape[0]:,} {'does' if count == 1 else 'do'} not, the first is row {first}."
        )
    _check_labels(rows)
    if rows.w is not None:
        none = torch.zeros(rows.w.shape)
        binned_rows(none, none, sample_weight=rows.w.cpu())
    raise InputError(
        "bins",
        "must cover every score",
        f"its edges run from {ruler.edges[0]:g} to {ruler.edges[-1]:g} and a score lies outside of them",
    )


def _without_softmax(logits: torch.Tensor) -> torch.Tensor:
    if logits.ndim == 1:
        return logits.isnan()
    top = logits.amax(dim=1)  # nan where there is one
    return ~top.isfinite()


def refuse_counts(faults: torch.Tensor, ruler: Ruler, from_logits: bool) -> None:
    """Raise if rows were left out, by their number alone: the rows are gone."""
    counts = faults.tolist()
    if not any(counts):
        return
    way_out = "`validate=True` looks at each batch at once and says which."
    if counts[BAD_SCORE]:
        what = "`logits` must have no nan, no +inf and a finite entry in every row"
        what = what if from_logits else "`y_prob` must lie in [0, 1]"
        raise InputError(f"{what}; {counts[BAD_SCORE]:,} rows did not. {way_out}")
    if counts[BAD_SUM]:
        raise InputError(f"Rows of `y_prob` must sum to 1; {counts[BAD_SUM]:,} did not. {way_out}")
    if counts[BAD_LABEL]:
        raise InputError(
            "y_true", "must hold 0/1 or class codes", f"{counts[BAD_LABEL]:,} labels were others", remedy=way_out
        )
    if counts[BAD_WEIGHT]:
        raise InputError(
            "sample_weight",
            "must be finite, at least 0 and at most 1e100",
            f"{counts[BAD_WEIGHT]:,} weights were not",
            remedy=way_out,
        )
    assert counts[OUTSIDE]
    raise InputError(
        "bins",
        "must cover every score",
        f"its edges run from {ruler.edges[0]:g} to {ruler.edges[-1]:g} and {counts[OUTSIDE]:,} scores lay outside",
        remedy=way_out,
    )
