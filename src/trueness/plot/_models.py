"""What a display is given: one model or several, as rows or as tallies, or an estimator."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._tally.cells import Cells
from trueness._tally.rows_or_sums import as_tally
from trueness._tally.rules import BinRule
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.typing import ArrayLike, RowOptions

__all__ = ["MOST_PANELS", "Models", "Problem", "one_model", "one_problem", "problems", "scores_of", "tallies"]

Models: TypeAlias = dict[str, Tally]
MOST_PANELS = 50


class Problem(NamedTuple):
    """One model seen as one binary question."""

    name: str
    label: Any
    kind: str
    cells: Cells

    @property
    def tally(self) -> Tally:
        """The sums as those of a binary problem."""
        return Tally("binary", (self.cells,))


def tallies(
    y_true: ArrayLike | Tally | Mapping[str, Tally],
    y_prob: ArrayLike | Mapping[str, ArrayLike] | None,
    name: str | None,
    rows: RowOptions,
    rule: BinRule | None = None,
) -> Models:
    """A tally per model; the name of a single one may be empty."""
    if isinstance(y_true, Mapping):
        if y_prob is not None:
            raise InputError("y_prob", "must be left out when `y_true` maps names to tallies: they hold the scores")
        return _named({key: as_tally(found, None, rows, rule=rule) for key, found in _each(y_true, "y_true")}, name)
    if _maps_names(y_prob):
        found = {key: as_tally(y_true, p, rows, rule=rule) for key, p in _each(y_prob, "y_prob")}
        return _named(found, name)
    return {"" if name is None else str(name): as_tally(y_true, y_prob, rows, rule=rule)}


def _maps_names(y_prob: Any) -> bool:
    # A data frame has keys too, but is a matrix of scores.
    return isinstance(y_prob, Mapping)


def _each(models: Any, argument: str) -> list[tuple[str, Any]]:
    if not models:
        raise InputError(argument, "must name at least one model", "got an empty mapping")
    return [(str(key), value) for key, value in models.items()]


def _named(found: Models, name: str | None) -> Models:
    if name is not None:
        raise InputError("name", "is for one model", "a mapping already names its models")
    first, *others = found.values()
    for key, other in zip(list(found)[1:], others, strict=True):
        if (other.kind, other.classes) != (first.kind, first.classes):
            raise InputError(
                f"All models must be of one kind and have the same classes; {key!r} differs from the first."
            )
    return found


def problems(models: Models, classes: Any = None) -> list[Problem]:
    """Every model and class apart, the classes of one model together."""
    first = next(iter(models.values()))
    labels = [None] if len(first.parts) == 1 else list(first.classes or range(len(first.parts)))
    wanted = labels if classes is None else _chosen(labels, classes)
    if len(wanted) > MOST_PANELS:
        raise InputError(
            "classes",
            f"must choose at most {MOST_PANELS} of the {len(labels)} classes, one panel each",
            "`kind='confidence'` shows all of them in one",
        )
    return [
        Problem(name, label, tally.kind, tally.parts[labels.index(label)])
        for name, tally in models.items()
        for label in wanted
    ]


def one_model(y_true: Any, y_prob: Any, display: str) -> None:
    """Raise if there are several models, for displays that have no room for a second."""
    for argument, given in (("y_true", y_true), ("y_prob", y_prob)):
        if isinstance(given, Mapping):
            raise InputError(f"`{display}` draws one model; `{argument}` is a mapping of them.")


def one_problem(models: Models, classes: Any, display: str) -> list[Problem]:
    """One problem per model, for displays that have no panels for classes."""
    found = problems(models, classes)
    if len({problem.label for problem in found}) > 1:
        raise InputError(
            f"`{display}` draws one class: choose it with `classes=[…]`, or the top label with `kind='confidence'`."
        )
    return found


def _chosen(labels: list[Any], classes: Any) -> list[Any]:
    asked = list(classes) if hasattr(classes, "__iter__") and not isinstance(classes, str) else [classes]
    for name in asked:
        if name not in labels:
            known = ", ".join(map(repr, labels[:8])) + (", …" if len(labels) > 8 else "")
            raise InputError("classes", f"must be among {known}", f"got {name!r}")
    return asked


def scores_of(estimator: Any, X: Any, rows: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The probabilities that an estimator gives, and what must be said of the labels."""
    if not hasattr(estimator, "predict_proba"):
        raise InputError("estimator", "must have `predict_proba`", f"{type(estimator).__name__} does not")
    P = estimator.predict_proba(X)
    classes = list(estimator.classes_)
    if len(classes) == 2 and rows.get("kind") is None:
        event = _event(classes, rows.get("pos_label"))
        return P[:, event], rows | {"pos_label": classes[event]}
    return P, {"labels": classes} | rows


def _event(classes: list[Any], pos_label: Any) -> int:
    """The column of the class that the scores are about: the second unless another is asked for."""
    if pos_label is None:
        return 1
    if not isinstance(pos_label, Hashable) or pos_label not in classes:
        known = " and ".join(map(repr, np.asarray(classes).tolist()))
        raise InputError("pos_label", f"must be a class of the estimator, {known}", f"got {pos_label!r}")
    return classes.index(pos_label)
