"""Measurements of groups as one table: a line per group and model."""

from collections.abc import Sequence

from trueness.cli._measurements import Measurements
from trueness.cli._rows import Group
from trueness.cli._sheet import Column, Sheet, stamped
from trueness.cli._tables import footer, model_entry

__all__ = ["group_columns", "sheet_of_groups"]

_SHOWN = {"n", "prevalence", "accuracy", "ece", "ace", "tce", "brier", "observed_expected"}


def group_columns(by: Sequence[str]) -> list[Column]:
    """Which group of which column a line is about; nothing where there are no groups."""
    return [Column("by", "by", "name"), Column("group", "group", "name")] if by else []


def sheet_of_groups(found: Sequence[tuple[Group, Measurements]], source: str) -> Sheet:
    """Every measure in CSV and JSON; those that most ask for in a table."""
    first = found[0][1]
    quantities = first.quantities
    rows = [{**group.entry(), "model": model.name, **model.values} for group, part in found for model in part.models]
    columns = [*group_columns(["by"]), Column("model", "model", "name")]
    columns += [Column(q.key, q.name, q.form) for q in quantities]
    keys = [quantity.key for quantity in quantities]
    data = stamped(
        data={"source": source, "label": first.label, "weight": first.weight},
        bins=first.bins,
        groups=[
            {**group.entry(), "models": [model_entry(model, keys) for model in part.models]} for group, part in found
        ],
    )
    wanted = [c for c in columns if c.key in ("by", "group", "model") or c.key.partition("_c")[0] in _SHOWN]
    return Sheet(columns, rows, data, footer(first, source, 10**6).split("\n"), wanted)
