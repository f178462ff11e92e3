"""What the scores mean for decisions: net benefit or risk, what recalibration can gain, from where on to accept."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._report.charts import path, round_step, svg, tag
from trueness._report.records import Decisions, Summary
from trueness._report.subject import Notes, Options, collect_warnings
from trueness._tally.evidence import Evidence
from trueness._text.numbers import count, level_percent, number, percent, span
from trueness._text.table import Column, Table
from trueness.infer.decision._accept import threshold_of
from trueness.infer.decision._certificate import certificate_of
from trueness.infer.decision._net_benefit import benefit_of
from trueness.infer.decision._risk_coverage import risk_of
from trueness.results import NetBenefit, RiskCoverage

_ACCURACY, _RARE = 0.95, 0.05
_SHARES = np.arange(1, 101) / 100
_SHOWN = [4, 9, 19, 29, 39, 49, 59, 69, 79, 89]
_LEFT, _TOP, _WIDE, _HIGH = 68.0, 12.0, 380.0, 230.0
_NAMES = {True: ("threshold", "net benefit per row"), False: ("share of the answers accepted", "errors among them")}


def decisions(data: Evidence, summary: Summary, options: Options, *, top_label: bool) -> Decisions | None:
    """None if the scores have no skill, or these rows do not tell; and for weights that do not count rows."""
    if data.tally is None or not data.whole or summary.rate in (0, 1) or not options.intervals:
        return None
    level = options.level
    with collect_warnings(Notes()):
        if top_label:
            risk = risk_of(data, level, True)
            if risk.aurc.high >= risk.risk[-1]:  # type: ignore[union-attr,index]  # of one model
                return None
            return Decisions(threshold_of(data, _ACCURACY, level, "accuracy"), risk=_thinned(risk))
        # Thresholds far above the rate of rare events treat nobody.
        benefit = benefit_of({"": data}, _SHARES[:-1] * min(1.0, 10 * summary.rate / 0.99), level)
        ranks = summary.estimates.get("auc")
        if not benefit.useful().size or (ranks is not None and not ranks.low > 0.5):
            return None
        accept = threshold_of(data, _ACCURACY, level, "precision")
        return Decisions(accept, benefit=benefit, certificate=certificate_of(data, level))


def _thinned(risk: RiskCoverage) -> RiskCoverage:
    """At a hundred shares of the rows, or where the next larger share of tied rows ends."""
    shown: Any = np.unique(np.searchsorted(risk.coverage, _SHARES - 1e-12))  # type: ignore[arg-type]  # of one model
    fields: Any = {name: getattr(risk, name)[shown] for name in ("threshold", "coverage", "risk")}
    return replace(risk, **fields)


def decision_sentences(found: Decisions) -> tuple[str, ...]:
    """What follows, in plain sentences."""
    accept, level = found.accept, level_percent(found.accept.level)
    goal = level_percent(accept.accuracy)
    more = "more rows would not help" if accept.rows_needed is None else f"about {accept.rows_needed:,} rows are needed"
    held = f"at least {goal} of {{}} (certified at {level} confidence), {percent(accept.coverage)} of all"
    if found.benefit is None:
        risk: Any = found.risk
        half = int(np.searchsorted(risk.coverage, 0.5 - 1e-12))
        yes = f"Answers with a confidence of {number(accept.threshold)} or more may be accepted unseen: "
        yes += f"{held.format('them are right')} answers."
        return (
            f"Of the most confident {percent(risk.coverage[half], 0)} of the answers, {percent(risk.risk[half])} are "
            f"wrong; of all answers, {percent(risk.risk[-1])}. The mean over all shares (AURC) is "
            f"{number(risk.aurc.value)} ({span(risk.aurc.low, risk.aurc.high)} at {level} confidence).",
            yes if accept.certified else f"No confidence can be certified from which on {goal} are right: {more}.",
        )
    b, kappa = found.benefit, found.certificate
    assert kappa is not None
    useful = b.useful()
    gaps = ", with gaps" if ((b.threshold >= useful[0]) & (b.threshold <= useful[-1])).sum() > useful.size else ""
    some = [t for t in (0.1, 0.5, 0.9) if t <= b.threshold[-1]] or [float(b.threshold[49])]
    gains = ", ".join(f"{number(kappa.high / (1 - t))} at {percent(t)}" for t in some)
    return (
        f"Acting from a threshold on is better than acting on all rows and than acting on none for thresholds from "
        f"{percent(useful[0])} to {percent(useful[-1])}{gaps} ({level} confidence at each). At a threshold of "
        f"{percent(some[0])}, one event found is worth {(1 - some[0]) / some[0]:.0f} false alarms.",
        "No increasing map of the scores raises the net benefit by more than "
        f"{number(kappa.high)} / (1 − t) at any threshold t ({level} confidence): {gains}.",
        f"From a score of {number(accept.threshold)} on, {held.format('the rows have the event')} rows."
        if accept.certified
        else f"No score can be certified from which on {goal} of the rows have the event: {more}.",
    )


def decision_table(found: Decisions) -> Table:
    """The curve at a few thresholds, or at a few shares of the answers."""
    if found.benefit is None:
        risk: Any = found.risk
        rows = [risk.rows()[i] for i in np.unique(np.searchsorted(risk.coverage, np.arange(1, 11) / 10 - 1e-12))]
        titles = {"coverage": "Accepted", "threshold": "Confidence from", "risk": "Errors"}
        note = f"{count(found.accept.n, 'row')}; tied confidences are accepted together."
    else:
        rows = [found.benefit.rows()[i] for i in _SHOWN]
        titles = {"threshold": "Threshold", "value": "Net benefit", "low": "low", "high": "high"}
        titles |= {"band_low": "band, low", "band_high": "band, high", "treat_all": "Acting on all"}
        note = f"low, high: {level_percent(found.accept.level)} limits at one threshold; the band holds at all of them."
    columns = [Column(key, title, "number") for key, title in titles.items()]
    return Table(columns, rows, [note], name="decisions", caption="Decisions by the score", sortable=False)


def decision_chart(found: Decisions) -> str:
    """Net benefit with its bands, beside acting on all and on none; or risk against coverage."""
    x_name, y_name = _NAMES[found.benefit is not None]
    if isinstance(found.benefit, NetBenefit):
        b: Any = found.benefit
        x, y, low = b.threshold, b.value, -0.25 * max(b.value.max(), b.treat_all[0])
        end, high = float(x[-1]), 1.15 * max(b.value.max(), b.treat_all[0])
    else:
        b, risk = None, found.risk
        x, y, low = np.append(0.0, risk.coverage), np.append(risk.risk[:1], risk.risk), 0.0  # type: ignore[union-attr,index]  # of one model
        end, high = 1.0, 1.15 * float(y[x >= min(0.05, x[-1])].max())

    def places(xs: Any, ys: Any) -> list[tuple[float, float]]:
        up = (np.clip(ys, low, high) - low) / (high - low)
        return list(zip(_LEFT + _WIDE * np.asarray(xs) / end, _TOP + _HIGH * (1 - up), strict=True))

    inside = [*_frame(places, (low, high, end), (x_name, y_name))]
    if b is not None:
        for bottom, top in ((b.band_low, b.band_high), (b.low, b.high)):
            some = np.isfinite(bottom)
            outline = places(x[some], bottom[some]) + places(x[some], top[some])[::-1]
            inside.append(tag("polygon", points=path(outline), class_="confidence"))
        some = b.treat_all >= low
        inside.append(tag("polyline", points=path(places(x[some], b.treat_all[some])), class_="diagonal", fill="none"))
    inside.append(tag("polyline", points=path(places(x, y)), class_="curve flexible"))
    return svg(inside, _TOP + _HIGH + 48, "decisions", "img", f"{y_name} against {x_name}")


def _frame(places: Any, ends: Sequence[float], names: Sequence[str]) -> Iterable[str]:
    """Grid, ticks and names of the axes, and a line at 0."""
    low, high, end = ends
    for value in np.arange(0, end + 1e-9, round_step(end)):
        ((x, y),) = places([value], [low])
        yield tag("line", x1=x, x2=x, y1=_TOP, y2=y, class_="grid")
        yield tag("text", percent(value), x=x, y=y + 17, class_="tick", text_anchor="middle")
    step = round_step(high - low)
    for value in np.arange(np.ceil(low / step), high / step) * step:
        ((x, y),) = places([0], [value])
        yield tag("line", x1=x, x2=x + _WIDE, y1=y, y2=y, class_="reference" if abs(value) < step / 2 else "grid")
        yield tag("text", f"{round(float(value), 9) + 0.0:g}", x=x - 7, y=y + 4, class_="tick", text_anchor="end")
    middle = _TOP + _HIGH / 2
    yield tag("text", names[0], x=_LEFT + _WIDE / 2, y=_TOP + _HIGH + 38, class_="axis", text_anchor="middle")
    turned = f"rotate(-90 12 {middle:g})"
    yield tag("text", names[1], x=12, y=middle, class_="axis", text_anchor="middle", transform=turned)
