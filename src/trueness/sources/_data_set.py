"""The rows of one or several models: labels, scores by name, weights, groups and clusters."""

from __future__ import annotations  # the types of arrays, which help does not need

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, TypeVar

from trueness.errors import InputError, Place
from trueness.sources._class_order import ClassOrder, class_order
from trueness.sources._columns import (
    Columns,
    as_fractions,
    as_label,
    missing_rows,
    seen_values,
    side_by_side,
    sort_values,
)
from trueness.sources._request import Group, Model, Request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trueness.sources._statements import Statements
    from trueness.sources.tables._table import Table
    from trueness.typing import ArrayLike, RowOptions

Answer = TypeVar("Answer")
_UNREAD = Columns({}, {})
_ALL_ROWS = Group()


@dataclass(frozen=True)
class DataSet:
    """The rows that a request is about.

    `models` says which columns are whose; a part of a data set has fewer models, fewer rows, or
    both.
    """

    request: Request
    """Complete: every column is named that is read."""
    origin: Table
    models: tuple[Model, ...]
    statements: Statements | None = None
    """Intervals, quantiles or risks in place of labels and scores."""
    columns: Columns = _UNREAD
    """No columns before they are read."""
    group: Group = _ALL_ROWS
    """The group that these rows are, of all."""
    dropped: int = 0
    first: int = 0
    """The number of the first row in the file, for a piece of it."""
    kept: NDArray[np.int64] | None = None
    """The numbers of the rows within the piece, for a selection."""

    def __len__(self) -> int:
        return len(self.label)

    # What is read, and how it is called.

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of labels: one, or one per label."""
        label = str(self.request.label)
        return tuple(dict.fromkeys(model.label or label for model in self.models))

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns whose values are only compared."""
        request = self.request
        names = [*request.by, request.cluster, request.grades]
        if request.model_column is not None:
            names += [request.model_column, request.pair]
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def number_columns(self) -> tuple[str, ...]:
        names = [column for model in self.models for column in model.columns]
        if self.statements is not None:
            names += self.statements.numbers
        if self.request.weight is not None:
            names.append(self.request.weight)
        return tuple(dict.fromkeys(names))

    @property
    def source(self) -> str:
        return self.origin.name

    @property
    def sentence(self) -> str:
        """The source and its columns, as a note below a table describes them."""
        request = self.request
        if self.statements is not None:
            outcomes = "events" if self.statements.followup else "outcomes"
            return f"Data: {self.source}, {outcomes} {request.label!r}."
        words = [f"Data: {self.source}"]
        if self.models[0].label is None:  # else each model has labels of its own
            words.append(f"labels {request.label!r}")
        if request.weight is not None:
            words.append(f"weights {request.weight!r}")
        if request.cluster is not None:
            words.append(f"clusters {request.cluster!r}")
        if request.model_column is not None:
            words.append(f"models {request.model_column!r}")
        if request.by and len(self.models) == 1:
            words.append(f"scores {self.models[0].name!r}")
        return f"{', '.join(words)}."

    @property
    def entry(self) -> dict[str, object]:
        """The source and its columns, as JSON describes them."""
        request = self.request
        has_own_labels = len(self.label_columns) > 1 and request.label in self.label_columns
        return {
            "source": self.source,
            "label": list(self.label_columns) if has_own_labels else request.label,
            "weight": request.weight,
            "cluster": request.cluster,
            "by": list(request.by),
        }

    def read(self) -> DataSet:
        """The same with its columns."""
        labels = [str(self.request.label), *self.label_columns]
        if self.request.judge is not None:
            labels.append(self.request.judge)
        columns = self.origin.read(
            tuple(dict.fromkeys(labels)), self.number_columns, self.group_columns
        )
        return replace(self, columns=columns)

    def pieces(self, groups: tuple[str, ...] = ()) -> Iterator[tuple[DataSet, int]]:
        """The rows in pieces, with the bytes read so far."""
        first = 0
        batches = self.origin.batches(self.label_columns, self.number_columns, groups)
        for columns, n_bytes in batches:
            piece = replace(self, columns=columns, first=first)
            first += len(piece)
            yield piece, n_bytes

    # The columns of all models.

    @property
    def label(self) -> NDArray[Any]:
        return self.columns.labels[str(self.request.label)]

    @property
    def cluster(self) -> NDArray[Any] | None:
        return self._group_column(self.request.cluster)

    @property
    def grades(self) -> NDArray[Any] | None:
        return self._group_column(self.request.grades)

    @property
    def judge(self) -> NDArray[Any]:
        return self.columns.labels[str(self.request.judge)]

    @property
    def by(self) -> dict[str, NDArray[Any]]:
        """The columns of groups, by name."""
        return {name: self.columns.groups[name] for name in self.request.by}

    def _group_column(self, name: str | None) -> NDArray[Any] | None:
        return None if name is None else self.columns.groups[name]

    @property
    def weight_type(self) -> str:
        """What weights mean: counts of rows or, if they are not whole numbers, importance."""
        if self.request.weight is None:
            return "frequency"
        if self.request.weight_type != "auto":
            return self.request.weight_type
        w = self.columns.numbers[self.request.weight]
        whole = w.round() if w.dtype.kind == "f" else w
        if ((w < whole) | (w > whole)).any():  # nan is neither
            return "importance"
        return "frequency"

    def digest(self) -> str:
        """The digest of all columns: labels, scores, weights, clusters and groups."""
        from trueness._input.digest import rows_digest

        columns = self.columns
        return rows_digest({**columns.groups, **columns.numbers, **columns.labels})

    # What the library takes.

    @property
    def model(self) -> Model:
        """The only model."""
        (model,) = self.models
        return model

    @property
    def y_true(self) -> ArrayLike:
        """Labels, or Events in their place; by model, if models have their own.

        Several labels of each row are a matrix.
        """
        if len(self.models) == 1:
            return self._labels_of(self.models[0])
        if self.request.multilabel:
            return side_by_side([self._labels_of(model) for model in self.models])
        if self.statements is None and self.models[0].label is None:
            return self.label
        return {model.name: self._labels_of(model) for model in self.models}

    @property
    def y_prob(self) -> ArrayLike:
        """Scores; of several models by name, of several labels a matrix. None beside Events."""
        scores = self.scores
        if len(scores) == 1:
            return scores[self.models[0].name]
        if self.request.multilabel:
            return side_by_side(list(scores.values()))
        return scores

    @property
    def scores(self) -> dict[str, Any]:
        """The scores of each model, by name; None beside Events."""
        if self.statements is not None:
            return dict.fromkeys(model.name for model in self.models)
        scores = {}
        for model in self.models:
            columns = [self.columns.numbers[name] for name in model.columns]
            fractions = [as_fractions(column, self.request.percent) for column in columns]
            scores[model.name] = side_by_side(fractions)
        return scores

    @property
    def options(self) -> RowOptions:
        """The options of rows; models must agree about the order of the classes."""
        if self.statements is not None:
            return {}
        request = self.request
        options: RowOptions = {
            "missing": request.missing,
            "clip_tolerance": request.clip_tolerance,
            "sum_tolerance": request.sum_tolerance,
            "from_logits": request.from_logits,
        }
        if request.weight is not None:
            options["sample_weight"] = self.columns.numbers[request.weight]
            options["weight_type"] = request.weight_type
        first = self.models[0]
        label = self._labels_of(first)
        if request.pos_label is not None:
            is_matrix = self.is_matrix(first)
            event = request.pos_label if is_matrix else as_label(label, request.pos_label)
            options["pos_label"] = event
        classes = self.order.classes
        if classes is not None:
            options["labels"] = classes
        if request.multilabel and len(self.models) > 1:
            options["kind"] = "multilabel"
            options["labels"] = [model.name for model in self.models]
        return options

    @cached_property
    def order(self) -> ClassOrder:
        """The classes in the order of the columns, if that is known."""
        first, *others = [self._order_of(model) for model in self.models]
        if any(other.classes != first.classes for other in others) and not self.request.multilabel:
            raise InputError("", "All models must have their columns in the same order of classes")
        return first

    def ask(self, function: Callable[..., Answer], **options: object) -> Answer:
        """What a function of the library answers about these rows."""
        return function(self.y_true, self.y_prob, **self.options, **options)

    def _labels_of(self, model: Model) -> ArrayLike:
        if self.statements is not None:
            return self.statements.make(model.name, self.columns.numbers)
        return self.columns.labels[model.label or str(self.request.label)]

    def _order_of(self, model: Model) -> ClassOrder:
        """The classes in the order of the columns of a model's scores.

        Stated by the request, or else by the names of the columns of a matrix; empty in all other
        cases.
        """
        if self.statements is not None:
            return ClassOrder()
        labels = self._labels_of(model)
        if self.request.labels is not None:
            return ClassOrder([as_label(labels, name) for name in self.request.labels])
        if self.is_matrix(model):
            return class_order(labels, model)
        return ClassOrder()

    def is_matrix(self, model: Model | None = None) -> bool:
        """Whether a model, by default the first, has a column of scores for each class."""
        columns = (model or self.models[0]).columns
        return len(columns) > 1 or self.columns.numbers[columns[0]].ndim == 2

    # Parts.

    def select(self, chosen: NDArray[np.bool_]) -> DataSet:
        """The chosen rows, with the numbers that they have in the file."""
        place = chosen.nonzero()[0]
        kept = place if self.kept is None else self.kept[place]
        return replace(self, columns=self.columns.at(place), kept=kept)

    def whole(self) -> DataSet:
        """The same rows without groups."""
        return replace(self, request=replace(self.request, by=()))

    def by_model(self) -> list[DataSet]:
        """Each model and its rows: all or, in a long table, its own; a group may have none."""
        import numpy as np

        if self.request.model_column is None:
            return [replace(self, models=(model,)) for model in self.models]
        column = self.columns.groups[self.request.model_column].tolist()
        names = np.array(list(map(str, column)), dtype=object)
        parts = []
        for model in self.models:
            part = replace(self.select(names == model.name), models=(model,))
            if len(part) or not self.request.by:
                parts.append(part)
        return parts

    def groups(self) -> list[DataSet]:
        """All rows, or those of each group of each column that `--by` names, ordered by value.

        Dropped rows are counted over all groups: the missing value may be the group itself.
        """
        import numpy as np

        if not self.request.by:
            return [self]
        request = self._with_classes()
        parts = []
        for by, values in self.by.items():
            column = values.tolist()
            numbered = {value: i for i, value in enumerate(sort_values(set(column)))}
            # Codes, since NumPy drops a null at the end: an array compared with "a\0" compares
            # with "a".
            code = np.array([numbered[value] for value in column])
            for value, i in numbered.items():
                part = self.select(code == i)
                parts.append(replace(part, request=request, group=Group(by, value), dropped=0))
        return parts

    def parts(self) -> list[DataSet]:
        """The rows of each model in each group."""
        return [part for group in self.groups() for part in group.by_model()]

    def _with_classes(self) -> Request:
        """The request with the classes of all rows: a group may lack some of them."""
        request = self.request
        if request.labels is not None or self.label.ndim != 1:
            return request
        seen = sorted({str(value) for value in seen_values(self.label)})
        if request.pos_label is not None:
            event = str(as_label(self.label, request.pos_label))
            rest = [name for name in seen if name != event]
            if len(rest) == 1:
                return replace(request, labels=(*rest, event), pos_label=None)
            return request
        unnamed = any(self.is_matrix(model) and model.classes is None for model in self.models)
        if unnamed and self.label.dtype.kind in "OU":
            return replace(request, labels=tuple(seen))
        return request

    # Checks.

    def validate(self, *, alike: bool = True, gaps: bool = False) -> DataSet:
        """The complete rows, which must exist.

        With `gaps`, columns that `--by` names may have missing values.
        """
        require_rows(self.source, len(self))
        if alike:
            self.check_shapes()
        complete = self.complete(gaps=gaps)
        require_rows(self.source, len(self), len(complete))
        complete.check_groups(gaps=gaps)
        return complete

    def check_shapes(self) -> None:
        """Raise if one model has a column of scores and another a matrix."""
        names = {self.is_matrix(model): model.name for model in self.models[::-1]}
        if len(names) > 1:
            raise InputError(
                "",
                f"{names[False]!r} is one column of scores and {names[True]!r} a matrix: "
                "measure them apart",
            )

    def check_groups(self, *, gaps: bool = False) -> None:
        """Raise for missing values in columns of groups; with `gaps`, `--by` may have them."""
        for name, column in self.columns.groups.items():
            if gaps and name in self.request.by:
                continue
            gone = int(missing_rows(column).sum())
            if gone:
                demand = f"column {name!r} must not have missing values"
                got = f"{gone:,} of {len(column):,} are"
                remedy = "`--missing drop` leaves such rows out."
                raise InputError("", demand, got, remedy=remedy, context=self.source)

    def complete(self, *, gaps: bool = False) -> DataSet:
        """All rows, or with ``--missing drop`` those that are complete for every model."""
        if self.request.missing != "drop":
            return self
        exempt = set[int]()
        if gaps:
            exempt.update(id(column) for column in self.by.values())
        if self.request.judge:  # no human looked at every row
            exempt.add(id(self.label))
        checked = [column for column in self.columns.arrays() if id(column) not in exempt]
        if len(set(map(len, checked))) > 1:  # an error, which the first measure reports
            return self
        kept = ~reduce(or_, map(missing_rows, checked))
        return replace(self.select(kept), dropped=int((~kept).sum()))

    # The words of messages for these rows.

    @property
    def title(self) -> str:
        """The models and the group."""
        return self.group.name(" and ".join(model.name for model in self.models))

    @property
    def context(self) -> str:
        """The source, and which part of it."""
        parts = [self.source, str(self.group)]
        if self.request.model_column is not None and len(self.models) == 1:
            parts.append(f"model {self.models[0].name!r}")
        return ", ".join(filter(None, parts))

    @property
    def arguments(self) -> dict[str, str]:
        """The columns by the names of the library's arguments."""
        request = self.request
        label = str(request.label)
        single = self.models[0] if len(self.models) == 1 else None
        columns: dict[str, str | None] = {
            "y_true": (single and single.label) or label,
            "sample_weight": request.weight,
            "y_human": label,
            "cluster": request.cluster,
            "grades": request.grades,
            "judge": request.judge,
        }
        # Nobody typed the labels of the models of a long table that was put side by side.
        is_typed = label in self.label_columns
        for model in self.models:
            columns[f"Model {model.name!r}: y_true"] = (is_typed and model.label) or label
        if self.statements is not None:
            columns |= self.statements.arguments(self.models[0].name)
        arguments = {name: f"column {column!r}" for name, column in columns.items()}
        scores = " and ".join(model.in_words for model in self.models)
        if request.model_column is not None and single is not None:
            scores = f"column {single.columns[0]!r}"
        return {**arguments, "y_prob": scores}

    def place(self, place: Place) -> str:
        """A row of these, as the file counts it."""
        row = place.row if self.kept is None else int(self.kept[place.row])
        where = self.origin.place(row + self.first)
        if place.column is None:
            return where
        return f"{where}, column {place.column}"


def require_rows(source: str, rows: int, complete: int | None = None) -> None:
    """Raise unless `source` has rows, and at least one without missing values."""
    if rows == 0:
        raise InputError("", f"{source} has no rows")
    if complete == 0:
        raise InputError(
            "",
            f"{source} must have at least one complete row",
            f"all {rows:,} have a missing value",
        )
