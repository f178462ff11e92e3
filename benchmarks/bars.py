"""What trueness promises about its speed, each promise with what this run found."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.rows import COMPACT, USUAL
from harness.table import Row
from outcome import Outcome

MB = 1_000_000


@dataclass(frozen=True)
class Bar:
    """A promise. `kept` is None where the run could not tell: it did not measure, or not at that size."""

    promise: str
    found: str
    kept: bool | None

    @property
    def verdict(self) -> str:
        if self.kept is None:
            return "not at that size" if self.found else "not measured"
        return "pass" if self.kept else "**FAIL**"


def bars(outcome: Outcome) -> list[Bar]:
    return [
        *_against_sums(outcome),
        *_against_torchmetrics(outcome),
        *_against_fastest(outcome),
        _memory(outcome),
        _equal_mass(outcome),
        *_tce(outcome),
        _startup(outcome),
        _ten_rows(outcome),
        _fallback(outcome),
    ]


def _against_sums(outcome: Outcome) -> Iterator[Bar]:
    for form in (USUAL, COMPACT):
        promise = f"ECE at 10,000,000 rows ({form}): at most 8× the time of `p.sum() + y.sum()`"
        table = outcome.table("ece", 10**7, form)
        row = table and table.row("p.sum() + y.sum()")
        if not row or not row.cpu_ratio:
            yield Bar(promise, "", None)
        else:
            times = 1 / row.cpu_ratio.median
            yield _judged(promise, f"{times:.2f}×", times <= 8, table.n, 10**7)


def _against_torchmetrics(outcome: Outcome) -> Iterator[Bar]:
    for form in (USUAL, COMPACT):
        yield _faster(outcome, "ECE", ("ece", 10**6, form), "torchmetrics", 20)


def _against_fastest(outcome: Outcome) -> Iterator[Bar]:
    for form in (USUAL, COMPACT):
        promise = f"ECE at 1,000,000 rows ({form}): at least 2.5× as fast as the fastest peer"
        table = outcome.table("ece", 10**6, form)
        raced = [row for row in table.rows if row.is_peer and row.cpu_ratio] if table else []
        if not raced:
            yield Bar(promise, "", None)
            continue
        fastest = min(raced, key=_times)
        found = f"{_number(_times(fastest))}× ({fastest.name})"
        yield _judged(promise, found, _times(fastest) >= 2.5, table.n, 10**6)


def _memory(outcome: Outcome) -> Bar:
    promise = "ECE: at most 4 MB of memory beyond the inputs, at any size"
    rows = [(t.n, t.row("trueness")) for t in outcome.tables if t.task == "ece"]
    known = [(row.extra, n) for n, row in rows if row and row.extra is not None]
    if not known:
        return Bar(promise, "", None)
    most, most_rows = max(extra for extra, _ in known), max(n for _, n in known)
    return Bar(promise, f"{most / MB:.2f} MB (up to {most_rows:,} rows)", most <= 4 * MB)


def _equal_mass(outcome: Outcome) -> Bar:
    return _faster(outcome, "Equal-mass ECE, exact", ("ace", 10**7, USUAL), "scikit-learn", 15)


def _tce(outcome: Outcome) -> Iterator[Bar]:
    table = outcome.table("tce", 50_000, USUAL)
    yield _faster(outcome, "TCE", ("tce", 50_000, USUAL), "published algorithm", 1_000)
    values = [row.value for row in table.rows if row.value is not None] if table else []
    same = len(set(values)) == 1 if len(values) > 1 else None
    yield Bar("TCE: the very value of the published algorithm", " and ".join(f"{v!r}" for v in values), same)
    table = outcome.table("tce", 10**7, USUAL)
    row = table and table.row("trueness")
    promise = "TCE at 10,000,000 rows: in seconds (below 10 of CPU time)"
    if not row or row.cpu is None:
        yield Bar(promise, "", None)
    else:
        yield _judged(promise, f"{row.cpu:.3g} s", row.cpu < 10, table.n, 10**7)


def _startup(outcome: Outcome) -> Bar:
    promise = "`import trueness` and the first `ece`: at most 1.3× `import numpy`"
    found = next((s for s in outcome.startup if s.name == "import trueness, first ece"), None)
    if found is None:
        return Bar(promise, "", None)
    return Bar(promise, f"{found.to_numpy.median:.2f}×", found.to_numpy.median <= 1.3)


def _ten_rows(outcome: Outcome) -> Bar:
    promise = "`ece` on 10 rows: below 30 µs"
    found = outcome.ten_rows
    if found is None:
        return Bar(promise, "", None)
    text = f"{found.median * 1e6:.1f} µs (in the quietest block {found.quietest * 1e6:.1f})"
    return Bar(promise, text, found.median < 30e-6)


def _fallback(outcome: Outcome) -> Bar:
    promise = "ECE at 1,000,000 rows with the NumPy kernels: at least 4× as fast as torchmetrics"
    row = outcome.fallback and outcome.fallback.row("torchmetrics")
    if not row or not row.cpu_ratio:
        return Bar(promise, "", None)
    return Bar(promise, f"{_times(row):.2f}×", _times(row) >= 4)


def _faster(outcome: Outcome, what: str, case: tuple[str, int, str], peer: str, least: float) -> Bar:
    task, n, form = case
    promise = f"{what} at {n:,} rows ({form}): at least {least:,}× as fast as {peer}"
    table = outcome.table(task, n, form)
    row = table and table.row(peer)
    if not row or not row.cpu_ratio:
        return Bar(promise, "", None)
    return _judged(promise, f"{_number(_times(row))}×", _times(row) >= least, table.n, n)


def _times(row: Row) -> float:
    assert row.cpu_ratio is not None
    return row.cpu_ratio.median


def _number(times: float) -> str:
    return f"{times:,.0f}" if times >= 100 else f"{times:.3g}"


def _judged(promise: str, found: str, kept: bool, n: int, promised: int) -> Bar:
    """A quick run stops at smaller sizes, which prove nothing about the promised one."""
    return Bar(promise, found, kept) if n == promised else Bar(promise, f"{found} at {n:,} rows", None)
