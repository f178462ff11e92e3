"""From the options of a command to rows: open the files, choose the columns, pass them to the library."""

from __future__ import annotations  # the types of arrays, which help does not need

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, TypeVar

import trueness as tn
from trueness._progress import progress_bar
from trueness.cli._columns import (
    LOG_FIELDS,
    Choice,
    Group,
    Model,
    Request,
    choose,
    columns_of_answers,
    paired,
)
from trueness.cli._printing import note, reword_messages, warning, wording
from trueness.errors import InputError, Place, dropped_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trueness.sources._table import Columns, Table
    from trueness.typing import RowOptions

_IMPORTANCE = (
    "Weights are not whole numbers: they are taken as importance weights, not as counts of rows."
)
_LARGE = 256 * 1000 * 1000
_MOST_MODELS = 50
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?(?<=[\d.])", re.ASCII)
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Arguments:
    """Labels and scores of one model as the library takes them."""

    y_true: NDArray[Any]
    y_prob: Any
    """Scores; None beside Events in place of labels."""
    rows: RowOptions
    remark: str | None = None
    """How the classes were inferred."""


@dataclass(frozen=True)
class Rows:
    columns: Columns
    choice: Choice
    origin: Table
    request: Request
    dropped: int = 0
    first: int = 0
    """The number of the first row in the file, for a piece of it."""
    kept: NDArray[np.int64] | None = None
    """The numbers of the rows within the piece, for a selection."""

    def __len__(self) -> int:
        return len(self.label)

    @property
    def source(self) -> str:
        return self.origin.name

    @property
    def label(self) -> NDArray[Any]:
        return self.columns.labels[self.choice.label]

    @property
    def cluster(self) -> NDArray[Any] | None:
        if self.choice.cluster is None:
            return None
        return self.columns.groups[self.choice.cluster]

    @property
    def weight_type(self) -> str:
        """What weights mean: counts of rows or, if they are not whole numbers, importance."""
        if self.choice.weight is None:
            return "frequency"
        if self.request.weight_type != "auto":
            return self.request.weight_type
        w = self.columns.numbers[self.choice.weight]
        whole = w.round() if w.dtype.kind == "f" else w
        return "importance" if ((w < whole) | (w > whole)).any() else "frequency"  # nan is neither

    def note_importance(self) -> None:
        """Say that weights were taken as importance weights because they are not whole numbers."""
        if self.request.weight_type == "auto" and self.weight_type == "importance":
            note(_IMPORTANCE)

    def is_matrix(self, model: Model) -> bool:
        return len(model.columns) > 1 or self.columns.numbers[model.columns[0]].ndim == 2

    def warn_of_dropped(self) -> None:
        warning(*dropped_message(self.dropped, len(self) + self.dropped))

    def validate(self, *, alike: bool = True, gaps: bool = False) -> Rows:
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

    def check_groups(self, *, gaps: bool = False) -> None:
        for name, column in self.columns.groups.items():
            gone = 0 if gaps and name in self.choice.by else int(missing_rows(column).sum())
            if gone:
                demand = f"column {name!r} must not have missing values"
                got = f"{gone:,} of {len(column):,} are"
                remedy = "`--missing drop` leaves such rows out."
                raise InputError("", demand, got, remedy=remedy, context=self.source)

    def check_shapes(self) -> None:
        names = {self.is_matrix(model): model.name for model in self.choice.models[::-1]}
        if len(names) > 1:
            both = f"{names[False]!r} is one column of scores and {names[True]!r} a matrix: measure them apart"
            raise InputError("", both)

    def complete(self, *, gaps: bool = False) -> Rows:
        """All rows, or with ``--missing drop`` those that are complete for every model."""
        free = [id(self.columns.groups[name]) for name in self.choice.by] if gaps else []
        free += [id(self.label)] if self.choice.judge else []  # no human looked
        every = [column for column in self.columns.arrays() if id(column) not in free]
        # An error, which the first measure reports.
        if self.request.missing != "drop" or len(set(map(len, every))) > 1:
            return self
        kept = ~reduce(or_, map(missing_rows, every))
        return replace(self.select(kept), dropped=int((~kept).sum()))

    def select(self, chosen: NDArray[np.bool_]) -> Rows:
        """Some of the rows, with the numbers that they have in the file."""
        at = chosen.nonzero()[0]
        return replace(
            self, columns=self.columns.at(at), kept=at if self.kept is None else self.kept[at]
        )

    def by_model(self) -> list[tuple[Model, Rows]]:
        """Each model and its rows: all or, in a long table, its own; a group may have none."""
        import numpy as np

        if not self.choice.long:
            return [(model, self) for model in self.choice.models]
        names = np.array(
            [str(name) for name in self.columns.groups[self.choice.long[0]].tolist()], dtype=object
        )
        parts = ((model, self.select(names == model.name)) for model in self.choice.models)
        return [(model, part) for model, part in parts if len(part) or not self.choice.by]

    def groups(self) -> list[tuple[Group, Rows]]:
        """All rows, or those of each group of each column that `--by` names, in the order of their values.

        Dropped rows are counted over all groups: in some, the missing value may be the group
        itself.
        """
        import numpy as np

        if not self.choice.by:
            return [(Group(), self)]
        request = replace(self.request, **self._classes())
        parts = []
        for by in self.choice.by:
            column = self.columns.groups[by].tolist()
            numbered = {value: i for i, value in enumerate(sort_values(set(column)))}
            code = np.array(
                [numbered[value] for value in column]
            )  # an array compared with "a\0" compares with "a"
            for value, i in numbered.items():
                parts.append(
                    (Group(by, value), replace(self.select(code == i), request=request, dropped=0))
                )
        return parts

    def _classes(self) -> dict[str, Any]:
        """The classes of all rows, stated explicitly: a group may lack some of them."""
        if self.request.labels is not None or self.label.ndim != 1:
            return {}
        seen = sorted({str(v) for v in self.label.tolist() if v is not None and v == v})
        if self.request.pos_label is not None:
            event = str(_as_label(self.label, self.request.pos_label))
            others = [name for name in seen if name != event]
            if len(others) == 1:
                return {"labels": (*others, event), "pos_label": None}
            return {}
        unnamed = any(
            self.is_matrix(model) and model.classes is None for model in self.choice.models
        )
        if unnamed and self.label.dtype.kind in "OU":
            return {"labels": tuple(seen)}
        return {}

    def arguments(self, model: Model) -> Arguments:
        import numpy as np

        numbers = self.columns.numbers
        if self.choice.statements is not None:
            events: Any = self.choice.statements.make(model.name, numbers)
            return Arguments(events, None, {})
        request = self.request
        scores = [as_fractions(numbers[name], request.percent) for name in model.columns]
        described = ("missing", "clip_tolerance", "sum_tolerance", "from_logits")
        rows: RowOptions = {name: getattr(request, name) for name in described}  # type: ignore[assignment]  # names of row options
        if self.choice.weight is not None:
            rows["sample_weight"] = numbers[self.choice.weight]
            rows["weight_type"] = request.weight_type
        label = self.columns.labels[model.label or self.choice.label]
        matrix = self.is_matrix(model)
        if request.pos_label is not None:
            rows["pos_label"] = request.pos_label if matrix else _as_label(label, request.pos_label)
        order: Any = (
            None if request.labels is None else [_as_label(label, name) for name in request.labels]
        )
        order, remark = _class_order(label, model) if matrix and order is None else (order, None)
        if order is not None:
            rows["labels"] = order
        return Arguments(
            label, scores[0] if len(scores) == 1 else np.column_stack(scores), rows, remark
        )

    def side_by_side(self) -> Arguments:
        """All labels with their scores, as matrices."""
        import numpy as np

        every = [self.arguments(model) for model in self.choice.models]
        names: Any = {"kind": "multilabel", "labels": [model.name for model in self.choice.models]}
        y, p = (
            np.column_stack([getattr(one, name) for one in every]) for name in ("y_true", "y_prob")
        )
        return Arguments(y, p, {**every[0].rows, **names})

    def judged(self, *, level: float, seed: int) -> dict[str, tn.results.Powered]:
        """What human labels and the judge's say together, of each model."""
        require_rows(self.source, len(self))
        found = {}
        complete = self.complete()
        complete.warn_of_dropped()
        for model, rows in complete.by_model():
            with rows.about(model, options={"pos_label": "--pos-label"}) as warned:
                one = rows.arguments(model)
                judge = rows.columns.labels[str(self.choice.judge)]
                how: Any = {"cluster": rows.cluster, "level": level, "seed": seed, **one.rows}
                found[model.name] = tn.powered(one.y_true, judge, one.y_prob, **how)
            warning(*warned)
        return found

    def each(
        self, doing: str, ask: Callable[[Arguments, Rows], Answer]
    ) -> Iterator[tuple[Group, Model, Answer]]:
        """What a function answers about each model in each group; errors and warnings say which."""
        parts = [
            (group, own, model) for group, part in self.groups() for model, own in part.by_model()
        ]
        with progress_bar(doing) as report:
            for i, (group, part, model) in enumerate(parts):
                with part.about(model, group=group) as warned:
                    answer = ask(part.arguments(model), part)
                warning(*warned, about=group.name(model.name))
                report(i + 1, len(parts))
                yield group, model, answer

    def own_labels(self) -> dict[str, NDArray[Any]] | NDArray[Any]:
        """The labels, or those of each model if models have their own."""
        if self.choice.statements is not None:
            return {model.name: self.arguments(model).y_true for model in self.choice.models}
        if self.choice.models[0].label is None:
            return self.label
        return {model.name: self.columns.labels[str(model.label)] for model in self.choice.models}

    def model_scores(self) -> tuple[dict[str, NDArray[Any]], Arguments]:
        """The scores of all models by name, and what they share, for functions that take several models."""
        every = {model.name: self.arguments(model) for model in self.choice.models}
        first = next(iter(every.values()))
        if any(other.rows.get("labels") != first.rows.get("labels") for other in every.values()):
            raise InputError("", "All models must have their columns in the same order of classes")
        return {name: one.y_prob for name, one in every.items()}, first

    def about(
        self, *models: Model, group: Group | None = None, **words: Any
    ) -> AbstractContextManager[list[str]]:
        """Word errors of the library in terms of the file, its columns and the options.

        Give its warnings.
        """
        context = self.source if group is None or group.by is None else f"{self.source}, {group}"
        named = [
            ("column" if len(model.columns) == 1 else "scores", model.name) for model in models
        ]
        if self.choice.long and len(models) == 1:
            context = f"{context}, model {models[0].name!r}"
            named = [("column", models[0].columns[0])]
        # Not so if a long table was put side by side.
        typed = self.choice.label in self.choice.labels
        choice = self.choice
        label = models[0].label if len(models) == 1 else None
        columns = {
            "y_true": label or choice.label,
            "sample_weight": choice.weight,
            "y_human": choice.label,
        }
        columns |= {name: getattr(choice, name) for name in ("cluster", "grades", "judge")}
        columns |= {
            f"Model {one.name!r}: y_true": (typed and one.label) or choice.label for one in models
        }
        arguments = {name: f"column {column!r}" for name, column in columns.items()}
        arguments["y_prob"] = " and ".join(f"{what} {name!r}" for what, name in named)
        if choice.statements is not None:
            stated = choice.statements.arguments(models[0].name)
            arguments |= {name: f"column {column!r}" for name, column in stated.items()}

        def place(place: Place) -> str:
            row = place.row if self.kept is None else int(self.kept[place.row])
            where = self.origin.place(row + self.first)
            if place.column is None:
                return where
            return f"{where}, column {place.column}"

        return reword_messages(wording(arguments, place, **words), context)


def as_numbers(column: Any) -> Any:
    """A column of text as numbers, if every cell is one; 007 is a name."""
    cells = [one for one in column.tolist() if one is not None] if column.dtype.kind in "OU" else []
    if not cells or not all(isinstance(one, str) and _NUMBER.fullmatch(one) for one in cells):
        return column
    return column.astype(object).astype(float)


def require_rows(source: str, rows: int, complete: int | None = None) -> None:
    if rows == 0:
        raise InputError("", f"{source} has no rows")
    if complete == 0:
        raise InputError(
            "",
            f"{source} must have at least one complete row",
            f"all {rows:,} have a missing value",
        )


def dropped_message(dropped: int, rows: int) -> tuple[str, ...]:
    if dropped:
        return (dropped_rows(dropped, rows),)
    return ()


@dataclass(frozen=True)
class Dataset:
    source: Table
    choice: Choice
    request: Request

    def rows(self) -> Rows:
        with progress_bar(f"Reading {self.source.name}"):
            labels = dict.fromkeys(
                (self.choice.label, *self.choice.labels, *filter(None, [self.choice.judge]))
            )
            columns = self.source.read(tuple(labels), self.choice.numbers, self.choice.groups)
        note(*filter(None, [self.source.note]))
        choice = _long_models(self.choice, columns) if self.choice.long else self.choice
        return Rows(columns, choice, self.source, self.request)

    def pieces(self, groups: Sequence[str] = ()) -> Iterator[tuple[Rows, int]]:
        """Some rows at a time, with the bytes read so far."""
        first = 0
        for columns, read in self.source.batches(self.choice.labels, self.choice.numbers, groups):
            rows = Rows(columns, self.choice, self.source, self.request, first=first)
            first += len(rows)
            yield rows, read
        note(*filter(None, [self.source.note]))

    def about(self, model: Model) -> AbstractContextManager[list[str]]:
        """As :meth:`Rows.about`, for the sums of one model."""
        from trueness.sources._table import Columns

        return Rows(Columns({}, {}), self.choice, self.source, self.request).about(model)

    def streamed(self, asked: bool | None) -> bool:
        """Whether to read in pieces: as asked, or by default if the file is large and no option needs all rows."""
        named = ("by", "cluster", "model_column", "outcome", "lower", "quantiles", "horizon")
        whole = [name for name in named if getattr(self.request, name)]
        if asked and whole:
            raise InputError(
                f"--{whole[0].replace('_', '-')}", "needs all rows at once", "leave `--stream` out"
            )
        if asked is None:
            return self.source.size > _LARGE and not whole
        return asked


@contextmanager
def open_dataset(request: Request, *, compared: bool = False) -> Iterator[Dataset]:
    """Open the files, or simulate the demo data, and choose columns.

    Models to be `compared` are side by side.
    """
    with open_source(request) if request.files else _demo(request) as source:
        if not request.files:
            probs = request.probs or tuple(
                name for name in source.names if name not in ("y", "truth")
            )
            request = replace(
                request, label=request.label or "y", probs=() if request.matrices else probs
            )
        if hasattr(source, "answers"):
            request = columns_of_answers(request, source.answers)
        choice = choose((*source.names, *source.nested), source.name, request)
        print_guesses(choice.guesses)
        data = Dataset(source, choice, request)
        yield _side_by_side(data) if choice.long and compared else data


def _long_models(choice: Choice, columns: Columns) -> Choice:
    """The models that a long table has, by name.

    Rows that a model has of one question are a cluster.
    """
    model, pair = (columns.groups[name] for name in choice.long)
    names = sort_values({str(name) for name in model[~missing_rows(model)].tolist()})
    if len(names) > _MOST_MODELS:
        remedy = "Are `--model-column` and `--pair` the other way round? Groups of rows of one model are `--by`."
        demand = f"must name at most {_MOST_MODELS} models"
        raise InputError(
            "--model-column", demand, f"{choice.long[0]!r} has {len(names):,}", remedy=remedy
        )
    if choice.cluster is None and len(set(zip(model.tolist(), pair.tolist(), strict=True))) < len(
        model
    ):
        choice = replace(choice, cluster=choice.long[1])
        note(f"rows of the same {choice.long[1]!r} are taken as a cluster.")
    return replace(choice, models=tuple(Model(name, choice.models[0].columns) for name in names))


def _side_by_side(data: Dataset) -> Dataset:
    """A table with a row for each model and question as one with a row for each question."""
    from trueness.sources._numpy import Arrays

    rows = data.rows().validate()
    rows.warn_of_dropped()
    source = data.source
    choice = rows.choice
    (model, pair), (score,) = choice.long, choice.models[0].columns
    shared: dict[str, Any] = {**rows.columns.groups, **rows.columns.numbers}
    models = shared.pop(model)
    scores = shared.pop(score)
    found = paired(models.tolist(), shared[pair].tolist(), repr(pair))
    at = {one.name: found[one.name] for one in choice.models if one.name in found}
    first = next(iter(at.values()))
    arrays = {name: values[first] for name, values in shared.items()} | {
        choice.label: rows.label[first]
    }
    for name, some in at.items():
        for one, values in shared.items():
            if (values[some] != arrays[one]).any():
                demand = f"column {one!r} must be the same for all models of a {pair!r}"
                raise InputError("", demand, f"{name!r} differs", context=source.name)
        if name in arrays:
            raise InputError(
                "--model-column", "must not name models as columns are", f"got {name!r}"
            )
        arrays |= {name: scores[some], f"label {name}": rows.label[some]}
    own = tuple(Model(name, (name,), label=f"label {name}") for name in at)
    return Dataset(
        Arrays(f"{source.name} by {pair}", arrays),
        replace(choice, models=own, long=()),
        data.request,
    )


def _demo(request: Request) -> AbstractContextManager[Table]:
    """Simulated rows whose truth is known: labels ``y``, the models' scores, and ``truth``."""
    from trueness import simulate
    from trueness.sources._numpy import Arrays

    try:
        columns = simulate.demo(request.rows, seed=request.seed).table()
    except InputError as reason:
        raise reason.but(argument="--rows", remedy="") from reason
    return nullcontext(Arrays(f"simulated data (seed {request.seed})", columns))


@contextmanager
def open_source(request: Request) -> Iterator[Table]:
    from trueness.sources._files import expand_paths, open_tables

    separator = {"tab": "\t", "\\t": "\t"}.get(request.separator or "", request.separator)
    if separator is not None and (
        len(separator) != 1 or separator in '"\r\n' or not separator.isascii()
    ):
        raise InputError(
            "--separator", "must be one character, or tab", f"got {request.separator!r}"
        )
    files = expand_paths(request.files)
    if uses_logs(request):
        yield read_logs(request, files)
        return
    with open_tables(files, separator, request.decimal, request.input_format) as table:
        yield table


def uses_logs(request: Request) -> bool:
    """Whether the files are logs of evaluations, or are to be read as such."""
    from trueness.sources._eval_log import is_eval_log

    names_log = any(getattr(request, name) for name in ("confidence", "scorer", *LOG_FIELDS))
    if names_log or request.input_format is not None:
        return names_log
    return any(is_eval_log(file) for file in request.files)


def read_logs(
    request: Request, files: Sequence[str], *more: str, needs_confidence: bool = True
) -> Any:
    """The answers of logs as a table, with the fields that options name and `more`."""
    from trueness.sources._eval_log import AnswersTable, LogRequest, read_answers

    others = (name for name in (*request.named, *more) if not name.startswith("option_"))
    fields = [name for name in others if name not in AnswersTable.columns]
    options = {name: getattr(request, name) for name in ("scorer", *LOG_FIELDS)}
    spelled = {name: f"--{name.replace('_', '-')}" for name in (*options, "confidence")}
    with reword_messages(wording(options=spelled)):
        log_request = LogRequest(
            confidence=request.confidence or "auto",
            fields=fields,
            needs_confidence=needs_confidence,
            **options,
        )
        found = read_answers(files, log_request)
    title = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    for name in fields:
        if name not in more and all(one is None for one in found.fields[name]):
            raise InputError("", f"No answer of {title} has a field {name!r}")
    return AnswersTable(title, found)


def read_rows(
    request: Request, *, alike: bool = True, gaps: bool = False, compared: bool = False
) -> Rows:
    """All rows, checked; a warning says how many were dropped."""
    with open_dataset(request, compared=compared) as data:
        rows = data.rows().validate(alike=alike, gaps=gaps)
    rows.warn_of_dropped()
    return rows


def print_guesses(guesses: Sequence[str]) -> None:
    if guesses:
        note(f"{', '.join(guesses)}.")


def as_fractions(scores: NDArray[Any], percent: bool) -> NDArray[Any]:
    from trueness._input.scores import fractions

    if percent:
        return fractions(scores, "y_prob")
    return scores


def missing_rows(column: NDArray[Any]) -> NDArray[np.bool_]:
    gaps: Any = column == None if column.dtype.kind == "O" else column != column  # noqa: E711  # by entry
    return gaps.any(axis=1) if gaps.ndim == 2 else gaps  # type: ignore[no-any-return]


def sort_values(values: Iterable[Any]) -> list[Any]:
    """By value, also where numbers are stored as text.

    The inner sort decides between equal floats.
    """
    values = list(values)
    try:
        return sorted(sorted(values), key=float)
    except (TypeError, ValueError):
        return sorted(values, key=str)


def _as_label(labels: NDArray[Any], text: str) -> Any:
    """A label from the command line in the type of the labels."""
    import numpy as np

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
    if value.is_integer():
        return int(value)
    return value


def _class_order(labels: NDArray[Any], model: Model) -> tuple[list[Any] | None, str | None]:
    """The classes in column order, where names of columns tell, and a remark about it."""
    seen = (
        {v for v in set(labels.tolist()) if v is not None and v == v} if labels.ndim == 1 else set()
    )
    text = any(isinstance(v, str) for v in seen)
    if model.classes is None:
        shown = ", ".join(map(str, sorted(seen, key=str)[:12]))
        return (
            None,
            f"Columns of {model.name!r} are taken to be the labels in sorted order: {shown}."
            if text
            else None,
        )
    if text:
        for names in (model.classes, model.columns):
            if seen <= set(names):
                return list(names), None
        shown = ", ".join(map(repr, model.classes[:6]))
        demand = f"labels of `y_true` are not the names of the score columns ({shown})"
        raise InputError("", demand, "`labels=` must name the classes in the order of the columns")
    if all(part.isdecimal() for part in model.classes):
        numbers = [int(part) for part in model.classes]
    else:
        numbers = []
    if (
        not model.starred
        or not numbers
        or not seen <= set(numbers)
        or numbers == list(range(len(numbers)))
    ):
        return None, None
    shown = ", ".join(map(str, numbers[:12]))
    return list(numbers), f"Classes are taken from the names of the columns: {shown}."
