"""A gate by a policy: every bound is a pair of tests, and everything that can fail shares one α.

Each bound has two hypotheses: that it is exceeded, and that it is kept. The gate fails if Holm's
method over all the first rejects any; it passes what is required if each of the second has p ≤ α
(docs/methods/verdict-and-gate.md).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from trueness._input.columns import column
from trueness._level import Level
from trueness._numerics.students_t import t_quantile
from trueness._numerics.units import Mean, Units
from trueness._tally.evidence import Evidence
from trueness.errors import InputError, quietly
from trueness.infer.decision._policy import Policy
from trueness.infer.test._equivalence import TOO_GOOD, margin, omnibus_of, too_good_of
from trueness.results._gate import Finding, Gate, Quantity
from trueness.results._verdict import FEWEST_CLUSTERS
from trueness.typing import ArrayLike, Bools, Columns, Floats

FEW_ROWS = 20
"""A slice of fewer rows is not tried, and a segment of fewer rows is not judged."""
_GROSS_FACTOR = 2.0
_GROSS_ERROR = 0.25
"""Limits that allow the bound times this factor, and an error of at least this, show nothing."""
_POWER = 0.9
_MOST_ROWS = 1e9


class Tests(NamedTuple):
    """A quantity, its one-sided limits, and the p-values of both hypotheses."""

    n: int
    estimate: float
    low: float
    high: float
    exceeds: float
    """Of the hypothesis that the bound is kept: small if it is shown to be exceeded."""
    keeps: float
    """Of the hypothesis that it is exceeded."""


@dataclass
class Hypothesis:
    """A bound of one subject, and whether it is exceeded and kept."""

    finding: Finding
    exceeds: Callable[[float], bool]
    """Whether the bound is shown to be exceeded at this error rate."""
    keeps: float = 1.0
    """The p-value for keeping the bound."""
    is_slice: bool = False
    is_exceeded: bool = False
    """Whether Holm's method has shown it to be exceeded."""


def holm(hypotheses: Sequence[Hypothesis], alpha: float) -> None:
    """Set `is_exceeded` of the hypotheses that Holm's method rejects at a joint error rate.

    In each round those left are tested at an equal share of the rate, until none is rejected.
    """
    left = list(hypotheses)
    while left:
        rate = alpha / len(left)
        rejected = [hypothesis for hypothesis in left if hypothesis.exceeds(rate)]
        for hypothesis in rejected:
            hypothesis.is_exceeded = True
        if not rejected:
            return
        left = [hypothesis for hypothesis in left if not hypothesis.is_exceeded]


# ---- mean gaps


class GapRows(NamedTuple):
    """Rows of one model: labels, scores, weights and clusters."""

    y: Floats
    p: Floats
    w: Floats
    units: Units
    by_residuals: bool
    """Whether the variance is that of residuals of rows or clusters, not of labels drawn from
    scores."""

    @classmethod
    def of(cls, evidence: Evidence) -> "GapRows":
        """The one score of each row; residuals give the variance unless rows are independent."""
        evidence.require_one("a policy for segments and slices")
        sample = evidence.sample
        y = np.asarray(sample.y, dtype=np.float64)
        p = np.asarray(sample.p, dtype=np.float64)
        w = np.ones(y.size) if sample.w is None else np.asarray(sample.w, dtype=np.float64)
        by_residuals = (
            evidence.dependent or evidence.weight_type == "importance" or not evidence.whole
        )
        return cls(y, p, w, evidence.units, by_residuals)

    def at(self, rows: Bools) -> "GapRows":
        """Some of the rows."""
        units = self.units.at(rows).renumbered()
        return GapRows(self.y[rows], self.p[rows], self.w[rows], units, self.by_residuals)

    @property
    def unequal_weight(self) -> Floats | None:
        """The weights; None if all are 1."""
        return self.w if (self.w != 1).any() else None


def gap_tests(rows: GapRows, bound: float, alpha: float) -> Tests:
    """Tests whether the mean gap, event rate minus mean score, is beyond ± `bound`, or within.

    They are score tests: the variance is that of labels drawn from scores that are wrong by
    `bound`, with a continuity correction of half an event. Rows in clusters or with sampling
    weights have Student's t tests of the mean residual instead. `exceeds` is the p-value that shows
    the gap to be beyond the bound, `keeps` that which shows it to be within. Limits are one-sided,
    each with the error rate `alpha`.
    """
    if rows.by_residuals:
        mean = rows.units.mean(rows.y - rows.p, rows.unequal_weight)
        return _t_tests(mean, rows.y.size, bound, alpha)
    total = float(rows.w.sum())
    unexpected = float(rows.w @ (rows.y - rows.p))
    estimate = unexpected / total
    sign = math.copysign(1.0, unexpected)
    same_side = _deviation(rows, sign * bound)
    other_side = _deviation(rows, -sign * bound)
    distance = abs(unexpected)
    most = total * bound
    exceeds = float(
        ndtr(-(distance - most - 0.5) / same_side) + ndtr(-(distance + most - 0.5) / same_side)
    )
    keeps = max(
        float(ndtr((distance - most + 0.5) / same_side)),
        float(ndtr(-(distance + most - 0.5) / other_side)),
    )
    half = float(ndtri(1 - alpha)) * _deviation(rows, float(np.clip(estimate, -1, 1))) / total
    return Tests(
        n=round(total),
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
        exceeds=min(1.0, exceeds),
        keeps=keeps,
    )


def _deviation(rows: GapRows, shift: float) -> float:
    """The standard deviation of the number of events if each score is wrong by `shift`."""
    shifted = np.clip(rows.p + shift, 0, 1)
    # Of scores of 0 and 1 it is 0.
    return max(math.sqrt(float(rows.w @ (shifted * (1 - shifted)))), 1e-12)


def _t_tests(mean: Mean, n: int, bound: float, alpha: float) -> Tests:
    """Student's t tests that a mean of `n` rows lies beyond ± the bound, and within it.

    `mean` has value, standard error and number of independent units (rows or clusters). `exceeds`
    adds up the tails beyond both ends of the bound; `keeps` is the larger p-value of two one-sided
    tests. Limits are one-sided at `alpha`. A single unit shows nothing: both p-values are 1, the
    limits infinite.
    """
    value = mean.value
    if mean.units < 2:
        return _no_tests(n, value)
    error = max(mean.error, 1e-12)  # residuals that are all equal have no error
    freedom = mean.units - 1
    distance = abs(value)
    exceeds = float(stdtr(freedom, -(distance - bound) / error))
    exceeds += float(stdtr(freedom, -(distance + bound) / error))
    keeps = max(
        float(stdtr(freedom, (distance - bound) / error)),
        float(stdtr(freedom, -(distance + bound) / error)),
    )
    half = float(t_quantile(1 - 2 * alpha, freedom)) * error
    return Tests(
        n=n,
        estimate=value,
        low=value - half,
        high=value + half,
        exceeds=min(1.0, exceeds),
        keeps=keeps,
    )


def _no_tests(n: int, value: float) -> Tests:
    """The tests of a value whose error is not known."""
    return Tests(n=n, estimate=value, low=-math.inf, high=math.inf, exceeds=1.0, keeps=1.0)


def rows_for_gap(rows: GapRows, bound: float, alpha: float) -> float:
    """Rows with which a segment without a gap is shown to keep the bound 9 times in 10.

    The formula is v (z₁₋ₐ + z₀.₉)² / bound², with the normal quantiles z, a = `alpha`, and the
    variance v = r(1 − r) of a label. r is the mean of event rate and mean score.
    """
    event_rate = float(np.average(rows.y, weights=rows.w))
    rate = (event_rate + float(np.average(rows.p, weights=rows.w))) / 2
    z = float(ndtri(1 - alpha) + ndtri(_POWER))
    return rate * (1 - rate) * (z / bound) ** 2


def baseline_tests(rows: GapRows, baseline: GapRows, bound: float, alpha: float) -> Tests:
    """Paired t tests of the mean Brier loss less that of a baseline, compared with a bound.

    `rows` and `baseline` are the same rows with the scores of the model and of the baseline.
    `exceeds` is the p-value that shows the mean difference to be above `bound`, `keeps` that which
    shows it to be below. Limits are one-sided, each with the error rate `alpha`. A single row or
    cluster shows nothing.
    """
    difference = (rows.p - rows.y) ** 2 - (baseline.p - baseline.y) ** 2
    mean = rows.units.mean(difference, rows.unequal_weight)
    n = rows.y.size
    if mean.units < 2:
        return _no_tests(n, mean.value)
    error = max(mean.error, 1e-15)  # differences that are all equal have no error
    freedom = mean.units - 1
    t = (mean.value - bound) / error
    half = float(t_quantile(1 - 2 * alpha, freedom)) * error
    return Tests(
        n=n,
        estimate=mean.value,
        low=mean.value - half,
        high=mean.value + half,
        exceeds=float(stdtr(freedom, -t)),
        keeps=float(stdtr(freedom, t)),
    )


# ---- hypotheses


class Subject(NamedTuple):
    """One model, and what a policy needs of it."""

    model: str
    evidence: Evidence
    baseline: Evidence | None


def policy_gate_of(
    subjects: Sequence[Subject],
    policy: Policy,
    data: Columns | None,
    y_true: ArrayLike,
    limits_of: Callable[..., Any],
    bounds: Sequence[Any],
) -> Gate:
    """Judge models by a policy: the gate with a finding for each bound of each model.

    `subjects` are the models with their rows, which were read from `y_true`. `data` holds the
    columns that the policy names. `bounds` are those of all rows, and `limits_of` gives the limits
    of one of them. All hypotheses of all models, including every segment and slice, share the error
    rate of the policy by Holm's method. Of the slices of a model only those that fail are reported
    or, if none does, the worst.
    """
    alpha = Level(policy.level).alpha
    hypotheses: list[Hypothesis] = []
    notes: dict[str, None] = {}
    for subject in subjects:
        tried = [*_of_whole(subject, policy, limits_of, bounds)]
        tried += _of_segments(subject, policy, data, y_true)
        slices, words = _of_slices(subject, policy, data, y_true)
        tried += slices
        tried += _of_baseline(subject, policy)
        clusters = few_clusters(subject.evidence)
        for hypothesis in tried:
            hypothesis.finding = replace(hypothesis.finding, few_clusters=clusters)
        hypotheses += tried
        notes |= dict.fromkeys([*words, *subject.evidence.notes])
    holm(hypotheses, alpha)
    findings = []
    tried_slices = []
    for hypothesis in hypotheses:
        if hypothesis.is_slice:
            tried_slices.append(hypothesis)
        elif hypothesis.finding.quantity != "labels" or hypothesis.is_exceeded:
            findings.append(_decided(hypothesis, policy, alpha))
    findings += _worst_slices(tried_slices, policy, alpha)
    return Gate(
        tuple(findings),
        policy.require,
        policy.level,
        tuple(notes),
        n=min(subject.evidence.n for subject in subjects),
        min_rows=policy.min_rows,
        tests=len(hypotheses),
    )


def _of_whole(
    subject: Subject, policy: Policy, limits_of: Callable[..., Any], bounds: Sequence[Any]
) -> Iterator[Hypothesis]:
    """The hypotheses of all rows of a model: one for each bound, and one for too good labels.

    A hypothesis has a finding, a function that says whether the bound is exceeded at an error rate,
    and the p-value that shows it to be kept. The latter is above the policy's error rate if the
    limits are not within the bound. Where there are no limits, neither can be shown. Too good are
    labels that agree with the scores better than chance allows, by the omnibus test; without that
    test there is no such hypothesis. `limits_of` gives the limits of one of the `bounds`.
    """
    evidence = subject.evidence
    alpha = Level(policy.level).alpha
    for bound in bounds:
        limits = limits_of(evidence, bound, policy.level, policy.require, policy.seed)
        finding = unknown_finding(
            model=subject.model,
            quantity=bound.quantity,
            bins=repr(bound.rule) if bound.quantity == "ece" else "",
            bound=bound.bound,
            n=evidence.sums.n,
            level=policy.level,
        )
        if limits is None or math.isnan(limits.low + limits.high):
            yield Hypothesis(finding, lambda _: False)
            continue
        kept = quietly(margin, evidence, bound.quantity, bound.bound, bound.rule)
        # The limits decide, as they do without a policy; the p-value is their inverse.
        low, high = finding.ends
        is_kept = low <= limits.low and limits.high <= high and kept.shown_by_ties <= bound.bound
        finding = replace(
            with_limits(finding, limits),
            outcome="not exceeded",
            pvalue=kept.pvalue,
            condition=kept.condition,
            shown_by_ties=kept.shown_by_ties if kept.shown_by_ties > bound.bound else 0.0,
        )
        exceeds = _exceeds_by_limits(evidence, bound, (low, high), limits_of, policy.seed)
        pvalue = kept.pvalue if is_kept else max(kept.pvalue, math.nextafter(alpha, 1))
        yield Hypothesis(finding, exceeds, pvalue)
    test = omnibus_of(evidence, policy.seed)
    tail = too_good_of(evidence, test)
    if tail is not None:
        finding = unknown_finding(
            model=subject.model,
            quantity="labels",
            bound=TOO_GOOD,
            n=evidence.n,
            level=policy.level,
        )
        finding = replace(finding, outcome="not exceeded", too_good=tail)
        yield Hypothesis(finding, lambda rate: tail <= min(rate, TOO_GOOD), 0.0)


def unknown_finding(
    *,
    group: str = "",
    model: str,
    quantity: Quantity,
    bins: str = "",
    bound: float,
    n: int,
    level: float,
) -> Finding:
    """The finding of a quantity that is not estimated, or not yet: its numbers are nan.

    `n` is the number of rows, `bound` how far the quantity may go.
    """
    return Finding(
        group=group,
        model=model,
        quantity=quantity,
        bins=bins,
        bound=bound,
        n=n,
        estimate=math.nan,
        low=math.nan,
        high=math.nan,
        level=level,
        outcome="unknown",
    )


class HasLimits(Protocol):
    """An estimate with its limits, and the number of rows."""

    @property
    def n(self) -> int: ...
    @property
    def estimate(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def with_limits(finding: Finding, limits: HasLimits) -> Finding:
    """The finding with an estimate, its limits and the number of rows."""
    return replace(finding, n=limits.n, estimate=limits.estimate, low=limits.low, high=limits.high)


def _exceeds_by_limits(
    evidence: Evidence,
    bound: object,
    ends: tuple[float, float],
    limits_of: Callable[..., Any],
    seed: int,
) -> Callable[[float], bool]:
    """A function of an error rate: whether limits at that rate lie beyond the ends of a bound."""
    low, high = ends

    def exceeds(rate: float) -> bool:
        limits = limits_of(evidence, bound, Level.of_alpha(rate).confidence, False, seed)
        return limits is not None and bool(limits.low > high or limits.high < low)

    return exceeds


def _of_segments(
    subject: Subject, policy: Policy, data: Columns | None, y_true: ArrayLike
) -> Iterator[Hypothesis]:
    """The gap of every segment that has rows; none without a bound for them."""
    if policy.segment_gap is None:
        return
    rows = GapRows.of(subject.evidence)
    columns = subject.evidence.columns(_named(data, policy.by, "by"), y_true)
    for segmented in columns:
        for code in range(len(segmented.values)):
            part = rows.at(segmented.code == code)
            if part.w.sum() > 0:
                yield _gap(subject, segmented.rule(code), part, policy.segment_gap, policy)


def _of_slices(
    subject: Subject, policy: Policy, data: Columns | None, y_true: ArrayLike
) -> tuple[list[Hypothesis], list[str]]:
    """The gap of every slice with 20 rows or more, as hypotheses, and notes on how many there are.

    A slice is a value of a column or a pair of values of two columns that the policy names in
    `columns`. Both lists are empty if the policy has no bound for slices. Without a slice of 20
    rows there is one hypothesis that is neither shown to be exceeded nor kept.
    """
    if policy.slice_gap is None:
        return [], []
    rows = GapRows.of(subject.evidence)
    named = _named(data, policy.columns, "columns")
    columns = subject.evidence.columns(named, y_true, 2, whole="measured")
    hypotheses = []
    small = 0
    for crossed in columns:
        for code in range(len(crossed.values)):
            part = rows.at(crossed.code == code)
            if not part.w.sum() >= FEW_ROWS:
                small += 1
                continue
            hypothesis = _gap(subject, crossed.rule(code), part, policy.slice_gap, policy)
            hypothesis.is_slice = True
            hypotheses.append(hypothesis)
    if not hypotheses:
        finding = unknown_finding(
            group="any slice",
            model=subject.model,
            quantity="gap",
            bound=policy.slice_gap,
            n=subject.evidence.n,
            level=policy.level,
        )
        hypotheses = [Hypothesis(finding, lambda _: False)]
        return hypotheses, [f"No slice has {FEW_ROWS} rows."]
    verb = "slice was" if len(hypotheses) == 1 else "slices were"
    tried = f"{len(hypotheses):,} {verb} tried"
    if small:
        return hypotheses, [f"{tried}; {small:,} of fewer than {FEW_ROWS} rows were not."]
    return hypotheses, [f"{tried}."]


def _gap(subject: Subject, name: str, rows: GapRows, bound: float, policy: Policy) -> Hypothesis:
    """The gap between event rate and mean score of some rows, called `name`, and its bound."""
    alpha = Level(policy.level).alpha
    tests = gap_tests(rows, bound, alpha)
    needed = rows_for_gap(rows, bound, alpha) * subject.evidence.n / max(tests.n, 1)
    return _tested(
        subject,
        group=name,
        quantity="gap",
        bound=bound,
        tests=tests,
        level=policy.level,
        needed=needed,
    )


def _of_baseline(subject: Subject, policy: Policy) -> Iterator[Hypothesis]:
    """The Brier score less that of the baseline; none without a baseline."""
    if subject.baseline is None:
        return
    rows = GapRows.of(subject.evidence)
    other = GapRows.of(subject.baseline)
    alpha = Level(policy.level).alpha
    tests = baseline_tests(rows, other, policy.margin, alpha)
    hypothesis = _tested(
        subject,
        group="",
        quantity="brier",
        bound=policy.margin,
        tests=tests,
        level=policy.level,
        needed=None,
    )
    hypothesis.finding = replace(hypothesis.finding, against=policy.baseline or "")
    yield hypothesis


def _tested(
    subject: Subject,
    *,
    group: str,
    quantity: Quantity,
    bound: float,
    tests: Tests,
    level: float,
    needed: float | None,
) -> Hypothesis:
    """The hypothesis of a bound, whose tests have been made; `needed` rows would decide it."""
    finding = unknown_finding(
        group=group,
        model=subject.model,
        quantity=quantity,
        bound=bound,
        n=tests.n,
        level=level,
    )
    finding = replace(
        with_limits(finding, tests),
        outcome="not exceeded",
        pvalue=tests.keeps,
        needed=in_round_numbers(needed),
    )
    return Hypothesis(finding, lambda rate: tests.exceeds <= rate, tests.keeps)


def _named(data: Columns | None, names: Iterable[str], key: str) -> dict[str, Any]:
    """The columns with these names, of a frame or a dict; a missing one is refused.

    `key` is the key of the policy that names them.
    """
    if data is None:
        remedy = "`data=` takes a frame, or a dict of columns."
        raise InputError("data", f"must hold the columns of {key!r} of the policy", remedy=remedy)
    present = list(data.keys() if isinstance(data, Mapping) else getattr(data, "columns", ()))
    for name in names:
        if name not in present:
            got = f"it has {', '.join(map(repr, present[:12])) or 'no columns'}"
            raise InputError("data", f"must hold the column {name!r} of {key!r} of the policy", got)
    return {name: data[name] for name in names}


def baseline_scores(data: Columns | None, name: str) -> ArrayLike:
    """The scores of the baseline."""
    return column(_named(data, [name], "baseline")[name], "data").values


# ---- outcomes


def _decided(hypothesis: Hypothesis, policy: Policy, alpha: float) -> Finding:
    """The finding of a hypothesis with its outcome, once Holm's method has run.

    In this order: labels that are too good; unknown without limits; exceeded; kept ("certified" if
    the policy requires that, else "not exceeded"). What is left is neither shown to be exceeded nor
    kept: "not certified" if that is required, else "unknown" if limits are too wide to show a gross
    error, or "not exceeded". P-values and rows needed stay only where a reader needs them.
    """
    finding = hypothesis.finding
    if finding.quantity == "labels":
        return replace(finding, outcome="too good")
    if finding.outcome == "unknown":
        return finding
    if hypothesis.is_exceeded:
        return replace(finding, outcome="exceeded", pvalue=None, needed=None)
    if hypothesis.keeps <= alpha:
        if policy.require:
            return replace(finding, outcome="certified", needed=None)
        return replace(finding, outcome="not exceeded", pvalue=None, needed=None)
    needed = None if finding.few_clusters else finding.needed or rows_needed(finding)
    finding = replace(finding, needed=needed)
    if policy.require:
        return replace(finding, outcome="not certified")
    if is_vague(finding):
        return replace(finding, outcome="unknown", pvalue=None)
    return replace(finding, outcome="not exceeded", pvalue=None, needed=None)


def is_vague(finding: Finding) -> bool:
    """Whether the rows could hardly have shown that a bound is grossly exceeded.

    For an error, the limits then reach beyond twice the bound and beyond a quarter; for O/E, they
    reach beyond its ends by a factor of more than 2. Fewer than 20 rows, or few clusters, are
    always vague; otherwise the comparison with a baseline is not.
    """
    if finding.n < FEW_ROWS or finding.few_clusters:
        return True
    if finding.quantity == "brier":
        return False
    low, high = finding.ends
    if finding.quantity == "oe":
        return finding.low < low / _GROSS_FACTOR or finding.high > high * _GROSS_FACTOR
    gross = max(finding.bound * _GROSS_FACTOR, _GROSS_ERROR)
    return finding.high > gross or (finding.quantity == "gap" and finding.low < -gross)


def _worst_slices(slices: list[Hypothesis], policy: Policy, alpha: float) -> list[Finding]:
    """For each model, the findings of the slices that fail or, if none does, of the worst slice.

    The worst is the one with the largest p-value for keeping the bound. If rows are needed to
    decide it, their number is that of the slice that needs most.
    """
    findings = []
    for model in dict.fromkeys(tried.finding.model for tried in slices):
        of_model = [tried for tried in slices if tried.finding.model == model]
        exceeded = [tried for tried in of_model if tried.is_exceeded]
        if exceeded:
            findings += [_decided(tried, policy, alpha) for tried in exceeded]
            continue
        worst = _decided(max(of_model, key=lambda tried: tried.keeps), policy, alpha)
        if worst.needed is not None:
            # The smallest slice needs the most rows.
            worst = replace(worst, needed=max(tried.finding.needed or 0 for tried in of_model))
        findings.append(worst)
    return findings


def few_clusters(evidence: Evidence) -> int:
    """The number of clusters, if no test by their signs reaches 0.05; otherwise 0."""
    return evidence.units.few(FEWEST_CLUSTERS)


def rows_needed(finding: Finding) -> int | None:
    """About how many rows would decide a finding, if its estimate is right; None if unknown.

    Limits are taken to shrink as 1/√n. Decided is an estimate outside the bound whose limits
    exclude the bound, or one inside whose limits lie within. The number includes the rows for a
    power of 90 %, and is rounded up to two digits. None without finite limits, and for too large a
    number.
    """
    low, high = finding.ends
    value = finding.estimate
    if math.isnan(value) or not math.isfinite(finding.low + finding.high):
        return None
    # An estimate that is the end of the bound would need infinitely many rows.
    if value > high:
        ratio = (value - finding.low) / max(value - high, 1e-12)
    elif value < low:
        ratio = (finding.high - value) / max(low - value, 1e-12)
    else:
        above = (finding.high - value) / max(high - value, 1e-12)
        below = (value - finding.low) / max(value - low, 1e-12) if math.isfinite(low) else 0.0
        ratio = max(above, below)
    if ratio <= 0:
        return None
    z = float(ndtri(1 - Level(finding.level).alpha))
    power = ((z + float(ndtri(_POWER))) / z) ** 2
    return in_round_numbers(finding.n * power * ratio**2)


def in_round_numbers(rows: float | None) -> int | None:
    """Two digits, rounded up; None for more rows than anybody has."""
    if rows is None or not rows <= _MOST_ROWS:
        return None
    if rows <= 100:
        return math.ceil(rows)
    unit: int = 10 ** (math.floor(math.log10(rows)) - 1)
    return math.ceil(rows / unit) * unit
