"""The verdict on one model, by the omnibus test and by joint tests of segments and classes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from trueness._level import Level
from trueness._tally.evidence import Evidence
from trueness.infer.group._segments import worst_class
from trueness.infer.plan._power import detection_power
from trueness.infer.test._equivalence import TOO_GOOD
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, Interval, PriorShift, Segments, Significance, Verdict
from trueness.results._segments import ClassRow
from trueness.results._verdict import Code, DetectionPower, Flags

FEW_ROWS = 20
"""With fewer rows no bin may hold two, so there is no confidence set, and a test has next to no
power."""
NEEDED = ("slope", "intercept", "observed_expected")
"""Measures whose limits a verdict needs."""
_SMALL = 0.01
_SMALL_AT_MOST = 0.04
_SMALL_SHARE = 0.2
_SMALL_RATIO = (0.9, 1.1)
_SMALL_SLOPE = (0.8, 1.25)
"""An error that was shown is small if the typical error is at most the first, its upper limit at
most the second and this share of the rarer label's, and the limits of observed/expected and of the
slope, where there are any, lie within these. Conventions, as wide as errors on which hardly any
decision depends."""


def judge(
    evidence: Evidence,
    test: Significance | None,
    interval: Interval | None,
    estimates: Mapping[str, Estimate],
    *,
    level: float,
    power: DetectionPower | None,
    prior_shift: PriorShift | None,
    segments: Segments | None,
    classes: Sequence[ClassRow] | None,
) -> Verdict:
    """The verdict, from the answers to the other questions.

    `test` is the test of calibration, `interval` that of the calibration error; both are None where
    they were not possible. `estimates` maps measures to estimates with limits. `power` is that of
    the test, `prior_shift` a change of the base rate, or None. `segments` and `classes` add flags
    of what is off in a part of the rows; `all_rows` is the verdict without these flags.
    """
    score, rate, _ = evidence.means
    verdict = Verdict(
        code="undetermined",
        n=evidence.n,
        level=level,
        alpha=Level(level).alpha,
        rejected=is_rejected(test, interval, level),
        rate=rate,
        mean_score=score,
        test=test,
        interval=interval,
        ece=estimates.get("ece"),
        slope=estimates.get("slope"),
        observed_expected=estimates.get("observed_expected"),
        auc=estimates.get("auc"),
        top_label=evidence.is_top_label,
        prior_shift=prior_shift,
        power=power,
        clustered=evidence.dependent,
        clusters=evidence.units.clusters,
        segmented=segments is not None,
        classes=0 if classes is None else len(classes),
    )
    if evidence.tally is not None:
        part = evidence.tally.parts[0]
        inside = inside_cells(part)
        verdict = replace(
            verdict,
            n_certain=inside.certain,
            n_certain_wrong=inside.wrong,
            scores=(float(part.score[0]), float(part.score[-1])),
        )
    if evidence.guessed_counts:
        verdict = replace(verdict, counted_rows=evidence.sums.n)
    flags = tuple(filter(None, (_flagged_segments(segments), _flagged_classes(classes))))
    flagged = replace(verdict, flags=flags)
    return replace(flagged, code=_code(flagged), all_rows=_code(verdict))


def is_rejected(test: Significance | None, interval: Interval | None, level: float) -> bool:
    """Whether calibration of all rows is rejected."""
    if test is not None:
        return test.pvalue <= Level(level).alpha
    # Fractional weights in clusters have no test, except those of events, but they have a set that
    # zero is tested for.
    return interval is not None and not interval.includes_zero


def joint_verdict(
    evidence: Evidence, verdicts: Mapping[str, Verdict], test: Significance | None, *, level: float
) -> Verdict:
    """The verdict on all labels, or classes, together; each was judged by Holm's method.

    `verdicts` are those of single labels by name, `test` is the joint test. Rate and mean score are
    means over labels. Interval and estimates are None.
    """
    flags = _flagged_labels(verdicts, test)
    code = _joint_code([verdict.code for verdict in verdicts.values()])
    scores = np.array([verdict.mean_score for verdict in verdicts.values()])
    rates = np.array([verdict.rate for verdict in verdicts.values()])
    return Verdict(
        code=code,
        n=evidence.n,
        counted_rows=evidence.sums.n if evidence.guessed_counts else 0,
        level=level,
        alpha=Level(level).alpha,
        rejected=test is not None and test.pvalue <= Level(level).alpha,
        rate=float(rates.mean()) if rates.size else math.nan,
        mean_score=float(scores.mean()) if scores.size else math.nan,
        test=test,
        flags=() if flags is None else (flags,),
        clustered=evidence.dependent,
        interval=None,
        ece=None,
        slope=None,
        observed_expected=None,
    )


_WORST_FIRST: tuple[Code, ...] = (
    "miscalibrated",
    "nearly-calibrated",
    "too-good",
    "undetermined",
    "too-few-rows",
    "no-evidence",
)


def _joint_code(codes: Sequence[Code]) -> Code:
    """The worst of the codes."""
    return next((code for code in _WORST_FIRST if code in codes), "undetermined")


def _flagged_labels(verdicts: Mapping[str, Verdict], test: Significance | None) -> Flags | None:
    """The labels that are miscalibrated, and the one whose rate is farthest from its mean score.

    None if no label is. `test` is the joint test of all labels.
    """
    bad = {name: verdict for name, verdict in verdicts.items() if verdict.rejected or verdict.flags}
    if not bad:
        return None
    worst = max(bad, key=lambda name: abs(bad[name].rate - bad[name].mean_score))
    verdict = bad[worst]
    ratio = verdict.rate / verdict.mean_score if verdict.mean_score > 0 else math.inf
    finding = "under-predicted" if ratio > 1 else "over-predicted"
    pvalue = math.nan if test is None else test.pvalue
    return Flags("label", len(bad), len(verdicts), worst, finding, ratio, pvalue)


def _code(v: Verdict) -> Code:
    """The state of a verdict, as a word.

    Where neither a test nor an interval was possible it is undetermined, or there are too few rows.
    """
    if v.rejected or v.flags:
        if is_small(v):
            return "nearly-calibrated"
        return "miscalibrated"
    if v.test is None and v.interval is None:
        if v.n < FEW_ROWS:
            return "too-few-rows"
        return "undetermined"
    if (
        v.test is not None
        and v.test.too_good is not None
        and v.test.too_good <= min(TOO_GOOD, v.alpha / 10)
    ):
        return "too-good"
    if v.power is not None and v.power.enough:
        return "no-evidence"
    return "too-few-rows"


def is_small(v: Verdict) -> bool:
    """Whether an error that was shown is so small that it does not matter.

    Estimate and upper limit of the calibration error must be small (the limit also beside the rate
    of the rarer outcome), and the limits of observed over expected and of the slope, where there
    are any, must lie near 1. Never if a part of the rows is flagged, or without an interval.
    """
    if v.flags or v.interval is None:
        return False
    share = _SMALL_SHARE * min(v.rate, 1 - v.rate)
    return (
        v.interval.estimate <= _SMALL
        and v.interval.high <= min(_SMALL_AT_MOST, share)
        and _lies_within(v.observed_expected, _SMALL_RATIO)
        and _lies_within(v.slope, _SMALL_SLOPE)
    )


def _lies_within(estimate: Estimate | None, ends: tuple[float, float]) -> bool:
    """Whether both limits do, if there are any."""
    if estimate is None or math.isnan(estimate.low) or math.isnan(estimate.high):
        return True
    return ends[0] <= estimate.low and estimate.high <= ends[1]


def power_of(evidence: Evidence, alpha: float, seed: int) -> DetectionPower:
    """The power to detect a miscalibration that matters, at significance level `alpha`.

    It is that of the effective number of rows: (Σw)²/Σw² with fractional weights, and divided by
    the design effect in clusters.
    """
    cells = evidence.cells
    effective = float(cells.weight.sum())
    clusters = math.inf
    if not cells.whole and cells.squares is not None:
        effective = effective**2 / float(cells.squares.sum())
    rows = evidence.in_clusters
    if rows is not None:
        clusters = rows.units.effective(rows.w if rows.counts else None)
        effective /= rows.units.design_effect(rows.w * rows.u, float(rows.squares @ rows.u**2))
    return detection_power(cells, alpha, effective, seed, clusters)


def _flagged_segments(segments: Segments | None) -> Flags | None:
    """How many segments are miscalibrated, with one of them as an example.

    It is the costliest of those that differ from all rows, or if none does, the costliest. None
    without segments, or if none is flagged.
    """
    if segments is None or not segments.flagged.any():
        return None
    differs = segments.flagged & segments.differs
    i = int(np.argmax(differs if differs.any() else segments.flagged))  # the costliest comes first
    name = f"{segments.column[i]} = {segments.value[i]}"
    ratio = float(segments.ratio[i])
    number = int(segments.flagged.sum())
    tested = None if np.isnan(segments.overall_pvalue).all() else int(differs.sum())
    return Flags(
        kind="segment",
        flagged=number,
        total=len(segments.value),
        worst=name,
        finding=segments.finding[i],
        ratio=ratio,
        pvalue=segments.joint_pvalue,
        own=tested,
        gap=float(segments.gap[i]),
        gap_low=float(segments.gap_low[i]),
        gap_high=float(segments.gap_high[i]),
        slope=float(segments.slope[i]),
        slope_low=float(segments.slope_low[i]),
        slope_high=float(segments.slope_high[i]),
    )


def _flagged_classes(classes: Sequence[ClassRow] | None) -> Flags | None:
    """How many classes are miscalibrated, and the worst; None if none is.

    A class that is off although its limits of observed over expected hold 1 is not called over- or
    under-predicted.
    """
    worst = worst_class(classes)
    if classes is None or worst is None:
        return None
    bad = [row for row in classes if row.flagged]
    ratio = worst.share / worst.score if worst.score > 0 else math.inf
    finding = "under-predicted" if ratio > 1 else "over-predicted"
    if worst.ratio_low <= 1 <= worst.ratio_high:  # off, though right on average
        finding = ""
    pvalue = min(row.adjusted_pvalue or 0.0 for row in bad)
    return Flags("class", len(bad), len(classes), worst.label, finding, ratio, pvalue)
