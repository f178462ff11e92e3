"""Which labels next: coverage and length of the limits of the event rate, beside as many random labels."""

import warnings

import numpy as np
from benchmark import Page, case

import trueness as tn

LAWS = {
    "Beta(.5, 15)": (0.5, 15.0),
    "Beta(.5, 5)": (0.5, 5.0),
    "Beta(2, 5)": (2.0, 5.0),
    "Beta(6, 1)": (6.0, 1.0),
}
JUDGES = {
    "good": (0.93, 0.97),
    "false alarms": (0.95, 0.85),
    "misses 40 %": (0.6, 0.99),
    "useless": (0.3, 0.7),
}
"""How often the judge is right about events and about other rows."""
BUDGETS = (50, 100, 300)
N = 3_000


def rate_limits(
    law: tuple[float, float], judge: tuple[float, float], budget: int, seed: int
) -> tuple[tn.Estimate, tn.Estimate, float]:
    """The rate by chosen labels and by random ones, and the length that was expected."""
    rng = np.random.default_rng((seed, budget, round(10 * law[1]), round(100 * judge[0])))
    p = rng.beta(*law, N)
    y = (rng.random(N) < p).astype(float)
    right = rng.random(N) < np.where(y == 1, judge[0], judge[1])
    labels = np.where(right, y, 1 - y)
    chosen = tn.next_labels(p, labels, budget=budget, seed=seed)
    human = np.full(N, np.nan)
    human[chosen.index] = y[chosen.index]
    random = np.full(N, np.nan)
    some = rng.choice(N, budget, replace=False)
    random[some] = y[some]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        by_strata = tn.powered(human, labels, p, human_prob=chosen).event_rate
        by_chance = tn.powered(random, labels, p).event_rate
    return by_strata, by_chance, chosen.relative_length


@case(
    "next-labels",
    "which labels next: coverage and length of limits",
    "6 min",
    one_thread=True,
    default=False,
)
def next_labels(page: Page, quick: bool, *, runs: int = 0) -> None:
    runs = runs or (20 if quick else 120)
    title = f"Limits of the event rate at 95 %, {N:,} rows, {runs} samples; length relative to random labels"
    page.head(
        "scores", "judge", "labels", "covers", "random covers", "length", "expected", title=title
    )
    least = {"misses": 1.0, "others": 1.0}
    rare = []
    for law, shape in LAWS.items():
        for judge, rates in JUDGES.items():
            for budget in BUDGETS:
                found = [rate_limits(shape, rates, budget, seed) for seed in range(runs)]
                truth = shape[0] / sum(shape)
                covered = np.mean([[truth in one for one in both[:2]] for both in found], axis=0)
                lengths = np.array([[one.high - one.low for one in both[:2]] for both in found])
                ratio = float(np.median(lengths[:, 0]) / np.median(lengths[:, 1]))
                expected = float(np.mean([both[2] for both in found]))
                cells = (
                    f"{covered[0]:.3f}",
                    f"{covered[1]:.3f}",
                    f"{ratio:.2f}",
                    f"{expected:.2f}",
                )
                page.row(law, judge, str(budget), *cells)
                kind = "misses" if law == "Beta(.5, 15)" and judge == "misses 40 %" else "others"
                least[kind] = min(least[kind], float(covered[0]))
                if law == "Beta(.5, 15)" and judge == "good":
                    rare.append(ratio)
    slack = 2 * np.sqrt(0.93 * 0.07 / runs)
    page.bar(
        f"covered at least .93 - 2 se = {0.93 - slack:.3f}",
        f"{least['others']:.3f}",
        None if quick else bool(least["others"] >= 0.93 - slack),
    )
    page.bar(
        f"rare events, a judge that misses: at least .90 - 2 se = {0.9 - slack:.3f}",
        f"{least['misses']:.3f}",
        None if quick else bool(least["misses"] >= 0.9 - slack),
    )
    page.bar(
        "rare events, a good judge: length at most .90 of that of random labels",
        f"{max(rare):.2f}",
        None if quick else bool(max(rare) <= 0.9),
    )
