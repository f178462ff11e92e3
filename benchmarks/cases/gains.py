"""What a map is said to gain in new rows beside what it gains there, by simulation.

`map-chance`: `AutoCalibration.chance_` beside the share of new samples in which the map was
better. Each fit has a law of its own, from one of four families. The offset in the formula was
chosen on the first two ("smooth", "rough") at 1,000 and 2,000 rows. "Before" is what was stated
without the offset, at any number of rows.

`segment-gain`: how often the limits of `SegmentCalibration.gain_` contain the gain in the
population.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit

import trueness as tn
from trueness.recalibrate._auto_candidates import chance_of_gain

NEW_SAMPLES = 5
STATED = (0.0, 0.4, 0.6, 0.8, 0.9, 0.97, 1.01)
Draw: TypeAlias = Callable[[int], np.ndarray]
Truth: TypeAlias = Callable[[np.ndarray], np.ndarray]


class Law(NamedTuple):
    scores: Draw
    truth: Truth


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def line(shift: float, slope: float) -> Truth:
    return lambda p: expit(shift + slope * logit(p))


def random_line(rng: np.random.Generator) -> Truth:
    """No error, a shift, a slope, or both."""
    shift, slope = rng.normal(0, 0.5), math.exp(rng.normal(0, 0.35))
    return [line(0, 1), line(shift, 1), line(0, slope), line(shift, slope)][rng.integers(4)]


def smooth(rng: np.random.Generator) -> Law:
    """Beta and logit-normal scores, some of them of rarer events, with a shift or a slope."""
    kind = rng.integers(3)
    if kind == 0:
        a, b = log_uniform(rng, 0.3, 6), log_uniform(rng, 0.3, 6)
    elif kind == 1:
        centre, spread = rng.uniform(-3, 3), rng.uniform(0.3, 2.5)
        return Law(lambda n: expit(rng.normal(centre, spread, n)), random_line(rng))
    else:
        mean, weight = log_uniform(rng, 0.02, 0.2), log_uniform(rng, 1, 20)
        a, b = mean * weight + 0.2, (1 - mean) * weight
    return Law(lambda n: rng.beta(a, b, n), random_line(rng))


def rough_truth(rng: np.random.Generator) -> Truth:
    """No error, waves, a step, or an error of some scores."""
    kind = rng.integers(4)
    if kind == 0:
        return lambda p: p
    if kind == 1:
        height, waves = rng.uniform(0.1, 0.9), rng.integers(1, 4)
        return lambda p: p + height * p * (1 - p) * np.sin(2 * np.pi * waves * p)
    if kind == 2:
        threshold, height = rng.uniform(0.2, 0.8), rng.uniform(-0.25, 0.25)
        return lambda p: np.clip(p + height * (p > threshold), 0.001, 0.999)
    centre, height = rng.uniform(0, 1), rng.uniform(0.1, 0.3)
    side = -math.copysign(height, centre - 0.5)
    return lambda p: np.where(np.abs(p - centre) < 0.15, np.clip(p + side, 0.001, 0.999), p)


def rough(rng: np.random.Generator) -> Law:
    """Scores in two groups, near 0 and 1, or of one digit."""
    kind = rng.integers(3)
    if kind == 0:
        a, b = log_uniform(rng, 0.1, 0.8), log_uniform(rng, 0.1, 0.8)
        return Law(lambda n: rng.beta(a, b, n), rough_truth(rng))
    if kind == 1:
        centre, share = rng.uniform(0.1, 0.9, 2), rng.uniform(0.2, 0.8)

        def groups(n: int) -> np.ndarray:
            first = rng.random(n) < share
            return np.where(first, rng.normal(centre[0], 0.05, n), rng.normal(centre[1], 0.15, n))

        return Law(groups, rough_truth(rng))
    return Law(lambda n: rng.uniform(0.05, 0.95, n).round(1), rough_truth(rng))


def rare(rng: np.random.Generator) -> Law:
    mean, weight = log_uniform(rng, 0.003, 0.03), log_uniform(rng, 1, 50)
    return Law(lambda n: rng.beta(mean * weight, (1 - mean) * weight, n), random_line(rng))


def bent(rng: np.random.Generator) -> Law:
    """Logistic scores whose log-odds are bent or compressed at one end."""
    centre, spread = rng.uniform(-2, 2), rng.uniform(0.5, 2)
    bend, shift = rng.choice([0.0, 0.1, 0.3]) * rng.choice([-1, 1]), rng.normal(0, 0.2)
    slope = rng.choice([1.0, 0.6, 1.4])

    def truth(p: np.ndarray) -> np.ndarray:
        x = logit(p)
        return expit(
            np.where(x > centre, slope * (x - centre) + centre, x)
            + bend * np.tanh(x)
            + shift * (bend != 0)
        )

    return Law(lambda n: expit(rng.logistic(centre, spread, n)), truth)


LAWS = {"smooth": smooth, "rough": rough, "rare": rare, "bent": bent}


def inside(scores: np.ndarray) -> np.ndarray:
    return np.clip(scores, 1e-6, 1 - 1e-6)


def chances(family: str, n: int, runs: int, seed: int) -> np.ndarray:
    """Stated now, stated before, and how often the log loss fell in new samples; one row per fit."""
    rng = np.random.default_rng([seed, n, *map(ord, family)])
    found = []
    for _ in range(runs):
        law = LAWS[family](rng)
        p = inside(law.scores(n))
        y = rng.random(n) < law.truth(p)
        if y.all() or not y.any():
            continue
        fitted = tn.AutoCalibration().fit(p, y)
        better = []
        for _ in range(NEW_SAMPLES):
            p = inside(law.scores(n))
            y = rng.random(n) < law.truth(p)
            q = fitted.predict(p)
            better.append(np.log(np.where(y, q / p, (1 - q) / (1 - p))).sum() > 0)
        before = chance_of_gain(fitted.gain_, fitted.gain_low_, fitted.gain_high_, 0.95)
        found.append((fitted.chance_, before, np.mean(better)))
    return np.array(found)


@case("map-chance", "how often a map is better in new samples, as stated and as it was", "8 min")
def map_chance(page: Page, quick: bool, *, runs: int = 0, seed: int = 1) -> None:
    runs = runs or (40 if quick else 300)
    for n in (50, 200, 1_000) if quick else (50, 200, 500, 1_000, 3_000):
        found = {family: chances(family, n, runs, seed) for family in LAWS}
        title = f"{n:,} rows: {runs:,} fits per family of laws, {NEW_SAMPLES} new samples each"
        page.head(
            "laws",
            "stated",
            "fits",
            "stated before",
            "stated now",
            "happened (standard error)",
            title=title,
        )
        for family, rows in found.items():
            told = ~np.isnan(rows[:, 0])
            for some, column in ((rows[~told], 1), (rows[told], 0)):
                cut = np.digitize(some[:, column], STATED)
                for i in np.unique(cut):
                    few = some[cut == i]
                    error = (
                        few[:, 2].std(ddof=1) / math.sqrt(len(few)) if len(few) > 1 else math.nan
                    )
                    page.row(
                        family,
                        f"{STATED[i - 1]:g} to {min(1, STATED[i]):g}",
                        str(len(few)),
                        f"{few[:, 1].mean():.3f}",
                        f"{few[:, 0].mean():.3f}" if column == 0 else "none",
                        f"{few[:, 2].mean():.3f} ({error:.3f})",
                    )


class Segments(NamedTuple):
    a: float
    b: float
    n: int
    segments: int
    spread: float
    """Standard deviation of the shifts of the segments."""
    chosen: bool
    """Whether the width of the limits was chosen here."""


SEGMENTS = (
    Segments(1.2, 2.5, 2_000, 12, 0.0, chosen=True),
    Segments(1.2, 2.5, 500, 3, 0.0, chosen=True),
    Segments(1.2, 2.5, 2_000, 12, 0.1, chosen=True),
    Segments(1.2, 2.5, 2_000, 12, 0.3, chosen=True),
    Segments(1, 1, 400, 4, 0.0, chosen=False),
    Segments(1, 1, 3_000, 8, 0.0, chosen=False),
    Segments(2, 30, 3_000, 6, 0.0, chosen=False),
    Segments(2, 30, 3_000, 6, 0.5, chosen=False),
    Segments(0.3, 0.6, 1_500, 20, 0.2, chosen=False),
    Segments(5, 2, 6_000, 30, 0.15, chosen=False),
)
NARROW = 1.7  # how much wider the limits are now than those of the mean over rows


def segment_gains(law: Segments, runs: int, seed: int) -> tuple[float, float]:
    """How often limits contain the gain in the population: now, and without the widening."""
    found = []
    for run in range(runs):
        rng = np.random.default_rng([seed, law.n, law.segments, round(100 * law.spread), run])
        shift = rng.normal(0, law.spread, law.segments) if law.spread else np.zeros(law.segments)
        share = rng.dirichlet(np.full(law.segments, 3.0))
        p, segment = drawn(law, share, law.n, rng)
        y = rng.random(law.n) < expit(logit(p) + shift[segment])
        fitted = tn.SegmentCalibration().fit(p, y, by=segment)
        p, segment = drawn(law, share, 20_000, rng)
        truth, plain = expit(logit(p) + shift[segment]), fitted.overall_.predict(p)
        own = fitted.predict(p, by=segment)
        gain = np.mean(truth * np.log(own / plain) + (1 - truth) * np.log((1 - own) / (1 - plain)))
        away, reach = abs(fitted.gain_ - gain), (fitted.gain_high_ - fitted.gain_low_) / 2
        found.append((away <= reach + 1e-15, away <= reach / NARROW + 1e-15))
    now, before = np.mean(found, axis=0)
    return float(now), float(before)


def drawn(
    law: Segments, share: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and segments."""
    p = np.clip(rng.beta(law.a, law.b, n), 1e-4, 1 - 1e-4)
    return p, rng.choice(share.size, n, p=share)


@case("segment-gain", "coverage of what a map by segment gains beyond one map", "6 min")
def segment_gain(page: Page, quick: bool, *, runs: int = 0, seed: int = 1) -> None:
    runs = runs or (20 if quick else 200)
    error = math.sqrt(0.95 * 0.05 / runs)
    title = f"Coverage of 95 % limits of `gain_` over {runs:,} fits (standard error {error:.3f})"
    page.head(
        "scores", "n", "segments", "spread of shifts", "settings", "before", "now", title=title
    )
    for law in SEGMENTS:
        now, before = segment_gains(law, runs, seed)
        page.row(
            f"Beta({law.a:g}, {law.b:g})",
            f"{law.n:,}",
            str(law.segments),
            f"{law.spread:g}",
            "chosen on" if law.chosen else "unseen",
            f"{before:.3f}",
            f"{now:.3f}",
        )
