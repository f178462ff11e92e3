"""Remedies: calibrators, each fitted on some folds and measured on the others."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trueness import recalibrate
from trueness._input.arguments import generator
from trueness._input.sample import Sample
from trueness._report.inference import Notes, Options, collect_warnings
from trueness._report.records import Guarantee, Remedies, Remedy
from trueness._tally.evidence import Evidence
from trueness.errors import MovedScoresWarning
from trueness.infer.comparison._compare import compare_of
from trueness.infer.interval._ece_interval import interval_of
from trueness.measure import brier, ece, log_loss
from trueness.results import PriorShift
from trueness.typing import Floats, Ints

_FOLDS = 5
_MOST_ROWS = 200_000
_MOST_CLUSTERED = 50_000  # signs are drawn row by row
_LEAST_ROWS = 20
_BINS = 10
_ROWS_PER_BIN = 200
AUTOMATIC = "automatic calibration"
"""Name of the map to use unless there is a reason for another one."""
PRIOR_CORRECTION = "prior correction"
"""Name of the map that is tried if a prior shift was detected."""
_VECTOR = {"AutoCalibration": AUTOMATIC, "PlattScaling": "Platt scaling", "HistogramBinning": "histogram binning"}
_MATRIX = {
    "AutoCalibration": AUTOMATIC,
    "StructuredScaling": "structured vector scaling",
    "TemperatureScaling": "temperature scaling",
}
# Beyond, parameters per class, or the many fits of the automatic map, would take longer than everything else.
_MANY_CLASSES, _MOST_AUTOMATIC = 50, 10_000


class _Task(NamedTuple):
    """The rows to split, and how to measure them."""

    data: Evidence
    options: Options
    notes: Notes


def remedies(data: Evidence, options: Options, shift: PriorShift | None = None) -> Remedies | None:
    """The scores before and after each suitable calibrator; None if there are too few rows to split.

    A prior shift that was detected adds the prior correction.
    """
    sample = data.matrix
    if sample.y.size < _LEAST_ROWS or data.units < _FOLDS:
        return None
    names = _calibrator_names(sample)
    if shift is not None and shift.detected:
        names = {"PriorCorrection": PRIOR_CORRECTION} | names
    notes = Notes({MovedScoresWarning: _moved_sentence(sample)})
    place, cluster = _order_of_content(sample, data.cluster)
    task = _subsample(_Task(replace(data.at(place), cluster=cluster), options, notes))
    with collect_warnings(notes):
        before = _remedy("as they are", "", task.data, task)
    fits = {words: partial(_cross_fitted, words, name, task) for name, words in names.items()}
    tried = [notes.attempt(f"{words[0].upper()}{words[1:]}", fit) for words, fit in fits.items()]
    after = [one for one in tried if one is not None]
    one_class = bool((sample.y == sample.y.flat[0]).all())  # then no map can be judged, and each has a gain for certain
    best = None if one_class else _best(after)
    infinite = [
        f"Log loss ∞, {one.name}: an observed outcome had predicted probability 0."
        for one in (before, *after)
        if one.log_loss == math.inf
    ]
    return Remedies(
        before=before,
        after=tuple(after),
        best=None if best is None else best.name,
        folds=_FOLDS,
        n=int(task.data.matrix.y.size),
        guarantee=_guarantee(sample, options.level, notes, clustered=data.dependent),
        notes=(*notes.sentences, *infinite),
    )


def _best(after: list[Remedy]) -> Remedy | None:
    """The lowest Brier score among clear gains, unless a preferred map has a gain within the limits of the best.

    Preferred is the prior correction, since one factor on the odds leaves the order of the rows alone and its cause can
    be named; then the automatic map, whose lead or lag among maps of equal merit is chance.
    """
    better = {one.name: one for one in after if one.gain_low > 0}
    best = min(better.values(), key=lambda one: one.brier, default=None)
    preferred = (better[name] for name in (PRIOR_CORRECTION, AUTOMATIC) if name in better)
    return next((one for one in preferred if best is not None and one.gain >= best.gain_low), best)


def _calibrator_names(sample: Sample) -> dict[str, str]:
    """The calibrators to try: class name and name in words."""
    if sample.p.ndim == 1:
        return _VECTOR
    n, k = sample.p.shape
    names = dict(_MATRIX)
    if n * k**2 > _MOST_AUTOMATIC:
        del names["AutoCalibration"]
    if k > _MANY_CLASSES:
        del names["StructuredScaling"]
    return names


def _moved_sentence(sample: Sample) -> str:
    """What was done to scores without a logit, and which maps depend on it."""
    vector = sample.p.ndim == 1
    return (
        f"{'All maps but histogram binning' if vector else 'These maps'} need logits, which scores of exactly "
        f"{'0 or 1' if vector else '0'} do not have: these were moved inwards."
    )


def _order_of_content(rows: Sample, cluster: Ints | None = None) -> tuple[Ints, Ints | None]:
    """Rows in order of score, label and weight, within clusters numbered by content, and the cluster of each.

    Folds and draws then do not depend on the order in which rows were passed.
    """
    # A projection stands for a matrix. It is summed in the same order for every row, unlike a product of matrices.
    random = np.random.default_rng(0)
    score = rows.p if rows.p.ndim == 1 else (rows.p * random.standard_normal(rows.p.shape[1])).sum(axis=1)
    keys = [rows.y, score] if rows.w is None else [rows.w, rows.y, score]
    place = np.lexsort(keys)
    if cluster is None:
        return place, None
    # Equal rows have the same mark, and clusters with the same rows can be exchanged.
    new = np.any([np.diff(key[place]) != 0 for key in keys], axis=0)
    content = np.empty(place.size, np.int64)
    content[place] = np.concatenate([[0], np.cumsum(new)])
    mark = np.zeros(int(cluster.max()) + 1, np.uint64)
    np.add.at(mark, cluster, np.random.default_rng(0).integers(2**63, size=place.size, dtype=np.uint64)[content])
    number = np.argsort(np.argsort(mark, kind="stable"), kind="stable")[cluster]
    place = np.lexsort((content, number))
    return place, np.asarray(number[place])


def _subsample(task: _Task) -> _Task:
    n = task.data.matrix.y.size
    most = _MOST_CLUSTERED if task.data.dependent else _MOST_ROWS
    if n <= most:
        return task
    task.notes.add(f"Calibrators were tried on {most:,} of the {n:,} rows, drawn at random.")
    some = np.sort(np.random.default_rng(task.options.seed).choice(n, most, replace=False))
    return task._replace(data=task.data.at(some))


def _folds(n: int, seed: int, cluster: Ints | None = None) -> Ints:
    """The fold of each row, at random: folds have equally many rows, or equally many whole clusters."""
    units = n if cluster is None else int(cluster.max()) + 1
    fold = np.random.default_rng(seed).permutation(np.arange(units) % _FOLDS)
    return fold if cluster is None else np.asarray(fold[cluster])


def _calibrator(name: str, rows: Sample, seed: int) -> Any:
    make: Callable[..., Any] = getattr(recalibrate, name)
    if name == "StructuredScaling":
        return make(structure="vector")
    if name != "HistogramBinning":
        return make()
    scheme, n_bins = _scheme(rows), _histogram_bins(int(rows.y.size))
    if rows.w is not None and bool((rows.w % 1 != 0).any()):  # ranks need whole rows
        scheme = "fixed-width"
    return make(n_bins, scheme, seed=seed) if scheme == "randomized" else make(n_bins, scheme)


def _histogram_bins(n: int) -> int:
    """Ten bins, or fewer to have 200 rows in each; at least two."""
    return max(2, min(_BINS, n // _ROWS_PER_BIN))


def _scheme(rows: Sample) -> str:
    """'umd' if there are no ties, which its guarantee requires; otherwise ties are broken at random."""
    return "umd" if rows.w is None and np.unique(rows.p).size == rows.y.size else "randomized"


def _cross_fitted(words: str, name: str, task: _Task) -> Remedy:
    rows, seed, cluster = task.data.matrix, task.options.seed, task.data.cluster
    fold = _folds(rows.y.size, seed, cluster)
    out: Floats = np.empty(rows.p.shape)
    for i in range(_FOLDS):
        test = fold == i
        learn = task.data.at(~test).matrix
        calibrator = _calibrator(name, rows, seed)
        # The automatic map splits the rows once more, by clusters too.
        dependence = {} if cluster is None or name != "AutoCalibration" else {"cluster": cluster[~test]}
        calibrator.fit(learn.p, learn.y, sample_weight=learn.w, **dependence)
        out[test] = calibrator.predict(rows.p[test])
    changed = replace(
        task.data, rows=Sample(rows.y, out, rows.w, rows.classes, max(rows.tolerance, 1e-6)), given=None, memory={}
    )
    found = _remedy(words, repr(_calibrator(name, rows, seed)), changed, task)
    return replace(found, **_gain(changed, task))


def _gain(after: Evidence, task: _Task) -> dict[str, Any]:
    """The reduction of the Brier score, compared row by row, with its interval."""
    models = {"before": task.data.every_class, "after": after.every_class}
    level, rng = task.options.level, generator(task.options.seed)
    compared = partial(compare_of, models, "brier", level=level, rng=rng)
    found = task.notes.attempt("The gain of a calibrator", compared)
    if found is None:
        return {}
    pair = found["before", "after"]
    return {"gain": pair.difference, "gain_low": pair.low, "gain_high": pair.high}


def _remedy(words: str, code: str, data: Evidence, task: _Task) -> Remedy:
    scored = data.sums if data.classwise is None else data.classwise
    interval = partial(interval_of, data, level=task.options.level, rng=generator(task.options.seed))
    return Remedy(
        name=words,
        calibrator=code,
        ece=ece(data.sums, bins=task.options.rule),
        ece_interval=task.notes.attempt(f"The confidence set of {words}", interval),
        brier=brier(scored),
        log_loss=log_loss(scored),
    )


def _guarantee(sample: Sample, level: float, notes: Notes, *, clustered: bool) -> Guarantee | None:
    """The guarantee of uniform-mass binning of all rows; it needs independent rows, and two in every bin."""
    if clustered:
        notes.add("There is no guarantee for histogram binning: it requires independent rows.")
        return None
    if sample.p.ndim != 1 or sample.w is not None:
        return None
    n, n_bins = int(sample.y.size), _histogram_bins(int(sample.y.size))
    if n < 2 * n_bins:
        return None
    epsilon: Callable[..., float] = recalibrate.epsilon
    alpha, scheme = round(1 - level, 12), _scheme(sample)
    found = notes.attempt(
        "The guarantee of histogram binning",
        lambda: [
            float(epsilon(n, n_bins, alpha=alpha, kind=kind, scheme=scheme)) for kind in ("conditional", "marginal")
        ],
    )
    return None if found is None else Guarantee(n, n_bins, scheme, found[0], level, found[1])
