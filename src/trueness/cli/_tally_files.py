"""``trueness measure`` and ``trueness report`` of .tally files: what sums can say, within which limits."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trueness.cli._options import bins_option, level_option, output_options, plain_output_options
from trueness.cli._say import refusing, say
from trueness.cli._write import check_writable, deliver, form_of, write
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness._tally.accumulator import Accumulator
    from trueness._tally.rules import BinRule
    from trueness.cli._sheet import Sheet

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


@click.command("measure")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@bins_option("10", "Bins of ECE and MCE; ACE and TCE take as many, of equal mass")
@output_options
def measure(files: tuple[str, ...], bins: str, form: str | None, output: str | None, debug: bool) -> None:
    """Measure the rows that were added up in .tally files, all together, and each group."""
    with refusing(debug):
        from trueness.cli._bins import bin_rule

        rule = bin_rule(bins)
        check_writable(output, *files)
        found = _added(files)
        deliver(_sheet(found, files, rule), form, output)


@click.command("report")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@bins_option("10", "Bins of the table and of ECE", blind=True)
@level_option(0.95, "Level of the intervals of the bins.")
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "json", "text"]),
    help="Form of the report.  [default: by the name of the output file, else html]",
)
@plain_output_options
def report(files: tuple[str, ...], form: str | None, output: str | None, debug: bool, **asked: Any) -> None:
    """Write one page about the rows that were added up in .tally files: what sums can say, and what they cannot."""
    with refusing(debug):
        from trueness.cli._bins import bin_rule
        from trueness.cli._tally_page import page
        from trueness.cli._tally_verdict import verdict_of

        chosen = form_of(form, output, _SUFFIXES, "html")
        if chosen == "html" and output is None:
            output = _USUAL
        rule = bin_rule(asked["bins"])
        check_writable(output, *files)
        found = _added(files)
        bins = _bin_sheet(found, rule, asked["level"])
        verdict = verdict_of(found.total, found.bins)
        text = page(asked["title"] or "Calibration", verdict, _sheet(found, files, rule), bins, chosen)
        if output is None or output == "-":
            click.echo(text, nl=not text.endswith("\n"))
            return
        write(output, text)
        say(f"note: the report is in {output}.")


def _added(files: Sequence[str]) -> "Accumulator":
    """All files as one."""
    import trueness as tn

    total = None
    for name in files:
        if not name.endswith(".tally"):
            raise InputError(f"{name!r} is no .tally file: sums and rows cannot be measured together. Tally it first.")
        try:
            one = tn.Accumulator.load(name)
        except FileNotFoundError:
            raise InputError(f"There is no file {name!r}.") from None
        except InputError as reason:
            raise InputError(f"{name}: {reason}") from reason
        if total is None:
            total = one
            continue
        if one.about != total.about:
            raise InputError(f"{name} is about other columns ({one.about}) than {files[0]} ({total.about}).")
        try:
            total.merge(one)
        except InputError as reason:
            raise InputError(f"{name} does not add to {files[0]}: {reason}") from reason
    assert total is not None
    return total


class _Asked(NamedTuple):
    """One line of the output: its key, its name, what to call, and what the limits are of."""

    key: str
    name: str
    value: Callable[[Any], float]
    limits: Any = None
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed


def _questions(rule: "BinRule", kind: str) -> list[_Asked]:
    import trueness as tn

    mass = rule if isinstance(rule, tn.EqualMass) else tn.EqualMass(rule.asked or 10)

    def plain(key: str, name: str, of: Callable[..., float], **options: Any) -> _Asked:
        return _Asked(key, name, lambda sums: of(sums, **options), of, options)

    def walk(method: Any) -> Callable[[Any], float]:
        return lambda sums: tn.calibration_test(sums, method=method).statistic

    found = [
        plain("ece", "ECE", tn.ece, bins=rule),
        plain("ece_l2", "ECE, l2", tn.ece, bins=rule, norm="l2"),
        plain("mce", "MCE", tn.mce, bins=rule),
        plain("ace", "ACE", tn.ace, bins=mass),
        plain("tce", f"TCE, %, {mass.n} bins", tn.tce, bins=mass),
        plain("smooth_ece", "smooth ECE", tn.smooth_ece),
        plain("brier", "Brier score", tn.brier),
        _Asked("brier_miscalibration", "miscalibration", lambda s: tn.corp(s).miscalibration, "miscalibration"),
        _Asked("brier_discrimination", "discrimination", lambda s: tn.corp(s).discrimination, "discrimination"),
        plain("log_loss", "log loss", tn.log_loss),
    ]
    if kind in ("binary", "confidence"):
        found += [
            plain("squared_ece", "squared ECE of these bins", tn.squared_ece, bins=rule),
            _Asked("ks", "KS distance", walk("ks"), "ks"),
            _Asked("kuiper", "Kuiper distance", walk("kuiper"), "kuiper"),
        ]
    if kind == "binary":
        found += [
            plain("slope", "slope", tn.calibration_slope),
            plain("intercept", "intercept", tn.calibration_intercept),
            plain("observed_expected", "observed/expected", tn.observed_expected),
        ]
    return found


def _lines(sums: Any, rule: "BinRule", group: Any) -> list[dict[str, Any]]:
    from trueness.cli._rows import heard

    with heard() as warned:
        lines = [_answer(asked, sums) | {"group": group} for asked in _questions(rule, sums.kind)]
    for message in warned:
        say(f"warning: {message if group is None else f'{group}: {message}'}")
    return [{"group": group, "key": "n", "name": "rows", "value": sums.n, "shown": f"{sums.n:,}"}, *lines]


def _answer(asked: _Asked, sums: Any) -> dict[str, Any]:
    """Value and limits, or why there is none."""
    import trueness as tn

    line: dict[str, Any] = {"key": asked.key, "name": asked.name}
    try:
        value = asked.value(sums)
    except InputError as reason:
        return line | {"shown": "-", "note": _first_sentence(reason)}
    line |= {"value": value, "low": value, "high": value, "shown": f"{value:.6g}", "note": "exact"}
    if not isinstance(sums, tn.Sketch):
        return line
    try:
        found = tn.bounded(asked.limits, sums, **asked.options)
    except InputError as reason:
        return line | {"low": None, "high": None, "note": _first_sentence(reason)}
    line |= {"value": found.value, "low": found.low, "high": found.high, "shown": f"{found.value:.6g}"}
    if found.error > 1e-9 * max(1, abs(found.value)):
        line |= {"note": "", "limits": f"{found.low:.6g} to {found.high:.6g}"}
    return line


def _first_sentence(reason: Exception) -> str:
    return str(reason).partition(". ")[0].rstrip(".") + "."


def _sheet(found: "Accumulator", files: Sequence[str], rule: "BinRule") -> "Sheet":
    from trueness.cli._bins import in_words
    from trueness.cli._sheet import Column, Sheet, stamped

    rows = _lines(found.total, rule, None)
    for group, sums in found.groups.items():
        rows += [] if found.by is None else _lines(sums, rule, group)
    columns = [
        *([Column("group", found.by, "name")] if found.by else []),
        Column("key", "measure", "name"),
        *(Column(name, name, "number") for name in ("value", "low", "high")),
        Column("note", "", "text"),
    ]
    shown = [*columns[:-5], Column("name", "measure", "name"), Column("shown", "value", "text")]
    shown += [Column("limits", "of the rows", "text"), Column("note", "", "text")]
    keys = ("group", "key", "value", "low", "high", "note")
    data = stamped(
        data={"sources": list(files), **found.about, "by": found.by},
        kept=found.bins,
        bins=in_words(rule),
        measures=[{key: row.get(key) for key in keys} for row in rows],
    )
    return Sheet(columns, rows, data, _notes(found, files, rule), shown)


def _notes(found: "Accumulator", files: Sequence[str], rule: "BinRule") -> list[str]:
    from trueness.cli._bins import in_words

    named = ", ".join(Path(name).name for name in files[:6]) + (", …" if len(files) > 6 else "")
    first = f"{named}: {found.total.n:,} rows; labels {found.about.get('label')!r}, scores {found.about.get('score')!r}"
    notes = [f"{first}; bins: {in_words(rule)}."]
    if found.bins == "sketch":
        notes.append(
            "Sums of a sketch: where limits are shown, the measure of the rows surely lies between them, and its exact "
            "value needs the rows. Bins of equal width by a power of two up to 512 are exact."
        )
    return notes


def _bin_sheet(found: "Accumulator", rule: "BinRule", level: float) -> "Sheet":
    import trueness as tn
    from trueness.cli._rows import heard
    from trueness.cli._sheet import Column, Sheet, stamped

    with heard():  # the measures have said it
        table = tn.bin_table(found.total, bins=rule, level=level).to_dict()
    keys = ("low_edge", "high_edge", "n", "score", "rate", "low", "high", "gap")
    rows = [dict(zip(keys, line, strict=True)) for line in zip(*(table[key] for key in keys), strict=True)]
    columns = [Column(key, key.replace("_", " "), "count" if key == "n" else "number") for key in keys]
    note = f"Bins of the sums; low and high are the {100 * level:g} % interval of the rate."
    if found.bins == "sketch":
        note += " A cell that an edge cuts is counted whole, in the bin of its mean score."
    return Sheet(columns, rows, stamped(table={key: table[key] for key in keys}), [note])
