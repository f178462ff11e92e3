"""From the options of a command to rows: open the files, choose columns, call the library."""

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
    choose_scores,
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
_LARGE = 256 * 1000 * 1000  # bytes; larger files are read in pieces
_MOST_MODELS = 50  # with more, `--model-column` is probably the column of questions
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?(?<=[\d.])", re.ASCII)
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Arguments:
    """Labels and scores of one model as the library takes them."""

    y_true: Any
    """Labels, or Events in place of labels and scores."""
    y_prob: Any
    """Scores; None beside Events."""
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
    def sentence(self) -> str:
        """The data as a note below a table describes them."""
        return f"{self.choice.in_words(self.source)}."

    @property
    def entry(self) -> dict[str, object]:
        """The data as JSON describes them."""
        return self.choice.about(self.source)

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
        if ((w < whole) | (w > whole)).any():  # nan is neither
            return "importance"
        return "frequency"

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
        """Raise for missing values in columns of groups; with `gaps`, `--by` may have them."""
        for name, column in self.columns.groups.items():
            if gaps and name in self.choice.by:
                continue
            gone = int(missing_rows(column).sum())
            if gone:
                demand = f"column {name!r} must not have missing values"
                got = f"{gone:,} of {len(column):,} are"
                remedy = "`--missing drop` leaves such rows out."
                raise InputError("", demand, got, remedy=remedy, context=self.source)

    def check_shapes(self) -> None:
        names = {self.is_matrix(model): model.name for model in self.choice.models[::-1]}
        if len(names) > 1:
            raise InputError(
                "",
                f"{names[False]!r} is one column of scores and {names[True]!r} a matrix: "
                "measure them apart",
            )

    def complete(self, *, gaps: bool = False) -> Rows:
        """All rows, or with ``--missing drop`` those that are complete for every model."""
        if self.request.missing != "drop":
            return self
        exempt = set[int]()
        if gaps:
            exempt.update(id(self.columns.groups[name]) for name in self.choice.by)
        if self.choice.judge:  # no human looked at every row
            exempt.add(id(self.label))
        checked = [column for column in self.columns.arrays() if id(column) not in exempt]
        if len(set(map(len, checked))) > 1:  # an error, which the first measure reports
            return self
        kept = ~reduce(or_, map(missing_rows, checked))
        return replace(self.select(kept), dropped=int((~kept).sum()))

    def select(self, chosen: NDArray[np.bool_]) -> Rows:
        """The chosen rows, with the numbers that they have in the file."""
        place = chosen.nonzero()[0]
        kept = place if self.kept is None else self.kept[place]
        return replace(self, columns=self.columns.at(place), kept=kept)

    def by_model(self) -> list[tuple[Model, Rows]]:
        """Each model and its rows: all or, in a long table, its own; a group may have none."""
        import numpy as np

        if not self.choice.long:
            return [(model, self) for model in self.choice.models]
        column = self.columns.groups[self.choice.long[0]].tolist()
        names = np.array(list(map(str, column)), dtype=object)
        parts = []
        for model in self.choice.models:
            part = self.select(names == model.name)
            if len(part) or not self.choice.by:
                parts.append((model, part))
        return parts

    def groups(self) -> list[tuple[Group, Rows]]:
        """All rows, or those of each group of each column that `--by` names, ordered by value.

        Dropped rows are counted over all groups: the missing value may be the group itself.
        """
        import numpy as np

        if not self.choice.by:
            return [(Group(), self)]
        request = replace(self.request, **self._classes())
        parts = []
        for by in self.choice.by:
            column = self.columns.groups[by].tolist()
            numbered = {value: i for i, value in enumerate(sort_values(set(column)))}
            # Codes, since NumPy drops a null at the end: an array compared with "a\0" compares
            # with "a".
            code = np.array([numbered[value] for value in column])
            for value, i in numbered.items():
                part = replace(self.select(code == i), request=request, dropped=0)
                parts.append((Group(by, value), part))
        return parts

    def _classes(self) -> dict[str, Any]:
        """The classes of all rows, stated explicitly: a group may lack some of them."""
        if self.request.labels is not None or self.label.ndim != 1:
            return {}
        seen = sorted({str(v) for v in self.label.tolist() if v is not None and v == v})
        if self.request.pos_label is not None:
            event = str(_as_label(self.label, self.request.pos_label))
            rest = [name for name in seen if name != event]
            if len(rest) == 1:
                return {"labels": (*rest, event), "pos_label": None}
            return {}
        unnamed = any(
            self.is_matrix(model) and model.classes is None for model in self.choice.models
        )
        if unnamed and self.label.dtype.kind in "OU":
            return {"labels": tuple(seen)}
        return {}

    def arguments(self, model: Model) -> Arguments:
        """What the library takes of one model."""
        numbers = self.columns.numbers
        if self.choice.statements is not None:
            return Arguments(self.choice.statements.make(model.name, numbers), None, {})
        request = self.request
        scores = [as_fractions(numbers[name], request.percent) for name in model.columns]
        rows: RowOptions = {
            "missing": request.missing,
            "clip_tolerance": request.clip_tolerance,
            "sum_tolerance": request.sum_tolerance,
            "from_logits": request.from_logits,
        }
        if self.choice.weight is not None:
            rows["sample_weight"] = numbers[self.choice.weight]
            rows["weight_type"] = request.weight_type
        label = self.columns.labels[model.label or self.choice.label]
        matrix = self.is_matrix(model)
        if request.pos_label is not None:
            rows["pos_label"] = request.pos_label if matrix else _as_label(label, request.pos_label)
        remark = None
        if request.labels is not None:
            rows["labels"] = [_as_label(label, name) for name in request.labels]
        elif matrix:
            order, remark = _class_order(label, model)
            if order is not None:
                rows["labels"] = order
        return Arguments(label, side_by_side(scores), rows, remark)

    def side_by_side(self) -> Arguments:
        """All labels with their scores, as matrices."""
        import numpy as np

        models = [self.arguments(model) for model in self.choice.models]
        rows = models[0].rows
        rows["kind"] = "multilabel"
        rows["labels"] = [model.name for model in self.choice.models]
        y = np.column_stack([model.y_true for model in models])
        p = np.column_stack([model.y_prob for model in models])
        return Arguments(y, p, rows)

    def judged(self, *, level: float, seed: int) -> dict[str, tn.results.Powered]:
        """What human labels and the judge's say together, by model."""
        require_rows(self.source, len(self))
        results = {}
        complete = self.complete()
        complete.warn_of_dropped()
        for model, rows in complete.by_model():
            with rows.about(model, options={"pos_label": "--pos-label"}) as warned:
                arguments = rows.arguments(model)
                judge = rows.columns.labels[str(self.choice.judge)]
                results[model.name] = tn.powered(
                    arguments.y_true,
                    judge,
                    arguments.y_prob,
                    cluster=rows.cluster,
                    level=level,
                    seed=seed,
                    **arguments.rows,
                )
            warning(*warned)
        return results

    def each(
        self, doing: str, ask: Callable[[Arguments, Rows], Answer]
    ) -> Iterator[tuple[Group, Model, Answer]]:
        """What a function answers about each model in each group; errors and warnings say which."""
        parts = []
        for group, rows in self.groups():
            parts += [(group, part, model) for model, part in rows.by_model()]
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
        """The scores of all models by name, and the arguments that they share."""
        arguments = [self.arguments(model) for model in self.choice.models]
        first = arguments[0]
        if any(other.rows.get("labels") != first.rows.get("labels") for other in arguments):
            raise InputError("", "All models must have their columns in the same order of classes")
        scores = {}
        for model, of_model in zip(self.choice.models, arguments, strict=True):
            scores[model.name] = of_model.y_prob
        return scores, first

    def about(
        self, *models: Model, group: Group | None = None, **words: Any
    ) -> AbstractContextManager[list[str]]:
        """Word errors of the library in terms of the file, its columns and the options.

        Give its warnings.
        """
        context = self.source if group is None or group.by is None else f"{self.source}, {group}"
        scores = " and ".join(model.in_words for model in models)
        if self.choice.long and len(models) == 1:
            context = f"{context}, model {models[0].name!r}"
            scores = f"column {models[0].columns[0]!r}"
        choice = self.choice
        label = models[0].label if len(models) == 1 else None
        columns = {
            "y_true": label or choice.label,
            "sample_weight": choice.weight,
            "y_human": choice.label,
            "cluster": choice.cluster,
            "grades": choice.grades,
            "judge": choice.judge,
        }
        # Nobody typed the labels of the models of a long table that was put side by side.
        is_typed = choice.label in choice.labels
        for model in models:
            column = (is_typed and model.label) or choice.label
            columns[f"Model {model.name!r}: y_true"] = column
        if choice.statements is not None:
            columns |= choice.statements.arguments(models[0].name)
        arguments = {name: f"column {column!r}" for name, column in columns.items()}
        arguments["y_prob"] = scores

        def spell_place(place: Place) -> str:
            row = place.row if self.kept is None else int(self.kept[place.row])
            where = self.origin.place(row + self.first)
            if place.column is None:
                return where
            return f"{where}, column {place.column}"

        return reword_messages(wording(arguments, spell_place, **words), context)


def as_numbers(column: Any) -> Any:
    """A column of text as numbers, if every cell is one; 007 is a name."""
    if column.dtype.kind not in "OU":
        return column
    cells = [cell for cell in column.tolist() if cell is not None]
    if not cells or not all(isinstance(cell, str) and _NUMBER.fullmatch(cell) for cell in cells):
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
            judge = filter(None, [self.choice.judge])
            labels = dict.fromkeys((self.choice.label, *self.choice.labels, *judge))
            columns = self.source.read(tuple(labels), self.choice.numbers, self.choice.groups)
        note(*filter(None, [self.source.note]))
        choice = _long_models(self.choice, columns) if self.choice.long else self.choice
        return Rows(columns, choice, self.source, self.request)

    def pieces(self, groups: Sequence[str] = ()) -> Iterator[tuple[Rows, int]]:
        """The rows in pieces, with the bytes read so far."""
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

    def streamed(self, stream: bool | None) -> bool:
        """Whether to read in pieces: as `--stream` says.

        By default, if the file is large and no option needs all rows.
        """
        need_all = ("by", "cluster", "model_column", "outcome", "lower", "quantiles", "horizon")
        typed = [name for name in need_all if getattr(self.request, name)]
        if stream is None:
            return self.source.size > _LARGE and not typed
        if stream and typed:
            raise InputError(
                f"--{typed[0].replace('_', '-')}", "needs all rows at once", "leave `--stream` out"
            )
        return stream


@contextmanager
def open_dataset(request: Request, *, compared: bool = False) -> Iterator[Dataset]:
    """Open the files, or simulate the demo data, and choose columns.

    Models to be `compared` are side by side.
    """
    with open_source(request) if request.files else _demo(request) as source:
        if not request.files:
            probs = request.probs
            if request.matrices:
                probs = ()
            elif not probs:
                probs = tuple(name for name in source.names if name not in ("y", "truth"))
            request = replace(request, label=request.label or "y", probs=probs)
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
        raise InputError(
            "--model-column",
            f"must name at most {_MOST_MODELS} models",
            f"{choice.long[0]!r} has {len(names):,}",
            remedy="Are `--model-column` and `--pair` the other way round? "
            "Groups of rows of one model are `--by`.",
        )
    pairs = set(zip(model.tolist(), pair.tolist(), strict=True))
    if choice.cluster is None and len(pairs) < len(model):
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
    model_column, pair = choice.long
    (score,) = choice.models[0].columns
    shared: dict[str, Any] = {**rows.columns.groups, **rows.columns.numbers}
    names = shared.pop(model_column)
    scores = shared.pop(score)
    places = paired(names.tolist(), shared[pair].tolist(), repr(pair))
    models = [model.name for model in choice.models if model.name in places]
    first = places[models[0]]
    arrays = {column: values[first] for column, values in shared.items()}
    arrays[choice.label] = rows.label[first]
    for name in models:
        place = places[name]
        for column, values in shared.items():
            if (values[place] != arrays[column]).any():
                demand = f"column {column!r} must be the same for all models of a {pair!r}"
                raise InputError("", demand, f"{name!r} differs", context=source.name)
        if name in arrays:
            raise InputError(
                "--model-column", "must not name models as columns are", f"got {name!r}"
            )
        arrays[name] = scores[place]
        arrays[f"label {name}"] = rows.label[place]
    columns = tuple(Model(name, (name,), label=f"label {name}") for name in models)
    return Dataset(
        Arrays(f"{source.name} by {pair}", arrays),
        replace(choice, models=columns, long=()),
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


def read_logs(request: Request, files: Sequence[str], *more: str) -> Any:
    """The answers of logs as a table, with the fields that options name and `more`."""
    from trueness.sources._eval_log import AnswersTable, eval_log

    fields = []
    for name in (*request.named, *more):
        if not name.startswith("option_") and name not in AnswersTable.columns:
            fields.append(name)
    options = {name: getattr(request, name) for name in ("scorer", *LOG_FIELDS)}
    spelled = {name: f"--{name.replace('_', '-')}" for name in (*options, "confidence")}
    with reword_messages(wording(options=spelled)):
        answers = eval_log(files, confidence=request.confidence or "auto", fields=fields, **options)
    title = ", ".join(files[:3])
    if len(files) > 3:
        title = f"{title} and {len(files) - 3} more"
    for name in fields:
        if name not in more and all(value is None for value in answers.fields[name]):
            raise InputError("", f"No answer of {title} has a field {name!r}")
    return AnswersTable(title, answers)


def read_rows(
    request: Request, *, alike: bool = True, gaps: bool = False, compared: bool = False
) -> Rows:
    """All rows, checked; a warning says how many were dropped."""
    with open_dataset(request, compared=compared) as data:
        rows = data.rows().validate(alike=alike, gaps=gaps)
    rows.warn_of_dropped()
    return rows


def one_column(source: Table, request: Request) -> str:
    """The only column of scores: the one that an option names, or whose name fits."""
    models, guesses = choose_scores(source.names, source.name, request, {})
    print_guesses(guesses)
    if len(models) > 1 or len(models[0].columns) > 1:
        names = ", ".join(model.name for model in models)
        raise InputError("--prob", "must name one column of scores", f"got {names}")
    return models[0].columns[0]


def print_guesses(guesses: Sequence[str]) -> None:
    if guesses:
        note(f"{', '.join(guesses)}.")


def as_fractions(scores: NDArray[Any], percent: bool) -> NDArray[Any]:
    from trueness._input.scores import fractions

    if percent:
        return fractions(scores, "y_prob")
    return scores


def side_by_side(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One column as it is, or several as a matrix."""
    import numpy as np

    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def missing_rows(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row has a missing value: None in a column of objects, else nan."""
    # By entry, hence `==`.
    gaps = column == None if column.dtype.kind == "O" else column != column  # noqa: E711
    rows: NDArray[np.bool_] = gaps.any(axis=1) if gaps.ndim == 2 else gaps
    return rows


def sort_values(values: Iterable[Any]) -> list[Any]:
    """By value, also where numbers are stored as text."""
    values = list(values)
    try:
        # The inner sort decides between equal floats.
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
    """The classes in column order if the names of the columns say so, and a remark about it."""
    seen = set[Any]()
    if labels.ndim == 1:
        seen = {v for v in set(labels.tolist()) if v is not None and v == v}
    is_text = any(isinstance(v, str) for v in seen)
    if model.classes is None:
        if not is_text:
            return None, None
        shown = ", ".join(map(str, sorted(seen, key=str)[:12]))
        remark = f"Columns of {model.name!r} are taken to be the labels in sorted order: {shown}."
        return None, remark
    if is_text:
        for names in (model.classes, model.columns):
            if seen <= set(names):
                return list(names), None
        shown = ", ".join(map(repr, model.classes[:6]))
        demand = f"labels of `y_true` are not the names of the score columns ({shown})"
        raise InputError("", demand, "`labels=` must name the classes in the order of the columns")
    if not model.starred or not all(part.isdecimal() for part in model.classes):
        return None, None
    numbers = [int(part) for part in model.classes]
    if not seen <= set(numbers) or numbers == list(range(len(numbers))):
        return None, None
    shown = ", ".join(map(str, numbers[:12]))
    return list(numbers), f"Classes are taken from the names of the columns: {shown}."
