"""The document that a validator files: numbers are filled in, the judgement is left blank."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from trueness._report import document
from trueness._report.charts import curve_chart
from trueness._report.page import environment, part
from trueness._report.reliability import reliability_chart
from trueness._report.tables import model_tables
from trueness._text.numbers import level_percent, number, p_value, percent, span
from trueness._text.table import Cell, Column, Kind, Table
from trueness.results import Estimate, GradeTable, Stability
from trueness.results._page import Contents

if TYPE_CHECKING:
    from markupsafe import Markup

Style: TypeAlias = Literal["credit", "clinical"]

# Measures of discrimination, in the order of the table.
_DISCRIMINATION = ("auc", "discrimination", "scaled_brier", "brier", "log_loss")
_BINS = (
    "Event rates of bins with {level} limits against their mean scores. Calibrated scores stay "
    "inside the grey band with {level} probability, all points together. Below: the distribution "
    "of the scores."
)
_CURVE = (
    "Flexible calibration curve with its {level} bands, at each score by itself (dark) and for all "
    "scores together (light)."
)
# Grades are shown with these columns; the table itself has more.
_GRADES = ("grade", "n", "score", "expected", "events", "rate", "low", "ratio", "pvalue", "light")
_GRADE_WORDS = ("grade", "light")


@dataclass(frozen=True)
class Filing:
    """Everything that the document shows."""

    contents: Contents
    style: Style
    command: str
    """The command that writes the same document."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each file that was read."""
    grades: GradeTable | None = None
    first_period: str = ""
    stability: Mapping[str, Stability] = field(default_factory=dict)
    """By period, its scores against those of the first one."""


class Blank(NamedTuple):
    """Room for a person: what is to be written, and how many lines there are."""

    prompt: str
    lines: int = 3


class Section(NamedTuple):
    """One section: its heading, and what is filled in."""

    key: str
    title: str
    facts: tuple[str, ...] = ()
    """Sentences."""
    pictures: tuple["Markup", ...] = ()
    """Charts and tables as HTML."""
    terms: Mapping[str, str] = {}
    """What is looked up by name."""
    blanks: tuple[Blank, ...] = ()


def filing_page(filing: Filing) -> str:
    """The document as one self-contained HTML file without scripts, made for paper."""
    from markupsafe import Markup

    contents = filing.contents
    sections = list(_sections(filing))
    text: str = (
        environment()
        .get_template("filing.html")
        .render(
            title=contents.title,
            version=contents.version,
            judged=list(document.what_was_judged(contents)),
            sections=sections,
            style=Markup(part("report.css")),
            own_style=Markup(part("filing.css")),
        )
    )
    return text


def _sections(filing: Filing) -> Iterator[Section]:
    """The sections of the style, in order."""
    credit = filing.style == "credit"
    yield _data(filing.contents)
    if credit:
        yield _definition(filing.contents)
    yield _discrimination(filing.contents)
    yield _calibration(filing)
    if credit:
        yield _stability(filing)
    yield _limits_of_use(filing.contents)
    yield _decision()
    yield _receipt(filing)


def _data(contents: Contents) -> Section:
    """The section on the data: rows, events, origin, and a blank for what the author knows."""
    summary = contents.models[0].summary
    circumstances = dict(document.circumstances(contents))
    rate = summary.rate
    terms = {
        "rows": circumstances["rows"],
        "events": f"{round(rate * contents.rows.used):,} ({percent(rate)})",
        "file": contents.provenance.file or "rows in memory",
        "scores": contents.models[0].name,
    }
    if "clusters" in circumstances:
        terms["clusters"] = circumstances["clusters"]
    blank = Blank("Population, period and sampling; exclusions; treatment of missing values", 4)
    return Section("data", "Data", terms=terms, blanks=(blank,))


def _definition(contents: Contents) -> Section:
    """The section on the event, with blanks for its definition."""
    origin = contents.provenance
    event = f"{origin.label} = {origin.event}" if origin.label else str(origin.event)
    fact = f"The event that was predicted is {event}."
    blanks = (
        Blank("Definition of default and horizon of the outcome", 4),
        Blank("Differences from the definition used in development", 2),
    )
    return Section("definition", "Definition of default", (fact,), blanks=blanks)


def _discrimination(contents: Contents) -> Section:
    estimates = contents.models[0].summary.estimates
    table = _table_of(
        [estimates[key] for key in _DISCRIMINATION if key in estimates], contents.settings.level
    )
    blank = Blank("Judgement: is the ranking good enough for the intended use?")
    return Section("discrimination", "Discrimination", pictures=_markup(table), blanks=(blank,))


def _table_of(estimates: list[Estimate], level: float) -> Table:
    """The table of some estimates with their limits; measures without limits have a dash."""
    columns = [
        Column("measure", "measure", "name"),
        Column("value", "value", "number"),
        Column("limits", f"{level_percent(level)} limits", "number"),
        Column("method", "method"),
    ]
    lines = []
    for estimate in estimates:
        limits = span(estimate.low, estimate.high) if estimate.bounded else "–"
        value = _number_cell(estimate.value)
        lines.append((estimate.measure, value, Cell(None, limits), estimate.method))
    return Table.from_lines(columns, lines, name="measures", sortable=False)


def _number_cell(value: float) -> Cell:
    return Cell(value, number(value))


def _calibration(filing: Filing) -> Section:
    """The section on calibration: pictures, numbers and the verdict.

    With grades, their table stands in place of that of the bins.
    """
    from markupsafe import Markup

    contents = filing.contents
    model = contents.models[0]
    tables = model_tables(model, contents)
    first = model.explorers[0]
    level = level_percent(contents.settings.level)
    charts = [_figure(reliability_chart(model.picture, first), _BINS.format(level=level))]
    if model.curve is not None:
        charts.append(_figure(curve_chart(model.curve, first), _CURVE.format(level=level)))
    pictures = [Markup('<div class="pair">{}</div>').format(Markup("").join(charts))]
    pictures += _markup(tables.get("panel", tables["summary"]))
    facts = [model.verdict.headline, model.verdict.certainty]
    if filing.grades is not None:
        pictures += _markup(_grades_table(filing.grades))
        facts += list(filing.grades.findings)
    else:
        pictures += _markup(tables["bins"])
    blank = Blank("Judgement: are the probabilities right where decisions are made?")
    return Section(
        "calibration",
        "Calibration",
        tuple(filter(None, facts)),
        tuple(pictures),
        blanks=(blank,),
    )


def _figure(chart: str, caption: str) -> "Markup":
    from markupsafe import Markup

    return Markup("<figure>{}<figcaption>{}</figcaption></figure>").format(Markup(chart), caption)


def _grades_table(grades: GradeTable) -> Table:
    columns = []
    for key in _GRADES:
        kind: Kind = "name" if key in _GRADE_WORDS else "number"
        columns.append(Column(key, grades.titles[key], kind))
    lines = [[_grade_cell(key, text[key]) for key in _GRADES] for text in grades.texts()]
    return Table.from_lines(columns, lines, notes=[grades.rule], name="grades", sortable=False)


def _grade_cell(key: str, text: str) -> str | Cell:
    if key in _GRADE_WORDS:
        return text
    return Cell(None, text)


def _stability(filing: Filing) -> Section:
    """The section on stability: the population stability index of each period.

    Without a column of periods it says that this was not examined.
    """
    judgement = Blank("Judgement: has the population changed, and does it matter?")
    if not filing.stability:
        fact = "Not examined: no column of periods was named (--over)."
        return Section("stability", "Stability", (fact,), blanks=(judgement,))
    first = next(iter(filing.stability.values()))
    columns = [
        Column("period", "period", "name"),
        Column("n", "rows", "count"),
        Column("psi", "PSI", "number"),
        Column("floor", "by chance, mean", "number"),
        Column("high", f"by chance, {level_percent(first.level)}", "number"),
        Column("p", "p", "p"),
        Column("shifted", "beyond chance"),
    ]
    lines = []
    for period, stability in filing.stability.items():
        shifted = Cell(stability.shifted, "no")
        if stability.shifted:
            shifted = Cell(stability.shifted, "yes", "flag")
        lines.append(
            (
                period,
                stability.n_second,
                _number_cell(stability.value),
                _number_cell(stability.floor),
                _number_cell(stability.floor_high),
                Cell(stability.pvalue, p_value(stability.pvalue, named=False)),
                shifted,
            )
        )
    fact = (
        "Population stability index of the scores of each period against "
        f"{filing.first_period!r} ({first.n_first:,} rows), in tenths of both samples together."
    )
    table = Table.from_lines(columns, lines, name="stability", sortable=False)
    return Section("stability", "Stability", (fact,), _markup(table), blanks=(judgement,))


def _limits_of_use(contents: Contents) -> Section:
    """The section on limits of use: what the page found out, and blanks for the rest."""
    model = contents.models[0]
    tables = model_tables(model, contents)
    facts = [contents.omitted, *contents.notes, *model.notes]
    pictures = _markup(tables["segments"]) if "segments" in tables else ()
    blanks = (
        Blank("Populations, decisions and period for which the scores may be used"),
        Blank("Known weaknesses, and what must be watched"),
    )
    return Section("limits", "Limits of use", tuple(filter(None, facts)), pictures, blanks=blanks)


def _decision() -> Section:
    blanks = (
        Blank("☐ approved   ☐ approved with conditions   ☐ rejected", 0),
        Blank("Reasons and conditions", 4),
        Blank("Name, function, date, signature", 2),
    )
    return Section("decision", "Decision", blanks=blanks)


def _receipt(filing: Filing) -> Section:
    """The section that allows the filing to be repeated: command, date, digests, settings."""
    terms = {"command": filing.command, "date": filing.contents.provenance.date}
    for name, digest in filing.digests.items():
        terms[f"SHA-256 of {name}"] = digest
    circumstances = dict(document.circumstances(filing.contents))
    del circumstances["rows"]
    circumstances.pop("clusters", None)
    return Section("receipt", "Receipt", terms=terms | circumstances)


def _markup(table: Table) -> tuple["Markup", ...]:
    from markupsafe import Markup

    return (Markup(table.to_html()),)
