"""``trueness measure`` and ``trueness report`` of .tally files: what sums can say, within which limits."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import errors_as_messages, note
from trueness.cli._options import bins_option, level_option, output_options, plain_output_options
from trueness.cli._writing import check_writable, deliver, form_of, write
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness._report.report import Report
    from trueness._tally.accumulator import Accumulator
    from trueness._tally.rules import BinRule
    from trueness.cli._sheet import Sheet
    from trueness.cli._tally_sums import Sums

__all__ = ["measure", "report"]

_SUFFIXES = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".txt": "text",
}
_USUAL = "trueness-report.html"
_OWN = "by default those that were kept, else 10 of equal width"


_each = click.option("--each", is_flag=True, help="Also each file by itself: a line per file, and one for all.")


@click.command("measure")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@bins_option(None, f"Bins of ECE and MCE, {_OWN}; ACE and TCE take as many, of equal mass")
@_each
@output_options
def measure(
    files: tuple[str, ...], bins: str | None, each: bool, form: str | None, output: str | None, debug: bool
) -> None:
    """Measure the rows that were added up in .tally files, all together, and each group.

    \b
      trueness measure monday.tally tuesday.tally
      trueness measure day-*.tally --each --format csv -o days.csv
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    with errors_as_messages(debug):
        from trueness.cli._tally_each import each_sheet

        said = _said(bins)
        sums, total = _read(files, output)
        rule = said or _own(total)
        sheet = _sheet(total, [name for name, _ in sums], rule)
        deliver(each_sheet(sums, sheet, rule) if each else sheet, form, output)


@click.command("report")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@bins_option(None, f"Bins of the table and of ECE, {_OWN}", blind=True)
@level_option(0.95, "Level of every interval, band and decision; more than 1/2.", least=0.5)
@_each
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "json", "text"]),
    help="Form of the report.  [default: by the name of the output file, else html]",
)
@plain_output_options
def report(files: tuple[str, ...], form: str | None, output: str | None, debug: bool, **asked: Any) -> None:
    """Write one page about the rows summed in .tally files. It names the sections that need the rows themselves."""
    with errors_as_messages(debug):
        chosen = form_of(form, output, _SUFFIXES, "html")
        if chosen == "html" and output is None:
            output = _USUAL
        said = _said(asked["bins"])
        sums, found = _read(files, output)
        made = _report(sums, found, said, asked)
        text = made.page() if chosen == "html" else getattr(made, f"to_{chosen}")()
        if output is None or output == "-":
            click.echo(text, nl=not text.endswith("\n"))
            return
        write(output, text)
        click.echo(made.verdict)
        note(f"the report is in {output}.")


def _report(sums: "list[Sums]", found: "Accumulator", rule: "BinRule | None", asked: dict[str, Any]) -> "Report":
    """The report of all sums, with a table of the files if asked for."""
    from trueness._report.report import report_sums
    from trueness.cli._tally_each import each_sheet

    names = [name for name, _ in sums]
    files = None
    if asked["each"]:
        own = rule or _own(found)
        lines = each_sheet(sums, _sheet(found, names, own), own).rows
        files = [{key: value for key, value in line.items() if not key.endswith("_shown")} for line in lines]
    about = found.about
    source = f"{_file_names(names)}: labels {about.get('label')!r}, scores {about.get('score')!r}."
    return report_sums(found, bins=rule, level=asked["level"], title=asked["title"], files=files, notes=[source])


def _file_names(files: Sequence[str]) -> str:
    return ", ".join(Path(name).name for name in files[:6]) + (", …" if len(files) > 6 else "")


def _said(bins: str | None) -> "BinRule | None":
    """What ``--bins`` says, read before the files are: a slip should not cost their time."""
    from trueness.cli._options import bin_rule

    rule: BinRule | None = bin_rule(bins)
    return rule


def _own(found: "Accumulator") -> "BinRule":
    """The bins that were kept, which have every measure that bins can have; else the usual ones."""
    from trueness._tally.rules import as_rule

    return as_rule(10 if isinstance(found.bins, str) else found.bins)


def _read(files: tuple[str, ...], output: str | None) -> "tuple[list[Sums], Accumulator]":
    """The sums of each file and of all, which must have rows."""
    from trueness.cli._tally_sums import added, read_sums

    sums = read_sums(files)
    check_writable(output, *(name for name, _ in sums))
    total = added(sums)
    if total.n == 0:
        raise InputError(f"{' and '.join(files[:3])} {'has' if len(files) == 1 else 'have'} no rows.")
    return sums, total


def _sheet(found: "Accumulator", files: Sequence[str], rule: "BinRule") -> "Sheet":
    from trueness._text.bins import rule_in_words
    from trueness.cli._sheet import Column, Sheet, stamped
    from trueness.cli._tally_measures import as_data, lines_of, shown_group

    rows = lines_of(found, rule, blocks=True)
    columns = [
        *([Column("group", found.by, "name")] if found.by else []),
        Column("key", "measure", "name"),
        *(Column(name, name, "number") for name in ("value", "low", "high")),
        Column("note", "", "text"),
    ]
    shown = [*columns[:-5], Column("name", "measure", "name"), Column("shown", "value", "text")]
    shown += [Column("limits", "of the rows", "text"), Column("note", "", "text")]
    data = stamped(
        data={"sources": list(files), **found.about, "by": found.by},
        kept=found.bins,
        bins=rule_in_words(rule),
        measures=as_data(rows),
    )
    rows = [line | {"group": shown_group(line["group"])} for line in rows]
    return Sheet(columns, rows, data, _notes(found, files, rule), shown)


def _notes(found: "Accumulator", files: Sequence[str], rule: "BinRule") -> list[str]:
    from trueness._text.bins import rule_in_words

    about = found.about
    first = (
        f"{_file_names(files)}: {found.total.n:,} rows; labels {about.get('label')!r}, scores {about.get('score')!r}"
    )
    notes = [f"{first}; bins: {rule_in_words(rule)}."]
    if found.bins == "sketch":
        notes.append(
            "Sums of a sketch: where limits are shown, the measure of the rows surely lies between them, and its exact "
            "value needs the rows. Bins of equal width by a power of two up to 512 are exact."
        )
    return notes
