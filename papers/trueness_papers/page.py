"""The results as Markdown: a section per experiment, a page of all of them, and a page of computing times."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from trueness.errors import InputError
from trueness_papers.catalogue import EXPERIMENTS
from trueness_papers.experiment import PAPERS, Experiment, contents
from trueness_papers.record import Record, Table, Timing, duration

__all__ = ["TIMINGS", "read_records", "read_timings", "results_page", "section", "timings_page"]

TIMINGS = "timings"

_OPENING = """\
# The papers' tables and figures, recomputed

The columns, where they apply:

| column | contents |
|---|---|
| published | the number as printed in the paper |
| authors' code | the number stored in the authors' repository: the output of their code |
| ours by the text | computed here by the procedure that the paper describes |
| ours by the code | computed here by the procedure of the authors' code, written anew |
| ours improved | computed here by a better procedure; it is not expected to agree |
| ours | computed here, where there is only one way to do it |

A number of ours *agrees* with a published one when the two differ by no more than the rounding of the printed number
or, for simulated numbers, when the published one lies within the 95 % confidence limits of ours. Where both the text
and the code were followed, numbers that differ from the published one are bold, and the summary counts those by the
code, which made the published numbers. Where nothing is published, the heading of the column says what ours is compared
with, and such numbers are counted separately. Tables of more than 12 lines are left to the files: `NAME.json` has every
number, and a run also writes `NAME.md` with every table. This page is written by
`python -m trueness_papers all --page papers/results/README.md`; computing times, the only numbers that change from run
to run, are in [timings.md](timings.md).
"""

_TIMINGS_OPENING = """\
# Computing times of the papers' experiments

Processor time on the machine that wrote the [results](README.md), which has the numbers themselves. Times are not
compared with published ones digit by digit.
"""

_T = TypeVar("_T")
_LONGEST = 12  # lines of a table on the page of all results


def read_records(folder: str | Path) -> dict[str, Record]:
    """The results in a folder, by name of the experiment."""
    paths = {name: Path(folder) / f"{name}.json" for name in EXPERIMENTS}
    return {name: _read(path, Record.from_dict) for name, path in paths.items() if path.is_file()}


def read_timings(folder: str | Path) -> dict[str, Timing]:
    """The computing times that belong to the results in a folder, by name of the experiment."""
    path = Path(folder) / f"{TIMINGS}.json"
    found = (
        _read(path, lambda data: {one["name"]: Timing.from_dict(one) for one in data})
        if path.is_file()
        else {}
    )
    known = {name: found.pop(name) for name in EXPERIMENTS if name in found}
    return known | found


def _read(path: Path, parse: Callable[[Any], _T]) -> _T:
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("", f"{str(path)!r} was not written by this package ({error})") from None


def results_page(folder: str | Path, *, link: str = "") -> str:
    """All results in a folder as one page; `link` is the path from the page to the figures."""
    records = read_records(folder)
    if not records:
        remedy = f"Run `python -m trueness_papers all --out {folder}` first."
        raise InputError("", f"There are no results in {str(folder)!r}", remedy=remedy)
    parts = [_OPENING, _summary(records)]
    for paper in PAPERS:
        findings = (files("trueness_papers") / paper.key / "findings.md").read_text(
            encoding="utf-8"
        )
        parts += [f"## {paper.citation}", findings]
        for experiment in EXPERIMENTS.values():
            if experiment.paper == paper:
                record = records.get(experiment.name)
                parts.append(
                    _short_section(experiment, record, link) if record else _not_run(experiment)
                )
    return "\n\n".join(part.strip() for part in parts) + "\n"


def timings_page(folder: str | Path) -> str:
    """The computing times of all results in a folder."""
    timings = read_timings(folder)
    lines = ["| experiment | processor time |", "|---|---:|"]
    for name, timing in timings.items():
        small = " (small)" if timing.size == "quick" else ""
        lines.append(f"| `{name}` | {duration(timing.seconds)}{small} |")
    parts = [_TIMINGS_OPENING, "\n".join(lines)]
    for name, timing in timings.items():
        if timing.tables or timing.remarks:
            parts += [
                f"## {EXPERIMENTS[name].covers}: {EXPERIMENTS[name].title}",
                *map(_table, timing.tables),
            ]
            parts += ["\n".join(f"- {remark}" for remark in timing.remarks)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def section(experiment: Experiment, record: Record) -> str:
    """One experiment: all tables, figures and remarks."""
    smaller = " (a smaller version)" if record.size == "quick" else ""
    opening = [
        f"# {experiment.covers}: {experiment.title}",
        f"{experiment.paper.citation}. `{record.command}`{smaller}.",
    ]
    return "\n\n".join([*opening, *map(_table, record.tables), *_figures(record, "")])


def _short_section(experiment: Experiment, record: Record, link: str) -> str:
    """The same without long tables; `link` is the path to the figures."""
    opening = [f"### {experiment.covers}: {experiment.title}", f"`{record.command}`"]
    tables = (_table(table, f"`{record.name}.json`") for table in record.tables)
    return "\n\n".join([*opening, *tables, *_figures(record, link)])


def _figures(record: Record, link: str) -> list[str]:
    """The figures of a run, and its remarks."""
    figures = [
        part for file, text in record.pictures for part in (f"![{text}]({link}{file})", f"*{text}*")
    ]
    return figures + (
        ["\n".join(f"- {remark}" for remark in record.remarks)] if record.remarks else []
    )


def _table(table: Table, where: str = "") -> str:
    """A table with its title; if it is long and `where` names a file that has it, the name of the file instead."""
    source = f" ({table.against}: {table.source})" if table.source else ""
    numbers = table.to_markdown()
    if where and (lines := numbers.count("\n") - 1) > _LONGEST:
        numbers = f"{lines} lines, in {where}."
    parts = [f"**{table.title}**{source}", numbers, table.agreement_text(), table.note]
    return "\n\n".join(part for part in parts if part)


def _not_run(experiment: Experiment) -> str:
    why = "".join(f" It needs {file}. {contents(file)}" for file in experiment.needs)
    command = f"python -m trueness_papers {experiment.name}"
    return f"### {experiment.covers}: {experiment.title}\n\nNot run here (`{command}`).{why}"


def _summary(records: dict[str, Record]) -> str:
    lines = [
        "| experiment | source | published numbers that agree | others that agree |",
        "|---|---|---:|---:|",
    ]
    for name, experiment in EXPERIMENTS.items():
        cells = _summary_cells(records[name]) if name in records else "not run | "
        lines.append(f"| `{name}` | {experiment.paper.short}, {experiment.covers} | {cells} |")
    return "\n".join(lines)


def _summary_cells(record: Record) -> str:
    agree, known = record.agreement
    published = f"{agree:,} of {known:,}" if known else "none published"
    others = {"authors' code": record.authors_agreement, "reference": record.reference_agreement}
    more = "; ".join(f"{a:,} of {n:,} ({words})" for words, (a, n) in others.items() if n)
    return f"{published}{' (small)' if record.size == 'quick' else ''} | {more}"
