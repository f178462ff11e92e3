"""What would fix it: calibrators, each fitted on some folds and measured on the others."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from trueness import recalibrate
from trueness._input.sample import Sample
from trueness._report.budget import Notes, confidence_set, heard
from trueness._report.records import Guarantee, Remedies, Remedy
from trueness._report.rows import fractional, main_view
from trueness._report.words import counted
from trueness._tally.accept import tally_of
from trueness._tally.rules import BinRule
from trueness._tally.tally import Tally
from trueness.infer import compare
from trueness.measure import brier, ece, log_loss
from trueness.typing import Floats

__all__ = ["folds_of", "remedies"]

_FOLDS = 5
_MOST_ROWS = 200_000
_LEAST_ROWS = 20
_BINS = 10
_ROWS_PER_BIN = 200
_VECTOR = {
    "PlattScaling": "Platt scaling",
    "IsotonicCalibration": "isotonic regression",
    "HistogramBinning": "histogram binning",
}
_MATRIX = {
    "TemperatureScaling": "temperature scaling",
    "VectorScaling": "vector scaling",
    "OneVsRest": "Platt scaling class by class",
}
_MOVED = re.compile(
    r"(?P<count>[\d,]+) scores? (?:is|are) exactly (?P<ends>0 or 1|0) .* moved inwards by (?P<eps>\S+)\."
)
_MANY_CLASSES = 50  # fits per class would then take longer than all the rest


def remedies(sample: Sample, rule: BinRule, level: float, seed: int) -> Remedies | None:
    """Before and after, for the calibrators that take such scores; None if there are too few rows to split."""
    if sample.y.size < _LEAST_ROWS:
        return None
    wanted = _wanted(sample)
    notes = Notes()
    rows = _some(sample, seed, notes)
    with heard(notes):
        before = _measured("as they are", "", rows, rule, level, seed, notes)
    after = []
    for name in wanted:
        done = notes.tried(
            f"{wanted[name][0].upper()}{wanted[name][1:]}",
            lambda name=name: _cross_fitted(wanted[name], name, rows, rule, level, seed, notes),  # type: ignore[misc]
        )
        if done is not None:
            after.append(done)
    better = [one for one in after if one.gain_low > 0]
    best = min(better, key=lambda one: one.brier, default=None)
    return Remedies(
        before=before,
        after=tuple(after),
        best=None if best is None else best.name,
        folds=_FOLDS,
        n=int(rows.y.size),
        guarantee=_guarantee(sample, level, notes),
        notes=(*_moved_once(notes.said), *_infinite([before, *after])),
    )


def _moved_once(said: list[str]) -> list[str]:
    """What each fit says of the scores that it moved, said once."""
    found = [_MOVED.fullmatch(note) for note in said]
    counts = [int(one["count"].replace(",", "")) for one in found if one]
    if not counts:
        return said
    first = next(one for one in found if one)
    once = (
        f"In fitting, scores of exactly {first['ends']} were moved inwards by {first['eps']}: "
        f"at most {counted(max(counts), 'score')} per fit."
    )
    return [once, *(note for note, one in zip(said, found, strict=True) if not one)]


def _infinite(tried: list[Remedy]) -> Iterator[str]:
    for one in tried:
        if one.log_loss == math.inf:
            yield f"Log loss ∞, {one.name}: some row got probability 0 for what then happened."


def _wanted(sample: Sample) -> dict[str, str]:
    """The calibrators to try, and what they are called in a sentence."""
    if sample.p.ndim == 1:
        return _VECTOR
    few = sample.p.shape[1] <= _MANY_CLASSES
    return {name: words for name, words in _MATRIX.items() if few or name == "TemperatureScaling"}


def _some(sample: Sample, seed: int, notes: Notes) -> Sample:
    n = sample.y.size
    if n <= _MOST_ROWS:
        return sample
    notes.say(f"Calibrators were tried on {_MOST_ROWS:,} of the {n:,} rows, drawn at random.")
    some = np.sort(np.random.default_rng(seed).choice(n, _MOST_ROWS, replace=False))
    return _rows(sample, some)


def _rows(sample: Sample, some: Any) -> Sample:
    w = None if sample.w is None else sample.w[some]
    return Sample(sample.y[some], sample.p[some], w, sample.classes, sample.tolerance)


def folds_of(n: int, seed: int) -> Any:
    """The fold of each row: as many rows in each, at random."""
    return np.random.default_rng(seed).permutation(np.arange(n) % _FOLDS)


def _calibrator(name: str, rows: Sample, seed: int) -> Any:
    make: Callable[..., Any] = getattr(recalibrate, name)
    if name != "HistogramBinning":
        return make()
    scheme, n_bins = _scheme(rows), _histogram_bins(int(rows.y.size))
    if fractional(rows):  # ranks count rows
        scheme = "fixed-width"
    return make(n_bins, scheme, seed=seed) if scheme == "randomized" else make(n_bins, scheme)


def _histogram_bins(n: int) -> int:
    """Ten bins, fewer where they would have under 200 rows each, but two."""
    return max(2, min(_BINS, n // _ROWS_PER_BIN))


def _scheme(rows: Sample) -> str:
    """The promise of 'umd' needs scores without ties; where there are some, the bins break them at random."""
    return "umd" if rows.w is None and np.unique(rows.p).size == rows.y.size else "randomized"


def _cross_fitted(words: str, name: str, rows: Sample, rule: BinRule, level: float, seed: int, notes: Notes) -> Remedy:
    fold = folds_of(rows.y.size, seed)
    out: Floats = np.empty(rows.p.shape)
    for i in range(_FOLDS):
        test = fold == i
        learn = _rows(rows, ~test)
        calibrator = _calibrator(name, rows, seed)
        calibrator.fit(learn.p, learn.y, sample_weight=learn.w)
        out[test] = calibrator.predict(rows.p[test])
    changed = Sample(rows.y, out, rows.w, rows.classes, max(rows.tolerance, 1e-6))
    found = _measured(words, repr(_calibrator(name, rows, seed)), changed, rule, level, seed, notes)
    return replace(found, **_gain(rows, changed, level, notes))


def _gain(before: Sample, after: Sample, level: float, notes: Notes) -> dict[str, Any]:
    """By how much the Brier score falls, row by row, and how sure that is."""
    if fractional(before):
        notes.say("Weights are not whole numbers: how sure the gain of a calibrator is was not computed.")
        return {}
    tolerance: Any = {"sum_tolerance": after.tolerance} if after.p.ndim == 2 else {}
    scores = {"before": before.p, "after": after.p}
    found = notes.tried(
        "The gain of a calibrator",
        lambda: compare(
            before.y, scores, measure="brier", level=level, sample_weight=before.w, progress=False, **tolerance
        ),
    )
    if found is None:
        return {}
    pair = found["before", "after"]
    return {"gain": pair.difference, "gain_low": pair.low, "gain_high": pair.high}


def _measured(words: str, code: str, sample: Sample, rule: BinRule, level: float, seed: int, notes: Notes) -> Remedy:
    view = main_view(sample)
    tally = Tally("binary", tally_of(view, "classwise").parts)
    scored = tally if sample.p.ndim == 1 else tally_of(sample, "classwise")
    return Remedy(
        name=words,
        calibrator=code,
        ece=ece(tally, bins=rule),
        ece_interval=notes.tried(f"The confidence set of {words}", lambda: confidence_set(view, tally, level, seed)),
        brier=brier(scored),
        log_loss=log_loss(scored),
    )


def _guarantee(sample: Sample, level: float, notes: Notes) -> Guarantee | None:
    """What uniform-mass binning of all rows promises; it counts rows, and needs two in every bin."""
    if sample.p.ndim != 1 or sample.w is not None:
        return None
    n, n_bins = int(sample.y.size), _histogram_bins(int(sample.y.size))
    if n < 2 * n_bins:
        return None
    epsilon: Callable[..., float] = recalibrate.epsilon
    alpha, scheme = round(1 - level, 12), _scheme(sample)
    found = notes.tried(
        "The guarantee of histogram binning",
        lambda: [
            float(epsilon(n, n_bins, alpha=alpha, kind=kind, scheme=scheme)) for kind in ("conditional", "marginal")
        ],
    )
    return None if found is None else Guarantee(n, n_bins, scheme, found[0], level, found[1])
