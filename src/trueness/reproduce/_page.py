"""The page that puts every run beside what was published."""

import json
from pathlib import Path

from trueness.errors import InputError
from trueness.reproduce._catalogue import EXPERIMENTS
from trueness.reproduce._experiment import Experiment
from trueness.reproduce._findings import FINDINGS, OPENING
from trueness.reproduce._paper import PAPERS, Paper
from trueness.reproduce._record import Record, duration

__all__ = ["page", "recorded"]


def recorded(folder: str | Path) -> dict[str, Record]:
    """The runs whose results lie in a folder, by name."""
    found = {}
    for name in EXPERIMENTS:
        path = Path(folder) / f"{name}.json"
        if path.is_file():
            try:
                found[name] = Record.from_dict(json.loads(path.read_text()))
            except (ValueError, KeyError, TypeError) as reason:
                raise InputError(f"{str(path)!r} is not a result that `trueness reproduce` wrote ({reason}).") from None
    return found


def page(folder: str | Path, *, link: str = "") -> str:
    """The page in Markdown, from the results in a folder; `link` leads from the page to the figures there."""
    runs = recorded(folder)
    if not runs:
        raise InputError(f"There is no result in {str(folder)!r}; run `trueness reproduce all --out {folder}` first.")
    sections = [OPENING, _summary(runs)]
    for paper in PAPERS:
        sections.append(f"## {paper.cited}")
        sections.append(FINDINGS[paper.key])
        sections += [_section(experiment, runs, link) for experiment in _of(paper)]
    return "\n\n".join(section.strip() for section in sections) + "\n"


def _of(paper: Paper) -> list[Experiment]:
    return [experiment for experiment in EXPERIMENTS.values() if experiment.paper == paper]


def _section(experiment: Experiment, runs: dict[str, Record], link: str) -> str:
    if experiment.name in runs:
        return runs[experiment.name].to_markdown(experiment, level=3, folder=link)
    why = f" It needs {', '.join(experiment.needs)}." if experiment.needs else ""
    return f"### {experiment.covers}: {experiment.title}\n\nNot run here (`trueness reproduce {experiment.name}`).{why}"


def _summary(runs: dict[str, Record]) -> str:
    lines = ["| command | covers | numbers that agree | computing time |", "|---|---|---:|---:|"]
    for name, experiment in EXPERIMENTS.items():
        covers = f"{experiment.paper.authors.split(',')[0]} {experiment.paper.year}, {experiment.covers}"
        lines.append(f"| `trueness reproduce {name}` | {covers} | {_result(runs.get(name))} |")
    return "\n".join(lines)


def _result(record: Record | None) -> str:
    if record is None:
        return "not run | "
    size = " (small)" if record.size == "quick" else ""
    return f"{_agreed(record)} | {duration(record.seconds)}{size}"


def _agreed(record: Record) -> str:
    (agree, known), (near, others) = record.agreement, record.beside
    words = [f"{agree:,} of {known:,}"] if known else ["none published"]
    return "; ".join([*words, f"{near:,} of {others:,} not in print"] if others else words)
