"""The looks of ``trueness watch`` at intervals, quantiles and risks by a horizon."""

from __future__ import annotations  # the types of arrays, which help does not need

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trueness.cli._printing import warning
from trueness.cli._reading import about as about_rows
from trueness.cli._reading import open_data, read
from trueness.errors import InputError
from trueness.sources._request import STATEMENT_OPTIONS, Request

if TYPE_CHECKING:
    import trueness as tn


class Stated(NamedTuple):
    """The events of one look, and the columns of segments and times beside them."""

    events: tn.events.Events
    columns: dict[str, Any]
    """A value for each row of the input."""


def states_of(about: Mapping[str, Any]) -> bool:
    """Whether a watch is over statements other than the probability of a label."""
    return any(name in about for name in STATEMENT_OPTIONS)


def kind_stated(about: Mapping[str, Any]) -> str:
    """The kind of events of a watch over statements."""
    stated = Request(**{name: about[name] for name in STATEMENT_OPTIONS if name in about})
    return stated.stated_kind or ""


def read_statements(files: Sequence[str], about: Mapping[str, Any]) -> Stated:
    """The statements in some files, by the columns of the watch."""
    stated: dict[str, Any] = {}
    for name in STATEMENT_OPTIONS:
        if name in about:
            value = about[name]
            stated[name] = tuple(value) if isinstance(value, list) else value
    keys = tuple(about["by"])
    if about["time"]:
        keys = (about["time"], *keys)
    request = Request(
        files=tuple(files),
        label=about["label"],
        probs=() if about["prob"] is None else (about["prob"],),
        by=keys,
        missing=about["missing"],
        **stated,
    )
    with open_data(request) as data:
        rows = read(data).validate()
    if len(rows.models) > 1:
        option = "--prob" if "horizon" in about else "--lower"
        raise InputError(option, "must be given once: each model needs a state of its own")
    with about_rows(rows) as warned:
        events: Any = rows.y_true
    warning(*warned)
    return Stated(events, {name: rows.columns.groups[name] for name in keys})
