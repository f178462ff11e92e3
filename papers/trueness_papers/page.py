"""The results as Markdown: a section per experiment, and one page of all of them."""

import json
from importlib.resources import files
from pathlib import Path

from trueness.errors import InputError
from trueness_papers.catalogue import EXPERIMENTS
from trueness_papers.experiment import PAPERS, Experiment
from trueness_papers.record import Record, Table, duration

__all__ = ["read_records", "results_page", "section"]

_OPENING = """\
# The papers' tables and figures, recomputed

Numbers under "ours" were computed by this library, with the command given above each table; numbers under "published"
are those of the paper, in the table or figure named there. A row *agrees* when the two differ by no more than the
rounding of the printed number or, for simulated numbers, when the published one lies within the 95 % confidence limits
"from – to". Where nothing is published, the heading of the column says what ours is compared with, and such numbers are
counted separately. This page is written by `python -m trueness_papers all --page papers/results/README.md`.
"""


def read_records(folder: str | Path) -> dict[str, Record]:
    """The results in a folder, by name of the experiment."""
    records = {}
    for name in EXPERIMENTS:
        path = Path(folder) / f"{name}.json"
        if path.is_file():
            try:
                records[name] = Record.from_dict(json.loads(path.read_text(encoding="utf-8")))
            except (ValueError, KeyError, TypeError) as error:
                raise InputError("", f"{str(path)!r} was not written by this package ({error})") from None
    return records


def results_page(folder: str | Path, *, link: str = "") -> str:
    """All results in a folder as one page; `link` is the path from the page to the figures."""
    records = read_records(folder)
    if not records:
        remedy = f"Run `python -m trueness_papers all --out {folder}` first."
        raise InputError("", f"There are no results in {str(folder)!r}", remedy=remedy)
    parts = [_OPENING, _summary(records)]
    for paper in PAPERS:
        findings = (files("trueness_papers") / paper.key / "findings.md").read_text(encoding="utf-8")
        parts += [f"## {paper.citation}", findings]
        for experiment in EXPERIMENTS.values():
            if experiment.paper == paper:
                record = records.get(experiment.name)
                parts.append(section(experiment, record, level=3, link=link) if record else _not_run(experiment))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def section(experiment: Experiment, record: Record, *, level: int = 1, link: str = "") -> str:
    """One experiment: tables, figures and remarks; `link` is the path to the figures."""
    smaller = " (a smaller version)" if record.size == "quick" else ""
    how = f"{experiment.paper.citation}. `{record.command}`{smaller}: {duration(record.seconds)} of computing."
    lines = [f"{'#' * level} {experiment.covers}: {experiment.title}", "", how, ""]
    for table in record.tables:
        source = f" ({table.against}: {table.source})" if table.source else ""
        lines += [f"**{table.title}**{source}", "", table.to_markdown(), ""]
        lines += [text + "\n" for text in (_agreement(table), table.note) if text]
    for file, caption in record.pictures:
        lines += [f"![{caption}]({link}{file})", "", f"*{caption}*", ""]
    lines += [f"- {remark}" for remark in record.remarks]
    return "\n".join(lines).rstrip()


def _agreement(table: Table) -> str:
    agree, known = table.agreement
    where = "; the others are in brackets" if table.across and agree < known else ""
    return f"{agree:,} of {known:,} numbers agree with the {table.against} ones{where}." if known else ""


def _not_run(experiment: Experiment) -> str:
    why = f" It needs {', '.join(experiment.needs)}." if experiment.needs else ""
    command = f"python -m trueness_papers {experiment.name}"
    return f"### {experiment.covers}: {experiment.title}\n\nNot run here (`{command}`).{why}"


def _summary(records: dict[str, Record]) -> str:
    lines = ["| experiment | source | numbers that agree | computing time |", "|---|---|---:|---:|"]
    for name, experiment in EXPERIMENTS.items():
        cells = _summary_cells(records[name]) if name in records else "not run | "
        lines.append(f"| `{name}` | {experiment.paper.short}, {experiment.covers} | {cells} |")
    return "\n".join(lines)


def _summary_cells(record: Record) -> str:
    (agree, known), (near, others) = record.agreement, record.reference_agreement
    counts = [f"{agree:,} of {known:,}" if known else "none published"]
    counts += [f"{near:,} of {others:,} not published"] if others else []
    size = " (small)" if record.size == "quick" else ""
    return f"{'; '.join(counts)} | {duration(record.seconds)}{size}"
