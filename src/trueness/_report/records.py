"""The contents of a report as frozen records, and as one dict of plain values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from trueness._text.strings import json_ready
from trueness.results import Bands, Comparison, Interval, NoiseFloor, Significance

__all__ = [
    "SCHEMA",
    "Blocks",
    "ClassRow",
    "Clusters",
    "Code",
    "Contents",
    "Explorer",
    "Guarantee",
    "Model",
    "Picture",
    "Remedies",
    "Remedy",
    "RowCounts",
    "Segment",
    "Segments",
    "Settings",
    "Source",
    "Summary",
    "TopK",
    "Verdict",
    "as_json",
]

SCHEMA = 1
"""Version of the keys of :func:`as_json`; it changes when a key is removed or changes its meaning."""

Code: TypeAlias = Literal["miscalibrated", "slightly-miscalibrated", "no-evidence", "too-few-rows", "undetermined"]
Source: TypeAlias = Literal["rows", "tally", "sketch", "bins"]


@dataclass(frozen=True)
class RowCounts:
    """How many rows were used."""

    given: int
    """Rows that were passed."""
    used: int
    """Rows of positive weight with no value missing."""
    dropped: int
    """Rows dropped because a value was missing."""
    weight: float
    """Total weight of the rows used."""
    weights: Literal["none", "whole", "fractional"]
    """The kind of sample weights."""
    classes: tuple[Any, ...] | None
    """The classes in column order; None for a vector of scores."""


@dataclass(frozen=True)
class Clusters:
    """Clusters of dependent rows, and which numbers account for them."""

    number: int
    """Number of clusters."""
    effective: float
    """Effective number: clusters of equal size that would give the same Σ size²."""
    considered: tuple[str, ...]
    """Results that account for clusters."""
    ignored: tuple[str, ...]
    """Results computed as if rows were independent, for lack of a method for clusters."""


@dataclass(frozen=True)
class Settings:
    """The options of the report, defaults included."""

    bins: str
    """The bin rule, as a Python expression."""
    bins_in_words: str
    level: float
    """Level of every interval, band and decision."""
    seed: int
    """Seed of all random draws."""
    offered: tuple[int, ...]
    """Numbers of bins offered on the page."""


@dataclass(frozen=True)
class Verdict:
    """The conclusion as a code and as a sentence."""

    code: Code
    sentence: str


@dataclass(frozen=True)
class Summary:
    """The numbers of the summary table; for a matrix of scores, about the top label unless the name says otherwise.

    A measure that sums cannot give is nan.
    """

    n: int
    rate: float
    """Share of events; for a matrix, the accuracy."""
    mean_score: float
    ece: float
    ece_interval: Interval | None
    """Confidence set of the l2 error; None if it could not be computed."""
    noise_floor: NoiseFloor | None
    """Of the ECE."""
    test: Significance | None
    ace: float
    mce: float
    smooth_ece: float
    tce: float
    tce_floor: NoiseFloor | None
    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    log_loss: float
    slope: float
    intercept: float
    observed_expected: float
    classwise_ece: float | None
    """Mean over classes of each one against the rest; None for a vector of scores."""
    multiclass_brier: float | None
    """Squared errors of all classes together; None for a vector of scores."""
    multiclass_log_loss: float | None
    limits: Mapping[str, tuple[float, float]]
    """From a sketch: the range of the exact value, by field; empty otherwise."""
    absent: tuple[str, ...]
    """Measures that the sums cannot give, in words."""


@dataclass(frozen=True)
class Blocks:
    """The test-based reliability diagram: isotonic blocks, with an exact test of each score in them."""

    low_edge: tuple[float, ...]
    high_edge: tuple[float, ...]
    n: tuple[int, ...]
    rate: tuple[float, ...]
    score_min: tuple[float, ...]
    score_q1: tuple[float, ...]
    score_median: tuple[float, ...]
    score_q3: tuple[float, ...]
    score_max: tuple[float, ...]
    refuted: tuple[float, ...]
    """Share of the rows of the block whose score the test rejects."""
    alpha: float
    rule: str


@dataclass(frozen=True)
class Segment:
    """The rows with one value of a column, or one group of the sums."""

    column: str
    value: str
    n: int
    score: float
    rate: float
    gap: float
    """Rate − mean score."""
    ece: float
    pvalue: float | None
    adjusted_pvalue: float | None
    """Adjusted by Holm's method over all segments of the model."""
    flagged: bool


@dataclass(frozen=True)
class Segments:
    """All segments of one model."""

    rows: tuple[Segment, ...]
    test: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ClassRow:
    """One class against the rest."""

    label: str
    share: float
    """Share of rows of this class."""
    score: float
    """Its mean score."""
    gap: float
    ece: float
    damage: float
    """Share of the class-wise ECE due to this class."""
    pvalue: float | None
    adjusted_pvalue: float | None
    flagged: bool


@dataclass(frozen=True)
class TopK:
    """The l2 error of the k largest scores, taken jointly."""

    k: int
    interval: Interval


@dataclass(frozen=True)
class Remedy:
    """A calibrator, fitted on some folds and measured on the others."""

    name: str
    calibrator: str
    """As a Python expression."""
    ece: float
    ece_interval: Interval | None
    brier: float
    """For a matrix, over all classes."""
    log_loss: float
    gain: float = math.nan
    """Reduction of the Brier score, compared row by row."""
    gain_low: float = math.nan
    """Lower end of its confidence interval."""
    gain_high: float = math.nan


@dataclass(frozen=True)
class Guarantee:
    """The distribution-free guarantee of histogram binning fitted on all rows."""

    n: int
    n_bins: int
    scheme: str
    """'umd', or 'randomized' where scores are tied."""
    epsilon: float
    """With probability `level`, every bin's value is within this of its true rate."""
    level: float
    marginal: float
    """The same for the bin of one new row."""


@dataclass(frozen=True)
class Remedies:
    """The comparison of calibrators."""

    before: Remedy
    after: tuple[Remedy, ...]
    best: str | None
    """The calibrator with the smallest Brier score among those whose gain has an interval above 0."""
    folds: int
    n: int
    """Rows split into folds."""
    guarantee: Guarantee | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """The bins of the first diagram: those asked for, unless nearly all rows lie in one of them."""

    bins: Bands
    interval_low: tuple[float, ...]
    interval_high: tuple[float, ...]
    ece: float
    words: str
    """The bin rule in words."""


@dataclass(frozen=True)
class Explorer:
    """Sums per fine cell. Every offered bin is a run of cells, so the page can compute its ECE."""

    name: str
    """What is shown: all rows, or a class against the rest."""
    n: tuple[int, ...]
    events: tuple[float, ...]
    """Σwy."""
    weight: tuple[float, ...]
    """Σw."""
    high: tuple[int, ...] | None
    """Σwp is exactly high · 2⁻²⁶ + low · 2⁻⁵³ for whole-number weights; None otherwise."""
    low: tuple[int, ...] | None
    sum_score: tuple[float, ...] | None
    """Σwp where weights are not whole numbers."""
    rules: Mapping[str, Mapping[str, Mapping[str, tuple[float, ...]]]]
    """By rule and number of bins: the first cell of every bin (and the end), the edges, the interval of each rate."""
    rule: str
    """The rule asked for: 'width', 'mass' or 'given'."""
    bins: str
    """The number of bins asked for, as a key of `rules`."""
    zoom: float
    """Upper end of the axes when zoomed in; 1 if the data need no zoom."""
    histogram: tuple[float, ...]
    """Weight of the scores in cells of equal width on [0, 1]."""
    near_histogram: tuple[float, ...]
    """The same on [0, zoom]."""


@dataclass(frozen=True)
class Model:
    """Everything about one model."""

    name: str
    verdict: Verdict
    summary: Summary
    bins: Bands
    """One row per bin, with a simultaneous band for the rates of a calibrated model; nan if there is no band."""
    interval_low: tuple[float, ...]
    """Lower end of each rate's own confidence interval."""
    interval_high: tuple[float, ...]
    worst: tuple[int, ...]
    """The bins that contribute most to the ECE, numbered from 0."""
    blocks: Blocks | None
    segments: Segments | None
    remedies: Remedies | None
    classes: tuple[ClassRow, ...] | None
    top_k: tuple[TopK, ...] | None
    picture: Picture
    explorers: tuple[Explorer, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """The whole report."""

    title: str
    version: str
    task: Literal["binary", "multiclass"]
    verdict: Verdict
    source: Source
    """What the report was computed from."""
    view: Literal["binary", "classwise", "confidence", "top-label"]
    """The question asked about every model; for a matrix of scores, whether the top label is right."""
    omitted: str
    """What a report of sums lacks, as a sentence; empty for rows."""
    rows: RowCounts
    clusters: Clusters | None
    """None if rows are independent."""
    settings: Settings
    models: tuple[Model, ...]
    comparison: Comparison | None
    files: tuple[Mapping[str, Any], ...] | None
    """One entry per file of sums; None unless asked for."""
    notes: tuple[str, ...]
    definitions: Mapping[str, str]


def as_json(contents: Contents) -> dict[str, Any]:
    """Plain values by name; undefined and infinite numbers are None."""
    data: dict[str, Any] = {"schema": SCHEMA} | json_ready(contents)
    for model in data["models"]:
        model["bins"] |= {"interval_low": model.pop("interval_low"), "interval_high": model.pop("interval_high")}
        del model["picture"], model["explorers"]  # only the page needs them
    return data
