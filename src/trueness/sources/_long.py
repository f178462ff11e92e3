"""Tables with a row for each model and question."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from trueness.errors import DroppedRowsWarning, InputError, warn
from trueness.sources._columns import missing_rows, sort_values
from trueness.sources._data_set import DataSet
from trueness.sources._request import Model
from trueness.sources.tables._numpy import Arrays

_MOST_MODELS = 50  # with more, `--model-column` is probably the column of questions


def with_models(data: DataSet) -> DataSet:
    """The models that a long table has, by name.

    Rows that a model has of one question are a cluster.
    """
    request = data.request
    assert request.model_column is not None and request.pair is not None
    column = data.columns.groups[request.model_column]
    pair = data.columns.groups[request.pair]
    names = sort_values({str(name) for name in column[~missing_rows(column)].tolist()})
    if len(names) > _MOST_MODELS:
        raise InputError(
            "--model-column",
            f"must name at most {_MOST_MODELS} models",
            f"{request.model_column!r} has {len(names):,}",
            remedy="Are `--model-column` and `--pair` the other way round? "
            "Groups of rows of one model are `--by`.",
        )
    pairs = set(zip(column.tolist(), pair.tolist(), strict=True))
    if request.cluster is None and len(pairs) < len(column):
        request = replace(request, cluster=request.pair)
    models = tuple(Model(name, data.model.columns) for name in names)
    return replace(data, request=request, models=models)


def beside(data: DataSet) -> DataSet:
    """The same models with a row for each question, whose columns are not read yet."""
    request = data.request
    assert request.model_column is not None and request.pair is not None
    (score,) = data.models[0].columns
    shared: dict[str, Any] = {**data.columns.groups, **data.columns.numbers}
    names = shared.pop(request.model_column)
    scores = shared.pop(score)
    places = paired(names.tolist(), shared[request.pair].tolist(), repr(request.pair))
    models = [model.name for model in data.models if model.name in places]
    first = places[models[0]]
    arrays = {column: values[first] for column, values in shared.items()}
    arrays[str(request.label)] = data.label[first]
    for name in models:
        place = places[name]
        for column, values in shared.items():
            if (values[place] != arrays[column]).any():
                demand = f"column {column!r} must be the same for all models of a {request.pair!r}"
                raise InputError("", demand, f"{name!r} differs", context=data.source)
        if name in arrays:
            raise InputError(
                "--model-column", "must not name models as columns are", f"got {name!r}"
            )
        arrays[name] = scores[place]
        arrays[f"label {name}"] = data.label[place]
    return DataSet(
        request=replace(request, model_column=None),
        origin=Arrays(f"{data.source} by {request.pair}", arrays),
        models=tuple(Model(name, (name,), label=f"label {name}") for name in models),
    )


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
        warn(
            f"{lost:,} rows have no partner with the same {what}, and are left out.",
            DroppedRowsWarning,
        )
    return rows
