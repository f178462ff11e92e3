"""The report as one HTML page, and as a frame for notebooks."""

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from trueness._report.charts import blocks_chart, reliability_chart
from trueness._report.clusters import INDEPENDENT, told
from trueness._report.outline import computed, rows_sentence, worst_sentence
from trueness._report.records import Contents, Explorer, Model
from trueness._report.tables import (
    Table,
    bins_table,
    blocks_table,
    classes_table,
    comparison_table,
    guarantee_sentence,
    models_table,
    remedies_sentence,
    remedies_table,
    segments_table,
    summary_table,
    top_k_table,
)
from trueness._report.words import number, percent, visible

__all__ = ["framed", "page"]

_FRAME_HEIGHT = 860
_VERDICT_WORDS = {
    "miscalibrated": "Miscalibrated",
    "slightly-miscalibrated": "Slightly miscalibrated",
    "no-evidence": "No evidence of miscalibration",
    "too-few-rows": "Too few rows to tell",
    "undetermined": "Cannot be told",
}


def page(contents: Contents) -> str:
    """Everything in one file: styles, script and sums inside, nothing fetched."""
    from markupsafe import Markup

    script = _part("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    found: str = (
        _environment()
        .get_template("report.html")
        .render(
            contents=contents,
            several=len(contents.models) > 1,
            models=[_model(i, model, contents) for i, model in enumerate(contents.models)],
            side_by_side=told(models_table(contents), contents.clusters),
            comparison=None
            if contents.comparison is None
            else told(comparison_table(contents.comparison), contents.clusters),
            rows_sentence=rows_sentence(contents),
            independent="" if contents.clusters is None else f" Intervals and band are {INDEPENDENT}.",
            computed=list(computed(contents)),
            verdict_word=_VERDICT_WORDS[contents.verdict.code],
            style=Markup(_part("report.css")),
            script=Markup(script),
            script_digest=digest,
            data=Markup(_data(contents)),
        )
    )
    return found


def framed(contents: Contents) -> str:
    """The page in a frame of its own, so that neither its styles nor its script touch the notebook."""
    return (
        f'<iframe srcdoc="{escape(page(contents))}" sandbox="allow-scripts" title="{escape(contents.title)}" '
        f'style="width:100%;height:{_FRAME_HEIGHT}px;border:1px solid #8886;border-radius:6px"></iframe>'
    )


@cache
def _part(name: str) -> str:
    return resources.files("trueness._report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_part),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    environment.filters["visible"] = visible
    return environment


def _model(i: int, model: Model, contents: Contents) -> dict[str, Any]:
    """What the template needs to know of a model."""
    from markupsafe import Markup

    first = model.explorers[0]
    fixes = model.remedies
    found = {
        "id": f"m{i}",
        "model": model,
        "verdict_word": _VERDICT_WORDS[model.verdict.code],
        "summary": summary_table(model, contents.task == "multiclass"),
        "chart": Markup(reliability_chart(model.picture, first, f"m{i}-r")),
        "bins": bins_table(model),
        "ece": number(model.picture.ece),
        "worst": worst_sentence(model),
        "blocks_chart": None if model.blocks is None else Markup(blocks_chart(model.blocks, first.zoom, f"m{i}-b")),
        "blocks": None if model.blocks is None else blocks_table(model.blocks),
        "segments": None if model.segments is None else segments_table(model.segments),
        "classes": None if model.classes is None else classes_table(model.classes),
        "top_k": top_k_table(model.top_k) if model.top_k else None,
        "remedies": None if fixes is None else remedies_table(fixes, contents.settings.level),
        "fix": "" if fixes is None else remedies_sentence(fixes),
        "guarantee": "" if fixes is None else guarantee_sentence(fixes),
    }
    return {key: told(one, contents.clusters) if isinstance(one, Table) else one for key, one in found.items()}


def _data(contents: Contents) -> str:
    """The sums that the script reads; no text in it can end the element that it stands in."""
    models = [{"views": [_view(one) for one in model.explorers]} | _main_band(model) for model in contents.models]
    found = {"models": models, "level": percent(contents.settings.level), "offered": contents.settings.offered}
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _view(one: Explorer) -> dict[str, Any]:
    return {
        "name": visible(one.name),
        "n": one.n,
        "events": one.events,
        "weight": None if one.weight == one.n else one.weight,
        "high": one.high,
        "low": one.low,
        "sum": one.sum_score,
        "rules": {
            kind: {
                n: {key: [None if v != v else v for v in values] for key, values in bins.items()}
                for n, bins in by.items()
            }
            for kind, by in one.rules.items()
        },
        "rule": one.rule,
        "bins": one.bins,
        "zoom": one.zoom,
        "histogram": one.histogram,
        "near": one.near_histogram,
    }


def _main_band(model: Model) -> dict[str, Any]:
    """The band and the flags of the bins that the page begins with."""
    b = model.picture.bins
    return {
        "band": {
            "low": [None if v != v else round(v, 6) for v in b.low.tolist()],
            "high": [None if v != v else round(v, 6) for v in b.high.tolist()],
            "outside": b.outside.tolist(),
        }
    }
