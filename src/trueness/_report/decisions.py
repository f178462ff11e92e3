"""Decisions on the page: what follows in sentences, and a chart of net benefit or of risk."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from trueness._report.svg import (
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
from trueness._text.numbers import level_percent, number, percent, span
from trueness.results import Estimate, NetBenefit
from trueness.results._decisions import single, where_useful
from trueness.results._page import Decisions
from trueness.typing import ArrayLike, Floats

Places: TypeAlias = Callable[[ArrayLike, ArrayLike], list[tuple[float, float]]]
_LEFT = 68.0
_TOP = 12.0
_WIDE = 380.0
_HIGH = 230.0


def decision_sentences(decisions: Decisions) -> tuple[str, ...]:
    """What follows, in plain sentences."""
    level = level_percent(decisions.accept.level)
    accept = str(decisions.accept)
    if decisions.benefit is None or decisions.certificate is None:
        risk = decisions.risk
        assert risk is not None
        coverage = single(risk.coverage)
        wrong = single(risk.risk)
        half = int(np.searchsorted(coverage, 0.5 - 1e-12))
        aurc = single(risk.aurc)
        risks = (
            f"Of the most confident {percent(coverage[half], 0)} of the answers, "
            f"{percent(wrong[half])} are wrong; of all answers, {percent(wrong[-1])}. "
            f"The mean over all shares (AURC) is {number(aurc.value)} "
            f"({span(aurc.low, aurc.high)} at {level} confidence)."
        )
        return risks, accept
    t = decisions.benefit.threshold
    useful = decisions.benefit.useful()
    example = 0.1 if t[-1] > 0.5 else t[49]
    threshold = float(useful[np.argmin(np.abs(useful - example))])
    worth = (1 - threshold) / threshold
    alarms = f"{worth:.2g}" if worth < 10 else f"{worth:.0f}"
    return (
        f"{where_useful(decisions.benefit)} ({level} confidence at each). At a threshold of "
        f"{percent(threshold)}, one event found is worth {alarms} false alarms.",
        _most_to_gain(decisions.benefit, decisions.certificate, threshold),
        accept,
    )


def _most_to_gain(benefit: NetBenefit, certificate: Estimate, threshold: float) -> str:
    """The bound on what a map adds at a threshold, or the gain of perfect decisions if less."""
    bound = certificate.high / (1 - threshold)
    now = float(single(benefit.value)[np.searchsorted(benefit.threshold, threshold)])
    gain_of_perfect = benefit.prevalence - now
    raised = f"Recalibration can raise the net benefit at {percent(threshold)} by at most"
    if bound > gain_of_perfect:
        return (
            f"{raised} {number(gain_of_perfect)} on these rows: perfect decisions would gain as "
            "much."
        )
    return f"{raised} {number(bound)} ({level_percent(certificate.level)} confidence)."


def decision_chart(decisions: Decisions) -> str:
    """Net benefit with its bands, beside acting on all and on none; or risk against coverage."""
    benefit = decisions.benefit
    if benefit is not None:
        x = benefit.threshold
        y = single(benefit.value)
        names = ("threshold", "net benefit per row")
        top = max(y.max(), benefit.treat_all[0])
        low = -0.25 * top
        high = 1.15 * top
        end = float(x[-1])
    else:
        risk = decisions.risk
        assert risk is not None
        names = ("share of the answers accepted", "errors among them")
        x = np.append(0.0, single(risk.coverage))
        wrong = single(risk.risk)
        y = np.append(wrong[0], wrong)
        low = 0.0
        high = 1.15 * float(y[x >= min(0.05, x[-1])].max())
        end = 1.0

    def places(xs: ArrayLike, ys: ArrayLike) -> list[tuple[float, float]]:
        up = (np.clip(ys, low, high) - low) / (high - low)
        return list(zip(_LEFT + _WIDE * np.asarray(xs) / end, _TOP + _HIGH * (1 - up), strict=True))

    def line(xs: ArrayLike, ys: ArrayLike) -> str:
        return tag("polyline", points=path(places(xs, ys)), class_="diagonal", fill="none")

    def band(bottom: Floats, above: Floats, kind: str) -> str:
        drawn = np.isfinite(bottom + above)
        return area(places(x[drawn], bottom[drawn]), places(x[drawn], above[drawn]), kind)

    inside = [*_frame(places, low, high, end, names)]
    if benefit is not None:
        # No band lies on another.
        limits = single(benefit.low), single(benefit.high)
        inside.append(band(single(benefit.band_low), limits[0], "confidence"))
        inside.append(band(limits[1], single(benefit.band_high), "confidence"))
        inside.append(band(*limits, "confidence inner"))
        drawn = benefit.treat_all >= low
        inside.append(line(x[drawn], benefit.treat_all[drawn]))
    elif decisions.accept.certified:
        inside.append(line([decisions.accept.coverage] * 2, [low, high]))
    inside.append(tag("polyline", points=path(places(x, y)), class_="curve flexible"))
    return svg(inside, _TOP + _HIGH + 48, "decisions", "img", " against ".join(names[::-1]))


def _frame(
    places: Places, low: float, high: float, end: float, names: tuple[str, str]
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
