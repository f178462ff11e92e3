"""The report as one HTML page, and as a frame for notebooks."""

import base64
import hashlib
import json
import math
import re
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from trueness._report import document
from trueness._report.answers import TERMS
from trueness._report.charts import blocks_chart, curve_chart, reliability_chart, series_chart
from trueness._report.decisions import decision_chart, decision_sentences
from trueness._report.figures import error_line, meter, models_charts, remedy_charts, segments_chart, slices_chart
from trueness._report.records import Answer, Contents, Explorer, Model
from trueness._report.tables import INDEPENDENT, model_tables, report_tables
from trueness._text.numbers import level_percent, p_value, percentage
from trueness._text.strings import json_ready, visible

_FRAME_HEIGHT = 860
_NUMBER = r"−?\d[\d,]*(?:\.\d+)?"
_RANGE = rf"{_NUMBER} to {_NUMBER}"


def page(contents: Contents) -> str:
    """One self-contained file with styles, script and sums; nothing is fetched."""
    from markupsafe import Markup

    script, several = _part("report.js"), len(contents.models) > 1
    text: str = _template().render(
        contents=contents,
        several=several,
        chosen=document.worst_model(contents),
        models_charts=list(map(Markup, models_charts(contents.models))) if several else [],
        judged=list(document.what_was_judged(contents)),
        models=[_model(i, model, contents) for i, model in enumerate(contents.models)],
        tables={name: Markup(table.to_html()) for name, table in report_tables(contents).items()},
        series_chart=contents.series and Markup(series_chart(contents.series)),
        plural=document.plural(contents),
        independent="" if contents.clusters is None else f" Computed {INDEPENDENT}.",
        circumstances=list(document.circumstances(contents)),
        style=Markup(_part("report.css")),
        script=Markup(script),
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=Markup(_data(contents)),
    )
    return text


def framed(contents: Contents) -> str:
    """The page in a frame, so that its styles and script do not affect the notebook."""
    return (
        f'<iframe srcdoc="{escape(page(contents))}" sandbox="allow-scripts" title="{escape(visible(contents.title))}" '
        f'style="width:100%;height:{_FRAME_HEIGHT}px;border:1px solid #8886;border-radius:6px"></iframe>'
    )


@cache
def _part(name: str) -> str:
    return resources.files("trueness._report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    blocks: Any = {"trim_blocks": True, "lstrip_blocks": True}
    environment = Environment(loader=FunctionLoader(_part), autoescape=True, undefined=StrictUndefined, **blocks)
    environment.filters["percent"] = level_percent
    environment.filters["visible"] = visible
    environment.filters["visible_lines"] = lambda text: "\n".join(map(visible, text.split("\n")))
    return environment.get_template("report.html")


def _model(i: int, model: Model, contents: Contents) -> dict[str, Any]:
    """The variables of the template for one model."""
    from markupsafe import Markup

    first, fixes = model.explorers[0], model.remedies
    tables, heads, explained = model_tables(model, contents), document.headings(contents), set[str]()
    sections = [key for key in tables if key not in ("blocks", "top_k")] + ["decisions"] * (model.decisions is not None)
    floor = model.summary.estimates["tce"].floor if "tce" in model.summary.estimates else math.nan
    return {
        "id": f"m{i}",
        "model": model,
        "p": p_value(None if model.summary.test is None else model.summary.test.pvalue),
        "error": error_line(model.answers["how_far"].numbers, "").text,
        "headline": _marked_up(model.verdict.headline, explained),
        "certainty": _marked_up(model.verdict.certainty, explained),
        "answers": [_answer(one, explained) for one in model.answers.values()],
        "heads": heads,
        "links": [(f"m{i}-{key}", heads[key]) for key in sections],
        "overview": Markup(reliability_chart(model.picture, first)),
        "tables": {name: Markup(table.to_html()) for name, table in tables.items()},
        "tce": percentage(model.summary.tce),
        "tce_floor": "" if math.isnan(floor) else f"; of a calibrated model, about {percentage(floor)}",
        "worst": document.worst_sentence(model, tables["bins"]),
        "blocks_chart": model.blocks and Markup(blocks_chart(model.blocks, first)),
        "panel_text": model.panel and _unwrapped(model.panel.text()),
        "curve_chart": model.curve and Markup(curve_chart(model.curve, first)),
        "segments_chart": Markup(segments_chart(model)),
        "slices_chart": Markup(slices_chart(model)),
        "fix_charts": {name: Markup(chart) for name, chart in remedy_charts(model).items()},
        "decisions": [] if model.decisions is None else decision_sentences(model.decisions),
        "decision_chart": model.decisions and Markup(decision_chart(model.decisions)),
        "shift": document.prior_shift_sentence(model.summary),
        "fix": document.remedies_sentence(model),
        "guarantee": "" if fixes is None else document.guarantee_sentence(fixes),
    }


def _unwrapped(text: str) -> str:
    """Paragraphs in one line each, for a box of any width; the items of a list stay lines of their own."""
    return "\n\n".join(
        one.replace("\n  ", " ") if one.startswith("- ") or "\n- " in one else one.replace("\n", " ")
        for one in text.split("\n\n")
    )


def _answer(answer: Answer, explained: set[str]) -> dict[str, Any]:
    """The variables of the template for one answer; a term is explained where it first occurs."""
    from markupsafe import Markup

    return {
        "question": answer.question,
        "phrase": _marked_up(answer.phrase, explained),
        "detail": _marked_up(answer.detail, explained),
        "command": answer.command,
        "meter": Markup(meter(answer.numbers)) if math.isfinite(answer.numbers.get("chance_high", math.nan)) else "",
    }


def _marked_up(text: str, explained: set[str]) -> Any:
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
    return Markup(html)


def _data(contents: Contents) -> str:
    """The sums that the script reads, as JSON that cannot close its element."""
    models = []
    for model in contents.models:
        b = model.picture.bins  # the band and the flags of the first picture
        band = json_ready({"low": b.low.round(6), "high": b.high.round(6), "outside": b.outside}) if b.band else None
        models.append({"views": [_view(one) for one in model.explorers], "band": band})
    data = {"models": models, "level": level_percent(contents.settings.level), "offered": contents.settings.offered}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _view(one: Explorer) -> dict[str, Any]:
    weight = None if one.weight == one.n else one.weight  # the script then takes n
    near = None if one.near is one.whole else json_ready(one.near)
    return {**json_ready(one), "name": visible(one.name), "weight": weight, "near": near}
