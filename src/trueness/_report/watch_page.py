"""The page of a watch: is it still true? One file with the style of the report, and one picture."""

import math
from html import escape
from importlib import resources
from typing import Any

from trueness._text.numbers import total
from trueness._text.table import Column, Table
from trueness.plot import WatchDisplay

_INK = "#737f8f"
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}
.watch {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 12px; }}
.watch svg {{ width: 100%; height: auto; }}</style></head>
<body><div class="top"><h1>{title}</h1><p class="sub">{about}</p></div><main>
<section class="verdict {tone}"><p class="headline">{headline}</p><p class="certainty">{certainty}</p></section>
"""


def watch_page(watch: Any) -> str:
    """HTML that answers whether scores are still true, since when not, where, and what to do."""
    pictures = WatchDisplay.from_watch(watch).pictures(_INK)
    whole, *segments = watch.watched
    looks = watch.history[""].position
    head = _HEAD.format(
        title=escape(f"Watch of {watch.name}" if watch.name else "Watch"),
        style=resources.files("trueness._report").joinpath("templates", "report.css").read_text(encoding="utf-8"),
        about=escape(f"{len(looks):,} looks, {looks[0]} to {looks[-1]}; {total(whole.n)} rows"),
        tone="miscalibrated" if watch.alarm else "no-evidence",
        headline=escape(_headline(watch)),
        certainty=f"An alarm rings at evidence {watch.alarm_at:.3g}. A calibrated model raises one in at most "
        f"{100 * watch.alpha:.3g} % of all streams, however often one looks.",
    )
    parts = [head, "<h2>What to do</h2>", *(f"<p>{escape(text)}</p>" for text in _advice(watch))]
    parts += [
        "<h2>Evidence, and how far each period was off</h2>",
        f'<div class="watch">{"".join(pictures)}</div>',
    ]
    caption = "Evidence on a logarithmic scale, the line of the alarm and the estimated onset (dotted). "
    caption += "Bars: ordinary 95 % limits of the period alone; grey band: the shift, if constant, from all looks."
    parts.append(f'<p class="note">{caption} {escape(str(watch.shift or ""))}</p>')
    if segments:
        parts += ["<h2>Segments</h2>", _table(watch).to_html()]
    return "\n".join([*parts, "</main></body></html>\n"])


def _headline(watch: Any) -> str:
    if not watch.alarm:
        return "Still true, as far as these rows tell: no alarm."
    if not watch.direction:
        return "There was an alarm; by now the evidence has gone."
    found = _off(watch)
    where = (f"{f' in {one.segment}' if one.segment else ''}: {one.direction}, since {one.since}" for one in found[:3])
    return f"No longer true{';'.join(where)}{f'; {len(found) - 3} more below' if len(found) > 3 else ''}."


def _off(watch: Any) -> list[Any]:
    """All rows if their evidence is the clearest; otherwise the segments of the alarm, or else the clearest."""
    worst = max(watch.watched, key=lambda one: one.weight * one.evidence)
    return [one for one in watch.watched if one.listed and worst.segment] or [worst]


def _advice(watch: Any) -> list[str]:
    """What the direction of the error asks for."""
    if not watch.alarm or not watch.direction:
        return ["Nothing. Go on looking as often as you like."]
    refit = f"Fit a map on the rows since {watch.since} (`trueness fit`), apply it, then reset the watch."
    first = _off(watch)[0]
    if first.segment:
        refit += " The error is not that of all rows: each segment that is off needs a map of its own."
    elif first.direction.startswith("events"):
        return [
            "The events have become more or less frequent while the order of the scores may have stayed: "
            "`tn.PriorCorrection` moves all scores to the new rate if the slope of the periods below is near 1.",
            f"Otherwise: {refit[0].lower()}{refit[1:]}",
        ]
    if "contradict" in first.direction:
        return ["Scores of exactly 0 and 1 leave no room for the other label: clip them, or fit a map.", refit]
    return [refit]


def _table(watch: Any) -> Table:
    columns = [Column("segment", "segment", "name"), Column("n", "rows", "count"), Column("ratio", "O/E", "number")]
    columns += [Column("evidence", "evidence"), Column("since", "since"), Column("direction", "error")]
    columns += [Column("listed", "alarm")] if watch.alarms else []
    lines = [
        {
            **one.to_dict(),
            "ratio": one.observed / one.expected if one.expected else math.nan,
            "evidence": f"{one.evidence:.3g}",
            "since": one.since if one.direction else "",
            "listed": "alarm" if one.listed else "",
        }
        for one in watch.watched[1:]
    ]
    return Table(columns, lines)
