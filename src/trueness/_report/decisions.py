"""What the scores mean for decisions: net benefit or risk, and a threshold to accept from."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._assess.notes import Notes, collect_warnings
from trueness._report.charts import (
    area,
    horizontal,
    path,
    round_step,
    side_title,
    svg,
    tag,
    text_at,
    vertical,
)
from trueness._report.records import Decisions, Summary
from trueness._report.subject import Options
from trueness._tally.evidence import Evidence
from trueness._text.numbers import level_percent, number, percent, span
from trueness.infer.decision._accept import threshold_of
from trueness.infer.decision._decide import certificate_of
from trueness.infer.decision._net_benefit import benefit_of
from trueness.infer.decision._risk_coverage import risk_of

_ACCURACY = 0.95
_SHARES = np.arange(1, 101) / 100
_LEFT = 68.0
_TOP = 12.0
_WIDE = 380.0
_HIGH = 230.0


def decisions(
    data: Evidence,
    summary: Summary,
    options: Options,
    notes: Notes,
    *,
    top_label: bool,
    answers: bool = False,
) -> Decisions | None:
    """None, and a note that says why, if the scores have no skill or these rows do not tell.

    Confidences of `answers` in a log have their risk in any case.
    """
    reason = _obstacle(data, summary, options)
    if not reason:
        with collect_warnings(Notes()):
            if top_label or answers:
                record = _risk_record(data, options.level, answers=answers)
            else:
                record = _benefit_record(data, summary, options.level)
        if record is not None:
            return record
        reason = "these rows do not show that scores help to decide"
    notes.add(f"There is no section on decisions: {reason}.")
    return None


def _obstacle(data: Evidence, summary: Summary, options: Options) -> str:
    """Why decisions cannot be judged; empty if they can."""
    if data.tally is None:
        return "bins do not keep every score"
    if not data.whole:
        return "weights do not count rows"
    if summary.rate in (0, 1):
        return "all labels are equal"
    if not options.intervals:
        return "it needs intervals"
    return ""


def _risk_record(data: Evidence, level: float, *, answers: bool) -> Decisions | None:
    """Risk against coverage in hundredths; None if the confidences have no skill."""
    risk: Any = risk_of(data, level, True)
    if risk.aurc.high >= risk.risk[-1] and not answers:
        return None
    # Tied rows are accepted together.
    shown = np.unique(np.searchsorted(risk.coverage, _SHARES - 1e-12))
    risk = replace(
        risk,
        threshold=risk.threshold[shown],
        coverage=risk.coverage[shown],
        risk=risk.risk[shown],
    )
    return Decisions(threshold_of(data, _ACCURACY, level, "accuracy"), risk=risk)


def _benefit_record(data: Evidence, summary: Summary, level: float) -> Decisions | None:
    """Net benefit and its certificate; None if no threshold is useful or the ranks are chance."""
    # Nobody would act at thresholds far above the rate of rare events.
    thresholds = _SHARES[:-1] * min(1.0, 10 * summary.rate / 0.99)
    benefit = benefit_of({"": data}, thresholds, level)
    ranks = summary.estimates.get("auc")
    if not benefit.useful().size or (ranks is not None and not ranks.low > 0.5):
        return None
    accept = threshold_of(data, _ACCURACY, level, "precision")
    return Decisions(accept, benefit=benefit, certificate=certificate_of(data, level))


def decision_sentences(decisions: Decisions) -> tuple[str, ...]:
    """What follows, in plain sentences."""
    level = level_percent(decisions.accept.level)
    accept = str(decisions.accept)
    if decisions.benefit is None or decisions.certificate is None:
        risk: Any = decisions.risk
        half = int(np.searchsorted(risk.coverage, 0.5 - 1e-12))
        aurc = risk.aurc
        risks = (
            f"Of the most confident {percent(risk.coverage[half], 0)} of the answers, "
            f"{percent(risk.risk[half])} are wrong; of all answers, {percent(risk.risk[-1])}. "
            f"The mean over all shares (AURC) is {number(aurc.value)} "
            f"({span(aurc.low, aurc.high)} at {level} confidence)."
        )
        return risks, accept
    t = decisions.benefit.threshold
    largest_gain = decisions.certificate.high
    useful = decisions.benefit.useful()
    gaps = ", with gaps" if decisions.benefit.gaps() else ""
    example = 0.1 if t[-1] > 0.5 else t[49]
    threshold = float(useful[np.argmin(np.abs(useful - example))])
    worth = (1 - threshold) / threshold
    alarms = f"{worth:.2g}" if worth < 10 else f"{worth:.0f}"
    return (
        f"Using the scores with a threshold between {percent(useful[0])} and {percent(useful[-1])} "
        f"beats acting on everyone or on no one{gaps} ({level} confidence at each). At a threshold "
        f"of {percent(threshold)}, one event found is worth {alarms} false alarms.",
        f"No increasing map of the scores raises the net benefit by more than "
        f"{number(largest_gain)} / (1 − t) at any threshold t ({level} confidence): by "
        f"{number(largest_gain / (1 - threshold))} at {percent(threshold)}.",
        accept,
    )


def decision_chart(decisions: Decisions) -> str:
    """Net benefit with its bands, beside acting on all and on none; or risk against coverage."""
    benefit = decisions.benefit
    if benefit is not None:
        x = benefit.threshold
        y: Any = benefit.value
        names = ("threshold", "net benefit per row")
        top = max(y.max(), benefit.treat_all[0])
        low = -0.25 * top
        high = 1.15 * top
        end = float(x[-1])
    else:
        risk: Any = decisions.risk
        names = ("share of the answers accepted", "errors among them")
        x = np.append(0.0, risk.coverage)
        y = np.append(risk.risk[0], risk.risk)
        low = 0.0
        high = 1.15 * float(y[x >= min(0.05, x[-1])].max())
        end = 1.0

    def places(xs: Any, ys: Any) -> list[tuple[float, float]]:
        up = (np.clip(ys, low, high) - low) / (high - low)
        return list(zip(_LEFT + _WIDE * np.asarray(xs) / end, _TOP + _HIGH * (1 - up), strict=True))

    def line(xs: Any, ys: Any) -> str:
        return tag("polyline", points=path(places(xs, ys)), class_="diagonal", fill="none")

    def band(bottom: Any, above: Any, kind: str) -> str:
        drawn = np.isfinite(bottom + above)
        return area(places(x[drawn], bottom[drawn]), places(x[drawn], above[drawn]), kind)

    inside = [*_frame(places, low, high, end, names)]
    if benefit is not None:
        # No band lies on another.
        inside.append(band(benefit.band_low, benefit.low, "confidence"))
        inside.append(band(benefit.high, benefit.band_high, "confidence"))
        inside.append(band(benefit.low, benefit.high, "confidence inner"))
        drawn = benefit.treat_all >= low
        inside.append(line(x[drawn], benefit.treat_all[drawn]))
    elif decisions.accept.certified:
        inside.append(line([decisions.accept.coverage] * 2, [low, high]))
    inside.append(tag("polyline", points=path(places(x, y)), class_="curve flexible"))
    return svg(inside, _TOP + _HIGH + 48, "decisions", "img", " against ".join(names[::-1]))


def _frame(
    places: Any, low: float, high: float, end: float, names: tuple[str, str]
) -> Iterable[str]:
    """Grid, ticks and names of the axes, and a line at 0."""
    for value in np.arange(0, end + 1e-9, round_step(end)):
        ((x, y),) = places([value], [low])
        yield vertical(x, _TOP, y, "grid")
        yield text_at(percent(value), x, y + 17, "tick", "middle")
    step = round_step(high - low)
    for k in range(int(np.ceil(low / step)), int(high / step) + 1):
        ((x, y),) = places([0], [k * step])
        yield horizontal(x, x + _WIDE, y, "grid" if k else "reference")
        yield text_at(f"{round(k * step, 9):g}", x - 7, y + 4, "tick", "end")
    middle = _TOP + _HIGH / 2
    yield text_at(names[0], _LEFT + _WIDE / 2, _TOP + _HIGH + 38, "axis", "middle")
    yield side_title(names[1], middle)
