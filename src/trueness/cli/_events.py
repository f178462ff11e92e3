"""Options for other statements than the probability of a label: intervals, quantiles, risks."""

from __future__ import annotations  # the types of arrays, which help does not need

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import trueness as tn
from trueness.errors import InputError

OUTCOMES = ("outcome", "y", "actual", "observed", "target")
LOWERS = ("lower", "lo", "low")
UPPERS = ("upper", "hi", "high")
TIMES = ("followup", "time", "duration", "t")
EVENT_CODES = ("event", "status", "d")
RISKS = ("risk", "prob", "p")


@dataclass(frozen=True)
class Statements:
    """The columns of intervals, quantiles or risks, and how they are read."""

    kind: Literal["interval", "quantiles", "horizon"]
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

    def make(self, model: str, numbers: Mapping[str, Any]) -> tn.events.Events:
        """The events of one model."""
        import numpy as np

        outcome = numbers[self.outcome]
        columns = [numbers[name] for name in self.models[model]]
        if self.kind == "interval":
            return tn.events.interval(outcome, *columns, coverage=self.coverage)
        if self.kind == "quantiles":
            q = np.column_stack(columns)
            return tn.events.quantiles(outcome, q, levels=self.levels)
        followup = numbers[str(self.followup)]
        return tn.events.at_horizon(followup, outcome, columns[0], horizon=self.horizon)

    def arguments(self, model: str) -> dict[str, str]:
        """The columns by the names of arguments, for messages."""
        names = self.models[model]
        if self.kind == "interval":
            return {"y": self.outcome, "lower": names[0], "upper": names[1]}
        if self.kind == "quantiles":
            return {"y": self.outcome}
        return {"event": self.outcome, "followup": str(self.followup), "risk": names[0]}


def statements_of(
    names: Sequence[str], request: Any, guess: Callable[..., str], check: Callable[..., None]
) -> Statements | None:
    """What the options state; None for labels and scores.

    `guess` finds a column by its usual names, `check` refuses one that is not there.
    """
    stated = stated_kind(request)
    if stated is None:
        return None
    _refuse_labels(request)
    if stated == "horizon":
        return _horizon(names, request, guess, check)
    outcome = request.outcome
    if outcome is None:
        outcome = guess(names, OUTCOMES, "outcomes", "--outcome")
    check(names, outcome, "--outcome")
    if stated == "quantiles":
        levels, columns = _levels(request.quantiles)
        for column in columns:
            check(names, column, "--quantile")
        return Statements("quantiles", outcome, {"quantiles": columns}, levels=levels)
    lower = request.lower or (guess(names, LOWERS, "lower ends", "--lower"),)
    upper = request.upper or (guess(names, UPPERS, "upper ends", "--upper"),)
    if len(lower) != len(upper):
        got = f"got {len(lower)} and {len(upper)}"
        raise InputError("--lower", "must be given as often as `--upper`, in the same order", got)
    for option, columns in (("--lower", lower), ("--upper", upper)):
        for column in columns:
            check(names, column, option)
    pairs = zip(lower, upper, strict=True)
    models = {f"{low} to {high}": (low, high) for low, high in pairs}
    coverage = 0.9 if request.coverage is None else request.coverage
    return Statements("interval", outcome, models, coverage=coverage)


def stated_kind(request: Any) -> Literal["interval", "quantiles", "horizon"] | None:
    """Which options were typed; those of two kinds are refused."""
    kinds: list[Literal["interval", "quantiles", "horizon"]] = []
    if request.followup or request.event or request.horizon is not None:
        kinds.append("horizon")
    if request.quantiles:
        kinds.append("quantiles")
    if request.lower or request.upper or request.coverage is not None:
        kinds.append("interval")
    if len(kinds) > 1:
        got = f"got those of {' and '.join(kinds)}"
        raise InputError("", "Options of one kind of statement must be given", got)
    if kinds:
        return kinds[0]
    return None if request.outcome is None else "interval"


def _refuse_labels(request: Any) -> None:
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
    ):
        if value:
            demand = "is for labels and scores: leave it out"
            raise InputError(option, demand, "got intervals, quantiles or a horizon")


def _horizon(
    names: Sequence[str], request: Any, guess: Callable[..., str], check: Callable[..., None]
) -> Statements:
    if request.outcome is not None:
        raise InputError("--outcome", "is for intervals and quantiles; leave it out")
    if request.horizon is None:
        demand = "must be given with `--followup` and `--event`: the time of the prediction"
        raise InputError("--horizon", demand)
    followup = request.followup or guess(names, TIMES, "times of follow-up", "--followup")
    event = request.event or guess(names, EVENT_CODES, "what ended the follow-up", "--event")
    risks = request.probs or (guess(names, RISKS, "risks", "--prob"),)
    check(names, followup, "--followup")
    check(names, event, "--event")
    for risk in risks:
        check(names, risk, "--prob")
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
