"""Every number of a report, each from the function of the library that a user would ask."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from trueness._input.sample import Sample
from trueness._report.blocks import blocks_of
from trueness._report.budget import (
    FEW_ROWS,
    Clustered,
    Notes,
    confidence_set,
    draws_for,
    heard,
    tested,
    tests_by_drawing,
)
from trueness._report.classes import class_rows, top_k
from trueness._report.clusters import clusters_of
from trueness._report.definitions import definitions
from trueness._report.explorer import explorer, offered
from trueness._report.records import Contents, Explorer, Model, Picture, Settings, Summary
from trueness._report.remedies import remedies
from trueness._report.rows import ReportRows, main_view, weight_type
from trueness._report.segments import SegmentColumn, segments
from trueness._report.verdict import overall, verdict_of
from trueness._report.words import percent
from trueness._tally.rows_or_sums import tally_of
from trueness._tally.rules import BinRule, Edges, EqualMass, EqualWidth
from trueness._tally.tally import Tally
from trueness._version import __version__
from trueness.errors import InputError
from trueness.infer import compare, noise_floor, reliability_bands
from trueness.measure import (
    ace,
    brier,
    calibration_intercept,
    calibration_slope,
    corp,
    ece,
    log_loss,
    mce,
    observed_expected,
    smooth_ece,
    tce,
)
from trueness.results import Bands, Comparison, NoiseFloor
from trueness.typing import Ints, Numbers

__all__ = ["MOST_BINS", "gather", "in_words"]

_STEPS = 7
_WORST = 3
_TCE_DRAWS, _FEWER_TCE_DRAWS, _MANY_CELLS = 39, 19, 200_000
_ALPHA = 0.05
_MOST_VIEWS = 24
_ORDINARY_BINS = 10
_CROWDED = 0.9
MOST_BINS = 1_000
"""More would fit neither the page nor the eye."""


def in_words(rule: BinRule) -> str:
    """A bin rule as one would say it."""
    match rule:
        case EqualWidth(n):
            return f"{n:,} bins of equal width"
        case EqualMass(n):
            return f"{n:,} bins of equal mass"
        case Edges():
            return f"{rule.asked:,} bins between given edges"
        case _:
            return "one bin per distinct score"


def gather(
    rows: ReportRows,
    by: tuple[SegmentColumn, ...],
    rule: BinRule,
    level: float,
    seed: int,
    title: str | None,
    tell: Callable[[int, int], None],
) -> Contents:
    """Compute everything, model by model; `tell` hears how far it has come."""
    steps = _Steps(len(rows.samples), tell)
    settings = Settings(repr(rule), in_words(rule), level, seed, offered(rule))
    several = len(rows.samples) > 1
    models = tuple(
        _model(name, sample, rows, by, rule, settings, several, steps) for name, sample in rows.samples.items()
    )
    notes = Notes()
    found = _comparison(rows, level, notes) if several else None
    clusters = clusters_of(rows.cluster, len(models), rows.multiclass)
    steps.finish()
    return Contents(
        title=title or "Calibration report",
        version=__version__,
        task="multiclass" if rows.multiclass else "binary",
        verdict=overall(models),
        rows=rows.counts,
        clusters=clusters,
        settings=settings,
        models=models,
        comparison=found,
        notes=tuple(notes.said),
        definitions=definitions(settings, rows),
    )


class _Steps:
    """Counts steps of about equal length."""

    def __init__(self, models: int, tell: Callable[[int, int], None]) -> None:
        self._total, self._done, self._tell = _STEPS * models + 1, 0, tell

    def __call__(self) -> None:
        self._done += 1
        self._tell(self._done, self._total)

    def finish(self) -> None:
        self._tell(self._total, self._total)


def _model(
    name: str,
    sample: Sample,
    rows: ReportRows,
    by: tuple[SegmentColumn, ...],
    rule: BinRule,
    settings: Settings,
    several: bool,
    step: Callable[[], None],
) -> Model:
    level, seed = settings.level, settings.seed
    notes = Notes()
    view = main_view(sample)
    tally = Tally("binary", tally_of(view, "classwise").parts)
    classwise = tally_of(sample, "classwise") if rows.multiclass else None
    step()
    asked = _picture(tally, rule, level, notes)
    bands = asked.bins
    if len(bands) > MOST_BINS:
        raise InputError("bins", f"must make at most {MOST_BINS:,} bins for a report", f"{rule!r} makes {len(bands):,}")
    begin = _begun_with(bands, tally, rule, notes)
    step()
    summary = _summary(view, rows.cluster, tally, classwise, rule, settings, notes, step)
    blocks = blocks_of(tally.parts[0], _ALPHA) if tally.parts[0].exact else None
    found = segments(view, by, rule, level, seed, rows.cluster) if by else None
    step()
    fixed = remedies(sample, rule, level, seed, rows.cluster)
    if fixed is None and rows.cluster is not None:
        notes.say("Calibrators were not tried: there are too few rows, or fewer than five clusters, to split.")
    step()
    classes = None if classwise is None else class_rows(classwise, sample, rule, level, seed, rows.cluster)
    largest = top_k(sample, level, seed, notes, rows.cluster) if rows.multiclass else None
    step()
    return Model(
        name=name,
        verdict=verdict_of(name, summary, level, several=several, clustered=rows.cluster is not None),
        summary=summary,
        bins=bands,
        interval_low=asked.interval_low,
        interval_high=asked.interval_high,
        worst=_worst(bands.weight * np.abs(bands.gap)),
        blocks=blocks,
        segments=found,
        remedies=fixed,
        classes=classes,
        top_k=largest,
        picture=asked if begin is rule else _picture(tally, begin, level, notes),
        explorers=_explorers(tally, classwise, classes, begin, level, len(rows.samples)),
        notes=tuple(notes.said),
    )


def _summary(
    view: Sample,
    cluster: Ints | None,
    tally: Tally,
    classwise: Tally | None,
    rule: BinRule,
    settings: Settings,
    notes: Notes,
    step: Callable[[], None],
) -> Summary:
    level, seed = settings.level, settings.seed
    floor = _ece_floor(view, tally, rule, settings, notes)
    step()
    exact = tally.parts[0].exact
    if not exact:
        notes.say("Weights are not whole numbers: they say how much a row matters, and there is no TCE, which counts.")
    why = "there are too few rows." if tally.n < FEW_ROWS else None
    interval = notes.tried("The confidence set", lambda: confidence_set(view, tally, level, seed, cluster), why)
    grouped = None if cluster is None else Clustered(view, cluster)
    test = notes.tried("The test", lambda: tested(tally, tests_by_drawing([tally], 1 - level), seed, grouped))
    tce_floor = _tce_floor(tally, settings, notes) if exact else None
    step()
    mass = rule if isinstance(rule, EqualMass) else EqualMass(rule.asked or _ORDINARY_BINS)
    with heard(notes):
        parts = corp(tally)
        whole = tally.coarsen(EqualMass(1)).parts[0]
        return Summary(
            n=tally.n,
            rate=float(whole.rate[0]),
            mean_score=float(whole.score[0]),
            ece=ece(tally, bins=rule),
            ece_interval=interval,
            noise_floor=floor,
            test=test,
            ace=ace(tally, bins=mass),
            mce=mce(tally, bins=rule),
            smooth_ece=smooth_ece(tally),
            tce=tce(tally, alpha=_ALPHA) if exact else math.nan,
            tce_floor=tce_floor,
            brier=brier(tally),
            miscalibration=parts.miscalibration,
            discrimination=parts.discrimination,
            uncertainty=parts.uncertainty,
            log_loss=log_loss(tally),
            slope=calibration_slope(tally),
            intercept=calibration_intercept(tally),
            observed_expected=observed_expected(tally),
            classwise_ece=None if classwise is None else ece(classwise, bins=rule),
            multiclass_brier=None if classwise is None else brier(classwise),
            multiclass_log_loss=None if classwise is None else log_loss(classwise),
        )


def _ece_floor(view: Sample, tally: Tally, rule: BinRule, settings: Settings, notes: Notes) -> NoiseFloor | None:
    cells = tally.parts[0]
    options: dict[str, Any] = {
        "resamples": draws_for(cells.size),
        "level": settings.level,
        "seed": settings.seed,
        "progress": False,
    }
    if not cells.exact:  # rows of one score may differ in weight, which a tally does not know
        options |= {"sample_weight": view.w, "weight_type": "importance"}
    scores: Any = tally if cells.exact else view.p
    return notes.tried("The noise floor of the ECE", lambda: noise_floor(partial(ece, bins=rule), scores, **options))


def _tce_floor(tally: Tally, settings: Settings, notes: Notes) -> NoiseFloor | None:
    return notes.tried(
        "The noise floor of the TCE",
        lambda: noise_floor(
            partial(tce, alpha=_ALPHA),
            tally,
            resamples=_TCE_DRAWS if tally.parts[0].size < _MANY_CELLS else _FEWER_TCE_DRAWS,
            level=settings.level,
            seed=settings.seed,
            progress=False,
        ),
    )


def _begun_with(bands: Bands, tally: Tally, rule: BinRule, notes: Notes) -> BinRule:
    """The bins of the first picture: of equal mass, if nearly all rows lie in one bin of equal width."""
    share = float(bands.weight.max() / bands.weight.sum())
    divisible = tally.coarsen(EqualMass(_ORDINARY_BINS)).parts[0].size > 2
    if isinstance(rule, EqualWidth) and rule.n > 1 and share > _CROWDED and divisible:
        begin = EqualMass(rule.n)
        notes.say(
            f"{percent(share)} of the rows lie in one bin of equal width: the picture begins with {in_words(begin)}, "
            "the tables keep the bins that were asked for."
        )
        return begin
    return rule


def _picture(tally: Tally, rule: BinRule, level: float, notes: Notes) -> Picture:
    with heard(notes):
        bands = reliability_bands(tally, bins=rule, level=level, band="simultaneous-consistency")
        alone = reliability_bands(tally, bins=rule, level=level)
        error = ece(tally, bins=rule)
    return Picture(bands, tuple(alone.low.tolist()), tuple(alone.high.tolist()), error, in_words(rule))


def _worst(damage: Numbers) -> tuple[int, ...]:
    """The bins that add most to the error; those without rows add nothing."""
    order = np.argsort(-np.nan_to_num(damage), kind="stable")[:_WORST]
    return tuple(int(b) for b in order if np.nan_to_num(damage)[b] > 0)


def _explorers(
    tally: Tally, classwise: Tally | None, classes: Any, rule: BinRule, level: float, models: int
) -> tuple[Explorer, ...]:
    """All rows, and the classes that do most damage, as many as a page of 2 MB can hold."""
    name = "All rows" if classwise is None else "Top label"
    found = [explorer(name, tally.parts[0], rule, level)]
    if classwise is not None:
        named = dict(zip(map(str, classwise.classes or ()), classwise.parts, strict=True))
        most = max(0, _MOST_VIEWS // models - 1)
        found += [explorer(f"Class {one.label}", named[one.label], rule, level) for one in classes[:most]]
    return tuple(found)


def _comparison(rows: ReportRows, level: float, notes: Notes) -> Comparison | None:
    first = next(iter(rows.samples.values()))
    told: Any = {"sum_tolerance": first.tolerance} if rows.multiclass else {}
    scores = {name: sample.p for name, sample in rows.samples.items()}
    return notes.tried(
        "The comparison",
        lambda: compare(
            first.y,
            scores,
            level=level,
            sample_weight=first.w,
            weight_type=weight_type(first),
            cluster=rows.cluster,
            progress=False,
            **told,
        ),
    )
