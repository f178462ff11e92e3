"""``trueness report``."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import collect_warnings, errors_as_messages, note, warning
from trueness.cli._options import (
    bins_option,
    check_input,
    cluster_option,
    data_options,
    level_option,
    plain_output_options,
    seed_option,
)
from trueness.cli._writing import check_writable, form_of, write
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness.cli._rows import Rows

__all__ = ["command"]

_USUAL = "trueness-report.html"
_SUFFIXES = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".txt": "text",
}


@click.command("report", no_args_is_help=True)
@data_options(several=True)
@cluster_option
@bins_option("10", "Bins of the first picture and of ECE; the page offers others", blind=True)
@level_option(0.95, "Level of every interval, band and decision; more than 1/2.", least=0.5)
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@seed_option()
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "json", "text"]),
    help="Form of the report.  [default: by the name of the output file, else html]",
)
@plain_output_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], demo: bool, debug: bool, **options: Any) -> None:
    """Write one page that says whether the probabilities are true.

    How sure are we, where are they wrong, and what would fix it? Without -o the page is written to
    trueness-report.html in the current folder, and the verdict is printed; Markdown, JSON and text go to standard
    output.

    \b
      trueness report --demo
      trueness report predictions.csv --label churned --prob model_a --prob model_b --by region
      trueness report answers.jsonl --label correct --prob confidence --cluster question
      trueness report scores.npz --label y --prob P -o dogs.html
      trueness report monday.tally tuesday.tally -o days.html

    Exit code 0: written, whatever the verdict. 2: the options or the data are wrong.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_input(context, files, demo)
    with errors_as_messages(debug):
        _report(files, **options)


def _report(files: tuple[str, ...], *, form: str | None, output: str | None, **asked: Any) -> None:
    from trueness.cli._bins import bin_rule
    from trueness.cli._reading import Request, opening

    chosen = form_of(form, output, _SUFFIXES, "html")
    if chosen == "html" and output is None:
        output = _USUAL
    check_writable(output, *files)
    settings = {
        "bins": bin_rule(asked["bins"]),
        "level": asked["level"],
        "seed": asked["seed"],
        "title": asked["title"],
    }
    with opening(Request.taken_from({"files": files, **asked})) as opened:
        rows = opened.rows()
    found = _made(rows, settings)
    text = _text(found, chosen)
    if output is None or output == "-":
        click.echo(text, nl=not text.endswith("\n"))
        return
    write(output, text)
    click.echo(found.verdict)
    note(f"the report is in {output}.")


def _made(rows: "Rows", settings: dict[str, Any]) -> Any:
    import trueness as tn
    from trueness._progress import progress_bar
    from trueness.cli._rows import dropped_in_words

    if len(rows.label) == 0:
        raise InputError(f"{rows.source} has no rows.")
    report: Any = tn.report
    rows = rows.alike()
    with rows.about(*rows.choice.models), collect_warnings() as warned, progress_bar("Writing the report") as tell:
        given = {model.name: rows.arguments(model) for model in rows.choice.models}
        first = next(iter(given.values()))
        if any(other.rows.get("labels") != first.rows.get("labels") for other in given.values()):
            raise InputError("All models must have their columns in the same order of classes.")
        found = report(
            first.y_true,
            {name: one.y_prob for name, one in given.items()},
            by={name: rows.columns.groups[name] for name in rows.choice.by} or None,
            cluster=rows.cluster,
            progress=tell,
            **settings,
            **first.rows,
        )
    counts = found.to_dict()["rows"]
    for line in dropped_in_words(counts["dropped"], counts["given"]):
        warning(f"{line}")
    for message in (*filter(None, [first.remark]), *warned):
        note(f"{message}")
    return found


def _text(found: Any, form: str) -> str:
    if form == "html":
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.html")
            found.to_html(page)
            return page.read_text(encoding="utf-8")
    if form == "markdown":
        return str(found.to_markdown())
    return str(found.to_json()) if form == "json" else str(found)
