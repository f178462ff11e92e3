"""Routing between two models: broken promises and shares routed, beside thresholds that promise less or dare less."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from benchmark import Page, case

import trueness as tn

Law = Callable[[np.random.Generator, int], np.ndarray]
Chance = Callable[[np.ndarray], np.ndarray]
ALPHA = 0.05
SIZES = (200, 400, 2_000)
LOSSES = (0.005, 0.01, 0.02, 0.05)


class World(NamedTuple):
    """The confidence, and at each confidence how often the strong or the cheap model alone is right."""

    confidence: Law
    harm: Chance
    gain: Chance
    together: int = 1
    """Rows of a cluster, which are harmed or helped together."""


CONFIDENCES: dict[str, Law] = {
    "uniform": lambda rng, n: rng.uniform(0.5, 1, n),
    "Beta(5, 1)": lambda rng, n: rng.beta(5, 1, n),
    "four values": lambda rng, n: rng.choice([0.6, 0.8, 0.92, 0.99], n),
    "six values": lambda rng, n: rng.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.97], n),
}


def independent(strong: float, right: Chance = lambda c: c) -> tuple[Chance, Chance]:
    """The strong model errs independently of the cheap one."""
    return (lambda c: strong * (1 - right(c)), lambda c: (1 - strong) * right(c))


TRUTHS: dict[str, tuple[Chance, Chance]] = {
    "independent errors": independent(0.93),
    "overconfident": independent(0.97, lambda c: 0.5 + 0.7 * (c - 0.5)),
    "same errors": (lambda c: 0.5 * (1 - c), lambda c: 0.0 * c),
    "errors at the top": (lambda c: np.where(c > 0.95, 0.06, 0.3 * (1 - c)), lambda c: 0.0 * c),
    "rare": (lambda c: 0.04 * (1 - c), lambda c: 0.01 * c),
}
WORLDS = {
    **{
        f"{truth}, {law}": World(CONFIDENCES[law], *TRUTHS[truth])
        for truth in ("independent errors", "overconfident", "same errors")
        for law in CONFIDENCES
    },
    "errors at the top, uniform": World(CONFIDENCES["uniform"], *TRUTHS["errors at the top"]),
    "errors at the top, Beta(5, 1)": World(CONFIDENCES["Beta(5, 1)"], *TRUTHS["errors at the top"]),
    "rare, uniform": World(CONFIDENCES["uniform"], *TRUTHS["rare"]),
    "rare, six values": World(CONFIDENCES["six values"], *TRUTHS["rare"]),
    "useless confidence": World(CONFIDENCES["uniform"], lambda c: 0.03 + 0 * c, lambda c: 0.0 * c),
    "clusters of 5, independent errors": World(
        CONFIDENCES["uniform"], *TRUTHS["independent errors"], 5
    ),
    "clusters of 5, useless confidence": World(
        CONFIDENCES["uniform"], lambda c: 0.03 + 0 * c, lambda c: 0.0 * c, 5
    ),
    "clusters of 10, same errors": World(CONFIDENCES["six values"], *TRUTHS["same errors"], 10),
}


class Sample(NamedTuple):
    cheap: np.ndarray
    confidence: np.ndarray
    strong: np.ndarray
    cluster: np.ndarray | None


def sample(world: World, n: int, rng: np.random.Generator) -> Sample:
    c = world.confidence(rng, n)
    place = np.repeat(rng.uniform(size=n // world.together), world.together)
    harmed = place < world.harm(c)
    helped = place > 1 - world.gain(c)
    both = rng.random(n) < 0.7
    cluster = np.arange(n) // world.together if world.together > 1 else None
    return Sample(
        np.where(harmed, 0, helped | both), c, np.where(helped, 0, harmed | both), cluster
    )


class Truth(NamedTuple):
    """The confidences of very many rows, from the highest, and the loss of routing each and all above."""

    confidence: np.ndarray
    loss: np.ndarray

    @classmethod
    def of(cls, world: World) -> "Truth":
        c = np.sort(world.confidence(np.random.default_rng(99), 400_000))[::-1]
        return cls(c, np.cumsum(world.harm(c) - world.gain(c)) / c.size)

    def at(self, threshold: float) -> tuple[float, float]:
        """The share that is routed from a threshold on, and the loss."""
        m = int(np.searchsorted(-self.confidence, -threshold, side="right"))
        return m / self.confidence.size, float(self.loss[m - 1]) if m else 0.0

    def possible(self, loss: float) -> float:
        ends = np.append(np.diff(self.confidence) < 0, True)
        fine = np.flatnonzero(ends & (self.loss <= loss))
        return (fine[-1] + 1) / self.confidence.size if fine.size else 0.0


def naive(found: tn.results.Route) -> float:
    """The lowest threshold at which these rows lose no more than is allowed."""
    fine = np.flatnonzero(found.curve.difference >= -found.loss)
    return float(found.curve.threshold[fine[-1]]) if fine.size else np.inf


def bonferroni(found: tn.results.Route) -> float:
    fine = np.flatnonzero(found.curve.pvalue <= ALPHA / found.curve.threshold.size)
    return float(found.curve.threshold[fine[-1]]) if fine.size else np.inf


@case(
    "route", "Routing: broken promises and shares routed", "6 min", one_thread=True, default=False
)
def route(page: Page, quick: bool, *, runs: int = 0) -> None:
    runs = runs or (30 if quick else 300)
    title = f"Broken promises at {1 - ALPHA:g}, {runs} samples; in brackets the mean share routed"
    rules = ("certified", "read off the rows", "Bonferroni")
    page.head("world", "rows", "loss", "possible", *rules, title=title)
    most = []
    for i, (name, world) in enumerate(WORLDS.items()):
        truth = Truth.of(world)
        for j, n in enumerate(SIZES):
            # Every loss meets every world and every size, without all of their combinations.
            loss = LOSSES[(i + j) % len(LOSSES)]
            broken, shares = played(world, truth, n, loss, runs)
            cells = (f"{b:.3f} ({s:.2f})" for b, s in zip(broken, shares, strict=True))
            page.row(name, f"{n:,}", f"{loss:g}", f"{truth.possible(loss):.2f}", *cells)
            most.append(float(broken[0]))
    allowed = ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / runs)
    page.bar(
        f"broken at most {ALPHA} + 2 se = {allowed:.3f} in {len(most)} settings",
        f"{max(most):.3f}",
        None if quick else bool(max(most) <= allowed),
    )


def played(
    world: World, truth: Truth, n: int, loss: float, runs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Of each rule the share of broken promises, and the mean share routed."""
    rng = np.random.default_rng([n, round(1000 * loss), len(world.confidence.__name__)])
    broken = np.zeros(3)
    shares = np.zeros(3)
    for _ in range(runs):
        rows = sample(world, n, rng)
        found = tn.route(rows.cheap, rows.confidence, rows.strong, loss=loss, cluster=rows.cluster)
        certified = found.threshold if found.certified else np.inf
        for k, threshold in enumerate((certified, naive(found), bonferroni(found))):
            share, lost = truth.at(threshold)
            shares[k] += share / runs
            broken[k] += (lost > loss + 1e-9) / runs
    return broken, shares
