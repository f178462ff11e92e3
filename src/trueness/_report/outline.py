"""The order of a report: which headings, sentences and tables follow each other in Markdown and in text."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from trueness._report.clusters import INDEPENDENT, in_words, told
from trueness._report.records import Contents, Model
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
from trueness._report.words import counted, percent

__all__ = ["Heading", "Items", "Piece", "computed", "outline", "rows_sentence", "worst_sentence"]


class Heading(NamedTuple):
    """A heading of some depth: 1 is the title."""

    depth: int
    text: str


class Items(NamedTuple):
    """Words, each with what it means."""

    pairs: tuple[tuple[str, str], ...]


Piece: TypeAlias = Heading | Items | Table | str


def outline(contents: Contents) -> Iterator[Piece]:
    """Everything in order; strings are paragraphs."""
    for piece in _pieces(contents):
        yield told(piece, contents.clusters) if isinstance(piece, Table) else piece


def _pieces(contents: Contents) -> Iterator[Piece]:
    several = len(contents.models) > 1
    yield Heading(1, contents.title)
    yield contents.verdict.sentence
    if several:
        yield Heading(2, "The models side by side")
        yield models_table(contents)
        if contents.comparison is not None:
            yield comparison_table(contents.comparison)
        yield from contents.notes
    for model in contents.models:
        if several:
            yield Heading(2, f"Model {model.name}")
            yield model.verdict.sentence
        yield from _model(model, contents, 3 if several else 2)
    yield Heading(2, "How it was computed")
    yield Items(tuple(computed(contents)))
    yield Items(tuple(contents.definitions.items()))


def _model(model: Model, contents: Contents, depth: int) -> Iterator[Piece]:
    yield Heading(depth, "Summary")
    yield summary_table(model, contents.task == "multiclass")
    yield from model.notes
    yield Heading(depth, "Where it is wrong")
    yield worst_sentence(model)
    yield bins_table(model)
    if model.blocks is not None:
        yield Heading(depth, "Which scores a test refutes")
        yield blocks_table(model.blocks)
    if model.segments is not None:
        yield Heading(depth, "Segments")
        yield segments_table(model.segments)
        yield from model.segments.notes
    if model.classes is not None:
        yield Heading(depth, "Classes")
        yield classes_table(model.classes)
    if model.top_k:
        yield Heading(depth, "The largest scores together")
        yield top_k_table(model.top_k)
    if model.remedies is not None:
        yield Heading(depth, "What would fix it")
        yield remedies_sentence(model.remedies)
        yield remedies_table(model.remedies, contents.settings.level)
        if model.remedies.guarantee is not None:
            yield guarantee_sentence(model.remedies)
        yield from model.remedies.notes


def worst_sentence(model: Model) -> str:
    """Which bins make the error."""
    if not model.worst:
        return "No bin has a gap between its rate and its mean score."
    table = bins_table(model)
    share = table.head.index("Share of ECE")
    names = dict(zip(_numbers_of_rows(model), (row[0].text for row in table.rows), strict=True))
    shares = dict(zip(_numbers_of_rows(model), (row[share].text for row in table.rows), strict=True))
    named = ", ".join(f"{names[b]} ({shares[b]})" for b in model.worst)
    flagged = int(model.bins.outside.sum())
    filled = int((model.bins.n > 0).sum())
    which = "no bin is" if not flagged else f"{flagged} of {counted(filled, 'bin')} {'is' if flagged == 1 else 'are'}"
    return f"Most of the ECE comes from {named}; {which} flagged."


def _numbers_of_rows(model: Model) -> list[int]:
    return [i for i, n in enumerate(model.bins.n.tolist()) if n > 0]


def rows_sentence(contents: Contents) -> str:
    """How many rows there are, and what became of the others."""
    rows = contents.rows
    said = [f"{counted(rows.used, 'row')} used of {rows.given:,}"]
    if contents.clusters is not None:
        said[0] += f", in {counted(contents.clusters.number, 'cluster')}"
    if rows.dropped:
        said.append(f"{counted(rows.dropped, 'row')} with missing values dropped")
    unweighted = rows.given - rows.used - rows.dropped
    if unweighted:
        said.append(f"{counted(unweighted, 'row')} of weight 0 left out")
    if rows.weights != "none":
        said.append(f"{rows.weights} weights, {rows.weight:,.6g} in total")
    return "; ".join(said)


def computed(contents: Contents) -> Iterator[tuple[str, str]]:
    """The circumstances."""
    s = contents.settings
    alone = "" if contents.clusters is None else f", {INDEPENDENT}"
    yield "rows", rows_sentence(contents)
    if contents.rows.classes is not None:
        yield "classes", f"{len(contents.rows.classes)}"
    if contents.clusters is not None:
        yield "clusters", in_words(contents.clusters)
    yield "bins", f"{s.bins_in_words} ({s.bins})"
    yield "level", f"{percent(s.level)}, of every interval, band and decision"
    yield "seed", f"{s.seed}"
    for model in contents.models[:1]:
        found = model.summary
        if found.noise_floor is not None:
            yield "noise floor", f"labels redrawn {found.noise_floor.resamples:,} times{alone}"
        if found.tce_floor is not None:
            yield "noise floor of the TCE", f"labels redrawn {found.tce_floor.resamples:,} times{alone}"
        if found.test is not None:
            yield "test", f"{found.test.method}: {found.test.assumptions}"
        if found.ece_interval is not None:
            yield "confidence set", f"{found.ece_interval.method}, {found.ece_interval.bins}"
    yield "version", f"trueness {contents.version}"
