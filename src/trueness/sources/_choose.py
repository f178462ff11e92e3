"""Which columns hold the labels, the scores and the weights."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from trueness.errors import InputError
from trueness.sources._data_set import DataSet
from trueness.sources._names import Names, list_names
from trueness.sources._request import Model, Request
from trueness.sources._statements import Statements, statements_of
from trueness.sources.tables._table import Table

LABELS = ("label", "y", "y_true", "target")
SCORES = ("prob", "p", "y_prob", "score", "probability", "confidence")


class Chosen(NamedTuple):
    """A data set whose rows are not read yet, and which of its columns were guessed."""

    data: DataSet
    guesses: tuple[str, ...]


class Scores(NamedTuple):
    """The models whose scores are asked for, and which columns were guessed."""

    models: tuple[Model, ...]
    guesses: tuple[str, ...]


def choose(table: Table, request: Request) -> Chosen:
    """Find the named columns of a table; guess labels and scores only if exactly one name fits.

    The result has the data, and a note for each guess. Several labels make one binary problem each.
    Intervals, quantiles and risks are chosen by columns of their own. InputError if a column is not
    there, or is named for two purposes.
    """
    names = Names((*table.names, *table.nested), table.name)
    if request.multilabel:
        models = _label_models(names, request)
        first = replace(
            request, label=models[0].label, probs=models[0].columns, matrices=(), multilabel=False
        )
        data, guesses = choose(table, first)
        completed = replace(data.request, multilabel=True)
        return Chosen(replace(data, request=completed, models=models), guesses)
    stated = statements_of(names, request)
    if stated is not None:
        return Chosen(_of_statements(table, names, request, stated), ())
    guesses = ()
    if request.label is None:
        request = replace(request, label=names.guess(LABELS, "labels", "--label"))
        guesses = (f"labels from column {request.label!r}",)
    label = str(request.label)
    by = tuple(dict.fromkeys(request.by))
    if twice := [name for name in by if request.by.count(name) > 1 and name != request.over]:
        raise InputError("--by", "must name a column once", f"got {twice[0]!r} again")
    _check_named(names, request)
    if label in by:
        raise InputError("--by", "must not name the column of labels", f"got {label!r}")
    taken = dict.fromkeys((label, *request.own_labels), "labels")
    if request.weight is not None:
        taken[request.weight] = "weights"
    if request.judge is not None:
        taken[request.judge] = "the judge"
    scores = choose_scores(names, request, taken)
    models = scores.models
    if request.own_labels:
        models = _with_own_labels(models, request)
    _check_long(request, models)
    data = DataSet(replace(request, by=by), table, models)
    return Chosen(data, (*guesses, *scores.guesses))


def _check_named(names: Names, request: Request) -> None:
    """Raise if an option other than those of scores names a column that is not there."""
    names.check("--label", request.label, *request.own_labels)
    names.check("--weight", request.weight)
    for name in dict.fromkeys(request.by):
        names.check("--over" if name == request.over else "--by", name)
    names.check("--cluster", request.cluster)
    names.check("--judge", request.judge)
    names.check("--model-column", request.model_column)
    names.check("--pair", request.pair)
    names.check("--grades", request.grades)


def _check_long(request: Request, models: Sequence[Model]) -> None:
    """Raise unless the request fits a long table: one with a row per model and question.

    Such a table is asked for by a column that names the model (`--model-column`) or one that names
    the question (`--pair`). With neither, nothing is checked. With either, four different columns
    must be given: model, question, label and score, with one score column and one label column in
    all. The error names `--model-column` even if only `--pair` was given.
    """
    if request.model_column is None and request.pair is None:
        return
    columns = (request.model_column, request.pair, request.label, models[0].columns[0])
    is_single = len(models) == 1 and len(models[0].columns) == 1 and not request.own_labels
    if not is_single or None in columns or len(set(columns)) != 4:
        demand = (
            "needs `--pair`, one `--label` and one `--prob`, which are other columns: "
            "each model has its rows"
        )
        raise InputError("--model-column", demand)


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


def _of_statements(table: Table, names: Names, request: Request, stated: Statements) -> DataSet:
    """The data set of intervals, quantiles or risks, whose columns are `stated`.

    Grades, a judge, and columns of a long table (model and question) do not apply, and are removed
    from the request.
    """
    by = tuple(dict.fromkeys(request.by))
    names.check("--cluster", request.cluster)
    names.check("--by", *by)
    models = tuple(Model(name, columns[:1]) for name, columns in stated.models.items())
    completed = replace(
        request,
        label=stated.outcome,
        by=by,
        grades=None,
        judge=None,
        model_column=None,
        pair=None,
    )
    return DataSet(completed, table, models, stated)


def _label_models(names: Names, request: Request) -> tuple[Model, ...]:
    """A binary problem for each label, with one column of scores each.

    If both patterns have a star, columns are paired by what it matches: y_cat with p_cat. Otherwise
    they are paired in order, which is an error if names show that the orders differ.
    """
    if request.label is None or len(request.matrices) != 1 or request.probs:
        demand = (
            "needs columns of labels, such as `--label 'y_*'`, and as many of scores, "
            "`--prob-columns 'p_*'`"
        )
        raise InputError("--kind multilabel", demand)
    scores = names.matrix(request.matrices[0])
    labels = names.without(scores.columns).matrix(request.label, "--label")
    assert labels.classes is not None and scores.classes is not None
    got = f"labels are {list_names(labels.columns)}; scores are {list_names(scores.columns)}"
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


def choose_scores(names: Names, request: Request, taken: Mapping[str, str]) -> Scores:
    """The models that the request names, each with its columns of scores.

    Without names, a column is guessed. `taken` maps columns that serve otherwise to what they are.
    Such a column cannot be named as a score, and patterns of columns skip it. InputError if two
    models have the same name.
    """
    probs = request.probs
    guesses: tuple[str, ...] = ()
    if not probs and not request.matrices:
        probs = (names.guess(SCORES, "scores", "--prob"),)
        guesses = (f"scores from column {probs[0]!r}",)
    for prob in probs:
        names.check("--prob", prob)
        if prob in taken:
            raise InputError("", f"Column {prob!r} cannot be both scores and {taken[prob]}")
    free = names.without(tuple(taken))
    models = [Model(prob, (prob,)) for prob in probs]
    models += [free.matrix(text) for text in request.matrices]
    requested = [model.name for model in models]
    if twice := [name for name in requested if requested.count(name) > 1]:
        raise InputError("", f"Scores {min(twice)!r} were requested twice")
    return Scores(tuple(models), guesses)
