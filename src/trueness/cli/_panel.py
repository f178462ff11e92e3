"""``trueness measure --panel`` and ``--tripod``: the numbers that a validation asks for, as a table or as text."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._progress import progress_bar
from trueness._text.numbers import level_percent, number
from trueness._text.table import Cell, Column, Table
from trueness.cli._columns import Group, group_columns
from trueness.cli._interval_texts import Texts, join_names, limits_notes
from trueness.cli._messages import reword_messages, warning, wording
from trueness.cli._writing import Output, Target

if TYPE_CHECKING:
    from trueness.cli._rows import Rows

_REFUSED = ("bins", "kinds", "tables", "stream", "intervals", "each")
"""Options of `measure` that do not change a panel."""


class ModelPanel(NamedTuple):
    """The panel of one model on one group of rows."""

    group: Group
    model: str
    panel: "tn.Panel"

    @property
    def title(self) -> str:
        """What the panel is about."""
        return f"{self.group.name(self.model)}: {self.panel.rows_in_words()}"


def check_options(target: Target, *, tripod: bool) -> None:
    """Refuse options that a panel would ignore."""
    name = "--tripod" if tripod else "--panel"
    context = click.get_current_context()
    for parameter in context.command.params:
        if parameter.name in _REFUSED and opt.is_typed(parameter.name):
            typed = (parameter.secondary_opts if context.params[parameter.name] is False else parameter.opts)[-1]
            raise click.UsageError(f"{typed} does not go with {name}; leave one of them out.")
    if tripod and target.form in ("json", "csv"):
        raise click.UsageError(f"--tripod prints text; use --panel for {target.form}.")


def panels_of_rows(rows: "Rows", level: float) -> Iterator[ModelPanel]:
    """The panel of each model and group."""
    parts = [(group, part, model) for group, part in rows.groups() for model in rows.choice.models]
    with progress_bar("Making the panel") as report:
        for i, (group, part, model) in enumerate(parts):
            with part.about(model, group=group) as warned:
                one = part.arguments(model)
                found = tn.panel(one.y_true, one.y_prob, level=level, cluster=part.cluster, seed=0, **one.rows)
            warning(*warned, about=group.name(model.name))
            report(i + 1, len(parts))
            yield ModelPanel(group, model.name, found)


def panel_of_sums(total: "tn.Accumulator", level: float) -> ModelPanel:
    """The panel of all rows that sums are about."""
    sums: Any = total.total
    with reword_messages(wording()) as warned:
        found = tn.panel(sums, level=level, seed=0)
    warning(*warned)
    return ModelPanel(Group(), str(total.about.get("prob")), found)


def deliver(panels: Sequence[ModelPanel], target: Target, data: dict[str, Any], source: str, *, tripod: bool) -> None:
    """Write the panels as a table, or as text for a paper."""
    if not tripod:
        return target.deliver(_output(panels, data, source))
    texts = [one.panel.text(style="tripod") for one in panels]
    if len(panels) > 1:
        texts = [f"{one.title}\n\n{text}" for one, text in zip(panels, texts, strict=True)]
    return target.write("\n\n\n".join(texts) + "\n")


def _output(panels: Sequence[ModelPanel], data: dict[str, Any], source: str) -> Output:
    from trueness.results._estimate import INDEPENDENT_FLOOR  # not for the start of the command line

    lines = [line for one in panels for line in _lines(one)]
    level = level_percent(panels[0].panel.level)
    several = len({one.model for one in panels}) > 1
    columns = [
        *group_columns([one.group.by for one in panels if one.group.by]),
        Column("model", "model", "name", "all" if several else "data"),
        Column("key", "measure"),
        Column("value", "value", "number"),
        *(Column(key, key, forms="data") for key in ("low", "high")),
        Column("interval", f"{level} interval", "number", "table"),
        Column("floor", "if calibrated", "number"),
        Column("floor_high", f"{level} below", "number"),
        *(Column(key, key, forms="data") for key in ("standard_error", "excess", "pvalue", "method", "note")),
    ]
    notes = [source, *(one.title if len(panels) > 1 else f"{one.panel.rows_in_words()}." for one in panels)]
    notes += [_tests(one, alone=len(panels) == 1) for one in panels]
    estimates = [(estimate.measure, estimate) for one in panels for estimate in one.panel.estimates]
    notes += limits_notes(estimates, clustered=any(one.panel.clusters is not None for one in panels))
    remarks: dict[str, list[str]] = {}
    for name, estimate in estimates:
        if (estimate.bounded or math.isnan(estimate.value)) and estimate.note and estimate.note != INDEPENDENT_FLOOR:
            remarks.setdefault(estimate.note, []).append(name)
    notes += [f"{join_names(names)}: {note[:1].lower()}{note[1:]}" for note, names in remarks.items()]
    entries = [{**one.group.entry(), "model": one.model, **one.panel.to_dict()} for one in panels]
    return Output(
        Table(columns, [line for line in lines if line["shown"]], notes),
        data | {"panels": entries},
        csv=Table(columns, lines),
    )


def _lines(one: ModelPanel) -> Iterator[dict[str, Any]]:
    """A line per estimate and per test; CSV has those of the tests, which a table has below."""
    columns, texts = one.panel.columns(), Texts("number")
    for values in zip(*columns.values(), strict=True):
        line = dict(zip(columns, values, strict=True))
        floor, ideal = (None if math.isnan(line[key]) else line[key] for key in ("floor", "ideal"))
        reference = number(floor) if floor is not None else "" if ideal is None else f"{ideal:g}"
        yield {
            **one.group.entry(),
            "model": one.model,
            **line,
            "key": Cell(line["key"], line["measure"]),
            "value": texts.value(line["value"]),
            "interval": texts.interval(line["low"], line["high"]),
            "floor": Cell(floor, reference),
            "floor_high": None if math.isnan(line["floor_high"]) else texts.value(line["floor_high"]),
            "shown": line["key"] in one.panel.names,
        }


def _tests(one: ModelPanel, *, alone: bool) -> str:
    names = dict(zip(one.panel, one.panel.columns()["measure"], strict=True))
    tests = [f"{names[t.method]} {number(t.statistic, 2)} ({t.pvalue_in_words})" for t in one.panel.tests]
    about = "" if alone else f"{one.group.name(one.model)}: "
    return f"{about}{', '.join(tests)}."
