"""Decisions: time beside a sort of the scores; coverage and failures by simulation, and by enumeration for few rows."""

import itertools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmark import Page, case
from scipy import stats
from scipy.special import expit, logit

import trueness as tn

Draw = Callable[[np.random.Generator, int], np.ndarray]
Truth = Callable[[np.ndarray], np.ndarray]
LEVEL = 0.95
SCORES: dict[str, Draw] = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "skewed, Beta(1, 9)": lambda rng, n: rng.beta(1, 9, n),
    "rare, Beta(.5, 50)": lambda rng, n: rng.beta(0.5, 50, n),
    "confident, Beta(.3, .3)": lambda rng, n: rng.beta(0.3, 0.3, n).clip(1e-6, 1 - 1e-6),
    "sure, Beta(20, 1)": lambda rng, n: rng.beta(20, 1, n),
    "rounded to tenths": lambda rng, n: rng.uniform(size=n).round(1).clip(0.05, 0.95),
    "three values": lambda rng, n: rng.choice([0.1, 0.5, 0.7], n),
    "one value, 0.001": lambda _, n: np.full(n, 0.001),
}
TRUTHS: dict[str, Truth] = {
    "calibrated": lambda p: p,
    "odds × 2.5": lambda p: expit(logit(p) + np.log(2.5)),
    "slope 0.6": lambda p: expit(0.6 * logit(p)),
}
TOPS: dict[str, Draw] = {
    "uniform": lambda rng, n: rng.uniform(0.5, 1, n),
    "Beta(5, 1)": lambda rng, n: rng.beta(5, 1, n),
    "Beta(20, 2)": lambda rng, n: rng.beta(20, 2, n),
    "four values": lambda rng, n: rng.choice([0.6, 0.8, 0.92, 0.99], n),
    "rounded to 0.05": lambda rng, n: (rng.uniform(0.5, 1, n) * 20).round() / 20,
}
RIGHT: dict[str, Truth] = {
    "calibrated": lambda c: c,
    "overconfident": lambda c: 0.5 + 0.85 * (c - 0.5),
    "underconfident": lambda c: c + 0.5 * (1 - c),
    "errors at the top": lambda c: np.where(c > 0.97, 0.85, c),
}


@case("decide", "Decisions: time, coverage, failures", time="6 min", one_thread=True, default=False)
def decide(page: Page, quick: bool, *, only: str = "") -> None:
    """`only`: one of the tables, by the name of its function."""
    runs = 40 if quick else 300
    for function in (speed, kappa, kappa_few, accept, always_never, area, benefit):
        if only in ("", function.__name__):
            function(page, runs)


def speed(page: Page, runs: int) -> None:
    rng, n = np.random.default_rng(0), 10**6
    p = rng.uniform(size=n)
    y, t = rng.uniform(size=n) < p, np.linspace(0.004, 0.996, 200)
    calls: dict[str, tuple[Callable[[], Any], float | None]] = {
        "np.sort": (lambda: np.sort(p), None),
        "net_benefit, 200 thresholds": (lambda: tn.net_benefit(y, p, thresholds=t), 3),
        "risk_coverage": (lambda: tn.risk_coverage(y, p), 3),
        "risk_coverage, pairs": (lambda: tn.risk_coverage(y, p, kind="correct"), 3),
        "accept_threshold": (lambda: tn.accept_threshold(y, p, accuracy=0.9), None),
        "decision_certificate": (lambda: tn.decision_certificate(y, p), None),
        "decide": (lambda: tn.decide(y, p, cost_fp=1, cost_fn=4), None),
    }
    took = dict.fromkeys(calls, np.inf)
    for _, (name, (call, _)) in itertools.product(range(3 if runs < 100 else 7), calls.items()):
        start = time.process_time()
        call()
        took[name] = min(took[name], time.process_time() - start)
    page.head("call", "CPU ms", "sorts", title="A million rows")
    for name, (_, most) in calls.items():
        sorts = took[name] / took["np.sort"]
        page.row(name, f"{1e3 * took[name]:.0f}", f"{sorts:.1f}")
        if most is not None:
            page.bar(f"{name}: at most {most:g} sorts", f"{sorts:.1f}", bool(sorts <= most))


def largest_gap(p: np.ndarray, truth: np.ndarray) -> float:
    """κ of known probabilities."""
    order = np.argsort(p, kind="stable")
    ends = np.append(np.diff(p[order]) > 0, True)
    return float(np.ptp(np.append(0.0, np.cumsum((truth - p)[order])[ends])) / p.size)


def kappa(page: Page, runs: int) -> None:
    settings: list[tuple[str, str, int, int]] = [
        (s, t, n, 1) for s in SCORES for t in TRUTHS for n in (100, 500)
    ]
    settings += [(s, t, 500, 5) for s in list(SCORES)[:4] for t in TRUTHS]
    page.head(
        "scores",
        "truth",
        "rows",
        "cluster",
        "covered",
        title=f"Upper limit of κ at 95 %, {runs} samples",
    )
    least = 1.0
    for i, (name, truth, n, size) in enumerate(settings):
        rng = np.random.default_rng([1, i])
        change = TRUTHS[truth] if "0.001" not in name or truth == "calibrated" else lambda p: 10 * p
        many = SCORES[name](rng, 10**6)
        goal, covered = largest_gap(many, change(many)), 0
        for _ in range(runs):
            p = np.repeat(SCORES[name](rng, n // size), size)
            y = np.repeat(rng.uniform(size=n // size), size) < change(p)
            cluster = {} if size == 1 else {"cluster": np.arange(n) // size}
            covered += tn.decision_certificate(y, p, **cluster).high >= goal
        least = min(least, covered / runs)
        page.row(name, truth, str(n), str(size), f"{covered / runs:.3f}")
    page.bar(
        f"κ covered in each of {len(settings)} settings: at least .94",
        f"{least:.3f}",
        bool(least >= 0.94),
    )


def every_limit(y: np.ndarray, p: np.ndarray) -> float:
    """The upper limit by all intervals, one after the other."""
    n, z, best = y.size, stats.norm.ppf(LEVEL), 0.0
    values = np.unique(p)
    for i, a in enumerate(values):
        for b in values[i:]:
            inside = (p >= a) & (p <= b)
            r = np.where(inside, y - p, 0.0)
            for sign in (1, -1):
                end = sign * r.mean() + z * np.sqrt(max((r**2).mean() - r.mean() ** 2, 0) / n)
                rare = int((inside & (y == (sign > 0))).sum())
                if rare < 50:
                    limit = 1.0 if rare == n else stats.beta.ppf(LEVEL, rare + 1, n - rare)
                    end = max(end, limit - np.where(inside, p if sign > 0 else 1 - p, 0).mean())
                best = max(best, end)
    return best


def kappa_few(page: Page, runs: int) -> None:
    page.head(
        "rows",
        "truth",
        "exact coverage",
        title="κ with few rows, all labels enumerated, scores evenly spaced",
    )
    off = 0.0
    for n in (4, 8) if runs < 100 else (4, 8, 12):
        p = (np.arange(n) + 0.5) / n
        labels = np.array(list(itertools.product((0, 1), repeat=n)))
        high = np.array([tn.decision_certificate(y, p).high for y in labels])
        some = np.random.default_rng(n).choice(len(labels), 16)
        off = max(off, *(abs(high[i] - min(every_limit(labels[i], p), 1)) for i in some))
        for name, truth in TRUTHS.items():
            q = truth(p)
            chance = np.where(labels, q, 1 - q).prod(axis=1)
            page.row(str(n), name, f"{chance[high >= largest_gap(p, q) - 1e-12].sum():.4f}")
    page.bar("fast and full search agree to 1e-12", f"{off:.1e}", bool(off < 1e-12))


def accept(page: Page, runs: int) -> None:
    goal, delta, n, failures = 0.9, 0.1, 1000, []
    title = f"Accuracy of {goal} at {1 - delta:g} confidence, {n:,} rows, {runs} samples: failures, share of rows accepted"
    page.head(
        "confidence",
        "truth",
        "possible",
        "five starts",
        "fixed sequence",
        "Bonferroni",
        title=title,
    )
    for i, (name, truth) in enumerate(itertools.product(TOPS, RIGHT)):
        rng = np.random.default_rng([2, i])
        many = np.sort(TOPS[name](rng, 10**6))[::-1]
        accuracy = np.cumsum(RIGHT[truth](many)) / np.arange(1, many.size + 1)
        ends = np.append(np.diff(many) < 0, True)
        possible = float(
            ((np.flatnonzero(ends) + 1)[accuracy[ends] >= goal] / many.size).max(initial=0.0)
        )
        broken, share = np.zeros(3), np.zeros(3)
        for _ in range(runs):
            c = TOPS[name](rng, n)
            y = rng.uniform(size=n) < RIGHT[truth](c)
            found = tn.accept_threshold(y, c, accuracy=goal, level=1 - delta).threshold
            for k, t in enumerate(
                (found, fixed_sequence(y, c, goal, delta), bonferroni(y, c, goal, delta))
            ):
                m = int(np.searchsorted(-many, -t, side="right")) if t == t else 0
                share[k] += m / many.size / runs
                broken[k] += bool(m) and accuracy[m - 1] < goal - 1e-3
        failures.append(broken[0] / runs)
        cells = (f"{b / runs:.3f}, {s:.2f}" for b, s in zip(broken, share, strict=True))
        page.row(name, truth, f"{possible:.2f}", *cells)
    most = delta + 2 * np.sqrt(delta * (1 - delta) / runs)
    page.bar(
        f"failures at most {delta} + 2 se = {most:.3f}",
        f"{max(failures):.3f}",
        bool(max(failures) <= most),
    )


def _pvalues(
    y: np.ndarray, c: np.ndarray, goal: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values = np.unique(c)[::-1]
    order = np.argsort(-c, kind="stable")
    m = np.searchsorted(-c[order], -values, side="right")
    errors = np.cumsum(~y[order])[m - 1]
    return values, m, stats.binom.cdf(errors, m, 1 - goal)


def fixed_sequence(y: np.ndarray, c: np.ndarray, goal: float, delta: float) -> float:
    values, m, pvalue = _pvalues(y, c, goal)
    some = goal**m <= delta
    passed = np.logical_and.accumulate(pvalue[some] <= delta)
    return float(values[some][passed][-1]) if passed.any() else np.nan


def bonferroni(y: np.ndarray, c: np.ndarray, goal: float, delta: float) -> float:
    """Over twenty candidates at equally spaced shares of the rows."""
    values, m, pvalue = _pvalues(y, c, goal)
    some = np.unique(np.searchsorted(m, np.arange(1, 21) / 20 * y.size))
    passed = pvalue[some] <= delta / some.size
    return float(values[some][passed][-1]) if passed.any() else np.nan


def always_never(page: Page, runs: int) -> None:
    """Every number of events, with its probability: exact, whatever `runs` says."""
    settings = [
        (0.012, 60),
        (0.003, 300),
        (0.05, 40),
        (0.001, 1000),
        (0.02, 150),
        (0.3, 40),
        (0.5, 100),
        (0.97, 60),
    ]
    title = "Cost of acting always and of acting never, limits at 95 %: exact coverage"
    page.head("event rate", "rows", "always", "never", title=title)
    least = 1.0
    for rate, n in settings if runs > 100 else settings[:3]:
        covered = np.zeros(2)
        for k in range(n + 1):
            chance = float(stats.binom.pmf(k, n, rate))
            if chance > 1e-9:
                found = tn.decide(np.arange(n) < k, np.full(n, rate), cost_fp=1, cost_fn=4)
                covered += chance * np.array([1 - rate in found.always, 4 * rate in found.never])
        least = min(least, float(covered.min()))
        page.row(f"{rate:g}", f"{n:,}", *(f"{one:.4f}" for one in covered))
    page.bar("acting always and never covered: at least .95", f"{least:.4f}", bool(least >= 0.95))


def area(page: Page, runs: int) -> None:
    laws: dict[str, tuple[Draw, Truth]] = {
        "calibrated": (TOPS["uniform"], RIGHT["calibrated"]),
        "few errors": (lambda rng, n: rng.beta(30, 1, n), RIGHT["calibrated"]),
        "four values": (TOPS["four values"], RIGHT["calibrated"]),
        "errors anywhere": (TOPS["uniform"], lambda c: np.full(c.size, 0.95)),
        "errors at the top": (TOPS["uniform"], RIGHT["errors at the top"]),
    }
    title = (
        f"Limits of the AURC at 95 %, {runs} samples: covered; difference to a noisy order covered"
    )
    page.head("errors", "100 rows", "400 rows", "2,000 rows", title=title)
    least = 1.0
    for i, (name, (draw, right)) in enumerate(laws.items()):
        rng, shown = np.random.default_rng([3, i]), []

        def sample(
            n: int, rng: Any = rng, draw: Any = draw, right: Any = right
        ) -> tuple[Any, dict[str, Any]]:
            c = draw(rng, n)
            noisy = expit(logit(c.clip(1e-9, 1 - 1e-9)) + rng.normal(size=n))
            return rng.uniform(size=n) < right(c), {"a": c, "b": noisy}

        truth = tn.risk_coverage(*sample(10**6), kind="correct")
        for n in (100, 400, 2000):
            covered = np.zeros(2)
            for _ in range(runs):
                found = tn.risk_coverage(*sample(n), kind="correct")
                _, low, high = found.differences["a", "b"]
                covered += (
                    truth.aurc["a"].value in found.aurc["a"],
                    low <= truth.differences["a", "b"][0] <= high,
                )
            least = min(least, covered[0] / runs)
            shown.append(", ".join(f"{one:.3f}" for one in covered / runs))
        page.row(name, *shown)
    page.bar("AURC covered: at least .92", f"{least:.3f}", bool(least >= 0.92))


def benefit(page: Page, runs: int) -> None:
    t = np.arange(5, 91, 5) / 100
    page.head(
        "scores",
        "rows",
        "least at one threshold",
        "at all",
        title=f"Net benefit at 95 %, {runs} samples",
    )
    least, warned = 1.0, warnings.catch_warnings()
    with warned:
        warnings.simplefilter("ignore", tn.TruenessWarning)
        for i, (name, n) in enumerate(itertools.product(list(SCORES)[:6], (300, 1500))):
            rng = np.random.default_rng([4, i])
            many = SCORES[name](rng, 10**6)
            truth = np.array(
                [np.where(many >= x, many - (1 - many) * x / (1 - x), 0).mean() for x in t]
            )
            single, joint = np.zeros(t.size), 0
            for _ in range(runs):
                p = SCORES[name](rng, n)
                found = tn.net_benefit(rng.uniform(size=n) < p, p, thresholds=t)
                single += (found.low <= truth + 1e-12) & (truth - 1e-12 <= found.high)
                inside = (found.band_low <= truth) & (truth <= found.band_high)
                joint += inside[np.isfinite(found.band_low)].all()
            least = min(least, joint / runs)
            page.row(name, f"{n:,}", f"{single.min() / runs:.3f}", f"{joint / runs:.3f}")
    page.bar(
        "net benefit covered at all thresholds together: at least .92",
        f"{least:.3f}",
        bool(least >= 0.92),
    )
