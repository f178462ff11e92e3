"""The hold-out grid: laws of rows drawn from a seeded generator, and the promises to be checked.

This file is frozen, and no constant of the library may be chosen by what these settings show: who
tunes a constant draws other laws for it. Another seed, law or promise makes a new grid with a name
of its own; the old one stays. A test holds the digest of all settings.

Settings come from Python's `random.random`, whose values are the same in every version; rows come
from NumPy, seeded by the place of the setting and the run.
"""

import hashlib
import json
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtr, ndtri

SEED = 20_444
N_SETTINGS = 60
_GRID = 100_000
ALPHA = 0.05
Key = TypeVar("Key")


@dataclass(frozen=True)
class Scores:
    """A family of laws, its parameters, and how many digits (or which step) the scores keep."""

    family: str
    parameters: tuple[float, ...]
    step: float
    """Scores are rounded to multiples of this; 0: they are not rounded."""


@dataclass(frozen=True)
class Error:
    """How the probability of an event differs from the score."""

    kind: str
    parameters: tuple[float, ...]


@dataclass(frozen=True)
class Weights:
    """Weights of rows. All kinds but 'counts' are design weights, whole numbers or not."""

    kind: str
    spread: float


@dataclass(frozen=True)
class Clusters:
    """Mean size (1: independent rows), whether sizes differ, correlations of latent normals."""

    size: int
    uneven: bool
    labels_alike: float
    scores_alike: float

    @property
    def sizes(self) -> str:
        return f"1 to {2 * self.size - 1}" if self.uneven else str(self.size)


@dataclass(frozen=True)
class Judge:
    """A judge's labels of all rows, and the number of rows with a human label."""

    kind: str
    rate: float
    humans: int


@dataclass(frozen=True)
class Setting:
    """One law of data, and what the functions that need more than rows are asked."""

    place: int
    n: int
    scores: Scores
    error: Error
    weights: Weights
    clusters: Clusters
    judge: Judge
    segments: tuple[int, int]
    """The numbers of values of two columns that have nothing to do with the labels."""
    cost_ratio: float
    """What a missed event costs, in false alarms."""
    share: float
    """The accuracy that is asked is that of this share of the rows, the most confident ones."""
    other_model: tuple[float, float]
    """Shift and slope of the log-odds that make the scores of a second model."""
    looks: int
    floor_measure: str

    @property
    def name(self) -> str:
        """The law in a line."""
        parts = [_call(self.scores.family, self.scores.parameters)]
        if self.scores.step:
            parts.append(f"rounded to {self.scores.step:g}")
        parts.append(_call(self.error.kind, self.error.parameters))
        parts.append(f"n = {self.n:,}")
        if self.weights.kind != "none":
            parts.append(f"weights: {self.weights.kind} {self.weights.spread:g}")
        if self.clusters.size > 1:
            parts.append(f"clusters of {self.clusters.sizes}")
            parts.append(f"correlation {self.clusters.labels_alike:g}")
        return ", ".join(parts)


def _call(name: str, parameters: Sequence[float]) -> str:
    if not parameters:
        return name
    return f"{name}({', '.join(f'{number:g}' for number in parameters)})"


class Draw:
    """Numbers from `random.random` alone, rounded so that they print as they are."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def between(self, low: float, high: float, digits: int = 3) -> float:
        return round(low + (high - low) * self._random.random(), digits)

    def ratio(self, low: float, high: float, digits: int = 4) -> float:
        """Uniform on the logarithmic scale."""
        return round(low * (high / low) ** self._random.random(), digits)

    def sign(self) -> int:
        return 1 if self._random.random() < 0.5 else -1

    def one_of(self, shares: dict[Key, float]) -> Key:
        """A key; the values are proportional to the probabilities."""
        place = self._random.random() * sum(shares.values())
        for key, share in shares.items():
            place -= share
            if place < 0:
                return key
        return key


def settings(count: int = N_SETTINGS, seed: int = SEED) -> list[Setting]:
    """The first settings of the grid; a longer grid begins with the shorter one."""
    draw = Draw(seed)
    return [_setting(place, draw) for place in range(count)]


def digest(grid: Sequence[Setting]) -> str:
    """A fingerprint of every number of every setting."""
    text = json.dumps([asdict(setting) for setting in grid], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _setting(place: int, draw: Draw) -> Setting:
    weights = _weights(draw)
    scores = _scores(draw)
    if weights.kind == "counts" and not scores.step:
        # Rows can be counted only where scores are equal.
        scores = Scores(scores.family, scores.parameters, 0.01)
    clusters = _clusters(draw)
    n = int(draw.ratio(40, 4_000, 0))
    return Setting(
        place=place,
        # Below some twenty clusters the functions warn instead of promising.
        n=max(n, 30 * clusters.size) if clusters.size > 1 else n,
        scores=scores,
        error=_error(draw),
        weights=weights,
        clusters=clusters,
        judge=_judge(draw),
        segments=(int(draw.ratio(2, 40, 0)), int(draw.ratio(2, 10, 0))),
        cost_ratio=draw.ratio(0.1, 20, 2),
        share=draw.between(0.1, 0.9),
        other_model=(draw.between(-0.6, 0.6), draw.ratio(0.5, 2, 3)),
        looks=int(draw.ratio(5, 60, 0)),
        floor_measure=draw.one_of({"ece": 1, "ace": 1, "smooth_ece": 1, "mce": 1}),
    )


def _scores(draw: Draw) -> Scores:
    family = draw.one_of(
        {
            "beta": 3,
            "rare": 3,
            "confident": 2,
            "two-sided": 2,
            "logit-normal": 2,
            "mixture": 2,
            "values": 2,
        }
    )
    step = draw.one_of({0.0: 6, 0.1: 1, 0.05: 1, 0.01: 2, 0.001: 1})
    if family == "beta":
        return Scores(family, (draw.ratio(0.3, 20, 2), draw.ratio(0.3, 20, 2)), step)
    if family in ("rare", "confident"):
        mean, concentration = draw.ratio(0.004, 0.1), draw.ratio(1, 60, 2)
        rarer = (round(mean * concentration, 4), round((1 - mean) * concentration, 4))
        # Coarse steps would leave only the score 0, or only 1.
        return Scores(family, rarer if family == "rare" else rarer[::-1], min(step, 0.01))
    if family == "two-sided":
        return Scores(family, (draw.ratio(0.05, 0.6, 3), draw.ratio(0.05, 0.6, 3)), step)
    if family == "logit-normal":
        return Scores(family, (draw.between(-4, 4, 2), draw.ratio(0.2, 3, 2)), min(step, 0.05))
    if family == "mixture":
        first = (draw.ratio(0.3, 30, 2), draw.ratio(0.3, 30, 2))
        second = (draw.ratio(0.3, 30, 2), draw.ratio(0.3, 30, 2))
        return Scores(family, (draw.between(0.05, 0.95), *first, *second), step)
    count = draw.one_of({2: 1, 3: 1, 5: 1, 8: 1, 12: 1})
    return Scores(family, tuple(draw.between(0.01, 0.99, 2) for _ in range(count)), 0.01)


def _error(draw: Draw) -> Error:
    kind = draw.one_of(
        {
            "none": 2,
            "shift": 2,
            "slope": 2,
            "line": 1,
            "wave": 2,
            "bump": 2,
            "step": 1,
            "certainty": 1,
        }
    )
    if kind == "none":
        return Error(kind, ())
    if kind == "shift":
        return Error(kind, (draw.sign() * draw.ratio(0.05, 1.2, 3),))
    if kind == "slope":
        return Error(kind, (draw.ratio(0.3, 2.5, 3),))
    if kind == "line":
        return Error(kind, (draw.between(-1, 1), draw.ratio(0.3, 2.5, 3)))
    if kind == "wave":
        return Error(kind, (draw.between(0.1, 0.9), float(draw.one_of({1: 1, 2: 1, 3: 1, 4: 1}))))
    if kind == "bump":
        return Error(kind, (draw.between(0, 1), draw.ratio(0.005, 0.3), draw.between(0.05, 0.4)))
    if kind == "step":
        return Error(kind, (draw.between(0.05, 0.95), draw.sign() * draw.between(0.02, 0.2)))
    return Error(kind, (draw.between(0.9, 0.995), draw.between(0.7, 0.98)))


def _weights(draw: Draw) -> Weights:
    kind = draw.one_of({"none": 12, "counts": 2, "log-normal": 2, "whole": 2, "by score": 2})
    if kind == "log-normal":
        return Weights(kind, draw.between(0.2, 1.2))
    if kind in ("whole", "by score"):
        return Weights(kind, float(int(draw.ratio(2, 20, 0))))
    return Weights(kind, 0.0)


def _clusters(draw: Draw) -> Clusters:
    size = draw.one_of({1: 14, 2: 1, 4: 2, 8: 2, 15: 1})
    if size == 1:
        return Clusters(1, False, 0.0, 0.0)
    return Clusters(size, draw.sign() > 0, draw.between(0, 0.8), draw.between(0, 0.6))


def _judge(draw: Draw) -> Judge:
    kind = draw.one_of({"flips labels": 1, "says 1": 1, "misses events": 1, "a score": 1})
    return Judge(kind, draw.between(0.01, 0.5), int(draw.ratio(60, 500, 0)))


class Rows(NamedTuple):
    """Rows of a setting. `truth` is the probability of the event, `y` a label drawn from it."""

    y: np.ndarray
    calibrated: np.ndarray
    """Labels drawn from the scores themselves."""
    p: np.ndarray
    truth: np.ndarray
    weight: np.ndarray | None
    cluster: np.ndarray | None


def rows(setting: Setting, run: int, n: int = 0) -> Rows:
    """The data of one run; `n` rows, if not those of the setting."""
    rng = np.random.default_rng([SEED, setting.place, run])
    cluster = _cluster_codes(setting, n or setting.n, rng)
    n = cluster.size
    p = scores(setting.scores, _alike(cluster, setting.clusters.scores_alike, rng), rng.random(n))
    truth = probability(setting, p)
    latent = _alike(cluster, setting.clusters.labels_alike, rng)
    return Rows(
        y=(latent < truth).astype(int),
        calibrated=(latent < p).astype(int),
        p=p,
        truth=truth,
        weight=weight(setting.weights, p, rng),
        cluster=cluster if setting.clusters.size > 1 else None,
    )


def _cluster_codes(setting: Setting, n: int, rng: np.random.Generator) -> np.ndarray:
    size = setting.clusters.size
    if not setting.clusters.uneven:
        return np.arange(n) // size
    sizes = rng.integers(1, 2 * size, math.ceil(n / size))
    return np.repeat(np.arange(sizes.size), sizes)


def _alike(cluster: np.ndarray, correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Uniform numbers, of latent normal variables that are correlated within clusters."""
    common = rng.normal(size=cluster.max() + 1)[cluster]
    own = rng.normal(size=cluster.size)
    return np.asarray(ndtr(math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own))


def scores(law: Scores, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Scores at the quantiles `u`; `v` chooses the part of a mixture."""
    p = _quantile(law, u, v)
    if law.step:
        p = np.round(np.round(p / law.step) * law.step, 3)
    return np.clip(p, 0, 1)


def _quantile(law: Scores, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    if law.family == "logit-normal":
        mean, deviation = law.parameters
        return np.asarray(expit(mean + deviation * ndtri(u)))
    if law.family == "values":
        values = np.array(law.parameters)
        return values[np.minimum((u * values.size).astype(int), values.size - 1)]
    if law.family == "mixture":
        share, *four = law.parameters
        return np.where(v < share, betaincinv(*four[:2], u), betaincinv(*four[2:], u))
    return np.asarray(betaincinv(*law.parameters, u))


def probability(setting: Setting, p: np.ndarray) -> np.ndarray:
    """The probability of the event at a score. Shift and slope leave scores of 0 and 1 right."""
    kind, parameters = setting.error.kind, setting.error.parameters
    if kind == "none":
        return p
    if kind in ("shift", "slope", "line"):
        shift = parameters[0] if kind != "slope" else 0.0
        slope = parameters[-1] if kind != "shift" else 1.0
        with np.errstate(divide="ignore"):
            return np.asarray(expit(shift + slope * logit(p)))
    if kind == "wave":
        height, waves = parameters
        return np.asarray(p + height * p * (1 - p) * np.sin(2 * np.pi * waves * p))
    if kind == "bump":
        low, high, height = _bump(setting.scores, *parameters)
        return np.where((low <= p) & (p <= high), np.clip(p + height, 0, 1), p)
    if kind == "step":
        threshold, height = parameters
        return np.where(p > threshold, np.clip(p + height, 0, 1), p)
    threshold, rate = parameters
    return np.where(p > threshold, np.minimum(p, rate), p)


@cache
def _bump(law: Scores, at: float, share: float, height: float) -> tuple[float, float, float]:
    """Lowest and highest score of a share of the rows around a quantile, and what is added."""
    grid = (np.arange(_GRID) + 0.5) / _GRID
    part = np.random.default_rng(0).random(_GRID)
    start = min(max(at - share / 2, 0), 1 - share)
    low, high = np.quantile(scores(law, grid, part), [start, start + share])
    return low, high, height if low + high < 1 else -height


def weight(law: Weights, p: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """Design weights, on which labels do not depend; for 'counts' see `counted`."""
    if law.kind == "log-normal":
        return rng.lognormal(0, law.spread, p.size)
    if law.kind == "whole":
        return rng.integers(1, int(law.spread) + 1, p.size).astype(float)
    if law.kind == "by score":
        # As where rows with low scores were thinned out before they were labelled.
        return np.where(p < 0.2, law.spread + 0.5, 1.0)
    return None


def counted(
    y: np.ndarray, p: np.ndarray, cluster: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Each row once: labels, scores, how many rows are equal, and clusters."""
    columns = [y, p] if cluster is None else [y, p, cluster]
    distinct, count = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    codes = None if cluster is None else distinct[:, 2].astype(int)
    return distinct[:, 0].astype(int), distinct[:, 1], count.astype(float), codes


@dataclass(frozen=True)
class Promise:
    """At most the share `nominal` of false claims, or at least the share `nominal` covered."""

    name: str
    nominal: float
    bar: float
    """The documented limit: what our own simulations and pages call kept."""
    of: str
    """'calibrated': labels drawn from the scores; 'any': labels with the error of the setting."""
    fact: str

    @property
    def at_most(self) -> bool:
        return self.nominal < 0.5


def _level(name: str, fact: str, of: str = "calibrated") -> Promise:
    return Promise(name, ALPHA, 0.065, of, fact)


def _cover(name: str, fact: str, of: str = "any") -> Promise:
    return Promise(name, 1 - ALPHA, 0.93, of, fact)


PROMISES = (
    _level("omnibus", "calibration_test rejects a calibrated model"),
    _level("cox", "calibration_test(method='cox') rejects a calibrated model"),
    _level("spiegelhalter", "calibration_test(method='spiegelhalter') rejects a calibrated model"),
    _level(
        "noise_floor", "the p-value of noise_floor for the measure of the setting is at most .05"
    ),
    _level("segments", "segments flags anything of a calibrated model, two columns"),
    _level(
        "worst_slices", "worst_slices flags anything of a calibrated model, four columns, depth 2"
    ),
    _level("watch", "a Watch ever alarms in the looks of a calibrated stream"),
    _level("powered size", "powered rejects a calibrated model"),
    _level(
        "equivalence l2", "equivalence_test accepts, where the margin is the true l2 error", "any"
    ),
    _level("equivalence ece", "equivalence_test accepts, where the margin is the true ECE", "any"),
    _level(
        "equivalence oe",
        "equivalence_test accepts, where the margin is the true error of O/E",
        "any",
    ),
    _level("accept_threshold", "the certified threshold has a lower accuracy than asked", "any"),
    _cover("ece_interval", "the set of the score method contains the l2 error"),
    _cover("ece_interval at 0", "the set contains 0, calibrated", "calibrated"),
    _cover("slope", "limits of the calibration slope"),
    _cover("intercept", "limits of the intercept at slope 1"),
    _cover("observed_expected", "limits of O/E"),
    _cover("brier", "limits of the Brier score"),
    _cover("log_loss", "limits of the log loss"),
    _cover("auc", "limits of the AUC"),
    _cover("aurc", "limits of the AURC"),
    _cover("prevalence", "limits of the event rate"),
    _cover("cost", "limits of the cost at the threshold, from decide"),
    _cover("cost of always", "limits of the cost of acting always, from decide"),
    _cover("cost of never", "limits of the cost of acting never, from decide"),
    _cover("kappa", "the upper limit of decision_certificate is at least the true value"),
    _cover("net benefit", "the band of net_benefit contains the truth at all thresholds"),
    _cover("monotone_band", "monotone_band contains a truth that rises with the score"),
    _cover("compare squared_ece", "limits of the difference of two models' squared l2 errors"),
    _cover("compare brier", "limits of the difference of two models' Brier scores"),
    _cover("powered rate", "limits of the event rate, from powered"),
    _cover("powered bins", "limits of the gaps of all bins, from powered"),
)
