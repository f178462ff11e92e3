"""Which value a pass refused, and where: looked for only when there is one."""

import re
from typing import Any, NoReturn

import torch

from trueness._tally.rows_or_sums import binned as binned_rows
from trueness._tally.rules import Edges
from trueness.errors import InputError
from trueness.torch._edges import Ruler
from trueness.torch._given import Rows
from trueness.torch._sums import BAD_LABEL, BAD_SCORE, BAD_SUM, BAD_WEIGHT, OUTSIDE

__all__ = ["as_for_tensors", "explain", "refuse_counts"]

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
