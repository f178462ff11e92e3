"""The one way to read a model: labels and scores, events, or sums, as one of three types.

What two columns mean, whether weights count rows and which rows belong together is decided here
only, and the notes say so. Every value is checked here.
"""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from trueness._input.sample import Sample
from trueness._tally import rows_or_sums
from trueness._tally.classes import Classes, SeveralLabels, TopLabel, second_of_two
from trueness._tally.clusters import check_several_clusters
from trueness._tally.events import Events, clusters_of, events_of_models
from trueness._tally.evidence import Evidence, TwoColumns
from trueness._tally.models import (
    INDEPENDENT,
    model_context,
    read_shared_rows,
    warn_guessed_counts,
    weights_in_words,
)
from trueness._tally.multiclass import TOP_OF_TWO_COLUMNS, parts_of, top_of
from trueness._tally.problem import Problem, Rows
from trueness._tally.row_sums import count_rows, events_of_rows
from trueness._tally.sketch import Sketch
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, TruenessWarning, warn
from trueness.typing import ArrayLike, Ints, Kind, RowOptions, WeightType


def read_rows(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    rows: RowOptions,
    *,
    kind: Kind = "classwise",
    two_columns: TwoColumns = "binary",
    cluster: ArrayLike | None = INDEPENDENT,
) -> Evidence:
    """Read labels and scores, or sums in place of both.

    `kind` is the view of a matrix unless `rows` names one. A matrix of two columns is the
    binary problem of its second, since every class against the rest is the same problem twice;
    unless columns are to be kept, or `rows` asks for the top label. Without `cluster` each
    image of dense predictions is one; functions that do not take clusters leave it out, and
    refuse images.
    """
    if isinstance(y_true, Tally | Binned | Sketch):
        return _read_sums_alone(y_true, y_prob, rows, two_columns, cluster)
    return read_models(
        y_true, {"": y_prob}, rows, kind=kind, two_columns=two_columns, cluster=cluster
    )[""]


def _read_sums_alone(
    sums: Tally | Binned | Sketch,
    y_prob: ArrayLike,
    rows: RowOptions,
    two_columns: TwoColumns,
    cluster: ArrayLike | None,
) -> Sums:
    """Sums in place of labels and scores; arguments that describe rows are refused."""
    if cluster is not None and cluster is not INDEPENDENT:
        what = type(sums).__name__
        raise InputError("cluster", "needs labels and scores", f"a {what} holds only sums of rows")
    rows_or_sums.refuse_row_arguments(sums, y_prob, rows)
    if cluster is INDEPENDENT and sums.buckets is not None:
        warn("Buckets of clusters are not used here: rows count as independent.", TruenessWarning)
    weight_type = rows.get("weight_type", "auto")
    if weight_type == "auto" and all(part.whole for part in sums.parts):
        warn_guessed_counts(sums.n, float(sums.weight))
    return Sums.read(sums, two_columns=two_columns, weight_type=weight_type)


def read_models(
    y_true: ArrayLike,
    models: Mapping[str, Any],
    rows: RowOptions,
    *,
    kind: Kind = "classwise",
    two_columns: TwoColumns = "binary",
    cluster: ArrayLike | None = INDEPENDENT,
    argument: str = "models",
) -> dict[str, Evidence]:
    """Read the rows that several models scored.

    A row with a missing value in any model is dropped for all. `y_true` holds the labels of all
    models, or labels by model. `argument` is the name of `models` in messages.
    """
    statements = events_of_models(y_true, models)
    events: Events | None = None
    if statements is not None:
        y_true, models = statements
        events = next(iter(y_true.values()))
        cluster = _clusters_beside(events, cluster)
    shared = read_shared_rows(y_true, models, rows, kind, cluster, argument)
    first = next(iter(shared.samples.values()))
    notes = shared.notes
    weight_type = rows.get("weight_type", "auto")
    if events is not None:
        weight_type = events.weight_type
        notes += events.notes
    if first.w is not None:
        notes += weights_in_words(first.w, weight_type)
        if weight_type == "auto" and count_rows(first):
            warn_guessed_counts(int((first.w > 0).sum()), float(first.w.sum()))
    if first.p.shape[1:] == (2,) and rows.get("kind") in ("confidence", "top-label"):
        notes += (TOP_OF_TWO_COLUMNS,)
    keeps_columns = two_columns == "keep" or rows.get("kind") not in (None, "classwise")
    by_name: dict[str, Evidence] = {}
    for name, sample in shared.samples.items():
        with model_context(name):
            _check_values(sample)
        model = _of_type(
            sample,
            shared.kind,
            cluster=shared.cluster,
            kept=shared.kept,
            dropped=shared.dropped,
            weight_type=weight_type,
            asked=rows.get("kind") is not None,
            events=None if events is None else y_true[name],
            notes=notes,
        )
        if model.cluster is not None:
            # A cluster without weight would count as one more in degrees of freedom.
            model = model.without_weight_0()
            check_several_clusters(model.cluster)
        if keeps_columns or sample.p.shape[1:] != (2,):
            by_name[name] = model
        else:
            by_name[name] = second_of_two(model)
    return by_name


class About(TypedDict):
    """What is known of rows beside their values."""

    cluster: Ints | None
    kept: Ints | None
    dropped: int
    weight_type: WeightType
    asked: bool
    events: Events | None
    notes: tuple[str, ...]


def _of_type(sample: Sample, kind: Kind, **about: Unpack[About]) -> Rows:
    """The rows as one problem, or as several classes."""
    if sample.p.ndim == 1:
        return Problem(rows=sample, **about)
    if kind == "multilabel":
        return SeveralLabels(rows=sample, **about)
    if kind == "confidence":
        return TopLabel(rows=sample, **about)
    return Classes(rows=sample, view=kind, **about)


def _check_values(sample: Sample) -> None:
    """Raise unless every label and every score is allowed; one pass looks at all of them."""
    if sample.p.ndim == 1:
        events_of_rows(sample)
    elif sample.y.ndim == 1:
        top_of(sample)
    else:
        parts_of(sample, "multilabel", events_of_rows)


def _clusters_beside(events: Events, cluster: ArrayLike | None) -> ArrayLike | None:
    """The clusters of events; functions that take rows as independent refuse dependent ones."""
    if cluster is not INDEPENDENT:
        return clusters_of(events, cluster)
    if events.dependent:
        got = f"got {events.words}, where several events belong to one row"
        remedy = "`assess`, `estimate`, `calibration_test` and `ece_interval` take clusters."
        raise InputError("y_true", "must have independent rows here", got, remedy=remedy)
    return cluster
