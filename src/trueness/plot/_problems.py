"""The data of a display: models and classes as binary problems, and fitting axes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, cast

import numpy as np

from trueness._input.arguments import checked_word
from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rows_or_sums import as_tally
from trueness._tally.rules import BinRule, EqualMass, EqualWidth
from trueness._tally.tally import Tally
from trueness._text.numbers import zoomed_ends
from trueness._text.strings import visible
from trueness.errors import InputError, TruenessWarning, warn
from trueness.plot._canvas import Display, Scale
from trueness.results import Histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trueness.typing import ArrayLike, Classifier, Floats, Option, RowOptions

Models: TypeAlias = dict[str, Tally]
MOST_PANELS = 50
_BARS = 50
_RARE = 0.02
_CROWDED = 0.8
# No point lies at the very end of axes that zoom in.
_HEADROOM = 1.1


class Problem(NamedTuple):
    """One model and class as a binary problem."""

    name: str
    label: Any
    kind: str
    cells: Cells

    @property
    def tally(self) -> Tally:
        return Tally("binary", (self.cells,))


def tallies(
    y_true: ArrayLike | Tally | Mapping[str, Tally],
    y_prob: ArrayLike | Mapping[str, ArrayLike] | None,
    name: str | None,
    rows: RowOptions,
    rule: BinRule | None = None,
) -> Models:
    """A tally for each model, by name; the name of a single one may be empty.

    Models come as tallies by name, as scores by name, or as one set of scores. They must have the
    same classes, and at least one is needed.
    """
    if isinstance(y_true, Mapping):
        if y_prob is not None:
            raise InputError(
                "y_prob",
                "must be left out when `y_true` maps names to tallies, which hold the scores",
            )
        argument = "y_true"
        data = {key: (sums, None) for key, sums in y_true.items()}
    elif isinstance(
        y_prob, Mapping
    ):  # not a data frame, which has keys too but is a matrix of scores
        argument = "y_prob"
        data = {key: (y_true, p) for key, p in y_prob.items()}
    else:
        if getattr(y_prob, "ndim", 0) > 2:
            warn(
                "Bands, intervals and noise floors of the picture take pixels as independent.",
                TruenessWarning,
            )
        return {"" if name is None else str(name): as_tally(y_true, y_prob, rows, rule=rule)}
    if not data:
        raise InputError(argument, "must name at least one model", "got an empty mapping")
    models = {str(key): as_tally(*of_model, rows, rule=rule) for key, of_model in data.items()}
    if name is not None:
        raise InputError("name", "is only for one model", "a mapping already names its models")
    first = next(iter(models.values()))
    for key, other in models.items():
        if (other.kind, other.classes) != (first.kind, first.classes):
            raise InputError(
                "",
                "All models must have one kind and the same classes",
                f"{key!r} differs from the first",
            )
    return models


def problems(models: Models, classes: Sequence[Any] | None = None) -> list[Problem]:
    """Every model and class as a binary problem, the classes of one model together.

    Of many classes some must be chosen, since each takes a panel.
    """
    first = next(iter(models.values()))
    labels = [None] if len(first.parts) == 1 else list(first.classes or range(len(first.parts)))
    shown = labels if classes is None else _checked_classes(labels, classes)
    if len(shown) > MOST_PANELS:
        demand = f"must choose at most {MOST_PANELS} of the {len(labels)} classes, one panel each"
        raise InputError("classes", demand, remedy="`kind='confidence'` shows all of them in one.")
    place = [(label, labels.index(label)) for label in shown]
    return [
        Problem(visible(key), label, model.kind, model.parts[i])
        for key, model in models.items()
        for label, i in place
    ]


def only_problem(
    display: str,
    y_true: ArrayLike,
    y_prob: ArrayLike,
    name: str | None,
    rows: RowOptions,
    classes: Sequence[Any] | None,
    rule: BinRule | None = None,
) -> Problem:
    """The problem of a display of one model and one class."""
    for argument, value in (("y_true", y_true), ("y_prob", y_prob)):
        if isinstance(value, Mapping):
            raise InputError(
                argument, f"must be one model for {display}", "got a mapping of models"
            )
    (problem,) = one_problem(tallies(y_true, y_prob, name, rows, rule), classes, display)
    return problem


def one_problem(models: Models, classes: Sequence[Any] | None, display: str) -> list[Problem]:
    """One problem per model, for displays without panels for classes."""
    of_models = problems(models, classes)
    if len({problem.label for problem in of_models}) > 1:
        remedy = "Choose it with `classes=[…]`, or the top label with `kind='confidence'`."
        raise InputError("classes", f"must be one class for {display}", remedy=remedy)
    return of_models


def _checked_classes(labels: list[Any], classes: Sequence[Any]) -> list[Any]:
    """The classes to draw, one or several; any that is no label is an error."""
    if hasattr(classes, "__iter__") and not isinstance(classes, str):
        chosen = list(classes)
    else:
        chosen = [classes]
    for name in chosen:
        if name not in labels:
            names = ", ".join(map(repr, labels[:8]))
            if len(labels) > 8:
                names += ", …"
            raise InputError("classes", f"must be among {names}", f"got {name!r}")
    return chosen


def must_count(what: str, instead: str) -> InputError:
    """The error for weights that are not whole numbers."""
    demand = f"must be whole numbers that sum to less than 2³⁵ for {what}, which counts rows"
    return InputError("sample_weight", demand, remedy=f"Others need {instead}.")


class FromEstimator(Display):
    """A display that can be made from a fitted scikit-learn classifier."""

    _takes_name = True

    @classmethod
    def from_estimator(
        cls, estimator: Classifier, X: ArrayLike, y: ArrayLike, **options: Option
    ) -> Self:
        """The display of a fitted scikit-learn classifier.

        Parameters
        ----------
        estimator : classifier with `predict_proba`
            Two classes give the scores of the second one, or of `pos_label`; more, a matrix.
        X : array-like of shape (n, p)
            Features of rows that the estimator was not fitted on.
        y : array-like of shape (n,)
            The labels.
        **options
            Options of `from_predictions`. The default `name` is the class of the estimator.
        """
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                "estimator", "must have `predict_proba`", f"{type(estimator).__name__} does not"
            )
        y_prob = estimator.predict_proba(X)
        classes = list(estimator.classes_)
        if len(classes) != 2 or options.get("kind") is not None:
            options = {"labels": classes} | options
        else:
            event = classes[1] if options.get("pos_label") is None else options["pos_label"]
            if not isinstance(event, Hashable) or event not in classes:
                passed = " and ".join(map(repr, np.asarray(classes).tolist()))
                raise InputError(
                    "pos_label", f"must be a class of the estimator, {passed}", f"got {event!r}"
                )
            y_prob = y_prob[:, classes.index(event)]
            options = options | {"pos_label": event}
        name = {"name": type(estimator).__name__} if cls._takes_name else {}
        display: Any = cls
        return cast(Self, display.from_predictions(y, y_prob, **(name | options)))


def scale_of(data: list[Problem], scale: object) -> Scale:
    """The scale of the axes; 'auto' is logarithmic if linear axes would show a single point."""
    if checked_word(scale, "scale", ("auto", "linear", "log", "logit")) != "auto":
        return cast(Scale, scale)
    cells = [problem.cells for problem in data if problem.cells.size]
    total = sum(float(c.weight.sum()) for c in cells)
    rate = sum(float(c.events.sum()) for c in cells) / total
    if _share(cells, 0.0, 1.0, total) < 0.5 or _RARE < rate < 1 - _RARE:
        return "linear"
    if rate <= _RARE and _share(cells, -1.0, 0.1, total) >= 0.9:
        if _share(cells, 0.5, 2.0, total) < 0.001:
            return "log"
        return "logit"
    if rate >= 1 - _RARE and _share(cells, 0.9, 2.0, total) >= 0.9:
        return "logit"
    return "linear"


def bins_of(data: list[Problem], scale: Scale) -> BinRule:
    """Ten bins of equal width or, where most rows would lie in one of them, of equal mass."""
    tenths = [
        problem.tally.coarsen(EqualWidth(10)).parts[0].weight
        for problem in data
        if problem.cells.size
    ]
    shares = [float(weight.max() / weight.sum()) for weight in tenths]
    several = any(problem.cells.size > 2 for problem in data)
    crowded = scale != "linear" or (several and bool(shares) and min(shares) > _CROWDED)
    if crowded:
        return EqualMass(10)
    return EqualWidth(10)


def _share(cells: list[Cells], low: float, high: float, total: float) -> float:
    """Share of the weight with scores strictly between `low` and `high`."""
    return sum(float(c.weight[(c.score > low) & (c.score < high)].sum()) for c in cells) / total


def edges_of(
    data: list[Problem], scale: Scale, points: Sequence[Floats] = (), *, zoom: bool = False
) -> Floats:
    """Edges of the bars of a histogram; the first and the last are the ends of the axes.

    Axes that are not linear include `points`, linear ones all of [0, 1] or, with `zoom`, nearly all
    scores and rates. The outer bars include the scores beyond.
    """
    if scale == "linear":
        low, high = _zoom(data) if zoom else (0.0, 1.0)
        return np.asarray(low + (high - low) * (np.arange(_BARS + 1) / _BARS))
    known_ends = [end for problem in data if (end := _ends(problem.cells)) is not None]
    ends = np.array(known_ends or [(0.1, 0.1)])
    highest = float(np.nanmax(np.concatenate([1 - ends[:, 1], *points])))
    lowest = _decade(float(ends[:, 0].min()))
    if scale == "log":
        return np.geomspace(lowest, min(1.0, 10 * _decade(highest * 0.999)), _BARS + 1)
    high = _decade(float(ends[:, 1].min()))
    logit = np.linspace(np.log(lowest / (1 - lowest)), np.log((1 - high) / high), _BARS + 1)
    return np.asarray(1 / (1 + np.exp(-logit)))


def _zoom(data: list[Problem]) -> tuple[float, float]:
    """Ends that show 98 % of the scores of each problem, and the rates of tenths of its rows."""
    low = 1.0
    high = 0.0
    for cells in (problem.cells for problem in data if problem.cells.size):
        (tenths,) = Tally("binary", (cells,)).coarsen(EqualMass(10)).parts
        reached = np.cumsum(cells.weight, dtype=float)
        places = np.searchsorted(reached, np.array([0.01, 0.99]) * reached[-1])
        ends = [
            *cells.score[np.minimum(places, cells.size - 1)],
            np.nanmin(tenths.rate),
            np.nanmax(tenths.rate),
        ]
        low = min(low, *ends)
        high = max(high, *ends)
    return zoomed_ends(1 - _HEADROOM * (1 - float(low)), _HEADROOM * float(high))


def _ends(cells: Cells) -> tuple[float, float] | None:
    """The distances of the ends of the axes from 0 and 1.

    They show all but a thousandth of the scores.

    At least a tenth of one row among all rows, unless a tenth of the scores are nearer.
    """
    inside = (cells.score > 0) & (cells.score < 1)
    if not inside.any():
        return None
    score = cells.score[inside]
    total = np.cumsum(cells.weight[inside], dtype=float)
    tiny = 0.1 / max(1, int(cells.count.sum()))

    def quantile(share: float) -> float:
        place = np.searchsorted(total, share * total[-1])
        return float(score[min(place, score.size - 1)])

    low = min(max(quantile(0.001), tiny), quantile(0.1))
    high = min(max(1 - quantile(0.999), tiny), 1 - quantile(0.9))
    return low, high


def _decade(value: float) -> float:
    return float(10.0 ** np.clip(np.floor(np.log10(max(value, 1e-12))), -12, -1))


def histogram_of(cells: Cells, edges: Floats) -> Histogram:
    """The weight of the scores between edges; the outer bars include the scores beyond."""
    start = np.searchsorted(cells.score, edges)
    start[0] = 0
    start[-1] = cells.size
    weight: Any = np.zeros(edges.size - 1, dtype=cells.weight.dtype)
    filled = start[1:] > start[:-1]
    if filled.any():
        weight[filled] = segment_sums(cells.weight, start[:-1][filled])
    return Histogram(edges, weight)
