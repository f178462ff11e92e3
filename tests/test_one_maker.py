"""Every number has one maker: a page, a panel, a verdict and a command say what the public function says.

`==` throughout, as JSON has the numbers, with null for nan. The calls are those that a user would write, with the
level and the seed of the page. `DOORS` has the question of every leaf; a leaf that no function gives is there with the
reason. `LAST_DIGITS` has the sums of floats that two orders of rows give, compared to 12 digits as docs/design.md
says; `LEFT_OUT` has what is meant to differ, and why.
"""

import inspect
import itertools
import json
import math
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from grids import fast, slow

import trueness as tn

LEVEL, N = 0.9, 300


# The cases: rows or sums of each kind, and the models that their page is about.


@dataclass(frozen=True, eq=False)
class Model:
    """What a user asks about: labels and scores, or sums in their place, and the options of the rows."""

    y: Any
    p: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    cluster: Any = None
    by: Mapping[str, Any] | None = None
    matrix: bool = False
    """Whether the scores are those of three classes: the page is about the largest."""
    second: "Model | None" = None
    """The second of two columns: measures and tables of bins would look at both."""
    seed: int = 0
    label: str = ""
    """One of several labels, whose verdict is adjusted for all of them."""

    @property
    def kind(self) -> str:
        return "confidence" if self.matrix else ""

    @property
    def view(self) -> dict[str, str]:
        return {"kind": self.kind} if self.kind else {}

    @property
    def columns(self) -> dict[str, Any]:
        return {} if self.by is None else {"by": self.by}

    @property
    def rows(self) -> tuple[Any, ...]:
        return (self.y,) if self.p is None else (self.y, self.p)

    def options_of(self, function: Callable[..., Any]) -> dict[str, Any]:
        """The options of the rows, those that the function takes."""
        clustered = self.cluster is not None and "cluster" in inspect.signature(function).parameters
        return {**self.options, "cluster": self.cluster} if clustered else dict(self.options)

    def ask(self, function: Callable[..., Any], *first: Any, **options: Any) -> Any:
        """The answer; None where the function refuses these rows."""
        try:
            with quiet():
                return function(*first, *self.rows, **self.options_of(function), **options)
        except tn.InputError:
            return None


def quiet() -> Any:
    return warnings.catch_warnings(action="ignore", category=tn.TruenessWarning)


@dataclass(frozen=True, eq=False)
class Case:
    """Rows or sums of one kind."""

    whole: Model
    models: tuple[Model, ...]
    file: str
    columns: tuple[str, ...]
    """The columns, as a command takes them."""

    @property
    def page(self) -> Any:
        options = {"level": LEVEL, "seed": self.whole.seed, "progress": False}
        return self.whole.ask(tn.report, **self.whole.columns, **options)


RNG = np.random.default_rng(1)
SCORES = RNG.beta(1, 1.5, N)
REGION, AGE = np.where(np.arange(N) % 3 == 0, "south", "north"), RNG.choice(["young", "old"], N)
TRUTH = np.where(REGION == "south", 0.7 - 0.4 * SCORES, SCORES)
CLASSES = RNG.dirichlet([1, 1, 1], N)
MANY = RNG.random((N, 2))
TABLE: dict[str, Any] = {
    "y": (RNG.random(N) < TRUTH).astype(int),
    "calm": (RNG.random(N) < SCORES).astype(int),
    "p": SCORES,
    "q": np.sqrt(SCORES),
    "region": REGION,
    "age": AGE,
    "whole": RNG.integers(1, 3, N),
    "part": RNG.uniform(0.5, 2, N),
    "group": np.arange(N) // 4,
    "class": (RNG.random(N)[:, np.newaxis] > np.cumsum(CLASSES, axis=1)[:, :2]).sum(axis=1),
    **{f"class_{i}": CLASSES[:, i] for i in range(3)},
    "two_0": 1 - SCORES,
    "two_1": SCORES,
    **{f"y_{i}": (RNG.random(N) < MANY[:, i]).astype(int) for i in range(2)},
    **{f"p_{i}": MANY[:, i] for i in range(2)},
}
"""The columns of the file that the commands read."""


def _rows(label: str, *scores: str, file: str = "rows.csv", **about: Any) -> Case:
    p = TABLE[scores[0]] if len(scores) == 1 else np.column_stack([TABLE[name] for name in scores])
    columns = [
        "--label",
        label,
        *(("--prob",) if len(scores) == 1 else ("--prob-columns",)),
        ",".join(scores),
    ]
    for option, name in about.pop("columns", {}).items():
        columns += [option, name]
    model = Model(TABLE[label], p, **about)
    return Case(model, (model,), file, tuple(columns))


def _sums(sums: Any, file: str) -> Case:
    model = Model(sums)
    return Case(model, (model,), file, ())


def _labels() -> Case:
    """Two labels of each row; the page is about each."""
    y = np.column_stack([TABLE["y_0"], TABLE["y_1"]])
    each = tuple(Model(y[:, i], MANY[:, i], label=str(i)) for i in range(2))
    columns = ("--kind", "multilabel", "--label", "y_*", "--prob-columns", "p_*")
    return Case(Model(y, MANY, {"kind": "multilabel"}), each, "rows.csv", columns)


def _models() -> Case:
    """Two models of the same rows, and a seed of their own."""
    y, scores = TABLE["y"], {name: TABLE[name] for name in ("p", "q")}
    each = tuple(Model(y, p, seed=5) for p in scores.values())
    columns = ("--label", "y", "--prob", "p", "--prob", "q", "--seed", "5")
    return Case(Model(y, scores, seed=5), each, "rows.csv", columns)


CASES = {
    "rows": _rows("y", "p", by={"region": REGION, "age": AGE}),
    "weights": _rows(
        "calm", "p", options={"sample_weight": TABLE["whole"]}, columns={"--weight": "whole"}
    ),
    "fractions": _rows(
        "calm", "p", options={"sample_weight": TABLE["part"]}, columns={"--weight": "part"}
    ),
    "clusters": _rows("y", "p", cluster=TABLE["group"], columns={"--cluster": "group"}),
    "matrix": _rows("class", "class_0", "class_1", "class_2", matrix=True),
    "two-columns": _rows("y", "two_0", "two_1", second=Model(TABLE["y"], SCORES)),
    "labels": _labels(),
    "tally": _sums(tn.tally(TABLE["y"], SCORES), "distinct.tally"),
    "sketch": _sums(tn.sketch(TABLE["y"], SCORES), "sketch.tally"),
    "bins": _sums(tn.binned(TABLE["y"], SCORES), "bins.tally"),
    "models": _models(),
}


# Plain values and their leaves.


def plain(value: Any) -> Any:
    """As JSON has it: undefined and infinite numbers are None."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every path with what is there; a list of numbers or of words is one leaf, an empty dict is none."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for i, one in enumerate(value):
            yield from leaves(one, f"{path}[{i}]")
    else:
        yield path, value


def general(path: str) -> str:
    """The path without the places in lists."""
    return re.sub(r"\[\d+\]", "[]", path)


# What the functions say.


@cache
def assessment(model: Model) -> Any:
    return assess(model)


@cache
def estimate(model: Model, key: str, kind: str = "") -> Any:
    """The estimate; where the function refuses the rows, that of an assessment, which is nan with a note."""
    view = {"kind": kind} if kind else {}
    found = model.ask(tn.estimate, key, level=LEVEL, seed=model.seed, **view)
    with quiet():
        return assessment(model).estimate(key, **view) if found is None else found


@cache
def verdict(model: Model) -> Any:
    return model.ask(tn.verdict, level=LEVEL, seed=model.seed, **model.columns)


def decided(model: Model) -> Any:
    """The verdict that a page shows of a model."""
    if not model.label:
        return verdict(model)
    with quiet():
        return assessment(CASES["labels"].whole).classes[model.label].verdict


@cache
def interval(model: Model, **options: Any) -> Any:
    return model.ask(tn.ece_interval, level=LEVEL, seed=model.seed, **options)


def hull(model: Model) -> Any:
    """The ends of the set, zero included."""
    return (None, None) if interval(model) is None else interval(model).hull


def stated_interval(model: Model) -> Any:
    """The set that the verdict states; of one of several labels, at its higher level."""
    return decided(model).interval


def stated_hull(model: Model) -> Any:
    """The ends of that set, zero included."""
    stated = stated_interval(model)
    return (None, None) if stated is None else stated.hull


@cache
def significance(model: Model, method: str = "omnibus") -> Any:
    return model.ask(tn.calibration_test, method=method, level=LEVEL, seed=model.seed)


@cache
def floor(model: Model, measure: Callable[..., float]) -> Any:
    """The noise floor, with the observed value."""
    options = {"level": LEVEL, "seed": model.seed, "progress": False}
    try:
        with quiet():
            if model.p is None:
                return tn.noise_floor(measure, model.y, **options)
            own = {**model.options, **model.view}
            return tn.noise_floor(measure, model.p, y_true=model.y, **own, **options)
    except tn.InputError:
        return None


@cache
def panel(model: Model) -> Any:
    return model.ask(tn.panel, level=LEVEL, seed=model.seed)


@cache
def segments(model: Model) -> Any:
    return model.by and model.ask(tn.segments, by=model.by, level=LEVEL, seed=model.seed)


@cache
def slices(model: Model, most: int = 100) -> Any:
    return model.by and model.ask(
        tn.worst_slices, columns=model.by, level=LEVEL, seed=model.seed, most=most
    )


MEASURED = (
    *(
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
    ),
    *(
        "free_intercept",
        "brier",
        "miscalibration",
        "discrimination",
        "uncertainty",
        "scaled_brier",
        "log_loss",
        "auc",
    ),
    *("ici", "e50", "e90", "emax"),
)
PROPER = ("brier", "miscalibration", "discrimination", "uncertainty", "log_loss")
"""Proper scores and their parts: of a matrix, those of all classes."""


def measured(model: Model, key: str) -> Any:
    """The estimate of a measure of the page."""
    if key == "rate":
        key = "accuracy" if model.matrix else "prevalence"
    if key == "ece_classwise":
        return estimate(model, "ece") if model.matrix else None
    return estimate(model, key, "" if key in PROPER else model.kind)


ece_floor = partial(floor, measure=tn.ece)


def bin_table(model: Model) -> Any:
    one = model.second or model
    return one.ask(tn.bin_table, level=LEVEL, **one.view)


def bin_bands(*rows: Any, **options: Any) -> Any:
    """The bands of bins, which take no clusters."""
    return tn.curve_band(*rows, method="bins", **options)


def bands(model: Model) -> Any:
    """The bins with their band; sums of bins have none."""
    one = model.second or model
    found = one.ask(bin_bands, level=LEVEL, band="simultaneous-consistency", **one.view)
    return bin_table(model) if found is None else found


def worst_range(model: Model) -> Any:
    """The flagged bin with the largest share of the ECE, with the limits of its rate."""
    found, table = bands(model), bin_table(model)
    damage = np.nan_to_num(found.weight * np.abs(found.gap))
    outside = getattr(found, "outside", (found.score < table.low) | (found.score > table.high))
    counts = {
        "ranges": int((found.n > 0).sum()),
        "flagged": int(outside.sum()) if hasattr(found, "outside") else 0,
    }
    if not outside.any():
        return counts
    at = int(np.argmax(np.where(outside, damage, -1)))
    own = {key: getattr(found, key)[at] for key in ("low_edge", "high_edge", "score", "rate", "n")}
    ends = {"rate_low": table.low[at], "rate_high": table.high[at]}
    return counts | own | ends | {"share": damage[at] / damage.sum()}


def segment_findings(model: Model) -> dict[str, str] | None:
    """What is wrong with each flagged segment, by its name."""
    found = segments(model)
    if found is None:
        return None
    return {name: words for name, words in zip(found.names, found.findings, strict=True) if words}


def segment_rows(model: Model) -> Any:
    """The rows of `segments`, each with the ECE of its part."""
    found = segments(model)
    if found is None:
        return None
    lines = plain(found.rows())
    for line in lines:
        part = model.by[line["column"]] == line["value"]
        line["ece"] = tn.ece(model.y[part], model.p[part])
    return lines


def worst_segment(model: Model) -> Any:
    """The flagged segment that costs most, first of those that differ from all rows."""
    flagged = [line for line in segment_rows(model) or () if line["flagged"]]
    return max(flagged, key=lambda line: line["differs"], default=None)


@cache
def advised_rows(model: Model) -> Model:
    """The rows that the advised map is fitted to: those of one segment, or all."""
    assessment = model.ask(tn.assess, level=LEVEL, seed=model.seed, **model.columns)
    advice = getattr(assessment, "advice", None)
    if advice is None or not advice.phrase.endswith("separately"):
        return model
    chosen = np.asarray(model.by[advice.column]).astype(str) == advice.value
    return replace(model, y=model.y[chosen], p=model.p[chosen], by=None)


def class_rows(model: Model) -> Any:
    """Each class against the rest, the largest ECE first."""
    if not model.matrix:
        return None
    found = []
    for label in range(model.p.shape[1]):
        one = replace(model, y=model.y == label, p=model.p[:, label], matrix=False)
        (share,), (score,), (gap,) = (
            getattr(one.ask(tn.bin_table, bins=1), key) for key in ("rate", "score", "gap")
        )
        ratio = one.ask(tn.estimate, "observed_expected", level=LEVEL)
        own = {
            "label": str(label),
            "share": share,
            "score": score,
            "gap": gap,
            "ece": one.ask(tn.ece),
        }
        limits = {"ratio": ratio.value, "ratio_low": ratio.low, "ratio_high": ratio.high}
        found.append(own | limits | {"pvalue": significance(one).pvalue})
    total = sum(row["ece"] for row in found)
    found = [row | {"damage": row["ece"] / total} for row in found]
    return sorted(found, key=lambda row: -row["ece"])


def curve(model: Model, at: Any) -> Any:
    """The calibration curve at the places of the page, with both bands."""
    each, every = (
        model.ask(tn.curve_band, level=LEVEL, at=at, band=band)
        for band in ("pointwise", "simultaneous")
    )
    if each is None:
        return None
    columns = {"score": each.x, "rate": each.y, "low": each.low, "high": each.high}
    return columns | {"all_low": every.low, "all_high": every.high}


def within(model: Model) -> Any:
    """The distance that 95 % of the scores are shown to be within."""
    band = (
        None
        if model.cluster is not None
        else model.ask(tn.curve_band, method="monotone", level=LEVEL)
    )
    if band is None or not band.rising:
        return None
    return next(distance for distance in np.sort(band.distance) if band.within(distance))


def accept(model: Model, criterion: str = "") -> Any:
    criterion = criterion or ("accuracy" if model.matrix else "precision")
    return model.ask(tn.accept_threshold, accuracy=0.95, level=LEVEL, criterion=criterion)


def risk(model: Model) -> Any:
    """Errors among the most confident answers, at about a hundred shares of the rows."""
    if not model.matrix:
        return None
    found = model.ask(tn.risk_coverage, level=LEVEL)
    shown = np.unique(np.searchsorted(found.coverage, np.arange(1, 101) / 100 - 1e-12))
    return plain(found) | {
        key: getattr(found, key)[shown] for key in ("threshold", "coverage", "risk")
    }


def benefit(model: Model) -> Any:
    return (
        None
        if model.matrix
        else model.ask(tn.net_benefit, thresholds=np.arange(1, 100) / 100, level=LEVEL)
    )


def certificate(model: Model) -> Any:
    return None if model.matrix else model.ask(tn.decision_certificate, level=LEVEL)


def guarantee(said: Mapping[str, Any], kind: str) -> float:
    return tn.epsilon(
        said["n"], said["n_bins"], alpha=round(1 - LEVEL, 12), scheme=said["scheme"], kind=kind
    )


def course(model: Model) -> Any:
    """Rates in six bins of equal mass, 50 rows in each."""
    one = model.second or model
    table = one.ask(tn.bin_table, bins=tn.EqualMass(N // 50), level=LEVEL, **one.view)
    return {key: getattr(table, key) for key in ("score", "rate", "low", "high")}


def parts(model: Model) -> Any:
    """The maps that automatic calibration of all rows averages, the largest share first."""
    with quiet():
        one = model.second or model
        fitted = tn.AutoCalibration().fit(one.p, one.y, **one.options_of(tn.AutoCalibration.fit))
    shares = sorted(
        zip(fitted.candidates_, fitted.weights_.tolist(), strict=True), key=lambda one: -one[1]
    )
    return [{"name": name, "share": share} for name, share in shares]


def gate(model: Model) -> Any:
    bounds = {"max_ece": 0.1, "max_l2": 0.1, "oe_within": 0.2}
    return model.ask(tn.gate, **bounds, level=LEVEL, seed=model.seed)


def comparison(model: Model) -> Any:
    several = isinstance(model.p, Mapping)
    return model.ask(tn.compare, level=LEVEL, seed=model.seed) if several else None


# Who says which number: by door, the question of each leaf, or why there is none. The longest prefix decides.


Answer: TypeAlias = Callable[[Model, Any], Any]
"""What the functions say of a model; the second argument is what the door says, for names and places."""


def of(record: Callable[[Model], Any], name: str = "") -> Answer:
    """A record, or one of its fields; None without the record."""

    def answer(model: Model, _: Any) -> Any:
        found = record(model)
        for step in filter(None, name.split(".")):
            found = getattr(found, step, None)
        return found

    return answer


def measures(prefix: str, names: Mapping[str, str], ends: Mapping[str, str]) -> dict[str, Answer]:
    """Leaves of measures by name, each with its ends."""
    return {
        f"{prefix}{name}{end}": of(partial(measured, key=key), column)
        for name, key in names.items()
        for end, column in ends.items()
    }


READ = "what was read, not computed"
OPTIONS = "an option of the call"
WORDS = "words for numbers that are compared where they stand"
NOTES = "warnings and notes, of all questions of the page"
FOLDS = "of maps fitted and tried on folds: no function does that"
CHOSEN = "chosen for the page"
OWN = "the record's own: no other function has it"
ENDS = {"": "value", "_low": "low", "_high": "high", "_floor": "floor", "_floor_high": "floor_high"}
VERDICT = ("code", "headline", "certainty", "sentence", "rejected", "rare", "doubt", "all_rows")
VERDICT += ("evidence", "error", "questions", "level", "clusters")
HEAD: dict[str, Answer | str] = {
    **{f"verdict.{name}": of(verdict, name) for name in VERDICT},
    "verdict.error_in_short": WORDS,
    "verdict.pvalue": WORDS,
    "verdict.few_clusters": of(verdict, "has_few_clusters"),
    "comparison": of(comparison),
    "clusters": "absent without clusters",
    "clusters.number": of(panel, "clusters"),
    "clusters.effective": "how many clusters of equal size are worth as much",
    "clusters.considered": WORDS,
    "clusters.ignored": WORDS,
    **dict.fromkeys(
        ("schema", "title", "version", "task", "source", "view", "omitted", "provenance", "rows"),
        READ,
    ),
    **dict.fromkeys(("settings", "files", "series", "confidences", "judge"), OPTIONS),
    "notes": NOTES,
    "definitions": WORDS,
}
PAGE: dict[str, Answer | str] = {
    "name": READ,
    **{f"verdict.{name}": of(decided, name) for name in VERDICT},
    "verdict.error_in_short": WORDS,
    "verdict.pvalue": WORDS,
    "verdict.few_clusters": of(decided, "has_few_clusters"),
    **{
        f"answers.{question}.{name}": WORDS
        for question in ("how_far", "where", "cost", "action")
        for name in ("question", "phrase", "detail", "command", "sections")
    },
    "answers.how_far.numbers.ece": of(partial(measured, key="ece"), "value"),
    "answers.how_far.numbers.chance": of(partial(measured, key="ece"), "floor"),
    "answers.how_far.numbers.chance_high": of(partial(measured, key="ece"), "floor_high"),
    "answers.how_far.numbers.l2": of(stated_interval, "estimate"),
    "answers.how_far.numbers.low": lambda model, _: stated_hull(model)[0],
    "answers.how_far.numbers.high": lambda model, _: stated_hull(model)[1],
    "answers.how_far.numbers.level": of(stated_interval, "level"),
    "answers.where.numbers": of(worst_range),
    "answers.where.numbers.segment": of(worst_segment),
    "answers.cost.numbers": FOLDS,
    "answers.cost.numbers.brier": lambda model, _: measured(advised_rows(model), "brier").value,
    "answers.cost.numbers.miscalibration": of(partial(measured, key="miscalibration"), "value"),
    "answers.cost.numbers.miscalibration_chance": of(
        partial(measured, key="miscalibration"), "floor"
    ),
    "answers.action.numbers": FOLDS,
    "answers.action.numbers.before": lambda model, _: getattr(
        interval(advised_rows(model)), "estimate", None
    ),
    "answers.action.numbers.rows": of(verdict, "power.rows_needed"),
    "summary.n": of(verdict, "n"),
    "summary.mean_score": of(verdict, "mean_score"),
    **measures("summary.", {key: key for key in MEASURED}, ENDS),
    "summary.ece_confidence": lambda model, _: (
        measured(model, "ece").value if model.matrix else None
    ),
    "summary.ece_interval": of(interval),
    "summary.noise_floor": of(ece_floor),
    "summary.noise_floor.measure": WORDS,
    "summary.test": of(significance),
    "summary.absent": WORDS,
    "summary.power": of(verdict, "power"),
    "summary.n_certain": of(verdict, "n_certain"),
    "summary.n_certain_wrong": of(verdict, "n_certain_wrong"),
    "summary.prior_shift": lambda model, _: (
        None if model.matrix else model.ask(tn.prior_shift, level=LEVEL)
    ),
    "summary.within": of(within),
    "bins": of(bands),
    "bins.interval_low": of(bin_table, "low"),
    "bins.interval_high": of(bin_table, "high"),
    "bins.ratio_low": of(bin_table, "ratio_low"),
    "bins.ratio_high": of(bin_table, "ratio_high"),
    "worst": "the order of the bins by weight × |gap|",
    "blocks": "the record of a picture, `TestReliabilityDisplay`",
    "panel": of(panel),
    "panel.tests": lambda model, said: {
        name: significance(model, name) for name in said["panel"]["tests"]
    },
    "panel.text": lambda model, _: panel(model).text("tripod"),
    "curve": lambda model, said: curve(model, said["curve"]["score"]) if said["curve"] else None,
    "segments": of(segments),
    "segments.rows": of(segment_rows),
    "segments.pvalue": of(segments, "joint_pvalue"),
    "segments.test": of(segments, "assumptions"),
    "segments.findings": of(segment_findings),
    "slices": of(partial(slices, most=40)),
    "remedies": FOLDS,
    "remedies.before.ece": of(partial(measured, key="ece"), "value"),
    "remedies.before.ece_interval": of(interval),
    "remedies.before.brier": of(partial(measured, key="brier"), "value"),
    "remedies.before.log_loss": of(partial(measured, key="log_loss"), "value"),
    "remedies.before.course": of(course),
    "remedies.after[].parts": lambda model, said: [
        {"parts": parts(model) if one["name"] == "automatic calibration" else []}
        for one in said["remedies"]["after"]
    ],
    "remedies.guarantee": "absent for a matrix, weights and clusters",
    "remedies.guarantee.epsilon": lambda _, said: guarantee(
        said["remedies"]["guarantee"], "conditional"
    ),
    "remedies.guarantee.marginal": lambda _, said: guarantee(
        said["remedies"]["guarantee"], "marginal"
    ),
    **dict.fromkeys(
        (f"remedies.guarantee.{name}" for name in ("n", "n_bins", "scheme", "level")), CHOSEN
    ),
    "decisions": "absent without skill, for fractional weights and for bins",
    "decisions.accept": of(accept),
    "decisions.benefit": of(benefit),
    "decisions.certificate": of(certificate),
    "decisions.risk": of(risk),
    "classes": of(class_rows),
    "classes[].adjusted_pvalue": "Holm's, which no function gives for classes",
    "classes[].flagged": "by the adjusted p-value",
    "top_k": lambda model, said: (
        said["top_k"]
        and [{"k": one["k"], "interval": interval(model, k=one["k"])} for one in said["top_k"]]
    ),
    "notes": NOTES,
}
OF_VERDICT: dict[str, Answer | str] = {
    **dict.fromkeys(
        (
            "code",
            "alpha",
            "rejected",
            "flags",
            "decisive",
            "segmented",
            "classes",
            "all_rows",
            "of_answers",
            "counted_rows",
        ),
        OWN,
    ),
    **dict.fromkeys(
        ("statement",),
        OWN,
    ),
    **dict.fromkeys(
        ("power", "scores", "n_certain", "n_certain_wrong", "top_label", "clustered", "mean_score"),
        OWN,
    ),
    "clusters": OWN,
    "cluster_name": READ,
    "level": OPTIONS,
    "n": OWN,
    "rate": of(partial(measured, key="rate"), "value"),
    "test": of(significance),
    "interval": of(interval),
    **{key: of(partial(measured, key=key)) for key in ("ece", "slope", "observed_expected")},
    "prior_shift": PAGE["summary.prior_shift"],
    "auc": lambda model, said: said["auc"] and measured(model, "auc"),
}
OF_PANEL: dict[str, Answer | str] = {
    "estimates": lambda model, said: {key: measured(model, key) for key in said["estimates"]},
    "tests": lambda model, said: {name: significance(model, name) for name in said["tests"]},
    "n": of(partial(measured, key="rate"), "n"),
    "prevalence": of(partial(measured, key="rate"), "value"),
    **dict.fromkeys(
        ("events", "n_certain", "n_certain_wrong", "clusters", "in_buckets", "note"), OWN
    ),
    **dict.fromkeys(("level", "curve"), OPTIONS),
}


def keys_of_command() -> dict[str, Callable[[Model], Any]]:
    """The measures of `trueness measure` by key: of several columns, for the classes and for the largest scores."""
    keys = (
        "prevalence",
        "ece",
        "l2",
        "ace",
        "mce",
        "tce",
        "smooth_ece",
        "observed_expected",
        "intercept",
        "slope",
    )
    asked: dict[str, tuple[str, ...]] = {
        key: (key,) for key in (*keys, "ks", "kuiper", "brier", "log_loss")
    }
    asked |= {f"brier_{key}": (key,) for key in ("miscalibration", "discrimination", "uncertainty")}
    asked |= {"l2_confidence": ("l2", "confidence"), "accuracy": ("accuracy", "confidence")}
    for kind in ("classwise", "confidence"):
        asked |= {
            f"{key}_{kind}": (key, kind) for key in ("ece", "ace", "mce", "tce", "smooth_ece")
        }
    return {name: lambda model, own=own: estimate(model, *own) for name, own in asked.items()}


COMMAND_KEYS = keys_of_command()
COMMAND_ENDS = {"": "value", "_low": "low", "_high": "high", "_floor": "floor"}


def words_of(name: str) -> Answer:
    """The method or the note of each measure that has one."""
    return lambda model, said: {
        key: getattr(COMMAND_KEYS[key](model), name, None) for key in said[f"{name}s"]
    }


def findings(model: Model, _: Any) -> Any:
    """The findings of the gate, with what the command adds."""
    added = (
        {"verdict": one.outcome, "passed": one.passed, "reason": one.sentence}
        for one in gate(model).findings
    )
    return [
        plain(one)
        | more
        | {"bins": one.bins or None, "n": None if np.isnan(one.estimate) else one.n}
        for one, more in zip(gate(model).findings, added, strict=True)
    ]


def one_sided(model: Model, _: Any) -> Any:
    """Of each error that the gate judges, the estimate whose limits are one-sided at the level of the finding."""
    found = []
    for one in gate(model).findings:
        if one.quantity != "oe":  # whose limits are two-sided
            ends = model.ask(
                tn.estimate, one.quantity, level=2 * one.level - 1, seed=model.seed, **model.view
            )
            found.append({"estimate": ends.value, "low": ends.low, "high": ends.high})
    return found


def values(model: Model, said: Any) -> Any:
    """The measures themselves."""
    own = {
        "miscalibration": lambda *rows, **options: tn.corp(*rows, **options).miscalibration,
        "discrimination": lambda *rows, **options: tn.corp(*rows, **options).discrimination,
        "uncertainty": lambda *rows, **options: tn.corp(*rows, **options).uncertainty,
        "slope": tn.calibration_slope,
        "intercept": tn.calibration_intercept,
    }
    one = model.second or model
    functions = {key: own.get(key) or getattr(tn.measure, key) for key in said if key != "l2"}
    return {
        key: one.ask(each, **({} if key in PROPER else one.view)) for key, each in functions.items()
    }


def l2_error(model: Model, _: Any) -> Any:
    found = interval(model)
    return (
        None
        if found is None
        else {"value": found.estimate, "low": hull(model)[0], "high": hull(model)[1]}
    )


DOORS: dict[str, dict[str, Answer | str]] = {
    "head": HEAD,
    "page": PAGE,
    "verdict": OF_VERDICT,
    "panel": OF_PANEL,
    "estimate": {"": values, "l2": l2_error},
    "floor": {"": lambda model, said: {key: floor(model, FLOORS[key]) for key in said}},
    "gate": {"": one_sided},
    "trueness measure": {
        **dict.fromkeys(
            ("name", "columns", "classes", "infinite", "measures.classes", "measures.weight"), READ
        ),
        **dict.fromkeys(("measures.n_certain", "measures.n_certain_wrong"), "as in the panel"),
        "measures.n": of(verdict, "n"),
        **{
            f"measures.{name}{end}": of(record, column)
            for name, record in COMMAND_KEYS.items()
            for end, column in COMMAND_ENDS.items()
        },
        "methods": words_of("method"),
        "notes": words_of("note"),
    },
    "trueness measure --panel": {"": of(panel), "model": READ},
    "trueness test": {
        "": of(significance),
        "model": READ,
        "statistic": READ,
        "adjusted_pvalue": READ,
    },
    "trueness segments": {"": of(segments), "model": READ},
    "trueness slices": {"": of(slices), "model": READ},
    "trueness gate": {"": findings, "[].model": READ},
    "trueness compare": {
        "": of(comparison),
        "pairs": lambda model, _: comparison(model).pairs,
        **dict.fromkeys((f"estimates_{end}" for end in ("low", "high", "floor")), READ),
    },
    "trueness decide": {
        "": lambda model, _: {
            "certificate": certificate(model),
            "accept": accept(model, "accuracy"),
        },
        "model": READ,
    },
    "trueness report": {
        "": lambda model, _: page(model)["models"][0],
        "name": READ,
        "answers.action.command": READ,
    },
}


def longest(table: Mapping[str, Any], path: str) -> str | None:
    """The longest prefix of a leaf in a table."""
    while path and path not in table:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return path if path in table else None


class Reading(NamedTuple):
    """What a door says beside what the functions say."""

    different: dict[str, tuple[Any, Any]]
    """Leaves that differ, with an example of both."""
    unknown: set[str]
    """Leaves without a question."""
    asked: set[str]
    """Questions of the table that have a leaf."""


def close(one: Any, other: Any) -> bool:
    """Whether numbers are equal to 12 digits."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-12)
    return bool(one == other)


def keep_worst(different: dict[str, tuple[Any, Any]], leaf: str, both: tuple[Any, Any]) -> None:
    """Keep the first example of a leaf, unless it differs in the last digits only."""
    if leaf not in different or close(*different[leaf]):
        different[leaf] = both


def compared(table: Mapping[str, Answer | str], model: Model, said: Any) -> Reading:
    different: dict[str, tuple[Any, Any]] = {}
    unknown, answers = set(), dict[str, dict[str, Any]]()
    for path, value in leaves(said):
        question = longest(table, general(path))
        if question is None:
            unknown.add(general(path))
            continue
        answer = table[question]
        if isinstance(answer, str):
            answers.setdefault(question, {})
            continue
        if question not in answers:
            answers[question] = dict(
                leaves(plain(answer(model, said)), question.partition("[]")[0])
            )
        expected = expected_at(answers[question], path)
        if expected != value:
            keep_worst(different, general(path), (value, expected))
    return Reading(different, unknown, set(answers))


def expected_at(answers: Mapping[str, Any], path: str) -> Any:
    """What the functions have at a path: None below what is None, and a word where they have more or nothing."""
    if path in answers:
        return answers[path]
    above = [value for one, value in answers.items() if path.startswith((f"{one}.", f"{one}["))]
    if above:
        return None if above == [None] else "something else"
    below = [value for one, value in answers.items() if one.startswith((f"{path}.", f"{path}["))]
    return (
        None if all(value is None for value in below) and below else "more" if below else "nothing"
    )


# What each door says.


EVERY = (*CASES,)
ONE_PAGE = tuple(case for case in EVERY if case != "models")
WHERE: dict[str, tuple[str, ...]] = {
    "head": EVERY,
    "page": ONE_PAGE,
    "verdict": ONE_PAGE,
    "panel": (
        "rows",
        "weights",
        "fractions",
        "clusters",
        "two-columns",
        "labels",
        "tally",
        "sketch",
    ),
    "estimate": ONE_PAGE,
    "floor": ONE_PAGE,
    "gate": ("rows", "weights", "clusters", "bins"),
    "trueness measure": ("rows", "fractions", "matrix", "bins"),
    "trueness measure --panel": ("rows", "clusters"),
    "trueness test": (
        "rows",
        "weights",
        "fractions",
        "clusters",
        "matrix",
        "two-columns",
        "labels",
    ),
    "trueness segments": ("rows",),
    "trueness slices": ("rows",),
    "trueness gate": ("rows", "weights", "clusters", "bins"),
    "trueness compare": ("models",),
    "trueness decide": ("rows",),
    "trueness report": ("rows",),
}
"""The cases that are asked at each door."""
BOTH = [(door, case) for case in EVERY for door, some in WHERE.items() if case in some]
QUICK = ("rows", "weights", "clusters", "sketch")
"""The cases of the fast run; classes, labels and several models take longest."""
JUDGED = ("--max-ece", "0.1", "--max-l2", "0.1", "--oe-within", "0.2")
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "trueness measure": (("--level", "0.9"), "models"),
    "trueness measure --panel": (("--panel", "--level", "0.9"), "panels"),
    "trueness test": (("--level", "0.9"), "tests"),
    "trueness segments": (("--by", "region", "--by", "age", "--level", "0.9"), "models"),
    "trueness slices": (("--by", "region,age", "--level", "0.9"), "models"),
    "trueness gate": ((*JUDGED, "--level", "0.9"), "findings"),
    "trueness compare": (("--level", "0.9"), "comparisons"),
    "trueness decide": (("--accept-accuracy", "0.95", "--level", "0.9"), "models"),
    "trueness report": (("--level", "0.9"), "models"),
}
"""The options of each command, and the key of what it says of the models."""
SHOWN = (
    "ece",
    "ace",
    "mce",
    "tce",
    "smooth_ece",
    "brier",
    "log_loss",
    "observed_expected",
    "slope",
    "intercept",
)
SHOWN = (*SHOWN, "miscalibration", "discrimination", "uncertainty", "ici", "e90", "emax")
FLOORS: dict[str, Callable[..., float]] = {key: getattr(tn, key) for key in ("ece", "mce", "tce")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The table as a file, and its sums."""
    from trueness.cli._main import main

    path = tmp_path_factory.mktemp("one_maker")
    lines = [list(TABLE), *zip(*(column.tolist() for column in TABLE.values()), strict=True)]
    (path / "rows.csv").write_text(
        "".join(f"{','.join(map(str, line))}\n" for line in lines), encoding="utf-8"
    )
    for name, bins in (("distinct", "distinct"), ("sketch", "sketch"), ("bins", "10")):
        columns = ["--label", "y", "--prob", "p", "--bins", bins]
        done = CliRunner().invoke(
            main, ["tally", str(path / "rows.csv"), *columns, "-o", str(path / f"{name}.tally")]
        )
        assert done.exit_code == 0, done.output
    return path


def printed(folder: Path, case: str, door: str) -> Any:
    """What a command writes as JSON."""
    from trueness.cli._main import main

    one, command, (options, key) = CASES[case], door.split()[1], COMMANDS[door]
    by = ["--by", "region", "--by", "age"] if door == "trueness report" and one.whole.by else []
    output = folder / f"{command}-{case}.json"
    with quiet():
        files = [str(folder / one.file), *one.columns]
        done = CliRunner().invoke(main, [command, *files, *options, *by, "-o", str(output)])
    assert done.exit_code in (0, 1, 3), done.output  # a gate that cannot decide ends with 3
    return json.loads(output.read_text(encoding="utf-8"))[key]


@cache
def page(model: Model) -> Any:
    """The page of the case that begins with a model."""
    (case,) = (one for one in CASES.values() if one.models[0] is model)
    return case.page.to_dict()


def said(door: str, case: str, folder: Path) -> list[tuple[Model, Any]]:
    """What a door says of each model of a case."""
    one = CASES[case]
    whole = page(one.models[0]) if door in ("head", "page") else {}
    if door == "head":
        return [(one.whole, {key: value for key, value in whole.items() if key != "models"})]
    if door == "page":
        return list(zip(one.models, whole["models"], strict=True))
    if door.startswith("trueness"):
        found = printed(folder, case, door)
        if door in ("trueness gate", "trueness compare"):
            return [(one.whole, found if door == "trueness gate" else found[0])]
        return list(zip(one.models, found, strict=True))
    return [(model, plain(SAYS[door](model))) for model in one.models]


def estimated(model: Model) -> dict[str, Any]:
    """The value alone; of the l2 error, the limits too."""
    found = {key: measured(model, key) for key in SHOWN}
    l2 = estimate(model, "l2", **model.view)
    ends = {"l2": l2 and {"value": l2.value, "low": l2.low, "high": l2.high}}
    return {key: one and one.value for key, one in found.items()} | ends


def floors(model: Model) -> dict[str, Any]:
    """The noise floors of `estimate`; of every measure for one case alone."""
    keys = FLOORS if model is CASES["rows"].whole else ("ece",)
    found = {key: measured(model, key) for key in keys}
    return {key: one and {"mean": one.floor, "high": one.floor_high} for key, one in found.items()}


def judged(model: Model) -> list[dict[str, Any]]:
    found = [one for one in gate(model).findings if one.quantity != "oe"]
    return [{key: getattr(one, key) for key in ("estimate", "low", "high")} for one in found]


SAYS: dict[str, Callable[[Model], Any]] = {
    "verdict": verdict,
    "panel": panel,
    "estimate": estimated,
    "floor": floors,
    "gate": judged,
}


@cache
def reading(door: str, case: str, folder: Path) -> Reading:
    found = [compared(DOORS[door], model, one) for model, one in said(door, case, folder)]
    different: dict[str, tuple[Any, Any]] = {}
    for one in found:
        for leaf, both in one.different.items():
            keep_worst(different, leaf, both)
    return Reading(
        different,
        set().union(*(one.unknown for one in found)),
        set().union(*(one.asked for one in found)),
    )


# What is meant to differ.


class Leaves(NamedTuple):
    """Leaves of a door, by cases; braces as in a shell."""

    door: str
    cases: str
    leaves: str
    reason: str


LAST_DIGITS = (
    Leaves("page", "weights fractions sketch", "bins.ratio_{low,high}", "logarithms"),
    Leaves(
        "page", "fractions", "summary.rate bins.interval_{low,high}", "sums of fractional weights"
    ),
    Leaves("page", "fractions matrix", "remedies.after[].parts[].share", "exponentials"),
    Leaves("page", "matrix", "classes[].ratio", "sums of fractional scores"),
    Leaves("verdict", "fractions", "rate", "sums of fractional weights"),
    Leaves("estimate", "weights fractions", "{ece,ace,mce,brier}", "sums of weighted scores"),
    Leaves("estimate", "labels", "log_loss", "logarithms"),
    Leaves(
        "assess", "weights fractions", "bins.{weight,score,rate,gap}", "sums of weighted scores"
    ),
    Leaves("gate", "rows weights clusters", "[].{estimate,low,high}", "2 · level − 1 is rounded"),
)
"""Floats that are equal to 12 digits: on some machines they are equal, on others they are not."""
LEFT_OUT = (
    Leaves("head", "models", "verdict.*", "a page of several models names the worst verdict"),
    Leaves(
        "head",
        "labels",
        "verdict.{headline,certainty,sentence,evidence,level}",
        "a page of several labels names them",
    ),
    Leaves("page", "labels", "verdict.sentence", "of several models it begins with the name"),
    Leaves(
        "page",
        "matrix",
        "summary.{free_intercept,scaled_brier,auc}{,_low,_high}",
        "not shown of a top label",
    ),
    Leaves(
        "page",
        "matrix",
        "summary.{ici,e50,e90,emax}{,_floor,_floor_high}",
        "not shown of a top label",
    ),
    Leaves("page", "bins", "bins.{low,high,outside,band,level_each}", "sums of bins have no band"),
    Leaves(
        "page", "bins", "summary.noise_floor", "of sums of bins the floor stands with the ECE alone"
    ),
    Leaves(
        "page",
        "clusters",
        "remedies.after[].parts[].{name,share}",
        "the page numbers clusters by their content, so that their order does not matter; clusters of one size are "
        "dealt into folds by number",
    ),
    Leaves("trueness segments", "rows", "notes", "the advice of a map is added by the command"),
    Leaves(
        "estimate",
        "bins",
        "l2.*",
        "`ece_interval` refuses sums of bins, `estimate` takes their mean scores",
    ),
    Leaves(
        "gate",
        "bins",
        "[].{estimate,low,high}",
        "a gate refuses the l2 error of sums of bins, `estimate` does not",
    ),
    Leaves("trueness measure", "bins", "notes.*", "the command has no Tally to offer"),
)


def spelled(text: str) -> list[str]:
    """The words of a text, its braces spelled out."""
    found = []
    for word in text.split():
        parts = [
            part.split(",") if i % 2 else [part] for i, part in enumerate(re.split(r"[{}]", word))
        ]
        found += ["".join(some) for some in itertools.product(*parts)]
    return found


def matches(leaf: str, word: str) -> bool:
    return leaf == word or (word.endswith(".*") and leaf.startswith(word[:-1]))


def is_among(table: tuple[Leaves, ...], door: str, case: str, leaf: str) -> bool:
    some = (one for one in table if one.door == door and case in one.cases.split())
    return any(matches(leaf, word) for one in some for word in spelled(one.leaves))


def unmeant(found: Reading, door: str, case: str) -> dict[str, tuple[Any, Any]]:
    """The leaves that differ and should not."""
    left = {
        leaf: both
        for leaf, both in found.different.items()
        if not is_among(LEFT_OUT, door, case, leaf)
    }
    digits = {
        leaf
        for leaf, both in left.items()
        if close(*both) and is_among(LAST_DIGITS, door, case, leaf)
    }
    return {leaf: both for leaf, both in left.items() if leaf not in digits}


@pytest.mark.parametrize(
    ("door", "case"),
    fast(
        {f"{door}-{case}": (door, case) for door, case in BOTH},
        *(f"{door}-{case}" for door, case in BOTH if case in QUICK or door == "verdict"),
        several=True,
    ),
)
def test_every_number_is_that_of_the_function(door, case, folder):
    assert unmeant(reading(door, case, folder), door, case) == {}


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_every_leaf_has_a_question_and_every_question_a_leaf(door, folder):
    found = [reading(door, case, folder) for case in WHERE[door]]
    assert set().union(*(one.unknown for one in found)) == set()
    assert set(DOORS[door]) - set().union(*(one.asked for one in found)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("one", LEFT_OUT, ids=lambda one: f"{one.door}-{one.cases}")
def test_what_is_left_out_is_left_out(one, folder):
    for case in one.cases.split():
        different = reading(one.door, case, folder).different
        assert [
            word
            for word in spelled(one.leaves)
            if not any(matches(leaf, word) for leaf in different)
        ] == []


# The same number, whoever asks, when and where.

ORDERED = ("ece", "ace", "tce", "miscalibration", "discrimination", "slope", "ici")
CALLS: dict[str, Callable[..., Any]] = {
    "verdict": partial(tn.verdict, level=LEVEL, seed=0),
    "test": partial(tn.calibration_test, level=LEVEL, seed=0),
    "interval": partial(tn.ece_interval, level=LEVEL, seed=0),
    "panel": partial(tn.panel, level=LEVEL, seed=0),
    **{f"estimate.{key}": partial(tn.estimate, key, level=LEVEL, seed=0) for key in ORDERED},
}
ONE_MODEL = [case for case in EVERY if case not in ("labels", "models")]


def heard(question: Callable[[], Any]) -> list[Any]:
    """The answer as JSON has it, and the warnings that came with it; None where these rows are refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = plain(question())
        except tn.InputError:
            answer = None
    return [answer, [str(one.message) for one in caught]]


def called(case: str, *, last_first: bool = False) -> dict[str, Any]:
    """What the functions say of a case, one after the other."""
    model = CASES[case].whole
    names = reversed(CALLS) if last_first else CALLS
    return {
        name: heard(lambda one=CALLS[name]: one(*model.rows, **model.options_of(one.func)))
        for name in names
    }


def assess(model: Model, **options: Any) -> Any:
    own = {
        "level": LEVEL,
        "seed": model.seed,
        **model.columns,
        **model.options_of(tn.report),
        **options,
    }
    return tn.assess(*model.rows, **own)


ASKED: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda a, name=name: getattr(a, name)
        for name in ("verdict", "test", "interval", "power", "panel")
    },
    **{name: lambda a, name=name: getattr(a, name) for name in ("segments", "slices")},
    "classes": lambda a: (
        a.classes
        and {name: {"level": b.level, "verdict": b.verdict} for name, b in a.classes.items()}
    ),
    "bins": lambda a: {
        key: getattr(a.bins, key) for key in ("low_edge", "n", "weight", "score", "rate", "gap")
    },
    **{f"estimate.{key}": lambda a, key=key: a.estimate(key) for key in (*ORDERED, "brier")},
    **{f"floor.{key}": lambda a, key=key: a.floor(key) for key in ("ece", "tce")},
}
"""The questions of an assessment."""


FOR_EACH_DRAW = (
    "estimate.tce",
    "floor.tce",
    "estimate.ici",
    "estimate.miscalibration",
    "estimate.discrimination",
)
"""Measures that are computed draw by draw: of all classes of a matrix, only pages and commands ask for them."""


def questions_of(model: Model) -> list[str]:
    return [name for name in ASKED if not (model.matrix and name in FOR_EACH_DRAW)]


def asked(a: Any, model: Model, *, last_first: bool = False) -> dict[str, Any]:
    names = questions_of(model)[:: -1 if last_first else 1]
    return {name: heard(lambda one=ASKED[name]: one(a)) for name in names}


@cache
def asked_alone(model: Model) -> dict[str, Any]:
    """Every question, each of an assessment of its own."""
    return {name: heard(lambda one=ASKED[name]: one(assess(model))) for name in questions_of(model)}


def class_verdicts(model: Model, said: Mapping[str, Any]) -> Any:
    """Each class against the rest, at the level at which Holm's method judges it."""
    if not model.matrix:
        return None
    found = {}
    for name, one in said.items():
        rest = Model(model.y == int(name), model.p[:, int(name)])
        found[name] = {
            "level": one["level"],
            "verdict": rest.ask(tn.verdict, level=one["level"], seed=0),
        }
    return found


ASSESSED: dict[str, Answer | str] = {
    "verdict": of(verdict),
    "test": of(significance),
    "interval": of(interval),
    "power": of(verdict, "power"),
    "panel": of(panel),
    "segments": of(segments),
    "slices": of(slices),
    "classes": lambda model, said: class_verdicts(model, said["classes"]),
    "bins": of(bin_table),
    **{
        f"estimate.{key}": of(lambda model, key=key: estimate(model, key))
        for key in (*ORDERED, "brier")
    },
    "floor": lambda model, said: {
        key: floor(replace(model, matrix=False), getattr(tn, key)) for key in said["floor"]
    },
}
"""The function of each question: of a matrix, estimates and floors are those of its classes."""


@pytest.mark.parametrize("case", fast(ONE_MODEL, *QUICK))
def test_an_assessment_says_what_the_functions_say(case):
    model, said = CASES[case].whole, dict[str, Any]()
    for name, (answer, _) in asked(assessment(model), model).items():
        kind, _, key = name.partition(".")
        if kind == "estimate" and model.ask(tn.estimate, key) is None:
            assert (answer["value"], bool(answer["note"])) == (None, True)
        elif key:
            said.setdefault(kind, {})[key] = answer
        elif (
            kind != "power" or not verdict(model).rejected
        ):  # a verdict of miscalibration has no power
            said[kind] = answer
    found = compared(ASSESSED, model, said)
    assert (unmeant(found, "assess", case), found.unknown) == ({}, set())


@pytest.mark.slow
@pytest.mark.parametrize("case", ["rows", *slow("fractions", "matrix")])
def test_the_order_of_questions_changes_no_answer_and_no_warning(case):
    model = CASES[case].whole
    first, last = assess(model), assess(model)
    alone = asked_alone(model)
    assert asked(first, model) == alone
    assert asked(last, model, last_first=True) == alone
    assert asked(first, model) == alone  # from the memo, with the same warnings
    assert first.notes == last.notes
    assert plain(first) == plain(last)


@pytest.mark.slow
def test_several_labels_have_a_joint_verdict_and_one_each():
    case = CASES["labels"]
    a, whole = assess(case.whole), page(case.models[0])
    assert plain(a.verdict)["code"] == whole["verdict"]["code"]
    own = [plain(one.verdict)["code"] for one in a.classes.values()]
    assert own == [one["verdict"]["code"] for one in whole["models"]]
    joint = tn.verdict(*case.whole.rows, kind="multilabel", level=LEVEL, seed=0)
    assert plain(a.verdict) == plain(joint)


@pytest.mark.slow
def test_a_page_of_assessments_is_the_page_of_their_rows():
    rows, models = CASES["rows"], CASES["models"]
    assert tn.report(assess(rows.whole), progress=False).to_dict() == page(rows.models[0])
    several = dict(zip(models.whole.p, map(assess, models.models), strict=True))
    assert tn.report(several, progress=False).to_dict() == page(models.models[0])


FEW = slice(18)  # too few to try calibrators on
UNUSUAL: dict[str, dict[str, Any]] = {
    "few clusters": {"cluster": np.arange(18) // 3},
    "weights of 0": {
        "sample_weight": np.arange(18) % 3,
        "by": {"region": REGION[FEW], "size": np.sqrt(SCORES[FEW])},
    },
    "several labels": {"kind": "multilabel"},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", fast(UNUSUAL, "weights of 0"))
def test_a_page_of_an_assessment_is_the_page_of_its_unusual_rows(options):
    y, p = TABLE["y"][FEW], SCORES[FEW]
    if "kind" in options:
        y, p = np.column_stack([TABLE["y_0"], TABLE["y_1"]])[FEW], MANY[FEW]
    how = {"progress": False, "intervals": False}
    with quiet():
        of_rows = tn.report(y, p, **options, **how).to_dict()
        assert tn.report(tn.assess(y, p, **options), **how).to_dict() == of_rows
    if "cluster" in options:
        assert any("There are 6 clusters" in note for note in of_rows["models"][0]["notes"])
    if "by" in options:
        tested = tn.segments(y, p, options["by"], sample_weight=options["sample_weight"])
        shown = [row["value"] for row in of_rows["models"][0]["segments"]["rows"]]
        assert sorted(shown) == sorted(row["value"] for row in tested.rows())
        assert of_rows["rows"]["given"] == 18
        assert of_rows["rows"]["used"] == 12


def test_a_page_of_an_assessment_names_its_columns():
    y, p = pd.Series(TABLE["y"][FEW], name="died"), pd.Series(SCORES[FEW], name="model")
    how = {"progress": False, "intervals": False}
    with quiet():
        found = tn.report(tn.assess(y, p), **how).to_dict()
        assert found == tn.report(y, p, **how).to_dict()
    assert (found["provenance"]["label"], found["models"][0]["name"]) == ("died", "model")


def test_a_page_of_an_assessment_by_class_is_refused_as_that_of_its_rows():
    y, p = CASES["matrix"].whole.rows
    for ask in (
        lambda: tn.report(y, p, kind="classwise"),
        lambda: tn.report(tn.assess(y, p, kind="classwise")),
    ):
        with pytest.raises(tn.InputError, match="the report of a matrix shows the top label"):
            ask()


def test_an_assessment_at_another_level_is_that_of_the_level():
    model = CASES["rows"].whole
    a, b = assess(model).at(level=0.99), assess(model, level=0.99)
    assert asked(a, model) == asked(b, model)
    assert a.floor("ece").mean == assess(model).floor("ece").mean


def test_an_assessment_judges_and_compares_as_the_functions_do():
    model, models = CASES["rows"].whole, CASES["models"]
    bounds = {"max_ece": 0.1, "max_l2": 0.1, "oe_within": 0.2}
    assert plain(assess(model).gate(**bounds)) == plain(gate(model))
    first, second = map(assess, models.models)
    (pair,), (own,) = first.compare(second).pairs, comparison(models.whole).pairs
    numbers = ("difference", "low", "high", "pvalue")
    assert [getattr(pair, name) for name in numbers] == [getattr(own, name) for name in numbers]


def test_an_assessment_holds_one_seed():
    model = CASES["rows"].whole
    assert tn.assess(model.y, model.p).seed == 0
    drawn = [assess(model, seed=np.random.default_rng(3)) for _ in range(2)]
    assert drawn[0].seed == drawn[1].seed
    assert plain(assess(model, seed=drawn[0].seed).verdict) == plain(drawn[1].verdict)
    unknown = assess(model, seed=None)
    assert plain(assess(model, seed=unknown.seed).verdict) == plain(unknown.verdict)


def test_what_rows_do_not_allow_is_none_with_a_note():
    one, binned = assess(CASES["weights"].whole), assess(CASES["bins"].whole)
    assert [one.segments, one.slices, one.classes, binned.test, binned.interval] == [None] * 5
    assert np.isnan(binned.estimate("slope").value)
    assert binned.estimate("slope").note
    assert one.notes
    assert binned.notes


def test_eight_threads_that_ask_one_assessment_hear_equal_bits():
    model, names = CASES["rows"].whole, list(ASKED)
    shared = assess(model)

    def answers(thread: int) -> dict[str, Any]:
        order = names[3 * thread :] + names[: 3 * thread]
        return {name: plain(ASKED[name](shared)) for name in order}

    with quiet(), ThreadPoolExecutor(8) as pool:
        found = list(pool.map(answers, range(8)))
    assert found == [{name: answer for name, (answer, _) in asked_alone(model).items()}] * 8


def test_eight_assessments_asked_at_once_say_the_same():
    model = CASES["rows"].whole
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: plain(assess(model).verdict), range(8)))
    assert found == [plain(verdict(model))] * 8


def test_each_access_warns_from_its_record():
    with quiet():
        alone, a = (tn.assess(np.zeros(40), SCORES[:40]) for _ in range(2))
        _ = a.verdict, a.panel
    first = heard(lambda: alone.estimate("auc"))
    assert "The AUC needs events and non-events; returning nan." in first[1]
    assert heard(lambda: a.estimate("auc")) == first
    assert heard(lambda: a.estimate("auc")) == first


def test_pickling_keeps_rows_and_options_and_not_the_memo():
    model = CASES["rows"].whole
    a, calls = assess(model, seed=4, bins=7), []

    a.estimate(lambda tally: calls.append(tally) or 0.0)  # a memo that held it could not be pickled
    assert calls
    copy = pickle.loads(pickle.dumps(a))
    assert (copy.level, copy.seed, copy.n, copy.notes) == (a.level, a.seed, a.n, a.notes)
    assert plain(copy) == plain(a)
    empty = len(pickle.dumps(assess(model, seed=4, bins=7)))
    assert len(pickle.dumps(a)) < 1.1 * empty


def test_an_assessment_owns_its_rows():
    model = CASES["weights"].whole
    y, p, w = model.y.copy(), model.p.copy(), model.options["sample_weight"].copy()
    columns = {name: value.copy() for name, value in CASES["rows"].whole.by.items()}
    a, b = (tn.assess(y, p, sample_weight=w, by=columns, cluster=None) for _ in range(2))
    names = ("verdict", "interval", "estimate.slope", "bins", "segments")
    with quiet():
        before = {name: plain(ASKED[name](b)) for name in names}
    y[:], p[:], w[:] = 1, 0.5, 2
    columns["region"][:] = "west"
    with quiet():
        assert {name: plain(ASKED[name](a)) for name in names} == before


def test_functions_of_a_user_are_known_by_themselves_and_not_by_their_names():
    a = assess(CASES["tally"].whole)
    first, second = (lambda tally, share=share: share * tn.ece(tally) for share in (1.0, 0.5))
    assert first.__name__ == second.__name__
    assert a.estimate(second).value == a.estimate(first).value / 2
    assert a.floor(second, resamples=19).mean == pytest.approx(
        a.floor(first, resamples=19).mean / 2, rel=1e-12
    )
    assert a.estimate(first).value == tn.ece(CASES["tally"].whole.y)


@dataclass
class Bins:
    """A measure that cannot be hashed, and of which another may soon have the place in memory."""

    n: int

    def __call__(self, tally: tn.Tally) -> float:
        return tn.ece(tally, bins=self.n)


def test_measures_and_options_that_are_gone_leave_no_answer_to_others():
    y, p = CASES["rows"].whole.rows
    a = tn.assess(y, p)
    for n in range(3, 15):
        assert a.estimate(Bins(n), floor=False).value == tn.ece(y, p, bins=n)
        edges = pd.Series(np.linspace(0, 1, n + 1))
        assert a.estimate("ece", bins=edges, floor=False).value == tn.ece(y, p, bins=edges)
    edges[3] += 0.02
    assert a.estimate("ece", bins=edges, floor=False).value == tn.ece(y, p, bins=edges)


def test_a_calibrator_inside_another_is_known_by_its_parameters():
    y, p = CASES["matrix"].whole.rows
    calibrator = tn.OneVsRest(tn.HistogramBinning(n_bins=3))
    a = tn.assess(y, p)
    before = a.cross_fitted(calibrator).estimate("ece")
    calibrator.calibrator.set_params(n_bins=9)
    after = a.cross_fitted(calibrator).estimate("ece")
    assert after != before
    assert after == tn.assess(y, p).cross_fitted(calibrator).estimate("ece")


@pytest.mark.parametrize(
    "ask",
    [
        lambda a: a.estimate("ece", bins=10.0),
        lambda a: a.estimate("ece", floor=1),
        lambda a: a.estimate(lambda y, p: 0.0),
        lambda a: a.estimate(lambda tally: "x"),
        lambda a: a.floor("ece", resamples=19.0),
        lambda a: a.cross_fitted(3),
        lambda a: a.compare(3),
        lambda a: tn.assess([0, 1], [0.1, 0.9], crossed=0),
    ],
)
def test_a_wrong_argument_raises_whatever_was_asked_before(ask):
    a = tn.assess(*CASES["rows"].whole.rows)
    a.estimate("ece", bins=10)
    a.floor("ece", resamples=19)
    with pytest.raises(tn.InputError):
        ask(a)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["fractions", "clusters"])
def test_the_order_of_calls_changes_no_answer_and_no_warning(case):
    assert called(case) == called(case, last_first=True)


@pytest.fixture(scope="module")
def elsewhere() -> Any:
    """What another process says of two cases, asked in the reverse order."""
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_another_process_says_the_same(elsewhere):
    assert elsewhere["called"] == called("clusters")
    assert elsewhere["asked"] == asked_alone(CASES["rows"].whole)


def say_all() -> str:
    """The answers for two cases, the last question first."""
    model = CASES["rows"].whole
    found = {
        "called": called("clusters", last_first=True),
        "asked": asked(assess(model), model, last_first=True),
    }
    return json.dumps(found)


def takes_seed(name: str) -> bool:
    """Whether a public function or estimator takes a seed; errors and warnings have no signature."""
    thing = getattr(tn, name)
    is_error = isinstance(thing, type) and issubclass(thing, BaseException)
    return callable(thing) and not is_error and "seed" in inspect.signature(thing).parameters


SEEDED = sorted(filter(takes_seed, tn.__all__))


@pytest.mark.parametrize("name", SEEDED)
def test_the_seed_is_zero_unless_it_is_given(name):
    assert inspect.signature(getattr(tn, name)).parameters["seed"].default == 0


# The same redrawn labels for the test, the set and the floors.


def judgements(
    test: Callable[..., float], has_zero: Callable[..., bool], samples: int
) -> list[tuple[float, bool, bool]]:
    """Small samples, at levels a little above and below the p-value: whether the test rejects, and the set has zero.

    So near the limit both draw 19,999 sets of labels.
    """
    rng, found = np.random.default_rng(2), []
    for _ in range(samples):
        p = rng.random(20)
        y = (rng.random(20) < 0.25 + 0.5 * p).astype(int)
        first = test(y, p, level=0.95)
        for step in (0.0005, -0.0005):
            alpha = min(max(first + step, 0.02), 0.45)
            pvalue = test(y, p, level=1 - alpha)
            found.append((pvalue, pvalue <= alpha, has_zero(y, p, level=1 - alpha)))
    return found


SAMPLES = pytest.mark.parametrize("samples", [1, *slow(20)])


@SAMPLES
def test_test_and_set_agree_in_small_samples_near_the_limit(samples):
    def test(y, p, level):
        return tn.calibration_test(y, p, level=level, seed=0).pvalue

    def has_zero(y, p, level):
        return tn.ece_interval(y, p, level=level, seed=0).includes_zero

    assert [one for one in judgements(test, has_zero, samples) if one[1] == one[2]] == []


@SAMPLES
def test_test_and_set_of_an_assessment_agree_in_small_samples_near_the_limit(samples):
    def test(y, p, level):
        return tn.assess(y, p).at(level=level).test.pvalue

    def has_zero(y, p, level):
        return tn.assess(y, p).at(level=level).interval.includes_zero

    assert [one for one in judgements(test, has_zero, samples) if one[1] == one[2]] == []


@pytest.mark.parametrize("case", ["weights", "fractions", "clusters"])
def test_test_and_set_agree_at_the_p_value_itself(case):
    model = CASES[case].whole
    pvalue = significance(model).pvalue
    for step in (0.0005, -0.0005):
        alpha = min(max(pvalue + step, 0.02), 0.45)
        found = model.ask(tn.ece_interval, level=1 - alpha, seed=0)
        test = model.ask(tn.calibration_test, level=1 - alpha, seed=0)
        assert found.includes_zero == (test.pvalue > alpha)


def test_a_verdict_at_a_high_level_has_the_test_with_as_many_draws_as_the_level_needs():
    own = tn.verdict(TABLE["calm"], SCORES, level=0.99, seed=0).test
    asked = tn.calibration_test(TABLE["calm"], SCORES, resamples=1999, level=0.99, seed=0)
    assert plain(own) == plain(asked)


def labels_seen(ask: Callable[[Callable[..., float]], Any]) -> list[list[float]]:
    """The events of each tally that a measure is asked about, sorted: how many are drawn at a time does not matter."""
    seen = []

    def measure(tally: Any) -> float:
        events = tally.parts[0].events.tolist()
        seen.append(events)
        return float(sum(events))

    with quiet():
        ask(measure)
    return seen


def test_a_floor_of_any_measure_at_any_level_sees_the_same_labels():
    y, p = TABLE["y"], SCORES
    some = {"resamples": 39, "seed": 0, "progress": False}
    seen = [
        labels_seen(lambda f, at=at: tn.noise_floor(f, p, level=at, **some)) for at in (0.6, 0.99)
    ]
    assert seen[0] == seen[1]
    named = tn.noise_floor(tn.ece, p, y_true=y, **some)
    own = tn.noise_floor(lambda tally: tn.ece(tally), p, y_true=y, **some)
    np.testing.assert_allclose(named.draws, own.draws, rtol=1e-12)


def test_estimate_and_noise_floor_see_the_same_labels():
    y, p = TABLE["y"], SCORES
    floors = labels_seen(lambda f: tn.noise_floor(f, p, y_true=y, seed=0, progress=False))
    limits = labels_seen(lambda f: tn.estimate(f, y, p, seed=0))
    drawn = [
        {tuple(events) for events in some if events != TABLE_EVENTS} for some in (floors, limits)
    ]
    assert drawn[0] == drawn[1]


TABLE_EVENTS = tn.tally(TABLE["y"], SCORES).parts[0].events.tolist()


@pytest.mark.parametrize("case", ["rows", "weights", "matrix"])
def test_a_test_is_the_noise_floor_of_its_statistic(case):
    model = CASES[case].whole if case != "rows" else Model(TABLE["calm"], SCORES)
    tested, drawn = [], []
    for method in ("ks", "kuiper"):

        def distance(tally: Any, method: Any = method) -> float:
            return tn.calibration_test(tally, method=method).statistic

        how = {"resamples": 199, "seed": 0}
        tested.append(model.ask(tn.calibration_test, method=method, **how).pvalue)
        with quiet():
            own = {**model.options, **model.view, **how, "progress": False}
            drawn.append(tn.noise_floor(distance, model.p, y_true=model.y, **own).pvalue)
    assert tested == drawn


@pytest.mark.parametrize("case", ["rows", "fractions", "matrix"])
def test_the_upper_value_of_a_floor_is_its_one_sided_quantile(case):
    found = ece_floor(CASES[case].whole)
    place = math.ceil(round(LEVEL * (found.draws.size + 1), 9))
    assert found.high == np.sort(found.draws)[place - 1]


if __name__ == "__main__":
    sys.stdout.write(say_all())
