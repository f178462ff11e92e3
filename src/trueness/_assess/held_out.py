"""Held-out scores: each row scored by a calibrator that was fitted without its fold."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueness._assess.asked import Asked
from trueness._assess.rows import ModelRows
from trueness._input.sample import Sample
from trueness._numerics.streams import stream
from trueness._numerics.units import ClusterUnits, Units
from trueness._tally.events import are_ranges
from trueness._tally.evidence import Evidence
from trueness.errors import InputError
from trueness.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from trueness.recalibrate._calibrator import Calibrator

FOLDS = 5
LEAST_ROWS = 20
_MOST_ROWS = 100_000
_SCORES = 4 * 10**6
_LEAST_DRAWN = 1_000
"""Scores of a matrix that calibrators are tried on, and the rows they are tried on at least."""
_MOST_CLUSTERED = 50_000  # signs are drawn row by row
# Up to here rows are dealt into folds twice, so that chance in the deal matters less.
_FEW_ROWS = 1_000


class Deal(NamedTuple):
    """The rows that calibrators are tried on, in order of content, and their folds."""

    rows: Evidence
    place: Ints
    """The place of each of these rows among all rows."""
    folds: list[Ints]
    """The fold of each row, in each deal: folds have equally many rows, or equally many whole
    clusters."""


def is_splittable(evidence: Evidence) -> bool:
    """Whether there are one-problem rows enough for folds."""
    if not evidence.has_rows or evidence.has_labels or not has_scores(evidence):
        return False
    return evidence.need_rows("").n >= LEAST_ROWS and evidence.units.number >= FOLDS


def has_scores(evidence: Evidence) -> bool:
    """Whether the probabilities tell rows apart, which those of intervals and quantiles do not."""
    return evidence.events is None or not are_ranges(evidence.events)


def deal(a: Asked) -> Deal:
    """The rows dealt into folds, once for all calibrators."""
    dealt: Deal = a.shared(("deal",), partial(_deal, a))
    return dealt


def held_out(a: Asked, calibrator: "Calibrator") -> list[Evidence]:
    """For each deal, the rows with the scores of calibrators that were fitted without them."""
    scored: list[Evidence] = a.shared(
        ("held out", calibrator), partial(_held_out, deal(a), calibrator)
    )
    return scored


def cross_fitted(a: Asked, calibrator: "Calibrator | str | None") -> Asked:
    """Questions about the same rows with the held-out scores of a calibrator.

    Each row's score is by a map fitted without its fold. Only the rows of the first deal of the
    folds are kept, in their order; columns of segments go with them. InputError if the rows are too
    few, are several problems, or have too few clusters.
    """
    if not is_splittable(a.view("confidence")):
        demand = f"needs at least {LEAST_ROWS} rows of one problem, in at least {FOLDS} clusters"
        raise InputError("", f"A held-out fit {demand}", "these rows do not allow it")
    from trueness.recalibrate import AutoCalibration  # imports scikit-learn
    from trueness.recalibrate._calibrator import inner_calibrator

    calibrator = inner_calibrator(calibrator, AutoCalibration)
    dealt = deal(a)
    after = held_out(a, calibrator)[0].matrix
    order = np.argsort(dealt.place)
    place = dealt.place[order]
    base = a.view("confidence").at(place)
    rows = Sample(
        after.y[order],
        after.p[order],
        None if after.w is None else after.w[order],
        after.classes,
        importance=after.importance,
    )
    rows.tolerance = after.tolerance
    evidence = base.with_scores(rows)
    columns = tuple(column.at(place) for column in a.rows.columns)
    slices = tuple(column.at(place) for column in a.rows.slice_columns)
    return a.but(
        rows=ModelRows(evidence, columns=columns, slice_columns=slices, labels=a.rows.labels)
    )


def fitted(calibrator: "Calibrator", learn: Evidence) -> "Calibrator":
    """A copy of the calibrator, fitted to the rows of `learn`.

    Clusters are passed to the automatic map alone, which splits the rows once more.
    """
    from sklearn.base import clone

    # The automatic map splits the rows once more, by clusters too.
    takes_clusters = type(calibrator).__name__ == "AutoCalibration"
    dependence = {"cluster": learn.cluster} if takes_clusters else {}
    rows = learn.matrix
    # Class 0 may be absent from a fold.
    labels = range(rows.p.shape[1]) if rows.p.ndim == 2 else None
    copy: Calibrator = clone(calibrator).fit(
        rows.p, rows.y, sample_weight=rows.w, labels=labels, **dependence
    )
    return copy


def _held_out(dealt: Deal, calibrator: "Calibrator") -> list[Evidence]:
    def scores(test: Bools) -> Floats:
        fitted_map = fitted(calibrator, dealt.rows.at(~test))
        return np.asarray(fitted_map.predict(dealt.rows.matrix.p[test]))

    return held_out_scores(dealt, scores)


def held_out_scores(dealt: Deal, scores: Callable[[Bools], Floats]) -> list[Evidence]:
    """For each deal, the rows with new scores.

    `scores` gives those of the rows of a fold, marked in a mask, from a map that was fitted to the
    other rows.
    """
    rows = dealt.rows.matrix
    deals = []
    for fold in dealt.folds:
        out: Floats = np.empty(rows.p.shape)
        for i in range(FOLDS):
            test = fold == i
            out[test] = scores(test)
        sample = Sample(
            rows.y,
            out,
            rows.w,
            rows.classes,
            max(rows.tolerance, 1e-6),
            importance=rows.importance,
        )
        deals.append(dealt.rows.with_scores(sample))
    return deals


def _deal(a: Asked) -> Deal:
    """The rows on which calibrators are tried, in folds.

    If there are too many rows, as many as the limit allows are drawn at random. Rows are put in an
    order of their content first, so that the order in which they are given does not matter.
    Clusters stay in one fold. Few rows are dealt twice, into two sets of folds.
    """
    evidence = a.view("confidence")
    place, units = _order_of_content(evidence.matrix, evidence.units)
    n = place.size
    limit = _most_rows(evidence)
    if n > limit:
        drawn = np.sort(stream(a.seed, "subset").choice(n, limit, replace=False))
        place = place[drawn]
        units = units.at(drawn).renumbered()
    rows = replace(evidence.at(place), cluster=units.cluster)
    rng = stream(a.seed, "folds")
    n_deals = 2 if n <= _FEW_ROWS else 1
    fold = np.arange(units.number) % FOLDS
    folds = [units.spread(rng.permutation(fold)) for _ in range(n_deals)]
    return Deal(rows, place, folds)


def _most_rows(evidence: Evidence) -> int:
    scores = evidence.matrix.p
    columns = 1 if scores.ndim == 1 else scores.shape[1]
    limit = _MOST_CLUSTERED if evidence.dependent else _MOST_ROWS
    return min(limit, max(_LEAST_DRAWN, _SCORES // columns))


def _order_of_content(rows: Sample, units: Units) -> tuple[Ints, Units]:
    """Rows in order of score, label and weight, within clusters numbered by content.

    Also the units in this order.

    Folds and draws then do not depend on the order in which rows were passed.
    """
    keys = [rows.y, _score_of_content(rows.p)]
    if rows.w is not None:
        keys.insert(0, rows.w)
    place = np.lexsort(keys)
    if not units.clustered:
        return place, units
    # Rows are numbered by content: equal rows have the same number.
    is_new = np.any([np.diff(key[place]) != 0 for key in keys], axis=0)
    content = np.empty(place.size, np.int64)
    content[place] = np.concatenate([[0], np.cumsum(is_new)])
    # Clusters are ordered by the sum of random marks of their rows, modulo 2^64: those with the
    # same rows have the same sum, and can be exchanged.
    marks = np.random.default_rng(0).integers(2**63, size=place.size, dtype=np.uint64)
    sums = np.zeros(units.number, np.uint64)
    np.add.at(sums, units.code, marks[content])
    number = units.spread(np.argsort(np.argsort(sums, kind="stable"), kind="stable"))
    place = np.lexsort((content, number))
    return place, ClusterUnits(number[place])


def _score_of_content(scores: Floats) -> Floats:
    """One number per row, by which rows can be ordered whatever the order they came in.

    It is the score, or for a matrix a projection of the scores onto a fixed random direction.
    """
    if scores.ndim == 1:
        return scores
    direction = np.random.default_rng(0).standard_normal(scores.shape[1])
    step = max(1, _SCORES // scores.shape[1])
    pieces = [scores[i : i + step] for i in range(0, len(scores), step)]
    return np.concatenate([(piece * direction).sum(axis=1) for piece in pieces])
