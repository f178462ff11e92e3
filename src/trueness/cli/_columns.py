"""Which columns hold the labels, the scores and the weights."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from trueness._text.table import Column
from trueness.cli._events import Statements, statements_of
from trueness.cli._printing import note, warning
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness.typing import Missing, WeightType

LABELS = ("label", "y", "y_true", "target")
SCORES = ("prob", "p", "y_prob", "score", "probability", "confidence")
_SHOWN = 12  # names of columns in a message


LOG_FIELDS = (
    "label_field",
    "confidence_field",
    "rows_field",
    "text_field",
    "answer_field",
    "target_field",
    "id_field",
    "targets",
)
"""The options that name fields of a log, and the key of its answers."""


@dataclass(frozen=True)
class Request:
    """The options about files, columns and their meaning, as typed."""

    files: tuple[str, ...] = ()
    """Files whose rows form one data set; none for the demo data."""
    rows: int = 10_000
    seed: int = 0
    label: str | None = None
    own_labels: tuple[str, ...] = ()
    """The column of labels of each model, if there are several."""
    probs: tuple[str, ...] = ()
    matrices: tuple[str, ...] = ()
    weight: str | None = None
    weight_type: "WeightType" = "auto"
    by: tuple[str, ...] = ()
    model_column: str | None = None
    """The column that says whose score and label a row has; `pair` says which rows of two models
    belong together."""
    pair: str | None = None
    over: str | None = None
    cluster: str | None = None
    judge: str | None = None
    grades: str | None = None
    pos_label: str | None = None
    labels: tuple[str, ...] | None = None
    missing: "Missing" = "raise"
    from_logits: bool = False
    clip_tolerance: float = 0.0
    sum_tolerance: float | None = None
    input_format: str | None = None
    separator: str | None = None
    decimal: str = "."
    percent: bool = False
    scorer: str | None = None
    confidence: str | None = None
    label_field: str | None = None
    confidence_field: str | None = None
    rows_field: str | None = None
    text_field: str | None = None
    answer_field: str | None = None
    target_field: str | None = None
    id_field: str | None = None
    targets: str | None = None
    """A CSV file with the right answer of each id."""
    multilabel: bool = False
    """Whether `label` and the one of `matrices` name a column for each of several labels."""
    outcome: str | None = None
    lower: tuple[str, ...] = ()
    upper: tuple[str, ...] = ()
    coverage: float | None = None
    quantiles: tuple[str, ...] = ()
    followup: str | None = None
    event: str | None = None
    horizon: float | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that an option names, except those of a matrix."""
        single = (self.label, self.weight, self.over, self.cluster, self.grades)
        return tuple(dict.fromkeys((*filter(None, single), *self.probs, *self.by)))

    @classmethod
    def pop_from(cls, options: dict[str, Any]) -> "Request":
        """Take these options out of a command's options; `seed` stays there as well."""
        names = {f.name for f in fields(cls)}
        taken = {name: options[name] for name in names & options.keys()}
        for name in taken.keys() - {"seed"}:
            del options[name]
        if isinstance(taken.get("label"), tuple):
            labels = taken.pop("label")
            if labels:
                taken["label"] = labels[0]
            if len(labels) > 1:
                taken["own_labels"] = labels
        if taken.get("weight_type", "auto") != "auto" and taken.get("weight") is None:
            raise click.UsageError("--weight-type needs --weight.")
        if isinstance(taken.get("labels"), str):
            taken["labels"] = tuple(name.strip() for name in taken["labels"].split(","))
        return cls(**taken)


@dataclass(frozen=True)
class Group:
    """Rows that share a value of a column; all rows if there is no column."""

    by: str | None = None
    value: Any = None

    @classmethod
    def of_sums(cls, by: Any, key: Any) -> "Group":
        """A group of an Accumulator; names of several columns are joined."""
        from trueness._tally.group_keys import group_text

        return cls(group_text(by), key if not isinstance(key, tuple) else group_text(key))

    def __str__(self) -> str:
        if self.by is None:
            return ""
        return f"{self.by} = {self.value}"

    def name(self, model: str) -> str:
        return ", ".join(filter(None, [model, str(self)]))

    def entry(self) -> dict[str, Any]:
        """The cells that name the group in a table; none for all rows."""
        if self.by is None:
            return {}
        return {"by": self.by, "group": self.value}


def group_columns(by: Iterable[str | None]) -> list[Column]:
    """The columns that name the group of a row.

    A table is headed by the name of the column if there is only one.
    """
    names = list(dict.fromkeys(filter(None, by)))
    if len(names) > 1:
        return [Column("by", "by", "name"), Column("group", "group", "name")]
    if names:
        return [
            Column("by", "by", forms="data"),
            *(Column("group", name, "name") for name in names),
        ]
    return []


def model_column(models: Iterable[str], by: Sequence[Column]) -> Column:
    """The column that names the model; a table of the groups of one model goes without it."""
    return Column("model", "model", "name", "data" if by and len(set(models)) == 1 else "all")


def model_if(several: bool) -> Column:
    """The column that names the model; a table goes without it unless there are several."""
    return Column("model", "model", "name", "all" if several else "data")


@dataclass(frozen=True)
class Model:
    """The scores of one model: a vector, or a matrix in one array or in several columns."""

    name: str
    columns: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    """Names of the columns, or what the star of a pattern matched; None if one column was named."""
    starred: bool = False
    label: str | None = None
    """The column of the model's own labels, if models have different ones."""

    @property
    def in_words(self) -> str:
        """What messages call the scores."""
        return f"{'column' if len(self.columns) == 1 else 'scores'} {self.name!r}"


@dataclass(frozen=True)
class Choice:
    """The columns to read, and which of them were guessed."""

    label: str
    models: tuple[Model, ...]
    weight: str | None
    guesses: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    cluster: str | None = None
    grades: str | None = None
    judge: str | None = None
    long: tuple[str, ...] = ()
    """The columns of models and of questions, if each row is of one model."""
    statements: Statements | None = None
    """Intervals, quantiles or risks in place of labels and scores."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of labels: one, or one per label."""
        return tuple(dict.fromkeys(model.label or self.label for model in self.models))

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys((*self.by, *filter(None, [self.cluster, self.grades]), *self.long))
        )

    @property
    def numbers(self) -> tuple[str, ...]:
        named = [column for model in self.models for column in model.columns]
        more = () if self.statements is None else self.statements.numbers
        return tuple(dict.fromkeys([*named, *more, *filter(None, [self.weight])]))

    def in_words(self, source: str) -> str:
        """The source and its columns, as notes below tables have them."""
        if self.statements is not None:
            outcomes = "events" if self.statements.followup else "outcomes"
            return f"Data: {source}, {outcomes} {self.label!r}"
        words = [f"Data: {source}"]
        if self.models[0].label is None:  # else each model has labels of its own
            words.append(f"labels {self.label!r}")
        if self.weight is not None:
            words.append(f"weights {self.weight!r}")
        if self.cluster is not None:
            words.append(f"clusters {self.cluster!r}")
        if self.long:
            words.append(f"models {self.long[0]!r}")
        if self.by and len(self.models) == 1:
            words.append(f"scores {self.models[0].name!r}")
        return ", ".join(words)

    def about(self, source: str) -> dict[str, object]:
        """The source and its columns, as JSON has them."""
        has_own_labels = len(self.labels) > 1 and self.label in self.labels
        return {
            "source": source,
            "label": list(self.labels) if has_own_labels else self.label,
            "weight": self.weight,
            "cluster": self.cluster,
            "by": list(self.by),
        }


def choose(names: Sequence[str], source: str, request: Request) -> Choice:
    """Find the named columns; guess labels and scores only if exactly one name fits."""
    if request.multilabel:
        models = _label_models(names, source, request)
        first = replace(
            request, label=models[0].label, probs=models[0].columns, matrices=(), multilabel=False
        )
        return replace(choose(names, source, first), models=models)
    stated = statements_of(
        names,
        request,
        partial(_guess, source=source),
        partial(_check_column, source=source),
    )
    if stated is not None:
        return _choose_statements(names, source, request, stated)
    label = request.label
    guesses = []
    if label is None:
        label = _guess(names, LABELS, "labels", "--label", source)
        guesses.append(f"labels from column {label!r}")
    by = tuple(dict.fromkeys(request.by))
    if twice := [name for name in by if request.by.count(name) > 1 and name != request.over]:
        raise InputError("--by", "must name a column once", f"got {twice[0]!r} again")
    _check_named(names, source, request, label)
    if label in by:
        raise InputError("--by", "must not name the column of labels", f"got {label!r}")
    taken: dict[Any, str] = dict.fromkeys((label, *request.own_labels), "labels")
    taken |= {request.weight: "weights", request.judge: "the judge"}
    models, guessed = choose_scores(names, source, request, taken)
    if request.own_labels:
        models = _with_own_labels(models, request)
    long = tuple(filter(None, (request.model_column, request.pair)))
    if long:
        is_single = len(models) + len(models[0].columns) == 2 and not request.own_labels
        if not is_single or len({*long, label, models[0].columns[0]}) != 4:
            demand = (
                "needs `--pair`, one `--label` and one `--prob`, which are other columns: "
                "each model has its rows"
            )
            raise InputError("--model-column", demand)
    return Choice(
        label=label,
        models=models,
        weight=request.weight,
        guesses=(*guesses, *guessed),
        by=by,
        cluster=request.cluster,
        grades=request.grades,
        judge=request.judge,
        long=long,
    )


def _check_named(names: Sequence[str], source: str, request: Request, label: str) -> None:
    """Raise if an option other than those of scores names a column that is not there."""
    for name in (label, *request.own_labels):
        _check_column(names, name, "--label", source)
    if request.weight is not None:
        _check_column(names, request.weight, "--weight", source)
    for name in dict.fromkeys(request.by):
        _check_column(names, name, "--over" if name == request.over else "--by", source)
    for field in ("cluster", "judge", "model_column", "pair", "grades"):
        name = getattr(request, field)
        if name is not None:
            _check_column(names, name, f"--{field.replace('_', '-')}", source)


def _with_own_labels(models: tuple[Model, ...], request: Request) -> tuple[Model, ...]:
    """Each model with its own column of labels."""
    labels = request.own_labels
    if len(labels) != len(models) or (request.probs and request.matrices):
        got = f"got {len(labels)} for {len(models)} models"
        raise InputError(
            "--label", "must be given once, or once for each `--prob` in the same order", got
        )
    pairs = zip(models, labels, strict=True)
    return tuple(replace(model, label=label) for model, label in pairs)


def _choose_statements(
    names: Sequence[str], source: str, request: Request, stated: Statements
) -> Choice:
    """The columns of intervals, quantiles or risks."""
    by = tuple(dict.fromkeys(request.by))
    for option, name in (("--cluster", request.cluster), *(("--by", name) for name in by)):
        if name is not None:
            _check_column(names, name, option, source)
    models = tuple(Model(name, columns[:1]) for name, columns in stated.models.items())
    return Choice(stated.outcome, models, None, by=by, cluster=request.cluster, statements=stated)


def _label_models(names: Sequence[str], source: str, request: Request) -> tuple[Model, ...]:
    """A binary problem for each label.

    Columns that match two patterns are paired by what their stars match.
    """
    if request.label is None or len(request.matrices) != 1 or request.probs:
        demand = (
            "needs columns of labels, such as `--label 'y_*'`, and as many of scores, "
            "`--prob-columns 'p_*'`"
        )
        raise InputError("--kind multilabel", demand)
    scores = _matrix_model(names, request.matrices[0], source)
    free = [name for name in names if name not in scores.columns]
    labels = _matrix_model(free, request.label, source, "--label")
    assert labels.classes is not None and scores.classes is not None
    got = f"labels are {_list_names(labels.columns)}; scores are {_list_names(scores.columns)}"
    if len(labels.columns) != len(scores.columns):
        raise InputError("", "Every label must have a column of scores", got)
    columns = scores.columns
    if labels.starred and scores.starred:
        column_of = dict(zip(scores.classes, scores.columns, strict=True))
        if not column_of.keys() >= set(labels.classes):
            raise InputError("", "Every label must have a column of scores", got)
        columns = tuple(column_of[name] for name in labels.classes)
    else:
        label_stems = _stems(labels.columns)
        score_stems = _stems(scores.columns)
        if label_stems != score_stems and sorted(label_stems) == sorted(score_stems):
            remedy = (
                "Two patterns, such as `--label 'y_*' --prob-columns 'p_*'`, are paired by name."
            )
            demand = "must be in the order of the labels"
            raise InputError("--prob-columns", demand, got, remedy=remedy)
    triples = zip(labels.classes, labels.columns, columns, strict=True)
    return tuple(Model(name, (column,), label=label) for name, label, column in triples)


def _stems(names: Sequence[str]) -> list[str]:
    """Names without the beginning that all of them share."""
    shared = 0
    for letters in zip(*names, strict=False):  # as far as the shortest name
        if len(set(letters)) > 1:
            break
        shared += 1
    return [name[shared:] for name in names]


def choose_scores(
    names: Sequence[str], source: str, request: Request, taken: Mapping[str, str]
) -> tuple[tuple[Model, ...], tuple[str, ...]]:
    """The models and what was guessed; a score column must not be `taken` for something else."""
    probs = request.probs
    guesses = tuple[str, ...]()
    if not probs and not request.matrices:
        probs = (_guess(names, SCORES, "scores", "--prob", source),)
        guesses = (f"scores from column {probs[0]!r}",)
    for prob in probs:
        _check_column(names, prob, "--prob", source)
        if prob in taken:
            raise InputError("", f"Column {prob!r} cannot be both scores and {taken[prob]}")
    free = [name for name in names if name not in taken]
    models = [Model(prob, (prob,)) for prob in probs]
    models += [_matrix_model(free, text, source) for text in request.matrices]
    requested = [model.name for model in models]
    if twice := [name for name in requested if requested.count(name) > 1]:
        raise InputError("", f"Scores {min(twice)!r} were requested twice")
    return tuple(models), guesses


def paired(models: Iterable[Any], keys: Iterable[Any], what: str) -> dict[str, list[int]]:
    """The rows of each model, in the order of the keys that all models have.

    A key that is repeated must be repeated equally often for every model.
    """
    places: dict[str, dict[Any, list[int]]] = {}
    for i, (name, key) in enumerate(zip(models, keys, strict=True)):
        places.setdefault(str(name), {}).setdefault(key, []).append(i)
    first = next(iter(places.values()))
    shared = [key for key in first if all(key in place for place in places.values())]
    if not shared:
        remedy = "Of any JSON `--id-field` names the question." if "question" in what else ""
        demand = f"{' and '.join(map(repr, places))} have no {what} in common"
        raise InputError("", demand, remedy=remedy)
    for key in shared:
        times = {name: len(place[key]) for name, place in places.items()}
        if len({*times.values()}) > 1:
            counts = ", ".join(f"{n} of {name!r}" for name, n in times.items())
            raise InputError(
                "",
                f"Every model must have a {what} equally often",
                f"of {key!r} the rows are {counts}",
                remedy="Leave repeated rows out, or add to the column what tells them apart.",
            )
    rows = {name: [i for key in shared for i in place[key]] for name, place in places.items()}
    lost = 0
    for name, place in places.items():
        lost += sum(map(len, place.values())) - len(rows[name])
    if lost:
        warning(f"{lost:,} rows have no partner with the same {what}, and are left out.")
    return rows


def _guess(names: Sequence[str], usual: Sequence[str], what: str, option: str, source: str) -> str:
    fitting = [name for name in names if name.lower() in usual]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        several = f"{source} has several columns that may hold {what} ({_list_names(fitting)})"
        raise InputError("", several, f"`{option}` says which")
    columns, hint = _overview(names)
    raise InputError(option, f"must name the column of {what} in {source}", columns, remedy=hint)


def _check_column(names: Sequence[str], wanted: str, option: str, source: str) -> None:
    if wanted in names:
        return
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted.lower(), list(lower), n=3)
    if any("\ufffd" in name for name in names):
        hint = (
            "Some of its names are not UTF-8; convert the file, as `iconv -f latin1 -t utf-8` does."
        )
    elif close:
        hint = f"Did you mean {' or '.join(repr(lower[c]) for c in close)}?"
    else:
        columns, more = _overview(names)
        hint = f"I{columns[1:]}. {more}".strip()
    raise InputError("", f"{source} has no column {wanted!r}", remedy=hint, context=f"`{option}`")


def _overview(names: Sequence[str]) -> tuple[str, str]:
    """Which columns there are, and why they may be the wrong ones."""
    if len(names) == 1:
        overview = f"its only column is {names[0]!r}"
        for separator in (";", "\t", "|", ","):
            if separator in names[0]:
                typed = "tab" if separator == "\t" else repr(separator)
                hint = f"If {separator!r} separates columns, say `--separator {typed}`."
                return overview, hint
        return overview, ""
    hint = ""
    if list(names) == [str(i) for i in range(len(names))]:
        hint = "Columns of a matrix are numbered: `--label 0 --prob 1`. "
        hint += "A text file names its columns in the first line."
    elif all(re.fullmatch(r"[-+.\deE]+", name) for name in names):
        hint = "These look like numbers: the first line must name the columns."
    return f"its columns are {_list_names(names)}", hint


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more


def _matrix_model(
    names: Sequence[str], text: str, source: str, option: str = "--prob-columns"
) -> Model:
    columns: list[str] = []
    classes: list[str] = []
    for item in (part.strip() for part in text.split(",")):
        if "*" in item and item not in names:
            pattern = re.compile(re.escape(item).replace(r"\*", "(.*)"), re.DOTALL)
            matches = [(m[1], m[0]) for m in map(pattern.fullmatch, names) if m]
            if not matches:
                overview, hint = _overview(names)
                demand = f"no column of {source} matches {item!r}"
                raise InputError("", demand, overview, remedy=hint, context=f"`{option}`")
            # p2 before p10, whatever their order in the file.
            if all(part.isdecimal() for part, _ in matches):
                matches.sort(key=lambda pair: int(pair[0]))
        else:
            _check_column(names, item, option, source)
            matches = [(item, item)]
        classes += [part for part, _ in matches]
        columns += [name for _, name in matches]
    if len(set(columns)) < len(columns):
        raise InputError(option, "must name each column once", f"got {text!r}")
    if len(columns) < 2:
        demand = "must give one column per class, at least 2"
        remedy = "`--prob` takes one." if option == "--prob-columns" else ""
        raise InputError(option, demand, f"{text!r} gives one", remedy=remedy)
    return Model(text, tuple(columns), tuple(classes), "*" in text)


def columns_of_answers(request: Request, answers: Any) -> Request:
    """The columns of answers unless others are named.

    Clusters are questions; groups are sources, models and tasks.
    """
    context = click.get_current_context()
    by = [name for name in ("source", "model", "task") if name in answers.by]
    if "by" not in context.params or request.by or context.info_name == "fit":
        by = []
    elif context.info_name == "tally" or (len(by) > 1 and context.info_name != "report"):
        # A tally reads one file after the other; elsewhere a group of one column would pool the
        # others.
        by = ["origin"]
    if by:
        note(f"groups by {' and '.join(by)}: they are not pooled. `--by` chooses others.")
    elif "source" in answers.by and "source" not in request.by:
        sources = "; ".join(sorted(set(answers.source.tolist())))
        warning(f"Confidences of different sources are pooled: {sources}.")
    request = replace(request, cluster=request.cluster or "question", by=request.by or tuple(by))
    if request.matrices:
        return replace(request, label=request.label or "right_option")
    return replace(request, label=request.label or "label", probs=request.probs or ("confidence",))
