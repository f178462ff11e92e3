"""`report`: one page about labels and scores, events, sums or assessments."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from trueness._assess.assessment import Assessment
from trueness._input.arguments import Seed, labels_and_scores
from trueness._keywords import suggests_keywords
from trueness._progress import Progress
from trueness._report.readers import (
    Settings,
    checked_day,
    checked_text,
    report_assessments,
    report_events,
    report_rows,
    report_sums,
)
from trueness._report.rendering import Report
from trueness._tally.accumulator import Accumulator
from trueness._tally.events import Events
from trueness._tally.evidence import AnySums
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinsLike
from trueness.errors import InputError
from trueness.results._page import Provenance
from trueness.typing import ArrayLike, Columns, Kind, Missing, WeightType


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
    settings: Settings = {
        "bins": bins,
        "level": level,
        "intervals": intervals,
        "seed": seed,
        "title": title,
        "progress": progress,
    }
    origin = Provenance(checked_text("source", source), None, None, checked_day(date))
    has_rows = bool(rows) or y_prob is not None or rounded_to is not None
    has_columns = has_rows or by is not None or cluster is not None
    events = _events(y_true)
    if events:
        if has_rows:
            raise _instead_of_labels("got Events, which hold theirs")
        return report_events(
            events, origin=origin, by=by, crossed=crossed, cluster=cluster, **settings
        )
    models = _assessments(y_true)
    if models:
        if has_columns or bins:
            remedy = "An assessment has its rows, bins, level and seed."
            raise _instead_of_labels("got an assessment", remedy)
        origin = replace(origin, label=_label_of(models))
        return report_assessments(
            models, origin=origin, intervals=intervals, title=title, progress=progress
        )
    if isinstance(y_true, AnySums | Accumulator):
        if has_columns:
            raise _instead_of_sums(type(y_true).__name__)
        return report_sums(y_true, origin=origin, **settings)
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
        **settings,
    )


def _instead_of_labels(got: str, remedy: str = "") -> InputError:
    """The error that rows, or options of rows, are beside something that has its own."""
    demand = "must be labels if scores or options of rows are passed"
    return InputError("y_true", demand, got, remedy=remedy)


def _instead_of_sums(kind: str) -> InputError:
    """The error that rows, or options of rows, are beside sums."""
    demand = (
        "must be labels if `y_prob`, `by`, `cluster`, `rounded_to` or an option of rows is passed"
    )
    remedy = "Sums stand in place of labels and scores."
    return InputError("y_true", demand, f"got a {kind}", remedy=remedy)


def _label_of(models: Mapping[str, Assessment]) -> str | None:
    """The name of the column of labels of the first assessment; None if it has none."""
    first = next(iter(models.values()))
    return first.asked.rows.labels.column or None


def _events(y_true: object) -> dict[str, Events]:
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


def _assessments(y_true: object) -> dict[str, Assessment]:
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
