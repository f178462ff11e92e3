"""The rows that a verb works on: columns, which of them is what, and what was said of their meaning."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.cli._columns import Choice, Model
from trueness.cli._messages import in_options
from trueness.errors import InputError
from trueness.sources._table import Columns
from trueness.typing import RowOptions

__all__ = ["IMPORTANCE", "Arguments", "Group", "Meaning", "Rows", "dropped_in_words"]


@dataclass(frozen=True)
class Meaning:
    """What the options say of labels and scores."""

    pos_label: str | None = None
    labels: tuple[str, ...] | None = None
    rows: RowOptions = field(default_factory=RowOptions)


@dataclass(frozen=True)
class Group:
    """Rows that share a value of a column; the whole has neither."""

    by: str | None = None
    value: Any = None

    def __str__(self) -> str:
        return "" if self.by is None else f"{self.by} = {self.value}"


@dataclass(frozen=True)
class Arguments:
    """Labels and scores of one model as the library takes them."""

    y_true: NDArray[Any]
    y_prob: NDArray[Any]
    rows: RowOptions
    remark: str | None = None
    """What was decided about the classes without being asked."""


@dataclass(frozen=True)
class Rows:
    """Columns with their meaning."""

    columns: Columns
    choice: Choice
    source: str
    meaning: Meaning = field(default_factory=Meaning)
    dropped: int = 0
    """How many rows were left out because they miss a value."""
    first: int = 0
    """The number of the first row, if these are a piece of a file."""
    kept: NDArray[np.int64] | None = None
    """The numbers of the rows within the piece, if these are some of them."""
    place: Callable[[int], str] = "row {:,}".format
    """Where a row of the source is, in words."""

    @property
    def label(self) -> NDArray[Any]:
        """What happened."""
        return self.columns.labels[self.choice.label]

    @property
    def said_dropped(self) -> tuple[str, ...]:
        """How many rows were left out, if any, in words."""
        return dropped_in_words(self.dropped, len(self.label) + self.dropped)

    @property
    def cluster(self) -> NDArray[Any] | None:
        """The cluster of each row, if there are clusters."""
        return None if self.choice.cluster is None else self.columns.groups[self.choice.cluster]

    @property
    def weight_type(self) -> str:
        """What weights mean: how often a row came or, where they are not whole numbers, how much it matters."""
        if self.choice.weight is None:
            return "frequency"
        w = self.columns.numbers[self.choice.weight]
        return "importance" if w.dtype.kind == "f" and bool((w != np.floor(w))[np.isfinite(w)].any()) else "frequency"

    def is_matrix(self, model: Model) -> bool:
        """Whether the model has a score for each class."""
        return len(model.columns) > 1 or self.columns.numbers[model.columns[0]].ndim == 2

    def checked(self, *, alike: bool = True) -> "Rows":
        """The rows, if there are any; without those that miss a value, where that was asked for."""
        n = len(self.label)
        if n == 0:
            raise InputError(f"{self.source} has no rows.")
        found = self.alike() if alike else self
        if self.meaning.rows.get("missing") == "drop":
            found = found.complete()
            if found.dropped == n:
                raise InputError(f"{self.source} must have at least one complete row; all {n:,} miss a value.")
            return found
        self.check_groups()
        return found

    def check_groups(self) -> None:
        """Refuse rows of which nobody knows the group."""
        for name, column in self.columns.groups.items():
            gone = int(_missing(column).sum())
            if gone:
                raise InputError(
                    f"{self.source}: column {name!r} must not have missing values; {gone:,} of {len(column):,} "
                    "are. `--missing drop` leaves such rows out."
                )

    def alike(self) -> "Rows":
        """The rows, if the scores of all models are vectors, or all are matrices."""
        vectors = [model.name for model in self.choice.models if not self.is_matrix(model)]
        matrices = [model.name for model in self.choice.models if self.is_matrix(model)]
        if vectors and matrices:
            raise InputError(
                f"{vectors[0]!r} is one column of scores and {matrices[0]!r} a matrix: measure them apart."
            )
        return self

    def complete(self) -> "Rows":
        """The rows that miss nothing that any model needs, so that all models are measured on the same rows."""
        every = self.columns.arrays()
        if len({len(column) for column in every}) > 1:
            return self  # an error, which the first measure says
        kept = ~np.logical_or.reduce([_missing(column) for column in every])
        return replace(self.some(kept), dropped=int((~kept).sum()))

    def some(self, chosen: NDArray[np.bool_]) -> "Rows":
        """Some of the rows, with the numbers that they have in the file."""
        at = np.flatnonzero(chosen)
        return replace(self, columns=self.columns.at(at), kept=at if self.kept is None else self.kept[at])

    def groups(self) -> list[tuple[Group, "Rows"]]:
        """All rows, or those of each group of each column that `--by` names, in the order of their values.

        Rows that were dropped are those of the whole: some may miss the very value that names their group.
        """
        if not self.choice.by:
            return [(Group(), self)]
        meaning = replace(self.meaning, **self._classes())
        found = []
        for by in self.choice.by:
            column = self.columns.groups[by]
            for value in _ordered(column):
                part = self.some(np.asarray(column == value))
                found.append((Group(by, value), replace(part, meaning=meaning, dropped=0)))
        return found

    def _classes(self) -> dict[str, Any]:
        """The classes of all rows, said explicitly: a group may lack some of them."""
        if self.meaning.labels is not None or self.label.ndim != 1:
            return {}
        found = sorted({str(v) for v in self.label.tolist() if v is not None and v == v})
        if self.meaning.pos_label is not None:
            event = str(_like(self.label, self.meaning.pos_label))
            others = [name for name in found if name != event]
            return {"labels": (*others, event), "pos_label": None} if len(others) == 1 else {}
        unnamed = any(self.is_matrix(model) and model.classes is None for model in self.choice.models)
        return {"labels": tuple(found)} if unnamed and self.label.dtype.kind in "OU" else {}

    def arguments(self, model: Model) -> Arguments:
        """What to pass to the library for one model."""
        numbers, meaning = self.columns.numbers, self.meaning
        rows: RowOptions = {**meaning.rows}
        if self.choice.weight is not None:
            rows["sample_weight"] = numbers[self.choice.weight]
        if not self.is_matrix(model):
            if meaning.pos_label is not None:
                rows["pos_label"] = _like(self.label, meaning.pos_label)
            if meaning.labels is not None:
                rows["labels"] = [_like(self.label, name) for name in meaning.labels]
            return Arguments(self.label, numbers[model.columns[0]], rows)
        scores = [numbers[name] for name in model.columns]
        if meaning.pos_label is not None:
            rows["pos_label"] = meaning.pos_label
        order, remark = _class_order(self.label, model, meaning.labels)
        if order is not None:
            rows["labels"] = order
        return Arguments(self.label, scores[0] if len(scores) == 1 else np.column_stack(scores), rows, remark)

    @contextmanager
    def about(self, *models: Model, group: Group | None = None) -> Iterator[None]:
        """Let errors of the library speak of the file, its columns and the options."""
        try:
            yield
        except InputError as reason:
            named = [f"column {m.name!r}" if len(m.columns) == 1 else f"scores {m.name!r}" for m in models]
            arguments = {
                "y_true": f"column {self.choice.label!r}",
                "y_prob": " and ".join(named),
                "sample_weight": f"column {self.choice.weight!r}",
                "cluster": f"column {self.choice.cluster!r}",
            }
            where = f", {group}" if group is not None and group.by is not None else ""
            said = in_options(str(reason), arguments)
            said = re.sub(r"\brow ([\d,]+\d|\d)", self._placed, said)
            raise InputError(f"{self.source}{where}: {said}") from reason

    def _placed(self, found: re.Match[str]) -> str:
        """A row of these as a row of the file."""
        row = int(found[1].replace(",", ""))
        if self.kept is not None:
            row = int(self.kept[row])
        return self.place(row + self.first)


IMPORTANCE = "Weights are not whole numbers: they are taken to say how much a row matters, not how often it came."


def dropped_in_words(dropped: int, rows: int) -> tuple[str, ...]:
    """How many of the rows were left out, if any."""
    return (f"{dropped:,} of {rows:,} rows miss a value and were dropped.",) if dropped else ()


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind not in "fO":
        return np.zeros(len(column), dtype=bool)
    gaps = np.asarray(column != column) if column.dtype.kind == "f" else np.asarray(column == None)  # noqa: E711  # by entry
    return np.asarray(gaps.any(axis=1) if gaps.ndim == 2 else gaps)


def _ordered(column: NDArray[Any]) -> list[Any]:
    """By value, also where numbers are kept as text; the inner order decides where floats cannot."""
    values = set(column.tolist())
    try:
        return sorted(sorted(values), key=float)
    except (TypeError, ValueError):
        return sorted(values, key=str)


def _like(labels: NDArray[Any], text: str) -> Any:
    """A label from the command line in the type that the labels have."""
    kind = labels.dtype.kind
    if kind == "O":
        first = next((v for v in labels if v is not None and v == v), "")
        kind = np.asarray(first).dtype.kind
    if kind == "b":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if kind not in "iuf":
        return text
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def _class_order(labels: NDArray[Any], model: Model, said: Sequence[str] | None) -> tuple[list[Any] | None, str | None]:
    """The classes in column order, where options or names tell, and what to say about it."""
    if said is not None:
        return [_like(labels, name) for name in said], None
    found = {v for v in set(labels.tolist()) if v is not None and v == v} if labels.ndim == 1 else set()
    text = any(isinstance(v, str) for v in found)
    if model.classes is None:
        shown = ", ".join(map(str, sorted(found, key=str)[:12]))
        return None, f"Columns of {model.name!r} are taken to be the labels in sorted order: {shown}." if text else None
    if text:
        for names in (model.classes, model.columns):
            if found <= set(names):
                return list(names), None
        shown = ", ".join(map(repr, model.classes[:6]))
        raise InputError(
            f"Labels of `y_true` are not the names of the score columns ({shown}); "
            "`labels=` must name the classes in the order of the columns."
        )
    numbers = [int(part) for part in model.classes] if all(part.isdecimal() for part in model.classes) else []
    if not model.starred or not numbers or not found <= set(numbers) or numbers == list(range(len(numbers))):
        return None, None
    shown = ", ".join(map(str, numbers[:12]))
    return list(numbers), f"Classes are taken from the names of the columns: {shown}."
