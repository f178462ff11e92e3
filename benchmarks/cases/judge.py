"""A judge's labels: size and power of `powered` and coverage of its limits, beside human labels alone."""

from collections.abc import Callable

import numpy as np
from benchmark import Page, case

import trueness as tn

Judge = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
JUDGES: dict[str, Judge] = {
    "good": lambda y, p, rng: np.where(rng.random(p.size) < 0.92, y, 1 - y),
    "poor": lambda y, p, rng: np.where(rng.random(p.size) < 0.65, y, 1 - y),
    "useless": lambda _, p, rng: rng.integers(0, 2, p.size),
    "too high": lambda y, p, rng: np.maximum(y, rng.random(p.size) < 0.35),
    "too low": lambda y, p, rng: y * (rng.random(p.size) < 0.6),
    "leaning on the score": lambda y, p, rng: np.maximum(y, rng.random(p.size) < 0.25 + 0.5 * p),
    "a score": lambda y, p, rng: 2 * y + rng.normal(size=p.size),
}


def asked(judge: str, n: int, runs: int, power: float = 1.0, humans: bool = False) -> np.ndarray:
    """Shares of data sets, ten rows per human label: rejected at 0.05, by humans alone, rate covered, all bins."""
    found = []
    for seed in range(runs):
        rng = np.random.default_rng((seed, n, list(JUDGES).index(judge)))
        p = rng.beta(2, 1, 10 * n)
        y = (rng.random(p.size) < p**power).astype(float)
        human = np.full(p.size, np.nan)
        human[:n] = y[:n]
        one = tn.powered(human, JUDGES[judge](y, p, rng).astype(float), p, seed=seed)
        which = np.searchsorted(one.low_score, p, side="right") - 1
        gap = np.array([(p**power - p)[which == b].mean() for b in range(one.score.size)])
        alone = humans and tn.calibration_test(y[:n], p[:n], seed=seed).pvalue <= 0.05
        rate = 2 / (2 + power)
        inside = (
            one.event_rate.low <= rate <= one.event_rate.high,
            ((one.low <= gap) & (gap <= one.high)).all(),
        )
        found.append([one.pvalue <= 0.05, alone, *inside])
    return np.mean(found, axis=0)


@case("judge", "human labels and a judge: size, power, coverage", "8 min", one_thread=True)
def judge(page: Page, quick: bool, *, runs: int = 0) -> None:
    runs = runs or (40 if quick else 1_500)
    fewer = max(40, runs // 5)
    head = [f"size, {n:,}" for n in (100, 300, 1_000)]
    title = f"Human labels of a tenth of the rows, {runs:,} data sets; power {fewer:,}, true rate p to the power 1.25"
    page.head(
        "judge",
        *head,
        "event rate covered, 100",
        "all bins, 100",
        "power, 300",
        "humans alone",
        title=title,
    )
    sizes, covered = [], []
    for name in JUDGES:
        found = [asked(name, n, runs) for n in (100, 300, 1_000)]
        strong = asked(name, 300, fewer, 1.25, humans=True)
        page.row(
            name,
            *(f"{one:.3f}" for one in [*(one[0] for one in found), *found[0][2:], *strong[:2]]),
        )
        sizes += [float(one[0]) for one in found]
        covered += found[0][2:].tolist()
    page.bar("size at most 0.065", f"{max(sizes):.3f}", None if quick else max(sizes) <= 0.065)
    page.bar(
        "covered at least 0.93 with 100 labels",
        f"{min(covered):.3f}",
        None if quick else min(covered) >= 0.93,
    )
