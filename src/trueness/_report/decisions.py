"""What the scores mean for decisions: net benefit or risk, what recalibration can gain, from where on to accept."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from trueness._report.charts import area, path, round_step, svg, tag
from trueness._text.numbers import level_percent, number, percent, span
from trueness.results._page import Decisions

_LEFT = 68.0
_TOP = 12.0
_WIDE = 380.0
_HIGH = 230.0


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
