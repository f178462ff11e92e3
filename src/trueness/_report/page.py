"""The report as one HTML page, and as a frame for notebooks; and the page of a watch."""

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from trueness._report import document
from trueness._report.answers import TERMS
from trueness._report.charts import blocks_chart, coverage_chart, curve_chart
from trueness._report.decisions import decision_chart, decision_sentences
from trueness._report.figures import (
    meter,
    models_charts,
    remedy_charts,
    segments_chart,
    slices_chart,
)
from trueness._report.reliability import reliability_chart
from trueness._report.remedies_sentences import (
    guarantee_sentence,
    prior_shift_sentence,
    remedies_sentence,
)
from trueness._report.series_picture import series_chart
from trueness._report.tables import INDEPENDENT, model_tables, report_tables
from trueness._text.numbers import level_percent, percentage, total
from trueness._text.strings import json_ready, uncapitalized, visible, visible_lines
from trueness._text.table import Column, Table
from trueness.results._first_screen import Answer
from trueness.results._page import Contents, Explorer, Model
from trueness.results._panel import text_on_page

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

    from trueness.plot._series import Watched
    from trueness.results import WatchedSegment

_FRAME_HEIGHT = 860
_NUMBER = r"−?\d[\d,]*(?:\.\d+)?"
# "From 0.3595 to 0.3594" is a change, not a range.
_RANGE = rf"(?<!from )(?<![\d.,−]){_NUMBER} to {_NUMBER}"


def page(contents: Contents) -> str:
    """One self-contained file with styles, script and sums; nothing is fetched."""
    from markupsafe import Markup

    script = part("report.js")
    several = len(contents.models) > 1
    charts = models_charts(contents.models) if several else []
    text: str = _template().render(
        contents=contents,
        several=several,
        chosen=document.worst_model(contents),
        models_charts=list(map(Markup, charts)),
        judged=list(document.what_was_judged(contents)),
        models=[_model(i, model, contents) for i, model in enumerate(contents.models)],
        tables=_in_html(report_tables(contents)),
        series_chart=contents.series and Markup(series_chart(contents.series)),
        plural=document.plural(contents),
        independent="" if contents.clusters is None else f" Computed {INDEPENDENT}.",
        circumstances=list(document.circumstances(contents)),
        style=Markup(part("report.css")),
        script=Markup(script),
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=Markup(_data(contents)),
    )
    return text


def _in_html(tables: Mapping[str, Table]) -> dict[str, "Markup"]:
    from markupsafe import Markup

    return {name: Markup(table.to_html()) for name, table in tables.items()}


def framed(contents: Contents) -> str:
    """The page in a frame, so that its styles and script do not affect the notebook."""
    style = f"width:100%;height:{_FRAME_HEIGHT}px;border:1px solid #8886;border-radius:6px"
    return (
        f'<iframe srcdoc="{escape(page(contents))}" sandbox="allow-scripts" '
        f'title="{escape(visible(contents.title))}" style="{style}"></iframe>'
    )


@cache
def part(name: str) -> str:
    return (
        resources.files("trueness._report").joinpath("templates", name).read_text(encoding="utf-8")
    )


def _template() -> "Template":
    return environment().get_template("report.html")


@cache
def environment() -> "Environment":
    """The templates and their filters."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    templates = Environment(
        loader=FunctionLoader(part),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "percent": level_percent,
        "visible": visible,
        "visible_lines": visible_lines,
        "with_code": _with_code,
    }
    return templates


def _with_code(text: str) -> "Markup":
    """A note as HTML, with what stands between backticks as code."""
    from markupsafe import Markup

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(visible(text))))


def _model(i: int, model: Model, contents: Contents) -> dict[str, Any]:
    """The variables of the template for one model."""
    from markupsafe import Markup

    first = model.explorers[0]
    tables = model_tables(model, contents)
    heads = document.headings(contents)
    explained = set[str]()
    sections = [key for key in tables if key not in ("blocks", "top_k", "summary_more")]
    if model.decisions is not None:
        sections.append("decisions")
    guarantee = ""
    if model.remedies is not None:
        guarantee = guarantee_sentence(model.remedies)
    # Terms are explained where they first occur, so the order of these calls matters.
    headline = _marked_up(model.verdict.headline, explained)
    certainty = _marked_up(model.verdict.evidence, explained)
    answers = [_answer(answer, explained, f"m{i}", heads) for answer in model.answers.values()]
    return {
        "id": f"m{i}",
        "model": model,
        "p": model.verdict.pvalue,
        "error": model.verdict.error_in_short,
        "headline": headline,
        "certainty": certainty,
        "answers": answers,
        "heads": heads,
        "links": [(f"m{i}-{key}", heads[key]) for key in sections],
        "overview": Markup(_overview(model)),
        "statement": document.coverage_caption(model),
        "tables": _in_html(tables),
        "tce": percentage(model.summary.tce),
        "tce_floor": _tce_floor(model),
        "worst": document.worst_sentence(model, tables["bins"]),
        "blocks_chart": model.blocks and Markup(blocks_chart(model.blocks, first)),
        "panel_text": _panel_text(model),
        "curve_chart": model.curve and Markup(curve_chart(model.curve, first)),
        "segments_chart": Markup(segments_chart(model)),
        "slices_chart": Markup(slices_chart(model)),
        "fix_charts": {name: Markup(chart) for name, chart in remedy_charts(model).items()},
        "decisions": model.decisions and decision_sentences(model.decisions),
        "decision_chart": model.decisions and Markup(decision_chart(model.decisions)),
        "shift": prior_shift_sentence(model),
        "fix": remedies_sentence(model),
        "guarantee": guarantee,
    }


def _tce_floor(model: Model) -> str:
    """The end of a sentence: the TCE of a calibrated model; empty if it is not known."""
    estimate = model.summary.estimates.get("tce")
    if estimate is None or math.isnan(estimate.floor):
        return ""
    # Where rarely all scores are rejected and else none, the mean says less than the quantile.
    if estimate.floor_high < estimate.floor:
        level = level_percent(estimate.level)
        highest = percentage(estimate.floor_high)
        return f"; of a calibrated model, up to {highest} with probability {level}"
    return f"; of a calibrated model, about {percentage(estimate.floor)}"


def _overview(model: Model) -> str:
    """The first picture: of intervals and quantiles, what was observed against what was stated."""
    if model.coverage is not None:
        return coverage_chart(model.coverage, model.level_histogram)
    return reliability_chart(model.picture, model.explorers[0])


def _panel_text(model: Model) -> str:
    """The panel as text for a paper; empty without one."""
    panel = model.panel
    if panel is None or model.coverage is not None:
        return ""
    text = text_on_page(
        panel,
        curve=model.curve is not None,
        segments=model.segments is not None,
        remedies=model.remedies is not None,
    )
    return _unwrapped(text)


def _unwrapped(text: str) -> str:
    """Paragraphs in one line each, for a box of any width.

    The items of a list stay lines of their own.
    """
    paragraphs = []
    for paragraph in text.split("\n\n"):
        is_list = "\n- " in f"\n{paragraph}"
        paragraphs.append(paragraph.replace("\n  " if is_list else "\n", " "))
    return "\n\n".join(paragraphs)


def _answer(
    answer: Answer, explained: set[str], place: str, heads: Mapping[str, str]
) -> dict[str, Any]:
    """The variables of the template for one answer; a term is explained where it first occurs."""
    from markupsafe import Markup

    has_meter = math.isfinite(answer.numbers.get("chance_high", math.nan))
    return {
        "question": answer.question,
        "phrase": _marked_up(answer.phrase, explained),
        "detail": _marked_up(answer.detail, explained),
        "command": answer.command,
        "links": [(f"{place}-{key}", heads[key]) for key in answer.sections],
        "meter": Markup(meter(answer.numbers)) if has_meter else "",
    }


def _marked_up(text: str, explained: set[str]) -> "Markup":
    """Text as HTML: ranges of numbers stand out, and terms carry their explanation."""
    from markupsafe import Markup

    def explain(match: re.Match[str]) -> str:
        term = match[0]
        if term in explained:
            return term
        explained.add(term)
        return f'<span class="term" tabindex="0" title="{escape(TERMS[term])}">{term}</span>'

    html = re.sub(_RANGE, r"<strong>\g<0></strong>", escape(visible(text)))
    html = re.sub(rf"\b(?:{'|'.join(map(re.escape, TERMS))})\b", explain, html)
    # No line ends between a number and its percent sign.
    return Markup(re.sub(r"(?<=\d)((?:</strong>)?) %", "\\1\u00a0%", html))


def _data(contents: Contents) -> str:
    """The sums that the script reads, as JSON that cannot close its element."""
    models = []
    for model in contents.models:
        b = model.picture.bins  # the band and the flags of the first picture
        band = None
        if b.band:
            ends = {"low": b.low.round(6), "high": b.high.round(6), "outside": b.outside}
            band = json_ready(ends)
        models.append({"views": list(map(_view, model.explorers)), "band": band})
    data = {
        "models": models,
        "level": level_percent(contents.settings.level),
        "offered": contents.settings.offered,
    }
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _view(explorer: Explorer) -> dict[str, Any]:
    """What the page's script knows of a picture.

    What equals a number that it has already is None.
    """
    view = json_ready(explorer)
    view["name"] = visible(explorer.name)
    if explorer.weight == explorer.n:  # the script then takes n
        view["weight"] = None
    if explorer.near is explorer.whole:
        view["near"] = None
    return view


_INK = "#737f8f"
_WATCH = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">\
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}
.watch {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 12px; }}
.watch svg {{ width: 100%; height: auto; }}</style></head>
<body><div class="top"><h1>{title}</h1><p class="sub">{about}</p></div><main>
<section class="verdict {tone}"><p class="headline">{headline}</p>\
<p class="certainty">{certainty}</p></section>
"""


def watch_page(watch: "Watched") -> str:
    """HTML that answers whether scores are still true, since when not, where, and what to do."""
    from trueness.plot._series import watch_pictures  # reports draw their own pictures

    pictures = watch_pictures(watch, _INK)
    whole, *segments = watch.watched
    looks = watch.history[""].position
    head = _WATCH.format(
        title=escape(f"Watch of {watch.name}" if watch.name else "Watch"),
        style=part("report.css"),
        about=escape(f"{len(looks):,} looks, {looks[0]} to {looks[-1]}; {total(whole.n)} rows"),
        tone="miscalibrated" if watch.alarm else "no-evidence",
        headline=escape(_watch_headline(watch)),
        certainty=(
            f"An alarm rings at evidence {watch.alarm_at:.3g}. A calibrated model raises one in "
            f"at most {level_percent(watch.alpha)} of all streams, however often one looks."
        ),
    )
    parts = [head, "<h2>What to do</h2>", *(f"<p>{escape(text)}</p>" for text in _advice(watch))]
    caption = (
        "Evidence on a logarithmic scale, the line of the alarm and the estimated onset (dotted). "
    )
    caption += (
        "Bars: ordinary 95 % limits of the period alone; grey band: the shift, if constant, from "
        "all looks."
    )
    parts += [
        "<h2>Evidence, and how far each period was off</h2>",
        f'<div class="watch">{"".join(pictures)}</div>',
    ]
    parts.append(f'<p class="note">{caption} {escape(str(watch.shift or ""))}</p>')
    if segments:
        parts += ["<h2>Segments</h2>", _watch_table(watch).to_html()]
    return "\n".join([*parts, "</main></body></html>\n"])


def _watch_headline(watch: "Watched") -> str:
    """The state of a watch in a sentence: no alarm, a past alarm, or what is off now."""
    if not watch.alarm:
        return "Still true, as far as these rows tell: no alarm."
    if not watch.direction:
        return "There was an alarm; by now the evidence has gone."
    wrong = _off(watch)
    places = []
    for series in wrong[:3]:
        where = f" in {series.segment}" if series.segment else ""
        places.append(f"{where}: {series.direction}, since {series.since}")
    if len(wrong) > 3:
        places.append(f" {len(wrong) - 3} more below")
    return f"No longer true{';'.join(places)}."


def _off(watch: "Watched") -> list["WatchedSegment"]:
    """All rows if their evidence is the clearest.

    Otherwise the segments of the alarm, or else the clearest.
    """
    worst = max(watch.watched, key=lambda watched: watched.weight * watched.evidence)
    segments = [alarm for alarm in watch.alarms if alarm.segment]
    if segments and worst.segment:
        return segments
    return [worst]


def _advice(watch: "Watched") -> list[str]:
    """What the direction of the error asks for."""
    if not watch.alarm or not watch.direction:
        return ["Nothing. Go on looking as often as you like."]
    refit = (
        f"Fit a map on the rows since {watch.since} (`trueness fit`), apply it, then reset the "
        "watch."
    )
    first = _off(watch)[0]
    if first.segment:
        refit += (
            " The error is not that of all rows: each segment that is off needs a map of its own."
        )
    elif first.direction.startswith("events"):
        return [
            "The events have become more or less frequent while the order of the scores may have "
            "stayed: `tn.PriorCorrection` moves all scores to the new rate if the slope of the "
            "periods below is near 1.",
            f"Otherwise: {uncapitalized(refit)}",
        ]
    if "contradict" in first.direction:
        return [
            "Scores of exactly 0 and 1 leave no room for the other label: clip them, or fit a map.",
            refit,
        ]
    return [refit]


def _watch_table(watch: "Watched") -> Table:
    """The table of the watched segments; a column of listed alarms only if there are any."""
    columns = [
        Column("segment", "segment", "name"),
        Column("n", "rows", "count"),
        Column("ratio", "O/E", "number"),
        Column("evidence", "evidence"),
        Column("since", "since"),
        Column("direction", "error"),
    ]
    if any(alarm.segment for alarm in watch.alarms):
        columns.append(Column("listed", "alarm"))
    lines = []
    for segment in watch.watched[1:]:
        line = segment.to_dict()
        line["ratio"] = segment.observed / segment.expected if segment.expected else math.nan
        line["evidence"] = f"{segment.evidence:.3g}"
        line["since"] = segment.since if segment.direction else ""
        line["listed"] = "alarm" if segment.listed else ""
        lines.append(line)
    return Table(columns, lines)
