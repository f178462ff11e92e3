"""A report as a sequence of headings, paragraphs and tables, and that sequence as Markdown and as text."""

import datetime
import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from trueness._assess.advice import OFF
from trueness._report.answers import CLAUSES
from trueness._report.commands import as_options, in_python
from trueness._report.decisions import decision_sentences
from trueness._report.tables import INDEPENDENT, model_tables, report_tables
from trueness._text.numbers import (
    cells_in_words,
    changed,
    clusters_in_words,
    count,
    level_percent,
    number,
    p_value,
    percent,
    span,
)
from trueness._text.strings import (
    align,
    display_width,
    markdown_text,
    quoted,
    shorten,
    visible,
    wrap,
)
from trueness._text.table import Table
from trueness.results._first_screen import Answer
from trueness.results._page import Contents, Model, Summary
from trueness.results._remedies import PRIOR_CORRECTION, Remedies, Remedy
from trueness.results._verdict_words import STATES

_WIDTH = 100
_LONGEST_NAME = 24
_BRIEF = {
    "how_far": "How far off",
    "where": "Where",
    "cost": "What it costs",
    "action": "What to do",
}
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
    if isinstance(piece, Heading):
        return f"{'#' * piece.depth} {markdown_text(piece.text)}"
    if isinstance(piece, Table):
        return piece.to_markdown().rstrip("\n")
    if isinstance(piece, Code):
        fence = "~~~~" if "```" in piece.text else "```"
        return "\n".join([fence, *map(visible, piece.text.split("\n")), fence])
    if isinstance(piece, Mapping):
        return "\n".join(
            f"- **{markdown_text(term)}**: {markdown_text(meaning)}"
            for term, meaning in piece.items()
        )
    return markdown_text(piece)


def text(contents: Contents) -> str:
    """The report as plain text; control characters are spelled out and long names cut."""
    return "\n\n".join(_text_piece(piece) for piece in _outline(contents) if piece != "") + "\n"


def _text_piece(piece: Piece) -> str:
    if isinstance(piece, Heading):
        title = shorten(visible(piece.text), _WIDTH)
        return f"{title}\n{('=' if piece.depth == 1 else '-') * display_width(title)}"
    if isinstance(piece, Table):
        return piece.to_text(_WIDTH).rstrip("\n")
    if isinstance(piece, Code):
        return "\n".join(f"    {visible(line)}" for line in piece.text.split("\n"))
    if isinstance(piece, Mapping):
        return "\n".join(
            wrap(f"{term}: {meaning}", _WIDTH, hanging=True) for term, meaning in piece.items()
        )
    return wrap(piece, _WIDTH)


def _outline(contents: Contents) -> Iterator[Piece]:
    """All pieces in order."""
    tables = report_tables(contents)
    yield Heading(1, contents.title)
    yield " · ".join(what_was_judged(contents))
    yield f"{contents.verdict.headline} {contents.verdict.evidence}".rstrip()
    yield "" if contents.series is None else contents.series.headline
    if len(contents.models) > 1:
        worst = quoted(contents.models[worst_model(contents)].name)
        yield f"The worst of the {len(contents.models)} {plural(contents)}: {worst}."
    if len(contents.models) == 1:
        yield from _answers(contents.models[0])
    yield contents.omitted
    heads = {"files": "Files", "confidences": "Where the confidences come from"}
    heads["judge"] = "The judge's own record"
    heads["models"] = f"Comparison of the {plural(contents)}"
    for name, table in tables.items():  # the comparison follows the models
        yield Heading(2, heads[name]) if name in heads else ""
        yield table
    yield from contents.notes
    for model in contents.models:
        if len(contents.models) > 1:
            class_name = f"{model.name[:1].upper()}{model.name[1:]}"
            yield Heading(2, class_name if contents.view in _PER_CLASS else f"Model {model.name}")
            yield f"{model.verdict.headline} {model.verdict.evidence}".rstrip()
            yield from _answers(model)
        yield from _model_pieces(model, contents, 3 if len(contents.models) > 1 else 2)
    yield Heading(2, "How it was computed")
    yield dict(circumstances(contents))
    yield contents.definitions


def brief(contents: Contents) -> str:
    """The answers in a few lines for a terminal: of several models a line each."""
    if len(contents.models) > 1:
        return "\n".join([_strip(contents), *_worst_group(contents)])
    (model,) = contents.models
    lines = [(words, model.answers[key].phrase) for key, words in _BRIEF.items()]
    lines[1] = (lines[1][0], _place_in_brief(model.answers["where"]))
    evidence = model.verdict.evidence.removeprefix("The evidence is ")
    lines.append(("Evidence", f"{evidence[:1].upper()}{evidence[1:]}"))
    wide = max(len(words) for words, _ in lines) + 4
    text = [wrap(model.verdict.headline, _WIDTH)]
    for words, said in lines:
        first, *others = wrap(said, _WIDTH - wide).split("\n")
        text += [f"  {words}".ljust(wide) + first, *(" " * wide + line for line in others)]
        if words == _BRIEF["action"] and model.answers["action"].command:
            command = model.answers["action"].command.split("\n")
            text += [" " * wide + line for line in command]
    return "\n".join(text)


def _place_in_brief(place: Answer) -> str:
    """Where, and of a range what was predicted there and what happened."""
    said = re.search(r"(?:Predicted|Confidence) [^(]* %(?= \()", place.detail)
    if place.sections[:1] != ("bins",) or said is None:
        return place.phrase
    return f"{place.phrase}: {said[0][:1].lower()}{said[0][1:]}"


def _strip(contents: Contents) -> str:
    """A line per model: state, size, p-value and what to do."""
    lines = []
    for model in contents.models:
        test = model.summary.test
        lines.append(
            [
                shorten(visible(model.name), _LONGEST_NAME),
                STATES[model.verdict.code],
                model.verdict.error_in_short,
                p_value(None if test is None else test.pvalue),
                model.answers["action"].phrase,
            ]
        )
    return align(lines, [False] * 5)


def _worst_group(contents: Contents) -> Iterator[str]:
    """The worst segment or slice of each model with one of its own."""
    for model in contents.models:
        place = model.answers["where"]
        if place.sections and place.sections[0] in ("segments", "slices"):
            yield f"{shorten(visible(model.name), _LONGEST_NAME)}: {place.detail}"


def worst_model(contents: Contents) -> int:
    """The place of the worst model: of those with the worst verdict the one with the largest error."""

    def badness(i: int) -> tuple[int, float]:
        code = contents.models[i].verdict.code
        numbers = contents.models[i].answers["how_far"].numbers
        return -list(CLAUSES).index(code), numbers["l2" if math.isfinite(numbers["l2"]) else "ece"]

    return max(range(len(contents.models)), key=badness)


def _answers(model: Model) -> Iterator[Piece]:
    answers = model.answers.values()
    phrases = (
        f"{one.phrase}{'' if one.phrase.endswith('?') else '.'} {one.detail}".strip()
        for one in answers
    )
    yield dict(zip((one.question.removesuffix("?") for one in answers), phrases, strict=True))
    yield from (Code(one.command) for one in answers if one.command)


def what_was_judged(contents: Contents) -> Iterator[str]:
    """The data, the event, the date and the version, in a few words each."""
    origin = contents.provenance
    summary = contents.models[0].summary
    if origin.file is not None:
        yield origin.file
    if len(contents.models) == 1 and contents.models[0].name != "scores":
        yield f"scores {contents.models[0].name}"
    yield f"{count(contents.rows.used, 'row')}{_in_clusters(contents)}"
    if contents.view == "multilabel":
        yield count(len(contents.models), "label")
    elif contents.rows.classes is not None:
        label = "" if origin.label is None else f" of {origin.label}"
        yield f"{len(contents.rows.classes)} classes{label}"
        yield from [f"accuracy {percent(summary.rate)}"] if len(contents.models) == 1 else []
    else:
        event = origin.event if origin.label is None else f"{origin.label} = {origin.event}"
        label = "event" if origin.label is None else f"label {origin.label}, event"
        rate = percent(summary.rate)
        yield f"{label} rate {rate}" if origin.event is None else f"event: {event} ({rate})"
    day = datetime.date.fromisoformat(origin.date)
    yield f"{day.day} {day:%B %Y}"
    yield f"trueness {contents.version}"


def _model_pieces(model: Model, contents: Contents, depth: int) -> Iterator[Piece]:
    tables = model_tables(model, contents)
    fixes = model.remedies
    before: dict[str, tuple[str, ...]] = {"bins": (worst_sentence(model, tables["bins"]),)}
    after: dict[str, tuple[str, ...]] = {"summary_more": model.notes}
    after["segments"] = () if model.segments is None else model.segments.notes
    after["slices"] = () if model.slices is None else model.slices.notes
    if fixes is not None:
        before["remedies"] = prior_shift_sentence(model.summary), remedies_sentence(model)
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
    """The headings of the tables; the second is named for its readers."""
    validated = contents.task == "binary" and contents.source != "bins"
    if validated:
        panel = "The numbers a clinical or credit validation asks for"
    else:
        panel = "Averages, slope and proper scores"
    return _HEADINGS | {"panel": panel}


def plural(contents: Contents) -> str:
    """What there are several of: models, labels, or classes of sums."""
    return _PER_CLASS.get(contents.view, "models")


def worst_sentence(model: Model, table: Table) -> str:
    """Which bins contribute most to the ECE."""
    if not model.worst or number(model.summary.ece) == number(0.0):
        return "No bin has a gap between its rate and its mean score."
    found = model.picture.bins
    at = {b: i for i, b in enumerate(i for i, n in enumerate(found.n) if n > 0)}
    bins, shares = (
        table.texts(column) for column in table.columns if column.key in ("bin", "share")
    )
    sentence = "Most of the ECE comes from " + ", ".join(
        f"{bins[at[b]]} ({shares[at[b]]})" for b in model.worst
    )
    if not found.band:
        return f"{sentence}."
    flagged = int(found.outside.sum())
    if flagged:
        which = f"{flagged} of {count(len(at), 'bin')} {'is' if flagged == 1 else 'are'}"
    else:
        which = "no bin is"
    return f"{sentence}; {which} flagged."


def prior_shift_sentence(summary: Summary) -> str:
    """What re-weighting or sampling of the classes left, and what undoes it.

    Empty unless it is suspected.
    """
    shift = summary.prior_shift
    if shift is None or not shift.suspected:
        return ""
    slope = f"{number(shift.slope, 2)} ({span(shift.slope_low, shift.slope_high, lambda v: number(v, 2))})"
    if not shift.shown:
        return (
            f"It looks like {shift.factor}, as class weights or down-sampling in training leave it, or like another "
            f"error: the slope, {slope}, is too uncertain to tell."
        )
    return (
        f"The odds of all scores are off by one factor (the slope, {slope}, agrees), as class weights or down-sampling "
        f"in training leave them: it looks like {shift.factor}. Undo it with tn.recalibrate.prior_correction(p, "
        f"weight={shift.weight:.3g}), better with the weight used in training if it is known, or with trueness fit "
        "--method prior."
    )


def remedies_sentence(model: Model) -> str:
    """The conclusion from the comparison of calibrators; empty if there is none."""
    remedies = model.remedies
    if remedies is None:
        return ""
    if model.verdict.doubt in ("inverted", "confidence"):
        return "Check first whether these are the scores that were meant: a map would only hide a mistake."
    best = model.advised or next((one for one in remedies.after if one.name == remedies.best), None)
    if best is None and remedies.after and all(math.isnan(one.gain) for one in remedies.after):
        return "The table compares calibrators on held-out data."
    action = model.answers["action"].phrase
    code = model.verdict.code
    if best is None and model.summary.rate in (0, 1):
        return "All outcomes are equal: any map that predicts them gains here, which says nothing about new rows."
    if best is None:
        none = "No calibrator of all rows is expected to gain more than noise on new rows."
        corrected = any(
            one.name == PRIOR_CORRECTION for one in remedies.after
        )  # its factor speaks for itself
        if corrected:
            return none
        return f"{none} {action if code in OFF else 'Leave the scores alone'}."
    recipe = ""
    if best.name != PRIOR_CORRECTION:  # the sentence on the shift says how to undo it
        recipe = f" In Python, {in_python(best.calibrator)}.fit(y_prob, y_true); on the command "
        recipe += f"line, trueness fit FILE {as_options(best.calibrator)} -o map.json."
    name = best.with_article
    which = f"{name[0].upper()}{name[1:]}"
    word = "proposed" if model.advice.kind == "optional" else "recommended"
    reason = _reason(best, remedies, word) if best is model.advised else ""
    if best is not model.advised:
        few = "These rows are too few to tell whether a map is needed"
        found = few if code == "too-few-rows" else "Nothing was found that needs a map of all rows"
        which = f"{action if code in OFF else found}. The most promising map of all rows, {name},"
    return (
        f"{which} would lower the {best.score_from(remedies.before)} and change the ECE from "
        f"{changed(remedies.before.ece, best.ece)}, on held-out data, and {best.promise}."
        f"{reason}{_parts_sentence(best)}{recipe}"
    )


def _reason(best: Remedy, remedies: Remedies, word: str) -> str:
    """Why a map is proposed although another one has a lower score; empty if none has."""
    score = "brier" if best.gain > 0 else "log_loss"
    lower = [one for one in remedies.after if getattr(one, score) < getattr(best, score)]
    finite = [one for one in lower if math.isfinite(one.log_loss)]
    passed = " Maps with a log loss of ∞ are passed over." if len(finite) < len(lower) else ""
    if finite:
        return f" It is {word} since no other map is better beyond chance.{passed}"
    return passed


def _parts_sentence(best: Remedy) -> str:
    """What the automatic map averages; empty for other maps."""
    if not best.parts:
        return ""
    shares = {one["name"]: round(100 * one["share"]) for one in best.parts if one["share"] >= 0.05}
    others = 100 - sum(shares.values())
    parts = [
        f"{name} {share} %"
        for name, share in (shares | ({"others": others} if others > 0 else {})).items()
    ]
    found = f"is {best.parts[0]['name']}" if len(parts) == 1 else f"averages {', '.join(parts)}"
    return f" Fitted on all rows, it {found}; it is chosen anew in every fold."


def guarantee_sentence(remedies: Remedies) -> str:
    """The guarantee of histogram binning; empty if there is none."""
    g = remedies.guarantee
    if g is None:
        return ""
    return (
        f"Guarantee: histogram binning with {count(g.n_bins, 'bin')} (scheme '{g.scheme}'), fitted on all {g.n:,} "
        f"rows, is within ± {number(g.epsilon)} of the true rate in every bin simultaneously with "
        f"probability {level_percent(g.level)}, and within ± {number(g.marginal)} in the bin of one new row, whatever "
        "the distribution."
    )


def _in_clusters(contents: Contents) -> str:
    known = contents.clusters
    if known is None:
        return ""
    return f" in {clusters_in_words(known.number, contents.source != 'rows')}"


def _rows_sentence(contents: Contents) -> str:
    """How many rows were used, and what happened to the others."""
    rows = contents.rows
    comma = "" if contents.clusters is None else ","
    used = f"{count(rows.used, 'row')}{_SOURCES[contents.source].format(given=rows.given)}"
    unweighted = rows.given - rows.used - rows.dropped
    parts = {
        f"{used}{comma}{_in_clusters(contents)}": True,
        f"{count(rows.dropped, 'row')} with missing values dropped": rows.dropped,
        f"{count(unweighted, 'row')} with weight 0 left out": unweighted,
        f"{rows.weights} weights, {rows.weight:,.6g} in total": rows.weights != "none",
    }
    return "; ".join(part for part, holds in parts.items() if holds)


def _methods(summary: Summary) -> str:
    """How the limits of each measure were found."""
    measures: dict[str, list[str]] = {}
    for one in summary.estimates.values():
        if one.method and one.measure not in measures.setdefault(one.method, []):
            measures[one.method].append(one.measure)
    return "; ".join(f"{', '.join(names)}: {method}" for method, names in measures.items())


def circumstances(contents: Contents) -> Iterator[tuple[str, str]]:
    """Data, options and methods."""
    s = contents.settings
    independent = "" if contents.clusters is None else f", {INDEPENDENT}"
    yield "rows", _rows_sentence(contents)
    if contents.rows.classes is not None:
        yield "classes", f"{len(contents.rows.classes)}"
    if contents.clusters is not None:
        c = contents.clusters
        size = f"{c.number:,}, equivalent to {c.effective:,.1f} of equal size"
        others = f"As if rows were independent: {', '.join(c.ignored)}"
        yield "clusters", f"{size}. Taken into account by: {', '.join(c.considered)}. {others}."
    yield "bins", f"{s.bins_in_words} ({s.bins})"
    yield "level", f"{level_percent(s.level)}, for all intervals, bands and decisions"
    if questions := contents.models[0].verdict.questions:
        yield "questions", f"{questions}."
    yield "seed", f"{s.seed}"
    found = contents.models[0].summary
    if found.noise_floor is not None:
        yield "noise floor", f"labels resampled {found.noise_floor.resamples:,} times{independent}"
    if intervals := _methods(found):
        yield "intervals", intervals
    if found.test is not None:
        yield "test", f"{found.test.method}: {found.test.assumptions}"
    if found.ece_interval is not None:
        cells = cells_in_words(found.ece_interval.bins)
        yield "confidence set", f"{found.ece_interval.method}, {cells}"
    yield "version", f"trueness {contents.version}"
