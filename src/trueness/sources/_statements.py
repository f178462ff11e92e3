"""Other statements than the probability of a label: intervals, quantiles, risks by a horizon."""

from __future__ import annotations  # the types of arrays, which help does not need

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trueness.errors import InputError
from trueness.sources._names import Names
from trueness.sources._request import Request, StatedKind

if TYPE_CHECKING:
    from trueness.events import Events

_OUTCOMES = ("outcome", "y", "actual", "observed", "target")
_LOWERS = ("lower", "lo", "low")
_UPPERS = ("upper", "hi", "high")
_TIMES = ("followup", "time", "duration", "t")
_EVENT_CODES = ("event", "status", "d")
_RISKS = ("risk", "prob", "p")


@dataclass(frozen=True)
class Statements:
    """The columns of intervals, quantiles or risks, and how they are read."""

    kind: StatedKind
    outcome: str
    """The column of outcomes; of risks, that of what ended the follow-up."""
    models: Mapping[str, tuple[str, ...]]
    """The columns of each model: the two ends, the quantiles, or the risk."""
    coverage: float = 0.9
    levels: tuple[float, ...] = ()
    followup: str | None = None
    horizon: float = 0.0

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns to read as numbers, beside those of the models."""
        names = [self.outcome]
        for columns in self.models.values():
            names += columns
        if self.followup is not None:
            names.append(self.followup)
        return tuple(dict.fromkeys(names))

    def make(self, model: str, numbers: Mapping[str, Any]) -> Events:
        """The events of one model."""
        import numpy as np

        from trueness import events

        outcome = numbers[self.outcome]
        columns = [numbers[name] for name in self.models[model]]
        if self.kind == "interval":
            return events.interval(outcome, *columns, coverage=self.coverage)
        if self.kind == "quantiles":
            return events.quantiles(outcome, np.column_stack(columns), levels=self.levels)
        followup = numbers[str(self.followup)]
        return events.at_horizon(followup, outcome, columns[0], horizon=self.horizon)

    def arguments(self, model: str) -> dict[str, str]:
        """The columns by the names of arguments, for messages."""
        names = self.models[model]
        if self.kind == "interval":
            return {"y": self.outcome, "lower": names[0], "upper": names[1]}
        if self.kind == "quantiles":
            return {"y": self.outcome}
        return {"event": self.outcome, "followup": str(self.followup), "risk": names[0]}


def statements_of(names: Names, request: Request) -> Statements | None:
    """What the options state; None for labels and scores."""
    kind = request.stated_kind
    if kind is None:
        return None
    _refuse_labels(request)
    if kind == "horizon":
        return _horizon(names, request)
    outcome = request.outcome
    if outcome is None:
        outcome = names.guess(_OUTCOMES, "outcomes", "--outcome")
    names.check("--outcome", outcome)
    if kind == "quantiles":
        levels, columns = _levels(request.quantiles)
        names.check("--quantile", *columns)
        return Statements("quantiles", outcome, {"quantiles": columns}, levels=levels)
    lower = request.lower or (names.guess(_LOWERS, "lower ends", "--lower"),)
    upper = request.upper or (names.guess(_UPPERS, "upper ends", "--upper"),)
    if len(lower) != len(upper):
        got = f"got {len(lower)} and {len(upper)}"
        raise InputError("--lower", "must be given as often as `--upper`, in the same order", got)
    names.check("--lower", *lower)
    names.check("--upper", *upper)
    pairs = zip(lower, upper, strict=True)
    models = {f"{low} to {high}": (low, high) for low, high in pairs}
    coverage = 0.9 if request.coverage is None else request.coverage
    return Statements("interval", outcome, models, coverage=coverage)


def _refuse_labels(request: Request) -> None:
    """Raise for options of labels: outcomes or times take their place."""
    for option, value in (
        ("--label", request.label or request.own_labels),
        ("--weight", request.weight),
        ("--pos-label", request.pos_label),
        ("--labels", request.labels),
        ("--prob-columns", request.matrices),
        ("--from-logits", request.from_logits),
        ("--percent", request.percent),
        ("--clip-tolerance", request.clip_tolerance),
        ("--judge", request.judge),
        ("--model-column", request.model_column),
    ):
        if value:
            demand = "is for labels and scores: leave it out"
            raise InputError(option, demand, "got intervals, quantiles or a horizon")


def _horizon(names: Names, request: Request) -> Statements:
    """The columns of risks up to a horizon, with follow-up times and what ended them.

    Columns that are not named are guessed by their usual names. InputError if the horizon (the time
    of the prediction) is missing, or if `--outcome` is given, which belongs to intervals and
    quantiles.
    """
    if request.outcome is not None:
        raise InputError("--outcome", "is for intervals and quantiles; leave it out")
    if request.horizon is None:
        demand = "must be given with `--followup` and `--event`: the time of the prediction"
        raise InputError("--horizon", demand)
    followup = request.followup or names.guess(_TIMES, "times of follow-up", "--followup")
    event = request.event or names.guess(_EVENT_CODES, "what ended the follow-up", "--event")
    risks = request.probs or (names.guess(_RISKS, "risks", "--prob"),)
    names.check("--followup", followup)
    names.check("--event", event)
    names.check("--prob", *risks)
    models = {risk: (risk,) for risk in risks}
    return Statements("horizon", event, models, followup=followup, horizon=request.horizon)


def _levels(typed: Sequence[str]) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """The levels of quantiles, ascending, and their columns, from ``0.1=q10``."""
    pairs = []
    for text in typed:
        level, _, column = text.partition("=")
        try:
            value = float(level)
        except ValueError:
            value = -1.0
        if not 0 < value < 1 or not column:
            remedy = "For instance `--quantile 0.1=q10 --quantile 0.9=q90`."
            demand = "must be a level between 0 and 1 and its column"
            raise InputError("--quantile", demand, f"got {text!r}", remedy=remedy)
        pairs.append((value, column))
    pairs.sort()
    levels, columns = zip(*pairs, strict=True)
    return levels, columns
