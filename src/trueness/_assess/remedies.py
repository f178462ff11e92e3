"""Remedies: calibrators, each fitted on some folds and measured on the others."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trueness import recalibrate
from trueness._assess.asked import PRIOR_SHIFT, TEST, Asked
from trueness._assess.held_out import FOLDS, Deal, deal, fitted, held_out, is_splittable
from trueness._assess.notes import Notes, collect_warnings
from trueness._input.sample import Sample
from trueness._level import Level
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule, EqualMass
from trueness._text.strings import capitalized
from trueness.errors import MovedScoresWarning, SeparableWarning, quietly
from trueness.infer.comparison._compare import compare_of
from trueness.infer.interval._ece_interval import interval_of
from trueness.measure import bin_table, brier, ece, log_loss
from trueness.recalibrate._auto_candidates import LEAST_CHANCE, chance_of_gain
from trueness.recalibrate._calibrator import Calibrator
from trueness.recalibrate._planning import Scheme
from trueness.results._remedies import PRIOR_CORRECTION, BinningGuarantee, Course, Remedies, Remedy

_BINS = 10
_ROWS_PER_BIN = 200
_ROWS_PER_RANGE = 50
AUTOMATIC = "automatic calibration"
"""Name of the map to use unless there is a reason for another one."""
# Class and parameters of every map; parts of the automatic one have the names that it gives them.
_MAPS: dict[str, tuple[str, dict[str, Any]]] = {
    PRIOR_CORRECTION: ("PriorCorrection", {}),
    AUTOMATIC: ("AutoCalibration", {}),
    "Platt scaling": ("PlattScaling", {}),
    "beta calibration": ("BetaCalibration", {}),
    "quadratic scaling": ("QuadraticScaling", {}),
    "signed quadratic scaling": ("QuadraticScaling", {"signed": True}),
    "spline": ("SplineCalibration", {}),
    "isotonic regression": ("IsotonicCalibration", {}),
    "histogram binning": ("HistogramBinning", {}),
    "structured vector scaling": ("StructuredScaling", {"structure": "vector"}),
    "structured matrix scaling": ("StructuredScaling", {"structure": "matrix"}),
    "temperature scaling": ("TemperatureScaling", {}),
}
_VECTOR = (AUTOMATIC, "Platt scaling", "isotonic regression", "histogram binning")
_MATRIX = (AUTOMATIC, "structured vector scaling", "temperature scaling")
_LEAST_SHARE = 0.1  # of a part of the automatic map that is tried by itself
# Beyond, parameters per class, or the many fits of the automatic map, would take longer than
# everything else.
_MANY_CLASSES = 50
_MOST_AUTOMATIC = 10_000


class _Task(NamedTuple):
    """The rows to split, and how to measure them."""

    asked: Asked
    rule: BinRule
    deal: Deal
    notes: Notes


class _Trial(NamedTuple):
    """A map that was tried."""

    remedy: Remedy
    scored: Evidence
    """The rows of the first deal, with its held-out scores."""


def remedies(a: Asked) -> Remedies | None:
    """The scores before and after each suitable calibrator; None without rows enough to split.

    A prior shift that was shown adds the prior correction. Once the scores are known to be
    miscalibrated, a map is recommended as soon as it is expected to gain, in the Brier score or
    else in the log loss.
    """
    evidence = a.view("confidence")
    if not is_splittable(evidence):
        return None
    sample = evidence.matrix
    shift = quietly(a.ask, PRIOR_SHIFT)
    test = quietly(a.possible, TEST)
    miscalibrated = test is not None and test.pvalue <= Level(a.level).alpha
    notes = _worded_notes(sample)
    with collect_warnings(notes):
        task = _Task(a, a.rule or evidence.default_rule, deal(a), notes)
    if task.deal.place.size < sample.y.size:
        used = task.deal.place.size
        n = sample.y.size
        notes.add(f"Calibrators were tried on {used:,} of the {n:,} rows, drawn at random.")
    names = _map_names(sample)
    parts = _parts(task) if AUTOMATIC in names else ()
    large = [part["name"] for part in parts if part["share"] >= _LEAST_SHARE]
    mixed = [name for name in large if name in _MAPS]
    corrected = [PRIOR_CORRECTION] if shift is not None and shift.shown else []
    with collect_warnings(notes):
        before = _remedy("as they are", None, [task.deal.rows], task)
    tried: dict[str, _Trial] = {}
    for name in dict.fromkeys([*corrected, *names[:1], *mixed, *names]):
        trial = _attempt(name, task)
        if trial is None:
            continue
        if name == AUTOMATIC:
            trial = trial._replace(remedy=replace(trial.remedy, parts=parts))
        tried[name] = trial
    after = [trial.remedy for trial in tried.values()]
    # With labels of one class no map can be judged, and each has a gain for certain.
    one_class = bool((sample.y == sample.y.flat[0]).all())
    best = None if one_class else _best(tried, task, miscalibrated=miscalibrated)
    infinite = [remedy.name for remedy in (before, *after) if remedy.log_loss == math.inf]
    infinite_note = []
    if infinite:
        names_of = ", ".join(infinite)
        infinite_note = [
            f"Log loss ∞ ({names_of}): an observed outcome had predicted probability 0."
        ]
    return Remedies(
        before=before,
        after=tuple(after),
        best=best,
        folds=FOLDS,
        deals=len(task.deal.folds),
        n=int(task.deal.place.size),
        guarantee=_guarantee(sample, a.level, notes, clustered=evidence.dependent),
        notes=(*_alike_once(notes.sentences), *infinite_note),
    )


def _attempt(name: str, task: _Task) -> _Trial | None:
    """A map that is tried; what is to be noted about it alone begins with its name."""
    own = Notes(task.notes.wording)
    subject = capitalized(name)
    trial = own.attempt(subject, partial(_cross_fitted, name, task._replace(notes=own)))
    for sentence in own.sentences:
        is_about_all = sentence in own.wording.values() or sentence.startswith(subject)
        task.notes.add(sentence if is_about_all else f"{subject}: {sentence}")
    return trial


def _alike_once(sentences: list[str]) -> list[str]:
    """The first of sentences that differ in their numbers only, as those of single folds do."""
    first = {re.sub(r"[-−]?\d[\d.,e−-]*", "#", sentence): sentence for sentence in sentences[::-1]}
    return [sentence for sentence in sentences if sentence in first.values()]


def _worded_notes(sample: Sample) -> Notes:
    """Notes in which warnings of single fits are about all of them."""
    if sample.p.ndim == 1:
        subject = "All maps but histogram binning need logits, which scores of exactly 0 or 1"
    else:
        subject = "These maps need logits, which scores of exactly 0"
    moved = f"{subject} do not have: these were moved inwards."
    wording: dict[type[Warning], str] = {MovedScoresWarning: moved}
    if sample.p.ndim == 1 and np.ptp(sample.p) == 0:
        wording[SeparableWarning] = "All scores are equal: a map only shifts them."
    return Notes(wording)


def _best(tried: dict[str, _Trial], task: _Task, *, miscalibrated: bool) -> str | None:
    """The map with the lowest Brier score, if it is probably better, or a preferred one.

    Where the scores are known to be miscalibrated and no map lowers the Brier score, the log loss
    decides. A map with an infinite log loss is passed over if another one gains. Preferred is the
    prior correction, since one factor on the odds leaves the order of the rows alone and its cause
    can be named; then the automatic map, whose lead or lag among maps of equal merit is chance.
    """
    chance = 0.5 if miscalibrated else LEAST_CHANCE
    score = "brier"
    better = [name for name, trial in tried.items() if trial.remedy.chance > chance]
    if miscalibrated and not better:
        better = [name for name, trial in tried.items() if trial.remedy.log_loss_chance > chance]
        score = "log_loss"
    better = [name for name in better if math.isfinite(tried[name].remedy.log_loss)] or better
    if not better:
        return None
    best = min(better, key=lambda name: float(getattr(tried[name].remedy, score)))
    for name in (PRIOR_CORRECTION, AUTOMATIC):
        if name == best:
            return name
        if name in better:
            _, low, _ = _gain(tried[name].scored, tried[best].scored, task, score)
            if not low > 0:
                return name
    return best


def _map_names(sample: Sample) -> tuple[str, ...]:
    """The maps to try; of many rows or classes only those that are quick to fit."""
    if sample.p.ndim == 1:
        return _VECTOR
    n, k = sample.p.shape
    quick = {
        AUTOMATIC: n * k**2 <= _MOST_AUTOMATIC,
        "structured vector scaling": k <= _MANY_CLASSES,
    }
    return tuple(name for name in _MATRIX if quick.get(name, True))


def _parts(task: _Task) -> tuple[dict[str, Any], ...]:
    """The maps that the automatic one averages, fitted on all rows."""
    calibrator = _calibrator(AUTOMATIC, task)
    mixture = task.notes.attempt("The automatic map", partial(fitted, calibrator, task.deal.rows))
    if mixture is None:
        return ()
    shares = zip(mixture.candidates_, mixture.weights_.tolist(), strict=True)
    largest_first = sorted(shares, key=lambda pair: -pair[1])
    return tuple({"name": name, "share": share} for name, share in largest_first)


def _calibrator(name: str, task: _Task) -> Calibrator:
    """A calibrator by its name, not fitted; histogram binning as its rows need it.

    Its number of bins follows from the rows. Weights that are not whole numbers need bins of fixed
    width.
    """
    kind, parameters = _MAPS[name]
    make: Callable[..., Calibrator] = getattr(recalibrate, kind)
    if kind != "HistogramBinning":
        return make(**parameters)
    rows = task.deal.rows.matrix
    scheme = _scheme(rows)
    n_bins = _histogram_bins(int(rows.y.size))
    if rows.w is not None and bool((rows.w % 1 != 0).any()):  # ranks need whole rows
        scheme = "fixed-width"
    if scheme == "randomized":
        return make(n_bins, scheme, seed=task.asked.seed)
    return make(n_bins, scheme)


def _histogram_bins(n: int) -> int:
    """Ten bins, or fewer to have 200 rows in each; at least two."""
    return max(2, min(_BINS, n // _ROWS_PER_BIN))


def _scheme(rows: Sample) -> Scheme:
    """'umd' if there are no ties, which its guarantee requires.

    Otherwise ties are broken at random.
    """
    if rows.w is None and np.unique(rows.p).size == rows.y.size:
        return "umd"
    return "randomized"


def remedies_of(a: Asked, name: str, calibrator: Calibrator, deals: list[Evidence]) -> Remedies:
    """The scores before and after one map, whose scores of held-out rows are given."""
    task = _Task(a, a.rule or a.view("confidence").default_rule, deal(a), Notes())
    before = _remedy("as they are", None, [task.deal.rows], task)
    trial = _trial(name, calibrator, deals, task)
    return Remedies(
        before=before,
        after=(trial.remedy,),
        best=name,
        folds=FOLDS,
        deals=len(deals),
        n=int(task.deal.place.size),
        guarantee=None,
        notes=(),
    )


def _cross_fitted(name: str, task: _Task) -> _Trial:
    """A map that is tried on held-out rows."""
    calibrator = _calibrator(name, task)
    return _trial(name, calibrator, held_out(task.asked, calibrator), task)


def _trial(name: str, calibrator: Calibrator, deals: list[Evidence], task: _Task) -> _Trial:
    """A map, and the scores that it gave to held-out rows."""
    remedy = _remedy(name, calibrator, deals, task)
    rows = task.deal.rows
    level = task.asked.level

    def gains(score: str) -> dict[str, Any]:
        each_deal = [_gain(rows, scored, task, score) for scored in deals]
        gain, low, high = np.mean(each_deal, axis=0).tolist()
        chance = chance_of_gain(gain, low, high, level)
        return {"gain": gain, "gain_low": low, "gain_high": high, "chance": chance}

    gained = task.notes.attempt("The gain of a calibrator", lambda: gains("brier"))
    if gained is None:
        return _Trial(remedy, deals[0])
    remedy = replace(remedy, **gained)
    if math.isfinite(remedy.log_loss) and math.isfinite(log_loss(rows.classwise or rows.sums)):
        by_log_loss = gains("log_loss")
        remedy = replace(
            remedy,
            log_loss_chance=by_log_loss["chance"],
            log_loss_gain=by_log_loss["gain"],
            log_loss_gain_low=by_log_loss["gain_low"],
            log_loss_gain_high=by_log_loss["gain_high"],
        )
    return _Trial(remedy, deals[0])


def _gain(before: Evidence, after: Evidence, task: _Task, score: str) -> tuple[float, float, float]:
    """The reduction of a proper score, compared row by row, with its interval."""
    models = {"before": before.every_class, "after": after.every_class}
    (pair,) = compare_of(models, score, level=task.asked.level, seed=task.asked.seed).pairs
    return pair.difference, pair.low, pair.high


def _remedy(name: str, calibrator: Calibrator | None, deals: list[Evidence], task: _Task) -> Remedy:
    """The means over deals; the confidence set of the first."""
    level = task.asked.level
    interval = partial(interval_of, deals[0], level=level, seed=task.asked.seed)
    n_ranges = max(4, min(_BINS, int(task.deal.place.size) // _ROWS_PER_RANGE))
    table = bin_table(deals[0].sums, bins=EqualMass(n_ranges), level=level)
    # Proper scores look at every class.
    scored = [deal.classwise or deal.sums for deal in deals]
    return Remedy(
        name=name,
        calibrator=calibrator,
        ece=float(np.mean([ece(deal.sums, bins=task.rule) for deal in deals])),
        ece_interval=task.notes.attempt(f"The confidence set of {name}", interval),
        brier=float(np.mean(list(map(brier, scored)))),
        log_loss=float(np.mean(list(map(log_loss, scored)))),
        course=Course.of(table, table.low, table.high, least=1),
    )


def _guarantee(
    sample: Sample, level: float, notes: Notes, *, clustered: bool
) -> BinningGuarantee | None:
    """The guarantee of uniform-mass binning of all rows.

    It needs independent rows, and two in every bin.
    """
    if clustered:
        notes.add("There is no guarantee for histogram binning: it requires independent rows.")
        return None
    if sample.p.ndim != 1 or sample.w is not None:
        return None
    n = int(sample.y.size)
    n_bins = _histogram_bins(int(sample.y.size))
    if n < 2 * n_bins:
        return None
    scheme = _scheme(sample)
    epsilon: Callable[..., float] = partial(
        recalibrate.epsilon, n, n_bins, alpha=Level(level).alpha, scheme=scheme
    )
    errors = notes.attempt(
        "The guarantee of histogram binning",
        lambda: (float(epsilon(kind="conditional")), float(epsilon(kind="marginal"))),
    )
    if errors is None:
        return None
    conditional, marginal = errors
    return BinningGuarantee(n, n_bins, scheme, conditional, level, marginal)
