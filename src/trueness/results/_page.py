"""The contents of a report as frozen records, and as one dict of plain values.

The fields are the keys of the JSON; ``docs/reference/json.md`` is made from their docstrings.
"""

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from trueness import results
from trueness._text.numbers import MISSING
from trueness._text.strings import json_ready
from trueness.results._first_screen import Answer, Picture
from trueness.results._remedies import Advice, Remedies, Remedy
from trueness.results._segments import ClassRow, Slices
from trueness.results._verdict import Code, DetectionPower

SCHEMA = 2
"""Version of the keys of :func:`as_json`; it changes when a key is removed or changes its
meaning."""

MEASURED = (
    "rate",
    "ece",
    "ece_classwise",
    "tce",
    "ace",
    "mce",
    "smooth_ece",
    "observed_expected",
    "intercept",
    "slope",
    "free_intercept",
    "brier",
    "miscalibration",
    "discrimination",
    "uncertainty",
    "scaled_brier",
    "log_loss",
    "auc",
    "ici",
    "e50",
    "e90",
    "emax",
)
"""Measures of the summary that have limits, a noise floor or both."""

Source: TypeAlias = Literal["rows", "tally", "sketch", "bins"]


@dataclass(frozen=True)
class RowCounts:
    """How many rows were used."""

    given: int
    """Rows passed."""
    used: int
    """Rows without missing values and of positive weight."""
    dropped: int
    """Rows with a missing value."""
    weight: float
    """Total weight of the rows used."""
    weights: Literal["none", "whole", "fractional"]
    """What kind of weights there are."""
    classes: tuple[Any, ...] | None
    """Classes in the order of the columns; None for a vector of scores."""


@dataclass(frozen=True)
class Clusters:
    """Clusters of dependent rows, and which numbers account for them."""

    number: int
    """How many there are."""
    effective: float
    """The equivalent number of clusters of equal size."""
    considered: tuple[str, ...]
    """What takes clusters into account."""
    ignored: tuple[str, ...]
    """What treats rows as independent."""


@dataclass(frozen=True)
class Settings:
    """The options of the report, defaults included."""

    bins: str
    """The bin rule as a Python expression."""
    bins_in_words: str
    """The bin rule in words."""
    level: float
    """Level of all intervals, bands and decisions."""
    seed: int
    """Seed of all random draws."""
    offered: tuple[int, ...]
    """Numbers of bins that the page offers."""
    intervals: bool = True
    """Whether every measure has its limits or its noise floor."""


@dataclass(frozen=True)
class Command:
    """How the rows were read on the command line, for other commands on the same rows."""

    files: tuple[str, ...]
    """The files, or the options of the demonstration."""
    options: Mapping[str, str]
    """Options with a value."""
    flags: tuple[str, ...] = ()
    cluster: str | None = None
    """The column of clusters, which not every map takes."""

    def line(self, verb: str, **changed: str) -> str:
        """A command on these rows; `changed` options replace those that were given."""
        new = {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
        kept = {name: value for name, value in self.options.items() if name not in new}
        typed = [word for option in (kept | new).items() for word in option]
        return shlex.join(["trueness", verb, *self.files, *typed, *self.flags])


@dataclass(frozen=True)
class Provenance:
    """Where the rows came from, and when they were judged."""

    file: str | None
    """The file, or another name of the data."""
    label: str | None
    """The column of labels."""
    event: str | None
    """The label that the scores predict; None for several classes."""
    date: str
    """The day of the report, as year-month-day."""
    commands: Mapping[str, Command | None] = field(default_factory=dict)
    """By model: how the command line read its rows, or would read those of sums; None if no command
    can be given."""
    arguments: str = "y_prob, y_true"
    """What a calibrator takes to be fitted on the rows, as Python."""
    cluster: str = ""
    """The further argument, as Python, for a map that takes clusters."""
    cluster_name: str = ""
    """The name of the column of clusters, if it has one."""
    other: Any = None
    """The label that the scores do not predict, if there are two."""
    of_answers: bool = False
    """Whether the rows are answers from evaluation logs."""


@dataclass(frozen=True)
class Conclusion:
    """A verdict in words; the fields are those of :class:`trueness.results.Verdict`."""

    code: Code
    """The conclusion as a code; the worst of several models."""
    headline: str
    """The conclusion in words."""
    certainty: str
    """How certain it is, in words."""
    sentence: str
    """Headline and certainty; of one of several models, with its name."""
    evidence: str = ""
    """The part of the certainty that is not about the size of the error."""
    error: str = ""
    """How far off, in a few words."""
    error_in_short: str = ""
    """The same, with "points" in place of "percentage points"."""
    pvalue: str = ""
    """The p-value of what decided, in words; with "segments" or "classes" if only these are off."""
    questions: str = ""
    """Which questions were asked, if there are several."""
    level: float = math.nan
    """Confidence level."""
    clusters: int | None = None
    """How many clusters there are; None if rows are independent."""
    few_clusters: bool = False
    """Whether they are too few for a test."""
    rejected: bool = False
    """Whether calibration of all rows together was rejected; of several models, see each."""
    rare: bool = False
    """Whether the event rate is below 5 %, so that ratios lead; of several models, see each."""
    doubt: str = ""
    """Why these may not be the scores that were meant: 'inverted', 'confidence' or 'constant'."""
    all_rows: Code = "undetermined"
    """The code of all rows together, whatever segments and classes show."""

    @property
    def is_of_parts(self) -> bool:
        """Whether only segments or classes are off, not all rows."""
        return self.code == "miscalibrated" and not self.rejected


@dataclass(frozen=True)
class Summary:
    """The numbers of the summary table.

    For a matrix of scores, proper scores and their parts are of all classes, and all other measures
    of the top label unless the name says otherwise. A measure that sums cannot give is nan. The
    last fields are those of :class:`trueness.results.Verdict`.
    """

    n: int
    """Rows."""
    rate: float
    """Share of events; for a matrix, the accuracy."""
    mean_score: float
    """Mean score; for a matrix, mean confidence."""
    ece: float
    ece_interval: results.Interval | None
    """The confidence set for the typical error; None if there is none."""
    noise_floor: results.NoiseFloor | None
    """The noise floor of the ECE."""
    test: results.Significance | None
    """The test of calibration."""
    ace: float
    mce: float
    smooth_ece: float
    tce: float
    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    log_loss: float
    slope: float
    intercept: float
    observed_expected: float
    ece_confidence: float | None
    """The ECE of the top label, which `ece` is for a matrix; None for a vector of scores."""
    ece_classwise: float | None
    """The mean ECE over classes; None for a vector of scores."""
    absent: tuple[str, ...]
    """Measures that the sums cannot give."""
    estimates: Mapping[str, results.Estimate] = field(default_factory=dict)
    """Limits or noise floors of the measures, by field."""
    power: DetectionPower | None = None
    """Power to notice a miscalibration that matters; None if the test rejects, or there is none."""
    n_certain: float = 0
    """Scores of exactly 0 or 1."""
    n_certain_wrong: float = 0
    """Those of them that contradict their label."""
    prior_shift: results.PriorShift | None = None
    """Whether one factor on the odds explains the error; None for a matrix and for sums of bins."""
    within: float = math.nan
    """How far 95 % of the scores are from their event rate at most, if that rises with the score
    (monotone band)."""

    @property
    def pvalue(self) -> float | None:
        """The p-value of the test; None if there is no test."""
        return None if self.test is None else self.test.pvalue

    @property
    def pvalue_in_words(self) -> str:
        """The p-value as the test states it, "p ≤ …" at the smallest possible; else a dash."""
        return MISSING if self.test is None else self.test.pvalue_in_words


@dataclass(frozen=True)
class Blocks:
    """The test-based reliability diagram: isotonic blocks with an exact test of each score."""

    low_edge: tuple[float, ...]
    """Lower edge of each block."""
    high_edge: tuple[float, ...]
    """Upper edge of each block."""
    n: tuple[int, ...]
    """Rows of each block."""
    rate: tuple[float, ...]
    """Event rate of each block."""
    score_min: tuple[float, ...]
    """Smallest score of each block."""
    score_q1: tuple[float, ...]
    """Lower quartile of its scores."""
    score_median: tuple[float, ...]
    """Median of its scores."""
    score_q3: tuple[float, ...]
    """Upper quartile of its scores."""
    score_max: tuple[float, ...]
    """Largest score of each block."""
    refuted: tuple[float, ...]
    """Share of its rows whose score the test rejects."""
    alpha: float
    """Level of the test."""
    rule: str
    """The bin rule, in words."""


@dataclass(frozen=True)
class FlexibleCurve:
    """The calibration curve by splines of the log-odds, with its bands, at ascending scores."""

    score: tuple[float, ...]
    """Scores, at most 4,096."""
    rate: tuple[float, ...]
    """The curve."""
    low: tuple[float, ...]
    """Lower end of the band that holds at each score by itself."""
    high: tuple[float, ...]
    """Upper end of it."""
    all_low: tuple[float, ...]
    """Lower end of the band that holds at all scores jointly."""
    all_high: tuple[float, ...]
    """Upper end of it."""


@dataclass(frozen=True)
class Segments:
    """All segments of one model, the costliest first."""

    rows: tuple[Mapping[str, Any], ...]
    """As :meth:`trueness.results.Segments.rows`, with the ECE of each."""
    pvalue: float
    """P-value of "all segments are calibrated"."""
    alpha: float
    """Probability of any false flag, at most."""
    test: str
    """How they were tested."""
    notes: tuple[str, ...]
    """How columns were cut, and what else to know."""
    findings: Mapping[str, str]
    """What is wrong with each flagged one, by column and value: with its slope if that decided."""

    @property
    def flagged(self) -> list[Mapping[str, Any]]:
        """Those that were found to be off."""
        return [row for row in self.rows if row["flagged"]]


@dataclass(frozen=True)
class Decisions:
    """What follows for decisions: net benefit of a score, or risk of confidences."""

    accept: results.AcceptThreshold
    """The certified threshold for 95 % accuracy, or for a score 95 % precision."""
    benefit: results.NetBenefit | None = None
    """Net benefit at 99 thresholds; None for a matrix."""
    certificate: results.Estimate | None = None
    """The most that an increasing map could add; None for a matrix."""
    risk: results.RiskCoverage | None = None
    """Risk of the top label, or of the confidences of a log; else None."""


@dataclass(frozen=True)
class Axes:
    """Both axes of a diagram, which are alike, and the histogram of the scores along them."""

    scale: str
    """'linear', 'log' or 'logit'."""
    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    histogram: tuple[float, ...]
    """Weight of the scores in 50 bars that are equally wide on the page."""


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
    """By rule and number of bins: the first cell of every bin (and the end), the edges, the
    interval of each rate, and the band of the rates of calibrated scores, with the bins outside it;
    sums of bins have no band."""
    rule: str
    """The requested rule: 'width', 'mass' or 'given'."""
    bins: str
    """The requested number of bins, as a key of `rules`."""
    whole: Axes
    """Axes from 0 to 1."""
    near: Axes
    """Axes that fit the scores; the same if the scores fill [0, 1]."""
    x_name: str
    y_name: str
    happens: str
    """What an event does, in the words of a reader: "happens", or "right" for a top label."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """Everything about one model."""

    name: str
    """Its name."""
    verdict: Conclusion
    """The verdict on this model."""
    answers: Mapping[str, Answer] = field(default_factory=dict)
    """The answers of the first screen, in its order: `how_far`, `where`, `cost` and `action`."""
    summary: Summary
    """The numbers of the summary."""
    picture: Picture
    worst: tuple[int, ...]
    """The bins that contribute most to the ECE, numbered from 0."""
    blocks: Blocks | None
    """The test-based diagram; None where weights are not whole numbers."""
    panel: results.Panel | None
    """The numbers of a validation; None for a matrix and for sums of bins."""
    curve: FlexibleCurve | None
    """The calibration curve; None where there is no panel or no finite estimate."""
    segments: Segments | None
    """The segments; None without `by` or groups."""
    slices: Slices | None
    """The worst slices, where several columns divide the rows."""
    remedies: Remedies | None
    """Calibrators tried on held-out rows, the map by a column too if it is the advice; None with
    fewer than 20 rows, or from sums."""
    advice: Advice
    decisions: Decisions | None
    """What follows for decisions; None if the scores have no skill."""
    classes: tuple[ClassRow, ...] | None
    """Each class against the rest, the largest ECE first; None for a vector."""
    top_k: tuple[Mapping[str, Any], ...] | None
    """By `k`: the confidence `interval` of the typical error of the k largest scores jointly."""
    explorers: tuple[Explorer, ...]
    coverage: results.Coverage | None = None
    """For intervals of one coverage and quantiles: the shares of the first picture."""
    level_histogram: results.LevelHistogram | None = None
    """The histogram of the levels of outcomes among their quantiles, below that picture."""
    notes: tuple[str, ...]
    """Warnings of the library, and what could not be computed."""

    @property
    def advised(self) -> Remedy | None:
        """The map that the answers recommend."""
        wanted = self.advice.calibrator
        if wanted is None or self.remedies is None:
            return None
        return next((remedy for remedy in self.remedies.after if remedy.calibrator is wanted), None)


@dataclass(frozen=True)
class Contents:
    """The whole report."""

    title: str
    """Heading of the page."""
    version: str
    """Version of trueness."""
    task: Literal["binary", "multiclass"]
    """Whether scores are a vector or a matrix."""
    verdict: Conclusion
    """The verdict on all models."""
    provenance: Provenance
    """Where the rows came from."""
    source: Source
    """What was passed."""
    view: Literal["binary", "classwise", "confidence", "top-label", "multilabel"]
    """The question asked about every model."""
    omitted: str
    """What a report of sums lacks; empty for rows."""
    rows: RowCounts
    """How many rows were used."""
    clusters: Clusters | None
    """Clusters of rows; None without `cluster`."""
    settings: Settings
    """The options of the report."""
    models: tuple[Model, ...]
    """One entry per model, in the order passed."""
    comparison: results.Comparison | None
    """All models on the same rows; None for one model."""
    notes: tuple[str, ...]
    """Notes on the whole report."""
    definitions: Mapping[str, str]
    """What each term means."""
    files: tuple[Mapping[str, Any], ...] | None = None
    """With `--each` or `--over`: one entry per file or period, and group of the sums."""
    series: results.Series | None = None
    """With `--each` or `--over`: the series of the files."""
    confidences: Mapping[str, Any] | None = None
    """Where the confidences of evaluation logs come from: `origins`, `missing` by reason and
    `notes`."""
    judge: results.Judge | None = None
    """The record of a judge beside human labels."""


def as_json(contents: Contents) -> dict[str, Any]:
    """Plain values by name; undefined and infinite numbers are None."""
    data = {"schema": SCHEMA} | json_ready(contents)
    # The answers have them, with the name of the map.
    for name in ("commands", "arguments", "cluster", "cluster_name", "other", "of_answers"):
        del data["provenance"][name]
    for i, model in enumerate(contents.models):
        data["models"][i] = _model_json(data["models"][i], model)
    return data


def _model_json(data: dict[str, Any], model: Model) -> dict[str, Any]:
    """The fields of a model in the shape that the JSON has."""
    for name in ("explorers", "coverage", "level_histogram"):  # only the page needs them
        del data[name]
    del data["advice"]  # the answers have it
    data["summary"] = _with_limits(data["summary"])
    ratio_low, ratio_high = map(json_ready, model.picture.ratio_limits)
    picture = data["picture"]
    data["picture"] = picture["bins"] | {
        "interval_low": picture["interval_low"],
        "interval_high": picture["interval_high"],
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
    }
    if model.panel is not None:
        data["panel"] = {"tests": data["panel"]["tests"], "text": model.panel.text()}
    return {"bins" if key == "picture" else key: value for key, value in data.items()}


def _with_limits(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary with keys such as ``ece_low`` and ``ece_floor`` in place of estimates."""
    estimates = summary.pop("estimates")
    for key in MEASURED:
        summary.setdefault(key, (estimates.get(key) or {}).get("value"))
    flat = dict[str, Any]()
    for key, value in summary.items():
        flat[key] = value
        if key in MEASURED:
            estimate = estimates.get(key) or {}
            for limit in ("low", "high", "floor", "floor_high"):
                flat[f"{key}_{limit}"] = estimate.get(limit)
    return flat
