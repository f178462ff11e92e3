"""A report as a sequence of headings, paragraphs and tables, as Markdown and as text."""

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from trueness._report.answers import CLAUSES
from trueness._report.decisions import decision_sentences
from trueness._report.measure_tables import shown_estimates
from trueness._report.remedies_sentences import (
    guarantee_sentence,
    prior_shift_sentence,
    remedies_sentence,
)
from trueness._report.tables import INDEPENDENT, model_tables, report_tables
from trueness._text.numbers import (
    cells_in_words,
    clusters_in_words,
    count,
    level_percent,
    number,
    percent,
    total,
)
from trueness._text.strings import (
    align,
    capitalized,
    display_width,
    markdown_text,
    quoted,
    shorten,
    uncapitalized,
    visible,
    wrap,
)
from trueness._text.table import Table
from trueness.results._first_screen import WIDTH, answers_in_lines, in_lines, rows_and_level
from trueness.results._page import Contents, Model
from trueness.results._verdict_words import STATES

_LONGEST_NAME = 24
_PER_CLASS = {"classwise": "classes", "top-label": "classes", "multilabel": "labels"}
_HEADINGS = {
    "summary": "Calibration errors",
    "bins": "Where it is wrong",
    "blocks": "Scores that a test rejects",
    "segments": "Segments",
    "slices": "Slices",
    "classes": "Classes",
    "top_k": "The largest scores jointly",
    "remedies": "What would fix it",
    "decisions": "What does it mean for decisions?",
}
_SOURCES = {
    "rows": " used of {given:,}",
    "tally": ", summed per distinct score",
    "sketch": ", summed in a sketch",
    "bins": ", summed in bins",
}


class Heading(NamedTuple):
    """A heading; depth 1 is the title."""

    depth: int
    text: str


class Code(NamedTuple):
    """Lines to copy."""

    text: str


Piece: TypeAlias = Heading | Mapping[str, str] | Code | Table | str
"""A mapping holds terms and their meanings, a string is a paragraph."""


def markdown(contents: Contents) -> str:
    """The report as Markdown; names are escaped."""
    return "\n\n".join(_markdown_piece(piece) for piece in _outline(contents) if piece != "") + "\n"


def _markdown_piece(piece: Piece) -> str:
    """A heading, table, block of code, list of terms or sentence, as Markdown."""
    if isinstance(piece, Heading):
        return f"{'#' * piece.depth} {markdown_text(piece.text)}"
    if isinstance(piece, Table):
        return piece.to_markdown().rstrip("\n")
    if isinstance(piece, Code):
        fence = "~~~~" if "```" in piece.text else "```"
        return "\n".join([fence, *map(visible, piece.text.split("\n")), fence])
    if isinstance(piece, Mapping):
        terms = piece.items()
        return "\n".join(f"- **{markdown_text(k)}**: {markdown_text(v)}" for k, v in terms)
    return markdown_text(piece)


def text(contents: Contents) -> str:
    """The report as plain text; control characters are spelled out and long names cut."""
    return "\n\n".join(_text_piece(piece) for piece in _outline(contents) if piece != "") + "\n"


def _text_piece(piece: Piece) -> str:
    """A heading, table, block of code, list of terms or sentence, as lines of a terminal."""
    if isinstance(piece, Heading):
        title = shorten(visible(piece.text), WIDTH)
        line = "=" if piece.depth == 1 else "-"
        return f"{title}\n{line * display_width(title)}"
    if isinstance(piece, Table):
        return piece.to_text(WIDTH).rstrip("\n")
    if isinstance(piece, Code):
        return "\n".join(f"    {visible(line)}" for line in piece.text.split("\n"))
    if isinstance(piece, Mapping):
        return "\n".join(wrap(f"{k}: {v}", WIDTH, hanging=True) for k, v in piece.items())
    return wrap(piece, WIDTH)


def _outline(contents: Contents) -> Iterator[Piece]:
    """All pieces in order."""
    yield Heading(1, contents.title)
    yield " · ".join(what_was_judged(contents))
    yield f"{contents.verdict.headline} {contents.verdict.evidence}".rstrip()
    if contents.series is not None:
        yield contents.series.headline
    several = len(contents.models) > 1
    if several:
        worst = quoted(contents.models[worst_model(contents)].name)
        yield f"The worst of the {len(contents.models)} {plural(contents)}: {worst}."
    else:
        yield from _answers(contents.models[0])
    yield contents.omitted
    heads = {
        "files": "Files",
        "confidences": "Where the confidences come from",
        "judge": "The judge's own record",
        "models": f"Comparison of the {plural(contents)}",
    }
    for name, table in report_tables(contents).items():  # the comparison follows the models
        if name in heads:
            yield Heading(2, heads[name])
        yield table
    yield from contents.notes
    for model in contents.models:
        if several:
            name = f"Model {model.name}"
            if contents.view in _PER_CLASS:
                name = capitalized(model.name)
            yield Heading(2, name)
            yield f"{model.verdict.headline} {model.verdict.evidence}".rstrip()
            yield from _answers(model)
        yield from _model_pieces(model, contents, 3 if several else 2)
    yield Heading(2, "How it was computed")
    yield dict(circumstances(contents))
    yield contents.definitions


def brief(contents: Contents, width: int = WIDTH) -> str:
    """The answers in a few lines of a terminal; of several models a line or two each."""
    if len(contents.models) > 1:
        worst = [wrap(sentence, width, hanging=True) for sentence in _worst_group(contents)]
        return "\n".join([_strip(contents, width), *worst])
    (model,) = contents.models
    answers = answers_in_lines(model.answers, model.verdict.evidence)
    n = model.summary.n if model.coverage is None else model.coverage.n
    settings = rows_and_level(n, contents.settings.level, contents.settings.seed)
    return in_lines(model.verdict.headline, answers, settings, width)


def _strip(contents: Contents, width: int) -> str:
    """A line per model: state, size, p-value and what to do.

    Where that is too long for a line, the last of these stand below.
    """
    cells = []
    for model in contents.models:
        cells.append(
            [
                shorten(visible(model.name), _LONGEST_NAME),
                STATES[model.verdict.code],
                model.verdict.error_in_short,
                model.verdict.pvalue,
                model.answers["action"].phrase,
            ]
        )
    for kept in (5, 3, 2):
        lines = align([line[:kept] for line in cells], [False] * kept).split("\n")
        if max(map(display_width, lines)) <= width:
            break
    indent = 2 + max(display_width(line[0]) for line in cells)
    strip = []
    for line, cell in zip(lines, cells, strict=True):
        strip.append(line)
        if cell[kept:]:
            *numbers, action = cell[kept:]
            text = "; ".join([*numbers, uncapitalized(action)])
            below = wrap(text, width - indent).split("\n")
            strip += [" " * indent + more for more in below]
    return "\n".join(strip)


def _worst_group(contents: Contents) -> Iterator[str]:
    """The worst segment or slice of each model with one of its own."""
    for model in contents.models:
        place = model.answers["where"]
        if place.sections and place.sections[0] in ("segments", "slices"):
            yield f"{shorten(visible(model.name), _LONGEST_NAME)}: {place.detail}"


def worst_model(contents: Contents) -> int:
    """The place of the model with the worst verdict; if tied, of the one with the largest error."""
    codes = list(CLAUSES)

    def badness(i: int) -> tuple[int, float]:
        model = contents.models[i]
        numbers = model.answers["how_far"].numbers
        error = numbers["l2"] if math.isfinite(numbers["l2"]) else numbers["ece"]
        return -codes.index(model.verdict.code), error

    return max(range(len(contents.models)), key=badness)


def _answers(model: Model) -> Iterator[Piece]:
    """The four questions with their answers, then the commands that some answers have."""
    phrases = {}
    for answer in model.answers.values():
        stop = "" if answer.phrase.endswith("?") else "."
        question = answer.question.removesuffix("?")
        phrases[question] = f"{answer.phrase}{stop} {answer.detail}".strip()
    yield phrases
    yield from (Code(answer.command) for answer in model.answers.values() if answer.command)


def what_was_judged(contents: Contents) -> Iterator[str]:
    """The data, the event, the date and the version, in a few words each."""
    origin = contents.provenance
    rate = percent(contents.models[0].summary.rate)
    if origin.file is not None:
        yield origin.file
    if len(contents.models) == 1 and contents.models[0].name != "scores":
        yield f"scores {contents.models[0].name}"
    outcomes = _outcomes_at_levels(contents)
    if outcomes:
        yield outcomes
    else:
        yield f"{count(contents.rows.used, 'row')}{_in_clusters(contents)}"
    if contents.view == "multilabel":
        yield count(len(contents.models), "label")
    elif contents.rows.classes is not None:
        label = "" if origin.label is None else f" of {origin.label}"
        yield f"{len(contents.rows.classes)} classes{label}"
        if len(contents.models) == 1:
            yield f"accuracy {rate}"
    elif origin.event is not None and not outcomes:
        event = origin.event if origin.label is None else f"{origin.label} = {origin.event}"
        yield f"event: {event} ({rate})"
    elif origin.label is not None:
        yield f"label {origin.label}, event rate {rate}"
    elif not outcomes:
        yield f"event rate {rate}"
    day = datetime.date.fromisoformat(origin.date)
    yield f"{day.day} {day:%B %Y}"
    yield f"trueness {contents.version}"


def _model_pieces(model: Model, contents: Contents, depth: int) -> Iterator[Piece]:
    """The tables of one model, each below its heading, with the sentences that belong to it.

    Decisions come last, if there are any.
    """
    tables = model_tables(model, contents)
    fixes = model.remedies
    before: dict[str, tuple[str, ...]] = {"bins": (worst_sentence(model, tables["bins"]),)}
    last_of_summary = "summary_more" if "summary_more" in tables else "summary"
    after: dict[str, tuple[str, ...]] = {last_of_summary: model.notes}
    if model.segments is not None:
        after["segments"] = model.segments.notes
    if model.slices is not None:
        after["slices"] = model.slices.notes
    if fixes is not None:
        before["remedies"] = prior_shift_sentence(model), remedies_sentence(model)
        after["remedies"] = guarantee_sentence(fixes), *fixes.notes
    heads = headings(contents)
    for name, table in tables.items():
        if name in heads:
            yield Heading(depth, heads[name])
        yield from before.get(name, ())
        yield table
        yield from after.get(name, ())
    if model.decisions is not None:
        yield Heading(depth, heads["decisions"])
        yield from decision_sentences(model.decisions)


def headings(contents: Contents) -> dict[str, str]:
    """The headings of the tables; the second is named for its readers.

    Where no error was shown, none of them names one.
    """
    validated = contents.task == "binary" and contents.source != "bins"
    if validated:
        panel = "The numbers a clinical or credit validation asks for"
    else:
        panel = "Averages, slope and proper scores"
    heads = _HEADINGS | {"panel": panel}
    if all(model.verdict.code in ("no-evidence", "too-few-rows") for model in contents.models):
        heads |= {"bins": "Range by range", "remedies": "What recalibration would change"}
    if any(model.coverage is not None for model in contents.models):
        heads |= {"bins": "Stated and observed shares"}
    return heads


def plural(contents: Contents) -> str:
    """What there are several of: models, labels, or classes of sums."""
    return _PER_CLASS.get(contents.view, "models")


def worst_sentence(model: Model, table: Table) -> str:
    """Which bins contribute most to the ECE; empty for intervals and quantiles, without bins."""
    if model.coverage is not None:
        return ""
    if not model.worst or number(model.summary.ece) == number(0.0):
        return "No bin has a gap between its rate and its mean score."
    bins = model.picture.bins
    lines = np.flatnonzero(np.asarray(bins.n) > 0).tolist()  # empty bins have no line in the table
    by_key = {column.key: column for column in table.columns}
    names = table.texts(by_key["bin"])
    shares = table.texts(by_key["share"])
    worst = [f"{names[lines.index(b)]} ({shares[lines.index(b)]})" for b in model.worst]
    sentence = f"Most of the ECE comes from {', '.join(worst)}"
    if not bins.band:
        return f"{sentence}."
    flagged = int(bins.outside.sum())
    if not flagged:
        return f"{sentence}; no bin is flagged."
    verb = "is" if flagged == 1 else "are"
    return f"{sentence}; {flagged} of {count(len(lines), 'bin')} {verb} flagged."


def coverage_caption(model: Model) -> str:
    """What the first picture of intervals or quantiles shows; empty for other predictions."""
    covered = model.coverage
    if covered is None:
        return ""
    level = level_percent(covered.level)
    if covered.stated.size == 1:
        return (
            "The share of outcomes inside the intervals, against what is stated: on the diagonal "
            f"both are equal. Bar: {level} limits ({covered.method})."
        )
    caption = (
        "The share of outcomes at most at each quantile, against the stated level: on the diagonal "
        f"both are equal. Limits: {level}, for all levels together."
    )
    histogram = model.level_histogram
    if histogram is None:
        return caption
    caption += " Below: levels of the outcomes among their quantiles (PIT)"
    if np.isfinite(histogram.high).all():
        band = f"all bars end inside the grey band {level} of the time if what is stated holds"
        return f"{caption}; {band}."
    return f"{caption}, without limits since rows may depend on each other."


def _in_clusters(contents: Contents) -> str:
    clusters = contents.clusters
    if clusters is None:
        return ""
    return f" in {clusters_in_words(clusters.number, contents.source != 'rows')}"


def _outcomes_at_levels(contents: Contents) -> str:
    """How many outcomes are judged beside quantiles at how many levels; empty for anything else."""
    covered = contents.models[0].coverage
    if covered is None or covered.stated.size == 1:
        return ""
    outcomes = f"{count(covered.n, 'outcome')} with quantiles at {covered.stated.size} levels"
    clusters = contents.clusters
    if clusters is None or clusters.number == covered.n:
        return outcomes
    return f"{outcomes}, in {count(clusters.number, 'cluster')}"


def _rows_sentence(contents: Contents) -> str:
    """How many rows were used, and what happened to the others."""
    rows = contents.rows
    outcomes = _outcomes_at_levels(contents)
    if outcomes:
        return f"{outcomes}: {count(rows.used, 'row')}, one for each outcome and level"
    used = f"{count(rows.used, 'row')}{_SOURCES[contents.source].format(given=rows.given)}"
    if contents.clusters is not None:
        used += f",{_in_clusters(contents)}"
    parts = [used]
    if rows.dropped:
        parts.append(f"{count(rows.dropped, 'row')} with missing values dropped")
    unweighted = rows.given - rows.used - rows.dropped
    if unweighted:
        parts.append(f"{count(unweighted, 'row')} with weight 0 left out")
    if rows.weights != "none":
        parts.append(f"{rows.weights} weights, {total(rows.weight)} in total")
    return "; ".join(parts)


def _methods(model: Model) -> str:
    """How the limits of each measure were found."""
    measures: dict[str, dict[str, None]] = {}
    for estimate in shown_estimates(model):
        if estimate.method:
            measures.setdefault(estimate.method, {})[estimate.measure] = None
    return "; ".join(f"{', '.join(names)}: {method}" for method, names in measures.items())


def _clusters_are_outcomes(contents: Contents) -> str:
    """That every outcome is a cluster, since its levels depend on each other; else empty."""
    covered = contents.models[0].coverage
    if covered is None or contents.clusters is None or contents.clusters.number != covered.n:
        return ""
    return "The levels of one outcome depend on each other, so each outcome is a cluster. "


def circumstances(contents: Contents) -> Iterator[tuple[str, str]]:
    """Data, options and methods."""
    settings = contents.settings
    clusters = contents.clusters
    yield "rows", _rows_sentence(contents)
    if contents.rows.classes is not None:
        yield "classes", f"{len(contents.rows.classes)}"
    if clusters is not None:
        yield (
            "clusters",
            f"{_clusters_are_outcomes(contents)}{clusters.number:,}, equivalent to "
            f"{clusters.effective:,.1f} of equal size. "
            f"Taken into account by: {', '.join(clusters.considered)}. "
            f"As if rows were independent: {', '.join(clusters.ignored)}.",
        )
    yield "bins", settings.bins_in_words
    yield "level", f"{level_percent(settings.level)}, for all intervals, bands and decisions"
    if questions := contents.models[0].verdict.questions:
        yield "questions", f"{questions}."
    yield "seed", f"{settings.seed}"
    summary = contents.models[0].summary
    if summary.noise_floor is not None:
        independent = "" if clusters is None else f", {INDEPENDENT}"
        times = f"{summary.noise_floor.resamples:,} times"
        yield "noise floor", f"labels resampled {times}{independent}"
    if intervals := _methods(contents.models[0]):
        yield "intervals", intervals
    if summary.test is not None:
        yield "test", f"{summary.test.method}: {summary.test.assumptions}"
    if summary.ece_interval is not None:
        cells = cells_in_words(summary.ece_interval.bins)
        yield "confidence set", f"{summary.ece_interval.method}, {cells}"
    yield "version", f"trueness {contents.version}"
