"""Reports of rows, of sums, of events and of assessments that were read from somewhere."""

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

import numpy as np

from trueness._assess.asked import CLASSES, Asked
from trueness._assess.assessment import Assessment, assess
from trueness._assess.commands import fit_arguments
from trueness._assess.page_subject import (
    Options,
    asked_of_rows,
    asked_of_sums,
    kept_bins,
    read_sums,
    require_same_labels,
    subject_of,
)
from trueness._assess.picture import MOST_BINS
from trueness._input.arguments import Seed, whole_seed
from trueness._level import check_drawn_level, checked_level
from trueness._progress import Progress, reporter
from trueness._report.contents import Extras, Shown, compute_contents
from trueness._report.rendering import Report
from trueness._tally.accumulator import Accumulator
from trueness._tally.events import Events
from trueness._tally.evidence import AnySums
from trueness._tally.rules import BinRule, BinsLike, Distinct, as_rule, blind_to_labels
from trueness.errors import InputError
from trueness.results._page import Provenance
from trueness.results._statements import KINDS
from trueness.typing import ArrayLike, Columns, RowOptions


class Settings(TypedDict, total=False):
    """The options of every report."""

    bins: BinsLike | None
    level: float
    intervals: bool
    seed: Seed
    title: str | None
    progress: Progress


class AllSettings(Settings, Extras):
    """The options of a report of files."""


def report_events(
    events: Mapping[str, Events],
    *,
    origin: Provenance,
    by: Columns | None,
    crossed: int,
    cluster: ArrayLike | None,
    bins: BinsLike | None,
    level: float,
    intervals: bool,
    seed: Seed,
    title: str | None,
    progress: Progress,
) -> Report:
    """The report of events, such as outcomes inside intervals, by the name of what states them."""
    models = {}
    for name, named in events.items():
        models[name] = assess(
            named,
            bins=bins_of_events(named, bins),
            by=by,
            crossed=crossed,
            cluster=cluster,
            level=level,
            seed=seed,
        )
    return report_assessments(
        models, origin=origin, intervals=intervals, title=title, progress=progress
    )


def bins_of_events(events: Events, bins: BinsLike | None) -> BinsLike | None:
    """The bins of a page: one for each level that intervals or quantiles state."""
    if bins is None and events.levels is not None:
        return Distinct()
    return bins


def report_assessments(
    models: Mapping[str, Assessment], *, origin: Provenance, **settings: Unpack[AllSettings]
) -> Report:
    """The report of models that are being assessed, from the records that they hold."""
    by_model = {name: assessment.asked for name, assessment in models.items()}
    first = next(iter(by_model.values()))
    alike = {(asked.level, asked.seed, asked.rule) for asked in by_model.values()}
    if len(alike) > 1:
        demand = "must hold assessments of one level, one seed and the same bins"
        raise InputError("y_true", demand, f"got {alike}")
    settings["bins"] = first.rule
    settings["level"] = first.level
    settings["seed"] = first.seed
    if first.rows.given is not None:
        if len(models) > 1:
            raise InputError("y_true", "must be one assessment of sums", f"got {len(models)}")
        return report_sums(first.rows.given, origin=origin, **settings)
    options, shown = _checked(None, **settings)
    require_same_labels(by_model)
    return _report_of(by_model, options, origin, shown)


def _report_of(
    by_model: dict[str, Asked],
    options: Options,
    origin: Provenance,
    shown: Shown,
    notes: Sequence[str] = (),
) -> Report:
    """The report of rows of which something is asked."""
    subject = subject_of(by_model)
    first = next(iter(by_model.values()))
    labels = first.rows.labels
    subject = replace(subject, notes=(*notes, *subject.notes))
    event = None if subject.event is None else str(subject.event)
    other = subject.other
    if subject.first.events is not None:
        event = KINDS[subject.first.events.kind].event
        other = None  # no option makes the other outcome the event
        origin = replace(origin, label=None)
    rows = subject.first.rows
    has_clusters = subject.units.clustered and rows is not None and not rows.pixels
    origin = replace(
        origin,
        event=event,
        arguments=fit_arguments(
            subject.first, subject.event, several=subject.has_labels, named=labels.named
        ),
        cluster="cluster=cluster" if has_clusters else "",
        cluster_name=origin.cluster_name or labels.cluster,
        other=other,
    )
    if subject.has_labels:
        by_class = first.ask(CLASSES)
        by_model = {name: by_class[name.removeprefix("label ")] for name in subject.models}
    return Report(compute_contents(subject, by_model, options, origin, **shown))


def report_rows(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    rows: RowOptions,
    *,
    by: Columns | None = None,
    crossed: int = 1,
    cluster: ArrayLike | None = None,
    rounded_to: float | None = None,
    origin: Provenance,
    notes: Sequence[str] = (),
    **settings: Unpack[AllSettings],
) -> Report:
    """The report of rows that were read from `origin`; `settings` are those of every report."""
    options, shown = _checked(None, **settings)
    by_model = asked_of_rows(
        y_true,
        y_prob,
        rows,
        options,
        by=by,
        crossed=crossed,
        cluster=cluster,
        rounded_to=rounded_to,
    )
    return _report_of(by_model, options, origin, shown, notes)


def report_sums(
    sums: AnySums | Accumulator,
    *,
    origin: Provenance,
    notes: Sequence[str] = (),
    **settings: Unpack[AllSettings],
) -> Report:
    """The report of sums that were read from `origin`; `settings` are those of every report."""
    options, shown = _checked(kept_bins(sums), **settings)
    subject = read_sums(sums, options.rule, notes)
    by_model = asked_of_sums(subject, options)
    return Report(compute_contents(subject, by_model, options, origin, **shown))


def _checked(
    own_bins: BinRule | None,
    *,
    bins: BinsLike | None = None,
    level: float = 0.95,
    intervals: bool = True,
    seed: Seed = 0,
    title: str | None = None,
    progress: Progress = True,
    **extras: Unpack[Extras],
) -> tuple[Options, Shown]:
    """The options of every number, and what else `compute_contents` takes."""
    if bins is None:
        bins = own_bins or 10
    rule = blind_to_labels(as_rule(bins))
    if rule.n_requested > MOST_BINS:
        demand = f"must be at most {MOST_BINS:,} for a report"
        raise InputError("bins", demand, f"got {rule.n_requested:,}")
    checked = checked_level(level)
    check_drawn_level(checked, "a report")
    if not isinstance(intervals, bool | np.bool_):
        raise InputError("intervals", "must be True or False", f"got {intervals!r}")
    shown: Shown = {
        "title": checked_text("title", title),
        "progress": reporter(progress),
        **extras,
    }
    return Options(rule, checked, whole_seed(seed), bool(intervals)), shown


def today() -> str:
    """The date of the report; reproducible builds set the environment variable."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if seconds.isdecimal():
        now = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
    else:
        now = datetime.datetime.now().astimezone()
    return f"{now:%Y-%m-%d}"


def checked_day(date: datetime.date | None) -> str:
    if date is None:
        return today()
    if not isinstance(date, datetime.date):
        raise InputError("date", "must be a datetime.date or None", f"got {date!r}")
    return date.strftime("%Y-%m-%d")


def checked_text(argument: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(argument, "must be a string or None", f"got {value!r}")
    return value
