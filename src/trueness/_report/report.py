"""`report`, and the object that it returns, which renders itself in every form."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueness._assess.asked import Asked
from trueness._assess.assessment import Assessment, assess
from trueness._assess.page_subject import (
    Options,
    Subject,
    asked_of_rows,
    asked_of_sums,
    kept_bins,
    read_sums,
    require_same_labels,
    subject_of,
)
from trueness._assess.picture import MOST_BINS
from trueness._input.arguments import Seed, labels_and_scores, whole_seed
from trueness._keywords import suggests_keywords
from trueness._level import check_drawn_level, checked_level
from trueness._progress import Progress, reporter
from trueness._report.contents import compute_contents
from trueness._report.document import brief, markdown, text
from trueness._report.page import framed, page
from trueness._tally.accumulator import Accumulator
from trueness._tally.atomic import as_path, replace_file
from trueness._tally.events import Events
from trueness._tally.evidence import AnySums
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinRule, BinsLike, Distinct, as_rule, blind_to_labels
from trueness._tally.tally import Parts
from trueness._text.strings import visible_json
from trueness.errors import InputError
from trueness.results import Series
from trueness.results._page import Contents, Provenance, as_json
from trueness.results._statements import KINDS
from trueness.typing import ArrayLike, Columns, Kind, Missing, RowOptions, WeightType


class Report:
    """The result of :func:`trueness.report`.

    A notebook shows the page, ``print`` shows text.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    @property
    def contents(self) -> Contents:
        """The records behind the page, whose fields may change."""
        return self._contents

    @property
    def verdict(self) -> str:
        """The conclusion in one sentence."""
        return self._contents.verdict.sentence

    @property
    def brief(self) -> str:
        """The verdict and the answers in a few lines; of several models a line each."""
        return brief(self._contents)

    @property
    def series(self) -> Series | None:
        """The files of sums as a series, from ``trueness report --each``; None otherwise."""
        return self._contents.series

    @property
    def verdicts(self) -> dict[str, str]:
        """The conclusion for each model as a code; ``docs/reference/report.md`` lists the codes."""
        return {model.name: model.verdict.code for model in self._contents.models}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; undefined and infinite numbers are None."""
        return as_json(self._contents)

    def to_json(self, path: str | Path | None = None) -> str:
        """The JSON text of :meth:`to_dict`; also written to `path`, if given."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        return _write(visible_json(text) + "\n", path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """The report as Markdown; also written to `path`, if given."""
        return _write(markdown(self._contents), path)

    def to_text(self, path: str | Path | None = None) -> str:
        """The report as plain text for a terminal; also written to `path`, if given."""
        return _write(text(self._contents), path)

    def page(self) -> str:
        """The self-contained HTML page."""
        return page(self._contents)

    def to_html(self, path: str | Path) -> Path:
        """Write :meth:`page` to a file. If that fails, an existing file stays as it was."""
        target = as_path(path)
        _write(self.page(), target)
        return target

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.verdicts))
        return f"Report({names}; {self._contents.rows.used:,} rows)"

    def _repr_html_(self) -> str:
        return framed(self._contents)


def _write(content: str, path: str | Path | None) -> str:
    if path is not None:
        replace_file(as_path(path), lambda file: file.write(content.encode("utf-8")))
    return content


@labels_and_scores
@suggests_keywords
def report(
    y_true: ArrayLike
    | AnySums
    | Accumulator
    | dict[str, ArrayLike]
    | Assessment
    | dict[str, Assessment],
    y_prob: ArrayLike | dict[str, ArrayLike] | None = None,
    *,
    by: Columns | None = None,
    crossed: int = 1,
    cluster: ArrayLike | None = None,
    rounded_to: float | None = None,
    bins: BinsLike | None = None,
    level: float = 0.95,
    intervals: bool = True,
    seed: Seed = 0,
    title: str | None = None,
    source: str | None = None,
    date: datetime.date | None = None,
    progress: Progress = True,
    kind: Kind | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    missing: Missing = "raise",
    clip_tolerance: float = 0.0,
    sum_tolerance: float | None = None,
    from_logits: bool = False,
    percent: bool = False,
    ignore_index: int | None = None,
) -> Report:
    """A page on whether probabilities are calibrated, where they are not, and what would fix them.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Tally, Sketch, Binned or Accumulator
        Labels: 0/1, bool, or class labels; by model, as a dict like `y_prob`, if each has its own.
        Or sums in place of labels and scores: such a report has fewer sections, names those it
        lacks, and takes the groups of an Accumulator as segments. Sums per class (kinds 'classwise'
        and 'top-label') are reported class by class. Or an :class:`Assessment`, or a dict of them
        by model: the report then shows what these answer.
    y_prob : array-like of shape (n,) or (n, K), or dict of them
        Scores; several models as a dict of names and scores for the same rows. None with sums.
    by : array-like of shape (n,), dict of such, or frame, optional
        Columns whose values define segments. All are tested, jointly; see
        :func:`trueness.segments`. Numeric columns with more than 12 distinct values are cut into
        five groups. Half of 1 − level is left to the verdict on all rows.
    crossed : int, default 1
        The most columns to cross: with 2, every pair of values of two columns is a segment, too.
    cluster : array-like of shape (n,), optional
        The cluster of each row; rows of one cluster may depend on each other (answers to one
        prompt, visits of one patient). Confidence sets, tests, comparisons and gains take clusters
        into account, and no calibrator is measured on a cluster that it was fitted on. Noise
        floors, the TCE, and the intervals and flags of bins do not; the report says which.
    rounded_to : float, optional
        The unit to which the scores were rounded, as for :func:`trueness.calibration_test`: labels
        that contradict a score of exactly 0 or 1 are then possible.
    bins : int, sequence of edges or bin rule, optional
        An int means that many bins of equal width on [0, 1]. At most 1,000; by default 10, or the
        bins of the sums. Rules that depend on the labels are refused. The page lets the reader
        switch to other bins.
    level : float, default 0.95
        Level of all intervals, bands and decisions; more than 1/2.
    intervals : bool, default True
        Whether to compute confidence limits or noise floors of every measure, and the panel with
        its calibration curve. False is faster and keeps only what the verdict needs.
    seed : int or numpy.random.Generator, default 0
        Seed of all random draws; a generator supplies one.
    title : str, optional
        Heading of the page.
    source : str, optional
        Name of the data on the page, such as a file name. The columns of labels and scores are
        named if they are Series with names.
    date : datetime.date, optional
        The date on the page; by default the day that the environment variable ``SOURCE_DATE_EPOCH``
        names, or today.
    progress : bool or callable, default True
        Whether to show a progress bar on a terminal if it takes long, or a function of (done,
        total).
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. `kind` is only for
        ``"multilabel"``, where each label is reported by itself, with p-values adjusted for their
        number; any other matrix is reported both by its largest scores and class by class.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
    clip_tolerance : float, default 0
        Scores outside [0, 1] by at most this much are set to 0 or 1.
    sum_tolerance : float, optional
        How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
    from_logits : bool, default False
        Whether the scores are logits; the logistic function (softmax for a matrix) is applied
        first.
    percent : bool, default False
        Whether the scores are percentages, from 0 to 100.
    ignore_index : int, optional
        The label of rows that are left out, such as 255 for pixels without a class.

    Returns
    -------
    Report
        `verdict`, and the whole in five forms: ``to_html(path)``, ``to_markdown()``, ``to_json()``,
        ``print`` and, in a notebook, the page itself.

    Notes
    -----
    Every number is that of a public function, called with this `level` and `seed`;
    ``docs/reference/report.md`` says which. For very many rows there are fewer draws: noise floors
    of more than 4,096 distinct scores resample labels fewer than 999 times, tests of classes with
    more than some 200,000 distinct scores use the Kolmogorov–Smirnov test in place of the omnibus
    test, and calibrators are tried on 100,000 rows. The report says so.

    Warnings of the library become notes of the report.

    Examples
    --------
    >>> import trueness as tn
    >>> data = tn.simulate.demo(2_000)
    >>> found = tn.report(data.y_true, data.y_prob)
    >>> found.verdicts
    {'scores': 'miscalibrated'}
    >>> reported = found.to_dict()["models"][0]["summary"]["ece"]
    >>> round(reported, 4) == round(tn.ece(data.y_true, data.y_prob), 4)
    True
    """
    rows = row_options(
        kind,
        labels,
        pos_label,
        sample_weight,
        weight_type,
        missing,
        clip_tolerance,
        sum_tolerance,
        from_logits,
        percent,
        ignore_index,
    )
    origin = Provenance(_text("source", source), None, None, _day(date))
    events = _events(y_true)
    if events:
        if y_prob is not None or rows or rounded_to is not None:
            demand = "must be labels if scores or options of rows are passed"
            raise InputError("y_true", demand, "got Events, which hold theirs")
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
    has_options = rows or any(option is not None for option in (y_prob, by, cluster, rounded_to))
    models = _assessments(y_true)
    if models:
        if has_options or bins:
            demand = "must be labels if scores or options of rows are passed"
            remedy = "An assessment has its rows, bins, level and seed."
            raise InputError("y_true", demand, "got an assessment", remedy=remedy)
        first = next(iter(models.values()))
        origin = replace(origin, label=first.asked.rows.labels.column or None)
        return report_assessments(
            models, origin=origin, intervals=intervals, title=title, progress=progress
        )
    if isinstance(y_true, Parts | Accumulator):
        if has_options:
            demand = (
                "must be labels if `y_prob`, `by`, `cluster`, `rounded_to` or an option of rows "
                "is passed"
            )
            got = f"got a {type(y_true).__name__}"
            remedy = "Sums stand in place of labels and scores."
            raise InputError("y_true", demand, got, remedy=remedy)
        return report_sums(
            y_true,
            origin=origin,
            bins=bins,
            level=level,
            intervals=intervals,
            seed=seed,
            title=title,
            progress=progress,
        )
    label = getattr(y_true, "name", None)
    if isinstance(label, str):
        origin = replace(origin, label=label)
    return report_rows(
        y_true,
        y_prob,
        rows,
        by=by,
        crossed=crossed,
        cluster=cluster,
        rounded_to=rounded_to,
        origin=origin,
        bins=bins,
        level=level,
        intervals=intervals,
        seed=seed,
        title=title,
        progress=progress,
    )


def _events(y_true: Any) -> dict[str, Events]:
    """The Events that were passed in place of labels and scores, by name."""
    if isinstance(y_true, Events):
        return {y_true.words: y_true}
    if not isinstance(y_true, Mapping):
        return {}
    kinds = {type(value) for value in y_true.values()}
    if Events not in kinds:
        return {}
    if kinds != {Events}:
        raise InputError("y_true", "must hold Events only, or labels only", "got both")
    return {str(name): value for name, value in y_true.items()}


def bins_of_events(events: Events, bins: Any) -> Any:
    """The bins of a page: one for each level that intervals or quantiles state."""
    if bins is None and events.levels is not None:
        return Distinct()
    return bins


def _assessments(y_true: Any) -> dict[str, Assessment]:
    """The assessments that were passed in place of labels, by name.

    Empty if it is something else.
    """
    if isinstance(y_true, Assessment):
        return {y_true.asked.rows.labels.scores or "scores": y_true}
    if not isinstance(y_true, Mapping):
        return {}
    odd = [name for name, value in y_true.items() if not isinstance(value, Assessment)]
    if len(odd) == len(y_true):
        return {}
    if odd:
        got = f"{odd[0]!r} is a {type(y_true[odd[0]]).__name__}"
        raise InputError("y_true", "must hold assessments only, or labels only", got)
    return {str(name): value for name, value in y_true.items()}


def report_assessments(
    models: Mapping[str, Assessment], *, origin: Provenance, **settings: Any
) -> Report:
    """The report of models that are being assessed, from the records that they hold."""
    by_model = {name: assessment.asked for name, assessment in models.items()}
    first = next(iter(by_model.values()))
    alike = {(asked.level, asked.seed, asked.rule) for asked in by_model.values()}
    if len(alike) > 1:
        demand = "must hold assessments of one level, one seed and the same bins"
        raise InputError("y_true", demand, f"got {alike}")
    settings |= {"level": first.level, "seed": first.seed}
    if first.rows.given is not None:
        if len(models) > 1:
            raise InputError("y_true", "must be one assessment of sums", f"got {len(models)}")
        return report_sums(first.rows.given, origin=origin, bins=first.rule, **settings)
    options, rest = _checked(None, bins=first.rule, **settings)
    require_same_labels(by_model)
    return _report_of(by_model, options, origin, rest)


def _report_of(
    by_model: dict[str, Asked],
    options: Options,
    origin: Provenance,
    rest: Mapping[str, Any],
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
    has_clusters = subject.cluster is not None and rows is not None and not rows.pixels
    origin = replace(
        origin,
        event=event,
        arguments=_fit_arguments(subject, named=labels.named),
        cluster="cluster=cluster" if has_clusters else "",
        cluster_name=origin.cluster_name or labels.cluster,
        other=other,
    )
    if subject.view == "multilabel":
        by_class = first.ask("classes")
        by_model = {name: by_class[name.removeprefix("label ")] for name in subject.models}
    return Report(compute_contents(subject, by_model, options, origin, **rest))


def report_rows(
    y_true: ArrayLike,
    y_prob: Any,
    rows: RowOptions,
    *,
    by: Columns | None = None,
    crossed: int = 1,
    cluster: ArrayLike | None = None,
    rounded_to: float | None = None,
    origin: Provenance,
    notes: Sequence[str] = (),
    **settings: Any,
) -> Report:
    """The report of rows that were read from `origin`; `settings` are those of every report."""
    options, rest = _checked(None, **settings)
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
    return _report_of(by_model, options, origin, rest, notes)


def report_sums(
    sums: Any, *, origin: Provenance, notes: Sequence[str] = (), **settings: Any
) -> Report:
    """The report of sums that were read from `origin`; `settings` are those of every report."""
    options, rest = _checked(kept_bins(sums), **settings)
    subject = read_sums(sums, options.rule, notes)
    by_model = asked_of_sums(subject, options)
    return Report(compute_contents(subject, by_model, options, origin, **rest))


def _checked(
    own_bins: BinRule | None,
    *,
    bins: BinsLike | None = None,
    level: Any = 0.95,
    intervals: Any = True,
    seed: Seed = 0,
    title: Any = None,
    progress: Progress = True,
    **series: Any,
) -> tuple[Options, dict[str, Any]]:
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
    rest = {
        "title": _text("title", title),
        "progress": reporter(progress),
        "files": None,
        "series": None,
        "confidences": None,
        "judge": None,
    }
    return Options(rule, checked, whole_seed(seed), bool(intervals)), rest | series


def _fit_arguments(subject: Subject, *, named: bool) -> str:
    """What the calibrators that were tried take in `fit`, as Python."""
    if subject.first.two_columns:
        arguments = "y_prob[:, 1], y_true"
    elif subject.view == "multilabel":
        arguments = "y_prob[:, label], y_true[:, label]"
    else:
        arguments = "y_prob, y_true"
    event = subject.event
    if isinstance(event, np.generic):
        event = event.item()
    if event is not None and event != 1:
        arguments += f", pos_label={event!r}"
    if event is None and named:
        arguments += ", labels=labels"
    if subject.first.weights != "none":
        arguments += ", sample_weight=sample_weight"
    return arguments


def today() -> str:
    """The date of the report; reproducible builds set the environment variable."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if seconds.isdecimal():
        now = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
    else:
        now = datetime.datetime.now().astimezone()
    return f"{now:%Y-%m-%d}"


def _day(date: Any) -> str:
    if date is None:
        return today()
    if not isinstance(date, datetime.date):
        raise InputError("date", "must be a datetime.date or None", f"got {date!r}")
    return date.strftime("%Y-%m-%d")


def _text(argument: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(argument, "must be a string or None", f"got {value!r}")
    return value
