"""The report as one HTML page, and as a frame for notebooks."""

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from trueness._report.charts import blocks_chart, reliability_chart
from trueness._report.clusters import INDEPENDENT
from trueness._report.document import (
    circumstances,
    guarantee_sentence,
    plural,
    remedies_sentence,
    rows_sentence,
    worst_sentence,
)
from trueness._report.records import Contents, Explorer, Model
from trueness._report.tables import model_tables, report_tables
from trueness._text.numbers import level_percent, number, percentage
from trueness._text.strings import json_ready, visible

_FRAME_HEIGHT = 860
_VERDICT_WORDS = {
    "miscalibrated": "Miscalibrated",
    "slightly-miscalibrated": "Slightly miscalibrated",
    "no-evidence": "No evidence of miscalibration",
    "too-few-rows": "Too few rows to tell",
    "too-good": "Too good to be true",
    "undetermined": "Not tested",
}


def page(contents: Contents) -> str:
    """One self-contained file with styles, script and sums; nothing is fetched."""
    from markupsafe import Markup

    script = _part("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text: str = _template().render(
        contents=contents,
        several=len(contents.models) > 1,
        models=[_model(i, model, contents) for i, model in enumerate(contents.models)],
        tables={name: Markup(table.to_html()) for name, table in report_tables(contents).items()},
        plural=plural(contents),
        rows_sentence=rows_sentence(contents),
        independent="" if contents.clusters is None else f" Computed {INDEPENDENT}.",
        circumstances=list(circumstances(contents)),
        verdict_word=_VERDICT_WORDS[contents.verdict.code],
        style=Markup(_part("report.css")),
        script=Markup(script),
        script_digest=digest,
        data=Markup(_data(contents)),
    )
    return text


def framed(contents: Contents) -> str:
    """The page in a frame, so that its styles and script do not affect the notebook."""
    return (
        f'<iframe srcdoc="{escape(page(contents))}" sandbox="allow-scripts" title="{escape(contents.title)}" '
        f'style="width:100%;height:{_FRAME_HEIGHT}px;border:1px solid #8886;border-radius:6px"></iframe>'
    )


@cache
def _part(name: str) -> str:
    return resources.files("trueness._report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_part),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = level_percent
    environment.filters["visible"] = visible
    return environment.get_template("report.html")


def _model(i: int, model: Model, contents: Contents) -> dict[str, Any]:
    """The variables of the template for one model."""
    from markupsafe import Markup

    first, fixes = model.explorers[0], model.remedies
    tables = model_tables(model, contents)
    return {
        "id": f"m{i}",
        "model": model,
        "verdict_word": _VERDICT_WORDS[model.verdict.code],
        "tables": {name: Markup(table.to_html()) for name, table in tables.items()},
        "chart": Markup(reliability_chart(model.picture, first, f"m{i}-r")),
        "ece": number(model.picture.ece),
        "tce": percentage(model.summary.tce),
        "worst": worst_sentence(model, tables["bins"]),
        "blocks_chart": model.blocks and Markup(blocks_chart(model.blocks, first.zoom, f"m{i}-b")),
        "fix": "" if fixes is None else remedies_sentence(fixes),
        "guarantee": "" if fixes is None else guarantee_sentence(fixes),
    }


def _data(contents: Contents) -> str:
    """The sums that the script reads, as JSON that cannot close its element."""
    models = [{"views": [_view(one) for one in model.explorers]} | _main_band(model) for model in contents.models]
    data = {"models": models, "level": level_percent(contents.settings.level), "offered": contents.settings.offered}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _view(one: Explorer) -> dict[str, Any]:
    weight = None if one.weight == one.n else one.weight  # the script then takes n
    return {**json_ready(one), "name": visible(one.name), "weight": weight}


def _main_band(model: Model) -> dict[str, Any]:
    """The band and the flags of the first picture."""
    b = model.picture.bins
    if not b.band:
        return {"band": None}
    return {"band": json_ready({"low": b.low.round(6), "high": b.high.round(6), "outside": b.outside})}
