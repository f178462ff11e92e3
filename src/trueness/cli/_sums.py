"""Sums in .tally files: read, added and measured."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trueness.cli._messages import errors_as_messages, reworded, warning, wording
from trueness.cli._options import bin_rule, bins_option, output_options
from trueness.cli._writing import Output, check_writable, deliver, form_of
from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness import Accumulator
    from trueness._tally.rules import BinRule

__all__ = [
    "OWN_BINS",
    "Sums",
    "add",
    "each_option",
    "file_lines",
    "file_names",
    "measure",
    "own_bins",
    "read_sums",
    "read_total",
]

OWN_BINS = "by default the stored ones, else 10 of equal width"
_SHOWN = ("prevalence", "ece", "ace", "brier", "observed_expected")
_SKETCH = (
    "The sums are a sketch: where limits are shown, the exact value lies between them, and needs the rows. Equal-width "
    "bins are exact if their number is a power of two up to 512."
)
_SIGNS = {
    "[": "Brackets: range of the exact value (not a confidence interval).",
    "≈": "≈: approximate, without known limits.",
}

each_option = click.option("--each", is_flag=True, help="Also each file separately: a line per file, and one for all.")


@click.command("measure")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@bins_option(None, f"Bins of ECE and MCE, {OWN_BINS}; ACE and TCE take as many, of equal mass")
@each_option
@output_options
def measure(
    files: tuple[str, ...], bins: str | None, each: bool, form: str | None, output: str | None, debug: bool
) -> None:
    """Measure the rows that .tally files sum up, all together, and each group.

    \b
      trueness measure monday.tally tuesday.tally
      trueness measure day-*.tally --each --format csv -o days.csv
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    with errors_as_messages(debug):
        form = form_of(form, output)
        rule = bin_rule(bins)  # before the files are read
        sums, total = read_total(files, output)
        rule = rule or own_bins(total)
        lines = _lines(total, rule, blocks=True)
        deliver(_each(sums, total, lines, rule) if each else _all(sums, total, lines, rule), form, output)


class Sums(NamedTuple):
    """The sums in one file."""

    name: str
    sums: "Accumulator"


def read_total(files: Sequence[str], output: str | None) -> "tuple[list[Sums], Accumulator]":
    """The sums of each file, and of all, which must have rows."""
    sums = read_sums(files)
    check_writable(output, *(name for name, _ in sums))
    total = add(sums)
    if total.n == 0:
        raise InputError("", f"{' and '.join(files[:3])} {'has' if len(files) == 1 else 'have'} no rows")
    return sums, total


def read_sums(files: Sequence[str]) -> list[Sums]:
    """The sums of each file, or of the files that a pattern matches."""
    from trueness.sources._files import expand_paths

    names = expand_paths(files)
    for name in names:
        if not name.endswith(".tally"):
            demand = f"{name!r} is no .tally file: sums and rows cannot be taken together"
            raise InputError("", demand, remedy="`trueness tally` makes sums of rows.")
    sums = [Sums(name, _load(name)) for name in names]
    for (first, one), (second, two) in combinations(sums, 2):
        if 0 < one.n == two.n and one.groups == two.groups:
            warning(f"{first} and {second} hold the very same sums. If one is a copy, its rows are counted twice.")
    return sums


def _load(name: str) -> "Accumulator":
    import trueness as tn

    try:
        return tn.Accumulator.load(name)
    except FileNotFoundError:
        raise InputError("", f"There is no file {name!r}") from None
    except IsADirectoryError:
        raise InputError("", f"{name!r} is a folder, not a file of sums") from None
    except OSError as reason:
        raise InputError("", f"{name!r} cannot be read: {reason.strerror or reason}") from reason


def add(sums: Sequence[Sums]) -> "Accumulator":
    """The sums of all files together."""
    total = _total(sums)
    for one in sums:
        others = [other for other in sums if other is not one]
        if len(sums) > 2 and 0 < 2 * one.sums.n == total.n and one.sums.groups == _total(others).groups:
            warning(f"{one.name} holds the very sums of all others together; their rows are counted twice.")
    return total


def _total(sums: Sequence[Sums]) -> "Accumulator":
    first = sums[0]
    total = copy.copy(first.sums)  # `merge` replaces the sums of the copy, and leaves the others alone
    for name, one in sums[1:]:
        if one.about != total.about:
            demand = f"{name} is about other columns ({one.about}) than {first.name} ({total.about})"
            raise InputError("", demand)
        try:
            total.merge(one)
        except InputError as reason:
            raise reason.within(f"{name} does not add to {first.name}") from reason
    return total


def own_bins(total: "Accumulator") -> "BinRule":
    """The stored bins, for which every measure of bins is exact; else the usual ones."""
    from trueness._tally.rules import as_rule

    return as_rule(10 if isinstance(total.bins, str) else total.bins)


class _Measure(NamedTuple):
    """A measure of sums: its key, its name, its function and how to ask for its limits."""

    key: str
    name: str
    value: Callable[[Any], float]
    limits: Any = None
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed


Line = dict[str, Any]
"""A measure of one group: group, key, name, value, low, high and note."""


def _measures(rule: "BinRule", kind: str, blocks: bool) -> list[_Measure]:
    import trueness as tn

    mass = rule if isinstance(rule, tn.EqualMass) else tn.EqualMass(rule.n_requested or 10)

    def plain(key: str, name: str, function: Callable[..., float], **options: Any) -> _Measure:
        return _Measure(key, name, lambda sums: function(sums, **options), function, options)

    def statistic(method: Any) -> Callable[[Any], float]:
        return lambda sums: tn.calibration_test(sums, method=method).statistic

    measures = [
        plain("ece", "ECE", tn.ece, bins=rule),
        plain("ece_l2", "ECE, l2", tn.ece, bins=rule, norm="l2"),
        plain("mce", "MCE", tn.mce, bins=rule),
        plain("ace", "ACE", tn.ace, bins=mass),
        *([plain("tce", "TCE, %", tn.tce)] if blocks else []),
        plain("tce_equal_mass", f"TCE, %, {mass.n} bins", tn.tce, bins=mass),
        plain("smooth_ece", "smooth ECE", tn.smooth_ece),
        plain("brier", "Brier score", tn.brier),
        _Measure("brier_miscalibration", "miscalibration", lambda s: tn.corp(s).miscalibration, "miscalibration"),
        _Measure("brier_discrimination", "discrimination", lambda s: tn.corp(s).discrimination, "discrimination"),
        plain("log_loss", "log loss", tn.log_loss),
    ]
    if kind in ("binary", "confidence"):
        measures += [
            plain("squared_ece", "squared ECE of these bins", tn.squared_ece, bins=rule),
            _Measure("ks", "KS distance", statistic("ks"), "ks"),
            _Measure("kuiper", "Kuiper distance", statistic("kuiper"), "kuiper"),
        ]
    if kind == "binary":
        measures += [
            plain("slope", "slope", tn.calibration_slope),
            plain("intercept", "intercept", tn.calibration_intercept),
            plain("observed_expected", "observed/expected", tn.observed_expected),
        ]
    return measures


def _lines(total: "Accumulator", rule: "BinRule", where: str = "", *, blocks: bool = False) -> list[Line]:
    """All measures of all rows, then of each group; `where` begins the warnings.

    `blocks` adds the TCE in isotonic blocks for all rows, which takes longer.
    """
    if total.n == 0:
        return [{"group": None, "key": "n", "name": "rows", "value": 0}]
    lines = _lines_of(total.total, rule, None, where, blocks)
    for group in _ordered(total.groups) if total.by is not None else ():
        lines += _lines_of(total.groups[group], rule, group, where, blocks=False)
    return lines


def _ordered(groups: Iterable[Any]) -> list[Any]:
    """By value, also if numbers are stored as text."""
    try:
        return sorted(groups, key=float)
    except (TypeError, ValueError):
        return list(groups)


def _lines_of(sums: Any, rule: "BinRule", group: Any, where: str, blocks: bool) -> list[Line]:
    lines: list[Line] = [{"key": "n", "name": "rows", "value": sums.n}]
    if sums.kind == "binary":
        total = sums.parts[0].totals
        lines.append({"key": "prevalence", "name": "prevalence", **_exact(float(total.events / total.weight))})
    with reworded(wording()) as warned:
        lines += [_line(one, sums) for one in _measures(rule, sums.kind, blocks)]
    about = "".join(f"{part}: " for part in (where, "" if group is None else str(group)) if part)
    for message in warned:
        warning(f"{about}{message}")
    return [{"group": group} | line for line in lines]


def _exact(value: float) -> Line:
    return {"value": value, "low": value, "high": value, "note": "exact"}


def _line(one: _Measure, sums: Any) -> Line:
    """Value and limits of a measure, or why there are none."""
    import trueness as tn

    line: Line = {"key": one.key, "name": one.name}
    try:
        value = one.value(sums)
    except InputError as reason:
        return line | {"note": _why(reason)}
    if not isinstance(sums, tn.Sketch):
        return line | _exact(value)
    limits = tn.bounded(one.limits, sums, **one.options)
    if limits.note:
        return line | {"value": value, "note": limits.note}
    note = "" if limits.error > 1e-9 * max(1, abs(limits.value)) else "exact"
    return line | {"value": limits.value, "low": limits.low, "high": limits.high, "note": note}


def _why(reason: InputError) -> str:
    return reason.but(remedy="", context="").render(wording())


def _data(lines: Iterable[Line]) -> list[Line]:
    """The lines as JSON has them."""
    return [{key: line.get(key) for key in ("group", "key", "value", "low", "high", "note")} for line in lines]


def _group_name(group: Any) -> Any:
    """The group in a table, where an empty cell stands for all groups."""
    return "''" if group == "" else group


def _all(sums: Sequence[Sums], total: "Accumulator", lines: Sequence[Line], rule: "BinRule") -> Output:
    """A row per measure and group."""
    from trueness._text.bins import rule_in_words
    from trueness._text.table import Cell, Column, Table

    names = [name for name, _ in sums]
    columns = [
        *([Column("group", total.by, "name")] if total.by else []),
        Column("key", "measure"),
        Column("value", "value"),
        *(Column(name, name, forms="data") for name in ("low", "high")),
        Column("limits", "limits", forms="table"),
        Column("note", ""),
    ]
    rows = [
        {
            **line,
            "group": _group_name(line["group"]),
            "key": Cell(line["key"], line["name"]),
            "value": Cell(line.get("value"), _value(line)),
            "limits": _limits(line),
            "note": line.get("note") or None,
        }
        for line in lines
    ]
    data = {
        "data": {"sources": names, **total.about, "by": total.by},
        "kept": total.bins,
        "bins": rule_in_words(rule),
        "measures": _data(lines),
    }
    first = f"{file_names(names)}: {total.n:,} rows; labels {total.about.get('label')!r}"
    notes = [f"{first}, scores {total.about.get('score')!r}; bins: {rule_in_words(rule)}."]
    return Output(Table(columns, rows, [*notes, _SKETCH] if total.bins == "sketch" else notes), data)


def _value(line: Line) -> str:
    value = line.get("value")
    return "-" if value is None else f"{value:,}" if line["key"] == "n" else f"{value:.6g}"


def _limits(line: Line) -> str | None:
    """The limits, if there are any and they differ."""
    return f"{line['low']:.6g} to {line['high']:.6g}" if line.get("low") is not None and not line["note"] else None


def _each(sums: Sequence[Sums], total: "Accumulator", lines: Sequence[Line], rule: "BinRule") -> Output:
    """A row per file and group, and rows for all files."""
    from dataclasses import replace

    from trueness._text.table import Column, Table

    whole = _all(sums, total, lines, rule)
    files = [(name, _lines(one, rule, name)) for name, one in sums]
    rows = _file_rows([*files, ("all", lines)])
    names = {line["key"]: line["name"] for line in lines if line["key"] != "n"}
    columns = [
        Column("file", "file", "name"),
        *([Column("group", total.by, "name")] if total.by else []),
        Column("n", "rows", "count"),
        *(Column(key + end, key + end, forms="data") for key in names for end in ("", "_low", "_high")),
        *(Column(f"{key}_shown", names[key], forms="table") for key in _SHOWN if key in names),
    ]
    cells = {str(row.get(f"{key}_shown")) for row in rows for key in _SHOWN}
    notes = [*whole.table.notes, *(text for sign, text in _SIGNS.items() if any(sign in cell for cell in cells))]
    data = {**whole.data, "files": [{"file": name, "measures": _data(own)} for name, own in files]}
    return replace(whole, table=Table(columns, rows, notes), data=data)


def file_lines(sums: Sequence[Sums], total: "Accumulator", rule: "BinRule") -> list[Line]:
    """The measures of each file and of all, as plain rows: what a report shows of the files."""
    files = [(name, _lines(one, rule, name)) for name, one in sums]
    rows = _file_rows([*files, ("all", _lines(total, rule))])
    return [{key: value for key, value in row.items() if not key.endswith("_shown")} for row in rows]


def _file_rows(files: Sequence[tuple[str, Sequence[Line]]]) -> list[Line]:
    return [row for name, lines in files for row in _rows_of_file(name, lines)]


def _rows_of_file(name: str, lines: Sequence[Line]) -> Iterator[Line]:
    """One row for all groups, and one for each."""
    for group in dict.fromkeys(line["group"] for line in lines):
        row: Line = {"file": name, "group": _group_name(group)}
        for line in lines:
            if line["group"] != group:
                continue
            key = line["key"]
            row[key] = line.get("value")
            if key != "n":
                row |= {f"{key}_low": line.get("low"), f"{key}_high": line.get("high"), f"{key}_shown": _short(line)}
        yield row


def _short(line: Line) -> str:
    """Four decimals, with the limits if they differ at four decimals."""
    if line.get("value") is None:
        return "-"
    value = f"{line['value']:.4f}"
    if line.get("low") is None:
        return f"≈{value}"
    low, high = f"{line['low']:.4f}", f"{line['high']:.4f}"
    return value if low == value == high else f"{value} [{low}, {high}]"


def file_names(files: Sequence[str]) -> str:
    """The names of up to six files, without their folders."""
    return ", ".join(Path(name).name for name in files[:6]) + (", …" if len(files) > 6 else "")
