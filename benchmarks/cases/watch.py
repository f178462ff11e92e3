"""The watch: false alarms over many looks, delay beside other monitors, false names among segments, time and size.

Many streams are simulated at once, by the arithmetic of `tn.Watch` on arrays; the first streams are entered in a
`tn.Watch`, too, which must agree. probcal's monitor is compared where it is installed (`pip install probcal`).
"""

import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit

import trueness as tn
from trueness.infer.watch._process import ALTERNATIVES, Look, Streams

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
Error = tuple[float, float]
ALPHA = 0.05
LAWS: dict[str, Draw] = {
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "rare, Beta(1, 60)": lambda rng, shape: rng.beta(1, 60, shape),
    "very rare, Beta(.5, 200)": lambda rng, shape: rng.beta(0.5, 200, shape),
    "confident, Beta(.3, .3)": lambda rng, shape: rng.beta(0.3, 0.3, shape),
    "sure, Beta(20, 1)": lambda rng, shape: rng.beta(20, 1, shape),
    "middle, Beta(30, 30)": lambda rng, shape: rng.beta(30, 30, shape),
    "three values": lambda rng, shape: rng.choice([0.1, 0.5, 0.7], shape),
    "one value": lambda _, shape: np.full(shape, 0.3),
    "bimodal": lambda rng, shape: np.abs(rng.beta(2, 20, shape) - rng.integers(0, 2, shape)),
    "skewed, Beta(2, 8)": lambda rng, shape: rng.beta(2, 8, shape),
    "rounded to tenths": lambda rng, shape: rng.uniform(size=shape).round(1).clip(0.05, 0.95),
    "a changing mix": lambda rng, shape: rng.beta(*rng.uniform(0.5, 5, (2, shape[0], 1)), shape),
}
ERRORS: dict[str, Error] = {"shift 0.3": (0.3, 1.0), "slope 0.7": (0.0, 0.7)}


def moved(p: np.ndarray, error: Error) -> np.ndarray:
    return np.asarray(expit(error[0] + error[1] * logit(p)))


def at_bin_means(p: np.ndarray, bins: int = 10) -> np.ndarray:
    """Scores at the mean of their bin of equal width, in each stream: what sums of bins keep."""
    code = (bins * np.arange(len(p)))[:, None] + np.minimum((bins * p).astype(int), bins - 1)
    n, total = np.bincount(code.ravel()), np.bincount(code.ravel(), p.ravel())
    return np.asarray((total / np.maximum(n, 1))[code])


class Watches:
    """A watch of each of many streams."""

    def __init__(self, streams: int) -> None:
        self.grid = np.array(ALTERNATIVES)
        self.process = Streams(len(self.grid), streams)
        self.rung = np.full(streams, -1)
        self.looks = 0

    def update(self, y: np.ndarray, p: np.ndarray, share: float = 1.0) -> None:
        """Enter a look of each stream; `share` is 1/m for rows in clusters of m."""
        streams = len(p)
        weight = np.full(p.size, share)
        look = Look(
            p.ravel(), weight, weight * y.ravel(), np.repeat(np.arange(streams), p.shape[1])
        )
        ratios = look.log_ratios(*self.grid.T, streams)
        self.process.step(np.arange(streams), ratios, look.refuted(streams), self.looks)
        now = (self.process.log_evidence >= -np.log(ALPHA)) & (self.rung < 0)
        self.rung[now] = self.looks
        self.looks += 1

    def check(self, one: "tn.Watch", stream: int = 0) -> None:
        """That a `tn.Watch` of the same rows has the same evidence."""
        assert np.isclose(
            np.log(one.evidence[""]), self.process.log_evidence[stream], rtol=1e-6, atol=1e-6
        )


class Cox:
    """Cox's test, as a likelihood ratio, on all rows so far of each of many streams, at alpha / looks."""

    def __init__(self, streams: int, looks: int) -> None:
        self.sums = np.zeros((3, streams, 512))
        self.line = np.zeros((2, streams))
        self.line[1] = 1
        self.least = np.log(
            looks / ALPHA
        )  # half of the quantile of chi-squared with 2 degrees of freedom
        self.rung, self.looks = np.full(streams, -1), 0

    def update(self, y: np.ndarray, p: np.ndarray) -> None:
        x = logit(p)
        cell = np.clip((16 * x).astype(int) + 256, 0, 511) + 512 * np.arange(len(p))[:, None]
        for k, values in enumerate((np.ones(x.shape), y, x)):
            self.sums[k] += np.bincount(cell.ravel(), values.ravel(), self.sums[k].size).reshape(
                self.sums[k].shape
            )
        now = (self.gain() >= self.least) & (self.rung < 0)
        self.rung[now] = self.looks
        self.looks += 1

    def gain(self) -> np.ndarray:
        """By how much the best line raises the log-likelihood; a few steps of Newton's from the last look's line."""
        n, e, total = self.sums
        x = total / np.maximum(n, 1)

        def likelihood(line: np.ndarray) -> np.ndarray:
            z = line[0][:, None] + line[1][:, None] * x
            return np.asarray(
                (e * z - n * (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z))))).sum(axis=1)
            )

        best = likelihood(self.line)
        for _ in range(4):
            q = expit(self.line[0][:, None] + self.line[1][:, None] * x)
            v, u = n * q * (1 - q), e - n * q
            a, b, c = v.sum(axis=1), (v * x).sum(axis=1), (v * x * x).sum(axis=1)
            g, h = u.sum(axis=1), (u * x).sum(axis=1)
            step = np.stack([c * g - b * h, a * h - b * g]) / np.maximum(a * c - b * b, 1e-9)
            step *= np.minimum(1, 1 / np.abs(step).max(axis=0).clip(1e-9))
            tried = self.line + step
            better = likelihood(tried) > best
            self.line[:, better] = tried[:, better]
            best = likelihood(self.line)
        none = np.zeros_like(self.line)
        none[1] = 1
        return np.asarray(best - likelihood(none))


class Cusum:
    """The larger of two CUSUMs of the log-likelihood ratio, of the very shift and the very slope of the errors."""

    def __init__(self, streams: int) -> None:
        self.sums, self.path = np.zeros((len(ERRORS), streams)), list[np.ndarray]()

    def update(self, y: np.ndarray, p: np.ndarray) -> None:
        for i, error in enumerate(ERRORS.values()):
            q = moved(p, error)
            ratio = np.where(y, np.log(q / p), np.log1p(-q) - np.log1p(-p)).sum(axis=1)
            self.sums[i] = np.maximum(0, self.sums[i]) + ratio
        self.path.append(self.sums.max(axis=0))

    def rung(self, threshold: float) -> np.ndarray:
        there = np.array(self.path) >= threshold
        return np.where(there.any(axis=0), there.argmax(axis=0), -1)


def probcal_rings(looks: list[tuple[np.ndarray, np.ndarray]], streams: int) -> np.ndarray:
    from probcal.monitor import CalibrationMonitor

    rung = np.full(streams, -1)
    for i in range(streams):
        monitor = CalibrationMonitor(alpha=ALPHA, plug_in_window=30)
        for t, (y, p) in enumerate(looks):
            if monitor.update(y[i].astype(int), p[i]).alarm:
                rung[i] = t
                break
    return rung


@case(
    "watch",
    "Watch: false alarms, delay, segments, size",
    time="10 min",
    one_thread=True,
    default=False,
)
def watch(page: Page, quick: bool) -> None:
    false_alarms(page, runs=50 if quick else 400, looks=200 if quick else 1000)
    clusters(page, runs=50 if quick else 400, looks=100 if quick else 500)
    delays(page, runs=20 if quick else 200, looks=80 if quick else 160, peers=2 if quick else 30)
    segments(page, runs=5 if quick else 60)
    sizes(page, rows=10**6 if quick else 10**7)


def most(runs: int) -> float:
    """The largest share of false alarms that agrees with alpha: two standard errors above."""
    return float(ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / runs))


def false_alarms(page: Page, runs: int, looks: int) -> None:
    page.head(
        "scores",
        "rows",
        "ten bins",
        title=f"Streams that ever ring, {looks:,} looks of 50 rows, {runs} streams",
    )
    worst, rng = 0.0, np.random.default_rng(1)
    for name, law in LAWS.items():
        both, one, sums = [Watches(runs), Watches(runs)], tn.Watch(ALPHA), tn.Watch(ALPHA)
        for t in range(looks):
            p = law(rng, (runs, 50))
            y = rng.uniform(size=p.shape) < p
            both[0].update(y, p)
            both[1].update(y, at_bin_means(p))
            if t < 20:
                one.update(y[0], p[0])
                sums.update(tn.binned(y[0], p[0], bins=10))
                both[0].check(one)
                both[1].check(sums)
        rates = [float(np.mean(watches.rung >= 0)) for watches in both]
        worst = max(worst, *rates)
        page.row(name, *(f"{rate:.3f}" for rate in rates))
    page.bar(
        f"ever false: at most {ALPHA} + 2 standard errors = {most(runs):.3f}",
        f"{worst:.3f}",
        worst <= most(runs),
    )


def clusters(page: Page, runs: int, looks: int) -> None:
    title = f"Streams that ever ring, clusters of 5 rows with one cause, {looks} looks of 10 clusters, {runs} streams"
    page.head(
        "scores", "mean of a cluster", "ten bins, divided by 5", "clusters ignored", title=title
    )
    worst, rng = 0.0, np.random.default_rng(6)
    for name in ("uniform", "rare, Beta(1, 60)", "confident, Beta(.3, .3)"):
        kept, sums, ignored = Watches(runs), Watches(runs), Watches(runs)
        for _ in range(looks):
            p = LAWS[name](rng, (runs, 50))
            y = np.repeat(rng.uniform(size=(runs, 10)), 5, axis=1) < p
            kept.update(y, p, 1 / 5)
            sums.update(y, at_bin_means(p), 1 / 5)
            ignored.update(y, p)
        rates = [float(np.mean(watches.rung >= 0)) for watches in (kept, sums, ignored)]
        worst = max(worst, *rates[:2])
        page.row(name, *(f"{rate:.3f}" for rate in rates))
    page.bar(
        f"clusters of 5, ever false: at most {most(runs):.3f}", f"{worst:.3f}", worst <= most(runs)
    )


def delays(page: Page, runs: int, looks: int, peers: int) -> None:
    there = importlib.util.find_spec("probcal") is not None
    page.head(
        *("scores", "error", "onset", "watch", "Cox, Bonferroni", "CUSUM, tuned"),
        f"probcal ({peers} streams)",
        title=f"Median delay in looks of 200 rows, {runs} streams of {looks} looks",
    )
    for name in ("uniform", "rare, Beta(1, 60)", "confident, Beta(.3, .3)"):
        law, rng = LAWS[name], np.random.default_rng(2)
        calm = Cusum(4 * runs)
        for _ in range(looks):
            p = law(rng, (4 * runs, 200))
            calm.update(rng.uniform(size=p.shape) < p, p)
        threshold = float(np.quantile(np.max(calm.path, axis=0), 1 - ALPHA))
        for error, onset in (
            (None, looks),
            *((error, at) for error in ERRORS for at in (0, looks // 2)),
        ):
            watches, cox, cusum, kept = Watches(runs), Cox(runs, looks), Cusum(runs), []
            for t in range(looks):
                p = law(rng, (runs, 200)).clip(1e-12, 1 - 1e-12)
                y = rng.uniform(size=p.shape) < (
                    p if error is None or t < onset else moved(p, ERRORS[error])
                )
                for monitor in (watches, cox, cusum):
                    monitor.update(y, p)
                kept.append((y[:peers], p[:peers]))
            found = [watches.rung, cox.rung, cusum.rung(threshold)]
            found += [probcal_rings(kept, peers)] if there else []
            cells = [delay(rung, onset, looks) for rung in found] + ["not installed"] * (not there)
            page.row(name, error or "none", "" if error is None else str(onset), *cells)
    page.text(
        "Without an error: the share of streams that ever ring. Late onsets: (share that rang before the onset)."
    )


def delay(rung: np.ndarray, onset: int, looks: int) -> str:
    """Looks from the onset to the alarm, 1 for the look of the onset; alarms before it are counted apart."""
    early = (rung >= 0) & (rung < onset)
    if onset == looks:
        return f"{early.mean():.3f}"
    late = np.where(rung < 0, np.inf, rung - onset + 1.0)[~early]
    shown = "none" if not late.size or np.isinf(np.median(late)) else f"{np.median(late):.0f}"
    return f"{shown} ({early.mean():.3f})" if onset else shown


def segments(page: Page, runs: int) -> None:
    title = f"200 segments, 40 wrong, 105 there at the first look, 60 looks of 20 rows each, {runs} runs"
    page.head("look", "mean false share", "power", title=title)
    rng, ever_key = np.random.default_rng(4), "all names ever listed (not promised)"
    shares: dict[Any, list[float]] = {
        key: [] for key in (10, 20, 40, 60, "first look with a name", ever_key)
    }
    power: dict[Any, list[float]] = {key: [] for key in shares}
    for _ in range(runs):
        one, ever = tn.Watch(ALPHA), set[str]()
        for t in range(1, 61):
            code = np.repeat(np.arange(min(200, 100 + 5 * t)), 20)
            p = rng.uniform(size=code.size)
            y = rng.uniform(size=code.size) < moved(p, (0.8, 1.0)) * (code % 5 == 0) + p * (
                code % 5 > 0
            )
            one.update(y, p, by=code)
            names = {alarm.segment for alarm in one.alarms} - {""}
            first = ["first look with a name"] * bool(names and not ever)
            ever |= names
            for key in (*([t] if t in shares else []), *first, *([ever_key] if t == 60 else [])):
                wrong = [int(name) % 5 == 0 for name in (ever if key == ever_key else names)]
                shares[key].append(1 - sum(wrong) / len(wrong) if wrong else 0.0)
                power[key].append(sum(wrong) / 40)
    for key in shares:
        page.row(str(key), f"{np.mean(shares[key]):.4f}", f"{np.mean(power[key]):.2f}")
    worst = max(float(np.mean(values)) for key, values in shares.items() if key != ever_key)
    page.bar(
        f"mean false share of the names at a look: at most {ALPHA}", f"{worst:.4f}", worst <= ALPHA
    )


def sizes(page: Page, rows: int) -> None:
    import polars as pl

    rng = np.random.default_rng(5)
    page.head("what", "found", title="Time and size")
    many = tn.Watch()
    code = np.repeat(np.arange(10_000), 10).astype(str)
    for _ in range(60):
        p = rng.uniform(size=code.size)
        start = time.process_time()
        many.update(rng.uniform(size=code.size) < p, p, by=code)
        took = time.process_time() - start
    size = len(many.to_json().encode()) / 1e6
    page.row("10,000 segments of 10 rows: CPU time of one update", f"{took:.2f} s")
    page.row("10,000 segments: state after 60 looks", f"{size:.1f} MB")
    page.bar("10,000 segments: CPU time of one update below 1 s", f"{took:.2f} s", took < 1)
    page.bar("10,000 segments: state below 10 MB", f"{size:.1f} MB", size < 10)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        p = rng.uniform(size=rows)
        pl.DataFrame(
            {"p": p, "y": (rng.uniform(size=rows) < p).astype(np.int8), "k": np.arange(rows) % 7}
        ).write_parquet(path)
        ratios = []
        for _ in range(5):
            start = time.process_time()
            groups: Any = tn.scan_groups(path, by="k", label="y", prob="p", bins="sketch")
            scanned = time.process_time()
            tn.Watch().update(groups)
            ratios.append((time.process_time() - start) / (scanned - start))
    ratio = float(np.median(ratios))
    page.row(f"{rows:,} rows of Parquet: CPU time of scan and update / scan alone", f"{ratio:.3f}")
    page.bar(
        "10⁷ rows: at most 1.1 × scan_groups alone",
        f"{ratio:.3f}",
        ratio <= 1.1 if rows >= 10**7 else None,
    )
