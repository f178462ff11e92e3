"""The watch: false alarms over many looks, delay beside other monitors, false names among segments, time and size.

probcal's monitor is compared where it is installed (`pip install probcal`).
"""

import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit

import trueness as tn

Draw = Callable[[np.random.Generator, int], np.ndarray]
Look = tuple[np.ndarray, np.ndarray]
ALPHA = 0.05
LAWS: dict[str, Draw] = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "rare, Beta(1, 60)": lambda rng, n: rng.beta(1, 60, n),
    "very rare, Beta(.5, 200)": lambda rng, n: rng.beta(0.5, 200, n),
    "confident, Beta(.3, .3)": lambda rng, n: rng.beta(0.3, 0.3, n),
    "sure, Beta(20, 1)": lambda rng, n: rng.beta(20, 1, n),
    "middle, Beta(30, 30)": lambda rng, n: rng.beta(30, 30, n),
    "three values": lambda rng, n: rng.choice([0.1, 0.5, 0.7], n),
    "one value": lambda _, n: np.full(n, 0.3),
    "bimodal": lambda rng, n: np.where(rng.uniform(size=n) < 0.5, rng.beta(2, 20, n), rng.beta(20, 2, n)),
    "skewed, Beta(2, 8)": lambda rng, n: rng.beta(2, 8, n),
    "rounded to tenths": lambda rng, n: rng.uniform(size=n).round(1).clip(0.05, 0.95),
    "a changing mix": lambda rng, n: rng.beta(*rng.uniform(0.5, 5, 2), n),
}
ERRORS = {"shift 0.3": (0.3, 1.0), "slope 0.7": (0.0, 0.7)}


def stream(
    rng: np.random.Generator, law: Draw, looks: int, n: int, onset: int = 10**9, error: Any = None
) -> Iterator[Look]:
    for t in range(looks):
        p = law(rng, n)
        q = p if t < onset else expit(error[0] + error[1] * logit(p))
        yield rng.uniform(size=n) < q, p


def watch_rings(looks: Iterator[Look], bins: int | None = None) -> int | None:
    """The look of the alarm."""
    watch = tn.Watch(ALPHA)
    for t, (y, p) in enumerate(looks):
        watch.update(*((y, p) if bins is None else (tn.binned(y, p, bins=bins),)))
        if watch.alarm:
            return t
    return None


def cox_rings(looks: Iterator[Look], number: int) -> int | None:
    """Cox's test on all rows so far, at alpha divided by the number of looks."""
    total: Any = 0
    for t, (y, p) in enumerate(looks):
        total = total + tn.sketch(y, p)
        if tn.calibration_test(total, method="cox").pvalue <= ALPHA / number:
            return t
    return None


def cusum_of(looks: Iterator[Look]) -> np.ndarray:
    """The larger of two CUSUMs of the log-likelihood ratio, of the very shift and the very slope of the errors."""
    found, sums = [], np.zeros(len(ERRORS))
    for y, p in looks:
        for i, (shift, slope) in enumerate(ERRORS.values()):
            q = expit(shift + slope * logit(p))
            ratio = np.where(y, np.log(q / p), np.log1p(-q) - np.log1p(-p)).sum()
            sums[i] = max(0.0, sums[i]) + ratio
        found.append(sums.max())
    return np.array(found)


def probcal_rings(looks: Iterator[Look]) -> int | None:
    from probcal.monitor import CalibrationMonitor

    monitor = CalibrationMonitor(alpha=ALPHA, plug_in_window=30)
    for t, (y, p) in enumerate(looks):
        if monitor.update(y.astype(int), p).alarm:
            return t
    return None


def median_delay(rung: list[int | None], onset: int) -> str:
    """Looks from the onset to the alarm; alarms before it are counted apart."""
    late = [t - onset if t is not None else np.inf for t in rung if t is None or t >= onset]
    early = sum(t is not None and t < onset for t in rung)
    shown = "none" if not late or np.isinf(np.median(late)) else f"{np.median(late) + 1:.0f}"
    return f"{shown} ({100 * early / len(rung):.0f} % early)" if onset else shown


@case("watch", "Watch: false alarms, delay, segments, size", time="20 min", one_thread=True, default=False)
def watch(page: Page, quick: bool) -> None:
    false_alarms(page, runs=20 if quick else 200, looks=200 if quick else 1000)
    delays(page, runs=10 if quick else 100, looks=120 if quick else 200)
    segments(page, runs=5 if quick else 40)
    sizes(page, rows=10**6 if quick else 10**7)


def false_alarms(page: Page, runs: int, looks: int) -> None:
    page.head("scores", "rows", "ten bins", title=f"Streams that ever ring, {looks:,} looks of 50 rows, {runs} streams")
    worst, rng = 0.0, np.random.default_rng(1)
    for name, law in LAWS.items():
        rates = []
        for bins in (None, 10):
            rung = [watch_rings(stream(rng, law, looks, 50), bins) is not None for _ in range(runs)]
            rates.append(float(np.mean(rung)))
        worst = max(worst, *rates)
        page.row(name, *(f"{rate:.3f}" for rate in rates))
    most = ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / runs)
    page.bar(f"at most {ALPHA} + 2 standard errors = {most:.3f}", f"{worst:.3f}", bool(worst <= most))


def delays(page: Page, runs: int, looks: int) -> None:
    there = importlib.util.find_spec("probcal") is not None
    title = f"Median delay in looks of 200 rows, {runs} streams of {looks} looks"
    page.head("scores", "error", "onset", "watch", "Cox, Bonferroni", "CUSUM, tuned", "probcal", title=title)
    for name in ("uniform", "rare, Beta(1, 60)", "confident, Beta(.3, .3)"):
        law, rng = LAWS[name], np.random.default_rng(2)
        calm = [cusum_of(stream(rng, law, looks, 200)).max() for _ in range(4 * runs)]
        threshold = float(np.quantile(calm, 1 - ALPHA))
        for error, numbers in ERRORS.items():
            for onset in (0, looks // 2):

                def streams(
                    seed: int = 3, onset: int = onset, numbers: Any = numbers, law: Draw = law
                ) -> Iterator[Any]:
                    for i in range(runs):
                        yield stream(np.random.default_rng([seed, i]), law, looks, 200, onset, numbers)

                cusum = [np.flatnonzero(cusum_of(one) >= threshold) for one in streams()]
                found = [
                    [watch_rings(one) for one in streams()],
                    [cox_rings(one, looks) for one in streams()],
                    [int(at[0]) if at.size else None for at in cusum],
                    [probcal_rings(one) for one in streams()] if there else [],
                ]
                page.row(name, error, str(onset), *(median_delay(one, onset) if one else "not here" for one in found))


def segments(page: Page, runs: int) -> None:
    page.head("look", "expected false share", "power", title=f"200 segments, 40 wrong, 60 looks, {runs} runs")
    rng = np.random.default_rng(4)
    shares: dict[Any, list[float]] = {20: [], 40: [], 60: [], "first alarm": []}
    power: dict[Any, list[float]] = {key: [] for key in shares}
    for _ in range(runs):
        one, rung = tn.Watch(ALPHA), False
        for t in range(1, 61):
            code = np.repeat(np.arange(min(200, 100 + 5 * t)), 20)
            p = rng.uniform(size=code.size)
            y = rng.uniform(size=code.size) < expit(logit(p) + 0.8 * (code % 5 == 0))
            one.update(y, p, by=code.astype(str))
            for key in [t] * (t in shares) + ["first alarm"] * (bool(one.alarms) and not rung):
                named = [int(name) for name in one.alarms]
                shares[key].append(float(np.mean([c % 5 != 0 for c in named])) if named else 0.0)
                power[key].append(sum(c % 5 == 0 for c in named) / 40)
            rung = rung or bool(one.alarms)
    for key in shares:
        page.row(str(key), f"{np.mean(shares[key]):.4f}", f"{np.mean(power[key]):.2f}")
    most = max(float(np.mean(values)) for values in shares.values())
    page.bar(f"expected false share of the names at a look at most {ALPHA}", f"{most:.4f}", bool(most <= ALPHA))


def sizes(page: Page, rows: int) -> None:
    import polars as pl

    rng = np.random.default_rng(5)
    page.head("what", "found", title="Time and size")
    many = tn.Watch()
    code = np.repeat(np.arange(10_000), 10).astype(str)
    for _ in range(2):
        p = rng.uniform(size=code.size)
        start = time.perf_counter()
        many.update(rng.uniform(size=code.size) < p, p, by=code)
        took = time.perf_counter() - start
    size = len(many.to_json().encode()) / 1e6
    page.row("10,000 segments: one update", f"{took:.2f} s")
    page.row("10,000 segments: state", f"{size:.1f} MB")
    page.bar("10,000 segments: state below 10 MB", f"{size:.1f} MB", size < 10)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        p = rng.uniform(size=rows)
        pl.DataFrame(
            {"p": p, "y": (rng.uniform(size=rows) < p).astype(np.int8), "k": np.arange(rows) % 7}
        ).write_parquet(path)
        ratios = []
        for _ in range(5):
            start = time.perf_counter()
            groups: Any = tn.scan_groups(path, by="k", label="y", prob="p", bins="sketch")
            scanned = time.perf_counter()
            tn.Watch().update(groups)
            ratios.append((time.perf_counter() - start) / (scanned - start))
    ratio = float(np.median(ratios))
    page.row(f"{rows:,} rows of Parquet: scan and update / scan alone", f"{ratio:.3f}")
    page.bar("10⁷ rows: at most 1.1 × scan_groups alone", f"{ratio:.3f}", ratio <= 1.1 if rows >= 10**7 else None)
