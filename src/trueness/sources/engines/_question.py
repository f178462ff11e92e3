"""The arguments of a scan: which columns, which view of them, and how to treat missing values."""

from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from trueness._input.arguments import checked_word
from trueness._input.labels import check_pos_label, checked_order, two_classes
from trueness._input.scores import row_sum_tolerance
from trueness._tally.buckets import check_buckets, refuse_several, refuse_unused
from trueness._tally.multiclass import View, check_kind
from trueness._tally.rules import BinRule, BinsLike, Distinct, as_rule
from trueness.errors import InputError
from trueness.typing import Kind, Missing

Rule: TypeAlias = BinRule | Literal["sketch"]
_MOST_GROUP_BINS = 1 << 26  # 80 bytes each


class Question(NamedTuple):
    """The arguments of a scan, checked as far as possible without the source."""

    label: str
    scores: tuple[str, ...]
    weight: str | None
    by: tuple[str, ...]
    view: View
    labels: tuple[Any, ...] | None
    pos_label: Any
    missing: Missing
    tolerance: float
    cluster: str | None = None
    buckets: int = 0

    @property
    def binary(self) -> bool:
        return self.view == "binary"

    @property
    def split(self) -> bool:
        """Whether there is a part per class."""
        return self.view in ("classwise", "top-label")

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The names of the columns for each part of the question; empty where it has none."""
        weight = () if self.weight is None else (self.weight,)
        cluster = () if self.cluster is None else (self.cluster,)
        return {
            "label": (self.label,),
            "prob": self.scores,
            "by": self.by,
            "cluster": cluster,
            "weight": weight,
        }

    @property
    def named(self) -> list[tuple[str, str]]:
        """Each column, after the argument that names it."""
        return [(argument, name) for argument, names in self.columns.items() for name in names]


def check_question(
    *,
    label: Any,
    prob: Any,
    weight: Any,
    by: Any,
    kind: Kind | None,
    labels: Sequence[Any] | None,
    pos_label: Any,
    missing: Missing,
    sum_tolerance: float | None,
    cluster: Any = None,
    buckets: Any = 64,
) -> Question:
    """The question that the arguments of a scan ask.

    `prob` is one column for one event, or a column for each class. Arguments that do not fit
    together are refused.
    """
    checked_word(missing, "missing", ("raise", "drop"))
    binary = isinstance(prob, str)
    scores = (prob,) if binary else _names(prob, "prob")
    view = _checked_view(kind, scores, binary=binary)
    if binary and sum_tolerance is not None:
        demand = "is only for several columns of scores"
        raise InputError("sum_tolerance", demand, "`prob` is one")
    if not binary and pos_label is not None:
        demand = "is only for one column of scores"
        raise InputError("pos_label", demand, "`prob` names several, so use `labels=`")
    if pos_label is not None:
        check_pos_label(pos_label)
    bucket_count = _checked_buckets(buckets, view, has_clusters=cluster is not None)
    return Question(
        label=_name(label, "label"),
        scores=scores,
        weight=None if weight is None else _name(weight, "weight"),
        by=_columns_of_groups(by),
        view=view,
        labels=None if labels is None else _class_order(labels, len(scores), pos_label),
        pos_label=pos_label,
        missing=missing,
        # Engines have no 16-bit floats, which are allowed more.
        tolerance=row_sum_tolerance(np.dtype(np.float64), sum_tolerance),
        cluster=None if cluster is None else _name(cluster, "cluster"),
        buckets=bucket_count,
    )


def _checked_buckets(buckets: Any, view: View, *, has_clusters: bool) -> int:
    """The number of buckets of clusters; 0 without clusters."""
    if not has_clusters:
        refuse_unused(buckets)
        return 0
    refuse_several(view)
    check_buckets(buckets)
    return int(buckets)


def _checked_view(kind: Kind | None, scores: tuple[str, ...], *, binary: bool) -> View:
    """How the scores are read: 'binary' for one column, else the view of all classes.

    A single column in a list, `kind='multilabel'`, and the view of a matrix with one column are
    errors.
    """
    if not binary and len(scores) < 2:
        demand = "as a list needs a column per class, at least 2"
        raise InputError("prob", demand, f"got {list(scores)!r}")
    view: View = check_kind("classwise" if kind is None else kind)
    if kind == "multilabel":
        demand = "must not be 'multilabel' here, where there is one column of labels"
        remedy = (
            "Scan one label at a time; `trueness.ece` and the other measures take columns of "
            "labels."
        )
        raise InputError("kind", demand, remedy=remedy)
    if not binary:
        return view
    if kind not in (None, "classwise"):
        needs = "needs a list of columns as `prob`, one per class; it is one column"
        raise InputError("", f"`kind={kind!r}` {needs}")
    return "binary"


def _columns_of_groups(by: Any) -> tuple[str, ...]:
    if by is None:
        return ()
    if isinstance(by, str):
        return (by,)
    return _names(by, "by")


def check_bins(bins: BinsLike | Literal["sketch"] | None) -> Rule:
    """The bin rule: 'sketch' stays as it is, and None stands for a bin for each distinct score."""
    if not isinstance(bins, str):
        if bins is None:
            return Distinct()
        return as_rule(bins)
    if bins != "sketch":
        demand = "must be a whole number ≥ 1, a sequence of edges, a bin rule, 'sketch' or None"
        raise InputError("bins", demand, f"got {bins!r}")
    return "sketch"


def check_group_bins(rule: Rule, parts: int, groups: int) -> None:
    """Raise if the bins of all groups are too many to store."""
    edges = None if isinstance(rule, str) else rule.fixed_edges
    if edges is None or (edges.size - 1) * parts * groups <= _MOST_GROUP_BINS:
        return
    most_bins = _MOST_GROUP_BINS // (parts * groups)
    total = f"{_MOST_GROUP_BINS:,} for all of them"
    if most_bins == 0:
        raise InputError(
            "by", f"must have at most {_MOST_GROUP_BINS // parts:,} groups", f"it has {groups:,}"
        )
    raise InputError(
        "bins",
        f"must be at most {most_bins:,} with {groups:,} groups, {total}",
        f"got {edges.size - 1:,}",
    )


def _name(value: Any, argument: str) -> str:
    if not isinstance(value, str):
        raise InputError(argument, "must be the name of a column", f"got {value!r}")
    return value


def _names(value: Any, argument: str) -> tuple[str, ...]:
    if isinstance(value, Sequence) and value and all(isinstance(name, str) for name in value):
        if len(set(value)) == len(value):
            return tuple(value)
        raise InputError(argument, "must name each column once", f"got {list(value)!r}")
    raise InputError(argument, "must be the name of a column or a list of names", f"got {value!r}")


def _class_order(labels: Any, n_scores: int, pos_label: Any) -> tuple[Any, ...]:
    """The labels in the order of the columns of scores; of one column, the other label first."""
    if n_scores == 1:
        return tuple(two_classes(labels, pos_label))
    order = checked_order(labels)
    if len(order) != n_scores:
        raise InputError(
            "labels", f"must name the {n_scores} `prob` columns in order", f"got {list(labels)!r}"
        )
    return tuple(order)


def column_error(argument: str, column: str, demand: str, got: str, remedy: str = "") -> InputError:
    return InputError("", f"`{argument}` column {column!r} {demand}", got, remedy=remedy)


def absent_column(argument: str, which: str, names: Collection[str]) -> InputError:
    columns = ", ".join(map(repr, list(names)[:8])) + (", …" if len(names) > 8 else "")
    return InputError(argument, f"names no column {which}", f"the columns are {columns}")


def refuse_repeated(names: Sequence[Any], question: Question, where: str) -> None:
    """Refuse a column whose name stands twice: readers would silently take the first."""
    for argument, name in question.named:
        if names.count(name) > 1:
            got = f"{where} has {names.count(name)} columns named {name!r}"
            raise InputError(argument, "must name one column", got)
