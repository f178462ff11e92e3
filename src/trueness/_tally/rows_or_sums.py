"""How a measure is asked: with labels and scores, or with sums in place of both."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, Unpack

import numpy as np

from trueness._input.sample import Sample, plain_sample, read_sample
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.grid import GridCells
from trueness._tally.multiclass import check_kind, class_bins, parts_of, with_probabilities
from trueness._tally.row_sums import bins_of_rows, cells_of_rows
from trueness._tally.rules import BinRule, BinsLike, BlockIsotonic, BySize, as_rule
from trueness._tally.sketch import Sketch, served
from trueness._tally.tally import Binned, Tally
from trueness.errors import DroppedRowsWarning, FewRowsWarning, InputError, OneClassWarning, Remedy, warn
from trueness.typing import ArrayLike, Kind, RowOptions

__all__ = [
    "as_binned",
    "as_sample",
    "as_sums",
    "as_tally",
    "binned",
    "binned_of",
    "sample_and_kind",
    "sketch",
    "sketch_of",
    "takes_rows",
    "tally",
    "tally_of",
    "warn_one_class",
]

Measure = TypeVar("Measure", bound=Callable[..., Any])

_OPTIONS = {
    "kind": "classwise",
    "labels": None,
    "pos_label": None,
    "sample_weight": None,
    "missing": "raise",
    "clip_tolerance": 0.0,
    "sum_tolerance": None,
    "from_logits": False,
}


def takes_rows(measure: Measure, *, kind: Kind = "classwise") -> Measure:
    """Spell out the row options in the signature that ``help`` and editors show; the call itself is untouched."""
    signature = inspect.signature(measure)
    kept = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    hints = RowOptions.__annotations__
    shown = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        for name, default in (_OPTIONS | {"kind": kind}).items()
    ]
    measure.__signature__ = signature.replace(parameters=[*kept, *shown])  # type: ignore[attr-defined]
    return measure


def as_binned(
    y_true: ArrayLike | Tally | Binned | Sketch,
    y_prob: ArrayLike | None,
    bins: BinsLike | BySize,
    options: RowOptions,
    *,
    moments: bool = False,
    kind: Kind = "classwise",
) -> Binned:
    """The sums per bin of whatever was passed, with the warnings that every measure gives.

    `bins` may also depend on the number of rows; `kind` is the view of a matrix when none is asked for.
    """
    if isinstance(y_true, Tally | Binned | Sketch):
        _refuse_rows(y_true, y_prob, options)
        rule = _rule(bins, y_true.weight)
        found = y_true.coarsen(rule)
        if moments and isinstance(y_true, Binned) and not all(part.moments for part in found.parts):
            raise InputError("These bins were made without second moments; pass a Tally, or labels and scores.")
    else:
        sample, kind = sample_and_kind(y_true, y_prob, options, kind=kind, keep_logits=True)
        rule = _rule(bins, sample.y.size if sample.w is None else float(sample.w.sum()))
        found = _binned_rows(sample, kind, rule, moments)
    _warn_about(found, rule.asked)
    return found


def as_sums(
    y_true: ArrayLike | Tally | Binned | Sketch,
    y_prob: ArrayLike | None,
    bins: BinRule | BySize,
    options: RowOptions,
    *,
    few: float,
    kind: Kind = "classwise",
) -> tuple[Tally | Binned, BinRule]:
    """The sums per distinct score of up to `few` rows, and those per bin of more; and the rule of the bins.

    More rows than `few`, without weights and in bins of fixed edges, are never sorted. Bins may be passed unless `few`
    is infinite.
    """
    if isinstance(y_true, Tally | Binned | Sketch):
        rule = _rule(bins, y_true.weight)
        if few == np.inf or (isinstance(y_true, Tally | Sketch) and y_true.weight <= few):
            return as_tally(y_true, y_prob, options, rule=rule), rule
        return as_binned(y_true, y_prob, rule, options, moments=True), rule
    sample, kind = sample_and_kind(y_true, y_prob, options, kind=kind, keep_logits=True)
    n = sample.y.size if sample.w is None else float(sample.w.sum())
    rule = _rule(bins, n)
    if n > few and sample.w is None:
        found: Tally | Binned = _binned_rows(sample, kind, rule, True)
    else:
        found = tally_of(sample, kind, rule)
        found = found if n <= few else found.coarsen(rule)
    _warn_about(found, rule.asked)
    return found, rule


def _rule(bins: BinsLike | BySize, weight: float) -> BinRule:
    return bins.rule(weight) if isinstance(bins, BySize) else as_rule(bins)


def _binned_rows(sample: Sample, kind: Kind, rule: BinRule, moments: bool) -> Binned:
    if sample.p.ndim == 1:
        return Binned("binary", (bins_of_rows(sample, rule, moments=moments),))
    if kind == "classwise":
        return Binned(kind, class_bins(sample, rule, moments=moments), sample.classes)
    warn_one_class(sample)
    parts = parts_of(sample, kind, lambda part: bins_of_rows(part, rule, moments=moments), _no_bins)
    return Binned(kind, parts, sample.classes)


def _no_bins() -> Bins:
    return Bins.empty(np.array([0.0, 1.0]))


def as_tally(
    y_true: ArrayLike | Tally | Sketch,
    y_prob: ArrayLike | None,
    options: RowOptions,
    *,
    rule: BinRule | None = None,
    kind: Kind = "classwise",
) -> Tally:
    """The sums per distinct score of whatever was passed, with the warnings that every measure gives.

    Of a sketch, all rows of a cell have the mean score of the cell.
    """
    if isinstance(y_true, Binned):
        raise InputError(
            "This measure needs every distinct score; bins have lost them. Pass a Tally, or labels and scores."
        )
    if isinstance(y_true, Sketch):
        _refuse_rows(y_true, y_prob, options)
        if rule is not None:
            served(rule)
        found = y_true.pooled()
    elif isinstance(y_true, Tally):
        _refuse_rows(y_true, y_prob, options)
        found = y_true
        if isinstance(rule, BlockIsotonic) and rule.ties == "split":
            found.coarsen(rule)  # raises: a tally has no order of rows
    else:
        found = tally_of(*sample_and_kind(y_true, y_prob, options, kind=kind, keep_logits=True), rule)
    _warn_about(found, 0 if rule is None else rule.asked)
    return found


def as_sample(y_true: ArrayLike, y_prob: ArrayLike | None, options: RowOptions, *, kind: Kind = "classwise") -> Sample:
    """The rows themselves, for what no sums per score can tell; no other view of them than `kind` may be asked for."""
    if isinstance(y_true, Tally | Binned | Sketch):
        raise InputError(
            f"This needs whole rows of scores; a {type(y_true).__name__} has none. Pass labels and scores."
        )
    sample, asked = sample_and_kind(y_true, y_prob, options, kind=kind)
    if asked != kind:
        raise InputError("kind", f"must be {kind!r} here, or be left out", f"got {asked!r}")
    warn_one_class(sample)
    return sample


def tally_of(sample: Sample, kind: Kind, rule: BinRule | None = None, *, piece: bool = False) -> Tally:
    """Sum the rows of each distinct score, one part per problem that `kind` makes of them.

    Of a piece of more rows it is no news that it holds one class.
    """
    split = isinstance(rule, BlockIsotonic) and rule.ties == "split"
    if sample.p.ndim == 1:
        return Tally("binary", (cells_of_rows(sample, split_ties=split),))
    if kind != "classwise" and not piece:
        warn_one_class(sample)
    parts = parts_of(sample, kind, lambda part: cells_of_rows(part, split_ties=split), Cells.empty)
    return Tally(kind, parts, sample.classes)


def sample_and_kind(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    options: RowOptions,
    *,
    kind: Kind = "classwise",
    allow_empty: bool = False,
    allow_none_left: bool = False,
    keep_logits: bool = False,
) -> tuple[Sample, Kind]:
    """The rows, and the view of a matrix: as asked for, else `kind`.

    A matrix of logits becomes one of probabilities, unless `keep_logits` says that only the functions of this file
    will look at it.
    """
    if y_prob is None:
        raise InputError("y_prob", "is missing: pass labels and scores, or a Tally in place of both")
    if not options:
        return plain_sample(y_true, y_prob) or read_sample(y_true, y_prob, allow_empty=allow_empty), kind
    _refuse_unknown(options)
    rest: dict[str, Any] = dict(options)
    asked = check_kind(rest.pop("kind")) if "kind" in rest else None
    kind = asked or kind
    sample = read_sample(y_true, y_prob, allow_empty=allow_empty, allow_none_left=allow_none_left, **rest)
    if asked not in (None, "classwise") and sample.p.ndim == 1:
        raise InputError(
            "",
            f"`kind={kind!r}` needs a matrix of scores, one column per class",
            "`y_prob` is a vector",
            remedy=Remedy("column-stack", "`np.column_stack([1 - y_prob, y_prob])` makes one."),
        )
    if sample.logits and not keep_logits:
        sample = with_probabilities(sample)
    if sample.dropped:
        total = sample.dropped + sample.y.size
        warn(f"{sample.dropped:,} of {total:,} rows miss a value and were dropped.", DroppedRowsWarning)
    return sample, kind


def _refuse_unknown(options: RowOptions) -> None:
    unknown = options.keys() - _OPTIONS.keys()
    if unknown:
        raise TypeError(
            f"unexpected keyword argument {sorted(unknown)[0]!r}; the rows are described by {', '.join(_OPTIONS)}"
        )


def _refuse_rows(given: Tally | Binned | Sketch, y_prob: ArrayLike | None, options: RowOptions) -> None:
    what = type(given).__name__
    _refuse_unknown(options)
    if y_prob is not None:
        raise InputError("y_prob", f"must be left out when a {what} is passed: it holds labels and scores")
    kind = check_kind(options["kind"]) if "kind" in options else given.kind
    if kind != given.kind and (given.kind, kind) != ("binary", "classwise"):
        raise InputError("kind", f"is {kind!r}, but this {what} was made with kind={given.kind!r}")
    described = {k: v for k, v in options.items() if k != "kind" and not _is_default(k, v)}
    if described:
        raise InputError(f"`{next(iter(described))}` describes rows; this {what} already holds their sums.")
    if given.n == 0:
        raise InputError(f"An empty {what} has no calibration error; add rows to it first.")


def _is_default(name: str, value: Any) -> bool:
    return value is None or (isinstance(value, str | bool | float | int) and value == _OPTIONS[name])


def _warn_about(found: Tally | Binned, asked: int) -> None:
    if found.one_class:
        _say_one_class(found.n)
    if asked > found.n:
        warn(f"There are fewer rows ({found.n:,}) than bins ({asked:,}).", FewRowsWarning)


def warn_one_class(sample: Sample) -> None:
    """Say so if every label is the same."""
    if sample.y.size and bool((sample.y == sample.y[0]).all()):
        _say_one_class(sample.y.size)


def _say_one_class(n: int) -> None:
    what = f"All {n:,} labels are equal" if n > 1 else "There is one label"
    warn(f"{what}: the measure sees one class only.", OneClassWarning)


@takes_rows
def tally(y_true: ArrayLike, y_prob: ArrayLike, **rows: Unpack[RowOptions]) -> Tally:
    """Sum the rows of each distinct score.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels; no rows at all give the zero of addition.
    y_prob : array-like of shape (n,) or (n, K)
        Scores. For a matrix, `kind` says what is compared with what, and the tally
        holds one part per class ('classwise', 'top-label') or one ('confidence').
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    Tally
        Takes the place of labels and scores in every measure; tallies add.

    Examples
    --------
    >>> import trueness as tn
    >>> days = [tn.tally([0, 1], [0.25, 0.5]), tn.tally([1], [0.5])]
    >>> sum(days)
    Tally(binary, 3 rows, 2 distinct scores)
    """
    return tally_of(*sample_and_kind(y_true, y_prob, rows, allow_empty=True, keep_logits=True))


@takes_rows
def sketch(y_true: ArrayLike, y_prob: ArrayLike, **rows: Unpack[RowOptions]) -> Sketch:
    """Sum the rows of each cell of a fixed grid, in one pass and bounded memory, for any measure to come.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_prob : array-like of shape (n,) or (n, K)
        Scores.
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    Sketch
        Takes the place of labels and scores in every measure, which then gives an approximation;
        :func:`trueness.bounded` says how good a one. Sketches add.

    Examples
    --------
    >>> import trueness as tn
    >>> days = [tn.sketch([0, 1], [0.25, 0.5]), tn.sketch([1], [0.5])]
    >>> sum(days)
    Sketch(binary, 3 rows, 2 cells)
    >>> tn.bounded(tn.ece, sum(days), bins=2).error < 1e-9
    True
    """
    return sketch_of(*sample_and_kind(y_true, y_prob, rows, allow_empty=True, keep_logits=True))


def sketch_of(sample: Sample, kind: Kind, *, piece: bool = False) -> Sketch:
    """Sum the rows of each cell of the grid, one part per problem that `kind` makes of them; `piece` as above."""
    from trueness._tally.grid import grid_of_rows

    if sample.p.ndim == 1:
        return Sketch("binary", (grid_of_rows(sample),))
    if kind != "classwise" and not piece:
        warn_one_class(sample)
    return Sketch(kind, parts_of(sample, kind, grid_of_rows, GridCells.empty), sample.classes)


@takes_rows
def binned(y_true: ArrayLike, y_prob: ArrayLike, *, bins: BinsLike = 10, **rows: Unpack[RowOptions]) -> Binned:
    """Sum the rows of each bin, in one pass without sorting when the edges are fixed.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_prob : array-like of shape (n,) or (n, K)
        Scores.
    bins : int, sequence of edges or bin rule, default 10
        An int means that many bins of equal width on [0, 1].
    **rows
        As for :func:`trueness.ece`.

    Returns
    -------
    Binned
        Takes the place of labels and scores in measures of those bins; sums over the same edges add.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.binned([0, 1, 1], [0.25, 0.5, 1.0], bins=4)
    Binned(binary, 3 rows, 4 bins)
    """
    rule = as_rule(bins)
    may_be_empty = rule.fixed_edges is not None
    return binned_of(*sample_and_kind(y_true, y_prob, rows, allow_empty=may_be_empty, keep_logits=True), rule)


def binned_of(sample: Sample, kind: Kind, rule: BinRule) -> Binned:
    """Sum the rows of each bin, one part per problem that `kind` makes of them."""
    if sample.p.ndim == 1:
        return Binned("binary", (bins_of_rows(sample, rule, moments=True),))
    if kind == "classwise":
        return Binned(kind, class_bins(sample, rule, moments=True), sample.classes)
    edges = rule.fixed_edges
    empty = Tally(kind, (Cells.empty(),)).coarsen(rule).parts[0] if edges is not None else _no_bins()
    parts = parts_of(sample, kind, lambda part: bins_of_rows(part, rule, moments=True), lambda: empty)
    return Binned(kind, parts, sample.classes)
