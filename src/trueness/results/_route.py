"""Two models behind one confidence: which answers the cheap one may give."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trueness._text.numbers import count, level_percent, number, percentage
from trueness._text.strings import align
from trueness.results._decisions import threshold_in_digits
from trueness.results._inference import Estimate
from trueness.results._record import Record, Table
from trueness.typing import Floats

# Shifts of the log-odds that a watch over a route looks for: harm that grows 1.2 to 11 times.
_HARM_GROWS = (0.2, 0.4, 0.6, 0.8, 1.2, 1.6, 2.4)


@dataclass(frozen=True)
class RouteCurve(Table):
    """The mix of two models at each candidate threshold, from the highest down."""

    _columns = ("threshold", "share", "saved", "difference", "low", "high", "random", "pvalue")

    threshold: Floats
    """The cheap model answers from this confidence on."""
    share: Floats
    """Share of rows that it answers."""
    saved: Floats
    """Share of the strong model's cost that is saved."""
    difference: Floats
    """Accuracy of the mix less that of the strong model."""
    low: Floats
    """Lower limit of the difference, at this threshold by itself."""
    high: Floats
    """Upper limit."""
    random: Floats
    """The difference if as many rows were routed at random."""
    pvalue: Floats
    """P-value of the hypothesis that the mix loses more than was allowed."""

    def __str__(self) -> str:
        table = [["from", "share", "saved", "points", "at random"]]
        columns = (self.threshold, self.share, self.saved, self.difference, self.random)
        for threshold, share, saved, difference, random in zip(*columns, strict=True):
            points = signed_points(difference), signed_points(random)
            table.append([number(threshold), f"{share:.3f}", f"{saved:.3f}", *points])
        return align(table, [True] * 5)


@dataclass(frozen=True)
class Route(Record):
    """Which rows a cheap model may answer instead of a strong one, certified."""

    _also = ("harm_allowed",)

    threshold: float
    """The cheap model answers from this confidence on; nan if no threshold can be certified."""
    certified: bool
    """Whether the promise holds for new rows with confidence `level`."""
    share: Estimate
    """Share of rows that the cheap model answers."""
    saved: Estimate
    """Share of the strong model's cost that is saved."""
    difference: Estimate
    """Accuracy of the mix less that of the strong model."""
    random: Estimate
    """The same difference if as many rows were routed at random."""
    cheap_accuracy: float
    """Share of rows that the cheap model answers rightly."""
    strong_accuracy: float
    """Share of rows that the strong model answers rightly."""
    harmed: int
    """Rows above the threshold where the strong model alone is right."""
    helped: int
    """Rows above the threshold where the cheap model alone is right."""
    curve: RouteCurve
    """The mix at each candidate threshold."""
    loss: float
    """The accuracy over all rows that the mix may lose."""
    level: float
    """Confidence of the promise, and of all limits."""
    cost: tuple[float, float]
    """What an answer of the cheap and of the strong model costs."""
    confidence_is_free: bool
    """Whether the confidence is known without asking the cheap model."""
    n: int
    """Rows."""
    rows_needed: int | None = None
    """If nothing is certified: rows with which a threshold would be; None if more would not
    help."""
    segments: Mapping[str, "Route"] = field(default_factory=dict, hash=False)
    """The route of each segment; the promises of all segments hold together."""
    note: str = ""
    """Rows that were left out, and what else to know."""

    @property
    def harm_allowed(self) -> float:
        """Share of the routed rows that may be harmed before the promise is broken.

        Harmed is a row that the strong model alone answers rightly. This holds if the cheap model
        alone is right as often as it was here; nan if nothing is routed.
        """
        if not self.certified:
            return math.nan
        return self.loss / self.share.value + self.helped / (self.share.value * self.n)

    def to_watch(self, *, alpha: float = 0.05) -> dict[str, Any]:
        """The arguments of a :class:`trueness.Watch` that sees the route break its promise.

        Ask both models about some of the routed rows, drawn at random, and enter whether the strong
        one alone was right, with `harm_allowed` as the score of each row. Only more harm than that
        raises the alarm.

        Parameters
        ----------
        alpha : float, default 0.05
            The largest probability of a false alarm, over all looks.

        Returns
        -------
        dict
            For ``tn.Watch(**route.to_watch())``. Without a certified threshold there is nothing to
            watch, and it is empty.
        """
        if not self.certified:
            return {}
        return {
            "alpha": alpha,
            "alternatives": [(shift, 1.0) for shift in _HARM_GROWS],
            "name": f"route from {number(self.threshold, 6)}",
        }

    def __str__(self) -> str:
        lines = [self._sentence()]
        lines += [f"{name}: {route._sentence()}" for name, route in self.segments.items()]
        return "\n".join(lines)

    def _sentence(self) -> str:
        """From where on the cheap model answers, and what that saves and costs.

        Without a certificate, why there is none: the strong model answers all.
        """
        allowed = f"at most {in_points(self.loss)} of accuracy lost"
        if not self.certified:
            return f"{self._refusal(allowed)} The strong model answers all."
        share = percentage(100 * self.share.value)
        saved = percentage(100 * self.saved.value)
        both = signed_points(self.difference.value)
        limits = f"{signed_points(self.difference.low)} to {signed_points(self.difference.high)}"
        chance = signed_points(self.random.value)
        return (
            f"The cheap model answers from {threshold_in_digits(self.threshold)} on: {share} of "
            f"rows, {saved} of the cost saved, {allowed}, certified at "
            f"{level_percent(self.level)}. Accuracy of both together, compared with the strong "
            f"model alone: {both} points ({limits}); if as many rows were routed at random: "
            f"{chance}."
        )

    def _refusal(self, allowed: str) -> str:
        more = "no threshold does so well here, so it is unknown how many would be needed"
        if self.rows_needed is not None:
            more = f"about {count(self.rows_needed, 'row')} would be needed"
        rows = f"{count(self.n, 'row')} at {level_percent(self.level)}"
        return f"No threshold can be certified for {allowed} with {rows}: {more}."


def in_points(share: float) -> str:
    """A share as percentage points.

    >>> in_points(0.01)
    '1 point'
    """
    points = number(100 * share, 2).rstrip("0").rstrip(".")
    if points == "1":
        return "1 point"
    return f"{points} points"


def signed_points(share: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * share:+.2f}".replace("-", "−")
