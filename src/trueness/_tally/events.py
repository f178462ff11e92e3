"""`Events`: statements with a probability, in place of labels and scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from trueness._input.columns import column
from trueness.errors import InputError
from trueness.typing import ArrayLike, Floats, Ints, Option, RowOptions

EventKind: TypeAlias = Literal["interval", "quantiles", "horizon", "counts", "pairs"]
EventWeights: TypeAlias = Literal["frequency", "importance", "auto"]


@dataclass(frozen=True, eq=False, repr=False)
class Events:
    """Statements with a probability, and whether each was true.

    Made by :func:`trueness.events.interval` and its neighbours; takes the place of labels and
    scores in every function of rows.
    """

    kind: EventKind
    """What was stated."""
    event: NDArray[np.uint8]
    """1 where the statement was true."""
    p: Floats
    """The stated probabilities."""
    weight: Floats | None
    """The weight of each event; None if all count once."""
    cluster: Ints | None
    """The cluster of each event; None if events are independent."""
    words: str
    """What is stated, in words: ``90 % intervals``, ``risk within 5``."""
    n_input: int
    """Rows that were passed."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many rows do not count, by reason."""
    weight_type: EventWeights = "auto"
    """What the weights mean."""
    row: Ints | None = None
    """The input row of each event; None if each row is one event."""
    notes: tuple[str, ...] = ()
    """What was decided about the rows, in sentences."""
    levels: Floats | None = None
    """The levels of quantiles, or the only level of intervals."""
    below: float | None = None
    """For intervals: the share of outcomes below the lower end."""
    above: float | None = None
    """For intervals: the share of outcomes above the upper end."""
    mean_width: float | None = None
    """For intervals: the mean of upper − lower."""
    interval_score: float | None = None
    """For intervals: the mean interval score, width plus penalties; smaller is better."""
    strictly_below: Floats | None = None
    """For quantiles: the share of outcomes below the quantile of each level, ties left out."""
    horizon: float | None = None
    """For risks: the time by which the event was predicted."""

    @property
    def n(self) -> int:
        """Events."""
        return int(self.event.size)

    @property
    def largest_weight(self) -> float:
        """The largest weight; 1 without weights."""
        if self.weight is None:
            return 1.0
        return float(self.weight.max())

    @property
    def dependent(self) -> bool:
        """Whether events may depend on each other."""
        return self.cluster is not None

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.event, dtype=dtype)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        left_out = "".join(f", {count:,} {reason}" for reason, count in self.left_out.items())
        return f"Events({self.words}: {self.n_input:,} rows{left_out})"

    # ---- in place of labels and scores

    def spread(self, values: ArrayLike, name: str) -> ArrayLike:
        """A column with one entry per input row, as one with an entry per event."""
        if self.row is None:
            return values
        entries = column(values, name)
        if entries.values.shape[:1] != (self.n_input,):
            demand = f"must have one entry per row of the input ({self.n_input:,})"
            raise InputError(name, demand, f"got shape {entries.values.shape}")
        return entries.values[self.row]

    def in_clusters(self, cluster: ArrayLike | None) -> ArrayLike | None:
        """The clusters that were passed beside the events, or their own."""
        if cluster is None:
            return self.cluster
        return self.spread(cluster, "cluster")

    def as_rows(
        self, y_prob: ArrayLike | None, options: RowOptions, defaults: Mapping[str, Option]
    ) -> tuple[ArrayLike, ArrayLike, RowOptions]:
        """Labels, scores and options of rows; options that Events already answer are refused."""
        if y_prob is not None:
            demand = "must be left out when Events are passed: they hold the probabilities"
            raise InputError("y_prob", demand)
        for name, value in options.items():
            if name == "kind" and value in (None, "confidence", "classwise"):
                continue
            if name == "weight_type":
                self._check_weight_type(value)
                continue
            default = defaults.get(name)
            if value is not None and not (type(value) is type(default) and value == default):
                raise InputError(name, "describes rows", "Events already hold theirs")
        if self.weight is None:
            return self.event, self.p, {}
        weights: RowOptions = {"sample_weight": self.weight, "weight_type": self.weight_type}
        return self.event, self.p, weights

    def _check_weight_type(self, weight_type: object) -> None:
        """Raise for weights of another type than these."""
        if weight_type not in ("auto", self.weight_type):
            demand = f"must be {self.weight_type!r} for these Events, or be left out"
            raise InputError("weight_type", demand, f"got {weight_type!r}")


def clusters_of(y_true: ArrayLike, cluster: ArrayLike | None) -> ArrayLike | None:
    """The clusters that were passed, or those that Events hold."""
    if isinstance(y_true, Events):
        return y_true.in_clusters(cluster)
    return cluster


def events_of_models(
    y_true: ArrayLike, models: ArrayLike | None
) -> tuple[Any, dict[str, Any]] | None:
    """Events, or a dict of them by model, as labels and models; None for anything else."""
    if isinstance(y_true, Events):
        if models is not None and not isinstance(models, Mapping):
            return None
        names = [""] if models is None else list(models)
        if len(names) > 1:
            demand = "must be a dict of Events, by the names of the models"
            raise InputError("y_true", demand, f"got Events and {len(names)} models")
        return {names[0]: y_true}, {names[0]: None if models is None else models[names[0]]}
    if not isinstance(y_true, Mapping):
        return None
    kinds = [isinstance(value, Events) for value in y_true.values()]
    if not any(kinds):
        return None
    if not all(kinds):
        odd = list(y_true)[kinds.index(False)]
        raise InputError(
            "y_true", "must hold Events only, or labels only", f"{odd!r} has other values"
        )
    given_models = dict.fromkeys(y_true) if models is None else dict(models)
    if set(given_models) != set(y_true):
        remedy = "`tn.report` and `tn.compare` take a dict of Events; others take one at a time."
        got = f"got a dict of {len(y_true)}"
        raise InputError("y_true", "must be the Events of one model", got, remedy=remedy)
    _check_paired(y_true)
    return dict(y_true), given_models


def _check_paired(models: Mapping[Any, Events]) -> None:
    """Raise unless events of several models are of the same rows, with the same weights."""
    first_name, *names = models
    first = models[first_name]
    for name in names:
        other = models[name]
        got = f"{first_name!r} has {first!r} and {name!r} has {other!r}"
        if (other.kind, other.n_input, other.n) != (first.kind, first.n_input, first.n):
            raise InputError("y_true", "must hold Events of one kind, on the same rows", got)
        if not _same_array(first.row, other.row) or not _same_array(first.cluster, other.cluster):
            raise InputError("y_true", "must hold Events of the same rows and clusters", got)
        if not _same_array(first.weight, other.weight):
            remedy = "Make each with `strata=None`, or with one array of strata for all."
            got = f"those of {first_name!r} and {name!r} differ"
            if first.kind != "horizon":
                remedy = "Events of one model at a time have an `assess` of their own."
            demand = "must hold Events with the same weights"
            raise InputError("y_true", demand, got, remedy=remedy)


def _same_array(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)


def are_ranges(events: Events) -> bool:
    """Whether they are about intervals or quantiles, whose probabilities do not tell rows apart."""
    return events.kind in ("interval", "quantiles")
