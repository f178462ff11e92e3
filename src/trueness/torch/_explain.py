"""Which value a pass refused, and where: looked for only when there is one."""

from typing import Any, NoReturn

import torch

from trueness._tally.accept import binned as binned_rows
from trueness._tally.rules import Edges
from trueness.errors import InputError
from trueness.torch._edges import Ruler
from trueness.torch._sums import BAD_LABEL, BAD_SCORE, BAD_SUM, OUTSIDE

__all__ = ["check_labels", "explain_logits", "explain_scores", "refuse_counts"]

_ENTRIES = 1 << 22


def explain_scores(y: torch.Tensor, p: torch.Tensor, ruler: Ruler, kind: str) -> NoReturn:
    """Raise what the library says of these rows."""
    options: Any = {} if p.ndim == 1 else {"kind": kind}
    binned_rows(y.cpu(), p.cpu(), bins=Edges(ruler.edges), **options)
    raise AssertionError("a pass refused rows in which no bad value can be found")


def check_labels(y: torch.Tensor, n_classes: int) -> None:
    """Raise if a label is no class code; waits for the device."""
    bad = (y < 0) | (y >= n_classes)
    if bool(bad.any()):
        at, count = int(bad.to(torch.uint8).argmax()), int(bad.sum())
        raise InputError(
            f"`y_true` must hold class codes 0 to {n_classes - 1}, one per column of `logits`; {count:,} of "
            f"{y.shape[0]:,} labels {'is' if count == 1 else 'are'} not, the first is {int(y[at])} at row {at}."
        )


def explain_logits(y: torch.Tensor, logits: torch.Tensor, ruler: Ruler) -> NoReturn:
    """Raise for a row that has no softmax, a label that is no class, or a confidence outside the edges."""
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
                f"`logits` must not be nan; {count:,} of {logits.shape[0]:,} are, the first at row {first}."
            )
        raise InputError(
            f"Rows of `logits` must have no nan, no +inf and at least one finite entry; {count:,} of "
            f"{logits.shape[0]:,} {'does' if count == 1 else 'do'} not, the first is row {first}."
        )
    check_labels(y, 2 if logits.ndim == 1 else logits.shape[1])
    raise InputError(
        f"`bins` must cover every score; its edges run from {ruler.edges[0]:g} to {ruler.edges[-1]:g} and a score lies "
        "outside of them."
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
        raise InputError(f"`y_true` must hold 0/1 or class codes; {counts[BAD_LABEL]:,} labels were others. {way_out}")
    assert counts[OUTSIDE]
    raise InputError(
        f"`bins` must cover every score; its edges run from {ruler.edges[0]:g} to {ruler.edges[-1]:g} and "
        f"{counts[OUTSIDE]:,} scores lay outside. {way_out}"
    )
