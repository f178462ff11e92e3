"""`route`: which answers a cheap model may give instead of a strong one, with a guarantee."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtri

from trueness._input.arguments import (
    check_flag,
    checked_fraction,
    checked_word,
    is_number,
)
from trueness._input.columns import column
from trueness._input.sample import refuse_shuffled_index
from trueness._input.segment_columns import read_by
from trueness._input.zero_one import finite_numbers, zero_one
from trueness._level import Level
from trueness._numerics.paired_proportions import noninferiority, score_limits, score_statistic
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.units import Units
from trueness._tally.clusters import read_units, warn_few_clusters
from trueness.errors import DroppedRowsWarning, InputError, dropped_rows, warn
from trueness.infer.decision._accept import candidate_ends
from trueness.infer.limits._limits import Limits
from trueness.infer.limits._paired_difference import clustered_difference
from trueness.results import Estimate, Route
from trueness.results._route import RouteCurve
from trueness.typing import ArrayLike, Columns, Floats, Ints, Missing

_DEFINITIONS = {
    "share": "Share of rows that the cheap model answers.",
    "saved": "Share of the strong model's cost that is saved.",
    "difference": "Accuracy of the mix less that of the strong model.",
    "random": "Accuracy of a mix by chance, with the same share, less that of the strong model.",
}


def route(
    cheap_correct: ArrayLike,
    confidence: ArrayLike,
    strong_correct: ArrayLike,
    *,
    loss: float = 0.01,
    level: float = 0.95,
    cost: tuple[float, float] = (1, 10),
    confidence_is_free: bool = False,
    cluster: ArrayLike | None = None,
    by: ArrayLike | None = None,
    missing: Missing = "raise",
) -> Route:
    r"""The rows that a cheap model may answer instead of a strong one, certified.

    The cheap model answers where its confidence reaches a threshold, the strong one elsewhere. The
    threshold is the lowest for which the mix is shown to lose at most `loss` of the strong model's
    accuracy. A threshold that is read off the same rows breaks that promise in a third of samples.

    Parameters
    ----------
    cheap_correct : array-like of shape (n,)
        Whether the cheap model is right: 0 and 1, or True and False.
    confidence : array-like of shape (n,)
        The confidence of the cheap model, or the score of a router: any finite number that rises
        with it.
    strong_correct : array-like of shape (n,)
        Whether the strong model is right about the same rows.
    loss : float, default 0.01
        What the mix may lose, as a share of all rows: 0.01 is one point of accuracy.
    level : float, default 0.95
        Confidence of the promise and of all limits.
    cost : tuple of float, default (1, 10)
        What an answer of the cheap and of the strong model costs, in any unit.
    confidence_is_free : bool, default False
        Whether the confidence is known before the cheap model is asked, as that of a router is.
        Otherwise the cheap model is paid for every row.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    by : array-like, dict of array-like or frame, optional
        Columns of segments. Each segment has its own route; their promises hold together.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows where an answer or the confidence is missing. If they are dropped, they
        must be missing at random.

    Returns
    -------
    Route
        Threshold, share of rows routed, cost saved, accuracy gained or lost, each with limits, and
        the same for every candidate threshold. Without a certified threshold `certified` is False,
        the strong model answers all, and `rows_needed` says how many rows would be needed.

    Notes
    -----
    The loss at threshold t is :math:`E[(S - C) 1\{c \ge t\}]` for strong and cheap answers S and C.
    Candidates are at most 40 quantiles of the confidence. From the highest down each is tested at 1
    − level until the first that fails: by Tango's score test of a paired difference, exactly where
    fewer than 200 rows disagree. With clusters by Student's t of their sums, whose variance is at
    least that of as many independent rows at the edge of the promise. ``docs/methods/decisions.md``
    has the steps.

    The promise holds for new rows drawn like these, and for two models. A route of segments is at
    the level 1 − (1 − level)/segments.

    References
    ----------
    T. Tango, Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design, Statistics in Medicine 17 (1998), 891-908. A. Angelopoulos, S. Bates, E.
    Candès, M. Jordan, L. Lei, Learn then test, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.beta(4, 1, 2_000)
    >>> cheap = rng.uniform(size=2_000) < confidence
    >>> strong = rng.uniform(size=2_000) < 0.93
    >>> found = tn.route(cheap, confidence, strong, loss=0.02)
    >>> found.certified, round(found.threshold, 3), round(found.share.value, 3)
    (True, 0.809, 0.575)
    >>> round(found.saved.value, 3), round(found.difference.value, 4), round(found.random.value, 4)
    (0.475, -0.008, -0.0736)
    """
    terms = _Terms(
        loss=checked_fraction(loss, "loss"),
        level=checked_fraction(level, "level"),
        cost=_checked_cost(cost),
        free=_checked_flag(confidence_is_free),
    )
    rows = _read(cheap_correct, confidence, strong_correct, cluster, missing)
    whole = _route_of(rows, terms)
    if by is None:
        return whole
    return _with_segments(whole, rows, terms, by, cheap_correct)


Share = TypeVar("Share", float, Floats)


@dataclass(frozen=True)
class _Terms:
    """What is promised, at which level, and the costs."""

    loss: float
    """How much accuracy the mix may lose."""
    level: float
    cost: tuple[float, float]
    """Of an answer of the cheap and of the strong model."""
    free: bool
    """Whether the confidence is known before the cheap model has been paid."""

    def saved(self, share: Share) -> Share:
        """The share of the strong model's cost that is saved if this share of rows is routed."""
        relative = self.cost[0] / self.cost[1]
        if self.free:
            return share * (1 - relative)
        return share - relative


@dataclass(frozen=True)
class _PairedRows:
    """Rows with the answers of both models, the most confident first."""

    confidence: Floats
    cheap: Floats
    strong: Floats
    units: Units
    position: Ints
    """The user's row numbers."""
    note: str = ""

    @property
    def n(self) -> int:
        return self.confidence.size

    def at(self, place: Ints) -> "_PairedRows":
        """Some of the rows, in the same order."""
        return _PairedRows(
            confidence=self.confidence[place],
            cheap=self.cheap[place],
            strong=self.strong[place],
            units=self.units.at(place).renumbered(),
            position=self.position[place],
            note=self.note,
        )


@dataclass(frozen=True)
class _Tested:
    """The candidate thresholds, from the highest down, with their rows, p-values and limits."""

    threshold: Floats
    routed: Floats
    """Rows that the cheap model would answer."""
    harmed: Floats
    """Those among them that only the strong model has right."""
    helped: Floats
    """Those among them that only the cheap model has right."""
    pvalue: Floats
    """Of the hypothesis that the mix loses as much as is allowed, or more."""
    low: Floats
    """Limits of the accuracy of the mix less that of the strong model."""
    high: Floats
    method: str
    """How the limits were found."""


class _Mix(NamedTuple):
    """What routing does, with limits; the fields are those of `Route`."""

    share: Estimate
    saved: Estimate
    difference: Estimate
    random: Estimate


def _checked_cost(cost: object) -> tuple[float, float]:
    """Two costs, that of the cheap model below that of the strong one; others are refused."""
    demand = "must be two numbers, that of the cheap model from 0 to below that of the strong one"
    if not isinstance(cost, Sequence | np.ndarray) or isinstance(cost, str) or len(cost) != 2:
        raise InputError("cost", demand, f"got {cost!r}")
    cheap, strong = cost
    if not (is_number(cheap) and is_number(strong) and 0 <= cheap < strong):
        raise InputError("cost", demand, f"got {cost!r}")
    return float(cheap), float(strong)


def _checked_flag(value: object) -> bool:
    check_flag(value, "confidence_is_free")
    return bool(value)


def _read(
    cheap_correct: ArrayLike,
    confidence: ArrayLike,
    strong_correct: ArrayLike,
    cluster: ArrayLike | None,
    missing: Missing,
) -> _PairedRows:
    """The rows, checked, those with the most confident answer of the cheap model first.

    The three columns must have the same length; `cluster` has the cluster of each row, or is None.
    With `missing="raise"` rows with a missing value are refused; with "drop" they are dropped with
    a warning and a note. No row at all is refused.
    """
    drop = checked_word(missing, "missing", ("raise", "drop")) == "drop"
    columns = {"confidence": confidence, "strong_correct": strong_correct}
    refuse_shuffled_index(cheap_correct, columns)
    cheap = zero_one(cheap_correct, "cheap_correct", gaps=drop)
    n = cheap.size
    score = finite_numbers(confidence, "confidence", n, gaps=drop)
    strong = zero_one(strong_correct, "strong_correct", n, gaps=drop)
    if n == 0:
        raise InputError("cheap_correct", "must have at least one row", "it is empty")
    kept = np.flatnonzero(~np.isnan(cheap + score + strong))
    if kept.size == 0:
        raise InputError("cheap_correct", "must have a row without missing values", "there is none")
    note = ""
    if kept.size < n:
        note = dropped_rows(n - kept.size, n)
        warn(note, DroppedRowsWarning)
        note += " They must be missing at random."
    order = kept[np.argsort(-score[kept], kind="stable")]
    units = read_units(cheap_correct, cluster, n, order)
    warn_few_clusters(units, None)
    return _PairedRows(
        confidence=score[order],
        cheap=cheap[order],
        strong=strong[order],
        units=units,
        position=order,
        note=note,
    )


def _with_segments(
    whole: Route, rows: _PairedRows, terms: _Terms, by: Columns, cheap_correct: ArrayLike
) -> Route:
    """The route of all rows with one for each segment; their promises hold for all together.

    `whole` is the route of all rows. `by` holds the columns of the segments, with a value for each
    row that was passed; `cheap_correct` says how many these are. With k segments the error rate of
    each is a k-th of the whole (Bonferroni).
    """
    kept = np.zeros(len(column(cheap_correct, "cheap_correct").values), bool)
    kept[rows.position] = True
    columns = read_by(by, cheap_correct, kept)
    place = np.searchsorted(np.flatnonzero(kept), rows.position)
    total = sum(len(segmented.values) for segmented in columns)
    shared = replace(terms, level=1 - (1 - terms.level) / total)
    segments = {}
    for segmented in columns:
        code = segmented.code[place]
        for i in range(len(segmented.values)):
            segment = rows.at(np.flatnonzero(code == i))
            segments[segmented.rule(i)] = _route_of(segment, shared)
    return replace(whole, segments=segments)


def _route_of(rows: _PairedRows, terms: _Terms) -> Route:
    """The route with the lowest threshold that is certified to lose less than is allowed.

    Rows with at least this confidence are answered by the cheap model ("routed"), the others by the
    strong one. Candidate thresholds are tested from the highest down until the first that fails. If
    the first fails already, nothing is routed: the threshold is nan, all shares are 0, and
    `rows_needed` says how many rows might be enough.
    """
    tested = _tested(rows, terms)
    passed = np.logical_and.accumulate(tested.pvalue <= Level(terms.level).alpha)
    certified = bool(passed.any())
    last = int(passed.sum()) - 1
    mix = _mix(tested, rows, terms, last) if certified else _nothing_routed(rows, terms)
    share = tested.routed / rows.n
    gap = rows.cheap - rows.strong
    return Route(
        threshold=float(tested.threshold[last]) if certified else math.nan,
        certified=certified,
        share=mix.share,
        saved=mix.saved,
        difference=mix.difference,
        random=mix.random,
        cheap_accuracy=float(rows.cheap.mean()),
        strong_accuracy=float(rows.strong.mean()),
        harmed=int(tested.harmed[last]) if certified else 0,
        helped=int(tested.helped[last]) if certified else 0,
        curve=RouteCurve(
            threshold=tested.threshold,
            share=share,
            saved=terms.saved(share),
            difference=(tested.helped - tested.harmed) / rows.n,
            low=tested.low,
            high=tested.high,
            random=share * float(gap.mean()),
            pvalue=tested.pvalue,
        ),
        loss=terms.loss,
        level=terms.level,
        cost=terms.cost,
        confidence_is_free=terms.free,
        n=rows.n,
        rows_needed=None if certified else _rows_needed(tested, rows, terms),
        note=rows.note,
    )


def _tested(rows: _PairedRows, terms: _Terms) -> _Tested:
    """Every candidate threshold with its rows, p-value and limits.

    A row is harmed if only the strong model answers it right, helped if only the cheap one does.
    The mix of both models loses (harmed − helped)/n in accuracy. The p-value, of a paired score
    test, shows that it loses less than `terms.loss`. With clusters the more cautious of that and of
    a t test of cluster sums is taken, for limits, too.
    """
    ends = candidate_ends(rows.confidence)
    is_harmed = (rows.strong > rows.cheap).astype(np.float64)
    is_helped = (rows.cheap > rows.strong).astype(np.float64)
    harmed = np.cumsum(is_harmed)[ends]
    helped = np.cumsum(is_helped)[ends]
    pvalue = noninferiority(harmed, helped, rows.n, terms.loss)
    low, high = score_limits(helped, harmed, rows.n, terms.level)
    method = "paired score"
    if rows.units.clustered:
        method = "paired score and t of clusters"
        order = np.arange(rows.n)
        for i, end in enumerate(ends):
            lost = np.where(order <= end, is_harmed - is_helped, 0.0)
            loss = clustered_difference(lost, rows.units, terms.loss, terms.level)
            pvalue[i] = np.maximum(pvalue[i], loss.pvalue)
            low[i] = np.minimum(low[i], -loss.high)
            high[i] = np.maximum(high[i], -loss.low)
    return _Tested(
        threshold=rows.confidence[ends],
        routed=(ends + 1).astype(np.float64),
        harmed=harmed,
        helped=helped,
        pvalue=pvalue,
        low=low,
        high=high,
        method=method,
    )


def _estimate(name: str, value: float, limits: Limits, rows: _PairedRows, level: float) -> Estimate:
    """The record of a number called `name`, with its limits and the definition of its name."""
    return Estimate(
        measure=name,
        value=value,
        low=limits.low,
        high=limits.high,
        level=level,
        method=limits.method,
        n=rows.n,
        definition=_DEFINITIONS[name],
    )


def _nothing_routed(rows: _PairedRows, terms: _Terms) -> _Mix:
    """The estimates if no threshold is certified: all are 0."""
    limits = Limits(0.0, 0.0, "nothing is routed")
    return _Mix(*(_estimate(name, 0.0, limits, rows, terms.level) for name in _Mix._fields))


def _share_limits(routed: float, rows: _PairedRows, level: float) -> Limits:
    """Clopper-Pearson limits of the share of rows that are routed, the first `routed` ones.

    With clusters, n is replaced by the number of independent rows of which the share would have the
    same variance, at most n. If all rows are routed, or none, it is the effective number of
    clusters, (Σ size)²/Σ size².
    """
    share = routed / rows.n
    units = float(rows.n)
    method = "Clopper-Pearson"
    if rows.units.clustered:
        inside = np.where(np.arange(rows.n) < routed, 1.0, 0.0) - share
        variance = rows.units.variance_of_sum(inside) / rows.n**2
        alone = share * (1 - share) / rows.n
        if variance > alone:
            units = rows.n * alone / variance
        elif alone == 0:
            units = rows.units.effective()
        method = "effective Clopper-Pearson"
    low, high = clopper_pearson(share * units, units, level)
    return Limits(float(low), float(high), method)


def _mix(tested: _Tested, rows: _PairedRows, terms: _Terms, last: int) -> _Mix:
    """The estimates if the rows of the candidate number `last` are routed.

    They are the share of rows that are routed, the cost that is saved, the accuracy of the mix less
    that of the strong model, and the same if as many rows were routed at random. The latter is the
    difference of both models over all rows, times the share.
    """
    routed = float(tested.routed[last])
    share = routed / rows.n
    shares = _share_limits(routed, rows, terms.level)
    saved = Limits(terms.saved(shares.low), terms.saved(shares.high), shares.method)
    difference = Limits(float(tested.low[last]), float(tested.high[last]), tested.method)
    # The last candidate is the lowest confidence, so it routes all rows.
    chance = Limits(share * float(tested.low[-1]), share * float(tested.high[-1]), tested.method)
    gained = float(tested.helped[last] - tested.harmed[last]) / rows.n
    gap = float((rows.cheap - rows.strong).mean())
    return _Mix(
        share=_estimate("share", share, shares, rows, terms.level),
        saved=_estimate("saved", terms.saved(share), saved, rows, terms.level),
        difference=_estimate("difference", gained, difference, rows, terms.level),
        random=_estimate("random", share * gap, chance, rows, terms.level),
    )


def _rows_needed(tested: _Tested, rows: _PairedRows, terms: _Terms) -> int | None:
    """Rows with which the highest candidate would be certified if rates stay as observed.

    `tested` has the candidates, the highest first. Rates of harmed and helped rows are those of
    this candidate or, if these look worse, those of all rows times the share it routes. The result
    is at least the number of rows that certify a candidate without any harmed row. With clusters it
    grows by their effective size. None if the mix loses as much as is allowed, or more, however
    many rows there are.
    """
    alpha = 1 - terms.level
    fewest = math.ceil(math.log(alpha) / math.log1p(-terms.loss))
    cluster_size = rows.n / rows.units.effective()
    share = float(tested.routed[0]) / rows.n
    observed = np.array([tested.harmed[0], tested.helped[0]]) / rows.n
    overall = np.array([tested.harmed[-1], tested.helped[-1]]) / rows.n * share
    harm, gain = min(observed, overall, key=lambda rates: float(rates[0] - rates[1])).tolist()
    if harm - gain >= terms.loss:
        return None
    # The statistic of n rows with these rates is √n times that of one row.
    statistic = float(score_statistic(harm, gain, 1, terms.loss))
    needed = math.ceil((float(ndtri(alpha)) / statistic) ** 2)
    return math.ceil(max(needed, fewest) * cluster_size)
