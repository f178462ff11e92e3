"""What a report holds: frozen records, and one dict of plain values made of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

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
    "Remedies",
    "Remedy",
    "RowCounts",
    "Segment",
    "Segments",
    "Settings",
    "Summary",
    "TopK",
    "Verdict",
    "as_json",
]

SCHEMA = 1
"""Number of the schema of :func:`as_json`; it changes when a key goes or changes its meaning."""

Code: TypeAlias = Literal["miscalibrated", "slightly-miscalibrated", "no-evidence", "too-few-rows", "undetermined"]


@dataclass(frozen=True)
class RowCounts:
    """Which rows were looked at."""

    given: int
    """Rows that were passed."""
    used: int
    """Rows of positive weight with no value missing."""
    dropped: int
    """Rows left out because a value was missing."""
    weight: float
    """Total weight of the rows used."""
    weights: Literal["none", "whole", "fractional"]
    """Whether rows have weights, and of which kind."""
    classes: tuple[Any, ...] | None
    """The classes in column order; None for a vector of scores."""


@dataclass(frozen=True)
class Clusters:
    """Rows that may depend on each other, and which numbers allow for that."""

    number: int
    """How many clusters the rows used are in."""
    effective: float
    """How many of equal size would be as uneven."""
    considered: tuple[str, ...]
    """What allows for clusters."""
    ignored: tuple[str, ...]
    """What takes rows for independent, because no method that allows for clusters is there."""


@dataclass(frozen=True)
class Settings:
    """What was asked for, and what was chosen where nothing was asked for."""

    bins: str
    """The bin rule, as Python writes it."""
    bins_in_words: str
    level: float
    """Level of every interval, band and decision."""
    seed: int
    """Seed of everything that is drawn."""
    offered: tuple[int, ...]
    """The numbers of bins that the page offers."""


@dataclass(frozen=True)
class Verdict:
    """One sentence."""

    code: Code
    sentence: str


@dataclass(frozen=True)
class Summary:
    """The numbers of the summary table; of the top label for a matrix of scores, unless said otherwise."""

    n: int
    rate: float
    """Share of events; for a matrix, of rows whose top label came (accuracy)."""
    mean_score: float
    ece: float
    ece_interval: Interval | None
    """Of the l2 error; None if it could not be made."""
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


@dataclass(frozen=True)
class Blocks:
    """The test-based reliability diagram: isotonic blocks, and what an exact test says of their scores."""

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
    """Share of the rows of the block whose score the test refutes."""
    alpha: float
    rule: str


@dataclass(frozen=True)
class Segment:
    """The rows that share a value of a column."""

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
    """By Holm's method over all segments of the model."""
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
    """How often the class came."""
    score: float
    """Its mean score."""
    gap: float
    ece: float
    damage: float
    """Share of the class-wise ECE that this class makes."""
    pvalue: float | None
    adjusted_pvalue: float | None
    flagged: bool


@dataclass(frozen=True)
class TopK:
    """The l2 error of the k largest scores together."""

    k: int
    interval: Interval


@dataclass(frozen=True)
class Remedy:
    """A calibrator, fitted on some folds and measured on the others."""

    name: str
    calibrator: str
    """As Python writes it."""
    ece: float
    ece_interval: Interval | None
    brier: float
    """For a matrix, over all classes."""
    log_loss: float
    gain: float = math.nan
    """By how much the Brier score falls, compared row by row."""
    gain_low: float = math.nan
    """Lower end of the interval of the gain."""
    gain_high: float = math.nan


@dataclass(frozen=True)
class Guarantee:
    """What histogram binning, fitted on all rows, can promise without assuming anything of the scores."""

    n: int
    n_bins: int
    scheme: str
    """'umd', or 'randomized' where scores are tied."""
    epsilon: float
    """Every bin's value is within this of its true rate, with probability `level`."""
    level: float
    marginal: float
    """The same for the bin of one new row."""


@dataclass(frozen=True)
class Remedies:
    """What would fix it."""

    before: Remedy
    after: tuple[Remedy, ...]
    best: str | None
    """The calibrator with the smallest Brier score among those whose gain is surely above 0."""
    folds: int
    n: int
    """Rows that were split into folds."""
    guarantee: Guarantee | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """The bins that the page begins with: those asked for, unless they would show a single point."""

    bins: Bands
    interval_low: tuple[float, ...]
    interval_high: tuple[float, ...]
    ece: float
    words: str
    """The bin rule in words."""


@dataclass(frozen=True)
class Explorer:
    """Sums per fine cell, of which every offered bin is a run; enough to compute the ECE of any of them."""

    name: str
    """What is looked at: all rows, or a class against the rest."""
    n: tuple[int, ...]
    events: tuple[float, ...]
    """Σwy."""
    weight: tuple[float, ...]
    """Σw."""
    high: tuple[int, ...] | None
    """Σwp is high · 2⁻²⁶ + low · 2⁻⁵³, exactly, where weights are whole numbers; None where they are not."""
    low: tuple[int, ...] | None
    sum_score: tuple[float, ...] | None
    """Σwp where weights are not whole numbers."""
    rules: Mapping[str, Mapping[str, Mapping[str, tuple[float, ...]]]]
    """By rule and number of bins: the first cell of every bin (and the end), edges, and the interval of each rate."""
    rule: str
    """The rule that was asked for: 'width', 'mass' or 'given'."""
    bins: str
    """The number of bins that was asked for, as it stands in `rules`."""
    zoom: float
    """Scores and rates seldom exceed this; 1 if there is nothing to gain from a closer look."""
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
    """One row per bin, with the band that all rates would lie in together if the scores were true."""
    interval_low: tuple[float, ...]
    """Lower end of the interval of each bin's rate, taken alone."""
    interval_high: tuple[float, ...]
    worst: tuple[int, ...]
    """The bins that add most to the ECE, by number from 0."""
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
    rows: RowCounts
    clusters: Clusters | None
    """None if rows are independent."""
    settings: Settings
    models: tuple[Model, ...]
    comparison: Comparison | None
    notes: tuple[str, ...]
    definitions: Mapping[str, str]


def as_json(contents: Contents) -> dict[str, Any]:
    """Plain values by name; a number that is undefined or infinite is None."""
    found: dict[str, Any] = {"schema": SCHEMA} | _plain(contents)
    for model in found["models"]:
        model["bins"] |= {"interval_low": model.pop("interval_low"), "interval_high": model.pop("interval_high")}
        del model["picture"], model["explorers"]  # they serve the page; every number that they give is the library's
    return found


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return _plain(value.to_dict())
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int | str | None) else str(value)
