"""What the scores mean for decisions: net benefit or risk, what recalibration can gain, from where on to accept."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._assess.notes import Notes, collect_warnings
from trueness._report.charts import area, path, round_step, svg, tag
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
    """None, and a note that says why, if the scores have no skill, these rows do not tell, or weights count no rows.

    Confidences of `answers` in a log have their risk in any case.
    """
    lacking = {
        "bins do not keep every score": data.tally is None,
        "weights are not whole numbers": not data.whole,
        "all labels are equal": summary.rate in (0, 1),
        "it needs intervals": not options.intervals,
    }
    why = next((reason for reason, holds in lacking.items() if holds), "")
    found = (
        None if why else _found(data, summary, options.level, top_label=top_label, answers=answers)
    )
    if found is None:
        notes.add(
            f"There is no section on decisions: {why or 'these rows do not show that scores help to decide'}."
        )
    return found


def _found(
    data: Evidence, summary: Summary, level: float, *, top_label: bool, answers: bool
) -> Decisions | None:
    """None if the scores have no skill, or these rows do not tell."""
    with collect_warnings(Notes()):
        if top_label or answers:
            risk: Any = risk_of(data, level, True)
            if risk.aurc.high >= risk.risk[-1] and not answers:
                return None
            shown = np.unique(
                np.searchsorted(risk.coverage, _SHARES - 1e-12)
            )  # tied rows are accepted together
            fields: Any = {
                name: getattr(risk, name)[shown] for name in ("threshold", "coverage", "risk")
            }
            return Decisions(
                threshold_of(data, _ACCURACY, level, "accuracy"), risk=replace(risk, **fields)
            )
        # Nobody would act at thresholds far above the rate of rare events.
        benefit = benefit_of({"": data}, _SHARES[:-1] * min(1.0, 10 * summary.rate / 0.99), level)
        ranks = summary.estimates.get("auc")
        if not benefit.useful().size or (ranks is not None and not ranks.low > 0.5):
            return None
        accept = threshold_of(data, _ACCURACY, level, "precision")
        return Decisions(accept, benefit=benefit, certificate=certificate_of(data, level))


def decision_sentences(found: Decisions) -> tuple[str, ...]:
    """What follows, in plain sentences."""
    level = level_percent(found.accept.level)
    accept = str(found.accept)
    if found.benefit is None or found.certificate is None:
        risk: Any = found.risk
        half = int(np.searchsorted(risk.coverage, 0.5 - 1e-12))
        area = risk.aurc
        return (
            f"Of the most confident {percent(risk.coverage[half], 0)} of the answers, {percent(risk.risk[half])} are "
            f"wrong; of all answers, {percent(risk.risk[-1])}. The mean over all shares (AURC) is "
            f"{number(area.value)} ({span(area.low, area.high)} at {level} confidence).",
            accept,
        )
    t = found.benefit.threshold
    most = found.certificate.high
    useful = found.benefit.useful()
    gaps = ", with gaps" if found.benefit.gaps() else ""
    example = 0.1 if t[-1] > 0.5 else t[49]
    one = float(useful[np.argmin(np.abs(useful - example))])
    worth = (1 - one) / one
    return (
        f"Using the scores with a threshold between {percent(useful[0])} and {percent(useful[-1])} beats acting on "
        f"everyone or on no one{gaps} ({level} confidence at each). At a threshold of "
        f"{percent(one)}, one event found is worth {worth:{'.2g' if worth < 10 else '.0f'}} false alarms.",
        f"No increasing map of the scores raises the net benefit by more than {number(most)} / (1 − t) at any "
        f"threshold t ({level} confidence): by {number(most / (1 - one))} at {percent(one)}.",
        accept,
    )


def decision_chart(found: Decisions) -> str:
    """Net benefit with its bands, beside acting on all and on none; or risk against coverage."""
    if found.benefit is not None:
        b: Any = found.benefit
        x = b.threshold
        y = b.value
        names = ("threshold", "net benefit per row")
        top = max(y.max(), b.treat_all[0])
        low = -0.25 * top
        high = 1.15 * top
        end = float(x[-1])
    else:
        b = None
        names = ("share of the answers accepted", "errors among them")
        risk: Any = found.risk
        x = np.append(0.0, risk.coverage)
        y = np.append(risk.risk[0], risk.risk)
        low = 0.0
        high = 1.15 * float(y[x >= min(0.05, x[-1])].max())
        end = 1.0

    def places(xs: Any, ys: Any) -> list[tuple[float, float]]:
        up = (np.clip(ys, low, high) - low) / (high - low)
        return list(zip(_LEFT + _WIDE * np.asarray(xs) / end, _TOP + _HIGH * (1 - up), strict=True))

    inside = [*_frame(places, low, high, end, names)]
    if b is not None:
        bands = (
            (b.band_low, b.low, ""),
            (b.high, b.band_high, ""),
            (b.low, b.high, " inner"),
        )  # none on another
        for bottom, above, kind in bands:
            some = np.isfinite(bottom + above)
            inside.append(
                area(
                    places(x[some], bottom[some]), places(x[some], above[some]), f"confidence{kind}"
                )
            )
        some = b.treat_all >= low
        inside.append(
            tag(
                "polyline",
                points=path(places(x[some], b.treat_all[some])),
                class_="diagonal",
                fill="none",
            )
        )
    elif found.accept.certified:
        at = places([found.accept.coverage] * 2, [low, high])
        inside.append(tag("polyline", points=path(at), class_="diagonal", fill="none"))
    inside.append(tag("polyline", points=path(places(x, y)), class_="curve flexible"))
    return svg(inside, _TOP + _HIGH + 48, "decisions", "img", " against ".join(names[::-1]))


def _frame(
    places: Any, low: float, high: float, end: float, names: tuple[str, str]
) -> Iterable[str]:
    """Grid, ticks and names of the axes, and a line at 0."""
    for value in np.arange(0, end + 1e-9, round_step(end)):
        ((x, y),) = places([value], [low])
        yield tag("line", x1=x, x2=x, y1=_TOP, y2=y, class_="grid")
        yield tag("text", percent(value), x=x, y=y + 17, class_="tick", text_anchor="middle")
    step = round_step(high - low)
    for k in range(int(np.ceil(low / step)), int(high / step) + 1):
        ((x, y),) = places([0], [k * step])
        yield tag("line", x1=x, x2=x + _WIDE, y1=y, y2=y, class_="grid" if k else "reference")
        yield tag(
            "text", f"{round(k * step, 9):g}", x=x - 7, y=y + 4, class_="tick", text_anchor="end"
        )
    middle = _TOP + _HIGH / 2
    yield tag(
        "text",
        names[0],
        x=_LEFT + _WIDE / 2,
        y=_TOP + _HIGH + 38,
        class_="axis",
        text_anchor="middle",
    )
    turned = f"rotate(-90 12 {middle:g})"
    yield tag(
        "text", names[1], x=12, y=middle, class_="axis", text_anchor="middle", transform=turned
    )
